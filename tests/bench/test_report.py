# SPDX-License-Identifier: MIT
"""bench/suite/report.py: that pages and plots are whole, safe, readable. Prints TAP."""

import html
import itertools
import math
import re
import unittest
import xml.etree.ElementTree as xml

from tap import ROOT, Folder, main, repetition

import figures
import plot
import report
import series

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<script>alert('x')</script> & \"quoted\" \x07 ]]>"


def peer(subject, ns, dist="uniform", keys=1000, denied=0, threads=1, clock="given", batch=1,
         records="", **fields):
    """The entries of a peer's benchmark: five repetitions around ns, and their aggregates."""
    name = (f"peers/{dist}/keys:{keys}/denied:{denied}{records}/threads:{threads}/clock:{clock}"
            f"/batch:{batch}/{subject}")
    extra = {"bytes_per_key": 16.0, **fields}
    ratio = {field: extra.pop(field) for field in list(extra) if field.startswith("to_weir")}
    times = [repetition(name, i, ns * factor, label=f"version of {subject}", **extra)
             for i, factor in enumerate((0.9, 0.95, 1, 1.05, 1.2))]
    sums = figures.aggregate(name, times, threads=threads, label=f"version of {subject}")
    sums[0].update(ratio)
    return times + sums


def usual():
    """Entries with something for every section."""
    found = []
    for keys, ns in ((1000, 10), (1_000_000, 46), (10_000_000, 61)):
        for threads in (1, 2):
            found += peer("weir", ns * threads ** 0.2, keys=keys, threads=threads)
            found += peer("weir", ns / 2.02, keys=keys, threads=threads, batch=32)
            found += peer("governor", 3.1 * ns, keys=keys, threads=threads, bytes_per_key=44.5,
                          to_weir=3.1, to_weir_low=2.87, to_weir_high=3.33)
        found += peer("governor", 7.3 * ns, keys=keys, clock="own")
        found += peer("weir", 1.7 * ns, "zipf:0.99", keys=keys)
    found += peer("weir", 13.25, "hot", keys=1) + peer("folly", 14.5, "hot", keys=1)
    for name, base in (("steady", 41.0), ("growth", 43.0)):
        found.append(repetition(f"latency/{name}/real_time", 0, base, **{
            "p50": base, "p99": base * 4, "p99.9": base * 11, "p99.99": base * 777}))
    for keys in (1000, 100_000):
        found.append(repetition(f"weir_single/keys:{keys}/zipf:0", 0, 17.25 + keys / 1e5))
        found.append(repetition(f"onetbb/keys:{keys}/zipf:0", 0, 37.75))
    found.append({"name": "peers/x", "run_name": "peers/x", "run_type": "iteration",
                  "error_occurred": True, "error_message": "it hangs <here>"})
    return found


CONTEXT = {"machine": "A B", "num_cpus": 4, "kernel": "Linux 9", "compiler": "gcc 99",
           "governor": "none", "page_size": 4096, "transparent_huge_pages": "madvise",
           "commit": "c0ffee", "commit_changed": True, "date": "2001-02-03T04:05:06+00:00",
           "memory_bytes": 3 << 30, "load_avg": [0.1],
           "caches": [{"type": "Data", "level": 1, "size": 32768, "num_sharing": 2}],
           "command": "./dev bench --json f.json"}


class Making(Folder):
    def make(self, entries, **context):
        """Makes the page: its text, its tree, the plots' trees by name."""
        path = self.put("figures.json", {"context": {**CONTEXT, **context}, "benchmarks": entries})
        out = self.folder / "out"
        for old in out.glob("*"):
            old.unlink()
        status, text, errors = self.called(report.main, path, "--out", out, "--command", "make it")
        self.assertEqual(status, 0, errors)
        self.assertIn("index.html", text)
        page = (out / "index.html").read_text(encoding="utf-8")
        plots = {path.name: xml.fromstring(path.read_text(encoding="utf-8"))
                 for path in out.glob("*.svg")}
        return page, xml.fromstring(page), plots

    def table(self, tree, section):
        """The cells of the table after a heading."""
        body = list(tree.find("body"))
        at = next(i for i, part in enumerate(body) if part.get("id") == section)
        part = next(part for part in body[at:] if part.find("table") is not None)
        return [["".join(cell.itertext()) for cell in row] for row in part.iter("tr")]


