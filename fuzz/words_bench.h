/* SPDX-License-Identifier: MIT */
/* One word of an algorithm, and what its payload is to the models. */
#ifndef WEIR_FUZZ_WORDS_BENCH_H
#define WEIR_FUZZ_WORDS_BENCH_H

#include "limiter.h"
#include "rules.h"

/* Zones are modelled by the rules of some years: from here to 2180. */
#define UNIX_2008 (1199145600 * WEIR_SECOND)

/* One word under one policy. */
struct bench {
    bool cell;
    struct weir_meter m;
    struct rules rules;
    uint64_t payload;
    weir_ns now;
    struct weir_instant at;
    bool told; /* `now` is on the meter's line */
    struct weir_operation held;
    struct hold hold; /* the model's, of the same grant */
};

/* Where `now` is on the line of the meter. */
void set_now(struct bench *b, weir_ns now);

/* The model's state of a payload, and back. */
struct state state_of(const struct bench *b, uint64_t payload);
uint64_t payload_of(const struct bench *b, const struct state *state);

/* Whether the model knows of the payload, and of those that follow it: it has no ends. */
bool occurs(const struct bench *b);

/* What a count of a window can be. */
uint64_t mask_of(const struct weir_meter *m);

#endif
