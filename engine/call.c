/* SPDX-License-Identifier: MIT */
/*
 * The less usual ways of a call: keys that have to be placed, words of other settings, clocks that
 * are behind, tables that are full.
 */
#include "call.h"

#include "place.h"

bool weir_call_begin_aside(struct weir_call *c, struct weir *w, int limit, weir_ns now,
                           struct weir_settings *aside)
{
    if (!weir_call_enter(c, w, limit, now, aside))
        return false;
    if (!weir_limit_instant_of(w, c->l, c->s, now, WEIR_WALL_OF_INSTANT, &c->at))
        c->s = weir_settings_aside(w, c->l, c->s, now, &c->at, aside);
    return true;
}

/* Looks up a word of an unknown generation, or a key that is gone: newer settings, or none newer.
   The word was loaded with acquire, or what shows that the key is gone, so that the settings under
   which it was written or left behind, or newer ones, are seen here. */
static __attribute__((noinline)) void reload(struct weir_call *c, struct weir_reader *reader)
{
    const struct weir_settings *next = weir_limit_settings(c->l);
    reader->newest = next == c->s || (c->s == c->aside && next == c->s->previous);
    if (reader->newest)
        return;
    if (c->kin != 0 && next->kin != c->kin) { /* of another kind: it is over, see goes_on */
        c->s = next;
        return;
    }
    if (c->aside == NULL) {
        next = weir_settings_settle(c->w, c->l, next, c->now, &c->at);
        if (next == NULL) { /* no memory for its origin: then this call is one before the change */
            reader->newest = true;
            weir_limit_instant_clamped(c->w, c->l, c->s, c->now, &c->at);
            return;
        }
        c->s = next;
    } else if (weir_limit_instant_of(c->w, c->l, next, c->now, WEIR_WALL_OF_INSTANT, &c->at))
        c->s = next;
    else
        c->s = weir_settings_aside(c->w, c->l, next, c->now, &c->at, c->aside);
    if (c->ahead != 0 && !weir_call_look_ahead(c, c->ahead))
        weir_limit_instant_clamped(c->w, c->l, c->s, c->now + c->ahead, &c->at);
    *reader = weir_call_reader(c);
}

/* `now`, or a later instant at which a key never used, or re-priced, begins: the horizon of the
   array, the last change of the limit. Waits are told from `now` all the same. */
static struct weir_instant first_instant(const struct weir_call *c, const struct weir_array *array,
                                         bool early)
{
    struct weir_instant at = c->at;
    struct weir_instant later;
    weir_ns now = weir_now_clamped(c->now);
    weir_ns begin = array != NULL ? weir_array_fresh_at(array, now, c->w->stale_max) : now;
    if (early && c->s->changed > begin)
        begin = c->s->changed;
    if (begin <= now)
        return at;
    weir_add_relaxed(&c->w->table.counts.stale_fresh, 1);
    weir_limit_instant_clamped(c->w, c->l, c->s, begin, &later);
    if (at.line == 0 && at.elapsed > INT64_MAX) /* before the origin */
        return later;
    if (later.line > at.line) {
        at.line = later.line;
        at.left = 0; /* of another window */
    }
    return at;
}

/* What an operation does when its limit has become unlimited on the way. */
static void unlimited_step(const struct weir_operation *op, struct weir_step *step)
{
    bool counts = op->verb == WEIR_TAKE || op->verb == WEIR_CHARGE;
    *step = (struct weir_step){WEIR_ALLOWED, false, 0, counts ? op->n : 0, 0, 0, 0};
}

/* Whether an operation goes on after the settings were looked up again. False: it is over. */
static bool goes_on(struct weir_call *c, const struct weir_operation *op, uint64_t serial)
{
    c->changed = (c->s->serial != serial && op->slot != 0) || (c->kin != 0 && c->s->kin != c->kin);
    if (!c->changed && c->s->meter.unlimited)
        unlimited_step(op, &c->step);
    return !c->changed && !c->s->meter.unlimited;
}

/*
 * The settings of now, for a key that is not there: it may have been left behind under settings
 * newer than the call's, by which alone it was idle. The move had them before, so who finds the key
 * gone finds them after that. *same: they are the call's; else it is to look again. False: the
 * operation is over.
 */
static bool renew(struct weir_call *c, const struct weir_operation *op, bool *same)
{
    struct weir_reader reader = weir_call_reader(c);
    uint64_t serial = c->s->serial;
    reload(c, &reader);
    *same = reader.newest;
    return goes_on(c, op, serial);
}

/* Applies the operation to a word. False: a move is copying it, and the key is elsewhere.
   `renewed`: the settings are those of now, or need not be. */
