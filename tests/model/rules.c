/* SPDX-License-Identifier: MIT */
/* Both models as one; see rules.h. */
#include "rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool rules_is_bucket(const struct rules *rules)
{
    return rules->policy.kind == WEIR_TOKEN_BUCKET;
}

bool rules_is_permits(const struct rules *rules)
{
    return rules->policy.kind == WEIR_CONCURRENCY;
}

bool rules_is_unlimited(const struct rules *rules)
{
    return rules->policy.limit == WEIR_UNLIMITED && !rules_is_permits(rules);
}

bool rules_is_timeless(const struct rules *rules)
{
    return rules_is_unlimited(rules) || rules_is_permits(rules) ||
           (rules_is_bucket(rules) && rules->line.form.units == 0) ||
           (rules->policy.kind == WEIR_FIXED_WINDOW && rules->policy.form == WEIR_FORM_CALENDAR);
}

struct weir_result rules_step(struct rules *rules, struct state *state, uint64_t n, weir_ns now,
                              weir_ns max_wait, bool record, struct hold *hold)
{
    if (rules_is_bucket(rules))
        return model_step(&rules->line, &state->bucket, n, now, max_wait, record,
                          hold == NULL ? NULL : &hold->bucket);
    return window_step(&rules->windows, &state->window, n, now, max_wait, record,
                       hold == NULL ? NULL : &hold->window);
}

struct weir_result rules_ask(const struct rules *rules, const struct state *state, uint64_t n,
                             weir_ns now, weir_ns max_wait)
{
    struct rules same = *rules;
    struct state copy = *state;

    return rules_step(&same, &copy, n, now, max_wait, false, NULL);
}

uint64_t rules_cancel(struct rules *rules, struct state *state, struct hold *hold, weir_ns now)
{
    if (rules_is_bucket(rules))
        return model_cancel(&rules->line, &state->bucket, &hold->bucket, now);
    return window_cancel(&rules->windows, &state->window, &hold->window, now);
}

uint64_t rules_refund(struct rules *rules, struct state *state, uint64_t n, weir_ns now)
{
    return rules_is_bucket(rules) ? model_refund(&rules->line, &state->bucket, n, now)
                                  : window_refund(&rules->windows, &state->window, n, now);
}

uint64_t rules_take(struct rules *rules, struct state *state, uint64_t max, weir_ns now)
{
    return rules_is_bucket(rules) ? model_take(&rules->line, &state->bucket, max, now)
                                  : window_take(&rules->windows, &state->window, max, now);
}

uint64_t rules_charge(struct rules *rules, struct state *state, uint64_t n, weir_ns now)
{
    return rules_is_bucket(rules) ? model_charge(&rules->line, &state->bucket, n, now)
                                  : window_charge(&rules->windows, &state->window, n, now);
}

void rules_set_balance(struct rules *rules, struct state *state, uint64_t tokens, weir_ns now)
{
    if (rules_is_bucket(rules))
        model_set_balance(&rules->line, &state->bucket, tokens, now);
    else
        window_set_balance(&rules->windows, &state->window, tokens, now);
}

uint64_t hold_n(const struct rules *rules, const struct hold *hold)
{
    return rules_is_bucket(rules) ? hold->bucket.n : hold->window.n;
}

weir_ns hold_instant(const struct rules *rules, const struct hold *hold)
{
    return rules_is_bucket(rules) ? hold->bucket.instant : hold->window.instant;
}

bool rules_same_policy(const struct weir_policy *a, const struct weir_policy *b)
{
    if (a->limit == WEIR_UNLIMITED && b->limit == WEIR_UNLIMITED)
        return a->kind == b->kind;
    return a->kind == b->kind && a->form == b->form && a->limit == b->limit &&
           a->period == b->period && a->burst == b->burst && a->tick == b->tick &&
           a->utc_offset_s == b->utc_offset_s && a->calendar == b->calendar &&
           strcmp(a->zone, b->zone) == 0;
}

int rules_error(const struct weir_policy *policy)
{
    struct model_form form;

    if (policy->kind == WEIR_TOKEN_BUCKET)
        return model_form_init(&form, policy);
    return window_is_kept(policy) ? 0 : -ERANGE;
}

void rules_anchor(struct rules *rules, weir_ns now)
{
    if (rules->anchored)
        return;
    rules->anchored = true;
    if (rules_is_bucket(rules))
        model_line_init(&rules->line, &rules->line.form, (model_int)now - rules->windows.stale_max);
    else
        rules->windows.origin =
            (model_int)now - rules->windows.stale_max - 2 * rules->windows.period;
}

static void rules_form(struct rules *rules, const struct weir_policy *policy)
{
    struct model_form form;

    rules->policy = *policy;
    if (policy->kind == WEIR_TOKEN_BUCKET) {
        if (model_form_init(&form, policy) != 0)
            abort();
        model_line_init(&rules->line, &form, 0);
    }
    rules->anchored = rules_is_timeless(rules);
}

void rules_of_engine(struct rules *rules, const struct weir_policy *policy, weir_ns stale_max)
{
    rules_form(rules, policy);
    window_limit_of_engine(&rules->windows, policy, 0, stale_max);
}

void rules_of_meter(struct rules *rules, const struct weir_meter *m)
{
    *rules = (struct rules){.policy = m->policy, .anchored = true};
    if (rules_is_bucket(rules))
        model_line_of_meter(&rules->line, m);
    else
        window_limit_of_meter(&rules->windows, m);
}

bool rules_follow(const struct rules *from, const struct weir_policy *policy)
{
    if (from->policy.kind != policy->kind)
        return false;
    return rules_is_permits(from) || (!rules_is_unlimited(from) && policy->limit != WEIR_UNLIMITED);
}

void rules_after(struct rules *to, const struct weir_policy *policy, const struct rules *from,
                 weir_ns now)
{
    window_limit_after(&to->windows, policy, &from->windows, now);
    rules_form(to, policy);
    if (!rules_follow(from, policy) || !from->anchored || to->anchored)
        return;
    rules_anchor(to, now);
}

void state_change(const struct rules *from, struct state *state, const struct rules *to,
                  weir_ns now)
{
    if (!rules_follow(from, &to->policy))
        *state = (struct state){0};
    else if (rules_is_bucket(from))
        model_change(&from->line, &state->bucket, &to->line, now);
    else
        window_change(&from->windows, &state->window, &to->windows, now);
}

bool hold_is_paid_early(const struct rules *rules, const struct hold *hold, weir_ns now)
{
    return rules_is_bucket(rules) && hold_instant(rules, hold) >= now &&
           hold->bucket.slot < model_v(&rules->line, now);
}

void hold_change(const struct rules *from, struct hold *hold, const struct rules *to, weir_ns now)
{
    if (!rules_follow(from, &to->policy) || hold_instant(from, hold) < now)
        *hold = (struct hold){0};
    else if (rules_is_bucket(from))
        model_change_reservation(&from->line, &hold->bucket, &to->line, now);
    else
        window_change_reservation(&from->windows, &hold->window, &to->windows, now);
}

bool rules_line_holds(const struct model_line *line, model_int units, bool cell)
{
    const struct model_form *f = &line->form;
    model_int owed = units + f->capacity;
    model_int most = cell ? (model_int)1 << 60 : (model_int)1 << 56;

    return owed < most && (f->units == 0 ||
                           owed * f->grains / f->units < ((model_int)1 << 61) / (model_int)f->tick);
}
