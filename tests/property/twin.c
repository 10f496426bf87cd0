/* SPDX-License-Identifier: MIT */
/* A subject and its models side by side, compared at every call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include <stdio.h>

typedef unsigned long long ull;

const char *twin_setting_text(const struct weir_policy *policy)
{
    static char text[128];

    (void)snprintf(text, sizeof text, "%llu/%lluns burst %llu tick %llu", (ull)policy->limit,
                   (ull)policy->period, (ull)policy->burst, (ull)policy->tick);
    return text;
}

void twin_open(struct twin *t, enum subject_kind kind, const struct weir_policy *policy,
               weir_ns first)
{
    weir_ns origin = first < TWIN_STALE_MAX ? 0 : first - TWIN_STALE_MAX;
    struct model_form form;
    int rc;

    *t = (struct twin){.policy = *policy};
    assert_int_equal(model_form_init(&form, policy), 0);
    rc = subject_open(&t->subject, kind, policy, origin);
    if (rc != 0)
        fail_msg("%s: refused with %d", twin_setting_text(policy), rc);
    if (kind == SUBJECT_CELL)
        model_line_of_meter(&t->line, &t->subject.meter);
    else
        model_line_init(&t->line, &form, (model_int)first - TWIN_STALE_MAX);
    (void)twin_decide(t, 0, first); /* the first call sets an engine's origin, a peek does not */
}

void twin_close(struct twin *t)
{
    subject_close(&t->subject);
}

static void compare(const struct twin *t, const char *call, uint64_t n, weir_ns now,
                    struct weir_result got, struct weir_result want)
{
    if (got.verdict == want.verdict && got.remaining == want.remaining && got.wait == want.wait &&
        got.reset == want.reset)
        return;
    fail_msg("%s, %s(n %llu, now %llu), %s: verdict %d wait %llu remaining %llu reset %llu; "
             "the model says %d %llu %llu %llu",
             subject_name(&t->subject), call, (ull)n, (ull)now, twin_setting_text(&t->policy),
             (int)got.verdict, (ull)got.wait, (ull)got.remaining, (ull)got.reset, (int)want.verdict,
             (ull)want.wait, (ull)want.remaining, (ull)want.reset);
}

static void compare_count(const struct twin *t, const char *call, uint64_t n, weir_ns now,
                          uint64_t got, uint64_t want)
{
    if (got != want)
        fail_msg("%s, %s(n %llu, now %llu), %s: %llu; the model says %llu",
                 subject_name(&t->subject), call, (ull)n, (ull)now, twin_setting_text(&t->policy),
                 (ull)got, (ull)want);
}

/* Is `missing` (in 1/c tokens) less than one unit? An exact setting has nothing missing. */
static bool below_one_unit(const struct model_form *f, model_int missing)
{
    if (missing <= 0)
        return true;
    return !f->exact && missing < (model_int)f->c && missing * f->token < (model_int)f->c;
}

/* The verdict against the exact line: less than one unit early; one unit and 1 ns late. */
static void compare_exact(const struct twin *t, uint64_t n, weir_ns now, weir_ns max_wait,
                          struct weir_result got)
{
    const struct model_form *f = &t->line.form;
    model_int balance, missing;
    model_uint late_max;
    weir_ns wait;

    if (f->unlimited || n > f->burst || f->a == 0)
        return;
    if ((model_int)(now / f->tick) < t->line.origin)
        return; /* counts as the origin: a unit less to wait may be all of the time until then */
    balance = exact_balance(&t->line, &t->exact, now);
    missing = (model_int)n * (model_int)f->c - balance;
    if (got.verdict == WEIR_ALLOWED && got.wait == 0 && !below_one_unit(f, missing))
        fail_msg("%s, %s, n %llu now %llu: granted a unit or more early", subject_name(&t->subject),
                 twin_setting_text(&t->policy), (ull)n, (ull)now);
    wait = exact_wait(&t->line, &t->exact, n, now);
    if (got.verdict == WEIR_DENIED && wait <= max_wait && max_wait == 0 &&
        !below_one_unit(f, -missing))
        fail_msg("%s, %s, n %llu now %llu: refused a unit or more late", subject_name(&t->subject),
                 twin_setting_text(&t->policy), (ull)n, (ull)now);
    if (wait == UINT64_MAX || got.wait == UINT64_MAX)
        return;
    late_max = f->exact ? 0 : (model_uint)(f->grains / f->units + 2) * f->tick;
    if (got.wait > wait + late_max || got.wait + late_max < wait)
        fail_msg("%s, %s, n %llu now %llu: wait %llu, exactly %llu", subject_name(&t->subject),
                 twin_setting_text(&t->policy), (ull)n, (ull)now, (ull)got.wait, (ull)wait);
}

