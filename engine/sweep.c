/* SPDX-License-Identifier: MIT */
/*
 * The sweep: re-bases all words of older generations and frees the generations.
 *
 *   1  a grace period: nobody uses settings older than the target, the limit's newest, any more
 *   2  every word of an older generation is re-based on the target, shard by shard, after the move
 *      under way was ended; nobody writes such a word now, a move neither (place.c, O3)
 *   3  the chain of older settings is cut off from the target
 *   4  a grace period: nobody reads the old chain; it is freed
 *   5  the target is published again as one whose older generations are free
 *
 * Words of a removed limit, and of one before it became of another kind, are in no chain. Where the
 * id is in use again, they become words of payload 0 of the target's generation in step 2; where it
 * is free, of payload 0 of one generation, which stays taken: one that no word of the id has, if
 * there is one. Payload 0 is "never used" to whoever knows the generation, as any word is to
 * whoever does not.
 *
 * Guarantees (S and P numbered as in the README)
 *   S5  No answer changes.
 *   O3  A generation number is given out again only when no word has it (2) and nobody looks for it
 *       in an old chain (4). Of a free id nobody writes words, nor has he since it became free
 *       (limits.c); who is given it meanwhile has no word in the generations that are swept, but
 *       perhaps in the one that they become.
 *   P1  Decisions go on meanwhile, origins move, limits are added, statistics read. Only one sweep
 *       runs at a time, and beside a removal none; who comes second goes his way, or waits if he
 *       needs what it frees.
 *
 * Not guaranteed: what only a clock more than stale_max behind the target's origin would still call
 * a debt. The newest clock is taken for the right one; a key that is full by it is full.
 */
#include "limiter.h"

#include "check.h"
#include "place.h"
#include "rcu.h"

#include <stdlib.h>

struct sweep {
    struct weir *w;
    unsigned limits;      /* ids below it */
    unsigned generations; /* an id that has used so many is swept */
    bool complete;        /* nothing was left for another time */
    bool frozen;          /* a move has begun in the shard at hand */
};

/* What a word becomes; false: it stays. */
static bool rebased(const struct weir_limit *l, uint64_t word, uint64_t *next)
{
    const struct weir_settings *target = l->target;
    uint32_t bit = (uint32_t)1 << weir_word_generation(word);
    uint64_t payload;
    if (word == 0)
        return false;
    if (target == NULL) {
        *next = weir_word_mark(l->into);
        return (l->swept & bit) != 0;
    }
    if (weir_word_generation(word) == target->generation)
        return false;
    if (!weir_settings_translate(target, word, &payload)) {
        if ((target->generations & bit) == 0)
            return false; /* of newer settings */
        payload = 0;      /* of a limit that was removed, or was of another kind */
    }
    *next = target->meter.mark | payload;
    return true;
}

/* Re-bases one word, if it is of an older generation. False: it is frozen. */
static bool rebase_word(const struct weir_limit *l, struct weir_atomic_u64 *slot)
{
    uint64_t next;
    uint64_t word = weir_load_acquire(slot); /* slot.h, O1 */
    while ((word & WEIR_WORD_FROZEN) == 0) {
        if (!rebased(l, word, &next) || weir_cas_acq_rel(slot, &word, next))
            return true;
    }
    return false;
}

static bool is_swept(const struct weir_limit *l)
{
    return l->target != NULL || l->swept != 0;
}

static void rebase_slot(void *context, uint64_t tag, struct weir_atomic_u64 *slot)
{
    struct sweep *sweep = context;
    const struct weir_limit *l = &sweep->w->limits[weir_tag_limit(tag, sweep->w->table.id_bits)];
    if (is_swept(l) && !rebase_word(l, slot))
        sweep->frozen = true;
}

/* Until every word was seen outside of a move: what is frozen is not re-based, and who copies it
   could not read it any more once the chain is cut. */
static void rebase_shard(struct sweep *sweep, uint64_t shard)
{
    do {
        sweep->frozen = false;
        weir_read_begin();
        struct weir_array *root = weir_place_settle(sweep->w, shard, 0); /* nothing is idle at 0 */
        if (root != NULL)
            weir_array_walk(root, rebase_slot, sweep);
        weir_read_end();
    } while (sweep->frozen);
}

