# SPDX-License-Identifier: MIT
"""Plots as SVG: lines with error bars and labels at their ends, and bars.

Each plot is a whole SVG file with its own style, light and dark, and can stand inside a page, too.
Lines differ in colour (safe for the colour-blind), dashes and markers at once; weir's is thick and
black (white on dark).
"""

import html
import math

FONT = "system-ui, 'DejaVu Sans', 'Liberation Sans', Arial, sans-serif"
WIDTH, TOP, BOTTOM, LEFT = 560, 44, 52, 66  # of a plot of lines, without the labels at the right
LABEL_STEP = 16  # between two labels' baselines
CHARACTER = 7.4  # px, of a label
# Light and dark of six colours, after Okabe and Ito's, each of contrast above 4.5 to its ground.
COLOURS = (("#0067a3", "#62b8ee"), ("#b84a00", "#ff9350"), ("#00755a", "#33cba2"),
           ("#a64a90", "#eba3d3"), ("#7d5a00", "#eec94f"), ("#5c5c5c", "#bdbdbd"))
DASHES = ("", "7 3", "2 3", "9 3 2 3")
BARS_SPAN = 50  # the most by the least, up to which bars show all
BATCHED_DASH = "1 4"
MARKERS = "osd^vx+"

STYLE = f"""
.plot {{ font: 13px {FONT}; color: #16191c; }}
.plot .ground {{ fill: #ffffff; }}
.plot text {{ fill: currentColor; }}
.plot .heading {{ font-size: 15px; font-weight: 600; }}
.plot .faint {{ fill: #565c63; }}
.plot .grid {{ stroke: #dfe3e7; stroke-width: 1; }}
.plot .axis {{ stroke: #8a9199; stroke-width: 1; }}
.plot .weir {{ color: #16191c; font-weight: 700; }}
.plot .line {{ fill: none; stroke: currentColor; stroke-width: 1.6; }}
.plot .weir .line, .plot .strong .line {{ stroke-width: 3.4; }}
.plot .strong {{ font-weight: 700; }}
.plot .error {{ stroke: currentColor; stroke-width: 1; opacity: 0.65; fill: none; }}
.plot .leader {{ stroke: currentColor; stroke-width: 0.8; opacity: 0.55; fill: none; }}
.plot .solid {{ fill: currentColor; stroke: currentColor; }}
.plot .open {{ fill: none; stroke: currentColor; stroke-width: 1.8; }}
.plot .bar {{ fill: #9db4c8; }}
.plot .weir .bar {{ fill: #16191c; }}
""" + "".join(f".plot .c{i} {{ color: {light}; }}\n" for i, (light, _) in enumerate(COLOURS)) + """
@media (prefers-color-scheme: dark) {
.plot { color: #e8eaed; }
.plot .ground { fill: #15181b; }
.plot .faint { fill: #a7aeb6; }
.plot .grid { stroke: #2c3238; }
.plot .axis { stroke: #78818a; }
.plot .weir { color: #ffffff; }
.plot .bar { fill: #4d6478; }
.plot .weir .bar { fill: #ffffff; }
""" + "".join(f".plot .c{i} {{ color: {dark}; }}\n" for i, (_, dark) in enumerate(COLOURS)) + "}\n"


def escaped(text):
    """For text and for attributes; what XML cannot hold becomes a question mark."""
    text = "".join(c if c in "\t\n" or ord(c) >= 32 and not 0xd800 <= ord(c) < 0xe000 and
                   ord(c) not in (0xfffe, 0xffff) else "?" for c in str(text))
    return html.escape(text, quote=True)


def number(value):
    """Three digits that count."""
    if value != 0 and abs(value) < 0.01:
        return f"{value:.2g}"
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:,.{digits}f}"


