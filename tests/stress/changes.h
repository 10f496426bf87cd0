/* SPDX-License-Identifier: MIT */
/*
 * What the tests of limits that change beside decisions share: limits of every kind, and a run of
 * threads of which the first change the limit while the others take and give back.
 */
#ifndef WEIR_TESTS_CHANGES_H
#define WEIR_TESTS_CHANGES_H

#include "stress.h"

#include <sched.h>

#define THREADS 8
#define KEYS    4
#define SEC     WEIR_SECOND
#define T0      ((weir_ns)1000 * WEIR_HOUR + 1414213562) /* some way into every window */
#define PERIOD  (100 * SEC)

typedef unsigned long long ull;

enum kind { BUCKET, REFILL, FIRST_HIT, ALIGNED, CALENDAR, SLIDING, PERMITS, KINDS };

static const char *const names[KINDS] = {"bucket",         "refill bucket",   "first hit",
                                         "aligned window", "calendar window", "sliding window",
                                         "permits"};

/* So much at a time, and otherwise different: rates of the exact and of the rounded form, ticks,
   periods, units. */
static inline struct weir_policy policy_of(unsigned kind, uint64_t capacity, unsigned variant)
{
    static const uint64_t rates[] = {1, 3, 17, 1000};
    struct weir_policy policy;
    weir_ns period = PERIOD + variant % 3 * WEIR_HOUR;
    switch (kind) {
    case BUCKET:
        return weir_token_bucket(rates[variant % 4], variant % 3 == 0 ? SEC : WEIR_MINUTE,
                                 capacity);
    case REFILL:
        policy = weir_refill_bucket(rates[variant % 4], SEC, SEC / (1 + variant % 5));
        policy.burst = capacity;
        return policy;
    case FIRST_HIT:
        return weir_fixed_window(capacity, period);
    case ALIGNED:
        return weir_aligned_window(capacity, period, 3);
    case CALENDAR:
        return weir_calendar_window(capacity, (enum weir_calendar)(WEIR_CALENDAR_DAY + variant % 3),
                                    "UTC");
    case SLIDING:
        return weir_sliding_window(capacity, PERIOD);
    default:
        return weir_concurrency(capacity);
    }
}

static inline weir_ns wall_clock(void *context, weir_ns now)
{
    (void)context;
    return now;
}

static inline struct weir *open_for(size_t max_keys, struct weir_policy policy, int *limit)
{
    const struct weir_options options = {
        .max_keys = max_keys, .max_limits = 4, .stale_max = WEIR_MINUTE, .wall_clock = wall_clock};
    struct weir *w = open_engine(&options);
    *limit = add_limit(w, "a", policy);
    return w;
}

static inline void expect(struct weir_atomic_u64 *wrong, bool holds)
{
    if (!holds)
        weir_add_relaxed(wrong, 1);
}

static inline bool set(struct weir *w, int limit, struct weir_policy policy, weir_ns now)
{
    return weir_set_limit(w, limit, &policy, now) == 0;
}

static inline void assert_same(struct weir_result a, struct weir_result b)
{
    assert_int_equal(a.verdict, b.verdict);
    assert_int_equal(a.wait, b.wait);
    assert_int_equal(a.remaining, b.remaining);
    assert_int_equal(a.reset, b.reset);
}

/* ---- a run: the first threads change the limit, the others take ---- */

#define START 40 /* tokens, below every capacity */
#define LEAST 50
#define MOST  100

struct run {
    unsigned kind;
    struct weir *w;
    int limit;
    unsigned setters, changes;
    uint64_t seed;
    struct weir_atomic_u64 over; /* setters that have made all changes */
    struct weir_atomic_u64 taken[KEYS], given[KEYS];
    struct weir_atomic_u64 wrong, calls;
};

static inline void start_run(struct run *r, unsigned kind, unsigned setters, uint64_t seed)
{
    *r = (struct run){.kind = kind, .setters = setters, .seed = seed};
    r->changes = (unsigned)random_scaled(400);
    r->w = open_for(1024, policy_of(kind, MOST, 0), &r->limit);
    for (unsigned k = 0; k < KEYS; k++) {
        weir_key key = weir_key_u64(r->w, k);
        assert_int_equal(weir_set_balance(r->w, r->limit, key, START, T0), 0);
    }
}

static inline void end_run(struct run *r)
{
    if (weir_load_relaxed(&r->wrong) != 0)
        fail_msg("%s, %u who change it, seed %llu: %llu wrong", names[r->kind], r->setters,
                 (ull)r->seed, (ull)weir_load_relaxed(&r->wrong));
    assert_true(weir_load_relaxed(&r->calls) > 0);
    assert_true(stress_table_is_sound(r->w));
    weir_close(r->w);
}

static inline bool is_over(const struct run *r)
{
    return weir_load_relaxed(&r->over) == r->setters;
}

/* Waits until so many calls have been made for each change so far: they meet, whoever runs when. */
static inline void pace(const struct weir_atomic_u64 *calls, unsigned changes)
{
    while (weir_load_relaxed(calls) < 10 * (uint64_t)changes)
        sched_yield();
}

/* A reservation that is cancelled, perhaps after a change. Windows and permits give all of it back,
   buckets what nobody has queued behind; nothing, if the limit has forgotten the settings. */
static inline void reserve_and_cancel(struct run *r, unsigned k, uint64_t n, bool waits)
{
    struct weir_reservation held;
    weir_key key = weir_key_u64(r->w, k);
    if (weir_reserve(r->w, r->limit, key, n, T0, 0, &held).verdict != WEIR_ALLOWED)
        return;
    weir_add_relaxed(&r->taken[k], n);
    if (waits)
        sched_yield();
    uint64_t given = weir_cancel(r->w, &held, T0);
    expect(&r->wrong, given == n || given == 0 || (r->kind <= REFILL && given < n));
    weir_add_relaxed(&r->given[k], given);
}

/* A call, and mostly what it took is given back. */
static inline void take_and_give(struct run *r, uint64_t dice)
{
    unsigned k = (unsigned)(dice % KEYS);
    uint64_t n = 1 + (dice >> 8) % 3;
    weir_key key = weir_key_u64(r->w, k);
    weir_add_relaxed(&r->calls, 1);
    if ((dice >> 24) % 4 == 0) {
        reserve_and_cancel(r, k, n, (dice >> 32) % 2 == 0);
        return;
    }
    struct weir_result result = weir_decide(r->w, r->limit, key, n, T0);
    expect(&r->wrong, result.verdict == WEIR_ALLOWED || result.verdict == WEIR_DENIED);
    if (result.verdict != WEIR_ALLOWED) {
        sched_yield();
        return;
    }
    weir_add_relaxed(&r->taken[k], n);
    if ((dice >> 16) % 16 != 0)
        weir_add_relaxed(&r->given[k], weir_refund(r->w, r->limit, key, n, T0));
}

#endif
