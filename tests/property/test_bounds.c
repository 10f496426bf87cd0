/* SPDX-License-Identifier: MIT */
/*
 * K04, K06, K07, K08: the ends of every range. Arithmetic is total, zero and unlimited have one
 * meaning in each entry point, what can never be is told so, and n = 0 changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <string.h>

#define FIRST (100 * WEIR_DAY)

static const uint64_t ends[] = {0,
                                1,
                                2,
                                (uint64_t)1 << 32,
                                (uint64_t)1 << 55,
                                (uint64_t)1 << 57,
                                (uint64_t)1 << 58,
                                INT64_MAX - 1,
                                INT64_MAX,
                                (uint64_t)INT64_MAX + 1,
                                UINT64_MAX - 1,
                                UINT64_MAX};
#define ENDS (sizeof ends / sizeof ends[0])

static uint64_t any_end(struct test_random *random)
{
    return random_below(random, 4) == 0 ? random_magnitude(random, 64)
                                        : ends[random_below(random, ENDS)];
}

/* ---- K04 ---------------------------------------------------------------------------------- */

/* What must hold of any answer, whatever was asked. */
static void check_answer(const struct weir_policy *policy, uint64_t n, weir_ns max_wait,
                         struct weir_result r)
{
    assert_true(r.verdict == WEIR_ALLOWED || r.verdict == WEIR_DENIED || r.verdict == WEIR_NEVER);
    if (policy->limit == WEIR_UNLIMITED) {
        assert_true(r.verdict == WEIR_ALLOWED && r.wait == 0 && r.remaining == UINT64_MAX &&
                    r.reset == 0);
        return;
    }
    assert_int_equal(r.verdict == WEIR_NEVER, n > policy->burst);
    assert_true(r.remaining <= policy->burst);
    if (r.verdict == WEIR_NEVER)
        assert_true(r.wait == WEIR_FOREVER);
    if (r.verdict == WEIR_ALLOWED)
        assert_true(r.wait <= max_wait && r.wait != WEIR_FOREVER);
    if (r.verdict == WEIR_DENIED)
        assert_true(r.wait > 0);
    if (r.remaining == policy->burst && r.reset == 0)
        return;
    assert_true(r.reset > 0 || policy->burst == 0 || r.remaining == policy->burst);
}

static struct weir_policy any_policy(struct test_random *random)
{
    for (;;) {
        struct weir_policy policy =
            weir_token_bucket(any_end(random), any_end(random), any_end(random));
        struct model_form form;

        if (random_below(random, 4) == 0)
            policy.tick = any_end(random);
        if (policy.period != 0 && model_form_init(&form, &policy) == 0)
            return policy;
    }
}

/* Cells, up to the end of their line: equal to the model, span, clamps and all. */
static void k04_cells_equal_the_model_at_the_ends(void **state)
{
    struct test_random random = random_start("k04 cells", 4);
    uint64_t rounds = random_scaled(20000);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        const struct weir_policy policy = any_policy(&random);
        struct twin_reservation r = {0};
        struct weir_result result;
        struct twin t;

        twin_open(&t, SUBJECT_CELL, &policy, FIRST);
        for (int j = 0; j < 16; j++) {
            uint64_t n = random_below(&random, 2) == 0 ? any_end(&random) : policy.burst;
            weir_ns now = any_end(&random), max_wait = any_end(&random);
            model_int grain;

            /* Past the end of its line time stands still; that is another test. */
            now = now < MODEL_NOW_MAX ? now : MODEL_NOW_MAX;
            grain = (model_int)(now / t.line.form.tick) - t.line.origin;
            if (grain > t.line.elapsed_max)
                continue;
            result = twin_reserve(&t, n, now, max_wait, &r);
            check_answer(&policy, n, max_wait, result);
            check_answer(&policy, n, 0, twin_peek(&t, n, now));
            if (random_below(&random, 4) == 0)
                (void)twin_cancel(&t, &r, any_end(&random));
        }
        twin_close(&t);
    }
}

