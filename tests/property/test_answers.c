/* SPDX-License-Identifier: MIT */
/*
 * K34, K35: answers stay in range and cannot be misread: one verdict, the same for every entry
 * point, INVALID for every bad argument, and quotas that follow from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define FIRST (100 * WEIR_DAY)

/* ---- K34 ---------------------------------------------------------------------------------- */

static void check_range(const struct twin *t, struct weir_result r)
{
    if (!t->line.form.unlimited)
        assert_true(r.remaining <= t->line.form.burst);
    if (r.remaining > 0 && r.remaining < UINT64_MAX)
        assert_true(r.verdict != WEIR_DENIED || r.wait > 0);
    assert_true(r.verdict != WEIR_INVALID);
}

static void ranges(struct twin *t, struct test_random *random)
{
    uint64_t burst = t->line.form.burst;
    struct twin_reservation r = {0};
    weir_ns now = FIRST;

    for (int i = 0; i < 200; i++) {
        uint64_t n = random_below(random, burst < UINT64_MAX - 2 ? burst + 2 : UINT64_MAX);

        check_range(t, twin_decide(t, n, now));
        check_range(t, twin_reserve(t, n, now, 3 * twin_token_ns(&t->policy), &r));
        check_range(t, twin_peek(t, n, now));
        if (t->subject.kind == SUBJECT_ENGINE && i % 5 == 0 && burst > 0) {
            (void)twin_charge(t, 1, now);
            (void)twin_refund(t, random_below(random, burst), now);
        }
        check_range(t, twin_peek(t, 0, now));
        if (random_below(random, 3) == 0)
            (void)twin_cancel(t, &r, now);
        now += random_below(random, 2 * twin_token_ns(&t->policy));
        if (now > (weir_ns)1 << 60)
            return;
    }
}

static void k34_what_remains_is_within_the_burst(void **state)
{
    (void)state;
    twin_for_all(ranges, "k34", FIRST);
}

/* Counters add up to the calls made, are the same per limit, and only grow. */
static void k34_counters_add_up(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 5);
    struct weir_limit_stats of_limit = {.size = sizeof of_limit}, before = {0};
    struct test_random random = random_start("k34 counters", 34);
    struct weir_stats all = {.size = sizeof all};
    uint64_t allowed = 0, denied = 0, never = 0;
    struct subject s;

    (void)state;
    assert_int_equal(subject_open(&s, SUBJECT_ENGINE, &policy, 0), 0);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t n = random_below(&random, 7);
        weir_ns now = FIRST + i * random_below(&random, 200) * WEIR_MILLISECOND;
        enum weir_verdict verdict = i % 2 == 0 ? subject_decide(&s, n, now).verdict
                                               : subject_reserve(&s, n, now, 0, NULL).verdict;

        allowed += verdict == WEIR_ALLOWED;
        denied += verdict == WEIR_DENIED;
        never += verdict == WEIR_NEVER;
        (void)subject_peek(&s, n, now).verdict; /* not counted */
        assert_int_equal(weir_limit_stats(s.engine, s.limit, &of_limit), 0);
        assert_true(of_limit.allowed == allowed && of_limit.denied == denied &&
                    of_limit.never == never);
        assert_true(of_limit.allowed >= before.allowed && of_limit.denied >= before.denied);
        before = of_limit;
    }
    assert_true(allowed > 0 && denied > 0 && never > 0);
    assert_int_equal(weir_stats(s.engine, &all), 0);
    assert_true(all.allowed == allowed && all.denied == denied && all.never == never);
    assert_int_equal(all.overflow, 0);
    assert_int_equal(all.keys, 1);
    assert_int_equal(weir_limit_stats(s.engine, s.limit + 1, &of_limit), -ENOENT);
    assert_int_equal(weir_limit_stats(s.engine, s.limit, NULL), -EINVAL);
    subject_close(&s);
}

/* ---- K35 ---------------------------------------------------------------------------------- */

