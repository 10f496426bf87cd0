# SPDX-License-Identifier: MIT
"""Measures one setting: its subjects are started at once, and play in turn, A B A B ...

As many as memory allows stand side by side; the others form further groups, and weir is in each, so
that every peer is compared with a weir that ran between its own repetitions.
"""

import statistics

import figures
import machine
import program
import spread

WEIR = "weir"
FAILED, REFUSED = "failed", "refused"
# Of a peer that was not seen yet; and the least that is left to the rest of the machine.
BYTES_PER_KEY, RESERVE = 300, 512 << 20
PROCESS_BYTES = 64 << 20  # before it has a key
WARMING_S = 0.001  # of whole passes: one


class Entry:
    """A subject with a batch in one setting, and what it did."""

    def __init__(self, setting, offer, batch):
        self.setting, self.offer, self.batch = setting, offer, batch
        self.name = setting.name(batch, offer.name)
        self.group = 0
        self.player = None
        self.bytes_per_key = 0.0
        self.part = 0  # how many records of the trace, from its beginning; 0: all
        self.runs = []  # those that count
        self.over = self.under = self.decisions = 0  # of all runs
        self.why = ""  # it was not measured
        self.outcome = ""  # FAILED or REFUSED, where it was not
        self.ratio = self.cpu_ratio = None  # its time by weir's: middle, low, high
        self.weir_batch = 0  # of which weir

    def is_weir(self):
        return self.offer.name == WEIR

    def stop(self, outcome, why):
        self.outcome, self.why, self.runs = outcome, why, []
        if self.player:
            self.player.end()
            self.player = None

    def ns(self):
        return [run.ns for run in self.runs]

    def cpu_ns(self):
        return [max(run.cpu_ns, 1e-6) for run in self.runs]

    def answers(self):
        """Whether they are exact, in words."""
        share = f" of {self.decisions} ({100 * (self.over + self.under) / self.decisions:.2g} %)"
        words = [f"over-admits by {self.over}"] if self.over else []
        words += [f"admits {self.under} too few"] if self.under else []
        hot = self.setting.wish.keys == 1 and self.setting.threads > 1
        part = f", of the first {self.part} records" if self.part else ""
        if words:
            return "INEXACT: " + " and ".join(words) + share + part
        return ("within bounds" if hot else "exact") + part


