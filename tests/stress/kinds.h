/* SPDX-License-Identifier: MIT */
/*
 * One limit of each kind with the same capacity, for tests that hold of all kinds. Who includes
 * this defines PERIOD, of windows.
 */
#ifndef WEIR_TESTS_KINDS_H
#define WEIR_TESTS_KINDS_H

#include <weir/weir.h>

enum kind {
    EXACT,
    ROUNDED,
    PACER,
    REFILL,
    FIRST_HIT,
    ALIGNED,
    CALENDAR,
    SLIDING,
    PERMITS,
    UNLIMITED,
    KINDS
};

static const char *const names[KINDS] = {
    "exact bucket",   "rounded bucket",  "pacer",          "refill bucket", "first hit",
    "aligned window", "calendar window", "sliding window", "permits",       "unlimited"};

/* Tokens a second, of the buckets. */
static const uint64_t bucket_rates[] = {2, 17, 3, 10};

static inline struct weir_policy policy_of(unsigned kind, uint64_t capacity)
{
    struct weir_policy policy;
    switch (kind) {
    case EXACT:
        return weir_token_bucket(bucket_rates[EXACT], WEIR_SECOND, capacity);
    case ROUNDED:
        return weir_token_bucket(bucket_rates[ROUNDED], WEIR_SECOND, capacity);
    case PACER:
        return weir_pacer(bucket_rates[PACER], WEIR_SECOND, capacity - 1);
    case REFILL:
        policy = weir_refill_bucket(bucket_rates[REFILL], WEIR_SECOND, WEIR_SECOND / 4);
        policy.burst = capacity;
        return policy;
    case FIRST_HIT:
        return weir_fixed_window(capacity, PERIOD);
    case ALIGNED:
        return weir_aligned_window(capacity, PERIOD, 3);
    case CALENDAR:
        return weir_calendar_window(capacity, WEIR_CALENDAR_DAY, "UTC");
    case SLIDING:
        return weir_sliding_window(capacity, PERIOD);
    case PERMITS:
        return weir_concurrency(capacity);
    default:
        return weir_token_bucket(WEIR_UNLIMITED, 1, 0);
    }
}

#endif
