/* SPDX-License-Identifier: MIT */
/*
 * The threads that play, each with its records and its connection, all of them as many passes.
 */
#ifndef WEIR_PEER_REDIS_CREW_H
#define WEIR_PEER_REDIS_CREW_H

#include "limiter.h"
#include "trace.h"

#include <hiredis/hiredis.h>

#include <stddef.h>
#include <stdint.h>

struct outcome {
    uint64_t passes, ns, cpu_ns, admitted;
};

/* Threads wait, blocked, until a run begins. All that is given must stay. */
void crew_make(const struct trace *trace, const struct limiter *limiter, redisContext **connections,
               size_t threads, size_t batch);

/* Plays whole passes, at least one, until so much time has passed. */
struct outcome crew_run(double seconds);

#endif
