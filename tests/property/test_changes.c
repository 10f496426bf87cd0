/* SPDX-License-Identifier: MIT */
/*
 * K16: settings that change while they are in use, by the sequential models.
 *
 * Random calls with changes of settings between them, each answered by the library and by the
 * models in bucket_model.h and window_model.h: every field of every answer is equal, and a call
 * that was refused changed nothing, to the bit. A million calls over all kinds (WEIR_TEST_SCALE
 * percent of it), on keys of engines and on cells.
 *
 *   - A limit is changed hundreds of times: generations wrap, and sweeps run. Of its keys some are
 *     left alone for many changes.
 *   - Changes are of one field, of all, to nothing else, of the form, of the kind and back, to and
 *     from unlimited; also such that cannot be kept, which change nothing.
 *   - Between them time creeps, comes to edges, jumps by years, is stale, and is set back; unix
 *     time is set; limits are added and removed, and the table is trimmed.
 *   - A clock that is behind a change by less than stale_max is granted nothing that one at the
 *     change would not be.
 *
 * The model changes all keys at the change; the library each one when it is next touched.
 */
#include "support.h"

#include "rules.h"
#include "twin.h"

#include <errno.h>
#include <stdio.h>

#define CALLS     1000000
#define ROUND     3000 /* calls on one engine */
#define KEYS      7
#define HELD      3
#define CROWD     3000
#define STALE_MAX (60 * WEIR_SECOND)
#define YEAR      (365 * WEIR_DAY)
#define SEC       WEIR_SECOND
#define UNIX_2024 ((weir_ns)1704067200 * WEIR_SECOND)
#define ROOM      (40 * YEAR) /* of one world's time */
#define LEAD_MAX  (40 * (model_int)WEIR_DAY)
#define AHEAD_MAX (4 * (model_int)YEAR) /* in a cell */

typedef unsigned long long ull;

enum algorithm { FIRST_HIT, ALIGNED, CALENDAR, SLIDING, PERMITS, BUCKET, FIXED, ANY, ALGORITHMS };

static const char *const names[ALGORITHMS] = {"first hit", "aligned", "calendar", "sliding",
                                              "permits",   "bucket",  "forms",    "kinds"};

/* ---- worlds ------------------------------------------------------------------------------- */

struct held {
    struct weir_reservation reservation;
    struct hold model;
    unsigned changes, cuts; /* of the limit, when it was made */
};

struct held_permit {
    struct weir_permit permit;
    uint64_t n;
    uint64_t kin; /* of the limit, when it was taken */
};

struct one {
    weir_key key;
    struct state state;
    struct held held[HELD];
    struct held_permit permit;
};

/* One limit, its keys and its clock. */
struct world {
    uint64_t seed;
    enum algorithm home;
    struct weir *engine; /* NULL: a cell */
    int limit;
    struct weir_cell cell;
    struct weir_meter meter;
    struct rules rules;
    struct weir_policy before; /* the last change */
    model_int wall;            /* what the wall clock adds to `now` */
    weir_ns first;             /* no `now` is before it */
    weir_ns at;                /* the newest `now` */
    weir_ns settled;           /* no stale one before it */
    weir_ns changed;           /* the instant of the last change */
    weir_ns last;
    weir_ns trimmed; /* when it was */
    weir_ns stepped; /* when unix time was set */
    uint64_t calls, kin;
    unsigned changes, published; /* those that were tried, and those that were made */
    unsigned cuts;               /* calls that may have swept, and kinds that began anew */
    unsigned jumps, others;
    struct one *ones;
    size_t count, resting;
};

static uint64_t calls_made, changes_made, holds_followed, holds_lost;

static weir_ns wall_of(void *context, weir_ns now)
{
    const struct world *world = context;

    return (weir_ns)((model_int)now + world->wall);
}

static bool is_cell(const struct world *world)
{
    return world->engine == NULL;
}

static bool is_on_wall(const struct world *world)
{
    return !rules_is_bucket(&world->rules) && window_on_wall(&world->rules.windows);
}

static const char *policy_text(const struct weir_policy *policy)
{
    static char text[200];
    int length = weir_policy_format(policy, text, sizeof text);

    return length < 0 ? "?" : text;
}

static const char *state_text(const struct world *world, const struct state *state)
{
    static char text[200];

    if (rules_is_bucket(&world->rules) ? !state->bucket.used : !state->window.used)
        return "never used";
    if (rules_is_bucket(&world->rules))
        (void)snprintf(text, sizeof text, "zero at %lld of token %lld",
                       (long long)state->bucket.zero, (long long)world->rules.line.form.token);
    else
        (void)snprintf(text, sizeof text, "position %lld%s previous %llu count %llu",
                       (long long)state->window.position, state->window.ahead ? " ahead" : "",
                       (ull)state->window.previous, (ull)state->window.count);
    return text;
}

static void compare(const struct world *world, const struct one *one, const char *call, uint64_t n,
                    weir_ns now, struct weir_result got, struct weir_result want)
{
    if (got.verdict == want.verdict && got.remaining == want.remaining && got.wait == want.wait &&
        got.reset == want.reset)
        return;
    fail_msg("%s, %s, seed %#llx, call %llu, \"%s\", change %u at %llu, key %zu, %s(n %llu, now "
             "%llu, wall %+lld): verdict %d wait %llu remaining %llu reset %llu; the model says %d "
             "%llu %llu %llu, and now is at: %s",
             names[world->home], is_cell(world) ? "cell" : "engine", (ull)world->seed,
             (ull)world->calls, policy_text(&world->rules.policy), world->changes,
             (ull)world->changed, (size_t)(one - world->ones), call, (ull)n, (ull)now,
             (long long)world->wall, (int)got.verdict, (ull)got.wait, (ull)got.remaining,
             (ull)got.reset, (int)want.verdict, (ull)want.wait, (ull)want.remaining,
             (ull)want.reset, state_text(world, &one->state));
}

static void compare_count(const struct world *world, const struct one *one, const char *call,
                          uint64_t n, weir_ns now, uint64_t got, uint64_t want)
{
    if (got != want)
        fail_msg("%s, %s, seed %#llx, call %llu, \"%s\", change %u at %llu, key %zu, %s(n %llu, "
                 "now %llu, wall %+lld): %llu; the model says %llu, and now is at: %s",
                 names[world->home], is_cell(world) ? "cell" : "engine", (ull)world->seed,
                 (ull)world->calls, policy_text(&world->rules.policy), world->changes,
                 (ull)world->changed, (size_t)(one - world->ones), call, (ull)n, (ull)now,
                 (long long)world->wall, (ull)got, (ull)want, state_text(world, &one->state));
}

/* ---- what only a look inside tells -------------------------------------------------------- */

/* A key's word, 0 when it has no slot. */
static uint64_t word_of(struct weir *w, int limit, weir_key key)
{
    struct weir_probe probe = weir_table_probe(&w->table, key.high, key.low, (unsigned)limit);
    struct weir_atomic_u64 *word = weir_table_find(&w->table, &probe);

    return word == NULL ? 0 : weir_load_relaxed(word);
}

static const struct weir_settings *settings_of(const struct weir *w, int limit)
{
    return weir_limit_settings(weir_limit_of(w, (unsigned)limit));
}

static unsigned generations_of(const struct world *world)
{
    return (unsigned)__builtin_popcount(settings_of(world->engine, world->limit)->generations);
}

/* Does anything lead from the policy of a reservation to the one in use? */
static bool leads_here(const struct world *world, uint64_t serial)
{
    const struct weir_settings *s = settings_of(world->engine, world->limit);

    while (s != NULL && s->serial != serial)
        s = weir_pointer_load_acquire(&s->previous);
    return s != NULL;
}

/* Was its word last used before the last change, or never? */
static bool is_of_the_past(const struct world *world, const struct one *one)
{
    const struct weir_settings *newest = settings_of(world->engine, world->limit), *s = newest;
    uint64_t word = word_of(world->engine, world->limit, one->key);

    while (word != 0 && s != NULL && s->generation != weir_word_generation(word))
        s = weir_pointer_load_acquire(&s->previous);
    return (word & WEIR_PAYLOAD_MAX) == 0 || s == NULL || s->serial != newest->serial;
}

/* A word that a move may be copying says nothing. */
static uint64_t digest_of(const struct world *world, const struct one *one)
{
    if (world->count > KEYS)
        return 0;
    return is_cell(world) ? world->cell.word : word_of(world->engine, world->limit, one->key);
}

/* ---- the calls, by both ------------------------------------------------------------------- */

static void both_reserve(struct world *world, struct one *one, uint64_t n, weir_ns now,
                         weir_ns max_wait, struct held *held)
{
    const char *call = held == NULL ? "decide" : "reserve";
    struct weir_reservation *out = held == NULL ? NULL : &held->reservation;
    uint64_t before = digest_of(world, one);
    struct weir_result want, got;

    rules_anchor(&world->rules, now);
    want = rules_step(&world->rules, &one->state, n, now, max_wait, true,
                      held == NULL ? NULL : &held->model);
    if (is_cell(world))
        got = held == NULL ? weir_cell_decide(&world->cell, &world->meter, n, now)
                           : weir_cell_reserve(&world->cell, &world->meter, n, now, max_wait, out);
    else
        got = held == NULL
                  ? weir_decide(world->engine, world->limit, one->key, n, now)
                  : weir_reserve(world->engine, world->limit, one->key, n, now, max_wait, out);
    compare(world, one, call, n, now, got, want);
    if (got.verdict != WEIR_ALLOWED || n == 0)
        compare_count(world, one, "a refusal, word", n, now, digest_of(world, one), before);
    if (held == NULL)
        return;
    held->changes = world->published;
    held->cuts = world->cuts;
    compare_count(world, one, "reserve.n", n, now, out->n, hold_n(&world->rules, &held->model));
    if (out->n > 0)
        compare_count(world, one, "reserve.instant", n, now, out->instant,
                      hold_instant(&world->rules, &held->model));
}

