/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: calls on many keys and several limits of all algorithms in one engine, each answered
 * by a map of sequential models too (engine_world.h).
 *
 *   head, 12 bytes   max_keys, when_full, 2 unused; the policies of two limits
 *   8 bytes a call   which one; limit; key; n; two bytes of time; two of anything else
 *
 * So few keys are held that one input fills the table, makes it grow and compact, and meets
 * when_full. Allocations fail, readers hold on to what is retired, clocks step, limits change.
 */
#include "engine_inside.h"
#include "one_thread.h"
#include "records.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD      12
#define RECORD    8
#define CALLS_MAX 300
#define WORK_MAX  3000 /* keys asked about by all calls */
#define NEAR_KEYS 64   /* those that a call names; the others come in crowds */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

RECORDS_DEFINE(HEAD, RECORD)

enum call {
    DECIDE = 0,
    RESERVE = 16,
    CANCEL = 24,
    TAKE = 29,
    CHARGE = 32,
    REFUND = 35,
    SET_BALANCE = 38,
    FORGET = 40,
    PEEK = 42,
    CHANGE = 45,
    ADD = 49,
    REMOVE = 50,
    ALL = 51,
    BATCH = 53,
    TRIM = 55,
    CROWD = 56,
    FAIL = 58,
    ACQUIRE = 59,
    RELEASE = 60,
    SET_BACK = 61,
    SET_WALL = 62,
    HOLD_ON = 63,
    FROM_BEHIND = 64,
    CALLS = 66
};

static struct world world;
static unsigned work;    /* of the input so far */
static unsigned failing; /* calls for which allocations still fail */

/* ---- what bytes stand for ----------------------------------------------------------------- */

/* Where there is no database there is UTC. */
static const char *zone_of(uint8_t byte)
{
    static const char *const names[] = {"UTC", "Asia/Kuala_Lumpur", "America/New_York"};
    const struct weir_zone *zone;

    return weir_zone_find(names[byte % 3], &zone) == 0 ? names[byte % 3] : names[0];
}

static struct weir_policy policy_of(const uint8_t data[4])
{
    static const weir_ns periods[] = {
        WEIR_MILLISECOND, WEIR_MILLISECOND + 1, 10 * WEIR_MILLISECOND, 333333333,
        WEIR_SECOND,      7 * WEIR_SECOND,      WEIR_MINUTE,           WEIR_HOUR,
        WEIR_DAY,         30 * WEIR_DAY,        366 * WEIR_DAY};
    static const uint64_t limits[] = {0,   1,   2,    3,     5,       7,       10,
                                      100, 127, 1000, 65535, 1000000, 16777215};
    uint64_t limit = limits[data[1] % 13];
    weir_ns period = periods[data[2] % 11];
    struct weir_policy policy;

    if (data[1] >= 250)
        limit = WEIR_UNLIMITED;
    switch (data[0] % 7) {
    case 0:
        return weir_fixed_window(limit, period);
    case 1:
        return weir_aligned_window(limit, period, (int64_t)data[3] * 675 - 86400);
    case 2:
        return weir_calendar_window(limit, (enum weir_calendar)(1 + data[2] % 3), zone_of(data[3]));
    case 3:
        return weir_sliding_window(limit, period);
    case 4:
        return weir_concurrency(limit);
    default:
        policy = weir_token_bucket(limit, period, data[3]);
        if (data[2] >= 128 && limit != WEIR_UNLIMITED)
            policy.tick = periods[data[2] / 11 % 6];
        if (data[3] >= 240)
            policy.burst = (uint64_t)1 << (data[3] - 220);
        return policy;
    }
}

static uint64_t count_of(unsigned limit, unsigned key, uint8_t byte)
{
    const struct rules *rules = &world.limits[limit].rules;
    uint64_t most = most_of(rules), v = byte / 8;

    switch (byte % 8) {
    case 0:
        return v;
    case 1:
        return most + v % 3 - (most != 0);
    case 2:
        return 1 + most / 32 * v;
    case 3: {
        struct rules same = *rules;

        rules_anchor(&same, world.at);
        uint64_t left = rules_ask(&same, state_of(&world, limit, key), 0, world.at, 0).remaining;

        return left == UINT64_MAX ? 1 : left + v % 2;
    }
    case 4:
        return rules->policy.limit == WEIR_UNLIMITED ? v << 20 : UINT64_MAX >> 2 * v;
    default:
        return 1 + v % (most / 4 + 1);
    }
}

