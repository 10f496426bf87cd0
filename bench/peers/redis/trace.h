/* SPDX-License-Identifier: MIT */
/*
 * A trace file, all of it checked, its beginning kept.
 */
#ifndef WEIR_PEER_REDIS_TRACE_H
#define WEIR_PEER_REDIS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first so many records are played: a pass of them takes a second or so, one of some millions
   would take a minute. */
#define TRACE_KEPT_MAX 50000

struct record {
    uint64_t key, n, now;
};

struct trace {
    /* The head. */
    uint64_t records, keys, limit, period, burst, span, admitted;
    /* The first records of the file. */
    struct record *kept;
    size_t kept_count;
    /* Of those: distinct keys, smallest and largest n, and how many an exact bucket admits. */
    uint64_t kept_keys, n_min, n_max, kept_admitted;
};

void trace_read(struct trace *trace, const char *file);

/* A trace of one key is played whole by every thread. */
bool trace_is_hot(const struct trace *trace);

/* What one bucket gives at most within so many ns, or the decisions if they are fewer. */
uint64_t trace_bound(const struct trace *trace, uint64_t elapsed_ns, uint64_t decisions);

#endif
