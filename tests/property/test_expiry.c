/* SPDX-License-Identifier: MIT */
/*
 * K27: what the table forgets changes no answer. Thousands of keys come and go in one engine, whose
 * arrays are replaced again and again, larger and at the same size, and whose idle keys are left
 * behind.
 *
 * With a clock that never goes back every field of every answer equals the model, which forgets
 * nothing. With clocks that are behind, by up to stale_max, a key that was forgotten begins at the
 * newest instant that was used to forget one: nobody gets more than by the running maximum.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS  1000000
#define LIMITS 24
#define KEYS   128 /* of each limit, known to the models at a time */

struct crowd {
    struct weir *engine;
    struct twin twins[LIMITS][KEYS];
    struct twin_held held[LIMITS][KEYS];
    weir_ns written[LIMITS][KEYS]; /* latest instant that counts for the key */
    uint64_t names;                /* of keys, ever */
    weir_ns first, now, last;
};

/* The twin of a key never seen before. */
static void new_key(struct crowd *crowd, size_t limit, size_t key)
{
    struct twin *t = &crowd->twins[limit][key];

    t->subject.key = weir_key_u64(crowd->engine, crowd->names++);
    t->key = (struct model_key){0};
    t->exact = (struct model_key){0};
    crowd->written[limit][key] = crowd->first;
    memset(&crowd->held[limit][key], 0, sizeof crowd->held[limit][key]);
}

/* A setting under which a key that is empty is full again within that time: so that most of what is
   in the table is idle now and then. */
static struct weir_policy quick_setting(struct test_random *random, weir_ns full_within)
{
    for (;;) {
        struct weir_policy policy = twin_random_setting(random);

        if (policy.limit != 0 && policy.limit != WEIR_UNLIMITED && policy.burst != 0 &&
            (double)policy.burst / (double)policy.limit * (double)policy.period <
                (double)full_within)
            return policy;
    }
}

static void add_limit(struct crowd *crowd, size_t i, const struct weir_policy *policy)
{
    struct model_form form;
    char name[16];
    int limit;

    (void)snprintf(name, sizeof name, "limit %zu", i);
    limit = weir_add_limit(crowd->engine, name, policy);
    assert_int_equal(limit, i);
    assert_int_equal(model_form_init(&form, policy), 0);
    for (size_t k = 0; k < KEYS; k++) {
        struct twin *t = &crowd->twins[i][k];

        *t = (struct twin){.policy = *policy};
        t->subject =
            (struct subject){.kind = SUBJECT_ENGINE, .engine = crowd->engine, .limit = limit};
        model_line_init(&t->line, &form, (model_int)crowd->first - TWIN_STALE_MAX);
        new_key(crowd, i, k);
    }
    (void)twin_decide(&crowd->twins[i][0], 0, crowd->first);
    if (crowd->last > crowd->first + 20 * twin_half_line(&form))
        crowd->last = crowd->first + 20 * twin_half_line(&form);
}

static struct crowd *open_crowd(struct test_random *random, weir_ns first, weir_ns full_within)
{
    static const uint8_t secret[192] = {27}; /* the same shards in each run of a seed */
    const struct weir_options options = {
        .size = sizeof options, .max_keys = 20000, .max_limits = LIMITS, .secret = secret};
    struct crowd *crowd = calloc(1, sizeof *crowd);
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    assert_non_null(crowd);
    assert_int_equal(weir_open(&crowd->engine, &options), 0);
    crowd->first = crowd->now = first;
    crowd->last = MODEL_NOW_MAX / 2;
    for (size_t i = 0; i < LIMITS; i++) {
        struct weir_policy policy =
            i % 4 == 0 ? settings[random_below(random, count)] : quick_setting(random, full_within);

        add_limit(crowd, i, &policy);
    }
    return crowd;
}

static struct weir_stats close_crowd(struct crowd *crowd)
{
    struct weir_stats stats = {.size = sizeof stats};

    assert_int_equal(weir_stats(crowd->engine, &stats), 0);
    printf("# %llu names, %llu keys, %llu growths, %llu compactions, %llu moved, %llu dropped\n",
           (unsigned long long)crowd->names, (unsigned long long)stats.keys,
           (unsigned long long)stats.growths, (unsigned long long)stats.compactions,
           (unsigned long long)stats.moves, (unsigned long long)stats.dropped);
    assert_int_equal(stats.overflow, 0);
    assert_true(stats.growths > 0 && stats.dropped > 0);
    weir_close(crowd->engine);
    free(crowd);
    return stats;
}

/* ---- the clock never goes back ------------------------------------------------------------- */

static void step_forward(struct crowd *crowd, struct test_random *random, unsigned bits)
{
    weir_ns step = 0;

    switch (random_below(random, 20000)) {
    case 0: /* all but the slowest are idle */
        step = random_below(random, 3 * WEIR_DAY);
        break;
    case 1:
        step = random_magnitude(random, 45);
        break;
    default:
        step = random_magnitude(random, bits);
    }
    if (step < crowd->last - crowd->now)
        crowd->now += step;
}

