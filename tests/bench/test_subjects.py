# SPDX-License-Identifier: MIT
"""A program of subjects, held to its protocol and its answers to the traces. Prints TAP.

usage: test_subjects.py [--write WRITE_TRACE] --traces FOLDER [--inexact NAME=PERCENT]...
                        [--expect NAME,...] -- PROGRAM [ARGUMENT]...

Plays every trace of the folder (*.trace) by every subject of the program's --list, with 1 and 2
threads, each clock, and batches of 1, 16 and the most it offers. With --write the folder is first
filled with small traces. A subject that is named inexact may be off by so many percent of the
decisions. With --expect these are the subjects that have to be there.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from points import add, equal, run_all, test
from trace_model import Trace, read_trace

PATIENCE_S = 100
READY = {"ready", "subject", "version", "threads", "clock", "batch", "keys", "bytes_per_key"}
OUTCOME = {"decisions", "seconds", "cpu_seconds", "admitted", "least", "most"}
OPTIONAL = {"heap_bytes_per_key"}
REFUSED = 3


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--write")
    parser.add_argument("--traces", required=True)
    parser.add_argument("--inexact", action="append", default=[])
    parser.add_argument("--expect", default="")
    parser.add_argument("program", nargs="+")
    return parser.parse_args()


OPTIONS = arguments()
INEXACT = dict(text.split("=") for text in OPTIONS.inexact)


def start(*options):
    return subprocess.Popen([*OPTIONS.program, *map(str, options)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*options, orders=""):
    """(exit status, lines of output, what was said on stderr)"""
    child = start(*options)
    try:
        output, said = child.communicate(orders, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        raise
    return child.returncode, output.splitlines(), said


# ---- traces --------------------------------------------------------------------------------


def weighted_trace():
    """Records of 1 to 7 tokens, some of which are denied while smaller ones after them are not."""
    records = [(i * i % 97, i * 5 % 7 + 1, i // 64 * 100000) for i in range(20000)]
    return Trace(97, 9, 10**6, 20, records)


def write_traces(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.trace"):
        old.unlink()
    for name, options in (("uniform", "--keys 1000"), ("zipf", "--keys 3000 --zipf 0.99"),
                          ("half-denied", "--keys 300 --denied 50"),
                          ("zipf-denied", "--keys 100 --zipf 1.2 --denied 90"),
                          ("hot", "--keys 1"), ("hot-denied", "--keys 1 --denied 50")):
        subprocess.run([OPTIONS.write, *options.split(), "--records", "20000",
                        folder / f"{name}.trace"], check=True, stdout=subprocess.DEVNULL)
    (folder / "weighted.trace").write_bytes(weighted_trace().to_bytes())


def traces():
    folder = pathlib.Path(OPTIONS.traces)
    if OPTIONS.write:
        write_traces(folder)
    found = {path: read_trace(path) for path in sorted(folder.glob("*.trace"))}
    if not found:
        sys.exit(f"{folder}: no *.trace in it")
    return found


TRACES = traces()


@test
def traces_say_what_they_admit():
    for path, trace in TRACES.items():
        equal(trace.admitted, trace.admits(), f"admitted of {path}")


# ---- subjects ------------------------------------------------------------------------------


class Subject:
    def __init__(self, line):
        match = re.fullmatch(r"([^\t ]+)\t([a-z,]+)\t(1|1-\d+)\t(.+)", line)
        assert match, f"no subject: {line!r}"
        self.name, clocks, batch, self.version = match.groups()
        self.clocks = clocks.split(",")
        assert set(self.clocks) <= {"given", "own"}, line
        self.batch_max = int(batch.rpartition("-")[2])
        self.off_percent = float(INEXACT.get(self.name, 0))

    def batches(self):
        return sorted({1, min(16, self.batch_max), self.batch_max})


def listed():
    status, lines, said = run("--list")
    equal((status, said), (0, ""), "--list")
    subjects = [Subject(line) for line in lines]
    names = [subject.name for subject in subjects]
    equal(len(set(names)), len(names), f"distinct names of {names}")
    return subjects


SUBJECTS = listed()


@test
def all_expected_subjects_are_listed():
    assert SUBJECTS, "no subject"
    names = {subject.name for subject in SUBJECTS}
    expected = {name for name in OPTIONS.expect.split(",") if name}
    equal(expected - names, set(), "subjects that are missing")
    equal(set(INEXACT) - names, set(), "inexact ones that are not there")


def whole(value, what):
    assert isinstance(value, int) and not isinstance(value, bool) and value >= 0, (what, value)
    return value


def positive(value, what):
    assert isinstance(value, (int, float)) and value > 0, f"{what}: {value!r}"


def check_ready(line, subject, trace, threads, clock, batch):
    found = json.loads(line)
    equal(set(found) - OPTIONAL, READY, "fields of the ready line")
    for field, value in (("ready", True), ("subject", subject.name), ("version", subject.version),
                         ("threads", threads), ("clock", clock), ("batch", batch),
                         ("keys", trace.keys)):
        equal(found[field], value, field)
    assert isinstance(found["bytes_per_key"], (int, float)), found


def check_outcome(line, subject, trace, threads, clock):
    """Returns how many passes were played."""
    found = json.loads(line)
    equal(set(found), OUTCOME, "fields of an outcome")
    decisions, admitted, least, most = (whole(found[field], field)
                                        for field in ("decisions", "admitted", "least", "most"))
    positive(found["seconds"], "seconds")
    positive(found["cpu_seconds"], "cpu_seconds")
    shared = trace.keys == 1 and threads > 1
    in_a_pass = len(trace.records) * (threads if trace.keys == 1 else 1)
    equal(decisions % in_a_pass, 0, "decisions beyond whole passes")
    passes = decisions // in_a_pass
    assert passes >= 1, "no pass was played"
    if clock == "own":
        due = (decisions, decisions)
    elif shared:
        elapsed = (passes - 1) * trace.span + trace.records[-1][2]
        due = (0, min(decisions, trace.burst + trace.limit * elapsed // trace.period))
    else:
        due = (passes * trace.admitted,) * 2
    equal((least, most), due, "least and most")
    off = subject.off_percent / 100 * decisions
    assert least - off <= admitted <= min(decisions, most + off), \
        f"admitted {admitted}, not {least} to {most}"
    assert admitted > 0, "nothing was admitted"
    return passes


def plays(subject, path, threads, clock, batch):
    trace = TRACES[path]
    status, lines, said = run("--trace", path, "--subject", subject.name, "--threads", threads,
                              "--clock", clock, "--batch", batch,
                              orders="run 0\nrun 0.000001\nrun 0.02\nquit\nrun 0\n")
    if status == REFUSED:
        equal(lines, [], "output of what was refused")
        assert said.strip(), "refused without a word"
        return 0
    equal(status, 0, f"status, which said {said!r}")
    equal(len(lines), 4, f"lines of {lines}")
    check_ready(lines[0], subject, trace, threads, clock, batch)
    for line in lines[1:]:
        check_outcome(line, subject, trace, threads, clock)
    equal(check_outcome(lines[1], subject, trace, threads, clock), 1, "passes of run 0")
    return 1


def plays_on_all_threads(subject, clock, batch):
    """With each clock and batch that it lists, a subject plays at least one of the traces."""
    played = 0
    for path, trace in TRACES.items():
        for threads in (1, 2):
            if clock == "own" and trace.denies():
                status, lines, _ = run("--trace", path, "--subject", subject.name, "--threads",
                                       threads, "--clock", clock, "--batch", batch)
                equal((status, lines), (REFUSED, []), f"own clock on {path.name}")
                continue
            try:
                played += plays(subject, path, threads, clock, batch)
            except AssertionError as error:
                raise AssertionError(f"{path.name}, {threads} threads: {error}") from error
    assert played > 0, "it refused every trace"


# ---- the protocol --------------------------------------------------------------------------


def one_way(subject):
    """Options with which it plays, and the trace."""
    for path, trace in TRACES.items():
        for clock in subject.clocks:
            options = ("--trace", path, "--subject", subject.name, "--clock", clock)
            if not (clock == "own" and trace.denies()) and run(*options)[0] == 0:
                return options, trace, clock
    raise AssertionError("it refused every trace")


def follows_orders(subject):
    options, trace, clock = one_way(subject)
    status, lines, said = run(*options, orders="")
    equal((status, len(lines)), (0, 1), f"end of input at once, {said!r}")
    check_ready(lines[0], subject, trace, 1, clock, 1)
    status, lines, said = run(*options, orders="run 0\n")
    equal((status, len(lines)), (0, 2), f"end of input after a run, {said!r}")
    status, lines, said = run(*options, orders="run 0.0\nquit\nnonsense\n")
    equal((status, len(lines)), (0, 2), f"quit, {said!r}")
    for order in ("walk 1", "run", "run fast", "run -1", "run 1 2", "run nan", "run inf", "", "ru"):
        status, lines, said = run(*options, orders=f"run 0\n{order}\nrun 0\n")
        equal((status, len(lines)), (2, 2), f"after {order!r}, which said {said!r}")
        assert said.strip(), f"not a word about {order!r}"


def answers_each_order_at_once(subject):
    """A program that kept its lines until the end would hold up who waits for them."""
    options, trace, clock = one_way(subject)
    child = start(*options)
    try:
        check_ready(child.stdout.readline(), subject, trace, 1, clock, 1)
        for _ in range(2):
            child.stdin.write("run 0\n")
            child.stdin.flush()
            check_outcome(child.stdout.readline(), subject, trace, 1, clock)
        child.stdin.write("quit\n")
        child.stdin.flush()
        equal(child.wait(PATIENCE_S), 0, "status")
    finally:
        child.kill()
        child.communicate()


def sleeps_between_runs(subject):
    """Waiting costs no processor time, with two threads as well."""
    options, _, _ = one_way(subject)
    child = start(*options, "--threads", 2)
    try:
        child.stdout.readline()
        child.stdin.write("run 0\n")
        child.stdin.flush()
        child.stdout.readline()
        for _ in range(200):
            if {state_of(task) for task in pathlib.Path(f"/proc/{child.pid}/task").iterdir()
                    } <= {"S", "gone"}:
                return
            time.sleep(0.01)
        raise AssertionError("a thread does not sleep")
    finally:
        child.kill()
        child.communicate()


def state_of(task):
    try:
        return (task / "stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def refuses_batches_above_its_own(subject):
    options, _, _ = one_way(subject)
    status, lines, said = run(*options, "--batch", subject.batch_max + 1)
    equal((status, lines), (REFUSED, []), f"batch {subject.batch_max + 1}")
    assert said.strip(), "refused without a word"


def refuses_a_clock_that_it_has_not(subject):
    path = next(iter(TRACES))
    for clock in {"given", "own"} - set(subject.clocks):
        status, lines, said = run("--trace", path, "--subject", subject.name, "--clock", clock)
        equal((status, lines), (REFUSED, []), f"clock {clock}")
        assert said.strip(), "refused without a word"


@test
def wrong_usage_ends_with_2():
    path, name = next(iter(TRACES)), SUBJECTS[0].name
    one = ("--trace", path, "--subject", name)
    for options in ((), ("--trace", path), ("--subject", name), (*one, "--clock", "sundial"),
                    (*one, "--threads", "0"), (*one, "--threads", "two"), (*one, "--batch", "0"),
                    (*one, "--batch", "-1"), (*one, "--threads"), (*one, "--colour", "red"),
                    (*one, "more"), ("--trace", path, "--subject", "nobody"),
                    ("--trace", "/nowhere/some.trace", "--subject", name),
                    ("--trace", os.devnull, "--subject", name), ("--trace", __file__,
                                                                 "--subject", name)):
        status, lines, said = run(*options)
        equal((status, lines), (2, []), f"{options}, which said {said!r}")
        assert said.strip(), f"not a word about {options}"


for one_subject in SUBJECTS:
    for one_clock in one_subject.clocks:
        for one_batch in one_subject.batches():
            add(f"{one_subject.name}: {one_clock} clock, batch {one_batch}", plays_on_all_threads,
                one_subject, one_clock, one_batch)
    for check in (follows_orders, answers_each_order_at_once, sleeps_between_runs,
                  refuses_batches_above_its_own, refuses_a_clock_that_it_has_not):
        add(f"{one_subject.name}: {check.__name__.replace('_', ' ')}", check, one_subject)

if __name__ == "__main__":
    sys.exit(run_all())
