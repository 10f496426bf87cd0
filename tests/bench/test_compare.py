# SPDX-License-Identifier: MIT
"""bench/suite/compare.py: the same, faster, slower, by chance. Prints TAP."""

import math
import random
import re
import unittest

from tap import Folder, file_of, main, repetition

import compare
import figures
import spread


def times_of(ns, seed, count=5, noise=0.02, between=0.0):
    draw = random.Random(seed)
    lies = draw.gauss(0, between)
    return [ns * math.exp(lies + draw.gauss(0, noise)) for _ in range(count)]


def build(seed, processes, benchmarks, factors=None, between=0.015):
    """Files of one build: each benchmark's time is 10, 20, ... ns times its factor."""
    return [file_of({f"b{i}": times_of(10 * (i + 1) * (factors or {}).get(i, 1),
                                       f"{seed} {process} {i}", between=between)
                     for i in range(benchmarks)}) for process in range(processes)]


class Comparing(Folder):
    def sides(self, old, new, *options):
        for name, files in (("old", old), ("new", new)):
            for path in (self.folder / name).glob("*"):
                path.unlink()
            for i, file in enumerate(files):
                self.put(f"{name}/{i}.json", file)
        return self.called(compare.main, *options, self.folder / "old", self.folder / "new")

    def verdicts(self, text):
        return dict(re.findall(r"^(\S+) .* \.\. \d+\.\d+  (\w+)$", text, re.M))

    def test_a_file_is_the_same_as_itself(self):
        files = build("self", 1, 8)
        status, text, _ = self.sides(files, files)
        self.assertEqual(status, 0)
        self.assertEqual(self.verdicts(text), {f"b{i}": "same" for i in range(8)})
        self.assertIn("8 compared: 8 same, 0 faster, 0 slower", text)
        self.assertEqual(len(re.findall(r" 1\.000 ", text)), 8)

    def test_slower_and_faster_beyond_noise(self):
        status, text, _ = self.sides(build("a", 3, 20), build("b", 3, 20, {3: 1.3, 7: 1 / 1.3}))
        self.assertEqual(status, 1)
        found = self.verdicts(text)
        self.assertEqual(found.pop("b3"), "slower")
        self.assertEqual(found.pop("b7"), "faster")
        self.assertEqual(set(found.values()), {"same"})
        self.assertRegex(text, r"(?m)^SLOWER b3: 1\.[23]\d\d times$")
        low, high = map(float, re.search(r"b3 .* ([\d.]+) \.\. ([\d.]+)  ", text).groups())
        self.assertTrue(1 < low < 1.3 < high < 1.5, (low, high))

    def test_a_change_below_the_threshold_is_none(self):
        old, new = build("c", 3, 4, between=0.0), build("d", 3, 4, {2: 1.2}, between=0.0)
        self.assertEqual(self.sides(old, new)[0], 1)
        self.assertEqual(self.sides(old, new, "--threshold", "1.5")[0], 0)

    def test_another_run_of_the_same_build_is_no_regression(self):
        """Of 40 comparisons with 60 benchmarks each, 5 % may raise an alarm; without Holm's
        adjustment nearly each does."""
        alarms = unadjusted = 0
        for seed in range(40):
            old, new = (figures.merge([self.put(f"{i}.json", file) for i, file in
                                       enumerate(build(f"{what} {seed}", 3, 60))])
                        for what in ("old", "new"))
            before, now = figures.measured(old), figures.measured(new)
            pairs = [compare.Pair(compare.Side(before[name]), compare.Side(now[name]))
                     for name in before]
            pooled = compare.pooled_variance([s for pair in pairs for s in (pair.old, pair.new)])
            for pair in pairs:
                pair.judge(pooled, 0.03)
            chances = [pair.probability for pair in pairs]
            unadjusted += min(chances) < 0.05
            alarms += min(spread.holm(chances)) < 0.05
        self.assertLessEqual(alarms, 5)
        self.assertGreaterEqual(unadjusted, 30)

    def test_one_process_alone_raises_no_alarm_over_what_processes_differ(self):
        old = [file_of({"a": times_of(10, 1, noise=0.001)})]
        new = [file_of({"a": times_of(10.8, 2, noise=0.001)})]
        status, text, _ = self.sides(old, new)
        self.assertEqual(status, 0)
        self.assertIn("taking it that processes differ by 3 %", text)
        self.assertEqual(self.sides(old, new, "--between", "0")[0], 1)

    def test_repetitions_that_vary_more_than_processes_are_noise(self):
        def files(*medians):
            return [{"context": {}, "benchmarks": figures.aggregate("a", [
                repetition("a", i, ns * f) for i, f in enumerate((0.7, 0.9, 1, 1.1, 1.3))])}
                    for ns in medians]
        old, new = files(10.0, 10.01, 10.02), files(11.0, 11.01, 11.02)
        self.assertEqual(self.sides(old, new)[0], 0)
        for file in old + new:
            for entry in file["benchmarks"]:
                if entry["aggregate_name"] == "cv":
                    entry["cpu_time"] = entry["real_time"] = 0.002
        self.assertEqual(self.sides(old, new)[0], 1)

    def test_aggregates_alone_are_compared_too(self):
        def file(ns):
            return {"context": {}, "benchmarks": figures.aggregate(
                "a", [repetition("a", i, t) for i, t in enumerate(times_of(ns, ns, 15))])}
        self.assertEqual(self.sides([file(10)], [file(20)])[0], 1)
        self.assertEqual(self.sides([file(10)], [file(10)])[0], 0)

    def test_the_same_files_give_the_same_answer(self):
        old, new = build("e", 1, 5), build("f", 1, 5)
        self.assertEqual(self.sides(old, new), self.sides(old, new))

    def test_benchmarks_of_one_file_only_are_named(self):
        status, text, _ = self.sides([file_of({"a": [1.0, 1.1], "gone": [1.0]})],
                                     [file_of({"a": [1.0, 1.1], "come": [1.0]})])
        self.assertEqual(status, 0)
        self.assertIn("only in OLD: gone\n", text)
        self.assertIn("only in NEW: come\n", text)

    def test_a_benchmark_that_fails_in_new_is_a_regression(self):
        new = file_of({"a": [1.0, 1.1]})
        new["benchmarks"].append({"name": "b", "error_occurred": True, "error_message": "over"})
        status, text, _ = self.sides([file_of({"a": [1.0, 1.1], "b": [1.0]})], [new])
        self.assertEqual(status, 1)
        self.assertIn("failed in NEW: b: over", text)
        self.assertIn("FAILED b: in NEW, but not in OLD", text)

    def test_peers_that_become_slower_do_not_count(self):
        names = ("peers/uniform/keys:1/batch:1/weir", "peers/uniform/keys:1/batch:1/governor")

        def files(*factors):
            return [file_of({name: times_of(10 * factor, f"{name} {i}") for name, factor
                             in zip(names, factors)}) for i in range(3)]
        status, text, _ = self.sides(files(1, 1), files(1, 2))
        self.assertEqual(status, 0)
        self.assertEqual(self.verdicts(text), {names[0]: "same", names[1]: "slower"})
        self.assertIn("other than weir, which does not count:", text)
        self.assertEqual(self.sides(files(1, 1), files(2, 1))[0], 1)

    def test_only_some(self):
        old, new = build("g", 3, 5), build("h", 3, 5, {3: 2})
        status, text, _ = self.sides(old, new, "--only", "b[12]")
        self.assertEqual(status, 0)
        self.assertEqual(sorted(self.verdicts(text)), ["b1", "b2"])
        self.assertEqual(self.sides(old, new, "--only", "b3")[0], 1)
        self.assertEqual(self.sides(old, new, "--only", "(")[0], 2)

    def test_other_machines_are_warned_of(self):
        text = self.sides([file_of({"a": [1.0]}, machine="one", load_avg=[9.0])],
                          [file_of({"a": [1.0]}, machine="two")])[1]
        self.assertIn("warning: machine differs: one in OLD, two in NEW", text)
        self.assertIn("warning: OLD was measured on a busy machine (load 9.0, 2 processors)", text)

    def test_wrong_usage_and_files(self):
        good = self.put("good.json", file_of({"a": [1.0]}))
        other = self.put("other.json", file_of({"b": [1.0]}))
        for words, why in (((good,), "NEW"), ((good, "absent.json"), "absent.json: No such file"),
                           ((good, self.put("bad.json", "{}")), "bad.json"),
                           ((good, other), "no benchmark is in both"),
                           ((good, good, "--threshold", "0.9"), "0.9: a ratio from 1 on"),
                           ((good, good, "--between", "x"), "x: a share from 0 on")):
            status, _, errors = self.called(compare.main, *words)
            self.assertEqual(status, 2, words)
            self.assertIn(why, errors)

    def test_the_help_says_how_to_take_the_files(self):
        status, text, _ = self.called(compare.main, "--help")
        self.assertEqual(status, 0)
        self.assertIn("./dev bench --json", text)


