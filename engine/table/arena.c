/* SPDX-License-Identifier: MIT */
/*
 * Blocks of memory: mappings, descriptors, the trees of free blocks; arena.h has the contract.
 *
 * All of it but mappings of their own, the byte count and the allowance belongs to the lock, which
 * also publishes what a giver cleared to the one who takes it next. The relaxed atomics carry all
 * that they mean and order nothing.
 *
 * A chunk is mapped with the lock held: whoever tries the lock meanwhile waits 6 us for blocks that
 * all can use, instead of mapping another chunk or a block of his own. Unmapping, clearing and
 * returning pages happen without it: they take longer, and nobody needs their result.
 */
#include "table/arena.h"

#include "check.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WEIR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef WEIR_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

#define LEVELS      WEIR_ARENA_LEVELS
#define ALL         LEVELS /* the list of all chunks, after those by level */
#define CHUNK_BYTES ((size_t)1 << WEIR_ARENA_ORDER_MAX)
#define NODES       (1U << LEVELS)

/* The word of a shard has its flags in the bits from there on. */
#define ADDRESS_END ((uintptr_t)1 << 56)

/* With weir_pause's 64 stalls at most about 1200 stalls: 30 us on an AMD EPYC (24 ns each). */
#define LOCK_TRIES 24

#define SLAB_BYTES        ((size_t)64 << 10) /* 28 descriptors, for 56 MiB */
#define CHUNKS_PER_BUCKET 2

/* 2^64 divided by the golden ratio, made odd, as for the home lines. */
#define BUCKET_MULTIPLIER 0x9E3779B97F4A7C15U

struct link {
    struct weir_arena_chunk *next, *previous;
};

/* free_blocks[l]: how many bits of level l are set; the chunk is in lists[l] while it is not 0. */
struct weir_arena_chunk {
    unsigned char *start;
    struct weir_arena_chunk *next; /* in its bucket, or of those without a chunk or about to be */
    struct link links[LEVELS + 1];
    uint16_t free_blocks[LEVELS];
    uint64_t free[NODES / 64]; /* a bit per node; node 0 is none */
};

struct weir_arena_slab {
    struct weir_arena_slab *next;
    struct weir_arena_chunk descriptors[];
};

/* ---- mappings ---- */

/* Free blocks are nobody's: AddressSanitizer reports who touches one. */
static void guard(void *start, size_t bytes, bool free)
{
#ifdef WEIR_ADDRESS_SANITIZER
    if (free)
        __asan_poison_memory_region(start, bytes);
    else
        __asan_unpoison_memory_region(start, bytes);
#else
    (void)start, (void)bytes, (void)free;
#endif
}

static bool unmap(struct weir_arena *a, void *start, size_t bytes)
{
    if (munmap(start, bytes) != 0)
        return false;
    weir_add_relaxed(&a->bytes, (uint64_t)0 - bytes);
    return true;
}

/*
 * Zero memory, a multiple of the page, at a multiple of `align`: the last such place in a larger
 * mapping. The system maps downwards: chunks thus come to lie side by side and count as one mapping
 * towards its limit on them.
 */
static void *map(struct weir_arena *a, size_t bytes, size_t align)
{
    size_t slack = align > a->page ? align : 0;
    unsigned char *start = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    unsigned char *end = start + bytes + slack;
    bool low = (uintptr_t)end <= ADDRESS_END;
    weir_assert(low);
    unsigned char *kept = start + slack;
    if (slack != 0)
        kept -= (uintptr_t)kept & (align - 1);
    if (!low || (kept != start && munmap(start, (size_t)(kept - start)) != 0) ||
        (kept + bytes != end && munmap(kept + bytes, (size_t)(end - kept) - bytes) != 0)) {
        (void)munmap(start, bytes + slack); /* of which a part may be gone already */
        return NULL;
    }
    /* Advice only: without huge pages everything works, with more misses of the TLB. */
    if (bytes >= CHUNK_BYTES)
        (void)madvise(kept, bytes, MADV_HUGEPAGE);
    weir_add_relaxed(&a->bytes, bytes);
    return kept;
}

static size_t own_bytes(const struct weir_arena *a, unsigned order)
{
    size_t bytes = (size_t)1 << order;
    return bytes < a->page ? a->page : bytes;
}

