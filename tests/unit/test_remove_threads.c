/* SPDX-License-Identifier: MIT */
/*
 * Removing limits beside other threads: calls and moves under way, additions, other removals.
 *
 * What is asserted is an order of events, or sums that must be equal, never a time: the pauses only
 * give a fault the time to show itself.
 */
#include "removal.h"

#include "place.h"
#include "rcu.h"

#include <stdio.h>
#include <unistd.h>

/* A thread that has entered a read section and stays in it until it is told to leave, and one that
   removes a limit meanwhile. */
struct scene {
    struct weir *w;
    int limit;
    pthread_t reader, remover;
    struct weir_atomic_u64 entered, leave, removed;
};

static void *stay(void *scene)
{
    struct scene *s = scene;
    weir_read_begin();
    weir_add_release(&s->entered, 1);
    while (weir_load_acquire(&s->leave) == 0)
        usleep(1000);
    weir_read_end();
    return NULL;
}

static void *remove_it(void *scene)
{
    struct scene *s = scene;
    assert_int_equal(weir_remove_limit(s->w, s->limit, NOW), 0);
    weir_add_release(&s->removed, 1);
    return NULL;
}

/* Starts to remove a limit beside a reader that stays; returns when it is closing. */
static void hold_removal(struct scene *s)
{
    assert_int_equal(pthread_create(&s->reader, NULL, stay, s), 0);
    while (weir_load_acquire(&s->entered) == 0)
        usleep(1000);
    assert_int_equal(pthread_create(&s->remover, NULL, remove_it, s), 0);
    while (weir_next_limit(s->w, s->limit - 1) == s->limit)
        usleep(1000);
}

static void let_go(struct scene *s)
{
    weir_add_release(&s->leave, 1);
    pthread_join(s->reader, NULL);
    pthread_join(s->remover, NULL);
}

/* False: so much was moved just now that nothing is before readers have let go of it. */
static bool move_all(struct weir *w)
{
    bool moved = true;
    weir_read_begin();
    for (uint64_t shard = 0; shard < w->table.shards; shard++)
        moved = weir_place_trim(w, shard, NOW) && moved;
    weir_read_end();
    return moved;
}

/*
 * While a call may be under way the removed limit's words stay, and its id is not given away; new
 * calls are refused at once, the name is free at once, and everything else goes on.
 */
static void s1_a_removal_waits_for_calls_under_way(void **state)
{
    (void)state;
    struct scene s = {.w = open_small(100, 3)};
    s.limit = add_limit(s.w, "a", plain(5));
    weir_key key = weir_key_u64(s.w, 1);
    assert_int_equal(weir_take(s.w, s.limit, key, 5, NOW), 5);
    hold_removal(&s);
    usleep(20000);
    assert_int_equal(weir_load_acquire(&s.removed), 0);
    assert_int_equal(weir_decide(s.w, s.limit, key, 1, NOW).verdict, WEIR_INVALID);
    assert_int_equal(weir_find_limit(s.w, "a"), -ENOENT);
    assert_true(move_all(s.w));
    assert_int_equal(stats_of(s.w).keys, 1);
    assert_int_equal(add_limit(s.w, "a", plain(5)), s.limit + 1);
    assert_true(weir_allow(s.w, s.limit + 1, key, 5, NOW));
    let_go(&s);
    assert_int_equal(weir_load_acquire(&s.removed), 1);
    assert_true(move_all(s.w));
    assert_int_equal(stats_of(s.w).keys, 1); /* of the new limit */
    assert_int_equal(add_limit(s.w, "b", plain(5)), s.limit);
    assert_int_equal(weir_peek(s.w, s.limit, key, 1, NOW).remaining, 5);
    weir_close(s.w);
}

/* A call that has the settings, and whose clock leaves their line when the limit is being removed,
   ends on them, with time standing still; one that finds them without any origin is refused. */
static void s1_a_clock_that_jumps_during_a_removal(void **state)
{
    (void)state;
    for (unsigned used = 0; used < 2; used++) {
        struct scene s = {.w = open_small(100, 3)};
        s.limit = add_limit(s.w, "a", weir_token_bucket(999999937, WEIR_SECOND, 1000));
        if (used)
            assert_true(weir_allow(s.w, s.limit, weir_key_u64(s.w, 1), 1, NOW));
        struct weir_limit *l = &s.w->limits[s.limit];
        struct weir_instant at;
        weir_read_begin();
        const struct weir_settings *had = weir_pointer_load_acquire(&l->settings);
        hold_removal(&s);
        assert_ptr_equal(weir_limit_settings(l), had);
        assert_null(weir_pointer_load_acquire(&l->settings));
        assert_ptr_equal(weir_settings_settle(s.w, l, had, NOW + 2 * LEAP, &at), used ? had : NULL);
        weir_read_end();
        let_go(&s);
        assert_null(weir_limit_settings(l));
        weir_close(s.w);
    }
}

/* An addition that finds all ids taken, one of them by a limit that is being removed, waits for it
   instead of saying that there are too many. */
static void *add_another(void *scene)
{
    struct scene *s = scene;
    assert_int_equal(add_limit(s->w, "b", plain(5)), s->limit);
    return NULL;
}

