/* SPDX-License-Identifier: MIT */
/*
 * K01, K19, K20, K22: windows under clocks that are behind, shifted or set, and the calendar's over
 * the changes of a zone's clocks. `now` is unix time here.
 */
#include "window_subject.h"

/* ---- K01 ---------------------------------------------------------------------------------- */

/* Ten in all from T0 to the end of its window, whoever asks and with what clock. */
static void stale_calls(struct subject *s)
{
    struct test_random random = random_start("k01", 1);
    weir_ns span = span_of(s), back_max = span < 60 * SEC ? span : 60 * SEC;
    uint64_t granted[8] = {0};

    for (uint64_t k = 0; k < 8; k++)
        for (uint64_t i = 0; i < 200; i++) {
            weir_ns now = T0 + k * span + i * (span / 200);

            if (i > 0 && random_below(&random, 2) == 0)
                now -= random_below(&random, back_max);
            if (now >= T0 && subject_decide(s, 1, now).verdict == WEIR_ALLOWED)
                granted[k]++;
        }
    for (uint64_t k = 0; k < 8; k++)
        assert_in_range(granted[k], k == 0 ? 10 : 1, 10);
}

static void stale_clock_by_value(struct subject *s)
{
    assert_result(subject_decide(s, 5, T0 + 20 * SEC), WEIR_ALLOWED, 0, 0, 10 * SEC);
    assert_result(subject_decide(s, 1, T0 + 15 * SEC), WEIR_DENIED, 15 * SEC, 0, 15 * SEC);
    assert_result(subject_decide(s, 0, T0 + 15 * SEC), WEIR_ALLOWED, 0, 0, 15 * SEC);
    assert_result(subject_decide(s, 1, T0 + 30 * SEC - 1), WEIR_DENIED, 1, 0, 1);
    assert_result(subject_decide(s, 1, T0 + 30 * SEC), WEIR_ALLOWED, 0, 4, 10 * SEC);
    /* Four more for who comes with the time of the window before. */
    assert_result(subject_decide(s, 4, T0 + 29 * SEC), WEIR_ALLOWED, 0, 0, 11 * SEC);
    assert_result(subject_decide(s, 1, T0 + 29 * SEC), WEIR_DENIED, 11 * SEC, 0, 11 * SEC);
}

static void k01_stale_clocks_never_mint_in_windows(void **state)
{
    (void)state;
    on_each_window(stale_calls);
    on_both(weir_fixed_window(5, 10 * SEC), stale_clock_by_value);
    on_both(weir_aligned_window(5, 10 * SEC, 0), stale_clock_by_value);
}

/* A sliding window looks no better to who is behind. */
static void sliding_behind(struct subject *s)
{
    assert_int_equal(subject_decide(s, 10, T0 + 5 * SEC).verdict, WEIR_ALLOWED);
    assert_int_equal(subject_decide(s, 5, T0 + 15 * SEC).verdict, WEIR_ALLOWED);
    for (weir_ns now = T0; now < T0 + 10 * SEC; now += SEC)
        assert_int_equal(subject_decide(s, 1, now).verdict, WEIR_DENIED);
    assert_int_equal(subject_decide(s, 1, T0 + 15 * SEC).verdict, WEIR_DENIED);
}

/* A clock that is behind others by several windows is no wall clock that was set back: two threads
   that differ by five windows of a second get the tokens of one window of each. */
static void k01_clocks_that_differ_open_no_window_twice(void **state)
{
    const weir_ns behind[] = {2 * SEC, 5 * SEC, 59 * SEC};

    (void)state;
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        struct subject s;
        unsigned allowed = 0;

        open_at(&s, SUBJECT_ENGINE, weir_aligned_window(10, SEC, 0), T0);
        for (int round = 0; round < 200; round++) {
            allowed += subject_decide(&s, 1, T0 + 60 * SEC).verdict == WEIR_ALLOWED;
            allowed += subject_decide(&s, 1, T0 + 60 * SEC - behind[i]).verdict == WEIR_ALLOWED;
        }
        assert_int_equal(allowed, 10);
        subject_close(&s);
    }
}

