/* SPDX-License-Identifier: MIT */
/*
 * All or none, over several limits and keys.
 *
 *   1  merge    entries of one key under one limit become one
 *   2  ask      what each would answer now; the longest wait is that of all. Refused: nothing has
 *               happened
 *   3  charge   one after the other, at the common instant, which is no later than any of them asks
 *               for. One is refused, since another thread came first:
 *   4  undo     those charged, in the opposite order, and again from 2
 *
 * Guarantees (S and P numbered as in the README)
 *   S1  Every charge is a decision of its own, so no limit is exceeded at any time.
 *   S2  Between 3 and 4 others find a key with less than it will have: at most what this call asks
 *       for of it, for as long as this call takes.
 *   S6  Undone to the bit, if nobody touched the key in between. Else what others took stays taken,
 *       and of a bucket that would have become full meanwhile no more is given back than fills it
 *       by the engine's clock (if that is the one that `now` was read from).
 *   P1  TRIES times at most; the last refusal is the answer.
 *
 * Not guaranteed: that one of two calls that want the same last tokens gets them; both may be
 * refused. A thread that stops between 3 and 4 keeps what it has charged.
 */
#include "call.h"

#include <string.h>

#define TRIES 4

/* One key of one limit. */
struct entry {
    int limit;
    weir_key key;
    uint64_t n;
    size_t index; /* of the first request for it */
    /* of a charge */
    uint64_t serial, before, after;
    int64_t origin;
    bool recorded, overflow;
    struct weir_result result;
};

struct all {
    struct weir *w;
    weir_ns now, max_wait;
    weir_ns wait; /* that satisfies all */
    size_t count;
    struct entry *refused;
    struct entry entries[WEIR_ALL_MAX];
};

/* The entry that counts the request; NULL: none does so far. */
static struct entry *entry_of(struct all *all, const struct weir_request *r)
{
    for (size_t i = 0; i < all->count; i++) {
        struct entry *e = &all->entries[i];
        if (e->limit == r->limit && e->key.low == r->key.low && e->key.high == r->key.high)
            return e;
    }
    return NULL;
}

static void merge(struct all *all, const struct weir_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct weir_request *r = &requests[i];
        struct entry *e = entry_of(all, r);
        if (e != NULL) {
            e->n = r->n < UINT64_MAX - e->n ? e->n + r->n : UINT64_MAX;
            continue;
        }
        e = &all->entries[all->count++];
        memset(e, 0, sizeof *e);
        e->limit = r->limit;
        e->key = r->key;
        e->n = r->n;
        e->index = i;
    }
}

/* False: an entry refuses; all->refused, all->wait. */
static bool ask(struct all *all)
{
    all->wait = 0;
    all->refused = NULL;
    for (size_t i = 0; i < all->count; i++) {
        struct entry *e = &all->entries[i];
        e->result = weir_peek(all->w, e->limit, e->key, e->n, all->now);
        if (e->result.verdict == WEIR_INVALID || e->result.verdict == WEIR_NEVER) {
            all->wait = WEIR_FOREVER;
            all->refused = e;
            return false;
        }
        weir_ns wait = e->result.verdict == WEIR_DENIED ? e->result.wait : 0;
        if (wait > all->wait)
            all->wait = wait;
        if (all->refused == NULL && (wait > all->max_wait || wait == WEIR_FOREVER))
            all->refused = e;
    }
    return all->refused == NULL;
}

/* Charges one entry at the common instant; false: refused, e->result says how. */
static bool charge(struct all *all, struct entry *e)
{
    struct weir_call c;
    e->recorded = false;
    if (!weir_call_begin(&c, all->w, e->limit, all->now)) {
        e->result = weir_result_invalid();
        return false;
    }
    if (c.s->meter.unlimited) {
        e->result = weir_result_unlimited(all->now, NULL);
        weir_read_end();
        return true;
    }
    const struct weir_operation op = {.verb = WEIR_ADMIT, .n = e->n, .early = all->wait};
    bool told = all->wait == 0 || weir_call_look_ahead(&c, all->wait);
    if (told) {
        weir_call_apply(&c, e->key, &op, weir_algorithm_can_grant(&c.s->meter, e->n));
        weir_limit_instant_clamped(all->w, c.l, c.s, all->now, &c.at);
        e->result = weir_call_result(&c);
        e->recorded = c.step.write;
        e->overflow = c.overflow;
        e->serial = c.s->serial;
        e->origin = c.s->meter.origin;
        e->before = c.step.before;
        e->after = c.step.payload;
    } else {
        e->result.verdict = WEIR_DENIED;
    }
    weir_read_end();
    return e->result.verdict == WEIR_ALLOWED;
}