class Whole(Making):
    def test_every_section_has_its_plot(self):
        _, tree, plots = self.make(usual())
        self.assertEqual(sorted(plots), sorted(
            [f"keys-{i}.svg" for i in (1, 2, 3, 4)] +
            ["hot-1.svg", "threads-1.svg", "latency-1.svg", "memory-1.svg", "own-1.svg"]))
        self.assertEqual(sorted(part.get("id") + ".svg" for part in tree.iter("figure")),
                         sorted(plots))
        captions = {part.get("id"): "".join(part.find("figcaption").itertext())
                    for part in tree.iter("figure")}
        self.assertIn("At 1 key all threads ask for the same.", captions["keys-1"])
        self.assertNotIn("At 1 key", captions["keys-4"])
        for part in tree.iter("figure"):
            self.assertEqual(len(list(part.iter(SVG + "svg"))), 1)
            self.assertGreater(len("".join(part.find("figcaption").itertext())), 40)

    def test_every_value_appears(self):
        page, tree, _ = self.make(usual())
        rows = {row[0]: row for row in self.table(tree, "all")[1:]}
        measured = figures.measured({"context": {}, "benchmarks": usual()})
        for name, one in measured.items():
            if one.error:
                self.assertIn([name, one.error], self.table(tree, "failed"))
                continue
            low, high = one.extremes()
            self.assertEqual(rows[name][1:4], [plot.number(v) for v in (one.median(), low, high)])
            self.assertEqual(rows[name][4], f"{100 * one.cv():.1f} %")
            self.assertEqual(rows[name][5], str(len(one.repetitions[0])))
            for counter, value in one.counters.items():
                self.assertIn(f"{counter} {plot.number(value)}", rows[name][6])
        self.assertEqual(len(rows), len(measured) - 1)
        for word in ("A B", "Linux 9", "gcc 99", "4096 bytes", "madvise", "3.0 GiB",
                     "c0ffee and changes beside it", "2001-02-03", "L1 Data 32 KiB for 2",
                     "./dev bench --json f.json", "make it", "version of governor"):
            self.assertIn(word, page)

    def test_points_lie_where_their_values_are(self):
        _, _, plots = self.make(usual())
        points = {}
        for part in plots["keys-1.svg"].iter(SVG + "g"):
            told = part.find(SVG + "title")
            dot = part.find(SVG + "circle")
            if told is not None and dot is not None:
                points[told.text] = float(dot.get("cx")), float(dot.get("cy"))
        weir = {name: at for name, at in points.items() if name.startswith("weir, ")}
        self.assertIn("weir, 1 million keys: 46.0 ns (41.4 to 55.2)", weir)
        (x1, y1), (x2, y2), (x3, y3) = [at for name, at in sorted(
            weir.items(), key=lambda item: item[1]) if " 1 key:" not in name]
        # keys 10^3, 10^6, 10^7; ns 10, 46, 61; both axes logarithmic
        self.assertAlmostEqual((x2 - x1) / (x3 - x1), 3 / 4, places=2)
        self.assertAlmostEqual((y2 - y1) / (y3 - y1), math.log(4.6) / math.log(6.1), places=2)
        self.assertLess(y3, y1)

    def test_weir_stands_out(self):
        _, tree, plots = self.make(usual())
        for name in ("keys-1.svg", "threads-1.svg", "memory-1.svg"):
            groups = [part for part in plots[name].iter(SVG + "g") if part.get("class") == "weir"]
            self.assertTrue(any("weir" in "".join(part.itertext()) for part in groups), name)
        rows = [row.get("class") for row in tree.iter("tr") if row.find("td") is not None and
                row.find("td").text == "weir"]
        self.assertEqual(set(rows), {"weir"})

    def test_ratios_and_answers_are_told(self):
        entries = usual() + peer("sloppy", 500, keys=1_000_000, over_admitted=7, under_admitted=0)
        _, tree, _ = self.make(entries)
        rows = {row[0]: row for row in self.table(tree, "short")[1:]}
        self.assertEqual(rows["governor"], ["governor", "143", "11.3 %", "3.10 (2.87 to 3.33)",
                                            "44.5", "exact"])
        self.assertEqual(rows["sloppy"][5], "INEXACT: admits too many")
        self.assertEqual(rows["weir"][1], "46.0")
        self.assertEqual(list(rows)[0], "weir, 32 at once")  # the fastest first

    def test_a_busy_machine_is_told(self):
        self.assertIn("busy with other work (load 9.5, 4 processors)",
                      self.make(usual(), load_avg=[9.5])[0])
        self.assertNotIn("busy", self.make(usual())[0])