static void *take_own(struct weir_arena *a, unsigned order)
{
    size_t bytes = own_bytes(a, order);
    void *block = map(a, bytes, bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES);
    if (block != NULL)
        weir_add_relaxed(&a->own, 1);
    return block;
}

static void give_own(struct weir_arena *a, void *block, unsigned order)
{
    if (!unmap(a, block, own_bytes(a, order)))
        (void)madvise(block, own_bytes(a, order), MADV_DONTNEED);
    weir_add_relaxed(&a->own, (uint64_t)0 - 1);
}

/* ---- lists of chunks, and the tree of one; lock ---- */

static void push(struct weir_arena *a, struct weir_arena_chunk *c, unsigned list)
{
    struct weir_arena_list *l = &a->lists[list];
    c->links[list] = (struct link){NULL, l->last};
    if (l->last != NULL)
        l->last->links[list].next = c;
    else
        l->first = c;
    l->last = c;
}

static void drop(struct weir_arena *a, struct weir_arena_chunk *c, unsigned list)
{
    struct weir_arena_list *l = &a->lists[list];
    struct link *link = &c->links[list];
    if (link->previous != NULL)
        link->previous->links[list].next = link->next;
    else
        l->first = link->next;
    if (link->next != NULL)
        link->next->links[list].previous = link->previous;
    else
        l->last = link->previous;
    *link = (struct link){NULL, NULL};
}

static unsigned level_of(unsigned node)
{
    return 31 - (unsigned)__builtin_clz(node);
}

static unsigned node_at(const struct weir_arena_chunk *c, const void *block, unsigned level)
{
    size_t offset = (size_t)((const unsigned char *)block - c->start);
    return (1U << level) + (unsigned)(offset >> (WEIR_ARENA_ORDER_MAX - level));
}

static void *block_at(const struct weir_arena_chunk *c, unsigned node)
{
    unsigned level = level_of(node);
    return c->start + ((size_t)(node - (1U << level)) << (WEIR_ARENA_ORDER_MAX - level));
}

static bool is_free(const struct weir_arena_chunk *c, unsigned node)
{
    return (c->free[node / 64] >> node % 64 & 1) != 0;
}

/* The first free node from `node` on, or `end`. */
static unsigned next_free(const struct weir_arena_chunk *c, unsigned node, unsigned end)
{
    while (node < end) {
        uint64_t rest = c->free[node / 64] >> node % 64;
        if (rest != 0) {
            node += (unsigned)__builtin_ctzll(rest);
            return node < end ? node : end;
        }
        node = (node | 63) + 1;
    }
    return end;
}

static void mark_free(struct weir_arena *a, struct weir_arena_chunk *c, unsigned node)
{
    unsigned level = level_of(node);
    weir_assert(!is_free(c, node));
    c->free[node / 64] |= (uint64_t)1 << node % 64;
    if (c->free_blocks[level]++ == 0)
        push(a, c, level);
    if (level == 0)
        a->chunks_free++;
}

static void mark_used(struct weir_arena *a, struct weir_arena_chunk *c, unsigned node)
{
    unsigned level = level_of(node);
    weir_assert(is_free(c, node));
    c->free[node / 64] &= ~((uint64_t)1 << node % 64);
    if (--c->free_blocks[level] == 0)
        drop(a, c, level);
    if (level == 0)
        a->chunks_free--;
}

/* A block can be out: no free one is above it, nor is one of its halves free. */
static bool is_out(const struct weir_arena_chunk *c, unsigned node)
{
    if (2 * node < NODES && (is_free(c, 2 * node) || is_free(c, 2 * node + 1)))
        return false;
    for (; node != 0; node /= 2) {
        if (is_free(c, node))
            return false;
    }
    return true;
}

/* A3. True: the chunk is wholly free. */
static bool put_back(struct weir_arena *a, struct weir_arena_chunk *c, unsigned node)
{
    while (node > 1 && is_free(c, node ^ 1)) {
        mark_used(a, c, node ^ 1);
        node /= 2;
    }
    mark_free(a, c, node);
    return node == 1;
}

/* ---- descriptors; lock ---- */