/* A cell serves 30 years from its origin; after that time stands still, and nothing is minted. */
static void k04_after_its_end_a_cells_time_stands_still(void **state)
{
    const weir_ns years = 30 * 365 * WEIR_DAY + 8 * WEIR_DAY;
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        uint64_t granted = 0, n = settings[i].burst;
        struct subject s;

        if (settings[i].limit == WEIR_UNLIMITED || n == 0)
            continue;
        assert_int_equal(subject_open(&s, SUBJECT_CELL, &settings[i], FIRST), 0);
        assert_true((model_uint)(s.meter.elapsed_max + 1) * (s.meter.tick ? s.meter.tick : 1) >=
                    years);
        for (weir_ns now = MODEL_NOW_MAX - 10; now <= MODEL_NOW_MAX; now++) {
            granted += subject_decide(&s, n, now).verdict == WEIR_ALLOWED ? n : 0;
            granted += subject_decide(&s, 1, now).verdict == WEIR_ALLOWED;
        }
        assert_in_range(granted, n, n + 90); /* 9 tokens a nanosecond at most */
        for (int j = 0; j < 10; j++)
            assert_int_equal(subject_decide(&s, n, UINT64_MAX).verdict, WEIR_DENIED);
        subject_close(&s);
    }
}

/* Any call with any argument, in any order, on a cell and an engine: answers stay in range. */
static void k04_answers_stay_in_range_whatever_is_asked(void **state)
{
    struct test_random random = random_start("k04 any", 44);
    uint64_t rounds = random_scaled(4000);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        const struct weir_policy policy = any_policy(&random);
        struct weir_reservation r = {0};
        struct subject s;

        assert_int_equal(subject_open(&s, i % 2 == 0 ? SUBJECT_CELL : SUBJECT_ENGINE, &policy,
                                      any_end(&random) & (uint64_t)INT64_MAX),
                         0);
        for (int j = 0; j < 24; j++) {
            uint64_t n = random_below(&random, 2) == 0 ? any_end(&random) : policy.burst;
            weir_ns now = any_end(&random), max_wait = any_end(&random);

            check_answer(&policy, n, 0, subject_decide(&s, n, now));
            check_answer(&policy, n, max_wait, subject_reserve(&s, n, now, max_wait, &r));
            assert_true(r.n == 0 ||
                        (r.n == n && r.instant >= (now < MODEL_NOW_MAX ? now : MODEL_NOW_MAX)));
            check_answer(&policy, n, 0, subject_peek(&s, n, now));
            if (s.kind == SUBJECT_ENGINE) {
                uint64_t charged = weir_charge(s.engine, s.limit, s.key, n, now);
                uint64_t taken = weir_take(s.engine, s.limit, s.key, n, any_end(&random));

                assert_true(charged <= n && taken <= n);
                assert_true(policy.limit == WEIR_UNLIMITED || taken <= policy.burst);
                assert_true(weir_refund(s.engine, s.limit, s.key, n, any_end(&random)) <= n);
            }
            assert_true(subject_cancel(&s, &r, any_end(&random)) <= n);
        }
        subject_close(&s);
    }
}

/* At least 180 days of debt fit; what does not fit is not charged, and nothing wraps. */
static void k04_debt_saturates(void **state)
{
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct weir_policy *p = &settings[i];
        uint64_t half_year, charged;
        struct weir_result before;
        struct subject s;

        if (p->limit == WEIR_UNLIMITED)
            continue;
        half_year = (uint64_t)((model_uint)(180 * WEIR_DAY) * p->limit / p->period);
        assert_int_equal(subject_open(&s, SUBJECT_ENGINE, p, 0), 0);
        charged = weir_charge(s.engine, s.limit, s.key, half_year, FIRST);
        assert_int_equal(charged, half_year);
        charged = weir_charge(s.engine, s.limit, s.key, UINT64_MAX, FIRST);
        assert_true(charged < UINT64_MAX);
        assert_int_equal(weir_charge(s.engine, s.limit, s.key, UINT64_MAX, FIRST), 0);
        before = subject_probe(&s, FIRST);
        assert_int_equal(before.verdict, WEIR_DENIED);
        assert_int_equal(before.remaining, 0);
        assert_true(before.wait >= 180 * WEIR_DAY && before.reset >= before.wait);
        if (p->burst > 0) { /* a reservation past the span: nothing recorded, the wait as always */
            struct weir_result r = subject_reserve(&s, p->burst, FIRST, WEIR_FOREVER, NULL);

            assert_int_equal(r.verdict, WEIR_DENIED);
            assert_true(r.wait > before.wait || r.wait == WEIR_FOREVER);
        }
        assert_int_equal(subject_probe(&s, FIRST).wait, before.wait);
        assert_int_equal(weir_refund(s.engine, s.limit, s.key, charged, FIRST), charged);
        subject_close(&s);
    }
}

