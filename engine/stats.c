/* SPDX-License-Identifier: MIT */
/*
 * Statistics: sums of what the threads counted, and what the table says of itself.
 */
#include "limiter.h"

#include <errno.h>

static size_t bytes_of(const struct weir *w)
{
    return sizeof *w + w->table.mapping_bytes + w->max_limits * sizeof *w->limits +
           2 * w->limits_used * sizeof(struct weir_settings) + weir_counters_bytes(w->counters);
}

int weir_stats(const struct weir *w, struct weir_stats *out)
{
    if (w == NULL || out == NULL || (out->size != 0 && out->size != sizeof *out))
        return -EINVAL;
    struct weir_counter_sums sums = {0, 0, 0, 0};
    uint64_t origins = 0;
    pthread_mutex_lock(weir_lock_of(w));
    for (unsigned i = 0; i < w->limits_used; i++) {
        weir_counters_sum(w->counters, i, &sums);
        origins += weir_load_relaxed(&w->limits[i].origins);
    }
    out->bytes = bytes_of(w);
    pthread_mutex_unlock(weir_lock_of(w));
    out->keys = weir_load_relaxed(&w->table.claimed);
    out->max_keys = w->table.max_keys;
    out->longest_probe = weir_load_relaxed(&w->table.longest_probe);
    out->allowed = sums.allowed;
    out->denied = sums.denied;
    out->never = sums.never;
    out->overflow = sums.overflow;
    out->origins = origins;
    return 0;
}

int weir_limit_stats(const struct weir *w, int limit, struct weir_limit_stats *out)
{
    if (w == NULL || out == NULL || (out->size != 0 && out->size != sizeof *out))
        return -EINVAL;
    if (weir_limit_at(w, limit) == NULL)
        return -ENOENT;
    struct weir_counter_sums sums = {0, 0, 0, 0};
    weir_counters_sum(w->counters, (unsigned)limit, &sums);
    out->allowed = sums.allowed;
    out->denied = sums.denied;
    out->never = sums.never;
    out->overflow = sums.overflow;
    return 0;
}
