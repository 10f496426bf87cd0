/* SPDX-License-Identifier: MIT */
/*
 * Cells: one limiter in 8 bytes of the caller's, decided by the same loop as an engine's slots.
 */
#include "export.h"
#include "limiter.h"
#include "policy.h"
#include "result.h"
#include "slot/slot.h"

#include <errno.h>
#include <string.h>

/* The public word is 8 bytes of the same layout; all its accesses go through here. */
static inline struct weir_atomic_u64 *word_of(struct weir_cell *c)
{
    return (struct weir_atomic_u64 *)(void *)&c->word;
}

/* A cell's times reach 30 years. */
#define CELL_LASTS (30 * 365 * WEIR_DAY + 8 * WEIR_DAY)

static const struct weir_room cell_room = {
    .payload_bits = 63,
    .lasts = CELL_LASTS,
    .lasts_aligned = CELL_LASTS,
    .lasts_sliding = 2 * CELL_LASTS, /* of which the first half is used */
};

/* Without a chain of settings there is nothing to look up: an operation is always applied. */
static inline __attribute__((always_inline)) void apply(struct weir_cell *c,
                                                        const struct weir_meter *m,
                                                        const struct weir_operation *op,
                                                        const struct weir_instant *at,
                                                        struct weir_step *step)
{
    struct weir_reader no_chain = {NULL, 0, false, false};
    enum weir_slot what = weir_slot_apply(word_of(c), m, &no_chain, op, at, step);
    weir_assert(what == WEIR_SLOT_DONE);
    (void)what;
}

/* Where `now` is; nothing is known of other clocks. */
static inline void cell_instant(const struct weir_meter *m, weir_ns now, struct weir_instant *at)
{
    at->reach = NULL;
    at->newest = NULL;
    at->guard = 0;
    at->recent = true;
    at->into_grain = at->left = 0;
    if (!weir_algorithm_instant(m, now, at))
        weir_algorithm_instant_clamped(m, now, at);
}

int weir_meter_init(struct weir_meter *m, const struct weir_policy *policy, weir_ns origin)
{
    struct weir_meter meter;
    if (m == NULL || policy == NULL)
        return -EINVAL;
    if (origin > INT64_MAX)
        return -ERANGE;
    int error = weir_policy_prepare(&meter, policy, &cell_room);
    if (error != 0)
        return error;
    meter.mark = WEIR_CELL_MARK;
    meter.serial = weir_serial_next();
    if (!meter.unlimited)
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
    cell_instant(m, now, &at);
    const struct weir_operation op = {.verb = WEIR_ADMIT, .n = n, .max_wait = max_wait};
    struct weir_step step;
    apply(c, m, &op, &at, &step);
    if (out != NULL) {
        weir_result_reservation(&step, m, now, out);
        out->serial = m->serial;
    }
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
    if (c == NULL || m == NULL || r == NULL || r->serial != m->serial)
        return 0;
    uint64_t n = weir_result_end(r, now);
    if (n == 0)
        return 0;
    struct weir_instant at;
    cell_instant(m, now, &at);
    const struct weir_operation op = {
        .verb = WEIR_CANCEL, .n = n, .slot = r->slot, .before = r->before, .origin = r->origin};
    struct weir_step step;
    apply(c, m, &op, &at, &step);
    return step.count;
}

int weir_cell_reprice(struct weir_cell *c, const struct weir_meter *from,
                      const struct weir_meter *to, weir_ns now)
{
    if (c == NULL || from == NULL || to == NULL)
        return -EINVAL;
    uint64_t word = weir_load_relaxed(word_of(c));
    uint64_t payload = weir_modulo_sub(word, from->mark);
    struct weir_instant at_from;
    struct weir_instant at_to;
    bool follows = from->kind == to->kind && !from->unlimited && !to->unlimited;
    if (weir_policy_is_equal(&from->policy, &to->policy) && from->origin == to->origin)
        return 0;
    if (word == 0 || payload > from->span || payload == 0 || !follows) {
        weir_store_relaxed(word_of(c), 0);
        return 0;
    }
    cell_instant(from, now, &at_from);
    cell_instant(to, now, &at_to);
    at_from.guard = INT64_MAX; /* clocks may have been ahead of the change */
    payload = weir_algorithm_reprice(from, payload, &at_from, to, &at_to, false);
    weir_store_relaxed(word_of(c), payload != 0 ? to->mark | payload : 0);
    return 0;
}
