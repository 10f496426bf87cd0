/* SPDX-License-Identifier: MIT */
/* Events in time order, and requests over time in buckets. */
#include "events.h"
#include "timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MINUTE INT64_C(60000000000)

/* Sorted by time, and by key (which is the order of coming) within a time. */
static void check_sorted(struct events *e, size_t count)
{
    uint64_t keys = 0;
    events_sort(e);
    assert_int_equal(e->count, count);
    for (size_t i = 0; i < count; i++) {
        keys += e->items[i].key;
        assert_int_equal(e->items[i].offset_min, e->items[i].key % 100);
        if (i == 0)
            continue;
        assert_true(e->items[i - 1].unix_ns <= e->items[i].unix_ns);
        if (e->items[i - 1].unix_ns == e->items[i].unix_ns)
            assert_true(e->items[i - 1].key < e->items[i].key);
    }
    assert_true(keys == (uint64_t)count * (count - 1) / 2 || count == 0);
    events_free(e);
}

static void sorting_is_stable(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 16, 17, 33, 100, 1000, 50000};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        for (int shape = 0; shape < 5; shape++) {
            struct events e = {0};
            uint64_t random = 1;
            for (uint32_t i = 0; i < counts[c]; i++) {
                random = random * 6364136223846793005 + 1442695040888963407;
                int64_t times[] = {
                    i,                                            /* in order */
                    (int64_t)counts[c] - i,                       /* in reverse */
                    (int64_t)(random >> 60),                      /* few distinct */
                    i + (int64_t)(random >> 59),                  /* nearly in order */
                    (int64_t)(random >> 1) ^ INT64_C(0x7fffffff), /* any */
                };
                struct log_time time = {times[shape], (int16_t)(i % 100)};
                events_put(&e, &time, i);
            }
            check_sorted(&e, counts[c]);
        }
    }
}

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
        cmocka_unit_test(sorting_is_stable),
        cmocka_unit_test(buckets_widen),
        cmocka_unit_test(timelines_add_up),
    };
    return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
