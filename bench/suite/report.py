#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a page of figures: DIR/index.html, and its plots as DIR/*.svg.

The page needs no network and no scripts, and follows the reader's choice of light or dark. FILEs
are those of ./dev bench --json (or folders of them), of one machine and one build. Exit status: 0;
1 when the page cannot be written; 2 for wrong usage or files that cannot be read.
"""

import argparse
import pathlib
import sys

import figures
import plot
import series

NEEDS_PEERS = ("This needs figures of peers, which bench/suite/peers.py takes; the files have none "
               "that fit.")

STYLE = """
:root { color-scheme: light dark; --ground: #ffffff; --text: #16191c; --faint: #565c63;
  --edge: #dfe3e7; --band: #f4f6f8; --link: #0067a3; }
@media (prefers-color-scheme: dark) {
:root { --ground: #15181b; --text: #e8eaed; --faint: #a7aeb6; --edge: #2c3238; --band: #1c2024;
  --link: #62b8ee; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1000px; padding: 1.2rem 1rem 4rem; background: var(--ground);
  color: var(--text); font: 16px/1.5 FONT; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.4rem 0; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 0.4rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 0.4rem; }
p { max-width: 46rem; margin: 0.5rem 0; }
a { color: var(--link); }
.faint, figcaption { color: var(--faint); }
nav a { margin-right: 1rem; white-space: nowrap; }
figure { margin: 1.2rem 0 2rem; }
figcaption { max-width: 46rem; margin-top: 0.3rem; font-size: 0.94rem; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--link); }
figure svg { display: block; height: auto; max-width: 100%; min-width: 600px;
  border: 1px solid var(--edge); border-radius: 6px; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.28rem 0.7rem; text-align: right; border-bottom: 1px solid var(--edge);
  white-space: nowrap; vertical-align: top; }
th { font-weight: 600; background: var(--band); }
th:first-child, td:first-child, .words { text-align: left; }
td.words { white-space: normal; min-width: 16rem; }
tr.weir td { font-weight: 700; background: var(--band); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; margin: 0.6rem 0; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font: 0.9em ui-monospace, 'DejaVu Sans Mono', monospace; }
pre { background: var(--band); padding: 0.7rem 0.9rem; overflow-x: auto; border-radius: 6px; }
summary { cursor: pointer; margin: 0.8rem 0; }
@media (max-width: 600px) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 0.5rem; } }
""".replace("FONT", plot.FONT)


class Page:
    """What has been put together so far: parts of the page, and the files of plots."""

    def __init__(self):
        self.parts, self.files, self.sections = [], {}, []

    def add(self, text):
        self.parts.append(text)

    def section(self, title, name):
        self.sections.append((title, name))
        self.add(f'<h2 id="{name}">{plot.escaped(title)}</h2>')

    def sentence(self, text):
        self.add(f"<p>{plot.escaped(text)}</p>")

    def figure(self, name, svg, caption):
        """Of narrow screens it is wider, and scrolls by itself."""
        self.files[f"{name}.svg"] = svg
        # the page's head has the style once for all
        inside = svg.replace(f"<style>{plot.STYLE}</style>\n", "")
        self.add(f'<figure id="{name}"><div class="scroll" tabindex="0">{inside}</div>'
                 f'<figcaption>{plot.escaped(caption)} <a href="{name}.svg">This plot alone.</a>'
                 "</figcaption></figure>")

    def table(self, head, rows, words=()):
        """rows: (cells, whether it is weir's). words: columns of text."""
        self.add('<div class="scroll" tabindex="0"><table><thead><tr>')
        self.add("".join(f'<th scope="col"{kind(i, words)}>{plot.escaped(cell)}</th>'
                         for i, cell in enumerate(head)) + "</tr></thead><tbody>")
        for cells, is_weir in rows:
            row = "".join(f"<td{kind(i, words)}>{plot.escaped(cell)}</td>"
                          for i, cell in enumerate(cells))
            self.add(f"<tr{' class=' + chr(34) + 'weir' + chr(34) if is_weir else ''}>{row}</tr>")
        self.add("</tbody></table></div>")

    def whole(self):
        links = "\n".join(f'<a href="#{name}">{plot.escaped(title)}</a>'
                        for title, name in self.sections)
        body = "\n".join(self.parts).replace("<!-- links -->", f"<nav>{links}</nav>", 1)
        return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
                '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
                '<meta name="color-scheme" content="light dark"/>\n'
                "<title>Figures of weir and its peers</title>\n"
                f"<style>{STYLE}{plot.STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n")


def kind(column, words):
    return ' class="words"' if column in words else ""


