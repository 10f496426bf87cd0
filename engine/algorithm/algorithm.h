/* SPDX-License-Identifier: MIT */
/*
 * The algorithms by kind: the only place that knows which there are. A new one is a header of its
 * own, with these functions under its own prefix, and one line in the list.
 *
 * With one entry in the list the dispatch folds away: a meter in use is of a kind that exists.
 */
#ifndef WEIR_ALGORITHM_ALGORITHM_H
#define WEIR_ALGORITHM_ALGORITHM_H

#include "algorithm/token_bucket.h"

/* kind, prefix of its functions */
#define WEIR_ALGORITHMS(EACH) EACH(WEIR_TOKEN_BUCKET, weir_bucket)

/* Switches on a meter's kind; EACH is a case of one. */
#define WEIR_BY_KIND(m, EACH)                                                                      \
    switch ((m)->policy.kind) {                                                                    \
        WEIR_ALGORITHMS(EACH)                                                                      \
    default:                                                                                       \
        __builtin_unreachable();                                                                   \
    }

static inline bool weir_algorithm_exists(uint32_t kind)
{
#define EACH(which, prefix) || kind == which
    return false WEIR_ALGORITHMS(EACH);
#undef EACH
}

/* A meter's numbers from its policy, whose kind exists: 0 or -ERANGE. */
static inline int weir_algorithm_prepare(struct weir_meter *m)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_prepare(m, &m->policy);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

static inline bool weir_algorithm_can_grant(const struct weir_meter *m, uint64_t n)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_can_grant(m, n);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

static inline void weir_algorithm_start(struct weir_meter *m, weir_ns origin, uint64_t line_max)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        prefix##_start(m, origin, line_max);                                                       \
        return;
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

static inline bool weir_algorithm_instant(const struct weir_meter *m, weir_ns now,
                                          struct weir_instant *at)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_instant(m, now, at);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

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

/* For meters that say they are plain: see weir_bucket_plain_instant. */
static inline bool weir_algorithm_plain_instant(const struct weir_meter *m, weir_ns now,
                                                struct weir_instant *at)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_plain_instant(m, now, at);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

/* The quick form of a decision: see weir_bucket_ask, weir_bucket_grant, weir_bucket_deny. */
static inline __attribute__((always_inline)) bool weir_algorithm_ask(const struct weir_meter *m,
                                                                     uint64_t n,
                                                                     struct weir_ask *ask)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_ask(m, n, ask);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

static inline __attribute__((always_inline)) bool weir_algorithm_grant(
    const struct weir_meter *m, const struct weir_ask *ask, const struct weir_instant *at,
    bool plain, uint64_t *payload, struct weir_result *result)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_grant(m, ask, at, plain, payload, result);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

static inline __attribute__((always_inline)) void weir_algorithm_deny(const struct weir_meter *m,
                                                                      const struct weir_ask *ask,
                                                                      const struct weir_instant *at,
                                                                      bool plain, uint64_t payload,
                                                                      struct weir_result *result)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        prefix##_deny(m, ask, at, plain, payload, result);                                         \
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

static inline bool weir_algorithm_needs_origin(const struct weir_meter *m, weir_ns now,
                                               weir_ns stale_max)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_needs_origin(m, now, stale_max);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

static inline bool weir_algorithm_move_origin(struct weir_meter *m, weir_ns now, weir_ns stale_max,
                                              bool from_older, int64_t *steps, uint64_t *born)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_move_origin(m, now, stale_max, from_older, steps, born);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

static inline uint64_t weir_algorithm_rebase(const struct weir_meter *m, uint64_t payload,
                                             weir_i128 steps, uint64_t line)
{
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_rebase(m, payload, steps, line);
    WEIR_BY_KIND(m, EACH)
#undef EACH
}

#endif
