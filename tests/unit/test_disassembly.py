#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The decision path as machine code: no division, no floating point, no lock, no system call.

Follows every call from the public decision functions through the static library, up to the
functions named in OFF_THE_PATH, and looks at each instruction. x86-64, builds without sanitizers.

usage: test_disassembly.py libweir.a
"""
import re
import subprocess
import sys

STARTS = ["weir_cell_decide", "weir_cell_reserve", "weir_cell_cancel", "weir_decide", "weir_decide_batch",
          "weir_allow",
          "weir_reserve", "weir_cancel", "weir_peek", "weir_take", "weir_charge", "weir_refund",
          "weir_forget"]

# Called in rare cases only, each named in the header: a thread's first call, a new origin.
OFF_THE_PATH = {
    "first_rows": "a thread's first call on an engine: its counters",
    "urcu_bp_register": "a thread's first call: liburcu's registration",
    "weir_settings_settle": "a limit's first call, a clock that left the line",
    "weir_settings_aside": "a question of a clock that left the line",
    "weir_bucket_rebase_slot": "a cancel of a reservation made before the origin moved",
}

# Out of the library on the path itself: what the compiler makes of struct copies, assertions of
# builds with them, liburcu's flag for the kernel's membarrier.
OUTSIDE = re.compile(r"^(memset|memcpy|__assert_fail|__stack_chk_fail)$")

FORBIDDEN = [
    ("division", re.compile(r"^i?div[bwlq]?$")),
    ("floating point", re.compile(r"^v?(add|sub|mul|div|sqrt|cvt\w*|ucomi|comi|max|min)(s|p)[sd]"
                                  r"|^v?cvt|^f(ld|st|add|sub|mul|div|ild|ist)")),
    ("an indirect jump, which hides its target,", re.compile(r"^indirect ")),
    ("system call", re.compile(r"^(syscall|sysenter|int)$")),
]


def functions(library):
    """name -> (instructions, names called), of all members of the archive."""
    text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", library], check=True,
                          capture_output=True, text=True).stdout
    found, code, calls, last = {}, [], [], ""
    for line in text.splitlines():
        start = re.match(r"^[0-9a-f]+ <([^>]+)>:$", line)
        if start:
            name = start.group(1)
            code, calls = [], []
            # the first of a name wins; a cold part belongs to its function by its jumps
            found.setdefault(name, (code, calls))
            continue
        relocation = re.search(r"R_X86_64_(?:PLT32|PC32)\s+(\S+?)(?:[-+]0x[0-9a-f]+)?$", line)
        if relocation and re.match(r"^(call|jmp|j\w+)$", last):
            calls.append(relocation.group(1))
            continue
        instruction = re.match(r"^\s+[0-9a-f]+:\s+(?:lock\s+|rep\s+|repz\s+|bnd\s+|notrack\s+|"
                               r"data16\s+|cs\s+)*(\S+)(.*)$", line)
        if instruction and "R_X86_64" not in line:
            last = instruction.group(1)
            if re.match(r"^(call|jmp)q?$", last) and "*" in instruction.group(2):
                code.append("indirect " + last)
            code.append(last)
            target = re.search(r"<([^>+]+)(?:\+0x[0-9a-f]+)?>\s*$", instruction.group(2))
            if target and re.match(r"^(call|j\w+)$", last):
                calls.append(target.group(1))
    return found


def walk(found, start):
    """Functions reached from start, and names that are not in the library."""
    seen, outside, open_names = [], [], [start]
    while open_names:
        name = open_names.pop()
        base = name.split(".")[0]
        if name in seen or base in OFF_THE_PATH or name.startswith(".text"):
            continue
        if name not in found:
            outside.append(name)
            continue
        seen.append(name)
        open_names += found[name][1]
    return seen, outside


def check(found, start):
    seen, outside = walk(found, start)
    faults = [f"calls {name}" for name in outside if not OUTSIDE.match(name)]
    for name in seen:
        for what, pattern in FORBIDDEN:
            faults += [f"{what} in {name}: {i}" for i in found[name][0] if pattern.match(i)]
    return faults, seen


def main():
    library = sys.argv[1]
    architecture = subprocess.run(["objdump", "-f", library], check=True, capture_output=True,
                                  text=True).stdout
    if "elf64-x86-64" not in architecture:
        print("1..0 # SKIP not an x86-64 library")
        return 0
    found = functions(library)
    if any("asan" in n or "tsan" in n or "ubsan" in n for f in found.values() for n in f[1]):
        print("1..0 # SKIP a library with sanitizers")
        return 0
    print(f"1..{len(STARTS) + 1}")
    failed = 0
    for number, start in enumerate(STARTS, 1):
        faults, seen = check(found, start)
        if start not in found:
            faults.append("not in the library")
        for fault in faults:
            print(f"# {fault}")
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {start}: {len(seen)} functions, "
              f"{sum(len(found[n][0]) for n in seen)} instructions")
    # the check itself can fail: weir_add_limit, which divides and locks, must be caught
    faults, _ = check(found, "weir_add_limit")
    caught = any("div" in f for f in faults) and any("pthread_mutex_lock" in f for f in faults)
    failed += not caught
    print(f"{'ok' if caught else 'not ok'} {len(STARTS) + 1} - what divides and locks is caught")
    return 1 if failed else 0


sys.exit(main())
