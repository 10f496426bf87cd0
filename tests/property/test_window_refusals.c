/* SPDX-License-Identifier: MIT */
/*
 * K04, K06, K07, K09, K10: what windows and permits refuse, what that leaves behind (nothing), and
 * how long it is to wait. `now` is unix time here.
 */
#include "window_subject.h"

#include <errno.h>

/* ---- K04 ------------------------------------------------------------------------------------ */

/* A calendar's windows end with the time that a wait can tell: what is granted has a window of its
   own. */
static void k04_what_cannot_be_told_is_not_granted(void **state)
{
    struct subject s;
    struct weir_reservation r;
    struct weir_result result = {.verdict = WEIR_ALLOWED};
    weir_ns last = 0;
    unsigned granted = 0;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_calendar_window(1, WEIR_CALENDAR_DAY, NULL), T0);
    while (result.verdict == WEIR_ALLOWED && granted < 200000) {
        result = subject_reserve(&s, 1, T0, WEIR_FOREVER, &r);
        if (result.verdict == WEIR_ALLOWED && granted++ > 0)
            assert_true(r.instant > last);
        last = r.instant;
    }
    assert_int_equal(result.verdict, WEIR_DENIED);
    subject_close(&s);
}

static int accepted(struct weir_policy policy)
{
    struct weir_options options = {.size = sizeof options, .max_keys = 64};
    struct weir *w;
    int rc;

    assert_int_equal(weir_open(&w, &options), 0);
    rc = weir_add_limit(w, "limit", &policy);
    weir_close(w);
    return rc;
}

static void k04_what_cannot_be_kept_is_refused(void **state)
{
    const uint64_t most = ((uint64_t)1 << 24) - 1;
    struct weir_policy policy;

    (void)state;
    assert_int_equal(accepted(weir_fixed_window(most, WEIR_MILLISECOND)), 0);
    assert_int_equal(accepted(weir_fixed_window(most, 366 * WEIR_DAY)), 0);
    assert_int_equal(accepted(weir_fixed_window(most + 1, SEC)), -ERANGE);
    assert_int_equal(accepted(weir_fixed_window(1, WEIR_MILLISECOND - 1)), -ERANGE);
    assert_int_equal(accepted(weir_fixed_window(1, 366 * WEIR_DAY + 1)), -ERANGE);
    assert_int_equal(accepted(weir_fixed_window(1, 0)), -EINVAL);
    assert_int_equal(accepted(weir_aligned_window(most, SEC, 86400)), 0);
    assert_int_equal(accepted(weir_aligned_window(1, WEIR_MILLISECOND, -86400)), 0);
    assert_true(accepted(weir_aligned_window(1, SEC, 86401)) < 0);
    assert_true(accepted(weir_aligned_window(1, SEC, -86401)) < 0);
    assert_int_equal(accepted(weir_calendar_window(most, WEIR_CALENDAR_MONTH, "UTC")), 0);
    assert_int_equal(accepted(weir_calendar_window(1, WEIR_CALENDAR_DAY, "No/Where")), -ENOENT);
    policy = weir_calendar_window(1, WEIR_CALENDAR_DAY, NULL);
    policy.calendar = 4;
    assert_int_equal(accepted(policy), -EINVAL);
    assert_int_equal(accepted(weir_sliding_window(131071, SEC)), 0);
    assert_int_equal(accepted(weir_sliding_window(131072, SEC)), -ERANGE);
    assert_int_equal(accepted(weir_sliding_window(1048575, WEIR_MINUTE)), 0);
    assert_int_equal(accepted(weir_sliding_window(1048576, WEIR_MINUTE)), -ERANGE);
    assert_int_equal(accepted(weir_sliding_window(1, WEIR_MILLISECOND - 1)), -ERANGE);
    assert_int_equal(accepted(weir_concurrency((uint64_t)1 << 48)), 0);
    assert_int_equal(accepted(weir_concurrency(((uint64_t)1 << 48) + 1)), -ERANGE);
}

/* The largest counts and the longest windows, to the last token and nanosecond. */
static void the_largest(struct subject *s)
{
    const uint64_t most = ((uint64_t)1 << 24) - 1;
    weir_ns period = 366 * WEIR_DAY, end;
    struct weir_result r = subject_decide(s, most - 1, T0);

    assert_in_range(r.reset, period, period + ((weir_ns)1 << 25) - 1); /* a grain */
    period = r.reset;
    end = T0 + period;
    assert_result(r, WEIR_ALLOWED, 0, 1, period);
    assert_result(subject_decide(s, 2, T0), WEIR_DENIED, period, 1, period);
    assert_result(subject_decide(s, UINT64_MAX, T0), WEIR_NEVER, WEIR_FOREVER, 1, period);
    assert_result(subject_decide(s, 1, T0), WEIR_ALLOWED, 0, 0, period);
    assert_result(subject_decide(s, 1, end - 1), WEIR_DENIED, 1, 0, 1);
    assert_int_equal(subject_decide(s, most, end).verdict, WEIR_ALLOWED);
    assert_int_equal(subject_decide(s, 1, end).verdict, WEIR_DENIED);
}

