/* SPDX-License-Identifier: MIT */
/*
 * Settings with an origin: how a limit gets one that `now` can be told from.
 *
 * A limit's first call and a `now` outside of its line (past half the payload's span, or more than
 * stale_max before the origin) publish the same policy again, with another origin, by one
 * compare-and-swap of the limit's settings pointer. Words are re-based at their next touch. What
 * does not depend on time (rate 0, unlimited) has its origin from the start.
 *
 * Guarantees (S and P numbered as in the README)
 *   S5  An origin moves by a whole multiple of `grains` grains: words move by whole units.
 *   O2  Settings are published with release and loaded with acquire: who has the pointer has the
 *       numbers. An object is freed only after a grace period during which nothing led to it.
 *   P1  Lock-free: a lost publication means that another thread's stands. A stopped thread holds
 *       up nobody: who finds no spare allocates. Without memory or without a free generation time
 *       stands still for that call, at the nearer end of the line, which admits nothing that is
 *       not due; what it counts there has passed by the time that a later origin is for.
 *
 * Not guaranteed: a limit's very first call when there is no memory and another thread has taken
 * the spare for it and stopped, or when the limit is removed meanwhile. That call is INVALID.
 */
#include "limiter.h"

#include "check.h"
#include "policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without memory, the first origin can only come from the thread that took the limit's spare: so
   many pauses it is given (about 1 ms). */
#define FIRST_ORIGIN_WAITS 1000

/* errno is the caller's: what malloc says in it is said by the result. */
struct weir_settings *weir_settings_allocate(void)
{
    int saved = errno;
    struct weir_settings *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    errno = saved;
    return s;
}

uint32_t weir_generation_free(uint32_t taken, uint32_t last)
{
    for (uint32_t i = 0; i < WEIR_GENERATIONS; i++) {
        uint32_t generation = (last + i) % WEIR_GENERATIONS + 1;
        if ((taken & (uint32_t)1 << generation) == 0)
            return generation;
    }
    return 0;
}

static const struct weir_room room = {
    .payload_bits = WEIR_PAYLOAD_BITS,
    .lasts = 180 * WEIR_DAY,
    .lasts_aligned = 45 * WEIR_DAY,
    .lasts_sliding = 180 * WEIR_DAY,
};

/* A generation that no word may have; 0 when all are taken. */
static uint32_t free_generation(const struct weir_settings *s)
{
    return weir_generation_free(s->generations, s->generation);
}

static bool is_anchored(const struct weir_settings *s)
{
    return s->generation != 0;
}

void weir_settings_set_generation(struct weir_settings *s, uint32_t generation)
{
    s->meter.mark = weir_word_mark(generation);
    s->generation = generation;
    s->generations |= (uint32_t)1 << generation;
    weir_assert(weir_settings_is_valid(s));
}

int weir_settings_check(const struct weir_policy *policy, const void **zone)
{
    struct weir_meter meter;
    int error = weir_policy_prepare(&meter, policy, &room);
    *zone = error == 0 ? meter.zone : NULL;
    return error;
}

int weir_settings_fill(struct weir_settings *s, const struct weir_policy *policy, const void *zone,
                       uint32_t taken, unsigned count_bits)
{
    struct weir_room wide = room;
    struct weir_meter meter;
    int error;
    wide.zone = zone;
    wide.count_bits = count_bits;
    do
        error = weir_policy_prepare(&meter, policy, &wide);
    while (error == -ERANGE && wide.count_bits-- != 0); /* as many as fit beside a shorter period */
    if (error != 0)
        return error;
    memset(s, 0, sizeof *s);
    s->meter = meter;
    s->generations = taken;
    if (meter.unlimited || weir_algorithm_is_timeless(&meter)) {
        if (!meter.unlimited)
            weir_algorithm_start(&s->meter, 0, WEIR_BUCKET_LINE_MAX);
        weir_settings_set_generation(s, weir_generation_free(taken, 0));
    } else {
        s->meter.elapsed_max = 0; /* no `now` is on this line, all are past its end */
        s->meter.origin = INT64_MIN;
    }
    return 0;
}

int weir_settings_make(const struct weir_policy *policy, const void *zone, uint32_t taken,
                       struct weir_settings **settings, struct weir_settings **spare)
{
    struct weir_settings *s = weir_settings_allocate();
    *spare = weir_settings_allocate();
    int error =
        s == NULL || *spare == NULL ? -ENOMEM : weir_settings_fill(s, policy, zone, taken, 0);
    if (error != 0) {
        free(s);
        free(*spare);
        return error;
    }
    *settings = s;
    return 0;
}

bool weir_settings_is_valid(const struct weir_settings *s)
{
    const struct weir_settings *previous = weir_pointer_load_acquire(&s->previous);
    if (s->generation > WEIR_GENERATIONS || (s->generations & 1) != 0)
        return false;
    if (s->generation != 0 && ((s->generations >> s->generation & 1) == 0 ||
                               s->meter.mark != weir_word_mark(s->generation)))
        return false;
    return previous == NULL ||
           (previous->serial <= s->serial && (previous->generations & ~s->generations) == 0 &&
            previous->generation != s->generation);
}

