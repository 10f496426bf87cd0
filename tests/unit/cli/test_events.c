/* SPDX-License-Identifier: MIT */
/* Events in time order. */
#include "events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

/* Each event is in the hand of its key, in order, and in no other. */
static void dealing_keeps_the_order(void **state)
{
    (void)state;
    enum { EVENTS = 1000, PARTS = 7 };
    struct events e = {0};
    size_t order[EVENTS], ends[PARTS];
    for (uint32_t i = 0; i < EVENTS; i++)
        events_put(&e, &(struct log_time){i, 0}, i * i % 10); /* keys 0, 1, 4, 5, 6, 9 */
    events_deal(&e, PARTS, order, ends);
    for (unsigned part = 0; part < PARTS; part++) {
        size_t start = part > 0 ? ends[part - 1] : 0, expected = 0;
        for (size_t i = 0; i < EVENTS; i++)
            expected += e.items[i].key % PARTS == part;
        assert_int_equal(ends[part] - start, expected);
        for (size_t i = start; i < ends[part]; i++) {
            assert_int_equal(e.items[order[i]].key % PARTS, part);
            assert_true(i == start || order[i - 1] < order[i]);
        }
    }
    assert_int_equal(ends[PARTS - 1], EVENTS);
    events_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_is_stable),
        cmocka_unit_test(dealing_keeps_the_order),
    };
    return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
