/* SPDX-License-Identifier: MIT */
/*
 * Schedules: calls that take turns at each access to shared memory, in an order drawn from a seed.
 *
 * Threads meet in a step of two nanoseconds once in a long run; fibers that are switched at that
 * very access do so all the time, and again in the same way for the same seed. The engine is built
 * with a point before each of its atomic accesses (schedule_points.h); nothing else of it is
 * changed.
 *
 * What this does not show: orders that only a processor or a compiler makes out of weak accesses.
 * One thread runs all fibers, one at a time, so each schedule is sequentially consistent.
 *
 * Fibers of one thread share its read-side sections: nothing that is retired is freed before all of
 * them have left theirs, and none may wait for a grace period.
 */
#ifndef WEIR_TESTS_SCHEDULE_H
#define WEIR_TESTS_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define FIBERS_MAX 16

struct fiber;

/* Settles the order of what follows, how often fibers are switched included. */
void schedule_seed(uint64_t seed);

/* Runs body(context, 0 to fibers - 1) in as many fibers, all of which end before it returns. */
void schedule_run(unsigned fibers, void (*body)(void *context, unsigned index), void *context);

/* One fiber by hand: made, and not begun yet. At most FIBERS_MAX at a time. */
struct fiber *schedule_make(void (*body)(void *context, unsigned index), void *context,
                            unsigned index);

/* Runs it past so many points and stops it before the next. False: it ended; it is not to be used
   any more. */
bool schedule_run_past(struct fiber *f, uint64_t points);

#endif
