/* SPDX-License-Identifier: MIT */
/*
 * The kinds of faults, for windows and permits: each test states values that a limiter with the
 * fault would not give. `now` is unix time here, from the first of January 2026 on, a Thursday.
 *
 * Elsewhere: clocks (test_window_clocks.c), refusals (test_window_refusals.c), what is reserved or
 * held (test_window_ledger.c).
 */
#include "window_subject.h"

#include <errno.h>

/* ---- K02 ------------------------------------------------------------------------------------ */

/* The same calls on two keys, one of which is asked in vain a thousand times in between. */
static void k02_polling_does_not_change_windows(void **state)
{
    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_PERMITS; i++)
        for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
            struct subject polled, quiet;

            open_at(&polled, (enum subject_kind)kind, ten_of((enum window_algorithm)i), T0);
            open_at(&quiet, (enum subject_kind)kind, ten_of((enum window_algorithm)i), T0);
            for (weir_ns now = T0; now < T0 + 40 * SEC; now += 1700 * WEIR_MILLISECOND) {
                struct weir_result before = subject_decide(&quiet, 3, now);

                assert_same(subject_decide(&polled, 3, now), before);
                for (weir_ns then = now; then < now + SEC; then += 50 * WEIR_MILLISECOND) {
                    uint64_t word = polled.cell.word;

                    (void)subject_decide(&polled, 11, then);
                    (void)subject_decide(&polled, 0, then);
                    (void)subject_peek(&polled, 1, then);
                    if (subject_peek(&polled, 4, then).verdict == WEIR_DENIED)
                        (void)subject_reserve(&polled, 4, then, 0, NULL);
                    assert_int_equal(polled.cell.word, word);
                }
            }
            subject_close(&polled);
            subject_close(&quiet);
        }
}

/* ---- K03 ------------------------------------------------------------------------------------ */

static void drain_after_idling(struct subject *s)
{
    static const uint64_t spans[] = {2, 3, 5, 10, 100, 1000};
    weir_ns now = T0, span = span_of(s);

    assert_int_equal(drain(s, now), 10);
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        now += spans[i] * span;
        assert_int_equal(drain(s, now), 10);
        assert_int_equal(drain(s, now + 1), 0);
    }
}

static void k03_idle_time_is_capped_in_windows(void **state)
{
    (void)state;
    on_each_window(drain_after_idling);
}

/* ---- K05 ------------------------------------------------------------------------------------ */

/* A window from the first hit on lasts its period and less than a grain more, wherever it begins;
   shorter never. */
static void k05_a_window_lasts_its_period_and_less_than_a_grain(void **state)
{
    static const struct {
        uint64_t limit;
        weir_ns grain;
    } grains[] = {{3, 1}, {63, 16}, {127, 32}, {1000, 256}, {((uint64_t)1 << 24) - 1, 4194304}};
    struct test_random random = random_start("k05", 5);

    (void)state;
    for (size_t i = 0; i < sizeof grains / sizeof grains[0]; i++) {
        weir_ns longest = 0, shortest = WEIR_FOREVER, now = T0;
        struct subject s;

        open_at(&s, SUBJECT_ENGINE, weir_fixed_window(grains[i].limit, WEIR_SECOND), T0);
        for (int j = 0; j < 1000; j++) {
            weir_ns reset = subject_decide(&s, 1, now).reset;

            longest = reset > longest ? reset : longest;
            shortest = reset < shortest ? reset : shortest;
            now += reset + random_below(&random, 100 * grains[i].grain);
        }
        assert_in_range(shortest, WEIR_SECOND, WEIR_SECOND + grains[i].grain / 2);
        assert_in_range(longest, WEIR_SECOND + grains[i].grain / 2 - grains[i].grain % 2,
                        WEIR_SECOND + grains[i].grain - 1);
        subject_close(&s);
    }
}

/* ---- K08 ------------------------------------------------------------------------------------ */

