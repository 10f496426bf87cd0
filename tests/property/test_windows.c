/* SPDX-License-Identifier: MIT */
/*
 * Random calls on windows of every form and on permits, each answered by the library and by the
 * model in window_model.h: every field of every answer is equal, and a call that was refused, or
 * asked for nothing, changed nothing.
 *
 * A million calls for each of the five algorithms (WEIR_TEST_SCALE percent of it), half of them on
 * cells, half on keys of engines. Time creeps, rests, idles, comes to the very edges of windows and
 * one nanosecond to either side, is stale by up to stale_max, and is set back and forward: on
 * unix time by up to a year, which an engine sees through its wall clock. Few keys share an engine,
 * so that none of them is forgotten.
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

#define CALLS     1000000
#define ROUND     2500 /* calls on one engine, and on one cell */
#define KEYS      3
#define HELD      4
#define CROWD     4096
#define STALE_MAX (60 * WEIR_SECOND)
#define YEAR      (365 * WEIR_DAY)
#define UNIX_2024 ((weir_ns)1704067200 * WEIR_SECOND)
#define LEAD_MAX  (4 * (model_int)YEAR) /* ahead of `now`, in a cell */

typedef unsigned long long ull;

struct held {
    struct weir_reservation reservation;
    struct window_reservation model;
};

/* One key, or one cell. */
struct twin {
    struct subject subject;
    struct window_key key;
    struct held held[HELD];
};

/* One limit, its keys and its clock. */
struct world {
    uint64_t seed;
    struct weir_policy policy;
    struct window_limit limit;
    enum subject_kind kind;
    struct weir *engine;
    model_int wall; /* what the wall clock adds to `now` */
    weir_ns span;   /* a period, or what serves as one */
    weir_ns first;  /* no `now` is before it */
    weir_ns at;     /* the newest `now` */
    weir_ns settled;
    weir_ns last;
    unsigned jumps; /* of the clock, that may still come */
    struct twin twins[KEYS];
};

static weir_ns wall_of(void *context, weir_ns now)
{
    const struct world *world = context;

    return (weir_ns)((model_int)now + world->wall);
}

/* ---- comparing ---------------------------------------------------------------------------- */

static const char *setting_text(const struct world *world)
{
    static char text[160];
    int length = weir_policy_format(&world->policy, text, sizeof text);

    return length < 0 ? "?" : text;
}

static const char *state_text(const struct window_key *key)
{
    static char text[160];

    if (!key->used)
        return "never used";
    (void)snprintf(text, sizeof text, "position %lld%s previous %llu count %llu",
                   (long long)key->position, key->ahead ? " ahead" : "", (ull)key->previous,
                   (ull)key->count);
    return text;
}

static void compare(const struct world *world, const struct twin *t, const char *call, uint64_t n,
                    weir_ns now, struct weir_result got, struct weir_result want)
{
    if (got.verdict == want.verdict && got.remaining == want.remaining && got.wait == want.wait &&
        got.reset == want.reset)
        return;
    fail_msg("%s, \"%s\", seed %#llx, %s(n %llu, now %llu, wall %+lld): verdict %d wait %llu "
             "remaining %llu reset %llu; the model says %d %llu %llu %llu, and now is at: %s",
             subject_name(&t->subject), setting_text(world), (ull)world->seed, call, (ull)n,
             (ull)now, (long long)world->limit.wall, (int)got.verdict, (ull)got.wait,
             (ull)got.remaining, (ull)got.reset, (int)want.verdict, (ull)want.wait,
             (ull)want.remaining, (ull)want.reset, state_text(&t->key));
}

static void compare_count(const struct world *world, const struct twin *t, const char *call,
                          uint64_t n, weir_ns now, uint64_t got, uint64_t want)
{
    if (got != want)
        fail_msg("%s, \"%s\", seed %#llx, %s(n %llu, now %llu, wall %+lld): %llu; the model says "
                 "%llu, and now is at: %s",
                 subject_name(&t->subject), setting_text(world), (ull)world->seed, call, (ull)n,
                 (ull)now, (long long)world->limit.wall, (ull)got, (ull)want, state_text(&t->key));
}

/* ---- the calls, by both ------------------------------------------------------------------- */

