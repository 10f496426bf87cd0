/* SPDX-License-Identifier: MIT */
/*
 * The algorithms by kind: the only place that knows which there are. A new one is a header of its
 * own, with these functions under its own prefix, and one line in the list.
 */
#ifndef WEIR_ALGORITHM_ALGORITHM_H
#define WEIR_ALGORITHM_ALGORITHM_H

#include "algorithm/concurrency.h"
#include "algorithm/fixed_window.h"
#include "algorithm/sliding_window.h"
#include "algorithm/token_bucket.h"

/* kind, prefix of its functions */
#define WEIR_ALGORITHMS(EACH)                                                                      \
    EACH(WEIR_TOKEN_BUCKET, weir_bucket)                                                           \
    EACH(WEIR_FIXED_WINDOW, weir_fixed)                                                            \
    EACH(WEIR_SLIDING_WINDOW, weir_sliding)                                                        \
    EACH(WEIR_CONCURRENCY, weir_concurrency)

/* Switches on a meter's kind; EACH is a case of one. A meter in use is of a kind that exists. */
#define WEIR_BY_KIND(m, EACH)                                                                      \
    switch ((m)->kind) {                                                                           \
        WEIR_ALGORITHMS(EACH)                                                                      \
    default:                                                                                       \
        __builtin_unreachable();                                                                   \
    }

/* A meter's numbers from its policy, whose kind exists: 0 or a negative errno. */
static inline int weir_algorithm_prepare(struct weir_meter *m, const struct weir_room *room)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_prepare(m, &m->policy, room);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* Whether `now` does not matter, so that no origin is needed. */
static inline bool weir_algorithm_is_timeless(const struct weir_meter *m)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_is_timeless(m);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* Whether a grant of n tokens is possible at all, and writes. */
static inline bool weir_algorithm_can_grant(const struct weir_meter *m, uint64_t n)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_can_grant(m, n);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* The first origin of a meter that is told one. */
static inline void weir_algorithm_start(struct weir_meter *m, weir_ns origin, uint64_t line_max)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        prefix##_start(m, origin, line_max);                                                       \
        return;
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* Where `now` (of wall clocks if the meter says so) is on the meter's line; false when it is before
   the origin or past the line's end. */
static inline bool weir_algorithm_instant(const struct weir_meter *m, weir_ns now,
                                          struct weir_instant *at)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_instant(m, now, at);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* The same for any `now`. */
static inline void weir_algorithm_instant_clamped(const struct weir_meter *m, weir_ns now,
                                                  struct weir_instant *at)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        prefix##_instant_clamped(m, now, at);                                                      \
        return;
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* Always inlined: the verb is a constant in each caller, so that the dispatch on it folds away. */
static inline __attribute__((always_inline)) struct weir_step weir_algorithm_step(
    const struct weir_meter *m, uint64_t payload, const struct weir_operation *op,
    const struct weir_instant *at)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_step(m, payload, op, at);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* What most decisions are, in one: the answer to n tokens now (weir_algorithm_step with WEIR_ADMIT
   and no max wait, and weir_algorithm_describe), and *payload as it is then. False: these have to
   tell. */
static inline __attribute__((always_inline)) bool weir_algorithm_quick(
    const struct weir_meter *m, uint64_t *payload, uint64_t n, const struct weir_instant *at,
    struct weir_result *result)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_quick(m, payload, n, at, result);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* What a key has with this payload: tokens left, and the span until it is as if unused. */
static inline void weir_algorithm_describe(const struct weir_meter *m, uint64_t payload,
                                           const struct weir_instant *at,
                                           struct weir_result *result)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        prefix##_describe(m, payload, at, result);                                                 \
        return;
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* Whether a key with this payload is as one never used, from this instant on. */
static inline bool weir_algorithm_is_idle(const struct weir_meter *m, uint64_t payload,
                                          const struct weir_instant *at)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_is_idle(m, payload, at);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* Whether `now`, which is not on the line, is too far from it to count as its nearer end. */
static inline bool weir_algorithm_needs_origin(const struct weir_meter *m, weir_ns now,
                                               weir_ns stale_max)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_needs_origin(m, now, stale_max);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* Sets the origin for `now`; from an older one by a whole number of steps, which is added. False:
   that origin would not tell `now` either. */
static inline bool weir_algorithm_move_origin(struct weir_meter *m, weir_ns now, weir_ns stale_max,
                                              bool from_older, int64_t *steps, uint64_t *born)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_move_origin(m, now, stale_max, from_older, steps, born);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* The payload under an origin that lies `steps` steps after the one it was made under. */
static inline uint64_t weir_algorithm_rebase(const struct weir_meter *m, uint64_t payload,
                                             weir_i128 steps, uint64_t line)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_rebase(m, payload, steps, line);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* The payload, or the slot of a reservation, under other settings of the same kind; both instants
   are that of the change. */
static inline uint64_t weir_algorithm_reprice(const struct weir_meter *from, uint64_t payload,
                                              const struct weir_instant *at_from,
                                              const struct weir_meter *m,
                                              const struct weir_instant *at, bool is_slot)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_reprice(from, payload, at_from, m, at, is_slot);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

#endif
