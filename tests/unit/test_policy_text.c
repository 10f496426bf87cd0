/* SPDX-License-Identifier: MIT */
/* Policies as text: what is read, what is printed, and where a fault is said to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weir/weir.h>

#include "policy.h"
#include "random.h"

#include <errno.h>
#include <string.h>

static bool same_policy(const struct weir_policy *a, const struct weir_policy *b)
{
    return a->kind == b->kind && a->form == b->form && a->limit == b->limit &&
           a->period == b->period && a->burst == b->burst && a->tick == b->tick &&
           a->utc_offset_s == b->utc_offset_s && a->calendar == b->calendar &&
           a->reserved_word == b->reserved_word && memcmp(a->zone, b->zone, sizeof a->zone) == 0 &&
           memcmp(a->reserved, b->reserved, sizeof a->reserved) == 0;
}

static void reads_as(const char *text, struct weir_policy want)
{
    struct weir_policy got;
    size_t error_at = 999;
    int rc;

    memset(&got, 0xff, sizeof got);
    rc = weir_policy_parse(&got, text, &error_at);
    if (rc != 0)
        fail_msg("\"%s\": %d at %zu", text, rc, error_at);
    if (!same_policy(&got, &want))
        fail_msg("\"%s\" reads as kind %u form %u limit %llu period %llu burst %llu tick %llu "
                 "offset %lld calendar %u zone %.48s",
                 text, got.kind, got.form, (unsigned long long)got.limit,
                 (unsigned long long)got.period, (unsigned long long)got.burst,
                 (unsigned long long)got.tick, (long long)got.utc_offset_s, got.calendar, got.zone);
}

/* Text that is read as this policy, and is how it is printed. */
static void is_printed(const char *text, struct weir_policy policy)
{
    char buffer[256];

    reads_as(text, policy);
    assert_int_equal(weir_policy_format(&policy, buffer, sizeof buffer), strlen(text));
    assert_string_equal(buffer, text);
}

static void refused(const char *text, size_t at, int error)
{
    struct weir_policy out, untouched;
    size_t error_at = 999;
    int rc;

    memset(&out, 0x5a, sizeof out);
    untouched = out;
    rc = weir_policy_parse(&out, text, &error_at);
    if (rc != error || error_at != at)
        fail_msg("\"%s\": %d at %zu, not %d at %zu", text, rc, error_at, error, at);
    assert_memory_equal(&out, &untouched, sizeof out);
    assert_int_equal(weir_policy_parse(&out, text, NULL), error);
    assert_memory_equal(&out, &untouched, sizeof out);
}

static struct weir_policy refill(uint64_t limit, weir_ns period, weir_ns tick, uint64_t burst)
{
    struct weir_policy policy = weir_refill_bucket(limit, period, tick);

    policy.burst = burst;
    return policy;
}

static void canonical_forms(void **state)
{
    (void)state;
    is_printed("10/s", weir_token_bucket(10, WEIR_SECOND, 10));
    is_printed("10/s burst 20", weir_token_bucket(10, WEIR_SECOND, 20));
    is_printed("10/s burst 0", weir_token_bucket(10, WEIR_SECOND, 0));
    is_printed("100/10s", weir_token_bucket(100, 10 * WEIR_SECOND, 100));
    is_printed("1/90s", weir_token_bucket(1, 90 * WEIR_SECOND, 1));
    is_printed("1/2day", weir_token_bucket(1, 2 * WEIR_DAY, 1));
    is_printed("3/4500ms", weir_token_bucket(3, 4500 * WEIR_MILLISECOND, 3));
    is_printed("0/s burst 5", weir_token_bucket(0, WEIR_SECOND, 5));
    is_printed("0/s", weir_token_bucket(0, WEIR_SECOND, 1)); /* at least 1 */
    is_printed("0/s burst 0", weir_token_bucket(0, WEIR_SECOND, 0));
    is_printed("50/s pace slack 10", weir_pacer(50, WEIR_SECOND, 10));
    is_printed("1000/s refill 100ms burst 500",
               refill(1000, WEIR_SECOND, 100 * WEIR_MILLISECOND, 500));
    is_printed("1000/s refill 100ms",
               weir_refill_bucket(1000, WEIR_SECOND, 100 * WEIR_MILLISECOND));
    is_printed("unlimited", weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, 1));
    is_printed("1/ns", weir_token_bucket(1, 1, 1));
    is_printed("1/us", weir_token_bucket(1, WEIR_MICROSECOND, 1));
    is_printed("1/ms", weir_token_bucket(1, WEIR_MILLISECOND, 1));
    is_printed("1/min", weir_token_bucket(1, WEIR_MINUTE, 1));
    is_printed("1/h", weir_token_bucket(1, WEIR_HOUR, 1));
    is_printed("1/day", weir_token_bucket(1, WEIR_DAY, 1));
    is_printed("18446744073709551614/s",
               weir_token_bucket(UINT64_MAX - 1, WEIR_SECOND, UINT64_MAX - 1));
}