/* What a key is, as far as it can be seen: the word of a cell; peeks at an engine's key. */
struct digest {
    uint64_t word;
    struct weir_result none, one;
};

static struct digest digest_of(const struct twin *t, weir_ns now)
{
    struct digest d = {.word = t->subject.cell.word};

    if (t->subject.kind == SUBJECT_ENGINE) {
        d.none = subject_peek(&t->subject, 0, now);
        d.one = subject_peek(&t->subject, 1, now);
    }
    return d;
}

static void assert_untouched(const struct world *world, const struct twin *t, const char *call,
                             uint64_t n, weir_ns now, const struct digest *before)
{
    struct digest after = digest_of(t, now);

    compare_count(world, t, call, n, now, after.word, before->word);
    compare(world, t, call, 0, now, after.none, before->none);
    compare(world, t, call, 1, now, after.one, before->one);
}

static void both_reserve(struct world *world, struct twin *t, uint64_t n, weir_ns now,
                         weir_ns max_wait, struct held *held)
{
    const char *call = held == NULL ? "decide" : "reserve";
    struct digest before = digest_of(t, now);
    struct weir_result want, got;

    want = window_step(&world->limit, &t->key, n, now, max_wait, true,
                       held == NULL ? NULL : &held->model);
    got = held == NULL ? subject_decide(&t->subject, n, now)
                       : subject_reserve(&t->subject, n, now, max_wait, &held->reservation);
    compare(world, t, call, n, now, got, want);
    if (got.verdict != WEIR_ALLOWED || n == 0)
        assert_untouched(world, t, "after a refusal, peek", n, now, &before);
    if (held == NULL)
        return;
    compare_count(world, t, "reserve.n", n, now, held->reservation.n, held->model.n);
    if (held->model.n > 0)
        compare_count(world, t, "reserve.instant", n, now, held->reservation.instant,
                      held->model.instant);
}

static void both_peek(struct world *world, struct twin *t, uint64_t n, weir_ns now)
{
    bool record = t->subject.kind == SUBJECT_CELL; /* a copy of the cell decided */
    model_int longest = world->limit.longest;
    struct window_key copy = t->key;
    struct weir_result want = window_step(&world->limit, &copy, n, now, 0, record, NULL);

    world->limit.longest = longest;
    compare(world, t, "peek", n, now, subject_peek(&t->subject, n, now), want);
}

static void both_cancel(struct world *world, struct twin *t, struct held *held, weir_ns now)
{
    uint64_t n = held->model.n;
    uint64_t want = window_cancel(&world->limit, &t->key, &held->model, now);

    compare_count(world, t, "cancel", n, now, subject_cancel(&t->subject, &held->reservation, now),
                  want);
}

static void both_take(struct world *world, struct twin *t, uint64_t max, weir_ns now)
{
    uint64_t want = window_take(&world->limit, &t->key, max, now);

    compare_count(world, t, "take", max, now,
                  weir_take(world->engine, t->subject.limit, t->subject.key, max, now), want);
}

static void both_charge(struct world *world, struct twin *t, uint64_t n, weir_ns now)
{
    uint64_t want = window_charge(&world->limit, &t->key, n, now);

    compare_count(world, t, "charge", n, now,
                  weir_charge(world->engine, t->subject.limit, t->subject.key, n, now), want);
}

static void both_refund(struct world *world, struct twin *t, uint64_t n, weir_ns now)
{
    uint64_t want = window_refund(&world->limit, &t->key, n, now);

    compare_count(world, t, "refund", n, now,
                  weir_refund(world->engine, t->subject.limit, t->subject.key, n, now), want);
}

static void both_set_balance(struct world *world, struct twin *t, uint64_t tokens, weir_ns now)
{
    window_set_balance(&world->limit, &t->key, tokens, now);
    assert_int_equal(weir_set_balance(world->engine, t->subject.limit, t->subject.key, tokens, now),
                     0);
    both_peek(world, t, 0, now);
}

static void both_forget(struct world *world, struct twin *t, weir_ns now)
{
    window_forget(&t->key);
    assert_int_equal(weir_forget(world->engine, t->subject.limit, t->subject.key), 0);
    both_peek(world, t, 0, now);
}

/* ---- what is asked ------------------------------------------------------------------------ */

