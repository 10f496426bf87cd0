/* SPDX-License-Identifier: MIT */
/*
 * Schedules of few calls, very many of them: two to four fibers with one to three calls each on a
 * small table, all drawn from a seed (schedule.h); after each run its answers are judged against
 * the sequential models (judge.h), the table is walked, and debts that nobody touched are counted.
 *
 * A run that fails prints how it is made again alone: a run depends on nothing but its own seed.
 *
 *   WEIR_SCHEDULE_RUNS   so many runs, over all mixes
 *   WEIR_TEST_SEED       the first one's seed; those after it follow by one
 */
#include "judge.h"
#include "schedule.h"
#include "stress.h"

#include "place.h"
#include "table/reclaim.h"

#define FIBERS        4
#define CALLS_MAX     3 /* of a fiber */
#define KEYS          3
#define FILLERS_MAX   200
#define POINTS_MAX    2000000
#define DEBT          3
#define BURST         2                 /* of keys that want the last places */
#define AHEAD_MAX     (2 * WEIR_SECOND) /* clocks, of the one that is behind most */
#define UNIX_2024     ((weir_ns)1704067200 * WEIR_SECOND)
#define RUNS          20000
#define RUNS_REPEATED 200

typedef unsigned long long ull;

/* ---- mixes ---- */

/* What a mix has besides. */
enum {
    GROWS = 1,    /* the table is about to grow, or does so */
    FULL = 2,     /* there are more keys than places */
    CHANGES = 4,  /* of settings */
    REMOVES = 8,  /* limits come and go */
    CLOCKS = 16,  /* clocks differ */
    BATCHES = 32, /* calls on several keys */
    SHARES = 64,  /* nothing but calls for the last places, by WEIR_FULL_SHARE */
};

enum kind {
    EXACT,
    ROUNDED,
    PACER,
    REFILL,
    NO_RATE,
    FIRST_HIT,
    ALIGNED,
    CALENDAR,
    SLIDING,
    PERMITS,
    KINDS,
    BUCKETS = FIRST_HIT /* those before it */
};

struct mix {
    const char *name;
    unsigned has;
};

static const struct mix mixes[] = {
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
#define MIXES (sizeof mixes / sizeof mixes[0])

/* After so many a mix has reached what it is named after. */
#define ENOUGH_RUNS 1000

/* ---- a run ---- */

struct run {
    uint64_t seed;
    const struct mix *mix;
    struct test_random random;
    struct weir *w;
    int limit, owed, gone; /* the one that is judged; fillers in debt, and idle ones */
    enum kind kind;
    struct weir_policy policy;
    weir_ns first, now, newest;
    bool anchored;
    weir_key keys[KEYS];
    uint64_t ids; /* of fillers, from it on */
    unsigned owing, idle;
    bool charged[FILLERS_MAX]; /* it had a place */
    struct record records[RECORDS_MAX];
    unsigned count;
    unsigned scripts[FIBERS + 1]; /* where the records of each fiber begin */
    unsigned fibers;
    unsigned holds;
    struct weir_reservation reservations[HOLDS_MAX];
    struct weir_permit permits[HOLDS_MAX];
    uint64_t stamp;
};

/* Over all runs of a mix. */
struct sums {
    uint64_t runs, points, switches, given_up;
    struct stress_counts counts;
};

static bool has(const struct run *r, unsigned what)
{
    return (r->mix->has & what) != 0;
}

static uint64_t dice(struct run *r, uint64_t sides)
{
    return random_below(&r->random, sides);
}

/* ---- engines, which are opened once ---- */

#define ENGINES 4
static const size_t max_keys[ENGINES] = {400, 12, 20, 13}; /* the others are for full tables */
#define SHARING 3                                          /* by WEIR_FULL_SHARE */
static struct weir *engines[ENGINES];

static weir_ns unix_time(void *context, weir_ns now)
{
    (void)context;
    return UNIX_2024 + now;
}

static weir_ns no_time(void *context)
{
    (void)context;
    return 0;
}

static int no_sleep(void *context, weir_ns instant)
{
    (void)context;
    (void)instant;
    return 0;
}

static struct weir *open_one(size_t keys, enum weir_when_full when_full)
{
    uint8_t secret[WEIR_SECRET_SIZE];
    struct test_random random = {keys};
    for (unsigned i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)random_u64(&random);
    const struct weir_options options = {.max_keys = keys,
                                         .max_limits = 3,
                                         .when_full = when_full,
                                         .stale_max = JUDGE_STALE_MAX,
                                         .clock = no_time,
                                         .sleep_until = no_sleep,
                                         .wall_clock = unix_time,
                                         .secret = secret};
    return open_engine(&options);
}

static int open_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ENGINES; i++)
        engines[i] = open_one(max_keys[i], i == SHARING ? WEIR_FULL_SHARE : WEIR_FULL_DENY);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ENGINES; i++)
        weir_close(engines[i]);
    return 0;
}

