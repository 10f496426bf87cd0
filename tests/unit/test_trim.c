/* SPDX-License-Identifier: MIT */
/*
 * weir_trim: what it leaves behind and gives back, and that it changes no answer (K27).
 */
#include "../support.h"

#include <errno.h>

#define NOW  (1000 * WEIR_SECOND)
#define KEYS 20000

static struct weir_stats stats_of(struct weir *w)
{
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_true(weir_table_is_valid(&w->table));
    return stats;
}

/* An engine whose i-th key owes i seconds from NOW on: of one token a second, burst 5. */
static struct weir *open_debts(int *limit)
{
    struct weir *w = open_for_keys(2 * (size_t)KEYS, WEIR_FULL_DENY);
    *limit = add_limit(w, "a", weir_token_bucket(1, WEIR_SECOND, 5));
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(weir_charge(w, *limit, weir_key_u64(w, i), 5 + i, NOW), 5 + i);
    assert_int_equal(stats_of(w).keys, KEYS);
    return w;
}

/* The i-th key at an instant `late` seconds after NOW. */
static void assert_debt(struct weir *w, int limit, uint64_t i, uint64_t late)
{
    struct weir_result r = weir_peek(w, limit, weir_key_u64(w, i), 1, NOW + late * WEIR_SECOND);
    uint64_t tokens = late > i ? late - i : 0;
    assert_int_equal(r.remaining, tokens < 5 ? tokens : 5);
    assert_int_equal(r.wait, late > i ? 0 : (i + 1 - late) * WEIR_SECOND);
    assert_int_equal(r.verdict, late > i ? WEIR_ALLOWED : WEIR_DENIED);
    assert_int_equal(r.reset, i + 5 > late ? (i + 5 - late) * WEIR_SECOND : 0);
}

/* K27: what is full by then is gone, all else is as it was; memory follows. */
static void k27_trim_changes_no_answer(void **state)
{
    (void)state;
    static const uint64_t late[] = {0, 4, 5, 6, 1000, 10000, KEYS - 100, KEYS + 3, KEYS + 4};
    int limit;
    struct weir *w = open_debts(&limit);
    uint64_t bytes = weir_load_relaxed(&w->table.bytes);
    for (size_t c = 0; c < sizeof late / sizeof late[0]; c++) {
        uint64_t gone = late[c] < 4 ? 0 : late[c] - 4; /* key i is full i + 5 seconds after NOW */
        gone = gone < KEYS ? gone : KEYS;
        assert_int_equal(weir_trim(w, NOW + late[c] * WEIR_SECOND), 0);
        struct weir_stats stats = stats_of(w);
        assert_int_equal(stats.keys, KEYS - gone);
        assert_int_equal(stats.dropped, gone);
        assert_int_equal(stats.retired_bytes, 0);
        assert_true(weir_load_relaxed(&w->table.bytes) <= bytes);
        bytes = weir_load_relaxed(&w->table.bytes);
        for (uint64_t i = 0; i < KEYS; i += 7)
            assert_debt(w, limit, i, late[c]);
        assert_int_equal(stats_of(w).keys, KEYS - gone);
    }
    weir_close(w);
}

static weir_ns same_time(void *context, weir_ns now)
{
    (void)context;
    return now;
}

/* One limit, whose keys were used alike at one instant: they are kept until a nanosecond before
   they are as if unused, by what their result says, and none is kept from then on. */
static void assert_dropped_at_reset(struct weir_policy policy, uint64_t n)
{
    enum { FEW = 300 };
    const struct weir_options options = {.max_keys = 2 * (size_t)FEW, .wall_clock = same_time};
    struct weir *w = open_engine(&options);
    int limit = add_limit(w, "a", policy);
    weir_ns now = NOW + WEIR_MILLISECOND;
    weir_ns reset = 0;
    for (uint64_t i = 0; i < FEW; i++) {
        struct weir_result r = weir_decide(w, limit, weir_key_u64(w, i), n, now);
        assert_int_equal(r.verdict, WEIR_ALLOWED);
        reset = r.reset;
    }
    assert_true(reset > 1 && reset != WEIR_FOREVER);
    assert_int_equal(weir_trim(w, now + reset - 1), 0);
    assert_int_equal(stats_of(w).keys, FEW);
    assert_int_equal(weir_trim(w, now + reset), 0);
    assert_int_equal(stats_of(w).keys, 0);
    weir_close(w);
}