def short(value):
    """1000000 -> 1 M, for ticks."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g} {letter}"
    return f"{value:g}"


class Look:
    """How a line is drawn, the same in all plots of a report: by the subject's place in a list."""

    def __init__(self, place, is_weir, is_batched=False, is_strong=False):
        self.is_weir = is_weir
        self.kind = f"c{place % len(COLOURS)}{' strong' if is_strong else ''}"
        self.dash = BATCHED_DASH if is_batched else DASHES[place % len(DASHES)]
        self.marker = MARKERS[place % len(MARKERS)]
        if is_weir:
            self.kind = "weir"
            self.dash, self.marker = ("7 4", "s") if is_batched else ("", "o")


class Line:
    """points: (x, y, least, most), x in order."""

    def __init__(self, label, points, look):
        self.label, self.points, self.look = label, points, look


# ---- axes ---------------------------------------------------------------------------------------


class Axis:
    """Values to places. ticks: (value, text)."""

    def __init__(self, low, high, begin, end, log, ticks):
        self.low, self.high, self.begin, self.end, self.log = low, high, begin, end, log
        self.ticks = [(value, text) for value, text in ticks if low <= value <= high]

    def place(self, value):
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log10(max(one, 1e-12)) for one in (value, low, high))
        share = (value - low) / (high - low)
        return self.begin + min(1.0, max(0.0, share)) * (self.end - self.begin)


def log_ticks(low, high):
    span = math.log10(high / low)
    steps = (1, 2, 5) if span < 2.2 else (1,) if span > 3.5 else (1, 3)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [(step * 10.0 ** power, short(step * 10.0 ** power))
            for power in range(first, last + 1) for step in steps]


def log_axis(values, begin, end):
    low, high = min(values), max(values)
    low, high = low / 1.15, high * 1.15
    if high / low < 3:
        low, high = low / 1.5, high * 1.5
    return Axis(low, high, begin, end, True, log_ticks(low, high))


def round_step(most, count):
    """A step of 1, 2 or 5 times a power of ten, so that about `count` make `most`."""
    raw = most / count
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw * 0.999)


def linear_axis(most, begin, end):
    """From 0 on."""
    step = round_step(most, 5)
    high = math.ceil(most / step * 1.02) * step
    return Axis(0, high, begin, end, False,
                [(i * step, short(round(i * step, 12))) for i in range(round(high / step) + 1)])


def keys_axis(values, begin, end):
    """The decades; a little room on both sides."""
    low, high = min(values) / 1.3, max(values) * 1.3
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return Axis(low, high, begin, end, True, [(10.0 ** p, short(10.0 ** p)) for p in powers])


def named_axis(values, texts, begin, end):
    """The values themselves, log or not as they lie; each with its text."""
    log = min(values) > 0 and max(values) / min(values) > 4
    margin = (max(values) - min(values)) * 0.04 or 0.5
    low, high = ((min(values) / 1.12, max(values) * 1.12) if log else
                 (min(values) - margin, max(values) + margin))
    return Axis(low, high, begin, end, log, list(zip(values, texts)))


# ---- pieces -------------------------------------------------------------------------------------


def marker(kind, x, y, bold):
    """At a point; bold ones are larger."""
    r = 5.2 if bold else 3.8
    paths = {"s": f"M{x - r:.1f} {y - r:.1f}h{2 * r:.1f}v{2 * r:.1f}h{-2 * r:.1f}z",
             "d": f"M{x:.1f} {y - 1.4 * r:.1f}l{1.2 * r:.1f} {1.4 * r:.1f}l{-1.2 * r:.1f} "
                  f"{1.4 * r:.1f}l{-1.2 * r:.1f} {-1.4 * r:.1f}z",
             "^": f"M{x:.1f} {y - 1.2 * r:.1f}l{1.2 * r:.1f} {2.1 * r:.1f}h{-2.4 * r:.1f}z",
             "v": f"M{x:.1f} {y + 1.2 * r:.1f}l{1.2 * r:.1f} {-2.1 * r:.1f}h{-2.4 * r:.1f}z",
             "x": f"M{x - r:.1f} {y - r:.1f}l{2 * r:.1f} {2 * r:.1f}m0 {-2 * r:.1f}"
                  f"l{-2 * r:.1f} {2 * r:.1f}",
             "+": f"M{x - 1.3 * r:.1f} {y:.1f}h{2.6 * r:.1f}M{x:.1f} {y - 1.3 * r:.1f}"
                  f"v{2.6 * r:.1f}"}
    if kind == "o":
        return f'<circle class="solid" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    return f'<path class="{"open" if kind in "x+" else "solid"}" d="{paths[kind]}"/>'