/* Looking at another instant is no clock: neither a peek into the future, nor a wait until then,
   nor a change that is dated there, makes the clocks of calls old. */
static void k01_a_look_ahead_is_no_clock(void **state)
{
    (void)state;
    for (int look = 0; look < 3; look++) {
        struct weir_policy policy = weir_token_bucket(1, WEIR_HOUR, 1);
        struct subject s;
        unsigned allowed = 0;
        weir_ns now = T0 + 60 * SEC;

        open_at(&s, SUBJECT_ENGINE, weir_aligned_window(10, SEC, 0), T0);
        int slow = weir_add_limit(s.engine, "slow", &policy);
        weir_key other = weir_key_u64(s.engine, 1);
        assert_true(slow >= 0);
        assert_int_equal(weir_take(s.engine, slow, other, 1, now), 1);
        for (int round = 0; round < 20; round++) {
            const struct weir_request both[] = {{s.limit, other, 1}, {slow, other, 1}};

            allowed += subject_decide(&s, 1, now).verdict == WEIR_ALLOWED;
            policy.burst++;
            if (look == 0)
                assert_int_equal(weir_peek(s.engine, s.limit, other, 1, now + WEIR_HOUR).verdict,
                                 WEIR_ALLOWED);
            else if (look == 1)
                (void)weir_decide_all(s.engine, both, 2, now, WEIR_FOREVER, NULL);
            else
                assert_int_equal(weir_set_limit(s.engine, slow, &policy, now + WEIR_HOUR), 0);
            allowed += subject_decide(&s, 1, now - 5 * SEC).verdict == WEIR_ALLOWED;
        }
        assert_int_equal(allowed, 10);
        subject_close(&s);
    }
}

/* One call at a bogus instant: clocks that differ are told apart again after it. */
static void k01_a_bogus_clock_blinds_nobody(void **state)
{
    struct subject s;
    unsigned allowed = 0;
    weir_ns now = T0 + 60 * SEC;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_aligned_window(10, SEC, 0), T0);
    (void)weir_take(s.engine, s.limit, weir_key_u64(s.engine, 1), 1, now + WEIR_DAY);
    for (int round = 0; round < 20; round++) {
        allowed += subject_decide(&s, 1, now).verdict == WEIR_ALLOWED;
        allowed += subject_decide(&s, 1, now - 5 * SEC).verdict == WEIR_ALLOWED;
    }
    assert_int_equal(allowed, 10);
    subject_close(&s);
}

static void k01_who_is_behind_is_granted_no_more(void **state)
{
    (void)state;
    on_both(weir_sliding_window(10, 10 * SEC), sliding_behind);
}

/* ---- K19 ---------------------------------------------------------------------------------- */

/* The same calls from two instants on. */
static void same_from(struct weir_policy policy, enum subject_kind kind, weir_ns here,
                      weir_ns there, uint64_t seed)
{
    struct test_random random = {seed};
    struct weir_reservation r[2];
    struct subject a, b;
    weir_ns at = 0;

    open_at(&a, kind, policy, here);
    open_at(&b, kind, policy, there);
    for (int i = 0; i < 300; i++) {
        uint64_t n = random_below(&random, 6);
        weir_ns max_wait = random_below(&random, 25 * SEC);

        if (random_below(&random, 3) == 0)
            at += random_below(&random, random_below(&random, 9) == 0 ? 30 * SEC : 2 * SEC);
        assert_same(subject_reserve(&a, n, here + at, max_wait, &r[0]),
                    subject_reserve(&b, n, there + at, max_wait, &r[1]));
        if (random_below(&random, 4) == 0)
            assert_int_equal(subject_cancel(&a, &r[0], here + at),
                             subject_cancel(&b, &r[1], there + at));
    }
    subject_close(&a);
    subject_close(&b);
}