static void canonical_forms_of_windows(void **state)
{
    (void)state;
    is_printed("600/min window", weir_fixed_window(600, WEIR_MINUTE));
    is_printed("0/s window", weir_fixed_window(0, WEIR_SECOND));
    is_printed("3/4500ms window", weir_fixed_window(3, 4500 * WEIR_MILLISECOND));
    is_printed("5/day window", weir_fixed_window(5, WEIR_DAY));
    is_printed("100/10s sliding", weir_sliding_window(100, 10 * WEIR_SECOND));
    is_printed("100/day sliding", weir_sliding_window(100, WEIR_DAY));
    is_printed("18446744073709551614/18446744073709551615ns sliding",
               weir_sliding_window(UINT64_MAX - 1, UINT64_MAX));
    is_printed("600/min aligned", weir_aligned_window(600, WEIR_MINUTE, 0));
    is_printed("5/day aligned +08:00", weir_aligned_window(5, WEIR_DAY, 8 * 3600));
    is_printed("5/day aligned -03:30", weir_aligned_window(5, WEIR_DAY, -(3 * 3600 + 30 * 60)));
    is_printed("5/day aligned +24:00", weir_aligned_window(5, WEIR_DAY, 86400));
    is_printed("5/day aligned -24:00", weir_aligned_window(5, WEIR_DAY, -86400));
    is_printed("5/day aligned +23:59:59", weir_aligned_window(5, WEIR_DAY, 86399));
    is_printed("5/h aligned -00:00:01", weir_aligned_window(5, WEIR_HOUR, -1));
}

static void canonical_forms_of_calendars(void **state)
{
    (void)state;
    is_printed("5/day zone Asia/Kuala_Lumpur",
               weir_calendar_window(5, WEIR_CALENDAR_DAY, "Asia/Kuala_Lumpur"));
    is_printed("5/week zone local", weir_calendar_window(5, WEIR_CALENDAR_WEEK, "local"));
    is_printed("5/month zone UTC", weir_calendar_window(5, WEIR_CALENDAR_MONTH, NULL));
    is_printed("0/month zone Etc/GMT+12",
               weir_calendar_window(0, WEIR_CALENDAR_MONTH, "Etc/GMT+12"));
    is_printed("1/day zone America/Port-au-Prince",
               weir_calendar_window(1, WEIR_CALENDAR_DAY, "America/Port-au-Prince"));
    is_printed("1/day zone a..b/...", weir_calendar_window(1, WEIR_CALENDAR_DAY, "a..b/..."));
    is_printed("1/day zone AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEEEEEE",
               weir_calendar_window(1, WEIR_CALENDAR_DAY,
                                    "AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEEEEEE"));
}

static void canonical_forms_of_concurrency(void **state)
{
    (void)state;
    is_printed("concurrency 64", weir_concurrency(64));
    is_printed("concurrency 0", weir_concurrency(0));
    is_printed("concurrency 18446744073709551614", weir_concurrency(UINT64_MAX - 1));
    is_printed("concurrency unlimited", weir_concurrency(WEIR_UNLIMITED));
}

