/* SPDX-License-Identifier: MIT */
/*
 * Fixed windows, as pure functions on a payload: from a key's first hit, aligned to unix time, or
 * on the calendar of a zone.
 *
 *   payload   | position | ahead | count |       count_bits + 1 bits are no position
 *
 * Vocabulary
 *   newest    the window in the payload: the last one that a token was taken from
 *   ahead     set by a reservation: the newest window had not begun by the clock of who wrote it.
 *             Not set: it had, and a `now` before it is a clock that is behind
 *   ended     as never used. A payload with count 0, and not ahead, is so from its position on
 *   running   `now` lies in the newest window, or is behind it
 *
 * Equations
 *   granted   iff n <= limit, and the newest window has room for n (wait until it begins), or else
 *             the next one, which has not been used, begins within the max wait. That closes the
 *             window before it for the key
 *   idle      iff ended
 *
 * Guarantees (numbered as in the README)
 *   S1  At most `limit` tokens in each window, of which no two overlap; each lasts a whole period.
 *   S2  A window from the first hit lasts up to one grain longer.
 *   T1  A stale `now` counts as the beginning of the newest window. Unix time may be set back: a
 *       window that lies further ahead than one window, or, when it was reserved, than the longest
 *       wait ever granted and one window, counts as ended. What `now` itself is behind the newest
 *       one is no such step, and is added to that. (In a cell neither is known: a window reserved
 *       is always believed, and all that is behind is a step.)
 *   P1  No loop but the zone's search for a window other than this one and the next.
 *
 * Common subset of C11 and C++11, except weir_fixed_prepare, which is not on the decision path.
 */
#ifndef WEIR_ALGORITHM_FIXED_WINDOW_H
#define WEIR_ALGORITHM_FIXED_WINDOW_H

#include "algorithm/window.h"

/* Where a payload can lie from `now`. */
enum weir_fixed_where { WEIR_FIXED_ENDED, WEIR_FIXED_RUNNING, WEIR_FIXED_AHEAD };

struct weir_fixed {
    enum weir_fixed_where where;
    bool later;        /* ended: but it may not be for other clocks, so that it is kept */
    uint64_t position; /* ended: where a window begins at the earliest */
    uint64_t count;
    weir_ns wait; /* ahead: until it begins */
};

/* What the longest window of a calendar unit lasts, clocks being put back by two hours in it. */
static inline weir_ns weir_fixed_longest(const struct weir_policy *policy)
{
    weir_ns days = policy->calendar == WEIR_CALENDAR_DAY    ? 1
                   : policy->calendar == WEIR_CALENDAR_WEEK ? 7
                                                            : 31;
    return days * WEIR_DAY + 2 * WEIR_HOUR;
}

/* 0, or -ERANGE: the limit, the period, or both together do not fit the payload. -EINVAL, -ENOENT,
   -ENOMEM, -EIO: the zone. */
static inline int weir_fixed_prepare(struct weir_meter *m, const struct weir_policy *policy,
                                     const struct weir_room *room)
{
    if (!weir_window_in_range(policy))
        return -ERANGE;
    unsigned bits = weir_window_bits(policy->limit);
    bits = bits > room->count_bits ? bits : room->count_bits;
    m->count_bits = (uint8_t)bits;
    weir_window_prepare(m, policy, room, bits + 1);
    unsigned half_bits = room->payload_bits - bits - 2; /* of the positions */
    if (policy->form == WEIR_FORM_CALENDAR) {
        m->tick = weir_fixed_longest(policy);
        m->zone = room->zone;
        return m->zone != NULL ? 0
                               : weir_zone_find(policy->zone, (const struct weir_zone **)&m->zone);
    }
    if (policy->form == WEIR_FORM_ALIGNED) {
        weir_i128 offset = (weir_i128)policy->utc_offset_s * (weir_i128)WEIR_SECOND;
        weir_i128 period = (weir_i128)policy->period;
        m->shift = (uint64_t)((offset % period + period) % period);
        weir_u128 lasts = (weir_u128)policy->period << half_bits;
        return lasts >= room->lasts_aligned ? 0 : -ERANGE;
    }
    weir_u128 lasts = (weir_u128)room->lasts + 4 * (weir_u128)policy->period;
    while ((weir_u128)1 << (half_bits + m->grain_bits) < lasts)
        m->grain_bits++;
    m->grains = (uint64_t)1 << m->grain_bits;
    return 0;
}

