/* SPDX-License-Identifier: MIT */
/*
 * The line array: the memory of one shard, and how a tag is looked for and claimed in it.
 *
 * Layout: a block of 2^order lines (64 bytes each), aligned to 512 bytes. Its first three lines are
 * the header, the others hold slots. In the header's lines the tags say so, so that a search passes
 * over them as over full lines. A packed word tells all that a search needs to know:
 *
 *    63       62 .. 6               5 .. 0
 *    moving | address of the block | 64 - order
 *
 * The home line of a tag is the top `order` bits of (tag times an odd constant): it is computed
 * from the tag alone, so that any thread can move any slot, and neighbouring lines of one array are
 * neighbours in any other. Probing is linear by whole lines, around the end, over at most 64 lines;
 * a move, which must find a place, may go further and then raises `reach`.
 *
 * (Sizes half a power of two apart would leave less empty, but cost 4 cycles more for the home line
 * in the chain of each decision, and more in gaps between blocks than they save.)
 *
 * Vocabulary: an array is closed when no new key is counted in it any more: it has a successor.
 *
 * Equations, when no call is under way
 *   tags in the array = fresh + moved
 *
 * Guarantees (numbered as in the README)
 *   S3  At most one slot per tag. Slots fill in probe order and are never emptied; a claim is a
 *       compare-and-swap of the first empty tag in that order, and who loses it looks at the same
 *       slot again before he goes on. Two claims of one tag thus meet at one slot.
 *   P1  A lost claim means that another one succeeded.
 *
 * Common subset of C11 and C++11.
 */
#ifndef WEIR_TABLE_ARRAY_H
#define WEIR_TABLE_ARRAY_H

#include "table/line.h"

/* A new key finds its place in so many lines, or none. The model checker takes less of everything
   that stands between #ifndef and #endif. */
#ifndef WEIR_PROBE_LINES
#define WEIR_PROBE_LINES 64
#endif

/* Blocks of 8 lines (5 with slots) to 1024: a shard's keys are some 1295 when the table is full, so
   that an array of more would be one of chosen keys; and one word has a bit for each chunk. */
#ifndef WEIR_ORDER_MIN
#define WEIR_ORDER_MIN    3
#define WEIR_ORDER_MAX    10
#define WEIR_HEADER_LINES 3
#endif

/* Lines that are moved at once. */
#ifndef WEIR_CHUNK_LINES
#define WEIR_CHUNK_LINES 16
#endif

/* Slots kept free beside a sixteenth of all. */
#ifndef WEIR_SLOTS_FREE
#define WEIR_SLOTS_FREE 2
#endif

/* 2^64 divided by the golden ratio, made odd: multiplying by it spreads nearby values (Knuth,
   The Art of Computer Programming, vol. 3, 6.4). */
#define WEIR_HOME_MULTIPLIER 0x9E3779B97F4A7C15U

#define WEIR_ARRAY_MOVING ((uint64_t)1 << 63)
#define WEIR_SHIFT_MASK   ((uint64_t)63)

/* Flags in the counts of an array; the counts themselves are below them. */
#define WEIR_CLOSED     ((uint64_t)1 << 63) /* fresh: no further claims */
#define WEIR_LEFT       ((uint64_t)1 << 62) /* both: the shard has led on to the next array */
#define WEIR_ROOT       ((uint64_t)1 << 61) /* moved: the shard has led on to this array */
#define WEIR_PAUSED     ((uint64_t)1 << 60) /* fresh: no claims while it is tried for size */
#define WEIR_ENDED      ((uint64_t)1 << 60) /* moved: the move into this array is done */
#define WEIR_COUNT_MASK (WEIR_PAUSED - 1)

struct weir_array {
    struct weir_atomic_u64 no_slots[WEIR_LINE_SLOTS];
    struct weir_atomic_u64 next;    /* packed; 0: none. Set once */
    struct weir_atomic_u64 horizon; /* the latest `now` by which an entry was left behind as idle */
    struct weir_atomic_u64 reach;   /* lines that a search may have to go through */
    struct weir_atomic_u64 chunks;  /* handed out, of the move out of this array */
    struct weir_atomic_u64 no_slots_either[WEIR_LINE_SLOTS];
    struct weir_atomic_u64 done;   /* a bit per chunk that is moved */
    struct weir_atomic_u64 sample; /* where the next sample begins */
    void *owner;                   /* the table */
    uint32_t shard;
    uint8_t order;
    uint8_t own_mapping; /* of the arena's */
    /* written by every new key: not beside what helpers read */
    struct weir_atomic_u64 nor_here[WEIR_LINE_SLOTS];
    struct weir_atomic_u64 fresh; /* tags claimed for new keys, or about to be */
    struct weir_atomic_u64 moved; /* tags claimed by moves */
    void *retire[2];              /* for reclaim.h */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct weir_array) == WEIR_HEADER_LINES * sizeof(struct weir_line),
               "a header is whole lines");
