# SPDX-License-Identifier: MIT
"""What is measured: traces, threads, clocks and batches, as far as the machine allows.

A setting is a trace with a number of threads and a clock; all subjects of a setting are measured by
turns. Nothing that the machine is too small for is left out in silence.
"""

import dataclasses

RECORD_BYTES = 24
QUICK, USUAL, FULL = "quick", "usual", "full"
# Of 100 million keys about 63 million come, if there are as many records.
ALL_COME = 100_000_000
# Where a call takes microseconds, a pass must be shorter.
SLOW_RECORDS = 100_000


@dataclasses.dataclass(frozen=True)
class Wish:
    """A trace to be written. records: 0 = as many as the writer chooses."""
    keys: int
    zipf: float = 0
    denied: int = 0
    records: int = 0

    def words(self):
        found = ["--keys", str(self.keys)]
        if self.zipf:
            found += ["--zipf", f"{self.zipf:g}"]
        if self.denied:
            found += ["--denied", str(self.denied)]
        if self.records:
            found += ["--records", str(self.records)]
        return found

    def distribution(self):
        if self.keys == 1:
            return "hot"
        return f"zipf:{self.zipf:g}" if self.zipf else "uniform"

    def file_name(self):
        records = f"-{self.records}" if self.records else ""
        return f"{self.distribution().replace(':', '')}-{self.keys}-{self.denied}{records}"

    def name(self):
        records = f"/records:{self.records}" if self.records else ""
        return f"{self.distribution()}/keys:{self.keys}/denied:{self.denied}{records}"

    def text(self):
        parts = [f"{grouped(self.keys)} key{'s' if self.keys > 1 else ''}"]
        if self.keys > 1:
            parts.append(f"Zipf {self.zipf:g}" if self.zipf else "uniform")
        if self.denied:
            parts.append(f"{self.denied} % denied")
        if self.records:
            parts.append(f"{grouped(self.records)} records")
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True)
class Setting:
    """One run: `batches` for those that take several decisions at once; slow: for slow peers."""
    wish: Wish
    threads: int
    clock: str
    batches: tuple
    slow: bool = False

    def name(self, batch, subject):
        return (f"peers/{self.wish.name()}/threads:{self.threads}/clock:{self.clock}"
                f"/batch:{batch}/{subject}")

    def text(self):
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"{self.wish.text()}, {threads}, {self.clock} clock"


def grouped(number):
    """1000000 -> 1 million; 100000 -> 100 thousand."""
    for unit, word in ((10 ** 6, "million"), (10 ** 3, "thousand")):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {word}"
    return str(number)


def doubling(cpus):
    """1, 2, 4 ... and all."""
    found = []
    threads = 1
    while threads < cpus:
        found.append(threads)
        threads *= 2
    return found + [cpus]


def records_of(wish):
    """As many as are asked for, or as write_trace chooses (usual_records in bench/trace_make.h)."""
    return wish.records or min(max(400 * wish.keys // (100 - wish.denied), 1 << 20), 1 << 24)


def memory_for(wish):
    """Bytes that weir and one peer like it take: the trace, the threads' lists, 30 for a key."""
    return 2 * (2 * records_of(wish) * RECORD_BYTES + 30 * wish.keys)


def traces(size):
    if size == QUICK:
        return [Wish(1000, records=1 << 18), Wish(1_000_000, records=1 << 20)]
    if size == USUAL:
        return [Wish(1), Wish(1, denied=99), Wish(1000), Wish(1000, denied=99), Wish(100_000),
                Wish(100_000, denied=50), Wish(1_000_000), Wish(1_000_000, zipf=0.99)]
    found = [Wish(1), Wish(1, denied=50), Wish(1, denied=99)]
    for keys in (1000, 100_000, 1_000_000, 10_000_000, ALL_COME):
        records = keys if keys >= ALL_COME else 0
        for zipf in (0, 0.8, 0.99, 1.2):
            # a trace that denies is sought by trying, which takes too long for many records
            shares = (0, 50, 99) if keys < 10_000_000 else (0,)
            found += [Wish(keys, zipf, denied, records) for denied in shares]
    return found


def settings(size, cpus, memory, disk):
    """(what to measure, in order; sentences on what is left out). memory, disk: bytes free."""
    found, left_out = [], []
    if cpus == 1:
        left_out.append("one processor: no run with several threads")
    threads = doubling(cpus) if size == FULL else sorted({1, min(2, cpus), cpus})
    if size == QUICK:
        threads = threads[:2]
    batches = (1, 8, 16, 32) if size == FULL else (1, 32)
    for wish in traces(size):
        if memory_for(wish) > memory:
            left_out.append(f"{wish.text()}: needs about {memory_for(wish) >> 20} MiB of memory, "
                            f"{memory >> 20} are free")
            continue
        if records_of(wish) * RECORD_BYTES > disk - (1 << 30):
            left_out.append(f"{wish.text()}: no room for the trace, {disk >> 20} MiB are free")
            continue
        found += [Setting(wish, t, "given", batches) for t in threads]
        if not wish.denied and is_own_clock_measured(size, wish):
            found += [Setting(wish, t, "own", (1,)) for t in threads]
    return found + slow_settings(size), left_out


def is_own_clock_measured(size, wish):
    if size == QUICK:
        return False
    return size == FULL or wish.keys in (1, 1_000_000)


def slow_settings(size):
    """Shorter traces, for peers whose calls take microseconds; weir plays them, too."""
    if size == QUICK:
        return [Setting(Wish(1000, records=20_000), 1, "given", (1, 32), True)]
    wishes = [Wish(keys, records=SLOW_RECORDS) for keys in (1000, SLOW_RECORDS)]
    if size == FULL:
        wishes.append(Wish(1_000_000, records=1_000_000))
    return [Setting(wish, 1, clock, (1, 32), True)
            for wish in wishes for clock in ("given", "own")]
