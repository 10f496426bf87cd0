/* SPDX-License-Identifier: MIT */
/*
 * The arena without memory: allocations that fail, and mappings and unmappings that the system
 * refuses, lose nothing.
 */
#include "arena_blocks.h"

#include <sys/resource.h>

/* The runtime of a sanitizer needs mappings itself. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(WEIR_RCU_OUTSIDE)
#define SYSTEM_LIMITS 1
#endif

/* Takes `count` blocks of many orders; the allowance ends at the n-th. */
static void fail_nth(size_t n, size_t count)
{
    struct weir_arena a;
    weir_arena_init(&a);
    struct held *h = held_array(count);
    weir_store_relaxed(&a.allowance, n);
    for (size_t i = 0; i < count; i++) {
        h[i] = take(&a, 8 + (unsigned)(i * 5 % 15));
        if (i >= n) {
            assert_null(h[i].words);
            continue;
        }
        assert_fresh(&h[i]);
        fill(&h[i], i);
    }
    assert_int_equal(weir_load_relaxed(&a.allowance), 0);
    assert_true(weir_arena_is_valid(&a));
    size_t bytes = weir_arena_bytes(&a);
    weir_store_relaxed(&a.allowance, 1);
    h[n] = take(&a, 8);
    assert_fresh(&h[n]);
    assert_int_equal(weir_load_relaxed(&a.allowance), 0);
    if (n > 0)
        assert_int_equal(weir_arena_bytes(&a), bytes);
    fill(&h[n], n);
    for (size_t i = 0; i <= n; i++) {
        assert_true(is_filled(&h[i]));
        give(&a, &h[i]);
    }
    free(h);
    assert_all_returns(&a);
}

static void k28_the_nth_allocation_fails(void **state)
{
    (void)state;
    for (size_t n = 0; n < 32; n++)
        fail_nth(n, 33);
}

/* More than there are addresses. */
static void k28_a_refused_mapping_leaves_nothing(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    weir_store_relaxed(&a.allowance, 3);
    errno = 77;
    struct held h = take(&a, 55);
    assert_null(h.words);
    assert_int_equal(errno, 77);
    assert_int_equal(weir_load_relaxed(&a.allowance), 3);
    assert_int_equal(weir_arena_bytes(&a), 0);
    assert_all_returns(&a);
}

#ifdef SYSTEM_LIMITS

static size_t address_space(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    char text[64] = "";
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    assert_int_equal(fclose(f), 0);
    return strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Nothing stays mapped of what was mapped only to find an aligned place in it. */
static void m1_bytes_are_what_the_system_counts(void **state)
{
    (void)state;
    (void)address_space(); /* may allocate, the first time */
    size_t before = address_space();
    struct weir_arena a;
    weir_arena_init(&a);
    struct held h[16];
    for (unsigned i = 0; i < 16; i++) {
        h[i] = take(&a, 8 + i);
        assert_int_equal(address_space() - before, weir_arena_bytes(&a));
    }
    weir_arena_lock(&a);
    for (unsigned order = 8; order <= 23; order++) {
        struct held own = take(&a, order);
        assert_int_equal(address_space() - before, weir_arena_bytes(&a));
        give(&a, &own);
        assert_int_equal(address_space() - before, weir_arena_bytes(&a));
    }
    weir_arena_unlock(&a);
    for (unsigned i = 0; i < 16; i++) {
        give(&a, &h[i]);
        assert_int_equal(address_space() - before, weir_arena_bytes(&a));
    }
    assert_all_returns(&a);
    assert_int_equal(address_space(), before);
}

/* Takes while the process may map only `room` bytes more. */
static struct held take_with_room(struct weir_arena *a, unsigned order, size_t room)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit tight = {address_space() + room, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    errno = 77;
    struct held h = take(a, order);
    int after = errno;
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(after, 77);
    return h;
}

static void k28_no_room_for_a_chunk_or_its_descriptor(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    weir_store_relaxed(&a.allowance, 2);
    assert_null(take_with_room(&a, 8, 0).words); /* not even descriptors */
    assert_int_equal(weir_arena_bytes(&a), 0);
    assert_null(take_with_room(&a, 8, CHUNK / 2).words);
    size_t slab = weir_arena_bytes(&a);
    assert_in_range(slab, 1, CHUNK / 8);
    for (unsigned i = 0; i < 100; i++) /* which are not lost */
        assert_null(take_with_room(&a, 8, CHUNK / 2).words);
    assert_int_equal(weir_arena_bytes(&a), slab);
    assert_int_equal(weir_load_relaxed(&a.allowance), 2);
    assert_true(weir_arena_is_valid(&a));

    struct held h = take(&a, 8);
    assert_fresh(&h);
    assert_int_equal(weir_arena_bytes(&a), slab + CHUNK);
    struct held next = take_with_room(&a, 20, 0); /* needs no memory */
    assert_fresh(&next);
    weir_store_relaxed(&a.allowance, 2);
    assert_null(take_with_room(&a, 21, 0).words);
    assert_int_equal(weir_load_relaxed(&a.allowance), 2);
    give(&a, &h);
    give(&a, &next);
    assert_all_returns(&a);
}

#define MAPPINGS_MAX 200000

/* Maps pages that the system cannot merge until it gives no more; returns how many. */
static size_t use_up_mappings(void **pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < MAPPINGS_MAX; i++) {
        pages[i] = mmap(NULL, page, i % 2 == 0 ? PROT_READ : PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages[i] == MAP_FAILED)
            return i;
    }
    return MAPPINGS_MAX;
}

