/* SPDX-License-Identifier: MIT */
/*
 * What fixed and sliding windows have in common: which window `now` lies in, and how long until
 * another one begins.
 *
 * Vocabulary
 *   position  what a payload says of a window: its number, or, where windows begin at a key's first
 *             hit, its start in grains of 2^grain_bits ns after the origin
 *   number    of a window that begins at a multiple of the period: those before it since the
 *             origin. On the calendar: days, weeks, months since 1970 in the zone, plus one
 *   unit      the payload of a position: 1 << the bits below it
 *
 * Guarantees (numbered as in the README)
 *   T1  `line` is told exactly; spans are exact, and WEIR_FOREVER where they do not fit in 64 bits.
 *   S5  An origin moves by whole numbers, or grains; it lies two periods further back than stale
 *       clocks do, so that no window that has not ended lies before it.
 *   P1  No division. On the calendar the zone's window is remembered (zone.h); telling the start of
 *       another one searches the zone's rules, which takes a search of some ten steps.
 *
 * Common subset of C11 and C++11.
 */
#ifndef WEIR_ALGORITHM_WINDOW_H
#define WEIR_ALGORITHM_WINDOW_H

#include "algorithm/operation.h"
#include "algorithm/origin.h"
#include "algorithm/scale.h"
#include "zone.h"

#include <errno.h>

#define WEIR_WINDOW_PERIOD_MIN WEIR_MILLISECOND
#define WEIR_WINDOW_PERIOD_MAX (366 * WEIR_DAY)
#define WEIR_WINDOW_COUNT_MAX  (((uint64_t)1 << 24) - 1)

static inline unsigned weir_window_bits(uint64_t count)
{
    return count == 0 ? 1 : 64 - (unsigned)__builtin_clzll(count);
}

/* Whether a window begins where a key's first hit falls. */
static inline bool weir_window_from_hit(const struct weir_meter *m)
{
    return m->kind == WEIR_FIXED_WINDOW && m->form == WEIR_FORM_PLAIN;
}

static inline bool weir_window_on_calendar(const struct weir_meter *m)
{
    return m->form == WEIR_FORM_CALENDAR;
}

/* ---- instants ---- */

/* A number that is never below 0 for the times that there are: zones are at most a day behind. */
#define WEIR_WINDOW_CALENDAR_BIAS 1

static inline bool weir_window_calendar_instant(const struct weir_meter *m, weir_ns now,
                                                struct weir_instant *at)
{
    struct weir_zone_window window;
    uint64_t second = now / WEIR_SECOND;
    weir_zone_window_at((const struct weir_zone *)m->zone, (enum weir_calendar)m->policy.calendar,
                        (int64_t)second, &window);
    int64_t number = window.number + WEIR_WINDOW_CALENDAR_BIAS;
    at->line = number > 0 ? (uint64_t)number : 0;
    at->elapsed = now;
    at->into_grain = weir_modulo_sub(now, weir_modulo_mul((uint64_t)window.start, WEIR_SECOND));
    at->left = weir_modulo_sub(weir_modulo_mul((uint64_t)window.end, WEIR_SECOND), now);
    return true;
}

/* The number of a window since a fixed one, and how far into it; `now` is clamped. */
static inline uint64_t weir_window_number(const struct weir_meter *m, weir_ns now, uint64_t *into)
{
    uint64_t shifted = weir_now_clamped(now + m->shift);
    uint64_t number = weir_scale_divide(shifted, &m->ticks);
    *into = shifted - number * m->tick;
    return number;
}

/* Where `now` is; false when it is before the origin or past the line's end. */
static inline bool weir_window_instant(const struct weir_meter *m, weir_ns now,
                                       struct weir_instant *at)
{
    now = weir_now_clamped(now);
    if (weir_window_on_calendar(m))
        return weir_window_calendar_instant(m, now, at);
    if (weir_window_from_hit(m)) {
        at->into_grain = 0;
        at->elapsed = weir_modulo_sub(now, (uint64_t)m->origin);
    } else {
        at->elapsed =
            weir_modulo_sub(weir_window_number(m, now, &at->into_grain), (uint64_t)m->origin);
    }
    at->line = at->elapsed;
    return at->elapsed <= m->elapsed_max;
}

