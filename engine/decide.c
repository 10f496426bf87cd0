/* SPDX-License-Identifier: MIT */
/*
 * Every call on a key: find its slot, apply one operation to its word, say what came of it.
 *
 *   begin    enter a read section, load the limit's settings, tell where `now` is on their line
 *
 *   apply    the slot's loop, on the key's slot where the first look finds it; else the key is
 *            placed first (place.c), and newer settings are looked up for a word of unknown ones
 *
 *   answer   describe what came of it, count it, leave the section
 *
 * The decision that servers ask for a million times a second has a shorter way in quick.c, which
 * comes here when it is not as usual.
 *
 * A key that has no place and gets none (the table is full) follows when_full: the limit's
 * overflow word stands in for its slot, or the operation runs on a word of nobody's, which is
 * thrown away. Operations that cannot write (n = 0, above the burst, peek, refund) claim nothing;
 * for a key without a slot they answer what the same call with a claim would be based on.
 */
#include "limiter.h"

#include "place.h"
#include "rcu.h"
#include "result.h"
#include "slot/slot.h"

#include <errno.h>
#include <string.h>

#define RESERVED_IN_OVERFLOW 1U /* weir_reservation.flags */

/* One call on its way. */
struct call {
    struct weir *w;
    struct weir_limit *l;
    unsigned limit;
    weir_ns now;
    const struct weir_settings *s;
    struct weir_instant at;
    struct weir_step step;
    bool overflow;               /* the key has no place */
    struct weir_settings *aside; /* where a question may put an origin of its own; else NULL */
};

/* Enters a read section and loads the limit's settings. False: bad limit, no section was entered.
 */
WEIR_INLINE bool enter(struct call *c, struct weir *w, int limit, weir_ns now,
                       struct weir_settings *aside)
{
    c->w = w;
    c->l = weir_limit_at(w, limit);
    if (__builtin_expect(c->l == NULL, 0))
        return false;
    c->limit = (unsigned)limit;
    c->now = now;
    c->overflow = false;
    c->aside = aside;
    weir_read_begin();
    c->s = weir_pointer_load_acquire(&c->l->settings); /* pairs with their publication */
    if (__builtin_expect(c->s == NULL, 0))             /* removed since weir_limit_at */
        weir_read_end();
    return c->s != NULL;
}

/* The same, and tells where `now` is. False: no section is left entered. */
WEIR_INLINE bool begin(struct call *c, struct weir *w, int limit, weir_ns now)
{
    if (!enter(c, w, limit, now, NULL))
        return false;
    if (__builtin_expect(weir_algorithm_instant(&c->s->meter, now, &c->at), 1))
        return true;
    c->s = weir_settings_settle(w, c->l, c->s, now, &c->at);
    if (c->s == NULL)
        weir_read_end();
    return c->s != NULL;
}

/* The same for a question: a `now` that is not on the line is told from settings of its own, which
   nobody else sees, so that asking changes nothing. */
static bool begin_aside(struct call *c, struct weir *w, int limit, weir_ns now,
                        struct weir_settings *aside)
{
    if (!enter(c, w, limit, now, aside))
        return false;
    if (!weir_algorithm_instant(&c->s->meter, now, &c->at))
        c->s = weir_settings_aside(w, c->s, now, &c->at, aside);
    return true;
}

/* Looks up a word of an unknown generation: newer settings, or none newer. The word was loaded with
   acquire, so that the settings it was written under, or newer ones, are seen here. */
static __attribute__((noinline)) void reload(struct call *c, struct weir_reader *reader)
{
    const struct weir_settings *next = weir_limit_settings(c->l);
    reader->newest = next == c->s || (c->s == c->aside && next == c->s->previous);
    if (reader->newest)
        return;
    if (c->aside == NULL)
        c->s = weir_settings_settle(c->w, c->l, next, c->now, &c->at);
    else if (weir_algorithm_instant(&next->meter, c->now, &c->at))
        c->s = next;
    else
        c->s = weir_settings_aside(c->w, next, c->now, &c->at, c->aside);
    reader->settings = c->s;
}

