/* SPDX-License-Identifier: MIT */
/*
 * K01, K02, K03, K19: time in the state. A stale `now` mints nothing, accrual does not depend on
 * polling, idle time is capped, and the origin of the clock does not matter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <stdlib.h>
#include <string.h>

#define FIRST (100 * WEIR_DAY)

/* What accrues by the exact line in `span`, in whole tokens rounded down, and one unit more. */
static model_int accrued(const struct twin *t, weir_ns from, weir_ns to, bool unit_more)
{
    const struct model_form *f = &t->line.form;
    model_int grains = (model_int)(to / f->tick) - (model_int)(from / f->tick);
    model_int amount = grains * (model_int)f->a;

    if (unit_more && !f->exact)
        amount += model_floor_div((model_int)f->c, f->token) + 1;
    return model_floor_div(amount, (model_int)f->c);
}

/* ---- K01 ---------------------------------------------------------------------------------- */

/* Granted less given back, over random calls through every mutator with a clock that steps back. */
static void stale_calls_through_every_mutator(struct twin *t, struct test_random *random)
{
    weir_ns latest = FIRST, token = twin_token_ns(&t->policy);
    struct twin_reservation r = {0};
    model_int net = 0;

    if (t->line.form.unlimited)
        return;
    for (int i = 0; i < 400; i++) {
        weir_ns back = random_below(random, 3) == 0 ? 0 : random_below(random, TWIN_STALE_MAX);
        weir_ns now = latest - back < FIRST ? FIRST : latest - back;
        uint64_t n = 1 + random_below(random, t->line.form.burst / 3 + 1);
        struct weir_result result;

        switch (random_below(random, t->subject.kind == SUBJECT_CELL ? 4 : 7)) {
        case 0:
        case 1:
            result = twin_decide(t, n, now);
            net += result.verdict == WEIR_ALLOWED ? (model_int)n : 0;
            break;
        case 2:
            result = twin_reserve(t, n, now, random_below(random, 2) == 0 ? 0 : token, &r);
            net += result.verdict == WEIR_ALLOWED ? (model_int)n : 0;
            break;
        case 3:
            net -= (model_int)twin_cancel(t, &r, now);
            break;
        case 4:
            net += (model_int)twin_take(t, n, now);
            break;
        case 5:
            net -= (model_int)twin_refund(t, 1, now);
            break;
        default:
            if (twin_can_owe(t, now, 2))
                net += (model_int)twin_charge(t, n % 3, now);
            break;
        }
        (void)twin_peek(t, n, now);
        /* Whatever is neither in debt nor spent had to be there or to accrue by the latest now. */
        if (twin_peek(t, 0, latest).verdict == WEIR_ALLOWED)
            assert_true(net + (model_int)twin_tokens(t, latest) <=
                        (model_int)t->line.form.burst + accrued(t, FIRST, latest, true));
        if (random_below(random, 4) == 0)
            latest += random_below(random, 2 * (token < WEIR_DAY ? token : WEIR_DAY));
    }
}

static void k01_backward_time_mints_nothing(void **state)
{
    (void)state;
    twin_for_all(stale_calls_through_every_mutator, "k01", FIRST);
}

/* S1: what was admitted also fits the exact bucket when each `now` is the latest so far. */
static void admitted_fit_the_running_maximum(struct twin *t, struct test_random *random)
{
    const struct model_form *f = &t->line.form;
    weir_ns latest = FIRST, written = FIRST, token = twin_token_ns(&t->policy);
    struct model_key ideal = {0};

    if (f->unlimited)
        return;
    for (int i = 0; i < 400; i++) {
        weir_ns back = random_below(random, 3) == 0 ? 0 : random_below(random, TWIN_STALE_MAX);
        weir_ns now = latest - back < FIRST ? FIRST : latest - back;
        uint64_t n = 1 + random_below(random, f->burst / 3 + 1);
        struct twin_reservation r;
        struct weir_result result =
            twin_reserve(t, n, now, random_below(random, 2) == 0 ? 0 : 2 * token, &r);

        if (result.verdict == WEIR_ALLOWED) {
            weir_ns late = f->exact ? 0 : (weir_ns)(f->grains / f->units + 2);

            written = now > written ? now : written;
            if (f->a != 0) /* it may act when the ideal bucket lets it, or later */
                assert_true(written + exact_wait(&t->line, &ideal, n, written) <=
                            (now + result.wait > written ? now + result.wait : written) + late);
            exact_add(&t->line, &ideal, (model_int)n, written);
        }
        if (random_below(random, 4) == 0)
            latest += random_below(random, 2 * (token < WEIR_DAY ? token : WEIR_DAY));
    }
}

