# SPDX-License-Identifier: MIT
"""`weir` as people meet it: errors, tables, terminals, `weir check`. Prints TAP.

usage: test_command.py WEIR MAKE_SAMPLE
"""

import datetime
import fcntl
import gzip
import json
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
import time

import replay_model as model
from command import (GOOD, POLICIES, Skip, WEIR, equal, expect_error, folder, limits, main, path_of,
                     sample_data, test, wait_until_asleep, wait_until_read, weir)

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
    expect_error(2, "--at : it needs a value", "check", "1/s", "--at")
    expect_error(2, "--at noon: ", "check", "1/s", "--at=noon")
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
    mixed = gzip.compress(GOOD * 100) + GOOD * 100
    expect_error(2, r"mixed\.gz: data behind the gzip stream", *one, path_of("mixed.gz", mixed))
    expect_error(2, "-: data behind the gzip stream", *one, "-", data=mixed)
    expect_error(2, "good.log:1: fields of this format have no names", *one, "--key=field:x",
                 path_of("good.log", GOOD))
    expect_error(2, "no column for the time", *one, "--format=csv", path_of("a.csv", b"ip,x\n"))
    no_x = (*one, "--key=field:x", path_of("b.csv", b"ip,time\n"))
    expect_error(2, 'b.csv:1: the CSV header has no column "x"', *no_x, "--format=csv")
    expect_error(2, 'b.csv:1: line skipped: the CSV header has no column "x"', *no_x, lines=2)


@test
def policies_that_do_not_parse_show_the_place():
    log = path_of("good.log", GOOD)
    for command in (["replay", log, "--limit"], ["check"]):
        for text, at, expected in [
                ("10/mix", 3, "a unit of time: ns us ms s min h day, or week or month before "
                              "zone NAME"),
                ("10/min burst", 12, "a whole count"),
                ("", 0, "a whole count, as in 10/min, or concurrency N or unlimited"),
                ("10", 2, "a slash and a span, as in 10/min"),
                ("10/s bust 5", 5, "the end, or burst N, pace, refill SPAN, window, aligned, "
                                   "sliding"),
                ("5/week", 6, "zone NAME, as in zone UTC"),
                ("5/day aligned +8", 16, "an offset of hours and minutes, as in \\+08:00"),
                ("5/day zone America/Port au Prince", 24, "the end"),
                ("concurrency lots", 12, "a whole count, or unlimited"),
                ("10/s\tburst\tx", 11, "a whole count")]:
            error = expect_error(2, f"not a policy; expected at the caret: {expected}\n",
                                 *command, text, lines=3)
            _, line, caret = error.splitlines()
            shown_at = at + 3 * text[:at].count("\t")
            equal(line, "  " + text.replace("\t", "\\x09"), "the text")
            equal(caret, " " * (2 + shown_at) + "^", f"the caret of {text!r}")
        expect_error(2, "a number is too large", *command, "99999999999999999999/s", lines=3)
        expect_error(2, '"10/s burst 18446744073709551614" cannot be kept exactly', *command,
                     "10/s burst 18446744073709551614")


@test
def policies_that_cannot_be_kept_say_why():
    log = path_of("good.log", GOOD)
    for command in (["replay", log, "--limit"], ["check"]):
        for text, why in [
                ("10/999us window", "cannot be kept: the period of a window is 1 ms to 366 days"),
                ("10/367day sliding", "cannot be kept: the period of a window is 1 ms to 366 days"),
                ("16777216/min window", "is more than a window can count: 16,777,215"),
                ("16777216/day zone UTC", "is more than a window can count: 16,777,215"),
                ("1000000/s sliding", "cannot be kept exactly: its counts and 180 days"),
                ("concurrency 281474976710657",
                 "is more than can be counted: 281,474,976,710,656 permits"),
                ("5/day zone Nowhere/Else", ": this system has no zone of that name")]:
            expect_error(2, f'"{text}":? {re.escape(why.lstrip(": "))}', *command, text)
    fast = "is more than 9 requests a nanosecond, which cannot be counted"
    large = "cannot be kept exactly: a burst is at most 36,028,797,018,963,967 requests"
    both = "cannot be kept exactly: its burst and its time do not fit into one word together"
    for text, why in [("20000000000/s burst 1", fast), ("9999999999/s burst 5", fast),
                      ("10/ns burst 0", fast), ("93/10ns pace slack 3", fast),
                      ("10000/us refill 3us burst 7", fast), ("1/s burst 36028797018963968", large),
                      ("0/s burst 99999999999999999", large),
                      ("7/9223372036854775809ns burst 5", both)]:
        for command in (["replay", log, "--limit"], ["check"]):
            expect_error(2, f'"{text}" {why}', *command, text)
    expect_error(2, '--limit: "concurrency 5" cannot be replayed: a log says when requests came, '
                    "not when they gave", "replay", "--limit", "concurrency 5", log)


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


