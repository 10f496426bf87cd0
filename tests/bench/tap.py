# SPDX-License-Identifier: MIT
"""For tests of bench/suite: unittest's cases as TAP, files of figures to try things with."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = ROOT / "bench" / "suite"
sys.path.insert(0, str(SUITE))


class TapResult(unittest.TestResult):
    """A point for each test, with what was wrong under it."""

    def point(self, test, ok, rest=""):
        name = test.id().split(".")[-1].removeprefix("test_").replace("_", " ")
        print(f"{'' if ok else 'not '}ok {self.testsRun} - {name}{rest}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.point(test, True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.point(test, True, f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, self.failures)

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, self.errors)

    def tell(self, test, among):
        self.point(test, False)
        print("# " + among[-1][1].strip().replace("\n", "\n# ")[-3000:], flush=True)


def main():
    cases = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{cases.countTestCases()}", flush=True)
    result = TapResult()
    cases.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)


class Folder(unittest.TestCase):
    """A test with a folder of its own, in which it may write."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content),
                        encoding="utf-8")
        return path

    def called(self, main, *words):
        """(exit status, standard output, standard error) of a script's main function."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main([os.fspath(word) for word in words])
            except SystemExit as exit_:
                status = exit_.code
        return status, out.getvalue(), err.getvalue()


def repetition(name, index, ns, **fields):
    return {"name": name, "run_name": name, "run_type": "iteration", "repetitions": 5,
            "repetition_index": index, "threads": 1, "iterations": 1000, "real_time": ns,
            "cpu_time": ns, "time_unit": "ns", **fields}


def file_of(by_name, **context):
    """A file of figures: name -> the ns of its repetitions."""
    entries = [repetition(name, i, ns) for name, times in by_name.items()
               for i, ns in enumerate(times)]
    return {"context": {"num_cpus": 2, **context}, "benchmarks": entries}
