/* SPDX-License-Identifier: MIT */
/*
 * Sliding window from two counters, as pure functions on a payload.
 *
 *   payload   | number | previous | current |       two counts of count_bits each
 *
 * Vocabulary
 *   W, e      the period; how far `now` is into its window
 *   estimate  current + previous * (W - e) / W: as if the tokens of the previous window had been
 *             taken evenly over it. The field's usual approximation ("sliding window counter"),
 *             here without rounding: it falls evenly, and goes on across the edge where it was
 *
 * Equations
 *   granted   iff previous * (W - e) + (current + n) * W <= limit * W
 *   wait      until the least e for which that holds: in this window, in the next one (where
 *             previous is what is current now), or at the beginning of the one after
 *   idle      iff the estimate is 0 from now on
 *
 * Guarantees (numbered as in the README)
 *   S1  At each grant the estimate is at most `limit`, in exact integers.
 *   T1  A `now` before the newest window counts as its beginning, and waits until it: more is never
 *       granted, but it may be refused what its own window had free.
 *   P1  No loop. A grant divides by constants only, that is, multiplies; a wait divides once.
 *
 * Not guaranteed: that at most `limit` tokens fall into every span of W. Up to twice as many can.
 *
 * Common subset of C11 and C++11, except weir_sliding_prepare, which is not on the decision path.
 */
#ifndef WEIR_ALGORITHM_SLIDING_WINDOW_H
#define WEIR_ALGORITHM_SLIDING_WINDOW_H

#include "algorithm/window.h"

/* What a payload means at an instant. */
struct weir_sliding {
    uint64_t number;
    uint64_t previous, current;
    uint64_t into; /* e */
    weir_i128 lag; /* until that: the instant lies before the newest window */
};

/* 0 or -ERANGE. */
static inline int weir_sliding_prepare(struct weir_meter *m, const struct weir_policy *policy,
                                       const struct weir_room *room)
{
    if (!weir_window_in_range(policy))
        return -ERANGE;
    unsigned bits = weir_window_bits(policy->limit);
    bits = bits > room->count_bits ? bits : room->count_bits;
    if (2 * bits >= room->payload_bits)
        return -ERANGE;
    m->count_bits = (uint8_t)bits;
    weir_window_prepare(m, policy, room, 2 * bits);
    weir_u128 lasts = (weir_u128)policy->period << (room->payload_bits - 2 * bits);
    return lasts >= room->lasts_sliding ? 0 : -ERANGE;
}

static inline bool weir_sliding_is_timeless(const struct weir_meter *m)
{
    (void)m;
    return false;
}

static inline void weir_sliding_start(struct weir_meter *m, weir_ns origin, uint64_t line_max)
{
    (void)line_max; /* half of the numbers, as everywhere */
    weir_window_start(m, origin);
}

static inline bool weir_sliding_can_grant(const struct weir_meter *m, uint64_t n)
{
    return n != 0 && n <= m->burst;
}

static inline bool weir_sliding_instant(const struct weir_meter *m, weir_ns now,
                                        struct weir_instant *at)
{
    return weir_window_instant(m, now, at);
}

static inline void weir_sliding_instant_clamped(const struct weir_meter *m, weir_ns now,
                                                struct weir_instant *at)
{
    weir_window_instant_clamped(m, now, at);
}

/* ---- reading ---- */

static inline uint64_t weir_sliding_payload(const struct weir_meter *m, uint64_t number,
                                            uint64_t previous, uint64_t current)
{
    return ((number << m->count_bits | previous) << m->count_bits) | current;
}

static inline uint64_t weir_sliding_number_max(const struct weir_meter *m)
{
    return m->span >> (2 * m->count_bits);
}

static inline struct weir_sliding weir_sliding_read(const struct weir_meter *m, uint64_t payload,
                                                    const struct weir_instant *at)
{
    uint64_t mask = ((uint64_t)1 << m->count_bits) - 1;
    uint64_t number = payload >> (2 * m->count_bits);
    uint64_t current = payload & mask;
    struct weir_sliding s = {at->line, payload >> m->count_bits & mask, current, at->into_grain, 0};
    if (__builtin_expect(number > at->line, 0) && (s.previous | current) != 0) {
        s.lag = weir_window_until(m, at, number);
        s.number = number;
        s.into = 0;
    } else if (number != at->line) {
        s.previous = number + 1 == at->line ? current : 0;
        s.current = 0; /* of a later number none was there */
    } else if (__builtin_expect(at->elapsed != at->line, 0)) {
        /* Before the origin, which `into` does not tell from. */
        s.lag = weir_window_until(m, at, number);
        s.into = 0;
    }
    return s;
}

