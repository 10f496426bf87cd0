/* SPDX-License-Identifier: MIT */
/* Policies as values: what the constructors fill in, which are valid, which are equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy.h"

#include <errno.h>
#include <string.h>

/* All bytes as written here: there is no padding between the fields. */
static void is(struct weir_policy got, struct weir_policy want)
{
    assert_memory_equal(&got, &want, sizeof want);
}

static void constructors_fill_in_what_they_name(void **state)
{
    (void)state;
    is(weir_fixed_window(5, 7),
       (struct weir_policy){.kind = WEIR_FIXED_WINDOW, .limit = 5, .period = 7});
    is(weir_aligned_window(5, 7, -9), (struct weir_policy){.kind = WEIR_FIXED_WINDOW,
                                                           .form = WEIR_FORM_ALIGNED,
                                                           .limit = 5,
                                                           .period = 7,
                                                           .utc_offset_s = -9});
    is(weir_calendar_window(5, WEIR_CALENDAR_WEEK, "local"),
       (struct weir_policy){.kind = WEIR_FIXED_WINDOW,
                            .form = WEIR_FORM_CALENDAR,
                            .limit = 5,
                            .calendar = WEIR_CALENDAR_WEEK,
                            .zone = "local"});
    is(weir_calendar_window(5, WEIR_CALENDAR_DAY, NULL),
       (struct weir_policy){.kind = WEIR_FIXED_WINDOW,
                            .form = WEIR_FORM_CALENDAR,
                            .limit = 5,
                            .calendar = WEIR_CALENDAR_DAY,
                            .zone = "UTC"});
    is(weir_sliding_window(5, 7),
       (struct weir_policy){.kind = WEIR_SLIDING_WINDOW, .limit = 5, .period = 7});
    is(weir_concurrency(5), (struct weir_policy){.kind = WEIR_CONCURRENCY, .limit = 5});
}

static void an_unlimited_policy_is_its_kind_alone(void **state)
{
    const struct weir_policy window = {.kind = WEIR_FIXED_WINDOW, .limit = WEIR_UNLIMITED};

    (void)state;
    is(weir_fixed_window(WEIR_UNLIMITED, 7), window);
    is(weir_aligned_window(WEIR_UNLIMITED, 7, 9), window);
    is(weir_calendar_window(WEIR_UNLIMITED, WEIR_CALENDAR_DAY, "a name that is none"), window);
    is(weir_sliding_window(WEIR_UNLIMITED, 7),
       (struct weir_policy){.kind = WEIR_SLIDING_WINDOW, .limit = WEIR_UNLIMITED});
    is(weir_concurrency(WEIR_UNLIMITED),
       (struct weir_policy){.kind = WEIR_CONCURRENCY, .limit = WEIR_UNLIMITED});
}

/* A rate of no period, an unlimited one that says more than it needs, and so on. */
static void what_an_unlimited_policy_says_does_not_matter(void **state)
{
    struct weir_policy bucket = weir_token_bucket(WEIR_UNLIMITED, 0, 0);
    struct weir_policy window = weir_fixed_window(WEIR_UNLIMITED, 0), other = window;

    (void)state;
    other.form = WEIR_FORM_ALIGNED;
    other.period = 7;
    other.utc_offset_s = 9;
    assert_true(weir_policy_is_valid(&window) && weir_policy_is_valid(&other));
    assert_true(weir_policy_is_equal(&window, &other));
    assert_false(weir_policy_is_equal(&window, &bucket));
    other.form = WEIR_FORM_PACER;
    assert_false(weir_policy_is_valid(&other));
    other = window;
    other.reserved_word = 1;
    assert_false(weir_policy_is_valid(&other));
}

static void is_invalid(struct weir_policy policy)
{
    char buffer[128];

    assert_false(weir_policy_is_valid(&policy));
    assert_int_equal(weir_policy_format(&policy, buffer, sizeof buffer), -EINVAL);
}

