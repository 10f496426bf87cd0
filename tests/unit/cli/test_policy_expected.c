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

#define FIRST   "a whole count, as in 10/min, or concurrency N or unlimited"
#define COUNT   "a whole count"
#define WHOLE   "a whole count, as in 1/2s for 0.5/s"
#define SLASH   "a slash and a span, as in 10/min"
#define UNIT    "a unit of time: ns us ms s min h day"
#define PERIOD  UNIT ", or week or month before zone NAME"
#define SPAN    "a span of whole nanoseconds, at least 1"
#define TAIL    "the end, or burst N, pace, refill SPAN, window, aligned, sliding"
#define DAILY   TAIL ", zone NAME"
#define ZONED   "zone NAME, as in zone UTC"
#define OFFSET  "the end, or an offset from UTC, as in +08:00"
#define HOURS   "an offset of hours and minutes, as in +08:00"
#define NAME    "the name of a zone, as in Europe/Paris, UTC or local"
#define BYTES   "a zone's name, of letters, digits and _ + - . / (no / in front, no ..)"
#define PERMITS "a whole count, or unlimited"
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
        {"10/", 3, PERIOD},
        {"10/sec", 3, PERIOD},
        {"10/m", 3, PERIOD},
        {"10/hour", 3, PERIOD},
        {"1/year", 2, PERIOD},
        {"10/mix", 3, PERIOD},
        {"10/5", 4, UNIT},
        {"10/5 burst 3", 5, UNIT},
        {"10 / 1.5.5s", 8, UNIT},
        {"10//s", 3, PERIOD},
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
        {"10/day x", 7, DAILY},
        {"10/1day zone UTC", 8, TAIL},
        {"10/24h zone UTC", 7, TAIL},
        {"10/week", 7, ZONED},
        {"10/month window", 9, ZONED},
        {"10/weeks zone UTC", 3, PERIOD},
        {"10/2week zone UTC", 4, UNIT},
        {"10/s refill week", 12, UNIT},
        {"10/s window 5", 12, END},
        {"10/day sliding zone UTC", 15, END},
        {"10/s aligned UTC", 13, OFFSET},
        {"10/s aligned 08:00", 13, OFFSET},
        {"10/s aligned +24:01", 13, "an offset from -24:00 to +24:00"},
        {"10/s aligned +", 14, HOURS},
        {"10/s aligned +8", 15, HOURS},
        {"10/s aligned +0800", 16, HOURS},
        {"10/s aligned +08:60", 17, HOURS},
        {"10/s aligned +08:00:", 20, HOURS},
        {"10/s aligned +08:00 x", 20, END},
        {"10/s aligned +08:00:00:", 22, END},
        {"10/s aligned Z Z", 15, END},
        {"10/day zone", 11, NAME},
        {"10/day zone ", 12, NAME},
        {"10/day zone /UTC", 12, BYTES},
        {"10/day zone ../UTC", 12, BYTES},
        {"10/day zone burst/..", 18, BYTES},
        {"10/day zone UTC!", 15, BYTES},
        {"10/day zone UTC burst 5", 16, END},
        {"10/day zone America/Port au Prince", 25, END},
        {"1/week zone AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEEEEEEE", 59,
         "a zone's name of at most 47 bytes"},
        {"concurrency", 11, PERMITS},
        {"concurrency x", 12, PERMITS},
        {"concurrency 6.5", 13, END},
        {"concurrency 64/s", 14, END},
        {"concurrency unlimited 5", 22, END},
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
    } cures[] = {{FIRST, "10/min"},
                 {COUNT, "7"},
                 {WHOLE, "/2s"},
                 {SLASH, "/min"},
                 {UNIT, "h"},
                 {SPAN, "1ns"},
                 {TAIL, "pace"},
                 {PACED, "slack 3"},
                 {REFILLS, "burst 40"},
                 {END, ""},
                 {PERIOD, "month zone UTC"},
                 {DAILY, "zone local"},
                 {ZONED, " zone UTC"},
                 {OFFSET, "+08:00"},
                 {NAME, " UTC"},
                 {PERMITS, " unlimited"}};
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
                                        "0.5/s",
                                        "10/day x",
                                        "10/week",
                                        "10/s window 5",
                                        "10/s aligned x",
                                        "10/s aligned Z x",
                                        "10/day zone",
                                        "10/day zone UTC x",
                                        "concurrency",
                                        "concurrency 64/s"};
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
