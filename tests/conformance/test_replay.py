# SPDX-License-Identifier: MIT
"""`weir replay` from outside, against replay_model.py: its numbers, on hard input too. Prints TAP.

usage: test_replay.py WEIR MAKE_SAMPLE
WEIR_LOG names another combined log that is replayed as well.
"""

import csv
import datetime
import gzip
import hashlib
import io
import json
import os
import random
import re
import subprocess
import sys
import zoneinfo

import replay_model as model
from command import (GOOD, POLICIES, Skip, TOP, WEIR, equal, expect_error, folder, limits, main,
                     path_of, replay, sample_data, test, wait_until_read, weir)

# a pacer, a refill bucket, and settings whose units are rounded: on whole seconds, and with
# every rounding far below 1 ns, these equal the exact ones as well
MORE_POLICIES = ["2/s pace", "1/s pace slack 3", "30/min refill 10s", "7/min refill 13s burst 9",
                 "17/min", "1000/day burst 12", "3/7.5s burst 2", "0/s burst 5"]
# midnight in these zones lies within the sample's hours
WINDOWS = ["10/min window", "100/h window", "3/7.5s window", "0/s window", "10/min aligned",
           "300/h aligned +05:45", "60/30min aligned -00:10:30", "200/day aligned -09:00",
           "10/min sliding", "5/7.5s sliding", "100/h sliding", "1/s sliding"]
CALENDARS = ["50/day zone America/Denver", "50/day zone Pacific/Auckland", "50/day zone UTC",
             "300/week zone Europe/Berlin", "300/month zone Asia/Kuala_Lumpur"]
FIELDS = ["allowed", "denied", "keys", "keys_denied", "first_denied", "overflow", "top"]


def numbers(report):
    """All of a report but the speed, which is never the same."""
    return {name: value for name, value in report.items() if name != "decisions_per_second"}


def seconds(ns):
    return float("%.15g" % model.Fraction(ns, model.NS))


def check_against_model(report, events, skipped, policies, order, top=TOP):
    times = [event.ns for event in events]
    equal(report["requests"], len(events), "requests")
    equal(report["skipped_lines"], skipped, "skipped_lines")
    equal(report["span_s"], seconds(max(times) - min(times)), "span_s")
    first, last = min(events, key=lambda e: e.ns), max(events, key=lambda e: e.ns)
    equal((report["from"], report["to"]), (model.rfc3339(first.ns, first.offset),
                                           model.rfc3339(last.ns, last.offset)), "from and to")
    late, most = model.behind_the_maximum(events) if order is model.on_running_maximum else (0, 0)
    equal((report["out_of_order"], report["out_of_order_max_s"]), (late, seconds(most)),
          "out of order")
    equal(len(report["limits"]), len(policies), "limits")
    assert report["decisions_per_second"] > 0
    ordered = order(events)
    for text, found in zip(policies, report["limits"]):
        expected = model.replay(ordered, text, top)
        for field in FIELDS:
            equal(found[field], expected[field], f"{text}: {field}")
        equal(found["allowed"] + found["denied"], len(events), f"{text}: sum")


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
def sample_is_the_same_from_every_compiler():
    equal(hashlib.sha256(sample_data).hexdigest(),
          "ac3e152bfed3df4d3df2577bb8398faefc386ce21355c50748967e6ee91e8351", "SHA-256")


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


@test
def sample_equals_the_model_under_windows():
    events, bad = model.read_combined(sample_data)
    path = path_of("sample.log", sample_data)
    check_against_model(replay(path, WINDOWS), events, bad, WINDOWS, model.in_time_order)
    check_against_model(replay("-", WINDOWS, data=sample_data), events, bad, WINDOWS,
                        model.on_running_maximum)


def need_zones(names):
    for name in names:
        try:
            zoneinfo.ZoneInfo(name)
        except zoneinfo.ZoneInfoNotFoundError as reason:
            raise Skip(f"{reason}") from reason


@test
def sample_equals_the_model_under_calendars():
    need_zones(text.split()[-1] for text in CALENDARS)
    events, bad = model.read_combined(sample_data)
    path = path_of("sample.log", sample_data)
    report = replay(path, CALENDARS)
    check_against_model(report, events, bad, CALENDARS, model.in_time_order)
    denied = [limit["denied"] for limit in report["limits"]]
    assert len(set(denied[:3])) == 3, f"the zones make no difference: {denied}"
    check_against_model(replay("-", CALENDARS, data=sample_data), events, bad, CALENDARS,
                        model.on_running_maximum)