static struct weir_arena_chunk **bucket_of(const struct weir_arena *a, const void *chunk)
{
    uint64_t number = (uintptr_t)chunk >> WEIR_ARENA_ORDER_MAX;
    return &a->buckets[number * BUCKET_MULTIPLIER >> (64 - a->buckets_log2)];
}

static void enter(struct weir_arena *a, struct weir_arena_chunk *c)
{
    struct weir_arena_chunk **bucket = bucket_of(a, c->start);
    c->next = *bucket;
    *bucket = c;
}

/* Enters every chunk in twice as many buckets, or a page of them. Without memory for them it stays
   as it is: a search takes longer. */
static void add_buckets(struct weir_arena *a)
{
    struct weir_arena_chunk **old = a->buckets;
    unsigned old_log2 = a->buckets_log2;
    unsigned log2 = old_log2 + 1;
    while (sizeof *old << log2 < a->page)
        log2++;
    struct weir_arena_chunk **more = map(a, sizeof *old << log2, 1);
    if (more == NULL)
        return;
    a->buckets = more;
    a->buckets_log2 = log2;
    for (struct weir_arena_chunk *c = a->lists[ALL].first; c != NULL; c = c->links[ALL].next)
        enter(a, c);
    if (old != a->few)
        (void)unmap(a, old, sizeof *old << old_log2);
}

/* Of the chunk that a block is in. Only givers look up, so only they add buckets: a taker's work
   does not grow with the number of chunks. */
static struct weir_arena_chunk *find_chunk(struct weir_arena *a, const void *block)
{
    if (a->chunks > (uint64_t)CHUNKS_PER_BUCKET << a->buckets_log2)
        add_buckets(a);
    const unsigned char *start = block;
    start -= (uintptr_t)start & (CHUNK_BYTES - 1);
    struct weir_arena_chunk *c = *bucket_of(a, start);
    while (c != NULL && c->start != start)
        c = c->next;
    return c;
}

static void add_slab(struct weir_arena *a)
{
    struct weir_arena_slab *slab = map(a, SLAB_BYTES, 1);
    if (slab == NULL)
        return;
    slab->next = a->slabs;
    a->slabs = slab;
    size_t count = (SLAB_BYTES - sizeof *slab) / sizeof slab->descriptors[0];
    for (size_t i = count; i > 0; i--) {
        slab->descriptors[i - 1].next = a->spare;
        a->spare = &slab->descriptors[i - 1];
    }
}

static void attach(struct weir_arena *a, struct weir_arena_chunk *c)
{
    a->chunks++;
    push(a, c, ALL);
    enter(a, c);
    mark_free(a, c, 1);
}

static void detach(struct weir_arena *a, struct weir_arena_chunk *c)
{
    struct weir_arena_chunk **at = bucket_of(a, c->start);
    mark_used(a, c, 1);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    drop(a, c, ALL);
    a->chunks--;
}

/* A new chunk, all free, first in lists[0]. */
static bool add_chunk(struct weir_arena *a)
{
    if (a->spare == NULL)
        add_slab(a);
    struct weir_arena_chunk *c = a->spare;
    if (c == NULL)
        return false;
    void *start = map(a, CHUNK_BYTES, CHUNK_BYTES);
    if (start == NULL)
        return false; /* the descriptor is there for the next time */
    guard(start, CHUNK_BYTES, true);
    a->spare = c->next;
    c->start = start;
    attach(a, c);
    return true;
}

/* ---- chunks that go back to the system ---- */

/* Lock. Detaches wholly free chunks until `keep` are left, and puts them before those in *gone. */
static void detach_free(struct weir_arena *a, uint64_t keep, struct weir_arena_chunk **gone)
{
    while (a->chunks_free > keep) {
        struct weir_arena_chunk *c = a->lists[0].first;
        detach(a, c);
        c->next = *gone;
        *gone = c;
    }
}