static inline bool weir_fixed_is_timeless(const struct weir_meter *m)
{
    return weir_window_on_calendar(m);
}

static inline void weir_fixed_start(struct weir_meter *m, weir_ns origin, uint64_t line_max)
{
    (void)line_max; /* half of the positions, as everywhere */
    weir_window_start(m, origin);
}

static inline bool weir_fixed_can_grant(const struct weir_meter *m, uint64_t n)
{
    return n != 0 && n <= m->burst;
}

static inline bool weir_fixed_instant(const struct weir_meter *m, weir_ns now,
                                      struct weir_instant *at)
{
    return weir_window_instant(m, now, at);
}

static inline void weir_fixed_instant_clamped(const struct weir_meter *m, weir_ns now,
                                              struct weir_instant *at)
{
    weir_window_instant_clamped(m, now, at);
}

/* ---- reading ---- */

static inline uint64_t weir_fixed_payload(const struct weir_meter *m, uint64_t position, bool ahead,
                                          uint64_t count)
{
    return ((position << 1 | (uint64_t)ahead) << m->count_bits) | count;
}

static inline uint64_t weir_fixed_position_max(const struct weir_meter *m)
{
    if (weir_window_on_calendar(m))
        return WEIR_WINDOW_CALENDAR_MAX - 1;
    return m->span >> (m->count_bits + 1);
}

static inline struct weir_fixed weir_fixed_ended(uint64_t position, bool later)
{
    struct weir_fixed f = {WEIR_FIXED_ENDED, later, position, 0, 0};
    return f;
}

/* What a clock can be behind the newest one without anybody knowing. */
#define WEIR_FIXED_BLUR (2 * WEIR_SECOND)

/* By what `now` may be behind, which is not to be taken for a step of unix time. Where no clock was
   seen yet (newest 0) it may be any: a call that has no `now` may move words that a change has
   made. */
static inline weir_i128 weir_fixed_guard(const struct weir_instant *at, bool *recent)
{
    if (at->newest == NULL) {
        *recent = at->recent;
        return (weir_i128)at->guard;
    }
    /* Relaxed: raised before the word was published, which was loaded with acquire. */
    uint64_t newest = weir_load_relaxed(at->newest);
    weir_ns behind = newest > at->now ? newest - at->now : 0;
    if (behind < at->guard)
        behind = at->guard;
    *recent = newest != 0 && behind <= at->stale_max;
    return *recent ? (weir_i128)behind + (weir_i128)WEIR_FIXED_BLUR : (weir_i128)at->guard;
}

/* A numbered window that lies ahead of `now`. */
static inline struct weir_fixed weir_fixed_read_ahead(const struct weir_meter *m, bool ahead,
                                                      struct weir_fixed f,
                                                      const struct weir_instant *at)
{
    bool recent;
    weir_i128 guard = weir_fixed_guard(at, &recent);
    weir_i128 until = weir_window_until(m, at, f.position);
    weir_i128 window = weir_window_on_calendar(m) ? weir_window_until(m, at, at->line + 1)
                                                  : (weir_i128)m->tick - (int64_t)at->into_grain;
    if (!ahead) {
        if (until > window + guard)
            return weir_fixed_ended(at->line, !recent);
        return f.count == 0 ? weir_fixed_ended(f.position, true) : f;
    }
    /* Relaxed: raised before the word was published, which was loaded with acquire. */
    weir_i128 reach = at->reach != NULL ? (weir_i128)weir_load_relaxed(at->reach) : 0;
    if (at->reach != NULL && until > reach + (weir_i128)m->tick + guard)
        return weir_fixed_ended(at->line, !recent);
    f.wait = weir_window_clip(until);
    f.where = f.wait != 0 ? WEIR_FIXED_AHEAD : WEIR_FIXED_RUNNING;
    return f;
}

