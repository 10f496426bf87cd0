/* SPDX-License-Identifier: MIT */
/*
 * S1, K14: threads at one frozen instant and a burst of c: exactly c tokens are taken, of a cell,
 * of a key never seen before, of the overflow bucket, and across a change of origin.
 */
#include "../support.h"

#include <stdio.h>

#define THREADS 8
#define ROUNDS  10000
#define BURST   13

struct contest {
    struct weir *w;
    int limit;
    struct weir_meter meter;
    struct weir_cell *cells; /* one a round */
    unsigned rounds;
    pthread_barrier_t barrier;
    struct weir_atomic_u64 taken[THREADS]; /* in the round under way */
    struct weir_atomic_u64 wrong;          /* rounds with another sum than BURST */
    uint64_t (*contend)(struct contest *c, unsigned index, unsigned round);
};

/* Tries until it is denied, with costs that differ by thread, then one by one. */
static uint64_t contend_for_key(struct contest *c, unsigned index, unsigned round)
{
    weir_key key = weir_key_u64(c->w, round);
    uint64_t taken = 0;
    uint64_t n = 1 + index % 3;
    while (weir_decide(c->w, c->limit, key, n, WEIR_HOUR).verdict == WEIR_ALLOWED)
        taken += n;
    while (weir_allow(c->w, c->limit, key, 1, WEIR_HOUR))
        taken++;
    return taken;
}

static uint64_t contend_for_cell(struct contest *c, unsigned index, unsigned round)
{
    uint64_t taken = 0;
    uint64_t n = 1 + index % 3;
    while (weir_cell_decide(&c->cells[round], &c->meter, n, WEIR_HOUR).verdict == WEIR_ALLOWED)
        taken += n;
    while (weir_cell_decide(&c->cells[round], &c->meter, 1, WEIR_HOUR).verdict == WEIR_ALLOWED)
        taken++;
    return taken;
}

/* Reserve and cancel, and hold: what is held at the end is the burst. */
static uint64_t contend_with_cancels(struct contest *c, unsigned index, unsigned round)
{
    weir_key key = weir_key_u64(c->w, round);
    struct weir_reservation r;
    uint64_t taken = 0;
    for (unsigned i = 0; i < 6; i++) {
        if (weir_reserve(c->w, c->limit, key, 1 + index % 2, WEIR_HOUR, 0, &r).verdict ==
            WEIR_ALLOWED)
            taken += 1 + index % 2 - weir_cancel(c->w, &r, WEIR_HOUR);
    }
    pthread_barrier_wait(&c->barrier);
    return taken + contend_for_key(c, index, round);
}

/* Every round is a year later: the first call of it gives the limit a new origin. */
static uint64_t contend_over_years(struct contest *c, unsigned index, unsigned round)
{
    weir_key key = weir_key_u64(c->w, 1);
    weir_ns now = (weir_ns)(1 + round) * 365 * WEIR_DAY;
    uint64_t taken = 0;
    (void)index;
    while (weir_allow(c->w, c->limit, key, 1, now))
        taken++;
    return taken;
}

