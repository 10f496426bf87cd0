/* SPDX-License-Identifier: MIT */
/*
 * Blocks of an arena as its tests hold them: marked, so that a block shows whether anybody else
 * wrote to it.
 */
#ifndef WEIR_TESTS_ARENA_BLOCKS_H
#define WEIR_TESTS_ARENA_BLOCKS_H

#include "../support.h"

#include "rcu.h"
#include "table/arena.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK ((size_t)2 << 20)

struct held {
    uint64_t *words;
    unsigned order;
    bool own;
    uint64_t mark; /* what stands in the block, different in every word of it */
};

static inline struct held take(struct weir_arena *a, unsigned order)
{
    struct held h = {NULL, order, true, 0};
    h.words = weir_arena_take(a, order, &h.own);
    return h;
}

static inline void give(struct weir_arena *a, const struct held *h)
{
    weir_arena_give(a, h->words, h->order, h->own);
}

static inline size_t bytes_of(const struct held *h)
{
    return (size_t)1 << h->order;
}

static inline bool is_zero(const struct held *h)
{
    uint64_t any = 0;
    for (size_t i = 0; i < bytes_of(h) / 8; i++)
        any |= h->words[i];
    return any == 0;
}

/* A1 */
static inline void assert_fresh(const struct held *h)
{
    assert_non_null(h->words);
    size_t align = bytes_of(h) < CHUNK ? bytes_of(h) : CHUNK;
    assert_int_equal((uintptr_t)h->words % align, 0);
    assert_true((uintptr_t)h->words + bytes_of(h) <= (uintptr_t)1 << 56);
    assert_true(is_zero(h));
}

/* Which words of a block are marked: all, but of large blocks one in each 256 bytes. */
static inline size_t stride(const struct held *h)
{
    return h->order <= 16 ? 1 : 32;
}

static inline void fill(struct held *h, uint64_t mark)
{
    h->mark = mark;
    for (size_t i = 0; i < bytes_of(h) / 8; i += stride(h))
        h->words[i] = mark ^ i;
}

static inline bool is_filled(const struct held *h)
{
    for (size_t i = 0; i < bytes_of(h) / 8; i += stride(h)) {
        if (h->words[i] != (h->mark ^ i))
            return false;
    }
    return true;
}

static inline struct held *held_array(size_t count)
{
    struct held *h = calloc(count, sizeof *h);
    assert_non_null(h);
    return h;
}

/* Everything was given back, and goes back to the system but for the descriptors. */
static inline void assert_all_returns(struct weir_arena *a)
{
    assert_true(weir_arena_is_valid(a));
    assert_int_equal(weir_load_relaxed(&a->own), 0);
    assert_int_equal(a->chunks, a->chunks_free);
    weir_arena_trim(a);
    assert_int_equal(a->chunks, 0);
    assert_true(weir_arena_is_valid(a));
    assert_true(weir_arena_bytes(a) < CHUNK);
    weir_arena_close(a);
}

/* How many pages of a block are in memory. */
static inline size_t pages_in_memory(const struct held *h)
{
    size_t pages = bytes_of(h) / (size_t)sysconf(_SC_PAGESIZE);
    unsigned char in[1024];
    assert_in_range(pages, 1, sizeof in);
    assert_int_equal(mincore(h->words, bytes_of(h), in), 0);
    size_t count = 0;
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1;
    return count;
}

#endif