static void k19_the_origin_does_not_matter(void **state)
{
    static const weir_ns first_hits[] = {60 * SEC,
                                         61 * SEC + 1,
                                         ((weir_ns)1 << 32) * WEIR_MILLISECOND - 20 * SEC,
                                         ((weir_ns)1 << 32) + 60 * SEC - 5,
                                         ((weir_ns)1 << 62) + 12345,
                                         (weir_ns)INT64_MAX - 10000 * SEC};
    static const weir_ns periods[] = {6, 1 << 20, (weir_ns)1 << 27};

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
            for (size_t i = 0; i < sizeof first_hits / sizeof first_hits[0]; i++)
                same_from(weir_fixed_window(10, 10 * SEC), (enum subject_kind)kind, T0,
                          first_hits[i], seed);
            for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++) {
                weir_ns there = periods[i] * 10 * SEC + 3 * SEC;

                same_from(weir_aligned_window(10, 10 * SEC, 0), (enum subject_kind)kind,
                          T0 + 3 * SEC, there, seed);
                same_from(weir_sliding_window(10, 10 * SEC), (enum subject_kind)kind, T0 + 3 * SEC,
                          there, seed);
            }
        }
}

/* Before 2^63 - 1 ns time goes on as ever, and there it stands still. */
static void k19_near_the_end_of_time(void **state)
{
    const weir_ns end = INT64_MAX;
    struct subject s;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_fixed_window(10, 10 * SEC), end - 25 * SEC);
    assert_int_equal(drain(&s, end - 25 * SEC), 10);
    assert_result(subject_decide(&s, 1, end - 16 * SEC), WEIR_DENIED, SEC, 0, SEC);
    assert_int_equal(drain(&s, end - 15 * SEC), 10);
    assert_int_equal(drain(&s, end - 5 * SEC), 10);
    assert_int_equal(drain(&s, end), 0);
    assert_result(subject_decide(&s, 1, UINT64_MAX), WEIR_DENIED, 5 * SEC, 0, 5 * SEC);
    subject_close(&s);
}

/* ---- K20 ---------------------------------------------------------------------------------- */

/* Ten a day; the wall clock is set back while `now` goes on. Returns what can be had in the end. */
static struct weir_result after_a_step(struct weir_policy policy, weir_ns back)
{
    struct weir_result r;
    struct subject s;

    open_at(&s, SUBJECT_ENGINE, policy, T0 + 400 * WEIR_DAY + WEIR_HOUR);
    assert_int_equal(drain(&s, T0 + 400 * WEIR_DAY + WEIR_HOUR), 10);
    fake.wall = -(int64_t)back;
    r = subject_decide(&s, 1, T0 + 400 * WEIR_DAY + WEIR_HOUR + 2 * SEC);
    if (r.verdict == WEIR_ALLOWED)
        assert_int_equal(drain(&s, T0 + 400 * WEIR_DAY + WEIR_HOUR + 2 * SEC), 9);
    subject_close(&s);
    return r;
}

static void k20_a_wall_clock_set_back_locks_nobody_out(void **state)
{
    const struct weir_policy day = weir_calendar_window(10, WEIR_CALENDAR_DAY, NULL);
    const struct weir_policy aligned = weir_aligned_window(10, WEIR_DAY, 0);
    const weir_ns used = WEIR_HOUR + 2 * SEC;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct weir_policy policy = i == 0 ? day : aligned;

        /* The same day, and the day before: what was granted is remembered. */
        assert_result(after_a_step(policy, WEIR_MINUTE), WEIR_DENIED, WEIR_DAY - used + WEIR_MINUTE,
                      0, WEIR_DAY - used + WEIR_MINUTE);
        assert_result(after_a_step(policy, 2 * WEIR_HOUR), WEIR_DENIED,
                      WEIR_DAY - used + 2 * WEIR_HOUR, 0, WEIR_DAY - used + 2 * WEIR_HOUR);
        assert_result(after_a_step(policy, WEIR_DAY + used), WEIR_DENIED, 2 * WEIR_DAY, 0,
                      2 * WEIR_DAY);
        /* Further back it never was. */
        assert_result(after_a_step(policy, WEIR_DAY + used + 1), WEIR_ALLOWED, 0, 9, 1);
        assert_result(after_a_step(policy, 30 * WEIR_DAY), WEIR_ALLOWED, 0, 9, WEIR_DAY - used);
        assert_result(after_a_step(policy, 365 * WEIR_DAY), WEIR_ALLOWED, 0, 9, WEIR_DAY - used);
    }
}

