/* SPDX-License-Identifier: MIT */
/*
 * Counters: exact sums over threads that come and go, bounded memory, and ends of threads and
 * engines in either order.
 */
#include "../support.h"

#define NOW (1000 * WEIR_SECOND)

struct job {
    struct weir *w;
    int limit;
    pthread_barrier_t *used;   /* the thread has used the engine */
    pthread_barrier_t *closed; /* the engine was closed */
};

static void decide_some(void *context, unsigned index)
{
    const struct job *job = context;
    weir_key key = weir_key_u64(job->w, index);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(weir_allow(job->w, job->limit, key, 1, NOW), i < 3);
    assert_int_equal(weir_decide(job->w, job->limit, key, 4, NOW).verdict, WEIR_NEVER);
}

static void sums_over_threads_that_end(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(100, WEIR_FULL_SHARE);
    struct job job = {w, add_limit(w, "a", weir_token_bucket(1, WEIR_HOUR, 3)), NULL, NULL};
    size_t bytes = 0;
    unsigned rounds = (unsigned)random_scaled(250);
    for (unsigned round = 0; round < rounds; round++) {
        run_crew(4, decide_some, &job);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(weir_forget(w, job.limit, weir_key_u64(w, i)), 0);
        struct weir_stats stats = {0};
        assert_int_equal(weir_stats(w, &stats), 0);
        assert_int_equal(stats.allowed, (uint64_t)4 * 3 * (round + 1));
        assert_int_equal(stats.denied, (uint64_t)4 * 7 * (round + 1));
        assert_int_equal(stats.never, (uint64_t)4 * (round + 1));
        if (round == 0)
            bytes = stats.bytes;
        /* blocks of threads that ended are used again: at most four at one time */
        assert_true(stats.bytes <= bytes + 4 * (256 * sizeof(struct weir_counter_row) + 64));
    }
    weir_close(w);
}

static void *use_then_outlive(void *argument)
{
    const struct job *job = argument;
    decide_some(argument, 0);
    pthread_barrier_wait(job->used);
    pthread_barrier_wait(job->closed);
    /* a new engine, perhaps at the old one's address: nothing of the old one is mixed up with it */
    struct weir *w = open_for_keys(10, WEIR_FULL_SHARE);
    struct job next = {w, add_limit(w, "b", weir_token_bucket(1, WEIR_HOUR, 3)), NULL, NULL};
    decide_some(&next, 1);
    struct weir_limit_stats stats = {0};
    assert_int_equal(weir_limit_stats(w, next.limit, &stats), 0);
    assert_int_equal(stats.allowed, 3);
    assert_int_equal(stats.denied, 7);
    weir_close(w);
    return NULL;
}

static void a_thread_outlives_its_engine(void **state)
{
    (void)state;
    pthread_barrier_t used;
    pthread_barrier_t closed;
    pthread_barrier_init(&used, NULL, 2);
    pthread_barrier_init(&closed, NULL, 2);
    unsigned rounds = (unsigned)random_scaled(50);
    for (unsigned i = 0; i < rounds; i++) {
        struct weir *w = open_for_keys(10, WEIR_FULL_SHARE);
        struct job job = {w, add_limit(w, "a", weir_token_bucket(1, WEIR_HOUR, 3)), &used, &closed};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, use_then_outlive, &job), 0);
        pthread_barrier_wait(&used);
        weir_close(w);
        pthread_barrier_wait(&closed);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    pthread_barrier_destroy(&used);
    pthread_barrier_destroy(&closed);
}

/* One thread that goes back and forth between engines counts right in each. */
static void many_engines_in_one_thread(void **state)
{
    (void)state;
    enum { ENGINES = 20 };
    struct weir *engines[ENGINES];
    for (unsigned i = 0; i < ENGINES; i++) {
        engines[i] = open_for_keys(10, WEIR_FULL_SHARE);
        add_limit(engines[i], "a", weir_token_bucket(1, WEIR_HOUR, 100));
    }
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < ENGINES; i++) {
            for (unsigned k = 0; k <= i; k++)
                assert_true(weir_allow(engines[i], 0, weir_key_u64(engines[i], 1), 1, NOW));
        }
    }
    for (unsigned i = 0; i < ENGINES; i++) {
        struct weir_stats stats = {0};
        assert_int_equal(weir_stats(engines[i], &stats), 0);
        assert_int_equal(stats.allowed, 5 * (i + 1));
        weir_close(engines[i]);
    }
}

static void stats_refuse(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(10, WEIR_FULL_SHARE);
    struct weir_stats stats = {0};
    struct weir_limit_stats limit_stats = {0};
    assert_int_equal(weir_stats(NULL, &stats), -EINVAL);
    assert_int_equal(weir_stats(w, NULL), -EINVAL);
    assert_int_equal(weir_limit_stats(w, 0, &limit_stats), -ENOENT);
    stats.size = sizeof stats + 8;
    assert_int_equal(weir_stats(w, &stats), -EINVAL);
    stats.size = sizeof stats;
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_int_equal(add_limit(w, "a", weir_token_bucket(1, 1, 1)), 0);
    assert_int_equal(weir_limit_stats(w, 0, NULL), -EINVAL);
    assert_int_equal(weir_limit_stats(NULL, 0, &limit_stats), -EINVAL);
    limit_stats.size = 1;
    assert_int_equal(weir_limit_stats(w, 0, &limit_stats), -EINVAL);
    limit_stats.size = sizeof limit_stats;
    assert_int_equal(weir_limit_stats(w, 0, &limit_stats), 0);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_threads_that_end),
        cmocka_unit_test(a_thread_outlives_its_engine),
        cmocka_unit_test(many_engines_in_one_thread),
        cmocka_unit_test(stats_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