static void both_peek(struct world *world, struct one *one, uint64_t n, weir_ns now)
{
    struct rules copy = world->rules;
    struct state state = one->state;
    uint64_t before = digest_of(world, one);
    struct weir_cell cell = world->cell;
    struct weir_result want, got;

    rules_anchor(&copy, now);
    want = rules_step(&copy, &state, n, now, 0, is_cell(world), NULL); /* a copy of it decides */
    got = is_cell(world) ? weir_cell_decide(&cell, &world->meter, n, now)
                         : weir_peek(world->engine, world->limit, one->key, n, now);
    compare(world, one, "peek", n, now, got, want);
    compare_count(world, one, "peek, word", n, now, digest_of(world, one), before);
}

/* Of an earlier policy too, as long as something leads from there. */
static void both_cancel(struct world *world, struct one *one, struct held *held, weir_ns now)
{
    uint64_t n = hold_n(&world->rules, &held->model), want, got;
    bool followed = held->reservation.n != 0 && held->changes != world->published;

    if (followed && !leads_here(world, held->reservation.serial)) {
        /* a sweep, between changes or by what goes on beside them */
        assert_true(world->published - held->changes > 1 || held->cuts != world->cuts);
        n = 0;
        held->model = (struct hold){0};
        holds_lost++;
    } else if (followed) {
        holds_followed++;
    }
    if (held->reservation.n != 0)
        rules_anchor(&world->rules, now);
    want = rules_cancel(&world->rules, &one->state, &held->model, now);
    got = is_cell(world) ? weir_cell_cancel(&world->cell, &world->meter, &held->reservation, now)
                         : weir_cancel(world->engine, &held->reservation, now);
    compare_count(world, one, "cancel", n, now, got, want);
}

static void both_take(struct world *world, struct one *one, uint64_t max, weir_ns now)
{
    rules_anchor(&world->rules, now);
    compare_count(world, one, "take", max, now,
                  weir_take(world->engine, world->limit, one->key, max, now),
                  rules_take(&world->rules, &one->state, max, now));
}

static void both_charge(struct world *world, struct one *one, uint64_t n, weir_ns now)
{
    rules_anchor(&world->rules, now);
    compare_count(world, one, "charge", n, now,
                  weir_charge(world->engine, world->limit, one->key, n, now),
                  rules_charge(&world->rules, &one->state, n, now));
}

static void both_refund(struct world *world, struct one *one, uint64_t n, weir_ns now)
{
    rules_anchor(&world->rules, now);
    compare_count(world, one, "refund", n, now,
                  weir_refund(world->engine, world->limit, one->key, n, now),
                  rules_refund(&world->rules, &one->state, n, now));
}

static void both_set_balance(struct world *world, struct one *one, uint64_t tokens, weir_ns now)
{
    rules_anchor(&world->rules, now);
    rules_set_balance(&world->rules, &one->state, tokens, now);
    assert_int_equal(weir_set_balance(world->engine, world->limit, one->key, tokens, now), 0);
    both_peek(world, one, 0, now);
}

static void both_forget(struct world *world, struct one *one)
{
    one->state = (struct state){0};
    if (is_cell(world))
        world->cell.word = 0;
    else
        assert_int_equal(weir_forget(world->engine, world->limit, one->key), 0);
}

static void both_drop(struct held *held)
{
    *held = (struct held){0};
}

/* Permits of an earlier limit are still held under a later one, and void under another kind. */
static void both_acquire_or_release(struct world *world, struct one *one, uint64_t n)
{
    struct held_permit *p = &one->permit;

    if (p->n == 0) {
        struct weir_result want = rules_step(&world->rules, &one->state, n, 0, 0, true, NULL);

        compare(world, one, "acquire", n, 0,
                weir_acquire(world->engine, world->limit, one->key, n, &p->permit), want);
        p->n = want.verdict == WEIR_ALLOWED ? n : 0;
        p->kin = world->kin;
        return;
    }
    if (p->kin == world->kin)
        (void)rules_refund(&world->rules, &one->state, p->n, 0);
    compare_count(world, one, "release", p->n, 0,
                  (uint64_t)(int64_t)weir_release(world->engine, &p->permit),
                  (uint64_t)(int64_t)(p->kin == world->kin ? 0 : -ENOENT));
    p->n = 0;
}

/* ---- what is asked ------------------------------------------------------------------------ */

static weir_ns span_of(const struct weir_policy *policy)
{
    if (policy->kind == WEIR_CONCURRENCY || policy->limit == WEIR_UNLIMITED)
        return WEIR_SECOND;
    if (policy->kind == WEIR_TOKEN_BUCKET)
        return twin_token_ns(policy);
    if (policy->form != WEIR_FORM_CALENDAR)
        return policy->period;
    if (policy->calendar == WEIR_CALENDAR_MONTH)
        return 31 * WEIR_DAY;
    return policy->calendar == WEIR_CALENDAR_WEEK ? 7 * WEIR_DAY : WEIR_DAY;
}

/* What a key can hold. */
static uint64_t most_of(const struct rules *rules)
{
    if (rules_is_unlimited(rules) || rules->policy.limit == WEIR_UNLIMITED)
        return 1000;
    return rules_is_bucket(rules) ? rules->policy.burst : rules->policy.limit;
}

/* A count near what there is, and sometimes anything. */
static uint64_t any_count(const struct world *world, const struct one *one,
                          struct test_random *random, weir_ns now)
{
    uint64_t most = most_of(&world->rules), left;

    switch (random_below(random, 10)) {
    case 0:
        return 0;
    case 1:
        return most + random_below(random, 3) - (most > 0);
    case 2:
        return random_magnitude(random, world->rules.policy.limit == WEIR_UNLIMITED ? 30 : 64);
    case 3:
        return 1 + random_below(random, most + 1);
    case 4:
        left = rules_ask(&world->rules, &one->state, 0, now, 0).remaining;
        return left == UINT64_MAX ? 1 : left + random_below(random, 2);
    default:
        return 1 + random_below(random, most / 4 + 1);
    }
}

/* May a key owe n tokens more, or its newest window be two further on? The models know no end of a
   word. */
static bool can_go_ahead(const struct world *world, const struct one *one, uint64_t n, weir_ns now)
{
    const struct rules *rules = &world->rules;
    model_int lead;

    if (rules_is_unlimited(rules) || rules_is_permits(rules))
        return true;
    if (rules_is_bucket(rules)) {
        model_int owed = (model_int)n * rules->line.form.token -
                         model_balance(&rules->line, &one->state.bucket, now);

        return n <= rules->line.form.burst + 3 &&
               rules_line_holds(&rules->line, owed, is_cell(world));
    }
    lead = window_lead(&rules->windows, &one->state.window, now) +
           2 * (model_int)span_of(&rules->policy);
    if (is_cell(world))
        return lead <= AHEAD_MAX;
    return lead <= window_half_line(&rules->windows);
}

static weir_ns any_max_wait(const struct world *world, const struct one *one,
                            struct test_random *random, uint64_t n, weir_ns now)
{
    weir_ns wait = 0;

    switch (random_below(random, 6)) {
    case 0:
        return 0;
    case 1:
        return WEIR_FOREVER;
    case 2:
    case 3: /* the hint, which may be a grain short of what is needed */
        wait = rules_ask(&world->rules, &one->state, n, now, 0).wait;
        break;
    case 4: /* exactly what is needed */
        wait = rules_ask(&world->rules, &one->state, n, now, WEIR_FOREVER).wait;
        break;
    default:
        return random_below(random, 8 * span_of(&world->rules.policy));
    }
    return wait == 0 ? 0 : wait - random_below(random, 2);
}

static void any_reserve(struct world *world, struct one *one, struct test_random *random,
                        weir_ns now)
{
    uint64_t n = any_count(world, one, random, now);
    weir_ns max_wait = 0;

    if (can_go_ahead(world, one, n, now))
        max_wait = any_max_wait(world, one, random, n, now);
    both_reserve(world, one, n, now, max_wait, &one->held[random_below(random, HELD)]);
}

static void any_engine_call(struct world *world, struct one *one, struct test_random *random,
                            weir_ns now)
{
    uint64_t n = any_count(world, one, random, now);
    bool unlimited = world->rules.policy.limit == WEIR_UNLIMITED;

    switch (random_below(random, rules_is_permits(&world->rules) ? 8 : 5)) {
    case 0:
        if (!unlimited || n < 1000000)
            both_take(world, one, n, now);
        break;
    case 1:
        both_refund(world, one, n, now);
        break;
    case 2: /* into debt, but not to the end of the word */
        n %= most_of(&world->rules) + 3;
        if (!rules_is_bucket(&world->rules) || can_go_ahead(world, one, n, now))
            both_charge(world, one, n, now);
        break;
    case 3:
        if (random_below(random, 4) == 0 && !unlimited)
            both_set_balance(world, one, n, now);
        break;
    case 4:
        if (random_below(random, 8) == 0)
            both_forget(world, one);
        break;
    default:
        both_acquire_or_release(world, one, n);
    }
}

static void any_call(struct world *world, struct one *one, struct test_random *random, weir_ns now)
{
    unsigned choices = !world->rules.anchored ? 4 : is_cell(world) ? 9 : 12;

    world->calls++;
    switch (random_below(random, choices)) {
    case 0:
        both_peek(world, one, any_count(world, one, random, now), now);
        break;
    case 1:
    case 2:
    case 3:
        both_reserve(world, one, any_count(world, one, random, now), now, 0, NULL);
        break;
    case 4:
    case 5:
    case 6:
        any_reserve(world, one, random, now);
        break;
    case 7:
    case 8:
        both_cancel(world, one, &one->held[random_below(random, HELD)], now);
        break;
    default:
        any_engine_call(world, one, random, now);
    }
}

