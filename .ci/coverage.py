# SPDX-License-Identifier: MIT
"""Reports which branches of the engine the tests have taken.

usage: coverage.py BUILD PROFILE EXCEPTIONS STATUS DETAILS SUITE...

The engine's functions are inline in headers for the most part, so that each of its sources and many
tests have their own copies: a branch side counts as taken when any copy in any program took it. The
same of the conditions of a decision (MC/DC): each has been shown to decide alone in one copy.

Every branch of the folders in DEMANDED has to be taken both ways, but for EXCEPTIONS: lines

    function ; condition ; true or false ; why that side cannot be taken

with the condition as it stands in the source, and * in the function's name for any letters. One
that excuses nothing any more is an error too. A folder's functions that nobody calls count as
branches that are not taken. What macros from outside of the engine bring along is left out: those
of other libraries, and those by which tests stop a call at each access.

Prints one row per file, then what is not covered there, and how many files passed and failed; the list of
exceptions counts as one of them, and so do the tests, which passed if STATUS is 0. All that is not
covered anywhere in the engine, MC/DC too, is written to the file DETAILS. Exit status: 0 when
nothing is wrong.
"""

import fnmatch
import json
import os
import re
import subprocess
import sys
from collections import defaultdict

DEMANDED = ("engine/algorithm/", "engine/slot/", "engine/table/")
MACRO_EXPANSION = 1  # kind of a region


class Branch:
    """One condition of a function, over all its copies: how often it was true, and false."""

    def __init__(self):
        self.counts = {"true": 0, "false": 0}
        self.text = ""

    def is_missing(self, side):
        return self.counts[side] == 0


class Source:
    """What the copies of one file's functions did."""

    def __init__(self, path):
        self.branches = defaultdict(Branch)  # by function, line, column, which there
        self.decisions = defaultdict(list)  # the same: bool for each condition
        self.own = set()  # branches and decisions that some copy has in the engine's own text
        self.lines = defaultdict(int)
        self.calls = defaultdict(int)  # by function
        self.first_line = {}
        with open(path, encoding="utf-8") as file:
            self.text = file.read().splitlines()

    def excerpt(self, begin_line, begin_column, end_line, end_column):
        lines = self.text[begin_line - 1:end_line]
        lines[-1] = lines[-1][:end_column - 1]
        lines[0] = lines[0][begin_column - 1:]
        return " ".join(" ".join(lines).split())


class Report:
    def __init__(self, root):
        self.root = root
        self.sources = {}

    def source(self, path):
        path = os.path.relpath(path, self.root)
        if not path.startswith("engine/"):
            return None
        if path not in self.sources:
            self.sources[path] = Source(os.path.join(self.root, path))
        return self.sources[path]

    def add_program(self, exported):
        for function in exported["functions"]:
            self.add_function(function)
        for file in exported["files"]:
            source = self.source(file["filename"])
            if source:
                add_lines(source.lines, file["segments"])

    def add_function(self, function):
        source = self.source(function["filenames"][0])
        if not source:
            return
        name = function["name"].split(":")[-1]
        source.calls[name] += function["count"]
        source.first_line[name] = min(region[0] for region in function["regions"])
        # File numbers of a function: 0 is its own file, the others are expansions of macros.
        sites = {region[6]: region for region in function["regions"]
                 if region[7] == MACRO_EXPANSION}
        seen = defaultdict(int)
        for branch in function["branches"]:
            place = place_of(branch[6], branch[:2], sites)
            key = (name, *place, seen[place])
            seen[place] += 1
            known = source.branches[key]
            known.counts["true"] += branch[4]
            known.counts["false"] += branch[5]
            where = self.source(function["filenames"][branch[6]])
            if where:
                source.own.add(("branch", *key))
                known.text = where.excerpt(*branch[:4])
        seen.clear()
        for decision in function["mcdc_records"]:
            place = place_of(decision[4], decision[:2], sites)
            key = (name, *place, seen[place])
            seen[place] += 1
            if self.source(function["filenames"][decision[4]]):
                source.own.add(("decision", *key))
            known = source.decisions[key]
            shown = decision[-1]
            known += [False] * (len(shown) - len(known))
            for i, decides in enumerate(shown):
                known[i] = known[i] or decides

    def leave_out_others(self):
        """To be called when all programs were added."""
        for source in self.sources.values():
            for kind, table in (("branch", source.branches), ("decision", source.decisions)):
                for key in [key for key in table if (kind, *key) not in source.own]:
                    del table[key]


def place_of(file, place, sites):
    """Line and column in the function's own file, of what a macro may have put there."""
    while file in sites:
        site = sites[file]
        file, place = site[5], site[:2]
    return tuple(place)


def add_lines(lines, segments):
    """How often each line was reached: the most of the regions that begin or go on there."""
    at = 0
    count, counts_here = 0, False
    if not segments:
        return
    for line in range(segments[0][0], segments[-1][0] + 1):
        most, counts = (count, True) if counts_here else (0, False)
        while at < len(segments) and segments[at][0] == line:
            _, _, count, counts_here, is_entry, is_gap = segments[at]
            if counts_here and is_entry and not is_gap:
                most, counts = max(most, count), True
            at += 1
        if counts:
            lines[line] += most


