/* SPDX-License-Identifier: MIT */
/* The token bucket in wide integers; see bucket_model.h for the equations. */
#include "bucket_model.h"

#include <errno.h>
#include <stddef.h>

model_uint model_gcd(model_uint a, model_uint b)
{
    while (b != 0) {
        model_uint rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

model_int model_floor_div(model_int a, model_int b)
{
    model_int q = a / b;

    return a % b < 0 ? q - 1 : q;
}

static uint64_t clamp_now(uint64_t now)
{
    return now < MODEL_NOW_MAX ? now : MODEL_NOW_MAX;
}

/* ---- settings ---------------------------------------------------------------------------- */

/* 2^57 units, half of what a word's payload counts. */
#define HALF_SPAN ((model_uint)1 << 57)

/* 180 days in whole grains. */
static model_uint life_min(const struct model_form *f)
{
    return ((model_uint)MODEL_LIFE_MIN_NS + f->tick - 1) / f->tick;
}

static bool form_exact(struct model_form *f)
{
    model_uint room = ((model_uint)1 << 55) / ((model_uint)f->burst + 1);

    if (f->c > room || HALF_SPAN / f->a < life_min(f))
        return false;
    f->exact = true;
    f->token = (model_int)f->c;
    f->units = (model_int)f->a;
    f->grains = 1;
    return true;
}

/*
 * A token of 2^shift units, for the largest shift for which burst + 1 tokens are at most 2^55
 * units and half the span lasts 180 days, and 2c grains. Divisors of 2^63 or more are not kept.
 */
static bool form_rounded(struct model_form *f)
{
    model_uint lasts = 2 * f->c > life_min(f) ? 2 * f->c : life_min(f);
    model_uint most = HALF_SPAN * f->c / lasts / f->a;
    model_uint room = ((model_uint)1 << 55) / ((model_uint)f->burst + 1);

    for (int shift = 55; shift >= 0; shift--) {
        model_uint token = (model_uint)1 << shift, common;

        if (token > room || token > most)
            continue;
        common = model_gcd(f->a * token, f->c);
        f->token = (model_int)token;
        f->units = (model_int)(f->a * token / common);
        f->grains = (model_int)(f->c / common);
        return f->grains <= INT64_MAX;
    }
    return false;
}

static bool form_zero_rate(struct model_form *f)
{
    f->exact = true;
    f->token = 1;
    f->units = 0;
    f->grains = 1;
    return f->burst < (uint64_t)1 << 55;
}

int model_form_init(struct model_form *f, const struct weir_policy *policy)
{
    model_uint tokens, common;
    bool kept;

    *f = (struct model_form){.tick = policy->tick == 0 ? 1 : policy->tick};
    if (policy->kind != WEIR_TOKEN_BUCKET || policy->form > WEIR_FORM_PACER)
        return -EINVAL;
    if (policy->reserved[0] != 0 || policy->reserved[1] != 0 || policy->reserved[2] != 0 ||
        policy->reserved[3] != 0)
        return -EINVAL;
    if (policy->limit == WEIR_UNLIMITED) {
        f->unlimited = true;
        f->token = f->grains = 1;
        return 0;
    }
    if (policy->period == 0)
        return -EINVAL;
    f->burst = policy->burst;
    tokens = (model_uint)policy->limit * f->tick;
    common = model_gcd(tokens, policy->period);
    f->a = tokens / common;
    f->c = policy->period / common;
    if (f->a > UINT64_MAX || f->tick > INT64_MAX)
        return -ERANGE;
    kept = f->a == 0 ? form_zero_rate(f) : form_exact(f) || form_rounded(f);
    f->capacity = kept ? (model_int)f->burst * f->token : 0;
    return kept ? 0 : -ERANGE;
}

void model_line_of_meter(struct model_line *line, const struct weir_meter *m)
{
    *line = (struct model_line){
        .form = {.unlimited = m->unlimited != 0,
                 .exact = m->grains == 1,
                 .burst = m->burst,
                 .tick = m->tick == 0 ? 1 : m->tick,
                 .units = m->units,
                 .grains = m->grains,
                 .token = m->token,
                 .capacity = m->capacity},
        .origin = m->origin,
        .clamped = true,
        .elapsed_max = m->elapsed_max,
        .span = m->span,
    };
    if (!line->form.unlimited) {
        struct model_form prescribed;

        (void)model_form_init(&prescribed, &m->policy);
        line->form.a = prescribed.a;
        line->form.c = prescribed.c;
    }
}

void model_line_init(struct model_line *line, const struct model_form *form, model_int origin_ns)
{
    *line = (struct model_line){
        .form = *form,
        .origin = model_floor_div(origin_ns, (model_int)form->tick),
        .elapsed_max = MODEL_UNBOUNDED,
        .span = MODEL_UNBOUNDED,
    };
}

/* ---- the time line ------------------------------------------------------------------------ */

static model_int elapsed(const struct model_line *line, uint64_t now)
{
    model_int e = (model_int)(clamp_now(now) / line->form.tick) - line->origin;

    if (line->clamped && e < 0)
        e = 0;
    if (line->clamped && e > line->elapsed_max)
        e = line->elapsed_max;
    return e;
}

model_int model_v(const struct model_line *line, uint64_t now)
{
    return model_floor_div(elapsed(line, now) * line->form.units, line->form.grains);
}

/* Span from `now` to the start of grain `grain`, UINT64_MAX when it is longer. */
static uint64_t span_to_grain(const struct model_line *line, uint64_t now, model_int grain)
{
    model_int last = ((model_int)1 << 66) / (model_int)line->form.tick;
    model_int span;

    if (grain > last)
        return UINT64_MAX;
    span = grain * (model_int)line->form.tick - (model_int)clamp_now(now);
    if (span < 0)
        return 0;
    return span > (model_int)UINT64_MAX ? UINT64_MAX : (uint64_t)span;
}

/* Least e with floor(e * units / grains) >= target. target * grains may need all 128 bits. */
static model_int grains_until(model_int target, model_int units, model_int grains)
{
    model_uint product, least;

    if (target <= 0)
        return -model_floor_div(-target * grains, units);
    product = (model_uint)target * (model_uint)grains;
    least = (product - 1) / (model_uint)units + 1;
    return least > (model_uint)MODEL_UNBOUNDED ? MODEL_UNBOUNDED : (model_int)least;
}

uint64_t model_wait(const struct model_line *line, uint64_t now, model_int target)
{
    model_int e;

    if (model_v(line, now) >= target)
        return 0;
    if (line->form.units == 0)
        return UINT64_MAX;
    e = grains_until(target, line->form.units, line->form.grains);
    return span_to_grain(line, now, line->origin + e);
}

/* ---- operations --------------------------------------------------------------------------- */

static model_int base_of(const struct model_line *line, const struct model_key *key, model_int v)
{
    model_int full = v - line->form.capacity;

    return key->used && key->zero > full ? key->zero : full;
}

model_int model_balance(const struct model_line *line, const struct model_key *key, uint64_t now)
{
    model_int v = model_v(line, now);

    return v - base_of(line, key, v);
}

static struct weir_result unlimited_result(void)
{
    return (struct weir_result){.verdict = WEIR_ALLOWED, .remaining = UINT64_MAX};
}

static void describe(const struct model_line *line, struct weir_result *result, model_int zero,
                     uint64_t now)
{
    model_int v = model_v(line, now);

    result->remaining = zero < v ? (uint64_t)((v - zero) / line->form.token) : 0;
    result->reset = model_wait(line, now, zero + line->form.capacity);
}

struct weir_result model_step(const struct model_line *line, struct model_key *key, uint64_t n,
                              uint64_t now, uint64_t max_wait, bool record,
                              struct model_reservation *r)
{
    const struct model_form *f = &line->form;
    model_int v = model_v(line, now), base = base_of(line, key, v);
    model_int next = base + (model_int)n * f->token;
    struct weir_result result = {.verdict = WEIR_NEVER, .wait = WEIR_FOREVER};
    uint64_t instant;

    if (r != NULL)
        *r = (struct model_reservation){0};
    if (f->unlimited)
        return unlimited_result();
    describe(line, &result, base, now);
    if (n > f->burst)
        return result;
    result.wait = model_wait(line, now, next);
    if (result.wait > max_wait || result.wait == WEIR_FOREVER ||
        (n > 0 && next + f->capacity > line->span)) {
        result.verdict = WEIR_DENIED;
        return result;
    }
    result.verdict = WEIR_ALLOWED;
    if (n == 0 || !record)
        return result;
    key->used = true;
    key->zero = next;
    describe(line, &result, next, now);
    instant = clamp_now(now) + result.wait;
    if (r != NULL)
        *r = (struct model_reservation){
            .n = n,
            .instant = instant < result.wait ? UINT64_MAX : instant,
            .slot = next > v ? next : v,
        };
    return result;
}

/* Gives back at most n tokens, to a full bucket at most; a part of a token missing counts. */
static uint64_t give_back(const struct model_line *line, struct model_key *key, uint64_t n,
                          uint64_t now)
{
    model_int token = line->form.token;
    model_int full = model_v(line, now) - line->form.capacity;
    model_int missing = -model_floor_div(full - key->zero, token);
    model_int given = (model_int)n < missing ? (model_int)n : missing;

    if (given <= 0)
        return 0;
    key->zero -= given * token;
    if (key->zero < full)
        key->zero = full;
    return (uint64_t)given;
}

uint64_t model_cancel(const struct model_line *line, struct model_key *key,
                      struct model_reservation *r, uint64_t now)
{
    model_int later, n = (model_int)r->n;

    r->n = 0;
    if (n == 0 || !key->used || clamp_now(now) > r->instant)
        return 0;
    later = key->zero - r->slot;
    if (later > 0)
        n += model_floor_div(-later, line->form.token);
    return n > 0 ? give_back(line, key, (uint64_t)n, now) : 0;
}

uint64_t model_refund(const struct model_line *line, struct model_key *key, uint64_t n,
                      uint64_t now)
{
    return line->form.unlimited || !key->used ? 0 : give_back(line, key, n, now);
}

uint64_t model_take(const struct model_line *line, struct model_key *key, uint64_t max,
                    uint64_t now)
{
    model_int balance = model_balance(line, key, now);
    model_int whole = balance > 0 ? balance / line->form.token : 0;
    uint64_t n;

    if (line->form.unlimited)
        return max;
    n = whole < (model_int)max ? (uint64_t)whole : max;
    if (n > 0)
        (void)model_step(line, key, n, now, 0, true, NULL);
    return n;
}

uint64_t model_charge(const struct model_line *line, struct model_key *key, uint64_t n,
                      uint64_t now)
{
    const struct model_form *f = &line->form;
    model_int base = base_of(line, key, model_v(line, now));
    model_int room = (line->span - f->capacity - base) / f->token;
    model_int charged = (model_int)n < room ? (model_int)n : room;

    if (f->unlimited)
        return n;
    if (charged <= 0)
        return 0;
    key->used = true;
    key->zero = base + charged * f->token;
    return (uint64_t)charged;
}

void model_forget(struct model_key *key)
{
    *key = (struct model_key){0};
}

void model_set_balance(const struct model_line *line, struct model_key *key, uint64_t tokens,
                       uint64_t now)
{
    uint64_t left = tokens < line->form.burst ? tokens : line->form.burst;

    if (line->form.unlimited)
        return;
    key->used = true;
    key->zero = model_v(line, now) - (model_int)left * line->form.token;
}

/* A zero instant under other settings: the same balance at `now`, in whole units, rounded down. */
static model_int change_zero(const struct model_line *from, model_int zero,
                             const struct model_line *to, uint64_t now)
{
    model_int balance = model_v(from, now) - zero;

    return model_v(to, now) - model_floor_div(balance * to->form.token, from->form.token);
}

void model_change(const struct model_line *from, struct model_key *key, const struct model_line *to,
                  uint64_t now)
{
    if (from->form.unlimited || to->form.unlimited || !key->used ||
        model_balance(from, key, now) >= from->form.capacity) {
        model_forget(key);
        return;
    }
    key->zero = change_zero(from, key->zero, to, now);
    if (model_balance(to, key, now) >= to->form.capacity)
        model_forget(key);
}

void model_change_reservation(const struct model_line *from, struct model_reservation *r,
                              const struct model_line *to, uint64_t now)
{
    if (from->form.unlimited || to->form.unlimited)
        r->n = 0;
    else
        r->slot = change_zero(from, r->slot, to, now);
}

/* ---- the exact line ----------------------------------------------------------------------- */

static model_int exact_base(const struct model_line *line, const struct model_key *key,
                            uint64_t now)
{
    model_int v = elapsed(line, now) * (model_int)line->form.a;
    model_int full = v - (model_int)line->form.burst * (model_int)line->form.c;

    return key->used && key->zero > full ? key->zero : full;
}

void exact_add(const struct model_line *line, struct model_key *key, model_int n, uint64_t now)
{
    key->zero = exact_base(line, key, now) + n * (model_int)line->form.c;
    key->used = true;
    key->zero = exact_base(line, key, now);
}

model_int exact_balance(const struct model_line *line, const struct model_key *key, uint64_t now)
{
    return elapsed(line, now) * (model_int)line->form.a - exact_base(line, key, now);
}

uint64_t exact_wait(const struct model_line *line, const struct model_key *key, uint64_t n,
                    uint64_t now)
{
    model_int c = (model_int)line->form.c, a = (model_int)line->form.a;
    model_int missing = (model_int)n * c - exact_balance(line, key, now);

    if (missing <= 0)
        return 0;
    if (a == 0)
        return UINT64_MAX;
    return span_to_grain(line, now, line->origin + elapsed(line, now) + (missing - 1) / a + 1);
}