/* previous * (W - e), in W-ths of a token. */
static inline weir_u128 weir_sliding_fading(const struct weir_meter *m,
                                            const struct weir_sliding *s)
{
    return (weir_u128)s->previous * (m->tick - s->into);
}

/* Whether n more fit at this instant. */
static inline bool weir_sliding_fits(const struct weir_meter *m, const struct weir_sliding *s,
                                     uint64_t n)
{
    if (n > m->burst || s->current > m->burst - n)
        return false;
    return weir_sliding_fading(m, s) <= (weir_u128)(m->burst - n - s->current) * m->tick;
}

/* ceil(previous * (W - e) / W). By a share in 2^-64ths, which is off by less than 2: the floor of
   that is too small by 2 at most, and by 2 only where the period has more of them than 2^64 divided
   by `previous`, and then rarely. What is missing, in W-ths of a token, is above -W and at most
   2 W: it is told modulo 2^64. */
static inline uint64_t weir_sliding_faded(const struct weir_meter *m, const struct weir_sliding *s)
{
    uint64_t rest = m->tick - s->into;
    if (s->into == 0)
        return s->previous;
    uint64_t faded = weir_scale_high(s->previous, weir_scale_share(rest, &m->ticks));
    int64_t missing = (int64_t)weir_modulo_sub(weir_modulo_mul(s->previous, rest),
                                               weir_modulo_mul(faded, m->tick));
    faded += missing > 0;
    if (__builtin_expect(missing > (int64_t)m->tick, 0))
        faded++;
    return faded;
}

static inline uint64_t weir_sliding_left(const struct weir_meter *m, const struct weir_sliding *s)
{
    uint64_t used = s->current + weir_sliding_faded(m, s);
    return used < m->burst && s->lag <= 0 ? m->burst - used : 0;
}

static inline weir_i128 weir_sliding_reset(const struct weir_meter *m, const struct weir_sliding *s)
{
    weir_i128 rest = (weir_i128)(m->tick - s->into);
    if (s->current != 0)
        return s->lag + rest + (weir_i128)m->tick;
    return s->previous != 0 ? s->lag + rest : 0;
}

static inline void weir_sliding_describe(const struct weir_meter *m, uint64_t payload,
                                         const struct weir_instant *at, struct weir_result *result)
{
    struct weir_sliding s = weir_sliding_read(m, payload, at);
    result->remaining = weir_sliding_left(m, &s);
    result->reset = weir_window_clip(weir_sliding_reset(m, &s));
}

static inline bool weir_sliding_is_idle(const struct weir_meter *m, uint64_t payload,
                                        const struct weir_instant *at)
{
    struct weir_sliding s = weir_sliding_read(m, payload, at);
    return s.lag <= 0 && s.previous == 0 && s.current == 0;
}

/* ---- steps ---- */

/* When n that do not fit now will, if nothing else comes: windows ahead, how far into that one, and
   the span until then. n is at most the limit. */
struct weir_sliding_due {
    unsigned windows;
    weir_i128 wait;
};

WEIR_SCALE_COLD struct weir_sliding_due weir_sliding_due(const struct weir_meter *m,
                                                         const struct weir_sliding *s, uint64_t n)
{
    struct weir_sliding_due due = {0, s->lag};
    uint64_t room = m->burst - n;
    uint64_t fading = s->previous;
    uint64_t rest = m->tick - s->into;
    uint64_t spent = s->into; /* of the window that is looked at */
    if (s->current > room) {
        fading = s->current;
        due.windows = 1;
        due.wait += (weir_i128)rest;
        spent = 0;
    } else {
        room -= s->current;
    }
    if (fading <= room) /* at once, or when the next window begins */
        return due;
    uint64_t into = m->tick - weir_scale_quotient(room, m->tick, fading);
    if (into > spent)
        due.wait += (weir_i128)(into - spent);
    due.windows += into == m->tick;
    return due;
}

/* The payload with n more in the window in which they are due. */
static inline uint64_t weir_sliding_with(const struct weir_meter *m, const struct weir_sliding *s,
                                         unsigned windows, uint64_t n)
{
    uint64_t number = s->number + windows;
    if (windows == 0)
        return weir_sliding_payload(m, number, s->previous, s->current + n);
    return weir_sliding_payload(m, number, windows == 1 ? s->current : 0, n);
}

/* n tokens within max_wait, or nothing; n = 0 asks whether the estimate is within the limit by
 * then.
 */
