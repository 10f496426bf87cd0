/* SPDX-License-Identifier: MIT */
/*
 * What stress tests of the table share: clocks that lag, threads that are stopped at any
 * instruction, a walk that looks for a key's slots, and the counts of what happened.
 *
 * A test that only hopes for an interleaving has to show that it came: each run prints how often a
 * table grew, was compacted, and how often threads got in each other's way, and at full size fails
 * where one of these never happened.
 */
#ifndef WEIR_TESTS_STRESS_H
#define WEIR_TESTS_STRESS_H

#include "../support.h"

/* Clocks are never further behind, see stress_clock. */
#define STRESS_STALE_MAX WEIR_MINUTE

/* An engine whose keys hash as the seed says, so that what happens can happen again. */
struct weir *stress_open(size_t max_keys, enum weir_when_full when_full, uint64_t seed);

/* ---- clocks ---- */

/*
 * One instant that only rises, and what each thread makes of it: its own lag behind. A call that is
 * under way keeps the instant from running away from it, so that nobody is ever more than
 * spread + the longest step behind; with stale_max above that, every guarantee holds for every
 * call.
 */
struct stress_clock {
    _Atomic weir_ns now;
    weir_ns spread;
    struct {
        WEIR_ALIGN_LINE _Atomic weir_ns in_use; /* by the call under way; WEIR_FOREVER: none is */
    } threads[THREADS_MAX];
};

void stress_clock_start(struct stress_clock *c, weir_ns now, weir_ns spread);

/* The instant for a call of a thread that lags; the call is under way from here on. */
weir_ns stress_clock_enter(struct stress_clock *c, unsigned thread, weir_ns lag);

/* The call has returned: an instant that no clock has passed yet. */
weir_ns stress_clock_leave(struct stress_clock *c, unsigned thread);

/* Moves on by at most `step`. */
void stress_clock_advance(struct stress_clock *c, weir_ns step);

/* ---- threads that are stopped ---- */

/*
 * As run_crew, beside a thread that goes on stopping others for some 100 us, each at whatever
 * instruction it is at. So a step of a few nanoseconds is as likely to be interrupted for long as
 * one that takes its share of the run.
 */
void stress_run(unsigned threads, void (*body)(void *, unsigned), void *context);

/* From the next run on a few stops are so long, less than a second; 0: none is. */
void stress_stop_for(weir_ns longest);

/* ---- the table, when no call is under way ---- */

/* Whether every key has one live slot at most, over all arrays, and what is counted is there:
   another way to see it than weir_table_is_valid, which this asks too. */
bool stress_table_is_sound(const struct weir *w);

/* ---- what happened ---- */

enum stress_count {
    STRESS_GROWTHS = 1,
    STRESS_COMPACTIONS = 2,
    STRESS_MOVES = 4,
    STRESS_RACES = 8,        /* claims of a slot that were lost */
    STRESS_HELPS = 16,       /* chunks moved */
    STRESS_REDONE = 32,      /* of these, ones that another thread had taken */
    STRESS_STALE_LEFT = 64,  /* entries left behind under a clock behind the horizon */
    STRESS_STALE_FRESH = 128 /* keys that began at the horizon */
};
#define STRESS_COUNTS      8
#define STRESS_FROZEN_TIME 63 /* what can happen while no clock moves */
#define STRESS_EVERYTHING  255

struct stress_counts {
    uint64_t of[STRESS_COUNTS];
};

void stress_count(struct stress_counts *c, const struct weir *w);

/* Prints them. False: one of `wanted` never happened; only ever at full size. */
bool stress_report(const char *name, const struct stress_counts *c, unsigned wanted);

#endif
