# SPDX-License-Identifier: MIT
"""The recipes: each program ends well, and README.md shows lines of it as they are. Prints TAP.

In the section "Recipes" of README.md a link to a program stands before its block of code. What is
between two blank lines of a block is a part of its program in one piece, but for white space.

usage: test_readme.py PROGRAM...
"""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE_ROOT"])
SECTION = re.compile(r"^## Recipes\n(.*?)^## ", re.DOTALL | re.MULTILINE)
LINK_OR_BLOCK = re.compile(r"\]\(tests/recipes/(\w+)\.c\)|^ *```\w*\n(.*?)^ *```", re.DOTALL | re.M)
SKIPPED = 77  # the exit status of a program that cannot run on this system


def without_space(text):
    return re.sub(r"\s+", "", text)


def blocks_of_readme():
    """The blocks that follow each link, by the program's name; "" has those before any link."""
    section = SECTION.search((SOURCE / "README.md").read_text())
    found = {"": []}
    name = ""
    for link, block in LINK_OR_BLOCK.findall(section.group(1) if section else ""):
        if link:
            name = link
            found.setdefault(name, [])
        else:
            found[name].append(block)
    return found


def point_of_run(program):
    done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, timeout=100)
    complaint = "" if done.returncode in (0, SKIPPED) else f"exit status {done.returncode}\n"
    return complaint and complaint + done.stdout, done.returncode == SKIPPED


def complaint_of_lines(name, blocks):
    if not blocks:
        return "README.md shows nothing of it"
    program = without_space((SOURCE / "tests" / "recipes" / f"{name}.c").read_text())
    pieces = [piece for block in blocks for piece in re.split(r"\n\s*\n", block)]
    return "".join(f"not in the program:\n{piece}\n" for piece in pieces
                   if not piece.strip() or without_space(piece) not in program)


def point(number, name, complaint, skipped=False):
    print(f"{'not ok' if complaint else 'ok'} {number} - {name}{' # skip' if skipped else ''}")
    for line in complaint.splitlines():
        print("# " + line)


def main():
    programs = sorted(pathlib.Path(argument) for argument in sys.argv[1:])
    names = [program.name for program in programs]
    readme = blocks_of_readme()
    sources = sorted(path.stem for path in (SOURCE / "tests" / "recipes").glob("*.c"))

    print(f"1..{2 * len(programs) + 1}")
    foreign = sorted(set(readme) - set(names) - {""})
    complaint = f"README.md links to {foreign}\n" if foreign else ""
    if sources != names:
        complaint += f"sources {sources}, built {names}\n"
    if readme[""]:
        complaint += "a block stands before any link\n"
    point(1, "programs_and_links", complaint)
    for index, program in enumerate(programs):
        complaint, skipped = point_of_run(program)
        point(2 * index + 2, f"{program.name}_runs", complaint, skipped)
        point(2 * index + 3, f"{program.name}_is_in_the_readme",
              complaint_of_lines(program.name, readme.get(program.name, [])))


main()
