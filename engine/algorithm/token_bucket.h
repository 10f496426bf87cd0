/* SPDX-License-Identifier: MIT */
/*
 * Token bucket, and with it the pacer and the refill bucket, as pure functions on a payload.
 *
 * Vocabulary
 *   grain     the step of time: 1 ns, or the tick of a refill bucket
 *   unit      what a payload counts; a grain is units/grains of them, a token a whole number
 *   V(now)    the time line in units, floor((now - origin) * units / grains)
 *   payload   the instant, in units, at which the bucket would be full again if nothing more were
 *             taken: the zero instant (balance 0) plus the capacity. 0: never used, or forgotten
 *   base      max(payload, V): a full bucket accrues nothing
 *   balance   V + capacity - base, in units; negative = debt
 *
 * Equations
 *   next      = base + n * token
 *   granted   iff n <= burst and the span until V + capacity >= next is at most the max wait
 *   idle      iff payload <= V
 *
 * Guarantees (numbered as in the README)
 *   S1  V is exact: floor, no drift, no dependence on how often it is asked. At one instant it is
 *   S2  the same for the base and for the test. In the exact form (grains = 1) nothing is rounded
 *       at all; else two instants are apart by less than one unit more or less than they are.
 *   S7  A grant adds exactly n tokens; a refund takes away whole tokens or ends at full.
 *   T1  A stale V mints nothing: max() never lets a payload fall, but for what gives back.
 *   P1  No loop, no division, no floating point, no overflow for any payload up to `span`.
 *
 * Not guaranteed: that a stale `now` is granted what the latest `now` would be; that a refund
 * made at a stale `now` gives as little back as one made at the latest.
 *
 * Common subset of C11 and C++11, except weir_bucket_prepare, which is not on the decision path.
 */
#ifndef WEIR_ALGORITHM_TOKEN_BUCKET_H
#define WEIR_ALGORITHM_TOKEN_BUCKET_H

#include "algorithm/operation.h"
#include "algorithm/origin.h"
#include "algorithm/scale.h"

#include <errno.h>

/* (burst + 1) tokens take at most 2^55 units: capacity, debt and span then add up below 2^58. */
#define WEIR_BUCKET_CAPACITY_MAX ((uint64_t)1 << 55)

/* What the time line may reach before a limit needs a new origin: half of 58 bits. */
#define WEIR_BUCKET_LINE_MAX ((uint64_t)1 << 57)

/* That half lasts at least so long: an honest clock then needs no new origin for half a year. */
#define WEIR_BUCKET_LINE_DAYS 180