/* The least room for debt: the fastest rate, the largest burst, at the end of the origin's line. */
static void k04_four_months_of_debt_always_fit(void **state)
{
    const struct weir_policy policy = weir_token_bucket(9, 1, ((uint64_t)1 << 55) - 1);
    const weir_ns later = FIRST + 185 * WEIR_DAY - TWIN_STALE_MAX;
    uint64_t owed = policy.burst + 9 * 120 * WEIR_DAY;
    struct subject s;

    (void)state;
    assert_int_equal(subject_open(&s, SUBJECT_ENGINE, &policy, 0), 0);
    assert_int_equal(subject_probe(&s, FIRST).remaining, policy.burst);
    assert_int_equal(weir_charge(s.engine, s.limit, s.key, owed, later), owed);
    assert_int_equal(subject_probe(&s, later).wait, 120 * WEIR_DAY);
    subject_close(&s);
}

/* Long idle, endless waits, a denial repeated, one ns before and after. */
static void k04_known_cases(void **state)
{
    const struct weir_policy many = weir_token_bucket(213505, 12 * WEIR_HOUR, 213505);
    const struct weir_policy one = weir_token_bucket(1, WEIR_SECOND, 1);
    const struct weir_policy none = weir_token_bucket(0, WEIR_SECOND, 0);

    (void)state;
    for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
        enum subject_kind kind = (enum subject_kind)k;
        struct twin_reservation r;
        struct twin t;

        twin_open(&t, kind, &many, FIRST);
        assert_int_equal(twin_decide(&t, 213505, FIRST).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_tokens(&t, FIRST + 12 * WEIR_HOUR), 213505);
        assert_int_equal(twin_tokens(&t, FIRST + ((weir_ns)1 << 59)), 213505);
        twin_close(&t);
        twin_open(&t, kind, &one, FIRST);
        assert_int_equal(twin_decide(&t, 1, FIRST).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_reserve(&t, 1, FIRST, WEIR_FOREVER - 1, &r).wait, WEIR_SECOND);
        assert_int_equal(twin_reserve(&t, 1, FIRST, WEIR_FOREVER, &r).wait, 2 * WEIR_SECOND);
        assert_int_equal(twin_peek(&t, 0, FIRST + 2 * WEIR_SECOND - 1).wait, 1);
        assert_int_equal(twin_peek(&t, 0, FIRST + 2 * WEIR_SECOND).wait, 0);
        assert_int_equal(twin_peek(&t, 0, FIRST + 2 * WEIR_SECOND + 1).wait, 0);
        twin_close(&t);
        twin_open(&t, kind, &none, FIRST);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(twin_decide(&t, INT64_MAX, FIRST).verdict, WEIR_NEVER);
        twin_close(&t);
    }
}

/* ---- K06 ---------------------------------------------------------------------------------- */

static void k06_rate_0_admits_the_burst_once(void **state)
{
    (void)state;
    for (uint64_t burst = 0; burst < 6; burst++) {
        const struct weir_policy policy = weir_token_bucket(0, WEIR_SECOND, burst);

        for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
            weir_ns now = FIRST;
            struct twin_reservation r;
            struct weir_result result;
            uint64_t granted = 0;
            struct twin t;

            twin_open(&t, (enum subject_kind)k, &policy, FIRST);
            for (int i = 0; i < 20; i++) {
                result = i % 2 == 0 ? twin_decide(&t, 1, now)
                                    : twin_reserve(&t, 1, now, WEIR_FOREVER, &r);
                granted += result.verdict == WEIR_ALLOWED;
                if (result.verdict != WEIR_ALLOWED)
                    assert_int_equal(result.wait, WEIR_FOREVER);
                now += (weir_ns)1 << 58;
            }
            assert_int_equal(granted, burst);
            result = twin_peek(&t, 0, now);
            assert_int_equal(result.verdict, WEIR_ALLOWED);
            assert_int_equal(result.reset, burst == 0 ? 0 : WEIR_FOREVER);
            if (k == SUBJECT_ENGINE) {
                assert_int_equal(twin_take(&t, 9, now), 0);
                assert_int_equal(twin_charge(&t, 3, now), 3);
                assert_int_equal(twin_decide(&t, 0, now).wait, WEIR_FOREVER);
                assert_int_equal(twin_reserve(&t, 0, now, WEIR_FOREVER, &r).verdict, WEIR_DENIED);
                assert_int_equal(twin_refund(&t, 5, now), burst + 3 < 5 ? burst + 3 : 5);
                assert_int_equal(twin_tokens(&t, now), burst + 3 < 5 ? burst : 2);
                twin_forget(&t);
                assert_int_equal(twin_tokens(&t, now), burst);
            }
            twin_close(&t);
        }
    }
}

