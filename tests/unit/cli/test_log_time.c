/* SPDX-License-Identifier: MIT */
/* Instants as logs write them and as we do, against instants computed elsewhere (date -u -d TEXT
 * +%s). */
#include "log_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

static void check(const char *text, int64_t unix_ns, int offset_min)
{
    struct log_time time;
    const char *why = log_time_read(text, strlen(text), &time);
    if (why != NULL)
        fail_msg("%s: %s", text, why);
    if (time.unix_ns != unix_ns)
        fail_msg("%s: %lld, not %lld", text, (long long)time.unix_ns, (long long)unix_ns);
    assert_int_equal(time.offset_min, offset_min);
}

static void check_refused(const char *text, const char *reason)
{
    struct log_time time;
    const char *why = log_time_read(text, strlen(text), &time);
    if (why == NULL)
        fail_msg("%s: was read as %lld", text, (long long)time.unix_ns);
    if (strcmp(why, reason) != 0)
        fail_msg("%s: %s, not %s", text, why, reason);
}

static void common_log_format(void **state)
{
    (void)state;
    check("17/May/2015:10:05:03 +0000", 1431857103 * SECOND, 0);
    check("[17/May/2015:10:05:03 +0000]", 1431857103 * SECOND, 0);
    check("10/Oct/2000:13:55:36 -0700", 971211336 * SECOND, -420);
    check("10/oct/2000:13:55:36 -0700", 971211336 * SECOND, -420);
    check("04/Mar/2025:07:00:00 +0545", 1741050900 * SECOND, 345);
    check("04/Mar/2025:07:00:00.25 +0100", 1741068000 * SECOND + 250000000, 60);
    check("01/Jan/1970:00:00:00 +0000", 0, 0);
    check("01/Jan/1970:14:00:00 +1400", 0, 840);
}

static void rfc_3339(void **state)
{
    (void)state;
    check("2015-05-17T10:05:03Z", 1431857103 * SECOND, 0);
    check("2015-05-17t10:05:03z", 1431857103 * SECOND, 0);
    check("2015-05-17 10:05:03Z", 1431857103 * SECOND, 0);
    check("2015-05-17 10:05:03 UTC", 1431857103 * SECOND, 0);
    check("2015-05-17T18:05:03+08:00", 1431857103 * SECOND, 480);
    check("2015-05-17T18:05:03+0800", 1431857103 * SECOND, 480);
    check("2015-05-17T18:05:03+08", 1431857103 * SECOND, 480);
    check("2015-05-17T10:05:03-00", 1431857103 * SECOND, 0);
    check("2015-05-17T00:35:03-09:30", 1431857103 * SECOND, -570);
    check("2015-05-17T10:05:03-00:00", 1431857103 * SECOND, 0);
    check("2015-05-17T10:05:03.000000001Z", 1431857103 * SECOND + 1, 0);
    check("2015-05-17T10:05:03.5+00:00", 1431857103 * SECOND + 500000000, 0);
    check("2015-05-17T10:05:03,5Z", 1431857103 * SECOND + 500000000, 0);
    check("2015-05-17T10:05:03.9999999999Z", 1431857103 * SECOND + 999999999, 0);
}

static void leap_years_and_leap_seconds(void **state)
{
    (void)state;
    check("2000-02-29T00:00:00Z", 951782400 * SECOND, 0);
    check("2024-02-29T23:59:59Z", 1709251199 * SECOND, 0);
    check("2024-03-01T00:00:00Z", 1709251200 * SECOND, 0);
    check("2100-03-01T00:00:00Z", 4107542400 * SECOND, 0);
    check_refused("2100-02-29T00:00:00Z", "no such date");
    check_refused("2023-02-29T00:00:00Z", "no such date");
    check("2016-12-31T23:59:60Z", 1483228800 * SECOND, 0);
    check("2017-01-01T00:59:60+01:00", 1483228800 * SECOND, 60);
    check_refused("2016-12-31T22:59:60Z", "no such time of day");
}