static void assert_invalid(struct weir_result r)
{
    assert_int_equal(r.verdict, WEIR_INVALID);
    assert_int_equal(r.wait, WEIR_FOREVER);
    assert_int_equal(r.remaining, 0);
    assert_int_equal(weir_quota(r), WEIR_QUOTA_UNKNOWN);
}

static void check_bad_limit(struct weir *w, int limit)
{
    weir_key key = {1, 2};
    struct weir_reservation r;

    memset(&r, 0xff, sizeof r);
    assert_invalid(weir_decide(w, limit, key, 1, FIRST));
    assert_invalid(weir_decide(w, limit, key, 0, FIRST));
    assert_invalid(weir_peek(w, limit, key, 1, FIRST));
    assert_invalid(weir_reserve(w, limit, key, 1, FIRST, WEIR_FOREVER, &r));
    assert_int_equal(r.n, 0);
    assert_int_equal(weir_cancel(w, &r, 0), 0);
    assert_invalid(weir_reserve(w, limit, key, 1, FIRST, WEIR_FOREVER, NULL));
    assert_false(weir_allow(w, limit, key, 1, FIRST));
    assert_false(weir_allow(w, limit, key, 0, FIRST));
    assert_int_equal(weir_take(w, limit, key, 1, FIRST), 0);
    assert_int_equal(weir_charge(w, limit, key, 1, FIRST), 0);
    assert_int_equal(weir_refund(w, limit, key, 1, FIRST), 0);
    assert_int_equal(weir_forget(w, limit, key), w == NULL ? -EINVAL : -ENOENT);
}

static void k35_bad_limits_are_invalid_in_every_entry_point(void **state)
{
    static const int bad[] = {-1, -2, INT_MIN, 1, 2, 3, 4, 255, 256, 65535, 65536, INT_MAX};
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 5);
    struct weir_stats stats = {.size = sizeof stats};
    struct weir_policy back;
    struct subject s;

    (void)state;
    assert_int_equal(subject_open(&s, SUBJECT_ENGINE, &policy, 0), 0);
    assert_int_equal(s.limit, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check_bad_limit(s.engine, bad[i]);
        assert_int_equal(weir_get_limit(s.engine, bad[i], &back), -ENOENT);
        assert_null(weir_limit_name(s.engine, bad[i]));
    }
    check_bad_limit(NULL, 0);
    assert_int_equal(weir_stats(s.engine, &stats), 0);
    assert_int_equal(stats.allowed + stats.denied + stats.never + stats.keys, 0);
    subject_close(&s);
}

static void k35_a_cell_without_its_meter_is_invalid(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 5);
    struct weir_reservation r;
    struct weir_cell cell = {0};
    struct weir_meter meter;

    (void)state;
    assert_int_equal(weir_meter_init(&meter, &policy, 0), 0);
    assert_invalid(weir_cell_decide(NULL, &meter, 1, FIRST));
    assert_invalid(weir_cell_decide(&cell, NULL, 1, FIRST));
    memset(&r, 0xff, sizeof r);
    assert_invalid(weir_cell_reserve(NULL, &meter, 1, FIRST, 0, &r));
    assert_int_equal(r.n, 0);
    assert_invalid(weir_cell_reserve(&cell, NULL, 1, FIRST, 0, NULL));
    assert_int_equal(weir_cell_cancel(&cell, &meter, NULL, FIRST), 0);
    assert_int_equal(weir_cell_reserve(&cell, &meter, 1, FIRST, 0, &r).verdict, WEIR_ALLOWED);
    assert_int_equal(weir_cell_cancel(NULL, &meter, &r, FIRST), 0);
    assert_int_equal(weir_cell_cancel(&cell, NULL, &r, FIRST), 0);
    assert_int_equal(weir_cell_cancel(&cell, &meter, &r, FIRST), 1);
}

/* A word that is true only for what was granted; zero is an error, never a grant. */
static void k35_verdicts_have_fixed_numbers(void **state)
{
    (void)state;
    assert_int_equal(WEIR_INVALID, 0);
    assert_int_equal(WEIR_ALLOWED, 1);
    assert_int_equal(WEIR_DENIED, 2);
    assert_int_equal(WEIR_NEVER, 3);
    assert_int_equal(WEIR_QUOTA_UNKNOWN, 0);
}