/* What was reserved three days ahead is believed, though the clock is set back by a day; by five
   days more it is not. */
static void k20_what_was_reserved_ahead_is_believed(void **state)
{
    const weir_ns first = T0 + 400 * WEIR_DAY;
    struct subject s;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_calendar_window(10, WEIR_CALENDAR_DAY, NULL), first);
    for (weir_ns day = 0; day < 4; day++)
        assert_result(subject_reserve(&s, 10, first, WEIR_FOREVER, NULL), WEIR_ALLOWED,
                      day * WEIR_DAY, 0, (day + 1) * WEIR_DAY);
    fake.wall = -(int64_t)WEIR_DAY;
    assert_result(subject_decide(&s, 1, first + 2 * SEC), WEIR_DENIED, 5 * WEIR_DAY - 2 * SEC, 0,
                  5 * WEIR_DAY - 2 * SEC);
    fake.wall = -6 * (int64_t)WEIR_DAY;
    assert_result(subject_decide(&s, 1, first + 4 * SEC), WEIR_ALLOWED, 0, 9, WEIR_DAY - 4 * SEC);
    subject_close(&s);
}

/* A step forward is time that passed: ten, and not more; on monotonic time one back mints nothing.
 */
static void steps(struct subject *s)
{
    weir_ns span = span_of(s), far = T0 + 100 * span + span / 2;

    assert_int_equal(drain(s, T0), 10);
    assert_int_equal(drain(s, far), 10);
    if (span == WEIR_DAY)
        return;
    assert_int_equal(drain(s, far - 3 * span / 4), 0);
    assert_int_equal(drain(s, far), 0);
}

static void k20_steps_of_the_clock_mint_nothing(void **state)
{
    (void)state;
    on_each_window(steps);
}

/* ---- K22 ---------------------------------------------------------------------------------- */

static weir_ns utc(weir_ns days, weir_ns hours, weir_ns minutes)
{
    return T0 + days * WEIR_DAY + hours * WEIR_HOUR + minutes * WEIR_MINUTE;
}

/* 17:00 UTC is one o'clock in Kuala Lumpur. */
static void five_a_day(struct subject *s)
{
    weir_ns now = utc(59, 15, 0), midnight = utc(59, 16, 0);

    for (uint64_t left = 5; left-- > 0;) {
        struct weir_result r = subject_decide(s, 1, now);

        assert_result(r, WEIR_ALLOWED, 0, left, midnight - now);
        assert_int_equal(weir_quota(r), left == 0 ? WEIR_QUOTA_REACHED : WEIR_QUOTA_ALLOWED);
        now += WEIR_MINUTE;
    }
    assert_result(subject_decide(s, 1, now), WEIR_DENIED, midnight - now, 0, midnight - now);
    assert_int_equal(weir_quota(subject_decide(s, 1, midnight - 1)), WEIR_QUOTA_OVER);
    assert_result(subject_decide(s, 1, midnight), WEIR_ALLOWED, 0, 4, WEIR_DAY);
    assert_result(subject_decide(s, 4, midnight + WEIR_DAY - 1), WEIR_ALLOWED, 0, 0, 1);
    assert_result(subject_decide(s, 1, midnight + WEIR_DAY), WEIR_ALLOWED, 0, 4, WEIR_DAY);
}

static void k22_five_a_day_in_kuala_lumpur(void **state)
{
    struct weir_policy policy;

    (void)state;
    on_both(weir_calendar_window(5, WEIR_CALENDAR_DAY, "Asia/Kuala_Lumpur"), five_a_day);
    on_both(weir_aligned_window(5, WEIR_DAY, 28800), five_a_day);
    assert_int_equal(weir_policy_parse(&policy, "5/day zone Asia/Kuala_Lumpur", NULL), 0);
    on_both(policy, five_a_day);
}

