# SPDX-License-Identifier: MIT
"""Trace files: what write_trace writes, and what is said of files that are none. Prints TAP.

usage: test_trace.py WRITE_TRACE NATIVE
"""

import os
import struct
import subprocess
import sys
import tempfile

from points import add, equal, run_all, test
from trace_model import HEAD, RECORD, Trace, read_trace

WRITE_TRACE, NATIVE = sys.argv[1:3]
GROUP = 1024  # records with one `now`
folder = tempfile.TemporaryDirectory(prefix="weir-trace-")
path = os.path.join(folder.name, "some.trace")


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=100)


def write(*arguments):
    done = run(WRITE_TRACE, *arguments, path)
    equal((done.returncode, done.stderr), (0, ""), f"write_trace {arguments}")
    return read_trace(path)


@test
def a_hot_trace_byte_by_byte():
    write("--keys", 1, "--records", 1026)
    words = [1026, 1, 10**8, 10**9, 10**9]
    tick = 1024000
    span = tick + tick + 10**10  # the last now, a group's time, and from empty to full
    expected = b"WEIRTRC1" + struct.pack("<7Q", *words, span, 1026)
    expected += struct.pack("<3Q", 0, 1, 0) * 1024 + struct.pack("<3Q", 0, 1, tick) * 2
    with open(path, "rb") as file:
        found = file.read()
    equal(len(found), 64 + 1026 * 24, "bytes")
    equal(found[:64], expected[:64], "head")
    assert found == expected, "records differ"


@test
def keys_are_those_of_the_seed():
    """mt19937_64 is defined to the bit: from 5489 on, its 10000th number is 9981545732273789042."""
    trace = write("--keys", 10**6, "--records", 10000, "--seed", 5489)
    equal(trace.records[9999][0], 9981545732273789042 % 10**6, "the 10000th key")
    equal(trace.records[0][0], 14514284786278117030 % 10**6, "the first key")
    again = write("--keys", 1000, "--zipf", 1.2, "--records", 100, "--seed", 7)
    equal(write("--keys", 1000, "--zipf", 1.2, "--records", 100, "--seed", 7).to_bytes(),
          again.to_bytes(), "the same seed")
    assert write("--keys", 1000, "--zipf", 1.2, "--records", 100).records != again.records


