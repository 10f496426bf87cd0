/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing an engine.
 */
#include "limiter.h"

#include "check.h"
#include "fork.h"
#include "rcu.h"
#include "table/reclaim.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MAX_KEYS_DEFAULT   ((size_t)1048576)
#define MAX_KEYS_LIMIT     ((uint64_t)1 << 32)
#define MAX_LIMITS_DEFAULT 256U
#define MAX_LIMITS_LIMIT   65535U
#define STALE_MAX_DEFAULT  (60 * WEIR_SECOND)
/* A new origin lies this far before `now` and up to one period; half a payload's span is 180 days
   and two periods at least, so that `now` is then on the line. */
#define STALE_MAX_LIMIT (90 * WEIR_DAY)

/* The options with defaults filled in. */
static int complete(const struct weir_options *options, struct weir_options *o)
{
    memset(o, 0, sizeof *o);
    if (options != NULL) {
        if (options->size != 0 && options->size != sizeof *options)
            return -EINVAL;
        *o = *options;
    }
    if (o->max_keys == 0)
        o->max_keys = MAX_KEYS_DEFAULT;
    if (o->max_limits == 0)
        o->max_limits = MAX_LIMITS_DEFAULT;
    if (o->stale_max == 0)
        o->stale_max = STALE_MAX_DEFAULT;
    if (o->clock != NULL && o->sleep_until == NULL)
        return -EINVAL;
    if ((int)o->when_full < WEIR_FULL_SHARE || (int)o->when_full > WEIR_FULL_DENY)
        return -EINVAL;
    if (o->max_keys > MAX_KEYS_LIMIT || o->max_limits > MAX_LIMITS_LIMIT ||
        o->stale_max > STALE_MAX_LIMIT)
        return -ERANGE;
    return 0;
}

static int random_bytes(uint8_t *out, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = getrandom(out + done, size - done, 0);
        if (got < 0 && errno != EINTR)
            return -EIO;
        if (got > 0)
            done += (size_t)got;
    }
    return 0;
}

/* Bits that hold ids 0 to limits - 1. */
static unsigned bits_for(unsigned limits)
{
    unsigned bits = 1;
    while ((1U << bits) < limits)
        bits++;
    return bits;
}

static int make_parts(struct weir *w, const struct weir_options *o)
{
    uint8_t secret[WEIR_SECRET_SIZE];
    if (o->secret != NULL)
        memcpy(secret, o->secret, sizeof secret);
    else if (random_bytes(secret, sizeof secret) != 0)
        return -EIO;
    weir_key_secrets(w, secret);

    w->counters = weir_counters_open(o->max_limits);
    if (w->counters == NULL)
        return -ENOMEM;
    w->serial = w->counters->serial;
    w->waiters = weir_waiters_open();
    if (w->waiters == NULL)
        return -ENOMEM;
    return weir_table_init(&w->table, o->max_keys, bits_for(o->max_limits), o->stale_max);
}

static void free_parts(struct weir *w)
{
    if (w->counters != NULL)
        weir_counters_close(w->counters);
    weir_waiters_close(w->waiters);
    free(w);
}

static int make_engine(const struct weir_options *o, struct weir **out)
{
    size_t bytes = sizeof(struct weir) + o->max_limits * sizeof(struct weir_limit);
    struct weir *w = aligned_alloc(64, bytes);
    if (w == NULL)
        return -ENOMEM;
    memset(w, 0, bytes);
    w->max_limits = o->max_limits;
    w->quick_limits = weir_read_is_quick() ? o->max_limits : 0;
    w->when_full = o->when_full;
    w->stale_max = o->stale_max;
    w->clock = o->clock;
    w->sleep_until = o->sleep_until;
    w->clock_context = o->clock_context;
    w->wall_clock = o->wall_clock;
    w->wall_context = o->wall_context;
    weir_store_relaxed(&w->wall_told, (uint64_t)INT64_MAX + 2 * WEIR_SECOND); /* near no `now` */
    int error = make_parts(w, o);
    if (error != 0) {
        free_parts(w);
        return error;
    }
    pthread_mutex_init(&w->lock, NULL); /* cannot fail for a default mutex on Linux */
    pthread_mutex_init(&w->sweeping, NULL);
    error = weir_fork_watch(w);
    if (error != 0) {
        weir_table_free(&w->table);
        free_parts(w);
        return error;
    }
    *out = w;
    return 0;
}

int weir_open(struct weir **out, const struct weir_options *options)
{
    struct weir_options o;
    if (out == NULL)
        return -EINVAL;
    int error = complete(options, &o);
    if (error != 0)
        return error;
    int saved = errno;
    error = make_engine(&o, out);
    errno = saved; /* the caller's; what the parts say in it is said by the result */
    return error;
}

static void keep(void *limit)
{
    (void)limit; /* the tree's nodes point into the array of limits */
}

/*
 * In a child of fork the calls that vanished are under way for ever. What they have counted ahead
 * may never come, and of the blocks of their own mappings only those in the table can be found.
 */
static void forget_vanished(struct weir *w)
{
    uint64_t own = 0;
    for (uint64_t i = 0; i < w->table.shards; i++) {
        uint64_t packed = weir_load_acquire(&w->table.words[i]); /* pairs with its publication */
        while (packed != 0) {
            const struct weir_array *a = weir_packed_array(packed);
            own += a->own_mapping != 0;
            packed = weir_load_acquire(&a->next); /* pairs with its publication */
        }
    }
    weir_store_relaxed(&w->table.arena.own, own);
}

void weir_close(struct weir *w)
{
    if (w == NULL)
        return;
    int saved = errno;
    weir_fork_unwatch(w);
    weir_assert(w->inherited || weir_table_is_valid(&w->table));
    weir_retire_wait(&w->table);
    if (w->inherited)
        forget_vanished(w);
    tdestroy(w->names, keep);
    for (unsigned i = 0; i < w->limits_used; i++)
        weir_settings_free(&w->limits[i], w->limits[i].settings);
    weir_table_free(&w->table);
    pthread_mutex_destroy(&w->lock);
    pthread_mutex_destroy(&w->sweeping);
    free_parts(w);
    errno = saved;
}

int weir_thread_ready(void)
{
    weir_read_register();
    return 0;
}