/* An engine as it was opened: opening one maps memory, which takes longer than all of a run. */
static void empty(struct weir *w)
{
    struct weir_table *t = &w->table;
    for (unsigned i = 0; i < w->max_limits; i++) {
        if (w->limits[i].used)
            assert_int_equal(weir_remove_limit(w, (int)i, 0), 0);
        w->limits[i].taken = 0;
        weir_store_relaxed(&w->limits[i].origins, 0);
    }
    assert_int_equal(t->shards, 1);
    uint64_t packed = weir_load_acquire(&t->words[0]);
    while (packed != 0) {
        struct weir_array *a = weir_packed_array(packed);
        packed = weir_load_acquire(&a->next);
        weir_retire(t, a);
    }
    weir_retire_wait(t);
    weir_store_relaxed(&t->retirements, 0);
    weir_store_relaxed(&t->words[0], 0);
    memset(t->shares, 0, sizeof *t->shares);
    memset(&t->counts, 0, sizeof t->counts);
    weir_store_relaxed(&t->unspent, t->max_keys);
    weir_store_relaxed(&w->origins, 0);
    weir_store_relaxed(&w->wall_version, 0);
    weir_store_relaxed(&w->wall_offset, 0);
    weir_store_relaxed(&w->wall_told, (uint64_t)INT64_MAX + 2 * WEIR_SECOND);
    weir_store_relaxed(&w->wall_newest, 0);
}

static bool is_empty(const struct weir *w)
{
    return weir_next_limit(w, -1) < 0;
}

/* ---- calls ---- */

static uint64_t filler_id(const struct run *r, unsigned i)
{
    return r->ids + i;
}

static void charge_filler(struct run *r, unsigned i)
{
    weir_key key = weir_key_u64(r->w, filler_id(r, i));
    assert_true(i < FILLERS_MAX);
    r->charged[i] = weir_charge(r->w, r->owed, key, DEBT, r->now) == DEBT;
}

/* As weir_trim, but it returns no memory, which takes system calls. */
static void trim(struct run *r, weir_ns now)
{
    if (has(r, CHANGES))
        weir_sweep_wait(r->w, 2);
    schedule_section_begin();
    weir_place_trim(r->w, 0, now);
    schedule_section_end();
}

static weir_key key_of(const struct run *r, const struct record *c)
{
    return r->keys[c->key < KEYS ? c->key : 0];
}

static void call_key(struct run *r, struct record *c)
{
    struct weir *w = r->w;
    weir_key key = key_of(r, c);
    switch (c->call) {
    case CALL_DECIDE:
        c->result = weir_decide(w, r->limit, key, c->n, c->now);
        break;
    case CALL_ALLOW:
        c->count = weir_allow(w, r->limit, key, c->n, c->now);
        break;
    case CALL_RESERVE:
        c->result =
            weir_reserve(w, r->limit, key, c->n, c->now, c->max_wait, &r->reservations[c->hold]);
        break;
    case CALL_CANCEL:
        c->count = weir_cancel(w, &r->reservations[c->hold], c->now);
        break;
    case CALL_TAKE:
        c->count = weir_take(w, r->limit, key, c->n, c->now);
        break;
    case CALL_CHARGE:
        c->count = weir_charge(w, r->limit, key, c->n, c->now);
        break;
    case CALL_REFUND:
        c->count = weir_refund(w, r->limit, key, c->n, c->now);
        break;
    case CALL_FORGET:
        c->count = (uint64_t)weir_forget(w, r->limit, key);
        break;
    case CALL_SET_BALANCE:
        c->count = (uint64_t)weir_set_balance(w, r->limit, key, c->n, c->now);
        break;
    case CALL_PEEK:
        c->result = weir_peek(w, r->limit, key, c->n, c->now);
        break;
    case CALL_ACQUIRE:
        c->result = weir_acquire(w, r->limit, key, c->n, &r->permits[c->hold]);
        break;
    case CALL_RELEASE:
        if (r->permits[c->hold].n == 0) /* of nothing: no call */
            c->key = NO_KEY;
        else
            c->count = (uint64_t)weir_release(w, &r->permits[c->hold]);
        break;
    default:
        break;
    }
}