/* Without the lock: unmaps what was detached. */
static void release(struct weir_arena *a, struct weir_arena_chunk *gone)
{
    while (gone != NULL) {
        struct weir_arena_chunk *c = gone;
        gone = c->next;
        guard(c->start, CHUNK_BYTES, false);
        bool unmapped = unmap(a, c->start, CHUNK_BYTES);
        if (!unmapped)
            guard(c->start, CHUNK_BYTES, true);
        pthread_mutex_lock(&a->lock);
        if (unmapped) {
            c->next = a->spare;
            a->spare = c;
        } else {
            attach(a, c);
        }
        pthread_mutex_unlock(&a->lock);
    }
}

/* Lock. Returns the pages of the chunk's free blocks, each of which is out meanwhile: it is not
   taken while its pages go, and keeps its chunk while the lock is not held. */
static void return_pages(struct weir_arena *a, struct weir_arena_chunk *c)
{
    for (unsigned level = 1; level < LEVELS && CHUNK_BYTES >> level >= a->page; level++) {
        unsigned end = 2U << level;
        for (unsigned n = next_free(c, 1U << level, end); n < end; n = next_free(c, n + 1, end)) {
            mark_used(a, c, n);
            pthread_mutex_unlock(&a->lock);
            /* Refused for locked memory, which then stays; it is zero all the same. */
            (void)madvise(block_at(c, n), CHUNK_BYTES >> level, MADV_DONTNEED);
            pthread_mutex_lock(&a->lock);
            if (put_back(a, c, n))
                return;
        }
    }
}

/* ---- the interface ---- */

void weir_arena_init(struct weir_arena *a)
{
    memset(a, 0, sizeof *a);
    weir_store_relaxed(&a->allowance, UINT64_MAX);
    a->page = (size_t)sysconf(_SC_PAGESIZE);
    pthread_mutex_init(&a->lock, NULL);
    a->buckets = a->few;
    a->buckets_log2 = (unsigned)__builtin_ctz(WEIR_ARENA_FEW);
}

void weir_arena_close(struct weir_arena *a)
{
    int saved = errno;
    weir_assert(weir_load_relaxed(&a->own) == 0);
    for (struct weir_arena_chunk *c = a->lists[ALL].first; c != NULL; c = c->links[ALL].next) {
        guard(c->start, CHUNK_BYTES, false);
        (void)unmap(a, c->start, CHUNK_BYTES);
    }
    while (a->slabs != NULL) {
        struct weir_arena_slab *slab = a->slabs;
        a->slabs = slab->next;
        (void)unmap(a, slab, SLAB_BYTES);
    }
    if (a->buckets != a->few)
        (void)unmap(a, a->buckets, sizeof(*a->buckets) << a->buckets_log2);
    pthread_mutex_destroy(&a->lock);
    errno = saved;
}

/* Takes one from the allowance, if it has one. *drawn: it is not without end. */
static bool draw_allowance(struct weir_arena *a, bool *drawn)
{
    uint64_t left = weir_load_relaxed(&a->allowance);
    while (left != UINT64_MAX && left != 0 && !weir_cas_relaxed(&a->allowance, &left, left - 1)) {}
    *drawn = left != UINT64_MAX;
    return left != 0;
}

/* P1 */
static bool try_lock(struct weir_arena *a)
{
    unsigned losses = 0;
    while (pthread_mutex_trylock(&a->lock) != 0) {
        if (losses == LOCK_TRIES)
            return false;
        weir_pause(&losses);
    }
    return true;
}

/* Lock. Cuts from the smallest free block that is large enough: large ones stay whole. */
static void *take_from_chunk(struct weir_arena *a, unsigned order)
{
    unsigned level = WEIR_ARENA_ORDER_MAX - order;
    unsigned from = level;
    while (a->lists[from].first == NULL && from > 0)
        from--;
    if (a->lists[from].first == NULL && !add_chunk(a))
        return NULL;
    struct weir_arena_chunk *c = a->lists[from].first;
    unsigned node = next_free(c, 1U << from, 2U << from);
    mark_used(a, c, node);
    for (; from < level; from++) {
        node *= 2;
        mark_free(a, c, node + 1);
    }
    return block_at(c, node);
}