class Safe(Making):
    def test_text_is_escaped(self):
        entries = usual() + peer(NASTY.replace("/", "|"), 77.0, keys=1_000_000)
        entries.append({"name": NASTY, "error_occurred": True, "error_message": NASTY})
        page, tree, plots = self.make(entries, machine=NASTY, command=NASTY, commit=NASTY)
        self.assertEqual(list(tree.iter("script")), [])
        self.assertNotIn("<script", page)
        self.assertNotIn("\x07", page)
        self.assertIn(html.escape(NASTY.replace("\x07", "?"), quote=True), page)
        self.assertIn(NASTY.replace("/", "|").replace("\x07", "?"),
                      "".join(plots["keys-1.svg"].itertext()))

    def test_nothing_is_loaded_from_elsewhere(self):
        page, _, _ = self.make(usual())
        texts = [page] + [path.read_text() for path in (self.folder / "out").glob("*.svg")]
        self.assertEqual(len(texts), 10)
        files = {path.name for path in (self.folder / "out").iterdir()}
        for text in texts:
            text = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
            self.assertNotRegex(text, r"(?i)https?:|//[a-z]|\burl\(|@import|\bsrc=|<link|<iframe|"
                                      r"<object|<embed|xlink|\bon[a-z]+=|javascript:")
            for target in re.findall(r'href="([^"]*)"', text):
                if target.startswith("#"):
                    self.assertIn(f'id="{target[1:]}"', text)
                else:
                    self.assertIn(target, files)

    def test_light_and_dark_in_the_page_and_in_each_plot(self):
        page, _, _ = self.make(usual())
        self.assertIn("color-scheme: light dark", page)
        for text in [page] + [path.read_text() for path in (self.folder / "out").glob("*.svg")]:
            self.assertIn("@media (prefers-color-scheme: dark)", text)

    def test_plots_have_titles_and_words(self):
        _, tree, plots = self.make(usual())
        inside = list(tree.iter(SVG + "svg"))
        self.assertEqual(len(inside), len(plots))
        for svg in inside + list(plots.values()):
            self.assertEqual(svg.get("role"), "img")
            title, desc = svg.find(SVG + "title"), svg.find(SVG + "desc")
            self.assertEqual(svg.get("aria-labelledby"), f"{title.get('id')} {desc.get('id')}")
            self.assertTrue(title.text and " ns" in desc.text or "bytes" in desc.text or
                            "million/s" in desc.text, desc.text)
        names = [part.get("id") for part in tree.iter() if part.get("id")]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(tree.get("lang"), "en")