class Spread(unittest.TestCase):
    def test_students_t(self):
        for freedom, bound in ((1, 12.7062), (4, 2.7764), (10, 2.2281), (1000, 1.9623)):
            self.assertAlmostEqual(spread.t_bound(freedom), bound, places=3)
        self.assertAlmostEqual(spread.t_two_sided(2.2281, 10), 0.05, places=4)
        self.assertEqual(spread.t_two_sided(0, 5), 1.0)

    def test_holm(self):
        self.assertEqual(spread.holm([]), [])
        for found, due in zip(spread.holm([0.01, 0.04, 0.03, 0.9]), [0.04, 0.09, 0.09, 0.9]):
            self.assertAlmostEqual(found, due)

    def test_quotients_of_pairs(self):
        ratio, low, high = spread.paired_ratio([10, 30, 20], [5, 10, 10], "seed")
        self.assertEqual((ratio, low, high), (2.0, 2.0, 3.0))
        # what hits both of a pair does not widen the interval
        self.assertEqual(spread.paired_ratio([4, 40, 400], [2, 20, 200], "s"), (2.0, 2.0, 2.0))
        with self.assertRaises(ValueError):
            spread.paired_ratio([1, 2], [1], "seed")

    def test_the_error_of_a_median(self):
        draw = random.Random(7)
        values = [draw.gauss(0, 1) for _ in range(400)]
        self.assertAlmostEqual(spread.median_error(values, "x"), math.sqrt(math.pi / 2 / 400),
                               delta=0.02)
        self.assertEqual(spread.median_error([3.0], "x"), 0.0)
        self.assertGreater(spread.median_error([1.0, 1.0, 1.0, 5.0, 1.0], "x"), 0.5)


if __name__ == "__main__":
    main()