def programs_of(build, suites):
    """The test programs of some suites, and what scripts among them are given to run."""
    tests = json.loads(subprocess.run(["meson", "introspect", build, "--tests"], check=True,
                                      stdout=subprocess.PIPE).stdout)
    programs = set()
    for test in tests:
        if any(suite.split(":")[-1] in suites for suite in test["suite"]):
            programs |= {os.path.realpath(part) for part in test["cmd"] if os.path.isfile(part)}
    build = os.path.realpath(build) + os.sep
    return sorted(program for program in programs if program.startswith(build) and
                  open(program, "rb").read(4) == b"\x7fELF")


def export(program, profile, sources):
    exported = subprocess.run(
        ["llvm-cov-19", "export", "-instr-profile", profile, "-skip-expansions",
         "-num-threads", "1", program, sources],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if exported.returncode:
        if b"no coverage data found" in exported.stderr:
            return None  # a program that the build did not instrument
        sys.exit(f"{program}: {exported.stderr.decode()}")
    return json.loads(exported.stdout)["data"][0]


class Exceptions:
    def __init__(self, path):
        self.path = path
        self.rows = []
        self.used = set()
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip() or line.startswith("#"):
                    continue
                row = [part.strip() for part in line.split(" ; ", 3)]
                if len(row) != 4 or row[2] not in ("true", "false") or not row[3]:
                    sys.exit(f"{path}:{number}: not: function ; condition ; side ; reason")
                self.rows.append((number, *row))

    def excuse(self, function, text, side):
        excused = False
        for number, name, condition, which, _ in self.rows:
            if fnmatch.fnmatchcase(function, name) and condition == text and which == side:
                self.used.add(number)
                excused = True
        return excused

    def stale(self):
        return [f"{self.path}:{row[0]}: {row[1]}: {row[2]}: {row[3]}: taken, or not there any more"
                for row in self.rows if row[0] not in self.used]


def missing_in(path, source, exceptions):
    """What is not covered in a file, a line of text each, and how many sides are excused."""
    missing, excused = [], 0
    for name, calls in source.calls.items():
        if calls == 0:
            missing.append((source.first_line[name], f"{name}: never called"))
    for (name, line, _, _), branch in source.branches.items():
        if source.calls[name] == 0:
            continue
        for side in ("true", "false"):
            if not branch.is_missing(side):
                continue
            if exceptions and exceptions.excuse(name, branch.text, side):
                excused += 1
            else:
                missing.append((line, f"{name}: {branch.text}: never {side}"))
    return [f"{path}:{line}: {text}" for line, text in sorted(missing)], excused


def write_details(path, report):
    with open(path, "w", encoding="utf-8") as file:
        for name, source in sorted(report.sources.items()):
            for line in missing_in(name, source, None)[0]:
                print(line, file=file)
            for (function, line, _, _), shown in sorted(source.decisions.items()):
                for i, decides in enumerate(shown):
                    if not decides:
                        print(f"{name}:{line}: {function}: condition {i + 1} of {len(shown)} "
                              "is not shown to decide alone", file=file)


class Figures:
    """Covered and all: branch sides, conditions of decisions, lines."""

    TITLES = ("branches", "MC/DC", "lines")

    def __init__(self):
        self.covered, self.all = [0, 0, 0], [0, 0, 0]
        self.excused = 0

    def add(self, source):
        sides = [count for branch in source.branches.values() for count in branch.counts.values()]
        shown = [decides for decision in source.decisions.values() for decides in decision]
        for i, what in enumerate((sides, shown, list(source.lines.values()))):
            self.covered[i] += sum(count > 0 for count in what)
            self.all[i] += len(what)

    def row(self, name):
        parts = []
        for covered, of_all in zip(self.covered, self.all):
            percent = f"{100 * covered / of_all:5.1f} %" if of_all else "      -"
            parts.append(f"{covered:5d} /{of_all:5d} {percent}")
        excused = f"  {self.excused} excused" if self.excused else ""
        return f"   {name:34s}" + "  ".join(parts) + excused


def print_figures(report, excused):
    titles = "".join(f"{title:>20s}" for title in Figures.TITLES)
    print(f"   {'':28s}{titles}")
    total, rest = Figures(), defaultdict(Figures)
    for path, source in sorted(report.sources.items()):
        if path.startswith(DEMANDED):
            figures = Figures()
            figures.add(source)
            total.add(source)
            figures.excused = excused[path]
            total.excused += excused[path]
            print(figures.row(path))
        else:
            rest[os.path.dirname(path) + "/*"].add(source)
    print(total.row("these together"))
    for path, figures in sorted(rest.items()):
        print(figures.row(path + ", for information"))


def main():
    build, profile, exceptions_path, status, details, *suites = sys.argv[1:]
    root = os.getcwd()
    report = Report(root)
    exceptions = Exceptions(exceptions_path)
    for program in programs_of(build, suites):
        exported = export(program, profile, os.path.join(root, "engine"))
        if exported:
            report.add_program(exported)
    report.leave_out_others()
    missing, excused = {}, {}
    for path, source in sorted(report.sources.items()):
        if path.startswith(DEMANDED):
            missing[path], excused[path] = missing_in(path, source, exceptions)
    write_details(details, report)
    print_figures(report, excused)
    failed = int(status != "0")
    for path, lines in missing.items():
        print("\n".join(lines), end="\n" if lines else "")
        failed += bool(lines)
    stale = exceptions.stale()
    print("\n".join(stale), end="\n" if stale else "")
    failed += bool(stale)
    passed = len(missing) + 2 - failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
