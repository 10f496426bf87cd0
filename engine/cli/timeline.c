/* SPDX-License-Identifier: MIT */
/* Requests over time, in buckets that double in width when the time line outgrows them. */
#include "timeline.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_MINUTE INT64_C(60000000000)

void timeline_init(struct timeline *t, size_t limits)
{
    *t = (struct timeline){.rows = limits + 1};
    t->counts = cli_alloc(t->rows * TIMELINE_BUCKETS, sizeof *t->counts);
}

void timeline_free(struct timeline *t)
{
    free(t->counts);
    t->counts = NULL;
}

void timeline_start(struct timeline *t, int64_t unix_ns)
{
    t->first_minute = unix_ns / NS_PER_MINUTE;
}

static void widen(struct timeline *t)
{
    for (size_t row = 0; row < t->rows; row++) {
        uint64_t *counts = t->counts + row * TIMELINE_BUCKETS;
        for (size_t i = 0; i < TIMELINE_BUCKETS / 2; i++)
            counts[i] = counts[2 * i] + counts[2 * i + 1];
        memset(counts + TIMELINE_BUCKETS / 2, 0, TIMELINE_BUCKETS / 2 * sizeof *counts);
    }
    t->shift++;
    t->used = (t->used + 1) / 2;
}

size_t timeline_bucket(struct timeline *t, int64_t unix_ns)
{
    int64_t minute = unix_ns / NS_PER_MINUTE - t->first_minute;
    while (minute >> t->shift >= TIMELINE_BUCKETS)
        widen(t);
    size_t bucket = (size_t)(minute >> t->shift);
    if (t->used <= bucket)
        t->used = bucket + 1;
    return bucket;
}

void timeline_add(struct timeline *t, const struct timeline *other)
{
    while (t->shift < other->shift)
        widen(t);
    unsigned down = t->shift - other->shift;
    for (size_t row = 0; row < t->rows; row++) {
        uint64_t *to = t->counts + row * TIMELINE_BUCKETS;
        const uint64_t *from = other->counts + row * TIMELINE_BUCKETS;
        for (size_t i = 0; i < other->used; i++)
            to[i >> down] += from[i];
    }
    size_t used = other->used ? ((other->used - 1) >> down) + 1 : 0;
    if (t->used < used)
        t->used = used;
}

uint64_t timeline_sum(const struct timeline *t, size_t row, size_t from, size_t width)
{
    const uint64_t *counts = t->counts + row * TIMELINE_BUCKETS;
    uint64_t sum = 0;
    for (size_t i = from; i < from + width && i < t->used; i++)
        sum += counts[i];
    return sum;
}
