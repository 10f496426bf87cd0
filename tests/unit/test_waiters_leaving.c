/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for permits and do not get them: whoever leaves without permits leaves nothing
 * behind, and the clock says when, and nothing else.
 */
#include "askers.h"

#include <errno.h>
#include <signal.h>

/* ---- leaving without permits ---- */

/* `first` waits for two permits, one is free, and `second` waits for that one behind it. */
struct pair {
    struct weir_waiters *waiters;
    struct permits permits;
    struct asker first, second;
};

/* What the test has set of `first` stays. */
static void start_pair(struct pair *pair)
{
    pair->waiters = open_waiters();
    pair->permits = permits_of(pair->waiters, (weir_key){7, 8}, 1);
    pair->first.permits = &pair->permits;
    pair->first.n = 2;
    pair->second = asker_for(&pair->permits, 1);
    start(&pair->first);
    start(&pair->second);
}

/* The first has left with `result` and has handed on. */
static void end_pair(struct pair *pair, int result)
{
    join(&pair->first);
    join(&pair->second);
    assert_int_equal(pair->first.result, result);
    assert_int_equal(pair->second.result, 0);
    assert_int_equal(pair->second.tries, 1);
    assert_int_equal(pair->permits.free.value, 1);
    assert_int_equal(pair->permits.mistakes, 0);
    close_waiters(pair->waiters);
}

/* Of the clocks that the tests move: not the monotonic one's for a long time. */
#define FAR ((weir_ns)1 << 62)

static weir_ns look_at(void *clock)
{
    atomic_ullong *now = clock;
    return *now;
}

static void k12_who_times_out_hands_on(void **state)
{
    (void)state;
    atomic_ullong now = FAR;
    struct pair pair = {
        .first = {.deadline = FAR + WEIR_DAY, .clock = look_at, .clock_context = &now}};
    start_pair(&pair);
    give(&pair.permits, 0); /* does not fit the first */
    assert_int_equal(wakes(pair.waiters), 0);
    assert_false(pair.first.left);
    now = FAR + WEIR_DAY;
    end_pair(&pair, -ETIMEDOUT);
}

static void k12_who_times_out_by_the_monotonic_clock_hands_on(void **state)
{
    (void)state;
    struct pair pair = {.first = {.deadline = weir_now() + 200 * WEIR_MILLISECOND}};
    start_pair(&pair);
    end_pair(&pair, -ETIMEDOUT);
    assert_true(weir_now() >= pair.first.deadline);
}

static void k12_who_times_out_in_the_middle_leaves_the_order(void **state)
{
    (void)state;
    enum { THREE = 3 };
    struct weir_waiters *w = open_waiters();
    for (unsigned who = 0; who < THREE; who++) {
        struct permits p = permits_of(w, (weir_key){7, 8}, 0);
        struct asker askers[THREE], last = asker_for(&p, 1);
        atomic_uint grants = 0;
        atomic_ullong now = FAR;
        uint64_t before = wakes(w);
        for (unsigned i = 0; i < THREE; i++) {
            askers[i] = asker_for(&p, 1);
            askers[i].grants = &grants;
            askers[i].clock = look_at;
            askers[i].clock_context = &now;
            askers[i].deadline = i == who ? FAR + 1 : WEIR_FOREVER;
            start(&askers[i]);
        }
        now = FAR + 1;
        join(&askers[who]);
        assert_int_equal(askers[who].result, -ETIMEDOUT);
        assert_int_equal(waiting(w), THREE - 1);
        assert_true(weir_waiters_is_valid(w));
        assert_int_equal(wakes(w), before);
        last.grants = &grants;
        start(&last);
        give(&p, 1);
        for (unsigned i = 0, place = 0; i < THREE; i++) {
            if (i == who)
                continue;
            join(&askers[i]);
            assert_int_equal(askers[i].place, place++);
        }
        join(&last);
        assert_int_equal(last.place, THREE - 1);
        assert_int_equal(wakes(w), before + THREE);
        assert_int_equal(p.free.value, 1);
    }
    close_waiters(w);
}

/* Woken, but with what it was woken for gone, and so is the time. */
static int be_late(struct asker *a)
{
    atomic_ullong *now = a->own;
    if (weir_load_acquire(&a->permits->free) < 2)
        return 0;
    *now = FAR + 1;
    (void)take(a->permits, 1);
    return 0;
}

static void k12_who_is_woken_and_times_out_hands_on(void **state)
{
    (void)state;
    atomic_ullong now = FAR;
    struct pair pair = {.first = {.deadline = FAR + 1,
                                  .clock = look_at,
                                  .clock_context = &now,
                                  .before = be_late,
                                  .own = &now}};
    start_pair(&pair);
    give(&pair.permits, 1);
    end_pair(&pair, -ETIMEDOUT);
    assert_int_equal(pair.first.tries, 2 + 2);
}

