/* SPDX-License-Identifier: MIT */
/*
 * Cells: one limiter in 8 bytes of the caller's, decided by the same loop as an engine's slots.
 */
#include "export.h"
#include "policy.h"
#include "result.h"
#include "slot/slot.h"

#include <string.h>

/* The public word is 8 bytes of the same layout; all its accesses go through here. */
static inline struct weir_atomic_u64 *word_of(struct weir_cell *c)
{
    return (struct weir_atomic_u64 *)(void *)&c->word;
}

int weir_meter_init(struct weir_meter *m, const struct weir_policy *policy, weir_ns origin)
{
    struct weir_meter meter;
    if (m == NULL || policy == NULL)
        return -EINVAL;
    if (origin > INT64_MAX)
        return -ERANGE;
    int error = weir_policy_prepare(&meter, policy);
    if (error != 0)
        return error;
    meter.mark = WEIR_CELL_MARK;
    meter.span = WEIR_CELL_SPAN;
    weir_algorithm_start(&meter, origin, WEIR_CELL_LINE_MAX);
    *m = meter;
    return 0;
}

static inline __attribute__((always_inline)) struct weir_result cell_reserve(
    struct weir_cell *c, const struct weir_meter *m, uint64_t n, weir_ns now, weir_ns max_wait,
    struct weir_reservation *out)
{
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (c == NULL || m == NULL)
        return weir_result_invalid();
    if (m->unlimited)
        return weir_result_unlimited(now, out);

    struct weir_instant at;
    if (!weir_algorithm_instant(m, now, &at))
        weir_algorithm_instant_clamped(m, now, &at);
    const struct weir_operation op = {WEIR_ADMIT, n, max_wait, 0, 0};
    struct weir_step step;
    struct weir_reader no_chain = {NULL, 0, false};
    weir_slot_apply(word_of(c), m, &no_chain, &op, &at, &step);
    if (out != NULL)
        weir_result_reservation(&step, m, now, out);
    return weir_result_of(&step, m, &at);
}

struct weir_result weir_cell_decide(struct weir_cell *c, const struct weir_meter *m, uint64_t n,
                                    weir_ns now)
{
    return cell_reserve(c, m, n, now, 0, NULL);
}

struct weir_result weir_cell_reserve(struct weir_cell *c, const struct weir_meter *m, uint64_t n,
                                     weir_ns now, weir_ns max_wait, struct weir_reservation *out)
{
    return cell_reserve(c, m, n, now, max_wait, out);
}

uint64_t weir_cell_cancel(struct weir_cell *c, const struct weir_meter *m,
                          struct weir_reservation *r, weir_ns now)
{
    if (c == NULL || m == NULL || r == NULL || r->origin != m->origin)
        return 0;
    uint64_t n = weir_result_end(r, now);
    if (n == 0)
        return 0;
    struct weir_instant at;
    weir_algorithm_instant_clamped(m, now, &at);
    const struct weir_operation op = {WEIR_CANCEL, n, 0, r->slot, r->origin};
    struct weir_step step;
    struct weir_reader no_chain = {NULL, 0, false};
    weir_slot_apply(word_of(c), m, &no_chain, &op, &at, &step);
    return step.count;
}