static weir_ns wait_of(unsigned limit, unsigned key, uint64_t n, weir_ns now, const uint8_t *data)
{
    const struct state *state = state_of(&world, limit, key);
    struct rules rules = world.limits[limit].rules;
    weir_ns wait;

    if (!can_go_ahead(&world, limit, key, n, now))
        return 0;
    rules_anchor(&rules, now);
    switch (data[6] % 6) {
    case 0:
        return 0;
    case 1:
        return WEIR_FOREVER;
    case 2: /* the hint, which may be a grain short of what is needed */
        wait = rules_ask(&rules, state, n, now, 0).wait;
        break;
    case 3:
    case 4: /* exactly what is needed */
        wait = rules_ask(&rules, state, n, now, WEIR_FOREVER).wait;
        break;
    default:
        return span_of(&rules.policy) / 16 * data[7];
    }
    return wait == 0 ? 0 : wait - data[7] % 2;
}

static weir_ns power_of(uint8_t byte, unsigned least)
{
    return (weir_ns)(1 + byte % 16) << (byte / 16 * 2 + least);
}

/* To a ns before, at or after the instant at which an answer changes. */
static weir_ns edge_of(unsigned limit, unsigned key, const uint8_t *data)
{
    const struct limit *l = &world.limits[limit];
    struct rules rules = l->rules;
    struct weir_result r;
    weir_ns edge;

    rules_anchor(&rules, world.at);
    r = rules_ask(&rules, state_of(&world, limit, key), count_of(limit, key, data[3]), world.at, 0);
    edge = data[5] / 3 % 2 == 0 ? r.wait : r.reset;
    return edge == 0 || edge > 3650 * WEIR_DAY ? 0 : edge + data[5] % 3 - 1;
}

/* Lets time pass, and tells what the clock of the call says. */
static weir_ns now_of(unsigned limit, unsigned key, const uint8_t *data)
{
    weir_ns step = 0, back;

    if (data[4] == 255)
        step = data[5] * 20 * WEIR_DAY;
    else if (data[4] % 8 == 4)
        step = power_of(data[5], 9);
    else if (data[4] % 8 == 5)
        step = span_of(&world.limits[limit].rules.policy) / 32 * data[5];
    else if (data[4] % 8 == 6)
        step = edge_of(limit, key, data);
    if (step != 0 && failing == 0)
        world_forward(&world, step);
    back = power_of(data[5], 5) % STALE_MAX;
    if (data[4] % 8 != 7 || world.at < world.settled + back ||
        (world.at >= world.horizon && world.at < world.horizon + back))
        return world.at;
    return world.at - back;
}

/* ---- calls -------------------------------------------------------------------------------- */

static void change_limits(enum call call, unsigned limit, const uint8_t *data)
{
    struct weir_policy policy = policy_of(data + 2);
    char name[8];

    if (call == ADD) {
        snprintf(name, sizeof name, "%d", data[6] % 7);
        both_add(&world, name, &policy);
    } else if (call == REMOVE) {
        both_remove(&world, limit);
    } else {
        struct weir_policy other = world.limits[limit].rules.policy;

        /* one field, all, or the kind too */
        if (data[7] % 4 == 0 && other.limit != WEIR_UNLIMITED && policy.limit != WEIR_UNLIMITED)
            other.limit = policy.limit;
        else if (data[7] % 4 == 1 && other.kind == WEIR_TOKEN_BUCKET)
            other.burst = data[5];
        else if (data[7] % 4 != 2 || other.kind == policy.kind)
            other = policy;
        both_change(&world, limit, &other);
    }
}