static int find_it_gone(struct asker *a)
{
    if (weir_load_acquire(&a->permits->free) < 2)
        return 0;
    (void)take(a->permits, 1);
    return -EIO;
}

static void k12_who_is_woken_and_fails_hands_on(void **state)
{
    (void)state;
    struct pair pair = {.first = {.deadline = WEIR_FOREVER, .before = find_it_gone}};
    start_pair(&pair);
    give(&pair.permits, 1);
    end_pair(&pair, -EIO);
    assert_int_equal(pair.first.tries, 2 + 1);
}

static atomic_uint interruptions;

static void interrupt(int signal)
{
    (void)signal;
    interruptions++;
}

/* To be called again and again: a handler that runs before the thread sleeps interrupts nothing. */
static bool has_left_after_a_signal(struct asker *a)
{
    assert_int_equal(pthread_kill(a->thread, SIGUSR1), 0);
    usleep(200);
    return a->left;
}

static void k12_who_is_interrupted_hands_on(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct sigaction action = {.sa_handler = interrupt, .sa_flags = i < 2 ? 0 : SA_RESTART};
        struct sigaction before;
        assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
        interruptions = 0;
        struct pair pair = {
            .first = {.deadline = i % 2 == 0 ? WEIR_FOREVER : weir_now() + WEIR_DAY}};
        start_pair(&pair);
        AWAIT(has_left_after_a_signal(&pair.first));
        end_pair(&pair, -EINTR);
        assert_true(interruptions > 0);
        assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    }
}

/* ---- clocks ---- */

static weir_ns count_looks(void *clock)
{
    atomic_uint *looks = clock;
    ++*looks;
    return FAR;
}

static void k21_a_clock_that_stands_still_delays_no_grant(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    for (unsigned i = 0; i < 2; i++) {
        struct permits p = permits_of(w, (weir_key){1, 1}, 0);
        struct asker a = asker_for(&p, 1);
        atomic_uint looks = 0;
        a.clock = count_looks;
        a.clock_context = &looks;
        a.deadline = i == 0 ? FAR + 1 : WEIR_FOREVER;
        start(&a);
        if (i == 0)
            AWAIT(looks > 5); /* its sleep ended again and again, which means nothing */
        assert_false(a.left);
        give(&p, 1);
        join(&a);
        assert_int_equal(a.result, 0);
        if (i == 1)
            assert_int_equal(looks, 0);
    }
    close_waiters(w);
}

/* Farther than 32 bits of milliseconds, or of anything, can say. */
static void k21_far_deadlines_do_not_come_near(void **state)
{
    (void)state;
    weir_ns now = weir_now();
    const weir_ns deadlines[] = {
        now + 25 * WEIR_DAY, now + 50 * WEIR_DAY, now + 290 * 365 * WEIR_DAY,
        INT64_MAX,           /* as far as the kernel counts, */
        WEIR_FOREVER - 1,    /* farther, */
        WEIR_FOREVER - 1000, /* as a sum that ends just before none, */
        WEIR_FOREVER};
    struct weir_waiters *w = open_waiters();
    for (size_t i = 0; i < sizeof deadlines / sizeof deadlines[0]; i++) {
        struct permits p = permits_of(w, (weir_key){1, i}, 0);
        struct asker a = asker_for(&p, 1);
        a.deadline = deadlines[i];
        start(&a);
        usleep(2000);
        assert_false(a.left);
        give(&p, 1);
        join(&a);
        assert_int_equal(a.result, 0);
    }
    close_waiters(w);
}

static void k21_near_deadlines_pass(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    struct permits p = permits_of(w, (weir_key){1, 1}, 0);
    for (weir_ns span = 0; span < 2 * WEIR_MILLISECOND; span = span * 3 + 1) {
        struct asker a = asker_for(&p, 1);
        a.deadline = weir_now() + span;
        assert_int_equal(ask(&a), -ETIMEDOUT);
        assert_true(weir_now() >= a.deadline);
    }
    close_waiters(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: a fault of theirs makes others wait for ever */
        cmocka_unit_test(k21_a_clock_that_stands_still_delays_no_grant),
        cmocka_unit_test(k21_far_deadlines_do_not_come_near),
        cmocka_unit_test(k21_near_deadlines_pass),
        cmocka_unit_test(k12_who_times_out_hands_on),
        cmocka_unit_test(k12_who_times_out_by_the_monotonic_clock_hands_on),
        cmocka_unit_test(k12_who_times_out_in_the_middle_leaves_the_order),
        cmocka_unit_test(k12_who_is_woken_and_times_out_hands_on),
        cmocka_unit_test(k12_who_is_woken_and_fails_hands_on),
        cmocka_unit_test(k12_who_is_interrupted_hands_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
