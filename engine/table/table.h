/* SPDX-License-Identifier: MIT */
/*
 * The table: which slot belongs to a key. It does not know what a word means.
 *
 *   shard words     [ 0 | 0 | root | root, moving | ... ]     one word each, dense
 *                            |        |
 *                            v        v
 *   line arrays          [header|lines] [header|lines] --next--> [header|lines]
 *
 * Layout: the shard comes from the high half of a key's hash and never changes; an array belongs to
 * one shard (array.h) and is replaced as a whole (move.h). A shard that was never used has no
 * array. Finding the line of a key reads the shard's word and the line, nothing else.
 *
 * Load limits: a shard whose array holds so many keys gets another one, by a sample of what is
 * idle: of twice the size, or of the same (a compaction). The limit lies between 0.76 and 0.93,
 * rising with the shard's number, so that shards do not grow all at once; and as memory is handed
 * out in the order in which they grow, neighbours in memory are free again at about the same time.
 *
 * Bound: max_keys is dealt to the shards from one word, in blocks of 1/64 of an even share (a
 * power of two, 1 to 64). A shard pays for each new key with a credit; a key that was left behind
 * gives its credit back at the swing, and whole blocks go back to the word.
 *
 * Equation, when no call is under way
 *   max_keys = unspent + sum over shards (credits + keys)
 *
 * Guarantees (numbered as in the README; S3, S5, P1 are shown in array.h and move.h)
 *   M1  At most max_keys keys hold a place, and those that are claimed in the very moment when the
 *       last is taken, at most one a thread and a block for each thread that deals just then.
 *       New keys are refused when less than one block a shard, 1/64 of max_keys, is left and
 *       nothing is idle in their shard. Arrays take 16 bytes a slot, and those of 32 lines and more
 *       are at least 0.35 full when they are made to hold more keys.
 *
 *   S5  Whatever floods the table, what is in debt keeps its place. A failed allocation changes no
 *       decision: a shard goes on in the array that it has, beyond the load limit up to 15/16.
 *
 * Not guaranteed: a place for a key whose 64 lines are full, which takes chosen keys; that a thread
 * that stops for ever right after a swing has given back the credits of what was left behind.
 *
 * Two keys are one when the tags' hash bits and the shards agree: (64 - id_bits) + log2(shards)
 * bits.
 */
#ifndef WEIR_TABLE_TABLE_H
#define WEIR_TABLE_TABLE_H

#include "table/arena.h"
#include "table/array.h"

#include <stddef.h>

/* Keys of a shard when the table is full: an array of 512 lines then has a load of 0.64, below
   every load limit, and is no bigger than what fits a first-level cache. */
#define WEIR_SHARD_KEYS 1295

/* What is kept of a shard besides its word; read by new keys and moves only. */
struct weir_share {
    struct weir_atomic_u64 credits; /* signed: keys that it may still take */
    struct weir_atomic_u64 wait;    /* calls until it tries to allocate again */
};

/* What has happened, for statistics. Not on the path of a decision on a key that has its place. */
struct weir_table_counts {
    struct weir_atomic_u64 growths;       /* arrays replaced by larger ones */
    struct weir_atomic_u64 compactions;   /* by ones of the same size */
    struct weir_atomic_u64 shrinks;       /* by smaller ones */
    struct weir_atomic_u64 moves;         /* entries put into a next array */
    struct weir_atomic_u64 dropped;       /* idle entries that were left behind */
    struct weir_atomic_u64 helps;         /* chunks moved by calls */
    struct weir_atomic_u64 redone;        /* of these, ones that somebody else had taken */
    struct weir_atomic_u64 races;         /* claims of a slot that were lost */
    struct weir_atomic_u64 stale_left;    /* left behind under a clock behind the horizon */
    struct weir_atomic_u64 stale_fresh;   /* keys that began at the horizon instead of `now` */
    struct weir_atomic_u64 failures;      /* allocations that failed */
    struct weir_atomic_u64 longest_probe; /* lines, of a claim */
    struct weir_atomic_u64 longest_call;  /* lines that one call went through */
};

struct weir_table {
    struct weir_atomic_u64 *words; /* of the shards: packed, see array.h */
    uint64_t shards;
    uint64_t hash_mask; /* all but id_bits */
    unsigned id_bits;
    unsigned block_log2;
    uint64_t max_keys;
    uint64_t stale_max;
    uint64_t stagger; /* 2^32 / shards: a shard's number times this is its place in 2^32 */
    struct weir_share *shares;
    struct weir_arena arena;
    struct weir_table_counts counts;
    /* written by some new keys, growths and retirements: not beside what every call reads */
    WEIR_ALIGN_LINE struct weir_atomic_u64 unspent; /* of max_keys, not dealt to a shard */
    struct weir_atomic_u64 arrays;                  /* that are not retired */
    struct weir_atomic_u64 bytes;                   /* of these */
    struct weir_atomic_u64 retired_bytes;           /* of arrays that readers may still see */
    struct weir_atomic_u64 retirements;             /* ever */
};