static bool apply_to(struct weir_call *c, struct weir_atomic_u64 *word,
                     const struct weir_array *array, const struct weir_operation *op, bool renewed)
{
    struct weir_reader reader = weir_call_reader(c);
    uint64_t serial = c->s->serial;
    for (;;) {
        struct weir_instant first;
        switch (weir_slot_apply(word, &c->s->meter, &reader, op, &c->at, &c->step)) {
        case WEIR_SLOT_DONE:
            return true;
        case WEIR_SLOT_FROZEN:
            return false;
        case WEIR_SLOT_UNKNOWN:
            reload(c, &reader);
            if (!goes_on(c, op, serial))
                return true;
            break;
        case WEIR_SLOT_EARLY:
            c->at = first_instant(c, NULL, true);
            reader.early = false;
            break;
        case WEIR_SLOT_FRESH:
            if (!renewed) {
                if (!renew(c, op, &renewed))
                    return true;
                reader = weir_call_reader(c);
                break;
            }
            first = first_instant(c, array, reader.early);
            if (weir_slot_first(word, &c->s->meter, op, &first, &c->step)) {
                c->at = first;
                return true;
            }
            break;
        }
    }
}

/* The operation on a key without a slot: by when_full if it gets none, else as never used. */
static void apply_unplaced(struct weir_call *c, const struct weir_array *array,
                           const struct weir_operation *op)
{
    struct weir_atomic_u64 nobodys = {0};
    bool shares = c->overflow && c->w->when_full == WEIR_FULL_SHARE && op->verb != WEIR_CANCEL &&
                  op->verb != WEIR_UNDO;
    apply_to(c, shares ? &c->l->overflow : &nobodys, array, op, true);
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

/* Whether an operation for which nothing was claimed may write by the settings of now. */
static bool claims_now(const struct weir_call *c, const struct weir_operation *op)
{
    uint64_t n = op->verb == WEIR_TAKE ? 1 : op->n;
    return (op->verb == WEIR_TAKE || op->verb == WEIR_ADMIT) &&
           weir_algorithm_can_grant(&c->s->meter, n);
}

void weir_call_apply_closely(struct weir_call *c, const struct weir_probe *probe,
                             const struct weir_operation *op, bool claims)
{
    bool asks = op->verb == WEIR_PEEK || op->verb == WEIR_ADMIT || op->verb == WEIR_CANCEL ||
                op->verb == WEIR_UNDO;
    enum weir_look look = claims ? WEIR_CLAIM : asks ? WEIR_LOOK : WEIR_SETTLE;
    for (;;) {
        struct weir_place p = weir_place_of(c->w, probe, c->now, look);
        c->overflow = p.word == NULL && p.refused;
        if (p.word == NULL && !c->overflow) {
            bool same;
            if (!renew(c, op, &same))
                return;
            if (look != WEIR_CLAIM && claims_now(c, op))
                look = WEIR_CLAIM;
            if (!same || look == WEIR_CLAIM)
                continue;
        }
        if (p.word == NULL) {
            apply_unplaced(c, c->overflow ? NULL : p.array, op);
            return;
        }
        if (apply_to(c, p.word, p.array, op, false))
            return;
    }
}

bool weir_call_look_ahead(struct weir_call *c, weir_ns ahead)
{
    struct weir_settings far;
    c->ahead = ahead;
    weir_ns now = weir_now_clamped(c->now);
    weir_ns instant = ahead < INT64_MAX - now ? now + ahead : (weir_ns)INT64_MAX;
    if (weir_limit_instant_of(c->w, c->l, c->s, instant, WEIR_WALL_OF_INSTANT, &c->at))
        return true;
    weir_settings_copy(&far, c->s);
    struct weir_meter *m = &far.meter;
    m->elapsed_max = m->elapsed_max < UINT64_MAX / 2 ? 2 * m->elapsed_max : UINT64_MAX;
    return weir_limit_instant_of(c->w, c->l, &far, instant, WEIR_WALL_OF_INSTANT, &c->at);
}

void weir_call_apply_to_overflow(struct weir_call *c, const struct weir_operation *op)
{
    apply_to(c, &c->l->overflow, NULL, op, true);
}

void weir_call_give_back(struct weir_call *c, weir_key key, const struct weir_operation *op,
                         uint64_t serial)
{
    bool in_overflow = c->overflow;
    do {
        struct weir_operation now = *op;
        c->changed = false;
        c->step.count = 0;
        if (c->s->meter.unlimited ||
            (c->s->serial != serial && !weir_settings_follow(c->s, serial, &now)))
            return;
        if (in_overflow)
            weir_call_apply_to_overflow(c, &now);
        else
            weir_call_apply(c, key, &now, false);
    } while (c->changed);
}
