/* SPDX-License-Identifier: MIT */
/*
 * An engine of many keys and limits, and beside it a plain map of sequential models: each call is
 * made to both, and every field of every answer is equal, or the process ends.
 *
 * What only the engine knows is asked of it: that a key had no place (the limit's counter), that
 * the idle were left behind (the table's), that a reservation's policy was swept. A key that is
 * left behind without being idle, or finds a place of somebody else's, differs from its model.
 *
 * Where the models say nothing of a call (several keys that share an overflow in one call), its
 * keys are forgotten by both.
 */
#ifndef WEIR_FUZZ_ENGINE_WORLD_H
#define WEIR_FUZZ_ENGINE_WORLD_H

#include "compare.h"
#include "limiter.h"
#include "rules.h"

#define WORLD_KEYS   1088
#define WORLD_LIMITS 5
#define WORLD_HELD   8
#define STALE_MAX    (60 * WEIR_SECOND)
#define FIRST        (400 * WEIR_DAY) /* the first `now` */
#define UNIX         (1700000000 * WEIR_SECOND)

struct known {
    struct state state;
    bool used;       /* asked about at all */
    weir_ns granted; /* the newest `now` of a grant since when nothing was given back; else 0 */
};

struct limit {
    bool open;
    struct rules rules;
    struct state overflow;
    uint64_t kin; /* permits of another are void */
    weir_ns changed;
    struct weir_limit_stats counts;
    unsigned keys[WORLD_KEYS]; /* those that are used */
    size_t key_count;
    struct known known[WORLD_KEYS];
};

struct held {
    struct weir_reservation reservation;
    struct hold model;
    unsigned limit, key;
    bool overflow;
    uint64_t cuts; /* of the world, when it was made */
};

struct held_permit {
    struct weir_permit permit;
    unsigned limit, key;
    uint64_t kin;
    bool granted, overflow, nowhere;
};

struct world {
    struct weir *w;
    struct weir_options options;
    weir_key names[WORLD_KEYS];
    struct limit limits[WORLD_LIMITS];
    struct held held[WORLD_HELD];
    struct held_permit permits[WORLD_HELD];
    model_int wall;       /* unix time less `now` */
    weir_ns at;           /* the newest `now` */
    weir_ns settled;      /* a `now` before it is one that the models know nothing of */
    weir_ns horizon;      /* the newest `now` by which somebody was found idle */
    uint64_t kins;        /* given out */
    uint64_t table_moved; /* the table's counters, to see whether they rose */
    uint64_t cuts;        /* calls that may have read the whole table */
    bool poor;            /* an allocation may have failed */
    bool behind;          /* something retired is held on to */
    bool stepped;         /* unix time was set */
    bool traced;
};

/* The world of an input; an engine of so many keys. */
void world_open(struct world *world, size_t max_keys, enum weir_when_full when_full);
void world_close(struct world *world);

/* Every key of every limit, the counters, the table. */
void world_check(struct world *world);

/* What a key can hold, and a span in which it changes. */
uint64_t most_of(const struct rules *rules);
weir_ns span_of(const struct weir_policy *policy);

/* The state of a key that is asked about. */
struct state *state_of(struct world *world, unsigned limit, unsigned key);

/* What was granted to a key, and that some of it was, or may have been, given back. */
void note_granted(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now);
void note_given_back(struct world *world, unsigned limit, unsigned key);

/* May a key owe n tokens more, or its newest window be two further on? */
bool can_go_ahead(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now);

/* ---- calls, by both: on a limit that is open ---------------------------------------------- */

void both_peek(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now);
/* `held` may be NULL: a decision. */
void both_reserve(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now,
                  weir_ns max_wait, struct held *held);
void both_cancel(struct world *world, struct held *held, weir_ns now);
void both_take(struct world *world, unsigned limit, unsigned key, uint64_t max, weir_ns now);
void both_charge(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now);
void both_refund(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now);
void both_set_balance(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now);
void both_forget(struct world *world, unsigned limit, unsigned key);
void both_acquire(struct world *world, unsigned limit, unsigned key, uint64_t n,
                  struct held_permit *permit);
void both_release(struct world *world, struct held_permit *permit);

/* By keys as numbers; any limits, open or not. */
struct request {
    unsigned limit, key;
    uint64_t n;
};
void both_all(struct world *world, const struct request *requests, size_t count, weir_ns now,
              weir_ns max_wait);
void both_batch(struct world *world, const struct request *requests, size_t count, weir_ns now);

/* A call at a `now` that the models know nothing of: its answer is in range, and what is granted by
   it to a bucket that was used since counts as of then. */
void call_from_behind(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now,
                      weir_ns max_wait);

/* ---- limits -------------------------------------------------------------------------------- */

/* The lowest free id gets the policy, if it can be kept and the name is free. */
void both_add(struct world *world, const char *name, const struct weir_policy *policy);
void both_remove(struct world *world, unsigned limit);
void both_change(struct world *world, unsigned limit, const struct weir_policy *policy);
void both_trim(struct world *world);

/* ---- clocks -------------------------------------------------------------------------------- */

/* Time goes on; to where stale clocks meet nobody's leavings. */
void world_forward(struct world *world, weir_ns step);

/* By far more than stale clocks differ; false where the models cannot follow. */
bool world_set_back(struct world *world, weir_ns by);

/* Unix time is set by so many ns. */
void world_set_wall(struct world *world, int64_t by);

#endif
