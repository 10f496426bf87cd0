/* SPDX-License-Identifier: MIT */
/*
 * The table's slower paths as the limiter calls them: a key's place, and work on whole shards. All
 * inside a read section.
 */
#ifndef WEIR_PLACE_H
#define WEIR_PLACE_H

#include "limiter.h"

/* Where a key is, or is from now on. Moves what has to be moved first, and judges by `now` what is
   idle. */
struct weir_place weir_place_of(struct weir *w, const struct weir_probe *p, weir_ns now,
                                enum weir_look look);

/* Ends the move of a shard that is under way, if one is. Its root afterwards; NULL: it has none. */
struct weir_array *weir_place_settle(struct weir *w, uint64_t shard, weir_ns now);

/* Leaves behind what is idle in a shard, and gives what is left an array of its size. False: there
   was no memory for it. */
bool weir_place_trim(struct weir *w, uint64_t shard, weir_ns now);

#endif
