/* SPDX-License-Identifier: MIT */
/*
 * The kinds of faults, for windows and permits: each test states values that a limiter with the
 * fault would not give. `now` is unix time here, from the first of January 2026 on, a Thursday.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "subject.h"
#include "window_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define T0  ((weir_ns)20454 * WEIR_DAY)
#define SEC WEIR_SECOND

typedef unsigned long long ull;

/* ---- subjects ----------------------------------------------------------------------------- */

/* What an engine sees of the world: `now` plus `wall` is unix time; sleeping goes on to the instant
   or is interrupted. */
static struct fake {
    int64_t wall;
    weir_ns now;
    bool interrupts;
    unsigned sleeps;
} fake;

static weir_ns fake_wall(void *context, weir_ns now)
{
    return now + (weir_ns)((const struct fake *)context)->wall;
}

static weir_ns fake_now(void *context)
{
    return ((const struct fake *)context)->now;
}

static int fake_sleep(void *context, weir_ns instant)
{
    struct fake *f = context;

    f->sleeps++;
    if (f->interrupts)
        return 1;
    f->now = f->now < instant ? instant : f->now;
    return 0;
}

static void open_at(struct subject *s, enum subject_kind kind, struct weir_policy policy,
                    weir_ns first)
{
    const struct weir_options options = {.size = sizeof options,
                                         .max_keys = 65536,
                                         .max_limits = 4,
                                         .wall_clock = fake_wall,
                                         .wall_context = &fake,
                                         .clock = fake_now,
                                         .sleep_until = fake_sleep,
                                         .clock_context = &fake};

    fake = (struct fake){.now = first};
    *s = (struct subject){.kind = kind};
    if (kind == SUBJECT_CELL) {
        assert_int_equal(weir_meter_init(&s->meter, &policy, first - 60 * SEC), 0);
        return;
    }
    assert_int_equal(weir_open(&s->engine, &options), 0);
    s->limit = weir_add_limit(s->engine, "limit", &policy);
    assert_true(s->limit >= 0);
    s->key = weir_key_text(s->engine, "key");
    assert_int_equal(subject_decide(s, 0, first).verdict, WEIR_ALLOWED);
}

/* Every test that a cell can take is taken by a cell and by an engine's key. */
static void on_both(struct weir_policy policy, void (*body)(struct subject *s))
{
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        struct subject s;

        open_at(&s, (enum subject_kind)kind, policy, T0);
        body(&s);
        subject_close(&s);
    }
}

static void check_result(int line, struct weir_result got, enum weir_verdict verdict, weir_ns wait,
                         uint64_t remaining, weir_ns reset)
{
    if (got.verdict == verdict && got.wait == wait && got.remaining == remaining &&
        got.reset == reset)
        return;
    fail_msg("line %d: verdict %d wait %llu remaining %llu reset %llu, not %d %llu %llu %llu", line,
             (int)got.verdict, (ull)got.wait, (ull)got.remaining, (ull)got.reset, (int)verdict,
             (ull)wait, (ull)remaining, (ull)reset);
}

#define assert_result(...) check_result(__LINE__, __VA_ARGS__)
#define assert_same(a, b)  check_same(__LINE__, a, b)

static void check_same(int line, struct weir_result a, struct weir_result b)
{
    check_result(line, a, b.verdict, b.wait, b.remaining, b.reset);
}

static struct weir_policy ten_of(enum window_algorithm algorithm)
{
    switch (algorithm) {
    case WINDOW_FIRST_HIT:
        return weir_fixed_window(10, 10 * SEC);
    case WINDOW_ALIGNED:
        return weir_aligned_window(10, 10 * SEC, 0);
    case WINDOW_CALENDAR:
        return weir_calendar_window(10, WEIR_CALENDAR_DAY, NULL);
    case WINDOW_SLIDING:
        return weir_sliding_window(10, 10 * SEC);
    default:
        return weir_concurrency(10);
    }
}

static weir_ns span_of(const struct subject *s)
{
    struct weir_policy policy = s->meter.policy;

    if (s->kind == SUBJECT_ENGINE)
        assert_int_equal(weir_get_limit(s->engine, s->limit, &policy), 0);
    return policy.period == 0 ? WEIR_DAY : policy.period;
}

/* A window of 10 of every form, on both. */
static void on_each_window(void (*body)(struct subject *s))
{
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_SLIDING; i++)
        on_both(ten_of((enum window_algorithm)i), body);
}

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

