/* SPDX-License-Identifier: MIT */
/*
 * Statistics do not bear on the protocol: stands in for engine/counters.h, and counts nothing.
 */
#ifndef WEIR_COUNTERS_H
#define WEIR_COUNTERS_H

#include "atomic.h"

enum { WEIR_COUNTERS = 4, WEIR_COUNTER_OVERFLOW = 0 };

struct weir_counter_row {
    weir_atomic_u64 of[WEIR_COUNTERS];
};

struct weir_counter_sums {
    uint64_t of[WEIR_COUNTERS];
};

struct weir_counter_set;

static weir_counter_row weir_counters_nobodys;

static inline bool weir_counters_last(uint64_t serial, weir_counter_row **rows)
{
    (void)serial;
    *rows = &weir_counters_nobodys;
    return true;
}

static inline weir_counter_row *weir_counters_rows(weir_counter_set *set, bool *shared)
{
    (void)set;
    *shared = false;
    return &weir_counters_nobodys;
}

static inline void weir_count(weir_atomic_u64 *counter, uint64_t n, bool shared)
{
    (void)counter;
    (void)n;
    (void)shared;
}

#endif