void *weir_arena_take(struct weir_arena *a, unsigned order, bool *own)
{
    weir_assert(order >= WEIR_ARENA_ORDER_MIN && order <= 55);
    bool drawn;
    *own = false;
    if (!draw_allowance(a, &drawn))
        return NULL;
    int saved = errno;
    void *block;
    *own = order > WEIR_ARENA_ORDER_MAX || !try_lock(a);
    if (*own) {
        block = take_own(a, order);
    } else {
        block = take_from_chunk(a, order);
        pthread_mutex_unlock(&a->lock);
        if (block != NULL)
            guard(block, (size_t)1 << order, false);
    }
    if (block == NULL && drawn)
        weir_add_relaxed(&a->allowance, 1);
    errno = saved;
    return block;
}

void weir_arena_give(struct weir_arena *a, void *block, unsigned order, bool own)
{
    int saved = errno;
    if (own) {
        give_own(a, block, order);
        errno = saved;
        return;
    }
    size_t bytes = (size_t)1 << order;
    memset(block, 0, bytes);
    guard(block, bytes, true);
    struct weir_arena_chunk *gone = NULL;
    pthread_mutex_lock(&a->lock);
    struct weir_arena_chunk *c = find_chunk(a, block);
    unsigned node = c == NULL ? 0 : node_at(c, block, WEIR_ARENA_ORDER_MAX - order);
    bool known = c != NULL && is_out(c, node);
    weir_assert(known);
    if (known && put_back(a, c, node)) {
        uint64_t eighth = (a->chunks - a->chunks_free) / 8;
        detach_free(a, eighth == 0 ? 1 : eighth, &gone); /* M1 */
    }
    pthread_mutex_unlock(&a->lock);
    release(a, gone);
    errno = saved;
}

void weir_arena_trim(struct weir_arena *a)
{
    int saved = errno;
    struct weir_arena_chunk *gone = NULL;
    pthread_mutex_lock(&a->lock);
    /* Around the list once, each chunk moved to its end: it may change between two of them. */
    for (uint64_t left = a->chunks; left > 0 && a->chunks > 0; left--) {
        struct weir_arena_chunk *c = a->lists[ALL].first;
        drop(a, c, ALL);
        push(a, c, ALL);
        return_pages(a, c);
    }
    detach_free(a, 0, &gone);
    pthread_mutex_unlock(&a->lock);
    release(a, gone);
    errno = saved;
}

/* ---- the walker ---- */

static bool tree_is_valid(const struct weir_arena_chunk *c)
{
    uint16_t counts[LEVELS] = {0};
    for (unsigned n = next_free(c, 1, NODES); n < NODES; n = next_free(c, n + 1, NODES)) {
        counts[level_of(n)]++;
        for (unsigned above = n / 2; above != 0; above /= 2) { /* A2 */
            if (is_free(c, above))
                return false;
        }
        if (n > 1 && is_free(c, n ^ 1)) /* A3 */
            return false;
    }
    return memcmp(counts, c->free_blocks, sizeof counts) == 0;
}

/* How many chunks are in a list; UINT64_MAX: one that should not be, or not there. */
static uint64_t list_length(const struct weir_arena *a, unsigned list)
{
    uint64_t length = 0;
    const struct weir_arena_chunk *before = NULL;
    for (const struct weir_arena_chunk *c = a->lists[list].first; c != NULL;
         c = c->links[list].next) {
        if (c->links[list].previous != before || (list != ALL && c->free_blocks[list] == 0))
            return UINT64_MAX;
        before = c;
        length++;
    }
    return a->lists[list].last == before ? length : UINT64_MAX;
}

bool weir_arena_is_valid(const struct weir_arena *a)
{
    uint64_t lengths[LEVELS + 1] = {0};
    for (size_t i = 0; i < (size_t)1 << a->buckets_log2; i++) {
        for (const struct weir_arena_chunk *c = a->buckets[i]; c != NULL; c = c->next) {
            if (bucket_of(a, c->start) != &a->buckets[i] || !tree_is_valid(c))
                return false;
            for (unsigned level = 0; level < LEVELS; level++)
                lengths[level] += c->free_blocks[level] != 0;
            if (++lengths[ALL] > a->chunks)
                return false;
        }
    }
    for (unsigned list = 0; list <= LEVELS; list++) {
        if (list_length(a, list) != lengths[list])
            return false;
    }
    return a->chunks == lengths[ALL] && a->chunks_free == lengths[0];
}
