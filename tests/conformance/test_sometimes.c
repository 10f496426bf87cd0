/* SPDX-License-Identifier: MIT */
/*
 * golang.org/x/time/rate, Sometimes: its examples, random ones against its definition, and what
 * several threads are told.
 */
#include "../support.h"

#include "csv.h"

#include <stdatomic.h>

#define LAST ((weir_ns)INT64_MAX)

/* ---- the definition ---- */

/* As the original says it, under a lock and with instants that only rise. */
struct model {
    uint64_t first, every;
    weir_ns interval;
    uint64_t count;
    weir_ns last;
};

static bool model_sometimes(struct model *m, weir_ns now)
{
    now = now > LAST ? LAST : now;
    if (m->count > 0 && now < m->last)
        now = m->last;
    bool due = m->count == 0 || (m->first > 0 && m->count < m->first) ||
               (m->every > 0 && m->count % m->every == 0) ||
               (m->interval > 0 && now - m->last >= m->interval);
    if (due && m->interval > 0)
        m->last = now;
    m->count++;
    return due;
}

/* ---- one thread ---- */

/* Every example, begun at several instants. */
static void the_examples_run_when_stated(void **state)
{
    (void)state;
    const weir_ns bases[] = {0, 1, WEIR_HOUR, LAST - 2 * WEIR_SECOND};
    struct csv table;
    csv_open(&table, "xtr_sometimes.csv");
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        struct weir_sometimes s = {0};
        for (size_t row = 0; row < table.rows; row++) {
            if (!csv_continues(&table, row, "example")) {
                assert_int_equal(csv_u64(&table, row, "call"), 1);
                s = (struct weir_sometimes){.first = csv_u64(&table, row, "first"),
                                            .every = csv_u64(&table, row, "every"),
                                            .interval =
                                                csv_u64(&table, row, "interval_s") * WEIR_SECOND};
            }
            assert_int_equal(s.count + 1, csv_u64(&table, row, "call"));
            weir_ns now = bases[b] + csv_u64(&table, row, "t_s") * WEIR_SECOND;
            assert_int_equal(weir_sometimes(&s, now), csv_u64(&table, row, "runs"));
        }
    }
    csv_close(&table);
}

/* Small numbers, so that rules meet; clocks that stand, jump either way, and end. */
static void one_thread_is_told_what_the_definition_says(void **state)
{
    (void)state;
    struct test_random random = random_start("sometimes", 1);
    for (uint64_t round = random_scaled(20000); round > 0; round--) {
        struct model m = {.first = random_below(&random, 4),
                          .every = random_below(&random, 4),
                          .interval = random_below(&random, 4)};
        if (random_below(&random, 4) == 0)
            m.interval = random_magnitude(&random, 64);
        struct weir_sometimes s = {.first = m.first, .every = m.every, .interval = m.interval};
        weir_ns now = random_below(&random, 2) == 0 ? 0 : random_magnitude(&random, 64);
        for (unsigned call = 0; call < 16; call++) {
            assert_int_equal(weir_sometimes(&s, now), model_sometimes(&m, now));
            assert_int_equal(s.count, m.count);
            assert_int_equal(s.last, m.interval > 0 ? m.last + 1 : 0);
            uint64_t how = random_below(&random, 8);
            if (how == 0)
                now = random_magnitude(&random, 64);
            else if (how == 1)
                now -= now < 2 ? now : 2;
            else if (now < UINT64_MAX - 3)
                now += random_below(&random, 4);
        }
    }
}

static void no_filter_is_never_told(void **state)
{
    (void)state;
    assert_false(weir_sometimes(NULL, 0));
    assert_false(weir_sometimes(NULL, UINT64_MAX));
}

static void the_ends_of_time(void **state)
{
    (void)state;
    struct weir_sometimes s = {.interval = 1};
    assert_true(weir_sometimes(&s, 0));
    assert_int_equal(s.last, 1);
    assert_false(weir_sometimes(&s, 0));
    assert_true(weir_sometimes(&s, 1));
    assert_true(weir_sometimes(&s, LAST - 1));
    assert_true(weir_sometimes(&s, LAST + 1)); /* counts as LAST */
    assert_false(weir_sometimes(&s, LAST));
    assert_false(weir_sometimes(&s, UINT64_MAX));
    assert_false(weir_sometimes(&s, 0));
    assert_int_equal(s.last, LAST + 1);

    s = (struct weir_sometimes){.interval = LAST};
    assert_true(weir_sometimes(&s, 0));
    assert_false(weir_sometimes(&s, LAST - 1));
    assert_true(weir_sometimes(&s, LAST));

    s = (struct weir_sometimes){.interval = WEIR_FOREVER};
    assert_true(weir_sometimes(&s, 0));
    assert_false(weir_sometimes(&s, UINT64_MAX));
}

static void largest_rules(void **state)
{
    (void)state;
    struct weir_sometimes s = {.first = UINT64_MAX};
    for (unsigned i = 0; i < 100; i++)
        assert_true(weir_sometimes(&s, 0));
    s = (struct weir_sometimes){.every = UINT64_MAX};
    assert_true(weir_sometimes(&s, 0));
    for (unsigned i = 0; i < 100; i++)
        assert_false(weir_sometimes(&s, 0));
    s = (struct weir_sometimes){.every = 1};
    for (unsigned i = 0; i < 100; i++)
        assert_true(weir_sometimes(&s, 0));
}

