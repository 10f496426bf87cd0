/* SPDX-License-Identifier: MIT */
/* Requests over time, in buckets. */
#include "timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MINUTE INT64_C(60000000000)

static void count_one(struct timeline *t, int64_t minute, bool allow)
{
    size_t bucket = timeline_bucket(t, minute * MINUTE + 1);
    timeline_offered(t, bucket);
    if (allow)
        timeline_allowed(t, 1, bucket);
}

static void buckets_widen(void **state)
{
    (void)state;
    struct timeline t;
    timeline_init(&t, 2);
    timeline_start(&t, 100 * MINUTE + 7);
    for (int64_t i = 0; i < TIMELINE_BUCKETS; i++)
        count_one(&t, 100 + i, i % 2 == 0);
    assert_int_equal(t.shift, 0);
    assert_int_equal(t.used, TIMELINE_BUCKETS);
    assert_int_equal(timeline_sum(&t, 0, 0, 10), 10);
    assert_int_equal(timeline_sum(&t, 1, 0, TIMELINE_BUCKETS), 0);
    assert_int_equal(timeline_sum(&t, 2, 0, 10), 5);
    count_one(&t, 100 + TIMELINE_BUCKETS, true);
    assert_int_equal(t.shift, 1);
    assert_int_equal(t.used, TIMELINE_BUCKETS / 2 + 1);
    assert_int_equal(timeline_sum(&t, 0, 0, 5), 10);
    assert_int_equal(timeline_sum(&t, 2, 0, 5), 5);
    assert_int_equal(timeline_sum(&t, 0, TIMELINE_BUCKETS / 2, 1), 1);
    count_one(&t, INT64_MAX / MINUTE, false);
    assert_int_equal(timeline_sum(&t, 0, 0, t.used), TIMELINE_BUCKETS + 2);
    timeline_free(&t);
}

static void timelines_add_up(void **state)
{
    (void)state;
    struct timeline narrow, wide;
    timeline_init(&narrow, 2);
    timeline_init(&wide, 2);
    timeline_start(&narrow, 0);
    timeline_start(&wide, 0);
    count_one(&narrow, 0, true);
    count_one(&narrow, 9, true);
    count_one(&wide, 1, true);
    count_one(&wide, 4 * TIMELINE_BUCKETS - 1, false);
    timeline_add(&narrow, &wide);
    assert_int_equal(narrow.shift, 2);
    assert_int_equal(narrow.used, TIMELINE_BUCKETS);
    assert_int_equal(timeline_sum(&narrow, 0, 0, 1), 2);
    assert_int_equal(timeline_sum(&narrow, 0, 2, 1), 1);
    assert_int_equal(timeline_sum(&narrow, 2, 0, narrow.used), 3);
    assert_int_equal(timeline_sum(&narrow, 0, TIMELINE_BUCKETS - 1, 1), 1);
    struct timeline other;
    timeline_init(&other, 2);
    timeline_start(&other, 0);
    count_one(&other, 9, true);
    timeline_add(&narrow, &other);
    assert_int_equal(timeline_sum(&narrow, 0, 2, 1), 2);
    timeline_free(&narrow);
    timeline_free(&wide);
    timeline_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_widen),
        cmocka_unit_test(timelines_add_up),
    };
    return cmocka_run_group_tests_name("time line", tests, NULL, NULL);
}
