/* SPDX-License-Identifier: MIT */
/*
 * K09, K10: denials, peeks and errors change nothing; a wait is the least that is enough.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <errno.h>

#define FIRST (100 * WEIR_DAY)

/* A key's state: the cell's bits; of an engine's key what peeks tell, now and later. */
struct digest {
    uint64_t word, keys;
    struct weir_result peeks[6];
};

static void digest_of(struct digest *d, const struct twin *t, weir_ns now)
{
    const struct subject *s = &t->subject;
    weir_ns token = twin_token_ns(&t->policy);
    struct weir_stats stats = {.size = sizeof stats};

    *d = (struct digest){.word = s->cell.word};
    if (s->kind == SUBJECT_CELL)
        return;
    assert_int_equal(weir_stats(s->engine, &stats), 0);
    d->keys = stats.keys;
    for (size_t i = 0; i < 3; i++) {
        d->peeks[2 * i] = subject_peek(s, 1, now + i * token / 2);
        d->peeks[2 * i + 1] = subject_peek(s, 0, now + i * token / 2);
    }
}

static void assert_same_digest(const struct digest *a, const struct digest *b)
{
    assert_int_equal(a->word, b->word);
    assert_int_equal(a->keys, b->keys);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(a->peeks[i].verdict, b->peeks[i].verdict);
        assert_int_equal(a->peeks[i].wait, b->peeks[i].wait);
        assert_int_equal(a->peeks[i].remaining, b->peeks[i].remaining);
        assert_int_equal(a->peeks[i].reset, b->peeks[i].reset);
    }
}

/* A key somewhere between full and deep in debt, at a random instant that is returned. */
static weir_ns disturb(struct twin *t, struct test_random *random, weir_ns now)
{
    struct twin_reservation r;
    weir_ns token = twin_token_ns(&t->policy);
    uint64_t burst = t->line.form.burst;

    if (burst > 0)
        for (uint64_t i = random_below(random, 4); i > 0; i--)
            (void)twin_reserve(t, 1 + random_below(random, burst), now, 4 * token, &r);
    return now + random_below(random, 2 * (token < WEIR_DAY ? token : WEIR_DAY));
}

/* ---- K09 ---------------------------------------------------------------------------------- */

/* Everything that must not change a key, errors included. */
static void ask_without_effect(struct twin *t, struct test_random *random, weir_ns now)
{
    struct subject *s = &t->subject;
    uint64_t burst = t->line.form.burst, n = random_below(random, burst + 3);
    struct weir_reservation nothing = {0}, r;
    struct weir_result result;

    (void)twin_peek(t, n, now);
    if (twin_peek(t, n, now).verdict != WEIR_ALLOWED)
        assert_int_not_equal(twin_decide(t, n, now).verdict, WEIR_ALLOWED);
    result = twin_peek(t, n, now);
    if (result.verdict == WEIR_DENIED && result.wait > 0) {
        struct twin_reservation late;

        assert_int_equal(twin_reserve(t, n, now, result.wait - 1, &late).verdict, WEIR_DENIED);
        assert_int_equal(late.reservation.n, 0);
        assert_int_equal(twin_cancel(t, &late, now), 0);
    }
    (void)twin_decide(t, 0, now);
    assert_int_equal(twin_decide(t, burst + 1, now).verdict,
                     t->line.form.unlimited ? WEIR_ALLOWED : WEIR_NEVER);
    assert_int_equal(subject_cancel(s, &nothing, now), 0);
    if (s->kind == SUBJECT_CELL) {
        assert_int_equal(weir_cell_decide(NULL, &s->meter, 1, now).verdict, WEIR_INVALID);
        assert_int_equal(weir_cell_decide(&s->cell, NULL, 1, now).verdict, WEIR_INVALID);
        assert_int_equal(weir_cell_reserve(&s->cell, NULL, 1, now, 0, &r).verdict, WEIR_INVALID);
        assert_int_equal(weir_cell_cancel(&s->cell, &s->meter, NULL, now), 0);
        return;
    }
    assert_int_equal(weir_decide(s->engine, s->limit + 1, s->key, 1, now).verdict, WEIR_INVALID);
    assert_int_equal(weir_decide(NULL, s->limit, s->key, 1, now).verdict, WEIR_INVALID);
    assert_int_equal(weir_reserve(s->engine, -1, s->key, 1, now, 0, &r).verdict, WEIR_INVALID);
    assert_int_equal(r.n, 0);
    assert_int_equal(twin_take(t, 0, now), 0);
    assert_int_equal(twin_refund(t, 0, now), 0);
    assert_int_equal(twin_charge(t, 0, now), 0);
    assert_int_equal(weir_charge(s->engine, s->limit + 1, s->key, 1, now), 0);
    assert_int_equal(weir_forget(s->engine, s->limit + 1, s->key), -ENOENT);
}

static void denials_peeks_and_errors(struct twin *t, struct test_random *random)
{
    weir_ns now = FIRST;

    for (int i = 0; i < 50; i++) {
        struct digest before, after;

        now = disturb(t, random, now);
        digest_of(&before, t, now);
        ask_without_effect(t, random, now);
        digest_of(&after, t, now);
        assert_same_digest(&before, &after);
    }
}