/* ---- changes ------------------------------------------------------------------------------ */

static struct weir_policy any_policy(enum algorithm algorithm, struct test_random *random)
{
    const struct weir_policy *settings;
    size_t count;

    if (algorithm == ANY)
        algorithm = (enum algorithm)random_below(random, BUCKET + 1);
    if (algorithm == FIXED)
        algorithm = (enum algorithm)random_below(random, CALENDAR + 1);
    if (algorithm != BUCKET)
        return window_any_policy((enum window_algorithm)algorithm, random);
    count = twin_settings(&settings);
    return random_below(random, 2) == 0 ? settings[random_below(random, count)]
                                        : twin_random_setting(random);
}

static enum algorithm algorithm_of(const struct weir_policy *policy)
{
    if (policy->kind == WEIR_TOKEN_BUCKET)
        return BUCKET;
    if (policy->kind == WEIR_CONCURRENCY)
        return PERMITS;
    if (policy->kind == WEIR_SLIDING_WINDOW)
        return SLIDING;
    return policy->form == WEIR_FORM_PLAIN     ? FIRST_HIT
           : policy->form == WEIR_FORM_ALIGNED ? ALIGNED
                                               : CALENDAR;
}

/* Lower, higher, or another. */
static uint64_t other_amount(uint64_t amount, uint64_t other, struct test_random *random)
{
    switch (random_below(random, 4)) {
    case 0:
        return amount / 2;
    case 1:
        return amount < other ? amount + 1 : amount - (amount > 0);
    case 2:
        return amount > (uint64_t)1 << 22 ? amount / 3 : 2 * amount;
    default:
        return other;
    }
}

/* The policy with one field of another. */
static struct weir_policy other_field(struct weir_policy policy, struct test_random *random)
{
    struct weir_policy other = any_policy(algorithm_of(&policy), random);
    unsigned field = (unsigned)random_below(random, 4);

    if (policy.limit == WEIR_UNLIMITED || other.limit == WEIR_UNLIMITED)
        return other;
    if (policy.kind == WEIR_TOKEN_BUCKET && field == 1) {
        policy.burst = other_amount(policy.burst, other.burst, random);
        policy.form = WEIR_FORM_PLAIN;
        return policy;
    }
    if (policy.kind == WEIR_TOKEN_BUCKET && field == 2) {
        policy.form = WEIR_FORM_PLAIN;
        policy.tick = policy.tick != 0 ? 0 : (weir_ns)1000 << random_below(random, 24);
        return policy;
    }
    if (field <= 1) {
        policy.limit = other_amount(policy.limit, other.limit, random);
    } else if (field == 2) {
        policy.utc_offset_s = other.utc_offset_s;
        memcpy(policy.zone, other.zone, sizeof policy.zone);
    } else {
        policy.calendar = other.calendar;
        policy.period = random_below(random, 2) == 0 ? other.period : policy.period / 2 + 1;
        if (policy.kind != WEIR_TOKEN_BUCKET && policy.period < WEIR_MILLISECOND)
            policy.period = other.period;
    }
    if (policy.kind == WEIR_CONCURRENCY || policy.form == WEIR_FORM_CALENDAR)
        policy.period = 0;
    return policy;
}

static struct weir_policy next_policy(const struct world *world, struct test_random *random)
{
    struct weir_policy policy = world->rules.policy;

    switch (random_below(random, 12)) {
    case 0:
        return policy;
    case 1:
    case 2:
    case 3:
        return world->before;
    case 4:
        return any_policy(random_below(random, 4) == 0 ? ANY : world->home, random);
    case 5:
        if (world->home == FIXED || world->home == ANY)
            return any_policy(world->home, random);
        if (random_below(random, 4) == 0)
            policy.limit = WEIR_UNLIMITED;
        return policy;
    default:
        if (algorithm_of(&policy) != world->home && world->home < FIXED)
            return any_policy(world->home, random);
        return other_field(policy, random);
    }
}

/* Would a word of the new settings hold what the key owes, and what it has reserved? */
static bool state_fits(const struct world *world, const struct one *one, const struct rules *to,
                       weir_ns now)
{
    const struct rules *from = &world->rules;
    model_int lead_max = is_cell(world) ? AHEAD_MAX : LEAD_MAX;

    if (!rules_follow(from, &to->policy) || rules_is_permits(from))
        return true;
    if (!rules_is_bucket(from))
        return window_lead(&from->windows, &one->state.window, now) <= lead_max;
    for (size_t i = 0; i <= HELD; i++) {
        model_int v = model_v(&from->line, now), zero = one->state.bucket.zero;
        const struct model_form *f = &to->line.form;

        if (i < HELD)
            zero = one->held[i].model.bucket.slot;
        if (i < HELD ? one->held[i].model.bucket.n == 0 : !one->state.bucket.used)
            continue;
        if (zero > v && !rules_line_holds(&to->line, (zero - v) * f->token / from->line.form.token,
                                          is_cell(world)))
            return false;
    }
    return true;
}

/* What cannot be told under the new settings is let go of first. */
static void make_fit(struct world *world, const struct rules *to, weir_ns now)
{
    for (size_t i = 0; i < world->count; i++) {
        if (state_fits(world, &world->ones[i], to, now))
            continue;
        both_forget(world, &world->ones[i]);
        for (size_t h = 0; h < HELD; h++)
            both_drop(&world->ones[i].held[h]);
    }
}

static void model_the_change(struct world *world, const struct rules *to, weir_ns now)
{
    for (size_t i = 0; i < world->count; i++) {
        struct one *one = &world->ones[i];

        state_change(&world->rules, &one->state, to, now);
        for (size_t h = 0; h < HELD; h++) {
            if (hold_is_paid_early(&world->rules, &one->held[h].model, now))
                both_drop(&one->held[h]);
            hold_change(&world->rules, &one->held[h].model, to, now);
        }
    }
    if (world->rules.policy.kind != to->policy.kind)
        world->kin++;
    if (!rules_follow(&world->rules, &to->policy))
        world->cuts++;
    world->before = world->rules.policy;
    world->rules = *to;
    world->published++;
    changes_made++;
}

/* No words are touched, and an equal policy, or one that cannot be kept, publishes nothing. */
static void change_engine(struct world *world, const struct weir_policy *policy, weir_ns now)
{
    weir_ns instant = now > world->changed ? now : world->changed;
    const struct weir_settings *last = settings_of(world->engine, world->limit);
    bool same = rules_same_policy(policy, &world->rules.policy);
    bool leads = rules_follow(&world->rules, policy) && world->rules.anchored;
    int want = rules_error(policy);
    struct weir_policy back;
    struct rules to;

    if (!same && leads && is_on_wall(world))
        window_ask(&world->rules.windows, instant);
    if (!same && want == 0) {
        rules_after(&to, policy, &world->rules, instant);
        for (size_t i = 0; i < world->count * HELD && instant > world->at; i++)
            both_drop(&world->ones[i / HELD].held[i % HELD]); /* set back: they were before it */
        make_fit(world, &to, instant);
    }
    compare_count(world, &world->ones[0], "set_limit", policy->limit, now,
                  (uint64_t)(int64_t)weir_set_limit(world->engine, world->limit, policy, now),
                  (uint64_t)(int64_t)want);
    if (want != 0)
        return;
    assert_int_equal(weir_get_limit(world->engine, world->limit, &back), 0);
    assert_true(rules_same_policy(&back, policy));
    if (same) {
        assert_ptr_equal(settings_of(world->engine, world->limit), last);
        return;
    }
    model_the_change(world, &to, instant);
    world->changed = instant;
}

/* An origin from which a new meter can tell when the window of a cell began. */
static weir_ns told_from(const struct world *world, weir_ns origin)
{
    const struct window_key *key = &world->ones[0].state.window;
    model_int start;

    if (rules_is_bucket(&world->rules) || !key->used ||
        world->rules.policy.kind != WEIR_FIXED_WINDOW)
        return origin;
    start = window_start(&world->rules.windows, key->position);
    return start < (model_int)origin ? (weir_ns)start : origin;
}

static void change_cell(struct world *world, const struct weir_policy *policy,
                        struct test_random *random, weir_ns now)
{
    struct weir_meter next;
    weir_ns origin = world->meter.origin < 0 ? 0 : (weir_ns)world->first;
    struct rules to;
    int rc;

    if (random_below(random, 2) == 0)
        origin += random_below(random, now - world->first + 1);
    if (origin + 10 * YEAR < now)
        origin = now - 10 * YEAR;
    rc = weir_meter_init(&next, policy, told_from(world, origin));
    if (rc == -ERANGE)
        return;
    assert_int_equal(rc, 0);
    rules_of_meter(&to, &next);
    make_fit(world, &to, now);
    assert_int_equal(weir_cell_reprice(&world->cell, &world->meter, &next, now), 0);
    for (size_t h = 0; h < HELD; h++) { /* those made before give back 0 */
        assert_int_equal(
            weir_cell_cancel(&world->cell, &next, &world->ones[0].held[h].reservation, now), 0);
        both_drop(&world->ones[0].held[h]);
    }
    if (!rules_same_policy(policy, &world->meter.policy) || next.origin != world->meter.origin)
        model_the_change(world, &to, now);
    world->meter = next;
    world->first = origin > world->first ? origin : world->first;
}

static void any_change(struct world *world, struct test_random *random, weir_ns now)
{
    struct weir_policy policy = next_policy(world, random);

    world->changes++;
    if (is_cell(world))
        change_cell(world, &policy, random, now);
    else
        change_engine(world, &policy, now);
}

/* ---- what goes on beside ------------------------------------------------------------------ */

/* Who is idle may be forgotten, which a clock that is set back shows. */
static void forget_the_idle(struct world *world)
{
    for (size_t i = 0; i < world->count; i++)
        if (rules_ask(&world->rules, &world->ones[i].state, 0, world->at, 0).reset == 0)
            both_forget(world, &world->ones[i]);
}

