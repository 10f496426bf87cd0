/* SPDX-License-Identifier: MIT */
/* What is expected where a text stops being a policy, at the places that the parser names. */
#include "policy_expected.h"

#include <weir/weir.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FIRST   "a whole count, as in 10/min, or unlimited"
#define COUNT   "a whole count"
#define WHOLE   "a whole count, as in 1/2s for 0.5/s"
#define SLASH   "a slash and a span, as in 10/min"
#define UNIT    "a unit of time: ns us ms s min h day"
#define SPAN    "a span of whole nanoseconds, at least 1"
#define TAIL    "the end, or burst N, pace, refill SPAN"
#define PACED   "the end, or slack N"
#define REFILLS "the end, or burst N"
#define END     "the end"

static void at_every_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        const char *expected;
    } cases[] = {
        {"", 0, FIRST},
        {" \t", 2, FIRST},
        {"ten/s", 0, FIRST},
        {"/s", 0, FIRST},
        {"-1/s", 0, FIRST},
        {"unlimite", 0, FIRST},
        {"10", 2, SLASH},
        {"10 per s", 3, SLASH},
        {"0.5/s", 1, WHOLE},
        {"10.", 2, WHOLE},
        {"10/", 3, UNIT},
        {"10/sec", 3, UNIT},
        {"10/m", 3, UNIT},
        {"10/hour", 3, UNIT},
        {"1/year", 2, UNIT},
        {"10/mix", 3, UNIT},
        {"10/5", 4, UNIT},
        {"10/5 burst 3", 5, UNIT},
        {"10 / 1.5.5s", 8, UNIT},
        {"10//s", 3, UNIT},
        {"10/.5s", 3, "a digit before the point, as in 0.5s"},
        {"10/0.s", 5, "decimals, as in 0.5s"},
        {"10/0.00000000000000001s", 5, "no more than 16 decimals"},
        {"10/0s", 3, SPAN},
        {"10/ 0.5ns", 4, SPAN},
        {"10/s x", 5, TAIL},
        {"10/s 5", 5, TAIL},
        {"10/s slack 5", 5, TAIL},
        {"10/2.5 min, burst 5", 10, TAIL},
        {"10/s burst", 10, COUNT},
        {"10/s burst x", 11, COUNT},
        {"10/s burst -1", 11, COUNT},
        {"10/s burst 1.5", 12, WHOLE},
        {"10/s burst 5 pace", 13, END},
        {"10/s pace 5", 10, PACED},
        {"10/s pace burst 5", 10, PACED},
        {"10/s pace slack", 15, COUNT},
        {"10/s pace slack 5 burst 5", 18, END},
        {"10/s refill", 11, UNIT},
        {"10/s refill 5", 13, UNIT},
        {"10/s refill 0s", 12, SPAN},
        {"10/s refill 1.s", 14, "decimals, as in 0.5s"},
        {"10/s refill 2s pace", 15, REFILLS},
        {"10/s refill 2s burst x", 21, COUNT},
        {"10/s refill 2s burst 5 x", 23, END},
        {"unlimited 5", 10, END},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_policy policy;
        size_t at = SIZE_MAX;
        assert_int_equal(weir_policy_parse(&policy, cases[i].text, &at), -EINVAL);
        const char *expected = policy_expected(cases[i].text, at);
        if (at != cases[i].at || strcmp(expected, cases[i].expected) != 0)
            fail_msg("\"%s\": at %zu %s", cases[i].text, at, expected);
    }
}

/* Where one thing is expected, it does: the text before the place, and that, is a policy. */
static void what_is_expected_helps(void **state)
{
    (void)state;
    static const struct {
        const char *expected, *behind;
    } cures[] = {{FIRST, "10/min"},     {COUNT, "7"},  {WHOLE, "/2s"}, {SLASH, "/min"},
                 {UNIT, "h"},           {SPAN, "1ns"}, {TAIL, "pace"}, {PACED, "slack 3"},
                 {REFILLS, "burst 40"}, {END, ""}};
    static const char *const texts[] = {"",
                                        "10",
                                        "10/",
                                        "10/5 burst 3",
                                        "10/0s",
                                        "10/s x",
                                        "10/s burst x",
                                        "10/s pace 5",
                                        "10/s pace slack",
                                        "10/s refill 5",
                                        "10/s refill 0s",
                                        "10/s refill 2s pace",
                                        "unlimited 5",
                                        "0.5/s"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct weir_policy policy;
        char text[64];
        size_t at = 0, cure = 0;
        assert_int_equal(weir_policy_parse(&policy, texts[i], &at), -EINVAL);
        const char *expected = policy_expected(texts[i], at);
        while (strcmp(cures[cure].expected, expected) != 0)
            assert_true(++cure < sizeof cures / sizeof cures[0]);
        snprintf(text, sizeof text, "%.*s%s", (int)at, texts[i], cures[cure].behind);
        if (weir_policy_parse(&policy, text, &at) != 0)
            fail_msg("\"%s\": %s, but \"%s\" is no policy", texts[i], expected, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_every_place),
        cmocka_unit_test(what_is_expected_helps),
    };
    return cmocka_run_group_tests_name("what a policy lacks", tests, NULL, NULL);
}
