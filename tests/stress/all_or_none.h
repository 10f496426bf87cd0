/* SPDX-License-Identifier: MIT */
/*
 * What the tests of several limits, all or none, share: engines with a limit of each kind, whose
 * clock stands still and tells a test when it is asked.
 */
#ifndef WEIR_TESTS_ALL_OR_NONE_H
#define WEIR_TESTS_ALL_OR_NONE_H

#include "stress.h"

#define THREADS 8
#define KEYS    3
#define SEC     WEIR_SECOND
#define T0      ((weir_ns)1000 * WEIR_HOUR + 1414213562) /* some way into every window */
#define PERIOD  (4 * SEC)

#include "kinds.h"

typedef unsigned long long ull;

/* The same in every engine. */
static inline weir_key key_of(unsigned k)
{
    struct test_random random = {k};
    uint64_t high = random_u64(&random);
    return (weir_key){high, random_u64(&random)};
}

/* An engine with a limit of each kind, whose clock stands still. */
struct world {
    struct weir *w;
    int ids[KINDS];
    weir_ns now;
    void (*on_wall)(struct world *v);  /* somebody asks for unix time */
    void (*on_clock)(struct world *v); /* a roll-back is about to begin */
    void *context;
};

static inline weir_ns wall_clock(void *context, weir_ns now)
{
    struct world *v = context;
    if (v->on_wall != NULL)
        v->on_wall(v);
    return now;
}

static inline weir_ns own_clock(void *context)
{
    struct world *v = context;
    if (v->on_clock != NULL)
        v->on_clock(v);
    return v->now;
}

static inline int no_sleep(void *context, weir_ns instant)
{
    (void)context;
    (void)instant;
    return 0;
}

static inline void open_world(struct world *v, uint64_t capacity)
{
    const struct weir_options options = {.max_keys = 1024,
                                         .clock = own_clock,
                                         .sleep_until = no_sleep,
                                         .clock_context = v,
                                         .wall_clock = wall_clock,
                                         .wall_context = v};
    *v = (struct world){.now = T0};
    v->w = open_engine(&options);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        v->ids[kind] = add_limit(v->w, names[kind], policy_of(kind, capacity));
        /* times count from here, in every engine */
        assert_true(weir_allow(v->w, v->ids[kind], key_of(99), 0, T0));
    }
}

static inline int all(struct world *v, const struct weir_request *requests, size_t count,
                      weir_ns max_wait, struct weir_result *result)
{
    return weir_decide_all(v->w, requests, count, v->now, max_wait, result);
}

static inline void assert_same(struct weir_result a, struct weir_result b)
{
    assert_int_equal(a.verdict, b.verdict);
    assert_int_equal(a.wait, b.wait);
    assert_int_equal(a.remaining, b.remaining);
    assert_int_equal(a.reset, b.reset);
}

static inline void assert_result(struct weir_result got, enum weir_verdict verdict, weir_ns wait,
                                 uint64_t remaining, weir_ns reset)
{
    assert_same(got, (struct weir_result){verdict, wait, remaining, reset});
}

/* Every key is the same in both, from an instant on. */
static inline void assert_same_key(const struct world *a, const struct world *b, unsigned kind,
                                   unsigned k, weir_ns at)
{
    for (uint64_t n = 0; n < 4; n++) {
        struct weir_result x = weir_peek(a->w, a->ids[kind], key_of(k), n, at);
        struct weir_result y = weir_peek(b->w, b->ids[kind], key_of(k), n, at);
        if (x.verdict != y.verdict || x.wait != y.wait || x.remaining != y.remaining ||
            x.reset != y.reset)
            fail_msg("%s, key %u, n %llu, %llu ns after: %d, wait %llu, remaining %llu, reset "
                     "%llu; the other %d, %llu, %llu, %llu",
                     names[kind], k, (ull)n, (ull)(at - a->now), (int)x.verdict, (ull)x.wait,
                     (ull)x.remaining, (ull)x.reset, (int)y.verdict, (ull)y.wait, (ull)y.remaining,
                     (ull)y.reset);
    }
}

static inline void assert_same_keys(const struct world *a, const struct world *b)
{
    const weir_ns later[] = {0, 1, SEC / 3, SEC, PERIOD - 1, 2 * PERIOD, WEIR_DAY};
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (unsigned k = 0; k < KEYS; k++) {
            for (unsigned i = 0; i < sizeof later / sizeof *later; i++)
                assert_same_key(a, b, kind, k, a->now + later[i]);
        }
    }
}

#endif
