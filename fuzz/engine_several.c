/* SPDX-License-Identifier: MIT */
/* Calls on several keys, by an engine and by its models; see engine_world.h. */
#include "engine_inside.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- several keys ------------------------------------------------------------------------- */

static bool all_are_placed(const struct world *world, const struct request *requests, size_t count)
{
    uint64_t error;

    if (!may_be_full(world) &&
        keys_of(world, &error) + count < world->options.max_keys - world->options.max_keys / 16)
        return true;
    for (size_t i = 0; i < count; i++)
        if (requests[i].limit < WORLD_LIMITS && world->limits[requests[i].limit].open &&
            !has_place(world, requests[i].limit, requests[i].key))
            return false;
    return true;
}

/* After a call that the models know nothing of. */
static void start_anew(struct world *world, const struct request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned limit = requests[i].limit;
        struct limit *l;

        if (limit >= WORLD_LIMITS || !world->limits[limit].open)
            continue;
        l = &world->limits[limit];
        both_forget(world, limit, requests[i].key);
        weir_store_relaxed(&world->w->limits[limit].overflow, 0);
        l->overflow = (struct state){0};
        check(weir_limit_stats(world->w, (int)limit, &l->counts) == 0);
        if (l->rules.windows.longest < (model_int)weir_load_relaxed(&world->w->limits[limit].reach))
            l->rules.windows.longest = (model_int)weir_load_relaxed(&world->w->limits[limit].reach);
        for (size_t h = 0; h < WORLD_HELD; h++)
            if (world->held[h].limit == limit)
                world->held[h] = (struct held){0};
    }
}

#define REQUESTS_MAX 256

static void make_requests(const struct world *world, const struct request *from, size_t count,
                          struct weir_request *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (struct weir_request){(int)from[i].limit, world->names[from[i].key], from[i].n};
}

static bool is_open(const struct world *world, unsigned limit)
{
    return limit < WORLD_LIMITS && world->limits[limit].open;
}

static void begin_all(struct world *world, const struct request *requests, size_t count,
                      weir_ns now)
{
    for (size_t i = 0; i < count; i++)
        if (is_open(world, requests[i].limit)) {
            /* a call for all that was refused is no first call, and has asked no clock */
            if (settings_of(world, requests[i].limit)->generation != 0)
                begin(world, requests[i].limit, now);
            if (weir_load_relaxed(&world->w->wall_told) == now)
                ask_clock(world, requests[i].limit, now);
        }
}

void both_batch(struct world *world, const struct request *requests, size_t count, weir_ns now)
{
    trace(world, "batch", count != 0 ? requests->limit : 0, 0, count, now);
    struct weir_request asked[REQUESTS_MAX];
    struct weir_result got[REQUESTS_MAX];
    bool placed = all_are_placed(world, requests, count);

    make_requests(world, requests, count, asked);
    weir_decide_batch(world->w, asked, got, count, now);
    if (!placed) {
        begin_all(world, requests, count, now);
        start_anew(world, requests, count);
        after(world);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct request *r = &requests[i];
        struct weir_result want = invalid;

        if (is_open(world, r->limit)) {
            struct rules *rules = begin(world, r->limit, now);

            want = rules_step(rules, state_of(world, r->limit, r->key), r->n, now, 0, true, NULL);
            if (want.verdict == WEIR_ALLOWED)
                note_granted(world, r->limit, r->key, r->n, now);
            share_clock(world, r->limit);
            count_verdict(&world->limits[r->limit], want.verdict, false);
        }
        compare(got[i], want);
    }
    after(world);
}

/* Entries of one key under one limit are one. */
static size_t merge(const struct request *requests, size_t count, struct request *to,
                    size_t *indices)
{
    size_t merged = 0, at;

    for (size_t i = 0; i < count; i++) {
        for (at = 0; at < merged; at++)
            if (to[at].limit == requests[i].limit && to[at].key == requests[i].key)
                break;
        if (at < merged) {
            to[at].n += requests[i].n;
            continue;
        }
        to[merged] = requests[i];
        indices[merged++] = i;
    }
    return merged;
}

/* What each would answer: the entry that refuses, or -1; *wait is that of all. */
static int ask_all(struct world *world, const struct request *r, size_t count, weir_ns now,
                   weir_ns max_wait, weir_ns *wait, struct weir_result *result)
{
    int refused = -1;

    *wait = 0;
    for (size_t i = 0; i < count; i++) {
        struct weir_result one = invalid;
        weir_ns own;

        if (is_open(world, r[i].limit)) {
            struct rules rules = world->limits[r[i].limit].rules;

            rules_anchor(&rules, now);
            one = rules_ask(&rules, state_of(world, r[i].limit, r[i].key), r[i].n, now, 0);
        }
        if (one.verdict == WEIR_INVALID || one.verdict == WEIR_NEVER) {
            *wait = WEIR_FOREVER;
            *result = one;
            return (int)i;
        }
        own = one.verdict == WEIR_DENIED ? one.wait : 0;
        if (own > *wait)
            *wait = own;
        if (refused < 0 && (own > max_wait || own == WEIR_FOREVER)) {
            refused = (int)i;
            *result = one;
        }
    }
    return refused;
}

/* One entry at the common instant, as seen from `now`. False: a window that was asked for at its
   instant begins a grain later. */