/* A key's tag and shard. */
struct weir_probe {
    uint64_t tag;
    uint64_t shard;
};

/* How a key is looked for where it takes more: see place.h. */
enum weir_look {
    WEIR_LOOK,   /* changes nothing, but that it helps a move */
    WEIR_SETTLE, /* claims nothing; but a key that has no place gets none for now */
    WEIR_CLAIM   /* a key that has no place gets one if it can */
};

/* What came of it. */
struct weir_place {
    struct weir_atomic_u64 *word; /* NULL: the key has none */
    struct weir_array *array;     /* where the key is or would be; NULL: the shard has none */
    bool refused;                 /* a new key gets no place */
};

/* Makes a table for max_keys (1 to 2^32) and limit ids of id_bits. 0, or -ENOMEM. */
int weir_table_init(struct weir_table *t, uint64_t max_keys, unsigned id_bits, uint64_t stale_max);

/* Frees all. No other call may run, and no retirement may be pending: see reclaim.h. */
void weir_table_free(struct weir_table *t);

/* Memory held, address space that is not used yet included. */
size_t weir_table_bytes(const struct weir_table *t);

/* An array of 2^order lines for a shard, not published. NULL: no memory. */
struct weir_array *weir_table_make_array(struct weir_table *t, uint64_t shard, unsigned order);

/* Frees one that nobody can see any more. May wait: not on the path of a decision. */
void weir_table_free_array(struct weir_table *t, struct weir_array *a);

static inline struct weir_probe weir_table_probe(const struct weir_table *t, uint64_t high,
                                                 uint64_t low, unsigned limit)
{
    struct weir_probe p = {weir_tag_of(low, limit, t->hash_mask), weir_high_part(high, t->shards)};
    return p;
}

/* Acquire: pairs with the publication of the array; its lines are seen zeroed or later. */
static inline uint64_t weir_table_word(const struct weir_table *t, uint64_t shard)
{
    return weir_load_acquire(&t->words[shard]);
}

/* Whether a shard has an array, and is not being moved. */
static inline bool weir_packed_is_steady(uint64_t packed)
{
    return (int64_t)packed > 0;
}

/*
 * The word of a tag, by its shard's word and its home line there. NULL where it takes a closer
 * look: the tag is in none of the full lines from its home on, or after the array's end, or the
 * shard is being moved or has no array.
 */
static inline __attribute__((always_inline)) struct weir_atomic_u64 *weir_packed_find(
    uint64_t packed, struct weir_line *line, uint64_t tag)
{
    if (__builtin_expect(!weir_packed_is_steady(packed), 0))
        return NULL;
    struct weir_atomic_u64 *word = weir_line_word(line, tag);
    if (__builtin_expect(word == NULL, 0))
        weir_line_ask_next(line);
    while (__builtin_expect(word == NULL, 0)) {
        if (weir_line_ends(line) || ++line == weir_packed_block(packed) + weir_packed_lines(packed))
            return NULL;
        word = weir_line_word(line, tag);
    }
    return word;
}

/* The same, by the key. */
static inline struct weir_atomic_u64 *weir_table_find(const struct weir_table *t,
                                                      const struct weir_probe *p)
{
    uint64_t packed = weir_table_word(t, p->shard);
    return weir_packed_find(packed, weir_packed_home(packed, p->tag), p->tag);
}

/* Keys that hold a place: the sum over the shards, exact when no call is under way. *error: so many
   of them may be idle ones that a move under way has left behind. Inside a read section. */
uint64_t weir_table_keys(const struct weir_table *t, uint64_t *error);

/*
 * Calls visit(context, tag, word) for every used slot of an array. Beside other calls: those
 * claimed meanwhile may be missed. Inside a read section.
 */
void weir_array_walk(struct weir_array *a,
                     void (*visit)(void *context, uint64_t tag, struct weir_atomic_u64 *word),
                     void *context);

/*
 * Whether the table is as its guarantees say: lines fill from their first slot on, every tag is
 * where a search for it ends (so that none stands twice), no key has two live slots, and the counts
 * and credits add up. Of a table that nobody else uses meanwhile; reads all of it.
 */
bool weir_table_is_valid(const struct weir_table *t);

#endif
