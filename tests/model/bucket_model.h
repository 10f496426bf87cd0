/* SPDX-License-Identifier: MIT */
/*
 * The token bucket in wide integers, one step at a time: what the library must answer.
 *
 * Vocabulary
 *   grain   the step of time: 1 ns, or the tick of a refill bucket
 *   unit    the step of the time line V; a token is a whole number of units
 *   V(now)  floor(grains since the origin * units / grains), see struct model_form
 *   zero    the zero instant of a key: the V at which its balance is (or will be) zero
 *
 * Equations
 *   balance(now) = min(capacity, V(now) - zero), capacity for a key never used
 *   base(now)    = max(zero, V(now) - capacity)
 *   taking n     : zero becomes base + n * token, once V reaches that
 *
 * Two lines are modelled: the line in units (the library's, where a setting is not kept to the
 * nanosecond) and the exact line in 1/c tokens, for limit/period = a/c in lowest terms.
 *
 * Not modelled: concurrency, the table, settings that change.
 */
#ifndef WEIR_TESTS_BUCKET_MODEL_H
#define WEIR_TESTS_BUCKET_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

__extension__ typedef __int128 model_int;
__extension__ typedef unsigned __int128 model_uint;

#define MODEL_NOW_MAX     ((uint64_t)INT64_MAX)
#define MODEL_LIFE_MIN_NS ((uint64_t)180 * 86400 * 1000000000)
#define MODEL_UNBOUNDED   ((model_int)1 << 100) /* a span or an elapsed time without a bound */

/* A policy made ready. a/c = tokens per grain, units/grains = units per grain, lowest terms. */
struct model_form {
    bool unlimited;
    bool exact; /* a token is c units, a grain a units */
    uint64_t burst;
    uint64_t tick; /* ns per grain, at least 1 */
    model_uint a, c;
    model_int units, grains, token, capacity;
};

/* A form on a time line. `origin` in grains. V counts elapsed grains from 0 to elapsed_max when
   `clamped`, any otherwise. A zero instant is at most span - capacity. */
struct model_line {
    struct model_form form;
    model_int origin;
    bool clamped;
    model_int elapsed_max;
    model_int span;
};

struct model_key {
    bool used;
    model_int zero;
};

struct model_reservation {
    uint64_t n;
    uint64_t instant;
    model_int slot;
};

/* What DESIGN prescribes for a policy: 0, -EINVAL or -ERANGE. */
int model_form_init(struct model_form *f, const struct weir_policy *policy);

/* The line of a cell's meter (units, bounds and origin as the meter has them). */
void model_line_of_meter(struct model_line *line, const struct weir_meter *m);

/* The line of an engine's limit whose first origin is `origin_ns`, without bounds. */
void model_line_init(struct model_line *line, const struct model_form *form, model_int origin_ns);

model_int model_v(const struct model_line *line, uint64_t now);

/* Least span after which V is at least `target`; UINT64_MAX when that is never, or longer. */
uint64_t model_wait(const struct model_line *line, uint64_t now, model_int target);

/* The operations. `r` may be NULL. model_step is a reservation (max_wait 0: a decision) when
   `record` is set and a peek otherwise. */
struct weir_result model_step(const struct model_line *line, struct model_key *key, uint64_t n,
                              uint64_t now, uint64_t max_wait, bool record,
                              struct model_reservation *r);
uint64_t model_cancel(const struct model_line *line, struct model_key *key,
                      struct model_reservation *r, uint64_t now);
uint64_t model_refund(const struct model_line *line, struct model_key *key, uint64_t n,
                      uint64_t now);
uint64_t model_take(const struct model_line *line, struct model_key *key, uint64_t max,
                    uint64_t now);
uint64_t model_charge(const struct model_line *line, struct model_key *key, uint64_t n,
                      uint64_t now);
void model_forget(struct model_key *key);

/* From now on `tokens` are left, at most the burst. */
void model_set_balance(const struct model_line *line, struct model_key *key, uint64_t tokens,
                       uint64_t now);

/* Settings that change at `now`, the new line being `to`: the key as it stood then, in tokens. A
   full one was never used, and from or to unlimited it begins anew. */
void model_change(const struct model_line *from, struct model_key *key, const struct model_line *to,
                  uint64_t now);

/* The same for a reservation, which can be cancelled after that. */
void model_change_reservation(const struct model_line *from, struct model_reservation *r,
                              const struct model_line *to, uint64_t now);

/* Balance in units at `now`: capacity at most, negative in debt. */
model_int model_balance(const struct model_line *line, const struct model_key *key, uint64_t now);

/* ---- the exact line: amounts in 1/c tokens, nothing rounded ------------------------------ */

/* What was taken (n > 0) or given back (n < 0) is told to it; it does not decide. */
void exact_add(const struct model_line *line, struct model_key *key, model_int n, uint64_t now);
model_int exact_balance(const struct model_line *line, const struct model_key *key, uint64_t now);

/* Least span after which the balance is n tokens if nothing else comes in between. */
uint64_t exact_wait(const struct model_line *line, const struct model_key *key, uint64_t n,
                    uint64_t now);

model_uint model_gcd(model_uint a, model_uint b);
model_int model_floor_div(model_int a, model_int b); /* b > 0 */

#endif