static void other_ways_to_write(void **state)
{
    (void)state;
    reads_as("  10 / s  ", weir_token_bucket(10, WEIR_SECOND, 10));
    reads_as("\t10/s\tburst\t20\t", weir_token_bucket(10, WEIR_SECOND, 20));
    reads_as("10/1s", weir_token_bucket(10, WEIR_SECOND, 10));
    reads_as("10/1 s", weir_token_bucket(10, WEIR_SECOND, 10));
    reads_as("010/s", weir_token_bucket(10, WEIR_SECOND, 10));
    reads_as("10/60s", weir_token_bucket(10, WEIR_MINUTE, 10));
    reads_as("10/60min", weir_token_bucket(10, WEIR_HOUR, 10));
    reads_as("10/24h", weir_token_bucket(10, WEIR_DAY, 10));
    reads_as("3/4.5s", weir_token_bucket(3, 4500 * WEIR_MILLISECOND, 3));
    reads_as("10/0.5s", weir_token_bucket(10, 500 * WEIR_MILLISECOND, 10));
    reads_as("10/1.000s", weir_token_bucket(10, WEIR_SECOND, 10));
    reads_as("10/0.000000001s", weir_token_bucket(10, 1, 10));
    reads_as("10/1.5us", weir_token_bucket(10, 1500, 10));
    reads_as("10/1.5day", weir_token_bucket(10, 36 * WEIR_HOUR, 10));
    reads_as("10/18446744073709551615ns", weir_token_bucket(10, UINT64_MAX, 10));
    is_printed("10/s burst 18446744073709551615", weir_token_bucket(10, WEIR_SECOND, UINT64_MAX));
    reads_as("50/s pace", weir_pacer(50, WEIR_SECOND, 0));
    reads_as("50/s pace slack 0", weir_pacer(50, WEIR_SECOND, 0));
    reads_as("  unlimited ", weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, 1));
}

static void other_ways_to_write_windows(void **state)
{
    const struct weir_policy malay = weir_calendar_window(5, WEIR_CALENDAR_DAY, "Asia/Singapore");

    (void)state;
    reads_as(" 600 / 60s\twindow ", weir_fixed_window(600, WEIR_MINUTE));
    reads_as("600/1min aligned Z", weir_aligned_window(600, WEIR_MINUTE, 0));
    reads_as("600/min aligned  Z  ", weir_aligned_window(600, WEIR_MINUTE, 0));
    reads_as("600/min aligned +00:00", weir_aligned_window(600, WEIR_MINUTE, 0));
    reads_as("600/min aligned -00:00:00", weir_aligned_window(600, WEIR_MINUTE, 0));
    reads_as("600/min aligned +08:00:00", weir_aligned_window(600, WEIR_MINUTE, 28800));
    reads_as("600/min aligned+08:00 ", weir_aligned_window(600, WEIR_MINUTE, 28800));
    reads_as("5/24h aligned +24:00:00", weir_aligned_window(5, WEIR_DAY, 86400));
    reads_as("5/day sliding", weir_sliding_window(5, WEIR_DAY));
    reads_as("5 / day zone Asia/Singapore", malay);
    reads_as("\t5/\tday\tzone\tAsia/Singapore\t", malay);
    reads_as("concurrency\t  007 ", weir_concurrency(7));
    reads_as("  concurrency  unlimited  ", weir_concurrency(WEIR_UNLIMITED));
}

/* An unlimited window is unlimited, whatever else was said of it; permits are counted. */
static void unlimited_kinds(void **state)
{
    const struct weir_policy unlimited = weir_token_bucket(WEIR_UNLIMITED, 0, 0);
    const struct weir_policy windows[] = {
        weir_fixed_window(WEIR_UNLIMITED, WEIR_SECOND),
        weir_aligned_window(WEIR_UNLIMITED, WEIR_DAY, 3600),
        weir_calendar_window(WEIR_UNLIMITED, WEIR_CALENDAR_WEEK, "local"),
        weir_sliding_window(WEIR_UNLIMITED, WEIR_SECOND),
    };
    char buffer[32];

    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        struct weir_policy want = unlimited;

        assert_int_equal(weir_policy_format(&windows[i], buffer, sizeof buffer), 9);
        assert_string_equal(buffer, "unlimited");
        reads_as(buffer, unlimited);
        want.kind = i < 3 ? WEIR_FIXED_WINDOW : WEIR_SLIDING_WINDOW;
        assert_true(same_policy(&windows[i], &want));
    }
}

