# SPDX-License-Identifier: MIT
"""Whether each kind of fault that tests/README.md lists has the tests that it names, and whether
these ran. Prints TAP: a point for each kind, then points on all of them.

usage: kinds.py BUILD [TESTLOG]

A kind is well guarded if each test file in its row exists, is part of a program that meson runs as
a test, and has a test function named after the kind (k07_...), in the list of its group. The other
way round, the file of a test named after a kind stands in that kind's row. Each test asserts
something, by itself or through functions of its file or of the tests' shared sources (support.h
does not count: that all threads were started is no finding).

With a TESTLOG (meson's testlog.json) each of them must have run, and passed, since its program was
built. Of the faults that tests/mutants plants each kind has one, and the programs that are to find
them are run.
"""

import importlib
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = os.path.join(ROOT, "tests")
# Of layers that are not part of weir: Redis, back-off, HTTP fields.
ELSEWHERE = {"K30", "K32", "K33"}
KINDS = [kind for kind in (f"K{i:02}" for i in range(1, 37)) if kind not in ELSEWHERE]

ROW = re.compile(r"^\| (K\d\d) \| (.*?) \| (.*?) \|$", re.MULTILINE)
KIND_OF_NAME = re.compile(r"(?:^|_)k(\d\d)(?=_)")
LISTED = re.compile(r"\bcmocka_unit_test\w*\(\s*(\w+)")
FUNCTION = re.compile(r"^(?!typedef|struct \w+$|static const)[\w\s*]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}",
                      re.MULTILINE | re.DOTALL)
