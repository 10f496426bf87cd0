/* SPDX-License-Identifier: MIT */
/*
 * Removing limits: what a removed one is, and that who uses its id later never sees what it left.
 */
#include "removal.h"

#include "rcu.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

static unsigned taken_of(const struct weir *w, int limit)
{
    return (unsigned)__builtin_popcount(w->limits[limit].taken);
}

/* ---- what a removed limit is ---- */

static void remove_refuses(void **state)
{
    (void)state;
    struct weir *w = open_small(8, 3);
    assert_int_equal(weir_remove_limit(NULL, 0, NOW), -EINVAL);
    static const int ids[] = {0, 1, 2, 3, -1, 256, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        assert_int_equal(weir_remove_limit(w, ids[i], NOW), -ENOENT);
    assert_int_equal(add_limit(w, "a", plain(5)), 0);
    assert_int_equal(weir_remove_limit(w, 1, NOW), -ENOENT);
    errno = 77;
    assert_int_equal(weir_remove_limit(w, 0, NOW), 0);
    assert_int_equal(weir_remove_limit(w, 0, NOW), -ENOENT);
    assert_int_equal(errno, 77);
    weir_close(w);
}

/* K35: a removed limit is as a bad id in every call, and nothing is recorded. */
static void k35_a_removed_limit_is_as_a_bad_id(void **state)
{
    (void)state;
    struct weir *w = open_small(8, 3);
    weir_key key = weir_key_u64(w, 1);
    int kept = add_limit(w, "kept", plain(5));
    int gone = add_limit(w, "gone", plain(5));
    assert_true(weir_allow(w, gone, key, 2, NOW));
    remove_limit(w, gone);

    struct weir_reservation r = {.n = 7};
    struct weir_request request = {gone, key, 1};
    struct weir_result result;
    struct weir_policy policy;
    struct weir_limit_stats stats = {0};
    assert_int_equal(weir_decide(w, gone, key, 1, NOW).verdict, WEIR_INVALID);
    assert_int_equal(weir_peek(w, gone, key, 1, NOW).verdict, WEIR_INVALID);
    assert_false(weir_allow(w, gone, key, 1, NOW));
    assert_int_equal(weir_reserve(w, gone, key, 1, NOW, WEIR_FOREVER, &r).verdict, WEIR_INVALID);
    assert_int_equal(r.n, 0);
    weir_decide_batch(w, &request, &result, 1, NOW);
    assert_int_equal(result.verdict, WEIR_INVALID);
    assert_int_equal(weir_take(w, gone, key, 1, NOW), 0);
    assert_int_equal(weir_charge(w, gone, key, 1, NOW), 0);
    assert_int_equal(weir_refund(w, gone, key, 1, NOW), 0);
    assert_int_equal(weir_forget(w, gone, key), -ENOENT);
    assert_int_equal(weir_get_limit(w, gone, &policy), -ENOENT);
    assert_int_equal(weir_limit_stats(w, gone, &stats), -ENOENT);
    assert_null(weir_limit_name(w, gone));
    assert_int_equal(weir_find_limit(w, "gone"), -ENOENT);
    assert_int_equal(weir_next_limit(w, -1), kept);
    assert_int_equal(weir_next_limit(w, kept), -ENOENT);
    assert_int_equal(stats_of(w).allowed, 1);
    assert_int_equal(weir_peek(w, kept, key, 1, NOW).remaining, 5);
    weir_close(w);
}

/* ---- ids and names ---- */

enum { MODEL_LIMITS = 5, MODEL_NAMES = 8 };

/* What the engine should say of each id: the number of its name, or -1. */
static void compare_with_model(const struct weir *w, const int *model)
{
    int last = -1;
    for (int id = 0; id < MODEL_LIMITS; id++) {
        struct weir_policy policy;
        char name[16];
        if (model[id] < 0) {
            assert_null(weir_limit_name(w, id));
            assert_int_equal(weir_get_limit(w, id, &policy), -ENOENT);
            continue;
        }
        snprintf(name, sizeof name, "name %d", model[id]);
        assert_string_equal(weir_limit_name(w, id), name);
        assert_int_equal(weir_find_limit(w, name), id);
        assert_int_equal(weir_get_limit(w, id, &policy), 0);
        assert_int_equal(policy.burst, model[id] + 1);
        assert_int_equal(weir_next_limit(w, last), id);
        last = id;
    }
    assert_int_equal(weir_next_limit(w, last), -ENOENT);
}

static int find_in_model(const int *model, int name)
{
    for (int id = 0; id < MODEL_LIMITS; id++) {
        if (model[id] == name)
            return id;
    }
    return -1;
}

/* The lowest free id is given out, a name is free at once, and there is room for as many limits as
   was said, whatever came and went before. */
static void ids_and_names_follow_a_model(void **state)
{
    (void)state;
    struct test_random random = random_start("limits", 5);
    struct weir *w = open_small(64, MODEL_LIMITS);
    int model[MODEL_LIMITS] = {-1, -1, -1, -1, -1};
    for (uint64_t step = random_scaled(20000); step > 0; step--) {
        char name[16];
        int number = (int)random_below(&random, MODEL_NAMES);
        struct weir_policy policy = plain((uint64_t)number + 1);
        snprintf(name, sizeof name, "name %d", number);
        if (random_below(&random, 2) == 0) {
            int id = (int)random_below(&random, MODEL_LIMITS);
            assert_int_equal(weir_remove_limit(w, id, NOW), model[id] < 0 ? -ENOENT : 0);
            model[id] = -1;
        } else if (find_in_model(model, number) >= 0) {
            assert_int_equal(weir_add_limit(w, name, &policy), -EEXIST);
        } else {
            int expected = find_in_model(model, -1);
            int id = weir_add_limit(w, name, &policy);
            assert_int_equal(id, expected < 0 ? -ENOSPC : expected);
            if (id >= 0)
                model[id] = number;
        }
        compare_with_model(w, model);
    }
    weir_close(w);
}

/* ---- old words ---- */

enum { CYCLE_KEYS = 16 };

/* All is as never used; then some keys are left in debt, and others as earlier limits have left
   them: the later ones for thousands of cycles. */
static void use_and_leave_in_debt(struct weir *w, int limit, uint64_t burst,
                                  struct test_random *random, weir_ns now)
{
    for (uint64_t i = 0; i < CYCLE_KEYS; i++) {
        weir_key key = weir_key_u64(w, i);
        struct weir_result fresh = weir_peek(w, limit, key, burst, now);
        assert_int_equal(fresh.verdict, WEIR_ALLOWED);
        assert_int_equal(fresh.remaining, burst);
        if (random_below(random, (uint64_t)1 << i) != 0)
            continue;
        assert_int_equal(weir_take(w, limit, key, UINT64_MAX, now), burst);
        assert_true(weir_charge(w, limit, key, 1000, now) > 0);
        assert_int_equal(weir_decide(w, limit, key, 1, now).verdict, WEIR_DENIED);
    }
}

/* One limit of an id: of some rate, 0 included, and sometimes under a clock that jumps. */
static void one_cycle(struct weir *w, struct test_random *random, weir_ns *now)
{
    static const uint64_t rates[] = {0, 10, 1000, 999999937};
    uint64_t rate = rates[random_below(random, 4)];
    uint64_t burst = 1 + random_below(random, 1000);
    int limit = add_limit(w, "again", weir_token_bucket(rate, WEIR_SECOND, burst));
    assert_int_equal(limit, 0);
    use_and_leave_in_debt(w, limit, burst, random, *now);
    if (random_below(random, 8) == 0) {
        *now = *now < 50 * (uint64_t)LEAP ? *now + LEAP : NOW;
        assert_true(weir_charge(w, limit, weir_key_u64(w, 0), 1000, *now) > 0);
    }
    remove_limit(w, limit);
}

/*
 * The generations wrap over many thousand times, every other cycle finds words of each of them, and
 * nothing is left of a limit: neither a debt nor memory.
 */
static void o3_an_id_that_is_used_again_and_again(void **state)
{
    (void)state;
    struct test_random random = random_start("cycles", 31);
    struct weir *w = open_small(1000, 4);
    weir_ns now = NOW;
    uint64_t cycles = random_scaled(100000);
    uint64_t wraps = 0;
    unsigned taken = 0;
    for (uint64_t i = 0; i < 1000; i++)
        one_cycle(w, &random, &now);
    struct weir_stats before = stats_of(w);
#if !defined(__SANITIZE_ADDRESS__) && !defined(WEIR_THREAD_SANITIZER)
    size_t heap = mallinfo2().uordblks;
#endif
    for (uint64_t i = 0; i < cycles; i++) {
        one_cycle(w, &random, &now);
        wraps += taken_of(w, 0) < taken;
        taken = taken_of(w, 0);
        assert_true(taken < WEIR_GENERATIONS);
    }
    assert_true(wraps >= cycles / WEIR_GENERATIONS);
    struct weir_stats after = stats_of(w);
    assert_int_equal(after.bytes, before.bytes);
    assert_true(after.keys <= CYCLE_KEYS);
#if !defined(__SANITIZE_ADDRESS__) && !defined(WEIR_THREAD_SANITIZER)
    assert_int_equal(mallinfo2().uordblks, heap);
#endif
    weir_close(w);
}

/* The bucket of keys without a place is a word of the limit like any other, which most limits do
   not come to use. */
static void o3_the_overflow_bucket_of_a_removed_limit(void **state)
{
    (void)state;
    struct weir *w = open_small(1, 4);
    int kept = add_limit(w, "kept", plain(1));
    assert_int_equal(weir_charge(w, kept, weir_key_u64(w, 1), 1000, NOW), 1000);
    for (unsigned i = 0; i < 400; i++) {
        int limit = add_limit(w, "again", plain(7));
        assert_int_equal(weir_decide(w, limit, weir_key_u64(w, 2), 0, NOW).remaining, 7);
        assert_int_equal(limit_stats(w, limit).overflow, 1);
        if (i % 100 == 0) {
            assert_int_equal(weir_take(w, limit, weir_key_u64(w, 3), 99, NOW), 7);
            assert_int_equal(weir_charge(w, limit, weir_key_u64(w, 4), 99, NOW), 99);
            assert_int_equal(limit_stats(w, limit).overflow, 3);
        }
        remove_limit(w, limit);
    }
    weir_close(w);
}

/* So few that the table stays as it is: a move would leave their words behind. */
enum { DEAD_KEYS = 8 };

static void all_are_never_used(struct weir *w, int limit, weir_ns now)
{
    for (uint64_t i = 0; i < DEAD_KEYS; i++)
        assert_int_equal(weir_peek(w, limit, weir_key_u64(w, i), 1, now).remaining, 1000);
}

/* Gives the limit one origin after the other, until no generation is left for one. */
static void leap_to_the_end(struct weir *w, int limit, weir_ns *now)
{
    const struct weir_limit *l = &w->limits[limit];
    uint64_t origins;
    do {
        origins = weir_load_relaxed(&l->origins);
        *now += LEAP;
        assert_int_equal(weir_decide(w, limit, weir_key_u64(w, 99), 0, *now).verdict, WEIR_ALLOWED);
        all_are_never_used(w, limit, *now);
    } while (weir_load_relaxed(&l->origins) != origins);
}

/* A sweep of a limit that is in use finds the words of an earlier one too, before it frees their
   generations for its origins. */
static void o3_a_sweep_finds_what_is_nobodys(void **state)
{
    (void)state;
    struct weir *w = open_small(1000, 4);
    struct weir_policy policy = weir_token_bucket(999999937, WEIR_SECOND, 1000);
    weir_ns now = NOW;
    int limit = add_limit(w, "first", policy);
    for (uint64_t i = 0; i < DEAD_KEYS; i++) {
        now += LEAP;
        assert_true(weir_charge(w, limit, weir_key_u64(w, i), UINT64_MAX, now) > 0);
    }
    remove_limit(w, limit);
    assert_int_equal(taken_of(w, limit), DEAD_KEYS);
    assert_int_equal(add_limit(w, "second", policy), limit);
    assert_true(weir_charge(w, limit, weir_key_u64(w, 50), 1500, now) == 1500);
    for (unsigned round = 0; round < 3; round++) {
        weir_sweep(w, 2);
        const struct weir_settings *s = weir_pointer_load_acquire(&w->limits[limit].settings);
        assert_int_equal(__builtin_popcount(s->generations), 1);
        all_are_never_used(w, limit, now);
        if (round == 0)
            assert_int_equal(weir_refund(w, limit, weir_key_u64(w, 50), UINT64_MAX, now), 1500);
        leap_to_the_end(w, limit, &now);
    }
    assert_int_equal(stats_of(w).moves, 0);
    weir_close(w);
}

/* ---- moves ---- */

static bool is_moving(const struct weir *w)
{
    return (weir_load_acquire(&w->table.words[0]) & WEIR_ARRAY_MOVING) != 0;
}

/* S5: a limit is removed while the shard is being moved, some of its words before, some after. */
static void s5_removal_beside_a_move(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (uint64_t offset = 0; offset < 40; offset++) {
        struct weir *w = open_small(1000, 4);
        int kept = add_limit(w, "kept", plain(5));
        int gone = add_limit(w, "gone", plain(5));
        uint64_t keys = 0;
        for (; keys < 100 + offset || !is_moving(w); keys++) {
            assert_true(keys < 900);
            assert_int_equal(
                weir_take(w, keys % 2 == 0 ? kept : gone, weir_key_u64(w, keys), 3, NOW), 3);
        }
        remove_limit(w, gone);
        seen += is_moving(w);
        assert_int_equal(add_limit(w, "new", plain(5)), gone);
        for (uint64_t i = 0; i < keys; i++) {
            assert_int_equal(weir_peek(w, kept, weir_key_u64(w, i), 0, NOW).remaining,
                             i % 2 == 0 ? 2 : 5);
            assert_int_equal(weir_peek(w, gone, weir_key_u64(w, i), 0, NOW).remaining, 5);
        }
        assert_false(is_moving(w));
        assert_int_equal(weir_trim(w, NOW), 0);
        assert_int_equal(stats_of(w).keys, (keys + 1) / 2);
        for (uint64_t i = 0; i < keys; i += 2)
            assert_int_equal(weir_peek(w, kept, weir_key_u64(w, i), 0, NOW).remaining, 2);
        weir_close(w);
    }
    assert_int_equal(seen, 40);
}

/* K26: what the keys of a removed limit hold in a full table makes room for others, whatever they
   owed. */
static void k26_removed_keys_make_room(void **state)
{
    (void)state;
    enum { KEYS = 500 };
    struct weir *w = open_small(KEYS, 4);
    int gone = add_limit(w, "gone", plain(5));
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(weir_charge(w, gone, weir_key_u64(w, i), 1000, NOW), 1000);
    int limit = add_limit(w, "b", plain(5));
    assert_true(weir_allow(w, limit, weir_key_u64(w, 0), 1, NOW));
    assert_int_equal(limit_stats(w, limit).overflow, 1);
    remove_limit(w, gone);
    assert_int_equal(stats_of(w).keys, KEYS);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(weir_decide(w, limit, weir_key_u64(w, i), 1, NOW).remaining, 4);
    assert_int_equal(limit_stats(w, limit).overflow, 1);
    assert_int_equal(stats_of(w).keys, KEYS);
    weir_close(w);
}

/* ---- reservations, statistics ---- */

/* Of a bucket of 5: the second and the third wait, and can be given back in full. */
static void reserve_three(struct weir *w, int limit, struct weir_reservation *r)
{
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            weir_reserve(w, limit, weir_key_u64(w, 1), 4, NOW, WEIR_FOREVER, &r[i]).verdict,
            WEIR_ALLOWED);
}

