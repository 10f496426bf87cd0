/* SPDX-License-Identifier: MIT */
/*
 * The line: four slots in one cache line, and tags, which say whose a slot is.
 *
 *   tag[0] tag[1] tag[2] tag[3] word[0] word[1] word[2] word[3]      64 bytes
 *
 *   tag = 0            empty
 *
 *   tag = 1            sealed: closed while it was empty, by a move or against a refused key
 *
 *   tag = 2            no slot: the line belongs to an array's header
 *
 *   tag = hash bits    the limit's id in the low bits, above it bits of the key's hash, not all 0
 *
 * A tag, once set, never changes in that memory; so a slot belongs to one key for ever, and an
 * 8-byte compare-and-swap is enough to claim it. Because the bits above the id, which has two bits
 * at least, are not all zero, no key has the tags 0 to 2.
 *
 * Common subset of C11 and C++11.
 */
#ifndef WEIR_TABLE_LINE_H
#define WEIR_TABLE_LINE_H

#include "atomic.h"

#ifndef WEIR_LINE_SLOTS
#define WEIR_LINE_SLOTS 4 /* the model checker takes fewer */
#endif
#define WEIR_TAG_EMPTY  ((uint64_t)0)
#define WEIR_TAG_SEALED ((uint64_t)1)
#define WEIR_TAG_HEADER ((uint64_t)2)

struct weir_line {
    struct weir_atomic_u64 tag[WEIR_LINE_SLOTS];
    struct weir_atomic_u64 word[WEIR_LINE_SLOTS];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct weir_line) == 64, "a line is one cache line");
#endif

/* The tag of a key under a limit; hash_mask is all but the lowest id_bits, which are 2 to 16. */
static inline uint64_t weir_tag_of(uint64_t hash, uint64_t limit, uint64_t hash_mask)
{
    uint64_t rest = hash & hash_mask;
    if (__builtin_expect(rest == 0, 0))
        rest = 0 - hash_mask;
    return rest | limit;
}

static inline uint64_t weir_tag(uint64_t hash, uint64_t limit, unsigned id_bits)
{
    return weir_tag_of(hash, limit, 0 - ((uint64_t)1 << id_bits));
}

static inline uint64_t weir_tag_limit(uint64_t tag, unsigned id_bits)
{
    return tag & (((uint64_t)1 << id_bits) - 1);
}

/* Bit i set: slot i has this tag. Relaxed is enough, here and below: a tag never changes once it is
   set, and what is in the slot orders itself. */
static inline unsigned weir_line_match(const struct weir_line *line, uint64_t tag)
{
    unsigned match = 0;
#pragma GCC unroll 4
    for (unsigned slot = 0; slot < WEIR_LINE_SLOTS; slot++)
        match |= (unsigned)(weir_load_relaxed(&line->tag[slot]) == tag) << slot;
    return match;
}

/*
 * The word of a tag, or NULL. There is a branch on whether the tag is there, never on which slot it
 * is in: that is random, the branch would be mispredicted, and each misprediction waits for the
 * cache miss. (Conditional moves take 8 cycles less than a comparison in a vector.)
 */
static inline struct weir_atomic_u64 *weir_line_word(struct weir_line *line, uint64_t tag)
{
    uint64_t slot = 0;
#pragma GCC unroll 4
    for (uint64_t i = 1; i < WEIR_LINE_SLOTS; i++) {
        slot = weir_load_relaxed(&line->tag[i]) == tag ? i : slot;
        __asm__("" : "+r"(slot)); /* not a way of going on for each */
    }
    bool is = weir_load_relaxed(&line->tag[slot]) == tag;
    return __builtin_expect(is, 1) ? &line->word[slot] : (struct weir_atomic_u64 *)0;
}

/* Asks for the lines after one that does not hold what is looked for: it is seldom further away. */
static inline void weir_line_ask_next(const struct weir_line *line)
{
    __builtin_prefetch(line + 1, 0);
    __builtin_prefetch(line + 2, 0);
    __builtin_prefetch(line + 3, 0);
}

/* Whether a search ends in this line: a slot of it is empty or sealed. */
static inline bool weir_line_ends(const struct weir_line *line)
{
    return (weir_line_match(line, WEIR_TAG_EMPTY) | weir_line_match(line, WEIR_TAG_SEALED)) != 0;
}

#endif
