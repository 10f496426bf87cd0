/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: a policy and a list of calls on one key of an engine, each answered by the
 * sequential models of tests/model too. Every field of every answer is equal.
 *
 *   byte 0      algorithm        then four bytes a call: which one, n, a step of time, a max wait
 *   bytes 1-3   limit, period, burst
 *
 * Time goes forward by up to two hours at a step, and back by less than stale_max. A change of
 * settings is modelled of buckets only.
 */
#include "compare.h"
#include "rules.h"

#include <weir/weir.h>

#include <stdlib.h>
#include <string.h>

#define FIRST     (10000 * WEIR_HOUR)
#define UNIX      (1700000000 * WEIR_SECOND)
#define STALE_MAX (60 * WEIR_SECOND)
#define CALLS_MAX 200
#define HELD      4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUCKET, FIRST_HIT, ALIGNED, CALENDAR, SLIDING, PERMITS, ALGORITHMS };

struct held {
    struct weir_reservation reservation;
    struct hold model;
};

struct world {
    struct weir *w;
    int limit;
    weir_key key;
    struct rules rules;
    struct state state;
    struct held held[HELD];
    weir_ns newest, changed;
};

static weir_ns wall_clock(void *context, weir_ns now)
{
    (void)context;
    return now + UNIX - FIRST;
}

static const weir_ns periods[] = {
    WEIR_MILLISECOND, 1000001,         10 * WEIR_MILLISECOND, 333333333,
    WEIR_SECOND,      7 * WEIR_SECOND, WEIR_MINUTE,
};
static const char *const zones[] = {"UTC", "Asia/Kuala_Lumpur", "America/New_York"};

static struct weir_policy policy_of(unsigned algorithm, const uint8_t *data)
{
    uint64_t limit = data[0];
    weir_ns period = periods[data[1] % (sizeof periods / sizeof periods[0])];
    struct weir_policy policy;

    switch (algorithm) {
    case FIRST_HIT:
        return weir_fixed_window(limit, period);
    case ALIGNED:
        return weir_aligned_window(limit, period, (int64_t)data[2] * 1200 - 86400);
    case CALENDAR:
        return weir_calendar_window(limit, (enum weir_calendar)(1 + data[1] % 3),
                                    zones[data[2] % 3]);
    case SLIDING:
        return weir_sliding_window(limit, period);
    case PERMITS:
        return weir_concurrency(limit == 255 ? WEIR_UNLIMITED : limit);
    default:
        policy = weir_token_bucket(limit == 255 ? WEIR_UNLIMITED : limit, period, data[2]);
        if (data[1] >= 128 && policy.limit != WEIR_UNLIMITED)
            policy.tick = periods[data[1] % 5];
        return policy;
    }
}

static bool world_open(struct world *world, const uint8_t *data)
{
    static const uint8_t secret[192] = {1};
    struct weir_options options;
    struct weir_policy policy;

    memset(world, 0, sizeof *world);
    memset(&options, 0, sizeof options);
    options.max_keys = 64;
    options.max_limits = 2;
    options.wall_clock = wall_clock;
    options.secret = secret;
    check(weir_open(&world->w, &options) == 0);
    policy = policy_of(data[0] % ALGORITHMS, data + 1);
    world->limit = weir_add_limit(world->w, "limit", &policy);
    if (world->limit < 0) /* too much for a word, or no tz database */
        return false;
    world->key = weir_key_u64(world->w, 1);
    world->newest = FIRST;
    rules_of_engine(&world->rules, &policy, STALE_MAX);
    rules_anchor(&world->rules, FIRST);
    world->rules.windows.wall = (model_int)UNIX - (model_int)FIRST;
    /* The first instant that the limit sees. */
    check(weir_take(world->w, world->limit, world->key, 0, FIRST) == 0);
    return weir_decide(world->w, world->limit, world->key, 0, FIRST).verdict == WEIR_ALLOWED;
}

