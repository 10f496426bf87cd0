/* SPDX-License-Identifier: MIT */
/*
 * What every algorithm is asked and what it answers: operations, instants, steps.
 */
#ifndef WEIR_ALGORITHM_OPERATION_H
#define WEIR_ALGORITHM_OPERATION_H

#include "export.h"

#include "atomic.h"

enum weir_verb {
    WEIR_ADMIT,  /* n tokens within max_wait, or nothing */
    WEIR_PEEK,   /* what WEIR_ADMIT would answer; never writes */
    WEIR_TAKE,   /* up to n tokens, what is there */
    WEIR_CHARGE, /* n tokens, into debt if need be */
    WEIR_REFUND, /* n tokens back */
    WEIR_CANCEL, /* the reservation of n that ended at `slot` */
    WEIR_UNDO,   /* a grant of n that made the payload `slot` out of `before`; it never happened */
    WEIR_SET     /* n tokens left */
};

struct weir_operation {
    enum weir_verb verb;
    uint64_t n;
    weir_ns max_wait;
    weir_ns early;   /* admit: the instant lies so far ahead of the call */
    uint64_t slot;   /* of a reservation, as its step told; of a grant to undo, the payload */
    uint64_t before; /* the payload that it was based on */
    int64_t origin;  /* under which both were; of one policy any two can be compared */
};

/* `now` as every call takes it: legal times end at 2^63-1. */
static inline weir_ns weir_now_clamped(weir_ns now)
{
    return now > INT64_MAX ? INT64_MAX : now;
}

/* `now` on the line of one meter. */
struct weir_instant {
    uint64_t line;       /* bucket: V(now), units. Windows: their number; from the first hit: ns */
    uint64_t elapsed;    /* grains since the origin; before it, modulo 2^64. Calendar: unix time */
    uint64_t into_grain; /* ns since the grain, or the window, began */
    uint64_t left;       /* calendar windows: ns until the window ends; 0: it is not known */
    /* Windows by unix time: so much, and a window, the instant may be behind; and whether it is
       known to be no further behind than that. */
    weir_ns guard;
    bool recent;
    /* The same in an engine, told only once a word was loaded, whose writer may have been newer: by
       the newest `now`, if that is more than `guard`; NULL: by those two. That of the call; and
       what stale clocks differ by. */
    const struct weir_atomic_u64 *newest;
    weir_ns now, stale_max;
    struct weir_atomic_u64 *reach; /* fixed windows: the longest wait that was ever granted
                                      under the limit; NULL: not known */
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
    uint64_t slot;   /* of a grant, as a cancel wants it. Bucket: where its tokens end, in units;
                        others: the payload */
    uint64_t before; /* the payload given */
};

/* What a payload is made for: its bits, the span that positions have to reach at least, and counts
   that it has to hold besides the limit's own. */
struct weir_room {
    unsigned payload_bits;
    unsigned count_bits;
    weir_ns lasts;
    weir_ns lasts_aligned; /* the same for aligned windows, which cannot have a coarser grain */
    weir_ns lasts_sliding; /* the same for all numbers of sliding ones */
    const void *zone;      /* of calendar windows, where it was found; NULL: it is looked for */
};

#endif