@test
def the_local_zone_is_the_one_that_is_set():
    need_zones(["America/Denver"])
    path = path_of("sample.log", sample_data)
    expected = replay(path, ["200/day zone America/Denver"])["limits"][0]
    done = weir("replay", "--json", "--top=50", "--limit=200/day zone local", path,
                env={"TZ": "America/Denver"})
    found = json.loads(done.stdout)["limits"][0]
    equal(found, dict(expected, policy="200/day zone local"), "TZ=America/Denver")


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
        check_against_model(replay(os.environ["WEIR_LOG"], WINDOWS), events, bad, WINDOWS,
                            model.in_time_order)


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


def as_json_lines(events):
    return "".join('{"ts":%d.%09d,"ip":"%s"}\n' % (*divmod(event.ns, model.NS), event.key)
                   for event in events).encode()


@test
def random_times_equal_the_model_under_windows():
    """Nanosecond times close to the edges of aligned and sliding windows, and times of whole
    grains close to the ends of windows from the first request."""
    source = random.Random(8)
    zone = datetime.timedelta(0)
    for seed in range(20):
        for grain, policies in (
                (1, ["10/s aligned", "3/s aligned -00:00:01", "8/3ms aligned +24:00",
                     "10/s sliding", "3/s sliding", "1/6s sliding", "8/3ms sliding",
                     "7/1000000007ns sliding"]),
                (512, ["10/s window", "3/512ms window", "8/2048us window", "1/6s window"])):
            edge = source.choice([3 * 10**6, 10**9, 6 * 10**9, 2048 * 1000, 512 * 10**6])
            at, events = 1_700_000_000 * model.NS, []
            for _ in range(400):
                at += source.choice([0, 1, edge - 1, edge, edge + 1, edge // 7, edge - at % edge,
                                     2 * edge, 9 * edge])
                at -= at % grain
                late = source.choice([0, 0, 0, edge, 5 * edge])
                events.append(model.Event(at - late, zone, "198.18.0.%d" % source.randint(1, 4)))
            data = as_json_lines(events)
            report = replay("-", policies, data=data)
            check_against_model(report, events, 0, policies, model.on_running_maximum)
            report = replay(path_of("random%d.json" % seed, data), policies)
            check_against_model(report, events, 0, policies, model.in_time_order)