/* weir_allow says what weir_decide says. */
static void allow_is_decide(struct twin *t, struct test_random *random)
{
    struct subject *s = &t->subject;
    weir_ns now = FIRST;

    if (s->kind == SUBJECT_CELL)
        return;
    for (int i = 0; i < 100; i++) {
        uint64_t n = random_below(random, t->line.form.burst + 2);
        struct weir_result told = twin_peek(t, n, now);
        bool allowed = weir_allow(s->engine, s->limit, s->key, n, now);

        assert_int_equal(allowed, told.verdict == WEIR_ALLOWED);
        assert_int_equal(
            model_step(&t->line, &t->key, n, now, 0, true, NULL).verdict == WEIR_ALLOWED, allowed);
        if (allowed && n > 0 && !t->line.form.unlimited)
            exact_add(&t->line, &t->exact, (model_int)n, now);
        now += random_below(random, twin_token_ns(&t->policy));
    }
}

static void k35_allow_is_decide(void **state)
{
    (void)state;
    twin_for_all(allow_is_decide, "k35", FIRST);
}

/* What cannot be in time is refused at once, by its own verdict and without a charge. */
static void k35_a_hopeless_deadline_is_told_apart(void **state)
{
    const struct weir_policy policy = weir_token_bucket(1, WEIR_SECOND, 5);

    (void)state;
    for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
        struct twin_reservation r;
        struct twin t;

        twin_open(&t, (enum subject_kind)k, &policy, FIRST);
        assert_int_equal(twin_decide(&t, 5, FIRST).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_reserve(&t, 5, FIRST, WEIR_SECOND, &r).verdict, WEIR_DENIED);
        assert_int_equal(twin_reserve(&t, 6, FIRST, WEIR_SECOND, &r).verdict, WEIR_NEVER);
        assert_int_equal(twin_peek(&t, 5, FIRST).wait, 5 * WEIR_SECOND);
        assert_int_equal(twin_reserve(&t, 1, FIRST, WEIR_SECOND, &r).verdict, WEIR_ALLOWED);
        twin_close(&t);
    }
}

static void k35_quota_follows_from_the_answer(void **state)
{
    const struct weir_policy policy = weir_token_bucket(1, WEIR_SECOND, 2);
    struct weir_result r = {.verdict = WEIR_INVALID, .remaining = 7};

    (void)state;
    assert_int_equal(weir_quota(r), WEIR_QUOTA_UNKNOWN);
    r.verdict = (enum weir_verdict)77;
    assert_int_equal(weir_quota(r), WEIR_QUOTA_UNKNOWN);
    for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
        struct twin t;

        twin_open(&t, (enum subject_kind)k, &policy, FIRST);
        assert_int_equal(weir_quota(twin_decide(&t, 1, FIRST)), WEIR_QUOTA_ALLOWED);
        assert_int_equal(weir_quota(twin_decide(&t, 1, FIRST)), WEIR_QUOTA_REACHED);
        assert_int_equal(weir_quota(twin_decide(&t, 1, FIRST)), WEIR_QUOTA_OVER);
        assert_int_equal(weir_quota(twin_decide(&t, 0, FIRST)), WEIR_QUOTA_REACHED);
        assert_int_equal(weir_quota(twin_decide(&t, 3, FIRST)), WEIR_QUOTA_OVER);
        twin_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k34_what_remains_is_within_the_burst),
        cmocka_unit_test(k34_counters_add_up),
        cmocka_unit_test(k35_bad_limits_are_invalid_in_every_entry_point),
        cmocka_unit_test(k35_a_cell_without_its_meter_is_invalid),
        cmocka_unit_test(k35_verdicts_have_fixed_numbers),
        cmocka_unit_test(k35_allow_is_decide),
        cmocka_unit_test(k35_a_hopeless_deadline_is_told_apart),
        cmocka_unit_test(k35_quota_follows_from_the_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