static bool charge_one(struct world *world, const struct request *r, weir_ns now, weir_ns wait,
                       struct weir_result *sum)
{
    struct rules *rules = begin(world, r->limit, now);
    struct state *state = state_of(world, r->limit, r->key);
    struct window_limit *l = &rules->windows;
    struct window_limit clock;
    struct weir_result one;

    ask_clock(world, r->limit, now);
    clock = *l;
    one = rules_step(rules, state, r->n, now + wait, 0, true, NULL);
    l->asked = clock.asked;
    l->told = clock.told;
    l->newest = clock.newest;
    if (one.verdict != WEIR_ALLOWED || one.wait != 0)
        return false;
    if (rules->policy.kind == WEIR_FIXED_WINDOW && !rules_is_unlimited(rules) && r->n != 0) {
        model_int unix_ns = (model_int)now + (window_on_wall(l) ? l->wall : 0);

        if (wait != 0) /* else it begins at once, be it a grain later */
            state->window.ahead = window_start(l, state->window.position) > unix_ns;
        if ((model_int)wait > l->longest)
            l->longest = (model_int)wait;
    }
    one = rules_ask(rules, state, 0, now, 0);
    sum->remaining = one.remaining < sum->remaining ? one.remaining : sum->remaining;
    sum->reset = one.reset > sum->reset ? one.reset : sum->reset;
    return true;
}

static bool charge_all(struct world *world, const struct request *r, size_t count, weir_ns now,
                       weir_ns wait, struct weir_result *sum)
{
    *sum = (struct weir_result){WEIR_ALLOWED, wait, UINT64_MAX, 0};
    for (size_t i = 0; i < count; i++)
        if (!charge_one(world, &r[i], now, wait, sum))
            return false;
    for (size_t i = 0; i < count; i++)
        count_verdict(&world->limits[r[i].limit], WEIR_ALLOWED, false);
    return true;
}

void both_all(struct world *world, const struct request *requests, size_t count, weir_ns now,
              weir_ns max_wait)
{
    trace(world, "all", count != 0 ? requests->limit : 0, 0, count, now);
    struct weir_request asked[REQUESTS_MAX];
    struct request r[WEIR_ALL_MAX];
    size_t indices[WEIR_ALL_MAX];
    bool placed = all_are_placed(world, requests, count);
    size_t merged = merge(requests, count, r, indices);
    struct weir_result got, want;
    weir_ns wait;
    int index, refused;

    make_requests(world, requests, count, asked);
    index = weir_decide_all(world->w, asked, count, now, max_wait, &got);
    if (!placed) {
        begin_all(world, requests, count, now);
        start_anew(world, requests, count);
        after(world);
        return;
    }
    refused = ask_all(world, r, merged, now, max_wait, &wait, &want);
    if (refused >= 0) {
        if (want.verdict == WEIR_ALLOWED)
            want.verdict = WEIR_DENIED;
        if (want.verdict == WEIR_DENIED && wait > want.wait)
            want.wait = wait;
        if (want.verdict != WEIR_INVALID)
            count_verdict(&world->limits[r[refused].limit], want.verdict, false);
        check(index == (int)indices[refused]);
        compare(got, want);
    } else if (charge_all(world, r, merged, now, wait, &want)) {
        check(index == -1);
        compare(got, want);
    } else {
        start_anew(world, requests, count);
    }
    after(world);
}

/* What a grant of n at a `now` from before the last one leaves, at most: as if at that one. */
static void check_from_behind(struct world *world, unsigned limit, unsigned key, uint64_t n,
                              weir_ns now)
{
    struct limit *l = &world->limits[limit];
    struct state state = *state_of(world, limit, key);
    struct rules rules = l->rules;
    weir_ns granted = l->known[key].granted;
    uint64_t left, most;

    if (!rules_is_bucket(&rules) || rules_is_unlimited(&rules) || now > granted ||
        !has_place(world, limit, key))
        return;
    (void)rules_step(&rules, &state, n, granted, 0, true, NULL);
    most = rules_ask(&rules, &state, 0, world->at, 0).remaining;
    left = weir_peek(world->w, (int)limit, world->names[key], 0, world->at).remaining;
    if (left > most) {
        fprintf(stderr, "%llu left after a grant from behind, not %llu\n", (unsigned long long)left,
                (unsigned long long)most);
        abort();
    }
}

void call_from_behind(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now,
                      weir_ns max_wait)
{
    trace(world, "from behind", limit, key, n, now);
    struct limit *l = &world->limits[limit];
    const struct request one = {limit, key, n};
    struct weir_result r =
        weir_reserve(world->w, (int)limit, world->names[key], n, now, max_wait, NULL);

    if (was_refused(world, limit)) {
        compare(r, invalid);
        return;
    }
    begin(world, limit, now);
    ask_clock(world, limit, now);
    check(r.verdict == WEIR_ALLOWED || r.verdict == WEIR_DENIED || r.verdict == WEIR_NEVER);
    check(r.verdict != WEIR_ALLOWED || (r.wait <= max_wait && r.wait != WEIR_FOREVER));
    check(r.verdict != WEIR_DENIED || r.wait > 0);
    if (l->rules.policy.limit != WEIR_UNLIMITED) {
        check((r.verdict == WEIR_NEVER) == (n > most_of(&l->rules)));
        check(r.remaining <= most_of(&l->rules));
    }
    if (r.verdict == WEIR_ALLOWED && r.wait == 0 && n != 0)
        check_from_behind(world, limit, key, n, now);
    start_anew(world, &one, 1);
    after(world);
}
