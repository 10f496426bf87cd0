/* SPDX-License-Identifier: MIT */
/*
 * K05, K04, K16: which settings are kept, as what, and what is refused; the getters.
 *
 * The meter's fields must be those that the design prescribes, worked out here by the model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

static bool same_policy(const struct weir_policy *a, const struct weir_policy *b)
{
    return a->kind == b->kind && a->form == b->form && a->limit == b->limit &&
           a->period == b->period && a->burst == b->burst && a->tick == b->tick &&
           memcmp(a->reserved, b->reserved, sizeof a->reserved) == 0;
}

/* Refused or accepted as prescribed, with the prescribed units. Returns what was prescribed. */
static int check_setting(const struct weir_policy *policy, struct model_form *f)
{
    struct weir_meter m;
    int want = model_form_init(f, policy), got = weir_meter_init(&m, policy, 0);

    if (got != want)
        fail_msg("%s: %d, prescribed is %d", twin_setting_text(policy), got, want);
    if (want != 0 || f->unlimited)
        return want;
    if ((model_int)m.token != f->token || (model_int)m.units != f->units ||
        (model_int)m.grains != f->grains || (model_int)m.capacity != f->capacity ||
        m.burst != f->burst)
        fail_msg("%s: token %llu, %llu units per %llu grains; prescribed are %llu, %llu, %llu",
                 twin_setting_text(policy), (ull)m.token, (ull)m.units, (ull)m.grains,
                 (ull)f->token, (ull)f->units, (ull)f->grains);
    return want;
}

/* The same answer from an engine, and the policy back from it, exactly. */
static void check_engine(const struct weir_policy *policy, int want)
{
    struct weir_policy back;
    struct subject s;
    int got = subject_open(&s, SUBJECT_ENGINE, policy, 0);

    if (got != want)
        fail_msg("%s: the engine says %d, prescribed is %d", twin_setting_text(policy), got, want);
    if (got != 0)
        return;
    assert_int_equal(weir_get_limit(s.engine, s.limit, &back), 0);
    assert_true(same_policy(&back, policy));
    subject_close(&s);
}

static void describe(const struct weir_policy *policy, const struct model_form *f)
{
    double unit_ns = f->units == 0 ? 0 : (double)f->grains * (double)f->tick / (double)f->units;

    printf("# %s: a unit is %.6g ns, a token %llu units, a full bucket %llu units, %s\n",
           twin_setting_text(policy), unit_ns, (ull)f->token, (ull)f->capacity,
           f->exact ? "exact" : "rounded");
}

static void must_accept(uint64_t limit, weir_ns period, uint64_t burst)
{
    const struct weir_policy policy = weir_token_bucket(limit, period, burst);
    struct model_form f;

    assert_int_equal(check_setting(&policy, &f), 0);
    check_engine(&policy, 0);
    describe(&policy, &f);
}

static void k05_grid_is_accepted_and_each_unit_stated(void **state)
{
    static const uint64_t small[] = {0, 1, 2, 3, 10, 100, 1000, 65535, 1048575};
    static const uint64_t large[] = {16777215, 2147483647, 4294967295};
    static const struct {
        uint64_t limit;
        weir_ns period;
    } rates[] = {
        {1, 365 * WEIR_DAY},
        {1, 366 * WEIR_DAY},
        {100, 365 * WEIR_DAY},
        {1, 30 * WEIR_DAY},
        {7, 7 * WEIR_DAY},
        {1, WEIR_DAY},
        {1, WEIR_HOUR},
        {7, WEIR_HOUR},
        {1000, WEIR_HOUR},
        {1, WEIR_MINUTE},
        {7, WEIR_MINUTE},
        {100, WEIR_MINUTE},
        {1, WEIR_SECOND},
        {3, WEIR_SECOND},
        {10, WEIR_SECOND},
        {997, WEIR_SECOND},
        {1024, WEIR_SECOND},
        {65536, WEIR_SECOND},
        {1000003, WEIR_SECOND},
        {999999937, WEIR_SECOND},
        {999999999, WEIR_SECOND},
        {1000000000, WEIR_SECOND},
        {1000, 1009},
        {3, 4500 * WEIR_MILLISECOND},
        {1, (weir_ns)1 << 32},
        {1, (weir_ns)1 << 40},
        {(uint64_t)1 << 20, (weir_ns)1 << 40},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        for (size_t b = 0; b < sizeof small / sizeof small[0]; b++)
            must_accept(rates[i].limit, rates[i].period, small[b]);
        if (rates[i].period / rates[i].limit > WEIR_HOUR)
            continue;
        for (size_t b = 0; b < sizeof large / sizeof large[0]; b++)
            must_accept(rates[i].limit, rates[i].period, large[b]);
    }
}

