/* SPDX-License-Identifier: MIT */
/*
 * The sweep: re-bases all words of older generations and frees the generations.
 *
 *   1  a grace period: nobody uses settings older than the target, the limit's newest, any more
 *   2  every word of an older generation is re-based on the target; nobody writes such a word now
 *   3  the chain of older settings is cut off from the target
 *   4  a grace period: nobody reads the old chain; it is freed
 *   5  the target is published again as one whose older generations are free
 *
 * Guarantees (S and P numbered as in the README)
 *   S5  No answer changes.
 *   O3  A generation number is given out again only when no word has it (2) and nobody looks for it
 *       in an old chain (4).
 *   P1  Decisions go on meanwhile, origins move, limits are added, statistics read. Only one sweep
 *       runs at a time; who comes second goes his way.
 *
 * Not guaranteed: what only a clock more than stale_max behind the target's origin would still call
 * a debt. The newest clock is taken for the right one; a key that is full by it is full.
 */
#include "limiter.h"

#include "check.h"
#include "rcu.h"

#include <errno.h>
#include <stdlib.h>

struct sweep {
    struct weir *w;
    struct weir_settings **targets; /* by limit: what older words are re-based on, or NULL */
    unsigned limits;                /* ids below it */
    bool complete;                  /* nothing was left for another time */
};

/* Re-bases one word, if it is of a generation before the target's. */
static void rebase_word(const struct weir_settings *target, struct weir_atomic_u64 *slot)
{
    uint64_t word = weir_load_acquire(slot); /* slot.h, O1 */
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
    for (unsigned i = 0; i < sweep->limits; i++) {
        struct weir_settings *s = weir_pointer_load_acquire(&sweep->w->limits[i].settings);
        if (__builtin_popcount(s->generations) >= WEIR_SWEEP_AT) {
            sweep->targets[i] = s;
            chosen++;
        }
    }
    return chosen;
}

/*
 * No word is older than the target: publishes it again as one whose other generations are free.
 * False without memory, and when a newer origin was published meanwhile: its chain ends at the
 * target and keeps its marks.
 */
static bool publish_swept(struct weir_limit *l, struct weir_settings *target)
{
    struct weir_settings *swept = weir_settings_allocate();
    if (swept == NULL)
        return false;
    weir_settings_copy(swept, target);
    swept->generations = (uint32_t)1 << target->generation;
    weir_assert(weir_settings_is_valid(swept));
    struct weir_settings *current = target;
    if (!weir_pointer_cas_acq_rel(&l->settings, &current, swept)) { /* origin.c, O2 */
        free(swept);
        return false;
    }
    l->retired = target;
    return true;
}

/*
 * Leaves out limits that were given a newer origin while the first grace period was waited for: the
 * newest clock is taken for the right one, and it is no longer the target's.
 */
static void drop_outdated(struct sweep *sweep)
{
    for (unsigned i = 0; i < sweep->limits; i++) {
        struct weir_settings *newest = weir_pointer_load_acquire(&sweep->w->limits[i].settings);
        if (sweep->targets[i] != NULL && sweep->targets[i] != newest) {
            sweep->targets[i] = NULL;
            sweep->complete = false;
        }
    }
}

/* Steps 1 to 5. */
static void sweep_targets(struct sweep *sweep)
{
    struct weir *w = sweep->w;
    weir_grace_period();
    drop_outdated(sweep);
    for (unsigned i = 0; i < sweep->limits; i++) {
        struct weir_limit *l = &w->limits[i];
        weir_settings_free_chain(l->retired);
        l->retired = NULL;
        if (sweep->targets[i] != NULL)
            rebase_word(sweep->targets[i], &l->overflow);
    }
    weir_table_walk(&w->table, rebase_slot, sweep);
    for (unsigned i = 0; i < sweep->limits; i++) {
        if (sweep->targets[i] != NULL) {
            w->limits[i].retired = sweep->targets[i]->previous;
            /* Pairs with weir_settings_translate: who sees NULL finds no older word any more. */
            weir_pointer_store_release(&sweep->targets[i]->previous, NULL);
        }
    }
    weir_grace_period();
    for (unsigned i = 0; i < sweep->limits; i++) {
        struct weir_limit *l = &w->limits[i];
        if (sweep->targets[i] != NULL) {
            weir_settings_free_chain(l->retired);
            l->retired = NULL;
            sweep->complete = publish_swept(l, sweep->targets[i]) && sweep->complete;
        }
    }
}

void weir_sweep(struct weir *w)
{
    if (pthread_mutex_trylock(&w->sweeping) != 0)
        return;
    struct sweep sweep = {w, NULL, 0, false};
    int saved = errno;
    pthread_mutex_lock(&w->lock);
    sweep.limits = w->limits_used; /* those that come later need none yet */
    pthread_mutex_unlock(&w->lock);
    weir_store_relaxed(&w->origins, 0);
    sweep.targets = calloc(w->max_limits, sizeof(struct weir_settings *));
    errno = saved;
    if (sweep.targets != NULL) {
        sweep.complete = true;
        if (choose_targets(&sweep) != 0)
            sweep_targets(&sweep);
    }
    /* What could not be done now is due at the next occasion, also when no origin moves until then:
       a limit without a free generation moves none. */
    if (!sweep.complete)
        weir_add_relaxed(&w->origins, WEIR_SWEEP_AT);
    free(sweep.targets);
    pthread_mutex_unlock(&w->sweeping);
}