static void costs(struct subject *s)
{
    uint64_t left = 10;

    for (uint64_t n = 0; n < 5; n++) {
        left -= n;
        assert_int_equal(subject_decide(s, n, T0).remaining, left);
    }
    assert_int_equal(subject_decide(s, 1, T0).verdict, WEIR_DENIED);
    assert_int_equal(subject_decide(s, 0, T0).verdict, WEIR_ALLOWED);
}

static void k08_costs_add_up_and_nothing_costs_nothing(void **state)
{
    (void)state;
    on_each_window(costs);
    on_both(weir_concurrency(10), costs);
}

/* ---- K16 ---------------------------------------------------------------------------------- */

static void change(struct subject *s, struct weir_policy policy, weir_ns now)
{
    assert_int_equal(weir_set_limit(s->engine, s->limit, &policy, now), 0);
}

/* A clock that is behind a change, and in the window before: the key stands as it did at the
   change, and nothing of the day after is had. */
static void k16_a_stale_clock_before_midnight_gets_nothing(void **state)
{
    const struct weir_policy five = weir_calendar_window(5, WEIR_CALENDAR_DAY, NULL);
    const struct weir_policy four = weir_calendar_window(4, WEIR_CALENDAR_DAY, NULL);
    weir_ns midnight = 2 * WEIR_DAY;
    struct subject s;
    struct weir_result r;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, five, midnight);
    assert_int_equal(weir_take(s.engine, s.limit, s.key, 5, midnight + 10 * SEC), 5);
    assert_int_equal(weir_set_limit(s.engine, s.limit, &four, midnight + 11 * SEC), 0);
    r = subject_decide(&s, 1, midnight - 19 * SEC);
    assert_int_equal(r.verdict, WEIR_DENIED);
    assert_int_equal(r.wait, WEIR_DAY + 19 * SEC);
    assert_int_equal(subject_decide(&s, 1, midnight + 12 * SEC).verdict, WEIR_DENIED);
    assert_int_equal(subject_decide(&s, 4, midnight + WEIR_DAY).verdict, WEIR_ALLOWED);
    subject_close(&s);
}

/* A sliding window whose period becomes so short that the word counts less: as far as it does. */
static void k16_a_shorter_period_keeps_what_counts(void **state)
{
    const struct weir_policy slow = weir_sliding_window(100000, WEIR_MINUTE);
    const struct weir_policy quick = weir_sliding_window(100, SEC);
    struct subject s;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, slow, T0);
    assert_int_equal(weir_take(s.engine, s.limit, s.key, 100000, T0 + SEC), 100000);
    assert_int_equal(weir_set_limit(s.engine, s.limit, &quick, T0 + 2 * SEC), 0);
    assert_int_equal(weir_set_limit(s.engine, s.limit, &slow, T0 + 2 * SEC), 0);
    assert_int_equal(weir_take(s.engine, s.limit, s.key, 100000, T0 + 2 * SEC), 0);
    subject_close(&s);
}

