/* SPDX-License-Identifier: MIT */
/*
 * Origins: how a limit's settings get one that `now` can be told from, and the sweep that frees
 * generations.
 *
 * A limit's first call and a `now` outside of its line (past half the payload's span, or more than
 * stale_max before the origin) publish the same policy again, with another origin, by one
 * compare-and-swap of the limit's settings pointer. Words are re-based at their next touch.
 *
 * Guarantees
 *   S5  An origin moves by a whole multiple of `grains` grains: words move by whole units.
 *   O2  Settings are published with release and loaded with acquire: who has the pointer has the
 *       numbers. An object is freed only after a grace period during which nothing led to it.
 *   O3  A generation number is given out again only when no word has it (the sweep re-based them
 *       after a grace period, so that nobody still writes it) and nobody looks for it in an old
 *       chain (the chain was cut before a second grace period).
 *   P1  Lock-free: a lost publication means that another thread's stands. A stopped thread holds
 *       up nobody: who finds no spare allocates, and without memory time stands still for that
 *       call at the nearer end of the line, which admits nothing that is not due.
 */
#include "limiter.h"

#include "policy.h"
#include "rcu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No `now` is on the line of unanchored settings: all are past its end, which is at once. */
#define UNANCHORED_ORIGIN INT64_MIN

/* Without memory, the first origin can only come from the thread that took the limit's spare: so
   many pauses it is given (about 1 ms). */
#define FIRST_ORIGIN_WAITS 1000

static struct weir_settings *allocate(void)
{
    return aligned_alloc(64, (sizeof(struct weir_settings) + 63) / 64 * 64);
}

int weir_settings_make(const struct weir_policy *policy, uint64_t serial,
                       struct weir_settings **settings, struct weir_settings **spare)
{
    struct weir_meter meter;
    int error = weir_policy_prepare(&meter, policy);
    if (error != 0)
        return error;
    struct weir_settings *s = allocate();
    *spare = allocate();
    if (s == NULL || *spare == NULL) {
        free(s);
        free(*spare);
        return -ENOMEM;
    }
    memset(s, 0, sizeof *s);
    s->meter = meter;
    s->meter.span = WEIR_PAYLOAD_MAX;
    s->meter.origin = UNANCHORED_ORIGIN; /* and elapsed_max 0 */
    s->serial = serial;
    *settings = s;
    return 0;
}

static bool is_anchored(const struct weir_settings *s)
{
    return s->generation != 0;
}

/* Whether `now`, which is not on the line, is too far from it to count as its nearer end. */
static bool needs_origin(const struct weir_settings *s, weir_ns now, weir_ns stale_max)
{
    const struct weir_meter *m = &s->meter;
    if (!is_anchored(s))
        return true;
    if (m->units == 0)
        return false; /* rate 0: nothing depends on time */
    weir_i128 grain = (weir_i128)weir_algorithm_grain(m, now);
    if (grain > m->origin)
        return true;
    uint64_t tick = m->tick != 0 ? m->tick : 1;
    return (m->origin - grain) * (weir_i128)tick > (weir_i128)stale_max;
}

/* Largest multiple of `step` that is not above x, divided by it. */
static weir_i128 floor_steps(weir_i128 x, weir_i128 step)
{
    return x >= 0 ? x / step : -((-x + step - 1) / step);
}

/*
 * Sets the origin for `now`: stale_max before it, from an older one by a multiple of `grains`.
 * False: that origin would not tell `now` either, as with a period of centuries and a clock that
 * jumps back by minutes.
 */