static inline struct weir_fixed weir_fixed_read(const struct weir_meter *m, uint64_t payload,
                                                const struct weir_instant *at)
{
    uint64_t count = payload & (((uint64_t)1 << m->count_bits) - 1);
    bool ahead = (payload >> m->count_bits & 1) != 0;
    struct weir_fixed f = {WEIR_FIXED_RUNNING, false, payload >> (m->count_bits + 1), count, 0};
    if (weir_window_from_hit(m)) {
        uint64_t grain = ((uint64_t)1 << m->grain_bits) - 1;
        uint64_t start = f.position << m->grain_bits;
        uint64_t begins = (at->line + grain) >> m->grain_bits; /* a window that does so now */
        if (start + m->tick <= at->line)
            return weir_fixed_ended(begins, false);
        if (count == 0 && !ahead)
            return weir_fixed_ended(begins > f.position ? begins : f.position, start > at->line);
        if (__builtin_expect(ahead && start > at->line, 0)) {
            f.where = WEIR_FIXED_AHEAD;
            f.wait = weir_modulo_sub(start, at->elapsed);
        }
        return f;
    }
    if (f.position < at->line)
        return weir_fixed_ended(at->line, false);
    if (__builtin_expect(f.position > at->line, 0))
        return weir_fixed_read_ahead(m, ahead, f, at);
    return count == 0 && !ahead ? weir_fixed_ended(at->line, false) : f;
}

/* The window after one: from the first hit the earliest grain at which it can begin. */
static inline uint64_t weir_fixed_next(const struct weir_meter *m, uint64_t position)
{
    if (weir_window_from_hit(m)) {
        uint64_t grain = ((uint64_t)1 << m->grain_bits) - 1;
        return position + ((m->tick + grain) >> m->grain_bits);
    }
    if (weir_window_on_calendar(m)) {
        /* Not one that the zone has left out. */
        struct weir_zone_window window;
        weir_zone_window_at((const struct weir_zone *)m->zone,
                            (enum weir_calendar)m->policy.calendar,
                            weir_window_calendar_start(m, position + 1), &window);
        uint64_t next = (uint64_t)(window.number + WEIR_WINDOW_CALENDAR_BIAS);
        return next > position ? next : position + 1;
    }
    return position + 1;
}

/* Span until the window of a position has ended. */
static inline weir_ns weir_fixed_end(const struct weir_meter *m, const struct weir_instant *at,
                                     uint64_t position)
{
    if (weir_window_from_hit(m))
        return weir_window_clip(weir_window_until(m, at, position) + (weir_i128)m->tick);
    return weir_window_clip(weir_window_until(m, at, position + 1));
}

static inline uint64_t weir_fixed_left(const struct weir_meter *m, const struct weir_fixed *f)
{
    if (f->where == WEIR_FIXED_AHEAD)
        return 0;
    return m->burst > f->count ? m->burst - f->count : 0;
}

static inline void weir_fixed_describe(const struct weir_meter *m, uint64_t payload,
                                       const struct weir_instant *at, struct weir_result *result)
{
    struct weir_fixed f = weir_fixed_read(m, payload, at);
    result->remaining = weir_fixed_left(m, &f);
    result->reset = f.where == WEIR_FIXED_ENDED ? 0 : weir_fixed_end(m, at, f.position);
}

static inline bool weir_fixed_is_idle(const struct weir_meter *m, uint64_t payload,
                                      const struct weir_instant *at)
{
    struct weir_fixed f = weir_fixed_read(m, payload, at);
    return f.where == WEIR_FIXED_ENDED && !f.later;
}

/* ---- steps ---- */

/* Whether a window that begins at a position begins after the call, which lies `early` before the
   instant. */
static inline bool weir_fixed_is_ahead(const struct weir_meter *m, const struct weir_instant *at,
                                       uint64_t position, weir_ns early)
{
    return early != 0 && weir_window_until(m, at, position) + (weir_i128)early > 0;
}

/* The grant of n in the next window, if that begins in time; *step is a denial. */
static inline void weir_fixed_admit_next(const struct weir_meter *m, const struct weir_fixed *f,
                                         uint64_t n, weir_ns max_wait,
                                         const struct weir_instant *at, struct weir_step *step)
{
    step->verdict = WEIR_DENIED;
    step->wait = weir_fixed_end(m, at, f->position);
    if (max_wait < step->wait || step->wait == WEIR_FOREVER)
        return;
    uint64_t next = weir_fixed_next(m, f->position);
    weir_ns wait = weir_window_clip(weir_window_until(m, at, next));
    if (wait > max_wait || wait == WEIR_FOREVER || next > weir_fixed_position_max(m))
        return;
    step->verdict = WEIR_ALLOWED;
    step->wait = wait;
    step->write = true;
    step->count = n;
    step->payload = step->slot = weir_fixed_payload(m, next, true, n);
}

