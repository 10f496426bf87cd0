/* SPDX-License-Identifier: MIT */
/*
 * Limits by id and by name: adding, finding, removing.
 *
 * Adding takes the engine's lock and publishes the limit's settings last, with release: who gets
 * the id from weir_add_limit or weir_find_limit, or sees the settings, finds the rest of it.
 *
 * Removing goes through all the states of an id (limiter.h):
 *   1  the name is taken away, and the settings from calls to come, but not from moves
 *   2  a grace period: calls under way have ended; nobody decides by the settings any more
 *   3  the settings are taken away from moves: they leave the limit's words behind as never used
 *   4  a grace period: moves that judge by the settings have ended; the settings are freed, and the
 *      generations of words that the table may still hold are noted down
 *   5  the id is free; its next settings start with a generation that none of these words has
 *
 * Guarantees (S, O and P numbered as in the README)
 *   S1  The calls on a removed limit admit together what they would have without its removal: its
 *       words are kept, and moved, until the last of them has ended (2).
 *   O3  A later limit never reads a word of an earlier one as its own (5): nobody writes words of
 *       the earlier one's generations any more (2, 4), and a generation is given out again only
 *       after a sweep has found all words that have it (sweep.c).
 *   P1  No decision waits. Who removes, waits: for calls under way, and for a sweep or another
 *       removal, which keep `sweeping` throughout. So at a fork no removal is half done.
 *
 * Not guaranteed: the memory of what the limit's keys held, before their shards are compacted: it
 * counts as idle there.
 */
#include "limiter.h"

#include "rcu.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const struct weir_limit *left = a;
    const struct weir_limit *right = b;
    return strcmp(left->name, right->name);
}

/* 0, or what is wrong with a name. */
static int check_name(const char *name)
{
    size_t length = strnlen(name, WEIR_NAME_MAX + 1);
    if (length == 0)
        return -EINVAL;
    return length > WEIR_NAME_MAX ? -ENAMETOOLONG : 0;
}

/* The name is valid. */
static void set_name(struct weir_limit *l, const char *name)
{
    size_t length = strnlen(name, WEIR_NAME_MAX);
    memcpy(l->name, name, length);
    l->name[length] = '\0';
}

uint64_t weir_serial_next(void)
{
    static struct weir_atomic_u64 serials;
    return weir_add_relaxed(&serials, 1) + 1;
}

/* lock; the lowest free id, or max_limits. */
static unsigned lowest_free(struct weir *w)
{
    while (w->first_free < w->max_limits && w->limits[w->first_free].used)
        w->first_free++;
    return w->first_free;
}

/* lock; makes a free id one in use. */
static void open_limit(struct weir *w, struct weir_limit *l, struct weir_settings *settings,
                       struct weir_settings *spare)
{
    unsigned id = (unsigned)(l - w->limits);
    memset(&l->before, 0, sizeof l->before);
    weir_counters_sum(w->counters, id, &l->before);
    l->used = true;
    if (w->limits_used <= id)
        w->limits_used = id + 1;
    weir_pointer_store_release(&l->spare, spare); /* origin.c, take_spare */
    /* Release: pairs with weir_limit_at; name and spare are there for who sees the settings. */
    weir_pointer_store_release(&l->settings, settings);
}

/* The lock is held; the name is valid. -EAGAIN: an id is there, but takes a sweep or the end of a
   removal first. */
static int add_locked(struct weir *w, const char *name, const struct weir_policy *policy,
                      const void *zone)
{
    struct weir_settings *settings;
    struct weir_settings *spare;
    struct weir_limit wanted;
    set_name(&wanted, name);
    if (tfind(&wanted, &w->names, by_name) != NULL)
        return -EEXIST;
    unsigned id = lowest_free(w);
    if (id == w->max_limits)
        return w->closing != 0 ? -EAGAIN : -ENOSPC;
    struct weir_limit *l = &w->limits[id];
    if (__builtin_popcount(l->taken) > WEIR_GENERATIONS - WEIR_FREE_TO_REUSE)
        return -EAGAIN;
    int error = weir_settings_make(policy, zone, l->taken, &settings, &spare);
    if (error != 0)
        return error;
    settings->serial = settings->kin = weir_serial_next();
    set_name(l, name);
    if (tsearch(l, &w->names, by_name) == NULL) {
        l->name[0] = '\0';
        weir_settings_free_chain(settings);
        free(spare);
        return -ENOMEM;
    }
    open_limit(w, l, settings, spare);
    return (int)id;
}

