/* SPDX-License-Identifier: MIT */
/*
 * Threads on many keys at once: floods of new keys (S3, M1), a ledger over all mutators (S7, K11,
 * K15), and sweeps beside decisions while the clock leaps (S5, K27).
 */
#include "../support.h"

#include <sched.h>

#define THREADS 8

/* ---- S3, M1: floods of new keys ---- */

#define FLOOD_KEYS  4000
#define FLOOD_BURST 3

struct flood {
    struct weir *w;
    int limit;
    struct weir_atomic_u64 *admitted; /* by key */
};

/* Every thread goes through all keys, each from its own start, and asks more than the burst. */
static void flood(void *context, unsigned index)
{
    struct flood *f = context;
    for (unsigned i = 0; i < 10 * FLOOD_KEYS; i++) {
        unsigned k = (i + index * FLOOD_KEYS) % (10 * FLOOD_KEYS);
        for (unsigned n = 0; n < FLOOD_BURST; n++) {
            if (weir_allow(f->w, f->limit, weir_key_u64(f->w, k), 1, WEIR_HOUR))
                weir_add_relaxed(&f->admitted[k], 1);
        }
    }
}

static void s3_m1_k28_flood_of_ten_times_max_keys(void **state)
{
    (void)state;
    unsigned rounds = (unsigned)random_scaled(10);
    for (unsigned round = 0; round < rounds; round++) {
        struct flood f = {open_for_keys(FLOOD_KEYS, WEIR_FULL_SHARE), 0, NULL};
        f.limit = add_limit(f.w, "a", weir_token_bucket(1, WEIR_HOUR, FLOOD_BURST));
        f.admitted = calloc(10 * FLOOD_KEYS, sizeof *f.admitted);
        assert_non_null(f.admitted);
        run_crew(THREADS, flood, &f);
        assert_true(weir_table_is_valid(&f.w->table));
        struct weir_stats stats = {0};
        assert_int_equal(weir_stats(f.w, &stats), 0);
        assert_in_range(stats.keys, FLOOD_KEYS, FLOOD_KEYS + THREADS);
        /* each placed key its burst, and the overflow bucket its own once */
        uint64_t admitted = 0;
        for (unsigned k = 0; k < 10 * FLOOD_KEYS; k++)
            admitted += weir_load_relaxed(&f.admitted[k]);
        assert_int_equal(admitted, FLOOD_BURST * (stats.keys + 1));
        assert_int_equal(stats.allowed, admitted);
        assert_int_equal(stats.allowed + stats.denied,
                         (uint64_t)THREADS * 10 * FLOOD_KEYS * FLOOD_BURST);
        free(f.admitted);
        weir_close(f.w);
    }
}

/* ---- S7: the ledger ---- */

#define LEDGER_KEYS 16

struct ledger {
    struct weir *w;
    int limit;
    struct weir_atomic_u64 taken[LEDGER_KEYS];
    struct weir_atomic_u64 given[LEDGER_KEYS];
    unsigned operations;
    uint64_t seed;
};

static void mutate(void *context, unsigned index)
{
    struct ledger *l = context;
    struct test_random random = {l->seed + index};
    const weir_ns now = WEIR_HOUR;
    for (unsigned i = 0; i < l->operations; i++) {
        uint64_t dice = random_u64(&random);
        unsigned k = (unsigned)(dice % LEDGER_KEYS);
        uint64_t n = 1 + (dice >> 8) % 20;
        weir_key key = weir_key_u64(l->w, k);
        struct weir_reservation r;
        uint64_t taken = 0;
        uint64_t given = 0;
        switch (dice >> 16 & 7) {
        case 0:
        case 1:
            if (weir_allow(l->w, l->limit, key, n, now))
                taken = n;
            break;
        case 2:
            taken = weir_take(l->w, l->limit, key, n, now);
            break;
        case 3:
            taken = weir_charge(l->w, l->limit, key, n, now);
            break;
        case 4:
        case 5:
            given = weir_refund(l->w, l->limit, key, n, now);
            break;
        default:
            if (weir_reserve(l->w, l->limit, key, n, now, WEIR_HOUR, &r).verdict == WEIR_ALLOWED) {
                taken = n;
                if ((dice >> 24 & 1) != 0)
                    given = weir_cancel(l->w, &r, now);
            }
        }
        weir_add_relaxed(&l->taken[k], taken);
        weir_add_relaxed(&l->given[k], given);
    }
}