class Looks:
    """A subject looks the same in all plots."""

    def __init__(self, subjects):
        others = sorted(set(subjects) - {series.WEIR})
        self.places = {name: place for place, name in enumerate(others)}

    def of(self, figure):
        batched = figure.get("batch", 1) != 1
        return plot.Look(self.places.get(figure.subject, 0), figure.is_weir(), batched)


def lines_of(found, looks, x, y):
    """One for each label. x(figure): a value; y(figure): (middle, least, most)."""
    lines = []
    for label, of in series.grouped(found, lambda figure: figure.label()).items():
        points = sorted((x(figure), *y(figure)) for figure in of)
        lines.append(plot.Line(label, points, looks.of(of[0])))
    return lines


def time_of(figure):
    return figure.ns, figure.least, figure.most


# ---- sections -----------------------------------------------------------------------------------


def head(page, found, measured):
    context = found["context"]
    page.add("<h1>Figures of weir and its peers</h1>")
    page.sentence("weir decides whether a call is within its rate limit. Here it is measured "
                  "beside other limiters and tables that do the same, on the same sequences of "
                  "keys.")
    date = text_of(context, "date").replace("T", " at ")
    page.sentence(f"{len(measured)} benchmarks, measured on {text_of(context, 'machine')} with "
                  f"{text_of(context, 'num_cpus')} processors on {date}. Less time is better; "
                  "bars and thin vertical lines through points show the least and the most of all "
                  "repetitions.")
    page.add("<!-- links -->")
    load, cpus = context.get("load_avg"), context.get("num_cpus")
    if isinstance(load, list) and load and figures.is_number(load[0]) and \
            isinstance(cpus, int) and load[0] > 0.5 * cpus:
        page.sentence(f"The machine was busy with other work (load {load[0]:g}, {cpus} "
                      "processors): read ratios rather than times, and neither to the last digit.")


def text_of(context, field):
    return str(context.get(field, "unknown"))


def summary(page, peers):
    """Beside the stated ratios: a million keys, or the next to it."""
    page.section("In short", "short")
    chosen = [figure for figure in peers if series.Conditions(figure).is_main() and
              figure.get("threads") == 1 and figure.distribution == "uniform"]
    if not chosen:
        page.sentence(NEEDS_PEERS)
        return
    keys = min({figure.get("keys") for figure in chosen}, key=lambda keys: abs(keys - 1e6))
    rows = []
    for figure in sorted((one for one in chosen if one.get("keys") == keys),
                         key=lambda figure: figure.ns):
        counters = figure.one.counters
        rows.append(((figure.label(), plot.number(figure.ns), f"{100 * figure.one.cv():.1f} %",
                      ratio_text(counters), memory_text(keys, counters),
                      answers_text(counters)), figure.is_weir()))
    page.sentence(f"{series.keys_text(keys)}, uniform, one thread, the caller tells the time: what "
                  "a decision takes, and how many times as long as weir's of the same run, with "
                  "as many at once (above 1: weir is faster).")
    page.table(("", "ns per decision", "varies", "times weir's (95 % interval)", "bytes per key",
                "answers"), rows, words={5})


def ratio_text(counters):
    if "to_weir" not in counters:
        return ""
    return (f"{plot.number(counters['to_weir'])} ({plot.number(counters.get('to_weir_low', 0))} to "
            f"{plot.number(counters.get('to_weir_high', 0))})")


def memory_text(keys, counters):
    if keys < series.KEYS_FOR_MEMORY or "bytes_per_key" not in counters:
        return ""
    return plot.number(counters["bytes_per_key"])


def answers_text(counters):
    over, under = counters.get("over_admitted", 0), counters.get("under_admitted", 0)
    if over:
        return "INEXACT: admits too many"
    return "INEXACT: admits too few" if under else "exact"


def who(page, peers):
    """What the subjects say of themselves."""
    if not peers:
        return
    page.section("Who is who", "who")
    rows = {figure.subject: figure.one.label for figure in peers}
    page.sentence("weir and the limiters and tables beside it, with versions, as each tells "
                  "itself.")
    if {"floor", "flat_bucket"} & set(rows):
        page.sentence("floor and flat_bucket are no limiters for use: arrays without a search for "
                      "the key, below which no table can be.")
    page.table(("name", "version"), [((name, rows[name]), name == series.WEIR)
                                     for name in sorted(rows)], words={1})


