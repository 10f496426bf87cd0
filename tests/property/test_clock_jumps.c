/* SPDX-License-Identifier: MIT */
/*
 * K19, K20, T1: an engine's clock jumps by years, forward and back, at any place of the time line.
 *
 * The limit gets new origins by itself, 30 of them. As long as what a key owes can be told on the
 * new line nothing changes: every answer equals the model, which knows no origins. Past that a key
 * has a balance of zero, never more than before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <stdio.h>

#define FIRST (100 * WEIR_DAY)

/* The limit's origin in ns, from the record that a reservation of nothing carries. */
static model_int origin_at(struct twin *t, weir_ns now)
{
    struct weir_reservation r;

    (void)weir_reserve(t->subject.engine, t->subject.limit, t->subject.key, 0, now, WEIR_FOREVER,
                       &r)
        .verdict;
    return (model_int)r.origin * (model_int)t->line.form.tick;
}

/* Between stale_max before the origin and the origin an instant counts as the origin: stay out. */
static weir_ns out_of_the_twilight(struct twin *t, weir_ns latest, weir_ns now)
{
    model_int origin = origin_at(t, latest);

    if ((model_int)now >= origin || (model_int)now + 2 * TWIN_STALE_MAX < origin)
        return now;
    return (weir_ns)(origin < 0 ? 0 : origin) + t->line.form.tick;
}

static weir_ns jump(struct twin *t, struct test_random *random, weir_ns now, weir_ns *highest)
{
    weir_ns half = twin_half_line(&t->line.form), span;

    switch (random_below(random, 12)) {
    case 0: /* ahead, past the line's end */
        span = half + random_below(random, half);
        break;
    case 1: /* ahead, about the line's end */
        span = half - TWIN_STALE_MAX - 500 + random_below(random, 1000);
        break;
    case 2:
    case 3: /* back, by any part of what a key's payload can still tell */
        span = random_below(random, half / 2);
        now -= span < now ? span : now;
        if (now + half / 2 < *highest)
            now = *highest - half / 2;
        now = out_of_the_twilight(t, *highest, now);
        return now;
    default:
        span = random_below(random, 2 * twin_token_ns(&t->policy));
    }
    if (span > MODEL_NOW_MAX - now)
        span = 0;
    now += span;
    *highest = now > *highest ? now : *highest;
    return now;
}

static void k19_k20_jumping_clock_equals_the_model(void **state)
{
    struct test_random random = random_start("jumps", 20);
    uint64_t rounds = random_scaled(200), origins = 0;
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        const struct weir_policy policy =
            i < 2 * count ? settings[i % count] : twin_random_setting(&random);
        weir_ns now = i % 3 == 0 ? 0 : random_magnitude(&random, 62), highest = now;
        struct weir_stats stats = {.size = sizeof stats};
        struct twin_held held = {0};
        struct twin t;

        if (policy.limit != 0 &&
            (double)policy.burst / (double)policy.limit * (double)policy.period > 0x1p61)
            continue; /* full in more than 73 years */
        twin_open(&t, SUBJECT_ENGINE, &policy, now);
        for (int j = 0; j < 300 && stats.origins < TWIN_ORIGINS_MAX; j++) {
            for (int k = 0; k < 4; k++)
                twin_random_call(&t, &random, &held, now);
            now = jump(&t, &random, now, &highest);
            assert_int_equal(weir_stats(t.subject.engine, &stats), 0);
        }
        origins += stats.origins;
        twin_close(&t);
    }
    printf("# %llu new origins\n", (unsigned long long)origins);
    assert_true(origins > 2 * rounds);
}

/* A key that was forgotten is as if never used, wherever the clock goes. */
static void forgotten_keys_stay_forgotten(void **state)
{
    static const int64_t years[] = {0, 1, 5, 9, 20, 100, 250, -1, -5, -9, -20, -90};
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);
    const weir_ns year = 365 * WEIR_DAY, first = 100 * year;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t y = 0; y < sizeof years / sizeof years[0]; y++) {
            weir_ns now = first + (weir_ns)years[y] * year;
            struct weir_result result;
            struct twin t;

            if (now > MODEL_NOW_MAX)
                continue;
            twin_open(&t, SUBJECT_ENGINE, &settings[i], first);
            (void)weir_charge(t.subject.engine, t.subject.limit, t.subject.key, 3, first);
            twin_forget(&t);
            result = weir_peek(t.subject.engine, t.subject.limit, t.subject.key, 0, now);
            assert_int_equal(result.verdict, WEIR_ALLOWED);
            assert_int_equal(result.reset, 0);
            assert_int_equal(result.remaining,
                             t.line.form.unlimited ? UINT64_MAX : settings[i].burst);
            twin_close(&t);
        }
    }
}

