/* SPDX-License-Identifier: MIT */
/*
 * Concurrency: permits in use, as pure functions on a payload.
 *
 * The payload is the number of permits in use; time plays no part. A payload of 0 is a key that has
 * none, which is idle.
 *
 * Equations
 *   granted   iff in use + n <= limit; nothing becomes free by waiting
 *   idle      iff in use = 0
 *
 * Guarantees (numbered as in the README)
 *   S1  In use never exceeds the limit by a grant. A limit that was lowered below what is in use
 *       grants nothing until enough came back.
 *   S7  What comes back is at most what is in use.
 *
 * Common subset of C11 and C++11.
 */
#ifndef WEIR_ALGORITHM_CONCURRENCY_H
#define WEIR_ALGORITHM_CONCURRENCY_H

#include "algorithm/operation.h"
#include "algorithm/window.h"

#define WEIR_CONCURRENCY_MAX ((uint64_t)1 << 48)

/* 0 or -ERANGE. Unlimited permits are counted: as many as the payload says. */
static inline int weir_concurrency_prepare(struct weir_meter *m, const struct weir_policy *policy,
                                           const struct weir_room *room)
{
    m->span = ((uint64_t)1 << room->payload_bits) - 1;
    m->burst = policy->limit == WEIR_UNLIMITED ? m->span : policy->limit;
    m->token = m->grains = 1;
    return policy->limit == WEIR_UNLIMITED || policy->limit <= WEIR_CONCURRENCY_MAX ? 0 : -ERANGE;
}

static inline bool weir_concurrency_is_timeless(const struct weir_meter *m)
{
    (void)m;
    return true;
}

static inline void weir_concurrency_start(struct weir_meter *m, weir_ns origin, uint64_t line_max)
{
    (void)origin;
    (void)line_max;
    m->elapsed_max = UINT64_MAX;
}

static inline bool weir_concurrency_can_grant(const struct weir_meter *m, uint64_t n)
{
    return n != 0 && n <= m->burst;
}

static inline bool weir_concurrency_instant(const struct weir_meter *m, weir_ns now,
                                            struct weir_instant *at)
{
    (void)m;
    at->elapsed = now;
    at->line = at->into_grain = 0;
    return true;
}

static inline void weir_concurrency_instant_clamped(const struct weir_meter *m, weir_ns now,
                                                    struct weir_instant *at)
{
    weir_concurrency_instant(m, now, at);
}

static inline uint64_t weir_concurrency_left(const struct weir_meter *m, uint64_t payload)
{
    return payload < m->burst ? m->burst - payload : 0;
}

static inline void weir_concurrency_describe(const struct weir_meter *m, uint64_t payload,
                                             const struct weir_instant *at,
                                             struct weir_result *result)
{
    (void)at;
    result->remaining =
        m->policy.limit == WEIR_UNLIMITED ? WEIR_UNLIMITED : weir_concurrency_left(m, payload);
    result->reset = payload == 0 ? 0 : WEIR_FOREVER;
}

static inline bool weir_concurrency_is_idle(const struct weir_meter *m, uint64_t payload,
                                            const struct weir_instant *at)
{
    (void)m;
    (void)at;
    return payload == 0;
}

static inline struct weir_step weir_concurrency_admit(const struct weir_meter *m, uint64_t payload,
                                                      uint64_t n)
{
    struct weir_step step = {WEIR_NEVER, false, payload, 0, WEIR_FOREVER, 0, 0};
    if (n > m->burst)
        return step;
    step.verdict = WEIR_DENIED;
    if (payload > m->burst - n)
        return step;
    step.verdict = WEIR_ALLOWED;
    step.wait = 0;
    step.write = n != 0;
    step.count = n;
    step.payload = step.slot = payload + n;
    return step;
}

/* See weir_algorithm_quick. */
static inline bool weir_concurrency_quick(const struct weir_meter *m, uint64_t *payload, uint64_t n,
                                          const struct weir_instant *at, struct weir_result *result)
{
    if (n == 0 || n > m->burst)
        return false;
    bool fits = *payload <= m->burst - n;
    *payload += fits ? n : 0;
    result->verdict = fits ? WEIR_ALLOWED : WEIR_DENIED;
    result->wait = fits ? 0 : WEIR_FOREVER;
    weir_concurrency_describe(m, *payload, at, result);
    return true;
}

static inline struct weir_step weir_concurrency_spend(uint64_t payload, uint64_t count)
{
    struct weir_step step = {WEIR_ALLOWED, count != 0, payload + count, count, 0, 0, 0};
    return step;
}

static inline struct weir_step weir_concurrency_give_back(uint64_t payload, uint64_t n)
{
    uint64_t back = payload < n ? payload : n;
    struct weir_step step = {WEIR_ALLOWED, back != 0, payload - back, back, 0, 0, 0};
    return step;
}

/* One operation, by its verb. */
static inline struct weir_step weir_concurrency_step(const struct weir_meter *m, uint64_t payload,
                                                     const struct weir_operation *op,
                                                     const struct weir_instant *at)
{
    uint64_t left = weir_concurrency_left(m, payload);
    uint64_t fit = m->span - payload;
    struct weir_step step = {WEIR_ALLOWED, true, 0, 0, 0, 0, 0};
    (void)at;
    switch (op->verb) {
    case WEIR_TAKE:
        return weir_concurrency_spend(payload, left < op->n ? left : op->n);
    case WEIR_CHARGE:
        return weir_concurrency_spend(payload, fit < op->n ? fit : op->n);
    case WEIR_REFUND:
    case WEIR_CANCEL:
    case WEIR_UNDO:
        return weir_concurrency_give_back(payload, op->n);
    case WEIR_SET:
        step.payload = op->n < m->burst && m->policy.limit != WEIR_UNLIMITED ? m->burst - op->n : 0;
        return step;
    case WEIR_ADMIT:
    case WEIR_PEEK:
        break;
    }
    step = weir_concurrency_admit(m, payload, op->n);
    if (op->verb == WEIR_PEEK) {
        step.write = false;
        step.payload = payload;
    }
    return step;
}

/* ---- origins and settings that change ---- */

static inline bool weir_concurrency_needs_origin(const struct weir_meter *m, weir_ns now,
                                                 weir_ns stale_max)
{
    (void)m;
    (void)now;
    (void)stale_max;
    return false;
}

static inline bool weir_concurrency_move_origin(struct weir_meter *m, weir_ns now,
                                                weir_ns stale_max, bool from_older, int64_t *steps,
                                                uint64_t *born)
{
    (void)m;
    (void)now;
    (void)stale_max;
    (void)from_older;
    (void)steps;
    *born = 0;
    return true;
}

static inline uint64_t weir_concurrency_rebase(const struct weir_meter *m, uint64_t payload,
                                               weir_i128 steps, uint64_t line)
{
    (void)m;
    (void)steps;
    (void)line;
    return payload;
}

static inline uint64_t weir_concurrency_reprice(const struct weir_meter *from, uint64_t payload,
                                                const struct weir_instant *at_from,
                                                const struct weir_meter *to,
                                                const struct weir_instant *at_to, bool is_slot)
{
    (void)is_slot; /* both are payloads */
    (void)from;
    (void)at_from;
    (void)at_to;
    return payload < to->span ? payload : to->span;
}

#endif