static void an_addition_waits_for_a_removal(void **state)
{
    (void)state;
    pthread_t adder;
    struct scene s = {.w = open_small(100, 1)};
    s.limit = add_limit(s.w, "a", plain(5));
    hold_removal(&s);
    assert_int_equal(pthread_create(&adder, NULL, add_another, &s), 0);
    usleep(10000);
    assert_int_equal(weir_next_limit(s.w, -1), -ENOENT);
    let_go(&s);
    pthread_join(adder, NULL);
    assert_int_equal(weir_find_limit(s.w, "b"), s.limit);
    weir_close(s.w);
}

/* ---- threads ---- */

enum { CREW = 4, CREW_KEYS = 64, CREW_KEPT = 200, CREW_FEW = 16, BURST = 5 };

struct crowd {
    struct weir *w;
    struct weir_atomic_u64 admitted, stop;
    uint64_t rounds;
};

/* Uses up what a key has. */
static uint64_t drain(struct weir *w, uint64_t key)
{
    uint64_t admitted = 0;
    while (weir_allow(w, 0, weir_key_u64(w, key), 1, NOW))
        admitted++;
    return admitted;
}

/* Thread 0 adds, drains and removes; the others drain, move the table, and look around. */
static void crowd_member(void *context, unsigned index)
{
    struct crowd *c = context;
    struct test_random random = {index};
    uint64_t admitted = 0;
    for (uint64_t round = 0; index == 0 && round < c->rounds; round++) {
        assert_int_equal(add_limit(c->w, "a", plain(BURST)), 0);
        for (uint64_t key = 0; key < CREW_KEYS; key++)
            admitted += drain(c->w, key);
        assert_true(limit_stats(c->w, 0).allowed <= CREW_KEYS * BURST);
        remove_limit(c->w, 0);
    }
    if (index == 0)
        weir_add_release(&c->stop, 1);
    while (weir_load_acquire(&c->stop) == 0) {
        struct weir_policy policy;
        admitted += drain(c->w, random_below(&random, CREW_KEYS));
        if (index == 1 && !move_all(c->w))
            usleep(10000);
        if (index == 2 && weir_get_limit(c->w, weir_find_limit(c->w, "a"), &policy) == 0)
            assert_int_equal(policy.burst, BURST);
    }
    weir_add_relaxed(&c->admitted, admitted);
}

/*
 * S1, K14: at one instant each of the limits that follow each other admits exactly its burst for
 * each key, whoever asks meanwhile, and while the table is moved again and again. Keys of another
 * limit make the table so large that there is room for these beside any move.
 */
static void s1_k14_exactly_the_burst_of_each(void **state)
{
    (void)state;
    struct crowd c = {.w = open_small(1000, 2), .rounds = random_scaled(2000)};
    add_limit(c.w, "a", plain(BURST));
    int kept = add_limit(c.w, "kept", plain(BURST));
    for (uint64_t key = 0; key < CREW_KEPT; key++)
        assert_int_equal(weir_take(c.w, kept, weir_key_u64(c.w, key), 1, NOW), 1);
    remove_limit(c.w, 0);
    run_crew(CREW, crowd_member, &c);
    struct weir_stats stats = stats_of(c.w);
    assert_int_equal(stats.overflow, 0);
    assert_int_equal(weir_load_relaxed(&c.admitted), c.rounds * CREW_KEYS * BURST);
    assert_int_equal(stats.allowed, c.rounds * CREW_KEYS * BURST);
    for (uint64_t key = 0; key < CREW_KEPT; key++)
        assert_int_equal(weir_peek(c.w, kept, weir_key_u64(c.w, key), 1, NOW).remaining, BURST - 1);
    weir_close(c.w);
}

/* Each thread has a limit of its own at a time. */
static void landlord(void *context, unsigned index)
{
    struct crowd *c = context;
    char name[16];
    snprintf(name, sizeof name, "thread %u", index);
    for (uint64_t round = 0; round < c->rounds; round++) {
        int limit = add_limit(c->w, name, plain(BURST));
        for (uint64_t i = 0; i < CREW_FEW; i++) {
            weir_key key = weir_key_u64(c->w, i);
            assert_int_equal(weir_take(c->w, limit, key, 99, NOW), BURST);
            assert_false(weir_allow(c->w, limit, key, 1, NOW));
        }
        assert_int_equal(limit_stats(c->w, limit).denied, CREW_FEW);
        assert_int_equal(weir_find_limit(c->w, name), limit);
        remove_limit(c->w, limit);
        assert_int_equal(weir_find_limit(c->w, name), -ENOENT);
    }
}

/* O3: ids go from thread to thread, words stay, and there is room for a limit a thread. */
static void o3_ids_that_go_from_thread_to_thread(void **state)
{
    (void)state;
    struct crowd c = {.w = open_small(1000, CREW), .rounds = random_scaled(2000)};
    run_crew(CREW, landlord, &c);
    assert_int_equal(weir_next_limit(c.w, -1), -ENOENT);
    weir_close(c.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_a_removal_waits_for_calls_under_way),
        cmocka_unit_test(s1_a_clock_that_jumps_during_a_removal),
        cmocka_unit_test(an_addition_waits_for_a_removal),
        cmocka_unit_test(s1_k14_exactly_the_burst_of_each),
        cmocka_unit_test(o3_ids_that_go_from_thread_to_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