static void k16_a_window_survives_every_change(void **state)
{
    struct subject s;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_fixed_window(5, 10 * SEC), T0);
    assert_result(subject_decide(&s, 4, T0), WEIR_ALLOWED, 0, 1, 10 * SEC);
    change(&s, weir_fixed_window(5, 10 * SEC), T0 + SEC);
    assert_result(subject_probe(&s, T0 + 2 * SEC), WEIR_ALLOWED, 0, 1, 8 * SEC);
    change(&s, weir_fixed_window(10, 20 * SEC), T0 + 3 * SEC);
    assert_result(subject_probe(&s, T0 + 5 * SEC), WEIR_ALLOWED, 0, 6, 15 * SEC);
    change(&s, weir_fixed_window(3, 20 * SEC), T0 + 6 * SEC);
    assert_result(subject_decide(&s, 1, T0 + 7 * SEC), WEIR_DENIED, 13 * SEC, 0, 13 * SEC);
    assert_result(subject_decide(&s, 0, T0 + 7 * SEC), WEIR_ALLOWED, 0, 0, 13 * SEC);
    change(&s, weir_aligned_window(10, WEIR_MINUTE, 0), T0 + 8 * SEC);
    assert_result(subject_decide(&s, 1, T0 + 9 * SEC), WEIR_ALLOWED, 0, 5, 51 * SEC);
    change(&s, weir_calendar_window(7, WEIR_CALENDAR_DAY, NULL), T0 + 10 * SEC);
    assert_result(subject_decide(&s, 1, T0 + 10 * SEC), WEIR_ALLOWED, 0, 1, WEIR_DAY - 10 * SEC);
    change(&s, weir_fixed_window(8, WEIR_HOUR), T0 + 2 * WEIR_DAY);
    assert_result(subject_decide(&s, 1, T0 + 2 * WEIR_DAY), WEIR_ALLOWED, 0, 7, WEIR_HOUR);
    change(&s, weir_sliding_window(8, WEIR_HOUR), T0 + 2 * WEIR_DAY);
    assert_result(subject_probe(&s, T0 + 2 * WEIR_DAY), WEIR_ALLOWED, 0, 8, 0);
    subject_close(&s);
}

/* Eight of one aligned window are in the one of the new numbering in which that had begun. */
static void k16_aligned_windows_can_be_aligned_otherwise(void **state)
{
    struct subject s;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_aligned_window(10, WEIR_HOUR, 0), T0);
    assert_result(subject_decide(&s, 8, T0 + 10 * SEC), WEIR_ALLOWED, 0, 2, WEIR_HOUR - 10 * SEC);
    change(&s, weir_aligned_window(10, WEIR_HOUR, 1800), T0 + 20 * SEC);
    assert_result(subject_probe(&s, T0 + 20 * SEC), WEIR_ALLOWED, 0, 2, WEIR_HOUR / 2 - 20 * SEC);
    change(&s, weir_aligned_window(10, WEIR_DAY, -3600), T0 + 30 * SEC);
    assert_result(subject_probe(&s, T0 + 30 * SEC), WEIR_ALLOWED, 0, 2, WEIR_HOUR - 30 * SEC);
    change(&s, weir_calendar_window(9, WEIR_CALENDAR_MONTH, "America/New_York"), T0 + 40 * SEC);
    assert_result(subject_probe(&s, T0 + 40 * SEC), WEIR_ALLOWED, 0, 1, 5 * WEIR_HOUR - 40 * SEC);
    subject_close(&s);
}

/* Eight at the start of a window, half of which count in the middle of the next. */
static void k16_an_estimate_survives_every_change(void **state)
{
    struct subject s;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_sliding_window(10, 10 * SEC), T0);
    assert_result(subject_decide(&s, 8, T0), WEIR_ALLOWED, 0, 2, 20 * SEC);
    change(&s, weir_sliding_window(20, 10 * SEC), T0 + SEC);
    assert_result(subject_probe(&s, T0 + 15 * SEC), WEIR_ALLOWED, 0, 16, 5 * SEC);
    change(&s, weir_sliding_window(20, 15 * SEC), T0 + 15 * SEC);
    assert_result(subject_probe(&s, T0 + 15 * SEC), WEIR_ALLOWED, 0, 16, 30 * SEC);
    assert_result(subject_probe(&s, T0 + 30 * SEC), WEIR_ALLOWED, 0, 16, 15 * SEC);
    subject_close(&s);
}

