/* SPDX-License-Identifier: MIT */
/*
 * The arena from inside: its text is compiled here, with the system's calls and the accesses to
 * shared memory under the test's hand. So mappings and unmappings fail at a chosen one, others come
 * between two steps, and the walker is shown what it has to find.
 */
#include "arena_blocks.h"

/* ---- what the arena asks of the system ---- */

static unsigned fail_map, fail_unmap; /* at the n-th from here; 0: none fails */
static size_t into_chunk = CHUNK;     /* where a large mapping begins; CHUNK: anywhere */
static void (*between)(void);         /* once, before an access or while pages are returned */
static bool after_load;               /* at the next compare-and-swap, not while pages go */

static bool fails(unsigned *left)
{
    return *left != 0 && --*left == 0;
}

static void *test_mmap(void *start, size_t bytes, int protection, int flags, int file, off_t at)
{
    if (fails(&fail_map)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if (bytes > CHUNK && into_chunk < CHUNK) {
        char *room = mmap(NULL, bytes + 2 * CHUNK, PROT_NONE, flags, -1, 0);
        assert_true(room != MAP_FAILED);
        assert_int_equal(munmap(room, bytes + 2 * CHUNK), 0);
        start = room + (CHUNK - (uintptr_t)room % CHUNK) % CHUNK + into_chunk;
        flags |= MAP_FIXED_NOREPLACE;
    }
    return mmap(start, bytes, protection, flags, file, at);
}

static int test_munmap(void *start, size_t bytes)
{
    if (fails(&fail_unmap)) {
        errno = ENOMEM;
        return -1;
    }
    return munmap(start, bytes);
}

static void come_between(bool at_access)
{
    void (*others)(void) = between;
    if (others == NULL || after_load != at_access)
        return;
    between = NULL;
    others();
}

static int test_madvise(void *start, size_t bytes, int advice)
{
    if (advice == MADV_DONTNEED)
        come_between(false);
    return madvise(start, bytes, advice);
}

static bool test_cas(struct weir_atomic_u64 *a, uint64_t *expected, uint64_t desired)
{
    come_between(true);
    return weir_cas_relaxed(a, expected, desired);
}

#define mmap             test_mmap
#define munmap           test_munmap
#define madvise          test_madvise
#define weir_cas_relaxed test_cas

#include "table/arena.c"

#undef mmap
#undef munmap
#undef madvise
#undef weir_cas_relaxed

/* ---- refusals of the system ---- */

/* K28, M1: nothing stays of a mapping of which what is before the block, or behind it, cannot be
   cut off, wherever the system has put it; in a chunk and as a mapping of its own. */
static void k28_a_mapping_that_cannot_be_cut(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    weir_store_relaxed(&a.allowance, 1000);
    for (unsigned i = 0; i < 64; i++) {
        into_chunk = i * 8192;
        for (unsigned nth = 1; nth <= 3; nth++) {
            bool cut = nth == 1 || (nth == 2 && i != 0);
            uint64_t left = weir_load_relaxed(&a.allowance);
            fail_unmap = nth;
            errno = 77;
            struct held h = take(&a, 21 + i % 2);
            assert_int_equal(errno, 77);
            fail_unmap = 0;
            assert_int_equal(h.words == NULL, cut);
            assert_int_equal(weir_load_relaxed(&a.allowance), left - !cut);
            if (!cut)
                give(&a, &h);
            weir_arena_trim(&a);
            assert_int_equal(a.chunks, 0);
            assert_true(weir_arena_bytes(&a) <= SLAB_BYTES);
        }
    }
    into_chunk = CHUNK;
    assert_all_returns(&a);
}

/* K28: without an end of blocks, a refused mapping is no block either. */
static void k28_no_memory_and_no_bound(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    fail_map = 1;
    assert_null(take(&a, 23).words);
    fail_map = 1; /* descriptors */
    assert_null(take(&a, 12).words);
    fail_map = 2; /* the chunk */
    assert_null(take(&a, 12).words);
    assert_int_equal(weir_load_relaxed(&a.allowance), UINT64_MAX);
    assert_int_equal(weir_arena_bytes(&a), SLAB_BYTES);
    struct held h = take(&a, 12);
    assert_fresh(&h);
    give(&a, &h);
    assert_all_returns(&a);
}

/* ---- many chunks ---- */

enum { FEW_CHUNKS = 100, SOME_CHUNKS = 140, MANY_CHUNKS = 1030 };

/* Chunks that share a bucket are found, in whatever order they go. */
static void chunks_of_one_bucket_are_found(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    struct held *h = held_array(FEW_CHUNKS);
    for (unsigned i = 0; i < FEW_CHUNKS; i++)
        h[i] = take(&a, 21);
    assert_int_equal(a.chunks, FEW_CHUNKS); /* more than buckets */
    assert_ptr_equal(a.buckets, a.few);
    for (unsigned i = 0; i < FEW_CHUNKS; i++) {
        give(&a, &h[i]);
        assert_true(weir_arena_is_valid(&a));
    }
    assert_ptr_equal(a.buckets, a.few);
    free(h);
    assert_all_returns(&a);
}

/* Buckets are added as chunks are, and once more; without memory for them searches go on. */
static void buckets_grow_with_chunks(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    if (a.page != 4096)
        skip(); /* a page of buckets is for more chunks */
    struct held *h = held_array(MANY_CHUNKS);
    for (unsigned i = 0; i < SOME_CHUNKS; i++)
        h[i] = take(&a, 21);
    fail_map = 1;
    give(&a, &h[0]); /* looks for its chunk */
    assert_int_equal(fail_map, 0);
    assert_ptr_equal(a.buckets, a.few);
    assert_true(weir_arena_is_valid(&a));
    h[0] = take(&a, 21);
    give(&a, &h[0]);
    assert_int_equal(sizeof *a.buckets << a.buckets_log2, a.page);
    unsigned log2 = a.buckets_log2;
    for (unsigned i = SOME_CHUNKS; i < MANY_CHUNKS; i++)
        h[i] = take(&a, 21);
    h[0] = take(&a, 21);
    assert_int_equal(a.chunks, MANY_CHUNKS);
    give(&a, &h[1]);
    assert_int_equal(a.buckets_log2, log2 + 1);
    assert_true(weir_arena_is_valid(&a));
    size_t slabs = 0;
    for (struct weir_arena_slab *slab = a.slabs; slab != NULL; slab = slab->next)
        slabs += SLAB_BYTES;
    /* the page of the old ones went back */
    assert_int_equal(weir_arena_bytes(&a), a.chunks * CHUNK + slabs + 2 * a.page);
    free(h);
    weir_arena_close(&a); /* with all that is out */
    assert_int_equal(weir_arena_bytes(&a), 0);
}

/* ---- others between two steps ---- */

static struct {
    struct weir_arena a;
    struct held h[2];
} scene;

static void take_one(void)
{
    scene.h[1] = take(&scene.a, 9);
}

/* K28: the last of an allowance goes to one of two. */
static void k28_two_want_the_last_block(void **state)
{
    (void)state;
    for (uint64_t left = 1; left <= 2; left++) {
        weir_arena_init(&scene.a);
        weir_store_relaxed(&scene.a.allowance, left);
        between = take_one;
        after_load = true;
        scene.h[0] = take(&scene.a, 9);
        assert_true(between == NULL);
        assert_fresh(&scene.h[1]);
        assert_int_equal(scene.h[0].words != NULL, left == 2);
        assert_int_equal(weir_load_relaxed(&scene.a.allowance), 0);
        give(&scene.a, &scene.h[1]);
        if (left == 2)
            give(&scene.a, &scene.h[0]);
        weir_store_relaxed(&scene.a.allowance, UINT64_MAX);
        assert_all_returns(&scene.a);
    }
}

static void give_the_last(void)
{
    give(&scene.a, &scene.h[0]);
}

/* M1: a chunk whose last block is given back while the pages of another go is whole again, and goes
   back itself. */
static void m1_a_chunk_gets_free_while_it_is_trimmed(void **state)
{
    (void)state;
    weir_arena_init(&scene.a);
    scene.h[0] = take(&scene.a, 19);
    between = give_the_last;
    after_load = false;
    weir_arena_trim(&scene.a);
    assert_true(between == NULL);
    assert_int_equal(scene.a.chunks, 0);
    assert_all_returns(&scene.a);
}

#if defined(NDEBUG) && !defined(WEIR_ADDRESS_SANITIZER)
#define GIVES_WRONGLY 1

/* ---- what was never taken (an assertion, where there are any) ---- */

/* A2: what is not out is not taken back. */
static void a2_what_is_not_out_is_not_taken_back(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    struct held h[2] = {take(&a, 12), take(&a, 12)};
    assert_ptr_equal((char *)h[1].words, (char *)h[0].words + 4096);
    fill(&h[0], 7);
    size_t bytes = weir_arena_bytes(&a);
    give(&a, &h[1]);
    void *foreign = aligned_alloc(4096, 4096);
    assert_non_null(foreign);
    struct held wrong[] = {
        h[1],                             /* twice */
        {h[1].words + 256, 11, false, 0}, /* a part of it */
        {foreign, 12, false, 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        give(&a, &wrong[i]);
        assert_true(weir_arena_is_valid(&a));
        assert_true(is_filled(&h[0]));
        assert_int_equal(weir_arena_bytes(&a), bytes);
        assert_int_equal(a.chunks_free, 0);
    }
    free(foreign);
    give(&a, &h[0]);
    assert_int_equal(a.chunks_free, 1);
    assert_all_returns(&a);
}

#endif

/* A block can be out if neither it, nor one that it is a part of, nor a half of it is free. */
static void a2_which_blocks_can_be_out(void **state)
{
    (void)state;
    struct weir_arena_chunk c = {0};
    assert_true(is_out(&c, 5));
    static const struct {
        unsigned free, node;
        bool out;
    } cases[] = {{5, 5, false},        {2, 5, false},        {1, 5, false},       {10, 5, false},
                 {11, 5, false},       {4, 5, true},         {3, 5, true},        {20, 5, true},
                 {1, 1, false},        {2, 1, false},        {3, 1, false},       {4, 1, true},
                 {8191, 16382, false}, {16383, 8191, false}, {16383, 16382, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(c.free, 0, sizeof c.free);
        c.free[cases[i].free / 64] = (uint64_t)1 << cases[i].free % 64;
        assert_int_equal(is_out(&c, cases[i].node), cases[i].out);
    }
}

/* ---- the walker ---- */

/* Two chunks, in each of which something is out and something free. */
static void open_two(struct weir_arena *a, struct held *h)
{
    weir_arena_init(a);
    for (unsigned i = 0; i < 4; i++)
        h[i] = take(a, 20);
    give(a, &h[1]);
    give(a, &h[3]);
    assert_int_equal(a->chunks, 2);
    assert_true(weir_arena_is_valid(a));
}

static void flip(struct weir_arena_chunk *c, unsigned node)
{
    c->free[node / 64] ^= (uint64_t)1 << node % 64;
}

/* Shows the walker a wrong tree, and counts that fit it. */
static void assert_tree_is_wrong(struct weir_arena *a, unsigned node)
{
    struct weir_arena_chunk *c = a->lists[ALL].first;
    flip(c, node);
    assert_false(weir_arena_is_valid(a)); /* not as it is counted */
    c->free_blocks[level_of(node)]++;
    assert_false(weir_arena_is_valid(a));
    c->free_blocks[level_of(node)]--;
    flip(c, node);
    assert_true(weir_arena_is_valid(a));
}

static void the_walker_finds_wrong_trees(void **state)
{
    (void)state;
    struct weir_arena a;
    struct held h[4];
    open_two(&a, h);
    struct weir_arena_chunk *c = a.lists[ALL].first;
    unsigned free_half = is_free(c, 2) ? 2 : 3;
    assert_tree_is_wrong(&a, 2 * free_half); /* below a free one */
    assert_tree_is_wrong(&a, 1);             /* above one */
    assert_tree_is_wrong(&a, 5 - free_half); /* its buddy: A3 */
    assert_tree_is_wrong(&a, NODES - 1);     /* below what is out, or free */
    c->free_blocks[1]++;
    assert_false(weir_arena_is_valid(&a));
    c->free_blocks[1]--;
    give(&a, &h[0]);
    give(&a, &h[2]);
    assert_all_returns(&a);
}

static void the_walker_finds_wrong_lists_and_counts(void **state)
{
    (void)state;
    struct weir_arena a;
    struct held h[4];
    open_two(&a, h);
    struct weir_arena_chunk *first = a.lists[1].first;
    struct weir_arena_chunk *second = a.lists[1].last;
    assert_ptr_equal(first->links[1].next, second);

    first->links[1].next = NULL; /* the last is not the list's last */
    assert_false(weir_arena_is_valid(&a));
    first->links[1].next = second;
    second->links[1].previous = NULL;
    assert_false(weir_arena_is_valid(&a));
    second->links[1].previous = first;
    a.lists[2].first = a.lists[2].last = first; /* has no such block */
    assert_false(weir_arena_is_valid(&a));
    a.lists[2].first = a.lists[2].last = NULL;
    a.lists[1].first = second; /* one is missing */
    second->links[1].previous = NULL;
    assert_false(weir_arena_is_valid(&a));
    a.lists[1].first = first;
    second->links[1].previous = first;
    assert_true(weir_arena_is_valid(&a));

    a.chunks--;
    assert_false(weir_arena_is_valid(&a));
    a.chunks += 2;
    assert_false(weir_arena_is_valid(&a));
    a.chunks--;
    a.chunks_free++;
    assert_false(weir_arena_is_valid(&a));
    a.chunks_free--;

    struct weir_arena_chunk **bucket = bucket_of(&a, first->start);
    struct weir_arena_chunk **other = bucket == a.few ? &a.few[1] : &a.few[0];
    struct weir_arena_chunk *before = *bucket;
    struct weir_arena_chunk *before_other = *other;
    *bucket = before_other; /* where nobody looks for it */
    *other = before;
    assert_false(weir_arena_is_valid(&a));
    *bucket = before;
    *other = before_other;
    assert_true(weir_arena_is_valid(&a));
    give(&a, &h[0]);
    give(&a, &h[2]);
    assert_all_returns(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k28_a_mapping_that_cannot_be_cut),
        cmocka_unit_test(k28_no_memory_and_no_bound),
        cmocka_unit_test(chunks_of_one_bucket_are_found),
        cmocka_unit_test(buckets_grow_with_chunks),
        cmocka_unit_test(k28_two_want_the_last_block),
        cmocka_unit_test(m1_a_chunk_gets_free_while_it_is_trimmed),
#ifdef GIVES_WRONGLY
        cmocka_unit_test(a2_what_is_not_out_is_not_taken_back),
#endif
        cmocka_unit_test(a2_which_blocks_can_be_out),
        cmocka_unit_test(the_walker_finds_wrong_trees),
        cmocka_unit_test(the_walker_finds_wrong_lists_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