static void k09_denials_peeks_and_errors_are_pure(void **state)
{
    (void)state;
    twin_for_all(denials_peeks_and_errors, "k09", FIRST);
}

/* A reservation of nothing, or one that is spent, is no call: not even the limit's origin moves. */
static void k09_cancelling_nothing_has_no_effect(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 5);
    struct weir_stats stats = {.size = sizeof stats};
    struct weir_reservation nothing = {0}, spent, never;
    struct subject s;

    (void)state;
    assert_int_equal(subject_open(&s, SUBJECT_ENGINE, &policy, 0), 0);
    assert_int_equal(subject_cancel(&s, &nothing, FIRST), 0);
    assert_int_equal(weir_stats(s.engine, &stats), 0);
    assert_int_equal(stats.origins, 0);
    assert_int_equal(subject_reserve(&s, 1, FIRST, 0, &spent).verdict, WEIR_ALLOWED);
    assert_int_equal(subject_cancel(&s, &spent, FIRST), 1);
    assert_int_equal(subject_reserve(&s, 6, FIRST, 0, &never).verdict, WEIR_NEVER);
    for (weir_ns now = 0; now < MODEL_NOW_MAX / 2; now += (weir_ns)1 << 60) {
        assert_int_equal(subject_cancel(&s, &nothing, now), 0);
        assert_int_equal(subject_cancel(&s, &spent, now), 0);
        assert_int_equal(subject_cancel(&s, &never, now), 0);
    }
    assert_int_equal(weir_stats(s.engine, &stats), 0);
    assert_int_equal(stats.origins, 1);
    assert_int_equal(subject_probe(&s, FIRST).remaining, 5);
    subject_close(&s);
}

/* A polite caller who is denied is free when he was told, however often he asks. */
static void asking_again(struct twin *t, struct test_random *random)
{
    uint64_t burst = t->line.form.burst;
    weir_ns due, now = FIRST;
    struct weir_result result;

    if (t->line.form.unlimited || t->line.form.a == 0 || burst == 0)
        return;
    while (twin_decide(t, 1 + random_below(random, burst), now).verdict == WEIR_ALLOWED)
        ;
    while (twin_decide(t, 1, now).verdict == WEIR_ALLOWED)
        if (burst > 10000)
            return;
    result = twin_decide(t, 1, now);
    due = now + result.wait;
    for (int i = 0; i < 100; i++) {
        now += random_below(random, (due - now) / 8 + 1);
        if (now >= due)
            break;
        result = twin_decide(t, 1, now);
        assert_int_equal(result.verdict, WEIR_DENIED);
        assert_int_equal(now + result.wait, due);
    }
    assert_int_equal(twin_decide(t, 1, due).verdict, WEIR_ALLOWED);
}

static void k09_asking_again_postpones_nothing(void **state)
{
    (void)state;
    twin_for_all(asking_again, "k09 again", FIRST);
}

/* ---- K10 ---------------------------------------------------------------------------------- */

static void waits(struct twin *t, struct test_random *random)
{
    weir_ns now = FIRST;

    if (t->line.form.unlimited || t->line.form.a == 0 || t->line.form.burst == 0)
        return;
    for (int i = 0; i < 60; i++) {
        uint64_t n = random_below(random, t->line.form.burst + 1);
        struct weir_result denied;

        now = disturb(t, random, now);
        denied = twin_peek(t, n, now);
        if (denied.verdict != WEIR_DENIED || denied.wait > ((weir_ns)1 << 60))
            continue;
        assert_true(denied.wait > 0);
        assert_int_equal(twin_peek(t, n, now + denied.wait).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_peek(t, n, now + denied.wait).wait, 0);
        assert_int_equal(twin_peek(t, n, now + denied.wait - 1).verdict, WEIR_DENIED);
        assert_int_equal(twin_peek(t, n, now + denied.wait - 1).wait, 1);
        assert_int_equal(twin_decide(t, n, now + denied.wait - 1).verdict, WEIR_DENIED);
        if (random_below(random, 4) == 0) {
            now += denied.wait;
            assert_int_equal(twin_decide(t, n, now).verdict, WEIR_ALLOWED);
        }
        if (now > ((weir_ns)1 << 60))
            return;
    }
}

static void k10_a_wait_is_the_least_that_is_enough(void **state)
{
    (void)state;
    twin_for_all(waits, "k10", FIRST);
}