static size_t requests_of(const uint8_t *data, size_t count, struct request *requests)
{
    for (size_t i = 0; i < count; i++) {
        unsigned limit = (data[1] + (unsigned)i * (data[6] % 8)) %
                         (data[6] > 200 ? WORLD_LIMITS + 1 : WORLD_LIMITS);
        unsigned key = (data[2] + (unsigned)i * (data[7] % 7)) % NEAR_KEYS;

        requests[i] = (struct request){limit, key, (data[5] + i * data[7]) % (1 + data[6] % 9)};
    }
    return count;
}

static void call_all(const uint8_t *data, weir_ns now)
{
    struct request requests[WEIR_ALL_MAX];
    size_t count = requests_of(data, data[3] % 12, requests);
    weir_ns max_wait = data[7] / 8 % 2 == 0 ? 0 : power_of(data[5], 10);

    for (size_t i = 0; i < count && max_wait != 0; i++)
        if (requests[i].limit < WORLD_LIMITS && world.limits[requests[i].limit].open &&
            !can_go_ahead(&world, requests[i].limit, requests[i].key, requests[i].n * count, now))
            max_wait = 0;
    both_all(&world, requests, count, now, max_wait);
    work += (unsigned)count * 4;
}

static void call_batch(const uint8_t *data, weir_ns now)
{
    struct request requests[256];
    size_t count = requests_of(data, data[3], requests);

    both_batch(&world, requests, count, now);
    work += (unsigned)count;
}

static void call_crowd(unsigned limit, const uint8_t *data, weir_ns now)
{
    unsigned first = data[2] * 4U + data[7] * 64U;

    for (unsigned i = 0; i <= data[3]; i++, work++) {
        unsigned key = NEAR_KEYS + (first + i) % (WORLD_KEYS - NEAR_KEYS);

        both_reserve(&world, limit, key, data[6] % 4, now, 0, NULL);
    }
}

/* Without memory for an origin time stands still for a limit, and a model's does not: all limits
   get theirs first. */
static void start_failing(const uint8_t *data)
{
    for (unsigned i = 0; failing == 0 && i < WORLD_LIMITS; i++)
        if (world.limits[i].open)
            both_reserve(&world, i, 0, 0, world.at, 0, NULL);
    one_thread_fail_from(data[3] % 8);
    weir_store_relaxed(&world.w->table.arena.allowance, data[6] % 4);
    failing = 1 + data[7] % 16;
    world.poor = true;
}

static void fail_less(void)
{
    if (failing == 0 || --failing != 0)
        return;
    one_thread_fail_no_more();
    weir_store_relaxed(&world.w->table.arena.allowance, UINT64_MAX);
}

/* A `now` before that of the last grant to a key that was left behind since; if there is none, any
   that is behind. */
static weir_ns behind_of(unsigned limit, unsigned *key, const uint8_t *data)
{
    const struct limit *l = &world.limits[limit];
    weir_ns back = power_of(data[5], 5) % STALE_MAX;

    for (size_t i = 0; i < l->key_count; i++) {
        unsigned other = l->keys[(i + data[2]) % l->key_count];
        weir_ns granted = l->known[other].granted;

        if (granted == 0 || world.at - granted >= STALE_MAX || has_place(&world, limit, other))
            continue;
        *key = other;
        return granted - back % (STALE_MAX - (world.at - granted));
    }
    return world.at - back;
}