/* n tokens within max_wait, or nothing; n = 0 asks whether a window is open by then. */
static inline struct weir_step weir_fixed_admit(const struct weir_meter *m, uint64_t payload,
                                                const struct weir_operation *op,
                                                const struct weir_instant *at)
{
    struct weir_step step = {WEIR_NEVER, false, payload, 0, WEIR_FOREVER, 0, 0};
    uint64_t n = op->n;
    if (n > m->burst)
        return step;
    struct weir_fixed f = weir_fixed_read(m, payload, at);
    if (n == 0) {
        step.wait = f.wait;
        bool told = f.wait <= op->max_wait && f.wait != WEIR_FOREVER;
        step.verdict = told ? WEIR_ALLOWED : WEIR_DENIED;
        return step;
    }
    if (__builtin_expect(f.count > m->burst - n, 0)) {
        weir_fixed_admit_next(m, &f, n, op->max_wait, at, &step);
        return step;
    }
    step.wait = f.wait;
    if (__builtin_expect(f.wait > op->max_wait || f.wait == WEIR_FOREVER ||
                             f.position > weir_fixed_position_max(m),
                         0)) {
        step.verdict = WEIR_DENIED;
        return step;
    }
    bool ahead = f.wait != 0 || weir_fixed_is_ahead(m, at, f.position, op->early);
    step.verdict = WEIR_ALLOWED;
    step.write = true;
    step.count = n;
    step.payload = step.slot = weir_fixed_payload(m, f.position, ahead, f.count + n);
    return step;
}

/* Whether the newest window lies where most do: now, or in the past, so that one begins. *position
   becomes that of the one that counts, and *left the span until it ends. */
static inline __attribute__((always_inline)) bool weir_fixed_usual(const struct weir_meter *m,
                                                                   const struct weir_instant *at,
                                                                   uint64_t *position,
                                                                   uint64_t *count, uint64_t *left)
{
    if (weir_window_from_hit(m)) {
        uint64_t grain = ((uint64_t)1 << m->grain_bits) - 1;
        uint64_t start = *position << m->grain_bits;
        bool later = *count == 0 && start > at->line;
        if (start + m->tick <= at->line || *count == 0) {
            *position = (at->line + grain) >> m->grain_bits;
            *count = 0;
        }
        *left = (*position << m->grain_bits) + m->tick - at->line;
        return at->line == at->elapsed && !later;
    }
    if (*position > at->line)
        return false;
    if (*position != at->line)
        *count = 0;
    *position = at->line;
    if (weir_window_on_calendar(m)) {
        *left = at->left;
        return at->left != 0;
    }
    *left = m->tick - at->into_grain;
    return at->line == at->elapsed;
}

/* See weir_algorithm_quick. */
static inline bool weir_fixed_quick(const struct weir_meter *m, uint64_t *payload, uint64_t n,
                                    const struct weir_instant *at, struct weir_result *result)
{
    uint64_t count = *payload & (((uint64_t)1 << m->count_bits) - 1);
    uint64_t position = *payload >> (m->count_bits + 1);
    uint64_t left;
    bool ahead = (*payload >> m->count_bits & 1) != 0;
    if (*payload == 0 || ahead || n == 0 || n > m->burst ||
        !weir_fixed_usual(m, at, &position, &count, &left))
        return false;
    result->reset = left;
    if (count <= m->burst - n) {
        count += n;
        *payload = weir_fixed_payload(m, position, false, count);
        result->verdict = WEIR_ALLOWED;
        result->wait = 0;
        result->remaining = m->burst - count;
        return true;
    }
    result->verdict = WEIR_DENIED;
    result->wait = left;
    result->remaining = m->burst > count ? m->burst - count : 0;
    return true;
}

