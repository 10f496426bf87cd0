#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures weir beside its peers, on the same traces, by turns.

Programs are those of --program, --native, and what the scripts `build` under --peers make; a peer
whose toolchain is absent is skipped with a word. All subjects of a setting (trace, threads, clock)
are started at once as far as memory allows and play in turn, A B A B ..., after one round that does
not count. Shown are: the median of the repetitions in ns per decision and thread; the processor's
time of a decision; how much it varies (standard deviation by mean, least and most); million
decisions per second of all threads; how many times as long as weir it takes, of the same run, with
the interval of 95 % (bootstrap over pairs of repetitions); resident bytes per key; and whether its
answers are exact. A ratio above 1 means that weir is faster.

Exit status: 0; 1 when a program dies, hangs or makes no sense, when weir decides otherwise than is
exact, with --require when a peer is skipped, with --check when a stated ratio is missed; 2 for
wrong usage.
"""

import argparse
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

import figures
import machine
import parse
import plan
import program
import stated
import tracefile
import turns

SLOW = {"redis"}  # programs whose calls take microseconds: they play shorter traces
SKIPPED = 3  # exit status of a build without its toolchain
BUILD_S = 1800


class Suite:
    """The programs, what went wrong, and what was measured."""

    def __init__(self, options):
        self.options = options
        self.offers = []  # (name of the program, subject)
        self.failures, self.skipped, self.entries = [], [], []
        self.memory = turns.Memory()
        self.context = {**machine.describe(), "executable": "bench/suite/peers.py", "command":
                        options.command or " ".join(["peers.py", *sys.argv[1:]])}

    def fail(self, text):
        print(f"FAILED {text}", flush=True)
        self.failures.append(text)

    def skip(self, text):
        print(f"skipped: {text}", flush=True)
        self.skipped.append(text)

    # ---- programs -------------------------------------------------------------------------------

    def find_programs(self):
        for name, path in self.options.program:
            self.add(name, path)
        for build in sorted(pathlib.Path(self.options.peers).glob("*/build")) \
                if self.options.peers else []:
            self.build(build)
        names = [offer.name for _, offer in self.offers]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.fail(f"{name}: several programs have a subject of this name")
        if turns.WEIR not in names:
            self.fail("no program has weir as a subject: there is nothing to compare with")

    def build(self, script):
        name = script.parent.name
        print(f"building {name}", flush=True)
        try:
            done = subprocess.run([script, self.options.work / "build"], capture_output=True,
                                  text=True, errors="replace", check=False, timeout=BUILD_S,
                                  stdin=subprocess.DEVNULL)
        except OSError as error:
            self.fail(f"{name}: {script}: {error.strerror}")
            return
        except subprocess.TimeoutExpired:
            self.fail(f"{name}: not built in {BUILD_S} s")
            return
        if done.returncode == SKIPPED:
            self.skip(f"{name}: {' '.join(done.stderr.split()) or 'its toolchain is absent'}")
            return
        path = done.stdout.strip().rsplit("\n", 1)[-1]
        if done.returncode or not path:
            self.fail(f"{name} cannot be built, exit status {done.returncode}"
                      f"{program.tail_of(done.stderr)}")
            return
        self.add(name, path)

    def add(self, name, path):
        try:
            found = program.offers(os.path.abspath(path), self.options.timeout)
        except program.Broken as broken:
            self.fail(str(broken))
            return
        self.offers += [(name, offer) for offer in found
                        if offer.name == turns.WEIR or re.search(self.options.only, offer.name)]
        print(f"{name}: " + "; ".join(f"{one.name} ({one.version})" for one in found), flush=True)

    # ---- runs -----------------------------------------------------------------------------------

    def entries_of(self, setting):
        """Of the programs that play such traces and have that clock: weir one by one first."""
        found = []
        for batch in setting.batches:
            for name, offer in self.offers:
                if (offer.name == turns.WEIR or setting.slow == (name in SLOW)) and \
                        setting.clock in offer.clocks and batch in offer.batches:
                    found.append(turns.Entry(setting, offer, batch))
        return sorted(found, key=lambda entry: not (entry.is_weir() and entry.batch == 1))

    def measure(self, setting, trace):
        entries = self.entries_of(setting)
        if setting.slow and all(entry.is_weir() for entry in entries):
            return
        done = turns.Turns(setting, trace, self.memory, self.options).measure(entries)
        print_table(setting, trace, done)
        self.entries += done
        self.keep()
        for entry in done:
            if entry.outcome == turns.FAILED:
                self.fail(f"{entry.name}: {entry.why}")
            elif entry.outcome == turns.REFUSED and entry.is_weir():
                self.fail(f"{entry.name}: weir refuses: {entry.why}")
            elif entry.is_weir() and (entry.over or entry.under):
                self.fail(f"{entry.name}: {entry.answers()}")

    def run_plan(self):
        folder = self.options.work / "traces"
        folder.mkdir(parents=True, exist_ok=True)
        wanted, left_out = plan.settings(self.options.size, machine.cpus(), machine.memory(),
                                         shutil.disk_usage(folder).free)
        wanted = [setting for setting in wanted
                  if re.search(self.options.settings, setting.name(1, turns.WEIR))]
        for text in left_out:
            print(f"left out: {text}", flush=True)
        print(f"{len(wanted)} settings, {1 + self.options.repetitions} rounds each", flush=True)
        for i, setting in enumerate(wanted):
            try:
                trace = tracefile.written(setting.wish, folder, self.options.write_trace, 600)
            except tracefile.TraceError as error:
                if setting.wish.denied:  # not every share can be had of every trace
                    print(f"left out: {error}", flush=True)
                else:
                    self.fail(str(error))
                continue
            self.measure(setting, trace)
            last = all(other.wish != setting.wish for other in wanted[i + 1:])
            if last and trace.bytes > 1 << 28:
                trace.path.unlink(missing_ok=True)

    def run_traces(self):
        """Of files that are there already."""
        for path in self.options.trace:
            try:
                trace = tracefile.Trace(path)
            except tracefile.TraceError as error:
                self.fail(str(error))
                continue
            wish = GivenTrace(path.stem, trace)
            for threads in self.options.threads:
                for clock in self.options.clock:
                    if clock == "given" or not trace.denies():
                        self.measure(plan.Setting(wish, threads, clock, self.options.batch), trace)

    # ---- the end --------------------------------------------------------------------------------

    def ratios_of(self, peer, keys, threads, batches):
        """Of the stated settings: uniform, nothing denied, the time given."""
        def is_at(entry, name, batch):
            wish = entry.setting.wish
            return (entry.offer.name == name and entry.batch == batch and entry.runs and
                    entry.setting.clock == "given" and entry.setting.threads == threads and
                    (wish.keys, wish.zipf, wish.denied) == (keys, 0, 0))
        for batch in batches:
            for entry in self.entries:
                for weir in self.entries:
                    if is_at(entry, peer, 1) and is_at(weir, turns.WEIR, batch) and \
                            (entry.setting, entry.group) == (weir.setting, weir.group):
                        return turns.ratios(entry, weir)
        return None

    def keep(self):
        """After each setting, so that what takes hours can be stopped."""
        if self.options.json:
            found = {"context": self.context, "benchmarks": turns.benchmarks(self.entries)}
            figures.write(self.options.json, found)

    def finish(self):
        print()
        offered = {offer.name for _, offer in self.offers}
        holds = stated.check(self.ratios_of, machine.cpus(), lambda peer: self.options.check and
                             (self.options.peers or peer in offered))
        self.keep()
        inexact = {f"{entry.offer.name}" for entry in self.entries if entry.over or entry.under}
        if inexact:
            print("inexact: " + ", ".join(sorted(inexact)))
        for text in self.skipped:
            print(f"skipped: {text}")
        for text in self.failures:
            print(f"FAILED {text}")
        measured = sum(bool(entry.runs) for entry in self.entries)
        print(f"{measured} figures, {len(self.failures)} failures, {len(self.skipped)} skipped")
        if not measured and not self.failures:
            self.fail("nothing was measured")
        return 1 if (self.failures or (self.options.require and self.skipped) or
                     (self.options.check and not holds)) else 0


class GivenTrace:
    """A trace file of somebody's, in the place of a Wish."""

    records = 0

    def __init__(self, title, trace):
        self.title, self.keys, self.denied = title, trace.keys, trace.denied_percent()
        self.zipf = math.nan  # not told in the file

    def name(self):
        return f"{re.sub('[^-+.a-z0-9]+', '-', self.title.lower())}/keys:{self.keys}" \
               f"/denied:{self.denied}"

    def text(self):
        return f"{self.title}: {plan.grouped(self.keys)} keys, {self.denied} % denied"


