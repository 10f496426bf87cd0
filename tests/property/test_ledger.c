/* SPDX-License-Identifier: MIT */
/*
 * K11: tokens are conserved. Granted - given back + balance = accrued, for any order of reserve,
 * cancel, refund, take and charge; a cancel works once and lets no two act in one slot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <string.h>

#define FIRST (100 * WEIR_DAY)
#define HELD  5

static const enum subject_kind kinds[] = {SUBJECT_CELL, SUBJECT_ENGINE};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* ---- the ledger --------------------------------------------------------------------------- */

/* In units, granted - given back + balance - V stays what it was, as long as no accrual is lost to
   a full bucket. Time goes on only well below full. */
static void ledger(struct twin *t, struct test_random *random)
{
    const struct model_form *f = &t->line.form;
    struct twin_reservation held[HELD] = {0};
    weir_ns now = FIRST, token = twin_token_ns(&t->policy);
    model_int net = 0, start, here;

    if (f->unlimited || f->burst < 4)
        return;
    assert_int_equal(twin_decide(t, f->burst, now).verdict, WEIR_ALLOWED);
    start = -model_v(&t->line, now);
    for (int i = 0; i < 300; i++) {
        struct twin_reservation *r = &held[random_below(random, HELD)];
        uint64_t n = 1 + random_below(random, f->burst < 9 ? f->burst : 9);
        model_int balance;

        switch (random_below(random, t->subject.kind == SUBJECT_CELL ? 3 : 6)) {
        case 0:
            net -= (model_int)twin_cancel(t, r, now);
            break;
        case 1:
            if (twin_reserve(t, n, now, 6 * token, r).verdict == WEIR_ALLOWED)
                net += (model_int)n;
            break;
        case 2:
            net += twin_decide(t, n, now).verdict == WEIR_ALLOWED ? (model_int)n : 0;
            break;
        case 3:
            net += (model_int)twin_take(t, n, now);
            break;
        case 4:
            balance = model_balance(&t->line, &t->key, now);
            if (balance + (model_int)n * f->token < f->capacity)
                net -= (model_int)twin_refund(t, n, now);
            break;
        default:
            if (twin_can_owe(t, now, (model_int)n))
                net += (model_int)twin_charge(t, n, now);
        }
        here = model_balance(&t->line, &t->key, now);
        if (here == f->capacity) { /* full: a part may have counted whole; begin anew from empty */
            model_int lost = start - (net * f->token + here - model_v(&t->line, now));

            assert_true(lost >= 0 && lost < f->token);
            assert_int_equal(twin_decide(t, f->burst, now).verdict, WEIR_ALLOWED);
            net = here = 0;
            start = -model_v(&t->line, now);
        }
        assert_true(net * f->token + here - model_v(&t->line, now) == start);
        if (random_below(random, 3) == 0 && here + f->token < f->capacity / 2)
            now += random_below(random, token / 2 + 1);
    }
}

static void k11_the_ledger_balances(void **state)
{
    (void)state;
    twin_for_all(ledger, "k11", FIRST);
}

/* ---- cancelling --------------------------------------------------------------------------- */

/* Reserve and cancel at once: as if it had never been, but for its being used. */
static void reserve_and_cancel(struct twin *t, struct test_random *random)
{
    weir_ns now = FIRST, token = twin_token_ns(&t->policy);

    if (t->line.form.unlimited || t->line.form.burst == 0)
        return;
    for (int i = 0; i < 50; i++) {
        struct weir_result before = twin_peek(t, 0, now), after;
        uint64_t n = 1 + random_below(random, t->line.form.burst);
        struct twin_reservation r, kept;

        if (twin_reserve(t, n, now, 4 * token, &r).verdict == WEIR_ALLOWED) {
            assert_int_equal(twin_cancel(t, &r, now), n);
            assert_int_equal(twin_cancel(t, &r, now), 0);
        }
        after = twin_peek(t, 0, now);
        assert_int_equal(after.verdict, before.verdict);
        assert_int_equal(after.wait, before.wait);
        assert_int_equal(after.remaining, before.remaining);
        assert_int_equal(after.reset, before.reset);
        (void)twin_reserve(t, 1 + random_below(random, n), now, 2 * token, &kept);
        now += random_below(random, token < WEIR_DAY ? token : WEIR_DAY);
    }
}

