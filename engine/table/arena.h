/* SPDX-License-Identifier: MIT */
/*
 * The arena: memory for line arrays, in blocks of a power of two of bytes.
 *
 * Order: a block of order n has 2^n bytes. Chunk: 2 MiB at a multiple of 2 MiB, advised to be a
 * huge page, out of which blocks up to its own size are cut by halving; the two halves of one block
 * are buddies. Larger blocks are mappings of their own.
 *
 * A chunk as a tree: node 1 is all of it, 2n and 2n+1 are the halves of n, siblings n and n^1 are
 * buddies. One bit per node says that exactly this block is free:
 *
 *     1                                          2 MiB
 *     2                    3                     1 MiB
 *     4         5          6          7          512 KiB
 *     ...
 *     8192  8193  ...                  16383     256 bytes
 *
 * The bits and the lists of chunks stand in descriptors beside the chunks (2.3 KiB each, 0.11 % of
 * a chunk), found by the chunk's address in a hash table. Nothing is ever kept in a free block: it
 * stays zero and cold, a taker need not clear what links left in it, a free page can go back to the
 * system while its block stays free, and AddressSanitizer is told that nobody may touch it. Bits
 * instead of links and orders per 256-byte unit take 2 KiB a chunk instead of 40.
 *
 * Guarantees (P and M numbered as in the README, A are the arena's own)
 *   A1  A block is all zero and aligned to the smaller of its size and 2 MiB.
 *   A2  Blocks that are out do not overlap: of a free node no ancestor and no descendant is free,
 *       and whatever is out is below no free node.
 *   A3  Two free buddies are one free block, always. So the memory of many small arrays serves
 *       fewer large ones, and a chunk of which nothing is out is one block.
 *   P1  Taking waits for nobody. The one lock is tried for about 30 us, five times as long as the
 *       longest that a running thread keeps it (to map a chunk); then the block becomes a mapping
 *       of its own. So a thread that stops while it holds the lock (or that does not exist any
 *       more, in a child of fork) costs the others some memory and time, but never blocks them.
 *       Descriptors are mapped as chunks are, not taken from malloc, whose locks a stopped thread
 *       may hold. Giving may wait for the lock; it belongs on no decision's path.
 *   M1  Of chunks that are wholly free, one for each eight in use is kept, at least one; the others
 *       go back to the system at once. Descriptors are kept until the arena is closed.
 *
 * Not guaranteed: that all goes back when the process has as many mappings as the system lets it
 * have (vm.max_map_count): unmapping may have to split one. A chunk then stays, free, for later; of
 * a mapping of its own the address space stays without memory behind it, until the process ends.
 */
#ifndef WEIR_TABLE_ARENA_H
#define WEIR_TABLE_ARENA_H

#include "atomic.h"

#include <pthread.h>
#include <stddef.h>

#define WEIR_ARENA_ORDER_MIN 8  /* four lines */
#define WEIR_ARENA_ORDER_MAX 21 /* of a block that is part of a chunk */

/* Of the tree of a chunk: level 0 is the chunk, the last has the smallest blocks. */
#define WEIR_ARENA_LEVELS (WEIR_ARENA_ORDER_MAX - WEIR_ARENA_ORDER_MIN + 1)

/* Where a new arena finds descriptors by address. With more chunks it maps itself a larger place.
 */
#define WEIR_ARENA_FEW 64

struct weir_arena_chunk;
struct weir_arena_slab;

struct weir_arena_list {
    struct weir_arena_chunk *first, *last;
};

/*
 * chunks_free == length of lists[0], chunks == length of lists[WEIR_ARENA_LEVELS];
 * lists[l], l < WEIR_ARENA_LEVELS: the chunks with a free block of level l.
 */
struct weir_arena {
    /* How many more blocks can be taken, UINT64_MAX: any number. Lets tests be without memory. */
    struct weir_atomic_u64 allowance;
    struct weir_atomic_u64 bytes; /* mapped now */
    struct weir_atomic_u64 own;   /* mappings of their own that are out */
    size_t page;
    pthread_mutex_t lock;
    /* lock, all below */
    uint64_t chunks;
    uint64_t chunks_free; /* wholly */
    struct weir_arena_list lists[WEIR_ARENA_LEVELS + 1];
    struct weir_arena_chunk *spare; /* descriptors without a chunk */
    struct weir_arena_slab *slabs;  /* what descriptors were cut from */
    struct weir_arena_chunk **buckets;
    unsigned buckets_log2;
    struct weir_arena_chunk *few[WEIR_ARENA_FEW];
};

/* The arena must stay at its address. */
void weir_arena_init(struct weir_arena *a);

/* Returns everything to the system. Nobody else uses the arena any more, and every block that is a
   mapping of its own was given back. */
void weir_arena_close(struct weir_arena *a);

/*
 * A block of 2^order zero bytes, order from WEIR_ARENA_ORDER_MIN to 55. *own is to be handed back
 * with it: whether it is a mapping of its own. NULL: no memory. Never waits for another thread;
 * errno stays.
 */
void *weir_arena_take(struct weir_arena *a, unsigned order, bool *own);

/*
 * Takes a block back, of which nobody knows any more. It is cleared here, before the lock is taken:
 * by writing, because giving its pages back would break up the huge page, and whoever takes the
 * block next would wait for new ones on a decision's path. May wait for the lock (not if own).
 */
void weir_arena_give(struct weir_arena *a, void *block, unsigned order, bool own);

/*
 * Returns to the system every chunk that is wholly free, and the pages of free blocks. Beside other
 * calls: what they free meanwhile may be missed. Holds the lock for short times only.
 */
void weir_arena_trim(struct weir_arena *a);

/* Address space that is mapped now: chunks, mappings of their own, descriptors. Any thread. */
static inline size_t weir_arena_bytes(const struct weir_arena *a)
{
    return weir_load_relaxed(&a->bytes);
}

/* Around a fork, so that the child finds the lock free. Between the two, taking gives mappings of
   their own, and giving waits. */
static inline void weir_arena_lock(struct weir_arena *a)
{
    pthread_mutex_lock(&a->lock);
}

static inline void weir_arena_unlock(struct weir_arena *a)
{
    pthread_mutex_unlock(&a->lock);
}

/* Whether A2, A3 and the equations above hold. Of an arena that nobody else uses meanwhile. */
bool weir_arena_is_valid(const struct weir_arena *a);

#endif