/* The largest burst that is prescribed to be accepted; -1 when none is. */
static model_int largest_burst(uint64_t limit, weir_ns period, weir_ns tick)
{
    model_int low = -1, high = (model_int)1 << 56;

    while (low + 1 < high) {
        model_int middle = low + (high - low) / 2;
        struct weir_policy policy = weir_token_bucket(limit, period, (uint64_t)middle);
        struct model_form f;

        policy.tick = tick;
        if (model_form_init(&f, &policy) == 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void check_edge(uint64_t limit, weir_ns period, weir_ns tick)
{
    model_int most = largest_burst(limit, period, tick);
    struct weir_policy policy = weir_token_bucket(limit, period, (uint64_t)(most + 1));
    struct model_form f;

    policy.tick = tick;
    assert_int_equal(check_setting(&policy, &f), -ERANGE);
    check_engine(&policy, -ERANGE);
    policy.burst = UINT64_MAX;
    assert_int_equal(check_setting(&policy, &f), -ERANGE);
    if (most < 0)
        return;
    policy.burst = (uint64_t)most;
    assert_int_equal(check_setting(&policy, &f), 0);
    check_engine(&policy, 0);
}

static void k04_the_burst_above_the_largest_is_refused(void **state)
{
    static const uint64_t limits[] = {0, 1, 2, 3, 7, 9, 10, 11, 1000000000, UINT64_MAX - 1};
    static const weir_ns periods[] = {1,
                                      2,
                                      3,
                                      WEIR_SECOND,
                                      WEIR_HOUR,
                                      365 * WEIR_DAY,
                                      ((weir_ns)1 << 55) - 1,
                                      (weir_ns)1 << 55,
                                      (weir_ns)1 << 63,
                                      UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        for (size_t j = 0; j < sizeof periods / sizeof periods[0]; j++) {
            check_edge(limits[i], periods[j], 0);
            check_edge(limits[i], periods[j], 1);
            check_edge(limits[i], periods[j], 100 * WEIR_MILLISECOND);
        }
    }
}

/* 2^57 units must last 180 days: 9 tokens a nanosecond do with tokens of one unit, 10 do not. */
static void k04_the_rate_above_the_fastest_is_refused(void **state)
{
    uint64_t low = WEIR_SECOND, high = 100 * WEIR_SECOND;
    struct model_form f;

    (void)state;
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct weir_policy policy = weir_token_bucket(middle, WEIR_SECOND, 1);

        if (model_form_init(&f, &policy) == 0)
            low = middle;
        else
            high = middle;
    }
    assert_in_range(low, 9266000000, 9268000000);
    for (uint64_t limit = low - 1; limit <= low + 2; limit++) {
        const struct weir_policy policy = weir_token_bucket(limit, WEIR_SECOND, 1);

        assert_int_equal(check_setting(&policy, &f), limit <= low ? 0 : -ERANGE);
        check_engine(&policy, limit <= low ? 0 : -ERANGE);
    }
}

static void k04_random_settings_are_kept_or_refused_as_prescribed(void **state)
{
    struct test_random random = random_start("settings", 5);
    uint64_t rounds = random_scaled(300000), accepted = 0;

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        struct weir_policy policy =
            weir_token_bucket(random_magnitude(&random, 64), random_magnitude(&random, 64),
                              random_magnitude(&random, 64));
        struct model_form f;
        int rc;

        if (random_below(&random, 8) == 0)
            policy.tick = random_magnitude(&random, 64);
        rc = check_setting(&policy, &f);
        accepted += rc == 0;
        if (i % 64 == 0)
            check_engine(&policy, rc);
    }
    assert_true(accepted > rounds / 16);
}

static void malformed_settings_are_invalid(void **state)
{
    struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);
    struct weir_meter m;
    struct model_form f;

    (void)state;
    assert_int_equal(weir_meter_init(NULL, &policy, 0), -EINVAL);
    assert_int_equal(weir_meter_init(&m, NULL, 0), -EINVAL);
    assert_int_equal(weir_meter_init(&m, &policy, MODEL_NOW_MAX), 0);
    assert_int_equal(weir_meter_init(&m, &policy, MODEL_NOW_MAX + 1), -ERANGE);
    policy.period = 0;
    assert_int_equal(check_setting(&policy, &f), -EINVAL);
    check_engine(&policy, -EINVAL);
    policy = weir_token_bucket(10, WEIR_SECOND, 10);
    policy.kind = 0;
    assert_int_equal(check_setting(&policy, &f), -EINVAL);
    policy.kind = 2;
    assert_int_equal(check_setting(&policy, &f), -EINVAL);
    check_engine(&policy, -EINVAL);
    policy.kind = WEIR_TOKEN_BUCKET;
    policy.form = WEIR_FORM_PACER + 1;
    assert_int_equal(check_setting(&policy, &f), -EINVAL);
    check_engine(&policy, -EINVAL);
    policy.form = 0;
    for (size_t i = 0; i < 4; i++) {
        policy.reserved[i] = 1;
        assert_int_equal(check_setting(&policy, &f), -EINVAL);
        check_engine(&policy, -EINVAL);
        policy.reserved[i] = 0;
    }
    assert_int_equal(check_setting(&policy, &f), 0);
}

