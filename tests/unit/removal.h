/* SPDX-License-Identifier: MIT */
/*
 * What the tests of removed limits share: small engines, plain limits, their counts.
 */
#ifndef WEIR_TESTS_REMOVAL_H
#define WEIR_TESTS_REMOVAL_H

#include "../support.h"

#define NOW  (1000 * WEIR_DAY)
#define LEAP (300 * WEIR_DAY) /* past the line of 999999937/s */

static inline struct weir *open_small(size_t max_keys, unsigned max_limits)
{
    struct weir_options options = {0};
    options.max_keys = max_keys;
    options.max_limits = max_limits;
    return open_engine(&options);
}

static inline void remove_limit(struct weir *w, int limit)
{
    assert_int_equal(weir_remove_limit(w, limit, NOW), 0);
}

static inline struct weir_stats stats_of(const struct weir *w)
{
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    return stats;
}

static inline struct weir_limit_stats limit_stats(const struct weir *w, int limit)
{
    struct weir_limit_stats stats = {0};
    assert_int_equal(weir_limit_stats(w, limit, &stats), 0);
    return stats;
}

static inline struct weir_policy plain(uint64_t burst)
{
    return weir_token_bucket(10, WEIR_MINUTE, burst);
}

#endif