/* K27: of every kind, what is over is left behind, and not before. */
static void k27_every_kind_is_dropped_at_its_reset(void **state)
{
    (void)state;
    assert_dropped_at_reset(weir_token_bucket(10, WEIR_SECOND, 5), 3);
    assert_dropped_at_reset(weir_token_bucket(17, WEIR_SECOND, 5), 3);
    assert_dropped_at_reset(weir_refill_bucket(10, WEIR_SECOND, WEIR_SECOND / 4), 3);
    assert_dropped_at_reset(weir_fixed_window(5, 10 * WEIR_SECOND), 3);
    assert_dropped_at_reset(weir_aligned_window(5, 10 * WEIR_SECOND, 3), 3);
    assert_dropped_at_reset(weir_calendar_window(5, WEIR_CALENDAR_DAY, "UTC"), 3);
    assert_dropped_at_reset(weir_sliding_window(5, 10 * WEIR_SECOND), 3);
}

/* K27: permits are in use, however late it is, and are nothing once they came back. */
static void k27_permits_are_dropped_once_they_are_back(void **state)
{
    (void)state;
    enum { FEW = 300 };
    struct weir *w = open_for_keys(2 * (size_t)FEW, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_concurrency(5));
    for (uint64_t i = 0; i < FEW; i++)
        assert_int_equal(weir_decide(w, limit, weir_key_u64(w, i), 2, NOW).verdict, WEIR_ALLOWED);
    assert_int_equal(weir_trim(w, NOW + 1000 * WEIR_DAY), 0);
    assert_int_equal(stats_of(w).keys, FEW);
    for (uint64_t i = 0; i < FEW; i++)
        assert_int_equal(weir_refund(w, limit, weir_key_u64(w, i), 2, NOW), 2);
    assert_int_equal(weir_trim(w, NOW), 0);
    assert_int_equal(stats_of(w).keys, 0);
    weir_close(w);
}

/* M1: a table that has shrunk takes no more memory than one that was never larger. */
static void m1_memory_goes_back(void **state)
{
    (void)state;
    enum { MANY = 200000, FEW = 800 };
    struct weir *w = open_for_keys(MANY, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_DAY, 1));
    for (uint64_t i = 0; i < MANY; i++)
        (void)weir_charge(w, limit, weir_key_u64(w, i), i < FEW ? 2 : 1, NOW);
    struct weir_stats before = stats_of(w);
    assert_int_equal(weir_trim(w, NOW + WEIR_DAY), 0);
    struct weir_stats after = stats_of(w);
    assert_int_equal(after.keys, FEW);
    assert_int_equal(after.arrays, w->table.shards);
    assert_int_equal(after.shrinks, w->table.shards);
    /* nearly each shard has the smallest array now */
    assert_true(weir_load_relaxed(&w->table.bytes) <
                2 * 64 * after.arrays * (weir_order_lines(WEIR_ORDER_MIN) + WEIR_HEADER_LINES));
    assert_int_equal(after.retired_bytes, 0);
    /* it grows again */
    for (uint64_t i = 0; i < MANY / 2; i++)
        assert_int_equal(weir_charge(w, limit, weir_key_u64(w, i), 1, NOW + WEIR_DAY), 1);
    assert_int_equal(stats_of(w).keys, MANY / 2);
    assert_int_equal(stats_of(w).overflow, before.overflow);
    weir_close(w);
}

