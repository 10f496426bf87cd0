# SPDX-License-Identifier: MIT
"""bench/suite/peers.py against programs that only pretend (player.py). Prints TAP."""

import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import types
import unittest

from tap import ROOT, Folder, main

import figures
import machine
import peers
import plan
import program
import stated
import tracefile
import turns

HERE = pathlib.Path(__file__).parent


class Playing(Folder):
    def program(self, *subjects, name="fake"):
        """A program with these subjects: NAME, or (NAME, clocks, batch)."""
        path = self.folder / f"{name}.py"
        shutil.copy(HERE / "player.py", path)
        lines = [one if isinstance(one, tuple) else (one, "given,own", "1") for one in subjects]
        path.with_suffix(".subjects").write_text(
            "".join(f"{who}\t{clocks}\t{batch}\tof {who}\n" for who, clocks, batch in lines))
        return f"{name}={path}"

    def trace(self, name="uniform", records=1000, keys=10, admitted=1000):
        path = self.folder / f"{name}.trace"
        head = struct.pack("<8s7Q", b"WEIRTRC1", records, keys, 1, 1, 1, 1, admitted)
        path.write_bytes(head + bytes(24 * records))
        return path

    def peers(self, *words, programs=(), traces=True):
        """(exit status, output, file of figures)."""
        for one in programs:
            words += ("--program", one)
        if traces and "--trace" not in words:
            words += ("--trace", self.trace())
        json = self.folder / "out.json"
        status, text, errors = self.called(
            peers.main, "--seconds", "0.001", "--work", self.folder / "work", "--json", json,
            "--timeout", "20", *words)
        found = figures.load(json) if json.exists() else None
        return status, text + errors, found

    def notes(self, name="fake"):
        return (self.folder / f"{name}.notes").read_text().split("\n")[:-1]