static void k16_lowered_permits_admit_nothing_until_enough_came_back(void **state)
{
    struct weir_permit first, second, third;
    struct subject s;
    uint64_t in_use, limit;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_concurrency(10), T0);
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 4, &first).verdict, WEIR_ALLOWED);
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 4, &second).verdict, WEIR_ALLOWED);
    change(&s, weir_concurrency(5), T0);
    assert_int_equal(weir_in_use(s.engine, s.limit, s.key, &in_use, &limit), 0);
    assert_int_equal(in_use, 8);
    assert_int_equal(limit, 5);
    assert_result(weir_acquire(s.engine, s.limit, s.key, 1, &third), WEIR_DENIED, WEIR_FOREVER, 0,
                  WEIR_FOREVER);
    assert_result(subject_decide(&s, 0, T0), WEIR_DENIED, WEIR_FOREVER, 0, WEIR_FOREVER);
    assert_int_equal(weir_release(s.engine, &first), 0);
    assert_result(weir_acquire(s.engine, s.limit, s.key, 1, &third), WEIR_ALLOWED, 0, 0,
                  WEIR_FOREVER);
    change(&s, weir_fixed_window(5, SEC), T0);
    assert_int_equal(weir_release(s.engine, &second), -ENOENT);
    assert_result(subject_probe(&s, T0), WEIR_ALLOWED, 0, 5, 0);
    subject_close(&s);
}

/* ---- K17 ---------------------------------------------------------------------------------- */

/* A log of grants, in order; those at stale times are not in it. */
struct grant {
    weir_ns at;
    uint64_t n;
};

/* Tokens in [from, to). */
static uint64_t in_span(const struct grant *log, size_t count, weir_ns from, weir_ns to)
{
    uint64_t sum = 0;

    for (size_t i = count; i-- > 0 && log[i].at >= from;)
        sum += log[i].at < to ? log[i].n : 0;
    return sum;
}

static size_t random_log(struct subject *s, struct grant *log, size_t most, uint64_t seed)
{
    struct test_random random = {seed};
    weir_ns now = T0;
    size_t count = 0;

    while (count < most) {
        uint64_t n = 1 + random_below(&random, 4);

        if (subject_decide(s, n, now).verdict == WEIR_ALLOWED)
            log[count++] = (struct grant){now, n};
        if (random_below(&random, 3) != 0)
            now += random_below(&random, random_below(&random, 40) == 0 ? 40 * SEC : 900000000);
        now -= now % 1024; /* whole grains: a window begins with its first hit */
    }
    return count;
}

#define LOG_MAX 3000

static void at_most_ten_a_window(struct subject *s)
{
    static struct grant log[LOG_MAX];
    size_t count = random_log(s, log, LOG_MAX, 17), full = 0;
    weir_ns start = 0;

    for (size_t i = 0; i < count; i++) {
        assert_in_range(in_span(log, i + 1, log[i].at - 10 * SEC + 1, WEIR_FOREVER), 1, 20);
        if (log[i].at < start + 10 * SEC)
            continue;
        start = log[i].at;
        if (weir_get_limit(s->engine, s->limit, &s->meter.policy) == 0 || s->engine == NULL)
            start = s->meter.policy.form == WEIR_FORM_ALIGNED ? start - start % (10 * SEC) : start;
        assert_in_range(in_span(log, count, start, start + 10 * SEC), 1, 10);
        full += in_span(log, count, start, start + 10 * SEC) == 10;
    }
    assert_true(full > 100);
}

/* Of each grant the estimate, from the log: at most ten, and more than can be refused. */
static void estimate_at_most_ten(struct subject *s)
{
    static struct grant log[LOG_MAX];
    size_t count = random_log(s, log, LOG_MAX, 18);

    for (size_t i = 0; i < count; i++) {
        weir_ns e = log[i].at % (10 * SEC), start = log[i].at - e;
        uint64_t current = in_span(log, i + 1, start, WEIR_FOREVER);
        uint64_t previous = in_span(log, i + 1, start - 10 * SEC, start);

        assert_true(previous * (10 * SEC - e) + current * 10 * SEC <= 100 * SEC);
        assert_in_range(in_span(log, i + 1, log[i].at - 10 * SEC + 1, WEIR_FOREVER), 1, 20);
    }
}

