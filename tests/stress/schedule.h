/* SPDX-License-Identifier: MIT */
/*
 * Schedules: calls that take turns at each access to shared memory, in an order drawn from a seed.
 *
 * Threads meet in a step of two nanoseconds once in a long run; fibers that are switched at that
 * very access do so all the time, and again in the same way for the same seed. The engine is built
 * with a point before each of its atomic accesses (schedule_points.h); nothing else of it is
 * changed.
 *
 * Orders are drawn in one of two ways:
 *   by turns     who runs is switched after some 2 to 512 points, to anybody; some then sleep for
 *                many turns
 *   by priority  who has the highest priority runs. Priorities are drawn, and at each of a few
 *                points the one who runs there gets the lowest (Burckhardt et al., "A Randomized
 *                Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010): a run
 *                finds a fault that takes d such changes, among k points of n fibers, with a
 *                chance of 1 / (n * k^d) or more
 * In both, who waits for another in a loop of the engine's lets all others go on first.
 *
 * Sections of fibers are their own, and a grace period waits for those of the time. What is retired
 * is freed, in the same run, as soon as everybody who could see it has left his section.
 *
 * What this does not show: orders that only a processor or a compiler makes out of weak accesses.
 * One thread runs all fibers, one at a time, so each schedule is sequentially consistent.
 */
#ifndef WEIR_TESTS_SCHEDULE_H
#define WEIR_TESTS_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define FIBERS_MAX 16

struct fiber;

/* What has happened since the seed was given. Equal seeds give equal ones. */
struct schedule_trace {
    uint64_t points, switches;
    uint64_t hash; /* of who was switched where */
};

/* Settles the order of what follows, how often fibers are switched included. */
void schedule_seed(uint64_t seed);
struct schedule_trace schedule_trace(void);

/* Runs body(context, 0 to fibers - 1) in as many fibers, all of which end before it returns. */
void schedule_run(unsigned fibers, void (*body)(void *context, unsigned index), void *context);

#define SCHEDULE_CHANGES_MAX 4

/* The same by priority, with so many changes within the first so many points. */
void schedule_run_by_priority(unsigned fibers, void (*body)(void *context, unsigned index),
                              void *context, unsigned changes, uint64_t points);

/* From now on a run of fibers goes through so many points at most: past them it ends, and
   schedule_is_stuck says so. Then nothing that its fibers used is to be touched. 0: no bound. */
void schedule_bound(uint64_t points);
bool schedule_is_stuck(void);

/* What a read section of the engine is here, for tests that call its inner functions. */
void schedule_section_begin(void);
void schedule_section_end(void);

/* One fiber by hand: made, and not begun yet. At most FIBERS_MAX at a time. It may wait for no
   other. */
struct fiber *schedule_make(void (*body)(void *context, unsigned index), void *context,
                            unsigned index);

/* Runs it past so many points and stops it before the next. False: it ended; it is not to be used
   any more. */
bool schedule_run_past(struct fiber *f, uint64_t points);

#endif