static void k01_admitted_fit_the_running_maximum(void **state)
{
    (void)state;
    twin_for_all(admitted_fit_the_running_maximum, "k01 running maximum", FIRST);
}

/* Two clocks a second apart, in turn, through grants, refunds and cancels. */
static void k01_alternating_clocks_gain_nothing(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);

    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        uint64_t granted = 0, given = 0;
        struct twin_reservation r;
        struct twin t;

        twin_open(&t, (enum subject_kind)kind, &policy, FIRST);
        for (int i = 0; i < 1000; i++) {
            weir_ns now = FIRST + (i % 2 == 0 ? WEIR_SECOND : 0);

            granted += twin_decide(&t, 1, now).verdict == WEIR_ALLOWED;
            granted += twin_reserve(&t, 1, now, 0, &r).verdict == WEIR_ALLOWED;
            given += twin_cancel(&t, &r, now);
            (void)twin_decide(&t, 0, now);
            if (kind == SUBJECT_ENGINE && i % 10 == 0)
                given += twin_refund(&t, 1, now);
        }
        assert_true(granted - given <= 10);
        assert_true(granted >= 10);
        twin_close(&t);
    }
}

/* ---- K02 ---------------------------------------------------------------------------------- */

/* Everything that accrues is taken in many small polls, and adds up to what one poll would take. */
static void polls_do_not_change_what_accrues(struct twin *t, struct test_random *random)
{
    const struct model_form *f = &t->line.form;
    weir_ns token = twin_token_ns(&t->policy), now = FIRST;
    weir_ns step = token < 7 * WEIR_DAY ? token : 7 * WEIR_DAY;
    model_int taken = -(model_int)f->burst;

    if (f->unlimited || f->a == 0 || f->burst < 2)
        return;
    assert_int_equal(twin_decide(t, f->burst, now).verdict, WEIR_ALLOWED);
    taken += (model_int)f->burst;
    for (int i = 0; i < 1000; i++) {
        now += random_below(random, step + 1);
        (void)twin_decide(t, 0, now);
        (void)twin_decide(t, f->burst, now);
        (void)twin_peek(t, 1, now);
        while (twin_decide(t, 1, now).verdict == WEIR_ALLOWED)
            taken++;
    }
    /* A polled bucket of two or more never fills: within one unit nothing may be lost. */
    if (t->policy.tick == 0 || (model_int)f->burst > (model_int)(f->a / f->c) + 1) {
        assert_true(taken <= accrued(t, FIRST, now, true));
        assert_true(taken + (f->exact ? 0 : 1) >= accrued(t, FIRST, now, false));
    }
}

static void k02_accrual_does_not_depend_on_polling(void **state)
{
    (void)state;
    twin_for_all(polls_do_not_change_what_accrues, "k02", FIRST);
}

/* Calls that pass when one is made every `step`, once the burst is spent. */
static uint64_t passed_at(enum subject_kind kind, const struct weir_policy *policy, weir_ns step,
                          uint64_t calls)
{
    uint64_t count = 0;
    struct twin t;

    twin_open(&t, kind, policy, FIRST);
    assert_int_equal(twin_decide(&t, policy->burst, FIRST).verdict, WEIR_ALLOWED);
    for (uint64_t i = 1; i <= calls; i++)
        count += twin_decide(&t, 1, FIRST + i * step).verdict == WEIR_ALLOWED;
    twin_close(&t);
    return count;
}

/* Polling just off the interval loses nothing. */
static void k02_remainders_are_kept(void **state)
{
    const struct weir_policy lump = weir_token_bucket(1200, WEIR_MINUTE, 1200);
    const struct weir_policy tenth = weir_token_bucket(1, 100 * WEIR_MILLISECOND, 5);
    const struct weir_policy second = weir_token_bucket(1, WEIR_SECOND, 5);
    const struct weir_policy thousand = weir_token_bucket(1000, WEIR_SECOND, 50);
    const struct weir_policy thirteenth = weir_token_bucket(10, 13 * WEIR_SECOND, 1);

    (void)state;
    for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
        enum subject_kind kind = (enum subject_kind)k;

        assert_int_equal(passed_at(kind, &lump, 50 * WEIR_SECOND, 2), 2);
        assert_int_equal(passed_at(kind, &tenth, 60 * WEIR_MILLISECOND, 1000), 600);
        assert_int_equal(passed_at(kind, &tenth, 190 * WEIR_MILLISECOND, 1000), 1000);
        assert_int_equal(passed_at(kind, &second, WEIR_SECOND - 1, 1000), 999);
        assert_int_equal(passed_at(kind, &second, WEIR_SECOND, 1000), 1000);
        assert_int_equal(passed_at(kind, &thousand, WEIR_MILLISECOND / 2, 20000), 10000);
        /* 1.3 s a token, asked at exactly that instant */
        assert_int_equal(passed_at(kind, &thirteenth, 1300 * WEIR_MILLISECOND, 1000), 1000);
        assert_int_equal(passed_at(kind, &thirteenth, 1300 * WEIR_MILLISECOND - 1, 13), 6);
    }
}