/* A count near what there is, and sometimes anything. */
static uint64_t any_count(struct world *world, struct twin *t, struct test_random *random,
                          weir_ns now)
{
    uint64_t limit = world->limit.unlimited ? 1000 : world->limit.limit, left;
    struct window_key copy = t->key;

    switch (random_below(random, 10)) {
    case 0:
        return 0;
    case 1:
        return limit + random_below(random, 3) - (limit > 0);
    case 2:
        return random_magnitude(random, world->limit.unlimited ? 30 : 64);
    case 3:
        return 1 + random_below(random, limit + 1);
    case 4:
        left = window_step(&world->limit, &copy, 0, now, 0, false, NULL).remaining;
        return left == UINT64_MAX ? 1 : left + random_below(random, 2);
    default:
        return 1 + random_below(random, limit / 4 + 1);
    }
}

/* May the newest window of a key be two further on? The model knows no end of a word. */
static bool can_go_ahead(const struct world *world, const struct twin *t, weir_ns now)
{
    model_int lead;

    if (world->limit.unlimited || world->limit.kind == WEIR_CONCURRENCY)
        return true;
    lead = window_lead(&world->limit, &t->key, now) + 2 * (model_int)world->span;
    return lead <= (world->kind == SUBJECT_CELL ? LEAD_MAX : window_half_line(&world->limit));
}

static weir_ns any_max_wait(struct world *world, struct twin *t, struct test_random *random,
                            uint64_t n, weir_ns now)
{
    struct window_key copy = t->key;
    weir_ns wait;

    switch (random_below(random, 6)) {
    case 0:
        return 0;
    case 1:
        return WEIR_FOREVER;
    case 2:
    case 3: /* the hint, which may be a grain short of what is needed */
        wait = window_step(&world->limit, &copy, n, now, 0, false, NULL).wait;
        return wait == 0 ? 0 : wait - random_below(random, 2);
    case 4: /* exactly what is needed */
        wait = window_step(&world->limit, &copy, n, now, WEIR_FOREVER, false, NULL).wait;
        return wait == 0 ? 0 : wait - random_below(random, 2);
    default:
        return random_below(random, 3 * world->span);
    }
}

static void any_reserve(struct world *world, struct twin *t, struct test_random *random,
                        weir_ns now)
{
    uint64_t n = any_count(world, t, random, now);
    weir_ns max_wait = 0;

    if (can_go_ahead(world, t, now))
        max_wait = any_max_wait(world, t, random, n, now);
    both_reserve(world, t, n, now, max_wait, &t->held[random_below(random, HELD)]);
}

static void any_engine_call(struct world *world, struct twin *t, struct test_random *random,
                            weir_ns now)
{
    uint64_t n = any_count(world, t, random, now);

    switch (random_below(random, 5)) {
    case 0:
        if (!world->limit.unlimited || n < 1000000)
            both_take(world, t, n, now);
        break;
    case 1:
        both_refund(world, t, n, now);
        break;
    case 2: /* permits are charged above their limit, but not to the end of the word */
        both_charge(world, t, n % (world->limit.unlimited ? 1000 : world->limit.limit + 3), now);
        break;
    case 3:
        if (random_below(random, 4) == 0 && !world->limit.unlimited)
            both_set_balance(world, t, n, now);
        break;
    default:
        if (random_below(random, 8) == 0)
            both_forget(world, t, now);
    }
}

static void any_call(struct world *world, struct twin *t, struct test_random *random, weir_ns now)
{
    switch (random_below(random, world->kind == SUBJECT_CELL ? 9 : 12)) {
    case 0:
        both_peek(world, t, any_count(world, t, random, now), now);
        break;
    case 1:
    case 2:
        both_cancel(world, t, &t->held[random_below(random, HELD)], now);
        break;
    case 3:
    case 4:
    case 5:
        any_reserve(world, t, random, now);
        break;
    case 6:
    case 7:
    case 8:
        both_reserve(world, t, any_count(world, t, random, now), now, 0, NULL);
        break;
    default:
        any_engine_call(world, t, random, now);
    }
}

/* ---- clocks ------------------------------------------------------------------------------- */