static void take_part(void *context, unsigned index)
{
    struct contest *c = context;
    for (unsigned round = 0; round < c->rounds; round++) {
        pthread_barrier_wait(&c->barrier);
        weir_store_relaxed(&c->taken[index], c->contend(c, index, round));
        if (pthread_barrier_wait(&c->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            uint64_t sum = 0;
            for (unsigned i = 0; i < THREADS; i++)
                sum += weir_load_relaxed(&c->taken[i]);
            if (sum != BURST)
                weir_add_relaxed(&c->wrong, 1);
        }
    }
}

static void hold(struct contest *c, unsigned rounds, const char *what)
{
    c->rounds = (unsigned)random_scaled(rounds);
    pthread_barrier_init(&c->barrier, NULL, THREADS);
    run_crew(THREADS, take_part, c);
    pthread_barrier_destroy(&c->barrier);
    print_message("# %s: %u rounds, %u threads, %llu with another sum than %d\n", what, c->rounds,
                  THREADS, (unsigned long long)weir_load_relaxed(&c->wrong), BURST);
    assert_int_equal(weir_load_relaxed(&c->wrong), 0);
}

static void hold_engine(uint64_t (*contend)(struct contest *, unsigned, unsigned), size_t max_keys,
                        unsigned rounds, const char *what)
{
    struct contest c = {0};
    c.w = open_for_keys(max_keys, WEIR_FULL_SHARE);
    c.limit = add_limit(c.w, "a", weir_token_bucket(1, WEIR_HOUR, BURST));
    c.contend = contend;
    hold(&c, rounds, what);
    weir_close(c.w);
}

static void s1_k14_cell(void **state)
{
    (void)state;
    struct contest c = {0};
    struct weir_policy policy = weir_token_bucket(1, WEIR_HOUR, BURST);
    assert_int_equal(weir_meter_init(&c.meter, &policy, 0), 0);
    c.cells = calloc(ROUNDS, sizeof *c.cells);
    assert_non_null(c.cells);
    c.contend = contend_for_cell;
    hold(&c, ROUNDS, "cell");
    free(c.cells);
}

static void s1_k14_key_never_seen_before(void **state)
{
    (void)state;
    hold_engine(contend_for_key, 2 * ROUNDS, ROUNDS, "new key");
}

static void s1_k11_with_cancels(void **state)
{
    (void)state;
    hold_engine(contend_with_cancels, 2 * ROUNDS, ROUNDS / 2, "with cancels");
}

static void s1_k16_across_new_origins(void **state)
{
    (void)state;
    struct contest c = {0};
    c.w = open_for_keys(8, WEIR_FULL_SHARE);
    /* half a payload's span is 185 days at nine units a nanosecond */
    c.limit = add_limit(c.w, "a", weir_token_bucket(9, 10, BURST));
    c.contend = contend_over_years;
    hold(&c, WEIR_GENERATIONS - 1, "new origins");
    weir_close(c.w);
}

/* The same key is the last that finds a place: nobody takes from the overflow bucket for it. */
static void s1_k14_last_place(void **state)
{
    (void)state;
    unsigned rounds = (unsigned)random_scaled(300);
    for (unsigned round = 0; round < rounds; round++) {
        struct contest c = {0};
        c.w = open_for_keys(1, WEIR_FULL_SHARE);
        c.limit = add_limit(c.w, "a", weir_token_bucket(1, WEIR_HOUR, BURST));
        c.contend = contend_for_key;
        c.rounds = 1;
        pthread_barrier_init(&c.barrier, NULL, THREADS);
        run_crew(THREADS, take_part, &c);
        pthread_barrier_destroy(&c.barrier);
        struct weir_stats stats = {0};
        assert_int_equal(weir_stats(c.w, &stats), 0);
        assert_int_equal(stats.overflow, 0);
        assert_int_equal(stats.keys, 1);
        assert_int_equal(weir_load_relaxed(&c.wrong), 0);
        weir_close(c.w);
    }
}

/* Two new keys meet a table with one place: each is admitted its burst, wherever it is decided. */
struct last_place {
    struct weir *w;
    int limit;
    pthread_barrier_t barrier;
    struct weir_atomic_u64 taken[2];
};

static void take_by_key(void *context, unsigned index)
{
    struct last_place *l = context;
    weir_key key = weir_key_u64(l->w, index % 2);
    pthread_barrier_wait(&l->barrier);
    while (weir_allow(l->w, l->limit, key, 1, WEIR_HOUR))
        weir_add_relaxed(&l->taken[index % 2], 1);
}

static void s1_k26_while_the_table_gets_full(void **state)
{
    (void)state;
    unsigned rounds = (unsigned)random_scaled(4000);
    unsigned shared = 0;
    for (unsigned round = 0; round < rounds; round++) {
        struct last_place l = {0};
        l.w = open_for_keys(1, WEIR_FULL_SHARE);
        l.limit = add_limit(l.w, "a", weir_token_bucket(1, WEIR_HOUR, BURST));
        pthread_barrier_init(&l.barrier, NULL, 4);
        run_crew(4, take_by_key, &l);
        pthread_barrier_destroy(&l.barrier);
        for (unsigned k = 0; k < 2; k++)
            assert_int_equal(weir_load_relaxed(&l.taken[k]), BURST);
        struct weir_stats stats = {0};
        assert_int_equal(weir_stats(l.w, &stats), 0);
        shared += stats.overflow > 0;
        weir_close(l.w);
    }
    print_message("# %u rounds, in %u of them one key had no place\n", rounds, shared);
    assert_true(shared > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_k14_cell),         cmocka_unit_test(s1_k14_key_never_seen_before),
        cmocka_unit_test(s1_k11_with_cancels), cmocka_unit_test(s1_k16_across_new_origins),
        cmocka_unit_test(s1_k14_last_place),   cmocka_unit_test(s1_k26_while_the_table_gets_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
