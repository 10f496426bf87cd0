/* SPDX-License-Identifier: MIT */
/*
 * Both models as one: a limit of any kind, the state of its keys, and what they have reserved.
 */
#ifndef WEIR_TESTS_RULES_H
#define WEIR_TESTS_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

#include "bucket_model.h"
#include "window_model.h"

/* A limit's settings. Those that need an origin have none until their first call. */
struct rules {
    struct weir_policy policy;
    bool anchored;
    struct model_line line;
    struct window_limit windows; /* of buckets too: what it says of the clocks goes on */
};

struct state {
    struct model_key bucket;
    struct window_key window;
};

struct hold {
    struct model_reservation bucket;
    struct window_reservation window;
};

bool rules_is_bucket(const struct rules *rules);
bool rules_is_permits(const struct rules *rules);
bool rules_is_unlimited(const struct rules *rules);

/* Instants mean nothing to it, or the same to all limits. */
bool rules_is_timeless(const struct rules *rules);

/* Whether the one may be set for the other without a change. */
bool rules_same_policy(const struct weir_policy *a, const struct weir_policy *b);

/* 0, or what weir_set_limit returns for such a policy. */
int rules_error(const struct weir_policy *policy);

/* Of a policy without error: an engine's limit, or what a meter says. */
void rules_of_engine(struct rules *rules, const struct weir_policy *policy, weir_ns stale_max);
void rules_of_meter(struct rules *rules, const struct weir_meter *m);

/* What the first call does. */
void rules_anchor(struct rules *rules, weir_ns now);

/* ---- operations: bucket_model.h, window_model.h ------------------------------------------- */

struct weir_result rules_step(struct rules *rules, struct state *state, uint64_t n, weir_ns now,
                              weir_ns max_wait, bool record, struct hold *hold);

/* What a decision would answer. */
struct weir_result rules_ask(const struct rules *rules, const struct state *state, uint64_t n,
                             weir_ns now, weir_ns max_wait);

uint64_t rules_cancel(struct rules *rules, struct state *state, struct hold *hold, weir_ns now);
uint64_t rules_refund(struct rules *rules, struct state *state, uint64_t n, weir_ns now);
uint64_t rules_take(struct rules *rules, struct state *state, uint64_t max, weir_ns now);
uint64_t rules_charge(struct rules *rules, struct state *state, uint64_t n, weir_ns now);
void rules_set_balance(struct rules *rules, struct state *state, uint64_t tokens, weir_ns now);

uint64_t hold_n(const struct rules *rules, const struct hold *hold);
weir_ns hold_instant(const struct rules *rules, const struct hold *hold);

/* ---- changes ------------------------------------------------------------------------------ */

/* Whether keys mean something under both. */
bool rules_follow(const struct rules *from, const struct weir_policy *policy);

/* An engine's rules after a change at `now`. */
void rules_after(struct rules *to, const struct weir_policy *policy, const struct rules *from,
                 weir_ns now);

void state_change(const struct rules *from, struct state *state, const struct rules *to,
                  weir_ns now);
void hold_change(const struct rules *from, struct hold *hold, const struct rules *to, weir_ns now);

/* Of a bucket that became faster a reservation may be paid before its instant: what has been
   reserved after it is then not known. */
bool hold_is_paid_early(const struct rules *rules, const struct hold *hold, weir_ns now);

/* Can a word hold what these units would owe? An engine's holds 2^58, of which half is time. */
bool rules_line_holds(const struct model_line *line, model_int units, bool cell);

#endif