class Missing(Making):
    def test_without_peers_there_are_sentences(self):
        page, _, plots = self.make([repetition("cell", 0, 5.0)])
        self.assertEqual(plots, {})
        self.assertEqual(page.count("This needs figures of peers, which"), 2)
        self.assertEqual(page.count("This needs figures of peers with 100 thousand keys"), 1)
        self.assertIn("This needs the same benchmark with several numbers of threads", page)
        self.assertIn("This needs benchmarks latency/* with percentiles", page)

    def test_percentiles_have_the_names_that_the_program_gives(self):
        program = (ROOT / "bench" / "bench_latency.cc").read_text(encoding="utf-8")
        for name, _ in series.PERCENTILES:
            self.assertIn(f'{{"{name}", run.all.quantile(', program)

    def test_no_benchmark_at_all(self):
        page, _, plots = self.make([])
        self.assertEqual(plots, {})
        self.assertIn("0 benchmarks", page)

    def test_one_size_of_table_makes_bars(self):
        _, _, plots = self.make(peer("weir", 46.0) + peer("governor", 138.0))
        self.assertEqual(sorted(plots), ["keys-1.svg"])
        widths = [float(part.get("width")) for part in plots["keys-1.svg"].iter(SVG + "rect")
                  if part.get("class") == "bar"]
        self.assertAlmostEqual(widths[1] / widths[0], 3, places=2)

    def test_values_that_are_no_time_make_no_point(self):
        page, _, plots = self.make(peer("weir", 0.0) + peer("governor", 138.0))
        self.assertIn("Without a time: peers/", page)
        self.assertEqual(sorted(plots), ["keys-1.svg"])

    def test_values_far_apart_are_dots_on_a_logarithmic_axis(self):
        _, _, plots = self.make(peer("weir", 10.0) + peer("b", 100.0) + peer("redis", 10000.0))
        tree = plots["keys-1.svg"]
        self.assertNotIn("bar", [part.get("class") for part in tree.iter(SVG + "rect")])
        places = [float(part.get("cx")) for part in tree.iter(SVG + "circle")]
        self.assertAlmostEqual((places[2] - places[1]) / (places[1] - places[0]), 2, places=1)
        self.assertIn("(logarithmic)", "".join(tree.itertext()))

    def test_memory_of_few_keys_is_not_told(self):
        _, tree, plots = self.make(peer("weir", 10.0, keys=1000, bytes_per_key=2500.0))
        self.assertEqual(self.table(tree, "short")[1][4], "")
        self.assertNotIn("memory-1.svg", plots)
        _, tree, plots = self.make(peer("weir", 10.0, keys=100_000, bytes_per_key=25.0))
        self.assertEqual(self.table(tree, "short")[1][4], "25.0")
        self.assertIn("memory-1.svg", plots)

    def test_a_context_that_tells_little(self):
        path = self.put("f.json", {"context": {"caches": "none", "load_avg": "high",
                                               "memory_bytes": "much"}, "benchmarks": usual()})
        self.assertEqual(self.called(report.main, path, "--out", self.folder / "o")[0], 0)

    def test_errors(self):
        good = self.put("good.json", {"context": {}, "benchmarks": usual()})
        status, _, errors = self.called(report.main, "absent.json", "--out", self.folder / "o")
        self.assertEqual(status, 2)
        self.assertIn("absent.json: No such file", errors)
        status, _, errors = self.called(report.main, good, "--out", good)
        self.assertEqual(status, 1)
        self.assertIn("good.json: cannot be written", errors)
        self.assertEqual(self.called(report.main, good)[0], 2)

    def test_several_files_are_joined(self):
        one = self.put("1.json", {"context": CONTEXT, "benchmarks": peer("weir", 46.0)})
        two = self.put("f/2.json", {"context": CONTEXT, "benchmarks": peer("governor", 138.0)})
        out = self.folder / "o"
        self.assertEqual(self.called(report.main, one, two.parent, "--out", out)[0], 0)
        page = (out / "index.html").read_text()
        self.assertIn("batch:1/weir<", page)
        self.assertIn("batch:1/governor<", page)