static void run_forward(const char *name, uint64_t seed, weir_ns first, uint64_t *compactions)
{
    struct test_random random = random_start(name, seed);
    struct crowd *crowd = open_crowd(&random, first, WEIR_DAY);
    uint64_t calls = random_scaled(CALLS) / 4;

    for (uint64_t i = 0; i < calls; i++) {
        size_t limit = random_below(&random, LIMITS), key = random_below(&random, KEYS);

        if (random_below(&random, 16) == 0)
            new_key(crowd, limit, key);
        twin_random_call(&crowd->twins[limit][key], &random, &crowd->held[limit][key], crowd->now);
        step_forward(crowd, &random, 30);
        if (i % 100000 == 99999) /* a trim forgets as a compaction does */
            assert_int_equal(weir_trim(crowd->engine, crowd->now), 0);
    }
    *compactions += close_crowd(crowd).compactions;
}

static void k27_forgetting_equals_the_model(void **state)
{
    uint64_t compactions = 0;

    (void)state;
    run_forward("from 0", 27, 0, &compactions);
    run_forward("from a year", 28, 365 * WEIR_DAY, &compactions);
    run_forward("from 2^61", 29, (weir_ns)1 << 61, &compactions);
    run_forward("again", 30, 1700000000 * WEIR_SECOND, &compactions);
    assert_true(compactions > 0);
}

/* ---- clocks that are behind --------------------------------------------------------------- */

/* Is `missing` (in 1/c tokens) less than one unit? An exact setting has nothing missing. */
static bool below_one_unit(const struct model_form *f, model_int missing)
{
    return missing <= 0 ||
           (!f->exact && missing < (model_int)f->c && missing * f->token < (model_int)f->c);
}

/*
 * n tokens were granted to a clock that said `now`, to be used `wait` later. The exact bucket,
 * asked at the latest instant of this key's so far, has them by then, or at an instant that some
 * clock has said: when a key was forgotten it began there.
 */
static void assert_admitted(struct twin *t, weir_ns *written, uint64_t n, weir_ns now, weir_ns wait,
                            weir_ns latest)
{
    const struct model_form *f = &t->line.form;
    weir_ns late = f->exact || f->a == 0 ? 0 : (weir_ns)(f->grains / f->units + 2);
    weir_ns needed;

    if (f->unlimited || n == 0)
        return;
    *written = now > *written ? now : *written;
    if (f->a == 0) {
        assert_true((model_int)n * (model_int)f->c <= exact_balance(&t->line, &t->exact, latest));
    } else {
        needed = exact_wait(&t->line, &t->exact, n, *written);
        assert_true(*written + needed <= (now + wait > latest ? now + wait : latest) + late);
        if (wait == 0)
            *written += needed;
    }
    exact_add(&t->line, &t->exact, (model_int)n, *written);
}

static void stale_call(struct twin *t, weir_ns *written, struct test_random *random, weir_ns now,
                       weir_ns latest)
{
    const struct model_form *f = &t->line.form;
    struct subject *s = &t->subject;
    uint64_t n = random_below(random, f->burst / 2 + 2), count;
    struct weir_result result;

    switch (random_below(random, 6)) {
    case 0:
        result = weir_peek(s->engine, s->limit, s->key, 1, now);
        assert_true(result.verdict != WEIR_INVALID);
        if (!f->unlimited)
            assert_true(below_one_unit(f, (model_int)result.remaining * (model_int)f->c -
                                              exact_balance(&t->line, &t->exact, latest)) ||
                        result.remaining == 0);
        return;
    case 1:
        count = weir_take(s->engine, s->limit, s->key, n, now);
        assert_true(count <= n);
        assert_admitted(t, written, count, now, 0, latest);
        return;
    case 2:
        result =
            weir_reserve(s->engine, s->limit, s->key, n, now, 3 * twin_token_ns(&t->policy), NULL);
        break;
    default:
        result = weir_decide(s->engine, s->limit, s->key, n, now);
    }
    assert_true(result.verdict != WEIR_INVALID);
    assert_int_equal(result.verdict == WEIR_NEVER, !f->unlimited && n > f->burst);
    if (result.verdict == WEIR_ALLOWED)
        assert_admitted(t, written, n, now, result.wait, latest);
}

static void run_behind(const char *name, uint64_t seed, weir_ns first)
{
    struct test_random random = random_start(name, seed);
    struct crowd *crowd = open_crowd(&random, first, WEIR_MINUTE);
    uint64_t calls = random_scaled(CALLS) / 2;

    for (uint64_t i = 0; i < calls; i++) {
        size_t limit = random_below(&random, LIMITS), key = random_below(&random, KEYS);
        weir_ns back = random_below(&random, 2) == 0 ? 0 : random_below(&random, TWIN_STALE_MAX);
        weir_ns now = crowd->now - back < first ? first : crowd->now - back;

        if (random_below(&random, 16) == 0)
            new_key(crowd, limit, key);
        stale_call(&crowd->twins[limit][key], &crowd->written[limit][key], &random, now,
                   crowd->now);
        step_forward(crowd, &random, 26); /* keys are met again before long */
    }
    (void)close_crowd(crowd);
}

static void k27_stale_clocks_gain_nothing_by_forgetting(void **state)
{
    (void)state;
    run_behind("behind, from a day", 31, WEIR_DAY);
    run_behind("behind, from 2^61", 32, (weir_ns)1 << 61);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k27_forgetting_equals_the_model),
        cmocka_unit_test(k27_stale_clocks_gain_nothing_by_forgetting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
