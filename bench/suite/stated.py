# SPDX-License-Identifier: MIT
"""What is stated of weir against peers: one table, and whether it holds.

Decisions per second of weir by those of a peer, of the same run: uniform keys, nothing denied, each
told the time. In batches weir takes several decisions at once, and the peer one by one.
"""

import plan

KEYS = 1_000_000
THREADS = (1, 2)
BATCHES = (64, 32)  # the first of them that was measured
BATCHED_TIMES = 2  # of the ratio one by one, at least

AT_LEAST = {
    "governor": 3,
    "libcuckoo": 2,
    "onetbb": 3,
    "mutexes": 3,
    "cds_lfht": 5,
    "x_time_rate": 12,
}


def line(what, wall, cpu, least):
    """In the words of bench/stated.h. wall, cpu: (middle, low, high) of the two times."""
    holds = wall[0] >= least
    return holds, (f"{'holds' if holds else 'MISSED':<6} {what:<66} {wall[0]:8.2f} "
                   f"(at least {least:.2f})  95 %: {wall[1]:.2f} .. {wall[2]:.2f}, "
                   f"by processor time {cpu[0]:.2f}")


def rows(cpus):
    """(peer, threads, whether weir takes batches, at least)."""
    for batched in (False, True):
        for threads in THREADS:
            if threads <= cpus:
                for peer, least in AT_LEAST.items():
                    yield peer, threads, batched, least * (BATCHED_TIMES if batched else 1)


def check(ratios_of, cpus, demanded):
    """Prints a line for each that was measured. demanded(peer): whether its absence is a miss.

    ratios_of(peer, keys, threads, batches): by the wall's and by processor time, each (middle, low,
    high), or nothing. True if all hold.
    """
    ok = True
    for peer, threads, batched, least in rows(cpus):
        ratios = ratios_of(peer, KEYS, threads, BATCHES if batched else (1,))
        what = (f"weir{' in batches' if batched else ''} : {peer}, {plan.grouped(KEYS)} keys, "
                f"{threads} thread{'s' if threads > 1 else ''}")
        if ratios is not None:
            holds, text = line(what, *ratios, least)
            print(text)
            ok = ok and holds
        elif demanded(peer):
            print(f"MISSED {what}: not measured")
            ok = False
    return ok