static void k11_reserve_and_cancel_is_nothing(void **state)
{
    (void)state;
    twin_for_all(reserve_and_cancel, "k11 cancel", FIRST);
}

/* Up to and including its instant; not a nanosecond later. */
static void k11_a_cancel_counts_up_to_its_instant(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 2);

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        for (weir_ns late = 0; late <= 1; late++) {
            struct twin_reservation r;
            struct twin t;

            twin_open(&t, kinds[k], &policy, FIRST);
            assert_int_equal(twin_decide(&t, 2, FIRST).verdict, WEIR_ALLOWED);
            assert_int_equal(twin_reserve(&t, 2, FIRST, WEIR_FOREVER, &r).wait,
                             200 * WEIR_MILLISECOND);
            assert_int_equal(twin_cancel(&t, &r, r.reservation.instant + late), late ? 0 : 2);
            assert_int_equal(twin_cancel(&t, &r, FIRST), 0);
            twin_close(&t);
        }
    }
}

/* The instants past 2^63-1 count as that, of a reservation and of its cancel alike. */
static void k11_a_cancel_at_the_end_of_time(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 5);

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct twin_reservation r;
        struct twin t;

        twin_open(&t, kinds[k], &policy, MODEL_NOW_MAX - 1);
        assert_int_equal(twin_reserve(&t, 2, MODEL_NOW_MAX, 0, &r).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_cancel(&t, &r, UINT64_MAX), 2);
        assert_int_equal(twin_reserve(&t, 2, UINT64_MAX, 0, &r).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_cancel(&t, &r, MODEL_NOW_MAX), 2);
        twin_close(&t);
    }
}

/* 10/s burst 1, one taken, then HELD of one token each: their slots are 100 ms apart. */
static void queue(struct twin *t, struct twin_reservation *held)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 1);

    twin_open(t, t->subject.kind, &policy, FIRST);
    assert_int_equal(twin_decide(t, 1, FIRST).verdict, WEIR_ALLOWED);
    for (uint64_t i = 0; i < HELD; i++)
        assert_int_equal(twin_reserve(t, 1, FIRST, WEIR_FOREVER, &held[i]).wait,
                         (i + 1) * 100 * WEIR_MILLISECOND);
}

static void swap(int *a, int *b)
{
    int old = *a;

    *a = *b;
    *b = old;
}

/* The next in lexical order; false after the last. */
static bool next_permutation(int *order)
{
    int i = HELD - 2, j = HELD - 1;

    while (i >= 0 && order[i] > order[i + 1])
        i--;
    if (i < 0)
        return false;
    while (order[j] < order[i])
        j--;
    swap(&order[i], &order[j]);
    for (i++, j = HELD - 1; i < j; i++, j--)
        swap(&order[i], &order[j]);
    return true;
}

static void k11_any_order_of_cancelling(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        int order[HELD] = {0, 1, 2, 3, 4};

        do {
            struct twin_reservation held[HELD];
            struct twin t = {.subject = {.kind = kinds[k]}};
            uint64_t given = 0;
            weir_ns wait;

            queue(&t, held);
            for (int i = 0; i < HELD; i++)
                given += twin_cancel(&t, &held[order[i]], FIRST);
            for (int i = 0; i < HELD; i++)
                assert_int_equal(twin_cancel(&t, &held[i], FIRST), 0);
            /* What was not given back is still waited for: the ledger. */
            wait = twin_peek(&t, 1, FIRST).wait;
            assert_int_equal(wait, (HELD + 1 - given) * 100 * WEIR_MILLISECOND);
            assert_true(given >= 1);
            twin_close(&t);
        } while (next_permutation(order));
    }
}