#endif

static inline struct weir_line *weir_packed_block(uint64_t packed)
{
    return (struct weir_line *)(uintptr_t)(packed & ~(WEIR_ARRAY_MOVING | WEIR_SHIFT_MASK));
}

static inline struct weir_array *weir_packed_array(uint64_t packed)
{
    return (struct weir_array *)(void *)weir_packed_block(packed);
}

static inline struct weir_line *weir_array_block(const struct weir_array *a)
{
    return (struct weir_line *)(uintptr_t)a;
}

/* The first line with slots. */
static inline struct weir_line *weir_array_lines(const struct weir_array *a)
{
    return weir_array_block(a) + WEIR_HEADER_LINES;
}

/* Lines of a block. */
static inline uint64_t weir_order_block(uint64_t order)
{
    return (uint64_t)1 << order;
}

/* Those with slots. */
static inline uint64_t weir_order_lines(uint64_t order)
{
    return weir_order_block(order) - WEIR_HEADER_LINES;
}

static inline uint64_t weir_array_bytes(const struct weir_array *a)
{
    return weir_order_block(a->order) * sizeof(struct weir_line);
}

static inline uint64_t weir_array_pack(const struct weir_array *a)
{
    return (uint64_t)(uintptr_t)a | (64U - a->order);
}

static inline uint64_t weir_packed_lines(uint64_t packed)
{
    return weir_order_block(64 - (packed & WEIR_SHIFT_MASK));
}

static inline uint64_t weir_order_slots(uint64_t order)
{
    return weir_order_lines(order) * WEIR_LINE_SLOTS;
}

/* Keys that an array holds at most: some slots stay empty, so that a search ends, and for what a
   thread that was stopped in the middle of a move may still put there. */
static inline uint64_t weir_order_full(uint64_t order)
{
    return weir_order_slots(order) - (weir_order_slots(order) / 16 + WEIR_SLOTS_FREE);
}

static inline uint64_t weir_high_part(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
}

/* The home line of a tag, counted from the block's begin; the same for whoever knows the tag. */
static inline uint64_t weir_tag_home(uint64_t tag, uint64_t order)
{
    return tag * WEIR_HOME_MULTIPLIER >> (64 - order);
}

/* The same, by the packed word of the array. For a shard that is moving or has none it is an
   address of nothing, which may be asked for and no more. */
static inline struct weir_line *weir_packed_home(uint64_t packed, uint64_t tag)
{
    uint64_t block = packed & ~WEIR_SHIFT_MASK;
    uint64_t home = tag * WEIR_HOME_MULTIPLIER >> (packed & WEIR_SHIFT_MASK);
    return (struct weir_line *)(uintptr_t)(block + home * sizeof(struct weir_line));
}

/* Marks the lines of the header of a new array. */
static inline void weir_array_mark_header(struct weir_array *a)
{
    for (unsigned i = 0; i < WEIR_HEADER_LINES; i++)
        for (unsigned slot = 0; slot < WEIR_LINE_SLOTS; slot++)
            weir_store_relaxed(&weir_array_block(a)[i].tag[slot], WEIR_TAG_HEADER);
}

/* How a search ended. */
enum weir_found {
    WEIR_FOUND,  /* at the tag */
    WEIR_EMPTY,  /* at an empty slot, or where the tag cannot be any more */
    WEIR_SEALED, /* at a sealed slot: the array is being moved, or the key was refused */
    WEIR_NOWHERE /* the tag is not there, and has no place either */
};

/* One search: where it ended, and what it touched. */
struct weir_search {
    struct weir_line *line;
    unsigned slot;
    uint64_t lines; /* gone through */
};

static inline struct weir_atomic_u64 *weir_search_word(const struct weir_search *s)
{
    return &s->line->word[s->slot];
}