static void trim(struct world *world)
{
    forget_the_idle(world);
    assert_int_equal(weir_trim(world->engine, world->at), 0);
    world->settled = world->trimmed = world->at; /* keys never used begin there */
    world->cuts++;
}

/* Another limit comes and goes: the housekeeping of it finds this one. */
static void add_and_remove(struct world *world, struct test_random *random)
{
    struct weir_policy policy = weir_token_bucket(1, WEIR_HOUR, 5);
    char name[24];
    int other;

    (void)snprintf(name, sizeof name, "other %u", world->others++);
    other = add_limit(world->engine, name, policy);
    for (uint64_t i = random_below(random, 3); i > 0; i--)
        (void)weir_take(world->engine, other, world->ones[0].key, i, world->at);
    assert_int_equal(weir_remove_limit(world->engine, other, world->at), 0);
    world->cuts++;
}

/* Time stands still for a limit that has used up its generations, until a sweep. */
static void make_room_for_origins(struct world *world)
{
    weir_ns since = world->changed > world->trimmed ? world->changed : world->trimmed;

    if (generations_of(world) < 27)
        return;
    if (world->at > since + 20 * WEIR_DAY || world->at + STALE_MAX < world->changed)
        trim(world);
}

/* Calls on and on by a clock that is behind the change: no more than what there is at the change.
 */
static void take_from_behind(struct world *world, struct one *one, struct test_random *random,
                             weir_ns now)
{
    uint64_t most = rules_ask(&world->rules, &one->state, 0, world->changed, 0).remaining,
             taken = 0;

    for (int i = 0; i < 8 && now < world->changed; i++) {
        uint64_t n = 1 + random_below(random, most_of(&world->rules) / 2 + 1);

        if (weir_decide(world->engine, world->limit, one->key, n, now).verdict == WEIR_ALLOWED)
            taken += n;
        now += random_below(random, (world->changed - now) / 2 + 1);
    }
    if (taken > most)
        compare_count(world, one, "from behind the change, take", most, now, taken, most);
}

/* A reservation by such a clock: never for an earlier instant than by one that is at the change;
   and who has used nothing waits no longer than until then. */
static void reserve_from_behind(struct world *world, struct one *one, struct test_random *random,
                                weir_ns now)
{
    uint64_t n = any_count(world, one, random, world->changed);
    weir_ns max_wait = random_below(random, 2) * WEIR_MINUTE;
    bool unused =
        rules_is_bucket(&world->rules) ? !one->state.bucket.used : !one->state.window.used;
    struct weir_result want =
        rules_ask(&world->rules, &one->state, n, world->changed, WEIR_FOREVER);
    struct weir_result got =
        weir_reserve(world->engine, world->limit, one->key, n, now, max_wait, NULL);

    if (got.verdict == WEIR_NEVER || want.verdict == WEIR_NEVER)
        compare_count(world, one, "behind", n, now, got.verdict, want.verdict);
    if (got.verdict == WEIR_ALLOWED &&
        (want.verdict != WEIR_ALLOWED ||
         (want.wait > 0 && world->changed + want.wait > now + got.wait)))
        compare(world, one, "from behind the change, reserve", n, now, got, want);
    if (unused && got.verdict == WEIR_DENIED && got.wait > STALE_MAX && n != 0)
        compare(world, one, "from behind the change, unused, reserve", n, now, got, want);
    if (got.verdict == WEIR_ALLOWED && n != 0 && world->rules.policy.kind == WEIR_FIXED_WINDOW &&
        (model_int)got.wait > world->rules.windows.longest)
        world->rules.windows.longest = (model_int)got.wait;
}

/* A key that was last used before the change, or never, begins there, also by a clock that is
   behind it; one that was used since, at its own `now`. It is forgotten after that: the models know
   nothing of such clocks. */
static void call_from_behind(struct world *world, struct one *one, struct test_random *random)
{
    weir_ns back = 1 + random_below(random, STALE_MAX - 1), now = world->changed - back;
    weir_ns floor = world->first > world->settled ? world->first : world->settled;

    if (world->changed < floor + back || world->at >= world->changed + STALE_MAX - back ||
        world->at < world->changed)
        return;
    rules_anchor(&world->rules, now);
    if (is_of_the_past(world, one))
        take_from_behind(world, one, random, now);
    else
        reserve_from_behind(world, one, random, now);
    if (is_on_wall(world))
        window_ask(&world->rules.windows, now);
    both_forget(world, one);
    for (size_t h = 0; h < HELD; h++)
        both_drop(&one->held[h]);
}

/* ---- clocks ------------------------------------------------------------------------------- */

/* A window so far ahead that a word cannot tell it has ended, to an engine. */
static void forget_the_untold(struct world *world)
{
    const struct window_limit *l = &world->rules.windows;

    for (size_t i = 0; is_on_wall(world) && !l->unlimited && i < world->count; i++) {
        struct one *one = &world->ones[i];

        if (window_lead(l, &one->state.window, world->at) <= window_half_line(l))
            continue;
        both_forget(world, one);
        for (size_t h = 0; h < HELD; h++)
            both_drop(&one->held[h]);
    }
}

/* Unix time is set, and no clock comes back to a second of which it was known before. */
static void set_wall(struct world *world, struct test_random *random)
{
    const weir_ns spans[] = {YEAR, WEIR_DAY, 10 * WEIR_DAY, 3 * WEIR_HOUR, 61 * SEC};
    weir_ns by = spans[random_below(random, sizeof spans / sizeof spans[0])];
    model_int unix_ns = (model_int)world->at + world->wall;
    bool back = random_below(random, 2) == 0;

    if (world->at < world->changed || (model_int)world->at < world->rules.windows.told)
        return;
    back = unix_ns > (model_int)(UNIX_2024 + 4 * YEAR) || back;
    back = unix_ns > (model_int)(UNIX_2024 + YEAR) && back;
    world->wall += back ? -(model_int)by : (model_int)by;
    world->rules.windows.wall = world->wall;
    world->at += 2 * SEC + random_below(random, SEC);
    world->settled = world->stepped = world->at;
    forget_the_untold(world);
}

/* The clock of an engine is set back by far more than stale_max. */
static void set_back(struct world *world)
{
    weir_ns by = 10 * WEIR_DAY;

    if (is_on_wall(world) || world->at < world->first + by + WEIR_DAY)
        return;
    if (world->changed < world->stepped || world->rules.windows.told < (model_int)world->stepped)
        return; /* would come to a second of which unix time was known before */
    forget_the_idle(world);
    for (size_t i = 0; i < world->count * HELD; i++)
        both_drop(&world->ones[i / HELD].held[i % HELD]);
    world->at -= by;
    world->settled = world->at;
}

static void jump(struct world *world, struct test_random *random)
{
    if (world->jumps == 0 || is_cell(world))
        return;
    world->jumps--;
    if (generations_of(world) >= 27)
        trim(world);
    if (random_below(random, 4) != 0)
        set_wall(world, random);
    else
        set_back(world);
}

static weir_ns span_to_an_edge(const struct world *world, const struct one *one,
                               struct test_random *random)
{
    struct weir_result r = rules_ask(&world->rules, &one->state,
                                     any_count(world, one, random, world->at), world->at, 0);
    weir_ns edge = random_below(random, 2) == 0 ? r.wait : r.reset;

    if (edge == WEIR_FOREVER || edge == 0)
        return random_below(random, 2);
    return edge + random_below(random, 3) - 1;
}

/* By less than stale_max before the last change, or before the instant at which the idle were left
   behind, or before the origins of these: 0, or that instant. */
static weir_ns behind(const struct world *world, weir_ns now)
{
    if (is_cell(world))
        return 0;
    if (now < world->changed && world->changed - now <= 2 * STALE_MAX)
        return world->changed;
    return now < world->trimmed && world->trimmed - now <= 2 * STALE_MAX ? world->trimmed : 0;
}

static void forward(struct world *world, const struct one *one, struct test_random *random)
{
    weir_ns span = span_of(&world->rules.policy), step = 0;
    weir_ns room = (world->last - world->at) / 50;

    switch (random_below(random, 16)) {
    case 0:
        if (random_below(random, 4) == 0)
            step = random_magnitude(random, 57);
        break;
    case 1:
        step = random_below(random, 4) * span + random_below(random, 2);
        break;
    case 2:
    case 3:
    case 4:
        step = span_to_an_edge(world, one, random);
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        break;
    default:
        step = random_below(random, span / 8 + 2);
    }
    if (step <= room)
        world->at += step;
    else if (random_below(random, 4) == 0)
        world->at += random_below(random, room + 1);
}

static weir_ns next_now(struct world *world, const struct one *one, struct test_random *random)
{
    weir_ns back, floor;

    if (random_below(random, 128) == 0)
        jump(world, random);
    forward(world, one, random);
    while (behind(world, world->at) != 0)
        world->at = behind(world, world->at);
    if (!is_cell(world))
        make_room_for_origins(world);
    if (random_below(random, 8) != 0)
        return world->at;
    floor = world->first > world->settled ? world->first : world->settled;
    back = random_below(random, 2) == 0 ? random_magnitude(random, 35)
                                        : random_below(random, span_of(&world->rules.policy));
    if (back >= STALE_MAX)
        back = STALE_MAX - 1;
    if (world->at < floor + back || behind(world, world->at - back) != 0)
        return world->at;
    return world->at - back;
}

/* ---- the lives of worlds ------------------------------------------------------------------ */

