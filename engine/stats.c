/* SPDX-License-Identifier: MIT */
/*
 * Statistics: sums of what the threads counted, and what the table says of itself.
 */
#include "limiter.h"

#include "rcu.h"

#include <errno.h>
#include <string.h>

static size_t bytes_of(const struct weir *w)
{
    return sizeof *w + weir_table_bytes(&w->table) + w->max_limits * sizeof w->limits[0] +
           (size_t)2 * w->limits_used * sizeof(struct weir_settings) +
           weir_counters_bytes(w->counters);
}

static void table_stats(const struct weir_table *t, struct weir_stats *out)
{
    const struct weir_table_counts *counts = &t->counts;
    weir_read_begin();
    out->keys = weir_table_keys(t, &out->keys_error);
    weir_read_end();
    out->max_keys = t->max_keys;
    out->retired_bytes = weir_load_relaxed(&t->retired_bytes);
    out->arrays = weir_load_relaxed(&t->arrays);
    out->growths = weir_load_relaxed(&counts->growths);
    out->compactions = weir_load_relaxed(&counts->compactions);
    out->shrinks = weir_load_relaxed(&counts->shrinks);
    out->failures = weir_load_relaxed(&counts->failures);
    out->moves = weir_load_relaxed(&counts->moves);
    out->dropped = weir_load_relaxed(&counts->dropped);
    out->helps = weir_load_relaxed(&counts->helps);
    out->longest_probe = weir_load_relaxed(&counts->longest_probe);
    out->longest_call = weir_load_relaxed(&counts->longest_call);
}

int weir_stats(const struct weir *w, struct weir_stats *out)
{
    if (w == NULL || out == NULL || (out->size != 0 && out->size != sizeof *out))
        return -EINVAL;
    struct weir_counter_sums sums = {{0}};
    uint64_t origins = 0;
    pthread_mutex_lock(weir_lock_of(w));
    for (unsigned i = 0; i < w->limits_used; i++) {
        weir_counters_sum(w->counters, i, &sums);
        origins += weir_load_relaxed(&w->limits[i].origins);
    }
    out->bytes = bytes_of(w);
    pthread_mutex_unlock(weir_lock_of(w));
    table_stats(&w->table, out);
    out->allowed = sums.of[WEIR_ALLOWED];
    out->denied = sums.of[WEIR_DENIED];
    out->never = sums.of[WEIR_NEVER];
    out->overflow = sums.of[WEIR_COUNTER_OVERFLOW];
    out->origins = origins;
    return 0;
}

void weir_limit_counts(const struct weir *w, unsigned id, struct weir_counter_sums *sums)
{
    memset(sums, 0, sizeof *sums);
    weir_counters_sum(w->counters, id, sums);
    for (unsigned i = 0; i < WEIR_COUNTERS; i++)
        sums->of[i] -= w->limits[id].before.of[i];
}

int weir_limit_stats(const struct weir *w, int limit, struct weir_limit_stats *out)
{
    if (w == NULL || out == NULL || (out->size != 0 && out->size != sizeof *out))
        return -EINVAL;
    struct weir_counter_sums sums;
    pthread_mutex_lock(weir_lock_of(w));
    bool found = weir_limit_at(w, limit) != NULL;
    if (found)
        weir_limit_counts(w, (unsigned)limit, &sums);
    pthread_mutex_unlock(weir_lock_of(w));
    if (!found)
        return -ENOENT;
    out->allowed = sums.of[WEIR_ALLOWED];
    out->denied = sums.of[WEIR_DENIED];
    out->never = sums.of[WEIR_NEVER];
    out->overflow = sums.of[WEIR_COUNTER_OVERFLOW];
    return 0;
}