# ---- what is printed ----------------------------------------------------------------------------


def print_table(setting, trace, entries):
    groups = max((entry.group for entry in entries), default=-1) + 1
    told = f", {groups} groups that fit into memory" if groups > 1 else ""
    print(f"\n== {setting.text()} ({plan.grouped(trace.records)} records, "
          f"{plan.grouped(trace.admitted)} admitted{told})")
    width = max((len(entry.offer.name) for entry in entries), default=0)
    measured = [entry for entry in entries if entry.runs]
    if measured:
        print(f"{'':<{width}} batch        ns    cpu ns  varies  least .. most    million/s   "
              ": weir  95 %            bytes/key  answers")
    for entry in sorted(measured, key=lambda one: (one.batch, statistics.median(one.ns()))):
        print(f"{entry.offer.name:<{width}} {entry.batch:5} {row(entry)}")
    if turns.crowding(entries) > 1.1:
        print(f"the machine is busy: the wall's time is {turns.crowding(entries):.1f} times the "
              "processor's; these figures are noise for the most part")
    for entry in entries:
        if entry.outcome == turns.REFUSED:
            print(f"{entry.offer.name:<{width}} {entry.batch:5} not measured: {entry.why}")
    sys.stdout.flush()


def row(entry):
    ns = entry.ns()
    mean = statistics.fmean(ns)
    varies = 100 * statistics.stdev(ns) / mean if len(ns) > 1 else 0
    speed = statistics.median(run.decisions / run.seconds for run in entry.runs) / 1e6
    ratio = " " * 23
    if entry.ratio:
        ratio = f"{entry.ratio[0]:7.2f} {entry.ratio[1]:6.2f} .. {entry.ratio[2]:<6.2f}"
    return (f"{statistics.median(ns):9.2f} {statistics.median(r.cpu_ns for r in entry.runs):9.2f} "
            f"{varies:5.1f} % {min(ns):8.2f} .. {max(ns):<8.2f} {speed:8.3f} {ratio} "
            f"{entry.bytes_per_key:9.1f}  {entry.answers()}")


