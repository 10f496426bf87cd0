# SPDX-License-Identifier: MIT
"""Instructions per call, from callgrind's dumps of bench/instructions.c, against a baseline.

instructions.py DUMPS BASELINE [--update] [NAME=VERSION...]

DUMPS is the file name that callgrind was given; its dumps are DUMPS.1, DUMPS.2 and so on. The
versions tell what the program was made with; they stand in the head of the baseline. Figures that
another architecture or another major version of gcc has made are shown, and not compared.

The last line is "N passed, N failed"; the exit status is 1 when one failed, 2 for wrong usage.
"""

import pathlib
import re
import sys

ALLOWED_PERCENT = 3


def read_dumps(prefix):
    """{operation: instructions per call}, without what the marks take, in their order."""
    figures = {}
    part = 1
    while (dump := pathlib.Path(f"{prefix}.{part}")).exists():
        text = dump.read_text(encoding="utf-8")
        name = re.search(r"^desc: Trigger: Client Request: weir (\d+) (.+)$", text, re.M)
        total = re.search(r"^totals: (\d+)$", text, re.M)
        if name is not None and total is not None:
            figures[name[2]] = (int(total[1]), int(name[1]))  # decisions, of a batch
        part += 1
    if "nothing" not in figures or len(figures) < 2:
        raise ValueError(f"{prefix}.1 and on: no dump of `nothing`, or of anything else")
    marks, _ = figures.pop("nothing")  # as many calls of each operation
    return {name: (total - marks) / count for name, (total, count) in figures.items()}


def read_baseline(path):
    """({name: version}, {operation: instructions})."""
    versions, figures = {}, {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            if "=" in line:
                name, _, version = line[1:].strip().partition("=")
                versions[name] = version
            continue
        operation, tab, figure = line.rpartition("\t")
        if not tab or not re.fullmatch(r"\d+(\.\d+)?", figure):
            raise ValueError(f"{path}:{number}: not OPERATION, tab, number")
        figures[operation] = float(figure)
    return versions, figures


def write_baseline(path, versions, figures):
    lines = ["# Instructions per call (of a batch: per decision).",
             "# Written by `./dev instructions --update`."]
    lines += [f"# {name}={version}" for name, version in versions.items()]
    lines += [f"{operation}\t{figure:.2f}" for operation, figure in figures.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def is_comparable(made, now):
    """Whether figures of these two are of one architecture and major version of gcc."""
    return (made.get("arch") == now.get("arch") and
            made.get("gcc", "").partition(".")[0] == now.get("gcc", "").partition(".")[0])


def change_percent(figure, before):
    if before == 0:
        return 0.0 if figure == 0 else float("inf")
    return round(100 * (figure - before) / before, 2) + 0.0


def compare(figures, before):
    """Prints the table; (passed, failed)."""
    passed = failed = 0
    print(f"{'operation':48} {'instructions':>12} {'baseline':>10} {'change':>8}")
    for operation, figure in figures.items():
        if operation not in before:
            verdict, known = "not in the baseline", ""
            failed += 1
        else:
            change = change_percent(figure, before[operation])
            good = abs(change) <= ALLOWED_PERCENT
            verdict = f"{change:+7.2f} %" + ("" if good else "  FAILED")
            known = f"{before[operation]:.2f}"
            passed += good
            failed += not good
        print(f"{operation:48} {figure:12.2f} {known:>10} {verdict}")
    for operation in before.keys() - figures.keys():
        print(f"{operation:48} {'not measured':>12} {before[operation]:10.2f}  FAILED")
        failed += 1
    return passed, failed


def show(figures):
    print(f"{'operation':48} {'instructions':>12}")
    for operation, figure in figures.items():
        print(f"{operation:48} {figure:12.2f}")


def main(arguments):
    update = "--update" in arguments
    places = [a for a in arguments if "=" not in a and a != "--update"]
    versions = dict(a.split("=", 1) for a in arguments if "=" in a)
    if len(places) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    figures = read_dumps(places[0])
    path = pathlib.Path(places[1])
    if update:
        write_baseline(path, versions, figures)
        show(figures)
        print(f"wrote {path}")
        print(f"{len(figures)} passed, 0 failed")
        return 0
    made, before = read_baseline(path)
    if not is_comparable(made, versions):
        show(figures)
        print(f"skipped: the baseline is of gcc {made.get('gcc')} on {made.get('arch')}, "
              f"this is gcc {versions.get('gcc')} on {versions.get('arch')}: not compared")
        print("0 passed, 0 failed")
        return 0
    passed, failed = compare(figures, before)
    if failed:
        print(f"More than {ALLOWED_PERCENT} % more or less than the baseline "
              f"(gcc {made.get('gcc')}, libc {made.get('libc')}, xxhash {made.get('xxhash')}).\n"
              "If it is meant, a gain too: ./dev instructions --update, and commit the baseline "
              "with the reason.")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, ValueError) as error:
        print(f"instructions.py: {error}", file=sys.stderr)
        sys.exit(2)