/* Back by more than a payload can tell: a key owes nothing then, and has nothing. */
static void k20_a_step_back_past_the_line_leaves_a_balance_of_zero(void **state)
{
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);
    const weir_ns back = 20 * 365 * WEIR_DAY, later = FIRST + back; /* the line is 9 years */
    struct weir_result result;
    struct subject s;

    (void)state;
    assert_int_equal(subject_open(&s, SUBJECT_ENGINE, &policy, 0), 0);
    assert_int_equal(subject_decide(&s, 1, FIRST).verdict, WEIR_ALLOWED);
    assert_int_equal(subject_decide(&s, 3, later).verdict, WEIR_ALLOWED);
    assert_int_equal(subject_probe(&s, later).remaining, 7);
    result = subject_decide(&s, 1, FIRST);
    assert_int_equal(result.verdict, WEIR_DENIED);
    assert_int_equal(result.wait, 100 * WEIR_MILLISECOND);
    assert_int_equal(result.remaining, 0);
    assert_int_equal(result.reset, WEIR_SECOND);
    assert_int_equal(subject_decide(&s, 1, FIRST + result.wait).verdict, WEIR_ALLOWED);
    subject_close(&s);
}

/* K20: each step forward admits one burst at most, however often the clock goes to and fro. */
static void k20_stepping_to_and_fro_admits_a_burst_a_step(void **state)
{
    static const weir_ns steps[] = {61 * WEIR_SECOND,   WEIR_HOUR,       WEIR_DAY,
                                    400 * WEIR_DAY,     3000 * WEIR_DAY, 20 * 365 * WEIR_DAY,
                                    80 * 365 * WEIR_DAY};
    const struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        uint64_t granted = 0, tries = TWIN_ORIGINS_MAX, ahead = 0;
        struct subject s;

        assert_int_equal(subject_open(&s, SUBJECT_ENGINE, &policy, 0), 0);
        for (uint64_t j = 0; j < tries; j++) {
            weir_ns now = FIRST + (j % 2 == 0 ? 0 : steps[i]);

            ahead += j % 2 == 1;
            for (int k = 0; k < 15; k++)
                granted += subject_decide(&s, 1, now).verdict == WEIR_ALLOWED;
            assert_true(granted <= 10 + 10 * ahead);
        }
        if (steps[i] < 1000 * WEIR_DAY) /* within the line nothing at all is gained */
            assert_int_equal(granted, 20);
        subject_close(&s);
    }
}

/* Many keys idle through many origins: their debts are all there when the clock has settled. */
static void k20_debts_outlive_many_origins(void **state)
{
    const struct weir_policy policy = weir_token_bucket(1, WEIR_DAY, 5);
    const weir_ns half = (weir_ns)1 << 57, first = half;
    struct weir_stats stats = {.size = sizeof stats};
    uint64_t granted = 0;
    struct weir *w;
    int limit;

    (void)state;
    assert_int_equal(weir_open(&w, NULL), 0);
    limit = weir_add_limit(w, "day", &policy);
    assert_int_equal(limit, 0);
    for (uint64_t key = 0; key < 100; key++) /* owes key days */
        assert_int_equal(weir_charge(w, limit, weir_key_u64(w, key), 5 + key, first), 5 + key);
    for (int i = 0; i < TWIN_ORIGINS_MAX; i++) /* far ahead and back, seen by one other key */
        granted += weir_allow(w, limit, weir_key_u64(w, 1000), 1,
                              i % 2 == 0 ? first + half + WEIR_DAY : first);
    for (uint64_t key = 0; key < 100; key++) {
        struct weir_result result = weir_peek(w, limit, weir_key_u64(w, key), 0, first);

        assert_int_equal(result.verdict, key == 0 ? WEIR_ALLOWED : WEIR_DENIED);
        assert_int_equal(result.wait, key * WEIR_DAY);
        assert_int_equal(result.reset, (key + 5) * WEIR_DAY);
    }
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_int_equal(granted, 5); /* at the far instant: it owes all of the time between */
    assert_int_equal(stats.growths + stats.compactions, 0); /* by a far clock all would be idle */
    assert_int_equal(stats.origins, 1 + TWIN_ORIGINS_MAX);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k19_k20_jumping_clock_equals_the_model),
        cmocka_unit_test(forgotten_keys_stay_forgotten),
        cmocka_unit_test(k20_a_step_back_past_the_line_leaves_a_balance_of_zero),
        cmocka_unit_test(k20_stepping_to_and_fro_admits_a_burst_a_step),
        cmocka_unit_test(k20_debts_outlive_many_origins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
