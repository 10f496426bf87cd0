/* SPDX-License-Identifier: MIT */
/* Schedules of few calls: what is drawn from the seed of a run. */
#include "few_calls.h"

#define CALLS_MAX 3 /* of a fiber */

const struct mix mixes[MIXES] = {
    {"one table", 0},
    {"growth", GROWS},
    {"full", FULL},
    {"changes", CHANGES},
    {"changes and growth", CHANGES | GROWS},
    {"removal", CHANGES | REMOVES},
    {"clocks", CLOCKS},
    {"clocks and growth", CLOCKS | GROWS},
    {"batches", BATCHES},
    {"batches and growth", BATCHES | GROWS},
    {"last places", FULL | SHARES},
};

/* ---- what is drawn ---- */

static struct weir_policy policy_of(struct run *r, enum kind kind)
{
    uint64_t burst = 1 + dice(r, 4);
    struct weir_policy p;
    switch (kind) {
    case ROUNDED:
        return weir_token_bucket(17, WEIR_SECOND, burst);
    case PACER:
        return weir_pacer(10, WEIR_SECOND, burst - 1);
    case REFILL:
        p = weir_refill_bucket(5, WEIR_SECOND, 100 * WEIR_MILLISECOND);
        p.burst = burst;
        return p;
    case NO_RATE:
        return weir_token_bucket(0, WEIR_SECOND, burst);
    case FIRST_HIT:
        return weir_fixed_window(burst, WEIR_SECOND);
    case ALIGNED:
        return weir_aligned_window(burst, WEIR_MINUTE, 0);
    case CALENDAR:
        return weir_calendar_window(burst, WEIR_CALENDAR_DAY, NULL);
    case SLIDING:
        return weir_sliding_window(burst, 10 * WEIR_SECOND);
    case PERMITS:
        return weir_concurrency(burst);
    default:
        return weir_token_bucket(1, 100 * WEIR_MILLISECOND, burst);
    }
}

/* What takes the place of a policy: most often one of the same kind. */
static struct weir_policy changed_policy(struct run *r)
{
    uint64_t d = dice(r, 8);
    enum kind kind = r->kind;
    if (d == 0)
        kind = (enum kind)dice(r, KINDS);
    else if (d == 1 && kind < BUCKETS)
        kind = (enum kind)dice(r, BUCKETS);
    struct weir_policy p = policy_of(r, kind);
    if (d == 2 && kind != PERMITS)
        p = weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, 1);
    return p;
}

static weir_ns clock_of(struct run *r)
{
    static const weir_ns apart[] = {0, 0, 1, 100 * WEIR_MILLISECOND, AHEAD_MAX};
    if (!has(r, CLOCKS))
        return r->now;
    return r->now + apart[dice(r, sizeof apart / sizeof apart[0])];
}

struct record *add_record(struct run *r, enum call call, unsigned key, uint64_t n)
{
    assert_true(r->count < RECORDS_MAX);
    struct record *c = &r->records[r->count++];
    memset(c, 0, sizeof *c);
    c->call = call;
    c->key = key;
    c->n = n;
    c->now = r->now;
    return c;
}

/* A reservation and its end, or permits and theirs. */
static void draw_pair(struct run *r, unsigned key, weir_ns now)
{
    bool permits = r->kind == PERMITS && dice(r, 4) != 0;
    if (r->holds == HOLDS_MAX)
        return;
    unsigned hold = r->holds++;
    struct record *c = add_record(r, permits ? CALL_ACQUIRE : CALL_RESERVE, key, 1 + dice(r, 2));
    c->now = now;
    c->hold = hold;
    c->max_wait = dice(r, 2) * 200 * WEIR_MILLISECOND;
    if (dice(r, 3) == 0)
        return;
    c = add_record(r, permits ? CALL_RELEASE : CALL_CANCEL, key, 0);
    c->now = now;
    c->hold = hold;
}

static void draw_several(struct run *r, weir_ns now)
{
    enum call call = dice(r, 3) == 0 ? CALL_DECIDE : CALL_ALL;
    unsigned count = 2 + (unsigned)dice(r, KEYS - 1);
    unsigned key = (unsigned)dice(r, KEYS);
    for (unsigned i = 0; i < count; i++) {
        struct record *c = add_record(r, call, (key + i) % KEYS, 1 + dice(r, 2));
        c->now = now;
        c->of_batch = true;
        c->max_wait = count; /* of the call */
    }
}

static void draw_change(struct run *r, weir_ns now)
{
    enum call call = CALL_CHANGE;
    if (has(r, REMOVES) && dice(r, 2) == 0)
        call = dice(r, 2) == 0 ? CALL_REMOVE : CALL_ADD;
    struct record *c = add_record(r, call, EVERY_KEY, 0);
    c->now = now;
    c->policy = call == CALL_ADD ? policy_of(r, r->kind) : changed_policy(r);
}

/* In one of four calls something that the mix is about. */
static bool draw_special(struct run *r, weir_ns now)
{
    uint64_t d = dice(r, 8);
    if (d < 2 && has(r, CHANGES))
        draw_change(r, now);
    else if (d < 3 && has(r, BATCHES))
        draw_several(r, now);
    else if (d == 3 && has(r, GROWS | CLOCKS | REMOVES))
        add_record(r, CALL_TRIM, NO_KEY, 0)->now = now;
    else if ((d == 4 || d == 5) && has(r, GROWS | FULL))
        add_record(r, CALL_FILL, NO_KEY, r->owing++);
    else
        return false;
    return true;
}