static inline struct weir_step weir_sliding_admit(const struct weir_meter *m, uint64_t payload,
                                                  uint64_t n, weir_ns max_wait,
                                                  const struct weir_instant *at)
{
    struct weir_step step = {WEIR_NEVER, false, payload, 0, WEIR_FOREVER, 0, 0};
    if (n > m->burst)
        return step;
    struct weir_sliding s = weir_sliding_read(m, payload, at);
    struct weir_sliding_due due = {0, 0};
    if (__builtin_expect(s.lag > 0 || !weir_sliding_fits(m, &s, n), 0))
        due = weir_sliding_due(m, &s, n);
    step.wait = weir_window_clip(due.wait);
    uint64_t number = s.number + due.windows;
    if (__builtin_expect(step.wait > max_wait || step.wait == WEIR_FOREVER, 0) ||
        __builtin_expect(number > weir_sliding_number_max(m), 0)) {
        step.verdict = WEIR_DENIED;
        return step;
    }
    step.verdict = WEIR_ALLOWED;
    if (n == 0)
        return step;
    step.write = true;
    step.count = n;
    step.payload = step.slot = weir_sliding_with(m, &s, due.windows, n);
    return step;
}

/* The same of n that do not fit, at an instant that is not before the newest window. */
static __attribute__((noinline)) weir_ns weir_sliding_wait(const struct weir_meter *m,
                                                           const struct weir_sliding *s, uint64_t n)
{
    uint64_t room = m->burst - n;
    uint64_t rest = m->tick - s->into;
    if (s->current > room)
        return rest + m->tick - weir_scale_quotient(room, m->tick, s->current);
    return rest - weir_scale_quotient(room - s->current, m->tick, s->previous);
}

/* See weir_algorithm_quick. */
static inline __attribute__((always_inline)) bool weir_sliding_quick(const struct weir_meter *m,
                                                                     uint64_t *payload, uint64_t n,
                                                                     const struct weir_instant *at,
                                                                     struct weir_result *result)
{
    uint64_t mask = ((uint64_t)1 << m->count_bits) - 1;
    uint64_t number = *payload >> (2 * m->count_bits);
    uint64_t current = *payload & mask;
    struct weir_sliding s = {at->line, *payload >> m->count_bits & mask, current, at->into_grain,
                             0};
    if (__builtin_expect(number != at->line, 0)) {
        if (number > at->line)
            return false;
        s.previous = number + 1 == at->line ? current : 0;
        s.current = 0;
    }
    if (*payload == 0 || n == 0 || n > m->burst || at->elapsed != at->line)
        return false;
    uint64_t rest = m->tick - s.into;
    uint64_t used = s.current + weir_sliding_faded(m, &s);
    uint64_t left = used < m->burst ? m->burst - used : 0;
    if (n <= left) { /* whole tokens left: the same as weir_sliding_fits */
        *payload = weir_sliding_payload(m, s.number, s.previous, s.current + n);
        result->verdict = WEIR_ALLOWED;
        result->wait = 0;
        result->remaining = left - n;
        result->reset = rest + m->tick;
        return true;
    }
    result->verdict = WEIR_DENIED;
    result->wait = weir_sliding_wait(m, &s, n);
    result->remaining = left;
    result->reset = s.current != 0 ? rest + m->tick : rest;
    return true;
}

/* `count` more in the newest window. */
static inline struct weir_step weir_sliding_spend(const struct weir_meter *m, uint64_t payload,
                                                  const struct weir_sliding *s, uint64_t count)
{
    struct weir_step step = {WEIR_ALLOWED, false, payload, 0, 0, 0, 0};
    if (count == 0 || s->number > weir_sliding_number_max(m))
        return step;
    step.write = true;
    step.count = count;
    step.payload = weir_sliding_with(m, s, 0, count);
    return step;
}

static inline struct weir_step weir_sliding_take(const struct weir_meter *m, uint64_t payload,
                                                 uint64_t max, const struct weir_instant *at)
{
    struct weir_sliding s = weir_sliding_read(m, payload, at);
    uint64_t left = weir_sliding_left(m, &s);
    return weir_sliding_spend(m, payload, &s, left < max ? left : max);
}

/* Up to the limit: a count says no more. */
static inline struct weir_step weir_sliding_charge(const struct weir_meter *m, uint64_t payload,
                                                   uint64_t n, const struct weir_instant *at)
{
    struct weir_sliding s = weir_sliding_read(m, payload, at);
    uint64_t fit = m->burst > s.current ? m->burst - s.current : 0;
    return weir_sliding_spend(m, payload, &s, fit < n ? fit : n);
}

/* Into the window that `now` lies in, and no other. */
static inline struct weir_step weir_sliding_refund(const struct weir_meter *m, uint64_t payload,
                                                   uint64_t n, const struct weir_instant *at)
{
    uint64_t number = payload >> (2 * m->count_bits);
    return weir_window_give_back(m, payload, number == at->line ? n : 0);
}