int weir_add_limit(struct weir *w, const char *name, const struct weir_policy *policy)
{
    if (w == NULL || name == NULL || policy == NULL)
        return -EINVAL;
    int id = check_name(name);
    if (id != 0)
        return id;
    const void *zone;
    int saved = errno;
    id = weir_settings_check(policy, &zone);
    while (id == 0 || id == -EAGAIN) {
        pthread_mutex_lock(&w->lock);
        id = add_locked(w, name, policy, zone);
        pthread_mutex_unlock(&w->lock);
        if (id != -EAGAIN)
            break;
        weir_sweep_wait(w, WEIR_SWEEP_AT);
    }
    if (weir_load_relaxed(&w->origins) >= WEIR_SWEEP_AT)
        weir_sweep(w, WEIR_SWEEP_AT);
    errno = saved;
    return id;
}

/* ---- removing ---- */

/* sweeping; step 1. NULL: there is no such limit. */
static struct weir_limit *close_limit(struct weir *w, int limit)
{
    pthread_mutex_lock(&w->lock);
    struct weir_limit *l = weir_limit_at(w, limit);
    if (l != NULL) {
        struct weir_settings *last = weir_pointer_load_acquire(&l->settings); /* origin.c, O2 */
        tdelete(l, &w->names, by_name);
        /* Release: pairs with weir_limit_settings. Again if a call has moved the origin meanwhile.
         */
        do
            weir_pointer_store_release(&l->closing, last);
        while (!weir_pointer_cas_acq_rel(&l->settings, &last, NULL));
        w->closing++;
    }
    pthread_mutex_unlock(&w->lock);
    return l;
}

/* sweeping; steps 2 to 5. */
static void free_limit(struct weir *w, struct weir_limit *l)
{
    weir_grace_period();
    struct weir_settings *last = weir_pointer_exchange_acq_rel(&l->closing, NULL);
    weir_store_relaxed(&l->reach, 0);
    weir_store_relaxed(&l->overflow, 0); /* nobody's now: the one word that is not in the table */
    weir_grace_period();
    uint32_t taken = last->generations;
    weir_settings_free(l, last);

    pthread_mutex_lock(&w->lock);
    unsigned id = (unsigned)(l - w->limits);
    l->taken = taken;
    l->used = false;
    if (id < w->first_free)
        w->first_free = id;
    w->closing--;
    pthread_mutex_unlock(&w->lock);
}

int weir_remove_limit(struct weir *w, int limit, weir_ns now)
{
    (void)now; /* nothing depends on it */
    if (w == NULL)
        return -EINVAL;
    int saved = errno;
    pthread_mutex_lock(&w->sweeping);
    struct weir_limit *l = close_limit(w, limit);
    if (l != NULL) {
        weir_waiters_kick_limit(w->waiters, (unsigned)limit);
        free_limit(w, l);
    }
    pthread_mutex_unlock(&w->sweeping);
    errno = saved;
    return l != NULL ? 0 : -ENOENT;
}

/* ---- finding ---- */

int weir_find_limit(const struct weir *w, const char *name)
{
    if (w == NULL || name == NULL)
        return -EINVAL;
    struct weir_limit wanted;
    if (check_name(name) != 0)
        return -ENOENT;
    set_name(&wanted, name);
    pthread_mutex_lock(weir_lock_of(w));
    void *node = tfind(&wanted, &w->names, by_name);
    int id = -ENOENT;
    if (node != NULL)
        id = (int)(*(struct weir_limit **)node - w->limits);
    pthread_mutex_unlock(weir_lock_of(w));
    return id;
}

int weir_get_limit(const struct weir *w, int limit, struct weir_policy *out)
{
    if (w == NULL || out == NULL)
        return -EINVAL;
    if ((unsigned)limit >= w->max_limits)
        return -ENOENT;
    weir_read_begin();
    /* Acquire: pairs with the publication of the settings; the section keeps them. */
    const struct weir_settings *s = weir_pointer_load_acquire(&w->limits[limit].settings);
    if (s != NULL)
        *out = s->meter.policy;
    weir_read_end();
    return s != NULL ? 0 : -ENOENT;
}

const char *weir_limit_name(const struct weir *w, int limit)
{
    const struct weir_limit *l = weir_limit_at(w, limit);
    return l != NULL ? l->name : NULL;
}

int weir_next_limit(const struct weir *w, int limit)
{
    if (w == NULL)
        return -EINVAL;
    if (limit < -1)
        return -ENOENT;
    for (unsigned i = (unsigned)limit + 1; i < w->max_limits; i++) {
        if (weir_limit_at(w, (int)i) != NULL)
            return (int)i;
    }
    return -ENOENT;
}