/* The same for any `now`: before the origin it counts as the origin, but for spans; past the end
   time stands still. */
static inline void weir_window_instant_clamped(const struct weir_meter *m, weir_ns now,
                                               struct weir_instant *at)
{
    if (weir_window_instant(m, now, at))
        return;
    /* What `now` counts as from 0 on; a negative origin may be 2^63 and more before it. */
    int64_t counted =
        (int64_t)weir_modulo_sub(at->elapsed, weir_modulo_sub(0, (uint64_t)m->origin));
    if (counted < m->origin) {
        at->line = 0;
        return;
    }
    at->line = at->elapsed = m->elapsed_max;
    at->into_grain = 0;
}

static inline weir_ns weir_window_clip(weir_i128 span)
{
    if (span < 0)
        return 0;
    return span < (weir_i128)WEIR_FOREVER ? (weir_ns)span : WEIR_FOREVER;
}

/* Days until the year 2380: past all times that there are. */
#define WEIR_WINDOW_CALENDAR_MAX 150000

/* The unix time, in seconds, at which the window of a position begins; calendar windows. */
static inline int64_t weir_window_calendar_start(const struct weir_meter *m, uint64_t position)
{
    int64_t number =
        position < WEIR_WINDOW_CALENDAR_MAX ? (int64_t)position : WEIR_WINDOW_CALENDAR_MAX;
    return weir_zone_window_start((const struct weir_zone *)m->zone,
                                  (enum weir_calendar)m->policy.calendar,
                                  number - WEIR_WINDOW_CALENDAR_BIAS);
}

/* Span until the window of a position begins, negative if it has: in ns. */
static inline weir_i128 weir_window_until(const struct weir_meter *m, const struct weir_instant *at,
                                          uint64_t position)
{
    if (weir_window_from_hit(m))
        return (weir_i128)((weir_u128)position << m->grain_bits) - (int64_t)at->elapsed;
    if (weir_window_on_calendar(m)) {
        if (position == at->line + 1 && at->left != 0)
            return (weir_i128)at->left;
        return (weir_i128)weir_window_calendar_start(m, position) * (weir_i128)WEIR_SECOND -
               (weir_i128)at->elapsed;
    }
    weir_i128 numbers = (weir_i128)position - (int64_t)at->elapsed;
    return numbers * (weir_i128)m->tick - (weir_i128)at->into_grain;
}

/* n fewer in the newest window, whose count is the lowest part of a payload. */
static inline struct weir_step weir_window_give_back(const struct weir_meter *m, uint64_t payload,
                                                     uint64_t n)
{
    uint64_t count = payload & (((uint64_t)1 << m->count_bits) - 1);
    uint64_t back = count < n ? count : n;
    struct weir_step step = {WEIR_ALLOWED, back != 0, payload - back, back, 0, 0, 0};
    return step;
}

/* ---- origins: not on the decision path ---- */

/* Sets the origin, and with it what can be told after it. */
static inline void weir_window_set_origin(struct weir_meter *m, int64_t origin)
{
    uint64_t unit_bits = (uint64_t)__builtin_ctzll(m->units);
    uint64_t positions = (m->span >> unit_bits) / 2;
    uint64_t into;
    bool hit = weir_window_from_hit(m);
    weir_i128 last = hit ? INT64_MAX : (weir_i128)weir_window_number(m, INT64_MAX, &into);
    weir_i128 reach = hit ? (weir_i128)positions << m->grain_bits : (weir_i128)positions;
    last -= origin;
    m->origin = origin;
    m->elapsed_max = (uint64_t)(reach < last ? reach : last);
}

/* How far before `now` an origin lies: stale clocks and two windows; at most half of what can be
   told. */
