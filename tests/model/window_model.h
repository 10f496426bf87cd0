/* SPDX-License-Identifier: MIT */
/*
 * The windows and the permits as sequential programs in 128-bit integers, written from their
 * definition: one key, no word, no table, no threads. Test programs compare the library with it.
 *
 * Vocabulary
 *   t         the instant of a call: `now`, or for aligned and calendar windows the unix time at it
 *   position  which window: from a first hit its start, in grains after the origin; aligned the
 *             number of periods since 1970; on the calendar that of days, weeks or months; sliding
 *             the number of periods on the caller's clock
 *   ahead     somebody reserved into the window before it began
 *   stage     of a key at t: ended (as never used), active, or ahead (its window is still to come)
 *   plan      what an admission would do: its wait, and the state after it
 *
 * Zones are known by rule: UTC, Kuala Lumpur (+08:00 since 1982), New York (since 2007).
 *
 * Not modelled: the ends of what a word can count, but for the counts that a change finds.
 */
#ifndef WEIR_TESTS_WINDOW_MODEL_H
#define WEIR_TESTS_WINDOW_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

#include "bucket_model.h"
#include "random.h"

enum window_zone { WINDOW_ZONE_UTC, WINDOW_ZONE_KUALA_LUMPUR, WINDOW_ZONE_NEW_YORK };

/* A policy made ready, and what its keys share. */
struct window_limit {
    uint32_t kind, form;
    bool unlimited;
    uint64_t limit;
    model_int period;
    model_int origin;       /* from a first hit: ns */
    unsigned grain_bits;    /* the same: a start is a multiple of 2^this ns after the origin */
    unsigned position_bits; /* of an engine's word: half of what they count is always there */
    unsigned count_bits;    /* not fewer than those of the limit before a change, if they fit */
    model_int offset;       /* aligned: ns east of Greenwich */
    uint32_t calendar;
    enum window_zone zone;
    model_int wall;    /* unix time less `now`; a cell's `now` is unix time */
    bool believes;     /* a cell: what was reserved ahead is believed however far it is */
    model_int longest; /* wait that was granted under a fixed window */
    /* An engine's clocks: the `now` at which unix time was asked about last, and the highest such;
       and by what a window may be further ahead than else, since a `now` is known to be behind. */
    bool asked;
    model_int told, newest, stale_max, guard;
    model_int count_max; /* what the word counts */
};

/* Fixed: position, ahead, count. Sliding: position, previous, count. Concurrency: count. */
struct window_key {
    bool used, ahead;
    model_int position;
    uint64_t count, previous;
};

struct window_reservation {
    uint64_t n;
    uint64_t instant;
    struct window_key before, after;
};

/* The limit of an engine that sees its first `now` at `first`, or of a meter's cells. */
void window_limit_of_engine(struct window_limit *l, const struct weir_policy *policy, weir_ns first,
                            weir_ns stale_max);
void window_limit_of_meter(struct window_limit *l, const struct weir_meter *m);

/* Aligned and calendar windows: on unix time. */
bool window_on_wall(const struct window_limit *l);

/* The operations. `r` may be NULL. window_step is a reservation (max_wait 0: a decision) when
   `record` is set and a peek otherwise. */
struct weir_result window_step(struct window_limit *l, struct window_key *key, uint64_t n,
                               uint64_t now, uint64_t max_wait, bool record,
                               struct window_reservation *r);
uint64_t window_cancel(const struct window_limit *l, struct window_key *key,
                       struct window_reservation *r, uint64_t now);
uint64_t window_refund(const struct window_limit *l, struct window_key *key, uint64_t n,
                       uint64_t now);
uint64_t window_take(struct window_limit *l, struct window_key *key, uint64_t max, uint64_t now);
uint64_t window_charge(const struct window_limit *l, struct window_key *key, uint64_t n,
                       uint64_t now);
void window_set_balance(const struct window_limit *l, struct window_key *key, uint64_t tokens,
                        uint64_t now);
void window_forget(struct window_key *key);

/* ---- settings that change ----------------------------------------------------------------- */

/* Whether an engine's word can keep the policy; -ERANGE says that it cannot. */
bool window_is_kept(const struct weir_policy *policy);

/* An engine asks about unix time: when it last did was a second or more from `now`. */
void window_ask(struct window_limit *l, uint64_t now);

/* The limit that an engine's `from` becomes at `now`; also of another kind. */
void window_limit_after(struct window_limit *to, const struct weir_policy *policy,
                        const struct window_limit *from, weir_ns now);

/* A key at a change, and a reservation, which can be cancelled after it: `wall` of both limits is
   as it was then. Clocks may have been ahead of the change: each window is believed. */
void window_change(const struct window_limit *from, struct window_key *key,
                   const struct window_limit *to, uint64_t now);
void window_change_reservation(const struct window_limit *from, struct window_reservation *r,
                               const struct window_limit *to, uint64_t now);

/* ---- for tests that look for edges -------------------------------------------------------- */

/* Position at t, and the first instant of a window and the first after it. Sliding too. */
model_int window_at(const struct window_limit *l, model_int t);
model_int window_start(const struct window_limit *l, model_int position);
model_int window_end(const struct window_limit *l, model_int position);

/* ns from `now` to the end of a key's newest window, at least 0; ns that half the positions of an
   engine's word last. */
model_int window_lead(const struct window_limit *l, const struct window_key *key, uint64_t now);
model_int window_half_line(const struct window_limit *l);

/* The local day's, week's or month's number at a unix time in seconds, and the first second of one.
 */
model_int window_calendar_number(enum window_zone zone, uint32_t calendar, model_int unix_s);
model_int window_calendar_start(enum window_zone zone, uint32_t calendar, model_int number);

/* ---- settings ----------------------------------------------------------------------------- */

enum window_algorithm {
    WINDOW_FIRST_HIT,
    WINDOW_ALIGNED,
    WINDOW_CALENDAR,
    WINDOW_SLIDING,
    WINDOW_PERMITS
};

/* A policy of round or random numbers. Aligned and sliding ones may be more than a word can keep.
 */
struct weir_policy window_any_policy(enum window_algorithm algorithm, struct test_random *random);

#endif
