/* SPDX-License-Identifier: MIT */
/*
 * Trimming: leaves behind what is idle, shrinks arrays, frees generations, returns memory.
 */
#include "limiter.h"

#include "place.h"
#include "rcu.h"
#include "table/reclaim.h"

#include <errno.h>

/* Generations after which a trim sweeps a limit: from the second on there is something to free. */
#define SWEEP_AT 2

static bool trim_shard(struct weir *w, uint64_t shard, weir_ns now)
{
    weir_read_begin();
    bool done = weir_place_trim(w, shard, now);
    weir_read_end();
    return done;
}

/* Trims shard by shard; one that cannot be given another array tries once more after readers have
   let go of what was retired before. */
static bool trim_shards(struct weir *w, weir_ns now)
{
    bool complete = true;
    for (uint64_t shard = 0; shard < w->table.shards; shard++) {
        if (trim_shard(w, shard, now))
            continue;
        weir_retire_wait(&w->table);
        complete = trim_shard(w, shard, now) && complete;
    }
    return complete;
}

int weir_trim(struct weir *w, weir_ns now)
{
    if (w == NULL)
        return -EINVAL;
    int saved = errno; /* the caller's */
    weir_sweep(w, SWEEP_AT);
    bool complete = trim_shards(w, now);
    weir_retire_wait(&w->table);
    weir_arena_trim(&w->table.arena);
    errno = saved;
    return complete ? 0 : -ENOMEM;
}