/* Keys have the same places each time. */
static void open_engine_of(struct world *world, struct test_random *random)
{
    static const uint8_t secret[192] = {1, 6};
    const struct weir_options options = {.size = sizeof options,
                                         .max_keys = 65536,
                                         .max_limits = 3,
                                         .wall_clock = wall_of,
                                         .wall_context = world,
                                         .secret = secret};
    struct weir_policy policy;

    do
        policy = any_policy(world->home, random);
    while (rules_error(&policy) != 0);
    world->engine = open_engine(&options);
    world->limit = add_limit(world->engine, "limit", policy);
    world->first = world->at = WEIR_DAY + random_magnitude(random, 60);
    world->last = world->first + ROOM;
    world->jumps = 12;
    world->wall =
        (model_int)(UNIX_2024 + 2 * YEAR + random_below(random, YEAR)) - (model_int)world->first;
    rules_of_engine(&world->rules, &policy, STALE_MAX);
    world->rules.windows.wall = world->wall;
    world->before = policy;
    for (size_t i = 0; i < world->count; i++)
        world->ones[i].key = weir_key_u64(world->engine, i);
    both_reserve(world, &world->ones[0], 0, world->first, 0, NULL); /* sets the origin */
}

static bool open_cell(struct world *world, struct test_random *random)
{
    struct weir_policy policy = any_policy(world->home, random);
    weir_ns start = UNIX_2024 + 2 * YEAR + random_below(random, YEAR);
    int rc;

    world->first = start - random_below(random, 2 * YEAR);
    world->at = start;
    world->last = start + 15 * YEAR;
    world->before = policy;
    rc = weir_meter_init(&world->meter, &policy, world->first);
    if (rc == 0)
        rules_of_meter(&world->rules, &world->meter);
    else
        assert_int_equal(rc, -ERANGE);
    return rc == 0;
}

/* Some keys rest while the limit changes again and again. */
static struct one *any_one(struct world *world, struct test_random *random)
{
    if (world->calls % 256 == 0)
        world->resting = (size_t)random_below(random, world->count);
    return &world->ones[world->resting + random_below(random, world->count - world->resting)];
}

static void one_step(struct world *world, struct test_random *random)
{
    struct one *one = any_one(world, random);
    weir_ns now = next_now(world, one, random);

    if (random_below(random, 9) == 0)
        any_change(world, random, now);
    else
        any_call(world, one, random, now);
    if (is_cell(world))
        return;
    if (random_below(random, 64) == 0)
        call_from_behind(world, one, random);
    if (random_below(random, 256) == 0)
        add_and_remove(world, random);
    if (random_below(random, 1024) == 0)
        trim(world);
}

/* Calls on one limit and its changes, which `seed` says all about. */
static void one_world(enum algorithm home, bool cell, uint64_t seed)
{
    struct test_random random = {seed};
    struct one ones[KEYS];
    struct world world = {.seed = seed, .home = home, .ones = ones, .count = cell ? 1 : KEYS};
    struct weir_stats stats = {.size = sizeof stats};
    uint64_t calls = cell ? ROUND / 10 : ROUND;

    memset(ones, 0, sizeof ones);
    if (cell && !open_cell(&world, &random))
        return;
    if (!cell)
        open_engine_of(&world, &random);
    while (world.calls + world.changes < calls)
        one_step(&world, &random);
    calls_made += world.calls;
    if (cell)
        return;
    assert_int_equal(weir_stats(world.engine, &stats), 0);
    assert_int_equal(stats.overflow + stats.growths, 0);
    weir_close(world.engine);
}

/* ---- crowds ------------------------------------------------------------------------------- */

/* Another key takes a place among those that are watched. */
static void replace(struct world *world, struct one *one, uint64_t name)
{
    if (rules_is_permits(&world->rules) && one->state.window.count > 0)
        both_refund(world, one, UINT64_MAX, world->at);
    *one = (struct one){.key = weir_key_u64(world->engine, name)};
}

/*
 * Thousands of keys that come and go on a clock that only goes on: the table grows and is made
 * again while keys of many settings are in it, which changes no answer.
 */
static void one_crowd(enum algorithm home, uint64_t seed, uint64_t calls)
{
    static struct one crowd[CROWD];
    struct test_random random = {seed};
    struct world world = {.seed = seed, .home = home, .ones = crowd, .count = CROWD};
    struct weir_stats stats = {.size = sizeof stats};
    uint64_t name = CROWD;

    memset(crowd, 0, sizeof crowd);
    open_engine_of(&world, &random);
    for (uint64_t i = 0; i < calls; i++) {
        struct one *one = &crowd[i < CROWD ? i : random_below(&random, CROWD)];

        if (i >= CROWD && random_below(&random, 4) == 0)
            replace(&world, one, name++);
        any_call(&world, one, &random, world.at);
        if (random_below(&random, 256) == 0)
            any_change(&world, &random, world.at);
        if (random_below(&random, 512) == 0)
            add_and_remove(&world, &random);
        if (random_below(&random, 4096) == 0)
            trim(&world);
        make_room_for_origins(&world);
        if (world.at < world.last)
            world.at += random_below(&random, 3 * (span_of(&world.rules.policy) / CROWD) + 2);
    }
    assert_int_equal(weir_stats(world.engine, &stats), 0);
    assert_int_equal(stats.overflow, 0);
    if (calls > 5 * CROWD)
        assert_true(stats.growths > 0 && stats.moves > 0);
    weir_close(world.engine);
}

static void what_is_moved_between_changes_is_what_it_was(void **state)
{
    struct test_random random = random_start("crowds", 16100);
    uint64_t calls = random_scaled(8 * CROWD);

    (void)state;
    for (int i = FIRST_HIT; i < ALGORITHMS; i++)
        one_crowd((enum algorithm)i, random_u64(&random), calls);
}

/* ---- the tests ---------------------------------------------------------------------------- */

static void equals_the_model(enum algorithm home, uint64_t seed)
{
    struct test_random random = random_start(names[home], seed);
    const char *one = getenv("WEIR_TEST_WORLD"); /* a seed that a failure has named */
    uint64_t calls = random_scaled(CALLS) / ALGORITHMS;

    if (one != NULL) {
        one_world(home, false, strtoull(one, NULL, 0));
        one_world(home, true, strtoull(one, NULL, 0));
        return;
    }
    calls_made = changes_made = holds_followed = holds_lost = 0;
    while (calls_made < calls) {
        one_world(home, false, random_u64(&random));
        for (int i = 0; i < 2; i++)
            one_world(home, true, random_u64(&random));
    }
    printf("# %s: %llu calls, %llu changes; %llu reservations cancelled under later settings, %llu "
           "lost\n",
           names[home], (ull)calls_made, (ull)changes_made, (ull)holds_followed, (ull)holds_lost);
}

static void changed_buckets_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(BUCKET, 16001);
}

static void changed_windows_from_the_first_hit_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(FIRST_HIT, 16002);
}

static void changed_aligned_windows_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(ALIGNED, 16003);
}

static void changed_calendar_windows_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(CALENDAR, 16004);
}

static void changed_sliding_windows_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(SLIDING, 16005);
}

static void changed_permits_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(PERMITS, 16006);
}

static void changed_forms_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(FIXED, 16007);
}

static void changed_kinds_equal_the_model(void **state)
{
    (void)state;
    equals_the_model(ANY, 16008);
}

/* ---- one change --------------------------------------------------------------------------- */

#define T0 ((weir_ns)1000 * WEIR_HOUR + 1414213562) /* some way into every window */

static weir_ns unix_of(void *context, weir_ns now)
{
    (void)context;
    return now + UNIX_2024;
}

static void open_at(struct subject *s, struct weir_policy policy)
{
    const struct weir_options options = {.max_keys = 65536, .wall_clock = unix_of};

    *s = (struct subject){.kind = SUBJECT_ENGINE, .engine = open_engine(&options)};
    s->limit = add_limit(s->engine, "limit", policy);
    s->key = weir_key_u64(s->engine, 1);
}

/* A cell's instants are unix time to windows that begin by it. */
static void open_cell_at(struct subject *s, struct weir_policy policy)
{
    assert_int_equal(subject_open(s, SUBJECT_CELL, &policy, 0), 0);
}

static void change(struct subject *s, struct weir_policy policy, weir_ns now)
{
    assert_int_equal(subject_change(s, &policy, now), 0);
}

static struct weir_policy refill(uint64_t limit, weir_ns tick, uint64_t burst)
{
    struct weir_policy policy = weir_refill_bucket(limit, SEC, tick);

    policy.burst = burst;
    return policy;
}

/* So much at a time; `variant` makes it another. */
static struct weir_policy sample(enum algorithm algorithm, uint64_t most, unsigned variant)
{
    weir_ns period = 100 * SEC + variant * WEIR_HOUR;

    switch (algorithm) {
    case FIRST_HIT:
        return weir_fixed_window(most, period);
    case ALIGNED:
        return weir_aligned_window(most, period, 3 + (int64_t)variant);
    case CALENDAR:
        return weir_calendar_window(most, (enum weir_calendar)(WEIR_CALENDAR_DAY + variant % 3),
                                    "Asia/Kuala_Lumpur");
    case SLIDING:
        return weir_sliding_window(most, period);
    case PERMITS:
        return weir_concurrency(most);
    default:
        return weir_token_bucket(1 + variant, WEIR_HOUR, most);
    }
}

static const enum algorithm samples[] = {FIRST_HIT, ALIGNED, CALENDAR, SLIDING, PERMITS, BUCKET};

#define SAMPLES (sizeof samples / sizeof samples[0])

static uint64_t left(const struct subject *s, weir_ns now)
{
    return subject_probe(s, now).remaining;
}

static void assert_result(struct weir_result got, enum weir_verdict verdict, weir_ns wait,
                          uint64_t remaining, weir_ns reset)
{
    assert_int_equal(got.verdict, verdict);
    assert_int_equal(got.wait, wait);
    assert_int_equal(got.remaining, remaining);
    assert_int_equal(got.reset, reset);
}

static void take(struct subject *s, uint64_t n, weir_ns now)
{
    assert_int_equal(subject_decide(s, n, now).verdict, WEIR_ALLOWED);
}