/* Refill buckets: the remainder of a lump is carried; tokens come at multiples of the tick. */
static void k02_lumps_come_at_ticks_and_carry_the_rest(void **state)
{
    struct weir_policy policy = weir_refill_bucket(5, WEIR_SECOND, 300 * WEIR_MILLISECOND);

    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        /* From FIRST, a multiple of 300 ms: 1.5 tokens a tick, 1 3 4 6 ... whole ones. */
        static const uint64_t whole[] = {0, 1, 3, 4, 5};
        const weir_ns tick = policy.tick;
        struct twin t;

        assert_int_equal(FIRST % tick, 0);
        twin_open(&t, (enum subject_kind)kind, &policy, FIRST);
        assert_int_equal(twin_decide(&t, 5, FIRST + 7).verdict, WEIR_ALLOWED);
        for (uint64_t i = 1; i < 5; i++) {
            assert_int_equal(twin_tokens(&t, FIRST + i * tick - 1), whole[i - 1]);
            assert_int_equal(twin_tokens(&t, FIRST + i * tick), whole[i]);
        }
        assert_int_equal(twin_peek(&t, 2, FIRST + 10).wait, 2 * tick - 10);
        twin_close(&t);
    }
}

/* ---- K03 ---------------------------------------------------------------------------------- */

static void idle_time_is_capped(struct twin *t, struct test_random *random)
{
    weir_ns now = FIRST;

    if (t->line.form.unlimited ||
        (double)twin_token_ns(&t->policy) * (double)t->line.form.burst > 1500.0 * (double)WEIR_DAY)
        return; /* takes longer to fill */
    for (int i = 0; i < 4; i++) {
        uint64_t left = t->line.form.burst, n;

        now += 1500 * WEIR_DAY + random_magnitude(random, 56); /* 30 years in all */
        if (t->line.form.a == 0 && i > 0)
            left = 0;
        /* The full bucket is touched first: that must not save up what it could not hold. */
        (void)twin_decide(t, 0, now - WEIR_DAY);
        (void)twin_peek(t, 1, now - WEIR_DAY);
        while (left > 0) {
            n = 1 + random_below(random, left);
            assert_int_equal(twin_decide(t, n, now).verdict, WEIR_ALLOWED);
            left -= n;
        }
        for (n = 1; n <= t->line.form.burst && n < 5; n++)
            assert_int_equal(twin_decide(t, n, now).verdict, WEIR_DENIED);
    }
}

static void k03_idle_time_is_capped(void **state)
{
    (void)state;
    twin_for_all(idle_time_is_capped, "k03", FIRST);
}

/* A long gap, a request above the cap, a full bucket that is drained twice at one instant. */
static void k03_known_cases(void **state)
{
    const struct weir_policy one = weir_token_bucket(1, WEIR_SECOND, 1);
    const struct weir_policy ten = weir_refill_bucket(100, WEIR_SECOND, 100 * WEIR_MILLISECOND);
    struct weir_policy capped = ten;

    (void)state;
    capped.burst = 10;
    for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
        enum subject_kind kind = (enum subject_kind)k;
        struct twin t;

        twin_open(&t, kind, &one, FIRST);
        assert_int_equal(twin_decide(&t, 1, FIRST).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_decide(&t, 1, FIRST + 30 * WEIR_SECOND).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_decide(&t, 1, FIRST + 30 * WEIR_SECOND).verdict, WEIR_DENIED);
        twin_close(&t);
        twin_open(&t, kind, &capped, FIRST);
        assert_int_equal(twin_decide(&t, 500, FIRST + 10 * WEIR_SECOND).verdict, WEIR_NEVER);
        assert_int_equal(twin_decide(&t, 10, FIRST + 60 * WEIR_SECOND).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_decide(&t, 10, FIRST + 60 * WEIR_SECOND).verdict, WEIR_DENIED);
        assert_int_equal(twin_tokens(&t, FIRST + 60 * WEIR_SECOND), 0);
        twin_close(&t);
    }
}

/* ---- K19 ---------------------------------------------------------------------------------- */