static void constructors_make_what_they_say(void **state)
{
    struct weir_policy p = weir_token_bucket(7, WEIR_MINUTE, 9);

    (void)state;
    assert_true(p.kind == WEIR_TOKEN_BUCKET && p.form == WEIR_FORM_PLAIN && p.limit == 7 &&
                p.period == WEIR_MINUTE && p.burst == 9 && p.tick == 0);
    p = weir_pacer(50, WEIR_SECOND, 10);
    assert_true(p.kind == WEIR_TOKEN_BUCKET && p.form == WEIR_FORM_PACER && p.limit == 50 &&
                p.period == WEIR_SECOND && p.burst == 11 && p.tick == 0);
    p = weir_pacer(50, WEIR_SECOND, UINT64_MAX - 1);
    assert_int_equal(p.burst, UINT64_MAX);
    p = weir_pacer(50, WEIR_SECOND, UINT64_MAX); /* not a burst of 0 */
    assert_int_equal(p.burst, UINT64_MAX);
    p = weir_refill_bucket(1000, WEIR_SECOND, 100 * WEIR_MILLISECOND);
    assert_true(p.kind == WEIR_TOKEN_BUCKET && p.limit == 1000 && p.burst == 1000 &&
                p.tick == 100 * WEIR_MILLISECOND);
    p = weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, 3);
    assert_true(p.limit == WEIR_UNLIMITED);
}

/* K16, K06: taking never alters what was set. */
static void k16_getters_return_what_was_set(void **state)
{
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct weir_policy back;
        struct subject s;

        assert_int_equal(subject_open(&s, SUBJECT_ENGINE, &settings[i], 0), 0);
        for (weir_ns now = 0; now < 5; now++)
            (void)subject_reserve(&s, settings[i].burst, now << 60, WEIR_FOREVER, NULL).verdict;
        memset(&back, 0xff, sizeof back);
        assert_int_equal(weir_get_limit(s.engine, s.limit, &back), 0);
        assert_true(same_policy(&back, &settings[i]));
        assert_string_equal(weir_limit_name(s.engine, s.limit), "limit");
        assert_int_equal(weir_find_limit(s.engine, "limit"), s.limit);
        assert_int_equal(weir_get_limit(s.engine, s.limit + 1, &back), -ENOENT);
        assert_int_equal(weir_get_limit(s.engine, s.limit, NULL), -EINVAL);
        subject_close(&s);
    }
}

/* Grants among calls every `step` ns over `length` ns, starting full. */
static uint64_t granted(enum subject_kind kind, uint64_t limit, uint64_t burst, weir_ns step,
                        weir_ns length)
{
    const struct weir_policy policy = weir_token_bucket(limit, WEIR_SECOND, burst);
    uint64_t count = 0;
    struct subject s;

    assert_int_equal(subject_open(&s, kind, &policy, 0), 0);
    for (weir_ns now = 0; now <= length; now += step)
        for (int i = 0; i < 3; i++)
            count += subject_decide(&s, 1, WEIR_SECOND + now).verdict == WEIR_ALLOWED;
    subject_close(&s);
    return count;
}

/* K05: no setting near 10^9 a second becomes unlimited, or slower than a step below it. */
static void k05_rates_around_a_token_per_nanosecond_are_kept(void **state)
{
    static const uint64_t limits[] = {1,           1500,       999999937,  999999998, 999999999,
                                      WEIR_SECOND, 1000000001, 1000000002, 2000000000};
    const weir_ns length = 100000;

    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        for (uint64_t burst = 1; burst <= 1000; burst += 333) {
            uint64_t before = 0;

            for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
                uint64_t count = granted((enum subject_kind)kind, limits[i], burst, 1, length);
                uint64_t most = burst + limits[i] * length / WEIR_SECOND;

                assert_true(count <= most + 1 && count >= before);
                if (burst > 3 || limits[i] <= WEIR_SECOND)
                    assert_true(count + burst >= most);
                before = count;
            }
        }
    }
}

/* K05: grants never fall when the rate or the burst is raised. */
static void k05_grants_are_monotone_in_rate_and_burst(void **state)
{
    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        for (uint64_t limit = 1; limit <= 40; limit++) {
            for (uint64_t burst = 1; burst <= 12; burst++) {
                const weir_ns step = 17 * WEIR_MILLISECOND, length = 3 * WEIR_SECOND;
                uint64_t here = granted((enum subject_kind)kind, limit, burst, step, length);

                assert_true(here >= burst);
                assert_true(here <= burst + 3 * limit);
                assert_true(here <=
                            granted((enum subject_kind)kind, limit + 1, burst, step, length));
                assert_true(here <=
                            granted((enum subject_kind)kind, limit, burst + 1, step, length));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k05_grid_is_accepted_and_each_unit_stated),
        cmocka_unit_test(k04_the_burst_above_the_largest_is_refused),
        cmocka_unit_test(k04_the_rate_above_the_fastest_is_refused),
        cmocka_unit_test(k04_random_settings_are_kept_or_refused_as_prescribed),
        cmocka_unit_test(malformed_settings_are_invalid),
        cmocka_unit_test(constructors_make_what_they_say),
        cmocka_unit_test(k16_getters_return_what_was_set),
        cmocka_unit_test(k05_rates_around_a_token_per_nanosecond_are_kept),
        cmocka_unit_test(k05_grants_are_monotone_in_rate_and_burst),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
