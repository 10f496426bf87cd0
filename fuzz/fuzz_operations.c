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
#include "bucket_model.h"
#include "window_model.h"

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
    struct model_reservation of_bucket;
    struct window_reservation of_window;
};

struct world {
    struct weir *w;
    int limit;
    weir_key key;
    struct weir_policy policy;
    bool bucket;
    struct model_line line;
    struct model_key of_bucket;
    struct window_limit windows;
    struct window_key of_window;
    struct held held[HELD];
    weir_ns newest, changed;
};

static void check(bool holds)
{
    if (!holds)
        abort();
}

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

static void set_line(struct world *world, weir_ns now)
{
    struct model_form form;

    check(model_form_init(&form, &world->policy) == 0);
    model_line_init(&world->line, &form, (model_int)now - (model_int)STALE_MAX);
}

static bool world_open(struct world *world, const uint8_t *data)
{
    static const uint8_t secret[192] = {1};
    struct weir_options options;
    unsigned algorithm = data[0] % ALGORITHMS;

    memset(world, 0, sizeof *world);
    memset(&options, 0, sizeof options);
    options.max_keys = 64;
    options.max_limits = 2;
    options.wall_clock = wall_clock;
    options.secret = secret;
    world->bucket = algorithm == BUCKET;
    world->policy = policy_of(algorithm, data + 1);
    check(weir_open(&world->w, &options) == 0);
    world->limit = weir_add_limit(world->w, "limit", &world->policy);
    if (world->limit < 0) /* too much for a word, or no tz database */
        return false;
    world->key = weir_key_u64(world->w, 1);
    world->newest = FIRST;
    if (world->bucket)
        set_line(world, FIRST);
    else
        window_limit_of_engine(&world->windows, &world->policy, FIRST, STALE_MAX);
    world->windows.wall = (model_int)UNIX - (model_int)FIRST;
    /* The first instant that the limit sees. */
    check(weir_take(world->w, world->limit, world->key, 0, FIRST) == 0);
    return weir_decide(world->w, world->limit, world->key, 0, FIRST).verdict == WEIR_ALLOWED;
}

static void compare(struct weir_result got, struct weir_result want)
{
    check(got.verdict == want.verdict);
    check(got.wait == want.wait);
    check(got.remaining == want.remaining);
    check(got.reset == want.reset);
}

static void reserve(struct world *world, struct held *held, uint64_t n, weir_ns now,
                    weir_ns max_wait)
{
    struct weir_result got =
        weir_reserve(world->w, world->limit, world->key, n, now, max_wait, &held->reservation);

    compare(got, world->bucket ? model_step(&world->line, &world->of_bucket, n, now, max_wait, true,
                                            &held->of_bucket)
                               : window_step(&world->windows, &world->of_window, n, now, max_wait,
                                             true, &held->of_window));
}

/* Of a bucket that became faster a reservation may be paid before its instant: what has been
   reserved after it is then not known to the model. */
static bool is_paid_early(const struct world *world, const struct held *held, weir_ns now)
{
    return world->bucket && held->of_bucket.instant >= now &&
           held->of_bucket.slot < model_v(&world->line, now);
}

static void cancel(struct world *world, struct held *held, weir_ns now)
{
    if (is_paid_early(world, held, now))
        return;
    uint64_t got = weir_cancel(world->w, &held->reservation, now);

    check(got == (world->bucket
                      ? model_cancel(&world->line, &world->of_bucket, &held->of_bucket, now)
                      : window_cancel(&world->windows, &world->of_window, &held->of_window, now)));
}

static void peek(struct world *world, uint64_t n, weir_ns now)
{
    compare(weir_peek(world->w, world->limit, world->key, n, now),
            world->bucket
                ? model_step(&world->line, &world->of_bucket, n, now, 0, false, NULL)
                : window_step(&world->windows, &world->of_window, n, now, 0, false, NULL));
}

/* Another burst and another limit from `now` on. */
static void change(struct world *world, uint64_t n, weir_ns now)
{
    struct model_line from = world->line;
    struct weir_policy before = world->policy;

    if (!world->bucket || before.limit == WEIR_UNLIMITED || now < world->newest)
        return;
    world->policy.burst = n / 2;
    world->policy.limit = 1 + n % 7;
    check(weir_set_limit(world->w, world->limit, &world->policy, now) == 0);
    if (before.burst == world->policy.burst && before.limit == world->policy.limit)
        return;
    set_line(world, now);
    model_change(&from, &world->of_bucket, &world->line, now);
    for (size_t i = 0; i < HELD; i++)
        model_change_reservation(&from, &world->held[i].of_bucket, &world->line, now);
    world->changed = now;
}

static void call(struct world *world, const uint8_t *data)
{
    static const weir_ns waits[] = {0, WEIR_MILLISECOND, WEIR_SECOND, WEIR_MINUTE, WEIR_FOREVER};
    struct held *held = &world->held[data[0] / 16 % HELD];
    bool bucket = world->bucket;
    uint64_t n = data[1];
    weir_ns step = (weir_ns)(1 + data[2] % 16) << (data[2] / 16 * 2 + 9);
    weir_ns now = world->newest + (data[2] % 16 == 0 ? 0 : step);
    weir_ns earliest = world->changed > FIRST ? world->changed : FIRST;
    uint64_t got;

    if (data[3] >= 192) { /* a clock that is behind */
        weir_ns back = step % (50 * WEIR_SECOND);
        now = world->newest - earliest > back ? world->newest - back : earliest;
    }
    switch (data[0] % 12) {
    case 0:
        cancel(world, held, now);
        break;
    case 1:
        got = weir_refund(world->w, world->limit, world->key, n, now);
        check(got == (bucket ? model_refund(&world->line, &world->of_bucket, n, now)
                             : window_refund(&world->windows, &world->of_window, n, now)));
        break;
    case 2:
        got = weir_take(world->w, world->limit, world->key, n, now);
        check(got == (bucket ? model_take(&world->line, &world->of_bucket, n, now)
                             : window_take(&world->windows, &world->of_window, n, now)));
        break;
    case 3:
        got = weir_charge(world->w, world->limit, world->key, n, now);
        check(got == (bucket ? model_charge(&world->line, &world->of_bucket, n, now)
                             : window_charge(&world->windows, &world->of_window, n, now)));
        break;
    case 4:
        check(weir_set_balance(world->w, world->limit, world->key, n, now) == 0);
        if (bucket)
            model_set_balance(&world->line, &world->of_bucket, n, now);
        else
            window_set_balance(&world->windows, &world->of_window, n, now);
        break;
    case 5:
        check(weir_forget(world->w, world->limit, world->key) == 0);
        if (bucket)
            model_forget(&world->of_bucket);
        else
            window_forget(&world->of_window);
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