static inline weir_i128 weir_window_back(const struct weir_meter *m, weir_ns stale_max)
{
    uint64_t unit_bits = (uint64_t)__builtin_ctzll(m->units);
    weir_i128 half = (weir_i128)((m->span >> unit_bits) / 4);
    weir_i128 back = (weir_i128)stale_max + 2 * (weir_i128)m->tick;
    half = weir_window_from_hit(m) ? half << m->grain_bits : half * (weir_i128)m->tick;
    return back < half ? back : half;
}

/* Whether `now`, which is not on the line, is too far from it to count as its nearer end. */
static inline bool weir_window_needs_origin(const struct weir_meter *m, weir_ns now,
                                            weir_ns stale_max)
{
    struct weir_instant at;
    if (weir_window_on_calendar(m) || weir_window_instant(m, now, &at))
        return false;
    if (m->wall) /* set back: no window there is the nearer end of the line */
        return true;
    weir_i128 grain = weir_window_from_hit(m) ? 1 : (weir_i128)m->tick;
    weir_i128 before = -(weir_i128)(int64_t)at.elapsed * grain;
    return before < 0 || before > (weir_i128)stale_max;
}

/* As weir_bucket_move_origin. */
static inline bool weir_window_move_origin(struct weir_meter *m, weir_ns now, weir_ns stale_max,
                                           bool from_older, int64_t *steps, uint64_t *born)
{
    struct weir_instant at;
    weir_i128 origin = (weir_i128)now - weir_window_back(m, stale_max);
    if (!weir_window_from_hit(m))
        origin = weir_scale_floor(origin + (weir_i128)m->shift, (weir_i128)m->tick);
    int64_t moved;
    if (!weir_origin_next(m, origin, from_older, steps, &moved))
        return false;
    weir_window_set_origin(m, moved);
    bool told = weir_window_instant(m, now, &at);
    *born = at.line;
    return told;
}

/* The first origin of a meter that is told one. */
static inline void weir_window_start(struct weir_meter *m, weir_ns origin)
{
    uint64_t into;
    if (weir_window_on_calendar(m))
        m->elapsed_max = UINT64_MAX;
    else if (weir_window_from_hit(m))
        weir_window_set_origin(m, (int64_t)origin);
    else
        weir_window_set_origin(m, (int64_t)weir_window_number(m, origin, &into));
}

/* The payload under an origin that lies `steps` steps later; `full` is what becomes of one that
   lies too far ahead of it. */
static inline uint64_t weir_window_rebase(const struct weir_meter *m, uint64_t payload,
                                          weir_i128 steps, uint64_t full)
{
    weir_i128 unit = m->units != 0 ? (weir_i128)m->units : 1;
    weir_i128 rebased = (weir_i128)payload - steps * unit;
    if (payload == 0 || rebased <= 0)
        return 0;
    return rebased > (weir_i128)m->span ? full : (uint64_t)rebased;
}

/* The numbers of a window's policy that all kinds share; `below` is how many bits of a payload are
   no position. */
static inline void weir_window_prepare(struct weir_meter *m, const struct weir_policy *policy,
                                       const struct weir_room *room, unsigned below)
{
    m->burst = policy->limit;
    m->token = m->grains = 1;
    m->tick = policy->period;
    m->units = (uint64_t)1 << below;
    m->span = ((uint64_t)1 << room->payload_bits) - 1;
    m->wall = policy->form == WEIR_FORM_ALIGNED || policy->form == WEIR_FORM_CALENDAR;
    if (policy->period != 0)
        m->ticks = weir_scale_divisor(policy->period);
}

static inline bool weir_window_in_range(const struct weir_policy *policy)
{
    if (policy->limit > WEIR_WINDOW_COUNT_MAX)
        return false;
    return policy->form == WEIR_FORM_CALENDAR ||
           (policy->period >= WEIR_WINDOW_PERIOD_MIN && policy->period <= WEIR_WINDOW_PERIOD_MAX);
}

#endif