class Memory:
    """What subjects took for a key, to tell whether another one still fits."""

    def __init__(self):
        self.bytes_per_key = {}

    def learn(self, entry):
        known = self.bytes_per_key.get(entry.offer.name, 0)
        self.bytes_per_key[entry.offer.name] = max(known, entry.bytes_per_key)

    def needed(self, entry, trace):
        # tables grow by copies, and collectors leave what is dead for a while
        a_key = 1.5 * self.bytes_per_key.get(entry.offer.name, BYTES_PER_KEY)
        return int(PROCESS_BYTES + 2 * trace.bytes + a_key * min(trace.keys, trace.records))

    @staticmethod
    def free():
        return machine.memory() - max(RESERVE, machine.memory("MemTotal") // 16)


class Turns:
    """The runs of one setting."""

    def __init__(self, setting, trace, memory, options):
        self.setting, self.trace, self.memory, self.options = setting, trace, memory, options

    def measure(self, entries):
        """All of them, group by group; weir one by one is the first entry. Returns them, with one
        weir for each group."""
        weirs = [entry for entry in entries if entry.is_weir() and entry.batch == 1]
        waiting = [entry for entry in entries if entry not in weirs]
        done, number = [], 0
        while number == 0 or waiting:
            group = [Entry(self.setting, one.offer, one.batch) for one in weirs]
            group, waiting = self.started(group, waiting)
            for entry in group:
                entry.group = number
            try:
                self.play(group)
            finally:
                for entry in group:
                    if entry.player:
                        entry.stop(FAILED, "it was stopped")
            self.compare(group)
            done += group
            number += 1
        return done

    def started(self, group, waiting):
        """(the group with all that fit, those that did not)."""
        group = list(group)
        first = len(group)
        for entry in group:
            self.start(entry)
        try:
            while waiting:
                needed, free = self.memory.needed(waiting[0], self.trace), self.memory.free()
                if needed > free and len(group) > first:
                    break
                entry, waiting = waiting[0], waiting[1:]
                group.append(entry)
                if needed > free:
                    entry.stop(REFUSED, f"it needs about {needed >> 20} MiB, "
                                        f"{max(0, free) >> 20} are free")
                    break
                self.start(entry)
        except BaseException:
            for entry in group:
                if entry.player:
                    entry.stop(FAILED, "it was stopped")
            raise
        return group, waiting

    def start(self, entry):
        try:
            entry.player = program.Player(entry.offer, self.trace, self.setting.threads,
                                          self.setting.clock, entry.batch, self.options.timeout)
            entry.bytes_per_key = entry.player.bytes_per_key
            if entry.player.records < self.trace.records:
                entry.part = entry.player.records
            self.memory.learn(entry)
        except program.Refused as refused:
            entry.stop(REFUSED, str(refused))
        except program.Broken as broken:
            entry.stop(FAILED, str(broken))

    def play(self, group):
        """One round that does not count (just-in-time compilers, caches), then those that do."""
        for number in range(1 + self.options.repetitions):
            for entry in group:
                if entry.player:
                    self.turn(entry, counts=number > 0)
        for entry in group:
            if entry.player:
                self.quit(entry)

    def turn(self, entry, counts):
        """A pass that does not count (others have had the caches since), then the run that may."""
        try:
            for seconds in (WARMING_S, self.options.seconds):
                run = entry.player.run(seconds)
                entry.over += run.over
                entry.under += run.under
                entry.decisions += run.decisions
        except (program.Broken, program.Refused) as broken:
            entry.stop(FAILED, str(broken))
            return
        if counts:
            entry.runs.append(run)

    def quit(self, entry):
        player, entry.player = entry.player, None
        try:
            player.quit()
        except program.Broken as broken:
            entry.stop(FAILED, str(broken))

    @staticmethod
    def compare(group):
        """Each with the weir of the same batch, or else with the one that decides one by one."""
        weirs = {entry.batch: entry for entry in group if entry.is_weir() and entry.runs}
        for entry in group:
            weir = weirs.get(entry.batch, weirs.get(1))
            if entry.runs and weir and not entry.is_weir():
                entry.ratio = spread.paired_ratio(entry.ns(), weir.ns(), entry.name)
                entry.cpu_ratio = spread.paired_ratio(entry.cpu_ns(), weir.cpu_ns(), entry.name)
                entry.weir_batch = weir.batch


def ratios(entry, weir):
    """Of a peer and a weir of any batch, of one group: by the wall's and by processor time."""
    seed = entry.name + weir.name
    return (spread.paired_ratio(entry.ns(), weir.ns(), seed),
            spread.paired_ratio(entry.cpu_ns(), weir.cpu_ns(), seed))


def crowding(entries):
    """How many times as long as their processors worked programs took that never wait: above 1
    where others used the processors."""
    shares = [run.seconds * entry.setting.threads / max(run.cpu_seconds, 1e-9)
              for entry in entries for run in entry.runs
              if entry.is_weir() or entry.setting.threads == 1]
    return statistics.median(shares) if shares else 1.0


# ---- as entries of a file of figures ------------------------------------------------------------


def benchmarks(entries):
    found = []
    for entry in entries:
        common = {"label": entry.offer.version, "threads": entry.setting.threads}
        if entry.group:
            common["process"] = entry.group
        if entry.outcome == FAILED:
            found.append({"name": entry.name, "run_name": entry.name, "run_type": "iteration",
                          "error_occurred": True, "error_message": entry.why, **common})
        if not entry.runs:
            continue
        repetitions = [{
            "name": entry.name, "run_name": entry.name, "run_type": "iteration",
            "repetitions": len(entry.runs), "repetition_index": i, **common,
            "iterations": run.decisions, "real_time": run.ns, "cpu_time": run.cpu_ns,
            "time_unit": "ns", "items_per_second": run.decisions / run.seconds,
            "over_admitted": run.over, "under_admitted": run.under,
            "bytes_per_key": entry.bytes_per_key,
        } for i, run in enumerate(entry.runs)]
        aggregates = figures.aggregate(entry.name, repetitions, **common)
        if entry.ratio:
            aggregates[0].update(zip(("to_weir", "to_weir_low", "to_weir_high"), entry.ratio))
            aggregates[0]["to_weir_cpu"] = entry.cpu_ratio[0]
            aggregates[0]["weir_batch"] = entry.weir_batch
        found += repetitions + aggregates
    return found