static void faults_of_the_rate(void **state)
{
    (void)state;
    refused("", 0, -EINVAL);
    refused("   ", 3, -EINVAL);
    refused("burst 3", 0, -EINVAL);
    refused("/s", 0, -EINVAL);
    refused("-1/s", 0, -EINVAL);
    refused("+1/s", 0, -EINVAL);
    refused("x/s", 0, -EINVAL);
    refused("10", 2, -EINVAL);
    refused("10 s", 3, -EINVAL);
    refused("10.5/s", 2, -EINVAL);
    refused("10//s", 3, -EINVAL);
    refused("10/", 3, -EINVAL);
    refused("10/ ", 4, -EINVAL);
    refused("10/fortnight", 3, -EINVAL);
    refused("10/S", 3, -EINVAL);
    refused("10/seconds", 3, -EINVAL);
    refused("10/10", 5, -EINVAL);
    refused("10/10parsec", 5, -EINVAL);
    refused("10/-1s", 3, -EINVAL);
    refused("10/0s", 3, -EINVAL);
    refused("10/0.0s", 3, -EINVAL);
    refused("10/1.5ns", 3, -EINVAL);
    refused("10/0.0000000001s", 3, -EINVAL);
    refused("10/1.s", 5, -EINVAL);
    refused("10/.5s", 3, -EINVAL);
    refused("10/1.2.3s", 6, -EINVAL);
    refused("10/1e3s", 4, -EINVAL);
}

static void numbers_that_are_too_large(void **state)
{
    (void)state;
    refused("18446744073709551615/s", 0, -ERANGE); /* that is "unlimited" */
    refused("18446744073709551616/s", 0, -ERANGE);
    refused("99999999999999999999999999999999999/s", 0, -ERANGE);
    refused("10/18446744073709551616ns", 3, -ERANGE);
    refused("10/18446744073710s", 3, -ERANGE);
    refused("10/213504day", 3, -ERANGE);
    refused("10/99999999999999999999999999.5day", 3, -ERANGE);
    refused("10/s burst 18446744073709551616", 11, -ERANGE);
    refused("10/s burst 18446744073709551616", 11, -ERANGE);
    refused("10/s pace slack 18446744073709551615", 16, -ERANGE);
    refused("10/s refill 18446744073709551616ns", 12, -ERANGE);
}

static void faults_of_the_words_after_it(void **state)
{
    (void)state;
    refused("10/s hello", 5, -EINVAL);
    refused("10/s 5", 5, -EINVAL);
    refused("10/s,", 4, -EINVAL);
    refused("10/s burst", 10, -EINVAL);
    refused("10/s burst ", 11, -EINVAL);
    refused("10/s burst x", 11, -EINVAL);
    refused("10/s burst -1", 11, -EINVAL);
    refused("10/s burst 1.5", 12, -EINVAL);
    refused("10/s burst 3x", 12, -EINVAL);
    refused("10/s burst 3 4", 13, -EINVAL);
    refused("10/s bursts 3", 5, -EINVAL);
    refused("10/s Burst 3", 5, -EINVAL);
    refused("10/s burst 1 burst 2", 13, -EINVAL);
    refused("10/s burst 1 pace", 13, -EINVAL);
    refused("10/s pace burst 3", 10, -EINVAL);
    refused("10/s pace slack 1 burst 3", 18, -EINVAL);
    refused("10/s pace slack", 15, -EINVAL);
    refused("10/s pace 10", 10, -EINVAL);
    refused("10/s pace pace", 10, -EINVAL);
    refused("10/s slack 10", 5, -EINVAL);
    refused("10/s refill", 11, -EINVAL);
    refused("10/s refill burst 3", 12, -EINVAL);
    refused("10/s refill 5", 13, -EINVAL);
    refused("10/s refill 0ms", 12, -EINVAL);
    refused("10/s refill 100ms refill 100ms", 18, -EINVAL);
    refused("10/s refill 100ms pace", 18, -EINVAL);
    refused("unlimited burst 3", 10, -EINVAL);
    refused("unlimited/s", 9, -EINVAL);
    refused("unlimitedx", 0, -EINVAL);
    refused("unlimite", 0, -EINVAL);
    refused("10/s\nburst 3", 4, -EINVAL); /* one line */
    refused("10/s\n", 4, -EINVAL);
}

static void faults_of_windows(void **state)
{
    (void)state;
    refused("10/s windows", 5, -EINVAL);
    refused("10/s Window", 5, -EINVAL);
    refused("10/s window 5", 12, -EINVAL);
    refused("10/s window burst 5", 12, -EINVAL);
    refused("10/s burst 5 window", 13, -EINVAL);
    refused("10/s pace window", 10, -EINVAL);
    refused("10/s refill 1s sliding", 15, -EINVAL);
    refused("10/s sliding +08:00", 13, -EINVAL);
    refused("10/s sliding sliding", 13, -EINVAL);
    refused("10/s window zone UTC", 12, -EINVAL);
    refused("10/0s window", 3, -EINVAL);
    refused("18446744073709551615/s window", 0, -ERANGE);
    refused("10/213504day sliding", 3, -ERANGE);
    refused("window 10/s", 0, -EINVAL);
    refused("unlimited window", 10, -EINVAL);
}