/* lock; a limit that has no generation yet has no words either, but perhaps those of an earlier one
   of its id, which stay as they are. */
static void choose_target(struct weir_limit *l, unsigned generations)
{
    struct weir_settings *s = weir_pointer_load_acquire(&l->settings); /* origin.c, O2 */
    l->target = NULL;
    l->swept = 0;
    if (s != NULL && s->generation != 0) {
        if ((unsigned)__builtin_popcount(s->generations) >= generations)
            l->target = s;
    } else if (!l->used && (unsigned)__builtin_popcount(l->taken) >= generations) {
        /* Where none is free, one of them: then nobody is given the id before the sweep ends. */
        uint32_t into = weir_generation_free(l->taken, 0);
        l->into = (uint8_t)(into != 0 ? into : 1);
        l->swept = l->taken & ~((uint32_t)1 << l->into);
    }
}

/* How many ids are to be swept. */
static unsigned choose_targets(struct sweep *sweep)
{
    struct weir *w = sweep->w;
    unsigned chosen = 0;
    pthread_mutex_lock(&w->lock);
    sweep->limits = w->limits_used; /* those that come later need none yet */
    for (unsigned i = 0; i < sweep->limits; i++) {
        choose_target(&w->limits[i], sweep->generations);
        chosen += is_swept(&w->limits[i]);
    }
    pthread_mutex_unlock(&w->lock);
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
        struct weir_limit *l = &sweep->w->limits[i];
        if (l->target != NULL && l->target != weir_pointer_load_acquire(&l->settings)) {
            l->target = NULL;
            sweep->complete = false;
        }
    }
}

/* Step 3. Pairs with weir_settings_translate: who sees NULL finds no older word any more. */
static void cut_chains(struct sweep *sweep)
{
    for (unsigned i = 0; i < sweep->limits; i++) {
        struct weir_limit *l = &sweep->w->limits[i];
        if (l->target != NULL) {
            l->retired = l->target->previous;
            weir_pointer_store_release(&l->target->previous, NULL);
        }
    }
}

/* Steps 4 and 5 of one id; an id that was free may have been given away meanwhile, with all the
   generations that it had then. */
static void end_target(struct sweep *sweep, struct weir_limit *l)
{
    if (l->target != NULL) {
        weir_settings_free_chain(l->retired);
        l->retired = NULL;
        sweep->complete = publish_swept(l, l->target) && sweep->complete;
    } else if (l->swept != 0) {
        pthread_mutex_lock(&sweep->w->lock);
        if (!l->used)
            l->taken = (uint32_t)1 << l->into;
        pthread_mutex_unlock(&sweep->w->lock);
    }
    l->target = NULL;
    l->swept = 0;
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
        if (l->target != NULL)
            rebase_word(l, &l->overflow);
    }
    for (uint64_t shard = 0; shard < w->table.shards; shard++)
        rebase_shard(sweep, shard);
    cut_chains(sweep);
    weir_grace_period();
    for (unsigned i = 0; i < sweep->limits; i++)
        end_target(sweep, &w->limits[i]);
}

void weir_sweep_now(struct weir *w, unsigned generations)
{
    struct sweep sweep = {w, 0, generations, true, false};
    weir_store_relaxed(&w->origins, 0);
    if (choose_targets(&sweep) != 0)
        sweep_targets(&sweep);
    /* What could not be done now is due at the next occasion, also when no origin moves until then:
       a limit without a free generation moves none. */
    if (!sweep.complete)
        weir_add_relaxed(&w->origins, WEIR_SWEEP_AT);
}

void weir_sweep(struct weir *w, unsigned generations)
{
    if (pthread_mutex_trylock(&w->sweeping) == 0) {
        weir_sweep_now(w, generations);
        pthread_mutex_unlock(&w->sweeping);
    }
}

void weir_sweep_wait(struct weir *w, unsigned generations)
{
    pthread_mutex_lock(&w->sweeping);
    weir_sweep_now(w, generations);
    pthread_mutex_unlock(&w->sweeping);
}
