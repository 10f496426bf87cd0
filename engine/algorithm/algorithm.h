/* SPDX-License-Identifier: MIT */
/*
 * The algorithms by kind: a new one is a header of its own and one line in each list here.
 */
#ifndef WEIR_ALGORITHM_ALGORITHM_H
#define WEIR_ALGORITHM_ALGORITHM_H

#include "algorithm/token_bucket.h"

/* Of the weir_*_prepare functions: 0, -ERANGE, or -EINVAL for a kind that does not exist. */
static inline int weir_algorithm_prepare(struct weir_meter *m, const struct weir_policy *policy)
{
    switch (policy->kind) {
    case WEIR_TOKEN_BUCKET:
        return weir_bucket_prepare(m, policy);
    default:
        return -EINVAL;
    }
}

/*
 * A meter in use is of a kind that exists, and there is one kind: no branch until the second.
 * Always inlined: the verb is a constant in each caller, so that the dispatch on it folds away.
 */
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