/* By which clock a bucket is at most full: see S6. */
static weir_ns undo_now(const struct all *all)
{
    weir_ns clock = weir_clock_of(all->w);
    bool told = clock >= all->now && clock - all->now < all->w->stale_max;
    return told ? clock : all->now;
}

static void undo(struct all *all, const struct entry *e, weir_ns now)
{
    struct weir_call c;
    if (!e->recorded || !weir_call_enter(&c, all->w, e->limit, now, NULL))
        return;
    bool permits = c.s->meter.kind == WEIR_CONCURRENCY;
    const struct weir_operation op = {
        .verb = WEIR_UNDO, .n = e->n, .slot = e->after, .before = e->before, .origin = e->origin};
    c.overflow = e->overflow;
    if (weir_call_settle(&c))
        weir_call_give_back(&c, e->key, &op, e->serial);
    weir_read_end();
    if (permits)
        weir_call_kick(&c, e->key);
}

/* False: none was charged; all->refused. */
static bool charge_all(struct all *all)
{
    size_t done = 0;
    while (done < all->count && charge(all, &all->entries[done]))
        done++;
    if (done == all->count)
        return true;
    all->refused = &all->entries[done];
    if (done != 0) {
        weir_ns now = undo_now(all);
        while (done-- > 0)
            undo(all, &all->entries[done], now);
    }
    return false;
}

static void count(const struct all *all, const struct entry *e, enum weir_verdict verdict)
{
    struct weir_call c;
    if (!weir_call_enter(&c, all->w, e->limit, all->now, NULL))
        return;
    c.overflow = e->overflow;
    weir_call_count(&c, verdict);
    weir_read_end();
}

static void granted(const struct all *all, struct weir_result *result)
{
    struct weir_result sum = {WEIR_ALLOWED, all->wait, UINT64_MAX, 0};
    for (size_t i = 0; i < all->count; i++) {
        const struct entry *e = &all->entries[i];
        count(all, e, WEIR_ALLOWED);
        if (e->result.remaining < sum.remaining)
            sum.remaining = e->result.remaining;
        if (e->result.reset > sum.reset)
            sum.reset = e->result.reset;
    }
    *result = sum;
}

static int decide_all(struct all *all, struct weir_result *result)
{
    for (int tries = 0; tries < TRIES && ask(all); tries++) {
        if (charge_all(all)) {
            granted(all, result);
            return -1;
        }
    }
    *result = all->refused->result;
    if (result->verdict == WEIR_ALLOWED) /* it would have fitted, but for another entry */
        result->verdict = WEIR_DENIED;
    if (result->verdict == WEIR_DENIED && all->wait > result->wait)
        result->wait = all->wait;
    if (result->verdict != WEIR_INVALID)
        count(all, all->refused, result->verdict);
    return (int)all->refused->index;
}

int weir_decide_all(struct weir *w, const struct weir_request *requests, size_t count, weir_ns now,
                    weir_ns max_wait, struct weir_result *result)
{
    struct weir_result unasked;
    struct all all;
    if (result == NULL)
        result = &unasked;
    *result = weir_result_invalid();
    if (count > WEIR_ALL_MAX)
        return WEIR_ALL_MAX;
    if (w == NULL)
        return 0;
    all.w = w;
    all.now = weir_now_clamped(now);
    all.max_wait = max_wait;
    all.count = 0;
    merge(&all, requests, count);
    return decide_all(&all, result);
}