class Figures(Playing):
    def test_medians_ratios_and_answers(self):
        status, text, found = self.peers(programs=[self.program("weir", "exact-3")])
        self.assertEqual(status, 0, text)
        name = "peers/uniform/keys:10/denied:0/threads:1/clock:given/batch:1/"
        one = figures.measured(found)
        self.assertEqual(list(one), [name + "weir", name + "exact-3"])
        self.assertEqual([round(ns) for ns in one[name + "exact-3"].repetitions[0]], [3000] * 5)
        self.assertAlmostEqual(one[name + "weir"].median(), 1000)
        self.assertNotIn("to_weir", one[name + "weir"].counters)
        counters = one[name + "exact-3"].counters
        for counter, value in (("to_weir", 3), ("to_weir_low", 3), ("to_weir_high", 3),
                               ("to_weir_cpu", 3), ("bytes_per_key", 16.5), ("over_admitted", 0),
                           ("weir_batch", 1)):
            self.assertAlmostEqual(counters[counter], value, msg=counter)
        self.assertAlmostEqual(counters["items_per_second"], 1e6 / 3)
        labels = {entry["label"] for entry in found["benchmarks"]}
        self.assertEqual(labels, {"of weir", "of exact-3"})
        self.assertRegex(text, r"exact-3 +1 +3000\.00 +3000\.00 +0\.0 % +3000\.00 \.\. 3000\.00 +"
                               r"0\.333 +3\.00 +3\.00 \.\. 3\.00 +16\.5  exact\n")
        self.assertIn("machine", found["context"])

    def test_repetitions_are_interleaved_after_one_that_does_not_count(self):
        self.peers("--repetitions", "2", programs=[self.program("weir", "exact-2", "exact-3")])
        ready, runs = self.notes()[:3], self.notes()[3:]
        self.assertEqual([line.split()[0] for line in ready], ["weir", "exact-2", "exact-3"])
        turns = [[f"{subject} 1 runs"] * 2 for subject in ("weir", "exact-2", "exact-3")]
        self.assertEqual(runs, sum(turns, []) * 3)

    def test_batches_are_compared_with_weir_of_the_same_batch(self):
        weir, peer = ("weir", "given", "1-64"), ("exact-3", "given", "1-8")
        status, text, found = self.peers("--batch", "1,8,32", programs=[self.program(weir, peer)])
        self.assertEqual(status, 0, text)
        one = {name.split("batch:")[1]: of for name, of in figures.measured(found).items()}
        self.assertEqual(sorted(one), ["1/exact-3", "1/weir", "32/weir", "8/exact-3", "8/weir"])
        self.assertAlmostEqual(one["8/exact-3"].median(), 375)
        self.assertAlmostEqual(one["8/exact-3"].counters["to_weir"], 3)
        self.assertEqual(one["8/exact-3"].counters["weir_batch"], 8)

    def test_threads_and_clocks(self):
        status, text, found = self.peers(
            "--threads", "1,2", "--clock", "given,own",
            programs=[self.program("weir", ("exact-2", "own", "1"))])
        self.assertEqual(status, 0, text)
        names = [name.split("denied:0/")[1] for name in figures.measured(found)]
        self.assertEqual(names, [
            "threads:1/clock:given/batch:1/weir", "threads:1/clock:own/batch:1/weir",
            "threads:1/clock:own/batch:1/exact-2", "threads:2/clock:given/batch:1/weir",
            "threads:2/clock:own/batch:1/weir", "threads:2/clock:own/batch:1/exact-2"])
        one = figures.measured(found)
        self.assertAlmostEqual(one[list(one)[3]].median(), 1000)  # per decision and thread
        self.assertAlmostEqual(one[list(one)[3]].counters["items_per_second"], 2e6)

    def test_hot_traces_are_played_whole_by_each_thread(self):
        trace = self.trace("hot", keys=1)
        status, text, _ = self.peers("--threads", "2", "--trace", trace,
                                     programs=[self.program("weir")])
        self.assertEqual(status, 0, text)
        self.assertIn("within bounds", text)

    def test_what_own_clocks_deny_is_not_measured(self):
        trace = self.trace("denying", admitted=900)
        _, text, found = self.peers("--clock", "given,own", "--trace", trace,
                                    programs=[self.program("weir")])
        self.assertEqual(len(figures.measured(found)), 1, text)
        self.assertIn("denying: 10 keys, 10 % denied, 1 thread, given clock", text)

    def test_groups_where_memory_is_short(self):
        free = iter([10 ** 12, 10 ** 12, 0, 10 ** 12, 0, 10 ** 12, 10 ** 12, 10 ** 12])
        before, turns.Memory.free = turns.Memory.free, staticmethod(lambda: next(free))
        self.addCleanup(setattr, turns.Memory, "free", staticmethod(before))
        _, text, found = self.peers(programs=[self.program("weir", "exact-2", "exact-3", "exact-4",
                                                           "exact-5")])
        one = {name.split("/")[-1]: of for name, of in figures.measured(found).items()}
        self.assertEqual(sorted(one["weir"].repetitions), [0, 1, 2], text)
        self.assertEqual([sorted(one[f"exact-{i}"].repetitions) for i in range(2, 6)],
                         [[0], [0], [1], [2]])
        self.assertIn("3 groups", text)

    def test_a_subject_without_room_is_told(self):
        before, turns.Memory.free = turns.Memory.free, staticmethod(lambda: 0)
        self.addCleanup(setattr, turns.Memory, "free", staticmethod(before))
        status, text, found = self.peers(programs=[self.program("weir", "exact-2")])
        self.assertEqual((status, len(figures.measured(found))), (0, 1), text)
        self.assertRegex(text, r"exact-2 +1 not measured: it needs about \d+ MiB, 0 are free")