static void k04_the_largest_windows_are_exact(void **state)
{
    (void)state;
    on_both(weir_fixed_window(((uint64_t)1 << 24) - 1, 366 * WEIR_DAY), the_largest);
}

/* ---- K06, K07 ------------------------------------------------------------------------------- */

static void nothing_at_all(struct subject *s)
{
    assert_result(subject_decide(s, 1, T0), WEIR_NEVER, WEIR_FOREVER, 0, 0);
    assert_result(subject_reserve(s, 1, T0, WEIR_FOREVER, NULL), WEIR_NEVER, WEIR_FOREVER, 0, 0);
    assert_result(subject_decide(s, 0, T0), WEIR_ALLOWED, 0, 0, 0);
    assert_int_equal(s->cell.word, 0);
    if (s->kind == SUBJECT_CELL)
        return;
    assert_int_equal(weir_take(s->engine, s->limit, s->key, 5, T0), 0);
    assert_result(subject_peek(s, 1, T0), WEIR_NEVER, WEIR_FOREVER, 0, 0);
}

static void everything(struct subject *s)
{
    for (uint64_t n = 1; n < 100; n++)
        assert_result(subject_decide(s, n * n, T0), WEIR_ALLOWED, 0, UINT64_MAX, 0);
    assert_result(subject_decide(s, UINT64_MAX, T0), WEIR_ALLOWED, 0, UINT64_MAX, 0);
    assert_int_equal(s->cell.word, 0);
}

static void k06_zero_and_unlimited_windows(void **state)
{
    (void)state;
    on_both(weir_fixed_window(0, SEC), nothing_at_all);
    on_both(weir_aligned_window(0, SEC, 3600), nothing_at_all);
    on_both(weir_calendar_window(0, WEIR_CALENDAR_WEEK, NULL), nothing_at_all);
    on_both(weir_sliding_window(0, SEC), nothing_at_all);
    on_both(weir_concurrency(0), nothing_at_all);
    on_both(weir_fixed_window(WEIR_UNLIMITED, SEC), everything);
    on_both(weir_aligned_window(WEIR_UNLIMITED, SEC, 0), everything);
    on_both(weir_calendar_window(WEIR_UNLIMITED, WEIR_CALENDAR_DAY, NULL), everything);
    on_both(weir_sliding_window(WEIR_UNLIMITED, SEC), everything);
}

static void unlimited_permits(struct subject *s)
{
    assert_result(subject_decide(s, 0, T0), WEIR_ALLOWED, 0, UINT64_MAX, 0);
    assert_result(subject_decide(s, 1000000, T0), WEIR_ALLOWED, 0, UINT64_MAX, WEIR_FOREVER);
    assert_result(subject_decide(s, 0, T0), WEIR_ALLOWED, 0, UINT64_MAX, WEIR_FOREVER);
}

static void k06_unlimited_permits_are_counted(void **state)
{
    (void)state;
    on_both(weir_concurrency(WEIR_UNLIMITED), unlimited_permits);
}

/* All of a window, and one more than can ever be. */
static void the_impossible(struct subject *s)
{
    struct weir_result before, r;

    assert_int_equal(subject_decide(s, 3, T0).verdict, WEIR_ALLOWED);
    before = subject_probe(s, T0);
    r = subject_reserve(s, 11, T0, WEIR_FOREVER, NULL);
    assert_result(r, WEIR_NEVER, WEIR_FOREVER, 7, before.reset);
    assert_same(subject_probe(s, T0), before);
    r = subject_decide(s, 10, T0);
    assert_int_equal(r.verdict, WEIR_DENIED);
    assert_in_range(r.wait, 1, 2 * span_of(s));
    assert_int_equal(subject_decide(s, 10, T0 + r.wait - 1).verdict, WEIR_DENIED);
    assert_int_equal(subject_decide(s, 10, T0 + r.wait).verdict, WEIR_ALLOWED);
}

static void k07_the_impossible_is_told_so(void **state)
{
    (void)state;
    on_each_window(the_impossible);
}

/* ---- K09 ------------------------------------------------------------------------------------ */

static void k09_refusals_and_peeks_take_no_place(void **state)
{
    struct weir_stats stats = {.size = sizeof stats};

    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_PERMITS; i++) {
        struct subject s;

        open_at(&s, SUBJECT_ENGINE, ten_of((enum window_algorithm)i), T0);
        assert_int_equal(subject_decide(&s, 11, T0).verdict, WEIR_NEVER);
        assert_int_equal(subject_decide(&s, 0, T0).verdict, WEIR_ALLOWED);
        assert_result(subject_peek(&s, 10, T0), WEIR_ALLOWED, 0, 10, 0);
        assert_int_equal(weir_take(s.engine, s.limit, s.key, 0, T0), 0);
        assert_int_equal(weir_charge(s.engine, s.limit, s.key, 0, T0), 0);
        assert_int_equal(weir_refund(s.engine, s.limit, s.key, 5, T0), 0);
        assert_int_equal(weir_forget(s.engine, s.limit, s.key), 0);
        assert_int_equal(weir_stats(s.engine, &stats), 0);
        assert_int_equal(stats.keys, 0);
        subject_close(&s);
    }
}