static void faults_of_offsets(void **state)
{
    (void)state;
    refused("5/day aligned z", 14, -EINVAL);
    refused("5/day aligned ZZ", 14, -EINVAL);
    refused("5/day aligned UTC", 14, -EINVAL);
    refused("5/day aligned Z Z", 16, -EINVAL);
    refused("5/day aligned 08:00", 14, -EINVAL);
    refused("5/day aligned +", 15, -EINVAL);
    refused("5/day aligned + 08:00", 15, -EINVAL);
    refused("5/day aligned +8", 16, -EINVAL);
    refused("5/day aligned +8:00", 16, -EINVAL);
    refused("5/day aligned +08", 17, -EINVAL);
    refused("5/day aligned +0800", 17, -EINVAL);
    refused("5/day aligned +08:", 18, -EINVAL);
    refused("5/day aligned +08:0", 19, -EINVAL);
    refused("5/day aligned +08:60", 18, -EINVAL);
    refused("5/day aligned +08:000", 20, -EINVAL);
    refused("5/day aligned +08:00:", 21, -EINVAL);
    refused("5/day aligned +08:00:60", 21, -EINVAL);
    refused("5/day aligned +08:00:00:00", 23, -EINVAL);
    refused("5/day aligned +08:00 +08:00", 21, -EINVAL);
    refused("5/day aligned +24:01", 14, -EINVAL);
    refused("5/day aligned -24:00:01", 14, -EINVAL);
    refused("5/day aligned  -99:59:59", 15, -EINVAL);
    refused("5/day aligned zone UTC", 14, -EINVAL);
}

static void faults_of_calendars(void **state)
{
    (void)state;
    refused("5/week", 6, -EINVAL);
    refused("5/month ", 8, -EINVAL);
    refused("5/week window", 7, -EINVAL);
    refused("5/month aligned", 8, -EINVAL);
    refused("5/weekly zone UTC", 2, -EINVAL);
    refused("5/Week zone UTC", 2, -EINVAL);
    refused("5/1week zone UTC", 3, -EINVAL);
    refused("5/year zone UTC", 2, -EINVAL);
    refused("5/1day zone UTC", 7, -EINVAL);
    refused("5/24h zone UTC", 6, -EINVAL);
    refused("10/s refill week", 12, -EINVAL);
    refused("5/day zone", 10, -EINVAL);
    refused("5/day zone  ", 12, -EINVAL);
    refused("5/day zones UTC", 6, -EINVAL);
    refused("5/day zone/UTC", 10, -EINVAL);
    refused("5/day zone /UTC", 11, -EINVAL);
    refused("5/day zone Asia/../UTC", 16, -EINVAL);
    refused("5/day zone ..", 11, -EINVAL);
    refused("5/day zone Asia/..", 16, -EINVAL);
    refused("5/day zone ../etc/passwd", 11, -EINVAL);
    refused("5/day zone Asia/Kuala Lumpur", 22, -EINVAL);
    refused("5/day zone Asia/Kuala:Lumpur", 21, -EINVAL);
    refused("5/day zone UTC\n", 14, -EINVAL);
    refused("5/day zone UTC,", 14, -EINVAL);
    refused("5/day zone \xc3\xa9", 11, -EINVAL);
    refused("5/day zone UTC UTC", 15, -EINVAL);
    refused("5/day zone AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEEEEEEE", 58, -EINVAL);
    refused("18446744073709551615/day zone UTC", 0, -ERANGE);
}

static void faults_of_concurrency(void **state)
{
    (void)state;
    refused("concurrency", 11, -EINVAL);
    refused("concurrency ", 12, -EINVAL);
    refused("concurrency -1", 12, -EINVAL);
    refused("concurrency x", 12, -EINVAL);
    refused("concurrency 6.5", 13, -EINVAL);
    refused("concurrency 64/s", 14, -EINVAL);
    refused("concurrency 64 unlimited", 15, -EINVAL);
    refused("concurrency unlimited 64", 22, -EINVAL);
    refused("concurrency unlimite", 12, -EINVAL);
    refused("concurrency concurrency 64", 12, -EINVAL);
    refused("Concurrency 64", 0, -EINVAL);
    refused("64 concurrency", 3, -EINVAL);
    refused("concurrency 18446744073709551615", 12, -ERANGE);
}