static void exact_follow(struct twin *t, model_int n, weir_ns now)
{
    if (!t->line.form.unlimited && n != 0)
        exact_add(&t->line, &t->exact, n, now);
}

struct weir_result twin_decide(struct twin *t, uint64_t n, weir_ns now)
{
    struct weir_result want = model_step(&t->line, &t->key, n, now, 0, true, NULL);
    struct weir_result got = subject_decide(&t->subject, n, now);

    compare(t, "decide", n, now, got, want);
    compare_exact(t, n, now, 0, got);
    if (got.verdict == WEIR_ALLOWED)
        exact_follow(t, (model_int)n, now);
    return got;
}

struct weir_result twin_reserve(struct twin *t, uint64_t n, weir_ns now, weir_ns max_wait,
                                struct twin_reservation *out)
{
    struct weir_result want = model_step(&t->line, &t->key, n, now, max_wait, true, &out->model);
    struct weir_result got = subject_reserve(&t->subject, n, now, max_wait, &out->reservation);

    compare(t, "reserve", n, now, got, want);
    compare_exact(t, n, now, max_wait, got);
    compare_count(t, "reserve.n", n, now, out->reservation.n, out->model.n);
    if (out->model.n > 0)
        compare_count(t, "reserve.instant", n, now, out->reservation.instant, out->model.instant);
    if (got.verdict == WEIR_ALLOWED)
        exact_follow(t, (model_int)n, now);
    return got;
}

uint64_t twin_cancel(struct twin *t, struct twin_reservation *r, weir_ns now)
{
    uint64_t n = r->model.n, want = model_cancel(&t->line, &t->key, &r->model, now);
    uint64_t got = subject_cancel(&t->subject, &r->reservation, now);

    compare_count(t, "cancel", n, now, got, want);
    exact_follow(t, -(model_int)got, now);
    return got;
}

struct weir_result twin_peek(struct twin *t, uint64_t n, weir_ns now)
{
    struct weir_result got = subject_peek(&t->subject, n, now);
    struct model_key copy = t->key;
    bool record = t->subject.kind == SUBJECT_CELL; /* a copy of the cell decided */

    compare(t, "peek", n, now, got, model_step(&t->line, &copy, n, now, 0, record, NULL));
    compare_exact(t, n, now, 0, got);
    return got;
}

uint64_t twin_refund(struct twin *t, uint64_t n, weir_ns now)
{
    uint64_t want = model_refund(&t->line, &t->key, n, now);
    uint64_t got = weir_refund(t->subject.engine, t->subject.limit, t->subject.key, n, now);

    compare_count(t, "refund", n, now, got, want);
    exact_follow(t, -(model_int)got, now);
    return got;
}

uint64_t twin_take(struct twin *t, uint64_t max, weir_ns now)
{
    uint64_t want = model_take(&t->line, &t->key, max, now);
    uint64_t got = weir_take(t->subject.engine, t->subject.limit, t->subject.key, max, now);

    compare_count(t, "take", max, now, got, want);
    exact_follow(t, (model_int)got, now);
    return got;
}

uint64_t twin_charge(struct twin *t, uint64_t n, weir_ns now)
{
    uint64_t want = model_charge(&t->line, &t->key, n, now);
    uint64_t got = weir_charge(t->subject.engine, t->subject.limit, t->subject.key, n, now);

    compare_count(t, "charge", n, now, got, want);
    exact_follow(t, (model_int)got, now);
    return got;
}

