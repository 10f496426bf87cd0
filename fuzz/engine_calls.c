/* SPDX-License-Identifier: MIT */
/* Calls on one key, by an engine and by its models; see engine_world.h. */
#include "engine_inside.h"

#include <errno.h>

/* ---- answers ------------------------------------------------------------------------------ */

/* Of a key without a place, by when_full; `record`: it may be written to the overflow. */
static struct weir_result answer_unplaced(struct world *world, unsigned limit, uint64_t n,
                                          weir_ns now, weir_ns max_wait, bool record,
                                          struct hold *hold)
{
    struct limit *l = &world->limits[limit];
    struct state fresh = {0};
    struct weir_result result;

    if (world->options.when_full == WEIR_FULL_SHARE)
        return rules_step(&l->rules, &l->overflow, n, now, max_wait, record, hold);
    result = rules_step(&l->rules, &fresh, n, now, max_wait, false, hold);
    if (record)
        ask_clock(world, limit, now);
    if (world->options.when_full == WEIR_FULL_DENY && result.verdict == WEIR_ALLOWED && n != 0) {
        result.verdict = WEIR_DENIED;
        result.wait = WEIR_FOREVER;
        result.remaining = 0;
    }
    return result;
}

/* Whether a call was one of a key without a place, by the counter before it. */
static bool overflowed(const struct world *world, unsigned limit, uint64_t before, bool full)
{
    uint64_t more = overflow_of(world, limit) - before;

    check(more <= 1 && (more == 0 || full));
    return more != 0;
}

static bool same_result(const struct weir_result *a, const struct weir_result *b)
{
    return a->verdict == b->verdict && a->wait == b->wait && a->remaining == b->remaining &&
           a->reset == b->reset;
}

void both_peek(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now)
{
    trace(world, "peek", limit, key, n, now);
    struct limit *l = &world->limits[limit];
    struct rules same = l->rules;
    struct state copy = *state_of(world, limit, key);
    bool unplaced = !has_place(world, limit, key) && may_be_full(world);
    struct weir_result got = weir_peek(world->w, (int)limit, world->names[key], n, now), want;

    rules_anchor(&l->rules, now);
    want = rules_step(&l->rules, &copy, n, now, 0, false, NULL);
    if (unplaced && !rules_is_unlimited(&l->rules) && !same_result(&got, &want))
        want = answer_unplaced(world, limit, n, now, 0, false, NULL);
    l->rules = same;
    compare(got, want);
    after(world); /* it may have helped a move */
}

void both_reserve(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now,
                  weir_ns max_wait, struct held *held)
{
    trace(world, "reserve", limit, key, n, now);
    struct limit *l = &world->limits[limit];
    bool full = may_be_full(world), overflow;
    uint64_t overflows = overflow_of(world, limit);
    struct hold *hold = held == NULL ? NULL : &held->model;
    struct weir_result got, want;

    if (held == NULL)
        got = weir_decide(world->w, (int)limit, world->names[key], n, now);
    else
        got = weir_reserve(world->w, (int)limit, world->names[key], n, now, max_wait,
                           &held->reservation);
    overflow = overflowed(world, limit, overflows, full);
    if (hold != NULL)
        *hold = (struct hold){0};
    if (was_refused(world, limit)) {
        compare(got, invalid);
        return;
    }
    begin(world, limit, now);
    if (overflow)
        want = answer_unplaced(world, limit, n, now, max_wait, true, hold);
    else
        want = rules_step(&l->rules, state_of(world, limit, key), n, now, max_wait, true, hold);
    if (want.verdict == WEIR_ALLOWED && !overflow)
        note_granted(world, limit, key, n, now);
    share_clock(world, limit);
    count_verdict(l, want.verdict, overflow);
    compare(got, want);
    after(world);
    if (held == NULL)
        return;
    held->limit = limit;
    held->key = key;
    held->overflow = overflow;
    held->cuts = world->cuts;
    if (overflow && world->options.when_full != WEIR_FULL_SHARE)
        *hold = (struct hold){0};
    compare_count(held->reservation.n, hold_n(&l->rules, hold));
    if (held->reservation.n != 0)
        compare_count(held->reservation.instant, hold_instant(&l->rules, hold));
}