class Wrong(Playing):
    def outcome(self, *subjects, **options):
        """Of a peer beside weir and one that is exact: these two are measured whatever it does."""
        status, text, found = self.peers("--timeout", "5", "--trace", self.trace(admitted=500),
                                         programs=[self.program("weir", *subjects, "exact-2")])
        one = {name.split("/")[-1]: of for name, of in figures.measured(found).items()}
        self.assertEqual(len(one["weir"].repetitions[0]), 5, text)
        self.assertEqual(len(one["exact-2"].repetitions[0]), 5, text)
        return status, text, one

    def fails(self, subject, *words):
        status, text, one = self.outcome(subject)
        self.assertEqual(status, 1, text)
        for word in words:
            self.assertIn(word, text)
            self.assertIn(word, one[subject].error)
        self.assertEqual(one[subject].medians(), [])

    def test_a_peer_that_refuses_is_no_failure(self):
        status, text, one = self.outcome("refusing")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"refusing +1 not measured: no table of mine is so large")
        self.assertNotIn("refusing", one)

    def test_a_peer_that_is_inexact_is_told_by_how_much(self):
        status, text, one = self.outcome("over", "under")
        self.assertEqual(status, 0, text)
        # 6 rounds of 2 runs of 2 passes of 1000 decisions
        self.assertIn("INEXACT: over-admits by 12 of 24000 (0.05 %)", text)
        self.assertIn("INEXACT: admits 24 too few of 24000 (0.1 %)", text)
        self.assertIn("inexact: over, under\n", text)
        self.assertEqual(one["over"].counters["over_admitted"], 1)
        self.assertEqual(one["under"].counters["under_admitted"], 2)

    def test_a_peer_may_play_the_beginning_of_a_trace(self):
        status, text, one = self.outcome("short")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"short .* exact, of the first 500 records\n")
        self.assertEqual(len(one["short"].repetitions[0]), 5)
        self.fails("long", '"records" is 1001, of a trace of 1000')

    def test_programs_that_die(self):
        self.fails("dead", "it ended, exit status 1", "| why it died")
        self.fails("dying", "it ended, signal SIGABRT")
        self.fails("sulking", "told to quit, it ended with status 5")

    def test_programs_that_hang_are_ended_with_all_they_started(self):
        begin = time.monotonic()
        self.fails("mute", "it hangs: asked ready, it said nothing for 5.02 s")
        self.fails("hanging", "it hangs: asked to run, it said nothing for 5.021 s")
        self.assertLess(time.monotonic() - begin, 50)
        pids = [line.split()[2] for line in self.notes() if not line.endswith("runs")]
        self.assertEqual(len(pids), 6)
        groups = [group_of(stat) for stat in pathlib.Path("/proc").glob("[0-9]*/stat")]
        self.assertEqual([pid for pid in pids if pid in groups], [])

    def test_programs_that_make_no_sense(self):
        self.fails("chatty", "it says what is no object of JSON: b'hello")
        self.fails("garbage", "it says what is no object of JSON: b'[1]")
        self.fails("lying", "least 1001 and most 1001, where 1000 is exact")
        self.fails("uneven", "1999 decisions are not whole passes of 1000")
        self.fails("boasting", "1e+06 s told for what took")

    def test_weir_itself_has_to_be_exact(self):
        trace = self.trace(admitted=500)
        for kind, word in (("over", "over-admits by 12"), ("under", "admits 24 too few")):
            before, turns.WEIR = turns.WEIR, kind
            try:
                status, text, _ = self.peers("--trace", trace, programs=[self.program(kind)])
            finally:
                turns.WEIR = before
            self.assertEqual(status, 1, text)
            self.assertRegex(text, f"FAILED peers/.*/{kind}: INEXACT: {word} of 24000")

    def test_weir_that_refuses_or_is_absent(self):
        before, turns.WEIR = turns.WEIR, "refusing"
        try:
            status, text, _ = self.peers(programs=[self.program("refusing")])
        finally:
            turns.WEIR = before
        self.assertEqual(status, 1)
        self.assertIn("weir refuses: no table of mine", text)
        status, text, _ = self.peers(programs=[self.program("exact-2")])
        self.assertEqual(status, 1)
        self.assertIn("FAILED no program has weir as a subject", text)

    def test_lists_that_make_no_sense(self):
        good = self.program("weir")
        cases = {"x\ty": "not NAME, clocks, batch and version", "x\tnoon\t1\tv": "make no sense",
                 "x\town\tmany\tv": "make no sense", "": "names no subject",
                 "x\town\t1\tv\nx\town\t1\tv": "names x twice"}
        for line, word in cases.items():
            bad = self.program("weir", name="bad")
            (self.folder / "bad.subjects").write_text(line + "\n")
            status, text, _ = self.peers(programs=[good, bad])
            self.assertEqual(status, 1, line)
            self.assertIn(word, text)
            self.assertIn("1 figures, 1 failures", text)
        status, text, _ = self.peers(programs=[good, "absent=/no/such/program"])
        self.assertEqual(status, 1)
        self.assertIn("/no/such/program: No such file", text)
        status, text, _ = self.peers(programs=[good, self.program("weir", name="twice")])
        self.assertIn("weir: several programs have a subject of this name", text)