/* `count` of the newest window, or of one that begins, becomes so many more. */
static inline struct weir_step weir_fixed_spend(const struct weir_meter *m, uint64_t payload,
                                                const struct weir_fixed *f, uint64_t count)
{
    struct weir_step step = {WEIR_ALLOWED, count != 0, payload, count, 0, 0, 0};
    if (f->position > weir_fixed_position_max(m))
        step.write = false, step.count = 0;
    else if (count != 0)
        step.payload =
            weir_fixed_payload(m, f->position, f->where == WEIR_FIXED_AHEAD, f->count + count);
    return step;
}

static inline struct weir_step weir_fixed_take(const struct weir_meter *m, uint64_t payload,
                                               uint64_t max, const struct weir_instant *at)
{
    struct weir_fixed f = weir_fixed_read(m, payload, at);
    uint64_t left = weir_fixed_left(m, &f);
    return weir_fixed_spend(m, payload, &f, left < max ? left : max);
}

/* Up to the limit: a count says no more. */
static inline struct weir_step weir_fixed_charge(const struct weir_meter *m, uint64_t payload,
                                                 uint64_t n, const struct weir_instant *at)
{
    struct weir_fixed f = weir_fixed_read(m, payload, at);
    uint64_t fit = m->burst > f.count ? m->burst - f.count : 0;
    return weir_fixed_spend(m, payload, &f, fit < n ? fit : n);
}

/* Into the window that runs: what was done before it is not counted any more, and what has been
   reserved after it was not done yet. */
static inline struct weir_step weir_fixed_refund(const struct weir_meter *m, uint64_t payload,
                                                 uint64_t n, const struct weir_instant *at)
{
    struct weir_fixed f = weir_fixed_read(m, payload, at);
    return weir_window_give_back(m, payload, f.where == WEIR_FIXED_RUNNING ? n : 0);
}

/* A payload of another origin under this one. */
static inline uint64_t weir_fixed_rebase(const struct weir_meter *m, uint64_t payload,
                                         weir_i128 steps, uint64_t line)
{
    /* Unix time was set back by more than windows can be told apart: they have ended. */
    uint64_t position = m->wall ? 0 : line >> m->grain_bits;
    uint64_t full = m->wall ? 0 : weir_fixed_payload(m, position, false, m->burst);
    return weir_window_rebase(m, payload, steps, full);
}

static inline uint64_t weir_fixed_from_origin(const struct weir_meter *m, uint64_t payload,
                                              int64_t origin)
{
    weir_i128 steps = ((weir_i128)m->origin - origin) >> m->grain_bits; /* whole grains */
    return weir_fixed_rebase(m, payload, steps, 0);
}

/*
 * What a reservation, or a grant to undo, gives back: to the bit what was there before, if it is
 * the last that was written; else n in its window, if that is the newest one still.
 */
static inline struct weir_step weir_fixed_cancel(const struct weir_meter *m, uint64_t payload,
                                                 const struct weir_operation *op)
{
    uint64_t after = op->slot;
    uint64_t before = op->before;
    unsigned below = m->count_bits + 1U;
    if (__builtin_expect(op->origin != m->origin, 0)) {
        after = weir_fixed_from_origin(m, after, op->origin);
        before = weir_fixed_from_origin(m, before, op->origin);
    }
    if (after == 0) /* of settings under which its window has ended */
        return weir_window_give_back(m, payload, 0);
    if (payload == after) {
        struct weir_step step = {WEIR_ALLOWED, true, before, op->n, 0, 0, 0};
        return step;
    }
    return weir_window_give_back(m, payload, payload >> below == after >> below ? op->n : 0);
}

/* n left, of the window at the instant. */
static inline struct weir_step weir_fixed_set(const struct weir_meter *m, uint64_t payload,
                                              uint64_t n, const struct weir_instant *at)
{
    struct weir_fixed f = weir_fixed_read(m, payload, at);
    struct weir_step step = {WEIR_ALLOWED, true, payload, 0, 0, 0, 0};
    uint64_t count = n < m->burst ? m->burst - n : 0;
    if (f.where == WEIR_FIXED_AHEAD)
        f = weir_fixed_read(m, 0, at);
    if (f.position > weir_fixed_position_max(m))
        step.write = false;
    else
        step.payload = weir_fixed_payload(m, f.position, false, count);
    return step;
}

