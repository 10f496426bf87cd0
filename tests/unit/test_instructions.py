# SPDX-License-Identifier: MIT
"""How figures of callgrind are read and held against a baseline (.ci/instructions.py): TAP."""

import contextlib
import importlib.util
import io
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSIONS = ["arch=x86_64", "gcc=12.2.0", "libc=2.36"]


def load():
    spec = importlib.util.spec_from_file_location("instructions", ROOT / ".ci" / "instructions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


instructions = load()


class Place:
    """A folder with dumps of some totals, and a baseline."""

    def __init__(self, folder):
        self.dumps = os.path.join(folder, "counts")
        self.baseline = pathlib.Path(folder, "baseline")

    def write(self, totals):
        for part, (count, name, total) in enumerate(totals, 1):
            pathlib.Path(f"{self.dumps}.{part}").write_text(
                f"part: {part}\ndesc: Trigger: Client Request: weir {count} {name}\n"
                f"totals: {total}\n", encoding="utf-8")

    def run(self, *options, versions=None):
        """(exit status, what was printed)."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = instructions.main(
                [self.dumps, str(self.baseline), *options, *(versions or VERSIONS)])
        return status, printed.getvalue()


# 100 calls of each; marks take 10 instructions a call; a batch is of 8.
TOTALS = [(100, "nothing", 1000), (100, "decide", 17000), (800, "batch", 81000)]


def test_marks_are_taken_off_once_a_call(place):
    place.write(TOTALS)
    assert instructions.read_dumps(place.dumps) == {"decide": 160.0, "batch": 100.0}


def test_equal_figures_pass(place):
    place.write(TOTALS)
    assert place.run("--update")[0] == 0
    status, printed = place.run()
    assert status == 0 and printed.endswith("\n2 passed, 0 failed\n"), printed


def test_three_percent_pass_and_more_fails_both_ways(place):
    place.write(TOTALS)
    place.run("--update")
    for total, failed in ((17480, 0), (17490, 1), (16520, 0), (16510, 1)):  # 160 +- 4.8, 4.9
        place.write([TOTALS[0], (100, "decide", total), TOTALS[2]])
        status, printed = place.run()
        assert status == failed, (total, printed)
        assert printed.endswith(f"\n{2 - failed} passed, {failed} failed\n"), (total, printed)
        assert ("--update" in printed) == bool(failed)


def test_what_is_new_or_gone_fails(place):
    place.write(TOTALS)
    place.run("--update")
    place.write([TOTALS[0], TOTALS[1], (100, "take", 17000)])
    status, printed = place.run()
    assert status == 1 and printed.endswith("\n1 passed, 2 failed\n"), printed


def test_another_compiler_or_architecture_is_skipped(place):
    place.write(TOTALS)
    place.run("--update")
    place.write([TOTALS[0], (100, "decide", 99000), TOTALS[2]])
    for versions, compared in ((["arch=x86_64", "gcc=13.1.0"], False),
                               (["arch=aarch64", "gcc=12.2.0"], False),
                               (["arch=x86_64", "gcc=12.3.1"], True)):
        status, printed = place.run(versions=versions)
        assert status == (1 if compared else 0), printed
        assert ("skipped" in printed) == (not compared), printed


def test_dumps_without_marks_are_refused(place):
    place.write(TOTALS[1:])
    try:
        instructions.read_dumps(place.dumps)
    except ValueError as error:
        assert "nothing" in str(error)
    else:
        raise AssertionError("not refused")


def test_a_damaged_baseline_is_refused(place):
    place.write(TOTALS)
    place.baseline.write_text("# gcc=12\ndecide 160\n", encoding="utf-8")
    try:
        place.run()
    except ValueError as error:
        assert "baseline:2" in str(error)
    else:
        raise AssertionError("not refused")


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(Place(folder))
            print(f"ok {number} - {name}")
        except AssertionError as error:
            print(f"# {error}\nnot ok {number} - {name}")
            failed += 1
    return 1 if failed else 0


sys.exit(main())
