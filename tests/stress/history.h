/* SPDX-License-Identifier: MIT */
/*
 * The history of a run: all that threads were granted, and whether exact buckets grant it.
 *
 * Vocabulary
 *   grant    n tokens of a key, by a call that was told the instant `now`
 *   latest   an instant that no thread's clock had passed when the call returned
 *   judged   the instant by which the key was judged: `now`; or, where the call was the first to
 *            use a slot of an array whose horizon lay ahead of its clock, the horizon. Nobody
 *            raises a horizon past his own clock: now <= judged <= latest
 *   full     now + reset, as the call answered: when the key is full if nothing more is taken
 *
 * Sums: for all instants a <= b, the grants of a key that were judged in [a, b] add up to at most
 * burst + rate * (b - a) tokens. Why this, and not an order of the calls:
 *
 *   Let z be the instant at which the key is full, and a token the span in which one accrues. A
 *   grant of n judged at e makes z = max(z, e) + n tokens, and is given only if that is at most
 *   e + burst tokens. Nothing makes z fall: the keys of these histories are given nothing back; a
 *   key that is left behind was full by the horizon, and what comes later begins there. Take the
 *   grants judged in [a, b] in the order in which they took effect, whatever that was. The first
 *   began at max(z, e) >= a, each added its tokens, the last ended by b + burst tokens. So the sum
 *   holds however calls overlapped and clocks lagged, and nothing has to be known of which came
 *   first.
 *
 *   The other way round: a bucket that is full at first and is handed the grants by their instants
 *   has, after the j-th, the least over i <= j of burst + rate * (t_j - t_i) - (n_i + ... + n_j)
 *   tokens. So it never goes below zero exactly if all these sums hold.
 *
 *   Hence the check is the weakest there can be: it refuses no run that an exact bucket explains.
 *   Where all were judged at their `now`, it lets none pass that no exact bucket explains; sorting
 *   by `now` is then the order to try. Where a call may have been judged later, [now, latest]
 *   stands for its instant, and a sum takes what lies wholly within [a, b], which holds for every
 *   choice of the instants.
 *
 * Chains: calls that answer `reset` leave no choice. By the above each grant is a stretch of the
 * time line, [full - n tokens, full], and of one key no two overlap, in whatever order the calls
 * came: who mints what was spent already writes an older stretch again. A grant begins at its `now`
 * or later and ends at most burst tokens after it (later by what it may wait); or it begins at a
 * horizon, at most at `latest`.
 *
 * Not seen: calls that were refused. What must be granted is for other tests.
 */
#ifndef WEIR_TESTS_HISTORY_H
#define WEIR_TESTS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

struct grant {
    uint64_t key; /* whatever tells keys apart; of one limit */
    weir_ns now, latest;
    weir_ns full;     /* 0: the call does not tell */
    weir_ns max_wait; /* that it was allowed */
    uint32_t n;
    uint32_t limit; /* an index of the buckets that the check is given */
};

struct history {
    struct grant *grants;
    size_t count, room;
};

/* What a limit grants at most, in units of which a token is a whole number; see struct weir_meter.
 */
struct history_bucket {
    uint64_t token, burst;  /* units; tokens */
    uint64_t units, grains; /* units that accrue in so many ns */
};

/* Of a policy without a tick that is accepted. */
struct history_bucket history_bucket_of(const struct weir_policy *policy);

/* No memory: the count goes on, and no check holds. */
void history_add(struct history *h, const struct grant *grant);

/* Appends what is in `from`, and frees it. */
void history_move(struct history *h, struct history *from);
void history_free(struct history *h);

/* Of the grants of one key, which come back in another order. */
bool history_sums_hold(const struct history_bucket *b, struct grant *grants, size_t count);
bool history_chain_holds(const struct history_bucket *b, struct grant *grants, size_t count);

/*
 * Checks every key: chains where all its grants tell `full` and a token is a whole number of ns,
 * and sums for all. Returns how many keys have been granted too much, and prints the first of them.
 */
size_t history_check(struct history *h, const struct history_bucket *buckets);

#endif
