/* SPDX-License-Identifier: MIT */
/*
 * The arena: blocks that are zero, aligned and apart, merging, what goes back to the system, and
 * takers beside a holder of the lock.
 */
#include "arena_blocks.h"

#include <sys/wait.h>

static void shuffle(struct held *h, size_t count, struct test_random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(random, i);
        struct held other = h[j];
        h[j] = h[i - 1];
        h[i - 1] = other;
    }
}

/* ---- A1 ---- */

static void a1_blocks_are_zero_and_aligned(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    assert_int_equal(weir_arena_bytes(&a), 0);
    for (unsigned order = WEIR_ARENA_ORDER_MIN; order <= 24; order++) {
        struct held h[5];
        for (unsigned round = 0; round < 3; round++) { /* the second time, others' dirt */
            for (unsigned i = 0; i < 5; i++) {
                h[i] = take(&a, order);
                assert_fresh(&h[i]);
                assert_int_equal(h[i].own, order > WEIR_ARENA_ORDER_MAX);
                memset(h[i].words, 0xff, bytes_of(&h[i]));
            }
            assert_true(weir_arena_is_valid(&a));
            for (unsigned i = 0; i < 5; i++)
                give(&a, &h[(i * 2 + round) % 5]);
            assert_true(weir_arena_is_valid(&a));
        }
    }
    assert_all_returns(&a);
}

/* ---- A2 ---- */

static unsigned random_order(struct test_random *random)
{
    /* orders 8 to 21 by how many fill a chunk: small blocks are many */
    unsigned order = WEIR_ARENA_ORDER_MIN;
    while (order < WEIR_ARENA_ORDER_MAX && random_below(random, 10) < 7)
        order++;
    return random_below(random, 500) == 0 ? 22 : order;
}

static void a2_live_blocks_do_not_overlap(void **state)
{
    (void)state;
    enum { LIVE = 600 };
    struct weir_arena a;
    weir_arena_init(&a);
    struct held *live = held_array(LIVE);
    size_t count = 0;
    struct test_random random = random_start("overlap", 1);
    uint64_t steps = random_scaled(20000);
    for (uint64_t step = 1; step <= steps; step++) {
        /* now more, now fewer are live */
        bool more = random_below(&random, 8) < (step / 1024 % 2 == 0 ? 5 : 3);
        if (count < LIVE && (more || count == 0)) {
            live[count] = take(&a, random_order(&random));
            assert_fresh(&live[count]);
            fill(&live[count++], random_u64(&random));
        } else {
            size_t i = random_below(&random, count);
            assert_true(is_filled(&live[i]));
            give(&a, &live[i]);
            live[i] = live[--count];
        }
        if (step % 512 == 0)
            assert_true(weir_arena_is_valid(&a));
        if (step % 2048 == 0) {
            weir_arena_trim(&a);
            assert_true(weir_arena_is_valid(&a));
        }
    }
    shuffle(live, count, &random);
    while (count > 0) {
        assert_true(is_filled(&live[--count]));
        give(&a, &live[count]);
    }
    free(live);
    assert_all_returns(&a);
}

/* ---- A3 ---- */

static void a3_given_blocks_merge(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    struct test_random random = random_start("merge", 2);
    struct held *all = held_array(CHUNK >> 8);
    for (unsigned order = 8; order < 21; order++) {
        size_t count = CHUNK >> order;
        for (size_t i = 0; i < count; i++) {
            all[i] = take(&a, order);
            assert_non_null(all[i].words);
            assert_int_equal(a.chunks, 1); /* all of a chunk can be used */
            all[i].words[0] = 1;
        }
        assert_int_equal(a.chunks_free, 0);
        size_t bytes = weir_arena_bytes(&a);
        shuffle(all, count, &random);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(a.chunks_free, 0);
            give(&a, &all[i]);
        }
        assert_true(weir_arena_is_valid(&a));
        struct held whole = take(&a, 21);
        assert_fresh(&whole);
        assert_int_equal(a.chunks, 1);
        assert_int_equal(weir_arena_bytes(&a), bytes);
        give(&a, &whole);
    }
    free(all);
    assert_all_returns(&a);
}

/* Arrays of ever larger sizes fit where smaller ones were: four of 64 KiB, say, where sixteen of
   16 KiB were, as when a table grows. */
static void a3_small_arrays_become_large_ones(void **state)
{
    (void)state;
    enum { ARRAYS = 256 };
    struct weir_arena a;
    weir_arena_init(&a);
    struct held *arrays = held_array(ARRAYS);
    for (unsigned i = 0; i < ARRAYS; i++)
        arrays[i] = take(&a, 8);
    for (unsigned order = 9; order <= 17; order++) {
        for (unsigned i = 0; i < ARRAYS; i++) {
            struct held larger = take(&a, order);
            assert_fresh(&larger);
            give(&a, &arrays[i]);
            fill(&larger, i);
            arrays[i] = larger;
        }
        /* at most a quarter more chunks than the arrays fill, and two */
        uint64_t needed = ((uint64_t)ARRAYS << order) / CHUNK;
        assert_in_range(a.chunks, needed, needed + needed / 4 + 2);
    }
    for (unsigned i = 0; i < ARRAYS; i++) {
        assert_true(is_filled(&arrays[i]));
        give(&a, &arrays[i]);
    }
    free(arrays);
    assert_all_returns(&a);
}