/* Does anything lead from the policy of a reservation to the one in use? */
static bool leads_here(const struct world *world, const struct held *held)
{
    const struct weir_settings *s = settings_of(world, held->limit);

    while (s != NULL && s->serial != held->reservation.serial)
        s = weir_pointer_load_acquire(&s->previous);
    return s != NULL;
}

void both_cancel(struct world *world, struct held *held, weir_ns now)
{
    trace(world, "cancel", held->limit, held->key, held->reservation.n, now);
    note_given_back(world, held->limit, held->key);
    struct limit *l = &world->limits[held->limit];
    uint64_t want, got, n = held->reservation.n;

    if (!l->open) {
        compare_count(weir_cancel(world->w, &held->reservation, now), 0);
        held->reservation.n = 0;
        return;
    }
    if (n != 0 && hold_n(&l->rules, &held->model) != 0 && !leads_here(world, held)) {
        check(held->cuts != world->cuts);
        held->model = (struct hold){0};
    }
    got = weir_cancel(world->w, &held->reservation, now);
    if (n != 0 && was_refused(world, held->limit)) {
        check(got == 0);
        return;
    }
    if (n != 0) {
        begin(world, held->limit, now);
        ask_clock(world, held->limit, now);
    }
    want = rules_cancel(&l->rules,
                        held->overflow ? &l->overflow : state_of(world, held->limit, held->key),
                        &held->model, now);
    compare_count(got, want);
    after(world);
}

void both_take(struct world *world, unsigned limit, unsigned key, uint64_t max, weir_ns now)
{
    trace(world, "take", limit, key, max, now);
    struct limit *l = &world->limits[limit];
    bool full = may_be_full(world), overflow;
    uint64_t overflows = overflow_of(world, limit), want;
    uint64_t got = weir_take(world->w, (int)limit, world->names[key], max, now);

    overflow = overflowed(world, limit, overflows, full);
    if (was_refused(world, limit)) {
        check(got == 0);
        return;
    }
    begin(world, limit, now);
    if (!overflow) {
        want = rules_take(&l->rules, state_of(world, limit, key), max, now);
        note_granted(world, limit, key, want, now);
    } else if (world->options.when_full == WEIR_FULL_SHARE) {
        want = rules_take(&l->rules, &l->overflow, max, now);
    } else {
        struct state fresh = {0};

        want = rules_take(&l->rules, &fresh, max, now);
        if (world->options.when_full == WEIR_FULL_DENY)
            want = 0;
    }
    share_clock(world, limit);
    l->counts.overflow += overflow;
    compare_count(got, want);
    after(world);
}

void both_charge(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now)
{
    trace(world, "charge", limit, key, n, now);
    struct limit *l = &world->limits[limit];
    bool full = may_be_full(world), overflow;
    uint64_t overflows = overflow_of(world, limit), want = 0;
    uint64_t got = weir_charge(world->w, (int)limit, world->names[key], n, now);

    overflow = overflowed(world, limit, overflows, full);
    if (was_refused(world, limit)) {
        check(got == 0);
        return;
    }
    begin(world, limit, now);
    if (!overflow)
        want = rules_charge(&l->rules, state_of(world, limit, key), n, now);
    else if (world->options.when_full == WEIR_FULL_SHARE)
        want = rules_charge(&l->rules, &l->overflow, n, now);
    else
        ask_clock(world, limit, now);
    share_clock(world, limit);
    l->counts.overflow += overflow;
    compare_count(got, want);
    after(world);
}

void both_refund(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now)
{
    trace(world, "refund", limit, key, n, now);
    note_given_back(world, limit, key);
    struct limit *l = &world->limits[limit];
    bool unplaced = !has_place(world, limit, key) && may_be_full(world) &&
                    world->options.when_full == WEIR_FULL_SHARE;
    struct state copy = l->overflow;
    uint64_t got = weir_refund(world->w, (int)limit, world->names[key], n, now), want;

    if (was_refused(world, limit)) {
        check(got == 0);
        return;
    }
    begin(world, limit, now);
    want = rules_refund(&l->rules, state_of(world, limit, key), n, now);
    if (unplaced && got != want) {
        want = rules_refund(&l->rules, &copy, n, now);
        l->overflow = copy;
    }
    share_clock(world, limit);
    compare_count(got, want);
    after(world);
}