def share_is(denied, *arguments):
    trace = write(*arguments, "--denied", denied)
    equal(trace.admitted, trace.admits(), "admitted")
    share = 100 * (1 - trace.admitted / len(trace.records))
    assert abs(share - denied) <= 1, f"{share} % are denied"
    refill = -(-trace.burst * trace.period // trace.limit)
    assert trace.span >= trace.records[-1][2] + refill, "a bucket is not full again"
    for i, (key, n, now) in enumerate(trace.records):
        assert key < trace.keys and n == 1, (i, key, n)
        equal(now, trace.records[i // GROUP * GROUP][2], f"now of record {i}")
    equal(trace.records[0][2], 0, "the first now")


for skew in (0, 0.8, 0.99, 1, 1.2):
    for share in (0, 50, 99):
        add(f"keys 100, zipf {skew}, denied {share}", share_is, share, "--keys", 100, "--zipf",
            skew, "--records", 50000)
for share in (0, 50, 99):
    add(f"one key, denied {share}", share_is, share, "--keys", 1, "--records", 300000)
add("many keys, denied 50", share_is, 50, "--keys", 20000, "--records", 100000)
add("rates below a token in a second", share_is, 99, "--keys", 5000, "--records", 1000000)


def shares_of_keys(keys, skew):
    """Of the keys by how often they come, the most frequent first."""
    counts = {}
    trace = write("--keys", keys, "--zipf", skew, "--records", 200000)
    for key, _, _ in trace.records:
        counts[key] = counts.get(key, 0) + 1
    return [count / len(trace.records) for count in sorted(counts.values(), reverse=True)]


@test
def zipf_is_as_skewed_as_it_says():
    for skew in (0.8, 0.99, 1, 1.2):
        weights = [rank ** -skew for rank in range(1, 1001)]
        shares = shares_of_keys(1000, skew)
        for rank in (0, 1, 9):
            due = weights[rank] / sum(weights)
            assert abs(shares[rank] - due) < 0.05 * due, (skew, rank, shares[rank], due)
    uniform = shares_of_keys(1000, 0)
    assert len(uniform) == 1000 and uniform[0] < 0.0015, uniform[0]


# ---- what is refused -----------------------------------------------------------------------


def refused(pattern, *arguments, status=2):
    done = run(WRITE_TRACE, *arguments)
    equal(done.returncode, status, f"status of {arguments}, which said {done.stderr!r}")
    assert pattern in done.stderr and done.stderr.count("\n") == 1, done.stderr
    equal(done.stdout, "", "output")


@test
def wrong_usage_of_write_trace():
    refused("--keys is needed", path)
    refused("a FILE is needed", "--keys", 5)
    refused("one FILE at a time", "--keys", 5, "a", "b")
    refused("unknown option --kees", "--kees", 5, path)
    for value in ("0", "-1", "1x", "", "4294967296", "99999999999999999999"):
        refused(f"--keys {value}: a whole number from 1 to", "--keys", value, path)
    refused("--denied 100: a whole number from 0 to 99", "--keys", 5, "--denied", 100, path)
    for value in ("-1", "nan", "1e3", "11", ".", "1.2.3", ""):
        refused(f"--zipf {value}: a decimal number from 0 to 10", "--keys", 5, "--zipf", value, path)
    refused("99 % of 100 records of 100 keys cannot be denied", "--keys", 100, "--denied", 99,
            "--records", 100, path)
    refused("cannot be written: No such file", "--keys", 5, "--records", 5, "/nowhere/some.trace",
            status=1)
    refused("cannot be written: No space left", "--keys", 5, "--records", 5, "/dev/full", status=1)


def small(**changes):
    arguments = {"keys": 3, "limit": 1, "period": 10, "burst": 2,
                 "records": [(0, 1, 0), (2, 1, 0), (1, 1, 5)], **changes}
    return Trace(**arguments).to_bytes()


def unreadable(data, complaint):
    with open(path, "wb") as file:
        file.write(data)
    done = run(NATIVE, "--trace", path, "--subject", "weir")
    equal(done.returncode, 2, f"status, which said {done.stderr!r}")
    equal((done.stdout, done.stderr), ("", f"native: {path}: {complaint}\n"), "what was said")


@test
def files_that_are_no_traces():
    good = small()
    with open(path, "wb") as file:
        file.write(good)
    equal(run(NATIVE, "--trace", path, "--subject", "weir").returncode, 0, "status of a good one")
    unreadable(b"", "no trace: it is shorter than a head")
    unreadable(good[:63], "no trace: it is shorter than a head")
    unreadable(b"WEIRTRC2" + good[8:], "no trace: it does not begin with WEIRTRC1")
    for data in (good[:-1], good + b"\0", good + bytes(24), good[:64]):
        unreadable(data, f"{len(data)} bytes, which are not a head and 3 records of 24")
    huge = HEAD.pack(b"WEIRTRC1", 2**63, 3, 1, 10, 2, 100, 3)
    unreadable(huge, "64 bytes, which are not a head and 9223372036854775808 records of 24")
    for field in range(1, 5):
        head = list(HEAD.unpack(good[:64]))
        head[field] = 0
        data = HEAD.pack(*head) + (good[64:] if field > 1 else b"")
        unreadable(data, "records, keys, limit and period must not be 0")
    unreadable(small(admitted=4), "admits 4 of 3 records")
    unreadable(small(records=[(0, 1, 0), (3, 1, 5)]), "record 1: key 3 of 3")
    unreadable(small(records=[(0, 1, 1)]), "record 0: now is 1, not 0")
    unreadable(small(records=[(0, 1, 0), (1, 1, 7), (1, 1, 6)]),
               "record 2: now goes back from 7 to 6")
    unreadable(small(span=24), "a span of 24 ns, after which not every bucket is full again")
    equal(RECORD.size, 24, "bytes of a record")


@test
def files_that_cannot_be_read():
    for where, complaint in ((os.path.join(folder.name, "none"), "cannot be opened: No such file "
                              "or directory"), (folder.name, "not a file")):
        done = run(NATIVE, "--trace", where, "--subject", "weir")
        equal((done.returncode, done.stderr), (2, f"native: {where}: {complaint}\n"), where)


if __name__ == "__main__":
    sys.exit(run_all())
