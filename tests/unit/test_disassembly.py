#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The decision path as machine code: no division, no floating point, no lock, no system call.

Follows every call from the public decision functions through the static library, up to the
functions named in OFF_THE_PATH, and looks at each instruction. x86-64, builds without sanitizers.

usage: test_disassembly.py libweir.a
"""
import bisect
import re
import subprocess
import sys

STARTS = ["weir_cell_decide", "weir_cell_reserve", "weir_cell_cancel", "weir_decide",
          "weir_decide_batch", "weir_allow", "weir_reserve", "weir_cancel", "weir_peek",
          "weir_take", "weir_charge", "weir_refund", "weir_forget", "weir_set_balance",
          "weir_decide_all", "weir_acquire", "weir_release", "weir_in_use"]

# Those that may claim a place, and where that is done: the closer search, the move, the credits.
CLAIM = ["weir_decide", "weir_decide_batch", "weir_allow", "weir_reserve", "weir_take",
         "weir_charge", "weir_set_balance", "weir_decide_all", "weir_acquire"]
CLAIMS = "weir_place_of"

# Called in rare cases only, each named in the header: a thread's first call, a new origin, an array
# that is replaced. What takes or moves a key's place stays on the path.
OFF_THE_PATH = {
    "weir_counters_find": "a thread's first call on an engine: its counters",
    "weir_read_register": "a thread's first call: liburcu's registration",
    "urcu_bp_register": "the same, where liburcu's inlined read side does it",
    "weir_settings_settle": "a limit's first call, a clock that left the line",
    "weir_settings_aside": "a question of a clock that left the line",
    "weir_settings_reprice": "a key that was last touched before its limit was changed",
    "weir_settings_follow": "a reservation made before its limit was changed",
    "weir_sliding_due": "a wait of a sliding window: it divides by the count that fades, once",
    "weir_sliding_wait": "the same",
    "weir_zone_window_search": "a calendar window other than the one found last",
    "weir_zone_start_search": "the same",
    "weir_waiters_kick_bucket": "somebody waits for permits: wakes who is first",
    "weir_waiters_kick_limit": "permits of keys without a place: the same for all of them",
    "weir_clock_of": "what an all-or-none call takes back: the engine's clock",
    "weir_wall_ask": "once for a second of `now`: unix time is asked about",
    "weir_bucket_rebase_slot": "a cancel of a reservation made before the origin moved",
    "weir_table_make_array": "an array's successor: memory; its lock is tried, never waited for",
    "weir_retire": "an array that was replaced is left to liburcu, which waits for no reader here",
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


class Function:
    def __init__(self):
        self.code, self.calls = [], []


def resolved(place, starts):
    """The name of the function at (section, address)."""
    section, address = place
    names = starts.get(section, [])
    at = bisect.bisect_right(names, (address, "~")) - 1
    return names[at][1] if at >= 0 else section


def functions(library):
    """(member, name) -> Function, of all members of the archive. Calls are names, or (section,
    address) for what the assembler tells by its place: parts of functions that are kept apart as
    cold, and who is called from there."""
    text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", library], check=True,
                          capture_output=True, text=True).stdout
    found, starts = {}, {}
    member = section = last = ""
    this = Function()
    for line in text.splitlines():
        header = re.match(r"^(\S+):\s+file format ", line)
        if header:
            member = header.group(1)
            continue
        if line.startswith("Disassembly of section "):
            section = line.split()[-1].rstrip(":")
            continue
        start = re.match(r"^([0-9a-f]+) <([^>]+)>:$", line)
        if start:
            this = found[member, start.group(2)] = Function()
            starts.setdefault((member, section), []).append((int(start.group(1), 16),
                                                             start.group(2)))
            continue
        relocation = re.search(r"R_X86_64_(?:PLT32|PC32)\s+(\S+?)([-+]0x[0-9a-f]+)?$", line)
        if relocation and re.match(r"^(call|jmp|j\w+)$", last):
            name, offset = relocation.group(1), int(relocation.group(2) or "0", 16)
            this.calls.pop()  # where the instruction leads while nobody has filled it in
            # relative to the end of the instruction, which are these four bytes
            this.calls.append((name, offset + 4) if name.startswith(".") else name)
            continue
        instruction = re.match(r"^\s+[0-9a-f]+:\s+(?:lock\s+|rep\s+|repz\s+|bnd\s+|notrack\s+|"
                               r"data16\s+|cs\s+)*(\S+)(.*)$", line)
        if instruction and "R_X86_64" not in line:
            last = instruction.group(1)
            if re.match(r"^(call|jmp)q?$", last) and "*" in instruction.group(2):
                this.code.append("indirect " + last)
            this.code.append(last)
            target = re.search(r"<([^>+]+)(?:\+0x[0-9a-f]+)?>\s*$", instruction.group(2))
            if target and re.match(r"^(call|j\w+)$", last):
                this.calls.append(target.group(1))
    for (member, _), function in found.items():
        own = {name: names for (m, name), names in starts.items() if m == member}
        function.calls = [call if isinstance(call, str) else resolved(call, own)
                          for call in function.calls]
    return found


def walk(found, start):
    """Functions reached from start, names that are not in the library, exceptions that were met."""
    everywhere = {}
    for member, name in found:
        everywhere.setdefault(name, (member, name))
    seen, outside, met = {}, [], set()
    open_names = [("", start)]
    while open_names:
        member, name = open_names.pop()
        base = name.split(".")[0]
        if base in OFF_THE_PATH:
            met.add(base)
            continue
        # a member's own function comes before one of that name elsewhere
        key = (member, name) if (member, name) in found else everywhere.get(name)
        if key is None:
            outside.append(name)
        elif key not in seen:
            seen[key] = found[key]
            open_names += [(key[0], call) for call in found[key].calls]
    return seen, outside, met


def check(found, start):
    seen, outside, met = walk(found, start)
    faults = [f"calls {name}" for name in outside if not OUTSIDE.match(name)]
    for (_, name), function in seen.items():
        for what, pattern in FORBIDDEN:
            faults += [f"{what} in {name}: {i}" for i in function.code if pattern.match(i)]
    if start in CLAIM and CLAIMS not in [name for _, name in seen]:
        faults.append(f"{CLAIMS} is not on the path")
    return faults, seen, met


def main():
    library = sys.argv[1]
    architecture = subprocess.run(["objdump", "-f", library], check=True, capture_output=True,
                                  text=True).stdout
    if "elf64-x86-64" not in architecture:
        print("1..0 # SKIP not an x86-64 library")
        return 0
    found = functions(library)
    if any("asan" in n or "tsan" in n or "ubsan" in n for f in found.values() for n in f.calls):
        print("1..0 # SKIP a library with sanitizers")
        return 0
    print(f"1..{len(STARTS) + 2}")
    failed = 0
    needed = set()
    for number, start in enumerate(STARTS, 1):
        faults, seen, met = check(found, start)
        needed |= met
        if not seen:
            faults.append("not in the library")
        for fault in faults:
            print(f"# {fault}")
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {start}: {len(seen)} functions, "
              f"{sum(len(f.code) for f in seen.values())} instructions")
    # the check itself can fail: weir_add_limit, which divides and locks, must be caught
    faults, _, _ = check(found, "weir_add_limit")
    caught = any("div" in f for f in faults) and any("pthread_mutex_lock" in f for f in faults)
    failed += not caught
    print(f"{'ok' if caught else 'not ok'} {len(STARTS) + 1} - what divides and locks is caught")
    unneeded = set(OFF_THE_PATH) - needed
    failed += bool(unneeded)
    for name in sorted(unneeded):
        print(f"# {name} is on no path")
    print(f"{'not ok' if unneeded else 'ok'} {len(STARTS) + 2} - no exception is made without need")
    return 1 if failed else 0


sys.exit(main())
