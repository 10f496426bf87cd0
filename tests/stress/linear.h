/* SPDX-License-Identifier: MIT */
/*
 * Whether calls on one key that overlapped can be explained by an order of them (linearizability).
 *
 * Vocabulary
 *   window   calls on one key that began after all before it had returned, and returned before any
 *            after it began
 *   invoked, returned
 *            readings of one counter, before a call and after it: a call came before another if it
 *            had returned when the other was invoked
 *   explained
 *            the model of the key (tests/model), asked for the calls one after the other in an
 *            order that keeps what came before what, gives every field of every answer
 *   state    what a key is to the model, with what reservations its cancels go by
 *
 * The search goes depth first over all such orders (Wing and Gong, Testing and verifying concurrent
 * objects, 1993), and gives every state in which one of them may have left the key: the next window
 * begins with any of these. So no order is ruled out that a later window needs, and none is let
 * through that no whole history of the key has.
 */
#ifndef WEIR_TESTS_LINEAR_H
#define WEIR_TESTS_LINEAR_H

#include "rules.h"

#define LINEAR_THREADS 4
#define LINEAR_CALLS   24 /* of a window, at most */
#define LINEAR_STATES  64

enum linear_call {
    LINEAR_DECIDE,
    LINEAR_ALLOW, /* tells the verdict alone */
    LINEAR_RESERVE,
    LINEAR_CANCEL,
    LINEAR_PEEK,
    LINEAR_TAKE,
    LINEAR_CHARGE,
    LINEAR_REFUND,
    LINEAR_SET,
    LINEAR_FORGET,
    LINEAR_IN_USE /* of permits */
};

/* One call, and its answer. */
struct linear_op {
    enum linear_call call;
    unsigned thread;
    int after; /* an earlier one of the same window, in its order in a batch; -1: none */
    uint64_t n;
    weir_ns now, max_wait;
    struct weir_result result;
    uint64_t count; /* given back, taken, charged, in use; reserved */
    weir_ns instant;
    uint64_t invoked, returned;
};

/* What a key is, and what its limit has seen of clocks and granted. */
struct linear_state {
    struct window_limit windows;
    struct state key;
    struct hold held[LINEAR_THREADS];
};

/* The states in which a key may be. None: its history has no order. */
struct linear_states {
    struct linear_state of[LINEAR_STATES];
    size_t count;
    bool many; /* more than there is room for: the key is lost track of */
};

/* A key never used, of a limit whose first call came at `first`. */
void linear_start(struct rules *l, struct linear_states *states, const struct weir_policy *policy,
                  weir_ns first, weir_ns stale_max, model_int wall);

/* Where a window leaves the key. */
void linear_go_on(const struct rules *l, struct linear_states *states, const struct linear_op *ops,
                  size_t count);

/* Whether two calls of the window overlapped. */
bool linear_overlaps(const struct linear_op *ops, size_t count);

/* Prints a window. */
void linear_show(const struct linear_op *ops, size_t count);

#endif
