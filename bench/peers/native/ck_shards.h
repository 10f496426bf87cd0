/* SPDX-License-Identifier: MIT */
/*
 * Concurrency Kit's ck_ht in 64 shards. It is C: its header is no C++.
 *
 * A ck_ht takes one writer at a time. Each shard has a spinlock, which is held for a whole
 * decision, as it has to be where keys that are idle are removed and their nodes freed.
 */
#ifndef WEIR_BENCH_CK_SHARDS_H
#define WEIR_BENCH_CK_SHARDS_H

#include <weir/weir.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ck_shards;

/* Made for so many keys, no more than half full with them. NULL: there is no memory. */
struct ck_shards *ck_shards_open(uint64_t keys);
void ck_shards_close(struct ck_shards *shards);

/* The cell of a key decides; a new key gets one. */
bool ck_shards_allow(struct ck_shards *shards, weir_key key, const struct weir_meter *meter,
                     uint64_t n, weir_ns now);

#ifdef __cplusplus
}
#endif

#endif
