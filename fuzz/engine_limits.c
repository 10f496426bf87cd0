/* SPDX-License-Identifier: MIT */
/* Limits that come, change and go, and clocks that step; see engine_world.h. */
#include "engine_inside.h"

#include <errno.h>
#include <string.h>

#define LEAD_MAX (40 * (model_int)WEIR_DAY)

/* ---- limits ------------------------------------------------------------------------------- */

void both_add(struct world *world, const char *name, const struct weir_policy *policy)
{
    trace_policy(world, "add", WORLD_LIMITS, policy);
    int want = rules_error(policy), got = weir_find_limit(world->w, name);
    struct window_limit clock;
    unsigned id = 0;
    struct limit *l;

    while (id < WORLD_LIMITS && world->limits[id].open)
        id++;
    if (want == 0 && got >= 0)
        want = -EEXIST;
    else if (want == 0)
        want = id == WORLD_LIMITS ? -ENOSPC : (int)id;
    got = weir_add_limit(world->w, name, policy);
    if (got == -ENOMEM && world->poor)
        return;
    check(got == want);
    world->cuts++;
    if (got < 0)
        return;
    l = &world->limits[id];
    check(strcmp(weir_limit_name(world->w, got), name) == 0);
    check(weir_find_limit(world->w, name) == got);
    l->open = true;
    l->kin = ++world->kins;
    l->changed = 0;
    l->counts = (struct weir_limit_stats){0};
    forget_keys(l);
    clock = l->rules.windows;
    rules_of_engine(&l->rules, policy, STALE_MAX);
    l->rules.windows.wall = world->wall;
    l->rules.windows.asked = clock.asked;
    l->rules.windows.told = clock.told;
    l->rules.windows.newest = clock.newest;
}

static void forget_overflow(struct world *world, unsigned limit)
{
    weir_store_relaxed(&world->w->limits[limit].overflow, 0);
    world->limits[limit].overflow = (struct state){0};
}

static void drop_held(struct world *world, unsigned limit)
{
    for (size_t i = 0; i < WORLD_HELD; i++)
        if (world->held[i].limit == limit)
            world->held[i].model = (struct hold){0};
}

void both_remove(struct world *world, unsigned limit)
{
    trace(world, "remove", limit, 0, 0, world->at);
    struct limit *l = &world->limits[limit];

    check(weir_remove_limit(world->w, (int)limit, world->at) == 0);
    check(weir_remove_limit(world->w, (int)limit, world->at) == -ENOENT);
    check(weir_limit_name(world->w, (int)limit) == NULL);
    l->open = false;
    l->kin = 0;
    forget_keys(l);
    drop_held(world, limit);
    world->cuts++;
    after(world);
}

/* Would a word of the new settings hold what is owed, and what is reserved? */
static bool zero_fits(const struct rules *from, model_int zero, const struct rules *to, weir_ns now)
{
    model_int v = model_v(&from->line, now);

    return zero <= v ||
           rules_line_holds(&to->line, (zero - v) * to->line.form.token / from->line.form.token,
                            false);
}

static bool state_fits(const struct rules *from, const struct state *state, const struct rules *to,
                       weir_ns now)
{
    if (!rules_follow(from, &to->policy) || rules_is_permits(from))
        return true;
    if (!rules_is_bucket(from))
        return window_lead(&from->windows, &state->window, now) <= LEAD_MAX;
    return !state->bucket.used || zero_fits(from, state->bucket.zero, to, now);
}

/* What cannot be told under the new settings is let go of first. */
static void make_fit(struct world *world, unsigned limit, const struct rules *to, weir_ns now)
{
    struct limit *l = &world->limits[limit];

    for (size_t i = 0; i < l->key_count; i++)
        if (!state_fits(&l->rules, &l->known[l->keys[i]].state, to, now))
            both_forget(world, limit, l->keys[i]);
    if (!state_fits(&l->rules, &l->overflow, to, now)) {
        forget_overflow(world, limit);
    }
    for (size_t i = 0; i < WORLD_HELD; i++) {
        struct held *held = &world->held[i];
        bool fits = !rules_is_bucket(&l->rules) || held->model.bucket.n == 0 ||
                    !rules_follow(&l->rules, &to->policy) ||
                    zero_fits(&l->rules, held->model.bucket.slot, to, now);

        if (held->limit == limit && (!fits || hold_is_paid_early(&l->rules, &held->model, now)))
            *held = (struct held){0};
    }
}