/* At one instant nothing accrues: burst - taken + given back = balance, for every key. */
static void s7_k11_k15_ledger(void **state)
{
    (void)state;
    struct ledger l = {0};
    const uint64_t burst = 100;
    l.w = open_for_keys(LEDGER_KEYS, WEIR_FULL_SHARE);
    l.limit = add_limit(l.w, "a", weir_token_bucket(17, WEIR_SECOND, burst)); /* rounded form */
    l.seed = random_start("ledger", 100).state;
    l.operations = (unsigned)random_scaled(200000);
    run_crew(THREADS, mutate, &l);
    for (unsigned k = 0; k < LEDGER_KEYS; k++) {
        weir_key key = weir_key_u64(l.w, k);
        uint64_t taken = weir_load_relaxed(&l.taken[k]);
        uint64_t given = weir_load_relaxed(&l.given[k]);
        assert_true(taken > 0 && given > 0 && given <= taken);
        uint64_t out = taken - given;
        struct weir_result now = weir_peek(l.w, l.limit, key, 1, WEIR_HOUR);
        assert_int_equal(now.remaining, out < burst ? burst - out : 0);
        /* the debt: what has to come back before the bucket is full */
        assert_int_equal(weir_refund(l.w, l.limit, key, UINT64_MAX, WEIR_HOUR), out);
        assert_int_equal(weir_peek(l.w, l.limit, key, 1, WEIR_HOUR).remaining, burst);
    }
    assert_true(weir_table_is_valid(&l.w->table));
    weir_close(l.w);
}

/* ---- S5, K27: sweeps beside decisions ---- */

#define LEAP_KEYS  8
#define LEAP_BURST 5

struct leaps {
    struct weir *w;
    int limit;
    unsigned steps;
    pthread_barrier_t barrier;
    struct weir_atomic_u64 taken[LEAP_KEYS];
    struct weir_atomic_u64 wrong;
    struct weir_atomic_u64 over;
    struct weir_atomic_u64 sweeps;
};

/* Every other leap takes a generation, so these leave some of the 31. */
#define LEAPS_PER_SWEEP 16

/* Waits for a whole sweep: the one under way may have begun before the last leap. */
static void await_sweep(struct leaps *l)
{
    uint64_t seen = weir_load_relaxed(&l->sweeps);
    while (weir_load_relaxed(&l->sweeps) < seen + 2)
        sched_yield();
}

/* The clock leaps by 100 days, ten times a debt: each step every key has its burst, once. */
static void leap(struct leaps *l, unsigned index)
{
    for (unsigned step = 0; step < l->steps; step++) {
        weir_ns now = WEIR_DAY + (weir_ns)step * 100 * WEIR_DAY;
        pthread_barrier_wait(&l->barrier);
        for (unsigned i = 0; i < LEAP_KEYS; i++) {
            unsigned k = (i + index) % LEAP_KEYS;
            while (weir_allow(l->w, l->limit, weir_key_u64(l->w, k), 1, now))
                weir_add_relaxed(&l->taken[k], 1);
        }
        if (pthread_barrier_wait(&l->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            if (step % LEAPS_PER_SWEEP == 0)
                await_sweep(l);
            for (unsigned k = 0; k < LEAP_KEYS; k++) {
                if (weir_load_relaxed(&l->taken[k]) != LEAP_BURST)
                    weir_add_relaxed(&l->wrong, 1);
                weir_store_relaxed(&l->taken[k], 0);
            }
        }
    }
    weir_add_relaxed(&l->over, 1);
}

static void sweep_or_leap(void *context, unsigned index)
{
    struct leaps *l = context;
    if (index != 0) {
        leap(l, index);
        return;
    }
    while (weir_load_relaxed(&l->over) < THREADS - 1) {
        weir_sweep(l->w, WEIR_SWEEP_AT);
        weir_add_relaxed(&l->sweeps, 1);
    }
}

static void s5_k27_sweeps_beside_decisions(void **state)
{
    (void)state;
    struct leaps l = {0};
    l.w = open_for_keys(LEAP_KEYS, WEIR_FULL_SHARE);
    l.limit = add_limit(l.w, "a", weir_token_bucket(9, 10, LEAP_BURST));
    l.steps = (unsigned)random_scaled(1000);
    pthread_barrier_init(&l.barrier, NULL, THREADS - 1);
    run_crew(THREADS, sweep_or_leap, &l);
    pthread_barrier_destroy(&l.barrier);
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(l.w, &stats), 0);
    print_message("# %llu origins, %llu sweeps called\n", (unsigned long long)stats.origins,
                  (unsigned long long)weir_load_relaxed(&l.sweeps));
    assert_int_equal(weir_load_relaxed(&l.wrong), 0);
    /* 31 generations would not have been enough: the sweep freed some */
    assert_true(stats.origins > l.steps / 3);
    weir_close(l.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s3_m1_k28_flood_of_ten_times_max_keys),
        cmocka_unit_test(s7_k11_k15_ledger),
        cmocka_unit_test(s5_k27_sweeps_beside_decisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
