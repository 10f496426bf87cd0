/* SPDX-License-Identifier: MIT */
/*
 * From steps to what callers see: results, and reservations with what a cancel needs to know.
 */
#ifndef WEIR_RESULT_H
#define WEIR_RESULT_H

#include "algorithm/algorithm.h"

#include <string.h>

static inline struct weir_result weir_result_invalid(void)
{
    struct weir_result result = {WEIR_INVALID, WEIR_FOREVER, 0, WEIR_FOREVER};
    return result;
}

/* Everything is allowed and nothing recorded; a reservation of it holds nothing. */
static inline struct weir_result weir_result_unlimited(weir_ns now, struct weir_reservation *out)
{
    struct weir_result result = {WEIR_ALLOWED, 0, UINT64_MAX, 0};
    if (out != NULL)
        out->instant = weir_now_clamped(now);
    return result;
}

static inline struct weir_result weir_result_of(const struct weir_step *step,
                                                const struct weir_meter *m,
                                                const struct weir_instant *at)
{
    struct weir_result result;
    result.verdict = step->verdict;
    result.wait = step->wait;
    weir_algorithm_describe(m, step->payload, at, &result);
    return result;
}

/* Fills a zeroed reservation from a step that granted; from another it stays one of nothing. */
static inline void weir_result_reservation(const struct weir_step *step, const struct weir_meter *m,
                                           weir_ns now, struct weir_reservation *out)
{
    if (step->verdict != WEIR_ALLOWED)
        return;
    now = weir_now_clamped(now);
    out->n = step->count;
    out->instant = step->wait > UINT64_MAX - now ? UINT64_MAX : now + step->wait;
    out->slot = step->slot;
    out->before = step->before;
    out->origin = m->origin;
#ifndef NDEBUG
    out->owner = out;
#endif
}

/*
 * Ends a reservation: tokens that cancelling at `now` could give back at most. 0: it is too late,
 * or was done before, or this is a copy, which stays as it is.
 */
static inline uint64_t weir_result_end(struct weir_reservation *r, weir_ns now)
{
    if (r->owner != NULL && r->owner != r)
        return 0;
    uint64_t n = weir_now_clamped(now) <= r->instant ? r->n : 0;
    r->n = 0;
    return n;
}

#endif