static void arguments_that_are_null(void **state)
{
    struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 20);
    char buffer[8];
    size_t error_at = 999;

    (void)state;
    assert_int_equal(weir_policy_parse(&policy, NULL, &error_at), -EINVAL);
    assert_int_equal(error_at, 0);
    error_at = 999;
    assert_int_equal(weir_policy_parse(NULL, "10/s", &error_at), -EINVAL);
    assert_int_equal(error_at, 0);
    assert_int_equal(weir_policy_parse(NULL, NULL, NULL), -EINVAL);
    assert_int_equal(weir_policy_format(NULL, buffer, sizeof buffer), -EINVAL);
    assert_int_equal(weir_policy_format(&policy, NULL, sizeof buffer), -EINVAL);
    assert_int_equal(weir_policy_format(&policy, NULL, 0), strlen("10/s burst 20"));
}

static void short_buffers_are_cut(void **state)
{
    static const char whole[] = "1000/s refill 100ms burst 500";
    const struct weir_policy policy = refill(1000, WEIR_SECOND, 100 * WEIR_MILLISECOND, 500);

    (void)state;
    for (size_t size = 0; size < sizeof whole + 2; size++) {
        char buffer[sizeof whole + 2];

        memset(buffer, '#', sizeof buffer);
        assert_int_equal(weir_policy_format(&policy, buffer, size), strlen(whole));
        if (size > 0) {
            size_t length = size - 1 < strlen(whole) ? size - 1 : strlen(whole);

            assert_memory_equal(buffer, whole, length);
            assert_int_equal(buffer[length], '\0');
        }
        for (size_t i = size; i < sizeof buffer; i++)
            assert_int_equal(buffer[i], '#');
    }
}

static void policies_that_cannot_be_written(void **state)
{
    struct weir_policy policy = weir_token_bucket(10, 0, 20);
    char buffer[64];

    (void)state;
    assert_int_equal(weir_policy_format(&policy, buffer, sizeof buffer), -EINVAL);
    policy.period = 1;
    policy.kind = 0;
    assert_int_equal(weir_policy_format(&policy, buffer, sizeof buffer), -EINVAL);
    policy.kind = WEIR_CONCURRENCY + 1;
    assert_int_equal(weir_policy_format(&policy, buffer, sizeof buffer), -EINVAL);
    policy.kind = WEIR_TOKEN_BUCKET;
    policy.form = WEIR_FORM_PACER + 1;
    assert_int_equal(weir_policy_format(&policy, buffer, sizeof buffer), -EINVAL);
    policy.form = WEIR_FORM_PACER;
    assert_int_equal(weir_policy_format(&policy, buffer, sizeof buffer),
                     strlen("10/ns pace slack 19"));
}

static void round_trip(const struct weir_policy *policy)
{
    struct weir_policy back;
    char text[256], again[256];
    size_t error_at;
    int length = weir_policy_format(policy, text, sizeof text);

    assert_in_range(length, 1, sizeof text - 1);
    assert_int_equal(strlen(text), length);
    if (weir_policy_parse(&back, text, &error_at) != 0)
        fail_msg("\"%s\" is printed, but refused at %zu", text, error_at);
    if (!same_policy(policy, &back))
        fail_msg("\"%s\" does not read as what was printed", text);
    assert_int_equal(weir_policy_format(&back, again, sizeof again), length);
    assert_string_equal(text, again);
}

/* Any count that a field may have, and periods with many trailing zeros. */
static uint64_t any_count(struct test_random *random)
{
    uint64_t count = random_magnitude(random, 64);

    return count == UINT64_MAX ? 0 : count;
}

static weir_ns any_span(struct test_random *random)
{
    static const weir_ns units[] = {1,           WEIR_MICROSECOND, WEIR_MILLISECOND, WEIR_SECOND,
                                    WEIR_MINUTE, WEIR_HOUR,        WEIR_DAY};
    weir_ns unit = units[random_below(random, 7)];
    weir_ns span = random_below(random, 2) == 0 ? random_magnitude(random, 64)
                                                : unit * random_magnitude(random, 14);

    if (random_below(random, 4) == 0)
        span += unit / 2;
    return span == 0 ? 1 : span;
}