/* Each kind, as a key of an engine and as a cell, with 6 of 10 left. */
static void for_all_kinds(void (*property)(struct subject *s, enum algorithm algorithm))
{
    for (size_t i = 0; i < 2 * SAMPLES; i++) {
        enum algorithm algorithm = samples[i / 2];
        struct subject s;

        if (i % 2 == 0)
            open_at(&s, sample(algorithm, 10, 0));
        else
            open_cell_at(&s, sample(algorithm, 10, 0));
        take(&s, 4, T0);
        property(&s, algorithm);
        subject_close(&s);
    }
}

static void lower(struct subject *s, enum algorithm algorithm)
{
    bool bucket = algorithm == BUCKET;

    change(s, sample(algorithm, 5, 0), T0);
    assert_int_equal(left(s, T0), bucket ? 5 : 1);
    assert_int_equal(subject_decide(s, 6, T0).verdict, WEIR_NEVER);
    take(s, 1, T0);
    change(s, sample(algorithm, 2, 0), T0);
    assert_int_equal(left(s, T0), bucket ? 2 : 0);
    assert_int_equal(subject_decide(s, bucket ? 3 : 1, T0).verdict,
                     bucket ? WEIR_NEVER : WEIR_DENIED);
}

static void k16_a_lowered_balance_is_clamped(void **state)
{
    (void)state;
    for_all_kinds(lower);
}

/* B102: what a higher limit had left does not outlive it. */
static void b102_an_old_balance_does_not_survive(void **state)
{
    struct subject s;

    (void)state;
    open_at(&s, weir_token_bucket(200, SEC, 200));
    take(&s, 50, T0);
    change(&s, weir_token_bucket(100, SEC, 100), T0);
    take(&s, 100, T0);
    assert_int_equal(subject_decide(&s, 1, T0).verdict, WEIR_DENIED);
    change(&s, weir_token_bucket(WEIR_UNLIMITED, SEC, 0), T0);
    take(&s, 1000000, T0);
    change(&s, weir_token_bucket(1, SEC, 1), T0);
    take(&s, 1, T0);
    assert_result(subject_decide(&s, 1, T0), WEIR_DENIED, SEC, 0, SEC);
    subject_close(&s);
}

static void drain_and_raise(struct subject *s, enum algorithm algorithm)
{
    bool bucket = algorithm == BUCKET;

    take(s, 6, T0);
    change(s, sample(algorithm, 15, 0), T0);
    assert_int_equal(left(s, T0), bucket ? 0 : 5);
    if (!bucket)
        take(s, 5, T0);
    assert_int_equal(subject_decide(s, 1, T0).verdict, WEIR_DENIED);
    change(s, sample(algorithm, 15, 0), T0); /* and again */
    assert_int_equal(subject_decide(s, 1, T0).verdict, WEIR_DENIED);
}

/* A drained bucket stays drained; others get what they were raised by. */
static void k16_a_raise_gives_nothing_at_once(void **state)
{
    (void)state;
    for_all_kinds(drain_and_raise);
}

static void lower_and_raise(struct subject *s, enum algorithm algorithm)
{
    uint64_t most = 10;

    if (algorithm == BUCKET)
        return;
    take(s, 5, T0);
    if (s->kind == SUBJECT_ENGINE) /* a cell's word counts no further than its limit's bits */
        change(s, sample(algorithm, 1, 0), T0);
    change(s, sample(algorithm, 8, 0), T0);
    change(s, sample(algorithm, most, 0), T0);
    assert_int_equal(left(s, T0), 1);
}

static void a_window_keeps_its_count(void **state)
{
    (void)state;
    for_all_kinds(lower_and_raise);
}

static void go_idle(struct subject *s, enum algorithm algorithm)
{
    struct weir_result fresh;
    weir_ns later = T0 + 400 * WEIR_DAY;

    if (algorithm == PERMITS)
        return;
    change(s, sample(algorithm, 20, 1), later);
    fresh = subject_probe(s, later);
    assert_result(fresh, WEIR_ALLOWED, 0, 20, 0);
    change(s, sample(algorithm, 10, 0), later);
    assert_result(subject_probe(s, later), WEIR_ALLOWED, 0, 10, 0);
    change(s, sample(algorithm, 30, 2), later);
    assert_result(subject_probe(s, later), WEIR_ALLOWED, 0, 30, 0);
    if (s->kind == SUBJECT_CELL)
        assert_int_equal(s->cell.word, 0);
}

static void idle_at_a_change_is_never_used(void **state)
{
    (void)state;
    for_all_kinds(go_idle);
}

static void become_each(struct subject *s, enum algorithm algorithm)
{
    struct weir_reservation r = {0};

    for (size_t i = 0; i < SAMPLES; i++) {
        struct weir_policy policy = sample(samples[i], 10, 0);

        if (policy.kind == sample(algorithm, 10, 0).kind)
            continue;
        take(s, 1, T0);
        assert_int_equal(subject_reserve(s, 1, T0, 0, &r).verdict, WEIR_ALLOWED);
        change(s, policy, T0);
        assert_result(subject_probe(s, T0), WEIR_ALLOWED, 0, 10, 0);
        assert_int_equal(subject_cancel(s, &r, T0), 0);
        take(s, 10, T0);
        change(s, sample(algorithm, 10, 0), T0);
        assert_result(subject_probe(s, T0), WEIR_ALLOWED, 0, 10, 0);
    }
}

static void another_kind_starts_fresh(void **state)
{
    (void)state;
    for_all_kinds(become_each);
}

/* Also through "unlimited", and whatever form its policy has. */
static void become_unlimited(struct subject *s, enum algorithm algorithm)
{
    struct weir_policy policy = sample(algorithm, 10, 0);
    struct weir_reservation r;

    policy.limit = WEIR_UNLIMITED;
    change(s, policy, T0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(subject_reserve(s, 1000, T0 + i, WEIR_FOREVER, &r).verdict, WEIR_ALLOWED);
    assert_int_equal(left(s, T0), UINT64_MAX);
    change(s, sample(algorithm, 10, 0), T0);
    if (algorithm == PERMITS && s->kind == SUBJECT_ENGINE)
        assert_result(subject_probe(s, T0), WEIR_DENIED, WEIR_FOREVER, 0, WEIR_FOREVER);
    else if (algorithm != PERMITS)
        assert_result(subject_probe(s, T0), WEIR_ALLOWED, 0, 10, 0);
}

static void unlimited_in_between_starts_fresh(void **state)
{
    (void)state;
    for_all_kinds(become_unlimited);
}

static void permits_stay_in_use(void **state)
{
    struct weir_permit first, second, third;
    uint64_t in_use, limit;
    struct subject s;

    (void)state;
    open_at(&s, weir_concurrency(4));
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 2, &first).verdict, WEIR_ALLOWED);
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 2, &second).verdict, WEIR_ALLOWED);
    change(&s, weir_concurrency(3), T0);
    assert_int_equal(weir_in_use(s.engine, s.limit, s.key, &in_use, &limit), 0);
    assert_int_equal(in_use, 4);
    assert_int_equal(limit, 3);
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 1, &third).verdict, WEIR_DENIED);
    assert_int_equal(weir_release(s.engine, &first), 0);
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 1, &third).verdict, WEIR_ALLOWED);
    change(&s, weir_concurrency(0), T0);
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 1, &first).verdict, WEIR_NEVER);
    change(&s, weir_concurrency(WEIR_UNLIMITED), T0);
    assert_int_equal(weir_acquire(s.engine, s.limit, s.key, 100, &first).verdict, WEIR_ALLOWED);
    change(&s, weir_concurrency(5), T0);
    assert_int_equal(weir_in_use(s.engine, s.limit, s.key, &in_use, NULL), 0);
    assert_int_equal(in_use, 103);
    assert_int_equal(weir_release(s.engine, &first), 0);
    assert_int_equal(weir_release(s.engine, &third), 0);
    change(&s, weir_token_bucket(1, SEC, 5), T0);
    assert_int_equal(weir_release(s.engine, &second), -ENOENT);
    change(&s, weir_concurrency(5), T0); /* another one */
    assert_int_equal(weir_release(s.engine, &second), -ENOENT);
    assert_result(subject_probe(&s, T0), WEIR_ALLOWED, 0, 5, 0);
    subject_close(&s);
}

/* ---- equal settings ----------------------------------------------------------------------- */

/* One of two runs: the same calls, and in one of them the limit is set to what it is all the time.
   Words are the same, to the bit, at every step. */
static void run_with_and_without(enum algorithm home, struct test_random *random)
{
    struct world with = {.home = home}, without = {.home = home};
    struct one ones[2][KEYS];
    struct test_random seed = *random;
    uint64_t started = random->state;

    memset(ones, 0, sizeof ones);
    with.ones = ones[0];
    without.ones = ones[1];
    with.count = without.count = KEYS;
    open_engine_of(&with, random);
    open_engine_of(&without, &seed);
    for (int i = 0; i < 500; i++) {
        size_t k = (size_t)random_below(random, KEYS);
        weir_ns step = random_below(random, span_of(&with.rules.policy) / 4 + 2);
        struct test_random same = {random_u64(random)};

        with.at += step < WEIR_DAY ? step : WEIR_DAY;
        without.at = with.at;
        change_engine(&with, &with.rules.policy, with.at + random_below(random, 2) * WEIR_DAY);
        any_call(&with, &ones[0][k], &(struct test_random){same.state}, with.at);
        any_call(&without, &ones[1][k], &same, without.at);
        if (word_of(with.engine, with.limit, ones[0][k].key) !=
            word_of(without.engine, without.limit, ones[1][k].key))
            fail_msg("%s, seed %#llx, call %d: a word differs", names[home], (ull)started, i);
    }
    weir_close(with.engine);
    weir_close(without.engine);
}