/* On one key of one limit. */
static void call_key(enum call call, unsigned limit, unsigned key, const uint8_t *data, weir_ns now)
{
    struct held *held = &world.held[data[7] / 2 % WORLD_HELD];
    struct held_permit *permit = &world.permits[data[7] / 2 % WORLD_HELD];
    const struct rules *rules = &world.limits[limit].rules;
    uint64_t n = count_of(limit, key, data[3]);
    bool endless = rules->policy.limit == WEIR_UNLIMITED;

    switch (call) {
    case RESERVE:
        both_reserve(&world, limit, key, n, now, wait_of(limit, key, n, now, data), held);
        break;
    case CANCEL:
        both_cancel(&world, held, now);
        break;
    case TAKE:
        both_take(&world, limit, key, endless ? n % 1000000 : n, now);
        break;
    case CHARGE:
        n %= most_of(rules) + 3;
        if (!rules_is_bucket(rules) || can_go_ahead(&world, limit, key, n, now))
            both_charge(&world, limit, key, n, now);
        break;
    case REFUND:
        both_refund(&world, limit, key, n, now);
        break;
    case SET_BALANCE:
        if (!endless)
            both_set_balance(&world, limit, key, n, now);
        break;
    case FORGET:
        both_forget(&world, limit, key);
        break;
    case PEEK:
        both_peek(&world, limit, key, n, now);
        break;
    case ACQUIRE:
        if (permit->permit.n == 0)
            both_acquire(&world, limit, key, n, permit);
        break;
    case FROM_BEHIND:
        n %= most_of(rules) + 3;
        now = behind_of(limit, &key, data);
        if (can_go_ahead(&world, limit, key, n, world.at))
            call_from_behind(&world, limit, key, n, now, power_of(data[6], 9));
        break;
    default:
        both_reserve(&world, limit, key, n, now, 0, NULL);
    }
    both_peek(&world, limit, key, 1, world.at);
}

static enum call call_of(uint8_t byte)
{
    static const enum call calls[] = {DECIDE,      RESERVE,  CANCEL,   TAKE,    CHARGE,     REFUND,
                                      SET_BALANCE, FORGET,   PEEK,     CHANGE,  ADD,        REMOVE,
                                      ALL,         BATCH,    TRIM,     CROWD,   FAIL,       ACQUIRE,
                                      RELEASE,     SET_BACK, SET_WALL, HOLD_ON, FROM_BEHIND};
    unsigned last = sizeof calls / sizeof calls[0] - 1;

    while (last > 0 && byte % CALLS < (unsigned)calls[last])
        last--;
    return calls[last];
}

static void call(const uint8_t *data)
{
    enum call which = call_of(data[0]);
    unsigned limit = data[1] % WORLD_LIMITS, key = data[2] % NEAR_KEYS;
    weir_ns now;

    if (which == ADD) {
        change_limits(which, limit, data);
        return;
    }
    for (unsigned i = 0; i < WORLD_LIMITS && !world.limits[limit].open; i++)
        limit = (limit + 1) % WORLD_LIMITS;
    if (!world.limits[limit].open)
        return;
    now = now_of(limit, key, data);
    switch (which) {
    case CHANGE:
    case REMOVE:
        change_limits(which, limit, data);
        break;
    case ALL:
        call_all(data, now);
        break;
    case BATCH:
        call_batch(data, now);
        break;
    case TRIM:
        both_trim(&world);
        break;
    case CROWD:
        call_crowd(limit, data, now);
        break;
    case FAIL:
        start_failing(data);
        break;
    case RELEASE:
        both_release(&world, &world.permits[data[7] / 2 % WORLD_HELD]);
        break;
    case SET_BACK:
        (void)world_set_back(&world, (1 + data[3]) * WEIR_DAY);
        break;
    case SET_WALL:
        if (failing == 0)
            world_set_wall(&world, ((int64_t)data[3] - 128) * ((int64_t)1 << data[7] % 48));
        break;
    case HOLD_ON:
        world.behind = !world.behind;
        break;
    default:
        call_key(which, limit, key, data, now);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t max_keys[] = {1, 4, 16, 60, 100, 250, 700, 3000};
    struct weir_policy policy;
    unsigned calls = 0;

    if (size < HEAD)
        return 0;
    world_open(&world, max_keys[data[0] % 8], (enum weir_when_full)(data[1] % 3));
    work = failing = 0;
    for (unsigned i = 0; i < 2; i++) {
        policy = policy_of(data + 4 + 4 * i);
        both_add(&world, i == 0 ? "0" : "1", &policy);
    }
    for (size_t at = HEAD; at + RECORD <= size && calls < CALLS_MAX && work < WORK_MAX;
         at += RECORD, calls++) {
        call(data + at);
        fail_less();
    }
    failing = failing != 0;
    fail_less();
    world_check(&world);
    world_close(&world);
    return 0;
}