/* A payload of another origin under this one; too far ahead: full, at the line's beginning. */
static inline uint64_t weir_sliding_rebase(const struct weir_meter *m, uint64_t payload,
                                           weir_i128 steps, uint64_t line)
{
    return weir_window_rebase(m, payload, steps, weir_sliding_payload(m, line, 0, m->burst));
}

/*
 * What a reservation, or a grant to undo, gives back: to the bit what was there before, if it is
 * the last that was written; else n in its window, if that is the newest one or the one before.
 */
static inline struct weir_step weir_sliding_cancel(const struct weir_meter *m, uint64_t payload,
                                                   const struct weir_operation *op)
{
    weir_i128 steps = (weir_i128)m->origin - op->origin;
    uint64_t after = weir_sliding_rebase(m, op->slot, steps, 0);
    uint64_t number = payload >> (2 * m->count_bits);
    uint64_t acts = after >> (2 * m->count_bits);
    struct weir_step step = {WEIR_ALLOWED, true, payload, op->n, 0, 0, 0};
    if (after == 0) /* of settings under which its window has ended */
        return weir_window_give_back(m, payload, 0);
    if (payload == after) {
        step.payload = weir_sliding_rebase(m, op->before, steps, 0);
        return step;
    }
    if (number != acts + 1)
        return weir_window_give_back(m, payload, number == acts ? op->n : 0);
    uint64_t previous = payload >> m->count_bits & (((uint64_t)1 << m->count_bits) - 1);
    step.count = previous < op->n ? previous : op->n;
    step.write = step.count != 0;
    step.payload = payload - (step.count << m->count_bits);
    return step;
}

/* n left: the rest is what was taken in the window at the instant, and nothing in the one before.
 */
static inline struct weir_step weir_sliding_set(const struct weir_meter *m, uint64_t payload,
                                                uint64_t n, const struct weir_instant *at)
{
    struct weir_step step = {WEIR_ALLOWED, true, payload, 0, 0, 0, 0};
    if (at->line > weir_sliding_number_max(m))
        step.write = false;
    else
        step.payload = weir_sliding_payload(m, at->line, 0, n < m->burst ? m->burst - n : 0);
    return step;
}

/* One operation, by its verb. */
static inline struct weir_step weir_sliding_step(const struct weir_meter *m, uint64_t payload,
                                                 const struct weir_operation *op,
                                                 const struct weir_instant *at)
{
    switch (op->verb) {
    case WEIR_TAKE:
        return weir_sliding_take(m, payload, op->n, at);
    case WEIR_CHARGE:
        return weir_sliding_charge(m, payload, op->n, at);
    case WEIR_REFUND:
        return weir_sliding_refund(m, payload, op->n, at);
    case WEIR_CANCEL:
    case WEIR_UNDO:
        return weir_sliding_cancel(m, payload, op);
    case WEIR_SET:
        return weir_sliding_set(m, payload, op->n, at);
    case WEIR_ADMIT:
    case WEIR_PEEK:
        break;
    }
    struct weir_step step = weir_sliding_admit(m, payload, op->n, op->max_wait, at);
    if (op->verb == WEIR_PEEK) {
        step.write = false;
        step.payload = payload;
    }
    return step;
}

/* ---- origins and settings that change: not on the decision path ---- */

static inline bool weir_sliding_needs_origin(const struct weir_meter *m, weir_ns now,
                                             weir_ns stale_max)
{
    return weir_window_needs_origin(m, now, stale_max);
}

static inline bool weir_sliding_move_origin(struct weir_meter *m, weir_ns now, weir_ns stale_max,
                                            bool from_older, int64_t *steps, uint64_t *born)
{
    return weir_window_move_origin(m, now, stale_max, from_older, steps, born);
}

/* The counts of a payload of other settings; of another period, their estimate at the change. */
static inline uint64_t weir_sliding_reprice(const struct weir_meter *from, uint64_t payload,
                                            const struct weir_instant *at_from,
                                            const struct weir_meter *to,
                                            const struct weir_instant *at_to, bool is_slot)
{
    (void)is_slot; /* both are payloads */
    struct weir_sliding s = weir_sliding_read(from, payload, at_from);
    uint64_t most = ((uint64_t)1 << to->count_bits) - 1;
    if (s.current == 0 && s.previous == 0)
        return 0;
    weir_i128 number = (weir_i128)s.number + from->origin - to->origin;
    if (from->tick != to->tick) {
        s.current += weir_sliding_faded(from, &s);
        s.previous = 0;
        number = (weir_i128)at_to->line;
    }
    if (number < 0)
        return 0;
    if (number > (weir_i128)weir_sliding_number_max(to))
        number = (weir_i128)weir_sliding_number_max(to);
    return weir_sliding_payload(to, (uint64_t)number, s.previous < most ? s.previous : most,
                                s.current < most ? s.current : most);
}

#endif