#define SHIFT_CALLS 64

struct tape {
    struct weir_result results[2 * SHIFT_CALLS];
    uint64_t counts[SHIFT_CALLS];
};

/* The same calls from `first` on; `seed` chooses them. */
static void record(struct tape *tape, enum subject_kind kind, const struct weir_policy *policy,
                   weir_ns first, uint64_t seed)
{
    struct test_random random = {seed};
    weir_ns token = twin_token_ns(policy), at = 0, step = token < WEIR_HOUR ? token : WEIR_HOUR;
    struct twin_reservation r = {0};
    struct twin t;

    memset(tape, 0, sizeof *tape);
    twin_open(&t, kind, policy, first);
    for (size_t i = 0; i < SHIFT_CALLS; i++) {
        uint64_t n = random_below(&random, t.line.form.burst + 2);
        weir_ns back = random_below(&random, 4) == 0 ? random_below(&random, at + 1) : 0;
        weir_ns now = first + at - (back < WEIR_MINUTE ? back : 0);

        if (random_below(&random, 2) == 0)
            tape->results[2 * i] = twin_reserve(&t, n, now, 2 * step, &r);
        else
            tape->results[2 * i] = twin_decide(&t, n, now);
        tape->results[2 * i + 1] = twin_peek(&t, 1, now);
        if (random_below(&random, 3) == 0)
            tape->counts[i] = twin_cancel(&t, &r, now);
        at += random_below(&random, 2 * step);
    }
    twin_close(&t);
}

static void assert_same_tape(const struct tape *a, const struct tape *b)
{
    for (size_t i = 0; i < sizeof a->results / sizeof a->results[0]; i++) {
        assert_int_equal(a->results[i].verdict, b->results[i].verdict);
        assert_int_equal(a->results[i].wait, b->results[i].wait);
        assert_int_equal(a->results[i].remaining, b->results[i].remaining);
        assert_int_equal(a->results[i].reset, b->results[i].reset);
    }
    for (size_t i = 0; i < SHIFT_CALLS; i++)
        assert_int_equal(a->counts[i], b->counts[i]);
}

/* A cell's origin moves along; an engine finds its own. */
static void k19_a_shift_of_all_times_changes_nothing(void **state)
{
    const weir_ns longest = 2 * SHIFT_CALLS * WEIR_HOUR, ms32 = ((weir_ns)1 << 32) * 1000000;
    const weir_ns shifts[] = {TWIN_STALE_MAX,
                              TWIN_STALE_MAX + 1,
                              ms32 - 20 * WEIR_SECOND,
                              ms32 + TWIN_STALE_MAX,
                              ((weir_ns)1 << 57) - WEIR_HOUR,
                              ((weir_ns)1 << 58) - WEIR_HOUR,
                              1700000000 * WEIR_SECOND,
                              (weir_ns)1 << 62,
                              MODEL_NOW_MAX - longest};
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        weir_ns grid = settings[i].tick == 0 ? 1 : settings[i].tick;

        for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
            enum subject_kind kind = (enum subject_kind)k;
            static struct tape reference, shifted;

            record(&reference, kind, &settings[i], 5 * 42 * TWIN_STALE_MAX / grid * grid, i);
            for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; s++) {
                record(&shifted, kind, &settings[i], shifts[s] / grid * grid + grid, i);
                assert_same_tape(&reference, &shifted);
            }
        }
    }
}

/* An engine that first sees 0: its origin lies before 0. */
static void k19_an_engine_may_start_at_instant_0(void **state)
{
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        static struct tape reference, shifted;
        weir_ns grid = settings[i].tick == 0 ? 1 : settings[i].tick;

        record(&reference, SUBJECT_ENGINE, &settings[i], 0, i);
        record(&shifted, SUBJECT_ENGINE, &settings[i], WEIR_DAY / grid * grid, i);
        assert_same_tape(&reference, &shifted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k01_backward_time_mints_nothing),
        cmocka_unit_test(k01_admitted_fit_the_running_maximum),
        cmocka_unit_test(k01_alternating_clocks_gain_nothing),
        cmocka_unit_test(k02_accrual_does_not_depend_on_polling),
        cmocka_unit_test(k02_remainders_are_kept),
        cmocka_unit_test(k02_lumps_come_at_ticks_and_carry_the_rest),
        cmocka_unit_test(k03_idle_time_is_capped),
        cmocka_unit_test(k03_known_cases),
        cmocka_unit_test(k19_a_shift_of_all_times_changes_nothing),
        cmocka_unit_test(k19_an_engine_may_start_at_instant_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