/* 8 March 2026 has 23 hours in New York, 1 November 25. */
static void days_of_23_and_25_hours(struct subject *s)
{
    weir_ns spring = utc(66, 5, 0), autumn = utc(304, 4, 0);

    assert_result(subject_decide(s, 5, spring - 1), WEIR_ALLOWED, 0, 0, 1);
    assert_result(subject_decide(s, 5, spring), WEIR_ALLOWED, 0, 0, 23 * WEIR_HOUR);
    assert_result(subject_decide(s, 1, utc(66, 6, 59)), WEIR_DENIED, 21 * WEIR_HOUR + WEIR_MINUTE,
                  0, 21 * WEIR_HOUR + WEIR_MINUTE);
    assert_result(subject_decide(s, 1, utc(66, 7, 0)), WEIR_DENIED, 21 * WEIR_HOUR, 0,
                  21 * WEIR_HOUR);
    assert_result(subject_decide(s, 1, spring + 23 * WEIR_HOUR - 1), WEIR_DENIED, 1, 0, 1);
    assert_result(subject_decide(s, 1, spring + 23 * WEIR_HOUR), WEIR_ALLOWED, 0, 4, WEIR_DAY);
    assert_result(subject_decide(s, 5, autumn - 1), WEIR_ALLOWED, 0, 0, 1);
    assert_result(subject_decide(s, 4, autumn), WEIR_ALLOWED, 0, 1, 25 * WEIR_HOUR);
    assert_result(subject_decide(s, 1, utc(304, 6, 0)), WEIR_ALLOWED, 0, 0, 23 * WEIR_HOUR);
    assert_result(subject_decide(s, 1, autumn + 24 * WEIR_HOUR), WEIR_DENIED, WEIR_HOUR, 0,
                  WEIR_HOUR);
    assert_result(subject_decide(s, 1, autumn + 25 * WEIR_HOUR), WEIR_ALLOWED, 0, 4, WEIR_DAY);
}

static void k22_days_of_23_and_25_hours(void **state)
{
    (void)state;
    on_both(weir_calendar_window(5, WEIR_CALENDAR_DAY, "America/New_York"),
            days_of_23_and_25_hours);
}

/* A reservation for the day after a short or a long one. */
static void reserved_over_a_change(struct subject *s)
{
    assert_int_equal(subject_decide(s, 5, utc(66, 5, 0)).verdict, WEIR_ALLOWED);
    assert_result(subject_reserve(s, 2, utc(66, 12, 0), WEIR_DAY, NULL), WEIR_ALLOWED,
                  16 * WEIR_HOUR, 0, 40 * WEIR_HOUR);
    assert_result(subject_decide(s, 3, utc(67, 4, 0)), WEIR_ALLOWED, 0, 0, WEIR_DAY);
}

static void k22_reservations_over_a_change_of_clocks(void **state)
{
    (void)state;
    on_both(weir_calendar_window(5, WEIR_CALENDAR_DAY, "America/New_York"), reserved_over_a_change);
}

/* There was no 30 December 2011 in Apia: the day after the 29th is the 31st, to a reservation too,
   which stays in it. */
static void reserved_over_a_skipped_day(struct subject *s)
{
    const weir_ns begin = 1325152800 * WEIR_SECOND, next = 1325239200 * WEIR_SECOND;

    assert_int_equal(subject_decide(s, 5, begin).verdict, WEIR_ALLOWED);
    assert_result(subject_reserve(s, 5, begin + WEIR_HOUR, WEIR_DAY, NULL), WEIR_ALLOWED,
                  23 * WEIR_HOUR, 0, 47 * WEIR_HOUR);
    assert_result(subject_decide(s, 1, next), WEIR_DENIED, WEIR_DAY, 0, WEIR_DAY);
    assert_result(subject_decide(s, 1, next + WEIR_DAY), WEIR_ALLOWED, 0, 4, WEIR_DAY);
}

static void k22_reservations_over_a_skipped_day(void **state)
{
    (void)state;
    on_both(weir_calendar_window(5, WEIR_CALENDAR_DAY, "Pacific/Apia"),
            reserved_over_a_skipped_day);
}

