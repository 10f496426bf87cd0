/* SPDX-License-Identifier: MIT */
/*
 * Requests over time, offered and allowed under each limit: a fixed number of buckets of whole
 * minutes, which double in width whenever the time line outgrows them.
 */
#ifndef WEIR_CLI_TIMELINE_H
#define WEIR_CLI_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#define TIMELINE_BUCKETS 4096

struct timeline {
    int64_t first_minute; /* since 1970, where bucket 0 starts */
    unsigned shift;       /* a bucket is 2^shift minutes */
    size_t used;          /* buckets up to the last with an event */
    size_t rows;          /* limits + 1 */
    uint64_t *counts;     /* rows of TIMELINE_BUCKETS: offered, then allowed under each limit */
};

void timeline_init(struct timeline *t, size_t limits);
void timeline_free(struct timeline *t);

/* The first instant, before anything is counted. */
void timeline_start(struct timeline *t, int64_t unix_ns);

/* The bucket of an instant not before the start; widens them all if need be. */
size_t timeline_bucket(struct timeline *t, int64_t unix_ns);

static inline void timeline_offered(struct timeline *t, size_t bucket)
{
    t->counts[bucket]++;
}

static inline void timeline_allowed(struct timeline *t, size_t limit, size_t bucket)
{
    t->counts[(limit + 1) * TIMELINE_BUCKETS + bucket]++;
}

/* Adds another with the same start and the same limits. */
void timeline_add(struct timeline *t, const struct timeline *other);

/* The sum of `width` buckets from bucket `from` on, of row 0 (offered) or limit + 1 (allowed). */
uint64_t timeline_sum(const struct timeline *t, size_t row, size_t from, size_t width);

#endif
