/* SPDX-License-Identifier: MIT */
/*
 * The line: four slots in one cache line, and tags, which say whose a slot is.
 *
 *   tag[0] tag[1] tag[2] tag[3] word[0] word[1] word[2] word[3]      64 bytes
 *
 *   tag = 0            empty
 *   tag = 1            sealed: closed while it was empty; a search ends here as at an empty one
 *   tag = hash bits    the limit's id in the low bits, bits of the key's hash, not all zero, above
 *
 * A tag, once set, never changes in that memory; so a slot belongs to one key for ever, and an
 * 8-byte compare-and-swap is enough to claim it. Because the bits above the id are not all zero,
 * no key has the tags 0 and 1.
 */
#ifndef WEIR_TABLE_LINE_H
#define WEIR_TABLE_LINE_H

#include "atomic.h"

#define WEIR_LINE_SLOTS 4
#define WEIR_TAG_EMPTY  ((uint64_t)0)
#define WEIR_TAG_SEALED ((uint64_t)1)

struct weir_line {
    struct weir_atomic_u64 tag[WEIR_LINE_SLOTS];
    struct weir_atomic_u64 word[WEIR_LINE_SLOTS];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct weir_line) == 64, "a line is one cache line");
#endif

/* The tag of a key under a limit; id_bits is 1 to 16. */
static inline uint64_t weir_tag(uint64_t hash, uint64_t limit, unsigned id_bits)
{
    uint64_t id_mask = ((uint64_t)1 << id_bits) - 1;
    uint64_t rest = hash & ~id_mask;
    return (rest != 0 ? rest : id_mask + 1) | limit;
}

static inline uint64_t weir_tag_limit(uint64_t tag, unsigned id_bits)
{
    return tag & (((uint64_t)1 << id_bits) - 1);
}

/*
 * Bit i set: slot i has this tag. All four are compared at once and the caller branches on
 * whether one matched, never on which: the position is random, a branch on it mispredicts, and
 * each misprediction waits for the cache miss. Relaxed is enough: a tag never changes once it is
 * set, and nothing is published through it.
 */
static inline unsigned weir_line_match(const struct weir_line *line, uint64_t tag)
{
    return (unsigned)(weir_load_relaxed(&line->tag[0]) == tag) << 0 |
           (unsigned)(weir_load_relaxed(&line->tag[1]) == tag) << 1 |
           (unsigned)(weir_load_relaxed(&line->tag[2]) == tag) << 2 |
           (unsigned)(weir_load_relaxed(&line->tag[3]) == tag) << 3;
}

/* Whether a search ends in this line: a slot of it is empty or sealed. */
static inline bool weir_line_ends(const struct weir_line *line)
{
    return (weir_line_match(line, WEIR_TAG_EMPTY) | weir_line_match(line, WEIR_TAG_SEALED)) != 0;
}

#endif