def times(page, peers, looks):
    page.section("Time against keys", "keys")
    plots = 0
    folded = False
    for conditions, of in series.against_keys(series.only_largest_batch(peers) if peers else []):
        if conditions.distribution == "hot":
            continue
        if not conditions.is_main() and not folded:
            folded = True
            page.add("<details><summary>Skewed keys, denials, own clocks</summary>")
        plots += 1
        name = f"keys-{plots}"
        title = f"ns per decision, {conditions.text()}"
        one_size = len({figure.get("keys") for figure in of}) == 1
        if one_size:
            bars(page, name, f"{title}, {series.keys_text(of[0].get('keys'))}", of)
            continue
        lines = lines_of(of, looks, lambda figure: figure.get("keys"), time_of)
        page.figure(name, plot.lines_plot(
            name, title, lines, plot.keys_axis, "keys (k: thousand, M: million)",
            "ns per decision and thread", "ns", series.keys_text),
            "Lower is faster; each step to the right is ten times as many keys, and a line that "
            "rises has left a cache behind. Both axes are logarithmic." +
            (" At 1 key all threads ask for the same." if any_hot(of) else ""))
    if folded:
        page.add("</details>")
    if not plots:
        page.sentence(NEEDS_PEERS)
    hot(page, peers)


def any_hot(of):
    return any(figure.distribution == "hot" for figure in of)


def bars(page, name, title, of):
    rows = [(figure.label(), *time_of(figure), figure.is_weir())
            for figure in sorted(of, key=lambda figure: figure.ns)]
    page.figure(name, plot.bars_plot(name, title, rows, "ns per decision and thread", "ns"),
                "Further left is faster; the thin line beside a bar's end or a dot goes from the "
                "least to the most of all repetitions.")


def hot(page, peers):
    groups = [group for group in series.against_keys(peers) if group[0].distribution == "hot"]
    if not groups:
        return
    page.section("One key that all ask for", "hot")
    for i, (conditions, of) in enumerate(groups, 1):
        bars(page, f"hot-{i}", f"ns per decision, {conditions.text()}", of)


def throughput(page, peers, looks):
    page.section("Throughput against threads", "threads")
    keys, of = series.against_threads(series.only_largest_batch(peers) if peers else [])
    if not of:
        page.sentence("This needs the same benchmark with several numbers of threads; the files "
                      "have none.")
        return
    lines = lines_of(of, looks, lambda figure: figure.get("threads"),
                     lambda figure: figure.throughput())
    def texts(values, *ends):
        return plot.named_axis(values, [f"{value:g}" for value in values], *ends)
    page.figure("threads-1", plot.lines_plot(
        "threads-1", f"Million decisions per second, {series.keys_text(keys)}, uniform", lines,
        texts, "threads", "million decisions per second", "million/s",
        lambda threads: f"{threads:g} thread{'s' if threads != 1 else ''}"),
        "Higher is better; where threads take nothing from each other, twice as many make a line "
        "rise to twice its height. The axis of decisions is logarithmic.")


def latency(page, found, looks_of):
    page.section("Latency of single decisions", "latency")
    lines = series.latencies(found)
    if not lines:
        page.sentence("This needs benchmarks latency/* with percentiles; the files have none.")
        return
    looks = looks_of([label for label, _ in lines])
    drawn = [plot.Line(label, [(place, ns, ns, ns) for place, ns in points],
                       plot.Look(looks.places[label], False)) for label, points in lines]
    names = {place: name for name, place in series.PERCENTILES}

    def axis(values, *ends):
        return plot.named_axis(values, [names[value] for value in values], *ends)
    page.figure("latency-1", plot.lines_plot(
        "latency-1", "Latency of one decision", drawn, axis, "percentile",
        "ns, with the clock's own cost", "ns", lambda place: names[place]),
        "At p99.9, 999 of 1000 decisions took no longer than the line says; lower is better, and a "
        "flat line has no rare slow decisions.")


def memory(page, peers):
    page.section("Memory of a key", "memory")
    keys, of = series.memory(peers)
    if not of:
        page.sentence("This needs figures of peers with 100 thousand keys or more, as fewer are "
                      "small beside what a process takes by itself; the files have none.")
        return
    rows = [(figure.subject, *[figure.one.counters["bytes_per_key"]] * 3, figure.is_weir())
            for figure in of]
    page.figure("memory-1", plot.bars_plot(
        "memory-1", f"Bytes per key, {series.keys_text(keys)}", rows,
        "bytes of resident memory per key", "bytes"),
        "Shorter is better: what the process grew by when each key had its place, over the keys.")


def own_programs(page, found, looks_of):
    families = series.families(found)
    if not families:
        return
    page.section("weir's own benchmarks", "own")
    page.add("<details><summary>Plots against keys</summary>")
    looks = looks_of([figure.subject for of in families.values() for figure in of])
    for i, (words, of) in enumerate(families.items(), 1):
        lines = []
        for label, those in series.grouped(of, lambda figure: figure.subject).items():
            points = sorted({figure.get("keys"): (figure.get("keys"), *time_of(figure))
                             for figure in those}.values())
            place = looks.places.get(label, 0)
            look = plot.Look(place, False, is_strong=label.startswith(series.WEIR))
            lines.append(plot.Line(label, points, look))
        page.figure(f"own-{i}", plot.lines_plot(
            f"own-{i}", f"ns per operation, {words}", lines, plot.keys_axis,
            "keys (k: thousand, M: million)", "ns per operation of all threads", "ns",
            series.keys_text), "Lower is faster; both axes are logarithmic.")
    page.add("</details>")