/* ---- M1 ---- */

static void m1_free_chunks_go_back_at_once(void **state)
{
    (void)state;
    enum { CHUNKS = 140 }; /* more than a new arena has buckets for */
    struct weir_arena a;
    weir_arena_init(&a);
    struct held *h = held_array(CHUNKS);
    for (unsigned i = 0; i < CHUNKS; i++) {
        h[i] = take(&a, 21);
        assert_non_null(h[i].words);
        assert_false(h[i].own);
    }
    assert_int_equal(a.chunks, CHUNKS);
    assert_in_range(weir_arena_bytes(&a), CHUNKS * CHUNK, CHUNKS * (CHUNK + CHUNK / 256));
    assert_true(weir_arena_is_valid(&a));
    struct test_random random = random_start("chunks", 3);
    shuffle(h, CHUNKS, &random);
    size_t beside = weir_arena_bytes(&a) - CHUNKS * CHUNK;
    for (unsigned used = CHUNKS; used > 0;) {
        give(&a, &h[--used]);
        /* they pile up to an eighth, or one, and no further */
        unsigned most = used / 8 == 0 ? 1 : used / 8;
        assert_in_range(a.chunks_free, CHUNKS - used < most ? CHUNKS - used : most, most);
        assert_int_equal(a.chunks, used + a.chunks_free);
        if (used == CHUNKS - 1) { /* the first search by address added buckets */
            assert_true(a.buckets != a.few);
            beside = weir_arena_bytes(&a) - a.chunks * CHUNK;
        }
        assert_int_equal(weir_arena_bytes(&a), a.chunks * CHUNK + beside);
    }
    free(h);
    assert_true(weir_arena_is_valid(&a));
    assert_int_equal(a.chunks, 1);
    assert_all_returns(&a);
}

static void own_mappings_go_back_at_once(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    struct held h[3] = {take(&a, 22), take(&a, 25), take(&a, 23)};
    assert_int_equal(weir_arena_bytes(&a), (4 + 32 + 8) << 20);
    assert_int_equal(weir_load_relaxed(&a.own), 3);
    give(&a, &h[1]);
    assert_int_equal(weir_arena_bytes(&a), (4 + 8) << 20);
    give(&a, &h[0]);
    give(&a, &h[2]);
    assert_int_equal(weir_arena_bytes(&a), 0);
    assert_all_returns(&a);
}