static int by_address(const void *a, const void *b)
{
    const struct held *x = a;
    const struct held *y = b;
    return x->words < y->words ? -1 : x->words > y->words;
}

/* The block of five that lies between two others: the system needs one mapping more without it. */
static struct held *middle_of(struct held *h)
{
    qsort(h, 5, sizeof *h, by_address);
    for (unsigned i = 1; i < 4; i++) {
        uintptr_t start = (uintptr_t)h[i].words;
        if ((uintptr_t)h[i - 1].words + bytes_of(h) == start &&
            (uintptr_t)h[i + 1].words == start + bytes_of(h))
            return &h[i];
    }
    return NULL;
}

/* Unmapping may fail: then a free chunk stays, and a mapping of its own loses its memory. */
static void m1_unmapping_is_refused(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    struct held chunks[5];
    struct held own[5];
    for (unsigned i = 0; i < 5; i++) {
        chunks[i] = take(&a, 21);
        fill(&chunks[i], 5);
    }
    for (unsigned i = 0; i < 5; i++) {
        own[i] = take(&a, 22);
        fill(&own[i], 5);
    }
    struct held *chunk = middle_of(chunks);
    struct held *mapping = middle_of(own);
    void **pages = calloc(MAPPINGS_MAX, sizeof *pages);
    assert_non_null(pages);
    size_t count = use_up_mappings(pages);
    bool usable = count < MAPPINGS_MAX && chunk != NULL && mapping != NULL;
    size_t bytes = weir_arena_bytes(&a);
    if (usable) {
        errno = 77;
        give(&a, chunk); /* the one that is kept */
        weir_arena_trim(&a);
        assert_int_equal(errno, 77);
        give(&a, &chunks[0]); /* one too many: the older one goes */
        assert_int_equal(errno, 77);
        give(&a, mapping);
        assert_int_equal(errno, 77);
    }
    for (size_t i = 0; i < count; i++)
        (void)munmap(pages[i], (size_t)sysconf(_SC_PAGESIZE));
    free(pages);
    if (!usable)
        skip(); /* another layout of addresses, or another limit */

    assert_int_equal(weir_arena_bytes(&a), bytes);
    assert_int_equal(a.chunks, 5);
    assert_int_equal(a.chunks_free, 2);
    assert_true(weir_arena_is_valid(&a));
    assert_int_equal(pages_in_memory(mapping), 0);
    for (unsigned i = 0; i < 2; i++) { /* the very two, since no chunk comes along */
        struct held again = take(&a, 21);
        assert_fresh(&again);
    }
    assert_int_equal(a.chunks, 5);
    for (unsigned i = 0; i < 5; i++) {
        give(&a, &chunks[i]);
        if (&own[i] != mapping)
            give(&a, &own[i]);
    }
    assert_int_equal(munmap(mapping->words, bytes_of(mapping)), 0);
    weir_add_relaxed(&a.bytes, (uint64_t)0 - bytes_of(mapping));
    assert_all_returns(&a);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k28_the_nth_allocation_fails),
        cmocka_unit_test(k28_a_refused_mapping_leaves_nothing),
#ifdef SYSTEM_LIMITS
        cmocka_unit_test(m1_bytes_are_what_the_system_counts),
        cmocka_unit_test(k28_no_room_for_a_chunk_or_its_descriptor),
        cmocka_unit_test(m1_unmapping_is_refused),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
