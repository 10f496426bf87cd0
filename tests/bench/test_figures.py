# SPDX-License-Identifier: MIT
"""bench/suite/figures.py: files that are right, wrong, joined. Prints TAP."""

import copy
import json
import math
import os
import unittest

from tap import Folder, file_of, main, repetition

import figures
import machine

GOOD = file_of({"a/real_time": [3.0, 1.0, 2.0], "b": [5.0]})


def changed(**fields):
    """GOOD with other fields in its second entry; None takes one away."""
    found = copy.deepcopy(GOOD)
    entry = found["benchmarks"][1]
    for name, value in fields.items():
        entry[name] = value
        if value is None:
            del entry[name]
    return found


class Reading(Folder):
    def wrong(self, content, *words):
        path = self.put("figures.json", content)
        with self.assertRaises(figures.FiguresError) as caught:
            figures.load(path)
        for word in (str(path), *words):
            self.assertIn(word, str(caught.exception))

    def test_a_file_is_read(self):
        found = figures.measured(figures.load(self.put("a.json", GOOD)))
        self.assertEqual(list(found), ["a/real_time", "b"])
        self.assertEqual(found["a/real_time"].repetitions, {0: [3.0, 1.0, 2.0]})
        self.assertEqual(found["a/real_time"].median(), 2.0)
        self.assertEqual(found["a/real_time"].cv(), 0.5)
        self.assertEqual(found["a/real_time"].extremes(), (1.0, 3.0))
        self.assertEqual(found["b"].cv(), 0.0)

    def test_errors_name_the_file_and_what(self):
        self.wrong("{", "line 1")
        self.wrong("", "line 1", "is the file whole?")
        self.wrong("[1]", "an object with context and benchmarks")
        self.wrong({"benchmarks": []}, '"context" is missing')
        self.wrong({"context": {}, "benchmarks": {}}, '"benchmarks" is missing, or not a list')
        self.wrong({"context": {}, "benchmarks": [3]}, "benchmarks[0]", "an object is expected")
        self.wrong("[" * 100000, "nested too deeply")

    def test_errors_name_the_entry_and_its_field(self):
        place = "benchmarks[1] (a/real_time)"
        self.wrong(changed(name=None), "benchmarks[1]", '"name" is missing')
        self.wrong(changed(run_type="both"), place, '"run_type"')
        self.wrong(changed(run_type="aggregate"), place, '"aggregate_name" is missing')
        self.wrong(changed(real_time=None), place, '"real_time" is missing')
        self.wrong(changed(real_time="1"), place, '"real_time" is missing, or no number')
        self.wrong(changed(real_time=True), place, '"real_time"')
        self.wrong(changed(real_time=math.nan), place, '"real_time"')
        self.wrong(changed(real_time=-1), place, '"real_time" is negative')
        self.wrong(changed(time_unit="min"), place, "'min' is none of ns")
        self.wrong(changed(repetition_index=-1), place, '"repetition_index"')
        self.wrong(changed(repetition_index=1.5), place, '"repetition_index"')

    def test_files_that_cannot_be_opened(self):
        with self.assertRaisesRegex(figures.FiguresError, "absent.json: No such file"):
            figures.load(self.folder / "absent.json")
        path = self.folder / "latin.json"
        path.write_bytes(b'{"context": "\xff"}')
        with self.assertRaisesRegex(figures.FiguresError, "latin.json: not UTF-8"):
            figures.load(path)

    def test_units_become_ns(self):
        entries = [repetition("a", i, 2.0, time_unit=unit)
                   for i, unit in enumerate(("ns", "us", "ms", "s"))]
        found = figures.measured({"context": {}, "benchmarks": entries})["a"]
        self.assertEqual(found.repetitions, {0: [2.0, 2e3, 2e6, 2e9]})

    def test_which_time_a_benchmark_is_about(self):
        for name, time in (("a", 1.0), ("a/real_time", 9.0), ("a/manual_time", 9.0),
                           ("a/real_time/threads:2", 9.0), ("a/real_times", 1.0),
                           ("peers/uniform/weir", 9.0), ("xpeers/a", 1.0)):
            entry = {**repetition(name, 0, 9.0), "cpu_time": 1.0}
            found = figures.measured({"context": {}, "benchmarks": [entry]})
            self.assertEqual(found[name].median(), time, name)

    def test_aggregates_stand_for_repetitions_that_were_not_kept(self):
        entries = figures.aggregate("a", [repetition("a", i, ns, bytes=7)
                                          for i, ns in enumerate((10, 20, 30, 90))])
        found = figures.measured({"context": {}, "benchmarks": entries})["a"]
        self.assertEqual(found.medians(), [25.0])
        self.assertEqual(found.counts, {0: 4})
        self.assertAlmostEqual(found.cv(), 0.9584, places=4)
        self.assertEqual(found.counters, {"bytes": 7})
        low, high = found.extremes()
        self.assertAlmostEqual(low, 25 * (1 - 0.9584), places=2)
        self.assertAlmostEqual(high, 25 * 1.9584, places=2)

    def test_a_failed_benchmark_has_no_figure(self):
        entry = {"name": "a", "run_name": "a", "error_occurred": True, "error_message": "why"}
        found = figures.measured({"context": {}, "benchmarks": [entry]})["a"]
        self.assertEqual((found.error, found.medians()), ("why", []))
        self.assertTrue(math.isnan(found.median()))