/* Last first: everything comes back. First first: what came after it keeps its slots. */
static void k11_cancelling_from_either_end(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct twin_reservation held[HELD];
        struct twin t = {.subject = {.kind = kinds[k]}};

        queue(&t, held);
        for (int i = HELD - 1; i >= 0; i--)
            assert_int_equal(twin_cancel(&t, &held[i], FIRST), 1);
        assert_int_equal(twin_peek(&t, 1, FIRST).wait, 100 * WEIR_MILLISECOND);
        twin_close(&t);
        queue(&t, held);
        for (int i = 0; i < HELD - 1; i++)
            assert_int_equal(twin_cancel(&t, &held[i], FIRST), 0);
        assert_int_equal(twin_cancel(&t, &held[HELD - 1], FIRST), 1);
        assert_int_equal(twin_peek(&t, 1, FIRST).wait, HELD * 100 * WEIR_MILLISECOND);
        twin_close(&t);
    }
}

/* At 10/s burst 20, 15 taken, 10 and then 2 reserved: cancelling the 10 gives back 8. */
static void k11_what_came_after_stays_reserved(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 20);
    const weir_ns tenth = 100 * WEIR_MILLISECOND;

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct twin_reservation ten, two;
        struct twin t;

        twin_open(&t, kinds[k], &policy, FIRST);
        assert_int_equal(twin_decide(&t, 15, FIRST).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_reserve(&t, 10, FIRST + tenth, WEIR_FOREVER, &ten).wait, 4 * tenth);
        assert_int_equal(twin_reserve(&t, 2, FIRST + 2 * tenth, WEIR_FOREVER, &two).wait,
                         5 * tenth);
        assert_int_equal(twin_cancel(&t, &ten, FIRST + 3 * tenth), 8);
        assert_int_equal(twin_tokens(&t, FIRST + 3 * tenth), 4);
        assert_int_equal(twin_cancel(&t, &two, FIRST + 3 * tenth), 2);
        assert_int_equal(twin_tokens(&t, FIRST + 3 * tenth), 6);
        twin_close(&t);
    }
}

/* A part of a token reserved after it counts as a whole one. */
static void k11_a_part_of_a_token_counts_whole(void **state)
{
    const struct weir_policy policy = weir_token_bucket(1, WEIR_SECOND, 10);

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct twin_reservation r, later;
        struct twin t;

        twin_open(&t, kinds[k], &policy, FIRST);
        /* 9.5 tokens would be there at its instant: it may act at once, with half a token over. */
        assert_int_equal(twin_decide(&t, 10, FIRST).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_reserve(&t, 5, FIRST + 5500 * WEIR_MILLISECOND, 0, &r).wait, 0);
        assert_int_equal(
            twin_reserve(&t, 1, FIRST + 5500 * WEIR_MILLISECOND, WEIR_FOREVER, &later).wait,
            500 * WEIR_MILLISECOND);
        assert_int_equal(twin_cancel(&t, &r, FIRST + 5500 * WEIR_MILLISECOND), 4);
        twin_close(&t);
    }
}

/* ---- the engine's refunds ----------------------------------------------------------------- */