void twin_forget(struct twin *t)
{
    assert_int_equal(weir_forget(t->subject.engine, t->subject.limit, t->subject.key), 0);
    model_forget(&t->key);
    model_forget(&t->exact);
}

uint64_t twin_tokens(struct twin *t, weir_ns now)
{
    return twin_peek(t, 0, now).remaining;
}

bool twin_can_owe(const struct twin *t, weir_ns now, model_int tokens)
{
    const struct model_form *f = &t->line.form;
    model_int owed = tokens * f->token - model_balance(&t->line, &t->key, now) + f->capacity;

    if (t->subject.kind == SUBJECT_CELL)
        return true;
    return owed < (model_int)1 << 57 &&
           (f->units == 0 || owed * f->grains / f->units < ((model_int)1 << 62) / f->tick);
}

/* A count that is often near what the bucket holds, and sometimes anything. */
static uint64_t random_count(const struct twin *t, struct test_random *random)
{
    uint64_t burst = t->line.form.burst;

    switch (random_below(random, 8)) {
    case 0:
        return 0;
    case 1:
        return burst + random_below(random, 3) - 1;
    case 2:
        return random_magnitude(random, 64);
    case 3:
        return burst == 0 ? 1 : 1 + random_below(random, burst);
    default:
        return 1 + random_below(random, burst / 4 + 1);
    }
}

static void random_reserve(struct twin *t, struct test_random *random, struct twin_reservation *r,
                           weir_ns now)
{
    uint64_t n = random_count(t, random);
    weir_ns token = twin_token_ns(&t->policy), max_wait = random_below(random, 8 * token + 1);

    if (random_below(random, 8) == 0)
        max_wait = random_below(random, 2) == 0 ? 0 : WEIR_FOREVER;
    if (n > t->line.form.burst || twin_can_owe(t, now, (model_int)n))
        (void)twin_reserve(t, n, now, max_wait, r);
}

static void random_engine_call(struct twin *t, struct test_random *random, weir_ns now)
{
    uint64_t n = random_count(t, random);

    switch (random_below(random, 4)) {
    case 0:
        (void)twin_take(t, n, now);
        break;
    case 1:
        (void)twin_refund(t, n, now);
        break;
    case 2:
        n %= t->line.form.burst + 3;
        if (twin_can_owe(t, now, (model_int)n))
            (void)twin_charge(t, n, now);
        break;
    default:
        if (random_below(random, 16) == 0)
            twin_forget(t);
    }
}

void twin_random_call(struct twin *t, struct test_random *random, struct twin_held *held,
                      weir_ns now)
{
    struct twin_reservation *r = &held->reservations[random_below(random, 4)];

    switch (random_below(random, t->subject.kind == SUBJECT_CELL ? 8 : 10)) {
    case 0:
        (void)twin_peek(t, random_count(t, random), now);
        break;
    case 1:
        (void)twin_cancel(t, r, now);
        break;
    case 2:
    case 3:
    case 4:
        random_reserve(t, random, r, now);
        break;
    case 5:
    case 6:
    case 7:
        (void)twin_decide(t, random_count(t, random), now);
        break;
    default:
        random_engine_call(t, random, now);
    }
}

/* ---- settings ----------------------------------------------------------------------------- */

static struct weir_policy refill(uint64_t limit, weir_ns period, weir_ns tick, uint64_t burst)
{
    struct weir_policy policy = weir_refill_bucket(limit, period, tick);

    policy.burst = burst;
    return policy;
}

