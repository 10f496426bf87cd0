/* SPDX-License-Identifier: MIT */
/* Worlds, and what all calls have in common; see engine_world.h. */
#include "engine_inside.h"

#include "one_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

void trace(const struct world *world, const char *call, unsigned limit, unsigned key, uint64_t n,
           weir_ns now)
{
    if (!world->traced)
        return;
    fprintf(stderr, "%s: limit %u key %u n %llu now %llu; at %llu, settled %llu\n", call, limit,
            key, (ull)n, (ull)now, (ull)world->at, (ull)world->settled);
}

void trace_policy(const struct world *world, const char *call, unsigned limit,
                  const struct weir_policy *policy)
{
    char text[200] = "?";

    if (!world->traced)
        return;
    (void)weir_policy_format(policy, text, sizeof text);
    fprintf(stderr, "%s: limit %u \"%s\"; at %llu\n", call, limit, text, (ull)world->at);
}

/* ---- what the engine is asked ------------------------------------------------------------- */

uint64_t keys_of(const struct world *world, uint64_t *error)
{
    return weir_table_keys(&world->w->table, error);
}

uint64_t overflow_of(const struct world *world, unsigned limit)
{
    struct weir_counter_sums sums;

    weir_limit_counts(world->w, limit, &sums);
    return sums.of[WEIR_COUNTER_OVERFLOW];
}

const struct weir_settings *settings_of(const struct world *world, unsigned limit)
{
    return weir_limit_settings(weir_limit_of(world->w, limit));
}

bool has_place(const struct world *world, unsigned limit, unsigned key)
{
    weir_key name = world->names[key];
    struct weir_probe probe = weir_table_probe(&world->w->table, name.high, name.low, limit);

    return weir_table_find(&world->w->table, &probe) != NULL;
}

bool may_be_full(const struct world *world)
{
    uint64_t error;

    return world->poor || world->behind ||
           keys_of(world, &error) * 16 >= world->options.max_keys * 15;
}

void after(struct world *world)
{
    const struct weir_table_counts *counts = &world->w->table.counts;
    uint64_t moved = weir_load_relaxed(&counts->helps) + weir_load_relaxed(&counts->dropped) +
                     weir_load_relaxed(&counts->growths) + weir_load_relaxed(&counts->compactions) +
                     weir_load_relaxed(&counts->shrinks);
    uint64_t error, keys = keys_of(world, &error);

    check(keys <= world->options.max_keys + error);
    if (moved != world->table_moved) {
        world->settled = world->at;
        world->horizon = world->horizon > world->at ? world->horizon : world->at;
    }
    world->table_moved = moved;
    if (!world->behind)
        one_thread_reclaim();
}

/* ---- rules of all limits ------------------------------------------------------------------ */

bool on_wall(const struct rules *rules)
{
    return !rules_is_bucket(rules) && !rules_is_permits(rules) && window_on_wall(&rules->windows);
}

void share_clock(struct world *world, unsigned limit)
{
    const struct window_limit *from = &world->limits[limit].rules.windows;

    for (unsigned i = 0; i < WORLD_LIMITS; i++) {
        struct window_limit *to = &world->limits[i].rules.windows;

        to->asked = from->asked;
        to->told = from->told;
        to->newest = from->newest;
    }
}

struct rules *begin(struct world *world, unsigned limit, weir_ns now)
{
    struct rules *rules = &world->limits[limit].rules;

    rules_anchor(rules, now);
    return rules;
}

void ask_clock(struct world *world, unsigned limit, weir_ns now)
{
    struct rules *rules = &world->limits[limit].rules;

    if (!on_wall(rules) || rules_is_unlimited(rules))
        return;
    window_ask(&rules->windows, now);
    share_clock(world, limit);
}

uint64_t most_of(const struct rules *rules)
{
    if (rules->policy.limit == WEIR_UNLIMITED)
        return 1000;
    return rules_is_bucket(rules) ? rules->policy.burst : rules->policy.limit;
}

weir_ns span_of(const struct weir_policy *policy)
{
    static const weir_ns days[] = {0, 1, 7, 31};
    weir_ns span = WEIR_SECOND;

    if (policy->kind == WEIR_CONCURRENCY || policy->limit == WEIR_UNLIMITED)
        return span;
    if (policy->kind == WEIR_TOKEN_BUCKET) {
        span = policy->limit == 0 ? span : policy->period / policy->limit;
        span = span < policy->tick ? policy->tick : span;
        return span == 0 ? 1 : span;
    }
    return policy->form == WEIR_FORM_CALENDAR ? days[policy->calendar] * WEIR_DAY : policy->period;
}

struct state *state_of(struct world *world, unsigned limit, unsigned key)
{
    struct limit *l = &world->limits[limit];