/* `now`, or where it is later the horizon of the array, at which a key never used begins. Waits are
   told from `now` all the same. */
static struct weir_instant first_instant(const struct call *c, const struct weir_array *array)
{
    struct weir_instant at = c->at;
    struct weir_instant later;
    weir_ns now = weir_now_clamped(c->now);
    weir_ns begin = array != NULL ? weir_array_fresh_at(array, now, c->w->stale_max) : now;
    if (begin <= now)
        return at;
    weir_add_relaxed(&c->w->table.counts.stale_fresh, 1);
    weir_algorithm_instant_clamped(&c->s->meter, begin, &later);
    if (at.line == 0 && at.elapsed > INT64_MAX) /* before the origin */
        return later;
    if (later.line > at.line)
        at.line = later.line;
    return at;
}

/* Applies the operation to a word. False: a move is copying it, and the key is elsewhere. */
static bool apply_to(struct call *c, struct weir_atomic_u64 *word, const struct weir_array *array,
                     const struct weir_operation *op)
{
    struct weir_reader reader = {c->s, 0, false};
    for (;;) {
        struct weir_instant first;
        switch (weir_slot_apply(word, &c->s->meter, &reader, op, &c->at, &c->step)) {
        case WEIR_SLOT_DONE:
            return true;
        case WEIR_SLOT_FROZEN:
            return false;
        case WEIR_SLOT_UNKNOWN:
            reload(c, &reader);
            break;
        case WEIR_SLOT_FRESH:
            first = first_instant(c, array);
            if (weir_slot_first(word, &c->s->meter, op, &first, &c->step)) {
                c->at = first;
                return true;
            }
            break;
        }
    }
}

/* The operation on a key without a slot: by when_full if it gets none, else as never used. */
static void apply_unplaced(struct call *c, const struct weir_array *array,
                           const struct weir_operation *op)
{
    struct weir_atomic_u64 nobodys = {0};
    bool shares = c->overflow && c->w->when_full == WEIR_FULL_SHARE && op->verb != WEIR_CANCEL;
    apply_to(c, shares ? &c->l->overflow : &nobodys, array, op);
    if (shares)
        return;
    c->step.write = false;
    c->step.payload = 0;
    bool grants = c->step.verdict == WEIR_ALLOWED && op->n != 0;
    if (c->overflow && grants && c->w->when_full == WEIR_FULL_DENY) {
        c->step.verdict = WEIR_DENIED;
        c->step.wait = WEIR_FOREVER;
        c->step.count = 0;
    }
}

/* The operation where the first look found no word, or one that takes more: places the key. */
static __attribute__((noinline)) void apply_closely(struct call *c, const struct weir_probe *probe,
                                                    const struct weir_operation *op, bool claims)
{
    bool asks = op->verb == WEIR_PEEK || op->verb == WEIR_ADMIT || op->verb == WEIR_CANCEL;
    enum weir_look look = claims ? WEIR_CLAIM : asks ? WEIR_LOOK : WEIR_SETTLE;
    for (;;) {
        struct weir_place p = weir_place_of(c->w, probe, c->now, look);
        c->overflow = p.word == NULL && p.refused;
        if (p.word == NULL) {
            apply_unplaced(c, c->overflow ? NULL : p.array, op);
            return;
        }
        if (apply_to(c, p.word, p.array, op))
            return;
    }
}

/* Applies the operation to the key. `claims`: it may write, so the key gets a slot. */
WEIR_INLINE void apply(struct call *c, weir_key key, const struct weir_operation *op, bool claims)
{
    const struct weir_table *t = &c->w->table;
    struct weir_probe probe = weir_table_probe(t, key.high, key.low, c->limit);
    struct weir_atomic_u64 *word = weir_table_find(t, &probe);
    struct weir_reader reader = {c->s, 0, false};
    if (__builtin_expect(word == NULL, 0) ||
        __builtin_expect(weir_slot_apply(word, &c->s->meter, &reader, op, &c->at, &c->step) !=
                             WEIR_SLOT_DONE,
                         0))
        apply_closely(c, &probe, op, claims);
}