static bool move_origin(struct weir_settings *fresh, const struct weir_settings *s, weir_ns now,
                        weir_ns stale_max)
{
    struct weir_meter *m = &fresh->meter;
    weir_i128 tick = m->tick != 0 ? m->tick : 1;
    weir_i128 origin = floor_steps((weir_i128)now - (weir_i128)stale_max, tick);
    weir_i128 steps = 0;
    if (is_anchored(s)) {
        weir_i128 moved = floor_steps(origin - m->origin, m->grains);
        origin = m->origin + moved * (weir_i128)m->grains;
        steps = s->steps + moved;
    }
    if (origin <= UNANCHORED_ORIGIN || steps > INT64_MAX || steps < INT64_MIN)
        return false;
    struct weir_instant at;
    weir_algorithm_set_origin(m, (int64_t)origin, WEIR_BUCKET_LINE_MAX);
    fresh->steps = (int64_t)steps;
    bool told = weir_algorithm_instant(m, now, &at);
    fresh->born = told ? at.line : 0;
    return told;
}

/* A generation that no word may have, after the one of `s`; 0 when all are taken. */
static uint32_t free_generation(const struct weir_settings *s)
{
    for (uint32_t i = 0; i < WEIR_GENERATIONS; i++) {
        uint32_t generation = (s->generation + i) % WEIR_GENERATIONS + 1;
        if ((s->generations & (uint32_t)1 << generation) == 0)
            return generation;
    }
    return 0;
}

/* The limit's spare, or a new object; NULL: no memory. */
static struct weir_settings *take_spare(struct weir_limit *l)
{
    struct weir_settings *spare = weir_pointer_exchange_acq_rel(&l->spare, NULL);
    return spare != NULL ? spare : allocate();
}

/* Puts an object by for the next origin, if none is there. */
static void give_spare(struct weir_limit *l, struct weir_settings *spare)
{
    struct weir_settings *none = NULL;
    if (spare != NULL && !weir_pointer_cas_acq_rel(&l->spare, &none, spare))
        free(spare);
}

/* The same settings, all but `previous`, which a sweep may be cutting in `from`. */
static void copy_settings(struct weir_settings *to, const struct weir_settings *from)
{
    to->meter = from->meter;
    to->steps = from->steps;
    to->born = from->born;
    to->serial = from->serial;
    to->generation = from->generation;
    to->generations = from->generations;
    to->previous = NULL;
}

/* Publishes settings with an origin for `now` after `s`. Returns what is published now. */
static const struct weir_settings *publish_origin(struct weir_limit *l,
                                                  const struct weir_settings *s, weir_ns now,
                                                  weir_ns stale_max)
{
    uint32_t generation = free_generation(s);
    struct weir_settings *fresh = generation != 0 ? take_spare(l) : NULL;
    if (fresh == NULL)
        return s;
    copy_settings(fresh, s);
    if (!move_origin(fresh, s, now, stale_max)) {
        give_spare(l, fresh);
        return s;
    }
    fresh->meter.mark = weir_word_mark(generation);
    fresh->generation = generation;
    fresh->generations = s->generations | (uint32_t)1 << generation;
    fresh->previous = (struct weir_settings *)(uintptr_t)s;
    struct weir_settings *current = fresh->previous;
    if (!weir_pointer_cas_acq_rel(&l->settings, &current, fresh)) { /* O2 */
        give_spare(l, fresh);
        return current;
    }
    weir_add_relaxed(&l->origins, 1);
    give_spare(l, allocate());
    return fresh;
}

const struct weir_settings *weir_settings_settle(struct weir *w, struct weir_limit *l,
                                                 const struct weir_settings *s, weir_ns now,
                                                 struct weir_instant *at)
{
    unsigned waits = 0;
    if (now > INT64_MAX)
        now = INT64_MAX;
    while (!weir_algorithm_instant(&s->meter, now, at) && needs_origin(s, now, w->stale_max)) {
        const struct weir_settings *next = weir_pointer_load_acquire(&l->settings); /* O2 */
        if (next == s)
            next = publish_origin(l, s, now, w->stale_max);
        if (next == s && (is_anchored(s) || waits == FIRST_ORIGIN_WAITS))
            break;
        if (next == s)
            weir_pause(&waits);
        s = next;
    }
    if (!is_anchored(s))
        return NULL;
    weir_algorithm_instant_clamped(&s->meter, now, at);
    return s;
}