def text(x, y, content, anchor="start", kind=""):
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escaped(content)}</text>'


def stroke(kind, x1, y1, x2, y2):
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def spread_out(places, low, high, step=LABEL_STEP):
    """The places, in order, moved as little as it takes to be `step` apart."""
    found = sorted(range(len(places)), key=places.__getitem__)
    moved, least = [0.0] * len(places), low
    for i in found:
        moved[i] = least = max(places[i], least)
        least += step
    most = high
    for i in reversed(found):
        moved[i] = most = min(moved[i], most)
        most -= step
    return moved


def whole(name, title, desc, width, height, pieces):
    """The SVG file. name: a prefix of identifiers, its own for each plot of a page."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
            f'aria-labelledby="{name}-title {name}-desc">\n'
            f'<title id="{name}-title">{escaped(title)}</title>\n'
            f'<desc id="{name}-desc">{escaped(desc)}</desc>\n'
            f"<style>{STYLE}</style>\n"
            f'<rect class="ground" width="100%" height="100%"/>\n' +
            "\n".join(pieces) + "\n</svg>\n")


# ---- whole plots --------------------------------------------------------------------------------


def frame(title, x, y, x_label, y_label, right, bottom):
    pieces = [text(12, 22, title, kind="heading")]
    for value, name in y.ticks:
        pieces += [stroke("grid", LEFT, y.place(value), right, y.place(value)),
                   text(LEFT - 8, y.place(value) + 4.5, name, "end", "faint")]
    for value, name in x.ticks:
        pieces += [stroke("grid", x.place(value), TOP, x.place(value), bottom),
                   text(x.place(value), bottom + 18, name, "middle", "faint")]
    pieces += [stroke("axis", LEFT, bottom, right, bottom),
               text((LEFT + right) / 2, bottom + 40, x_label, "middle"),
               f'<text transform="translate(17 {(TOP + bottom) / 2:.1f}) rotate(-90)" '
               f'text-anchor="middle">{escaped(y_label)}</text>']
    return pieces


def drawn(line, x, y, unit, x_text):
    """A line, its markers and error bars; each point tells its figures when it is pointed at."""
    kind, bold = line.look.kind, line.look.is_weir
    pieces = [f'<g class="{kind}">']
    places = [(x.place(px), y.place(py)) for px, py, _, _ in line.points]
    if len(places) > 1:
        dash = f' stroke-dasharray="{line.look.dash}"' if line.look.dash else ""
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in places)
        pieces.append(f'<path class="line"{dash} d="M{path}"/>')
    for (px, py), (value, middle, least, most) in zip(places, line.points):
        top, low = y.place(most), y.place(least)
        words = (f"{line.label}, {x_text(value)}: {number(middle)} {unit} "
                 f"({number(least)} to {number(most)})")
        pieces.append(f"<g><title>{escaped(words)}</title>")
        if low - top > 1:
            bar = f"M{px - 3:.1f} {top:.1f}h6m-3 0V{low:.1f}m-3 0h6"
            pieces.append(f'<path class="error" d="{bar}"/>')
        pieces.append(marker(line.look.marker, px, py, bold) + "</g>")
    return pieces + ["</g>"]


def labels(lines, x, y, right, bottom):
    """At the right, each joined with its line's end."""
    ends = [(x.place(line.points[-1][0]), y.place(line.points[-1][1])) for line in lines]
    places = spread_out([end[1] for end in ends], TOP + 2, bottom)
    pieces = []
    for line, (end_x, end_y), at in zip(lines, ends, places):
        pieces += [f'<g class="{line.look.kind}">',
                   stroke("leader", end_x + 5, end_y, right + 16, at),
                   marker(line.look.marker, right + 22, at, line.look.is_weir),
                   text(right + 32, at + 4.5, line.label), "</g>"]
    return pieces