@test
def arguments_reach_no_terminal_unescaped():
    nasty = "\x1b[31m\u202e\u00e9\udcff"
    shown = r"\\x1b\[31m\\xe2\\x80\\xae\u00e9\\xff"
    one = ("--limit", "1/s")
    for arguments in ((nasty,), ("--" + nasty,), ("check", "1/s", nasty), ("check", "--" + nasty),
                      ("replay", *one, nasty), ("replay", *one, "--key", nasty, "-"),
                      ("replay", *one, "--format", nasty, "-"), ("replay", *one, "-", nasty),
                      ("replay", *one, "--top", nasty, "-"), ("replay", *one, "--" + nasty)):
        error = expect_error(2, shown, *arguments)
        assert "\x1b" not in error and "\u202e" not in error, error
    done = weir("replay", *one, path_of("\x1b]0;x", b"bad \x1b[31m\n" + GOOD))
    equal(done.returncode, 0, "status")
    assert b"\x1b" not in done.stderr and b"\\x1b]0;x:1: line skipped" in done.stderr, done.stderr


def bound_memory():
    """Less than the words of an engine's parts take, of which there is one for 1360 keys."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 26, 1 << 26))


@test
def memory_that_cannot_be_had():
    if weir("--version", preexec_fn=bound_memory).returncode != 0:
        raise Skip("a build with a sanitizer reserves more than the bound before it starts")
    done = weir("replay", "--limit=1/s", "--max-keys=4000000000", "-", data=GOOD,
                preexec_fn=bound_memory)
    equal(done.returncode, 2, "status")
    assert re.search(rb"cannot open an engine for 4000000000 keys under 1 limits: ",
                     done.stderr), done.stderr


# ---- terminals -----------------------------------------------------------------------------


def on_terminal(*arguments, columns=100, env=None, chunks=None):
    """What a terminal of so many columns gets, stdout and stderr in one.

    A stream is given as chunks of stdin: each is written when the one before was taken, and
    longer than the time between two lines of progress ago.
    """
    environment = dict(os.environ, LC_ALL="C.UTF-8", TERM="xterm")
    environment.pop("NO_COLOR", None)
    environment.update(env or {})
    try:
        ours, theirs = pty.openpty()
    except OSError as reason:
        raise Skip(f"there are no pseudo-terminals here: {reason}") from reason
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 25, columns, 0, 0))
    child = subprocess.Popen([WEIR, *arguments], stdin=subprocess.PIPE, stdout=theirs,
                             stderr=theirs, env=environment)
    os.close(theirs)
    for chunk in chunks or []:
        child.stdin.write(chunk)
        child.stdin.flush()
        wait_until_read(child.stdin)
        time.sleep(0.15)
    child.stdin.close()
    printed = b""
    while True:
        try:
            got = os.read(ours, 65536)
        except OSError:  # how a terminal says that the other end is closed
            break
        if not got:
            break
        printed += got
    os.close(ours)
    equal(child.wait(), 0, f"status, {printed}")
    return printed.decode().replace("\r\n", "\n")


@test
def progress_is_shown_and_taken_away():
    text = on_terminal("replay", "--limit=1/h", "-", chunks=[GOOD * 3000, GOOD * 3000])
    shown = re.match(r"(\r[\d,]+ lines, [\d,]+ a second\x1b\[K)+\r\x1b\[K6,000 requests ", text)
    assert shown, text[:300]
    bad = on_terminal("replay", "--limit=1/h", "-", chunks=[GOOD * 3000, GOOD * 3000 + b"bad\n"])
    assert "\r\x1b[Kweir replay: -:6001: line skipped" in bad, bad[:300]
    equal(weir("replay", "--limit=1/h", "-", data=GOOD * 9000).stderr, b"", "no terminal")


@test
def emphasis_is_for_terminals_that_want_it():
    log = path_of("good.log", GOOD * 3)
    arguments = ("replay", "--limit=1/h", log)
    text = on_terminal(*arguments)
    assert re.search(r"^\x1b\[1mpolicy +allowed .*first denied\x1b\[0m$", text, re.M), text
    equal(text.count("\x1b[1m"), 2, "bold lines")
    plain = weir(*arguments).stdout.decode()
    assert "\x1b" not in plain, plain
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        equal(on_terminal(*arguments, env=env), plain, env)
    equal(on_terminal(*arguments, env={"NO_COLOR": ""}), text, "NO_COLOR is empty")


@test
def columns_follow_the_window():
    log = path_of("sample.log", sample_data)
    # 361 minutes in what 17 columns of names leave
    for columns, minutes in ((60, 9), (100, 5), (200, 2), (20, 16), (0, 5)):
        text = on_terminal("replay", "--limit=10/min", log, columns=columns)
        assert f"one column is {minutes} min, " in text, (columns, text)
        rows = [line for line in text.splitlines() if "  offered  " in line]
        equal([len(row) for row in rows], [17 + -(-361 // minutes)], f"{columns} columns")


def take_interrupts():
    """What runs in the background has them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@test
