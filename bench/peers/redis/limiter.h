/* SPDX-License-Identifier: MIT */
/*
 * A token bucket in Lua, kept by the server as one number for each key.
 *
 * The number is the time at which the bucket will be full again. A request of n tokens puts it off
 * by n times what one token takes; it is allowed if the new time is no later than an empty bucket
 * would need. That is the same bucket as one that counts tokens, and needs no division.
 *
 * Lua counts in doubles, exact up to 2^53. So time is counted in ticks of 1 / gain of a ns (of a us
 * by the server's own clock), where a token takes a whole number of ticks: with g the greatest
 * common divisor of limit and period, gain = limit / g and token = period / g. What could exceed
 * 2^53 is refused beforehand, so no rounding ever happens.
 */
#ifndef WEIR_PEER_REDIS_LIMITER_H
#define WEIR_PEER_REDIS_LIMITER_H

#include "trace.h"

#include <hiredis/hiredis.h>

#include <stdbool.h>
#include <stdint.h>

struct limiter {
    bool given;
    uint64_t gain, token, depth; /* depth: ticks that a full bucket of tokens takes */
    uint64_t now_max;            /* of the given clock, ns: up to here everything is exact */
    char sha[41];                /* of the script */
    char gain_text[24], token_text[24], depth_text[24];
};

/* Units for the trace, and the script given to the server. */
void limiter_make(struct limiter *limiter, const struct trace *trace, bool given,
                  redisContext *connection);

/* One decision is sent with the next that are waited for; now: of the given clock, ns. */
void limiter_ask(const struct limiter *limiter, redisContext *connection, const char *key,
                 uint64_t n, uint64_t now);

/* The answer to the earliest that was asked and not answered: whether it was allowed. */
bool limiter_answer(redisContext *connection);

#endif