/* Span to an edge of the key's newest window or to the end of a wait, and one more or one less. */
static weir_ns span_to_an_edge(struct world *world, struct twin *t, struct test_random *random)
{
    const struct window_limit *l = &world->limit;
    model_int now = (model_int)world->at + (window_on_wall(l) ? l->wall : 0), edge = now;
    struct window_key copy = t->key;
    weir_ns wait;

    if (l->unlimited || l->kind == WEIR_CONCURRENCY || !t->key.used)
        return random_below(random, 2);
    switch (random_below(random, 3)) {
    case 0:
        edge = window_end(l, t->key.position);
        break;
    case 1:
        edge = window_start(l, t->key.position);
        break;
    default:
        wait = window_step(&world->limit, &copy, 1 + random_below(random, l->limit + 1), world->at,
                           0, false, NULL)
                   .wait;
        edge += wait == WEIR_FOREVER ? 0 : wait;
    }
    edge += (model_int)random_below(random, 3) - 1;
    return edge > now ? (weir_ns)(edge - now) : 0;
}

/* A debt that the later time has paid may be forgotten when an engine's clock goes back. */
static void forget_what_is_paid(struct world *world)
{
    for (size_t i = 0; i < KEYS; i++) {
        struct window_key copy = world->twins[i].key;

        if (window_step(&world->limit, &copy, 0, world->at, 0, false, NULL).reset == 0)
            both_forget(world, &world->twins[i], world->at);
    }
}

/* The clock is set: unix time by up to a year, the caller's clock back by up to ten days. */
static void jump(struct world *world, struct test_random *random)
{
    const weir_ns spans[] = {YEAR,          WEIR_DAY,        10 * WEIR_DAY,
                             3 * WEIR_HOUR, STALE_MAX,       world->span / 2,
                             world->span,   2 * world->span, 61 * WEIR_SECOND};
    weir_ns by = spans[random_below(random, sizeof spans / sizeof spans[0])];
    bool back = random_below(random, 2) == 0;

    world->jumps--;
    by = by > YEAR ? YEAR : by;
    if (window_on_wall(&world->limit) && world->kind == SUBJECT_ENGINE) {
        model_int unix_ns = (model_int)world->at + world->wall;

        back = unix_ns > (model_int)(UNIX_2024 + 4 * YEAR) || back;
        back = unix_ns > (model_int)(UNIX_2024 + YEAR) && back;
        world->wall += back ? -(model_int)by : (model_int)by;
        world->limit.wall = world->wall;
        world->at += 2 * WEIR_SECOND + random_below(random, WEIR_SECOND);
        world->settled = world->at;
        return;
    }
    if (world->kind == SUBJECT_ENGINE && (by <= 2 * STALE_MAX || by > 10 * WEIR_DAY))
        by = 10 * WEIR_DAY; /* a little before its origin an engine's time stands still */
    if (back && by <= world->at - world->first) {
        if (world->kind == SUBJECT_ENGINE)
            forget_what_is_paid(world);
        world->at -= by;
    } else if (!back && world->at < world->last && by <= world->last - world->at) {
        world->at += by;
    }
}

static weir_ns next_now(struct world *world, struct twin *t, struct test_random *random)
{
    weir_ns step = 0, back, floor;

    if (world->jumps > 0 && random_below(random, 100) == 0)
        jump(world, random);
    switch (random_below(random, 16)) {
    case 0:
        if (random_below(random, 4) == 0)
            step = random_magnitude(random, 54);
        break;
    case 1:
        step = random_below(random, 4) * world->span + random_below(random, 2);
        break;
    case 2:
    case 3:
    case 4:
        step = span_to_an_edge(world, t, random);
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        break;
    default:
        step = random_below(random, world->span / 8 + 2);
    }
    if (world->at < world->last && step <= world->last - world->at)
        world->at += step;
    if (random_below(random, 8) != 0)
        return world->at;
    floor = world->first > world->settled ? world->first : world->settled;
    back = random_below(random, 2) == 0 ? random_magnitude(random, 35)
                                        : random_below(random, world->span);
    if (back > STALE_MAX)
        back = STALE_MAX;
    return world->at < floor + back ? world->at : world->at - back;
}

/* ---- worlds ------------------------------------------------------------------------------- */

