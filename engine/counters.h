/* SPDX-License-Identifier: MIT */
/*
 * Counters: one block per thread and engine, written by its thread alone, summed by readers.
 *
 * A block outlives its thread: its counts stay, and the next new thread goes on with it. So the
 * number of blocks is that of threads at one time, not of threads ever. It outlives its engine
 * only as long as its thread keeps it: who of the two comes last, frees it.
 */
#ifndef WEIR_COUNTERS_H
#define WEIR_COUNTERS_H

#include "atomic.h"

#include <stddef.h>

/* Of one limit in one block, by verdict (enum weir_verdict); in the place of WEIR_INVALID, which
   counts nowhere: calls answered by when_full. Monotonic. */
#define WEIR_COUNTERS         4
#define WEIR_COUNTER_OVERFLOW 0

struct weir_counter_row {
    struct weir_atomic_u64 of[WEIR_COUNTERS];
};

struct weir_counter_block;

struct weir_counter_set {
    uint64_t serial; /* never that of another set, nor 0 */
    unsigned rows;
    struct weir_counter_block *blocks; /* atomic; newest first, only ever pushed to */
    struct weir_counter_row *shared;   /* for threads without memory for a block */
};

/* What the thread used last: most threads use one engine. */
struct weir_counter_cache {
    uint64_t set; /* serial; 0: none */
    struct weir_counter_row *rows;
};
extern _Thread_local struct weir_counter_cache weir_counters_cache
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Counters for `rows` limits. NULL: no memory. */
struct weir_counter_set *weir_counters_open(unsigned rows);
/* No other call on this set may run or come; threads that used it may end later. */
void weir_counters_close(struct weir_counter_set *set);

/* Whether the calling thread used the set of this serial last; then *rows are its own. */
static inline bool weir_counters_last(uint64_t serial, struct weir_counter_row **rows)
{
    *rows = weir_counters_cache.rows;
    return weir_counters_cache.set == serial;
}

/* The rows of a thread that used another set last, or none. See below. */
struct weir_counter_row *weir_counters_find(struct weir_counter_set *set, bool *shared);

/*
 * The calling thread's rows. Allocates at a thread's first call for this set; without memory for
 * it, rows that are shared: *shared says so, they are to be written by atomic addition.
 */
static inline struct weir_counter_row *weir_counters_rows(struct weir_counter_set *set,
                                                          bool *shared)
{
    struct weir_counter_row *rows;
    *shared = false;
    if (__builtin_expect(weir_counters_last(set->serial, &rows), 1))
        return rows;
    return weir_counters_find(set, shared);
}

struct weir_counter_sums {
    uint64_t of[WEIR_COUNTERS];
};

/* Adds up one row over all blocks. */
void weir_counters_sum(const struct weir_counter_set *set, unsigned row,
                       struct weir_counter_sums *sums);

/* In a child of fork: the blocks of threads that are not there go to new ones. */
void weir_counters_after_fork(struct weir_counter_set *set);

/* Memory held by all blocks. */
size_t weir_counters_bytes(const struct weir_counter_set *set);

/* Adds to a counter: by the row's owner, or to a shared row. */
static inline void weir_count(struct weir_atomic_u64 *counter, uint64_t n, bool shared)
{
    if (__builtin_expect(shared, 0))
        weir_add_relaxed(counter, n);
    else
        weir_store_relaxed(counter, weir_load_relaxed(counter) + n);
}

#endif