static inline weir_u128 weir_bucket_gcd(weir_u128 a, weir_u128 b)
{
    while (b != 0) {
        weir_u128 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* token, units and grains for `a / c` tokens a grain in lowest terms. 0, or -ERANGE. */
static inline int weir_bucket_units(struct weir_meter *m, uint64_t a, uint64_t c,
                                    weir_u128 grains_min)
{
    weir_u128 tokens = (weir_u128)m->burst + 1;
    /* At one nanosecond a grain that is so for a <= 9. */
    if (grains_min * a <= WEIR_BUCKET_LINE_MAX && tokens * c <= WEIR_BUCKET_CAPACITY_MAX) {
        m->token = c;
        m->units = a;
        m->grains = 1;
        return 0;
    }
    weir_u128 lasts = (weir_u128)c * 2 > grains_min ? (weir_u128)c * 2 : grains_min;
    weir_u128 fit = WEIR_BUCKET_CAPACITY_MAX / tokens;
    weir_u128 long_enough = (weir_u128)WEIR_BUCKET_LINE_MAX * c / lasts / a;
    uint64_t token = (uint64_t)(fit < long_enough ? fit : long_enough);
    if (token == 0)
        return -ERANGE;
    int power = 63 - __builtin_clzll(token);
    int common = __builtin_ctzll(c) < power ? __builtin_ctzll(c) : power;
    m->token = (uint64_t)1 << power;
    m->units = a << (power - common);
    m->grains = c >> common;
    return m->grains > WEIR_SCALE_DIVISOR_MAX ? -ERANGE : 0;
}

/*
 * The numbers of a policy whose fields are valid: all of the meter but mark, origin, elapsed_max
 * and policy. 0, or -ERANGE when the policy cannot be kept exactly.
 */
static inline int weir_bucket_prepare(struct weir_meter *m, const struct weir_policy *policy,
                                      const struct weir_room *room)
{
    m->span = ((uint64_t)1 << room->payload_bits) - 1;
    m->burst = policy->burst;
    m->tick = policy->tick;
    m->token = m->grains = 1;
    m->units = 0;
    if (policy->tick > INT64_MAX || (weir_u128)policy->burst + 1 > WEIR_BUCKET_CAPACITY_MAX)
        return -ERANGE;
    if (policy->tick != 0)
        m->ticks = weir_scale_divisor(policy->tick);
    if (policy->limit != 0) {
        uint64_t grain = policy->tick != 0 ? policy->tick : 1;
        weir_u128 added = (weir_u128)policy->limit * grain;
        weir_u128 common = weir_bucket_gcd(added, policy->period);
        if (added / common > UINT64_MAX)
            return -ERANGE;
        weir_u128 grains_min = ((weir_u128)WEIR_DAY * WEIR_BUCKET_LINE_DAYS + grain - 1) / grain;
        int error = weir_bucket_units(m, (uint64_t)(added / common),
                                      (uint64_t)(policy->period / common), grains_min);
        if (error != 0)
            return error;
        m->line = weir_scale_ratio(m->units, m->grains);
        m->length = weir_scale_ratio(m->grains, m->units);
    } else {
        m->length.left = 63; /* no line is ever reached: nothing fits, see weir_bucket_span */
    }
    m->tokens = weir_scale_divisor(m->token);
    if (m->tick == 0 && m->units == m->grains && m->token >= 2)
        m->plain = 1;
    m->capacity = m->burst * m->token;
    return 0;
}

/* Nothing accrues: time does not matter. */
static inline bool weir_bucket_is_timeless(const struct weir_meter *m)
{
    return m->units == 0;
}

/* Whether a grant of n tokens is possible at all, and writes. */
static inline bool weir_bucket_can_grant(const struct weir_meter *m, uint64_t n)
{
    return n != 0 && n <= m->burst;
}

/* The grain that `now`, as weir_now_clamped gives it, lies in. */
static inline uint64_t weir_bucket_grain(const struct weir_meter *m, weir_ns now)
{
    return m->tick == 0 ? now : weir_scale_divide(now, &m->ticks);
}

static inline uint64_t weir_bucket_line(const struct weir_meter *m, uint64_t elapsed)
{
    return m->grains == 1 ? elapsed * m->units : weir_scale_down(elapsed, &m->line);
}

/*
 * Sets the origin, and with it the grains after it that can be told: as far as V may reach, and no
 * further than the last `now` there is, so that what lies before the origin never looks like it.
 */
static inline void weir_bucket_set_origin(struct weir_meter *m, int64_t origin, uint64_t line_max)
{
    weir_i128 last = (weir_i128)weir_bucket_grain(m, INT64_MAX) - origin;
    m->origin = origin;
    if (m->units != 0) {
        weir_i128 reach = (weir_i128)line_max * (weir_i128)m->grains / (weir_i128)m->units;
        last = reach < last ? reach : last;
    }
    m->elapsed_max = (uint64_t)last;
    m->plain_end = m->plain ? m->elapsed_max + 1 : 0;
}

/* The first origin of a meter that is told one. */
static inline void weir_bucket_start(struct weir_meter *m, weir_ns origin, uint64_t line_max)
{
    weir_bucket_set_origin(m, (int64_t)weir_bucket_grain(m, origin), line_max);
}

/* Where `now` is on the meter's line; false when it is before the origin or past the line's end. */
static inline bool weir_bucket_instant(const struct weir_meter *m, weir_ns now,
                                       struct weir_instant *at)
{
    now = weir_now_clamped(now);
    uint64_t grain = weir_bucket_grain(m, now);
    at->elapsed = weir_modulo_sub(grain, (uint64_t)m->origin);
    at->into_grain = m->tick == 0 ? 0 : now - grain * m->tick;
    if (at->elapsed > m->elapsed_max)
        return false;
    at->line = weir_bucket_line(m, at->elapsed);
    return true;
}

/* The same for any `now`: before the origin V is 0, past the end time stands still. */
WEIR_SCALE_COLD void weir_bucket_instant_clamped(const struct weir_meter *m, weir_ns now,
                                                 struct weir_instant *at)
{
    if (weir_bucket_instant(m, now, at))
        return;
    int64_t grain = (int64_t)weir_bucket_grain(m, weir_now_clamped(now));
    if (grain < m->origin) {
        at->line = 0;
        return;
    }
    at->elapsed = m->elapsed_max;
    at->line = weir_bucket_line(m, at->elapsed);
}

/* weir_bucket_span where a step towards it may not fit in 64 bits. */
WEIR_SCALE_COLD weir_ns weir_bucket_span_wide(const struct weir_meter *m,
                                              const struct weir_instant *at, uint64_t line)
{
    if (m->units == 0)
        return WEIR_FOREVER;
    weir_u128 grain = weir_scale_up_wide(line, &m->length);
    /* Before the origin `elapsed` is negative. After it V is at least 1 where it is as large. */
    bool before = at->line == 0 && at->elapsed > INT64_MAX;
    weir_i128 grains = (weir_i128)grain - at->elapsed + ((weir_i128)before << 64);
    if (grain >= WEIR_SCALE_UP_MAX || grains > (weir_i128)UINT64_MAX)
        return WEIR_FOREVER;
    uint64_t tick = m->tick != 0 ? m->tick : 1;
    weir_u128 span = (weir_u128)grains * tick - at->into_grain;
    return span < WEIR_FOREVER ? (weir_ns)span : WEIR_FOREVER;
}

/* Span until V reaches `line`, which is past at->line, rounded up; WEIR_FOREVER if it never does.
 */
static inline weir_ns weir_bucket_span(const struct weir_meter *m, const struct weir_instant *at,
                                       uint64_t line)
{
    /* The line is below 2^63 and `elapsed` is not below -2^63: the difference fits. */
    if (m->plain)
        return weir_modulo_sub(line, at->elapsed);
    if (__builtin_expect(!weir_scale_up_fits(line, &m->length), 0))
        return weir_bucket_span_wide(m, at, line);
    uint64_t grains = weir_modulo_sub(weir_scale_up(line, &m->length), at->elapsed);
    uint64_t span;
    if (m->tick == 0)
        return grains;
    if (__builtin_expect(__builtin_mul_overflow(grains, m->tick, &span), 0))
        return weir_bucket_span_wide(m, at, line);
    return span - at->into_grain;
}

static inline uint64_t weir_bucket_tokens_down(const struct weir_meter *m, uint64_t units)
{
    return weir_scale_divide(units, &m->tokens);
}

/* Of at least one unit. */
static inline uint64_t weir_bucket_tokens_up(const struct weir_meter *m, uint64_t units)
{
    return weir_bucket_tokens_down(m, units - 1) + 1;
}

/* What a key has with this payload: whole tokens left, and the span until it is as if unused. */
static inline void weir_bucket_describe(const struct weir_meter *m, uint64_t payload,
                                        const struct weir_instant *at, struct weir_result *result)
{
    uint64_t base = payload > at->line ? payload : at->line;
    uint64_t full = at->line + m->capacity;
    result->remaining = base < full ? weir_bucket_tokens_down(m, full - base) : 0;
    result->reset = payload > at->line ? weir_bucket_span(m, at, payload) : 0;
}

/* Whether the bucket is full, as an unused one is. */
static inline bool weir_bucket_is_idle(const struct weir_meter *m, uint64_t payload,
                                       const struct weir_instant *at)
{
    (void)m;
    return payload <= at->line;
}

/* weir_bucket_instant for a plain meter; only `line` is told. False for all others. */
static inline bool weir_bucket_plain_instant(const struct weir_meter *m, weir_ns now,
                                             struct weir_instant *at)
{
    at->line = weir_modulo_sub(now, (uint64_t)m->origin);
    return now <= INT64_MAX && at->line < m->plain_end;
}

/*
 * The quick form of what most decisions are: n tokens at once, or a denial. In parts, of which this
 * one needs no payload. False: weir_bucket_admit has to tell.
 */
static inline __attribute__((always_inline)) bool weir_bucket_ask(const struct weir_meter *m,
                                                                  uint64_t n, struct weir_ask *ask)
{
    int64_t cost;
    if (n == 0 || n > INT64_MAX || __builtin_mul_overflow((int64_t)n, (int64_t)m->token, &cost))
        return false;
    ask->cost = (uint64_t)cost;
    ask->room = weir_modulo_sub(m->capacity, ask->cost); /* of use where this is true */
    return ask->cost <= m->capacity;
}

/* True: *payload becomes what it is then, and *result the answer. `plain` is m->plain, a constant
   where it is known. */
static inline __attribute__((always_inline)) bool weir_bucket_grant(const struct weir_meter *m,
                                                                    const struct weir_ask *ask,
                                                                    const struct weir_instant *at,
                                                                    bool plain, uint64_t *payload,
                                                                    struct weir_result *result)
{
    uint64_t last = at->line + ask->room;
    if (*payload > last)
        return false;
    uint64_t left = weir_scale_lesser(last - *payload, ask->room);
    *payload = at->line + m->capacity - left;
    result->verdict = WEIR_ALLOWED;
    result->wait = 0;
    if (plain) {
        result->remaining = weir_scale_high(left, m->tokens.m) >> m->tokens.right;
        result->reset = m->capacity - left;
    } else {
        result->remaining = weir_bucket_tokens_down(m, left);
        result->reset = weir_bucket_span(m, at, *payload);
    }
    return true;
}

/* The answer to what weir_bucket_grant has refused. */
static inline __attribute__((always_inline)) void weir_bucket_deny(const struct weir_meter *m,
                                                                   const struct weir_ask *ask,
                                                                   const struct weir_instant *at,
                                                                   bool plain, uint64_t payload,
                                                                   struct weir_result *result)
{
    uint64_t used = payload > at->line ? payload - at->line : 0;
    uint64_t left = m->capacity > used ? m->capacity - used : 0;
    uint64_t due = used - ask->room;
    result->verdict = WEIR_DENIED;
    if (plain) {
        result->wait = due;
        result->remaining = weir_scale_high(left, m->tokens.m) >> m->tokens.right;
        result->reset = used;
    } else {
        result->wait = weir_bucket_span(m, at, at->line + due);
        result->remaining = weir_bucket_tokens_down(m, left);
        result->reset = weir_bucket_span(m, at, payload);
    }
}

/* The whole of it, for any meter: see weir_algorithm_quick. */
static inline __attribute__((always_inline)) bool weir_bucket_quick(const struct weir_meter *m,
                                                                    uint64_t *payload, uint64_t n,
                                                                    const struct weir_instant *at,
                                                                    struct weir_result *result)
{
    struct weir_ask ask;
    if (*payload == 0 || !weir_bucket_ask(m, n, &ask))
        return false;
    if (!weir_bucket_grant(m, &ask, at, false, payload, result))
        weir_bucket_deny(m, &ask, at, false, *payload, result);
    return true;
}

/* n tokens within max_wait, or nothing; n = 0 asks whether the key is out of debt by then. */
static inline struct weir_step weir_bucket_admit(const struct weir_meter *m, uint64_t payload,
                                                 uint64_t n, weir_ns max_wait,
                                                 const struct weir_instant *at)
{
    struct weir_step step = {WEIR_NEVER, false, payload, 0, WEIR_FOREVER, 0, 0};
    if (n > m->burst)
        return step;
    uint64_t base = payload > at->line ? payload : at->line;
    uint64_t full = at->line + m->capacity;
    uint64_t next = base + n * m->token;
    step.wait = 0;
    step.slot = full;
    if (next > full) {
        step.wait = weir_bucket_span(m, at, next - m->capacity);
        step.slot = next;
        if (step.wait > max_wait || step.wait == WEIR_FOREVER || next > m->span) {
            step.verdict = WEIR_DENIED;
            return step;
        }
    }
    step.verdict = WEIR_ALLOWED;
    step.write = n != 0;
    step.count = n;
    step.payload = n != 0 ? next : payload;
    return step;
}

/* `count` tokens taken from `base`; nothing to write when there are none. */
static inline struct weir_step weir_bucket_spend(const struct weir_meter *m, uint64_t payload,
                                                 uint64_t base, uint64_t count)
{
    struct weir_step step = {WEIR_ALLOWED, count != 0, payload, count, 0, 0, 0};
    if (count != 0)
        step.payload = base + count * m->token;
    return step;
}

/* Up to `max` whole tokens out of those that are there. */
static inline struct weir_step weir_bucket_take(const struct weir_meter *m, uint64_t payload,
                                                uint64_t max, const struct weir_instant *at)
{
    uint64_t base = payload > at->line ? payload : at->line;
    uint64_t full = at->line + m->capacity;
    uint64_t there = base < full ? weir_bucket_tokens_down(m, full - base) : 0;
    return weir_bucket_spend(m, payload, base, there < max ? there : max);
}

/* n tokens whatever is there, as far as the payload reaches. */
static inline struct weir_step weir_bucket_charge(const struct weir_meter *m, uint64_t payload,
                                                  uint64_t n, const struct weir_instant *at)
{
    uint64_t base = payload > at->line ? payload : at->line;
    uint64_t fit = base < m->span ? weir_bucket_tokens_down(m, m->span - base) : 0;
    return weir_bucket_spend(m, payload, base, fit < n ? fit : n);
}

/* n tokens back; the bucket ends at most full. A token missing in part takes a whole one. */
static inline struct weir_step weir_bucket_refund(const struct weir_meter *m, uint64_t payload,
                                                  uint64_t n, const struct weir_instant *at)
{
    struct weir_step step = {WEIR_ALLOWED, false, payload, 0, 0, 0, 0};
    if (payload <= at->line)
        return step;
    uint64_t missing = payload - at->line;
    uint64_t tokens = weir_bucket_tokens_up(m, missing);
    step.count = tokens < n ? tokens : n;
    step.write = step.count != 0;
    uint64_t back = step.count * m->token;
    step.payload = back < missing ? payload - back : at->line;
    return step;
}

/*
 * The slot of a reservation made under another origin of the same policy, which lies a multiple of
 * `grains` away. What falls below the line counts as its start: everything lies after it.
 */
WEIR_SCALE_COLD uint64_t weir_bucket_rebase_slot(const struct weir_meter *m, uint64_t slot,
                                                 int64_t origin)
{
    if (m->units == 0)
        return slot;
    weir_i128 steps = ((weir_i128)m->origin - origin) / (weir_i128)m->grains;
    weir_i128 rebased = (weir_i128)slot - steps * (weir_i128)m->units;
    if (rebased < 0)
        return 0;
    return rebased > UINT64_MAX ? UINT64_MAX : (uint64_t)rebased;
}

/*
 * What a reservation of n, whose slot ended at `slot`, gives back: n less what lies beyond it now.
 * A part of a token beyond it counts as a whole one, or two could act within one token's time.
 */
static inline struct weir_step weir_bucket_cancel(const struct weir_meter *m, uint64_t payload,
                                                  const struct weir_operation *op,
                                                  const struct weir_instant *at)
{
    uint64_t n = op->n;
    uint64_t slot = op->slot;
    if (__builtin_expect(op->origin != m->origin, 0))
        slot = weir_bucket_rebase_slot(m, slot, op->origin);
    uint64_t later = payload > slot ? weir_bucket_tokens_up(m, payload - slot) : 0;
    return weir_bucket_refund(m, payload, n > later ? n - later : 0, at);
}

/*
 * A grant is to have never happened: `slot` is the payload that it made out of `before`. To the
 * bit, if nobody has touched it since. Else what others took, or gave back, since is kept, on top
 * of what was there before or of a bucket that is full at the instant: the time that the tokens
 * were missing for must not be credited to one that would have been full.
 */
static inline struct weir_step weir_bucket_undo(const struct weir_meter *m, uint64_t payload,
                                                const struct weir_operation *op,
                                                const struct weir_instant *at)
{
    struct weir_step step = {WEIR_ALLOWED, true, op->before, op->n, 0, 0, 0};
    if (op->origin == m->origin && payload != op->slot) {
        uint64_t base = op->before > at->line ? op->before : at->line;
        step.payload = payload > op->slot          ? base + (payload - op->slot)
                       : base > op->slot - payload ? base - (op->slot - payload)
                                                   : 0;
    } else if (op->origin != m->origin) { /* moved just now: what was taken stays taken */
        step.payload = payload;
    }
    if (step.payload > payload)
        step.payload = payload;
    step.write = step.payload != payload;
    return step;
}

/* n tokens left, at most a full bucket. */
static inline struct weir_step weir_bucket_set(const struct weir_meter *m, uint64_t n,
                                               const struct weir_instant *at)
{
    uint64_t missing = n < m->burst ? (m->burst - n) * m->token : 0;
    struct weir_step step = {WEIR_ALLOWED, true, at->line + missing, 0, 0, 0, 0};
    return step;
}

/* One operation, by its verb. */
static inline __attribute__((always_inline)) struct weir_step weir_bucket_step(
    const struct weir_meter *m, uint64_t payload, const struct weir_operation *op,
    const struct weir_instant *at)
{
    switch (op->verb) {
    case WEIR_TAKE:
        return weir_bucket_take(m, payload, op->n, at);
    case WEIR_CHARGE:
        return weir_bucket_charge(m, payload, op->n, at);
    case WEIR_REFUND:
        return weir_bucket_refund(m, payload, op->n, at);
    case WEIR_CANCEL:
        return weir_bucket_cancel(m, payload, op, at);
    case WEIR_UNDO:
        return weir_bucket_undo(m, payload, op, at);
    case WEIR_SET:
        return weir_bucket_set(m, op->n, at);
    case WEIR_ADMIT:
    case WEIR_PEEK:
        break;
    }
    struct weir_step step = weir_bucket_admit(m, payload, op->n, op->max_wait, at);
    if (op->verb == WEIR_PEEK) {
        step.write = false;
        step.payload = payload;
    }
    return step;
}

/* ---- origins that move: not on the decision path ---- */

/* Whether `now`, which is not on the line, is too far from it to count as its nearer end. */
static inline bool weir_bucket_needs_origin(const struct weir_meter *m, weir_ns now,
                                            weir_ns stale_max)
{
    weir_i128 grain = (weir_i128)weir_bucket_grain(m, now);
    weir_i128 tick = m->tick != 0 ? m->tick : 1;
    return grain > m->origin || (m->origin - grain) * tick > (weir_i128)stale_max;
}

/*
 * Sets the origin for `now`: stale_max before it. From an older one it moves by a multiple of
 * `grains`, which is added to *steps; *born becomes V(now). False: that origin would not tell `now`
 * either, as with a period of centuries and a clock that jumps back by minutes.
 */
static inline bool weir_bucket_move_origin(struct weir_meter *m, weir_ns now, weir_ns stale_max,
                                           bool from_older, int64_t *steps, uint64_t *born)
{
    weir_i128 tick = m->tick != 0 ? m->tick : 1;
    weir_i128 origin = weir_scale_floor((weir_i128)now - (weir_i128)stale_max, tick);
    int64_t moved;
    if (!weir_origin_next(m, origin, from_older, steps, &moved))
        return false;
    struct weir_instant at = {0, 0, 0, 0, 0, false, NULL, 0, 0, NULL};
    weir_bucket_set_origin(m, moved, WEIR_BUCKET_LINE_MAX);
    bool told = weir_bucket_instant(m, now, &at);
    *born = at.line;
    return told;
}

/*
 * The payload under an origin that lies `steps` times `grains` grains after the one it was made
 * under. Below 0 it is as if never used; past the span it becomes balance zero at `line`.
 */
static inline uint64_t weir_bucket_rebase(const struct weir_meter *m, uint64_t payload,
                                          weir_i128 steps, uint64_t line)
{
    weir_i128 rebased = (weir_i128)payload - steps * (weir_i128)m->units;
    if (payload == 0 || rebased <= 0)
        return 0;
    return rebased > (weir_i128)m->span ? line + m->capacity : (uint64_t)rebased;
}

/*
 * What a payload of other settings becomes: as many tokens, or as much debt, as at the change, in
 * whole units and rounded down, at most the new burst. A full bucket was never used. The slot of a
 * reservation has no such bounds: it moves as a payload does that has them not.
 */
static inline uint64_t weir_bucket_reprice(const struct weir_meter *from, uint64_t payload,
                                           const struct weir_instant *at_from,
                                           const struct weir_meter *to,
                                           const struct weir_instant *at_to, bool is_slot)
{
    if (payload <= at_from->line && !is_slot)
        return 0;
    weir_i128 balance = (weir_i128)at_from->line + from->capacity - payload;
    balance = weir_scale_floor(balance * (weir_i128)to->token, (weir_i128)from->token);
    if (balance >= (weir_i128)to->capacity && !is_slot)
        return 0;
    weir_i128 repriced = (weir_i128)at_to->line + to->capacity - balance;
    if (repriced < 0)
        return 0;
    return repriced < (weir_i128)to->span ? (uint64_t)repriced : to->span;
}

#endif