/* K11: a reservation of a removed limit gives nothing back to another that has its id and key, and
   owes the same. */
static void k11_a_reservation_of_a_removed_limit(void **state)
{
    (void)state;
    /* in the overflow bucket, in a slot */
    for (size_t max_keys = 1; max_keys <= 8; max_keys += 7) {
        struct weir *w = open_small(max_keys, 4);
        weir_key key = weir_key_u64(w, 1);
        int kept = add_limit(w, "kept", plain(5));
        assert_int_equal(weir_charge(w, kept, key, 1000, NOW), 1000);
        int limit = add_limit(w, "a", plain(5));
        struct weir_reservation old[3];
        struct weir_reservation r[3];
        reserve_three(w, limit, old);
        remove_limit(w, limit);
        assert_int_equal(weir_cancel(w, &old[1], NOW), 0);
        assert_int_equal(add_limit(w, "a", plain(5)), limit);
        reserve_three(w, limit, r);
        struct weir_result owed = weir_peek(w, limit, key, 1, NOW);
        assert_int_equal(weir_cancel(w, &old[2], NOW), 0);
        struct weir_result still = weir_peek(w, limit, key, 1, NOW);
        assert_int_equal(still.wait, owed.wait);
        assert_int_equal(still.reset, owed.reset);
        assert_int_equal(weir_cancel(w, &r[2], NOW), 4);
        weir_close(w);
    }
}

