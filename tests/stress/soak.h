/* SPDX-License-Identifier: MIT */
/*
 * What the mixes of the soak share: how threads are run, calls whose time is taken, and figures of
 * what happened.
 *
 * A mix is played in rounds, each in a process of its own and from a seed of its own: its checks
 * are complete for the round, and a round that fails, crashes or does not end is told by its seed.
 */
#ifndef WEIR_TESTS_SOAK_H
#define WEIR_TESTS_SOAK_H

#include "stress.h"

#include <sched.h>

/* ---- the mixes ---- */

/* Fails the test of the process in which it runs. */
typedef void soak_round(uint64_t seed);

soak_round soak_growth;   /* histories of grants while the table grows, under clocks that lag */
soak_round soak_trimmed;  /* the same beside a thread that trims */
soak_round soak_instants; /* at each of many instants every key has its burst, once */
soak_round soak_full;     /* floods of new keys, by each when_full */
soak_round soak_last;     /* the last places of small tables, wanted by all at once */
soak_round soak_ledger;   /* all mutators of every kind of limit, while keys move */
soak_round soak_changes;  /* settings that change */
soak_round soak_removal;  /* limits that are removed and added again */
soak_round soak_permits;  /* permits and who waits for them */
soak_round soak_all;      /* several limits, all or none */
soak_round soak_windows;  /* short windows of calls on hot keys, each explained by an order */

/* ---- threads ---- */

/* How many for a round: 2, 4 or 8, or as many as there are cores; at most `most`. */
unsigned soak_threads(uint64_t seed, unsigned most);

/* As run_crew; by the seed, threads are pinned to cores or not, and, in so many of 8 rounds,
   stopped as by stress_run, now and then for so long that memory which nobody holds on to is used
   again. */
void soak_run(uint64_t seed, unsigned threads, unsigned stopped_of_8,
              void (*body)(void *, unsigned), void *context);

#define SOAK_STOPPED_MOSTLY 6

/* Waits until all threads have come, without going to sleep, so that all go on at once. */
struct soak_barrier {
    _Atomic unsigned arrived, turns;
    unsigned threads;
};

void soak_barrier_wait(struct soak_barrier *b);

/* Sometimes gives the core away, or lets a little time pass. */
void soak_dither(struct test_random *random);

/* ---- figures ---- */

enum soak_call {
    SOAK_DECIDE,
    SOAK_ALLOW,
    SOAK_RESERVE,
    SOAK_CANCEL,
    SOAK_PEEK,
    SOAK_TAKE,
    SOAK_CHARGE,
    SOAK_REFUND,
    SOAK_SET_BALANCE,
    SOAK_FORGET,
    SOAK_BATCH,
    SOAK_ALL,
    SOAK_ACQUIRE,
    SOAK_ACQUIRE_WAIT,
    SOAK_RELEASE,
    SOAK_SET_LIMIT,
    SOAK_ADD_LIMIT,
    SOAK_REMOVE_LIMIT,
    SOAK_TRIM,
    SOAK_CALLS
};

/* The same call, and its time is taken. */
#define SOAK_TIMED(which, call)                                                                    \
    __extension__({                                                                                \
        weir_ns soak_begin = weir_now();                                                           \
        __typeof__(call) soak_answer = (call);                                                     \
        soak_took((which), weir_now() - soak_begin);                                               \
        soak_answer;                                                                               \
    })

void soak_took(enum soak_call which, weir_ns span);

/* What is counted beside the counts of stress.h. */
enum soak_count {
    SOAK_DROPPED = STRESS_COUNTS, /* idle keys left behind */
    SOAK_SHRINKS,
    SOAK_ORIGINS,  /* changes of settings, and new origins */
    SOAK_SWEEPS,   /* that were called, beside those that changes and trims make */
    SOAK_OVERFLOW, /* calls on keys without a place */
    SOAK_WAKES,
    SOAK_DECISIONS, /* as the statistics have them */
    SOAK_GRANTS,    /* in histories that were checked */
    SOAK_WINDOWS,   /* of calls, for which an order was looked for */
    SOAK_OVERLAPS,  /* of these, ones in which calls overlapped */
    SOAK_LOST,      /* of these, ones after which the key could be in too many states */
    SOAK_EPOCHS,    /* limits that were removed */
    SOAK_REFUSED,   /* all-or-none calls that were refused */
    SOAK_COUNTS
};

void soak_count(unsigned which, uint64_t n);

/* Adds what happened in an engine. */
void soak_note(const struct weir *w);

#endif