static void model_the_change(struct world *world, unsigned limit, const struct rules *to,
                             weir_ns now)
{
    struct limit *l = &world->limits[limit];

    for (size_t i = 0; i < l->key_count; i++) {
        note_given_back(world, limit, l->keys[i]);
        state_change(&l->rules, &l->known[l->keys[i]].state, to, now);
    }
    state_change(&l->rules, &l->overflow, to, now);
    for (size_t i = 0; i < WORLD_HELD; i++)
        if (world->held[i].limit == limit)
            hold_change(&l->rules, &world->held[i].model, to, now);
    if (l->rules.policy.kind != to->policy.kind)
        l->kin = ++world->kins;
    l->rules = *to;
    l->changed = now;
}

void both_change(struct world *world, unsigned limit, const struct weir_policy *policy)
{
    trace_policy(world, "change", limit, policy);
    struct limit *l = &world->limits[limit];
    const struct weir_settings *last = settings_of(world, limit);
    bool same = rules_same_policy(policy, &l->rules.policy);
    int want = rules_error(policy), got;
    struct rules before = l->rules, to;
    struct weir_policy back;

    if (!same && want == 0) {
        if (rules_follow(&l->rules, policy) && l->rules.anchored && on_wall(&l->rules))
            window_ask(&l->rules.windows, world->at);
        rules_after(&to, policy, &l->rules, world->at);
        make_fit(world, limit, &to, world->at);
    }
    got = weir_set_limit(world->w, (int)limit, policy, world->at);
    if (got == -ENOMEM && world->poor) {
        l->rules = before;
        return;
    }
    check(got == want);
    if (got != 0)
        return;
    check(weir_get_limit(world->w, (int)limit, &back) == 0 && rules_same_policy(&back, policy));
    if (same) {
        check(settings_of(world, limit) == last);
        return;
    }
    model_the_change(world, limit, &to, world->at);
    share_clock(world, limit);
    world->settled = world->at;
    world->cuts++;
    after(world);
}

/* Both forget the keys of which that is so at an instant. */
static void forget_those(struct world *world, weir_ns now,
                         bool (*is)(const struct rules *rules, const struct state *state,
                                    weir_ns now))
{
    for (unsigned i = 0; i < WORLD_LIMITS; i++) {
        struct limit *l = &world->limits[i];
        struct rules rules = l->rules;

        if (!l->open)
            continue;
        rules_anchor(&rules, world->at);
        for (size_t k = 0; k < l->key_count; k++)
            if (is(&rules, &l->known[l->keys[k]].state, now))
                both_forget(world, i, l->keys[k]);
    }
}

/* Who is idle may be forgotten, which a clock that is set back shows. */
static bool is_idle(const struct rules *rules, const struct state *state, weir_ns now)
{
    return rules_ask(rules, state, 0, now, 0).reset == 0;
}

void both_trim(struct world *world)
{
    trace(world, "trim", 0, 0, 0, world->at);
    int error;

    forget_those(world, world->at, is_idle);
    error = weir_trim(world->w, world->at);
    check(error == 0 || (error == -ENOMEM && (world->poor || world->behind)));
    world->settled = world->at;
    world->horizon = world->horizon > world->at ? world->horizon : world->at;
    world->cuts++;
    after(world);
}

/* ---- clocks ------------------------------------------------------------------------------- */

static unsigned generations_left(const struct world *world)
{
    unsigned least = WEIR_GENERATIONS;

    for (unsigned i = 0; i < WORLD_LIMITS; i++) {
        unsigned left;

        if (!world->limits[i].open)
            continue;
        left = WEIR_GENERATIONS - (unsigned)__builtin_popcount(settings_of(world, i)->generations);
        least = left < least ? left : least;
    }
    return least;
}