static void k20_a_clock_that_is_set_back_neither_tells_nor_silences(void **state)
{
    (void)state;
    struct weir_sometimes s = {.every = 3, .interval = 10};
    assert_true(weir_sometimes(&s, 100));
    assert_false(weir_sometimes(&s, 50));
    assert_false(weir_sometimes(&s, 60)); /* 10 later, but not than 100 */
    assert_true(weir_sometimes(&s, 50));  /* by number */
    assert_int_equal(s.last, 101);        /* at the instant 100, as told by the header */
    assert_false(weir_sometimes(&s, 109));
    assert_true(weir_sometimes(&s, 110));
}

/* ---- threads ---- */

enum { THREADS = 8, CALLS = 1000 };

struct shared {
    struct weir_sometimes s;
    weir_ns now; /* of all calls */
    atomic_ullong told;
};

static void call_often(void *shared, unsigned thread)
{
    struct shared *h = shared;
    (void)thread;
    for (unsigned i = 0; i < CALLS; i++) {
        h->told += weir_sometimes(&h->s, h->now);
    }
}

static uint64_t told(struct weir_sometimes s, weir_ns now)
{
    struct shared shared = {.s = s, .now = now};
    run_crew(THREADS, call_often, &shared);
    assert_int_equal(shared.s.count, THREADS * CALLS);
    return shared.told;
}

static void at_one_instant_one_thread_is_told(void **state)
{
    (void)state;
    for (uint64_t round = random_scaled(200); round > 0; round--) {
        struct shared shared = {.s = {.interval = 1}, .now = round};
        for (unsigned i = 1; i <= 3; i++) {
            run_crew(THREADS, call_often, &shared);
            assert_int_equal(shared.told, i);
            assert_int_equal(shared.s.last, shared.now + 1);
            shared.now += i;
        }
        assert_int_equal(told((struct weir_sometimes){.first = 1, .interval = 1}, round), 1);
    }
}

static void numbers_are_exact_for_threads(void **state)
{
    (void)state;
    const uint64_t all = THREADS * CALLS;
    assert_int_equal(told((struct weir_sometimes){0}, 1), 1);
    assert_int_equal(told((struct weir_sometimes){.first = 100}, 1), 100);
    assert_int_equal(told((struct weir_sometimes){.first = all + 1}, 1), all);
    assert_int_equal(told((struct weir_sometimes){.every = 7}, 1), (all + 6) / 7);
    assert_int_equal(told((struct weir_sometimes){.first = 8, .every = 7}, 1), 8 + (all - 8) / 7);
}

/* A clock that every call moves on, half a nanosecond a time. */
struct moving {
    struct weir_sometimes s;
    atomic_uint halves;
    atomic_uint told[THREADS * CALLS / 2]; /* at each instant */
};

static void call_while_it_moves(void *moving, unsigned thread)
{
    struct moving *m = moving;
    (void)thread;
    for (unsigned i = 0; i < CALLS; i++) {
        weir_ns now = atomic_fetch_add(&m->halves, 1) / 2;
        if (weir_sometimes(&m->s, now))
            m->told[now]++;
    }
}

/* The first call is told by its number; what is told later is an interval apart. */
static void intervals_are_kept_by_threads(void **state)
{
    (void)state;
    enum { INSTANTS = THREADS * CALLS / 2 };
    uint64_t all = 0;
    for (uint64_t round = random_scaled(200); round > 0; round--) {
        struct moving m = {.s = {.interval = 1 + round % 3, .count = 1}};
        assert_false(weir_sometimes(&m.s, 0));
        run_crew(THREADS, call_while_it_moves, &m);
        for (weir_ns now = 0, next = m.s.interval; now < INSTANTS; now++) {
            assert_in_range(m.told[now], 0, now >= next ? 1 : 0);
            all += m.told[now];
            if (m.told[now] > 0)
                next = now + m.s.interval;
        }
    }
    assert_true(all > 0);
}

/* One thread has got number 0 and stopped there. */
static void a_first_call_that_stops_holds_up_nobody(void **state)
{
    (void)state;
    struct weir_sometimes s = {.interval = 10, .count = 1};
    assert_false(weir_sometimes(&s, 100));
    assert_false(weir_sometimes(&s, 109));
    assert_true(weir_sometimes(&s, 110));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_run_when_stated),
        cmocka_unit_test(one_thread_is_told_what_the_definition_says),
        cmocka_unit_test(no_filter_is_never_told),
        cmocka_unit_test(the_ends_of_time),
        cmocka_unit_test(largest_rules),
        cmocka_unit_test(k20_a_clock_that_is_set_back_neither_tells_nor_silences),
        cmocka_unit_test(at_one_instant_one_thread_is_told),
        cmocka_unit_test(numbers_are_exact_for_threads),
        cmocka_unit_test(intervals_are_kept_by_threads),
        cmocka_unit_test(a_first_call_that_stops_holds_up_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