/* ---- K02, K09 ----------------------------------------------------------------------------- */

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

/* ---- K03 ---------------------------------------------------------------------------------- */

static uint64_t drain(struct subject *s, weir_ns now)
{
    uint64_t granted = 0;

    while (granted < 1000 && subject_decide(s, 1, now).verdict == WEIR_ALLOWED)
        granted++;
    return granted;
}

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

/* ---- K04, K05 ----------------------------------------------------------------------------- */

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

/* ---- K06, K07, K08 ------------------------------------------------------------------------ */

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

/* ---- K11 ---------------------------------------------------------------------------------- */

/* Ten are taken and three reserved beyond; the window where these act has seven left (B070). */
static void reserved_in_the_next(struct subject *s)
{
    weir_ns span = span_of(s), next = T0 + span;

    assert_int_equal(subject_decide(s, 10, T0).verdict, WEIR_ALLOWED);
    assert_result(subject_reserve(s, 3, T0, span - 1, NULL), WEIR_DENIED, span, 0, span);
    assert_result(subject_reserve(s, 3, T0, span, NULL), WEIR_ALLOWED, span, 0, 2 * span);
    assert_result(subject_decide(s, 0, T0 + 1), WEIR_DENIED, span - 1, 0, 2 * span - 1);
    assert_result(subject_decide(s, 7, next - 1), WEIR_DENIED, 1, 0, span + 1);
    assert_result(subject_decide(s, 8, next - 1), WEIR_DENIED, span + 1, 0, span + 1);
    assert_result(subject_decide(s, 8, next), WEIR_DENIED, span, 7, span);
    assert_int_equal(drain(s, next), 7);
}

static void reserved_in_the_next_estimate(struct subject *s)
{
    struct weir_reservation r;

    assert_int_equal(subject_decide(s, 10, T0).verdict, WEIR_ALLOWED);
    assert_result(subject_reserve(s, 3, T0, 13 * SEC, &r), WEIR_ALLOWED, 13 * SEC, 0, 30 * SEC);
    assert_int_equal(r.instant, T0 + 13 * SEC);
    assert_int_equal(subject_decide(s, 1, T0 + 14 * SEC - 1).verdict, WEIR_DENIED);
    assert_result(subject_decide(s, 1, T0 + 14 * SEC), WEIR_ALLOWED, 0, 0, 16 * SEC);
    assert_int_equal(drain(s, T0 + 20 * SEC), 6);
}

static void k11_reservations_are_remembered_by_the_later_window(void **state)
{
    (void)state;
    on_both(weir_fixed_window(10, 10 * SEC), reserved_in_the_next);
    on_both(weir_aligned_window(10, 10 * SEC, 0), reserved_in_the_next);
    on_both(weir_calendar_window(10, WEIR_CALENDAR_DAY, NULL), reserved_in_the_next);
    on_both(weir_sliding_window(10, 10 * SEC), reserved_in_the_next_estimate);
}

/* A refund after the window has ended changes neither window (B071). */
static void k11_refunds_stay_in_their_window(void **state)
{
    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_SLIDING; i++) {
        weir_ns span;
        struct subject s;

        open_at(&s, SUBJECT_ENGINE, ten_of((enum window_algorithm)i), T0);
        span = span_of(&s);
        assert_int_equal(subject_decide(&s, 4, T0).verdict, WEIR_ALLOWED);
        assert_int_equal(weir_refund(s.engine, s.limit, s.key, 1, T0 + span - 1), 1);
        assert_int_equal(weir_refund(s.engine, s.limit, s.key, 3, T0 + span), 0);
        assert_int_equal(weir_refund(s.engine, s.limit, s.key, 3, T0 + 2 * span), 0);
        assert_int_equal(drain(&s, T0 + 2 * span), 10);
        assert_int_equal(weir_refund(s.engine, s.limit, s.key, 30, T0 + 2 * span), 10);
        assert_int_equal(drain(&s, T0 + 2 * span), 10);
        subject_close(&s);
    }
}