/* One operation, by its verb. */
static inline struct weir_step weir_fixed_step(const struct weir_meter *m, uint64_t payload,
                                               const struct weir_operation *op,
                                               const struct weir_instant *at)
{
    switch (op->verb) {
    case WEIR_TAKE:
        return weir_fixed_take(m, payload, op->n, at);
    case WEIR_CHARGE:
        return weir_fixed_charge(m, payload, op->n, at);
    case WEIR_REFUND:
        return weir_fixed_refund(m, payload, op->n, at);
    case WEIR_CANCEL:
    case WEIR_UNDO:
        return weir_fixed_cancel(m, payload, op);
    case WEIR_SET:
        return weir_fixed_set(m, payload, op->n, at);
    case WEIR_ADMIT:
    case WEIR_PEEK:
        break;
    }
    struct weir_step step = weir_fixed_admit(m, payload, op, at);
    if (op->verb == WEIR_PEEK) {
        step.write = false;
        step.payload = payload;
    }
    return step;
}

/* ---- origins and settings that change: not on the decision path ---- */

static inline bool weir_fixed_needs_origin(const struct weir_meter *m, weir_ns now,
                                           weir_ns stale_max)
{
    return weir_window_needs_origin(m, now, stale_max);
}

static inline bool weir_fixed_move_origin(struct weir_meter *m, weir_ns now, weir_ns stale_max,
                                          bool from_older, int64_t *steps, uint64_t *born)
{
    return weir_window_move_origin(m, now, stale_max, from_older, steps, born);
}

/* Whether two settings number the same windows. */
static inline bool weir_fixed_is_alike(const struct weir_meter *a, const struct weir_meter *b)
{
    return a->form == b->form && a->tick == b->tick && a->shift == b->shift && a->zone == b->zone &&
           a->policy.calendar == b->policy.calendar && !weir_window_from_hit(a);
}

/*
 * The window that a payload of other settings becomes, at the change: its count, in the window that
 * runs then, or that it had been reserved for. From the first hit it keeps its beginning. What has
 * ended, or has by the new period, is never used.
 */
static inline uint64_t weir_fixed_reprice(const struct weir_meter *from, uint64_t payload,
                                          const struct weir_instant *at_from,
                                          const struct weir_meter *to,
                                          const struct weir_instant *at_to, bool is_slot)
{
    (void)is_slot; /* both are payloads */
    struct weir_fixed f = weir_fixed_read(from, payload, at_from);
    uint64_t most = ((uint64_t)1 << to->count_bits) - 1;
    uint64_t position = at_to->line;
    bool ahead = f.where == WEIR_FIXED_AHEAD;
    if (f.where == WEIR_FIXED_ENDED)
        return 0;
    if (weir_fixed_is_alike(from, to)) {
        weir_i128 number = (weir_i128)f.position + from->origin - to->origin;
        if (number < 0)
            return 0;
        position = number > (weir_i128)to->span ? to->span : (uint64_t)number;
    } else if (weir_window_from_hit(to)) {
        weir_i128 start = weir_window_until(from, at_from, f.position) + (int64_t)at_to->elapsed;
        if (start < 0) /* before a cell's origin: it lasts longer, not shorter */
            start = 0;
        if (start + (weir_i128)to->tick <= (weir_i128)at_to->line)
            return 0;
        weir_i128 grain = ((weir_i128)1 << to->grain_bits) - 1;
        start = (start + grain) >> to->grain_bits;
        position = start > (weir_i128)to->span ? to->span : (uint64_t)start;
    } else if (ahead) {
        struct weir_instant begin = *at_to;
        weir_ns now = weir_window_on_calendar(to)
                          ? at_to->elapsed
                          : (at_to->elapsed + (uint64_t)to->origin) * to->tick + at_to->into_grain -
                                to->shift;
        weir_window_instant_clamped(
            to, f.wait < INT64_MAX - now ? now + f.wait : (weir_ns)INT64_MAX, &begin);
        position = begin.line;
        ahead = position > at_to->line;
    }
    if (position > weir_fixed_position_max(to))
        position = weir_fixed_position_max(to);
    return weir_fixed_payload(to, position, ahead, f.count < most ? f.count : most);
}

#endif
