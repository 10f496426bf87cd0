/* SPDX-License-Identifier: MIT */
/*
 * K11, K12, K13: what was reserved in windows comes back when it is cancelled, who cannot wait
 * leaves nothing, and permits in use are those taken and not given back. `now` is unix time here.
 */
#include "window_subject.h"

#include <errno.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k11_reservations_are_remembered_by_the_later_window),
        cmocka_unit_test(k11_refunds_stay_in_their_window),
        cmocka_unit_test(k11_reserve_and_cancel_is_nothing),
        cmocka_unit_test(k11_cancels_come_in_any_order),
        cmocka_unit_test(k11_a_cancel_gives_nothing_to_another_window),
        cmocka_unit_test(k12_who_cannot_wait_leaves_nothing),
        cmocka_unit_test(k12_who_cannot_have_a_permit_leaves_nothing),
        cmocka_unit_test(k13_permits_are_given_back_once),
        cmocka_unit_test(k13_the_permit_ledger_balances),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
