/* SPDX-License-Identifier: MIT */
/*
 * A schedule of few calls: what is drawn for a run, the engines that runs are made on, and how its
 * calls are made and recorded. See test_schedules_small.c.
 */
#ifndef WEIR_TESTS_FEW_CALLS_H
#define WEIR_TESTS_FEW_CALLS_H

#include "judge.h"
#include "stress.h"

#define FIBERS      4
#define KEYS        3
#define FILLERS_MAX 200
#define DEBT        3
#define UNIX_2024   ((weir_ns)1704067200 * WEIR_SECOND)
#define AHEAD_MAX   (2 * WEIR_SECOND) /* clocks, of the one that is behind most */
#define BURST       2                 /* of keys that want the last places */

/* What a mix has besides. */
enum {
    GROWS = 1,    /* the table is about to grow, or does so */
    FULL = 2,     /* there are more keys than places */
    CHANGES = 4,  /* of settings */
    REMOVES = 8,  /* limits come and go */
    CLOCKS = 16,  /* clocks differ */
    BATCHES = 32, /* calls on several keys */
    SHARES = 64,  /* nothing but calls for the last places, by WEIR_FULL_SHARE */
};

enum kind {
    EXACT,
    ROUNDED,
    PACER,
    REFILL,
    NO_RATE,
    FIRST_HIT,
    ALIGNED,
    CALENDAR,
    SLIDING,
    PERMITS,
    KINDS,
    BUCKETS = FIRST_HIT /* those before it */
};

struct mix {
    const char *name;
    unsigned has;
};

#define MIXES 11
extern const struct mix mixes[MIXES];

struct run {
    uint64_t seed;
    const struct mix *mix;
    struct test_random random;
    struct weir *w;
    int limit, owed, gone; /* the one that is judged; fillers in debt, and idle ones */
    enum kind kind;
    struct weir_policy policy;
    weir_ns first, now, newest;
    bool anchored;
    weir_key keys[KEYS];
    uint64_t ids; /* of fillers, from it on */
    unsigned owing, idle;
    bool charged[FILLERS_MAX]; /* it had a place */
    struct record records[RECORDS_MAX];
    unsigned count;
    unsigned scripts[FIBERS + 1]; /* where the records of each fiber begin */
    unsigned fibers;
    unsigned holds;
    struct weir_reservation reservations[HOLDS_MAX];
    struct weir_permit permits[HOLDS_MAX];
    uint64_t stamp;
};

static inline bool has(const struct run *r, unsigned what)
{
    return (r->mix->has & what) != 0;
}

static inline uint64_t dice(struct run *r, uint64_t sides)
{
    return random_below(&r->random, sides);
}

/* ---- few_calls_made.c ---- */

/* Of a group of tests. */
int open_all(void **state);
int close_all(void **state);

/* Opening one maps memory, which takes longer than all of a run: it is emptied instead. */
void empty(struct weir *w);

/* One as it was opened, of the size that the run's mix wants. */
struct weir *engine_for(struct run *r);

/* The keys that fill a table: those in debt first, then idle ones. */
uint64_t filler_id(const struct run *r, unsigned i);
void charge_filler(struct run *r, unsigned i);

void trim(struct run *r, weir_ns now);

/* Makes what is recorded, and adds the answers. */
void make_call(struct run *r, struct record *c);

/* The body of a fiber: the calls of its script. */
void play(void *run, unsigned index);

/* ---- few_calls_drawn.c ---- */

struct record *add_record(struct run *r, enum call call, unsigned key, uint64_t n);

/* Draws all of a run, and makes what comes before its fibers. */
void begin_run(struct run *r, uint64_t seed);

#endif