/* B103 too: a limit that is written again and again is the limit that it was. */
static void k16_an_equal_setting_changes_nothing(void **state)
{
    struct test_random random = random_start("equal settings", 16200);

    (void)state;
    for (uint64_t i = 0; i < random_scaled(100); i++)
        run_with_and_without((enum algorithm)(i % FIXED), &random);
}

static void b103_a_limit_rewritten_admits_no_more(void **state)
{
    struct subject s;
    uint64_t admitted = 0;

    (void)state;
    open_at(&s, weir_token_bucket(100, SEC, 100));
    for (unsigned i = 0; i < 100; i++) { /* ten seconds, 101 tokens in the second of two policies */
        weir_ns now = T0 + i * (SEC / 10);

        change(&s, weir_token_bucket(100 + i % 2, SEC, 100), now);
        admitted += weir_take(s.engine, s.limit, s.key, 1000, now);
    }
    assert_in_range(admitted, 100 + 980, 100 + 1010);
    subject_close(&s);
}

/* ---- other faults of others --------------------------------------------------------------- */

/* B101: whatever it was changed to, it goes on. */
static void b101_a_limit_is_live_after_every_change(void **state)
{
    struct test_random random = random_start("b101", 101);

    (void)state;
    for (uint64_t i = 0; i < random_scaled(200); i++) {
        enum algorithm algorithm = samples[i % SAMPLES];
        weir_ns now = T0;
        struct subject s;

        open_at(&s, sample(algorithm, 5, 0));
        for (unsigned j = 0; j < 70; j++) {
            struct weir_policy policy = sample(algorithm, 1 + random_below(&random, 20),
                                               (unsigned)random_below(&random, 4));

            now += random_below(&random, WEIR_HOUR);
            (void)weir_take(s.engine, s.limit, s.key, random_below(&random, 10), now);
            change(&s, policy, now);
        }
        if (algorithm == PERMITS)
            (void)weir_refund(s.engine, s.limit, s.key, UINT64_MAX, now);
        change(&s, sample(algorithm, 7, 3), now);
        assert_result(subject_probe(&s, now + 70 * WEIR_DAY), WEIR_ALLOWED, 0, 7, 0);
        subject_close(&s);
    }
}

/* B104: an answer is of the old settings or of the new ones, and who waits gets by with the new. */
static void b104_no_answer_is_of_two_settings(void **state)
{
    struct subject s;

    (void)state;
    open_at(&s, weir_token_bucket(20, SEC, 20));
    change(&s, weir_token_bucket(10, SEC, 10), T0);
    assert_result(subject_peek(&s, 12, T0), WEIR_NEVER, WEIR_FOREVER, 10, 0);
    assert_result(subject_peek(&s, 0, T0), WEIR_ALLOWED, 0, 10, 0);
    take(&s, 10, T0);
    assert_result(subject_peek(&s, 10, T0), WEIR_DENIED, SEC, 0, SEC);
    change(&s, weir_token_bucket(1, WEIR_HOUR, 10), T0);
    assert_int_equal(subject_peek(&s, 1, T0).wait, WEIR_HOUR);
    change(&s, weir_token_bucket(100, SEC, 10), T0);
    assert_result(subject_peek(&s, 10, T0), WEIR_DENIED, SEC / 10, 0, SEC / 10);
    subject_close(&s);
}

/* B105: none is granted at zero, and a lowered limit comes to life again. */
static void b105_a_limit_of_zero_is_not_for_ever(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct subject s;

        open_at(&s, sample(samples[i], 2, 0));
        change(&s, sample(samples[i], 0, 0), T0);
        assert_int_equal(subject_decide(&s, 1, T0).verdict, WEIR_NEVER);
        change(&s, sample(samples[i], 1, 0), T0);
        assert_int_equal(subject_decide(&s, 1, T0 + WEIR_HOUR).verdict, WEIR_ALLOWED);
        subject_close(&s);
    }
}

/* B106: the refill survives the change. */
static void b106_a_changed_reservoir_is_refilled(void **state)
{
    struct subject s;
    uint64_t admitted = 0;

    (void)state;
    open_at(&s, refill(1, SEC, 5));
    take(&s, 1, T0);
    change(&s, refill(1, SEC, 6), T0);
    for (unsigned i = 0; i < 100; i++)
        admitted += subject_decide(&s, 1, T0 + i * (SEC / 10)).verdict == WEIR_ALLOWED;
    assert_in_range(admitted, 4 + 9, 4 + 10);
    subject_close(&s);
}

/* ---- what was reserved -------------------------------------------------------------------- */

/* Windows that were reserved ahead are ahead in another form, and closed until then. */
static void a_window_reserved_ahead_stays_ahead(void **state)
{
    static const enum algorithm forms[] = {FIRST_HIT, ALIGNED, CALENDAR};

    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        struct weir_policy from = sample(forms[i / 3], 5, i % 3 == i / 3);
        struct weir_reservation r;
        struct subject s;
        weir_ns wait, after;

        open_at(&s, from);
        for (unsigned j = 0; j < 4; j++)
            wait = subject_reserve(&s, 5, T0, WEIR_FOREVER, &r).wait;
        assert_true(wait > 0);
        change(&s, sample(forms[i % 3], 5, 0), T0);
        after = subject_probe(&s, T0).wait;
        if (after > wait || after + WEIR_DAY < wait || subject_decide(&s, 1, T0).wait < after)
            fail_msg("%s to %s: %llu ns ahead, and then %llu", names[forms[i / 3]],
                     names[forms[i % 3]], (ull)wait, (ull)after);
        assert_int_equal(subject_cancel(&s, &r, T0), 5);
        subject_close(&s);
    }
}

/* One change always, and nearly as many as there are generations where none of them sweeps. */
static void a_reservation_outlives_changes(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 70; before++) {
        unsigned after = before < 3 ? 28 : 1, i = 0;
        struct weir_reservation r;
        struct subject s;

        open_at(&s, weir_token_bucket(10, SEC, 100));
        take(&s, 100, T0);
        for (; i < before; i++)
            change(&s, weir_token_bucket(10, SEC, 101 + i % 2), T0);
        assert_int_equal(subject_reserve(&s, 5, T0, WEIR_FOREVER, &r).verdict, WEIR_ALLOWED);
        for (; i < before + after; i++)
            change(&s, weir_token_bucket(10, SEC, 101 + i % 2), T0);
        if (subject_cancel(&s, &r, T0) != 5)
            fail_msg("%u changes before it, and %u after it: lost", before, after);
        assert_result(subject_probe(&s, T0), WEIR_ALLOWED, 0, 0,
                      (100 + (i - 1) % 2 + 1) * SEC / 10);
        subject_close(&s);
    }
}

/* Where nothing is left of what it took, nothing is given back. */
static void a_reservation_in_a_window_that_has_ended_gives_back_nothing(void **state)
{
    struct weir_reservation r;
    struct subject s;

    (void)state;
    open_at(&s, weir_aligned_window(5, WEIR_HOUR, 0));
    take(&s, 5, T0);
    assert_true(subject_reserve(&s, 5, T0, WEIR_FOREVER, &r).wait > 0);
    change(&s, weir_aligned_window(5, WEIR_DAY, 0), T0);
    change(&s, weir_aligned_window(5, WEIR_SECOND, 0), T0 + SEC);
    change(&s, weir_aligned_window(6, WEIR_SECOND, 0), T0 + 3 * SEC);
    assert_result(subject_probe(&s, T0 + 3 * SEC), WEIR_ALLOWED, 0, 6, 0);
    assert_int_equal(subject_cancel(&s, &r, T0 + 3 * SEC), 0);
    subject_close(&s);
}

/* ---- clocks ------------------------------------------------------------------------------- */

/* Who has used nothing begins at the change by a clock that is behind it, and no earlier. */
static void a_clock_behind_the_change_is_at_the_change(void **state)
{
    weir_ns now = T0 + 400 * WEIR_DAY;

    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t taken = 0;
        struct subject s;

        if (samples[i] == PERMITS) /* they know no time */
            continue;
        open_at(&s, sample(samples[i], 5, 0));
        take(&s, 5, T0); /* idle at the change */
        change(&s, samples[i] == BUCKET ? weir_token_bucket(1, SEC, 5) : sample(samples[i], 5, 1),
               now);
        for (weir_ns back = 50 * SEC; back > 0; back -= SEC)
            taken += weir_take(s.engine, s.limit, s.key, 5, now - back);
        assert_int_equal(taken, 5);
        assert_int_equal(left(&s, now), 0);
        assert_int_equal(subject_decide(&s, 1, now).verdict, WEIR_DENIED);
        subject_close(&s);
    }
}

/* So does who is forgotten after it, whose word is of the new settings: also where a decision is
   not that of a plain bucket. */
static void k01_who_is_forgotten_begins_at_the_change(void **state)
{
    const struct weir_policy policies[] = {
        weir_token_bucket(1, SEC, 5),
        weir_token_bucket(999983, 1000000 * SEC, 5), /* has to be rounded */
        weir_refill_bucket(5, 5 * SEC, SEC),
    };
    weir_ns now = T0 + WEIR_DAY;

    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct weir_policy before = policies[i];
        uint64_t granted = 0;
        struct subject s;

        before.burst = 6;
        open_at(&s, before);
        change(&s, policies[i], now);
        assert_int_equal(weir_take(s.engine, s.limit, s.key, 5, now), 5);
        assert_int_equal(weir_forget(s.engine, s.limit, s.key), 0);
        for (weir_ns at = now - 50 * SEC; at <= now; at += SEC)
            while (weir_decide(s.engine, s.limit, s.key, 1, at).verdict == WEIR_ALLOWED)
                granted++;
        assert_int_equal(granted, 5);
        subject_close(&s);
    }
}