static void call_limit(struct run *r, struct record *c)
{
    switch (c->call) {
    case CALL_CHANGE:
        c->count = (uint64_t)weir_set_limit(r->w, r->limit, &c->policy, c->now);
        break;
    case CALL_REMOVE:
        c->count = (uint64_t)weir_remove_limit(r->w, r->limit, c->now);
        break;
    case CALL_ADD:
        c->count = (uint64_t)weir_add_limit(r->w, "judged", &c->policy);
        break;
    case CALL_TRIM:
        trim(r, c->now);
        break;
    case CALL_FILL:
        charge_filler(r, (unsigned)c->n);
        break;
    default:
        call_key(r, c);
    }
}

/* Records that are one call. Returns how many. */
static unsigned call_several(struct run *r, struct record *c, unsigned left)
{
    struct weir_request requests[KEYS];
    struct weir_result results[KEYS];
    unsigned count = 0;
    for (; count < left && c[count].of_batch && count < c->max_wait; count++)
        requests[count] = (struct weir_request){r->limit, key_of(r, &c[count]), c[count].n};
    uint64_t begin = ++r->stamp;
    if (c->call == CALL_ALL) {
        int refused = weir_decide_all(r->w, requests, count, c->now, 0, results);
        for (unsigned i = count; i-- > 0;) {
            results[i] = results[0];
            results[i].verdict = refused < 0 ? WEIR_ALLOWED : WEIR_DENIED;
        }
    } else {
        weir_decide_batch(r->w, requests, results, count, c->now);
    }
    uint64_t end = ++r->stamp;
    for (unsigned i = 0; i < count; i++) {
        c[i].begin = begin;
        c[i].end = end;
        c[i].result = results[i];
    }
    return count;
}

static void make_call(struct run *r, struct record *c)
{
    c->begin = ++r->stamp;
    call_limit(r, c);
    c->end = ++r->stamp;
}

static void play(void *context, unsigned index)
{
    struct run *r = context;
    for (unsigned i = r->scripts[index]; i < r->scripts[index + 1];) {
        if (r->records[i].of_batch)
            i += call_several(r, &r->records[i], r->scripts[index + 1] - i);
        else
            make_call(r, &r->records[i++]);
    }
}

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

static struct record *add_record(struct run *r, enum call call, unsigned key, uint64_t n)
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

