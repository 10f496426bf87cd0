/* SPDX-License-Identifier: MIT */
/*
 * A subject and its models side by side: every call is answered by both and compared, field by
 * field. A difference fails the test with the whole call.
 *
 * The exact line follows what the subject granted and gave back, and must agree with it to less
 * than one unit of a rounded setting (exactly, where the setting is kept to the nanosecond).
 */
#ifndef WEIR_TESTS_TWIN_H
#define WEIR_TESTS_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

#include "bucket_model.h"
#include "random.h"
#include "subject.h"

#define TWIN_STALE_MAX (60 * WEIR_SECOND) /* of an engine opened with defaults */

struct twin {
    struct subject subject;
    struct weir_policy policy;
    struct model_line line;
    struct model_key key, exact;
};

struct twin_reservation {
    struct weir_reservation reservation;
    struct model_reservation model;
};

/* Asserts that the policy is accepted. `first` is the first instant that the limit sees. */
void twin_open(struct twin *t, enum subject_kind kind, const struct weir_policy *policy,
               weir_ns first);
void twin_close(struct twin *t);

struct weir_result twin_decide(struct twin *t, uint64_t n, weir_ns now);
struct weir_result twin_reserve(struct twin *t, uint64_t n, weir_ns now, weir_ns max_wait,
                                struct twin_reservation *out);
uint64_t twin_cancel(struct twin *t, struct twin_reservation *r, weir_ns now);
struct weir_result twin_peek(struct twin *t, uint64_t n, weir_ns now);

/* Of the engine only. */
uint64_t twin_refund(struct twin *t, uint64_t n, weir_ns now);
uint64_t twin_take(struct twin *t, uint64_t max, weir_ns now);
uint64_t twin_charge(struct twin *t, uint64_t n, weir_ns now);
void twin_forget(struct twin *t);

/* Whole tokens at `now`, and whether it is in debt, checked against the model. */
uint64_t twin_tokens(struct twin *t, weir_ns now);

/* May a key owe `tokens` more? An engine's payload counts 2^58 units, half of which V may use; and
   an instant 2^64 ns from an origin, which the model does not know, is as far as FOREVER. */
bool twin_can_owe(const struct twin *t, weir_ns now, model_int tokens);

/* Any of the calls above, chosen at random; `now` as given. Up to 4 reservations are held. */
struct twin_held {
    struct twin_reservation reservations[4];
};
void twin_random_call(struct twin *t, struct test_random *random, struct twin_held *held,
                      weir_ns now);

/* ---- settings ----------------------------------------------------------------------------- */

/* Settings that the properties are tried on: exact and rounded, slow and fast, ticks, zero. */
size_t twin_settings(const struct weir_policy **out);

/* A random setting that is accepted (refusals are left out); ticks only where exact. */
struct weir_policy twin_random_setting(struct test_random *random);

/* "10/1000000000ns burst 5 tick 0", in a static buffer. */
const char *twin_setting_text(const struct weir_policy *policy);

/* Mean ns per token, at least 1 and at most one year; 1 s when nothing accrues. */
weir_ns twin_token_ns(const struct weir_policy *policy);

/* ns that half of an engine's line lasts (2^57 units), at most 100 years: past it a limit gets a
   new origin, of which it has TWIN_ORIGINS_MAX. */
weir_ns twin_half_line(const struct model_form *f);
#define TWIN_ORIGINS_MAX 30

/* Runs `property` on every setting, as a cell and as an engine's key. */
void twin_for_all(void (*property)(struct twin *t, struct test_random *random), const char *name,
                  weir_ns first);

#endif
