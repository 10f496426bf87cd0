/* SPDX-License-Identifier: MIT */
/* The soak's permits: never more in use than there are, and whoever waits is woken. */
#include "soak.h"

#include <errno.h>
#include <stdatomic.h>

#define KEYS  2
#define LEAST 3 /* permits, and what is wanted at most at a time */
#define MOST  6

/* A signal ends a wait: where they come all the time nobody waits for long, and little is served.
 */
#define SELDOM 1

typedef unsigned long long ull;

struct permits {
    struct weir *w;
    int limit;
    unsigned calls;
    uint64_t seed;
    bool changes;
    struct soak_barrier barrier;
    _Atomic uint64_t held[KEYS]; /* at least so many are in use */
    struct weir_atomic_u64 wrong, waited;
};

static void expect(struct permits *p, bool holds)
{
    if (!holds)
        weir_add_relaxed(&p->wrong, 1);
}

/* 0, or why none was granted. Signals interrupt who waits, as often as they come. */
static int get(struct permits *p, weir_key key, uint64_t n, uint64_t dice, struct weir_permit *out)
{
    struct weir *w = p->w;
    int got;
    if (dice % 4 == 0) {
        struct weir_result result =
            SOAK_TIMED(SOAK_ACQUIRE, weir_acquire(w, p->limit, key, n, out));
        expect(p, result.verdict == WEIR_ALLOWED || result.verdict == WEIR_DENIED);
        return result.verdict == WEIR_ALLOWED ? 0 : -EAGAIN;
    }
    bool patient = dice % 4 != 1;
    do {
        weir_ns deadline = patient ? WEIR_FOREVER : weir_now() + dice / 4 % 200000;
        got = SOAK_TIMED(SOAK_ACQUIRE_WAIT, weir_acquire_wait(w, p->limit, key, n, deadline, out));
        expect(p, got == 0 || out->n == 0);
    } while (got == -EINTR);
    expect(p, got == 0 || (!patient && got == -ETIMEDOUT));
    weir_add_relaxed(&p->waited, 1);
    return got;
}

static void hold(struct permits *p, struct test_random *random)
{
    uint64_t dice = random_u64(random);
    uint64_t k = dice % KEYS;
    uint64_t n = 1 + dice / 2 % LEAST;
    weir_key key = weir_key_u64(p->w, k);
    struct weir_permit permit;
    if (get(p, key, n, dice / 16, &permit) != 0)
        return;
    expect(p, atomic_fetch_add(&p->held[k], n) + n <= MOST && permit.n == n);
    if (dice >> 60 == 0)
        sched_yield();
    soak_dither(random);
    p->held[k] -= n;
    expect(p, SOAK_TIMED(SOAK_RELEASE, weir_release(p->w, &permit)) == 0);
    expect(p, weir_release(p->w, &permit) == -EALREADY);
}

static void play(void *context, unsigned index)
{
    struct permits *p = context;
    struct test_random random = {p->seed + index};
    for (unsigned i = 0; i < p->calls; i++) {
        if (i % 4 == 0) /* a wake-up that got lost is not made good for by later calls */
            soak_barrier_wait(&p->barrier);
        hold(p, &random);
        if (p->changes && index == 0 && i % 16 == 0) {
            struct weir_policy policy =
                weir_concurrency(LEAST + random_below(&random, MOST - LEAST + 1));
            expect(p, SOAK_TIMED(SOAK_SET_LIMIT,
                                 weir_set_limit(p->w, p->limit, &policy, WEIR_HOUR)) == 0);
        }
    }
}

void soak_permits(uint64_t seed)
{
    static struct permits p;
    struct test_random random = {seed};
    unsigned threads = soak_threads(random_u64(&random), 8);
    p = (struct permits){.seed = seed, .changes = seed % 2 == 0};
    p.w = stress_open(64, WEIR_FULL_DENY, seed);
    p.limit = add_limit(p.w, "a", weir_concurrency(p.changes ? MOST : LEAST));
    p.barrier.threads = threads;
    p.calls = (unsigned)(random_scaled(1200) / threads);
    soak_run(seed, threads, SELDOM, play, &p);
    assert_int_equal(weir_load_relaxed(&p.wrong), 0);
    assert_true(weir_waiters_is_valid(p.w->waiters));
    struct weir_policy policy = weir_concurrency(MOST);
    assert_int_equal(weir_set_limit(p.w, p.limit, &policy, WEIR_HOUR), 0);
    for (unsigned k = 0; k < KEYS; k++) {
        struct weir_permit all;
        uint64_t in_use = UINT64_MAX;
        weir_key key = weir_key_u64(p.w, k);
        assert_int_equal(weir_in_use(p.w, p.limit, key, &in_use, NULL), 0);
        assert_int_equal(in_use, 0);
        assert_int_equal(
            weir_load_acquire(&weir_waiters_bucket(p.w->waiters, (unsigned)p.limit, key)->count),
            0);
        assert_int_equal(weir_acquire(p.w, p.limit, key, MOST, &all).verdict, WEIR_ALLOWED);
        assert_int_equal(weir_release(p.w, &all), 0);
    }
    assert_true(weir_load_relaxed(&p.waited) > 0);
    soak_note(p.w);
    weir_close(p.w);
}