MACRO = re.compile(r"^#define (\w+)\([^)]*\)((?:.*\\\n)*.*)$", re.MULTILINE)
ASSERTS = re.compile(r"\b(assert_\w+|fail|fail_msg)\s*\(")
POINT = re.compile(r"^(not )?ok \d+ - (\w+)\s*(# skip)?", re.IGNORECASE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    """Comments become blanks, strings stay: no test has /* in one."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.DOTALL)


class Source:
    """A C file: what it defines, and which tests its group lists."""

    def __init__(self, path):
        text = without_comments(read(path))
        self.bodies = {m.group(1): m.group(2) for m in FUNCTION.finditer(text)}
        self.bodies.update({m.group(1): m.group(2) for m in MACRO.finditer(text)})
        self.tests = LISTED.findall(text)

    def kinds(self):
        """Kind -> its test functions."""
        found = {}
        for name in self.tests:
            for number in KIND_OF_NAME.findall(name):
                found.setdefault("K" + number, []).append(name)
        return found


def asserting(bodies, known=frozenset()):
    """Names of the functions that assert, or mention one that does (it may be called elsewhere)."""
    words = {name: set(re.findall(r"\b\w+\b", body)) - {name} for name, body in bodies.items()}
    found = {name for name, body in bodies.items() if ASSERTS.search(body)}
    while True:
        more = {name for name in bodies if name not in found and words[name] & (found | known)}
        if not more:
            return found
        found |= more


def files_of_tests():
    for folder, folders, names in os.walk(TESTS):
        folders[:] = sorted(f for f in folders if f not in ("mutants", "install", "recipes"))
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), TESTS)


def programs_of(build):
    """Test file -> (test's name, program), for what meson runs."""
    info = os.path.join(build, "meson-info")
    tests = {test["cmd"][0]: test["name"] for test in json.loads(read(f"{info}/intro-tests.json"))}
    programs = {}
    for target in json.loads(read(f"{info}/intro-targets.json")):
        program = target["filename"][0] if target["filename"] else None
        for group in target["target_sources"]:
            for source in group.get("sources", []):
                path = os.path.relpath(source, TESTS)
                if program in tests and not path.startswith(".."):
                    programs.setdefault(path, (tests[program], program))
    return programs


def outcomes_of(log):
    """Test's name -> {function: True if it passed}; of a program's last run in the log."""
    outcomes = {}
    for line in read(log).splitlines():
        test = json.loads(line)
        points = {}
        for point in map(POINT.match, test.get("stdout", "").splitlines()):
            if point:
                points[point.group(2)] = not point.group(1) and not point.group(3)
        outcomes[test["name"].split(" / ")[-1]] = points
    return outcomes


class Check:
    def __init__(self, build, log):
        self.log = log
        self.rows = {kind: re.findall(r"`([^`]+)`", files)
                     for kind, _, files in ROW.findall(read(os.path.join(TESTS, "README.md")))}
        self.sources = {path: Source(os.path.join(TESTS, path)) for path in files_of_tests()}
        shared = {}
        for path, source in self.sources.items():
            if path != "support.h" and not os.path.basename(path).startswith("test_"):
                shared.update(source.bodies)
        self.shared = asserting(shared)
        self.programs = programs_of(build)
        self.outcomes = outcomes_of(log) if log else {}
        self.points = 0
        self.failed = 0

    def point(self, name, complaints):
        self.points += 1
        self.failed += bool(complaints)
        print(f"{'not ' if complaints else ''}ok {self.points} - {name}")
        for complaint in complaints:
            print(f"# {complaint}")

    def of_run(self, path, names):
        """What is wrong with the last run of a file's tests."""
        test, program = self.programs[path]
        if test not in self.outcomes:
            return [f"{path}: {test} is not in the log"]
        if os.path.getmtime(program) > os.path.getmtime(self.log):
            return [f"{path}: {test} was built after its last run"]
        points = self.outcomes[test]
        return [f"{path}: {name} {'failed or was skipped' if name in points else 'did not run'}"
                for name in names if not points.get(name)]

    def of_file(self, kind, path):
        source = self.sources.get(path)
        if source is None:
            return [f"{path}: there is no such file"]
        names = source.kinds().get(kind, [])
        if not names:
            return [f"{path}: no test named {kind.lower()}_..."]
        asserts = asserting(source.bodies, self.shared)
        complaints = [f"{path}: {name} asserts nothing" for name in names if name not in asserts]
        if path not in self.programs:
            return complaints + [f"{path}: meson runs no test of it"]
        return complaints + (self.of_run(path, names) if self.log else [])

    def kind(self, kind):
        paths = self.rows.get(kind, [])
        complaints = [] if paths else ["tests/README.md names no test for it"]
        for path in paths:
            complaints += self.of_file(kind, path)
        names = {name for path in paths if path in self.sources
                 for name in self.sources[path].kinds().get(kind, [])}
        self.point(f"{kind} {len(names)} tests in {len(paths)} files", complaints)

    def table(self):
        complaints = [f"{kind} is no kind" for kind in self.rows
                      if kind not in KINDS and kind not in ELSEWHERE]
        for kind, paths in self.rows.items():
            complaints += [f"{kind}: {path} twice" for path in sorted(set(paths))
                           if paths.count(path) > 1]
        for path, source in self.sources.items():
            for kind, names in source.kinds().items():
                if path not in self.rows.get(kind, []):
                    complaints.append(f"{kind}: {path} is not in its row: {', '.join(names)}")
        self.point("each test named after a kind is in the row of its kind", sorted(complaints))

    def definitions(self):
        complaints = []
        for path, source in self.sources.items():
            asserts = asserting(source.bodies, self.shared)
            complaints += [f"{path}: {name} asserts nothing" for name in source.tests
                           if name in source.bodies and name not in asserts]
            listed = set(source.tests)
            complaints += [f"{path}: {name} is listed and not defined"
                           for name in sorted(listed - set(source.bodies))]
            complaints += [f"{path}: {name} is defined and not listed"
                           for name in source.bodies
                           if re.match(r"[a-z0-9_]*k\d\d_", name) and source.tests
                           and name not in listed
                           and not any(name in body for body in source.bodies.values())]
        self.point("each test is defined and asserts; each named after a kind is listed", complaints)

    def mutants(self):
        """The lists of planted faults: each kind has one, and who is to find it is there."""
        sys.path.insert(0, os.path.join(TESTS, "mutants"))
        mutants = [mutant for name in ("of_algorithms", "of_limiter", "of_table")
                   for mutant in importlib.import_module(name).MUTANTS]
        tests = {test for test, _ in self.programs.values()}
        planted, complaints = set(), []
        for mutant in mutants:
            planted.update(mutant.kinds)
            complaints += [f"{mutant.name}: {kind} is no kind" for kind in mutant.kinds
                           if kind not in self.rows]
            complaints += [f"{mutant.name}: meson runs no {program}" for program in mutant.programs
                           if program.replace("/", "_") not in tests]
        complaints += [f"{kind}: no fault is planted" for kind in self.rows if kind not in planted]
        self.point(f"each kind has one of {len(mutants)} planted faults", complaints)

    def run(self):
        print(f"1..{len(KINDS) + len(set(self.rows) - set(KINDS)) + 3}")
        for kind in sorted(set(KINDS) | set(self.rows)):
            self.kind(kind)
        self.table()
        self.definitions()
        self.mutants()
        return self.failed == 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(0 if Check(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None).run() else 1)