/* Any bytes that a zone's name may have, in a legal order. */
static void any_zone(struct test_random *random, char name[WEIR_ZONE_MAX + 1])
{
    static const char bytes[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-./";
    size_t size = 1 + (size_t)random_below(random, WEIR_ZONE_MAX);

    do {
        memset(name, 0, WEIR_ZONE_MAX + 1);
        for (size_t i = 0; i < size; i++)
            name[i] = bytes[random_below(random, sizeof bytes - 1)];
    } while (weir_policy_zone_fault(name, size) != size);
}

static void windows_round_trip(struct test_random *random)
{
    uint64_t limit = any_count(random);
    weir_ns period = any_span(random);
    int64_t offset = (int64_t)random_below(random, 2 * 86400 + 1) - 86400;
    char zone[WEIR_ZONE_MAX + 1];
    struct weir_policy policy;

    if (random_below(random, 2) == 0)
        offset -= offset % 900;
    any_zone(random, zone);
    policy = weir_fixed_window(limit, period);
    round_trip(&policy);
    policy = weir_aligned_window(limit, period, offset);
    round_trip(&policy);
    policy = weir_calendar_window(limit, 1 + (enum weir_calendar)random_below(random, 3), zone);
    round_trip(&policy);
    policy = weir_sliding_window(limit, period);
    round_trip(&policy);
    policy = weir_concurrency(random_below(random, 8) == 0 ? WEIR_UNLIMITED : limit);
    round_trip(&policy);
}

static void format_then_parse_is_the_identity(void **state)
{
    struct test_random random = random_start("policy text", 10);
    uint64_t rounds = random_scaled(200000);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t limit = any_count(&random), burst = any_count(&random);
        weir_ns period = any_span(&random), tick = any_span(&random);
        struct weir_policy policy;

        policy = weir_token_bucket(limit, period, burst);
        round_trip(&policy);
        policy = weir_token_bucket(limit, period, limit);
        round_trip(&policy);
        policy = weir_pacer(limit, period, burst == 0 ? 0 : burst - 1);
        round_trip(&policy);
        policy = weir_refill_bucket(limit, period, tick);
        round_trip(&policy);
        policy.burst = burst;
        round_trip(&policy);
        policy = weir_refill_bucket(limit, period, 0);
        round_trip(&policy);
        policy = weir_token_bucket(WEIR_UNLIMITED, period, burst);
        round_trip(&policy);
        windows_round_trip(&random);
    }
}

/* Text of any length is one policy or one fault. */
static void long_texts(void **state)
{
    static char text[100001];
    const struct weir_policy policy = weir_token_bucket(7, WEIR_SECOND, 9);

    (void)state;
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "7/s", 3);
    memcpy(text + 50000, "burst 9", 7);
    reads_as(text, policy);
    text[sizeof text - 2] = 'x';
    refused(text, sizeof text - 2, -EINVAL);
    memset(text, '0', sizeof text - 1);
    memcpy(text + 90000, "7/s burst 9", 12);
    reads_as(text, policy);
    memset(text, '9', sizeof text - 1);
    refused(text, 0, -ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_forms),
        cmocka_unit_test(canonical_forms_of_windows),
        cmocka_unit_test(canonical_forms_of_calendars),
        cmocka_unit_test(canonical_forms_of_concurrency),
        cmocka_unit_test(other_ways_to_write),
        cmocka_unit_test(other_ways_to_write_windows),
        cmocka_unit_test(unlimited_kinds),
        cmocka_unit_test(faults_of_the_rate),
        cmocka_unit_test(numbers_that_are_too_large),
        cmocka_unit_test(faults_of_the_words_after_it),
        cmocka_unit_test(faults_of_windows),
        cmocka_unit_test(faults_of_offsets),
        cmocka_unit_test(faults_of_calendars),
        cmocka_unit_test(faults_of_concurrency),
        cmocka_unit_test(arguments_that_are_null),
        cmocka_unit_test(short_buffers_are_cut),
        cmocka_unit_test(policies_that_cannot_be_written),
        cmocka_unit_test(format_then_parse_is_the_identity),
        cmocka_unit_test(long_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