# ---- arguments ----------------------------------------------------------------------------------


def named_program(text):
    name, _, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f"{text}: NAME=PATH is expected")
    return name, path


def positive(kind, least):
    return parse.number(kind, least, 1e6, f"a number from {least:g} on is expected")


def several(kind, least):
    one = positive(kind, least)
    return lambda text: tuple(one(part) for part in text.split(","))


def clocks(text):
    found = tuple(text.split(","))
    if not set(found) <= {"given", "own"}:
        raise argparse.ArgumentTypeError(f"{text}: given, own or both are expected")
    return found


def arguments(words):
    parser = argparse.ArgumentParser(prog="peers.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    for name, text in ((plan.QUICK, "about a minute, instead of half an hour"),
                       (plan.FULL, "all combinations, many keys: hours")):
        size.add_argument(f"--{name}", dest="size", action="store_const", const=name, help=text)
    add = parser.add_argument
    add("--program", action="append", default=[], type=named_program, metavar="NAME=PATH",
        help="a program that is built already; may be repeated")
    add("--native", metavar="PATH", help="the same as --program native=PATH")
    add("--peers", metavar="FOLDER", help="build and run what has a script FOLDER/*/build")
    add("--only", default="", type=parse.pattern, metavar="REGEX", help="subjects, beside weir")
    add("--settings", default="", type=parse.pattern, metavar="REGEX",
        help="those of the plan whose names match, as keys:1000/.*threads:2")
    add("--write-trace", metavar="PATH", help="the program write_trace; needed without --trace")
    add("--trace", action="append", default=[], type=pathlib.Path, metavar="FILE",
        help="play this trace instead of the planned ones; may be repeated")
    add("--threads", type=several(int, 1), default=(1,), metavar="N,...", help="for --trace (1)")
    add("--clock", type=clocks, default=("given",), metavar="given,own", help="for --trace (given)")
    add("--batch", type=several(int, 1), default=(1,), metavar="N,...", help="for --trace (1)")
    add("--repetitions", type=positive(int, 2), default=5, metavar="R", help="that count (5)")
    add("--seconds", type=positive(float, 0.001), metavar="S",
        help="each, at least one pass (0.3; 0.05 with --quick)")
    add("--timeout", type=positive(float, 0.1), default=120.0, metavar="S",
        help="that a program may say nothing, beside --seconds and 20 us for each record (120)")
    add("--work", type=pathlib.Path, default=machine.ROOT / ".build" / "peers", metavar="FOLDER",
        help="for traces and built peers (.build/peers)")
    add("--json", metavar="FILE", help="keep the figures")
    add("--command", default="", metavar="TEXT", help="what is told to have made them")
    add("--require", action="store_true", help="a skipped peer is an error")
    add("--check", action="store_true",
        help="a missed ratio is an error, as is one to a subject that was there and not measured; "
             "with --peers to any")
    options = parser.parse_args(words)
    options.size = options.size or plan.USUAL
    options.seconds = options.seconds or (0.05 if options.size == plan.QUICK else 0.3)
    if options.native:
        options.program.insert(0, ("native", options.native))
    if not options.program and not options.peers:
        parser.error("programs are needed: --native, --program or --peers")
    if not options.trace and not options.write_trace:
        parser.error("--write-trace is needed, or --trace")
    if options.trace and options.check:
        parser.error("--check is about the planned traces, not those of --trace")
    return options


def main(words):
    options = arguments(words)
    began = time.monotonic()
    suite = Suite(options)
    try:
        options.work.mkdir(parents=True, exist_ok=True)
        suite.find_programs()
        if not suite.failures or suite.offers:
            suite.run_traces() if options.trace else suite.run_plan()
        status = suite.finish()
    except (figures.FiguresError, OSError) as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    print(f"took {time.monotonic() - began:.0f} s")
    return status


if __name__ == "__main__":
    # so that programs under way are ended, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("peers: stopped", file=sys.stderr)
        sys.exit(130)
