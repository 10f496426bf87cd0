/* SPDX-License-Identifier: MIT */
/*
 * Random calls on many settings and keys, each answered by the library and by the model: every
 * field of every answer is equal, and agrees with the exact line to one unit (twin.h).
 *
 * A million calls on cells and a million on engines (WEIR_TEST_SCALE percent of it). Time wanders
 * forward by anything from 0 ns to years and back by up to stale_max, on each limit by itself. So
 * an engine has few keys here, and what is idle by one clock is not forgotten: test_expiry.c is
 * about that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <stdio.h>
#include <string.h>

#define CALLS   1000000
#define ENGINES 200
#define LIMITS  4
#define KEYS    3 /* a dozen in all: the first array of a table holds them */

/* A clock that mostly creeps, sometimes rests, and sometimes idles for long. */
struct walk {
    weir_ns first, at, last;
};

static struct walk walk_from(weir_ns first, const struct model_form *form)
{
    weir_ns half = twin_half_line(form); /* an engine's limit can follow so far */
    weir_ns room = MODEL_NOW_MAX / 4;

    if (room / half > TWIN_ORIGINS_MAX - 5)
        room = half * (TWIN_ORIGINS_MAX - 5);
    return (struct walk){.first = first, .at = first, .last = first + room};
}

static weir_ns walk_step(struct walk *walk, struct test_random *random, weir_ns token)
{
    weir_ns step = 0, back;

    switch (random_below(random, 16)) {
    case 0:
        step = random_magnitude(random, 54);
        break;
    case 1:
    case 2:
        step = random_below(random, 16) * (token < WEIR_DAY ? token : WEIR_DAY);
        break;
    case 3:
    case 4:
    case 5:
        break;
    default:
        step = random_below(random, token < WEIR_HOUR ? token + 2 : WEIR_HOUR);
    }
    if (step > walk->last - walk->at)
        step = 0;
    walk->at += step;
    if (random_below(random, 8) != 0)
        return walk->at;
    back = random_magnitude(random, 35); /* below 34.4 s */
    return back > walk->at - walk->first ? walk->first : walk->at - back;
}

/* 32 calls on one cell, from the settings above or random ones. */
static void one_cell(const struct weir_policy *policy, struct test_random *random)
{
    weir_ns first = random_magnitude(random, 60);
    struct twin_held held = {0};
    struct walk walk;
    struct twin t;

    twin_open(&t, SUBJECT_CELL, policy, first);
    walk = walk_from(first, &t.line.form);
    for (int i = 0; i < 32; i++)
        twin_random_call(&t, random, &held, walk_step(&walk, random, twin_token_ns(policy)));
    twin_close(&t);
}

static void cell_equals_the_model(void **state)
{
    struct test_random random = random_start("cells", 20240101);
    uint64_t rounds = random_scaled(CALLS) / 32 + 1;
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        struct weir_policy policy =
            i % 4 == 0 ? settings[random_below(&random, count)] : twin_random_setting(&random);

        one_cell(&policy, &random);
    }
}

/* One engine: LIMITS settings, KEYS keys each; twins share it. */
struct crowd {
    struct weir *engine;
    struct twin twins[LIMITS][KEYS];
    struct twin_held held[LIMITS][KEYS];
    struct walk walks[LIMITS];
};

static void add_limit(struct crowd *crowd, size_t i, const struct weir_policy *policy,
                      struct test_random *random)
{
    struct model_form form;
    model_int origin;
    char name[16];
    int limit;

    (void)snprintf(name, sizeof name, "limit %zu", i);
    limit = weir_add_limit(crowd->engine, name, policy);
    assert_int_equal(limit, i);
    assert_int_equal(model_form_init(&form, policy), 0);
    crowd->walks[i] = walk_from(random_magnitude(random, 60), &form);
    origin = (model_int)crowd->walks[i].first - TWIN_STALE_MAX;
    for (size_t k = 0; k < KEYS; k++) {
        struct twin *t = &crowd->twins[i][k];

        *t = (struct twin){.policy = *policy};
        t->subject = (struct subject){
            .kind = SUBJECT_ENGINE,
            .engine = crowd->engine,
            .limit = limit,
            .key = weir_key_u64(crowd->engine, k), /* the same keys under every limit */
        };
        model_line_init(&t->line, &form, origin);
    }
    (void)twin_decide(&crowd->twins[i][0], 0, crowd->walks[i].first);
}

/* Returns how many origins the limits were given. */
static uint64_t one_engine(struct test_random *random, uint64_t calls)
{
    const struct weir_options options = {
        .size = sizeof options, .max_keys = 1024, .max_limits = LIMITS};
    static struct crowd crowd;
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);
    struct weir_stats stats = {.size = sizeof stats};

    memset(&crowd, 0, sizeof crowd);
    assert_int_equal(weir_open(&crowd.engine, &options), 0);
    for (size_t i = 0; i < LIMITS; i++) {
        struct weir_policy policy = random_below(random, 2) == 0
                                        ? settings[random_below(random, count)]
                                        : twin_random_setting(random);

        add_limit(&crowd, i, &policy, random);
    }
    for (uint64_t i = 0; i < calls; i++) {
        size_t limit = random_below(random, LIMITS), key = random_below(random, KEYS);
        struct twin *t = &crowd.twins[limit][key];
        weir_ns now = walk_step(&crowd.walks[limit], random, twin_token_ns(&t->policy));

        twin_random_call(t, random, &crowd.held[limit][key], now);
    }
    assert_int_equal(weir_stats(crowd.engine, &stats), 0);
    assert_int_equal(stats.overflow, 0);
    assert_int_equal(stats.growths + stats.compactions, 0);
    weir_close(crowd.engine);
    return stats.origins;
}

static void engine_equals_the_model(void **state)
{
    struct test_random random = random_start("engine", 20240102);
    uint64_t origins = 0;

    (void)state;
    for (int i = 0; i < ENGINES; i++)
        origins += one_engine(&random, random_scaled(CALLS) / ENGINES + 1);
    printf("# the limits were given %llu new origins\n", (unsigned long long)origins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cell_equals_the_model),
        cmocka_unit_test(engine_equals_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
