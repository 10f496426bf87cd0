/* SPDX-License-Identifier: MIT */
/*
 * The table while it grows: no key is granted more than its bucket holds (S1), whatever the clocks
 * of the threads say (K01), no key has two slots (S3, K28), and nobody is refused what a bucket has
 * when threads meet at one instant in the middle of a move (S2, K14).
 */
#include "mix.h"

/* ---- histories ---- */

static void s1_k01_k28_one_shard(void **state)
{
    (void)state;
    const struct mix m = {.name = "one shard",
                          .max_keys = 1000,
                          .threads = 8,
                          .rounds = 12,
                          .phases = 4,
                          .calls = 7500,
                          .residents = 60,
                          .new_every = 40,
                          .new_at_once = 20,
                          .step = 4 * WEIR_MICROSECOND,
                          .leap = 4 * WEIR_SECOND,
                          .leap_every = 4000,
                          .lag = 20 * WEIR_SECOND,
                          .wanted = STRESS_EVERYTHING};
    mix_run(&m, random_start("one shard", 1).state);
}

/* Small enough for the lines to be full of those who race for them. */
static void s1_k01_k28_a_few_lines(void **state)
{
    (void)state;
    const struct mix m = {.name = "a few lines",
                          .max_keys = 60,
                          .threads = 4,
                          .rounds = 40,
                          .phases = 2,
                          .calls = 4000,
                          .residents = 5,
                          .new_every = 60,
                          .new_at_once = 2,
                          .step = 40 * WEIR_MICROSECOND,
                          .leap = WEIR_SECOND,
                          .leap_every = 500,
                          .lag = 2 * WEIR_SECOND,
                          .wanted = STRESS_EVERYTHING};
    mix_run(&m, random_start("a few lines", 2).state);
}

static void s1_k01_k28_many_shards(void **state)
{
    (void)state;
    const struct mix m = {.name = "many shards",
                          .max_keys = 40000,
                          .threads = 8,
                          .rounds = 3,
                          .phases = 4,
                          .calls = 25000,
                          .residents = 3000,
                          .new_every = 6,
                          .new_at_once = 60,
                          .step = 4 * WEIR_MICROSECOND,
                          .leap = 4 * WEIR_SECOND,
                          .leap_every = 100000,
                          .lag = 25 * WEIR_SECOND,
                          .wanted = STRESS_EVERYTHING};
    mix_run(&m, random_start("many shards", 3).state);
}

/* Beside a thread that trims: shrinking, too, is a move. */
static void s1_k28_trimmed_all_the_time(void **state)
{
    (void)state;
    const struct mix m = {.name = "trimmed",
                          .max_keys = 3000,
                          .threads = 7,
                          .rounds = 6,
                          .phases = 4,
                          .calls = 7000,
                          .residents = 100,
                          .new_every = 25,
                          .new_at_once = 20,
                          .step = 4 * WEIR_MICROSECOND,
                          .leap = 2 * WEIR_SECOND,
                          .leap_every = 20000,
                          .lag = 10 * WEIR_SECOND,
                          .trim = weir_trim,
                          .wanted = STRESS_EVERYTHING};
    mix_run(&m, random_start("trimmed", 4).state);
}

/* ---- K14: one frozen instant in the middle of a move ---- */

#define THREADS 8
#define BURST   13
#define DEBT    1000

/* What is known of the key that all threads contend for. */
enum kind {
    NEVER_USED,
    USED_ONCE, /* before the move, at the same instant: a token of its burst is gone */
    IDLE,      /* used up in the round before, and full since */
    KINDS
};

struct contest {
    struct weir *w;
    int limit, filler, owed;
    const char *name;
    unsigned rounds, residents;
    bool ready; /* the move has begun before the threads meet; else it is about to */
    weir_ns now;
    uint64_t key;
    uint64_t expected;
    uint64_t most[WEIR_ORDER_MAX + 1]; /* keys that an array of an order had when it was left */
    struct weir_atomic_u64 fillers;    /* ids that were tried */
    struct weir_atomic_u64 wrong, unfilled, moving;
    pthread_barrier_t barrier;
    struct weir_atomic_u64 taken[THREADS];
};