/* K34: a limit counts from zero, whoever had its id; the engine's counts never fall. */
static void k34_counts_of_removed_limits(void **state)
{
    (void)state;
    struct weir *w = open_small(1, 3);
    struct weir_stats last = stats_of(w);
    for (uint64_t round = 1; round <= 50; round++) {
        int limit = add_limit(w, "a", plain(3));
        struct weir_limit_stats stats = limit_stats(w, limit);
        assert_int_equal(stats.allowed | stats.denied | stats.never | stats.overflow, 0);
        for (uint64_t i = 0; i < 5; i++)
            assert_int_equal(weir_allow(w, limit, weir_key_u64(w, 1), 1, NOW), i < 3);
        assert_false(weir_allow(w, limit, weir_key_u64(w, 1), 4, NOW));
        assert_true(weir_allow(w, limit, weir_key_u64(w, 2), 1, NOW)); /* has no place */
        stats = limit_stats(w, limit);
        assert_int_equal(stats.allowed, 4);
        assert_int_equal(stats.denied, 2);
        assert_int_equal(stats.never, 1);
        assert_int_equal(stats.overflow, 1);
        remove_limit(w, limit);
        struct weir_stats all = stats_of(w);
        assert_int_equal(all.allowed, 4 * round);
        assert_int_equal(all.denied, 2 * round);
        assert_int_equal(all.never, round);
        assert_int_equal(all.overflow, round);
        assert_true(all.origins >= last.origins);
        last = all;
    }
    weir_close(w);
}