def lines_plot(name, title, lines, x_axis, x_label, y_label, unit, x_text):
    """x_axis(values, begin, end) makes the axis; x_text(value) names a value in words."""
    lines = sorted(lines, key=lambda line: line.look.is_weir)  # weir on top of all
    height_of_plot = max(330, LABEL_STEP * len(lines) + 20)
    right, bottom = WIDTH, TOP + height_of_plot
    x = x_axis(sorted({point[0] for line in lines for point in line.points}), LEFT, right)
    spans = [value for line in lines for point in line.points for value in point[1:]]
    y = log_axis([value for value in spans if value > 0], bottom, TOP)
    pieces = frame(title, x, y, x_label, y_label, right, bottom)
    for line in lines:
        pieces += drawn(line, x, y, unit, x_text)
    pieces += labels(lines, x, y, right, bottom)
    longest = max(len(line.label) for line in lines)
    width = right + 40 + CHARACTER * 1.08 * longest
    return whole(name, title, told(lines, unit, x_text), max(width, 90 + 8.2 * len(title)),
                 bottom + BOTTOM, pieces)


def told(lines, unit, x_text):
    """The plot in words: each line's ends."""
    parts = []
    for line in lines:
        first, last = line.points[0], line.points[-1]
        words = f"{line.label}: {number(first[1])} {unit} at {x_text(first[0])}"
        if len(line.points) > 1:
            words += f", {number(last[1])} at {x_text(last[0])}"
        parts.append(words)
    return "; ".join(parts) + "."


def bars_plot(name, title, rows, x_label, unit):
    """rows: (label, value, least, most, whether it is weir), the order is that on the page. Values
    that are too far apart for bars become dots on a logarithmic axis."""
    left = 24 + CHARACTER * 1.08 * max(len(row[0]) for row in rows)
    right, step = left + 420, 25
    bottom = TOP + step * len(rows) + 4
    values = [max(value, 1e-9) for row in rows for value in row[1:4]]
    dots = max(values) > BARS_SPAN * min(row[1] for row in rows) > 0
    if dots:
        x, x_label = log_axis(values, left, right), f"{x_label} (logarithmic)"
    else:
        x = linear_axis(max(values), left, right)
    pieces = [text(12, 22, title, kind="heading")]
    for value, tick in x.ticks:
        pieces += [stroke("grid", x.place(value), TOP - 4, x.place(value), bottom),
                   text(x.place(value), bottom + 18, tick, "middle", "faint")]
    for i, row in enumerate(rows):
        y = TOP + step * i + step / 2
        pieces.append(f'<g class="{"weir" if row[4] else "other"}">')
        pieces += [text(left - 10, y + 4.5, row[0], "end"), *bar_or_dot(row, x, left, y, dots)]
        end = max(x.place(row[1]), x.place(row[3])) + (12 if dots else 8)
        pieces.append(text(end, y + 4.5, number(row[1])) + "</g>")
    pieces += [stroke("axis", left, TOP - 4, left, bottom),
               text((left + right) / 2, bottom + 40, x_label, "middle")]
    desc = "; ".join(f"{row[0]}: {number(row[1])} {unit}" for row in rows) + "."
    return whole(name, title, desc, max(right + 80, 90 + 8.2 * len(title)), bottom + BOTTOM, pieces)


def bar_or_dot(row, x, left, y, dots):
    """With its error bar, under the bar or through the dot."""
    _, value, least, most, is_weir = row
    at, low, high = x.place(value), x.place(least), x.place(most)
    line = y if dots else y + 11
    error = (f'<path class="error" d="M{low:.1f} {line:.1f}H{high:.1f}m0 -2.5v5'
             f'M{low:.1f} {line - 2.5:.1f}v5"/>')
    if dots:
        pieces = [stroke("leader", left, y, at, y), marker("o", at, y, is_weir)]
    else:
        pieces = [f'<rect class="bar" x="{left:.1f}" y="{y - 8:.1f}" height="16" '
                  f'width="{max(1.0, at - left):.1f}"/>']
    return pieces + ([error] if high - low > 1 else [])
