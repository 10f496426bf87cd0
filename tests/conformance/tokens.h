/* SPDX-License-Identifier: MIT */
/* Tokens of one key, as the tests of lumps count them: what is left, what is granted. */
#ifndef WEIR_TESTS_TOKENS_H
#define WEIR_TESTS_TOKENS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "subject.h"

#define BASE (3600 * WEIR_SECOND)

static inline void open_bucket(struct subject *s, enum subject_kind kind,
                               const struct weir_policy *policy)
{
    assert_int_equal(subject_open(s, kind, policy, 0), 0);
}

static inline uint64_t left_at(const struct subject *s, weir_ns now)
{
    return subject_probe(s, now).remaining;
}

/* Takes all that is there, and tells how much that was. */
static inline uint64_t drain(struct subject *s, weir_ns now)
{
    uint64_t n = left_at(s, now);

    if (n != 0)
        assert_int_equal(subject_decide(s, n, now).verdict, WEIR_ALLOWED);
    assert_int_equal(subject_decide(s, 1, now).verdict, WEIR_DENIED);
    return n;
}

/* Of so many calls for one token, those that were granted. */
static inline uint64_t granted(struct subject *s, uint64_t calls, weir_ns now)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < calls; i++)
        count += subject_decide(s, 1, now).verdict == WEIR_ALLOWED;
    return count;
}

/* The first multiple of `tick` that is not before BASE. */
static inline weir_ns first_tick(weir_ns tick)
{
    return (BASE + tick - 1) / tick * tick;
}

static inline struct weir_policy bucket_of(uint64_t per_second, weir_ns tick, uint64_t burst)
{
    struct weir_policy policy = weir_refill_bucket(per_second, WEIR_SECOND, tick);

    policy.burst = burst;
    return policy;
}

#endif