static void begin_run(struct run *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->seed = seed;
    r->mix = &mixes[seed % MIXES];
    r->random.state = seed;
    r->random.state = random_u64(&r->random);
    r->w = engines[has(r, SHARES) ? SHARING : has(r, FULL) ? 1 + dice(r, 2) : 0];
    if (!is_empty(r->w)) /* a run before it has failed */
        empty(r->w);
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

/* ---- after them ---- */

static void print_record(const struct record *c)
{
    char text[100] = "";
    if (c->call == CALL_CHANGE || c->call == CALL_ADD)
        (void)weir_policy_format(&c->policy, text, sizeof text);
    printf("#   [%llu, %llu] %s key %d n %llu now %llu wait %llu hold %u %s: %d %llu %llu %llu, "
           "%lld\n",
           (ull)c->begin, (ull)c->end, judge_name_of(c->call), (int)c->key, (ull)c->n, (ull)c->now,
           (ull)c->max_wait, c->hold, text, (int)c->result.verdict, (ull)c->result.wait,
           (ull)c->result.remaining, (ull)c->result.reset, (long long)c->count);
}

static void fail_run(const struct run *r, const char *what)
{
    char text[100] = "";
    (void)weir_policy_format(&r->policy, text, sizeof text);
    printf("# \"%s\", first at %llu\n", text, (ull)r->first);
    for (unsigned i = 0; i < r->count; i++)
        print_record(&r->records[i]);
    fail_msg("%s: %s; again: WEIR_TEST_SEED=%llu WEIR_SCHEDULE_RUNS=1", r->mix->name, what,
             (ull)r->seed);
}

static weir_ns first_now(const struct run *r)
{
    weir_ns first = r->now;
    for (unsigned i = 0; i < r->count; i++) {
        if (r->records[i].begin == 1 && r->records[i].key != NO_KEY)
            first = r->records[i].now;
    }
    return first;
}

static void set_laters(const struct run *r, struct judge *j)
{
    j->later[j->laters++] = r->now; /* of fillers */
    for (unsigned i = 0; i < r->count; i++) {
        unsigned k = 0;
        while (k < j->laters && j->later[k] != r->records[i].now)
            k++;
        if (k == j->laters && k < LATER_MAX)
            j->later[j->laters++] = r->records[i].now;
    }
}

static void judge_run(struct run *r, uint64_t *given_up)
{
    struct judge j;
    memset(&j, 0, sizeof j);
    j.records = r->records;
    j.may_refuse = has(r, FULL);
    rules_of_engine(&j.rules, &r->policy, JUDGE_STALE_MAX);
    j.rules.windows.wall = (model_int)UNIX_2024;
    rules_anchor(&j.rules, first_now(r));
    if (has(r, CLOCKS))
        set_laters(r, &j);
    for (unsigned key = 0; key < KEYS; key++) {
        struct record *c = add_record(r, CALL_PEEK, key, 1);
        c->now = has(r, CLOCKS) ? r->now + AHEAD_MAX : r->now;
        make_call(r, c);
    }
    j.count = r->count;
    for (unsigned key = 0; key < KEYS; key++) {
        if (!judge_acquits(&j, key, given_up))
            fail_run(r, key == 0 ? "the answers of key 0" : "the answers of a key");
    }
}

/* Each key that has a place is granted its burst, and all others together one burst. */
static void count_crowd(struct run *r)
{
    uint64_t granted = 0;
    uint64_t error;
    for (unsigned i = 0; i < r->count; i++)
        granted += r->records[i].count;
    for (unsigned key = 0; key < KEYS; key++) {
        while (weir_allow(r->w, r->limit, r->keys[key], 1, r->now))
            granted++;
    }
    uint64_t placed = weir_table_keys(&r->w->table, &error) - r->owing;
    if (granted != BURST * (placed + (placed < KEYS)))
        fail_run(r, "what was granted for the last places");
}

/* Who came first after a clock ahead had found others idle began at that clock. */
static void check_debts(const struct run *r)
{
    weir_ns ahead = has(r, CLOCKS) ? AHEAD_MAX : 0;
    for (unsigned i = 0; i < r->owing; i++) {
        weir_key key = weir_key_u64(r->w, filler_id(r, i));
        struct weir_result found = weir_peek(r->w, r->owed, key, 1, r->now);
        bool owes = found.reset >= DEBT * WEIR_DAY && found.reset <= DEBT * WEIR_DAY + ahead;
        if (owes != r->charged[i] || (!owes && !has(r, FULL)))
            fail_run(r, "the debt of a filler");
    }
}

static void play_all(struct run *r)
{
    schedule_seed(random_u64(&r->random));
    if (dice(r, 2) == 0)
        schedule_run(r->fibers, play, r);
    else
        schedule_run_by_priority(r->fibers, play, r, (unsigned)dice(r, SCHEDULE_CHANGES_MAX),
                                 (uint64_t)16 << dice(r, 7));
    if (schedule_is_stuck()) { /* with locks, perhaps: nothing goes on after that */
        fprintf(stderr, "ERROR: %s: a call does not end; again: WEIR_TEST_SEED=%llu %s\n",
                r->mix->name, (ull)r->seed, "WEIR_SCHEDULE_RUNS=1");
        exit(1);
    }
}

static struct schedule_trace make_run(struct run *r, uint64_t seed, struct sums *sums)
{
    uint64_t error;
    begin_run(r, seed);
    play_all(r);
    struct schedule_trace trace = schedule_trace();
    if (has(r, SHARES))
        count_crowd(r);
    else
        judge_run(r, &sums->given_up);
    check_debts(r);
    if (!stress_table_is_sound(r->w))
        fail_run(r, "the table is not sound");
    stress_count(&sums->counts, r->w);
    /* Who was stopped in a move with an older clock has put back what others left behind. */
    trim(r, r->now + AHEAD_MAX);
    check_debts(r);
    /* For each of the others one that claims a place in the moment in which the last is taken, and
       one that has been moved and not yet counted: engine/table/credit.h and move.h. */
    uint64_t keys = weir_table_keys(&r->w->table, &error);
    if (!stress_table_is_sound(r->w) || keys > r->w->table.max_keys + 2 * (r->fibers - 1))
        fail_run(r, "too many keys");
    sums->runs++;
    sums->points += trace.points;
    sums->switches += trace.switches;
    empty(r->w);
    return trace;
}

/* ---- tests ---- */

static uint64_t runs_wanted(void)
{
    const char *text = getenv("WEIR_SCHEDULE_RUNS");
    return text != NULL ? strtoull(text, NULL, 0) : random_scaled(RUNS);
}

/* Those of the seeds that are of a mix. */
static void run_mix(size_t mix)
{
    static struct run r;
    struct sums sums;
    memset(&sums, 0, sizeof sums);
    schedule_bound(POINTS_MAX);
    uint64_t first = random_start(mixes[mix].name, 1).state;
    uint64_t runs = runs_wanted();
    for (uint64_t i = (mix + MIXES - first % MIXES) % MIXES; i < runs; i += MIXES)
        make_run(&r, first + i, &sums);
    printf("# %s: %llu runs, %llu points, %llu switches, %llu given up\n", mixes[mix].name,
           (ull)sums.runs, (ull)sums.points, (ull)sums.switches, (ull)sums.given_up);
    if (sums.runs == 0)
        skip();
    assert_true(sums.given_up <= runs / 1000);
    unsigned wanted = (mixes[mix].has & GROWS) != 0 ? STRESS_GROWTHS | STRESS_MOVES : 0;
    wanted |= (mixes[mix].has & CLOCKS) != 0 ? STRESS_STALE_FRESH : 0;
    bool reached = stress_report(mixes[mix].name, &sums.counts, wanted);
    assert_true(reached || sums.runs < ENOUGH_RUNS);
}

static void s1_s2_s4_few_calls(void **state)
{
    (void)state;
    run_mix(0);
}

static void s3_s5_few_calls_and_growth(void **state)
{
    (void)state;
    run_mix(1);
}

static void s1_m1_few_calls_of_a_full_table(void **state)
{
    (void)state;
    run_mix(2);
}

static void s5_k16_few_calls_and_changes(void **state)
{
    (void)state;
    run_mix(3);
}

static void s5_k16_few_calls_and_changes_and_growth(void **state)
{
    (void)state;
    run_mix(4);
}

static void s1_o3_few_calls_and_removal(void **state)
{
    (void)state;
    run_mix(5);
}

static void s1_few_calls_by_other_clocks(void **state)
{
    (void)state;
    run_mix(6);
}

static void s1_s5_few_calls_by_other_clocks_and_growth(void **state)
{
    (void)state;
    run_mix(7);
}

static void s1_s2_s6_few_calls_on_several_keys(void **state)
{
    (void)state;
    run_mix(8);
}

static void s1_s2_s6_few_calls_on_several_keys_and_growth(void **state)
{
    (void)state;
    run_mix(9);
}

static void s1_s2_k26_few_calls_for_the_last_places(void **state)
{
    (void)state;
    run_mix(10);
}

/* What a seed says is all that there is: the same points, switches and answers each time. */
static void a_seed_says_all(void **state)
{
    static struct run once;
    static struct run again;
    struct sums sums;
    (void)state;
    memset(&sums, 0, sizeof sums);
    schedule_bound(POINTS_MAX);
    uint64_t first = random_start("again", 1).state;
    uint64_t runs = runs_wanted() < RUNS_REPEATED ? runs_wanted() : RUNS_REPEATED;
    for (uint64_t i = 0; i < runs; i++) {
        struct schedule_trace a = make_run(&once, first + i, &sums);
        make_run(&again, first + i + 1, &sums); /* something else in between */
        struct schedule_trace b = make_run(&again, first + i, &sums);
        if (a.hash != b.hash || a.points != b.points || a.switches != b.switches)
            fail_run(&once, "another one the second time");
        assert_int_equal(once.count, again.count);
        for (unsigned k = 0; k < once.count; k++) {
            assert_true(judge_is_same(&once.records[k].result, &again.records[k].result));
            assert_int_equal(once.records[k].count, again.records[k].count);
            assert_int_equal(once.records[k].end, again.records[k].end);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_s2_s4_few_calls),
        cmocka_unit_test(s3_s5_few_calls_and_growth),
        cmocka_unit_test(s1_m1_few_calls_of_a_full_table),
        cmocka_unit_test(s5_k16_few_calls_and_changes),
        cmocka_unit_test(s5_k16_few_calls_and_changes_and_growth),
        cmocka_unit_test(s1_o3_few_calls_and_removal),
        cmocka_unit_test(s1_few_calls_by_other_clocks),
        cmocka_unit_test(s1_s5_few_calls_by_other_clocks_and_growth),
        cmocka_unit_test(s1_s2_s6_few_calls_on_several_keys),
        cmocka_unit_test(s1_s2_s6_few_calls_on_several_keys_and_growth),
        cmocka_unit_test(s1_s2_k26_few_calls_for_the_last_places),
        cmocka_unit_test(a_seed_says_all),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
