/* SPDX-License-Identifier: MIT */
/* What the parts of a world share: engine_world.c has it, engine_calls.c, engine_several.c and
   engine_limits.c make the calls. */
#ifndef WEIR_FUZZ_ENGINE_INSIDE_H
#define WEIR_FUZZ_ENGINE_INSIDE_H

#include "engine_world.h"

static const struct weir_result invalid = {WEIR_INVALID, WEIR_FOREVER, 0, WEIR_FOREVER};

/* With WEIR_FUZZ_TRACE set each call is printed before it is made. */
void trace(const struct world *world, const char *call, unsigned limit, unsigned key, uint64_t n,
           weir_ns now);
void trace_policy(const struct world *world, const char *call, unsigned limit,
                  const struct weir_policy *policy);

/* ---- what the engine is asked, past weir_stats, which sums up all limits ------------------- */

uint64_t keys_of(const struct world *world, uint64_t *error);
uint64_t overflow_of(const struct world *world, unsigned limit);
const struct weir_settings *settings_of(const struct world *world, unsigned limit);
bool has_place(const struct world *world, unsigned limit, unsigned key);

/* Whether a new key may find no place. */
bool may_be_full(const struct world *world);

/* ---- what all calls have in common -------------------------------------------------------- */

/* Without memory for a limit's first origin a call is INVALID, and has not been. */
bool was_refused(const struct world *world, unsigned limit);

/* The model's first call on a limit, whose settings it returns. */
struct rules *begin(struct world *world, unsigned limit, weir_ns now);

/* The engine has one memory of unix time, each model its own: what a call on a limit has asked, the
   others know too; and a call that has asked. */
void share_clock(struct world *world, unsigned limit);
void ask_clock(struct world *world, unsigned limit, weir_ns now);

/* The end of a call. Who was found idle at `at` begins there, by any clock. */
void after(struct world *world);

void count_verdict(struct limit *l, enum weir_verdict verdict, bool overflow);

/* ---- limits -------------------------------------------------------------------------------- */

/* By unix time. */
bool on_wall(const struct rules *rules);

void forget_keys(struct limit *l);

#endif
