# SPDX-License-Identifier: MIT
"""Figures in the order of plots: which benchmarks make a line, and which lines a plot.

A peer's benchmark tells in its name what it measured:

    peers/uniform/keys:1000000/denied:0/threads:1/clock:given/batch:1/governor

A benchmark of google-benchmark's, as weir_single/keys:1000/zipf:0/real_time/threads:2, is taken in
the same way: what has a value is a parameter, the rest is its family.
"""

import math

import plan

WEIR = "weir"
# Of fewer, what a process takes by itself counts for more than its keys.
KEYS_FOR_MEMORY = 100_000


class Figure:
    """A measured benchmark with the parameters of its name."""

    def __init__(self, one):
        self.one = one
        self.ns = one.median()
        self.least, self.most = one.extremes()
        self.parameters, words = {}, []
        for part in one.name.split("/"):
            name, colon, value = part.partition(":")
            if colon and number_of(value) is not None:
                self.parameters[name] = number_of(value)
            elif colon:
                self.parameters[name] = value
            else:
                words.append(part)
        self.is_peer = one.name.startswith("peers/") and "batch" in self.parameters
        if self.is_peer:
            self.subject = one.name.rsplit("/", 1)[1]
            self.distribution = one.name.split("/")[1]
        else:
            self.subject = "/".join(word for word in words
                                    if word not in ("real_time", "manual_time"))

    def get(self, name, default=None):
        return self.parameters.get(name, default)

    def label(self):
        """A peer's, in plots."""
        batch = self.get("batch", 1)
        return self.subject if batch == 1 else f"{self.subject}, {batch:g} at once"

    def is_weir(self):
        return self.subject == WEIR

    def throughput(self):
        """(million decisions per second, at its slowest, at its best)."""
        threads = self.get("threads", 1)
        return tuple(1e3 * threads / max(ns, 1e-6) for ns in (self.ns, self.most, self.least))


