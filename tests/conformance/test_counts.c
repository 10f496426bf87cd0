/* SPDX-License-Identifier: MIT */
/*
 * How many of many calls pass: the counting tests and intervals of golang.org/x/time/rate, and a
 * flood against one bucket, through the cell and the engine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "csv.h"
#include "subject.h"

#include <math.h>
#include <string.h>

#define BASE (3600 * WEIR_SECOND)

static const enum subject_kind kinds[] = {SUBJECT_CELL, SUBJECT_ENGINE};
#define KINDS (sizeof kinds / sizeof kinds[0])

static struct weir_policy policy_of(const char *rate, uint64_t burst)
{
    struct fraction f = fraction_of(rate);

    assert_true(f.q <= UINT64_MAX / WEIR_SECOND);
    return weir_token_bucket(f.p, f.q * WEIR_SECOND, burst);
}

/* Calls that pass among `offered`, `spacing` apart. */
static uint64_t passed(const struct csv *table, size_t row, enum subject_kind kind)
{
    const struct weir_policy policy =
        policy_of(csv_text(table, row, "rate"), csv_u64(table, row, "burst"));
    uint64_t offered = csv_u64(table, row, "offered"), count = 0;
    struct subject subject;

    assert_int_equal(subject_open(&subject, kind, &policy, 0), 0);
    for (uint64_t i = 0; i < offered; i++) {
        weir_ns now = BASE + i * csv_u64(table, row, "spacing_ns");
        struct weir_result result = subject_decide(&subject, 1, now);

        count += result.verdict == WEIR_ALLOWED;
    }
    subject_close(&subject);
    return count;
}

static void counting_tests_pass_the_stated_number(void **state)
{
    struct csv table;

    (void)state;
    csv_open(&table, "xtr_counts.csv");
    for (size_t row = 0; row < table.rows; row++) {
        uint64_t least = csv_u64(&table, row, "expect_min_ok");
        uint64_t most = csv_u64(&table, row, "expect_max_ok");

        for (size_t k = 0; k < KINDS; k++) {
            uint64_t count = passed(&table, row, kinds[k]);

            assert_in_range(count, least, most);
            assert_int_equal(count, csv_u64(&table, row, "model_ok"));
        }
    }
    csv_close(&table);
}

/* Where weir differs: an interval of 0 or less is not a rate of anything. */
static const char *const no_interval[] = {"0", "-1"};
#define NO_INTERVALS (sizeof no_interval / sizeof no_interval[0])

static bool is_listed(const char *interval, bool seen[NO_INTERVALS])
{
    for (size_t i = 0; i < NO_INTERVALS; i++)
        if (strcmp(no_interval[i], interval) == 0)
            return seen[i] = true;
    return false;
}

/* One token per `interval`: granted at the interval, not a nanosecond before, and no later. */
static void one_per_interval(enum subject_kind kind, uint64_t interval)
{
    const struct weir_policy policy = weir_token_bucket(1, interval, 1);
    struct weir_reservation reservation;
    struct weir_result result;
    struct subject s;

    assert_int_equal(subject_open(&s, kind, &policy, 0), 0);
    result = subject_decide(&s, 1, 0);
    assert_int_equal(result.verdict, WEIR_ALLOWED);
    result = subject_decide(&s, 1, interval - 1);
    assert_int_equal(result.verdict, WEIR_DENIED);
    assert_int_equal(result.wait, 1);
    result = subject_reserve(&s, 1, 0, WEIR_FOREVER, &reservation);
    assert_int_equal(result.verdict, WEIR_ALLOWED);
    assert_int_equal(result.wait, interval);
    assert_int_equal(subject_cancel(&s, &reservation, interval), 1);
    result = subject_decide(&s, 1, interval);
    assert_int_equal(result.verdict, WEIR_ALLOWED);
    subject_close(&s);
}

static void an_interval_is_a_rate(void **state)
{
    bool seen[NO_INTERVALS] = {false};
    struct csv table;

    (void)state;
    csv_open(&table, "xtr_every.csv");
    for (size_t row = 0; row < table.rows; row++) {
        const char *text = csv_text(&table, row, "interval_ns");
        const char *rate = csv_text(&table, row, "expect_rate_per_s");
        struct fraction per_second;
        double product;

        if (is_listed(text, seen)) {
            const struct weir_policy zero = weir_token_bucket(1, 0, 1);
            struct weir_meter meter;

            assert_string_equal(rate, "INF");
            assert_int_not_equal(weir_meter_init(&meter, &zero, 0), 0);
            continue;
        }
        per_second = fraction_of(rate);
        product = (double)per_second.p / (double)per_second.q *
                  (double)csv_u64(&table, row, "interval_ns") / (double)WEIR_SECOND;
        assert_true(fabs(product - 1) < 1e-9);
        for (size_t k = 0; k < KINDS; k++)
            one_per_interval(kinds[k], csv_u64(&table, row, "interval_ns"));
    }
    for (size_t i = 0; i < NO_INTERVALS; i++)
        assert_true(seen[i]);
    csv_close(&table);
}

static void flood_passes_the_burst_and_then_the_rate(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);
    struct csv table;

    (void)state;
    csv_open(&table, "flood.csv");
    for (size_t k = 0; k < KINDS; k++) {
        struct subject subject;
        uint64_t granted = 0, ms = 0;

        assert_int_equal(subject_open(&subject, kinds[k], &policy, BASE), 0);
        for (size_t row = 0; row < table.rows; row++) {
            for (; ms < csv_u64(&table, row, "t_ms"); ms++) {
                weir_ns now = BASE + ms * WEIR_MILLISECOND;

                granted += subject_decide(&subject, 1, now).verdict == WEIR_ALLOWED;
            }
            assert_int_equal(granted, csv_u64(&table, row, "granted_before"));
        }
        subject_close(&subject);
    }
    csv_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_tests_pass_the_stated_number),
        cmocka_unit_test(an_interval_is_a_rate),
        cmocka_unit_test(flood_passes_the_burst_and_then_the_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