    if (!l->known[key].used) {
        l->known[key] = (struct known){.used = true};
        l->keys[l->key_count++] = key;
    }
    return &l->known[key].state;
}

void note_granted(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now)
{
    struct known *known = &world->limits[limit].known[key];

    if (n != 0 && known->used && now > known->granted)
        known->granted = now;
}

void note_given_back(struct world *world, unsigned limit, unsigned key)
{
    world->limits[limit].known[key].granted = 0;
}

void forget_keys(struct limit *l)
{
    for (size_t i = 0; i < l->key_count; i++)
        l->known[l->keys[i]] = (struct known){.used = false};
    l->key_count = 0;
    l->overflow = (struct state){0};
}

static bool state_goes_ahead(const struct rules *rules, const struct state *state, uint64_t n,
                             weir_ns now)
{
    model_int lead;

    if (rules_is_unlimited(rules) || rules_is_permits(rules))
        return true;
    if (rules_is_bucket(rules)) {
        model_int owed = (model_int)n * rules->line.form.token -
                         model_balance(&rules->line, &state->bucket, now);

        return n <= rules->line.form.burst + 3 && rules_line_holds(&rules->line, owed, false);
    }
    lead =
        window_lead(&rules->windows, &state->window, now) + 2 * (model_int)span_of(&rules->policy);
    return lead <= window_half_line(&rules->windows);
}

bool can_go_ahead(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now)
{
    struct rules rules = world->limits[limit].rules;

    rules_anchor(&rules, now);
    return state_goes_ahead(&rules, state_of(world, limit, key), n, now) &&
           state_goes_ahead(&rules, &world->limits[limit].overflow, n, now);
}

void count_verdict(struct limit *l, enum weir_verdict verdict, bool overflow)
{
    l->counts.allowed += verdict == WEIR_ALLOWED;
    l->counts.denied += verdict == WEIR_DENIED;
    l->counts.never += verdict == WEIR_NEVER;
    l->counts.overflow += overflow;
}

bool was_refused(const struct world *world, unsigned limit)
{
    return world->poor && !world->limits[limit].rules.anchored &&
           settings_of(world, limit)->generation == 0;
}

/* ---- worlds ------------------------------------------------------------------------------- */

static weir_ns wall_clock(void *context, weir_ns now)
{
    return (weir_ns)((model_int)now + ((const struct world *)context)->wall);
}

static weir_ns clock_of(void *context)
{
    return ((const struct world *)context)->at;
}

static int no_sleep(void *context, weir_ns instant)
{
    (void)context;
    (void)instant;
    return 1;
}

void world_open(struct world *world, size_t max_keys, enum weir_when_full when_full)
{
    static const uint8_t secret[192] = {7};

    for (unsigned i = 0; i < WORLD_LIMITS; i++) {
        struct limit *l = &world->limits[i];

        forget_keys(l);
        l->rules = (struct rules){.anchored = false};
        l->open = false;
        l->changed = 0;
    }
    memset(world->held, 0, sizeof world->held);
    memset(world->permits, 0, sizeof world->permits);
    world->wall = (model_int)UNIX - (model_int)FIRST;
    world->at = world->settled = FIRST;
    world->horizon = world->kins = world->table_moved = world->cuts = 0;
    world->poor = world->behind = world->stepped = false;
    world->traced = getenv("WEIR_FUZZ_TRACE") != NULL;
    world->options = (struct weir_options){.size = sizeof world->options,
                                           .max_keys = max_keys,
                                           .max_limits = WORLD_LIMITS,
                                           .stale_max = STALE_MAX,
                                           .clock = clock_of,
                                           .sleep_until = no_sleep,
                                           .clock_context = world,
                                           .when_full = when_full,
                                           .wall_clock = wall_clock,
                                           .wall_context = world,
                                           .secret = secret};
    check(weir_open(&world->w, &world->options) == 0);
    for (unsigned i = 0; i < WORLD_KEYS; i++)
        world->names[i] = weir_key_u64(world->w, i);
}

void world_close(struct world *world)
{
    weir_close(world->w);
    one_thread_reclaim();
}

void world_check(struct world *world)
{
    for (unsigned i = 0; i < WORLD_LIMITS; i++) {
        struct limit *l = &world->limits[i];
        struct weir_limit_stats stats = {.size = sizeof stats};

        if (!l->open)
            continue;
        for (size_t k = 0; k < l->key_count; k++)
            both_peek(world, i, l->keys[k], 1, world->at);
        check(weir_limit_stats(world->w, (int)i, &stats) == 0);
        compare_count(stats.allowed, l->counts.allowed);
        compare_count(stats.denied, l->counts.denied);
        compare_count(stats.never, l->counts.never);
        compare_count(stats.overflow, l->counts.overflow);
    }
    check(weir_table_is_valid(&world->w->table));
}