static void counts_since_1970(void **state)
{
    (void)state;
    check("0", 0, 0);
    check("1", SECOND, 0);
    check("0.000000001", 1, 0);
    check("0.05", 50000000, 0);
    check("1431857103", 1431857103 * SECOND, 0);
    check("1431857103.25", 1431857103 * SECOND + 250000000, 0);
    check("1431857103.123456789", 1431857103 * SECOND + 123456789, 0);
    check("1431857103.1234567899", 1431857103 * SECOND + 123456789, 0);
    check("1431857103123", 1431857103 * SECOND + 123000000, 0);
    check("1431857103123.5", 1431857103 * SECOND + 123500000, 0);
    check("1431857103123456", 1431857103 * SECOND + 123456000, 0);
    check("1431857103123456789", 1431857103 * SECOND + 123456789, 0);
    check("1.431857103e9", 1431857103 * SECOND, 0);
    check("1.43185710325E+9", 1431857103 * SECOND + 250000000, 0);
    check("9223372036854775807", INT64_MAX, 0);
    check("9223372036.854775807", INT64_MAX, 0);
    check("000001431857103", 1431857103 * SECOND, 0);
}

static void out_of_range(void **state)
{
    (void)state;
    check("2262-04-11T23:47:16.854775807Z", INT64_MAX, 0);
    check_refused("2262-04-11T23:47:16.854775808Z", "a time after 2262");
    check_refused("9999-12-31T23:59:59Z", "a time after 2262");
    check_refused("1969-12-31T23:59:59Z", "a time before 1970");
    check_refused("1970-01-01T00:00:00+00:01", "a time before 1970");
    check_refused("0000-01-01T00:00:00Z", "a time before 1970");
    check_refused("-1", "a time before 1970");
    check_refused("9223372036.854775808", "a time after 2262");
    check_refused("9223372036854775808", "a time after 2262");
    check_refused("99999999999", "a time after 2262");
    check_refused("123456789012345678901", "a time after 2262");
    check_refused("1e999999999999", "a time after 2262");
    check_refused("1.0e300", "a time after 2262");
}

static void bad_dates_and_clocks(void **state)
{
    (void)state;
    check_refused("31/Feb/2025:11:40:02 +0100", "no such date");
    check_refused("00/Jan/2025:11:40:02 +0100", "no such date");
    check_refused("31/Apr/2025:11:40:02 +0100", "no such date");
    check_refused("2025-13-01T00:00:00Z", "no such date");
    check_refused("2025-00-01T00:00:00Z", "no such date");
    check_refused("04/Mar/2025:24:00:00 +0100", "no such time of day");
    check_refused("04/Mar/2025:23:60:00 +0100", "no such time of day");
    check_refused("04/Mar/2025:23:59:61 +0100", "no such time of day");
    check_refused("04/Mai/2025:23:59:59 +0100", "not a time");
    check_refused("4/Mar/2025:23:59:59 +0100", "not a time");
    check_refused("04/Mar/2025:23:59 +0100", "not a time");
    check_refused("2025-03-04T1:00:00Z", "not a time");
    check_refused("2025-03-04T01:00:00.Z", "not a time");
    check_refused("2025-03-04", "a date without a time of day");
}

static void zones(void **state)
{
    (void)state;
    check_refused("04/Mar/2025:11:40:03", "a time without a zone");
    check_refused("2025-03-04T11:40:03", "a time without a zone");
    check_refused("2025-03-04 11:40:03.25", "a time without a zone");
    check_refused("2025-03-04T11:40:03 CET", "a time without a zone");
    check_refused("2025-03-04T11:40:03+1", "a time without a zone");
    check_refused("2025-03-04T11:40:03+01:", "a time without a zone");
    check_refused("2025-03-04T11:40:03+010", "a time without a zone");
    check_refused("2025-03-04T11:40:03+24", "no such zone");
    check_refused("2025-03-04T11:40:03+24:00", "no such zone");
    check_refused("2025-03-04T11:40:03+01:60", "no such zone");
    check_refused("2025-03-04T11:40:03Zulu", "not a time");
    check("2025-03-04T23:40:03-23:59", 1741217943 * SECOND, -1439);
}