/* A reservation acts when a denied decision would have been told to come again. */
static void reservations(struct twin *t, struct test_random *random)
{
    weir_ns now = FIRST, token = twin_token_ns(&t->policy);

    if (t->line.form.unlimited || t->line.form.a == 0 || t->line.form.burst == 0)
        return;
    for (int i = 0; i < 60; i++) {
        uint64_t n = random_below(random, t->line.form.burst + 1);
        struct weir_result told, got;
        struct twin_reservation r;

        now = disturb(t, random, now);
        told = twin_peek(t, n, now);
        if (told.wait > 8 * token || told.wait > ((weir_ns)1 << 58))
            continue;
        if (told.wait > 0)
            assert_int_equal(twin_reserve(t, n, now, told.wait - 1, &r).verdict, WEIR_DENIED);
        got = twin_reserve(t, n, now, told.wait, &r);
        assert_int_equal(got.verdict, WEIR_ALLOWED);
        assert_int_equal(got.wait, told.wait);
        assert_int_equal(r.reservation.n, n);
        if (n == 0)
            continue;
        assert_int_equal(r.reservation.instant, now + told.wait);
        /* At its instant the debt is paid; a nanosecond before, it is not. */
        if (told.wait > 0) {
            assert_int_equal(twin_peek(t, 0, now + told.wait).verdict, WEIR_ALLOWED);
            assert_int_equal(twin_peek(t, 0, now + told.wait - 1).verdict, WEIR_DENIED);
        }
    }
}

static void k10_a_reservation_waits_as_long_as_a_denial_says(void **state)
{
    (void)state;
    twin_for_all(reservations, "k10 reservations", FIRST);
}

/* `reset` is when the key is as if never used: full, and not a nanosecond before. */
static void resets(struct twin *t, struct test_random *random)
{
    weir_ns now = FIRST;

    if (t->line.form.unlimited || t->line.form.a == 0 || t->line.form.burst == 0)
        return;
    for (int i = 0; i < 60 && now < (weir_ns)1 << 59; i++) {
        struct weir_result used;

        now = disturb(t, random, now);
        used = twin_peek(t, 0, now);
        if (used.reset == 0 || used.reset > (weir_ns)1 << 59)
            continue;
        assert_int_equal(twin_peek(t, 0, now + used.reset).reset, 0);
        assert_int_equal(twin_tokens(t, now + used.reset), t->line.form.burst);
        assert_int_equal(twin_peek(t, 0, now + used.reset - 1).reset, 1);
    }
}

static void k10_a_reset_is_when_it_is_full(void **state)
{
    (void)state;
    twin_for_all(resets, "k10 resets", FIRST);
}

/* Numbers at which limiters were wrong: halves of tokens, parts accrued, all of the capacity. */
static void k10_known_cases(void **state)
{
    const struct weir_policy minute = weir_token_bucket(6, WEIR_MINUTE, 1);
    const struct weir_policy second = weir_token_bucket(1, WEIR_SECOND, 3);
    const struct weir_policy third = weir_token_bucket(3, WEIR_SECOND, 1);

    (void)state;
    for (int k = SUBJECT_CELL; k <= SUBJECT_ENGINE; k++) {
        enum subject_kind kind = (enum subject_kind)k;
        struct twin_reservation r;
        struct twin t;

        twin_open(&t, kind, &minute, FIRST); /* no half token before 10 s */
        assert_int_equal(twin_decide(&t, 1, FIRST).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_decide(&t, 1, FIRST).wait, 10 * WEIR_SECOND);
        assert_int_equal(twin_decide(&t, 1, FIRST + 10 * WEIR_SECOND - 1).wait, 1);
        assert_int_equal(twin_decide(&t, 1, FIRST + 10 * WEIR_SECOND).verdict, WEIR_ALLOWED);
        twin_close(&t);
        twin_open(&t, kind, &second, FIRST);
        assert_int_equal(twin_decide(&t, 3, FIRST).reset, 3 * WEIR_SECOND);
        assert_int_equal(twin_peek(&t, 1, FIRST + 200 * WEIR_MILLISECOND).wait,
                         800 * WEIR_MILLISECOND); /* what has accrued counts */
        assert_int_equal(twin_peek(&t, 2, FIRST + WEIR_SECOND).wait, WEIR_SECOND);
        assert_int_equal(twin_reserve(&t, 3, FIRST, WEIR_FOREVER, &r).wait, 3 * WEIR_SECOND);
        assert_int_equal(twin_decide(&t, 3, FIRST).wait, 6 * WEIR_SECOND); /* not "never" */
        twin_close(&t);
        twin_open(&t, kind, &third, FIRST); /* a third of a second, rounded up */
        assert_int_equal(twin_decide(&t, 1, FIRST).verdict, WEIR_ALLOWED);
        assert_int_equal(twin_decide(&t, 1, FIRST).wait, 333333334);
        assert_int_equal(twin_decide(&t, 1, FIRST + 333333333).verdict, WEIR_DENIED);
        assert_int_equal(twin_decide(&t, 1, FIRST + 333333334).verdict, WEIR_ALLOWED);
        twin_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k09_denials_peeks_and_errors_are_pure),
        cmocka_unit_test(k09_cancelling_nothing_has_no_effect),
        cmocka_unit_test(k09_asking_again_postpones_nothing),
        cmocka_unit_test(k10_a_wait_is_the_least_that_is_enough),
        cmocka_unit_test(k10_a_reservation_waits_as_long_as_a_denial_says),
        cmocka_unit_test(k10_a_reset_is_when_it_is_full),
        cmocka_unit_test(k10_known_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
