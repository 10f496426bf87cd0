/* SPDX-License-Identifier: MIT */
/*
 * A shard replays the events of its keys, in order, on an engine of its own. Shards share nothing,
 * so that each may be elsewhere on the time line and the numbers are the same for any count of
 * shards: a key's decisions depend on the key's own events alone.
 */
#ifndef WEIR_CLI_SHARD_H
#define WEIR_CLI_SHARD_H

#include "keymap.h"
#include "timeline.h"

#include <weir/weir.h>

#define SHARD_NEVER UINT64_MAX

/* What became of the requests under one limit. */
struct tally {
    uint64_t allowed, denied;
    uint64_t keys_denied;  /* keys denied at least once */
    uint64_t overflow;     /* requests whose key had no place in the engine */
    uint64_t first_denied; /* position on the time line, or SHARD_NEVER */
    struct log_time first_denied_at;
};

struct shard {
    struct weir *engine;
    size_t limits;
    int *ids;
    struct tally *tallies; /* one per limit */
    struct timeline timeline;
    weir_ns swept_at;
};

/* An engine of keys_max keys under each of the policies. 0, or what weir_open or weir_add_limit
   refused with; then the shard is empty. `start`: the first instant to come. */
int shard_open(struct shard *shard, const struct weir_policy *policies, size_t limits,
               size_t keys_max, int64_t start);

/* Leaves the shard empty ({0}), which may be closed as well. */
void shard_close(struct shard *shard);

/*
 * Decides one request under each limit and counts it. Instants must not fall. `entry` is NULL for
 * a key past the bound of the map: the limits decide on it, no key's counts have it.
 */
void shard_decide(struct shard *shard, weir_key key, struct key_entry *entry,
                  const struct log_time *now, uint64_t position);

/* Fetches the overflow counts from the engine. */
void shard_finish(struct shard *shard);

/* Adds the counts of a finished shard to another. */
void shard_add(struct shard *sum, const struct shard *shard);

#endif