/* Time stands still for a limit that has used up its generations. */
static bool may_move_origins(struct world *world)
{
    if (generations_left(world) < 4)
        both_trim(world);
    return generations_left(world) >= 4;
}

void world_forward(struct world *world, weir_ns step)
{
    if (step > WEIR_DAY && !may_move_origins(world))
        step = WEIR_DAY;
    if (world->at + step > FIRST + 40 * 365 * WEIR_DAY)
        return;
    world->at += step;
    if (world->at < world->horizon && world->horizon - world->at <= 2 * STALE_MAX)
        world->at = world->horizon;
}

/* Whether a key is so far ahead of a clock that no word can tell it: an engine counts it from where
   its line begins (slot/settings.h), a model goes on. */
static bool is_overdue(const struct rules *rules, const struct state *state, weir_ns now)
{
    if (rules_is_unlimited(rules) || rules_is_permits(rules))
        return false;
    if (rules_is_bucket(rules))
        return !rules_line_holds(&rules->line, -model_balance(&rules->line, &state->bucket, now),
                                 false);
    return window_lead(&rules->windows, &state->window, now) > window_half_line(&rules->windows);
}

bool world_set_back(struct world *world, weir_ns by)
{
    trace(world, "set back", 0, 0, by, world->at);
    /* Without memory for an origin a call counts as at the nearer end of the line. */
    if (world->at < FIRST + by + 11 * WEIR_DAY || by <= 4 * STALE_MAX || world->stepped ||
        world->poor || !may_move_origins(world))
        return false;
    for (unsigned i = 0; i < WORLD_LIMITS; i++)
        if (world->limits[i].rules.windows.asked || world->limits[i].changed != 0)
            return false;
    forget_those(world, world->at, is_idle);
    forget_those(world, world->at - by, is_overdue);
    for (unsigned i = 0; i < WORLD_LIMITS; i++)
        if (world->limits[i].open &&
            is_overdue(&world->limits[i].rules, &world->limits[i].overflow, world->at - by))
            forget_overflow(world, i);
    for (size_t i = 0; i < WORLD_HELD; i++)
        world->held[i] = (struct held){0};
    world->at -= by;
    world->settled = world->at;
    world_forward(world, 0);
    return true;
}

/* A window so far ahead that a word cannot tell it has ended, to an engine. */
static void forget_the_untold(struct world *world, unsigned limit)
{
    struct limit *l = &world->limits[limit];
    const struct window_limit *w = &l->rules.windows;

    if (!l->open || !on_wall(&l->rules) || rules_is_unlimited(&l->rules))
        return;
    for (size_t i = 0; i < l->key_count; i++)
        if (window_lead(w, &l->known[l->keys[i]].state.window, world->at) > window_half_line(w))
            both_forget(world, limit, l->keys[i]);
    if (window_lead(w, &l->overflow.window, world->at) > window_half_line(w)) {
        forget_overflow(world, limit);
    }
    for (size_t i = 0; i < WORLD_HELD; i++)
        if (world->held[i].limit == limit)
            world->held[i] = (struct held){0};
}

void world_set_wall(struct world *world, int64_t by)
{
    trace(world, "set wall", 0, 0, (uint64_t)by, world->at);
    model_int wall = world->wall + by, unix_ns = (model_int)world->at + wall;

    if (unix_ns < (model_int)UNIX - (model_int)(4 * 365 * WEIR_DAY) ||
        unix_ns > (model_int)UNIX + (model_int)(60 * 365 * WEIR_DAY) || !may_move_origins(world))
        return;
    forget_those(world, world->at, is_idle);
    world->wall = wall;
    for (unsigned i = 0; i < WORLD_LIMITS; i++)
        world->limits[i].rules.windows.wall = wall;
    world->at += 2 * WEIR_SECOND;
    world->settled = world->at;
    world->stepped = true;
    for (unsigned i = 0; i < WORLD_LIMITS; i++)
        forget_the_untold(world, i);
    forget_those(world, world->at, is_idle); /* windows that unix time, set back, has ended */
}
