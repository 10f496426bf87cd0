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

/* Of one limit in one block. Monotonic. */
struct weir_counter_row {
    struct weir_atomic_u64 allowed, denied, never, overflow;
};

struct weir_counter_set;

/* Counters for `rows` limits. NULL: no memory. */
struct weir_counter_set *weir_counters_open(unsigned rows);
/* No other call on this set may run or come; threads that used it may end later. */
void weir_counters_close(struct weir_counter_set *set);

/*
 * The calling thread's rows. Allocates at a thread's first call for this set; without memory for
 * it, rows that are shared: *shared says so, they are to be written by atomic addition.
 */
struct weir_counter_row *weir_counters_rows(struct weir_counter_set *set, bool *shared);

struct weir_counter_sums {
    uint64_t allowed, denied, never, overflow;
};

/* Adds up one row over all blocks. */
void weir_counters_sum(const struct weir_counter_set *set, unsigned row,
                       struct weir_counter_sums *sums);

/* Memory held by all blocks. */
size_t weir_counters_bytes(const struct weir_counter_set *set);

/* Adds one: by the row's owner, or to a shared row. */
static inline void weir_count(struct weir_atomic_u64 *counter, bool shared)
{
    if (shared)
        weir_add_relaxed(counter, 1);
    else
        weir_store_relaxed(counter, weir_load_relaxed(counter) + 1);
}

#endif