static void k17_window_bounds(void **state)
{
    (void)state;
    on_both(weir_fixed_window(10, 10 * SEC), at_most_ten_a_window);
    on_both(weir_aligned_window(10, 10 * SEC, 0), at_most_ten_a_window);
    on_both(weir_sliding_window(10, 10 * SEC), estimate_at_most_ten);
}

/* The edges of a window: still in it a nanosecond before its end, and not at its end. Limit 1, from
   the very first call on. Twice the limit around an edge is what a fixed window gives. */
static void edges(struct subject *s)
{
    weir_ns span = span_of(s);

    assert_result(subject_decide(s, 1, T0), WEIR_ALLOWED, 0, 0, span);
    assert_result(subject_decide(s, 1, T0), WEIR_DENIED, span, 0, span);
    assert_result(subject_decide(s, 1, T0 + span - 1), WEIR_DENIED, 1, 0, 1);
    assert_result(subject_decide(s, 1, T0 + span), WEIR_ALLOWED, 0, 0, span);
    assert_result(subject_decide(s, 1, T0 + 2 * span - 1), WEIR_DENIED, 1, 0, 1);
    assert_int_equal(subject_decide(s, 1, T0 + 3 * span - 1024).verdict, WEIR_ALLOWED);
}

/* A hit counts in full to the end of its window, and then less and less: no edge frees all. */
static void sliding_edges(struct subject *s)
{
    assert_result(subject_decide(s, 1, T0), WEIR_ALLOWED, 0, 0, 20 * SEC);
    assert_result(subject_decide(s, 1, T0 + 10 * SEC - 1), WEIR_DENIED, 10 * SEC + 1, 0,
                  10 * SEC + 1);
    assert_result(subject_decide(s, 1, T0 + 10 * SEC), WEIR_DENIED, 10 * SEC, 0, 10 * SEC);
    assert_result(subject_decide(s, 1, T0 + 20 * SEC - 1), WEIR_DENIED, 1, 0, 1);
    assert_result(subject_decide(s, 1, T0 + 20 * SEC), WEIR_ALLOWED, 0, 0, 20 * SEC);
}

static void k17_edges_have_one_rule(void **state)
{
    (void)state;
    on_both(weir_fixed_window(1, 10 * SEC), edges);
    on_both(weir_aligned_window(1, 10 * SEC, 0), edges);
    on_both(weir_calendar_window(1, WEIR_CALENDAR_DAY, NULL), edges);
    on_both(weir_sliding_window(1, 10 * SEC), sliding_edges);
}

/* Ten hits k windows ago: skipping the windows between is the same as asking in each (B112). */
static void k17_skipping_windows_is_waiting(void **state)
{
    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_SLIDING; i++)
        for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++)
            for (weir_ns k = 2; k < 10000000; k *= 7) {
                struct subject asks, skips;
                weir_ns span, now;

                open_at(&asks, (enum subject_kind)kind, ten_of((enum window_algorithm)i), T0);
                open_at(&skips, (enum subject_kind)kind, ten_of((enum window_algorithm)i), T0);
                span = span_of(&asks);
                now = T0 + (k > 4000 && span == WEIR_DAY ? 4000 : k) * span + span / 3;
                assert_same(subject_decide(&asks, 10, T0), subject_decide(&skips, 10, T0));
                for (weir_ns j = 1; j < k && j < 50; j++)
                    (void)subject_decide(&asks, 0, T0 + j * span);
                assert_same(subject_probe(&asks, now), subject_probe(&skips, now));
                assert_result(subject_probe(&skips, now), WEIR_ALLOWED, 0, 10, 0);
                assert_same(subject_decide(&asks, 4, now), subject_decide(&skips, 4, now));
                subject_close(&asks);
                subject_close(&skips);
            }
}

/* ---- K27 ---------------------------------------------------------------------------------- */