def group_of(stat):
    """The process group of a process, as text; nothing once it has ended."""
    try:
        state, _, group = stat.read_text().rsplit(")", 1)[1].split()[:3]
    except (OSError, ValueError):
        return ""
    return "" if state == "Z" else group


class Building(Playing):
    def build(self, name, text):
        path = self.put(f"peers/{name}/build", "#!/bin/sh\n" + text)
        path.chmod(0o755)

    def test_programs_are_built_skipped_and_required(self):
        path = self.program("weir").split("=")[1]
        self.build("good", f'test -n "$1" && echo making it && echo {path}')
        self.build("rusty", "echo no cargo here >&2; exit 3")
        status, text, found = self.peers("--peers", self.folder / "peers")
        self.assertEqual(status, 0, text)
        self.assertEqual(len(figures.measured(found)), 1)
        self.assertIn("skipped: rusty: no cargo here\n", text)
        self.assertEqual(self.peers("--peers", self.folder / "peers", "--require")[0], 1)

    def test_a_build_that_fails_is_a_failure(self):
        self.build("good", f"echo {self.program('weir').split('=')[1]}")
        self.build("bad", "echo line 7 is wrong >&2; exit 1")
        self.build("silent", "exit 0")
        status, text, found = self.peers("--peers", self.folder / "peers")
        self.assertEqual((status, len(figures.measured(found))), (1, 1), text)
        self.assertIn("FAILED bad cannot be built, exit status 1\n    | line 7 is wrong", text)
        self.assertIn("FAILED silent cannot be built", text)


