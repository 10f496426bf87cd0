/* SPDX-License-Identifier: MIT */
/*
 * One call on a key: find its slot, apply one operation to its word.
 *
 *   begin    enter a read section, load the limit's settings, tell where `now` is on their line
 *
 *   apply    the slot's loop, on the key's slot where the first look finds it; else the key is
 *            placed first (place.c), and newer settings are looked up for a word of unknown ones,
 *            and for a key that is not there
 *
 *   end      weir_read_end()
 *
 * A key that has no place and gets none (the table is full) follows when_full: the limit's
 * overflow word stands in for its slot, or the operation runs on a word of nobody's, which is
 * thrown away. Operations that cannot write (n = 0, above the burst, peek, refund) claim nothing;
 * for a key without a slot they answer what the same call with a claim would be based on.
 */
#ifndef WEIR_CALL_H
#define WEIR_CALL_H

#include "limiter.h"

#include "rcu.h"
#include "result.h"
#include "slot/slot.h"

/* One call on its way. */
struct weir_call {
    struct weir *w;
    struct weir_limit *l;
    unsigned limit;
    weir_ns now;
    weir_ns ahead; /* the instant of the operation lies so far after `now` */
    const struct weir_settings *s;
    struct weir_instant at;
    struct weir_step step;
    bool overflow;               /* the key has no place */
    bool changed;                /* the policy has, on the way: nothing was done */
    uint64_t kin;                /* of the limit and its kind, where another is none; else 0 */
    struct weir_settings *aside; /* where a question may put an origin of its own; else NULL */
};

/* Enters a read section and loads the limit's settings. False: bad limit, no section was entered.
 */
WEIR_INLINE bool weir_call_enter(struct weir_call *c, struct weir *w, int limit, weir_ns now,
                                 struct weir_settings *aside)
{
    c->w = w;
    c->l = weir_limit_at(w, limit);
    if (__builtin_expect(c->l == NULL, 0))
        return false;
    c->limit = (unsigned)limit;
    c->now = now;
    c->ahead = 0;
    c->changed = false;
    c->kin = 0;
    c->overflow = false;
    c->aside = aside;
    weir_read_begin();
    c->s = weir_pointer_load_acquire(&c->l->settings); /* pairs with their publication */
    if (__builtin_expect(c->s == NULL, 0))             /* removed since weir_limit_at */
        weir_read_end();
    return c->s != NULL;
}

/* Tells where `now` is. False: it cannot be told. */
WEIR_INLINE bool weir_call_settle(struct weir_call *c)
{
    if (__builtin_expect(weir_limit_instant(c->w, c->l, c->s, c->now, &c->at), 1))
        return true;
    c->s = weir_settings_settle(c->w, c->l, c->s, c->now, &c->at);
    return c->s != NULL;
}

/* Both. False: no section is left entered. */
WEIR_INLINE bool weir_call_begin(struct weir_call *c, struct weir *w, int limit, weir_ns now)
{
    if (!weir_call_enter(c, w, limit, now, NULL))
        return false;
    if (__builtin_expect(weir_call_settle(c), 1))
        return true;
    weir_read_end();
    return false;
}

/* The same for a question: a `now` that is not on the line is told from settings of its own, which
   nobody else sees, so that asking changes nothing. */
bool weir_call_begin_aside(struct weir_call *c, struct weir *w, int limit, weir_ns now,
                           struct weir_settings *aside);

/* How the call reads words. A `now` that lies before the last change counts as the change to a key
   that was re-priced then, unless it is more than stale_max before: one change at a bogus instant
   must not lock keys out. */
WEIR_INLINE struct weir_reader weir_call_reader(const struct weir_call *c)
{
    weir_ns changed = c->s->changed;
    bool early = c->now < changed && changed - c->now <= c->w->stale_max;
    struct weir_reader reader = {c->s, 0, false, early};
    return reader;
}

/* Tells where an instant so far ahead is; false when no payload reaches there. Past the line's end
   it is told all the same: no origin moves because of what is still to come. */
bool weir_call_look_ahead(struct weir_call *c, weir_ns ahead);

/* Applies the operation to a word that is not in the table: the overflow's. */
void weir_call_apply_to_overflow(struct weir_call *c, const struct weir_operation *op);

/* The operation where the first look found no word, or one that takes more: places the key. */
void weir_call_apply_closely(struct weir_call *c, const struct weir_probe *probe,
                             const struct weir_operation *op, bool claims);

/* Applies the operation to the key. `claims`: by the settings that the call began with it may
   write, so the key gets a slot. */
WEIR_INLINE void weir_call_apply(struct weir_call *c, weir_key key, const struct weir_operation *op,
                                 bool claims)
{
    const struct weir_table *t = &c->w->table;
    struct weir_probe probe = weir_table_probe(t, key.high, key.low, c->limit);
    struct weir_atomic_u64 *word = weir_table_find(t, &probe);
    struct weir_reader reader = weir_call_reader(c);
    if (__builtin_expect(word == NULL, 0) ||
        __builtin_expect(weir_slot_apply(word, &c->s->meter, &reader, op, &c->at, &c->step) !=
                             WEIR_SLOT_DONE,
                         0))
        weir_call_apply_closely(c, &probe, op, claims);
}

/*
 * Gives back what was taken under the policy of a serial, which may be an earlier one.
 * c->step.count is how many tokens came back; 0 too where nothing leads from that policy to this
 * one.
 */
void weir_call_give_back(struct weir_call *c, weir_key key, const struct weir_operation *op,
                         uint64_t serial);

/* After the section, and whatever can have made permits free: wakes who waits for them. Keys
   without a place share theirs. */
WEIR_INLINE void weir_call_kick(const struct weir_call *c, weir_key key)
{
    if (c->overflow)
        weir_waiters_kick_limit(c->w->waiters, c->limit);
    else
        weir_waiters_kick(c->w->waiters, c->limit, key);
}

/* What came of it, for the caller. A denial by when_full has nothing left and nothing to reset. */
WEIR_INLINE struct weir_result weir_call_result(const struct weir_call *c)
{
    if (__builtin_expect(c->s->meter.unlimited, 0))
        return weir_result_unlimited(c->now, NULL);
    struct weir_result result = weir_result_of(&c->step, &c->s->meter, &c->at);
    if (__builtin_expect(c->overflow, 0) && result.verdict == WEIR_DENIED &&
        c->w->when_full == WEIR_FULL_DENY)
        result.remaining = 0;
    return result;
}

/* ---- statistics ---- */

WEIR_INLINE void weir_call_count_overflow(const struct weir_call *c)
{
    if (c->overflow)
        weir_count_call(c->w, c->limit, WEIR_COUNTER_OVERFLOW, 1);
}

WEIR_INLINE void weir_call_count(const struct weir_call *c, enum weir_verdict verdict)
{
    weir_count_call(c->w, c->limit, verdict, 1);
    weir_call_count_overflow(c);
}

#endif
