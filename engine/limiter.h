/* SPDX-License-Identifier: MIT */
/*
 * The limiter inside: an engine's parts, and what its files offer each other.
 *
 *   engine.c    opening and closing           limits.c    adding and finding limits
 *   decide.c    every call on a key           origin.c    settings with an origin
 *   sweep.c     freeing of generations        key.c       hashing
 *   counters.c  statistics per thread         stats.c     their sums
 */
#ifndef WEIR_LIMITER_H
#define WEIR_LIMITER_H

#include "export.h"

#include "counters.h"
#include "slot/settings.h"
#include "table/table.h"

#include <pthread.h>

#define WEIR_NAME_MAX    63
#define WEIR_SECRET_SIZE 192 /* what XXH3 takes at least, and what weir_options promises */

/* The name spaces of keys: each hashes with a secret of its own. */
enum weir_key_space { WEIR_SPACE_BYTES, WEIR_SPACE_U64, WEIR_SPACE_ADDRESS, WEIR_KEY_SPACES };

/* One limit. Unused while settings is NULL; an id, once used, stays. */
struct weir_limit {
    struct weir_settings *settings; /* atomic */
    struct weir_settings *spare;    /* atomic; for the next origin, so that it need not allocate */
    struct weir_settings *retired;  /* sweeping; replaced by a sweep, freed by the next one */
    struct weir_atomic_u64 origins;
    char name[WEIR_NAME_MAX + 1];
    /* alone on its line: it is written by every call whose key has no place */
    WEIR_ALIGN_LINE struct weir_atomic_u64 overflow;
};

struct weir {
    struct weir_table table;
    struct weir_limit *limits;
    unsigned max_limits;
    enum weir_when_full when_full;
    weir_ns stale_max;
    struct weir_counter_set *counters;
    pthread_mutex_t lock;     /* adding of limits, statistics; never taken by a decision */
    pthread_mutex_t sweeping; /* a sweep, which may wait; nothing else is kept waiting for it */
    void *names;              /* lock; a tree of limits by name (tsearch) */
    unsigned limits_used;     /* lock; ids below it are in use */
    struct weir_atomic_u64 origins; /* moved since the last sweep, over all limits */
    uint8_t secrets[WEIR_KEY_SPACES][WEIR_SECRET_SIZE];
};

/* The limit of an id, or NULL. The id may be anything. Acquire: pairs with the publication of the
   settings, so that the name is there too. */
static inline struct weir_limit *weir_limit_at(const struct weir *w, int limit)
{
    if (w == NULL || (unsigned)limit >= w->max_limits)
        return NULL;
    struct weir_limit *l = &w->limits[limit];
    return weir_pointer_load_acquire(&l->settings) != NULL ? l : NULL;
}

/* The lock is no part of an engine's value. */
static inline pthread_mutex_t *weir_lock_of(const struct weir *w)
{
    return &((struct weir *)(uintptr_t)w)->lock;
}

/* ---- key.c ---- */

/* One secret per name space of keys, out of the one that an engine is opened with. */
void weir_key_secrets(struct weir *w, const uint8_t secret[WEIR_SECRET_SIZE]);

/* ---- origin.c ---- */

/* An object, not filled in; NULL: no memory. */
struct weir_settings *weir_settings_allocate(void);

/* The same settings, all but `previous`, which a sweep may be cutting in `from`. */
void weir_settings_copy(struct weir_settings *to, const struct weir_settings *from);

/* Generations and serial fit together, and with those of the predecessor. */
bool weir_settings_is_valid(const struct weir_settings *s);

/* First settings for a policy, with a spare. 0, -EINVAL, -ERANGE, -ENOMEM. */
int weir_settings_make(const struct weir_policy *policy, uint64_t serial,
                       struct weir_settings **settings, struct weir_settings **spare);

/* Frees an object and its predecessors. */
void weir_settings_free_chain(struct weir_settings *s);

/* Frees all settings of a limit; no other call may run. */
void weir_settings_free(struct weir_limit *l);

/*
 * Settings under which `now` can be told, and where it is: `s`, newer ones, or ones with a new
 * origin published here. Inside a read section. Where there is no generation or no memory for a
 * new origin, `now` counts as the nearer end of the line. NULL: the limit has no origin yet, there
 * is no memory for one, and the thread that took the spare for it does not come forward.
 */
const struct weir_settings *weir_settings_settle(struct weir *w, struct weir_limit *l,
                                                 const struct weir_settings *s, weir_ns now,
                                                 struct weir_instant *at);

/*
 * The same for a question, which publishes nothing: an origin for `now` is put into *aside, with
 * `s` as its predecessor, or time stands still.
 */
const struct weir_settings *weir_settings_aside(const struct weir *w, const struct weir_settings *s,
                                                weir_ns now, struct weir_instant *at,
                                                struct weir_settings *aside);

/* ---- sweep.c ---- */

/* A limit is swept when it has used up so many of its 31 generations since the last sweep. */
#define WEIR_SWEEP_AT 8

/*
 * Re-bases every word of an older generation on its limit's newest settings and frees the
 * generations, without changing an answer to a clock that is less than stale_max behind. Limits
 * that have used less than WEIR_SWEEP_AT generations are left alone. Waits for grace periods: not
 * from inside a read section, nor with the lock. All else goes on meanwhile. Returns at once when
 * another thread is sweeping.
 */
void weir_sweep(struct weir *w);

#endif