class Planned(Playing):
    def writer(self):
        path = self.folder / "write_trace.py"
        shutil.copy(HERE / "trace_writer.py", path)
        return path

    def planned(self, wishes, *words, subjects=("weir",), threads=(1,), writer=None):
        """A run of settings of these wishes."""
        def settings(size, cpus, memory, disk):
            return [plan.Setting(wish, t, "given", (1, 32)) for wish in wishes
                    for t in threads], ["left out by the test"]
        before, plan.settings = plan.settings, settings
        self.addCleanup(setattr, plan, "settings", before)
        return self.peers("--write-trace", writer or self.writer(), *words, traces=False,
                          programs=[self.program(*subjects)])

    def test_traces_are_written_once(self):
        wish = plan.Wish(1000, 0.99, 10, 500)
        status, text, found = self.planned([wish], threads=(1, 2))
        self.assertEqual(status, 0, text)
        self.assertEqual(self.notes("write_trace"),
                         ["--keys 1000 --zipf 0.99 --denied 10 --records 500"])
        self.assertIn("left out: left out by the test", text)
        self.assertIn("peers/zipf:0.99/keys:1000/denied:10/records:500/threads:2/clock:given/"
                      "batch:1/weir", figures.measured(found))
        trace = self.folder / "work/traces/zipf0.99-1000-10-500.trace"
        self.assertTrue(trace.exists())
        trace.write_bytes(trace.read_bytes()[:-1])  # cut off: it is written anew
        os.utime(trace, (time.time() + 10,) * 2)
        self.planned([wish])
        self.assertEqual(len(self.notes("write_trace")), 2)

    def test_a_trace_that_cannot_be(self):
        status, text, _ = self.planned([plan.Wish(10, denied=50), plan.Wish(10)])
        self.assertEqual(status, 0, text)
        self.assertRegex(text, "left out: .*--denied 50.*: 50 % of these cannot be denied")
        bad = plan.Wish(10, 50.5)
        with open(self.folder / "write_trace.py", "a", encoding="utf-8") as file:
            file.write("raise SystemExit('no exponent of ' + options['--zipf'])\n")
        status, text, _ = self.planned([bad, plan.Wish(10)], writer=self.folder / "write_trace.py")
        self.assertEqual(status, 1)
        self.assertRegex(text, "FAILED .*--zipf 50.5.*: no exponent of 50.5")

    def test_stated_ratios(self):
        before, stated.AT_LEAST = stated.AT_LEAST, {"exact-2": 1.5, "exact-3": 4}
        self.addCleanup(setattr, stated, "AT_LEAST", before)
        cpus, machine.cpus = machine.cpus, lambda: 1
        self.addCleanup(setattr, machine, "cpus", cpus)
        subjects = (("weir", "given", "1-64"), "exact-2", "exact-3")
        wishes = [plan.Wish(1_000_000), plan.Wish(1000)]
        status, text, _ = self.planned(wishes, subjects=subjects)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"(?m)^holds  weir : exact-2, 1 million keys, 1 thread +2\.00 "
                               r"\(at least 1\.50\)  95 %: 2\.00 \.\. 2\.00, "
                               r"by processor time 2\.00$")
        self.assertRegex(text, r"(?m)^MISSED weir : exact-3, 1 million keys, 1 thread +3\.00 "
                               r"\(at least 4\.00\)")
        self.assertRegex(text, r"(?m)^holds  weir in batches : exact-3, 1 million keys, 1 thread +"
                               r"96\.00 \(at least 8\.00\)")
        self.assertEqual(self.planned(wishes, "--check", subjects=subjects)[0], 1)
        stated.AT_LEAST = {"exact-2": 1.5, "exact-3": 3}
        self.assertEqual(self.planned(wishes, "--check", subjects=subjects)[0], 0)
        stated.AT_LEAST = {"nobody": 1}
        miss = "MISSED weir : nobody, 1 million keys, 1 thread: not measured"
        none = self.folder / "none"
        none.mkdir()
        status, text, _ = self.planned(wishes, "--check", "--peers", none, subjects=subjects)
        self.assertEqual((status, miss in text), (1, True), text)
        status, text, _ = self.planned(wishes, "--check", subjects=subjects)
        self.assertEqual((status, miss in text), (0, False), text)
        stated.AT_LEAST = {"exact-2": 1}
        self.assertEqual(self.planned(wishes[1:], "--check", subjects=subjects)[0], 1)

    def test_a_part_of_the_plan(self):
        _, text, found = self.planned([plan.Wish(10), plan.Wish(20)], "--settings",
                                      "keys:20/.*threads:2", threads=(1, 2))
        name = "peers/uniform/keys:20/denied:0/threads:2/clock:given/batch:1/weir"
        self.assertEqual(list(figures.measured(found)), [name], text)
        self.assertIn("1 settings, 6 rounds each", text)

    def test_slow_programs_play_short_traces_beside_weir(self):
        settings = [plan.Setting(plan.Wish(10, records=100), 1, "given", (1,), slow)
                    for slow in (False, True)]
        before, plan.settings = plan.settings, lambda *_: (settings, [])
        self.addCleanup(setattr, plan, "settings", before)
        self.peers("--write-trace", self.writer(), "--repetitions", "2", traces=False,
                   programs=[self.program("weir", "exact-2"),
                             self.program("exact-9", name="redis")])
        self.assertEqual([line.split()[0] for line in self.notes()],
                         ["weir", "exact-2"] + ["weir", "weir", "exact-2", "exact-2"] * 3 + ["weir"] * 7)
        self.assertEqual([line.split()[0] for line in self.notes("redis")], ["exact-9"] * 7)


