/* SPDX-License-Identifier: MIT */
/*
 * Keys by name, the calls that threads make, and what came of these.
 */
#ifndef WEIR_TESTS_OUTCOME_H
#define WEIR_TESTS_OUTCOME_H

#include "shipped.h"

struct keys {
    uint64_t a, b, c, d, e, f;
};

static uint64_t key_at_home(unsigned quarter, unsigned which)
{
    for (uint64_t tag = 4;; tag += 4) {
        if (weir_tag_home(tag, 2) == quarter && which-- == 0)
            return tag;
    }
}

static const keys key = {key_at_home(0, 0), key_at_home(2, 0), key_at_home(1, 0),
                         key_at_home(3, 0), key_at_home(0, 1), key_at_home(2, 1)};

/* What the calls of one execution came to. */
struct outcome {
    bool done, allowed, refused, held; /* held: it has a slot */
    uint64_t tag;
    const weir_array *array;
};

enum { OUTCOMES = 4 }; /* of a thread, at most */

static outcome outcomes[WORLD_THREADS][OUTCOMES];
static unsigned calls[WORLD_THREADS];

static void outcomes_begin()
{
    memset(outcomes, 0, sizeof outcomes);
    memset(calls, 0, sizeof calls);
}

static weir_key key_of(uint64_t tag, uint64_t shard)
{
    weir_key k;
    memset(&k, 0, sizeof k);
    k.high = shard << 63;
    k.low = tag;
    return k;
}

/* One call: WEIR_ADMIT as weir_reserve makes it, WEIR_REFUND. */
static void call(uint64_t shard, uint64_t tag, uint64_t now, weir_verb verb)
{
    outcome *o = &outcomes[rl::thread_index()][calls[rl::thread_index()]++];
    const weir_key k = key_of(tag, shard);
    weir_result result = {WEIR_DENIED, 0, 0, 0};
    o->tag = tag;
    if (verb == WEIR_ADMIT)
        result = weir_reserve(host, 0, k, 1, now, 0, NULL);
    else
        weir_refund(host, 0, k, 1, now);
    const noted *note = &notes[rl::thread_index()];
    o->done = true;
    o->allowed = result.verdict == WEIR_ALLOWED;
    o->refused = note->refused;
    o->held = note->held;
    o->array = note->array;
}

static void admit(uint64_t tag, uint64_t now, uint64_t shard = 0)
{
    call(shard, tag, now, WEIR_ADMIT);
}

static unsigned allowed(uint64_t tag)
{
    unsigned sum = 0;
    for (int i = 0; i < WORLD_THREADS; i++) {
        for (unsigned j = 0; j < calls[i]; j++)
            sum += outcomes[i][j].allowed && outcomes[i][j].tag == tag;
    }
    return sum;
}

/* The same, without those that shared the overflow bucket. */
static unsigned placed(uint64_t tag)
{
    unsigned sum = 0;
    for (int i = 0; i < WORLD_THREADS; i++) {
        for (unsigned j = 0; j < calls[i]; j++)
            sum += outcomes[i][j].allowed && !outcomes[i][j].refused && outcomes[i][j].tag == tag;
    }
    return sum;
}

/* S1: a key that is refused in one array has no place in it. */
static bool refused_is_refused()
{
    for (int i = 0; i < WORLD_THREADS * OUTCOMES; i++) {
        const outcome *x = &outcomes[i / OUTCOMES][i % OUTCOMES];
        for (int j = 0; j < WORLD_THREADS * OUTCOMES; j++) {
            const outcome *y = &outcomes[j / OUTCOMES][j % OUTCOMES];
            if (x->done && y->done && x->tag == y->tag && x->array == y->array &&
                x->array != NULL && x->refused && y->held)
                return false;
        }
    }
    return true;
}

/* After all: another call for the key at `now` is denied. */
static bool is_denied(uint64_t tag, uint64_t now)
{
    return weir_peek(host, 0, key_of(tag, 0), 1, now).verdict == WEIR_DENIED;
}

/* One of `calls` that overlap was allowed, and that is known: S1, S2, S5. A call that stopped may
   have been it. */
static bool is_allowed_once(uint64_t tag, uint64_t now)
{
    unsigned sum = allowed(tag);
    return (sum == 1 || (sum == 0 && w.someone_stopped)) && (sum == 0 || is_denied(tag, now));
}

/* Fills up with keys that were never used, so that the next one makes the shard grow. */
static void fill(weir_array *root, unsigned spare)
{
    uint64_t tag = 1000;
    while (weir_array_count(root) + spare < weir_shard_limit(&host->table, 0, root->order))
        world_put(root, tag += 4, 0);
}

#endif