@test
def random_days_equal_the_model_under_calendars():
    """Around midnights, the changes of clocks included, of zones of many kinds."""
    zones = ["America/New_York", "Europe/London", "Asia/Kuala_Lumpur", "Asia/Kathmandu",
             "Australia/Lord_Howe", "Pacific/Auckland", "Africa/Casablanca", "America/Sao_Paulo",
             "Pacific/Apia", "UTC"]
    need_zones(zones)
    source = random.Random(9)
    for name in zones:
        zone = zoneinfo.ZoneInfo(name)
        policies = [f"4/{unit} zone {name}" for unit in ("day", "week", "month")]
        date, instants = datetime.datetime(2011, 1, 1), []
        while date.year < 2045:
            midnight = int(date.replace(tzinfo=zone).timestamp()) * model.NS
            instants += [midnight + near for near in (-1, 0, 1)]
            instants.append(midnight + source.randint(1, 86400 * model.NS))
            date += datetime.timedelta(days=source.choice([1, 1, 1, 2, 29]))
        events = [model.Event(ns, datetime.timedelta(0), "key %d" % (i % 2))
                  for i, ns in enumerate(sorted(instants))]
        report = replay(path_of("days.json", as_json_lines(events)), policies)
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
    windows = ["2/s window", "3/day window", "2/s aligned", "3/day aligned +08:00", "2/s sliding",
               "3/day sliding", "3/366day aligned"]
    check_against_model(replay("-", windows, data=data), events, 0, windows,
                        model.on_running_maximum)
    check_against_model(replay(path_of("centuries.json", data), windows), events, 0, windows,
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
        ("padded gzip", gzip.compress(sample_data) + bytes(4096), expected, []),
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
    policies = POLICIES + MORE_POLICIES + WINDOWS
    expected = numbers(replay(path, policies))
    for threads in ("2", "3", "16"):
        equal(numbers(replay(path, policies, "--threads", threads)), expected, threads)
    one = path_of("one.log", lines_of(sample_data)[0])
    equal(numbers(replay(one, POLICIES, "--threads=8")), numbers(replay(one, POLICIES)), "one")


@test
def threads_round_the_start_of_windows_alike():
    """Where a window of so large a limit begins is rounded up by as much as some requests are
    apart here, but on the same grid for every share of the keys."""
    source = random.Random(12)
    at, events = 1_700_000_000 * model.NS, []
    for _ in range(100000):
        at += source.randint(0, 700)
        events.append(model.Event(at, datetime.timedelta(0), "key %d" % source.randint(1, 3)))
    path = path_of("grains.json", as_json_lines(events))
    policies = ["1000/2ms window", "4000/5ms window", "5000/8ms window"]
    expected = numbers(replay(path, policies))
    for threads in ("2", "7"):
        equal(numbers(replay(path, policies, "--threads", threads)), expected, threads)


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
        equal(replay("-", ["1/h"], "--key", key, data=data)["key"], key, "key")
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
    equal((report["from"], report["to"]), ("2015-05-17T10:05:01-03:30",
                                           "2015-05-17T10:05:03-03:30"), "from and to")
    zones = ('{"ip":"a","time":"2015-05-17T10:05:03.5+02:00"}\n'
             '{"ip":"a","time":"2015-05-17T09:05:03Z"}\n')
    report = replay("-", ["1/s"], data=zones.encode())
    equal((report["from"], report["to"]), ("2015-05-17T10:05:03.5+02:00",
                                           "2015-05-17T09:05:03Z"), "from and to")
    fraction = b'{"ts":1.5,"ip":"a"}\n{"ts":3.75,"ip":"a"}\n'
    report = replay("-", ["1/min"], data=fraction)
    equal(report["limits"][0]["first_denied"], "1970-01-01T00:00:03.75Z", "fraction")
    equal(report["span_s"], 2.25, "span of a fraction")
    done = weir("replay", "--json", "--limit=1/s", "-",
                data=b'{"ts":1,"ip":"a"}\n{"ts":1.1,"ip":"a"}\n')
    assert b'"span_s": 0.1,' in done.stdout, done.stdout


@test
def ties_are_listed_as_they_came_in_time():
    data = "".join('{"ts":%d,"ip":"%s"}\n' % (ts, ip)
                   for ts, ip in [(5, "d"), (5, "d"), (1, "c"), (9, "c"), (1, "b"), (9, "b"),
                                  (0, "a"), (2, "a"), (3, "a"), (9, "e")])
    limit = replay(path_of("ties.json", data.encode()), ["1/day"], top=3)["limits"][0]
    equal([entry["key"] for entry in limit["top"]], ["a", "c", "b"], "top")
    equal(limit["keys_denied"], 4, "keys denied")


# ---- hard input ----------------------------------------------------------------------------


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
def an_open_quote_hides_no_row():
    def rows(count):
        return [b"192.0.2.%d,%d,x\n" % (i % 3, 1_700_000_000 + i) for i in range(count)]
    for at in (1, 70_000, 99_999):
        data = rows(100_000)
        data[at] = b'"' + data[at]
        report = replay("-", ["1/s"], "--format=csv", data=b"ip,time,x\n" + b"".join(data))
        equal((report["requests"], report["skipped_lines"]), (99_999, 1), f"counts, {at}")
    # a quoted field much later does not close it, nor do its rows go
    data = rows(10_000)
    data[5] = b'"' + data[5]
    data[9_000] = data[9_000].replace(b"x", b'"x, ""y""\nz"')
    report = replay("-", ["1/s"], "--format=csv", data=b"ip,time,x\n" + b"".join(data))
    equal((report["requests"], report["skipped_lines"]), (9_999, 1), "counts")


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
            b"/" + b"k" * 5000, b"/" + b"k" * 4999 + b"l", b"/\x1b[31m", b"/\x7f"]
    data = b"".join(GOOD.replace(b"GET /", b"GET " + key) * 2 for key in keys)
    path = path_of("bytes.log", data)
    done = weir("replay", "--json", "--top=50", "--key=path", "--limit=1/h", path)
    shown = [entry["key"] for entry in json.loads(done.stdout.decode())["limits"][0]["top"]]
    equal(len(set(shown)), len(keys), "distinct keys")
    equal(shown[0], "/\ufffdff", "a byte that is no UTF-8")
    equal(shown[2], "/\\xff", "a backslash is itself")
    equal(shown[4], "/caf\u00e9", "UTF-8 is itself")
    equal(shown[8], "/\x7f", "DEL")
    assert b"\x7f" not in done.stdout and b'"/\\u007f"' in done.stdout, "DEL is escaped"
    table = weir("replay", "--top=50", "--key=path", "--limit=1/h", path).stdout
    assert b"\x1b" not in table and b"\xff" not in table
    assert b"/\\x1b[31m" in table and b"/\\xff" in table and "/caf\u00e9".encode() in table


