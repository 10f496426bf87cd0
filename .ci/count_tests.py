# SPDX-License-Identifier: MIT
"""Counts what a meson testlog.json says: prints "PASSED FAILED SKIPPED", and to standard error
the output of every program that failed.

Each TAP point counts as one test. A program that ended badly with no point to blame (it crashed,
timed out, printed fewer points than planned) counts as one failed test more, and so does one that
printed no point at all.
"""

import json
import re
import sys

POINT = re.compile(r"(not )?ok\b([^#]*)(?:#\s*(skip)?)?", re.IGNORECASE)
FINE = {"OK", "SKIP", "EXPECTEDFAIL"}
SHOWN_LINES = 30  # at either end


def count_program(test):
    passed = failed = skipped = 0
    for line in test.get("stdout", "").splitlines():
        point = POINT.match(line)
        if not point:
            continue
        if point.group(3) and not point.group(1):
            skipped += 1
        elif point.group(1):
            failed += 1
        else:
            passed += 1
    if failed == 0 and (test["result"] not in FINE or passed + skipped == 0):
        failed = 1
    return passed, failed, skipped


def show(test):
    print(f"-- {test['name']}: {test['result']}, exit status {test.get('returncode')}",
          file=sys.stderr)
    for stream in ("stdout", "stderr"):
        lines = test.get(stream, "").splitlines()
        if stream == "stdout":
            lines = [line for line in lines if not line.startswith("ok ")]
        left_out = len(lines) - 2 * SHOWN_LINES
        if left_out > 0:
            lines[SHOWN_LINES:-SHOWN_LINES] = [f"({left_out} lines left out)"]
        for line in lines:
            print("   " + line, file=sys.stderr)


def main():
    sums = [0, 0, 0]
    try:
        with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(error, file=sys.stderr)
        tests = []
    for test in tests:
        counts = count_program(test)
        sums = [a + b for a, b in zip(sums, counts)]
        if counts[1]:
            show(test)
    print(*sums)


main()