/* ---- K10 ---------------------------------------------------------------------------------- */

/* 25 s of a minute are gone: 35 s are left (B064). */
static void the_rest_of_a_minute(struct subject *s)
{
    weir_ns now = T0 + 25 * SEC;

    assert_result(subject_decide(s, 10, T0), WEIR_ALLOWED, 0, 0, 60 * SEC);
    assert_result(subject_decide(s, 1, now), WEIR_DENIED, 35 * SEC, 0, 35 * SEC);
    assert_result(subject_decide(s, 1, now + 35 * SEC - 1), WEIR_DENIED, 1, 0, 1);
    assert_result(subject_decide(s, 1, now + 35 * SEC), WEIR_ALLOWED, 0, 9, 60 * SEC);
}

/* Ten at 5 s. At 11 s nine of them count, and one token is there; two are at 12 s. */
static void the_rest_of_an_estimate(struct subject *s)
{
    assert_result(subject_decide(s, 10, T0 + 5 * SEC), WEIR_ALLOWED, 0, 0, 15 * SEC);
    assert_result(subject_decide(s, 1, T0 + 5 * SEC), WEIR_DENIED, 6 * SEC, 0, 15 * SEC);
    assert_result(subject_decide(s, 2, T0 + 11 * SEC), WEIR_DENIED, SEC, 1, 9 * SEC);
    assert_result(subject_decide(s, 2, T0 + 12 * SEC - 1), WEIR_DENIED, 1, 1, 8 * SEC + 1);
    assert_result(subject_decide(s, 2, T0 + 12 * SEC), WEIR_ALLOWED, 0, 0, 18 * SEC);
    assert_result(subject_decide(s, 8, T0 + 12 * SEC), WEIR_DENIED, 8 * SEC, 0, 18 * SEC);
    assert_result(subject_decide(s, 8, T0 + 20 * SEC - 1), WEIR_DENIED, 1, 7, 10 * SEC + 1);
    assert_result(subject_decide(s, 8, T0 + 20 * SEC), WEIR_ALLOWED, 0, 0, 20 * SEC);
}

/* Three in a window of 10 s: a third of a nanosecond is rounded up. */
static void a_wait_that_is_no_whole_number(struct subject *s)
{
    assert_int_equal(subject_decide(s, 3, T0).verdict, WEIR_ALLOWED);
    assert_int_equal(subject_decide(s, 1, T0 + 10 * SEC).wait, 3333333334);
    assert_int_equal(subject_decide(s, 1, T0 + 13333333333).verdict, WEIR_DENIED);
    assert_result(subject_decide(s, 1, T0 + 13333333334), WEIR_ALLOWED, 0, 0, 16666666666);
}

static void permits_know_no_time(struct subject *s)
{
    assert_result(subject_decide(s, 9, T0), WEIR_ALLOWED, 0, 1, WEIR_FOREVER);
    assert_result(subject_decide(s, 2, T0), WEIR_DENIED, WEIR_FOREVER, 1, WEIR_FOREVER);
    assert_result(subject_reserve(s, 2, T0, WEIR_FOREVER, NULL), WEIR_DENIED, WEIR_FOREVER, 1,
                  WEIR_FOREVER);
    assert_result(subject_decide(s, 2, T0 + 1000 * WEIR_DAY), WEIR_DENIED, WEIR_FOREVER, 1,
                  WEIR_FOREVER);
}

static void k10_hints_are_exact(void **state)
{
    (void)state;
    on_both(weir_fixed_window(10, WEIR_MINUTE), the_rest_of_a_minute);
    on_both(weir_aligned_window(10, WEIR_MINUTE, 0), the_rest_of_a_minute);
    on_both(weir_sliding_window(10, 10 * SEC), the_rest_of_an_estimate);
    on_both(weir_sliding_window(3, 10 * SEC), a_wait_that_is_no_whole_number);
    on_both(weir_concurrency(10), permits_know_no_time);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k04_what_cannot_be_told_is_not_granted),
        cmocka_unit_test(k04_what_cannot_be_kept_is_refused),
        cmocka_unit_test(k04_the_largest_windows_are_exact),
        cmocka_unit_test(k06_zero_and_unlimited_windows),
        cmocka_unit_test(k06_unlimited_permits_are_counted),
        cmocka_unit_test(k07_the_impossible_is_told_so),
        cmocka_unit_test(k09_refusals_and_peeks_take_no_place),
        cmocka_unit_test(k10_hints_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
