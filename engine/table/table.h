/* SPDX-License-Identifier: MIT */
/*
 * The table: which slot belongs to a key. It does not know what a word means.
 *
 * Layout: 2^shards_log2 shards of 2^lines_log2 lines, one mapping. The shard comes from the high
 * half of a key's hash, the home line within it from the top bits of (tag times an odd constant),
 * so that limit ids spread. Probing is linear by whole lines from the home line, around the end of
 * the shard, over at most 64 lines. The size is fixed, made for max_keys at a load of at most 1/2.
 *
 * Guarantees (numbered as in the README)
 *   S3  At most one slot per tag and shard. Slots fill in probe order and are never emptied; a
 *       claim is a compare-and-swap of the first empty tag in that order, and who loses it looks
 *       at the same slot again before he goes on. Two claims of one tag thus meet at one slot.
 *   S1  A key that was told that it has no place never gets one: who finds the table full seals the
 *       empty slot at which his search ended, before he says so. No key is then decided in the
 *       overflow and in a slot of its own. (Without it two threads that meet a new key at the
 * moment when the table gets full could each admit its burst.) P1  Lock-free: a lost claim means
 * that another one succeeded; at most 64 lines a call. M1  Memory is fixed when the table is made.
 * At most max_keys slots are claimed, and one more for each thread that claims another key in the
 * very moment when the table gets full.
 *
 * Not guaranteed: a place for a key while the table has room, when 64 full lines follow its home;
 * at a load of 1/2 that practically does not happen.
 *
 * Two keys are one when the tags' hash bits and the shards agree: (64 - id_bits) + shards_log2
 * bits.
 */
#ifndef WEIR_TABLE_TABLE_H
#define WEIR_TABLE_TABLE_H

#include "table/line.h"

#include <stddef.h>

/* A search reads at most so many lines; at a load of 1/2 it practically always ends in the first.
 */
#define WEIR_PROBE_LINES 64

/* 2^64 divided by the golden ratio, made odd: multiplying by it spreads nearby values (Knuth,
   The Art of Computer Programming, vol. 3, 6.4). */
#define WEIR_HOME_MULTIPLIER 0x9E3779B97F4A7C15U

struct weir_table {
    struct weir_line *lines;
    uint64_t max_keys;
    uint8_t shards_log2;
    uint8_t lines_log2; /* of one shard */
    uint8_t id_bits;
    uint8_t home_shift; /* 63 - lines_log2, applied after a shift by one: lines_log2 may be 0 */
    size_t bytes;       /* of the lines */
    void *mapping;      /* what the lines were cut from */
    size_t mapping_bytes;
    struct weir_atomic_u64 longest_probe; /* lines, of a claim; rarely written */
    /* written by every claim: not beside what every call reads */
    WEIR_ALIGN_LINE struct weir_atomic_u64 claimed;
};

/* Where a tag would be looked for. */
struct weir_probe {
    struct weir_line *shard;
    uint64_t mask; /* lines of a shard - 1 */
    uint64_t home;
    uint64_t tag;
};

/* Makes a table for max_keys (1 to 2^32) and limit ids of id_bits. 0, or -ENOMEM. */
int weir_table_init(struct weir_table *t, uint64_t max_keys, unsigned id_bits);
void weir_table_free(struct weir_table *t);

/* The home line of a tag, the same for whoever knows the tag. */
static inline uint64_t weir_tag_home(uint64_t tag, unsigned home_shift)
{
    return tag * WEIR_HOME_MULTIPLIER >> 1 >> home_shift;
}

static inline struct weir_probe weir_table_probe(const struct weir_table *t, uint64_t high,
                                                 uint64_t low, unsigned limit)
{
    struct weir_probe p;
    p.tag = weir_tag(low, limit, t->id_bits);
    p.mask = ((uint64_t)1 << t->lines_log2) - 1;
    /* two shifts: shards_log2 may be 0 */
    p.shard = t->lines + ((high >> 1 >> (63 - t->shards_log2)) << t->lines_log2);
    p.home = weir_tag_home(p.tag, t->home_shift);
    return p;
}

/* The word of a tag, or NULL where the search ends: at an empty or sealed slot, or after 64 lines.
 */
static inline struct weir_atomic_u64 *weir_table_find(const struct weir_probe *p)
{
    for (uint64_t i = 0; i < WEIR_PROBE_LINES && i <= p->mask; i++) {
        struct weir_line *line = &p->shard[(p->home + i) & p->mask];
        unsigned match = weir_line_match(line, p->tag);
        if (match != 0)
            return &line->word[__builtin_ctz(match)];
        if (weir_line_ends(line))
            return NULL;
    }
    return NULL;
}

/* The same, and claims a slot where there is none. NULL: there is no place, and never will be. */
struct weir_atomic_u64 *weir_table_claim(struct weir_table *t, const struct weir_probe *p);

/* The same, but claims nothing: *place_left says whether weir_table_claim would find a place. Where
   it would not, the key never gets one, unless `look` says to leave the table as it is. */
struct weir_atomic_u64 *weir_table_settle(struct weir_table *t, const struct weir_probe *p,
                                          bool look, bool *place_left);

/* Calls visit(context, tag, word) for every claimed slot. Beside other calls: some may be missed
   that are claimed meanwhile, none is visited twice. */
void weir_table_walk(struct weir_table *t,
                     void (*visit)(void *context, uint64_t tag, struct weir_atomic_u64 *word),
                     void *context);

/*
 * Whether the table is as its guarantees say: lines fill from their first slot on, every tag is
 * where a search for it ends (so that none stands twice), and as many are claimed as are counted.
 * Of a table that nobody else uses meanwhile; reads all of it.
 */
bool weir_table_is_valid(const struct weir_table *t);

#endif
