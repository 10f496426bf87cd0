/* SPDX-License-Identifier: MIT */
/* A shard: what it leaves behind when it cannot be opened, and what it counts. */
#include "shard.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_empty(const struct shard *shard)
{
    assert_null(shard->engine);
    assert_null(shard->ids);
    assert_null(shard->tallies);
    assert_null(shard->timeline.counts);
    assert_int_equal(shard->limits, 0);
}

/* The second policy is refused when the engine and the counts are there already. */
static void a_shard_that_does_not_open_is_empty(void **state)
{
    (void)state;
    struct weir_policy policies[2] = {weir_token_bucket(1, WEIR_SECOND, 1),
                                      weir_token_bucket(1, WEIR_SECOND, UINT64_C(1) << 60)};
    struct shard shard;
    memset(&shard, 0xff, sizeof shard);
    assert_int_equal(shard_open(&shard, policies, 2, 10, 0), -ERANGE);
    expect_empty(&shard);
    shard_close(&shard);
    expect_empty(&shard);
    memset(&shard, 0xff, sizeof shard);
    assert_int_equal(shard_open(&shard, policies, 2, SIZE_MAX, 0), -ERANGE);
    expect_empty(&shard);
}

static void closing_twice_is_closing_once(void **state)
{
    (void)state;
    struct weir_policy policy = weir_token_bucket(1, WEIR_SECOND, 1);
    struct shard shard;
    assert_int_equal(shard_open(&shard, &policy, 1, 1, 0), 0);
    shard_close(&shard);
    expect_empty(&shard);
    shard_close(&shard);
}

static void counts_of_two_shards_add_up(void **state)
{
    (void)state;
    struct weir_policy policies[2] = {weir_token_bucket(1, WEIR_SECOND, 2),
                                      weir_token_bucket(1, WEIR_HOUR, 1)};
    struct shard a, b;
    assert_int_equal(shard_open(&a, policies, 2, 1, 0), 0);
    assert_int_equal(shard_open(&b, policies, 2, 1, 0), 0);
    struct keymap *keys = keymap_open(2, 2);
    weir_key key_a = {1, 2}, key_b = {3, 4};
    struct key_entry *entry_a = keymap_at(keys, keymap_intern(keys, key_a, (struct slice){"a", 1}));
    struct key_entry *entry_b = keymap_at(keys, keymap_intern(keys, key_b, (struct slice){"b", 1}));
    for (uint64_t i = 0; i < 4; i++) {
        struct log_time now = {(int64_t)i * 100, (int16_t)i};
        shard_decide(&a, key_a, entry_a, &now, 10 + i);
        shard_decide(&b, key_b, entry_b, &now, 20 + i);
    }
    shard_finish(&a);
    shard_finish(&b);
    assert_int_equal(entry_b->first, 20);
    assert_int_equal(entry_b->counts[0].allowed, 2);
    assert_int_equal(entry_b->counts[1].denied, 3);
    shard_add(&b, &a);
    assert_int_equal(b.tallies[0].allowed, 4);
    assert_int_equal(b.tallies[0].denied, 4);
    assert_int_equal(b.tallies[1].allowed, 2);
    assert_int_equal(b.tallies[1].denied, 6);
    assert_int_equal(b.tallies[1].keys_denied, 2);
    assert_int_equal(b.tallies[1].overflow, 0);
    assert_int_equal(b.tallies[0].first_denied, 12);
    assert_int_equal(b.tallies[0].first_denied_at.offset_min, 2);
    assert_int_equal(timeline_sum(&b.timeline, 0, 0, 1), 8);
    shard_close(&a);
    shard_close(&b);
    keymap_close(keys);
}

/* Windows of unix time end where the log's own times say, whatever the present is. */
static void the_log_is_the_clock(void **state)
{
    (void)state;
    struct weir_policy policies[2] = {weir_aligned_window(1, WEIR_HOUR, 0),
                                      weir_calendar_window(1, WEIR_CALENDAR_DAY, "UTC")};
    static const struct {
        int64_t minute; /* of 2001-09-09, from 01:00 on */
        uint64_t hours, days;
    } steps[] = {{0, 1, 1}, {59, 1, 1}, {60, 2, 1}, {22 * 60 + 59, 3, 1}, {23 * 60, 4, 2}};
    const int64_t start = INT64_C(999997200) * (int64_t)WEIR_SECOND;
    struct shard shard;
    weir_key key = {1, 2};
    assert_int_equal(shard_open(&shard, policies, 2, 1, start), 0);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct log_time now = {start + steps[i].minute * (int64_t)WEIR_MINUTE, 0};
        shard_decide(&shard, key, NULL, &now, i);
        assert_int_equal(shard.tallies[0].allowed, steps[i].hours);
        assert_int_equal(shard.tallies[1].allowed, steps[i].days);
    }
    shard_close(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_that_does_not_open_is_empty),
        cmocka_unit_test(closing_twice_is_closing_once),
        cmocka_unit_test(counts_of_two_shards_add_up),
        cmocka_unit_test(the_log_is_the_clock),
    };
    return cmocka_run_group_tests_name("shards", tests, NULL, NULL);
}