def failures(page, measured):
    failed = [one for one in measured.values() if one.error]
    if not failed:
        return
    page.section("Not measured", "failed")
    page.table(("benchmark", "why"), [((one.name, one.error), False) for one in failed], words={1})


def all_figures(page, measured, found):
    page.section("All figures", "all")
    page.sentence("ns of one operation: the median of all repetitions, the least and the most; "
                  "varies is the standard deviation by the mean. Where only sums were kept, least "
                  "and most are a standard deviation to either side.")
    rows = []
    for figure in found:
        one = figure.one
        counters = ", ".join(f"{name} {plot.number(value)}"
                             for name, value in sorted(one.counters.items()))
        count = sum(len(one.repetitions.get(p, ())) or one.counts.get(p, 0)
                    for p in one.processes())
        rows.append(((one.name, plot.number(figure.ns), plot.number(figure.least),
                      plot.number(figure.most), f"{100 * one.cv():.1f} %", count, counters),
                     figure.is_weir()))
    page.table(("benchmark", "median", "least", "most", "varies", "repetitions", "besides"), rows,
               words={6})
    others = [name for name in measured
              if not measured[name].error and name not in {figure.one.name for figure in found}]
    if others:
        page.sentence("Without a time: " + ", ".join(others) + ".")


FIELDS = (("machine", "processor"), ("num_cpus", "processors"), ("memory_bytes", "memory"),
          ("caches", "caches"), ("kernel", "kernel"), ("compiler", "compiler"),
          ("governor", "frequency governor"), ("page_size", "page size"),
          ("transparent_huge_pages", "transparent huge pages"), ("commit", "commit"),
          ("date", "date"), ("load_avg", "load at that time"),
          ("library_build_type", "google-benchmark's build"))


def the_machine(page, found, command):
    page.section("The machine, and how to make this page", "machine")
    context = found["context"]
    page.add("<dl>")
    for field, name in FIELDS:
        if field in context:
            page.add(f"<dt>{name}</dt><dd>{plot.escaped(value_text(field, context))}</dd>")
    page.add("</dl>")
    page.sentence("The figures were made by")
    page.add(f"<pre>{plot.escaped(context.get('command', './dev bench --json FILE'))}</pre>")
    page.sentence("and this page by")
    page.add(f"<pre>{plot.escaped(command)}</pre>")


def value_text(field, context):
    value = context[field]
    if field == "memory_bytes" and figures.is_number(value):
        return f"{value / (1 << 30):.1f} GiB"
    if field == "page_size" and figures.is_number(value):
        return f"{value} bytes"
    if field == "caches" and isinstance(value, list):
        return ", ".join(f"L{one.get('level')} {one.get('type')} {one.get('size', 0) // 1024} KiB "
                         f"for {one.get('num_sharing')}" for one in value if isinstance(one, dict))
    if field == "commit":
        return f"{value}{' and changes beside it' if context.get('commit_changed') else ''}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


# ---- the whole ----------------------------------------------------------------------------------


def make(found, command):
    """The page of a loaded file."""
    measured = figures.measured(found)
    all_found = series.figures_of(measured)
    peers = series.without_short_traces([figure for figure in all_found if figure.is_peer])
    looks = Looks([figure.subject for figure in peers])
    page = Page()
    head(page, found, measured)
    summary(page, peers)
    times(page, peers, looks)
    throughput(page, peers, looks)
    latency(page, all_found, Looks)
    memory(page, peers)
    own_programs(page, all_found, Looks)
    failures(page, measured)
    who(page, peers)
    the_machine(page, found, command)
    all_figures(page, measured, all_found)
    return page


def write(page, folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {**page.files, "index.html": page.whole()}.items():
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise figures.FiguresError(
            f"{error.filename or folder}: cannot be written: {error.strerror}") from error


def loaded(paths):
    if len(paths) == 1:
        return figures.load_all(paths[0])
    files = []
    for path in map(pathlib.Path, paths):
        files += sorted(path.glob("*.json")) if path.is_dir() else [path]
    return figures.merge(files)


def main(words):
    parser = argparse.ArgumentParser(prog="report.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR")
    parser.add_argument("--command", default="", metavar="TEXT",
                        help="what is told to have made the page")
    options = parser.parse_args(words)
    try:
        page = make(loaded(options.files), options.command or
                    " ".join(["python3 bench/suite/report.py", *words]))
    except figures.FiguresError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    try:
        write(page, options.out)
    except figures.FiguresError as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    print(f"{options.out / 'index.html'}: {len(page.files)} plots")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