static void check_unlimited(struct subject *s, weir_ns now, uint64_t n)
{
    struct weir_reservation r;
    struct weir_result result[3];

    result[0] = subject_decide(s, n, now);
    result[1] = subject_reserve(s, n, now, 0, &r);
    result[2] = subject_peek(s, n, now);
    for (int i = 0; i < 3; i++)
        assert_true(result[i].verdict == WEIR_ALLOWED && result[i].wait == 0 &&
                    result[i].remaining == UINT64_MAX && result[i].reset == 0);
    assert_int_equal(weir_quota(result[0]), WEIR_QUOTA_ALLOWED);
    assert_int_equal(subject_cancel(s, &r, now), 0);
    if (s->kind == SUBJECT_CELL) {
        assert_int_equal(s->cell.word, 0);
        return;
    }
    assert_true(weir_allow(s->engine, s->limit, s->key, n, now));
    assert_int_equal(weir_take(s->engine, s->limit, s->key, n, now), n);
    assert_int_equal(weir_charge(s->engine, s->limit, s->key, n, now), n);
    assert_int_equal(weir_refund(s->engine, s->limit, s->key, n, now), 0);
    assert_int_equal(weir_forget(s->engine, s->limit, s->key), 0);
}

static void k06_unlimited_admits_all_and_records_nothing(void **state)
{
    (void)state;
    for (uint64_t burst = 0; burst < 2; burst++) {
        const struct weir_policy policy = weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, burst);

        for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
            struct weir_stats stats = {.size = sizeof stats};
            struct subject s;

            assert_int_equal(subject_open(&s, (enum subject_kind)k, &policy, 0), 0);
            for (size_t i = 0; i < ENDS; i++)
                for (size_t j = 0; j < ENDS; j++)
                    check_unlimited(&s, ends[i], ends[j]);
            if (k == SUBJECT_ENGINE) {
                assert_int_equal(weir_stats(s.engine, &stats), 0);
                assert_int_equal(stats.keys, 0);
                assert_int_equal(stats.denied + stats.never, 0);
            }
            subject_close(&s);
        }
    }
}

/* An unlimited policy needs no period, no burst and no tick that could be kept. */
static void k06_unlimited_ignores_the_rest(void **state)
{
    struct weir_policy policy = weir_token_bucket(WEIR_UNLIMITED, 0, UINT64_MAX);
    struct subject s;

    (void)state;
    policy.tick = UINT64_MAX;
    for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
        assert_int_equal(subject_open(&s, (enum subject_kind)k, &policy, 0), 0);
        check_unlimited(&s, FIRST, 5);
        subject_close(&s);
    }
}

/* ---- K07 ---------------------------------------------------------------------------------- */

static void impossible_requests(struct twin *t, struct test_random *random)
{
    uint64_t burst = t->line.form.burst;
    struct twin_reservation r;
    struct weir_result before, never;

    if (t->line.form.unlimited)
        return;
    (void)twin_decide(t, burst / 2, FIRST);
    for (int i = 0; i < 8; i++) {
        uint64_t n = i == 0 ? burst + 1 : burst + 1 + random_magnitude(random, 63);
        weir_ns now = FIRST + random_magnitude(random, 50);
        struct weir_cell cell = t->subject.cell;

        before = twin_peek(t, 0, now);
        never = i % 2 == 0 ? twin_decide(t, n, now) : twin_reserve(t, n, now, WEIR_FOREVER, &r);
        assert_int_equal(never.verdict, WEIR_NEVER);
        assert_int_equal(never.wait, WEIR_FOREVER);
        assert_int_equal(never.remaining, before.remaining);
        assert_int_equal(never.reset, before.reset);
        assert_int_equal(twin_peek(t, n, now).verdict, WEIR_NEVER);
        assert_int_equal(t->subject.cell.word, cell.word);
        assert_int_equal(twin_peek(t, 0, now).reset, before.reset);
    }
    /* All that a bucket holds is not impossible, but takes time. */
    if (burst == 0 || t->line.form.a == 0)
        return;
    if ((double)burst * (double)twin_token_ns(&t->policy) > 0x1p55)
        return;
    while (twin_decide(t, 1 + random_below(random, burst), FIRST).verdict == WEIR_ALLOWED)
        ;
    before = twin_decide(t, burst, FIRST);
    assert_int_equal(before.verdict, WEIR_DENIED);
    assert_true(before.wait != WEIR_FOREVER && before.wait > 0);
    assert_int_equal(twin_decide(t, burst, FIRST + before.wait).verdict, WEIR_ALLOWED);
}