static uint64_t shard_of(const struct contest *c, weir_key key)
{
    return weir_table_probe(&c->w->table, key.high, key.low, 0).shard;
}

/* A key of a shard that nobody has asked for yet; it is asked for once. */
static weir_key fill_one(struct contest *c, uint64_t shard)
{
    weir_key key;
    do {
        key = weir_key_u64(c->w, ((uint64_t)1 << 32) + weir_add_relaxed(&c->fillers, 1));
    } while (shard_of(c, key) != shard);
    weir_add_relaxed(&c->unfilled, !weir_allow(c->w, c->filler, key, 1, c->now));
    return key;
}

/* Its place is free again with the next move. */
static void forget_filler(struct contest *c, weir_key key)
{
    weir_add_relaxed(&c->unfilled, weir_forget(c->w, c->filler, key) != 0);
}

/* Fills a shard until it moves, or, once it is known when that will be, until shortly before.
   False: neither came. */
static bool fill_shard(struct contest *c, uint64_t shard)
{
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t packed = weir_load_acquire(&c->w->table.words[shard]);
        if (packed != 0) {
            const struct weir_array *root = weir_packed_array(packed);
            uint64_t count = weir_array_count(root);
            uint64_t *most = &c->most[root->order];
            if (!c->ready && *most != 0 && count + 2 >= *most)
                return true;
            *most = count > *most ? count : *most;
        }
        weir_key key = fill_one(c, shard);
        if (weir_load_acquire(&c->w->table.words[shard]) >> 63 != 0)
            return true; /* each further call would move on what has begun */
        forget_filler(c, key);
    }
    return false;
}

/* Makes everything idle but what the residents owe, and chooses a key. */
static void prepare(struct contest *c, unsigned round)
{
    c->now += WEIR_SECOND;
    c->ready = round % 2 == 0;
    c->expected = BURST;
    switch ((enum kind)(round / 2 % KINDS)) {
    case NEVER_USED:
        c->key = round;
        break;
    case USED_ONCE:
        c->key = round;
        c->expected -= weir_allow(c->w, c->limit, weir_key_u64(c->w, c->key), 1, c->now);
        break;
    default:
        break; /* that of the round before */
    }
    if (round % 100 == 99)
        weir_add_relaxed(&c->wrong, weir_trim(c->w, c->now) != 0);
    uint64_t shard = shard_of(c, weir_key_u64(c->w, c->key));
    weir_add_relaxed(&c->wrong, !fill_shard(c, shard));
    weir_add_relaxed(&c->moving, weir_load_relaxed(&c->w->table.words[shard]) >> 63);
}

/* Tries until it is denied, with costs that differ by thread, then one by one; in between the table
   goes on filling up. */
static uint64_t contend(struct contest *c, unsigned index)
{
    weir_key key = weir_key_u64(c->w, c->key);
    uint64_t shard = shard_of(c, key);
    uint64_t taken = 0;
    uint64_t n = 1 + index % 3;
    while (weir_decide(c->w, c->limit, key, n, c->now).verdict == WEIR_ALLOWED) {
        taken += n;
        if (index % 2 == 0)
            forget_filler(c, fill_one(c, shard));
    }
    while (weir_allow(c->w, c->limit, key, 1, c->now))
        taken++;
    return taken;
}

static void take_part(void *context, unsigned index)
{
    struct contest *c = context;
    for (unsigned round = 0; round < c->rounds; round++) {
        if (index == 0)
            prepare(c, round);
        pthread_barrier_wait(&c->barrier);
        weir_store_relaxed(&c->taken[index], contend(c, index));
        pthread_barrier_wait(&c->barrier);
        if (index == 0) {
            uint64_t sum = 0;
            for (unsigned i = 0; i < THREADS; i++)
                sum += weir_load_relaxed(&c->taken[i]);
            weir_add_relaxed(&c->wrong, sum != c->expected);
            if (round % 16 == 0)
                weir_add_relaxed(&c->wrong, !stress_table_is_sound(c->w));
        }
    }
}