/*
 * Looks for a tag in one line: true when the search ends here. The slot is the tag's, or the first
 * empty or sealed one. Acquire: pairs with the claim of a slot and with its seal; who sees a seal
 * that a move has made also sees the shard's moving bit, and looks for the key in the next array.
 */
static inline bool weir_line_search(struct weir_line *line, uint64_t tag, struct weir_search *s,
                                    enum weir_found *found)
{
    s->line = line;
    for (s->slot = 0; s->slot < WEIR_LINE_SLOTS; s->slot++) {
        uint64_t seen = weir_load_acquire(&line->tag[s->slot]);
        if (seen == tag)
            *found = WEIR_FOUND;
        else if (seen == WEIR_TAG_EMPTY)
            *found = WEIR_EMPTY;
        else if (seen == WEIR_TAG_SEALED)
            *found = WEIR_SEALED;
        else
            continue;
        return true;
    }
    return false;
}

/* How far a search goes that saw no end in 64 lines. Acquire: pairs with weir_array_claim. */
static inline uint64_t weir_array_reach(const struct weir_array *a, uint64_t lines)
{
    uint64_t reach = weir_load_acquire(&a->reach);
    return reach < lines ? reach : lines;
}

/* Looks for a tag. */
static inline enum weir_found weir_array_search(const struct weir_array *a, uint64_t tag,
                                                struct weir_search *s)
{
    uint64_t lines = weir_order_block(a->order);
    uint64_t at = weir_tag_home(tag, a->order);
    uint64_t end = lines < WEIR_PROBE_LINES ? lines : WEIR_PROBE_LINES;
    enum weir_found found;
    for (s->lines = 1;; s->lines++) {
        if (weir_line_search(&weir_array_block(a)[at], tag, s, &found))
            return found;
        if (s->lines == end)
            end = weir_array_reach(a, lines);
        if (s->lines >= end)
            return WEIR_NOWHERE;
        at = at + 1 < lines ? at + 1 : 0;
    }
}

/*
 * Claims the slot of a search that ended at an empty one; false: another tag or a seal is there
 * now, and the slot is to be looked at again. S3: *seen tells which.
 */
static inline bool weir_search_claim(const struct weir_search *s, uint64_t tag, uint64_t *seen)
{
    *seen = WEIR_TAG_EMPTY;
    /* Release: who sees the tag of a moved key also sees the reach that leads to it. */
    return weir_cas_acq_rel(&s->line->tag[s->slot], seen, tag);
}

/*
 * Looks for a tag and claims a slot for it where it has none: WEIR_FOUND, and *claimed says whether
 * just now. A new key goes through at most `limit` lines. *races counts claims that were lost.
 */
static inline enum weir_found weir_array_claim(struct weir_array *a, uint64_t tag, uint64_t limit,
                                               struct weir_search *s, bool *claimed,
                                               uint64_t *races)
{
    uint64_t lines = weir_order_block(a->order);
    uint64_t at = weir_tag_home(tag, a->order);
    uint64_t end = lines < limit ? lines : limit;
    *claimed = false;
    for (s->lines = 1; s->lines <= end;) {
        enum weir_found found;
        uint64_t seen;
        if (weir_line_search(&weir_array_block(a)[at], tag, s, &found)) {
            if (found != WEIR_EMPTY)
                return found;
            if (s->lines > WEIR_PROBE_LINES)
                weir_max_release(&a->reach, s->lines); /* before the tag is there to be found */
            *claimed = weir_search_claim(s, tag, &seen);
            if (*claimed)
                return WEIR_FOUND;
            ++*races;
            continue; /* the same line again */
        }
        s->lines++;
        at = at + 1 < lines ? at + 1 : 0;
    }
    return WEIR_NOWHERE;
}

/* What a slot never used begins at: `now`, or the horizon where that is later. Acquire: pairs with
   weir_move_raise_horizon (move.h). Without it a clock that is behind could see a key full before
   it is. */
static inline uint64_t weir_array_fresh_at(const struct weir_array *a, uint64_t now,
                                           uint64_t stale_max)
{
    uint64_t horizon = weir_load_acquire(&a->horizon);
    return horizon > now && horizon - now <= stale_max ? horizon : now;
}

/* Tags in the array, once no claim is under way; before that at most so many. */
static inline uint64_t weir_array_count(const struct weir_array *a)
{
    return (weir_load_relaxed(&a->fresh) & WEIR_COUNT_MASK) +
           (weir_load_relaxed(&a->moved) & WEIR_COUNT_MASK);
}

#endif
