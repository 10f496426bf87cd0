/* SPDX-License-Identifier: MIT */
/* Orders of calls that overlapped, looked for with the sequential models. */
#include "linear.h"

#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

void linear_start(struct linear_limit *l, struct linear_states *states,
                  const struct weir_policy *policy, weir_ns first, weir_ns stale_max,
                  model_int wall)
{
    struct linear_state *state = &states->of[0];
    struct model_form form;
    memset(l, 0, sizeof *l);
    memset(states, 0, sizeof *states);
    states->count = 1;
    l->bucket = policy->kind == WEIR_TOKEN_BUCKET;
    if (l->bucket) {
        (void)model_form_init(&form, policy);
        model_line_init(&l->line, &form, (model_int)first - (model_int)stale_max);
    } else {
        window_limit_of_engine(&state->of.window.limit, policy, first, stale_max);
        state->of.window.limit.wall = wall;
    }
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

static bool bucket_explains(const struct model_line *line, struct linear_state *state,
                            const struct linear_op *op)
{
    struct model_key *key = &state->of.bucket.key;
    struct model_reservation *held = &state->of.bucket.held[op->thread];
    switch (op->call) {
    case LINEAR_DECIDE:
    case LINEAR_ALLOW:
        return same_result(op, model_step(line, key, op->n, op->now, 0, true, NULL));
    case LINEAR_RESERVE:
        return same_result(op, model_step(line, key, op->n, op->now, op->max_wait, true, held)) &&
               op->count == held->n && (held->n == 0 || op->instant == held->instant);
    case LINEAR_CANCEL:
        return op->count == model_cancel(line, key, held, op->now);
    case LINEAR_PEEK:
        return same_result(op, model_step(line, key, op->n, op->now, 0, false, NULL));
    case LINEAR_TAKE:
        return op->count == model_take(line, key, op->n, op->now);
    case LINEAR_CHARGE:
        return op->count == model_charge(line, key, op->n, op->now);
    case LINEAR_REFUND:
        return op->count == model_refund(line, key, op->n, op->now);
    case LINEAR_SET:
        model_set_balance(line, key, op->n, op->now);
        return true;
    case LINEAR_FORGET:
        model_forget(key);
        return true;
    default:
        return false;
    }
}

static bool window_explains(struct linear_state *state, const struct linear_op *op)
{
    struct window_limit *l = &state->of.window.limit;
    struct window_key *key = &state->of.window.key;
    struct window_reservation *held = &state->of.window.held[op->thread];
    switch (op->call) {
    case LINEAR_DECIDE:
    case LINEAR_ALLOW:
        return same_result(op, window_step(l, key, op->n, op->now, 0, true, NULL));
    case LINEAR_RESERVE:
        return same_result(op, window_step(l, key, op->n, op->now, op->max_wait, true, held)) &&
               op->count == held->n && (held->n == 0 || op->instant == held->instant);
    case LINEAR_CANCEL:
        return op->count == window_cancel(l, key, held, op->now);
    case LINEAR_PEEK:
        return same_result(op, window_step(l, key, op->n, op->now, 0, false, NULL));
    case LINEAR_TAKE:
        return op->count == window_take(l, key, op->n, op->now);
    case LINEAR_CHARGE:
        return op->count == window_charge(l, key, op->n, op->now);
    case LINEAR_REFUND:
        return op->count == window_refund(l, key, op->n, op->now);
    case LINEAR_SET:
        window_set_balance(l, key, op->n, op->now);
        return true;
    case LINEAR_FORGET:
        window_forget(key);
        return true;
    default:
        return op->count == key->count;
    }
}

/* ---- all of a window ---- */

struct search {
    const struct linear_limit *l;
    const struct linear_op *ops;
    size_t count;
    struct linear_states *ends;
};

static bool same_reservation(const struct window_reservation *a, const struct window_reservation *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a, b, sizeof *a) == 0);
}

/* May call two equal states different, never different ones equal. */
static bool same_state(bool bucket, const struct linear_state *a, const struct linear_state *b)
{
    const struct window_limit *x = &a->of.window.limit;
    const struct window_limit *y = &b->of.window.limit;
    if (bucket)
        return memcmp(&a->of.bucket, &b->of.bucket, sizeof a->of.bucket) == 0;
    if (x->longest != y->longest || x->told != y->told || x->newest != y->newest ||
        x->asked != y->asked || x->guard != y->guard ||
        memcmp(&a->of.window.key, &b->of.window.key, sizeof a->of.window.key) != 0)
        return false;
    for (unsigned i = 0; i < LINEAR_THREADS; i++)
        if (!same_reservation(&a->of.window.held[i], &b->of.window.held[i]))
            return false;
    return true;
}

static void add_end(struct search *s, const struct linear_state *state)
{
    struct linear_states *ends = s->ends;
    for (size_t i = 0; i < ends->count; i++)
        if (same_state(s->l->bucket, &ends->of[i], state))
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
        bool explained = s->l->bucket ? bucket_explains(&s->l->line, &next, &s->ops[i])
                                      : window_explains(&next, &s->ops[i]);
        if (explained)
            search_from(s, done | 1U << i, &next);
    }
}

void linear_go_on(const struct linear_limit *l, struct linear_states *states,
                  const struct linear_op *ops, size_t count)
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
