/* SPDX-License-Identifier: MIT */
/*
 * A mix of all calls by many threads on a table that grows from nothing, is compacted and trimmed,
 * under clocks that rise, leap and lag; every grant is written down and checked (history.h).
 *
 * The limits, by what their keys are asked:
 *   chains   decide, reserve with and without a wait, batch, peek: each grant tells `full`
 *   sums     also allow and take, which tell less; one limit in the exact form, one rounded
 *   loose    also charge, refund, cancel and forget: no history, but they must not harm the others
 *
 * A key without a place is denied, so that whatever is granted is granted from a key's own slot.
 */
#ifndef WEIR_TESTS_MIX_H
#define WEIR_TESTS_MIX_H

#include "stress.h"

struct mix {
    const char *name;
    size_t max_keys;
    unsigned threads;
    unsigned rounds;    /* each on an engine of its own */
    unsigned phases;    /* of a round; between them no call is under way and the table is checked */
    unsigned calls;     /* of a thread in a phase */
    unsigned residents; /* keys that are asked for all the time */
    unsigned new_every; /* calls: then there is another new key */
    unsigned new_at_once; /* of the newest keys, so many are asked for most */
    weir_ns step;         /* the clock rises by up to so much with a call */
    weir_ns leap;         /* and by up to so much with one in leap_every */
    unsigned leap_every;
    weir_ns lag; /* of the threads' clocks, up to so much */
    /* What the last thread does all the time; NULL: what the others do. */
    int (*trim)(struct weir *w, weir_ns now);
    /* How the threads are run; NULL: stress_run. */
    void (*run)(unsigned threads, void (*body)(void *, unsigned), void *context);
    unsigned wanted; /* what must happen: enum stress_count */
    /* Told of each round's engine before it is closed, and of the grants that were checked. */
    void (*note)(const struct weir *w, uint64_t grants);
};

/* What happens depends on the seed, as far as `run` leaves nothing to chance. Fails the test where
   a key was granted too much, or the table or the statistics are wrong. */
void mix_run(const struct mix *m, uint64_t seed);

#endif
