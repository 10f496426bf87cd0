/* SPDX-License-Identifier: MIT */
/*
 * What every algorithm is asked and what it answers: operations, instants, steps.
 */
#ifndef WEIR_ALGORITHM_OPERATION_H
#define WEIR_ALGORITHM_OPERATION_H

#include "export.h"

enum weir_verb {
    WEIR_ADMIT,  /* n tokens within max_wait, or nothing */
    WEIR_PEEK,   /* what WEIR_ADMIT would answer; never writes */
    WEIR_TAKE,   /* up to n tokens, what is there */
    WEIR_CHARGE, /* n tokens, into debt if need be */
    WEIR_REFUND, /* n tokens back */
    WEIR_CANCEL  /* the reservation of n that ended at `slot` */
};

struct weir_operation {
    enum weir_verb verb;
    uint64_t n;
    weir_ns max_wait;
    uint64_t slot;  /* of a reservation, in units after `origin` */
    int64_t origin; /* that the reservation was made under; of one policy any two can be compared */
};

/* `now` as every call takes it: legal times end at 2^63-1. */
static inline weir_ns weir_now_clamped(weir_ns now)
{
    return now > INT64_MAX ? INT64_MAX : now;
}

/* `now` on the line of one meter. */
struct weir_instant {
    uint64_t line;       /* V(now), units */
    uint64_t elapsed;    /* grains since the origin; before it, modulo 2^64 */
    uint64_t into_grain; /* ns since the grain began */
};

/* What n tokens take, in units. */
struct weir_ask {
    uint64_t cost;
    uint64_t room; /* of a full bucket, what is left then; all that a denial needs */
};

/* The answer to one operation on one payload. */
struct weir_step {
    enum weir_verdict verdict;
    bool write;       /* the payload is to be replaced by the one below */
    uint64_t payload; /* afterwards; the one given when nothing is to be written */
    uint64_t count;   /* tokens taken, or given back */
    weir_ns wait;
    uint64_t slot; /* of a grant, as a later cancel wants it: where its tokens end, in units */
};

#endif
