/* SPDX-License-Identifier: MIT */
/*
 * Decisions, reservations, charges and what is given back: calls on one key.
 *
 * The decision that servers ask for a million times a second has a shorter way in quick.c, which
 * comes here when it is not as usual.
 */
#include "call.h"

#include "place.h"

#include <errno.h>
#include <string.h>

#define RESERVED_IN_OVERFLOW 1U /* weir_reservation.flags */

/* ---- decisions ---- */

/* Decides within begin and end: c->step, counted. n is 0 or above the burst: nothing is claimed. */
static void admit(struct weir_call *c, weir_key key, uint64_t n, weir_ns max_wait)
{
    const struct weir_operation op = {.verb = WEIR_ADMIT, .n = n, .max_wait = max_wait};
    weir_call_apply(c, key, &op, weir_algorithm_can_grant(&c->s->meter, n));
    weir_call_count(c, c->step.verdict);
}

static void write_reservation(const struct weir_call *c, weir_key key, int limit,
                              struct weir_reservation *out)
{
    weir_result_reservation(&c->step, &c->s->meter, c->now, out);
    out->key = key;
    out->limit = limit;
    out->serial = c->s->serial;
    if (c->overflow)
        out->flags = RESERVED_IN_OVERFLOW;
    if (c->overflow && c->w->when_full != WEIR_FULL_SHARE)
        out->n = 0; /* nothing was recorded */
}

struct weir_result weir_reserve(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now,
                                weir_ns max_wait, struct weir_reservation *out)
{
    struct weir_call c;
    struct weir_result result;
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (!weir_call_begin(&c, w, limit, now))
        return weir_result_invalid();
    if (__builtin_expect(c.s->meter.unlimited, 0)) {
        weir_call_count(&c, WEIR_ALLOWED);
        result = weir_result_unlimited(now, out);
    } else {
        admit(&c, key, n, max_wait);
        result = weir_call_result(&c);
        if (out != NULL)
            write_reservation(&c, key, limit, out);
    }
    weir_read_end();
    return result;
}

struct weir_result weir_peek(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    struct weir_call c;
    struct weir_settings aside;
    struct weir_result result;
    if (!weir_call_begin_aside(&c, w, limit, now, &aside))
        return weir_result_invalid();
    if (c.s->meter.unlimited) {
        result = weir_result_unlimited(now, NULL);
    } else {
        const struct weir_operation op = {.verb = WEIR_PEEK, .n = n};
        weir_call_apply(&c, key, &op, false);
        result = weir_call_result(&c);
    }
    weir_read_end();
    return result;
}

enum weir_quota weir_quota(struct weir_result result)
{
    switch (result.verdict) {
    case WEIR_ALLOWED:
        return result.remaining == 0 ? WEIR_QUOTA_REACHED : WEIR_QUOTA_ALLOWED;
    case WEIR_DENIED:
    case WEIR_NEVER:
        return WEIR_QUOTA_OVER;
    case WEIR_INVALID:
        break;
    }
    return WEIR_QUOTA_UNKNOWN;
}

/* ---- taking and giving back ---- */

/* Takes or charges n tokens; returns how many. */
WEIR_INLINE uint64_t spend(struct weir *w, int limit, weir_key key, enum weir_verb verb, uint64_t n,
                           weir_ns now)
{
    struct weir_call c;
    uint64_t count = n;
    if (!weir_call_begin(&c, w, limit, now))
        return 0;
    if (!c.s->meter.unlimited && n != 0) {
        const struct weir_operation op = {.verb = verb, .n = n};
        weir_call_apply(&c, key, &op,
                        verb == WEIR_CHARGE || weir_algorithm_can_grant(&c.s->meter, 1));
        weir_call_count_overflow(&c);
        count = c.step.count;
        /* A debt of nobody's is no charge. */
        if (verb == WEIR_CHARGE && c.overflow && w->when_full != WEIR_FULL_SHARE)
            count = 0;
    }
    weir_read_end();
    return count;
}

uint64_t weir_take(struct weir *w, int limit, weir_key key, uint64_t max, weir_ns now)
{
    return spend(w, limit, key, WEIR_TAKE, max, now);
}