size_t twin_settings(const struct weir_policy **out)
{
    static struct weir_policy settings[40];
    size_t i = 0;

    settings[i++] = weir_token_bucket(10, WEIR_SECOND, 10);
    settings[i++] = weir_token_bucket(1, WEIR_SECOND, 1);
    settings[i++] = weir_token_bucket(3, WEIR_SECOND, 3);
    settings[i++] = weir_token_bucket(7, WEIR_MINUTE, 20);
    settings[i++] = weir_token_bucket(100, WEIR_MINUTE, 1);
    settings[i++] = weir_token_bucket(1000, WEIR_HOUR, 1000);
    settings[i++] = weir_token_bucket(1000000000, WEIR_SECOND, 1000);
    settings[i++] = weir_token_bucket(1000000001, WEIR_SECOND, 1);
    settings[i++] = weir_token_bucket(999999999, WEIR_SECOND, 7);
    settings[i++] = weir_token_bucket(999999937, WEIR_SECOND, 1000);
    settings[i++] = weir_token_bucket(1500, WEIR_SECOND, 5);
    settings[i++] = weir_token_bucket(997, 1009, 31);
    settings[i++] = weir_token_bucket(9, 1, 12);
    settings[i++] = weir_token_bucket(11, 13, 1048575);
    settings[i++] = weir_token_bucket(1, 365 * WEIR_DAY, 1);
    settings[i++] = weir_token_bucket(1, 365 * WEIR_DAY, 1048575);
    settings[i++] = weir_token_bucket(1, WEIR_HOUR, 4294967295);
    settings[i++] = weir_token_bucket(16, 1048576, 64);
    settings[i++] = weir_token_bucket(1, (weir_ns)1 << 40, 1048575);
    settings[i++] = weir_token_bucket(2, 3, 5);
    settings[i++] = weir_token_bucket(5, WEIR_SECOND, 0);
    settings[i++] = weir_token_bucket(0, WEIR_SECOND, 5);
    settings[i++] = weir_token_bucket(0, WEIR_SECOND, 0);
    settings[i++] = weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, 5);
    settings[i++] = weir_pacer(50, WEIR_SECOND, 0);
    settings[i++] = weir_pacer(7, WEIR_MINUTE, 10);
    settings[i++] = refill(1000, WEIR_SECOND, 100 * WEIR_MILLISECOND, 1000);
    settings[i++] = refill(5, WEIR_SECOND, 100 * WEIR_MILLISECOND, 5);
    settings[i++] = refill(5, WEIR_SECOND, 300 * WEIR_MILLISECOND, 2);
    settings[i++] = refill(1, WEIR_SECOND, 7 * WEIR_SECOND, 3);
    *out = settings;
    return i;
}

struct weir_policy twin_random_setting(struct test_random *random)
{
    for (;;) {
        uint64_t limit = random_magnitude(random, 34), period = random_magnitude(random, 56);
        struct weir_policy policy = weir_token_bucket(limit, period, random_magnitude(random, 21));
        struct model_form form;

        if (random_below(random, 4) == 0)
            policy.tick = random_magnitude(random, 34);
        if (policy.period == 0 || model_form_init(&form, &policy) != 0)
            continue;
        if (policy.tick <= 1 || form.exact)
            return policy;
    }
}

weir_ns twin_token_ns(const struct weir_policy *policy)
{
    weir_ns span;

    if (policy->limit == 0 || policy->limit == WEIR_UNLIMITED)
        return WEIR_SECOND;
    span = policy->period / policy->limit;
    if (span < policy->tick)
        span = policy->tick;
    if (span > 365 * WEIR_DAY)
        return 365 * WEIR_DAY;
    return span == 0 ? 1 : span;
}

weir_ns twin_half_line(const struct model_form *f)
{
    model_int grains =
        f->units == 0 ? MODEL_UNBOUNDED : ((model_int)1 << 57) * f->grains / f->units;
    model_int most = 36500 * (model_int)WEIR_DAY;
    model_int limit = most / (model_int)f->tick;

    return grains > limit ? (weir_ns)most : (weir_ns)(grains * (model_int)f->tick);
}

void twin_for_all(void (*property)(struct twin *t, struct test_random *random), const char *name,
                  weir_ns first)
{
    struct test_random random = random_start(name, 0x77656972);
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    for (size_t i = 0; i < count; i++) {
        for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
            struct twin t;

            twin_open(&t, (enum subject_kind)kind, &settings[i], first);
            property(&t, &random);
            twin_close(&t);
        }
    }
}