/* ---- the sweep ---- */

struct sweep {
    struct weir *w;
    struct weir_settings **targets; /* by limit: what older words are re-based on, or NULL */
};

/* Re-bases one word, if it is of a generation before the target's. */
static void rebase_word(const struct weir_settings *target, struct weir_atomic_u64 *slot)
{
    uint64_t word = weir_load_acquire(slot);
    for (;;) {
        uint64_t payload;
        if (word == 0 || weir_word_generation(word) == target->generation ||
            !weir_settings_translate(target, word, &payload))
            return;
        if (weir_cas_acq_rel(slot, &word, target->meter.mark | payload))
            return;
    }
}

static void rebase_slot(void *context, uint64_t tag, struct weir_atomic_u64 *slot)
{
    const struct sweep *sweep = context;
    uint64_t limit = weir_tag_limit(tag, sweep->w->table.id_bits);
    if (sweep->targets[limit] != NULL)
        rebase_word(sweep->targets[limit], slot);
}

static unsigned choose_targets(struct sweep *sweep)
{
    unsigned chosen = 0;
    for (unsigned i = 0; i < sweep->w->limits_used; i++) {
        struct weir_settings *s = weir_pointer_load_acquire(&sweep->w->limits[i].settings);
        if (__builtin_popcount(s->generations) >= WEIR_SWEEP_AT) {
            sweep->targets[i] = s;
            chosen++;
        }
    }
    return chosen;
}

static void free_chain(struct weir_settings *s)
{
    while (s != NULL) {
        struct weir_settings *previous = s->previous;
        free(s);
        s = previous;
    }
}

/*
 * No word is older than the target: publishes it again as one whose other generations are free.
 * When a newer origin was published meanwhile, its chain ends at the target and keeps its marks.
 */
static void publish_swept(struct weir_limit *l, struct weir_settings *target)
{
    struct weir_settings *swept = allocate();
    if (swept == NULL)
        return;
    copy_settings(swept, target);
    swept->generations = (uint32_t)1 << target->generation;
    struct weir_settings *current = target;
    if (weir_pointer_cas_acq_rel(&l->settings, &current, swept))
        l->retired = target;
    else
        free(swept);
}

/* The four steps of O3; the lock is held. */
static void sweep_targets(struct sweep *sweep)
{
    struct weir *w = sweep->w;
    weir_grace_period();
    for (unsigned i = 0; i < w->limits_used; i++) {
        struct weir_limit *l = &w->limits[i];
        free_chain(l->retired);
        l->retired = NULL;
        if (sweep->targets[i] != NULL)
            rebase_word(sweep->targets[i], &l->overflow);
    }
    weir_table_walk(&w->table, rebase_slot, sweep);
    for (unsigned i = 0; i < w->limits_used; i++) {
        if (sweep->targets[i] != NULL) {
            w->limits[i].retired = sweep->targets[i]->previous;
            weir_pointer_store_release(&sweep->targets[i]->previous, NULL);
        }
    }
    weir_grace_period();
    for (unsigned i = 0; i < w->limits_used; i++) {
        struct weir_limit *l = &w->limits[i];
        if (sweep->targets[i] != NULL) {
            free_chain(l->retired);
            l->retired = NULL;
            publish_swept(l, sweep->targets[i]);
        }
    }
}

void weir_sweep(struct weir *w)
{
    struct sweep sweep = {w, NULL};
    pthread_mutex_lock(&w->lock);
    sweep.targets = calloc(w->max_limits, sizeof(struct weir_settings *));
    /* Without memory the sweep is put off: as long as generations last, nothing depends on it. */
    if (sweep.targets != NULL && choose_targets(&sweep) != 0)
        sweep_targets(&sweep);
    free(sweep.targets);
    pthread_mutex_unlock(&w->lock);
}

void weir_settings_free(struct weir_limit *l)
{
    free_chain(l->settings);
    free_chain(l->retired);
    free(l->spare);
}