/* ---- statistics ---- */

static void count_overflow(const struct call *c)
{
    if (c->overflow)
        weir_count_call(c->w, c->limit, WEIR_COUNTER_OVERFLOW, 1);
}

static void count_decision(const struct call *c, enum weir_verdict verdict)
{
    weir_count_call(c->w, c->limit, verdict, 1);
    count_overflow(c);
}

/* ---- decisions ---- */

/* What came of it, for the caller. A denial by when_full has nothing left and nothing to reset. */
WEIR_INLINE struct weir_result result_of(const struct call *c)
{
    struct weir_result result = weir_result_of(&c->step, &c->s->meter, &c->at);
    if (__builtin_expect(c->overflow, 0) && result.verdict == WEIR_DENIED &&
        c->w->when_full == WEIR_FULL_DENY)
        result.remaining = 0;
    return result;
}

/* Decides within begin and end: c->step, counted. n is 0 or above the burst: nothing is claimed. */
static void admit(struct call *c, weir_key key, uint64_t n, weir_ns max_wait)
{
    const struct weir_operation op = {WEIR_ADMIT, n, max_wait, 0, 0};
    apply(c, key, &op, weir_algorithm_can_grant(&c->s->meter, n));
    count_decision(c, c->step.verdict);
}

static void write_reservation(const struct call *c, weir_key key, int limit,
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
    struct call c;
    struct weir_result result;
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (!begin(&c, w, limit, now))
        return weir_result_invalid();
    if (__builtin_expect(c.s->meter.unlimited, 0)) {
        count_decision(&c, WEIR_ALLOWED);
        result = weir_result_unlimited(now, out);
    } else {
        admit(&c, key, n, max_wait);
        result = result_of(&c);
        if (out != NULL)
            write_reservation(&c, key, limit, out);
    }
    weir_read_end();
    return result;
}

struct weir_result weir_peek(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    struct call c;
    struct weir_settings aside;
    struct weir_result result;
    if (!begin_aside(&c, w, limit, now, &aside))
        return weir_result_invalid();
    if (c.s->meter.unlimited) {
        result = weir_result_unlimited(now, NULL);
    } else {
        const struct weir_operation op = {WEIR_PEEK, n, 0, 0, 0};
        apply(&c, key, &op, false);
        result = result_of(&c);
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
    struct call c;
    uint64_t count = n;
    if (!begin(&c, w, limit, now))
        return 0;
    if (!c.s->meter.unlimited && n != 0) {
        const struct weir_operation op = {verb, n, 0, 0, 0};
        apply(&c, key, &op, verb == WEIR_CHARGE || weir_algorithm_can_grant(&c.s->meter, 1));
        count_overflow(&c);
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

uint64_t weir_refund(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    struct call c;
    uint64_t given = 0;
    if (!begin(&c, w, limit, now))
        return 0;
    if (!c.s->meter.unlimited && n != 0) {
        const struct weir_operation op = {WEIR_REFUND, n, 0, 0, 0};
        apply(&c, key, &op, false);
        given = c.step.count;
    }
    weir_read_end();
    return given;
}

uint64_t weir_cancel(struct weir *w, struct weir_reservation *r, weir_ns now)
{
    struct call c;
    /* A reservation of nothing, as a denial leaves it, is no reason to look at `now`. */
    if (r == NULL || r->n == 0 || !begin(&c, w, r->limit, now))
        return 0;
    c.step.count = 0;
    uint64_t n = weir_result_end(r, now);
    if (n != 0 && c.s->serial == r->serial) {
        const struct weir_operation op = {WEIR_CANCEL, n, 0, r->slot, r->origin};
        if ((r->flags & RESERVED_IN_OVERFLOW) != 0)
            apply_to(&c, &c.l->overflow, NULL, &op);
        else
            apply(&c, r->key, &op, false);
    }
    weir_read_end();
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
    weir_read_end();
    return 0;
}