/* Keys come and go, and the table leaves behind who is idle: in calls of this limit and in those of
   another that know no time. Who has used up a window is denied to its end all the same. */
static void k27_no_call_forgets_an_active_window(void **state)
{
    const struct weir_policy permits = weir_concurrency(5);
    struct test_random random = random_start("k27", 27);

    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_SLIDING; i++) {
        struct weir_stats stats = {.size = sizeof stats};
        struct weir_permit permit;
        struct subject s;
        weir_ns step, now = T0;
        int other;

        open_at(&s, SUBJECT_ENGINE, ten_of((enum window_algorithm)i), T0);
        other = weir_add_limit(s.engine, "permits", &permits);
        step = span_of(&s) / 50;
        for (uint64_t k = 0; k < 20000; k++, now += k % 10 == 0 ? step : 0) {
            s.key = weir_key_u64(s.engine, k);
            assert_int_equal(subject_decide(&s, 10, now).verdict, WEIR_ALLOWED);
            assert_int_equal(weir_acquire(s.engine, other, s.key, 1, &permit).verdict,
                             WEIR_ALLOWED);
            assert_int_equal(weir_release(s.engine, &permit), 0);
            assert_int_equal(weir_forget(s.engine, other, weir_key_u64(s.engine, k / 2)), 0);
            for (int j = 0; j < 3; j++) { /* any that came in this window */
                uint64_t oldest = k / 500 * 500;

                s.key = weir_key_u64(s.engine, k - random_below(&random, k - oldest + 1));
                assert_int_equal(subject_peek(&s, 1, now).verdict, WEIR_DENIED);
            }
        }
        assert_int_equal(weir_stats(s.engine, &stats), 0);
        assert_true(stats.growths > 0 && stats.compactions > 0 && stats.dropped > 0);
        assert_int_equal(stats.overflow, 0);
        subject_close(&s);
    }
}

/* ---- K34, K35 ----------------------------------------------------------------------------- */

static void k34_answers_are_in_range_and_counters_add_up(void **state)
{
    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_PERMITS; i++) {
        struct test_random random = random_start("k34", 34);
        struct weir_limit_stats stats = {.size = sizeof stats};
        uint64_t verdicts[4] = {0};
        weir_ns now = T0;
        struct subject s;

        open_at(&s, SUBJECT_ENGINE, ten_of((enum window_algorithm)i), T0);
        for (int j = 0; j < 5000; j++) {
            struct weir_result r = subject_reserve(&s, random_below(&random, 13), now,
                                                   random_below(&random, 3) * 5 * SEC, NULL);

            assert_true(r.remaining <= 10);
            assert_true(subject_probe(&s, now).remaining <= 10);
            verdicts[r.verdict]++;
            if (j % 7 == 0)
                (void)weir_charge(s.engine, s.limit, s.key, random_below(&random, 30), now);
            if (j % 5 == 0)
                (void)weir_refund(s.engine, s.limit, s.key, random_below(&random, 30), now);
            now += random_below(&random, 2 * SEC);
        }
        assert_int_equal(weir_limit_stats(s.engine, s.limit, &stats), 0);
        assert_int_equal(stats.allowed, verdicts[WEIR_ALLOWED] + 1); /* one set the origin */
        assert_int_equal(stats.denied, verdicts[WEIR_DENIED]);
        assert_int_equal(stats.never, verdicts[WEIR_NEVER]);
        assert_true(stats.allowed > 0 && stats.denied > 0 && stats.never > 0);
        subject_close(&s);
    }
}