static void m1_trim_returns_pages_of_free_blocks(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    struct held h[4];
    for (unsigned i = 0; i < 4; i++) {
        h[i] = take(&a, 19);
        fill(&h[i], i + 7);
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = bytes_of(&h[0]) / page;
    give(&a, &h[2]);
    assert_int_equal(pages_in_memory(&h[2]), pages); /* cleared, but still there */
    weir_arena_trim(&a);
    assert_true(weir_arena_is_valid(&a));
    assert_int_equal(pages_in_memory(&h[2]), 0);
    for (unsigned i = 0; i < 4; i++) {
        if (i != 2) {
            assert_int_equal(pages_in_memory(&h[i]), pages);
            assert_true(is_filled(&h[i]));
        }
    }
    assert_int_equal(a.chunks, 1);
    struct held again = take(&a, 19);
    assert_ptr_equal(again.words, h[2].words);
    assert_fresh(&again);
    for (unsigned i = 0; i < 4; i++)
        give(&a, &h[i]);
    assert_all_returns(&a);
}

/* ---- P1 ---- */

struct taking {
    struct weir_arena *a;
    bool expect_own;
};

/* In another thread than the holder's. */
static void take_every_order(void *context, unsigned index)
{
    const struct taking *t = context;
    (void)index;
    errno = 77;
    for (unsigned order = WEIR_ARENA_ORDER_MIN; order <= 22; order++) {
        struct held h = take(t->a, order);
        assert_fresh(&h);
        assert_int_equal(h.own, t->expect_own || order > WEIR_ARENA_ORDER_MAX);
        fill(&h, order);
        assert_true(is_filled(&h));
        if (h.own || !t->expect_own) /* giving the others would wait */
            give(t->a, &h);
    }
    assert_int_equal(errno, 77);
}

static void p1_taking_waits_for_no_holder(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    struct held first = take(&a, 12);
    size_t bytes = weir_arena_bytes(&a);
    weir_arena_lock(&a);
    run_crew(3, take_every_order, &(struct taking){&a, true});
    weir_arena_unlock(&a);
    assert_int_equal(weir_arena_bytes(&a), bytes);
    run_crew(1, take_every_order, &(struct taking){&a, false});
    give(&a, &first);
    assert_all_returns(&a);
}

/* In a child of fork: as if another thread had held the lock at that time. */
static int take_in_child(struct weir_arena *a)
{
    for (unsigned order = WEIR_ARENA_ORDER_MIN; order <= 22; order++) {
        struct held h = take(a, order);
        if (h.words == NULL || !h.own || !is_zero(&h))
            return 1;
        give(a, &h);
    }
    weir_arena_unlock(a); /* as handlers of fork do: from here on as in any process */
    struct held h = take(a, 9);
    if (h.words == NULL || h.own || !is_zero(&h))
        return 2;
    give(a, &h);
    return weir_arena_is_valid(a) ? 0 : 3;
}

static void p1_a_child_of_fork_goes_on(void **state)
{
    (void)state;
    struct weir_arena a;
    weir_arena_init(&a);
    struct held first = take(&a, 10);
    fflush(NULL);
    weir_arena_lock(&a);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(take_in_child(&a));
    weir_arena_unlock(&a);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    give(&a, &first);
    assert_all_returns(&a);
}

/* ---- threads ---- */

#define TAKERS  4
#define PENDING 64

struct exchange {
    struct weir_arena a;
    struct weir_atomic_u64 takers_left;
    uint64_t takes;
    struct weir_atomic_u64 own_taken;
    pthread_mutex_t lock;
    struct held pending[PENDING]; /* lock */
    size_t count;                 /* lock */
};

static bool hand_over(struct exchange *x, const struct held *h)
{
    pthread_mutex_lock(&x->lock);
    bool room = x->count < PENDING;
    if (room)
        x->pending[x->count++] = *h;
    pthread_mutex_unlock(&x->lock);
    return room;
}

/* Gives back what the takers hand over, until they have ended. */
static void be_giver(struct exchange *x)
{
    for (uint64_t turn = 0;; turn++) {
        bool last = weir_load_acquire(&x->takers_left) == 0; /* all of theirs is there */
        struct held h = {NULL, 0, false, 0};
        pthread_mutex_lock(&x->lock);
        if (x->count > 0)
            h = x->pending[--x->count];
        pthread_mutex_unlock(&x->lock);
        if (h.words != NULL) {
            assert_true(is_filled(&h));
            give(&x->a, &h);
        } else if (last) {
            return;
        }
        if (turn % 1024 == 0)
            weir_arena_trim(&x->a);
    }
}

static void be_taker(struct exchange *x, unsigned index)
{
    struct test_random random = {index};
    for (uint64_t i = 0; i < x->takes; i++) {
        struct held h = take(&x->a, random_order(&random));
        assert_fresh(&h);
        if (h.own && h.order <= WEIR_ARENA_ORDER_MAX)
            weir_add_relaxed(&x->own_taken, 1);
        fill(&h, random_u64(&random));
        if (hand_over(x, &h))
            continue;
        assert_true(is_filled(&h));
        give(&x->a, &h);
    }
    weir_add_release(&x->takers_left, UINT64_MAX);
}

static void take_part(void *context, unsigned index)
{
    if (index == 0)
        be_giver(context);
    else
        be_taker(context, index);
}

static void k28_a1_a2_threads_take_and_give(void **state)
{
    (void)state;
    struct exchange *x = calloc(1, sizeof *x);
    assert_non_null(x);
    weir_arena_init(&x->a);
    pthread_mutex_init(&x->lock, NULL);
    weir_store_relaxed(&x->takers_left, TAKERS);
    x->takes = random_scaled(4000);
    run_crew(1 + TAKERS, take_part, x);
    assert_int_equal(x->count, 0);
    printf("# blocks that became mappings of their own: %llu of %llu\n",
           (unsigned long long)weir_load_relaxed(&x->own_taken),
           (unsigned long long)(TAKERS * x->takes));
    pthread_mutex_destroy(&x->lock);
    assert_all_returns(&x->a);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a1_blocks_are_zero_and_aligned),
        cmocka_unit_test(a2_live_blocks_do_not_overlap),
        cmocka_unit_test(a3_given_blocks_merge),
        cmocka_unit_test(a3_small_arrays_become_large_ones),
        cmocka_unit_test(m1_free_chunks_go_back_at_once),
        cmocka_unit_test(own_mappings_go_back_at_once),
        cmocka_unit_test(m1_trim_returns_pages_of_free_blocks),
        cmocka_unit_test(p1_taking_waits_for_no_holder),
        cmocka_unit_test(p1_a_child_of_fork_goes_on),
        cmocka_unit_test(k28_a1_a2_threads_take_and_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
