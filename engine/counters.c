/* SPDX-License-Identifier: MIT */
/*
 * Counter blocks: handed to threads, taken back when these end, freed by who comes last.
 *
 * States of a block: owned by a thread -> orphan (thread ended; counts stay) -> owned by another;
 * closed (its engine was closed while a thread had it; freed by that thread). Each change of state
 * is one compare-and-swap or exchange, so that a thread's end and an engine's close may coincide.
 *
 *   thread ends:    owned -> orphan, or frees if closed
 *   engine closes:  orphan -> freed, owned -> closed
 *   thread starts:  orphan -> owned
 *   process forks:  in the child, owned by a thread that is not there -> orphan
 *
 * Orders: a block's counts and its place in the set's list are published by the release of a push
 * or of an owner's end, and read after the acquire of a walk or of an adoption. Without them a new
 * owner could start from older counts than its predecessor left.
 *
 * Not guaranteed: counts of one instant. A reader sees each counter as some past instant left it.
 *
 * Process-wide state: one pthread key, made at the first block, and a serial number per set, by
 * which a thread's cache tells an engine from a later one at the same address.
 */
#include "counters.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum block_state { OWNED = 1, ORPHAN, CLOSED };

struct weir_counter_block {
    struct weir_counter_block *next_in_set; /* atomic; never changes once the block is published */
    struct weir_counter_block *next_of_thread; /* owner */
    uint64_t set;                              /* serial number of the set */
    struct weir_atomic_u64 state;
    struct weir_counter_row rows[];
};

static struct weir_atomic_u64 set_serials;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;

_Thread_local struct weir_counter_cache weir_counters_cache;

/* The thread lets go of a block. */
static void release_block(struct weir_counter_block *b)
{
    uint64_t state = OWNED;
    /* Release: the counts are there for the next owner, who acquires the orphan. */
    if (!weir_cas_acq_rel(&b->state, &state, ORPHAN))
        free(b); /* closed */
}

static void thread_ends(void *blocks)
{
    struct weir_counter_block *b = blocks;
    weir_counters_cache.set = 0;
    while (b != NULL) {
        struct weir_counter_block *next = b->next_of_thread;
        release_block(b);
        b = next;
    }
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, thread_ends) == 0;
}

static size_t block_bytes(const struct weir_counter_set *set)
{
    return sizeof(struct weir_counter_block) + set->rows * sizeof(struct weir_counter_row);
}

struct weir_counter_set *weir_counters_open(unsigned rows)
{
    struct weir_counter_set *set = calloc(1, sizeof *set);
    if (set == NULL)
        return NULL;
    set->rows = rows;
    set->serial = weir_add_relaxed(&set_serials, 1) + 1;
    set->shared = calloc(rows, sizeof *set->shared);
    if (set->shared == NULL) {
        free(set);
        return NULL;
    }
    return set;
}

void weir_counters_close(struct weir_counter_set *set)
{
    struct weir_counter_block *b = set->blocks;
    while (b != NULL) {
        struct weir_counter_block *next = b->next_in_set;
        uint64_t state = OWNED;
        /* Acquire: an orphan's last owner is done with it. */
        if (!weir_cas_acq_rel(&b->state, &state, CLOSED))
            free(b); /* orphan */
        b = next;
    }
    free(set->shared);
    free(set);
}

/* A block of a thread that ended. */
static struct weir_counter_block *adopt_block(struct weir_counter_set *set)
{
    struct weir_counter_block *b = weir_pointer_load_acquire(&set->blocks);
    for (; b != NULL; b = b->next_in_set) {
        uint64_t state = ORPHAN;
        if (weir_load_relaxed(&b->state) == ORPHAN && weir_cas_acq_rel(&b->state, &state, OWNED))
            return b;
    }
    return NULL;
}

static struct weir_counter_block *new_block(struct weir_counter_set *set)
{
    struct weir_counter_block *b = calloc(1, block_bytes(set));
    if (b == NULL)
        return NULL;
    b->set = set->serial;
    weir_store_relaxed(&b->state, OWNED);
    b->next_in_set = weir_pointer_load_acquire(&set->blocks);
    /* Release: who finds the block, finds it zeroed. */
    while (!weir_pointer_cas_acq_rel(&set->blocks, &b->next_in_set, b)) {}
    return b;
}

/* The thread's list without the blocks whose engines are gone. */
static struct weir_counter_block *without_closed(struct weir_counter_block *list)
{
    struct weir_counter_block **link = &list;
    while (*link != NULL) {
        struct weir_counter_block *b = *link;
        if (weir_load_acquire(&b->state) == CLOSED) {
            *link = b->next_of_thread;
            free(b);
        } else {
            link = &b->next_of_thread;
        }
    }
    return list;
}

/* The thread's block for the set: one that it has, an orphan, or a new one. NULL: no memory. */
static struct weir_counter_block *find_block(struct weir_counter_set *set)
{
    pthread_once(&key_once, make_key);
    if (!key_made)
        return NULL;
    struct weir_counter_block *list = pthread_getspecific(key);
    for (struct weir_counter_block *b = list; b != NULL; b = b->next_of_thread) {
        if (b->set == set->serial)
            return b;
    }
    struct weir_counter_block *b = adopt_block(set);
    if (b == NULL)
        b = new_block(set);
    list = without_closed(list);
    if (b != NULL)
        b->next_of_thread = list;
    if (pthread_setspecific(key, b != NULL ? b : list) != 0 && b != NULL) {
        release_block(b);
        return NULL;
    }
    return b;
}

struct weir_counter_row *weir_counters_find(struct weir_counter_set *set, bool *shared)
{
    int saved = errno;
    struct weir_counter_block *b = find_block(set);
    errno = saved; /* the caller's */
    if (b == NULL) {
        *shared = true;
        return set->shared;
    }
    weir_counters_cache.set = set->serial;
    weir_counters_cache.rows = b->rows;
    return b->rows;
}

static bool is_mine(const struct weir_counter_block *block)
{
    const struct weir_counter_block *b = pthread_getspecific(key);
    while (b != NULL && b != block)
        b = b->next_of_thread;
    return b != NULL;
}

void weir_counters_after_fork(struct weir_counter_set *set)
{
    struct weir_counter_block *b = weir_pointer_load_acquire(&set->blocks);
    while (b != NULL) {
        struct weir_counter_block *next = b->next_in_set;
        if (weir_load_relaxed(&b->state) == OWNED && !is_mine(b))
            release_block(b);
        b = next;
    }
}

static void add_row(const struct weir_counter_row *row, struct weir_counter_sums *sums)
{
    for (int i = 0; i < WEIR_COUNTERS; i++)
        sums->of[i] += weir_load_relaxed(&row->of[i]);
}

void weir_counters_sum(const struct weir_counter_set *set, unsigned row,
                       struct weir_counter_sums *sums)
{
    add_row(&set->shared[row], sums);
    const struct weir_counter_block *b = weir_pointer_load_acquire(&set->blocks);
    for (; b != NULL; b = b->next_in_set)
        add_row(&b->rows[row], sums);
}

size_t weir_counters_bytes(const struct weir_counter_set *set)
{
    size_t bytes = sizeof *set + set->rows * sizeof *set->shared;
    const struct weir_counter_block *b = weir_pointer_load_acquire(&set->blocks);
    for (; b != NULL; b = b->next_in_set)
        bytes += block_bytes(set);
    return bytes;
}