class Writing(Folder):
    def test_aggregates_are_those_of_the_repetitions(self):
        made = figures.aggregate("a", [repetition("a", i, ns) for i, ns in enumerate((2, 4, 9))],
                                 threads=2)
        self.assertEqual([one["name"] for one in made],
                         ["a_median", "a_mean", "a_stddev", "a_cv"])
        self.assertEqual([round(one["real_time"], 6) for one in made],
                         [4, 5, 3.605551, 0.72111])
        self.assertEqual({one["threads"] for one in made}, {2})
        self.assertEqual([one["aggregate_unit"] for one in made],
                         ["time", "time", "time", "percentage"])

    def test_what_is_written_is_read_again(self):
        path = self.folder / "out.json"
        figures.write(path, GOOD)
        self.assertEqual(figures.load(path), GOOD)
        self.assertEqual(os.listdir(self.folder), ["out.json"])

    def test_a_file_that_cannot_be_written_is_named(self):
        with self.assertRaisesRegex(figures.FiguresError, "absent/out.json: cannot be written"):
            figures.write(self.folder / "absent" / "out.json", GOOD)
        with self.assertRaisesRegex(figures.FiguresError, "a number is not finite"):
            figures.write(self.folder / "out.json", {"context": {"x": math.inf}})


class Joining(Folder):
    def test_the_context_tells_what_the_machine_is(self):
        found = figures.merge([self.put("a.json", GOOD)])
        self.assertNotIn("machine", found["context"])  # they may be of another one
        figures.describe(found, "gcc 99", "./dev bench")
        found = found["context"]
        for field in ("machine", "num_cpus", "caches", "kernel", "governor", "commit",
                      "commit_changed", "page_size", "transparent_huge_pages", "date",
                      "memory_bytes", "load_avg"):
            self.assertIn(field, found)
        self.assertEqual((found["compiler"], found["command"]), ("gcc 99", "./dev bench"))
        self.assertEqual(found["page_size"], os.sysconf("SC_PAGE_SIZE"))

    def test_names_of_machines_are_left_out(self):
        path = self.put("a.json", file_of({"a": [1.0]}, host_name="secret", executable="./a"))
        self.assertEqual(figures.merge([path])["context"], {"num_cpus": 2, "executable": "./a"})

    def test_a_context_that_is_complete_stays(self):
        file = {**GOOD, "context": {"machine": "there", "kernel": "k", "date": "then"}}
        found = figures.merge([self.put("a.json", file)])
        figures.describe(found, "gcc 99")
        found = found["context"]
        self.assertEqual((found["machine"], found["kernel"], found["date"]), ("there", "k", "then"))
        self.assertEqual(found["compiler"], "gcc 99")

    def test_benchmarks_of_several_programs_stand_side_by_side(self):
        one = self.put("1.json", file_of({"a": [1.0]}))
        two = self.put("2.json", file_of({"b": [2.0]}))
        found = figures.merge([one, two])
        self.assertEqual([entry["name"] for entry in found["benchmarks"]], ["a", "b"])
        self.assertFalse(any("process" in entry for entry in found["benchmarks"]))

    def test_the_same_benchmark_of_several_processes_is_numbered(self):
        paths = [self.put(f"{i}.json", file_of({"a": [float(i), i + 2.0]})) for i in range(3)]
        found = figures.merge(paths)
        self.assertEqual(figures.measured(found)["a"].repetitions,
                         {0: [0.0, 2.0], 1: [1.0, 3.0], 2: [2.0, 4.0]})
        both = figures.merge([self.put("all.json", found), paths[0]])
        self.assertEqual(sorted(figures.measured(both)["a"].repetitions), [0, 1, 2, 3])
        self.assertEqual(figures.measured(both)["a"].medians(), [1.0, 2.0, 3.0, 1.0])

    def test_other_machines_and_builds_are_refused(self):
        one = self.put("1.json", file_of({"a": [1.0]}, machine="M", commit="c"))
        for name, value, word in (("machine", "N", "machine"), ("commit", "d", "build")):
            other = self.put("2.json", file_of({"a": [1.0]}, **{"machine": "M", name: value}))
            with self.assertRaisesRegex(figures.FiguresError, f"2.json: of another {word}.*1.json"):
                figures.merge([one, other])

    def test_a_folder_is_all_its_files(self):
        self.put("f/1.json", file_of({"a": [1.0]}))
        self.put("f/2.json", file_of({"a": [3.0]}))
        self.put("f/other.txt", "no figures")
        found = figures.load_all(self.folder / "f")
        self.assertEqual(figures.measured(found)["a"].medians(), [1.0, 3.0])
        (self.folder / "empty").mkdir()
        with self.assertRaisesRegex(figures.FiguresError, "empty: a folder without"):
            figures.load_all(self.folder / "empty")

    def test_the_command(self):
        good, out = self.put("good.json", GOOD), self.folder / "out.json"
        self.assertEqual(self.called(figures.main, "merge", "--out", out, good)[0], 0)
        self.assertEqual(figures.load(out)["benchmarks"], GOOD["benchmarks"])
        status, text, _ = self.called(figures.main, "merge", good)
        self.assertEqual(json.loads(text)["benchmarks"], GOOD["benchmarks"])
        status, text, errors = self.called(figures.main, "check", good, self.put("bad.json", "{}"))
        self.assertEqual(status, 1)
        self.assertIn("good.json: 2 benchmarks, 0 of them failed", text)
        self.assertIn("bad.json", errors)
        self.assertEqual(self.called(figures.main)[0], 2)
        self.assertEqual(self.called(figures.main, "merge")[0], 2)
        self.assertEqual(self.called(figures.main, "merge", "absent.json")[0], 1)


class Machine(unittest.TestCase):
    def test_what_the_kernel_says(self):
        self.assertEqual(machine.cpu_model("processor\t: 0\nmodel name\t: A B  C\n"), "A B  C")
        self.assertEqual(machine.bits_of("00000000,0000000f"), 4)
        self.assertEqual(machine.bits_of(""), 1)
        self.assertGreater(machine.memory("MemTotal"), machine.memory() // 2)
        self.assertGreater(machine.memory(), 0)
        self.assertIn(machine.huge_pages(), ("always", "madvise", "never", "unknown"))

    def test_commands_that_fail_say_nothing(self):
        self.assertEqual(machine.first_line_of("false"), "")
        self.assertEqual(machine.first_line_of("no-such-command-here"), "")
        self.assertEqual(machine.first_line_of("printf", "one\ntwo"), "one")


if __name__ == "__main__":
    main()