/* The residents owe until the end, to the unit, what they owed at the start. */
static void check_residents(const struct contest *c, weir_ns begin)
{
    for (unsigned i = 0; i < c->residents; i++) {
        struct weir_result r = weir_peek(c->w, c->owed, weir_key_u64(c->w, i), 1, c->now);
        assert_int_equal(r.reset, DEBT * WEIR_DAY - (c->now - begin));
    }
}

static void hold(struct contest *c, size_t max_keys,
                 void (*run)(unsigned, void (*)(void *, unsigned), void *))
{
    c->w = open_for_keys(max_keys, WEIR_FULL_SHARE);
    c->limit = add_limit(c->w, "contended", weir_token_bucket(1, 10 * WEIR_MILLISECOND, BURST));
    c->filler = add_limit(c->w, "filler", weir_token_bucket(1, WEIR_MILLISECOND, 1));
    c->owed = add_limit(c->w, "owed", weir_token_bucket(1, WEIR_DAY, 1));
    c->rounds = (unsigned)random_scaled(c->rounds);
    weir_ns begin = c->now = WEIR_HOUR;
    for (unsigned i = 0; i < c->residents; i++)
        assert_int_equal(weir_charge(c->w, c->owed, weir_key_u64(c->w, i), DEBT, begin), DEBT);
    pthread_barrier_init(&c->barrier, NULL, THREADS);
    run(THREADS, take_part, c);
    pthread_barrier_destroy(&c->barrier);
    struct stress_counts counts = {{0}};
    stress_count(&counts, c->w);
    print_message("# %s: %u rounds, %llu began in a move, %llu wrong\n", c->name, c->rounds,
                  (unsigned long long)weir_load_relaxed(&c->moving),
                  (unsigned long long)weir_load_relaxed(&c->wrong));
    assert_int_equal(weir_load_relaxed(&c->wrong), 0);
    assert_int_equal(weir_load_relaxed(&c->unfilled), 0);
    assert_true(weir_load_relaxed(&c->moving) > c->rounds / 4);
    check_residents(c, begin);
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(c->w, &stats), 0);
    assert_int_equal(stats.overflow, 0);
    assert_true(stress_table_is_sound(c->w));
    assert_true(stress_report(c->name, &counts,
                              STRESS_GROWTHS | STRESS_COMPACTIONS | STRESS_MOVES | STRESS_HELPS));
    weir_close(c->w);
}

static void s1_s2_k14_in_the_middle_of_a_move(void **state)
{
    (void)state;
    struct contest c = {.name = "contest", .rounds = 4000, .residents = 150};
    hold(&c, 1300, run_crew);
}

static void s1_s2_k14_in_one_of_many_shards(void **state)
{
    (void)state;
    struct contest c = {.name = "contest among shards", .rounds = 2000, .residents = 800};
    hold(&c, 10000, run_crew);
}

static void s1_s2_k14_of_threads_that_are_stopped(void **state)
{
    (void)state;
    struct contest c = {.name = "contest with stops", .rounds = 2000, .residents = 40};
    hold(&c, 1000, stress_run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_k01_k28_one_shard),
        cmocka_unit_test(s1_k01_k28_a_few_lines),
        cmocka_unit_test(s1_k01_k28_many_shards),
        cmocka_unit_test(s1_k28_trimmed_all_the_time),
        cmocka_unit_test(s1_s2_k14_in_the_middle_of_a_move),
        cmocka_unit_test(s1_s2_k14_in_one_of_many_shards),
        cmocka_unit_test(s1_s2_k14_of_threads_that_are_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