def number_of(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return (int(value) if value == int(value) else value) if math.isfinite(value) else None


def figures_of(measured):
    """Of a file's benchmarks, those that have a figure."""
    return [Figure(one) for one in measured.values()
            if not one.error and one.medians() and min(one.medians()) > 0]


def without_short_traces(found):
    """Where a benchmark was measured on traces of several lengths, the longest counts."""
    best = {}
    for figure in found:
        key = (figure.subject, figure.distribution,
               *(figure.get(name) for name in ("keys", "denied", "threads", "clock", "batch")))
        length = figure.get("records", math.inf)
        if key not in best or length > best[key].get("records", math.inf):
            best[key] = figure
    return list(best.values())


def only_largest_batch(found):
    """One by one, and the most at once."""
    most = {}
    for figure in found:
        most[figure.subject] = max(most.get(figure.subject, 1), figure.get("batch"))
    return [figure for figure in found
            if figure.get("batch") in (1, most[figure.subject])]


def grouped(found, key):
    """By key, in the order of their first."""
    groups = {}
    for figure in found:
        groups.setdefault(key(figure), []).append(figure)
    return groups


class Conditions:
    """What the benchmarks of a plot against keys have in common."""

    def __init__(self, figure):
        self.distribution = figure.distribution
        self.denied, self.threads = figure.get("denied", 0), figure.get("threads", 1)
        self.clock = figure.get("clock", "given")

    def key(self):
        return self.distribution, self.denied, self.threads, self.clock

    def is_main(self):
        return self.distribution in ("uniform", "hot") and not self.denied and self.clock == "given"

    def text(self):
        parts = [{"uniform": "uniform keys", "hot": "one hot key"}.get(
            self.distribution, self.distribution.replace("zipf:", "Zipf "))]
        if self.denied:
            parts.append(f"{self.denied} % denied")
        parts.append(f"{self.threads} thread{'s' if self.threads > 1 else ''}")
        parts.append({"given": "the caller tells the time", "own": "each reads its own clock"}.get(
            self.clock, self.clock))
        return ", ".join(parts)


def against_keys(peers):
    """[(conditions, figures)]: one hot key stands at 1 in the plots of uniform keys."""
    groups = {}
    for figure in peers:
        conditions = Conditions(figure)
        groups.setdefault(conditions.key(), (conditions, []))[1].append(figure)
    for conditions, found in groups.values():
        if conditions.distribution == "uniform":
            hot = groups.get(("hot", *conditions.key()[1:]), (None, []))[1]
            keyed = {figure.subject for figure in found}
            found += [figure for figure in hot if figure.subject in keyed]
    return sorted(groups.values(), key=lambda group: (
        not group[0].is_main(), group[0].distribution != "uniform", str(group[0].distribution),
        group[0].clock, group[0].denied, group[0].threads))


def against_threads(peers):
    """(keys, figures) of the plot of throughput: at a million keys, or as many as have most."""
    found = [figure for figure in peers if Conditions(figure).is_main()]
    counts = {keys: len({figure.get("threads") for figure in of})
              for keys, of in grouped(found, lambda figure: figure.get("keys")).items()}
    several = [keys for keys, count in counts.items() if count > 1]
    if not several:
        return None, []
    keys = min(several, key=lambda keys: (abs(math.log10(keys / 1e6)), keys))
    return keys, [figure for figure in found if figure.get("keys") == keys]


def memory(peers):
    """(keys, figures) at the most keys that most subjects have: small tables say little."""
    found = [figure for figure in peers
             if "bytes_per_key" in figure.one.counters and figure.get("batch") == 1 and
             figure.get("threads") == 1 and figure.distribution == "uniform" and
             not figure.get("denied")]
    counts = {keys: len({figure.subject for figure in of})
              for keys, of in grouped(found, lambda figure: figure.get("keys")).items()
              if keys >= KEYS_FOR_MEMORY}
    if not counts:
        return None, []
    enough = [keys for keys, count in counts.items() if count * 2 > max(counts.values())]
    by_subject = {}
    for figure in found:
        if figure.get("keys") == max(enough):
            kept = by_subject.get(figure.subject)
            if kept is None or figure.get("clock") == "given":
                by_subject[figure.subject] = figure
    return max(enough), sorted(by_subject.values(),
                               key=lambda figure: figure.one.counters["bytes_per_key"])


PERCENTILES = (("p50", 0), ("p99", 1), ("p99.9", 2), ("p99.99", 3))


def latencies(found):
    """(label, [(place, ns)]) of benchmarks latency/*, with the percentiles that they have."""
    lines = []
    for figure in found:
        if not figure.one.name.startswith("latency/"):
            continue
        points = [(place, figure.one.counters[name]) for name, place in PERCENTILES
                  if figure.one.counters.get(name, 0) > 0]
        if len(points) > 1:
            label = figure.one.name.removeprefix("latency/")
            for word in ("/real_time", "/manual_time", "/iterations:1", "/threads:1"):
                label = label.replace(word, "")
            lines.append((label, points))
    return lines


def families(found):
    """Plots against keys of google-benchmark's programs: {parameters in words: figures}."""
    def key(figure):
        rest = {name: value for name, value in figure.parameters.items()
                if name not in ("keys", "repeats", "min_time", "iterations")}
        return ", ".join(words_of(name, value) for name, value in rest.items()) or "one thread"
    own = [figure for figure in found if not figure.is_peer and
           not figure.one.name.startswith("latency/") and isinstance(figure.get("keys"), int) and
           figure.get("keys") > 0]
    return {words: of for words, of in grouped(own, key).items()
            if len({figure.get("keys") for figure in of}) > 1}


def words_of(name, value):
    if name == "zipf":
        return "uniform keys" if not value else "Zipf" if value == 1 else f"Zipf {value}"
    if name == "threads":
        return f"{value} thread{'s' if value != 1 else ''}"
    return f"{name} {value}"


def keys_text(keys):
    return f"{plan.grouped(int(keys))} key{'s' if keys != 1 else ''}"