def an_interrupt_reports_what_was_counted():
    # an unfinished line is not counted; rows behind a quote that is open so far are
    rows = b'ip,time\n"a,1\nb,2\nc,3\nd,4'
    for lines, data, skipped in ((0, b"", 0), (10, GOOD * 10 + GOOD[:40], 0), (2, rows, 1)):
        child = subprocess.Popen([WEIR, "replay", "--json", "--limit=1/h", "-"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, preexec_fn=take_interrupts)
        child.stdin.write(data)
        child.stdin.flush()
        wait_until_asleep(child)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
        equal((child.returncode, err.count(b"\n")), (130, skipped), "status and messages")
        equal(json.loads(out)["requests"] if out else 0, lines, "requests")


# ---- what people read ----------------------------------------------------------------------


@test
def the_table():
    data = b"".join(GOOD.replace(b"10:05:03", b"%02d:%02d:00" % (10 + i // 60, i % 60))
                    for i in range(1200) for _ in range(1 + i % 3) if i < 120)
    done = weir("replay", "--limit=1/min", "--limit=1/h burst 1000", path_of("table.log", data))
    text = done.stdout.decode()
    lines = text.splitlines()
    equal(lines[0], "240 requests \u00b7 1 key (ip) \u00b7 2015-05-17 10:00:00 to "
                    "11:59:00 +00:00 (1 h 59 min) \u00b7 0 lines skipped", "head")
    equal(lines[2:5], [
        "policy          allowed  denied  denied %  keys  keys denied  first denied",
        "1/min               120     120   50.00 %     1            1  2015-05-17 10:01:00",
        "1/h burst 1000      240       0    0.00 %     1            0  never"], "limits")
    equal(lines[6:9], ["most denied  allowed  denied", "under 1/min",
                       "  192.0.2.1      120     120"], "top")
    equal(lines[10], "over time: one column is 2 min, full height 5 requests, blank is none, the "
                     "lowest block any", "scale")
    offered = lines[11].split("offered  ")[1]
    equal(len(offered), 60, "columns")
    equal(offered[:6], "\u2585\u2587\u2588" * 2, "3, 4 and 5 of 5 requests")
    assert lines[12].endswith("  " + "\u2584" * 60), lines[12]
    plain = weir("replay", "--limit=1/min", path_of("table.log", data),
                 env={"LC_ALL": "C", "LANG": "C"}).stdout
    assert plain.isascii()
    assert b"240 requests | 1 key (ip) | " in plain
    assert b"offered  +#@+#@" in plain, plain
    assert b"blank is none, the lowest mark any\n" in plain, plain


@test
def the_head_says_when():
    for first, last, shown in [
            (b"17/May/2015:10:05:03 +0000", b"17/May/2015:10:05:03 +0000",
             "2015-05-17 10:05:03 to 10:05:03 +00:00 (0 s)"),
            (b"17/May/2015:23:59:59 +0000", b"18/May/2015:00:00:00 +0000",
             "2015-05-17 23:59:59 to 2015-05-18 00:00:00 +00:00 (1 s)"),
            (b"17/May/2015:10:05:03 +0000", b"17/May/2015:12:06:03 +0200",
             "2015-05-17 10:05:03 +00:00 to 2015-05-17 12:06:03 +02:00 (1 min)")]:
        data = b"".join(GOOD.replace(b"17/May/2015:10:05:03 +0000", at) for at in (first, last))
        head = weir("replay", "--limit=1/s", path_of("when.log", data)).stdout.decode()
        assert f" \u00b7 {shown} \u00b7 " in head.splitlines()[0], head


@test
def the_readme_shows_what_the_sample_gives():
    with open(os.path.join(os.environ["WEIR_SOURCE_ROOT"], "README.md"), encoding="utf-8") as file:
        quoted = re.search(r"^    [\d,]+ requests \u00b7 (?:.*\n)(?:    .*\n|\n)*", file.read(),
                           re.MULTILINE).group(0)
    printed = weir("replay", *limits(POLICIES), path_of("sample.log", sample_data))
    lines = iter(printed.stdout.decode().splitlines())
    shown = [line[4:] for line in quoted.splitlines() if line.strip()]
    assert len(shown) > 5, shown
    for line in shown:
        assert any(line == found for found in lines), f"not printed, or not there: {line!r}"


@test
def check_in_words():
    expected = {
        "10/min burst 20": ["10/min burst 20", "at most 20 requests at once",
                            "then one every 6 s, 10 per minute in the long run",
                            "empty to full in 2 min",
                            "kept exactly: a unit is 1 ns, a request takes 6,000,000,000",
                            "room for a debt of at least 135 days, 1,944,000 requests"],
        "3/s": ["3/s", "at most 3 requests at once",
                "then one about every 333.333333 ms, 3 per second in the long run",
                "empty to full in 1 s",
                "kept exactly: a unit is about 0.333 ns, a request takes 1,000,000,000",
                "room for a debt of at least 135 days, 34,992,000 requests"],
        "0/s burst 5": ["0/s burst 5", "at most 5 requests at once",
                        "then none at all, since nothing accrues at rate 0 (0/s burst 0 blocks "
                        "every request)"],
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
        "1/365day burst 1048575": [
            "1/365day burst 1048575", "at most 1,048,575 requests at once",
            "then one every 365 d, 1 per 365 d in the long run",
            "empty to full in about 1,047,879 years"],
        "1/s burst 36028797018963966": [
            "1/s burst 36028797018963966", "at most 36,028,797,018,963,966 requests at once",
            "then one every 1 s, 1 per second in the long run",
            "empty to full in about 1,141,707,127 years"],
        "7/213503day": ["7/213503day", "at most 7 requests at once",
                        "then one every about 84 years, 7 per about 585 years in the long run",
                        "empty to full in about 585 years"],
    }
    whole = {
        "5/s burst 0": ["5/s burst 0", "no request at all: the bucket holds no token"],
        "0/s": ["0/s", "at most 1 request at once",
                "then none at all, since nothing accrues at rate 0 (0/s burst 0 blocks every "
                "request)"],
    }
    for text, wanted in whole.items():
        lines = weir("check", text).stdout.decode().splitlines()
        equal([line.strip() for line in lines], wanted, text)
    for text, wanted in expected.items():
        done = weir("check", text)
        equal((done.returncode, done.stderr), (0, b""), text)
        lines = [line.strip() for line in done.stdout.decode().splitlines()]
        equal(lines[:len(wanted)], wanted, text)
    rounded = weir("check", "17/min").stdout.decode()
    assert "kept to less than one unit early or late, never adding up: a unit is " in rounded


WINDOWS_IN_WORDS = {
    "600/min window": [
        "at most 600 requests from a key's first one until 1 min has passed",
        "the next request after that begins the next window",
        "up to 1,199 requests within 1 min, around the end of a window",
        None],
    "1/min window": [
        "at most 1 request from a key's first one until 1 min has passed",
        "the next request after that begins the next window",
        "kept exactly"],
    "0/min window": ["no request at all: the limit is 0"],
    "100/10s sliding": [
        "at most 100 requests within 10 s by an estimate: those in this window of 10 s, and of "
        "those in the one",
        "before as large a share as lies within the last 10 s",
        "windows begin at multiples of 10 s of the clock",
        "up to 199 requests within 10 s, if many of them came late in their window",
        "kept exactly"],
    "600/min aligned": [
        "at most 600 requests in each window of 1 min",
        "windows begin at multiples of 1 min since 1970 began in UTC",
        "up to 1,200 requests within 1 min, around the end of a window",
        "the window of 2026-03-29T03:30:05.25+02:00: 2026-03-29T01:30:00Z to 2026-03-29T01:31:00Z, "
        "1 min", "kept exactly"],
    "5/day aligned +08:00": [
        "at most 5 requests in each window of 1 d",
        "windows begin at multiples of 1 d since 1970 began in UTC+08:00",
        "up to 10 requests within 1 d, around the end of a window",
        "the window of 2026-03-29T03:30:05.25+02:00: 2026-03-29T00:00:00+08:00 to "
        "2026-03-30T00:00:00+08:00, 1 d", "kept exactly"],
    "3/4.5s aligned -00:00:01": [
        "at most 3 requests in each window of 4.5 s",
        "windows begin at multiples of 4.5 s since 1970 began in UTC-00:00:01",
        "up to 6 requests within 4.5 s, around the end of a window",
        "the window of 2026-03-29T03:30:05.25+02:00: 2026-03-29T01:30:01Z to "
        "2026-03-29T01:30:05.5Z, 4.5 s", "kept exactly"],
    "concurrency 64": ["at most 64 permits in use at a time",
                       "each until it is given back, however long that takes"],
    "concurrency 1": ["at most 1 permit in use at a time",
                      "each until it is given back, however long that takes"],
    "concurrency 0": ["no permit at all: the limit is 0"],
    "concurrency unlimited": ["any number of permits in use at a time; they are counted"],
}
CHANGE = "one in which clocks are changed is longer or shorter by that much"
CALENDARS_IN_WORDS = {
    "5/day zone Europe/Paris": [
        "at most 5 requests on each day of Europe/Paris", CHANGE,
        "up to 10 requests within less than a day, around the end of a window",
        "the window of 2026-03-29T03:30:05.25+02:00: 2026-03-29T00:00:00+01:00 to "
        "2026-03-30T00:00:00+02:00, 23 h", "kept exactly"],
    "5/day zone Asia/Kuala_Lumpur": [
        "at most 5 requests on each day of Asia/Kuala_Lumpur", CHANGE,
        "up to 10 requests within less than a day, around the end of a window",
        "the window of 2026-03-29T03:30:05.25+02:00: 2026-03-29T00:00:00+08:00 to "
        "2026-03-30T00:00:00+08:00, 1 d", "kept exactly"],
    "1/week zone UTC": [
        "at most 1 request in each week, which begins on Monday, of UTC",
        "up to 2 requests within less than a week, around the end of a window",
        "the window of 2026-03-29T03:30:05.25+02:00: 2026-03-23T00:00:00Z to "
        "2026-03-30T00:00:00Z, 7 d", "kept exactly"],
    "5/month zone local": [
        "at most 5 requests in each month of the local zone (TZ, else /etc/localtime)", CHANGE,
        "up to 10 requests within less than a month, around the end of a window",
        "the window of 2026-03-29T03:30:05.25+02:00: 2026-03-01T00:00:00-05:00 to "
        "2026-04-01T00:00:00-04:00, 30 d 23 h", "kept exactly"],
}
THEN = ("--at", "2026-03-29T03:30:05.25+02:00")


def check_words(cases, env=None):
    for text, wanted in cases.items():
        done = weir("check", *THEN, text, env=env)
        equal((done.returncode, done.stderr), (0, b""), text)
        lines = [line.strip() for line in done.stdout.decode().splitlines()]
        rounded = "a window's beginning is rounded up by less than "
        lines = [None if line.startswith(rounded) else line for line in lines]
        equal(lines, [text.replace("4.5s", "4500ms"), *wanted], text)


@test
def check_windows_in_words():
    check_words(WINDOWS_IN_WORDS)
    text = weir("check", "100/min window").stdout.decode()
    assert "rounded up by less than 32 ns, so that it never ends early" in text, text


@test
def check_calendars_in_words():
    if weir("check", "5/day zone Asia/Kuala_Lumpur").returncode != 0:
        raise Skip("this system has no zones")
    check_words(CALENDARS_IN_WORDS, {"TZ": "America/New_York"})


@test
def check_shows_the_window_of_now():
    for text in ("1/min aligned", "1/day zone UTC"):
        before = time.time()
        report = json.loads(weir("check", "--json", text).stdout)
        first, last = (datetime.datetime.fromisoformat(report[name].replace("Z", "+00:00"))
                       for name in ("window_from", "window_to"))
        length = 60 if "min" in text else 86400
        equal((last - first).total_seconds(), length, text)
        assert before < last.timestamp() and first.timestamp() <= time.time(), (text, report)
        words = weir("check", text).stdout.decode()
        assert "\n  the window of now: 2" in words, words


@test
def check_windows_in_json():
    minute = {"limit": 600, "period_ns": 60 * model.NS}
    expected = {
        "600/min window": {"kind": "fixed window", **minute, "most_in_one_period": 1199},
        "600/min sliding": {"kind": "sliding window", **minute, "most_in_one_period": 1199},
        "600/min aligned -03:30": {
            "kind": "aligned window", **minute, "utc_offset_s": -12600, "most_in_one_period": 1200,
            "window_from": "2026-03-28T22:00:00-03:30", "window_to": "2026-03-28T22:01:00-03:30"},
        "3/week zone UTC": {
            "kind": "calendar window", "limit": 3, "calendar": "week", "zone": "UTC",
            "most_in_one_period": 6, "window_from": "2026-03-23T00:00:00Z",
            "window_to": "2026-03-30T00:00:00Z"},
        "0/s sliding": {"kind": "sliding window", "limit": 0, "period_ns": model.NS,
                        "most_in_one_period": 0},
        "concurrency 64": {"kind": "concurrency", "limit": 64},
        "concurrency unlimited": {"kind": "concurrency"},
    }
    for text, wanted in expected.items():
        report = json.loads(weir("check", "--json", "--at=2026-03-29T01:30:00Z", text).stdout)
        grain = report.pop("grain_ns", None)
        equal(grain is not None and grain & (grain - 1) == 0, text == "600/min window",
              f"grain of {text}")
        equal(report, {"policy": text, **wanted}, text)


@test
def check_in_json():
    equal(json.loads(weir("check", "--json", "10/min burst 20").stdout),
          {"policy": "10/min burst 20", "kind": "token bucket", "limit": 10,
           "period_ns": 60 * model.NS, "burst": 20, "interval_ns": 6 * model.NS,
           "empty_to_full_ns": 120 * model.NS, "exact": True, "unit_ns": 1,
           "units_per_request": 6 * model.NS, "debt_at_least": 1944000}, "token bucket")
    equal(json.loads(weir("check", "unlimited", "--json").stdout),
          {"policy": "unlimited", "kind": "unlimited"}, "unlimited")
    for text, wanted in (("1/day burst 106751", 106751 * 86400 * model.NS),
                         ("1/day burst 106752", None), ("1/365day burst 1048575", None),
                         ("1/s burst 36028797018963966", None)):
        report = json.loads(weir("check", "--json", text).stdout)
        equal(report["empty_to_full_ns"], wanted, f"empty to full of {text}")
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


sys.exit(main())