@test
def overflow_of_a_stream_is_reported():
    events, clients, counted = 2000, 200, 10
    data = b"".join(b'{"ts":%d,"ip":"198.18.0.%d"}\n' % (1000 + i // 40, i % clients)
                    for i in range(events))
    report = replay("-", ["5/h", "1/h"], f"--max-keys={counted}", data=data)
    equal(report["requests"], events, "requests")
    equal(report["uncounted"], events - events // clients * counted,
          "requests of keys past the bound")
    for limit, each in zip(report["limits"], (5, 1)):
        # the table has room for some more, the same under each limit
        refused = limit["overflow"] // (events // clients)
        equal(limit["overflow"], refused * (events // clients), "overflow, of whole keys")
        equal(refused, report["limits"][0]["overflow"] // (events // clients), "refused keys")
        assert 0 < refused <= clients - counted, refused
        equal(limit["keys"], counted, "keys")
        # each placed key of its own, and one bucket for all the others
        equal(limit["allowed"], (clients - refused + 1) * each, "allowed")
        equal(limit["denied"], events - limit["allowed"], "denied")
        equal(len(limit["top"]), counted, "top")
    text = weir("replay", "--limit=5/h", f"--max-keys={counted}", "-",
                data=data).stdout.decode()
    assert re.search(r"[\d,]+ requests under 5/h had no place for their key in the table",
                     text), text
    assert "1,900 requests came from keys past --max-keys" in text, text
    assert f" more than {counted} keys (ip) " in text, text
    report = replay("-", ["5/h"], f"--max-keys={clients}", data=data)
    equal((report["limits"][0]["overflow"], report["uncounted"]), (0, 0), "enough room")


def peak_memory_kb(megabytes):
    """Peak resident size of a replay of a stream of so many MB with ever new keys.

    Read from the process while it waits for more: what a child has used by the time it is
    reaped includes what its parent used before the exec.
    """
    # freed memory that a sanitizer keeps back would count as used
    env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") +
               ":quarantine_size_mb=1")
    child = subprocess.Popen([WEIR, "replay", "--json", "--limit=10/min", "--max-keys=20000", "-"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    written, number = 0, 0
    while written < megabytes << 20:
        chunk = b"".join(b'2001:db8:%x:%x::1 - - [04/Mar/2025:%02d:%02d:%02d +0100] "GET /%d '
                         b'HTTP/1.1" 200 1 "-" "-"\n'
                         % (n >> 12, n & 0xfff, n >> 16 & 15, n >> 10 & 31, n >> 4 & 31, n)
                         for n in range(number, number + 4096))
        number += 4096
        written += child.stdin.write(chunk)
    child.stdin.flush()
    wait_until_read(child.stdin)
    with open(f"/proc/{child.pid}/status", encoding="ascii") as status:
        peak = int(re.search(r"VmHWM:\s*(\d+) kB", status.read()).group(1))
    report = json.loads(child.communicate()[0])
    equal(child.returncode, 0, "status")
    equal(report["requests"], number, "requests")
    return peak, number


@test
def streams_take_constant_memory():
    (small, few), (large, many) = peak_memory_kb(8), peak_memory_kb(80)
    # a leak of so much a request would show; what may grow is noise of the allocator
    assert (many - few) * 16 > 4096 << 10, f"{few} and {many} requests"
    assert large <= small + 4096, f"{small} KB for {few} requests, {large} KB for {many}"


@test
def one_stray_line_does_not_make_a_log_csv():
    for stray in (b"time\n", b"restart,time,x\n"):
        path = path_of("stray.log", stray + GOOD * 3)
        done = weir("replay", "--json", "--limit=1/h", path)
        equal(done.returncode, 0, f"status, {done.stderr}")
        report = json.loads(done.stdout)
        equal((report["requests"], report["skipped_lines"]), (3, 1), "counts")
        assert b"stray.log:1: line skipped: the CSV header has no column for the key" in \
            done.stderr, done.stderr
        expect_error(2, "stray.log:1: the CSV header has no column for the key", "replay",
                     "--limit=1/h", "--format=csv", path)


@test
def names_do_not_depend_on_the_locale():
    """In Turkish I is no capital of i."""
    locale = os.path.join(folder.name, "tr_TR.UTF-8")
    try:
        made = subprocess.run(["localedef", "-i", "tr_TR", "-f", "UTF-8", locale],
                              capture_output=True, check=False).returncode <= 1
    except OSError:
        made = False
    if not made:
        raise Skip("localedef cannot make a Turkish locale here")
    env = {"LOCPATH": folder.name, "LC_ALL": "tr_TR.UTF-8"}
    data = b"TIME,CLIENT_IP\n17/MAY/2015:10:05:03 +0000,192.0.2.1\n" \
           b"06/APRIL/2015:10:05:03 +0000,a\n17/JUN/2015:10:05:03 +0000,192.0.2.2\n"
    done = weir("replay", "--json", "--limit=1/h", path_of("capitals.csv", data), env=env)
    equal(done.returncode, 0, f"status, {done.stderr}")
    report = json.loads(done.stdout)
    equal((report["requests"], report["skipped_lines"]), (2, 1), "counts")


sys.exit(main())