uint64_t weir_charge(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    return spend(w, limit, key, WEIR_CHARGE, n, now);
}

/* Ends a call after which permits may be free. */
static void end_giving(const struct weir_call *c, weir_key key)
{
    bool permits = c->s->meter.kind == WEIR_CONCURRENCY;
    weir_read_end();
    if (permits)
        weir_call_kick(c, key);
}

uint64_t weir_refund(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    struct weir_call c;
    uint64_t given = 0;
    if (!weir_call_begin(&c, w, limit, now))
        return 0;
    if (!c.s->meter.unlimited && n != 0) {
        const struct weir_operation op = {.verb = WEIR_REFUND, .n = n};
        weir_call_apply(&c, key, &op, false);
        given = c.step.count;
    }
    end_giving(&c, key);
    return given;
}

uint64_t weir_cancel(struct weir *w, struct weir_reservation *r, weir_ns now)
{
    struct weir_call c;
    /* A reservation of nothing, as a denial leaves it, is no reason to look at `now`. */
    if (r == NULL || r->n == 0 || !weir_call_begin(&c, w, r->limit, now))
        return 0;
    c.step.count = 0;
    uint64_t n = weir_result_end(r, now);
    if (n != 0) {
        const struct weir_operation op = {
            .verb = WEIR_CANCEL, .n = n, .slot = r->slot, .before = r->before, .origin = r->origin};
        c.overflow = (r->flags & RESERVED_IN_OVERFLOW) != 0;
        weir_call_give_back(&c, r->key, &op, r->serial);
    }
    end_giving(&c, r->key);
    return c.step.count;
}

/* Makes a used word one of payload 0 under a mark of the caller's settings. Whatever it meant, and
   whichever generation it was of: payload 0 is "never used" in every one. False: a move is copying
   it, and the key is elsewhere. */
static bool forget_word(struct weir_atomic_u64 *slot, uint64_t mark)
{
    unsigned losses = 0;
    uint64_t word = weir_load_acquire(slot); /* slot.h, O1 */
    while ((word & WEIR_WORD_FROZEN) == 0 && (word & WEIR_PAYLOAD_MAX) != 0) {
        if (weir_cas_acq_rel(slot, &word, mark))
            return true;
        weir_pause(&losses);
    }
    return (word & WEIR_WORD_FROZEN) == 0;
}

int weir_set_balance(struct weir *w, int limit, weir_key key, uint64_t tokens, weir_ns now)
{
    struct weir_call c;
    int error = 0;
    if (w == NULL)
        return -EINVAL;
    if (!weir_call_enter(&c, w, limit, now, NULL))
        return -ENOENT;
    if (!weir_call_settle(&c)) {
        error = -ENOMEM;
    } else if (!c.s->meter.unlimited) {
        const struct weir_operation op = {.verb = WEIR_SET, .n = tokens};
        weir_call_apply(&c, key, &op, true);
        weir_call_count_overflow(&c);
        if (c.overflow && w->when_full != WEIR_FULL_SHARE)
            error = -ENOSPC;
    }
    if (error == -ENOMEM)
        weir_read_end();
    else
        end_giving(&c, key);
    return error;
}

int weir_forget(struct weir *w, int limit, weir_key key)
{
    if (w == NULL)
        return -EINVAL;
    struct weir_limit *l = weir_limit_at(w, limit);
    if (l == NULL)
        return -ENOENT;
    weir_read_begin();
    const struct weir_settings *s = weir_pointer_load_acquire(&l->settings); /* their publication */
    if (s == NULL) { /* removed since weir_limit_at */
        weir_read_end();
        return -ENOENT;
    }
    struct weir_probe probe = weir_table_probe(&w->table, key.high, key.low, (unsigned)limit);
    struct weir_place p;
    do {
        /* At 0, before all instants: nothing that is owed now is idle. */
        p = weir_place_of(w, &probe, 0, WEIR_LOOK);
    } while (p.word != NULL && s->generation != 0 && !forget_word(p.word, s->meter.mark));
    bool permits = s->meter.kind == WEIR_CONCURRENCY;
    weir_read_end();
    if (permits)
        weir_waiters_kick(w->waiters, (unsigned)limit, key);
    return 0;
}