static void draw_call(struct run *r)
{
    static const enum call calls[] = {CALL_DECIDE, CALL_DECIDE,     CALL_DECIDE, CALL_ALLOW,
                                      CALL_TAKE,   CALL_CHARGE,     CALL_REFUND, CALL_FORGET,
                                      CALL_PEEK,   CALL_SET_BALANCE};
    unsigned key = dice(r, 3) != 0 ? 0 : (unsigned)dice(r, KEYS);
    weir_ns now = clock_of(r);
    if (draw_special(r, now))
        return;
    uint64_t d = dice(r, 14);
    if (d >= sizeof calls / sizeof calls[0]) {
        /* What is given back may have been left behind: not known to be more than what is there. */
        if (!has(r, CLOCKS))
            draw_pair(r, key, now);
        else
            add_record(r, CALL_DECIDE, key, 1)->now = now;
        return;
    }
    enum call call = calls[d];
    if (has(r, CLOCKS) && (call == CALL_FORGET || call == CALL_REFUND))
        call = CALL_DECIDE;
    add_record(r, call, key, dice(r, 16) == 0 ? dice(r, 7) : 1 + dice(r, 2))->now = now;
}

/* ---- before the fibers ---- */

static void fill_one(struct run *r)
{
    if (dice(r, 2) == 0) {
        charge_filler(r, r->owing++);
        return;
    }
    weir_key key = weir_key_u64(r->w, ~filler_id(r, r->idle++));
    (void)weir_charge(r->w, r->gone, key, 1, r->now - WEIR_SECOND);
}

/* To a few keys before the table grows, or until it does. */
static void fill(struct run *r)
{
    static const unsigned nearly[] = {12, 12, 12, 12, 36, 84};
    unsigned keys = nearly[dice(r, 6)];
    bool moves = keys == 84 && dice(r, 2) == 0;
    if (has(r, FULL))
        keys = (unsigned)r->w->table.max_keys - 2;
    keys += (unsigned)dice(r, 4);
    for (unsigned i = 0; i < keys; i++)
        fill_one(r);
    while (moves && r->owing + r->idle < FILLERS_MAX &&
           (weir_load_acquire(&r->w->table.words[0]) & WEIR_ARRAY_MOVING) == 0)
        fill_one(r);
}

static struct record *draw_use(struct run *r, enum call call, unsigned key, weir_ns now)
{
    struct record *c = add_record(r, call, key, 1 + dice(r, 3));
    c->now = now;
    return c;
}

/* Keys that are idle, in use, or in debt when the fibers begin. */
static void use_keys(struct run *r)
{
    unsigned how[KEYS];
    for (unsigned key = 0; key < KEYS; key++) {
        how[key] = (unsigned)dice(r, 4);
        if (how[key] == 1)
            make_call(r, draw_use(r, CALL_DECIDE, key, r->first));
    }
    if (r->count == 0 && has(r, CLOCKS)) /* the limit has an origin */
        make_call(r, draw_use(r, CALL_DECIDE, 0, r->first));
    for (unsigned key = 0; key < KEYS; key++) {
        if (how[key] >= 2)
            make_call(r, draw_use(r, how[key] == 2 ? CALL_DECIDE : CALL_CHARGE, key, r->now));
    }
}

/* Nearly all places are taken, for good; three keys are asked for one token at a time. Up to three
   places are left: then nobody has to share. */
static void draw_crowd(struct run *r)
{
    unsigned places = (unsigned)dice(r, KEYS + 1);
    while (r->owing < r->w->table.max_keys - places)
        charge_filler(r, r->owing++);
    for (unsigned i = 0; i < r->fibers; i++) {
        r->scripts[i] = r->count;
        for (unsigned calls = 1 + (unsigned)dice(r, CALLS_MAX); calls > 0; calls--)
            add_record(r, CALL_ALLOW, (unsigned)dice(r, KEYS), 1);
    }
}

static void draw_calls(struct run *r)
{
    if (dice(r, 2) == 0)
        use_keys(r);
    if (has(r, GROWS | FULL))
        fill(r);
    if (r->stamp == 0)
        use_keys(r);
    for (unsigned i = 0; i < r->fibers; i++) {
        r->scripts[i] = r->count;
        for (unsigned calls = 1 + (unsigned)dice(r, CALLS_MAX); calls > 0; calls--)
            draw_call(r);
    }
}

void begin_run(struct run *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->seed = seed;
    r->mix = &mixes[seed % MIXES];
    r->random.state = seed;
    r->random.state = random_u64(&r->random);
    r->w = engine_for(r);
    r->now = 1000 * WEIR_HOUR + dice(r, WEIR_MINUTE);
    r->first = r->now - (has(r, CLOCKS) ? 300 * WEIR_MILLISECOND : 50 * WEIR_HOUR);
    r->kind = (enum kind)dice(r, has(r, CLOCKS) ? BUCKETS : KINDS);
    r->policy = has(r, SHARES) ? weir_token_bucket(1, WEIR_HOUR, BURST) : policy_of(r, r->kind);
    r->limit = add_limit(r->w, "judged", r->policy);
    r->owed = add_limit(r->w, "owed", weir_token_bucket(1, WEIR_DAY, 1));
    r->gone = add_limit(r->w, "gone", weir_token_bucket(1, WEIR_MILLISECOND, 1));
    r->ids = random_u64(&r->random) >> 1;
    /* A thread's first call on another engine than its last goes another way: to its counters. */
    bool none_in_debt = weir_allow(r->w, r->owed, weir_key_u64(r->w, r->ids), 0, r->now);
    assert_true(none_in_debt);
    for (unsigned i = 0; i < KEYS; i++)
        r->keys[i] = weir_key_u64(r->w, r->ids - 1 - i);
    r->fibers = 2 + (unsigned)dice(r, FIBERS - 1);
    if (has(r, SHARES))
        draw_crowd(r);
    else
        draw_calls(r);
    r->scripts[r->fibers] = r->count;
}