/* Asked every 15 minutes for two years, one of each window is granted: at its very first moment.
   What is told of its end is the same all the while, and is the next one's beginning. */
static void tile(struct subject *s, uint64_t boundaries)
{
    weir_ns end = 0;
    uint64_t resets = 0;

    for (weir_ns now = T0 + 45 * WEIR_MINUTE; now < T0 + 730 * WEIR_DAY; now += 15 * WEIR_MINUTE) {
        struct weir_result r = subject_decide(s, 1, now);

        if (r.verdict == WEIR_ALLOWED) {
            assert_true(end == 0 || end == now);
            resets += end != 0;
            end = now + r.reset;
        } else {
            assert_int_equal(now + r.wait, end);
        }
        assert_int_equal(now + r.reset, end);
    }
    assert_int_equal(resets, boundaries);
}

static void k22_calendar_windows_reset_once(void **state)
{
    static const struct {
        enum weir_calendar calendar;
        const char *zone;
        uint64_t boundaries;
    } cases[] = {
        {WEIR_CALENDAR_DAY, NULL, 729},
        {WEIR_CALENDAR_DAY, "America/New_York", 730},
        {WEIR_CALENDAR_DAY, "Asia/Kuala_Lumpur", 730},
        {WEIR_CALENDAR_WEEK, "UTC", 104},
        {WEIR_CALENDAR_WEEK, "America/New_York", 104},
        {WEIR_CALENDAR_MONTH, "Asia/Kuala_Lumpur", 24},
        {WEIR_CALENDAR_MONTH, "UTC", 23},
        {WEIR_CALENDAR_MONTH, "America/New_York", 24},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
            struct subject s;

            open_at(&s, (enum subject_kind)kind,
                    weir_calendar_window(1, cases[i].calendar, cases[i].zone), T0);
            tile(&s, cases[i].boundaries);
            subject_close(&s);
        }
}

/* Months end after 28 to 31 days; a leap year's February after 29. */
static void months(struct subject *s)
{
    assert_int_equal(subject_decide(s, 1, utc(0, 0, 0)).reset, 31 * WEIR_DAY);
    assert_int_equal(subject_decide(s, 1, utc(31, 0, 0)).reset, 28 * WEIR_DAY);
    assert_int_equal(subject_decide(s, 1, utc(59, 0, 0)).reset, 31 * WEIR_DAY);
    assert_int_equal(subject_decide(s, 1, utc(90, 12, 0)).reset, 30 * WEIR_DAY - 12 * WEIR_HOUR);
    assert_int_equal(subject_decide(s, 1, utc(761, 0, 0)).reset, 29 * WEIR_DAY);
    assert_int_equal(subject_decide(s, 1, utc(790, 0, 0)).reset, 31 * WEIR_DAY);
}

static void k22_months_and_leap_years(void **state)
{
    (void)state;
    on_both(weir_calendar_window(1, WEIR_CALENDAR_MONTH, NULL), months);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k01_stale_clocks_never_mint_in_windows),
        cmocka_unit_test(k01_clocks_that_differ_open_no_window_twice),
        cmocka_unit_test(k01_a_look_ahead_is_no_clock),
        cmocka_unit_test(k01_a_bogus_clock_blinds_nobody),
        cmocka_unit_test(k01_who_is_behind_is_granted_no_more),
        cmocka_unit_test(k19_the_origin_does_not_matter),
        cmocka_unit_test(k19_near_the_end_of_time),
        cmocka_unit_test(k20_a_wall_clock_set_back_locks_nobody_out),
        cmocka_unit_test(k20_what_was_reserved_ahead_is_believed),
        cmocka_unit_test(k20_steps_of_the_clock_mint_nothing),
        cmocka_unit_test(k22_five_a_day_in_kuala_lumpur),
        cmocka_unit_test(k22_days_of_23_and_25_hours),
        cmocka_unit_test(k22_reservations_over_a_change_of_clocks),
        cmocka_unit_test(k22_reservations_over_a_skipped_day),
        cmocka_unit_test(k22_calendar_windows_reset_once),
        cmocka_unit_test(k22_months_and_leap_years),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