/* To the bit, in a cell that had been used. */
static void reserve_and_cancel(struct subject *s)
{
    static const uint64_t counts[] = {1, 6, 10};

    for (weir_ns now = T0; now < T0 + 50 * SEC; now += 3 * SEC)
        for (size_t i = 0; i < 3; i++) {
            struct weir_result before = subject_probe(s, now);
            uint64_t word = s->cell.word;
            struct weir_reservation r;

            if (subject_reserve(s, counts[i], now, WEIR_FOREVER, &r).verdict == WEIR_ALLOWED) {
                assert_int_equal(subject_cancel(s, &r, r.instant), counts[i]);
                assert_int_equal(subject_cancel(s, &r, now), 0);
            }
            assert_true(s->cell.word == word || word == 0);
            assert_same(subject_probe(s, now), before);
            (void)subject_decide(s, 2, now);
        }
}

static void k11_reserve_and_cancel_is_nothing(void **state)
{
    (void)state;
    on_each_window(reserve_and_cancel);
}

/* Both orders of cancelling two that wait for the next window leave it with what it had. */
static void cancel_in_any_order(struct subject *s)
{
    for (int first = 0; first < 2; first++) {
        weir_ns now = T0 + (weir_ns)first * 10 * span_of(s), span = span_of(s);
        struct weir_reservation r[2];

        assert_int_equal(subject_decide(s, 10, now).verdict, WEIR_ALLOWED);
        assert_int_equal(subject_reserve(s, 3, now, span, &r[0]).verdict, WEIR_ALLOWED);
        assert_int_equal(subject_reserve(s, 4, now, span, &r[1]).verdict, WEIR_ALLOWED);
        assert_int_equal(subject_cancel(s, &r[first], now + 1), first == 0 ? 3 : 4);
        assert_int_equal(subject_peek(s, 1, now + span).remaining -
                             (s->kind == SUBJECT_ENGINE ? 0 : (uint64_t)-1),
                         first == 0 ? 6 : 7);
        assert_int_equal(subject_cancel(s, &r[!first], now + span + 1), 0); /* too late */
        assert_int_equal(drain(s, now + span), first == 0 ? 6 : 7);
    }
}

static void k11_cancels_come_in_any_order(void **state)
{
    (void)state;
    on_both(weir_fixed_window(10, 10 * SEC), cancel_in_any_order);
    on_both(weir_aligned_window(10, 10 * SEC, 0), cancel_in_any_order);
    on_both(weir_calendar_window(10, WEIR_CALENDAR_DAY, NULL), cancel_in_any_order);
}

/* A reservation for the next window gives nothing back to one that came later still. */
static void cancel_after_a_later_window(struct subject *s)
{
    weir_ns span = span_of(s);
    struct weir_reservation r, later;

    assert_int_equal(subject_decide(s, 10, T0).verdict, WEIR_ALLOWED);
    assert_int_equal(subject_reserve(s, 9, T0, span, &r).verdict, WEIR_ALLOWED);
    assert_result(subject_reserve(s, 8, T0, 2 * span, &later), WEIR_ALLOWED, 2 * span, 0, 3 * span);
    assert_int_equal(subject_cancel(s, &r, T0), 0);
    assert_int_equal(drain(s, T0 + 2 * span), 2);
}

static void k11_a_cancel_gives_nothing_to_another_window(void **state)
{
    (void)state;
    on_both(weir_fixed_window(10, 10 * SEC), cancel_after_a_later_window);
    on_both(weir_aligned_window(10, 10 * SEC, 0), cancel_after_a_later_window);
    on_both(weir_calendar_window(10, WEIR_CALENDAR_DAY, NULL), cancel_after_a_later_window);
}

/* ---- K12, K13 ----------------------------------------------------------------------------- */

static void k12_who_cannot_wait_leaves_nothing(void **state)
{
    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_SLIDING; i++) {
        weir_ns span, wait;
        struct subject s;

        open_at(&s, SUBJECT_ENGINE, ten_of((enum window_algorithm)i), T0);
        span = span_of(&s);
        wait = i == WINDOW_SLIDING ? span + 3 * SEC : span;
        assert_int_equal(weir_wait(s.engine, s.limit, s.key, 10, T0), 0);
        assert_int_equal(weir_wait(s.engine, s.limit, s.key, 11, WEIR_FOREVER), -E2BIG);
        assert_int_equal(weir_wait(s.engine, s.limit, s.key, 3, T0 + wait - 1), -ETIMEDOUT);
        assert_int_equal(fake.sleeps, 0);
        fake.interrupts = true;
        assert_int_equal(weir_wait(s.engine, s.limit, s.key, 3, WEIR_FOREVER), -EINTR);
        assert_int_equal(fake.now, T0);
        assert_result(subject_peek(&s, 10, T0 + 2 * span), WEIR_ALLOWED, 0, 10, 0);
        fake.interrupts = false;
        assert_int_equal(weir_wait(s.engine, s.limit, s.key, 3, T0 + wait), 0);
        assert_int_equal(fake.now, T0 + wait);
        subject_close(&s);
    }
}