static void no_times(void **state)
{
    (void)state;
    check_refused("", "not a time");
    check_refused("-", "not a time");
    check_refused(".", "not a time");
    check_refused("[]", "not a time");
    check_refused("1431857103s", "not a time");
    check_refused("1431857103.2.5", "not a time");
    check_refused("1e", "not a time");
    check_refused("yesterday", "not a time");
    struct log_time time;
    assert_string_equal(log_time_read("17/May/2015:10:05:03\0+0000", 26, &time),
                        "a time without a zone");
}

static void take(struct text *t, const char *expected)
{
    assert_string_equal(t->data, expected);
    assert_int_equal(t->size, strlen(expected));
    text_free(t);
}

static void writing(void **state)
{
    (void)state;
    static const struct {
        struct log_time time;
        const char *rfc3339, *plain;
    } cases[] = {
        {{0, 0}, "1970-01-01T00:00:00Z", "1970-01-01 00:00:00 +00:00"},
        {{0, -60}, "1969-12-31T23:00:00-01:00", "1969-12-31 23:00:00 -01:00"},
        {{1431857103250000000, 480}, "2015-05-17T18:05:03.25+08:00", "2015-05-17 18:05:03 +08:00"},
        {{1709251199000000001, -210},
         "2024-02-29T20:29:59.000000001-03:30",
         "2024-02-29 20:29:59 -03:30"},
        {{951782400000000000, 0}, "2000-02-29T00:00:00Z", "2000-02-29 00:00:00 +00:00"},
        {{INT64_MAX, 0}, "2262-04-11T23:47:16.854775807Z", "2262-04-11 23:47:16 +00:00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = {0};
        log_time_put_rfc3339(&t, &cases[i].time);
        struct log_time back = {-1, -1};
        if (cases[i].rfc3339[2] != '6' && cases[i].rfc3339[0] == '2') {
            assert_null(log_time_read(t.data, t.size, &back));
            assert_true(back.unix_ns == cases[i].time.unix_ns);
            assert_int_equal(back.offset_min, cases[i].time.offset_min);
        }
        take(&t, cases[i].rfc3339);
        log_time_put(&t, &cases[i].time, LOG_TIME_DATE | LOG_TIME_ZONE);
        take(&t, cases[i].plain);
        log_time_put(&t, &cases[i].time, LOG_TIME_DATE);
        assert_int_equal(t.size, 19);
        assert_memory_equal(t.data, cases[i].plain, 19);
        text_free(&t);
        log_time_put(&t, &cases[i].time, LOG_TIME_ZONE);
        take(&t, cases[i].plain + 11);
    }
}

static void days(void **state)
{
    (void)state;
    const int64_t day = 86400 * SECOND;
    struct log_time noon = {day / 2, 0}, last = {day - 1, 0}, next = {day, 0};
    struct log_time other_zone = {day / 2, 60}, east = {day, 120}, same_east = {day + 1, 120};
    assert_true(log_time_same_day(&noon, &last));
    assert_false(log_time_same_day(&last, &next));
    assert_false(log_time_same_day(&noon, &other_zone));
    assert_true(log_time_same_day(&east, &same_east));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_log_format),
        cmocka_unit_test(rfc_3339),
        cmocka_unit_test(counts_since_1970),
        cmocka_unit_test(leap_years_and_leap_seconds),
        cmocka_unit_test(out_of_range),
        cmocka_unit_test(zones),
        cmocka_unit_test(bad_dates_and_clocks),
        cmocka_unit_test(no_times),
        cmocka_unit_test(writing),
        cmocka_unit_test(days),
    };
    return cmocka_run_group_tests_name("log times", tests, NULL, NULL);
}
