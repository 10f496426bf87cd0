/* SPDX-License-Identifier: MIT */
/*
 * Limits by id and by name.
 *
 * Adding takes the engine's lock and publishes the limit's settings last, with release: who gets
 * the id from weir_add_limit or weir_find_limit, or sees the settings, finds the rest of it.
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

/* Of policies, over all engines: a reservation of one is none of another. */
static struct weir_atomic_u64 serials;

/* The lock is held; the name is valid. */
static int add_locked(struct weir *w, const char *name, const struct weir_policy *policy)
{
    struct weir_settings *settings;
    struct weir_settings *spare;
    struct weir_limit wanted;
    strcpy(wanted.name, name);
    if (tfind(&wanted, &w->names, by_name) != NULL)
        return -EEXIST;
    if (w->limits_used == w->max_limits)
        return -ENOSPC;
    int error = weir_settings_make(policy, weir_add_relaxed(&serials, 1) + 1, &settings, &spare);
    if (error != 0)
        return error;
    struct weir_limit *l = &w->limits[w->limits_used];
    strcpy(l->name, name);
    if (tsearch(l, &w->names, by_name) == NULL) {
        l->name[0] = '\0';
        weir_settings_free_chain(settings);
        free(spare);
        return -ENOMEM;
    }
    l->spare = spare;
    /* Release: pairs with weir_limit_at; name and spare are there for who sees the settings. */
    weir_pointer_store_release(&l->settings, settings);
    return (int)w->limits_used++;
}

int weir_add_limit(struct weir *w, const char *name, const struct weir_policy *policy)
{
    if (w == NULL || name == NULL || policy == NULL)
        return -EINVAL;
    int id = check_name(name);
    if (id != 0)
        return id;
    int saved = errno;
    pthread_mutex_lock(&w->lock);
    id = add_locked(w, name, policy);
    pthread_mutex_unlock(&w->lock);
    if (weir_load_relaxed(&w->origins) >= WEIR_SWEEP_AT)
        weir_sweep(w);
    errno = saved;
    return id;
}

int weir_find_limit(const struct weir *w, const char *name)
{
    if (w == NULL || name == NULL)
        return -EINVAL;
    struct weir_limit wanted;
    if (check_name(name) != 0)
        return -ENOENT;
    strcpy(wanted.name, name);
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
    const struct weir_limit *l = weir_limit_at(w, limit);
    if (l == NULL)
        return -ENOENT;
    weir_read_begin();
    /* Acquire: pairs with the publication of the settings; the section keeps them. */
    const struct weir_settings *s = weir_pointer_load_acquire(&l->settings);
    *out = s->meter.policy;
    weir_read_end();
    return 0;
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