static void k12_who_cannot_have_a_permit_leaves_nothing(void **state)
{
    struct weir_permit held, other;
    uint64_t in_use, limit;
    struct subject s;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_concurrency(3), T0);
    assert_int_equal(weir_acquire_wait(s.engine, s.limit, s.key, 2, T0, &held), 0);
    assert_int_equal(weir_acquire_wait(s.engine, s.limit, s.key, 2, T0, &other), -ETIMEDOUT);
    assert_int_equal(other.n, 0);
    assert_int_equal(weir_acquire_wait(s.engine, s.limit, s.key, 4, WEIR_FOREVER, &other), -E2BIG);
    assert_int_equal(weir_release(s.engine, &other), -EINVAL);
    assert_int_equal(weir_in_use(s.engine, s.limit, s.key, &in_use, &limit), 0);
    assert_int_equal(in_use, 2);
    assert_int_equal(limit, 3);
    assert_int_equal(weir_acquire_wait(s.engine, s.limit, s.key, 1, T0, &other), 0);
    assert_int_equal(weir_release(s.engine, &other), 0);
    assert_int_equal(weir_release(s.engine, &held), 0);
    assert_int_equal(weir_in_use(s.engine, s.limit, s.key, &in_use, NULL), 0);
    assert_int_equal(in_use, 0);
    subject_close(&s);
}

static void k13_permits_are_given_back_once(void **state)
{
    struct weir_permit permit, zero;
    struct subject s, foreign;
    uint64_t in_use;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_concurrency(3), T0);
    open_at(&foreign, SUBJECT_ENGINE, weir_concurrency(3), T0);
    assert_result(weir_acquire(s.engine, s.limit, s.key, 2, &permit), WEIR_ALLOWED, 0, 1,
                  WEIR_FOREVER);
    assert_int_equal(permit.n, 2);
    assert_result(weir_acquire(s.engine, s.limit, s.key, 0, &zero), WEIR_ALLOWED, 0, 1,
                  WEIR_FOREVER);
    assert_int_equal(weir_release(foreign.engine, &permit), -ENOENT);
    assert_int_equal(weir_release(s.engine, &permit), 0);
    assert_int_equal(weir_release(s.engine, &permit), -EALREADY);
    assert_result(subject_peek(&s, 3, T0), WEIR_ALLOWED, 0, 3, 0);
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 4, &permit).verdict, WEIR_NEVER);
    assert_int_equal(permit.n, 0);
    assert_int_equal(weir_release(s.engine, &permit), -EINVAL);
    assert_int_equal(weir_in_use(s.engine, s.limit, s.key, &in_use, NULL), 0);
    assert_int_equal(in_use, 0);
    subject_close(&foreign);
    subject_close(&s);
}

/* In use = acquired - released, at most the limit, at every step; nothing at the end. */
static void k13_the_permit_ledger_balances(void **state)
{
    struct test_random random = random_start("k13", 13);
    struct weir_permit permits[8] = {{0}};
    uint64_t held = 0, in_use;
    struct subject s;

    (void)state;
    open_at(&s, SUBJECT_ENGINE, weir_concurrency(10), T0);
    for (uint64_t i = 0; i < random_scaled(20000); i++) {
        struct weir_permit *p = &permits[random_below(&random, 8)];
        uint64_t n = p->n, ask = 1 + random_below(&random, 5);

        if (n > 0) {
            assert_int_equal(weir_release(s.engine, p), 0);
            held -= n;
        } else {
            enum weir_verdict verdict = weir_acquire(s.engine, s.limit, s.key, ask, p).verdict;

            assert_int_equal(verdict, held + ask <= 10 ? WEIR_ALLOWED : WEIR_DENIED);
            held += verdict == WEIR_ALLOWED ? ask : 0;
        }
        assert_int_equal(weir_in_use(s.engine, s.limit, s.key, &in_use, NULL), 0);
        assert_int_equal(in_use, held);
    }
    for (size_t i = 0; i < 8; i++)
        if (permits[i].n > 0)
            assert_int_equal(weir_release(s.engine, &permits[i]), 0);
    assert_result(subject_peek(&s, 10, T0), WEIR_ALLOWED, 0, 10, 0);
    subject_close(&s);
}