static void k07_impossible_requests_are_told_so(void **state)
{
    (void)state;
    twin_for_all(impossible_requests, "k07", FIRST);
}

/* ---- K08 ---------------------------------------------------------------------------------- */

static void zero_tokens(struct twin *t, struct test_random *random)
{
    struct twin_reservation r;
    struct weir_stats stats = {.size = sizeof stats};
    weir_ns now = FIRST;

    /* On a key never used: allowed, and it stays never used. */
    assert_int_equal(twin_decide(t, 0, now).verdict, WEIR_ALLOWED);
    assert_int_equal(twin_reserve(t, 0, now, 0, &r).verdict, WEIR_ALLOWED);
    assert_int_equal(twin_cancel(t, &r, now), 0);
    assert_int_equal(t->subject.cell.word, 0);
    if (t->subject.kind == SUBJECT_ENGINE) {
        assert_int_equal(twin_take(t, 0, now), 0);
        assert_int_equal(twin_charge(t, 0, now), 0);
        assert_int_equal(twin_refund(t, 0, now), 0);
        assert_int_equal(twin_refund(t, 5, now), 0);
        assert_int_equal(weir_stats(t->subject.engine, &stats), 0);
        assert_int_equal(stats.keys, 0);
    }
    if (t->line.form.burst == 0 || t->line.form.unlimited)
        return;
    for (int i = 0; i < 20; i++) {
        struct weir_result before, after, got;
        struct weir_cell cell;

        if (i % 3 == 0)
            (void)twin_reserve(t, 1 + random_below(random, t->line.form.burst), now,
                               3 * twin_token_ns(&t->policy), &r);
        before = twin_peek(t, 0, now);
        cell = t->subject.cell;
        got = twin_decide(t, 0, now);
        assert_int_equal(got.verdict, before.wait == 0 ? WEIR_ALLOWED : WEIR_DENIED);
        assert_int_equal(got.wait, before.wait);
        if (before.wait > 0 && before.wait != WEIR_FOREVER) { /* in debt: when it is paid */
            assert_int_equal(twin_reserve(t, 0, now, before.wait, &r).verdict, WEIR_ALLOWED);
            assert_int_equal(r.reservation.n, 0);
            assert_int_equal(twin_reserve(t, 0, now, before.wait - 1, &r).verdict, WEIR_DENIED);
        }
        after = twin_peek(t, 0, now);
        assert_int_equal(after.remaining, before.remaining);
        assert_int_equal(after.reset, before.reset);
        assert_int_equal(t->subject.cell.word, cell.word);
        now += random_below(random, twin_token_ns(&t->policy));
    }
}

static void k08_zero_tokens_change_nothing(void **state)
{
    (void)state;
    twin_for_all(zero_tokens, "k08", FIRST);
}

/* What was taken counts with its weight. */
static void k08_costs_add_up(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_HOUR, 10);

    (void)state;
    for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
        uint64_t ones = 0;
        struct twin t;

        twin_open(&t, (enum subject_kind)k, &policy, FIRST);
        assert_int_equal(twin_decide(&t, 8, FIRST).verdict, WEIR_ALLOWED);
        for (int i = 0; i < 8; i++)
            ones += twin_decide(&t, 1, FIRST).verdict == WEIR_ALLOWED;
        assert_int_equal(ones, 2);
        twin_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k04_cells_equal_the_model_at_the_ends),
        cmocka_unit_test(k04_after_its_end_a_cells_time_stands_still),
        cmocka_unit_test(k04_answers_stay_in_range_whatever_is_asked),
        cmocka_unit_test(k04_debt_saturates),
        cmocka_unit_test(k04_four_months_of_debt_always_fit),
        cmocka_unit_test(k04_known_cases),
        cmocka_unit_test(k06_rate_0_admits_the_burst_once),
        cmocka_unit_test(k06_unlimited_admits_all_and_records_nothing),
        cmocka_unit_test(k06_unlimited_ignores_the_rest),
        cmocka_unit_test(k07_impossible_requests_are_told_so),
        cmocka_unit_test(k08_zero_tokens_change_nothing),
        cmocka_unit_test(k08_costs_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