static void k35_a_window_is_no_permit(void **state)
{
    struct weir_permit permit;
    uint64_t in_use;

    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_PERMITS; i++) {
        struct subject s;
        bool permits = i == WINDOW_PERMITS;

        open_at(&s, SUBJECT_ENGINE, ten_of((enum window_algorithm)i), T0);
        assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 1, &permit).verdict,
                         permits ? WEIR_ALLOWED : WEIR_INVALID);
        assert_int_equal(permit.n, permits ? 1 : 0);
        assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 1, NULL).verdict, WEIR_INVALID);
        assert_int_equal(weir_acquire(NULL, s.limit, s.key, 1, &permit).verdict, WEIR_INVALID);
        assert_int_equal(permit.n, 0);
        assert_int_equal(weir_acquire(s.engine, s.limit + 1, s.key, 1, &permit).verdict,
                         WEIR_INVALID);
        assert_int_equal(weir_acquire_wait(s.engine, s.limit, s.key, 1, T0, &permit),
                         permits ? 0 : -EINVAL);
        assert_int_equal(weir_in_use(s.engine, s.limit, s.key, &in_use, NULL),
                         permits ? 0 : -EINVAL);
        assert_int_equal(weir_in_use(s.engine, s.limit + 1, s.key, &in_use, NULL), -ENOENT);
        assert_int_equal(weir_in_use(NULL, s.limit, s.key, &in_use, NULL), -EINVAL);
        assert_int_equal(weir_release(NULL, &permit), -EINVAL);
        assert_int_equal(weir_release(s.engine, NULL), -EINVAL);
        assert_int_equal(weir_set_balance(s.engine, s.limit + 1, s.key, 1, T0), -ENOENT);
        assert_int_equal(weir_set_balance(NULL, s.limit, s.key, 1, T0), -EINVAL);
        subject_close(&s);
    }
}

/* What somebody else says is left counts from then on, for this window and no longer. */
static void k35_a_balance_that_is_set_is_the_balance(void **state)
{
    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_PERMITS; i++) {
        struct subject s;

        open_at(&s, SUBJECT_ENGINE, ten_of((enum window_algorithm)i), T0);
        for (uint64_t tokens = 0; tokens < 13; tokens++) {
            uint64_t left = tokens < 10 ? tokens : 10;

            assert_int_equal(weir_set_balance(s.engine, s.limit, s.key, tokens, T0 + SEC), 0);
            assert_int_equal(subject_probe(&s, T0 + SEC).remaining, left);
            assert_int_equal(weir_take(s.engine, s.limit, s.key, 20, T0 + SEC), left);
            assert_int_equal(subject_decide(&s, 1, T0 + SEC).verdict, WEIR_DENIED);
        }
        assert_int_equal(weir_set_balance(s.engine, s.limit, s.key, UINT64_MAX, T0 + SEC), 0);
        assert_result(subject_probe(&s, T0 + SEC), WEIR_ALLOWED, 0, 10, 0);
        subject_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k16_a_stale_clock_before_midnight_gets_nothing),
        cmocka_unit_test(k16_a_shorter_period_keeps_what_counts),
        cmocka_unit_test(k02_polling_does_not_change_windows),
        cmocka_unit_test(k03_idle_time_is_capped_in_windows),
        cmocka_unit_test(k05_a_window_lasts_its_period_and_less_than_a_grain),
        cmocka_unit_test(k08_costs_add_up_and_nothing_costs_nothing),
        cmocka_unit_test(k16_a_window_survives_every_change),
        cmocka_unit_test(k16_aligned_windows_can_be_aligned_otherwise),
        cmocka_unit_test(k16_an_estimate_survives_every_change),
        cmocka_unit_test(k16_lowered_permits_admit_nothing_until_enough_came_back),
        cmocka_unit_test(k17_window_bounds),
        cmocka_unit_test(k17_edges_have_one_rule),
        cmocka_unit_test(k17_skipping_windows_is_waiting),
        cmocka_unit_test(k27_no_call_forgets_an_active_window),
        cmocka_unit_test(k34_answers_are_in_range_and_counters_add_up),
        cmocka_unit_test(k35_a_window_is_no_permit),
        cmocka_unit_test(k35_a_balance_that_is_set_is_the_balance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