static void reserve(struct world *world, struct held *held, uint64_t n, weir_ns now,
                    weir_ns max_wait)
{
    struct weir_result got =
        weir_reserve(world->w, world->limit, world->key, n, now, max_wait, &held->reservation);

    compare(got, rules_step(&world->rules, &world->state, n, now, max_wait, true, &held->model));
}

static void cancel(struct world *world, struct held *held, weir_ns now)
{
    if (hold_is_paid_early(&world->rules, &held->model, now))
        return;
    compare_count(weir_cancel(world->w, &held->reservation, now),
                  rules_cancel(&world->rules, &world->state, &held->model, now));
}

static void peek(struct world *world, uint64_t n, weir_ns now)
{
    compare(weir_peek(world->w, world->limit, world->key, n, now),
            rules_step(&world->rules, &world->state, n, now, 0, false, NULL));
}

/* Another burst and another limit from `now` on. */
static void change(struct world *world, uint64_t n, weir_ns now)
{
    struct rules from = world->rules;
    struct weir_policy policy = from.policy;

    if (!rules_is_bucket(&from) || policy.limit == WEIR_UNLIMITED || now < world->newest)
        return;
    policy.burst = n / 2;
    policy.limit = 1 + n % 7;
    check(weir_set_limit(world->w, world->limit, &policy, now) == 0);
    if (rules_same_policy(&policy, &from.policy))
        return;
    rules_after(&world->rules, &policy, &from, now);
    state_change(&from, &world->state, &world->rules, now);
    for (size_t i = 0; i < HELD; i++)
        hold_change(&from, &world->held[i].model, &world->rules, now);
    world->changed = now;
}

static void call(struct world *world, const uint8_t *data)
{
    static const weir_ns waits[] = {0, WEIR_MILLISECOND, WEIR_SECOND, WEIR_MINUTE, WEIR_FOREVER};
    struct held *held = &world->held[data[0] / 16 % HELD];
    uint64_t n = data[1];
    weir_ns step = (weir_ns)(1 + data[2] % 16) << (data[2] / 16 * 2 + 9);
    weir_ns now = world->newest + (data[2] % 16 == 0 ? 0 : step);
    weir_ns earliest = world->changed > FIRST ? world->changed : FIRST;

    if (data[3] >= 192) { /* a clock that is behind */
        weir_ns back = step % (50 * WEIR_SECOND);
        now = world->newest - earliest > back ? world->newest - back : earliest;
    }
    switch (data[0] % 12) {
    case 0:
        cancel(world, held, now);
        break;
    case 1:
        compare_count(weir_refund(world->w, world->limit, world->key, n, now),
                      rules_refund(&world->rules, &world->state, n, now));
        break;
    case 2:
        compare_count(weir_take(world->w, world->limit, world->key, n, now),
                      rules_take(&world->rules, &world->state, n, now));
        break;
    case 3:
        compare_count(weir_charge(world->w, world->limit, world->key, n, now),
                      rules_charge(&world->rules, &world->state, n, now));
        break;
    case 4:
        check(weir_set_balance(world->w, world->limit, world->key, n, now) == 0);
        rules_set_balance(&world->rules, &world->state, n, now);
        break;
    case 5:
        check(weir_forget(world->w, world->limit, world->key) == 0);
        world->state = (struct state){0};
        break;
    case 6:
        peek(world, n, now);
        return; /* shows the limit no instant */
    case 7:
        change(world, n, now);
        break;
    default:
        reserve(world, held, n, now, waits[data[3] % 5]);
        break;
    }
    if (now > world->newest)
        world->newest = now;
    peek(world, 1, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;

    if (size < 8)
        return 0;
    if (world_open(&world, data)) {
        for (size_t at = 4, calls = 0; at + 4 <= size && calls < CALLS_MAX; at += 4, calls++)
            call(&world, data + at);
    }
    weir_close(world.w);
    return 0;
}