static weir_ns span_of(const struct weir_policy *policy)
{
    if (policy->kind == WEIR_CONCURRENCY || policy->limit == WEIR_UNLIMITED)
        return WEIR_SECOND;
    if (policy->form != WEIR_FORM_CALENDAR)
        return policy->period;
    if (policy->calendar == WEIR_CALENDAR_MONTH)
        return 31 * WEIR_DAY;
    return policy->calendar == WEIR_CALENDAR_WEEK ? 7 * WEIR_DAY : WEIR_DAY;
}

/* A cell's origin is long before its first `now`, or just there. */
static int open_cell(struct world *world, struct test_random *random)
{
    bool wall = window_on_wall(&world->limit);
    weir_ns start = wall ? UNIX_2024 + 2 * YEAR : 1 + random_magnitude(random, 60);
    weir_ns origin = random_below(random, 2) == 0 ? start : start - random_below(random, start);
    struct twin *t = &world->twins[0];
    int rc;

    start += random_below(random, YEAR);
    if (origin + 5 * YEAR < start)
        origin = start - random_below(random, 5 * YEAR);
    if (wall && origin < UNIX_2024)
        origin = UNIX_2024;
    world->first = origin;
    world->at = start;
    world->last = start + 15 * YEAR;
    world->jumps = UINT32_MAX;
    rc = subject_open(&t->subject, SUBJECT_CELL, &world->policy, origin);
    if (rc == 0)
        window_limit_of_meter(&world->limit, &t->subject.meter);
    return rc;
}

static int open_engine(struct world *world, struct test_random *random)
{
    const struct weir_options options = {.size = sizeof options,
                                         .max_keys = 65536,
                                         .max_limits = 2,
                                         .wall_clock = wall_of,
                                         .wall_context = world};
    model_int room = 12 * (model_int)YEAR;
    int id;

    assert_int_equal(weir_open(&world->engine, &options), 0);
    id = weir_add_limit(world->engine, "limit", &world->policy);
    if (id < 0)
        return id;
    world->first = world->at = random_magnitude(random, 60);
    window_limit_of_engine(&world->limit, &world->policy, world->first, STALE_MAX);
    if (!world->limit.unlimited && world->limit.kind != WEIR_CONCURRENCY &&
        room > 15 * window_half_line(&world->limit))
        room = 15 * window_half_line(&world->limit);
    world->last = world->first + (weir_ns)room;
    world->jumps = 8;
    world->wall =
        (model_int)(UNIX_2024 + 2 * YEAR + random_below(random, YEAR)) - (model_int)world->first;
    world->limit.wall = world->wall;
    for (size_t i = 0; i < KEYS; i++)
        world->twins[i].subject = (struct subject){.kind = SUBJECT_ENGINE,
                                                   .engine = world->engine,
                                                   .limit = id,
                                                   .key = weir_key_u64(world->engine, i)};
    both_reserve(world, &world->twins[0], 0, world->first, 0, NULL); /* sets the origin */
    return 0;
}

/* Calls on one limit, which `seed` says all about. False when its setting cannot be kept. */
static bool one_world(enum window_algorithm algorithm, enum subject_kind kind, uint64_t seed)
{
    struct test_random random = {seed};
    static struct world world;
    struct weir_stats stats = {.size = sizeof stats};
    size_t keys = kind == SUBJECT_CELL ? 1 : KEYS;
    int rc;

    memset(&world, 0, sizeof world);
    world.seed = seed;
    world.kind = kind;
    world.policy = window_any_policy(algorithm, &random);
    world.span = span_of(&world.policy);
    window_limit_of_engine(&world.limit, &world.policy, 0, 0);
    rc = kind == SUBJECT_CELL ? open_cell(&world, &random) : open_engine(&world, &random);
    if (rc != 0 && rc != -ERANGE)
        fail_msg("\"%s\": %d", setting_text(&world), rc);
    for (int i = 0; rc == 0 && i < ROUND; i++) {
        struct twin *t = &world.twins[random_below(&random, keys)];

        any_call(&world, t, &random, next_now(&world, t, &random));
    }
    if (kind == SUBJECT_ENGINE) {
        assert_int_equal(weir_stats(world.engine, &stats), 0);
        assert_int_equal(stats.overflow + stats.growths + stats.compactions, 0);
        weir_close(world.engine);
    }
    return rc == 0;
}

/* ---- crowds ------------------------------------------------------------------------------- */

/* Thousands of keys under one limit, which come and go on a clock that only goes on: the table is
   replaced again and again and leaves behind who is idle, which changes no answer. */