class Crowding(unittest.TestCase):
    def test_programs_that_had_to_wait_for_a_processor(self):
        def entry(subject, threads, seconds, cpu_seconds):
            setting = types.SimpleNamespace(threads=threads)
            run = types.SimpleNamespace(seconds=seconds, cpu_seconds=cpu_seconds)
            return types.SimpleNamespace(setting=setting, runs=[run],
                                         is_weir=lambda: subject == "weir")
        self.assertEqual(turns.crowding([entry("weir", 2, 3.0, 2.0)]), 3.0)
        self.assertEqual(turns.crowding([entry("mutexes", 1, 3.0, 2.0)]), 1.5)
        # threads that sleep take no processor time: that is their own affair
        self.assertEqual(turns.crowding([entry("mutexes", 2, 3.0, 2.0)]), 1.0)


class Plans(unittest.TestCase):
    def test_the_list_adapts_to_the_machine(self):
        large, left_out = plan.settings(plan.FULL, 64, 1 << 40, 1 << 40)
        self.assertEqual(left_out, [])
        self.assertEqual(sorted({one.threads for one in large}), [1, 2, 4, 8, 16, 32, 64])
        self.assertEqual(sorted({one.wish.keys for one in large}),
                         [1, 1000, 100_000, 1_000_000, 10_000_000, 100_000_000])
        self.assertEqual({one.wish.zipf for one in large}, {0, 0.8, 0.99, 1.2})
        self.assertEqual({one.wish.denied for one in large}, {0, 50, 99})
        self.assertEqual({one.wish.denied for one in large if one.wish.keys > 1_000_000}, {0})
        self.assertEqual({one.batches for one in large if one.clock == "given"},
                         {(1, 8, 16, 32), (1, 32)})
        small, left_out = plan.settings(plan.FULL, 1, 1 << 30, 1 << 40)
        self.assertEqual({one.threads for one in small}, {1})
        self.assertEqual(max(one.wish.keys for one in small), 1_000_000)
        self.assertIn("one processor: no run with several threads", left_out)
        self.assertTrue(any(text.startswith("100 million keys, uniform, 100 million records: needs")
                            for text in left_out))
        _, left_out = plan.settings(plan.FULL, 2, 1 << 40, 3 << 29)
        no_room = [text.split(": no room")[0] for text in left_out if "no room for the trace" in text]
        self.assertIn("100 million keys, uniform, 100 million records", no_room)
        self.assertNotIn("10 million keys, uniform", no_room)  # 384 MiB
        _, left_out = plan.settings(plan.FULL, 2, 1 << 40, 5 << 28)
        self.assertTrue(any(text.startswith("10 million keys, uniform: no room")
                            for text in left_out))

    def test_traces_have_as_many_records_as_their_writer_chooses(self):
        self.assertEqual([plan.records_of(wish) for wish in (
            plan.Wish(1000), plan.Wish(1_000_000), plan.Wish(10_000_000), plan.Wish(100_000, 0, 50),
            plan.Wish(100_000, 0.99, 99), plan.Wish(7, records=11))],
            [1 << 20, 4_000_000, 1 << 24, 1 << 20, 1 << 24, 11])

    def test_own_clocks_deny_nothing(self):
        for size in (plan.QUICK, plan.USUAL, plan.FULL):
            found, _ = plan.settings(size, 4, 1 << 40, 1 << 40)
            self.assertFalse([one for one in found if one.clock == "own" and one.wish.denied])
            self.assertEqual(len(found), len(set(found)))
            names = [one.name(1, "x") for one in found]
            self.assertEqual(len(names), len(set(names)))

    def test_stated_settings_are_in_each_plan(self):
        for size in (plan.QUICK, plan.USUAL, plan.FULL):
            found, _ = plan.settings(size, 2, 1 << 40, 1 << 40)
            for threads in stated.THREADS:
                self.assertTrue([one for one in found if one.wish.keys == stated.KEYS and
                                 not one.wish.zipf and not one.wish.denied and not one.slow and
                                 one.threads == threads and one.clock == "given" and
                                 set(one.batches) & set(stated.BATCHES)], (size, threads))

    def test_words(self):
        self.assertEqual([plan.grouped(n) for n in (1, 1000, 1500, 100_000, 2_000_000)],
                         ["1", "1 thousand", "1500", "100 thousand", "2 million"])
        self.assertEqual(plan.doubling(1), [1])
        self.assertEqual(plan.doubling(6), [1, 2, 4, 6])