class Series(unittest.TestCase):
    def found(self, *entries):
        measured = figures.measured({"context": {}, "benchmarks": list(itertools.chain(*entries))})
        return series.figures_of(measured)

    def test_names_tell_parameters(self):
        one = self.found(peer("weir", 5.0, "zipf:0.99", 7, 50, 2, "own", 8))[0]
        self.assertEqual((one.subject, one.distribution, one.label()),
                         ("weir", "zipf:0.99", "weir, 8 at once"))
        names = ("keys", "denied", "threads", "clock", "batch")
        self.assertEqual([one.get(name) for name in names], [7, 50, 2, "own", 8])
        self.assertAlmostEqual(one.throughput()[0], 400)
        one = self.found([repetition("a_b/keys:7/real_time/threads:2", 0, 1.0)])[0]
        self.assertEqual((one.is_peer, one.subject, one.get("threads")), (False, "a_b", 2))
        self.assertEqual(series.number_of("inf"), None)

    def test_long_traces_count_before_short_ones(self):
        found = self.found(peer("weir", 1.0, records="/records:100"), peer("weir", 2.0),
                           peer("redis", 9.0, records="/records:100"),
                           peer("redis", 8.0, records="/records:200"))
        self.assertEqual([(one.subject, one.ns) for one in series.without_short_traces(found)],
                         [("weir", 2.0), ("redis", 8.0)])

    def test_the_largest_batch_alone_beside_single_decisions(self):
        found = self.found(*(peer("weir", 4.0, batch=batch) for batch in (1, 8, 32)),
                           peer("other", 3.0, batch=8))
        self.assertEqual([one.label() for one in series.only_largest_batch(found)],
                         ["weir", "weir, 32 at once", "other, 8 at once"])

    def test_one_hot_key_is_one_key(self):
        found = self.found(peer("weir", 3.0, "hot", 1), peer("folly", 3.0, "hot", 1),
                           peer("weir", 5.0, keys=10), peer("weir", 5.0, keys=10, clock="own"))
        groups = {conditions.key(): [(one.subject, one.get("keys")) for one in of]
                  for conditions, of in series.against_keys(found)}
        self.assertEqual(groups, {("uniform", 0, 1, "given"): [("weir", 10), ("weir", 1)],
                                  ("hot", 0, 1, "given"): [("weir", 1), ("folly", 1)],
                                  ("uniform", 0, 1, "own"): [("weir", 10)]})

    def test_memory_is_told_at_the_most_keys_that_most_have(self):
        found = self.found(*(peer(name, 5.0, keys=10 ** 6, bytes_per_key=9.0 + i)
                             for i, name in enumerate("abc")), peer("a", 5.0, keys=10 ** 8))
        keys, of = series.memory(found)
        self.assertEqual((keys, [one.subject for one in of]), (10 ** 6, ["a", "b", "c"]))
        self.assertEqual(series.memory(self.found(peer("a", 5.0, keys=10))), (None, []))


class Plots(unittest.TestCase):
    def test_no_two_lines_look_alike(self):
        looks = [plot.Look(i, False) for i in range(40)] + \
            [plot.Look(0, True), plot.Look(0, True, True)]
        self.assertEqual(len({(look.kind, look.marker) for look in looks}), 42)

    def test_labels_do_not_overlap(self):
        for places in ([50, 50, 50, 50], [10, 300, 301, 302], [399, 400, 398], [5, 4, 3, 2, 1]):
            moved = plot.spread_out(places, 10, 400)
            gaps = [b - a for a, b in itertools.pairwise(sorted(moved))]
            self.assertGreaterEqual(min(gaps), plot.LABEL_STEP - 1e-9)
            self.assertTrue(all(10 <= place <= 400 for place in moved), moved)
            order = sorted(range(len(places)), key=places.__getitem__)
            self.assertEqual(order, sorted(order, key=moved.__getitem__))

    def test_axes(self):
        axis = plot.log_axis([1, 1000], 0, 300)
        self.assertAlmostEqual(axis.place(10) - axis.place(1), axis.place(100) - axis.place(10))
        self.assertEqual([text for _, text in axis.ticks],
                         ["1", "3", "10", "30", "100", "300", "1 k"])
        axis = plot.linear_axis(600, 0, 420)
        self.assertEqual(axis.place(0), 0)
        self.assertGreaterEqual(axis.high, 600)
        self.assertEqual([text for _, text in axis.ticks], ["0", "200", "400", "600", "800"])
        self.assertEqual(plot.keys_axis([1000], 0, 1).ticks, [(1000.0, "1 k")])
        one = plot.named_axis([2], ["two"], 0, 10)
        self.assertAlmostEqual(one.place(2), 5)

    def test_numbers(self):
        values = (0, 0.001234, 1.234, 9.996, 12.34, 99.96, 12345.6)
        self.assertEqual([plot.number(value) for value in values],
                         ["0.00", "0.0012", "1.23", "10.0", "12.3", "100", "12,346"])
        self.assertEqual([plot.short(v) for v in (0.5, 30, 1000, 2e6, 3e9)],
                         ["0.5", "30", "1 k", "2 M", "3 G"])

    def test_colours_can_be_read(self):
        """Contrast of text at least 4.5 to 1 (WCAG 2.1), light and dark."""
        def brightness(colour):
            parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        for light, dark in plot.COLOURS + (("#16191c", "#e8eaed"), ("#565c63", "#a7aeb6")):
            for colour, ground in ((light, "#ffffff"), (dark, "#15181b")):
                one, two = sorted((brightness(colour), brightness(ground)))
                self.assertGreaterEqual((two + 0.05) / (one + 0.05), 4.5, colour)


if __name__ == "__main__":
    main()
