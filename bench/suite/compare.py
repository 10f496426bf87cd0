#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the figures of two builds, benchmark by benchmark.

Each of OLD and NEW is a file of figures, or a folder with several of the same build. A benchmark is
"slower" when NEW takes longer beyond noise: the interval of the ratio, made so wide that among
all benchmarks the chance of even one false alarm is 5 %, excludes 1, and the ratio is above
--threshold. The interval that is shown is that of the benchmark by itself: 95 %.

How to take them. Two processes of the same build differ by more than the repetitions within one
(where memory and code happen to lie), so take several of each by turns, on a machine that does
nothing else:

    for i in 1 2 3; do
        (cd old && ./dev bench --json ../figures-old/$i.json)
        (cd new && ./dev bench --json ../figures-new/$i.json)
    done
    ./dev bench --compare figures-old figures-new

With one file on either side the noise between processes cannot be seen, and --between is taken for
it. Exit status: 0; 1 when a benchmark is slower; 2 for wrong usage or files that cannot be read.

What peers/* tell of others than weir is shown, but does not count. A benchmark that fails in NEW
and not in OLD counts as slower.

The method. Each process gives the median of its repetitions; a build's figure is the geometric
mean of its processes'. All is done on logarithms. The noise of a figure is that between its
processes (half a benchmark's own, half that of all benchmarks together, as three processes alone
tell little; at least what repetitions of one process make likely), or the bootstrap's error of the
one median and --between. Intervals are Student's t;
verdicts are adjusted by Holm for the number of benchmarks.
"""

import argparse
import math
import re
import signal
import statistics
import sys

import figures
import parse
import spread

POOLED_FREEDOM = 8  # what the spread of all benchmarks weighs, beside a benchmark's own
VERDICTS = ("same", "faster", "slower")


class Side:
    """One benchmark of one build: its figure in logarithms, and what is known of its noise."""

    def __init__(self, one):
        medians = one.medians()
        logs = [math.log(ns) for ns in medians]
        self.name = one.name
        self.ns = math.exp(statistics.fmean(logs))
        self.log = statistics.fmean(logs)
        self.processes = len(logs)
        if self.processes > 1:
            self.variance_between = statistics.variance(logs)
            self.within = statistics.fmean(normal_noise(one, p)[0] for p in one.processes())
        else:
            self.within, self.freedom_within = self.noise_of_one(one)

    def noise_of_one(self, one):
        """(variance of the one process's median, degrees of freedom)."""
        process = one.processes()[0]
        times = one.repetitions.get(process, [])
        if len(times) > 1:
            error = spread.median_error([math.log(ns) for ns in times], one.name)
            return error ** 2, len(times) - 1
        return normal_noise(one, process)

    def noise(self, pooled, between):
        """(variance of the figure, degrees of freedom). `pooled`: the variance between processes
        of all benchmarks together, which stands for `between` where this side has one process."""
        if self.processes == 1:
            other = between ** 2 if pooled is None else pooled
            return (self.within + other,
                    freedom_of((self.within, self.freedom_within), (other, POOLED_FREEDOM)))
        own = self.processes - 1
        # medians that happen to be alike do not make repetitions that are not
        variance = max((self.variance_between + pooled) / 2, self.within)
        return variance / self.processes, own + POOLED_FREEDOM


def normal_noise(one, process):
    """The same as noise_of_one, as if repetitions were normal."""
    times = one.repetitions.get(process, [])
    if len(times) > 1:
        count, deviation = len(times), statistics.stdev(times) / statistics.fmean(times)
    else:
        count = one.counts.get(process, 0)
        deviation = one.aggregates.get(process, {}).get("cv", 0.0)
    return spread.error_of_median(deviation, count) ** 2, max(1, count - 1)


def freedom_of(*parts):
    """Of a sum of variances, each with its degrees of freedom (Welch and Satterthwaite)."""
    whole = sum(variance for variance, _ in parts)
    weights = sum(variance ** 2 / freedom for variance, freedom in parts)
    return whole ** 2 / weights if weights > 0 else POOLED_FREEDOM


class Pair:
    """A benchmark that both have."""

    def __init__(self, old, new):
        self.name, self.old, self.new = old.name, old, new
        self.ratio = new.ns / old.ns

    def judge(self, pooled, between):
        old, freedom_old = self.old.noise(pooled, between)
        new, freedom_new = self.new.noise(pooled, between)
        self.freedom = freedom_of((old, freedom_old), (new, freedom_new))
        self.error = math.sqrt(old + new)
        difference = self.new.log - self.old.log
        if self.error > 0:
            self.probability = spread.t_two_sided(difference / self.error, self.freedom)
        else:
            self.probability = 1.0 if difference == 0 else 0.0

    def interval(self):
        reach = spread.t_bound(self.freedom) * self.error
        return self.ratio * math.exp(-reach), self.ratio * math.exp(reach)

    def verdict(self, adjusted, threshold):
        if adjusted >= 1 - spread.CONFIDENCE:
            return "same"
        if self.ratio > threshold:
            return "slower"
        return "faster" if self.ratio < 1 / threshold else "same"


def pooled_variance(sides):
    """Between processes, of all benchmarks that have several; nothing where none has."""
    parts = [(side.variance_between, side.processes - 1) for side in sides if side.processes > 1]
    freedom = sum(part[1] for part in parts)
    return sum(variance * weight for variance, weight in parts) / freedom if freedom else None


def usable(one):
    return not one.error and bool(one.medians()) and min(one.medians()) > 0


# ---- what is printed ----------------------------------------------------------------------------


def print_table(pairs, adjusted, threshold):
    """The verdicts, one for each pair."""
    width = max(len(pair.name) for pair in pairs)
    print(f"{'ns of one operation':<{width}} {'OLD':>10} {'NEW':>10}  {'NEW : OLD':>9}"
          "  95 % interval   verdict")
    verdicts = []
    for pair, probability in zip(pairs, adjusted):
        low, high = pair.interval()
        verdicts.append(pair.verdict(probability, threshold))
        print(f"{pair.name:<{width}} {pair.old.ns:10.2f} {pair.new.ns:10.2f}  {pair.ratio:9.3f}"
              f"  {low:.3f} .. {high:.3f}  {verdicts[-1]}")
    return verdicts


def print_differences(old, new):
    """Of the machines and settings."""
    fields = ("machine", "num_cpus", "kernel", "compiler", "governor", "page_size",
              "transparent_huge_pages", "library_build_type")
    for field in fields:
        before, now = old["context"].get(field), new["context"].get(field)
        if before != now and None not in (before, now):
            print(f"warning: {field} differs: {before} in OLD, {now} in NEW; "
                  "the figures are hardly to be compared")
    for what, found in (("OLD", old), ("NEW", new)):
        load, cpus = found["context"].get("load_avg"), found["context"].get("num_cpus", 1)
        if isinstance(load, list) and load and figures.is_number(load[0]) and load[0] > 0.5 * cpus:
            print(f"warning: {what} was measured on a busy machine (load {load[0]:.1f}, "
                  f"{cpus} processors)")


def print_missing(old, new):
    for what, there, other in (("OLD", old, new), ("NEW", new, old)):
        for name in there:
            if name not in other:
                print(f"only in {what}: {name}")
        for one in there.values():
            if one.error:
                print(f"failed in {what}: {one.name}: {one.error}")


def print_sums(pairs, verdicts, threshold):
    counts = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
    print(f"{len(pairs)} compared: {counts['same']} same, {counts['faster']} faster, "
          f"{counts['slower']} slower (beyond noise and a ratio of {threshold:g})")
    middle = math.exp(statistics.median(math.log(pair.ratio) for pair in pairs))
    if abs(math.log(middle)) > math.log(threshold):
        print(f"the median of all ratios is {middle:.3f}: if most has changed alike, ask first "
              "whether the machine has")
    worst = max(math.exp(spread.t_bound(pair.freedom) * pair.error) for pair in pairs)
    print(f"the widest interval reaches {100 * (worst - 1):.0f} %: a change below that "
          "can hide there")


def compare(old, new, options):
    """Prints the comparison of two loaded files; the exit status."""
    before, now = ({name: one for name, one in figures.measured(found).items()
                    if re.search(options.only, name)} for found in (old, new))
    broken = [name for name, one in now.items()
              if counts(name) and one.error and name in before and not before[name].error]
    pairs = [Pair(Side(before[name]), Side(now[name])) for name in before
             if name in now and usable(before[name]) and usable(now[name])]
    print_differences(old, new)
    print_missing(before, now)
    if not pairs and not broken:
        print("compare: no benchmark is in both", file=sys.stderr)
        return 2
    judge(pairs, options.between)
    ours = [pair for pair in pairs if counts(pair.name)]
    others = [pair for pair in pairs if not counts(pair.name)]
    slower = told(ours, options.threshold)
    if others:
        print("\nother than weir, which does not count:")
        told(others, options.threshold)
    for pair in slower:
        print(f"SLOWER {pair.name}: {pair.ratio:.3f} times")
    for name in broken:
        print(f"FAILED {name}: in NEW, but not in OLD")
    return 1 if broken or slower else 0


def judge(pairs, between):
    pooled = pooled_variance([side for pair in pairs for side in (pair.old, pair.new)])
    for pair in pairs:
        pair.judge(pooled, between)
    if pooled is None and pairs:
        print(f"one process on either side: taking it that processes differ by {100 * between:g} % "
              "(--between); see --help on how to take several")


def told(pairs, threshold):
    """Prints the pairs with their verdicts; those that are slower."""
    if not pairs:
        return []
    adjusted = spread.holm([pair.probability for pair in pairs])
    verdicts = print_table(pairs, adjusted, threshold)
    print_sums(pairs, verdicts, threshold)
    return [pair for pair, verdict in zip(pairs, verdicts) if verdict == "slower"]


def counts(name):
    """A peer that became slower is no fault of weir's."""
    return not name.startswith("peers/") or name.endswith("/weir")


def main(words):
    parser = argparse.ArgumentParser(
        prog="compare.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old", metavar="OLD", help="a file of figures, or a folder of such files")
    parser.add_argument("new", metavar="NEW", help="the same, of the build that is judged")
    parser.add_argument("--threshold", default=1.05, metavar="RATIO",
                        type=parse.number(float, 1, 1e6, "a ratio from 1 on is expected"),
                        help="changes up to this ratio count as the same (1.05)")
    parser.add_argument("--between", default=0.03, metavar="SHARE",
                        type=parse.number(float, 0, 1e6, "a share from 0 on is expected, as 0.03"),
                        help="standard deviation between processes of one build, where it cannot\n"
                             "be seen because either side has one process only (0.03)")
    parser.add_argument("--only", default="", metavar="REGEX", type=parse.pattern,
                        help="benchmarks whose names match")
    options = parser.parse_args(words)
    try:
        old, new = figures.load_all(options.old), figures.load_all(options.new)
    except figures.FiguresError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    return compare(old, new, options)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