static void k11_a_refund_fills_and_no_more(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);
    struct twin t;

    (void)state;
    twin_open(&t, SUBJECT_ENGINE, &policy, FIRST);
    assert_int_equal(twin_refund(&t, 3, FIRST), 0); /* never used */
    assert_int_equal(twin_decide(&t, 4, FIRST).verdict, WEIR_ALLOWED);
    assert_int_equal(twin_refund(&t, 3, FIRST), 3);
    assert_int_equal(twin_tokens(&t, FIRST), 9);
    /* Half of the missing token has accrued: the rest counts as one. */
    assert_int_equal(twin_refund(&t, 3, FIRST + 50 * WEIR_MILLISECOND), 1);
    assert_int_equal(twin_peek(&t, 0, FIRST + 50 * WEIR_MILLISECOND).reset, 0);
    assert_int_equal(twin_refund(&t, 3, FIRST + 50 * WEIR_MILLISECOND), 0);
    assert_int_equal(twin_charge(&t, 25, FIRST + 50 * WEIR_MILLISECOND), 25); /* 15 owed */
    assert_int_equal(twin_peek(&t, 0, FIRST + 50 * WEIR_MILLISECOND).wait, 1500 * WEIR_MILLISECOND);
    assert_int_equal(twin_refund(&t, 10, FIRST + 50 * WEIR_MILLISECOND), 10);
    assert_int_equal(twin_peek(&t, 0, FIRST + 50 * WEIR_MILLISECOND).wait, 500 * WEIR_MILLISECOND);
    assert_int_equal(twin_refund(&t, UINT64_MAX, FIRST + 50 * WEIR_MILLISECOND), 15);
    assert_int_equal(twin_tokens(&t, FIRST + 50 * WEIR_MILLISECOND), 10);
    twin_close(&t);
}

/* Nothing is taken from a debt, and the debt stays. What is given back is added, never set. */
static void k11_taking_from_a_debt_takes_nothing(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);
    struct twin t;

    (void)state;
    twin_open(&t, SUBJECT_ENGINE, &policy, FIRST);
    assert_int_equal(twin_charge(&t, 15, FIRST), 15);
    assert_int_equal(twin_take(&t, 10, FIRST), 0);
    assert_int_equal(twin_peek(&t, 0, FIRST).wait, 500 * WEIR_MILLISECOND);
    assert_int_equal(twin_take(&t, UINT64_MAX, FIRST + 780 * WEIR_MILLISECOND), 2);
    assert_int_equal(twin_take(&t, UINT64_MAX, FIRST + 780 * WEIR_MILLISECOND), 0);
    assert_int_equal(twin_take(&t, 1, FIRST + 800 * WEIR_MILLISECOND), 1);
    twin_forget(&t);
    assert_int_equal(twin_tokens(&t, FIRST), 10);
    assert_int_equal(twin_take(&t, 4, FIRST), 4);
    assert_int_equal(twin_refund(&t, 1, FIRST), 1);
    assert_int_equal(twin_tokens(&t, FIRST), 7);
    twin_close(&t);
}

/* A forgotten key is full: what was reserved before gives back nothing. */
static void k11_forgetting_ends_reservations(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);
    struct twin_reservation r;
    struct twin t;

    (void)state;
    twin_open(&t, SUBJECT_ENGINE, &policy, FIRST);
    assert_int_equal(twin_charge(&t, 10, FIRST), 10);
    assert_int_equal(twin_reserve(&t, 5, FIRST, WEIR_FOREVER, &r).wait, 500 * WEIR_MILLISECOND);
    twin_forget(&t);
    assert_int_equal(twin_cancel(&t, &r, FIRST), 0);
    assert_int_equal(twin_tokens(&t, FIRST), 10);
    assert_int_equal(weir_forget(t.subject.engine, t.subject.limit, t.subject.key), 0);
    twin_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k11_the_ledger_balances),
        cmocka_unit_test(k11_reserve_and_cancel_is_nothing),
        cmocka_unit_test(k11_a_cancel_counts_up_to_its_instant),
        cmocka_unit_test(k11_a_cancel_at_the_end_of_time),
        cmocka_unit_test(k11_any_order_of_cancelling),
        cmocka_unit_test(k11_cancelling_from_either_end),
        cmocka_unit_test(k11_what_came_after_stays_reserved),
        cmocka_unit_test(k11_a_part_of_a_token_counts_whole),
        cmocka_unit_test(k11_a_refund_fills_and_no_more),
        cmocka_unit_test(k11_taking_from_a_debt_takes_nothing),
        cmocka_unit_test(k11_forgetting_ends_reservations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