/* A removed limit that had used up all generations: its keys make room, and its id is used again.
 */
static void k26_k27_an_id_without_a_free_generation(void **state)
{
    (void)state;
    struct weir_options options = {0};
    options.max_keys = 2000;
    options.max_limits = 1;
    options.when_full = WEIR_FULL_DENY;
    struct weir *w = open_engine(&options);
    struct weir_policy policy = weir_token_bucket(1, WEIR_SECOND, 5);
    int limit = add_limit(w, "a", policy);
    weir_ns now = 0;
    for (unsigned i = 0; i < 31; i++) { /* to and fro, further each time */
        now = (i & 1) != 0 ? (3000 + i) * WEIR_DAY : (1000 - i) * WEIR_DAY;
        assert_true(weir_allow(w, limit, weir_key_u64(w, i), 1, now));
    }
    for (unsigned i = 0; i < 4000; i++)
        (void)!weir_allow(w, limit, weir_key_u64(w, i), 1, now);
    assert_true(stats_of(w).overflow > 0);
    assert_int_equal(weir_remove_limit(w, limit, now), 0);
    assert_int_equal(taken_of(w, limit), 31);
    assert_int_equal(add_limit(w, "b", policy), limit);
    for (unsigned i = 10000; i < 11000; i++) {
        weir_key key = weir_key_u64(w, i);
        assert_int_equal(weir_decide(w, limit, key, 5, now).remaining, 0);
        assert_false(weir_allow(w, limit, key, 1, now));
    }
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remove_refuses),
        cmocka_unit_test(k35_a_removed_limit_is_as_a_bad_id),
        cmocka_unit_test(ids_and_names_follow_a_model),
        cmocka_unit_test(o3_an_id_that_is_used_again_and_again),
        cmocka_unit_test(o3_the_overflow_bucket_of_a_removed_limit),
        cmocka_unit_test(o3_a_sweep_finds_what_is_nobodys),
        cmocka_unit_test(s5_removal_beside_a_move),
        cmocka_unit_test(k26_removed_keys_make_room),
        cmocka_unit_test(k26_k27_an_id_without_a_free_generation),
        cmocka_unit_test(k11_a_reservation_of_a_removed_limit),
        cmocka_unit_test(k34_counts_of_removed_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