static void one_crowd(enum window_algorithm algorithm, uint64_t seed, uint64_t calls)
{
    static struct twin crowd[CROWD];
    static struct world world;
    struct test_random random = {seed};
    struct weir_stats stats = {.size = sizeof stats};
    uint64_t names = KEYS;

    do {
        weir_close(world.engine);
        memset(&world, 0, sizeof world);
        world.seed = seed;
        world.kind = SUBJECT_ENGINE;
        world.policy = window_any_policy(algorithm, &random);
        world.span = span_of(&world.policy);
    } while (world.policy.limit == 0 || open_engine(&world, &random) != 0);
    for (size_t i = 0; i < CROWD; i++)
        crowd[i] = world.twins[0];
    for (uint64_t i = 0; i < calls; i++) {
        struct twin *t = &crowd[random_below(&random, CROWD)];

        if (i < CROWD || random_below(&random, 4) == 0) { /* another takes its place */
            if (algorithm == WINDOW_PERMITS && t->key.count > 0)
                both_refund(&world, t, UINT64_MAX, world.at);
            t = &crowd[i < CROWD ? i : random_below(&random, CROWD)];
            if (algorithm == WINDOW_PERMITS && t->key.count > 0)
                both_refund(&world, t, UINT64_MAX, world.at);
            memset(&t->key, 0, sizeof t->key);
            memset(t->held, 0, sizeof t->held);
            t->subject.key = weir_key_u64(world.engine, names++);
        }
        any_call(&world, t, &random, world.at);
        if (world.at < world.last)
            world.at += random_below(&random, 3 * (world.span / CROWD) + 2);
    }
    assert_int_equal(weir_stats(world.engine, &stats), 0);
    assert_int_equal(stats.overflow, 0);
    assert_true(stats.growths > 0);
    if (calls > 10 * CROWD && !world.limit.unlimited)
        assert_true(stats.compactions > 0 && stats.dropped > 0);
    weir_close(world.engine);
    world.engine = NULL;
}

static void what_is_forgotten_changes_no_answer(void **state)
{
    struct test_random random = random_start("crowds", 20261101);
    uint64_t calls = random_scaled(CALLS / 4);

    (void)state;
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_PERMITS; i++)
        one_crowd((enum window_algorithm)i, random_u64(&random), calls);
}

/* ---- the tests ---------------------------------------------------------------------------- */

static void equals_the_model(enum window_algorithm algorithm, const char *name)
{
    struct test_random random = random_start(name, 20260308 + (uint64_t)algorithm);
    uint64_t rounds = random_scaled(CALLS) / ROUND / 2 + 1, refused = 0;
    const char *one = getenv("WEIR_TEST_WORLD"); /* a seed that a failure has named */

    if (one != NULL) {
        (void)one_world(algorithm, SUBJECT_CELL, strtoull(one, NULL, 0));
        (void)one_world(algorithm, SUBJECT_ENGINE, strtoull(one, NULL, 0));
        return;
    }
    for (uint64_t i = 0; i < rounds; i++) {
        while (!one_world(algorithm, SUBJECT_CELL, random_u64(&random)))
            refused++;
        while (!one_world(algorithm, SUBJECT_ENGINE, random_u64(&random)))
            refused++;
    }
    printf("# %s: %llu settings cannot be kept\n", name, (ull)refused);
    if (algorithm != WINDOW_SLIDING && algorithm != WINDOW_ALIGNED)
        assert_int_equal(refused, 0);
}

static void windows_from_the_first_hit_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(WINDOW_FIRST_HIT, "first hit");
}

static void aligned_windows_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(WINDOW_ALIGNED, "aligned");
}

static void calendar_windows_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(WINDOW_CALENDAR, "calendar");
}

static void sliding_windows_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(WINDOW_SLIDING, "sliding");
}

static void permits_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(WINDOW_PERMITS, "permits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_from_the_first_hit_equal_the_model),
        cmocka_unit_test(aligned_windows_equal_the_model),
        cmocka_unit_test(calendar_windows_equal_the_model),
        cmocka_unit_test(sliding_windows_equal_the_model),
        cmocka_unit_test(permits_equal_the_model),
        cmocka_unit_test(what_is_forgotten_changes_no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
