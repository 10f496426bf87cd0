# SPDX-License-Identifier: MIT
"""`weir replay` and `weir check` from outside, against replay_model.py. Prints TAP.

usage: test_replay.py WEIR MAKE_SAMPLE
WEIR_LOG names another combined log that is replayed as well.
"""

import csv
import datetime
import gzip
import io
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile

import replay_model as model

WEIR, MAKE_SAMPLE = sys.argv[1:3]
POLICIES = ["1/s burst 5", "10/min burst 10", "100/h"]
# a pacer, a refill bucket, and settings whose units are rounded: on whole seconds, and with
# every rounding far below 1 ns, these equal the exact ones as well
MORE_POLICIES = ["2/s pace", "1/s pace slack 3", "30/min refill 10s", "7/min refill 13s burst 9",
                 "17/min", "1000/day burst 12", "3/7.5s burst 2", "0/s burst 5"]
FIELDS = ["allowed", "denied", "keys", "keys_denied", "first_denied", "overflow", "top"]
TOP = 50

folder = tempfile.TemporaryDirectory(prefix="weir-test-")
sample_data = subprocess.run([MAKE_SAMPLE], check=True, capture_output=True).stdout
tests = []


def test(function):
    tests.append(function)
    return function


def path_of(name, data):
    path = os.path.join(folder.name, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def weir(*arguments, data=b"", env=None, **more):
    environment = dict(os.environ, LC_ALL="C.UTF-8")
    environment.pop("NO_COLOR", None)
    environment.update(env or {})
    return subprocess.run([WEIR, *arguments], input=data, capture_output=True, env=environment,
                          check=False, timeout=250, **more)


def limits(policies):
    return [argument for policy in policies for argument in ("--limit", policy)]


def replay(path, policies, *options, data=b"", top=TOP):
    """The parsed --json of a replay that must end well."""
    done = weir("replay", "--json", "--top", str(top), *limits(policies), *options, path,
                data=data)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def numbers(report):
    """All of a report but the speed, which is never the same."""
    return {name: value for name, value in report.items() if name != "decisions_per_second"}


def equal(found, expected, what):
    assert found == expected, f"{what}: {found!r}, expected {expected!r}"


def check_against_model(report, events, skipped, policies, order, top=TOP):
    times = [event.ns for event in events]
    span = float(model.Fraction(max(times) - min(times), model.NS))
    equal(report["requests"], len(events), "requests")
    equal(report["skipped_lines"], skipped, "skipped_lines")
    equal(report["span_s"], span, "span_s")
    equal(len(report["limits"]), len(policies), "limits")
    assert report["decisions_per_second"] > 0
    ordered = order(events)
    for text, found in zip(policies, report["limits"]):
        expected = model.replay(ordered, text, top)
        for field in FIELDS:
            equal(found[field], expected[field], f"{text}: {field}")
        equal(found["allowed"] + found["denied"], len(events), f"{text}: sum")


def expect_error(status, pattern, *arguments, data=b"", lines=1):
    done = weir(*arguments, data=data)
    text = done.stderr.decode()
    equal(done.returncode, status, f"status of {arguments}, which said {text!r}")
    equal(done.stdout, b"", f"output of {arguments}")
    assert re.search(pattern, text), f"{arguments}: {text!r} does not match {pattern!r}"
    equal(text.count("\n"), lines, f"lines of {text!r}")
    return text


def lines_of(data):
    return data.splitlines(keepends=True)


def sorted_log(data):
    """The good lines of a combined log in time order."""
    def time(line):
        return model.read_combined(line)[0][0].ns
    return b"".join(sorted((line for line in lines_of(data) if model.read_combined(line)[0]),
                           key=time))


# ---- the numbers ---------------------------------------------------------------------------


@test
def sample_equals_the_model():
    events, bad = model.read_combined(sample_data)
    assert len(events) > 15000 and bad == 5, (len(events), bad)
    assert any(a.ns > b.ns for a, b in zip(events, events[1:])), "the sample is in order"
    path = path_of("sample.log", sample_data)
    check_against_model(replay(path, POLICIES), events, bad, POLICIES, model.in_time_order)


@test
def sample_equals_the_model_under_other_policies():
    events, bad = model.read_combined(sample_data)
    path = path_of("sample.log", sample_data)
    check_against_model(replay(path, MORE_POLICIES), events, bad, MORE_POLICIES,
                        model.in_time_order)


@test
def sample_equals_the_model_by_prefix():
    events, bad = model.read_combined(sample_data, 24, 48)
    report = replay(path_of("sample.log", sample_data), POLICIES, "--key", "ip/24,48")
    check_against_model(report, events, bad, POLICIES, model.in_time_order)


@test
def stream_equals_the_model_on_the_running_maximum():
    events, bad = model.read_combined(sample_data)
    policies = POLICIES + MORE_POLICIES
    report = replay("-", policies, data=sample_data)
    check_against_model(report, events, bad, policies, model.on_running_maximum)


if os.environ.get("WEIR_LOG"):

    @test
    def other_log_equals_the_model():
        with open(os.environ["WEIR_LOG"], "rb") as file:
            data = file.read()
        events, bad = model.read_combined(data)
        policies = POLICIES + MORE_POLICIES
        check_against_model(replay(os.environ["WEIR_LOG"], policies), events, bad, policies,
                            model.in_time_order)
        check_against_model(replay("-", POLICIES, data=data), events, bad, POLICIES,
                            model.on_running_maximum)


@test
def random_times_equal_the_model():
    """Nanosecond times of a few keys close to the edges, in the exact form."""
    source = random.Random(7)
    for seed in range(20):
        edge = source.choice([10**8, 10**9, 333333334, 6 * 10**9])
        at, events = 1_700_000_000 * model.NS, []
        for _ in range(400):
            at += source.choice([0, 1, edge - 1, edge, edge + 1, edge // 3, 2 * edge, 9 * edge])
            late = source.choice([0, 0, 0, edge, 5 * edge])
            events.append(model.Event(at - late, datetime.timedelta(0),
                                      "198.18.0.%d" % source.randint(1, 4)))
        data = "".join('{"ts":%d.%09d,"ip":"%s"}\n' % (*divmod(event.ns, model.NS), event.key)
                       for event in events)
        policies = ["10/s", "3/s burst 2", "1/s pace slack 1", "10/min burst 3", "8/3ms burst 4"]
        report = replay("-", policies, data=data.encode())
        check_against_model(report, events, 0, policies, model.on_running_maximum)
        report = replay(path_of("random%d.json" % seed, data.encode()), policies)
        check_against_model(report, events, 0, policies, model.in_time_order)


@test
def centuries_equal_the_model():
    """From 1970 to 2262, through every new origin that the limits need on the way."""
    source = random.Random(11)
    ns, events = 0, []
    while ns < 9_200_000_000 * model.NS:
        events.append(model.Event(ns, datetime.timedelta(0), "key %d" % source.randint(1, 3)))
        ns += source.choice([1, 10**9, 3 * 10**9, 10**13, 10**16, 4 * 10**16])
    events.append(model.Event(2**63 - 1, datetime.timedelta(0), "key 1"))
    data = "".join('{"ts":%d.%09d,"ip":"%s"}\n' % (*divmod(event.ns, model.NS), event.key)
                   for event in events).encode()
    policies = ["1/s burst 3", "10/min burst 2", "8/s", "1/day burst 2", "0/s burst 5"]
    check_against_model(replay("-", policies, data=data), events, 0, policies,
                        model.on_running_maximum)
    check_against_model(replay(path_of("centuries.json", data), policies), events, 0, policies,
                        model.in_time_order)


# ---- one traffic, many forms ---------------------------------------------------------------


@test
def forms_of_one_traffic_give_the_same_numbers():
    expected = numbers(replay(path_of("sample.log", sample_data), POLICIES))
    crlf = sample_data.replace(b"\n", b"\r\n")
    rows = [re.match(rb'(\S+) \S+ (.+?) \[([^\]]+)\] "(.*?)" ', line)
            for line in lines_of(sample_data) if model.read_combined(line)[0]]
    rows = [tuple(part.decode() for part in row.groups()) for row in rows]
    as_json = "".join(json.dumps({"remote_addr": ip, "x": {"time": 1}, "time_local": time,
                                  "request": request}) + "\n" for ip, _, time, request in rows)
    as_csv = io.StringIO()
    writer = csv.writer(as_csv, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["note", "client_ip", "timestamp", "request"])
    for ip, _, time, request in rows:
        when = datetime.datetime.strptime(time, model.CLF_TIME)
        writer.writerow(['a "note",\nin two lines', ip, when.isoformat(), request])
    good_lines = dict(expected, skipped_lines=0)
    forms = [
        ("gzip", gzip.compress(sample_data), expected, []),
        ("two gzip members", gzip.compress(sample_data[:99999]) + gzip.compress(
            sample_data[99999:]), expected, []),
        ("CRLF", crlf, expected, []),
        ("no final newline", sample_data[:-1], expected, []),
        ("byte order mark", b"\xef\xbb\xbf" + sample_data, expected, []),
        ("blank lines", sample_data.replace(b"\n", b"\n\n \n"), expected, []),
        ("named format", sample_data, expected, ["--format", "combined"]),
        ("common", re.sub(rb'( \d+ \d+) "[^\n]*', rb"\1", sample_data), expected,
         ["--format=common"]),
        ("JSON", as_json.encode(), good_lines, []),
        ("JSON, named", as_json.encode(), good_lines, ["--format", "json"]),
        ("CSV", as_csv.getvalue().encode(), good_lines, []),
        ("CSV, named, gzip", gzip.compress(as_csv.getvalue().encode()), good_lines,
         ["--format", "csv"]),
    ]
    for name, data, wanted, options in forms:
        found = numbers(replay(path_of("form", data), POLICIES, *options))
        equal(found, wanted, name)


@test
def stream_of_a_sorted_log_equals_the_file():
    data = sorted_log(sample_data)
    expected = numbers(replay(path_of("sorted.log", data), POLICIES))
    equal(numbers(replay("-", POLICIES, data=data)), expected, "stream")
    equal(numbers(replay("-", POLICIES, data=gzip.compress(data))), expected, "gzip stream")
    unsorted = numbers(replay(path_of("sample.log", sample_data), POLICIES))
    equal(dict(unsorted, skipped_lines=0), expected, "unsorted file")


@test
def threads_change_no_number():
    path = path_of("sample.log", sample_data)
    policies = POLICIES + MORE_POLICIES
    expected = numbers(replay(path, policies))
    for threads in ("2", "3", "16"):
        equal(numbers(replay(path, policies, "--threads", threads)), expected, threads)
    one = path_of("one.log", lines_of(sample_data)[0])
    equal(numbers(replay(one, POLICIES, "--threads=8")), numbers(replay(one, POLICIES)), "one")


@test
def options_may_stand_behind_the_file():
    path = path_of("sample.log", sample_data)
    done = weir("replay", path, "--limit=1/min", "--json", "--top=2", "--key", "method")
    report = json.loads(done.stdout)
    equal([entry["key"] for entry in report["limits"][0]["top"]], ["GET", "POST"], "top")
    equal(report["limits"][0]["policy"], "1/min", "policy")
    equal(report["limits"][0]["keys"], 3, "GET, POST and a request that is none")


@test
def other_keys():
    data = (b'192.0.2.1 - bob [17/May/2015:10:05:03 +0000] "GET /a?1 HTTP/1.1" 200 1\n'
            b'192.0.2.2 - bob [17/May/2015:10:05:03 +0000] "POST /a?2 HTTP/1.1" 200 1\n'
            b'192.0.2.3 - - [17/May/2015:10:05:03 +0000] "GET /b HTTP/1.1" 200 1\n'
            b'198.51.100.1 - - [17/May/2015:10:05:03 +0000] "-" 408 0\n')
    expected = {
        "user": [("bob", 1, 1), ("-", 1, 1)],
        "path": [("/a", 1, 1)],
        "method": [("GET", 1, 1)],
        "ip/24": [("192.0.2.0/24", 1, 2)],
        "ip/0": [("0.0.0.0/0", 1, 3)],
        "ip": [],
    }
    for key, top in expected.items():
        limit = replay(path_of("keys.log", data), ["1/h"], "--key", key)["limits"][0]
        equal([tuple(entry.values()) for entry in limit["top"]], top, key)
    tenants = b"".join(b'{"time":%d,"tenant":"%s"}\n' % (1_700_000_000 + i, name) for i, name in
                       enumerate([b"acme", b"emca", b"acme", b"\\u0000", b"acme", b"\\u0000"]))
    limit = replay("-", ["1/h"], "--key=field:tenant", data=tenants)["limits"][0]
    equal([tuple(entry.values()) for entry in limit["top"]], [("acme", 1, 2), ("\0", 1, 1)],
          "tenants")


@test
def first_denied_is_in_the_zone_of_the_log():
    data = "".join('192.0.2.1 - - [17/May/2015:10:05:0%d -0330] "-" 200 1\n' % second
                   for second in (3, 1, 2))
    report = replay(path_of("zone.log", data.encode()), ["1/min", "1/s"])
    equal([limit["first_denied"] for limit in report["limits"]],
          ["2015-05-17T10:05:02-03:30", None], "first denied")
    equal(report["span_s"], 2, "span")
    fraction = b'{"ts":1.5,"ip":"a"}\n{"ts":3.75,"ip":"a"}\n'
    report = replay("-", ["1/min"], data=fraction)
    equal(report["limits"][0]["first_denied"], "1970-01-01T00:00:03.75Z", "fraction")
    equal(report["span_s"], 2.25, "span of a fraction")


@test
def ties_are_listed_as_they_came_in_time():
    data = "".join('{"ts":%d,"ip":"%s"}\n' % (ts, ip)
                   for ts, ip in [(5, "d"), (5, "d"), (1, "c"), (9, "c"), (1, "b"), (9, "b"),
                                  (0, "a"), (2, "a"), (3, "a"), (9, "e")])
    limit = replay(path_of("ties.json", data.encode()), ["1/day"], top=3)["limits"][0]
    equal([entry["key"] for entry in limit["top"]], ["a", "c", "b"], "top")
    equal(limit["keys_denied"], 4, "keys denied")


# ---- hard input ----------------------------------------------------------------------------

GOOD = b'192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'


@test
def bad_lines_are_counted_and_the_first_five_shown():
    data = b"".join(b"bad %d\n" % i + GOOD for i in range(9))
    done = weir("replay", "--json", "--limit", "1/h", path_of("bad.log", data))
    equal(done.returncode, 0, "status")
    report = json.loads(done.stdout)
    equal((report["requests"], report["skipped_lines"]), (9, 9), "counts")
    shown = done.stderr.decode().splitlines()
    equal([re.search(r"bad\.log:(\d+): line skipped: (.*)", line).groups() for line in shown[1:5]],
          [(str(n), "no time in brackets") for n in (3, 5, 7, 9)], "shown")
    assert re.search(r"bad\.log:1: line skipped: no JSON", shown[0]), shown[0]
    assert shown[5].endswith("bad.log: 4 more lines skipped"), shown[5]
    equal(len(shown), 6, "lines shown")


@test
def long_lines():
    long = 3_000_000
    behind = GOOD[:-2] + b"x" * long + b'"\n'
    before = b"x" * long + GOOD
    report = replay("-", ["1/h"], data=GOOD + behind + before + GOOD)
    equal((report["requests"], report["skipped_lines"]), (3, 1), "combined")
    as_json = [b'{"ts":1,"ip":"a","pad":"%s"}\n', b'{"pad":"%s","ts":1,"ip":"a"}\n']
    data = b"".join(line % (b"p" * long) for line in as_json) + b'{"ts":1,"ip":"a"}\n'
    report = replay("-", ["1/h"], data=data)
    equal((report["requests"], report["skipped_lines"]), (2, 1), "JSON")


@test
def nul_bytes():
    data = GOOD + b"\0" * 700_000 + GOOD + b"\0\n" + GOOD.replace(b"GET /", b"G\0ET /\0a")
    report = replay("-", ["1/h"], "--key=path", data=data)
    equal((report["requests"], report["skipped_lines"]), (3, 0), "counts")
    equal(report["limits"][0]["top"], [{"key": "/", "allowed": 1, "denied": 1}], "top")
    again = GOOD.replace(b"GET /", b"GET /\0a")
    report = replay("-", ["1/h"], "--key=path", data=again * 2)
    equal(report["limits"][0]["top"], [{"key": "/\0a", "allowed": 1, "denied": 1}], "NUL key")


@test
def keys_of_any_bytes_are_told_apart():
    keys = [b"/\xff", b"/\xfe", b"/\\xff", b"/\xef\xbf\xbdff", "/caf\u00e9".encode(),
            b"/" + b"k" * 5000, b"/" + b"k" * 4999 + b"l", b"/\x1b[31m"]
    data = b"".join(GOOD.replace(b"GET /", b"GET " + key) * 2 for key in keys)
    path = path_of("bytes.log", data)
    done = weir("replay", "--json", "--top=50", "--key=path", "--limit=1/h", path)
    shown = [entry["key"] for entry in json.loads(done.stdout.decode())["limits"][0]["top"]]
    equal(len(set(shown)), len(keys), "distinct keys")
    equal(shown[0], "/\ufffdff", "a byte that is no UTF-8")
    equal(shown[2], "/\\xff", "a backslash is itself")
    equal(shown[4], "/caf\u00e9", "UTF-8 is itself")
    table = weir("replay", "--top=50", "--key=path", "--limit=1/h", path).stdout
    assert b"\x1b" not in table and b"\xff" not in table
    assert b"/\\x1b[31m" in table and b"/\\xff" in table and "/caf\u00e9".encode() in table


@test
def overflow_of_a_stream_is_reported():
    events = 400
    data = b"".join(b'{"ts":%d,"ip":"198.18.0.%d"}\n' % (1000 + i // 40, i % 40)
                    for i in range(events))
    report = replay("-", ["5/h", "1/h"], "--max-keys=10", data=data)
    equal(report["requests"], events, "requests")
    equal(report["uncounted"], 300, "requests of keys past the bound")
    for limit, each in zip(report["limits"], (5, 1)):
        equal(limit["overflow"], 300, "overflow")
        equal(limit["keys"], 10, "keys")
        # ten keys of their own, and one bucket for all the others
        equal(limit["allowed"], 11 * each, "allowed")
        equal(limit["denied"], events - 11 * each, "denied")
        equal(len(limit["top"]), 10, "top")
    text = weir("replay", "--limit=5/h", "--max-keys", "10", "-", data=data).stdout.decode()
    assert "300 requests under 5/h had no place for their key in the table" in text, text
    assert "300 requests came from keys past --max-keys" in text, text
    assert " more than 10 keys (ip) " in text, text
    report = replay("-", ["5/h"], "--max-keys=40", data=data)
    equal((report["limits"][0]["overflow"], report["uncounted"]), (0, 0), "enough room")


def peak_memory_kb(megabytes):
    """Peak resident size of a replay of a stream of so many MB with ever new keys."""
    child = subprocess.Popen([WEIR, "replay", "--json", "--limit=10/min", "--max-keys=20000", "-"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    written, number = 0, 0
    while written < megabytes << 20:
        chunk = b"".join(b'2001:db8:%x:%x::1 - - [04/Mar/2025:%02d:%02d:%02d +0100] "GET /%d '
                         b'HTTP/1.1" 200 1 "-" "-"\n'
                         % (n >> 12, n & 0xfff, n >> 16 & 15, n >> 10 & 31, n >> 4 & 31, n)
                         for n in range(number, number + 4096))
        number += 4096
        written += child.stdin.write(chunk)
    child.stdin.close()
    report = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    equal(status, 0, "status")
    equal(report["requests"], number, "requests")
    return usage.ru_maxrss


@test
def streams_take_constant_memory():
    small, large = peak_memory_kb(16), peak_memory_kb(64)
    assert large <= small + 1024, f"{small} KB for 16 MB, {large} KB for 64 MB"


# ---- errors --------------------------------------------------------------------------------


@test
def wrong_usage():
    log = path_of("good.log", GOOD)
    one = ("--limit", "1/s")
    expect_error(2, "unknown command fetsch", "fetsch")
    expect_error(2, "unknown option --halp ", "--halp")
    expect_error(2, "unknown option --lmit ", "replay", "--lmit", "1/s", log)
    expect_error(2, "unknown option --lmit=1/s ", "replay", "--lmit=1/s", log)
    expect_error(2, "unknown option -x ", "replay", *one, log, "-x")
    expect_error(2, "--top needs a value", "replay", *one, log, "--top")
    expect_error(2, "unknown option --json=1 ", "replay", *one, "--json=1", log)
    expect_error(2, "a FILE is needed", "replay", *one)
    expect_error(2, 'one FILE at a time, "b"', "replay", *one, log, "b")
    expect_error(2, "at least one --limit is needed", "replay", log)
    expect_error(2, "--format xml: auto, combined", "replay", *one, "--format", "xml", log)
    expect_error(2, "--key ip/33: ip, ip/BITS", "replay", *one, "--key", "ip/33", log)
    expect_error(2, "--top -1: a whole number from 0", "replay", *one, "--top=-1", log)
    expect_error(2, "--top 5x: a whole number", "replay", *one, "--top", "5x", log)
    expect_error(2, "--threads 0: a whole number from 1", "replay", *one, "--threads", "0", log)
    expect_error(2, "--threads needs a FILE", "replay", *one, "--threads", "2", "-")
    expect_error(2, "--max-keys is for a stream", "replay", *one, "--max-keys", "2", log)
    expect_error(2, "--max-keys 0: a whole number", "replay", *one, "--max-keys", "0", "-")
    expect_error(2, "times 2 limits is more than an engine holds", "replay", *one, *one,
                 "--max-keys", "4294967294", "-")
    expect_error(2, "a policy is needed", "check")
    expect_error(2, "unknown option --jason", "check", "--jason", "1/s")
    expect_error(2, 'one policy at a time, "burst"', "check", "1/s", "burst", "5")
    equal(weir().returncode, 2, "no command")


@test
def unusable_input():
    one = ("replay", "--limit", "1/s")
    expect_error(2, "nowhere.log: No such file", *one, "/nonexistent/nowhere.log")
    expect_error(2, "Is a directory", *one, folder.name)
    expect_error(2, "no line could be read", *one, path_of("empty.log", b""))
    expect_error(2, "-: no line could be read", *one, "-")
    expect_error(2, "no line could be read", *one, path_of("blank.log", b"\n\r\n\n"))
    expect_error(2, "no line could be read", *one, path_of("garbage.log", b"a\nb\n"), lines=3)
    squeezed = gzip.compress(GOOD * 1000)
    expect_error(2, "corrupt gzip data: it ends in the middle", *one,
                 path_of("short.gz", squeezed[:-30]))
    broken = squeezed[:-6] + b"\x5a" + squeezed[-5:]
    expect_error(2, "corrupt gzip data: incorrect data check", *one, path_of("crc.gz", broken))
    expect_error(2, "good.log:1: fields of this format have no names", *one, "--key=field:x",
                 path_of("good.log", GOOD))
    expect_error(2, "no column for the time", *one, "--format=csv", path_of("a.csv", b"ip,x\n"))
    expect_error(2, 'no column "x"', *one, "--key=field:x", path_of("b.csv", b"ip,time\n"))


@test
def policies_that_do_not_parse_show_the_place():
    log = path_of("good.log", GOOD)
    for command in (["replay", log, "--limit"], ["check"]):
        for text, at in [("10/mix", 3), ("10/min burst", 12), ("", 0), ("ten/s", 0),
                         ("10/s\tburst\tx", 11)]:
            error = expect_error(2, "not a policy\n", *command, text, lines=3)
            _, line, caret = error.splitlines()
            shown_at = at + 3 * text[:at].count("\t")
            equal(line, "  " + text.replace("\t", "\\x09"), "the text")
            equal(caret, " " * (2 + shown_at) + "^", f"the caret of {text!r}")
        expect_error(2, "a number is too large", *command, "99999999999999999999/s", lines=3)
        expect_error(2, '"10/s burst 18446744073709551614" cannot be kept exactly', *command,
                     "10/s burst 18446744073709551614")


@test
def output_that_cannot_be_written():
    log = path_of("good.log", GOOD)
    for arguments in (["replay", "--limit=1/s", log], ["replay", "--json", "--limit=1/s", log],
                      ["check", "1/s"], ["--help"], ["--version"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([WEIR, *arguments], stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        equal(done.returncode, 1, f"status of {arguments}")
        assert b"No space left on device" in done.stderr, done.stderr
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([WEIR, "check", "1/s"], stdout=write_end, stderr=subprocess.PIPE,
                          check=False)
    os.close(write_end)
    equal((done.returncode, done.stderr), (-signal.SIGPIPE, b""), "a closed pipe")
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([WEIR, "check", "1/s"], stdout=write_end, stderr=subprocess.PIPE,
                          check=False, restore_signals=False)
    os.close(write_end)
    equal((done.returncode, done.stderr), (1, b""), "a closed pipe with SIGPIPE ignored")


def bound_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))


# a build with a sanitizer reserves more than that before it starts
if weir("--version", preexec_fn=bound_memory).returncode == 0:

    @test
    def memory_that_cannot_be_had():
        done = weir("replay", "--limit=1/s", "--max-keys=100000000", "-", data=GOOD,
                    preexec_fn=bound_memory)
        equal(done.returncode, 2, "status")
        assert re.search(rb"cannot open an engine for 100000000 keys under 1 limits: ",
                         done.stderr), done.stderr


# ---- what people read ----------------------------------------------------------------------


@test
def the_table():
    data = b"".join(GOOD.replace(b"10:05:03", b"%02d:%02d:00" % (10 + i // 60, i % 60))
                    for i in range(1200) for _ in range(1 + i % 3) if i < 120)
    done = weir("replay", "--limit=1/min", "--limit=1/h burst 1000", path_of("table.log", data))
    text = done.stdout.decode()
    lines = text.splitlines()
    equal(lines[0], "240 requests \u00b7 1 key (ip) \u00b7 2015-05-17 10:00:00 to 2015-05-17 "
                    "11:59:00 +00:00 (1 h 59 min) \u00b7 0 lines skipped", "head")
    equal(lines[2:5], [
        "policy          allowed  denied  denied %  keys  keys denied  first denied",
        "1/min               120     120   50.00 %     1            1  2015-05-17 10:01:00",
        "1/h burst 1000      240       0    0.00 %     1            0  never"], "limits")
    equal(lines[6:9], ["most denied  allowed  denied", "under 1/min",
                       "  192.0.2.1      120     120"], "top")
    equal(lines[10], "over time: one column is 2 min, full height 5 requests", "scale")
    offered = lines[11].split("offered  ")[1]
    equal(len(offered), 60, "columns")
    equal(offered[:6], "\u2585\u2587\u2588" * 2, "3, 4 and 5 of 5 requests")
    assert lines[12].endswith("  " + "\u2584" * 60), lines[12]
    plain = weir("replay", "--limit=1/min", path_of("table.log", data),
                 env={"LC_ALL": "C", "LANG": "C"}).stdout
    assert plain.isascii()
    assert b"240 requests | 1 key (ip) | " in plain
    assert b"offered  +#@+#@" in plain, plain


@test
def check_in_words():
    expected = {
        "10/min burst 20": ["10/min burst 20", "at most 20 requests at once",
                            "then one every 6 s, 10 per minute for ever after",
                            "empty to full in 2 min",
                            "kept exactly: a unit is 1 ns, a request takes 6,000,000,000",
                            "room for a debt of at least 135 days, 1,944,000 requests"],
        "3/s": ["3/s", "at most 3 requests at once",
                "then one about every 333.333333 ms, 3 per second for ever after",
                "empty to full in 1 s",
                "kept exactly: a unit is about 0.333 ns, a request takes 1,000,000,000",
                "room for a debt of at least 135 days, 34,992,000 requests"],
        "0/s burst 5": ["0/s burst 5", "at most 5 requests at once",
                        "after these none ever again: nothing accrues at rate 0"],
        "unlimited": ["unlimited", "every request, at any rate; nothing is recorded"],
        "50/s pace": ["50/s pace slack 0", "requests at least 20 ms apart, 50 per second",
                      "after a quiet time none may catch up: one at once, never two"],
        "50/s pace slack 10": ["50/s pace slack 10",
                               "requests at least 20 ms apart, 50 per second",
                               "after a quiet time up to 10 may catch up: at most 11 requests "
                               "at once"],
        "1000/s refill 100ms burst 500": [
            "1000/s refill 100ms burst 500", "at most 500 requests at once",
            "then tokens for 1,000 per second, in lumps of 100 at every multiple of 100 ms of "
            "the clock", "empty to full in 500 ms at most"],
        "7/s refill 200ms burst 1": [
            "7/s refill 200ms burst 1", "at most 1 request at once",
            "then tokens for 7 per second, in lumps of 1 or 2 at every multiple of 200 ms of the "
            "clock", "a lump is more than the bucket holds: the rest of it is lost"],
        "5/s burst 0": ["5/s burst 0", "no request at all: the bucket holds no token"],
    }
    for text, wanted in expected.items():
        done = weir("check", text)
        equal((done.returncode, done.stderr), (0, b""), text)
        lines = [line.strip() for line in done.stdout.decode().splitlines()]
        equal(lines[:len(wanted)], wanted, text)
    rounded = weir("check", "17/min").stdout.decode()
    assert "kept to less than one unit early or late, never adding up: a unit is " in rounded


@test
def check_in_json():
    equal(json.loads(weir("check", "--json", "10/min burst 20").stdout),
          {"policy": "10/min burst 20", "kind": "token bucket", "limit": 10,
           "period_ns": 60 * model.NS, "burst": 20, "interval_ns": 6 * model.NS,
           "empty_to_full_ns": 120 * model.NS, "exact": True, "unit_ns": 1,
           "units_per_request": 6 * model.NS, "debt_at_least": 1944000}, "token bucket")
    equal(json.loads(weir("check", "unlimited", "--json").stdout),
          {"policy": "unlimited", "kind": "unlimited"}, "unlimited")
    report = json.loads(weir("check", "--json", "17/min pace slack 2").stdout)
    equal((report["kind"], report["burst"], report["exact"]), ("pacer", 3, False), "pacer")
    assert abs(report["interval_ns"] - 60e9 / 17) < 1
    report = json.loads(weir("check", "--json", "--", "5/s refill 1s").stdout)
    equal((report["kind"], report["tick_ns"]), ("refill bucket", model.NS), "refill")


@test
def help_and_version():
    for arguments in (["--help"], ["replay", "--help"], ["check", "--help"],
                      ["replay", "--limit", "1/s", "--help"]):
        done = weir(*arguments)
        equal((done.returncode, done.stderr), (0, b""), arguments)
        assert done.stdout.startswith(b"usage: weir"), done.stdout
    assert re.fullmatch(rb"weir \d+\.\d+\.\d+\n", weir("--version").stdout)


def main():
    failed = 0
    print(f"1..{len(tests)}")
    for number, function in enumerate(tests, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Exception as error:  # a test that breaks is a test that failed
            failed += 1
            print(f"not ok {number} - {name}")
            print("# " + f"{type(error).__name__}: {error}".replace("\n", "\n# ")[:4000],
                  flush=True)
    return 1 if failed else 0


sys.exit(main())
