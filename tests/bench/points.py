# SPDX-License-Identifier: MIT
"""Test points, printed as TAP."""

import traceback

tests = []


def test(function):
    """One more point, of the name of the function."""
    tests.append((function.__name__.replace("_", " "), function))
    return function


def add(name, function, *arguments):
    tests.append((name, lambda: function(*arguments)))


def equal(found, expected, what):
    assert found == expected, f"{what}: {found!r}, expected {expected!r}"


def run_all():
    """The exit status."""
    failed = 0
    print(f"1..{len(tests)}")
    for number, (name, function) in enumerate(tests, 1):
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Exception as error:  # a test that breaks is a test that failed
            failed += 1
            print(f"not ok {number} - {name}")
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} (line {where.lineno})"
            print("# " + text.replace("\n", "\n# ")[:4000], flush=True)
    return 1 if failed else 0