/* A `now` in the future forgets what is owed until then, and nothing else. */
static void a_future_instant_forgets_until_then(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_debts(&limit);
    assert_int_equal(weir_trim(w, NOW + 10000 * WEIR_SECOND), 0);
    for (uint64_t i = 0; i < KEYS; i += 3) {
        struct weir_result r = weir_peek(w, limit, weir_key_u64(w, i), 1, NOW);
        assert_int_equal(r.verdict, i < 9996 ? WEIR_ALLOWED : WEIR_DENIED);
    }
    weir_close(w);
}

/* K28: without memory for other arrays the table is as it was. */
static void k28_trim_without_memory(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_debts(&limit);
    weir_ns now = NOW + 15000 * WEIR_SECOND;
    struct weir_stats before = stats_of(w);
    for (uint64_t allowance = 0; allowance <= 2 * w->table.shards; allowance += 7) {
        weir_store_relaxed(&w->table.arena.allowance, allowance);
        int error = weir_trim(w, now);
        assert_true(error == -ENOMEM || (error == 0 && allowance > w->table.shards));
        struct weir_stats after = stats_of(w);
        assert_int_equal(after.keys, KEYS - after.dropped);
        assert_true(after.arrays <= before.arrays);
        for (uint64_t i = 14996; i < KEYS; i += 50)
            assert_debt(w, limit, i, 15000);
        for (uint64_t i = 0; i < 14996; i += 500)
            assert_int_equal(weir_peek(w, limit, weir_key_u64(w, i), 1, now).remaining, 5);
    }
    weir_store_relaxed(&w->table.arena.allowance, UINT64_MAX);
    assert_true(stats_of(w).failures > 0);
    for (unsigned i = 0; i < 40; i++) /* a failed allocation is tried again by and by */
        (void)weir_trim(w, now);
    assert_int_equal(weir_trim(w, now), 0);
    assert_int_equal(stats_of(w).keys, KEYS - 14996);
    weir_close(w);
}

/* It frees generations as adding a limit does, from the second on. */
static void trim_frees_generations(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_debts(&limit);
    weir_ns later = NOW;
    for (unsigned i = 0; i < 5; i++) {
        later += 6 * 365 * WEIR_DAY;
        assert_true(weir_allow(w, limit, weir_key_u64(w, KEYS + i), 1, later));
    }
    uint32_t generations = weir_pointer_load_acquire(&w->limits[limit].settings)->generations;
    assert_true(__builtin_popcount(generations) > 2);
    assert_int_equal(weir_trim(w, later), 0);
    generations = weir_pointer_load_acquire(&w->limits[limit].settings)->generations;
    assert_int_equal(__builtin_popcount(generations), 1);
    assert_int_equal(stats_of(w).keys, 1);
    assert_int_equal(weir_peek(w, limit, weir_key_u64(w, KEYS + 4), 1, later).remaining, 4);
    weir_close(w);
}

static void an_engine_without_keys(void **state)
{
    (void)state;
    assert_int_equal(weir_trim(NULL, 0), -EINVAL);
    struct weir *w = open_for_keys(KEYS, WEIR_FULL_SHARE);
    assert_int_equal(weir_trim(w, 0), 0);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_SECOND, 5));
    assert_int_equal(weir_trim(w, UINT64_MAX), 0);
    assert_true(weir_allow(w, limit, weir_key_u64(w, 1), 1, NOW));
    assert_int_equal(weir_trim(w, NOW), 0);
    assert_int_equal(weir_trim(w, NOW), 0);
    assert_int_equal(stats_of(w).keys, 1);
    assert_int_equal(weir_peek(w, limit, weir_key_u64(w, 1), 1, NOW).remaining, 4);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k27_trim_changes_no_answer),
        cmocka_unit_test(k27_every_kind_is_dropped_at_its_reset),
        cmocka_unit_test(k27_permits_are_dropped_once_they_are_back),
        cmocka_unit_test(m1_memory_goes_back),
        cmocka_unit_test(a_future_instant_forgets_until_then),
        cmocka_unit_test(k28_trim_without_memory),
        cmocka_unit_test(trim_frees_generations),
        cmocka_unit_test(an_engine_without_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
