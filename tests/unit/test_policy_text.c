/* SPDX-License-Identifier: MIT */
/* Policies as text: what is read, what is printed, and where a fault is said to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weir/weir.h>

#include "random.h"

#include <errno.h>
#include <string.h>

static bool same_policy(const struct weir_policy *a, const struct weir_policy *b)
{
    return a->kind == b->kind && a->form == b->form && a->limit == b->limit &&
           a->period == b->period && a->burst == b->burst && a->tick == b->tick &&
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
        fail_msg("\"%s\" reads as limit %llu period %llu burst %llu tick %llu form %u", text,
                 (unsigned long long)got.limit, (unsigned long long)got.period,
                 (unsigned long long)got.burst, (unsigned long long)got.tick, got.form);
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

/* Algorithms that this version does not have: the word itself is the fault. */
static void later_algorithms_are_refused_at_their_word(void **state)
{
    (void)state;
    refused("100/10s sliding", 8, -EINVAL);
    refused("5/day zone Asia/Kuala_Lumpur", 6, -EINVAL);
    refused("600/min window", 8, -EINVAL);
    refused("600/min aligned", 8, -EINVAL);
    refused("5/day aligned +08:00", 6, -EINVAL);
    refused("5/week zone Z", 2, -EINVAL);
    refused("5/month zone local", 2, -EINVAL);
    refused("concurrency 64", 0, -EINVAL);
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
    policy.kind = WEIR_TOKEN_BUCKET + 1;
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
        cmocka_unit_test(other_ways_to_write),
        cmocka_unit_test(faults_of_the_rate),
        cmocka_unit_test(numbers_that_are_too_large),
        cmocka_unit_test(faults_of_the_words_after_it),
        cmocka_unit_test(later_algorithms_are_refused_at_their_word),
        cmocka_unit_test(arguments_that_are_null),
        cmocka_unit_test(short_buffers_are_cut),
        cmocka_unit_test(policies_that_cannot_be_written),
        cmocka_unit_test(format_then_parse_is_the_identity),
        cmocka_unit_test(long_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