/* Each of these sets one field of a good policy to what it must not be. */
static void fields_that_a_form_does_not_use_are_zero(void **state)
{
    const struct weir_policy good[] = {
        weir_token_bucket(10, WEIR_SECOND, 20),
        weir_pacer(10, WEIR_SECOND, 3),
        weir_fixed_window(10, WEIR_SECOND),
        weir_aligned_window(10, WEIR_SECOND, 60),
        weir_calendar_window(10, WEIR_CALENDAR_DAY, "UTC"),
        weir_sliding_window(10, WEIR_SECOND),
        weir_concurrency(10),
        weir_concurrency(WEIR_UNLIMITED),
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct weir_policy policy = good[i];
        bool bucket = policy.kind == WEIR_TOKEN_BUCKET, window = policy.kind == WEIR_FIXED_WINDOW;
        bool aligned = window && policy.form == WEIR_FORM_ALIGNED;
        bool calendar = window && policy.form == WEIR_FORM_CALENDAR;

        assert_true(weir_policy_is_valid(&policy));
        for (uint32_t form = 0; form < 6; form++) {
            policy.form = form;
            if (bucket ? form > WEIR_FORM_PACER
                       : form == WEIR_FORM_PACER || form > WEIR_FORM_CALENDAR ||
                             (!window && form != 0))
                is_invalid(policy);
        }
        policy = good[i];
        policy.period = policy.period == 0;
        is_invalid(policy);
        policy = good[i];
        policy.burst = 7;
        if (!bucket)
            is_invalid(policy);
        policy = good[i];
        policy.tick = 7;
        if (!bucket || policy.form == WEIR_FORM_PACER)
            is_invalid(policy);
        policy = good[i];
        policy.utc_offset_s = aligned ? 86401 : 1;
        is_invalid(policy);
        policy.utc_offset_s = aligned ? -86401 : INT64_MIN;
        is_invalid(policy);
        policy = good[i];
        policy.calendar = calendar ? 0 : WEIR_CALENDAR_DAY;
        is_invalid(policy);
        policy.calendar = WEIR_CALENDAR_MONTH + 1;
        is_invalid(policy);
        policy = good[i];
        policy.zone[calendar ? 0 : WEIR_ZONE_MAX] = calendar ? '\0' : 'x';
        is_invalid(policy);
        policy = good[i];
        policy.zone[5] = 'x'; /* behind the NUL of "UTC" */
        is_invalid(policy);
        policy = good[i];
        policy.reserved_word = 1;
        is_invalid(policy);
        policy = good[i];
        policy.reserved[3] = 1;
        is_invalid(policy);
    }
}

/* A name that does not fit makes no policy, rather than one of another zone. */
static void zones_that_are_none(void **state)
{
    static const char *const names[] = {
        "",
        "/UTC",
        "..",
        "a/..",
        "a/../b",
        "a b",
        "UTC ",
        "a:b",
        "a\n",
        "\xc3\xa9",
        "AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEEEEEEE",
        "AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEEEEEEEEEFFFFFFFFFF"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        is_invalid(weir_calendar_window(5, WEIR_CALENDAR_DAY, names[i]));
    is_invalid(weir_calendar_window(5, (enum weir_calendar)0, "UTC"));
    is_invalid(weir_calendar_window(5, (enum weir_calendar)4, "UTC"));
}

static void differs(struct weir_policy a, struct weir_policy b)
{
    assert_true(weir_policy_is_valid(&a) && weir_policy_is_valid(&b));
    assert_false(weir_policy_is_equal(&a, &b));
    assert_false(weir_policy_is_equal(&b, &a));
    assert_true(weir_policy_is_equal(&a, &a) && weir_policy_is_equal(&b, &b));
}

static void every_field_makes_a_difference(void **state)
{
    const struct weir_policy bucket = weir_token_bucket(10, WEIR_SECOND, 20);
    const struct weir_policy aligned = weir_aligned_window(10, WEIR_SECOND, 60);
    const struct weir_policy day = weir_calendar_window(10, WEIR_CALENDAR_DAY, "UTC");

    (void)state;
    differs(bucket, weir_token_bucket(11, WEIR_SECOND, 20));
    differs(bucket, weir_token_bucket(10, WEIR_MINUTE, 20));
    differs(bucket, weir_token_bucket(10, WEIR_SECOND, 21));
    differs(bucket, weir_pacer(10, WEIR_SECOND, 19));
    differs(weir_refill_bucket(20, WEIR_SECOND, 1), weir_token_bucket(20, WEIR_SECOND, 20));
    differs(bucket, weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, 20));
    differs(aligned, weir_aligned_window(10, WEIR_SECOND, 61));
    differs(aligned, weir_fixed_window(10, WEIR_SECOND));
    differs(weir_sliding_window(10, WEIR_SECOND), weir_fixed_window(10, WEIR_SECOND));
    differs(day, weir_calendar_window(10, WEIR_CALENDAR_WEEK, "UTC"));
    differs(day, weir_calendar_window(10, WEIR_CALENDAR_DAY, "UCT"));
    differs(day, weir_calendar_window(10, WEIR_CALENDAR_DAY, "UTC0"));
    differs(weir_concurrency(1), weir_concurrency(2));
    differs(weir_concurrency(WEIR_UNLIMITED), weir_token_bucket(WEIR_UNLIMITED, 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constructors_fill_in_what_they_name),
        cmocka_unit_test(an_unlimited_policy_is_its_kind_alone),
        cmocka_unit_test(what_an_unlimited_policy_says_does_not_matter),
        cmocka_unit_test(fields_that_a_form_does_not_use_are_zero),
        cmocka_unit_test(zones_that_are_none),
        cmocka_unit_test(every_field_makes_a_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