/* A change at an instant far in the future, by mistake: who had nothing against him has not. */
static void a_change_at_a_bogus_instant_locks_nobody_out(void **state)
{
    static const weir_ns ahead[] = {STALE_MAX + 1, WEIR_HOUR, 10 * WEIR_DAY, 50 * YEAR,
                                    UINT64_MAX - T0};

    (void)state;
    for (size_t i = 0; i < SAMPLES * 5; i++) {
        enum algorithm algorithm = samples[i / 5];
        struct subject s;
        weir_key unused;

        open_at(&s, sample(algorithm, 5, 0));
        unused = weir_key_u64(s.engine, 2);
        take(&s, 1, T0);
        change(&s, sample(algorithm, 4, 0), T0 + ahead[i % 5]);
        for (unsigned j = 0; j < 4; j++)
            assert_int_equal(weir_decide(s.engine, s.limit, unused, 1, T0 + j).verdict,
                             WEIR_ALLOWED);
        assert_int_equal(weir_decide(s.engine, s.limit, unused, 1, T0 + 4).verdict, WEIR_DENIED);
        change(&s, sample(algorithm, 5, 1), T0 + 5); /* at the instant of the one before */
        assert_int_equal(weir_decide(s.engine, s.limit, weir_key_u64(s.engine, 3), 5, T0 + 6).wait,
                         0);
        subject_close(&s);
    }
}

/* ---- cells -------------------------------------------------------------------------------- */

/* A meter's origin may be any instant up to the change: a window that began before it goes on. */
static void a_cell_keeps_a_window_older_than_its_meter(void **state)
{
    static const weir_ns before[] = {0, 1, SEC, 30 * SEC, WEIR_MINUTE, WEIR_HOUR};

    (void)state;
    for (size_t i = 0; i < SAMPLES * 6; i++) {
        struct weir_policy policy = sample(samples[i / 6], 10, 0);
        weir_ns now = UNIX_2024 + T0 + 20 * SEC;
        struct weir_cell cell = {0};
        struct weir_meter from, to;

        assert_int_equal(weir_meter_init(&from, &policy, UNIX_2024), 0);
        assert_int_equal(weir_cell_decide(&cell, &from, 7, UNIX_2024 + T0).remaining, 3);
        for (unsigned limit = 10; limit < 12; limit++) {
            struct weir_cell copy = cell;

            policy = sample(samples[i / 6], limit, 0);
            assert_int_equal(weir_meter_init(&to, &policy, now - before[i % 6]), 0);
            assert_int_equal(weir_cell_reprice(&copy, &from, &to, now), 0);
            if (weir_cell_decide(&copy, &to, 5, now).verdict != WEIR_DENIED)
                fail_msg("%s, limit %u, origin %llu before the change: forgotten",
                         names[samples[i / 6]], limit, (ull)before[i % 6]);
        }
    }
}

static void a_cell_is_repriced_only_between_meters(void **state)
{
    struct weir_policy policy = weir_token_bucket(1, SEC, 5);
    struct weir_cell cell = {0};
    struct weir_meter m;
    uint64_t word;

    (void)state;
    assert_int_equal(weir_meter_init(&m, &policy, 0), 0);
    assert_int_equal(weir_cell_decide(&cell, &m, 2, T0).verdict, WEIR_ALLOWED);
    word = cell.word;
    assert_int_equal(weir_cell_reprice(NULL, &m, &m, T0), -EINVAL);
    assert_int_equal(weir_cell_reprice(&cell, NULL, &m, T0), -EINVAL);
    assert_int_equal(weir_cell_reprice(&cell, &m, NULL, T0), -EINVAL);
    assert_int_equal(weir_cell_reprice(&cell, &m, &m, T0 + WEIR_DAY), 0);
    assert_int_equal(cell.word, word);
}

/* ---- what a change costs ------------------------------------------------------------------ */

static void assert_table_alike(const struct weir_stats *a, const struct weir_stats *b)
{
    assert_int_equal(a->keys, b->keys);
    assert_int_equal(a->arrays, b->arrays);
    assert_int_equal(a->growths, b->growths);
    assert_int_equal(a->compactions, b->compactions);
    assert_int_equal(a->shrinks, b->shrinks);
    assert_int_equal(a->moves, b->moves);
    assert_int_equal(a->dropped, b->dropped);
    assert_int_equal(a->helps, b->helps);
    assert_int_equal(a->longest_probe, b->longest_probe);
    assert_int_equal(a->longest_call, b->longest_call);
}

/* It leaves the table alone, however many keys there are: words stay those of older settings. */
static void a_change_is_o_1(void **state)
{
    enum { MANY = 20000, CHANGES = 20, PROBES = 50 };

    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct weir_stats before = {.size = sizeof before}, after = {.size = sizeof after};
        uint64_t words[PROBES];
        struct subject s;

        open_at(&s, sample(samples[i], 10, 0));
        for (uint64_t k = 0; k < MANY; k++)
            assert_true(weir_allow(s.engine, s.limit, weir_key_u64(s.engine, k), 4, T0));
        for (uint64_t k = 0; k < PROBES; k++)
            words[k] = word_of(s.engine, s.limit, weir_key_u64(s.engine, k));
        assert_int_equal(weir_stats(s.engine, &before), 0);
        for (unsigned c = 0; c < CHANGES; c++)
            change(&s, sample(samples[i], 9 - c % 3, c % 2), T0 + c);
        assert_int_equal(weir_stats(s.engine, &after), 0);
        assert_table_alike(&before, &after);
        for (uint64_t k = 0; k < PROBES; k++)
            assert_int_equal(word_of(s.engine, s.limit, weir_key_u64(s.engine, k)), words[k]);
        for (uint64_t k = 0; k < MANY; k++) { /* the last one left 7 or 8, of which 4 are taken */
            uint64_t remaining =
                weir_peek(s.engine, s.limit, weir_key_u64(s.engine, k), 0, T0 + CHANGES).remaining;

            if (remaining != (samples[i] == BUCKET ? 6 : 9 - (CHANGES - 1) % 3 - 4))
                fail_msg("%s, key %llu: %llu left", names[samples[i]], (ull)k, (ull)remaining);
        }
        subject_close(&s);
    }
}

/* What cannot be set changes nothing. */
static void a_refused_change_changes_nothing(void **state)
{
    struct weir_policy none = weir_fixed_window(5, 0), nowhere, fast, back;
    const struct weir_settings *last;
    struct subject s;

    (void)state;
    open_at(&s, weir_sliding_window(5, WEIR_MINUTE));
    take(&s, 2, T0);
    last = settings_of(s.engine, s.limit);
    nowhere = weir_calendar_window(5, WEIR_CALENDAR_DAY, "Nowhere/At_All");
    fast = weir_sliding_window(1048575, WEIR_MILLISECOND);
    assert_int_equal(weir_set_limit(s.engine, s.limit, &none, T0), -EINVAL);
    assert_int_equal(weir_set_limit(s.engine, s.limit, NULL, T0), -EINVAL);
    assert_int_equal(weir_set_limit(NULL, s.limit, &none, T0), -EINVAL);
    assert_int_equal(weir_set_limit(s.engine, s.limit, &nowhere, T0), -ENOENT);
    assert_int_equal(weir_set_limit(s.engine, s.limit, &fast, T0), -ERANGE);
    assert_int_equal(weir_set_limit(s.engine, s.limit + 1, &fast, T0), -ENOENT);
    assert_int_equal(weir_set_limit(s.engine, -1, &fast, T0), -ENOENT);
    assert_ptr_equal(settings_of(s.engine, s.limit), last);
    assert_int_equal(weir_get_limit(s.engine, s.limit, &back), 0);
    assert_int_equal(back.limit, 5);
    assert_int_equal(left(&s, T0), 3);
    subject_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_buckets_equal_the_model),
        cmocka_unit_test(changed_windows_from_the_first_hit_equal_the_model),
        cmocka_unit_test(changed_aligned_windows_equal_the_model),
        cmocka_unit_test(changed_calendar_windows_equal_the_model),
        cmocka_unit_test(changed_sliding_windows_equal_the_model),
        cmocka_unit_test(changed_permits_equal_the_model),
        cmocka_unit_test(changed_forms_equal_the_model),
        cmocka_unit_test(changed_kinds_equal_the_model),
        cmocka_unit_test(what_is_moved_between_changes_is_what_it_was),
        cmocka_unit_test(k16_a_lowered_balance_is_clamped),
        cmocka_unit_test(k16_a_raise_gives_nothing_at_once),
        cmocka_unit_test(k16_an_equal_setting_changes_nothing),
        cmocka_unit_test(a_window_keeps_its_count),
        cmocka_unit_test(idle_at_a_change_is_never_used),
        cmocka_unit_test(another_kind_starts_fresh),
        cmocka_unit_test(unlimited_in_between_starts_fresh),
        cmocka_unit_test(permits_stay_in_use),
        cmocka_unit_test(a_window_reserved_ahead_stays_ahead),
        cmocka_unit_test(a_reservation_outlives_changes),
        cmocka_unit_test(a_reservation_in_a_window_that_has_ended_gives_back_nothing),
        cmocka_unit_test(a_clock_behind_the_change_is_at_the_change),
        cmocka_unit_test(k01_who_is_forgotten_begins_at_the_change),
        cmocka_unit_test(a_change_at_a_bogus_instant_locks_nobody_out),
        cmocka_unit_test(a_cell_keeps_a_window_older_than_its_meter),
        cmocka_unit_test(a_cell_is_repriced_only_between_meters),
        cmocka_unit_test(a_change_is_o_1),
        cmocka_unit_test(a_refused_change_changes_nothing),
        cmocka_unit_test(b101_a_limit_is_live_after_every_change),
        cmocka_unit_test(b102_an_old_balance_does_not_survive),
        cmocka_unit_test(b103_a_limit_rewritten_admits_no_more),
        cmocka_unit_test(b104_no_answer_is_of_two_settings),
        cmocka_unit_test(b105_a_limit_of_zero_is_not_for_ever),
        cmocka_unit_test(b106_a_changed_reservoir_is_refilled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