class Traces(Folder):
    def test_heads(self):
        def head(*fields):
            return struct.pack("<8s7Q", *fields) + bytes(24 * fields[1])
        path = self.folder / "a.trace"
        path.write_bytes(head(b"WEIRTRC1", 4, 2, 3, 4, 5, 6, 1))
        trace = tracefile.Trace(path)
        self.assertEqual((trace.records, trace.keys, trace.limit, trace.period, trace.burst,
                          trace.span, trace.admitted, trace.bytes),
                         (4, 2, 3, 4, 5, 6, 1, 160))
        self.assertEqual((trace.denies(), trace.denied_percent()), (True, 75))
        ones = (1, 1, 1, 1, 1, 1)
        for content, word in ((b"", "no trace file"),
                              (head(b"WEIRTRC2", *ones, 1), "no trace file"),
                              (head(b"WEIRTRC1", *ones, 1)[:-1], "87 bytes, but 1 records are 88"),
                              (head(b"WEIRTRC1", *ones, 2), "2 admitted")):
            path.write_bytes(content)
            with self.assertRaisesRegex(tracefile.TraceError, f"a.trace: .*{word}"):
                tracefile.Trace(path)


class Usage(Playing):
    def test_wrong_usage(self):
        good = self.program("weir")
        for words, why in (
                ((), "programs are needed"), (("--program", "x"), "NAME=PATH"),
                (("--program", good), "--write-trace is needed"),
                (("--program", good, "--trace", "a", "--check"), "--check is about the planned"),
                (("--program", good, "--trace", "a", "--threads", "0"), "0: a number from 1 on"),
                (("--program", good, "--trace", "a", "--repetitions", "1"), "1: a number from 2"),
                (("--program", good, "--trace", "a", "--clock", "noon"), "noon: given, own or"),
                (("--program", good, "--trace", "a", "--only", "("), "unterminated"),
                (("--quick", "--full"), "not allowed")):
            status, _, errors = self.called(peers.main, *words)
            self.assertEqual(status, 2, words)
            self.assertIn(why, errors)

    def test_a_trace_that_is_none(self):
        status, text, _ = self.peers("--trace", self.put("a.trace", "nothing"),
                                     programs=[self.program("weir")])
        self.assertEqual(status, 1)
        self.assertIn("a.trace: no trace file", text)
        self.assertIn("0 figures, 1 failures", text)

    def test_a_run_that_is_stopped_leaves_nobody(self):
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            with self.subTest(number):
                self.assertEqual(self.stopped_by(number), (status, []))

    def stopped_by(self, number):
        """(exit status, of the programs those that are left)."""
        words = [sys.executable, str(ROOT / "bench/suite/peers.py"), "--trace", str(self.trace()),
                 "--program", self.program("weir", "mute"), "--work", str(self.folder / "work")]
        notes = self.folder / "fake.notes"
        notes.unlink(missing_ok=True)
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            until = time.monotonic() + 20
            while time.monotonic() < until and (not notes.exists() or len(self.notes()) < 2):
                time.sleep(0.05)
            run.send_signal(number)
            status = run.wait(20)
        pids = [line.split()[2] for line in self.notes()]
        self.assertEqual(len(pids), 2)
        groups = [group_of(stat) for stat in pathlib.Path("/proc").glob("[0-9]*/stat")]
        return status, [pid for pid in pids if pid in groups]


if __name__ == "__main__":
    main()