/* The same settings, all but `previous`, which a sweep may be cutting in `from`. */
void weir_settings_copy(struct weir_settings *to, const struct weir_settings *from)
{
    to->meter = from->meter;
    to->steps = from->steps;
    to->born = from->born;
    to->serial = from->serial;
    to->kin = from->kin;
    to->changed = from->changed;
    to->changed_wall = from->changed_wall;
    to->generation = from->generation;
    to->generations = from->generations;
    to->previous = NULL;
}

/* The limit's spare, or a new object; NULL: no memory. Acquire: pairs with whoever put it by, who
   may have written to it until then. */
static struct weir_settings *take_spare(struct weir_limit *l)
{
    struct weir_settings *spare = weir_pointer_exchange_acq_rel(&l->spare, NULL);
    return spare != NULL ? spare : weir_settings_allocate();
}

/* Puts an object by for the next origin, if none is there. Release: see take_spare. */
static void give_spare(struct weir_limit *l, struct weir_settings *spare)
{
    struct weir_settings *none = NULL;
    if (spare != NULL && !weir_pointer_cas_acq_rel(&l->spare, &none, spare))
        free(spare);
}

/* Publishes settings with an origin for `now` after `s`. Returns what is published now; NULL: the
   limit is being removed. */
static const struct weir_settings *publish_origin(struct weir *w, struct weir_limit *l,
                                                  const struct weir_settings *s, weir_ns now)
{
    uint32_t generation = free_generation(s);
    struct weir_settings *fresh = generation != 0 ? take_spare(l) : NULL;
    if (fresh == NULL)
        return s;
    weir_settings_copy(fresh, s);
    if (!weir_algorithm_move_origin(&fresh->meter,
                                    weir_limit_now(w, &s->meter, now, WEIR_WALL_OF_INSTANT),
                                    w->stale_max, is_anchored(s), &fresh->steps, &fresh->born)) {
        give_spare(l, fresh);
        return s;
    }
    fresh->previous = (struct weir_settings *)(uintptr_t)s;
    weir_settings_set_generation(fresh, generation);
    struct weir_settings *current = fresh->previous;
    if (!weir_pointer_cas_acq_rel(&l->settings, &current, fresh)) { /* O2 */
        give_spare(l, fresh);
        return current;
    }
    weir_add_relaxed(&l->origins, 1);
    if (is_anchored(s))
        weir_add_relaxed(&w->origins, 1);
    give_spare(l, weir_settings_allocate());
    return fresh;
}

const struct weir_settings *weir_settings_settle(struct weir *w, struct weir_limit *l,
                                                 const struct weir_settings *s, weir_ns now,
                                                 struct weir_instant *at)
{
    unsigned waits = 0;
    now = weir_now_clamped(now);
    while (!weir_limit_instant(w, l, s, now, at) &&
           (!is_anchored(s) ||
            weir_algorithm_needs_origin(&s->meter,
                                        weir_limit_now(w, &s->meter, now, WEIR_WALL_OF_INSTANT),
                                        w->stale_max))) {
        const struct weir_settings *next = weir_limit_settings(l); /* O2 */
        if (next == s)
            next = publish_origin(w, l, s, now);
        if (next == NULL || (next == s && (is_anchored(s) || waits == FIRST_ORIGIN_WAITS)))
            break;
        if (next == s)
            weir_pause(&waits);
        s = next;
    }
    if (!is_anchored(s))
        return NULL;
    weir_limit_instant_clamped(w, l, s, now, at);
    return s;
}

const struct weir_settings *weir_settings_aside(const struct weir *w, struct weir_limit *l,
                                                const struct weir_settings *s, weir_ns now,
                                                struct weir_instant *at,
                                                struct weir_settings *aside)
{
    now = weir_now_clamped(now);
    weir_ns told = weir_limit_now(w, &s->meter, now, WEIR_WALL_OF_INSTANT);
    /* Where a decision would find time standing still, so does a question. */
    if (free_generation(s) != 0 &&
        (!is_anchored(s) || weir_algorithm_needs_origin(&s->meter, told, w->stale_max))) {
        weir_settings_copy(aside, s);
        /* Of no generation: every word is an older one. */
        aside->meter.mark = 0;
        aside->generation = 0;
        aside->previous = (struct weir_settings *)(uintptr_t)s;
        if (weir_algorithm_move_origin(&aside->meter, told, w->stale_max, is_anchored(s),
                                       &aside->steps, &aside->born))
            s = aside;
    }
    weir_limit_instant_clamped(w, l, s, now, at);
    return s;
}

void weir_settings_free_chain(struct weir_settings *s)
{
    while (s != NULL) {
        struct weir_settings *previous = s->previous;
        free(s);
        s = previous;
    }
}

void weir_settings_free(struct weir_limit *l, struct weir_settings *settings)
{
    weir_settings_free_chain(settings);
    weir_settings_free_chain(l->retired);
    free(l->spare);
    l->retired = NULL;
    l->spare = NULL;
}