/* ---- K16 ---------------------------------------------------------------------------------- */

static void change(struct subject *s, struct weir_policy policy, weir_ns now)
{
    assert_int_equal(weir_set_limit(s->engine, s->limit, &policy, now), 0);
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
        cmocka_unit_test(k01_stale_clocks_never_mint_in_windows),
        cmocka_unit_test(k01_clocks_that_differ_open_no_window_twice),
        cmocka_unit_test(k01_a_look_ahead_is_no_clock),
        cmocka_unit_test(k01_a_bogus_clock_blinds_nobody),
        cmocka_unit_test(k04_what_cannot_be_told_is_not_granted),
        cmocka_unit_test(k16_a_stale_clock_before_midnight_gets_nothing),
        cmocka_unit_test(k16_a_shorter_period_keeps_what_counts),
        cmocka_unit_test(k01_who_is_behind_is_granted_no_more),
        cmocka_unit_test(k02_polling_does_not_change_windows),
        cmocka_unit_test(k03_idle_time_is_capped_in_windows),
        cmocka_unit_test(k04_what_cannot_be_kept_is_refused),
        cmocka_unit_test(k04_the_largest_windows_are_exact),
        cmocka_unit_test(k05_a_window_lasts_its_period_and_less_than_a_grain),
        cmocka_unit_test(k06_zero_and_unlimited_windows),
        cmocka_unit_test(k06_unlimited_permits_are_counted),
        cmocka_unit_test(k07_the_impossible_is_told_so),
        cmocka_unit_test(k08_costs_add_up_and_nothing_costs_nothing),
        cmocka_unit_test(k09_refusals_and_peeks_take_no_place),
        cmocka_unit_test(k10_hints_are_exact),
        cmocka_unit_test(k11_reservations_are_remembered_by_the_later_window),
        cmocka_unit_test(k11_refunds_stay_in_their_window),
        cmocka_unit_test(k11_reserve_and_cancel_is_nothing),
        cmocka_unit_test(k11_cancels_come_in_any_order),
        cmocka_unit_test(k11_a_cancel_gives_nothing_to_another_window),
        cmocka_unit_test(k12_who_cannot_wait_leaves_nothing),
        cmocka_unit_test(k12_who_cannot_have_a_permit_leaves_nothing),
        cmocka_unit_test(k13_permits_are_given_back_once),
        cmocka_unit_test(k13_the_permit_ledger_balances),
        cmocka_unit_test(k16_a_window_survives_every_change),
        cmocka_unit_test(k16_aligned_windows_can_be_aligned_otherwise),
        cmocka_unit_test(k16_an_estimate_survives_every_change),
        cmocka_unit_test(k16_lowered_permits_admit_nothing_until_enough_came_back),
        cmocka_unit_test(k17_window_bounds),
        cmocka_unit_test(k17_edges_have_one_rule),
        cmocka_unit_test(k17_skipping_windows_is_waiting),
        cmocka_unit_test(k19_the_origin_does_not_matter),
        cmocka_unit_test(k19_near_the_end_of_time),
        cmocka_unit_test(k20_a_wall_clock_set_back_locks_nobody_out),
        cmocka_unit_test(k20_what_was_reserved_ahead_is_believed),
        cmocka_unit_test(k20_steps_of_the_clock_mint_nothing),
        cmocka_unit_test(k22_five_a_day_in_kuala_lumpur),
        cmocka_unit_test(k22_days_of_23_and_25_hours),
        cmocka_unit_test(k22_reservations_over_a_change_of_clocks),
        cmocka_unit_test(k22_calendar_windows_reset_once),
        cmocka_unit_test(k22_months_and_leap_years),
        cmocka_unit_test(k27_no_call_forgets_an_active_window),
        cmocka_unit_test(k34_answers_are_in_range_and_counters_add_up),
        cmocka_unit_test(k35_a_window_is_no_permit),
        cmocka_unit_test(k35_a_balance_that_is_set_is_the_balance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
