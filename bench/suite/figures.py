#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of figures: read, checked, joined, written.

usage: figures.py merge [--compiler TEXT] [--command TEXT] [--out FILE] FILE...
       figures.py check FILE...

The form is google-benchmark's JSON: a "context" and a list "benchmarks", in which an entry is one
repetition (run_type "iteration", repetition_index) or the median, mean, stddev or cv of all of them
(run_type "aggregate"). The context tells more than google-benchmark does: see machine.py.

merge joins files of one machine and one commit, and adds to the context what the machine is. A
benchmark that several files have was run by several processes: their entries get a number,
"process", from 0 on, and compare.py then knows how much processes differ. check says of each file
whether it is of this form. Exit status: 0, 1 when a file is not what it should be, 2 wrong usage.

Of each entry "real_time" is the wall's time and "cpu_time" the processor's, in "time_unit"; which
of the two a benchmark is about is told by its name (see is_wall). Programs of google-benchmark
divide by the operations of all threads together; peers/* tell the time per decision and thread.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import sys

import machine

UNITS_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
AGGREGATES = ("median", "mean", "stddev", "cv")
# Of entries: those that google-benchmark writes by itself. Any other number is a counter.
OWN_FIELDS = {"name", "family_index", "per_family_instance_index", "run_name", "run_type",
              "repetitions", "repetition_index", "threads", "iterations", "real_time", "cpu_time",
              "time_unit", "aggregate_name", "aggregate_unit", "label", "error_occurred",
              "error_message", "process", "big_o", "rms"}
# Of contexts: what has to be the same in files that are joined.
SAME_MACHINE = ("machine", "num_cpus", "kernel", "page_size")
SAME_BUILD = ("compiler", "commit", "commit_changed")


class FiguresError(Exception):
    """A file that is not what it should be; the text names the file and what is wrong in it."""


# ---- reading ------------------------------------------------------------------------------------


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file, parse_constant=lambda word: None)
    except OSError as error:
        raise FiguresError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FiguresError(f"{path}: not UTF-8: {error.reason}") from error
    except RecursionError as error:
        raise FiguresError(f"{path}: not a file of figures: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise FiguresError(
            f"{path}: line {error.lineno} is no JSON: {error.msg} (is the file whole?)") from error
    check(found, path)
    return found


def check(found, path):
    if not isinstance(found, dict):
        raise FiguresError(f"{path}: an object with context and benchmarks is expected")
    for field, kind, word in (("context", dict, "an object"), ("benchmarks", list, "a list")):
        if not isinstance(found.get(field), kind):
            raise FiguresError(f'{path}: "{field}" is missing, or not {word}')
    for i, entry in enumerate(found["benchmarks"]):
        wrong = wrong_in(entry)
        if wrong:
            name = entry.get("name", "without a name") if isinstance(entry, dict) else "no object"
            raise FiguresError(f"{path}: benchmarks[{i}] ({name}): {wrong}")


def wrong_in(entry):
    """What is wrong in an entry, or nothing."""
    if not isinstance(entry, dict):
        return "an object is expected"
    if not isinstance(entry.get("name"), str) or not entry["name"]:
        return '"name" is missing'
    if entry.get("error_occurred"):
        return ""
    if entry.get("run_type") not in ("iteration", "aggregate"):
        return '"run_type" is neither "iteration" nor "aggregate"'
    if entry["run_type"] == "aggregate" and not isinstance(entry.get("aggregate_name"), str):
        return '"aggregate_name" is missing'
    if not isinstance(entry.get("run_name", ""), str):
        return '"run_name" is no text'
    if entry.get("time_unit", "ns") not in UNITS_NS:
        return f'"time_unit" {entry["time_unit"]!r} is none of {", ".join(UNITS_NS)}'
    if "real_time" not in entry and ("big_o" in entry or "rms" in entry):
        return ""
    for field in ("real_time", "cpu_time"):
        if not is_number(entry.get(field)):
            return f'"{field}" is missing, or no number'
        if entry[field] < 0 and field == "real_time":
            return f'"{field}" is negative'
    for field in ("repetitions", "repetition_index", "process", "threads"):
        value = entry.get(field, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            return f'"{field}" is no whole number from 0 on'
    return ""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


# ---- what the entries of one benchmark say ------------------------------------------------------


def is_wall(name):
    """Whether a benchmark is about the wall's time: it says so in its name, or is a peer's."""
    return (name.startswith("peers/") or
            re.search(r"/(real_time|manual_time)(/|$)", name) is not None)


class Measured:
    """One benchmark of a file: its repetitions, in ns, process by process."""

    def __init__(self, name):
        self.name = name
        self.repetitions = {}  # by process: a list of ns
        self.aggregates = {}  # by process: name of the aggregate to ns, or to a share for "cv"
        self.counts = {}  # by process: how many repetitions the aggregates are of
        self.counters = {}  # the median's, or the last repetition's
        self.counters_of_repetitions = {}
        self.error = ""
        self.label = ""

    def add(self, entry):
        self.label = str(entry.get("label", self.label))
        if entry.get("error_occurred"):
            self.error = str(entry.get("error_message") or "failed")
            return
        time = entry.get("real_time" if is_wall(self.name) else "cpu_time")
        if time is None:
            return
        process = entry.get("process", 0)
        if entry["run_type"] == "iteration":
            ns = time * UNITS_NS[entry.get("time_unit", "ns")]
            self.repetitions.setdefault(process, []).append(ns)
            for name, value in counters_of(entry).items():
                self.counters_of_repetitions.setdefault(name, []).append(value)
            return
        name = entry["aggregate_name"]
        scale = 1 if name == "cv" else UNITS_NS[entry.get("time_unit", "ns")]
        self.aggregates.setdefault(process, {})[name] = time * scale
        self.counts[process] = entry.get("repetitions", 0)
        if name == "median":
            self.counters.update(counters_of(entry))

    def finish(self):
        for name, values in self.counters_of_repetitions.items():
            self.counters.setdefault(name, statistics.median(values))

    def processes(self):
        return sorted(set(self.repetitions) |
                      {p for p, of in self.aggregates.items() if "median" in of})

    def medians(self):
        """One for each process."""
        return [statistics.median(self.repetitions[p]) if p in self.repetitions
                else self.aggregates[p]["median"] for p in self.processes()]

    def median(self):
        """Of the processes' medians; nan where nothing was measured."""
        medians = self.medians()
        return statistics.median(medians) if medians else math.nan

    def cv(self):
        """Standard deviation by mean, within a process: the median of the processes'."""
        shares = []
        for process in self.processes():
            times = self.repetitions.get(process, [])
            mean = statistics.fmean(times) if times else 0
            if len(times) > 1 and mean > 0:
                shares.append(statistics.stdev(times) / mean)
            elif "cv" in self.aggregates.get(process, {}):
                shares.append(self.aggregates[process]["cv"])
        return statistics.median(shares) if shares else 0.0

    def extremes(self):
        """Least and most of all repetitions; where none was kept, a standard deviation around."""
        times = [time for of in self.repetitions.values() for time in of]
        if times:
            return min(times), max(times)
        middle, cv = self.median(), self.cv()
        return middle * max(0.0, 1 - cv), middle * (1 + cv)


def counters_of(entry):
    return {name: value for name, value in entry.items()
            if name not in OWN_FIELDS and is_number(value)}


def measured(found):
    """All benchmarks of a file that was loaded, by name, in its order."""
    by_name = {}
    for entry in found["benchmarks"]:
        name = entry.get("run_name") or entry["name"]
        by_name.setdefault(name, Measured(name)).add(entry)
    for one in by_name.values():
        one.finish()
    return by_name


# ---- writing ------------------------------------------------------------------------------------


def aggregate(run_name, repetitions, **fields):
    """The four aggregates of entries of repetitions; `fields` go into each of them."""
    made = []
    for name in AGGREGATES:
        entry = {"name": f"{run_name}_{name}", "run_name": run_name, "run_type": "aggregate",
                 "repetitions": len(repetitions), "aggregate_name": name,
                 "aggregate_unit": "percentage" if name == "cv" else "time",
                 "iterations": len(repetitions), "time_unit": "ns"}
        for field in ("real_time", "cpu_time"):
            entry[field] = aggregated(name, [one[field] for one in repetitions])
        if name == "median":
            for counter in counters_of(repetitions[0]):
                entry[counter] = statistics.median(one[counter] for one in repetitions)
        made.append({**entry, **fields})
    return made


def aggregated(name, values):
    if name == "median":
        return statistics.median(values)
    mean = statistics.fmean(values)
    if name == "mean":
        return mean
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    if name == "stddev":
        return deviation
    return deviation / mean if mean > 0 else 0.0


def write(path, found):
    """All or nothing: a run that is stopped leaves the file as it was."""
    try:
        text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise FiguresError(f"{path}: cannot be written: a number is not finite") from error
    if path == "-":
        sys.stdout.write(text)
        return
    path = pathlib.Path(path)
    try:
        if path.exists() and not path.is_file():  # a pipe, or /dev/stdout
            path.write_text(text, encoding="utf-8")
            return
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise FiguresError(f"{path}: cannot be written: {error.strerror}") from error


# ---- joining ------------------------------------------------------------------------------------


def merge(paths):
    """One file of several, of the same machine and build."""
    context, whence, benchmarks, processes = {}, {}, [], {}
    for path in paths:
        found = load(path)
        for field, value in found["context"].items():
            if field in SAME_MACHINE + SAME_BUILD and field in context and context[field] != value:
                what = "machine" if field in SAME_MACHINE else "build"
                raise FiguresError(f"{path}: of another {what} than {whence[field]}: {field} is "
                                   f"{value!r} here, {context[field]!r} there")
            if field != "host_name":  # figures are published, and it tells nothing
                context.setdefault(field, value)
                whence.setdefault(field, path)
        renumber(found["benchmarks"], processes, benchmarks)
    return {"context": context, "benchmarks": benchmarks}


def describe(found, compiler="", command=""):
    """Adds what this machine is, where the figures were made just now. What programs have told
    themselves of date and load stays: it is of when they began."""
    context = found["context"]
    described = "machine" in context
    for field, value in machine.describe(compiler).items():
        if field in ("date", "load_avg") or described:
            context.setdefault(field, value)
        else:
            context[field] = value
    if command:
        context["command"] = command


def renumber(entries, processes, into):
    """Numbers the processes of a benchmark on, where several files have it."""
    names = {entry.get("run_name") or entry["name"] for entry in entries}
    first = {name: processes.get(name, 0) for name in names}
    for entry in entries:
        name = entry.get("run_name") or entry["name"]
        process = first[name] + entry.get("process", 0)
        processes[name] = max(processes.get(name, 0), process + 1)
        into.append({**entry, "process": process} if process else entry)


def load_all(path):
    """A file, or a folder: all its files *.json, joined."""
    path = pathlib.Path(path)
    if not path.is_dir():
        return load(path)
    files = sorted(path.glob("*.json"))
    if not files:
        raise FiguresError(f"{path}: a folder without a file *.json")
    return merge(files)


def arguments(words):
    parser = argparse.ArgumentParser(prog="figures.py", description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="what", required=True)
    one = commands.add_parser("merge", help="join files of one machine and one commit")
    one.add_argument("--compiler", default="", metavar="TEXT", help="what built the programs")
    one.add_argument("--command", default="", metavar="TEXT", help="what made the figures")
    one.add_argument("--out", default="-", metavar="FILE", help="default: standard output")
    one.add_argument("files", nargs="+", metavar="FILE")
    one = commands.add_parser("check", help="say whether files are files of figures")
    one.add_argument("files", nargs="+", metavar="FILE")
    return parser.parse_args(words)


def main(words):
    options = arguments(words)
    try:
        if options.what == "merge":
            found = merge(options.files)
            describe(found, options.compiler, options.command)
            write(options.out, found)
            return 0
    except FiguresError as error:
        print(f"figures: {error}", file=sys.stderr)
        return 1
    status = 0
    for path in options.files:
        try:
            found = measured(load(path))
            errors = sum(bool(one.error) for one in found.values())
            print(f"{path}: {len(found)} benchmarks, {errors} of them failed")
        except FiguresError as error:
            print(f"figures: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
