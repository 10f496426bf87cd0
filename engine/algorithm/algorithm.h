/* SPDX-License-Identifier: MIT */
/*
 * The algorithms by kind: the only place that knows which there are. A new one is a header of its
 * own with these functions under its own name, and a case for its kind in each function here.
 *
 * One kind exists (WEIR_TOKEN_BUCKET: token bucket, pacer, refill bucket), so all but the first,
 * which is asked before a meter is in use, call it without looking.
 */
#ifndef WEIR_ALGORITHM_ALGORITHM_H
#define WEIR_ALGORITHM_ALGORITHM_H

#include "algorithm/token_bucket.h"

/* A meter's numbers from a policy: 0, -ERANGE, or -EINVAL for a kind that does not exist. */
static inline int weir_algorithm_prepare(struct weir_meter *m, const struct weir_policy *policy)
{
    switch (policy->kind) {
    case WEIR_TOKEN_BUCKET:
        return weir_bucket_prepare(m, policy);
    default:
        return -EINVAL;
    }
}

static inline uint64_t weir_algorithm_grain(const struct weir_meter *m, weir_ns now)
{
    return weir_bucket_grain(m, now);
}

static inline void weir_algorithm_set_origin(struct weir_meter *m, int64_t origin,
                                             uint64_t line_max)
{
    weir_bucket_set_origin(m, origin, line_max);
}

static inline bool weir_algorithm_instant(const struct weir_meter *m, weir_ns now,
                                          struct weir_instant *at)
{
    return weir_bucket_instant(m, now, at);
}

static inline void weir_algorithm_instant_clamped(const struct weir_meter *m, weir_ns now,
                                                  struct weir_instant *at)
{
    weir_bucket_instant_clamped(m, now, at);
}

static inline void weir_algorithm_describe(const struct weir_meter *m, uint64_t payload,
                                           const struct weir_instant *at,
                                           struct weir_result *result)
{
    weir_bucket_describe(m, payload, at, result);
}

static inline uint64_t weir_algorithm_rebase(const struct weir_meter *m, uint64_t payload,
                                             weir_i128 steps, uint64_t line)
{
    return weir_bucket_rebase(m, payload, steps, line);
}

static inline uint64_t weir_algorithm_rebase_slot(const struct weir_meter *m, uint64_t slot,
                                                  int64_t origin)
{
    return weir_bucket_rebase_slot(m, slot, origin);
}

/* Always inlined: the verb is a constant in each caller, so that the dispatch on it folds away. */
static inline __attribute__((always_inline)) struct weir_step weir_algorithm_step(
    const struct weir_meter *m, uint64_t payload, const struct weir_operation *op,
    const struct weir_instant *at)
{
    struct weir_step peeked;
    switch (op->verb) {
    case WEIR_ADMIT:
        return weir_bucket_admit(m, payload, op->n, op->max_wait, at);
    case WEIR_TAKE:
        return weir_bucket_take(m, payload, op->n, at);
    case WEIR_CHARGE:
        return weir_bucket_charge(m, payload, op->n, at);
    case WEIR_REFUND:
        return weir_bucket_refund(m, payload, op->n, at);
    case WEIR_CANCEL:
        return weir_bucket_cancel(m, payload, op->n, op->slot, at);
    case WEIR_PEEK:
        break;
    }
    peeked = weir_bucket_admit(m, payload, op->n, op->max_wait, at);
    peeked.write = false;
    peeked.payload = payload;
    return peeked;
}

#endif
