# SPDX-License-Identifier: MIT
"""What the tests of the command share: running it, comparing, printing TAP.

The scripts that import it are called as SCRIPT WEIR MAKE_SAMPLE.
"""

import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
import termios
import time

WEIR, MAKE_SAMPLE = sys.argv[1:3]
POLICIES = ["1/s burst 5", "10/min burst 10", "100/h"]  # those of `dev run`
TOP = 50
GOOD = b'192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'

folder = tempfile.TemporaryDirectory(prefix="weir-test-")
sample_data = subprocess.run([MAKE_SAMPLE], check=True, capture_output=True).stdout
tests = []


class Skip(Exception):
    """Why a test cannot run here."""


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


def equal(found, expected, what):
    assert found == expected, f"{what}: {found!r}, expected {expected!r}"


def expect_error(status, pattern, *arguments, data=b"", lines=1):
    done = weir(*arguments, data=data)
    text = done.stderr.decode()
    equal(done.returncode, status, f"status of {arguments}, which said {text!r}")
    equal(done.stdout, b"", f"output of {arguments}")
    assert re.search(pattern, text), f"{arguments}: {text!r} does not match {pattern!r}"
    equal(text.count("\n"), lines, f"lines of {text!r}")
    return text


def wait_until_read(pipe):
    """Until the other end has taken everything that was written."""
    for _ in range(20000):
        left = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
        if left == 0:
            return
        time.sleep(0.01)
    raise AssertionError(f"{left} bytes stay unread")


def wait_until_asleep(child):
    """Until a child has read all of its standard input and sleeps in the next read: it has
    nothing else to sleep for, and is asleep at each of several looks."""
    looks = 0
    for _ in range(20000):
        wait_until_read(child.stdin)
        with open(f"/proc/{child.pid}/stat", encoding="utf-8", errors="replace") as file:
            asleep = file.read().rsplit(")", 1)[1].split()[0] == "S"
        looks = looks + 1 if asleep else 0
        if looks == 5:
            return
        time.sleep(0.01)
    raise AssertionError("the child does not wait for input")


def main():
    failed = 0
    print(f"1..{len(tests)}")
    for number, function in enumerate(tests, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception as error:  # a test that breaks is a test that failed
            failed += 1
            print(f"not ok {number} - {name}")
            print("# " + f"{type(error).__name__}: {error}".replace("\n", "\n# ")[:4000],
                  flush=True)
    return 1 if failed else 0

