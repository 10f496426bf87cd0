/* SPDX-License-Identifier: MIT */
/* Orders of calls that overlapped, looked for with the sequential models. */
#include "linear.h"

#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

void linear_start(struct rules *l, struct linear_states *states, const struct weir_policy *policy,
                  weir_ns first, weir_ns stale_max, model_int wall)
{
    memset(states, 0, sizeof *states);
    states->count = 1;
    rules_of_engine(l, policy, stale_max);
    l->windows.wall = wall;
    rules_anchor(l, first);
    states->of[0].windows = l->windows;
}

/* ---- one call ---- */

static bool same_result(const struct linear_op *op, struct weir_result want)
{
    const struct weir_result *got = &op->result;
    if (op->call == LINEAR_ALLOW)
        return (got->verdict == WEIR_ALLOWED) == (want.verdict == WEIR_ALLOWED);
    return got->verdict == want.verdict && got->wait == want.wait &&
           got->remaining == want.remaining && got->reset == want.reset;
}

static bool reserves(struct rules *rules, struct state *key, struct hold *held,
                     const struct linear_op *op)
{
    struct weir_result want = rules_step(rules, key, op->n, op->now, op->max_wait, true, held);
    uint64_t n = hold_n(rules, held);
    return same_result(op, want) && op->count == n &&
           (n == 0 || op->instant == hold_instant(rules, held));
}

static bool answers(struct rules *rules, struct state *key, struct hold *held,
                    const struct linear_op *op)
{
    switch (op->call) {
    case LINEAR_DECIDE:
    case LINEAR_ALLOW:
        return same_result(op, rules_step(rules, key, op->n, op->now, 0, true, NULL));
    case LINEAR_RESERVE:
        return reserves(rules, key, held, op);
    case LINEAR_CANCEL:
        return op->count == rules_cancel(rules, key, held, op->now);
    case LINEAR_PEEK:
        return same_result(op, rules_step(rules, key, op->n, op->now, 0, false, NULL));
    case LINEAR_TAKE:
        return op->count == rules_take(rules, key, op->n, op->now);
    case LINEAR_CHARGE:
        return op->count == rules_charge(rules, key, op->n, op->now);
    case LINEAR_REFUND:
        return op->count == rules_refund(rules, key, op->n, op->now);
    case LINEAR_SET:
        rules_set_balance(rules, key, op->n, op->now);
        return true;
    case LINEAR_FORGET:
        *key = (struct state){0};
        return true;
    case LINEAR_IN_USE:
        break;
    }
    return op->count == key->window.count;
}

static bool explains(const struct rules *l, struct linear_state *state, const struct linear_op *op)
{
    struct rules rules = *l;
    rules.windows = state->windows;
    bool explained = answers(&rules, &state->key, &state->held[op->thread], op);
    state->windows = rules.windows;
    return explained;
}

/* ---- all of a window ---- */

struct search {
    const struct rules *l;
    const struct linear_op *ops;
    size_t count;
    struct linear_states *ends;
};

static bool same_hold(const struct rules *l, const struct hold *a, const struct hold *b)
{
    return hold_n(l, a) == hold_n(l, b) && (hold_n(l, a) == 0 || memcmp(a, b, sizeof *a) == 0);
}

/* May call two equal states different, never different ones equal. */
static bool same_state(const struct rules *l, const struct linear_state *a,
                       const struct linear_state *b)
{
    const struct window_limit *x = &a->windows;
    const struct window_limit *y = &b->windows;
    if (x->longest != y->longest || x->told != y->told || x->newest != y->newest ||
        x->asked != y->asked || x->guard != y->guard ||
        memcmp(&a->key, &b->key, sizeof a->key) != 0)
        return false;
    for (unsigned i = 0; i < LINEAR_THREADS; i++)
        if (!same_hold(l, &a->held[i], &b->held[i]))
            return false;
    return true;
}

static void add_end(struct search *s, const struct linear_state *state)
{
    struct linear_states *ends = s->ends;
    for (size_t i = 0; i < ends->count; i++)
        if (same_state(s->l, &ends->of[i], state))
            return;
    if (ends->count == LINEAR_STATES)
        ends->many = true;
    else
        ends->of[ends->count++] = *state;
}

/* Whether a call can be the next after those done: none that is left had returned before it. */
static bool can_be_next(const struct search *s, unsigned done, size_t next)
{
    const struct linear_op *op = &s->ops[next];
    if ((done >> next & 1) != 0 || (op->after >= 0 && (done >> op->after & 1) == 0))
        return false;
    for (size_t i = 0; i < s->count; i++)
        if ((done >> i & 1) == 0 && s->ops[i].returned < op->invoked)
            return false;
    return true;
}

/* As deep as a window has calls. */
static void search_from(struct search *s, unsigned done, const struct linear_state *state)
{
    if (done == (1U << s->count) - 1)
        add_end(s, state);
    for (size_t i = 0; i < s->count && !s->ends->many; i++) {
        if (!can_be_next(s, done, i))
            continue;
        struct linear_state next = *state;
        if (explains(s->l, &next, &s->ops[i]))
            search_from(s, done | 1U << i, &next);
    }
}

void linear_go_on(const struct rules *l, struct linear_states *states, const struct linear_op *ops,
                  size_t count)
{
    static struct linear_states ends; /* of one thread */
    struct search s = {l, ops, count, &ends};
    ends.count = 0;
    ends.many = states->many;
    for (size_t i = 0; i < states->count && !ends.many; i++)
        search_from(&s, 0, &states->of[i]);
    *states = ends;
}

bool linear_overlaps(const struct linear_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (ops[i].thread != ops[k].thread && ops[i].invoked < ops[k].returned &&
                ops[k].invoked < ops[i].returned)
                return true;
    return false;
}

void linear_show(const struct linear_op *ops, size_t count)
{
    static const char *const names[] = {"decide", "allow",  "reserve", "cancel", "peek",  "take",
                                        "charge", "refund", "set",     "forget", "in use"};
    for (size_t i = 0; i < count; i++) {
        const struct linear_op *op = &ops[i];
        printf(
            "# [%llu, %llu] thread %u: %s(n %llu, now %llu, max wait %llu): verdict %d wait %llu "
            "remaining %llu reset %llu; count %llu instant %llu\n",
            (ull)op->invoked, (ull)op->returned, op->thread, names[op->call], (ull)op->n,
            (ull)op->now, (ull)op->max_wait, (int)op->result.verdict, (ull)op->result.wait,
            (ull)op->result.remaining, (ull)op->result.reset, (ull)op->count, (ull)op->instant);
    }
}