void both_set_balance(struct world *world, unsigned limit, unsigned key, uint64_t n, weir_ns now)
{
    trace(world, "set_balance", limit, key, n, now);
    note_given_back(world, limit, key);
    struct limit *l = &world->limits[limit];
    bool full = may_be_full(world), overflow;
    uint64_t overflows = overflow_of(world, limit);
    int got = weir_set_balance(world->w, (int)limit, world->names[key], n, now), want = 0;

    overflow = overflowed(world, limit, overflows, full);
    if (was_refused(world, limit)) {
        check(got == -ENOMEM);
        return;
    }
    begin(world, limit, now);
    if (!overflow)
        rules_set_balance(&l->rules, state_of(world, limit, key), n, now);
    else if (world->options.when_full == WEIR_FULL_SHARE)
        rules_set_balance(&l->rules, &l->overflow, n, now);
    else
        want = -ENOSPC;
    ask_clock(world, limit, now);
    l->counts.overflow += overflow;
    check(got == want);
    after(world);
}

void both_forget(struct world *world, unsigned limit, unsigned key)
{
    trace(world, "forget", limit, key, 0, world->at);
    note_given_back(world, limit, key);
    *state_of(world, limit, key) = (struct state){0};
    check(weir_forget(world->w, (int)limit, world->names[key]) == 0);
}

/* ---- permits ------------------------------------------------------------------------------ */

void both_acquire(struct world *world, unsigned limit, unsigned key, uint64_t n,
                  struct held_permit *permit)
{
    trace(world, "acquire", limit, key, n, 0);
    struct limit *l = &world->limits[limit];
    bool full = may_be_full(world);
    uint64_t overflows = overflow_of(world, limit), in_use = 0, most = 0;
    struct weir_result got, want;

    *permit = (struct held_permit){.limit = limit, .key = key, .kin = l->kin};
    got = weir_acquire(world->w, (int)limit, world->names[key], n, &permit->permit);
    if (!rules_is_permits(&l->rules)) {
        compare(got, invalid);
        check(weir_in_use(world->w, (int)limit, world->names[key], &in_use, &most) == -EINVAL);
        return;
    }
    permit->overflow = overflowed(world, limit, overflows, full);
    if (permit->overflow)
        want = answer_unplaced(world, limit, n, 0, 0, true, NULL);
    else
        want = rules_step(&l->rules, state_of(world, limit, key), n, 0, 0, true, NULL);
    permit->granted = want.verdict == WEIR_ALLOWED;
    permit->nowhere = permit->overflow && world->options.when_full != WEIR_FULL_SHARE;
    count_verdict(l, want.verdict, permit->overflow);
    compare(got, want);
    compare_count(permit->permit.n, want.verdict == WEIR_ALLOWED ? n : 0);
    after(world);
    if (has_place(world, limit, key)) {
        check(weir_in_use(world->w, (int)limit, world->names[key], &in_use, &most) == 0);
        compare_count(in_use, state_of(world, limit, key)->window.count);
        compare_count(most, l->rules.policy.limit);
    }
}

void both_release(struct world *world, struct held_permit *permit)
{
    trace(world, "release", permit->limit, permit->key, permit->permit.n, 0);
    note_given_back(world, permit->limit, permit->key);
    struct limit *l = &world->limits[permit->limit];
    bool own = l->open && l->kin == permit->kin;
    uint64_t n = permit->permit.n;
    int got = weir_release(world->w, &permit->permit);

    if (!permit->granted) {
        check(got == -EINVAL);
    } else if (!own) {
        check(got == -ENOENT);
    } else {
        check(got == 0 && weir_release(world->w, &permit->permit) == -EALREADY);
        if (!permit->nowhere)
            (void)rules_refund(&l->rules,
                               permit->overflow ? &l->overflow
                                                : state_of(world, permit->limit, permit->key),
                               n, 0);
    }
    *permit = (struct held_permit){0};
    after(world);
}
