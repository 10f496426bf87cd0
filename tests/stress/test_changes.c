/* SPDX-License-Identifier: MIT */
/*
 * K16: limits that change beside decisions. A change mints nothing and loses nothing, each decision
 * uses the settings before or those after it, whole, and keys that nobody touches come through
 * hundreds of changes as those that are touched after each.
 */
#include "stress.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS 8
#define KEYS    4
#define SEC     WEIR_SECOND
#define T0      ((weir_ns)1000 * WEIR_HOUR + 1414213562) /* some way into every window */
#define PERIOD  (100 * SEC)

typedef unsigned long long ull;

enum kind { BUCKET, REFILL, FIRST_HIT, ALIGNED, CALENDAR, SLIDING, PERMITS, KINDS };

static const char *const names[KINDS] = {"bucket",         "refill bucket",   "first hit",
                                         "aligned window", "calendar window", "sliding window",
                                         "permits"};

/* So much at a time, and otherwise different: rates of the exact and of the rounded form, ticks,
   periods, units. */
static struct weir_policy policy_of(unsigned kind, uint64_t capacity, unsigned variant)
{
    static const uint64_t rates[] = {1, 3, 17, 1000};
    struct weir_policy policy;
    weir_ns period = PERIOD + variant % 3 * WEIR_HOUR;
    switch (kind) {
    case BUCKET:
        return weir_token_bucket(rates[variant % 4], variant % 3 == 0 ? SEC : WEIR_MINUTE,
                                 capacity);
    case REFILL:
        policy = weir_refill_bucket(rates[variant % 4], SEC, SEC / (1 + variant % 5));
        policy.burst = capacity;
        return policy;
    case FIRST_HIT:
        return weir_fixed_window(capacity, period);
    case ALIGNED:
        return weir_aligned_window(capacity, period, 3);
    case CALENDAR:
        return weir_calendar_window(capacity, (enum weir_calendar)(WEIR_CALENDAR_DAY + variant % 3),
                                    "UTC");
    case SLIDING:
        return weir_sliding_window(capacity, PERIOD);
    default:
        return weir_concurrency(capacity);
    }
}

static weir_ns wall_clock(void *context, weir_ns now)
{
    (void)context;
    return now;
}

static struct weir *open_for(size_t max_keys, struct weir_policy policy, int *limit)
{
    const struct weir_options options = {
        .max_keys = max_keys, .max_limits = 4, .stale_max = WEIR_MINUTE, .wall_clock = wall_clock};
    struct weir *w = open_engine(&options);
    *limit = add_limit(w, "a", policy);
    return w;
}

static void expect(struct weir_atomic_u64 *wrong, bool holds)
{
    if (!holds)
        weir_add_relaxed(wrong, 1);
}

static bool set(struct weir *w, int limit, struct weir_policy policy, weir_ns now)
{
    return weir_set_limit(w, limit, &policy, now) == 0;
}

static void assert_same(struct weir_result a, struct weir_result b)
{
    assert_int_equal(a.verdict, b.verdict);
    assert_int_equal(a.wait, b.wait);
    assert_int_equal(a.remaining, b.remaining);
    assert_int_equal(a.reset, b.reset);
}

/* ---- a run: the first threads change the limit, the others take ---- */

#define START 40 /* tokens, below every capacity */
#define LEAST 50
#define MOST  100

struct run {
    unsigned kind;
    struct weir *w;
    int limit;
    unsigned setters, changes;
    uint64_t seed;
    struct weir_atomic_u64 over; /* setters that have made all changes */
    struct weir_atomic_u64 taken[KEYS], given[KEYS];
    struct weir_atomic_u64 wrong, calls;
};

static void start_run(struct run *r, unsigned kind, unsigned setters, uint64_t seed)
{
    *r = (struct run){.kind = kind, .setters = setters, .seed = seed};
    r->changes = (unsigned)random_scaled(400);
    r->w = open_for(1024, policy_of(kind, MOST, 0), &r->limit);
    for (unsigned k = 0; k < KEYS; k++) {
        weir_key key = weir_key_u64(r->w, k);
        assert_int_equal(weir_set_balance(r->w, r->limit, key, START, T0), 0);
    }
}

static void end_run(struct run *r)
{
    if (weir_load_relaxed(&r->wrong) != 0)
        fail_msg("%s, %u who change it, seed %llu: %llu wrong", names[r->kind], r->setters,
                 (ull)r->seed, (ull)weir_load_relaxed(&r->wrong));
    assert_true(weir_load_relaxed(&r->calls) > 0);
    assert_true(stress_table_is_sound(r->w));
    weir_close(r->w);
}

static bool is_over(const struct run *r)
{
    return weir_load_relaxed(&r->over) == r->setters;
}

/* Waits until so many calls have been made for each change so far: they meet, whoever runs when. */
static void pace(const struct weir_atomic_u64 *calls, unsigned changes)
{
    while (weir_load_relaxed(calls) < 10 * (uint64_t)changes)
        sched_yield();
}

/* A reservation that is cancelled, perhaps after a change. Windows and permits give all of it back,
   buckets what nobody has queued behind; nothing, if the limit has forgotten the settings. */
static void reserve_and_cancel(struct run *r, unsigned k, uint64_t n, bool waits)
{
    struct weir_reservation held;
    weir_key key = weir_key_u64(r->w, k);
    if (weir_reserve(r->w, r->limit, key, n, T0, 0, &held).verdict != WEIR_ALLOWED)
        return;
    weir_add_relaxed(&r->taken[k], n);
    if (waits)
        sched_yield();
    uint64_t given = weir_cancel(r->w, &held, T0);
    expect(&r->wrong, given == n || given == 0 || (r->kind <= REFILL && given < n));
    weir_add_relaxed(&r->given[k], given);
}

/* A call, and mostly what it took is given back. */
static void take_and_give(struct run *r, uint64_t dice)
{
    unsigned k = (unsigned)(dice % KEYS);
    uint64_t n = 1 + (dice >> 8) % 3;
    weir_key key = weir_key_u64(r->w, k);
    weir_add_relaxed(&r->calls, 1);
    if ((dice >> 24) % 4 == 0) {
        reserve_and_cancel(r, k, n, (dice >> 32) % 2 == 0);
        return;
    }
    struct weir_result result = weir_decide(r->w, r->limit, key, n, T0);
    expect(&r->wrong, result.verdict == WEIR_ALLOWED || result.verdict == WEIR_DENIED);
    if (result.verdict != WEIR_ALLOWED) {
        sched_yield();
        return;
    }
    weir_add_relaxed(&r->taken[k], n);
    if ((dice >> 16) % 16 != 0)
        weir_add_relaxed(&r->given[k], weir_refund(r->w, r->limit, key, n, T0));
}

static void change_or_take(void *context, unsigned index)
{
    struct run *r = context;
    struct test_random random = {r->seed + index};
    for (unsigned i = 0; index < r->setters && i < r->changes; i++) {
        uint64_t capacity = LEAST + random_below(&random, MOST - LEAST + 1);
        unsigned variant = (unsigned)random_below(&random, 12);
        expect(&r->wrong, set(r->w, r->limit, policy_of(r->kind, capacity, variant), T0));
        pace(&r->calls, i);
    }
    if (index < r->setters)
        weir_add_relaxed(&r->over, 1);
    while (index >= r->setters && !is_over(r))
        take_and_give(r, random_u64(&random));
}

/*
 * At one instant, and below every capacity: buckets keep their balance, windows their count, and
 * permits are in use, whoever changes the limit how often.
 */
static void k16_changes_mint_nothing_and_lose_nothing(void **state)
{
    (void)state;
    uint64_t seed = random_start("changes at one instant", 1100).state;
    for (unsigned i = 0; i < 2 * KINDS; i++) {
        struct run r;
        struct weir_policy last;
        start_run(&r, i % KINDS, 1 + i / KINDS, seed + i * THREADS);
        run_crew(THREADS, change_or_take, &r);
        assert_int_equal(weir_get_limit(r.w, r.limit, &last), 0);
        uint64_t capacity = r.kind <= REFILL ? last.burst : last.limit;
        for (unsigned k = 0; k < KEYS; k++) {
            weir_key key = weir_key_u64(r.w, k);
            uint64_t out = weir_load_relaxed(&r.taken[k]) - weir_load_relaxed(&r.given[k]);
            uint64_t left = weir_peek(r.w, r.limit, key, 1, T0).remaining;
            uint64_t want = r.kind <= REFILL                ? START - out
                            : MOST - START + out < capacity ? capacity - (MOST - START + out)
                                                            : 0;
            if (left != want)
                fail_msg("%s: %llu left, not %llu", names[r.kind], (ull)left, (ull)want);
        }
        end_run(&r);
    }
}

/* However many changes came before: what was reserved just before one comes back after it. */
static void k11_k16_a_reservation_outlives_a_change(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        int limit;
        struct weir *w = open_for(8, policy_of(kind, MOST, 0), &limit);
        weir_key key = weir_key_u64(w, 1);
        /* with every capacity there is room, and no bucket is full */
        assert_int_equal(weir_set_balance(w, limit, key, kind <= REFILL ? START : MOST - 10, T0),
                         0);
        for (unsigned i = 1; i < 80; i++) {
            struct weir_reservation first, second;
            uint64_t capacity = LEAST + i % (MOST - LEAST);
            struct weir_result result = weir_reserve(w, limit, key, 3, T0, 0, &first);
            assert_int_equal(result.verdict, WEIR_ALLOWED);
            assert_true(set(w, limit, policy_of(kind, capacity, i), T0));
            uint64_t left = weir_peek(w, limit, key, 1, T0).remaining;
            result = weir_reserve(w, limit, key, 2, T0, 0, &second);
            assert_int_equal(result.verdict, WEIR_ALLOWED);
            assert_int_equal(weir_cancel(w, &second, T0), 2);
            assert_int_equal(weir_cancel(w, &first, T0), 3);
            assert_int_equal(weir_cancel(w, &first, T0), 0);
            assert_int_equal(weir_peek(w, limit, key, 1, T0).remaining, left + 3);
        }
        weir_close(w);
    }
}

/* ---- what is in force ---- */

/* A limit that one thread changes; odd while it does. Between two equal even numbers nothing has
   changed. */
struct force {
    _Atomic uint64_t number;
    _Atomic uint64_t capacity;
};

static void change_in_force(struct run *r, struct force *f, uint64_t capacity, unsigned variant)
{
    atomic_fetch_add(&f->number, 1);
    expect(&r->wrong, set(r->w, r->limit, policy_of(r->kind, capacity, variant), T0));
    f->capacity = capacity;
    atomic_fetch_add(&f->number, 1);
}

struct forced_run {
    struct run r;
    struct force force;
    _Atomic uint64_t held;
    struct weir_atomic_u64 told; /* calls while nothing has changed */
};

static void check_capacity(struct forced_run *f, uint64_t dice)
{
    struct run *r = &f->r;
    weir_key key = weir_key_u64(r->w, dice % KEYS);
    uint64_t number = f->force.number;
    uint64_t capacity = f->force.capacity;
    struct weir_result result = weir_decide(r->w, r->limit, key, (dice >> 8) % 4, T0);
    bool same = number % 2 == 0 && f->force.number == number;
    expect(&r->wrong, result.remaining <= (same ? capacity : MOST));
    expect(&r->wrong, result.verdict != WEIR_INVALID && result.verdict != WEIR_NEVER);
    if ((dice >> 16) % 4 == 0)
        weir_refund(r->w, r->limit, key, (dice >> 24) % 8, T0);
    weir_add_relaxed(&f->told, same);
    weir_add_relaxed(&r->calls, 1);
}

static void change_or_check(void *context, unsigned index)
{
    struct forced_run *f = context;
    struct run *r = &f->r;
    struct test_random random = {r->seed + index};
    for (unsigned i = 0; index == 0 && i < r->changes; i++) {
        uint64_t dice = random_u64(&random);
        change_in_force(r, &f->force, 5 + dice % (MOST - 4), (unsigned)(dice >> 8) % 12);
        pace(&f->told, i);
    }
    if (index == 0)
        weir_add_relaxed(&r->over, 1);
    while (index != 0 && !is_over(r))
        check_capacity(f, random_u64(&random));
}

/* Once a lower capacity is in force, nobody finds more than that. */
static void k16_no_more_than_the_newest_capacity(void **state)
{
    (void)state;
    uint64_t seed = random_start("capacities in force", 1200).state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        static struct forced_run f;
        memset(&f, 0, sizeof f);
        start_run(&f.r, kind, 1, seed + kind * THREADS);
        f.force.capacity = MOST;
        run_crew(THREADS, change_or_check, &f);
        assert_true(weir_load_relaxed(&f.told) > 0);
        end_run(&f.r);
    }
}

/* Two settings between which nothing is alike: every answer is one of either. */
static bool is_of(struct weir_result result, uint64_t n, uint64_t burst, weir_ns per_token)
{
    uint64_t left = result.remaining;
    weir_ns wait = result.verdict == WEIR_NEVER    ? WEIR_FOREVER
                   : result.verdict == WEIR_DENIED ? (n - left) * per_token
                                                   : 0;
    return left <= burst && result.reset == (burst - left) * per_token && result.wait == wait &&
           (result.verdict == WEIR_NEVER) == (n > burst) &&
           (result.verdict != WEIR_DENIED || left < n);
}

static void take_whole(void *context, unsigned index)
{
    struct run *r = context;
    struct test_random random = {r->seed + index};
    for (unsigned i = 0; index == 0 && i < r->changes; i++) {
        struct weir_policy policy =
            i % 2 == 0 ? weir_token_bucket(1, WEIR_MINUTE, 20) : weir_token_bucket(1, SEC, 10);
        expect(&r->wrong, set(r->w, r->limit, policy, T0));
        pace(&r->calls, i);
    }
    if (index == 0)
        weir_add_relaxed(&r->over, 1);
    while (index != 0 && !is_over(r)) {
        uint64_t n = random_below(&random, 2) == 0 ? 15 : 1;
        weir_key key = weir_key_u64(r->w, random_below(&random, KEYS));
        struct weir_result result = weir_decide(r->w, r->limit, key, n, T0);
        expect(&r->wrong, is_of(result, n, 10, SEC) || is_of(result, n, 20, WEIR_MINUTE));
        weir_refund(r->w, r->limit, key, random_below(&random, 12), T0);
        weir_add_relaxed(&r->calls, 1);
    }
}

static void k16_a_decision_uses_one_snapshot(void **state)
{
    (void)state;
    struct run r;
    start_run(&r, BUCKET, 1, random_start("snapshots", 1300).state);
    r.changes = (unsigned)random_scaled(2000);
    assert_true(set(r.w, r.limit, weir_token_bucket(1, SEC, 10), T0));
    run_crew(THREADS, take_whole, &r);
    end_run(&r);
}

/* ---- permits ---- */

static void hold_permit(struct forced_run *f, uint64_t dice)
{
    struct run *r = &f->r;
    weir_key key = weir_key_u64(r->w, KEYS); /* never used before */
    uint64_t n = 1 + dice % 3;
    struct weir_permit permit;
    uint64_t number = f->force.number;
    uint64_t capacity = f->force.capacity;
    struct weir_result result = weir_acquire(r->w, r->limit, key, n, &permit);
    weir_add_relaxed(&r->calls, 1);
    if (result.verdict != WEIR_ALLOWED) {
        sched_yield();
        return;
    }
    /* counted when it is in use already, and no longer when it still is */
    uint64_t held = atomic_fetch_add(&f->held, n) + n;
    bool same = number % 2 == 0 && f->force.number == number;
    expect(&r->wrong, held <= (same ? capacity : 12));
    expect(&r->wrong, !same || result.remaining + n <= capacity);
    weir_add_relaxed(&f->told, same);
    if (dice % 5 == 0)
        sched_yield();
    atomic_fetch_sub(&f->held, n);
    expect(&r->wrong, weir_release(r->w, &permit) == 0);
}

static void change_or_hold(void *context, unsigned index)
{
    struct forced_run *f = context;
    struct run *r = &f->r;
    struct test_random random = {r->seed + index};
    for (unsigned i = 0; index == 0 && i < r->changes; i++) {
        change_in_force(r, &f->force, 3 + random_below(&random, 10), 0);
        pace(&f->told, i);
    }
    if (index == 0)
        weir_add_relaxed(&r->over, 1);
    while (index != 0 && !is_over(r))
        hold_permit(f, random_u64(&random));
}

static void k13_k16_permits_under_a_limit_that_changes(void **state)
{
    (void)state;
    static struct forced_run f;
    uint64_t in_use;
    memset(&f, 0, sizeof f);
    start_run(&f.r, PERMITS, 1, random_start("permits in force", 1400).state);
    f.r.changes = (unsigned)random_scaled(2000);
    change_in_force(&f.r, &f.force, 12, 0);
    stress_run(THREADS, change_or_hold, &f);
    assert_true(weir_load_relaxed(&f.told) > 0);
    assert_int_equal(weir_in_use(f.r.w, f.r.limit, weir_key_u64(f.r.w, KEYS), &in_use, NULL), 0);
    assert_int_equal(in_use, 0);
    end_run(&f.r);
}

static void k13_k16_a_lower_limit_waits_for_what_is_in_use(void **state)
{
    (void)state;
    int limit;
    struct weir_permit held[8], more;
    struct weir *w = open_for(8, weir_concurrency(8), &limit);
    weir_key key = weir_key_u64(w, 1);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(weir_acquire(w, limit, key, 1, &held[i]).verdict, WEIR_ALLOWED);
    assert_true(set(w, limit, weir_concurrency(3), T0));
    for (unsigned i = 0; i < 8; i++) {
        uint64_t in_use, most;
        assert_int_equal(weir_in_use(w, limit, key, &in_use, &most), 0);
        assert_int_equal(in_use, 8 - i);
        assert_int_equal(most, 3);
        struct weir_result result = weir_acquire(w, limit, key, 1, &more);
        assert_int_equal(result.verdict, 8 - i < 3 ? WEIR_ALLOWED : WEIR_DENIED);
        assert_int_equal(result.remaining, 8 - i < 3 ? 2 - (8 - i) : 0);
        if (result.verdict == WEIR_ALLOWED)
            assert_int_equal(weir_release(w, &more), 0);
        assert_int_equal(weir_release(w, &held[i]), 0);
    }
    weir_close(w);
}

/* ---- many changes, many keys ---- */

#define OWNERS    (THREADS - 1) /* each with keys of its own */
#define NEW_KEYS  40            /* of an owner, in a phase */
#define PER_PHASE 3             /* changes */
#define DEBT      50000         /* tokens: nobody is out of debt before the end */

struct many {
    struct weir *w;
    int limit;
    unsigned phases;
    uint64_t seed;
    pthread_barrier_t barrier;
    struct weir_atomic_u64 wrong;
};

static struct weir_policy policy_in_phase(const struct many *m, unsigned phase, unsigned i)
{
    struct test_random random = {m->seed + phase * PER_PHASE + i};
    uint64_t dice = random_u64(&random);
    return policy_of(BUCKET, LEAST + dice % 100, (unsigned)(dice >> 8) % 12 & ~3U);
}

static weir_key key_of_owner(const struct many *m, unsigned owner, unsigned number)
{
    return weir_key_u64(m->w, (uint64_t)owner << 32 | number);
}

/* New keys begin with a debt; of the older ones some are touched. */
static void touch_keys(struct many *m, unsigned owner, unsigned phase)
{
    struct test_random random = {m->seed + 1000003 * owner + phase};
    weir_ns now = T0 + phase * SEC;
    for (unsigned i = 0; i < NEW_KEYS; i++) {
        weir_key key = key_of_owner(m, owner, phase * NEW_KEYS + i);
        uint64_t n = DEBT + random_below(&random, 1000);
        expect(&m->wrong, weir_set_balance(m->w, m->limit, key, 0, now) == 0);
        expect(&m->wrong, weir_charge(m->w, m->limit, key, n, now) == n);
    }
    for (unsigned i = 0; i < NEW_KEYS; i++) {
        /* every fourth key is left alone */
        unsigned number = (unsigned)random_below(&random, (phase + 1) * NEW_KEYS) | 1;
        uint64_t n = 1 + random_below(&random, 9);
        weir_key key = key_of_owner(m, owner, number - (number % 4 == 1));
        expect(&m->wrong, weir_charge(m->w, m->limit, key, n, now) == n);
    }
}

static void change_in_phase(struct many *m, unsigned phase)
{
    for (unsigned i = 0; i < PER_PHASE; i++)
        expect(&m->wrong, set(m->w, m->limit, policy_in_phase(m, phase, i), T0 + phase * SEC));
}

static void change_or_touch(void *context, unsigned index)
{
    struct many *m = context;
    for (unsigned phase = 0; phase < m->phases; phase++) {
        pthread_barrier_wait(&m->barrier);
        if (index == OWNERS)
            change_in_phase(m, phase);
        else
            touch_keys(m, index, phase);
    }
}

static void open_many(struct many *m, unsigned phases, uint64_t seed)
{
    *m = (struct many){.phases = phases, .seed = seed};
    m->w = open_for((size_t)2 * OWNERS * NEW_KEYS * phases, policy_in_phase(m, 0, 0), &m->limit);
}

/* Changes and touches at one instant may come in any order: the twin makes the changes first. */
static void k16_hundreds_of_changes_while_the_table_grows(void **state)
{
    (void)state;
    struct many m, twin;
    struct stress_counts counts = {{0}};
    uint64_t seed = random_start("many changes", 1500).state;
    unsigned phases = (unsigned)random_scaled(150);
    open_many(&m, phases, seed);
    open_many(&twin, phases, seed);
    pthread_barrier_init(&m.barrier, NULL, THREADS);
    run_crew(THREADS, change_or_touch, &m);
    pthread_barrier_destroy(&m.barrier);
    for (unsigned phase = 0; phase < phases; phase++) {
        change_in_phase(&twin, phase);
        for (unsigned owner = 0; owner < OWNERS; owner++)
            touch_keys(&twin, owner, phase);
    }
    assert_int_equal(weir_load_relaxed(&m.wrong) + weir_load_relaxed(&twin.wrong), 0);
    weir_ns now = T0 + phases * SEC;
    for (unsigned owner = 0; owner < OWNERS; owner++) {
        for (unsigned i = 0; i < phases * NEW_KEYS; i++) {
            struct weir_result seen = weir_peek(m.w, m.limit, key_of_owner(&m, owner, i), 1, now);
            assert_int_equal(seen.verdict, WEIR_DENIED);
            assert_same(seen, weir_peek(twin.w, twin.limit, key_of_owner(&twin, owner, i), 1, now));
        }
    }
    stress_count(&counts, m.w);
    assert_true(stress_report("changes", &counts, STRESS_GROWTHS | STRESS_MOVES));
    assert_true(stress_table_is_sound(m.w));
    weir_close(m.w);
    weir_close(twin.w);
}

/* ---- another algorithm ---- */

static struct weir_policy any_policy(unsigned dice)
{
    unsigned kind = dice % (KINDS + 2);
    if (kind == KINDS)
        return weir_token_bucket(WEIR_UNLIMITED, 1, 0);
    if (kind == KINDS + 1)
        return weir_concurrency(WEIR_UNLIMITED);
    return policy_of(kind, 5 + dice % 7, dice / 16);
}

static void use_all_calls(struct run *r, struct test_random *random)
{
    uint64_t dice = random_u64(random);
    weir_key key = weir_key_u64(r->w, dice % 64);
    uint64_t n = (dice >> 8) % 4;
    weir_ns now = T0 + (dice >> 16) % SEC;
    weir_ns max_wait = (dice >> 48) % 4 == 0 ? WEIR_FOREVER : 0;
    struct weir_reservation held;
    struct weir_permit permit;
    struct weir_result result;
    switch (dice >> 56 & 3) {
    case 0:
        result = weir_decide(r->w, r->limit, key, n, now);
        expect(&r->wrong, result.verdict != WEIR_INVALID && result.verdict != WEIR_NEVER);
        break;
    case 1:
        result = weir_reserve(r->w, r->limit, key, n, now, max_wait, &held);
        expect(&r->wrong, result.verdict != WEIR_INVALID);
        if (result.verdict == WEIR_ALLOWED)
            expect(&r->wrong, weir_cancel(r->w, &held, now) <= n);
        break;
    case 2:
        result = weir_acquire(r->w, r->limit, key, n, &permit);
        if (result.verdict == WEIR_ALLOWED) {
            int got = weir_release(r->w, &permit);
            expect(&r->wrong, got == 0 || got == -ENOENT);
        }
        break;
    default:
        weir_charge(r->w, r->limit, key, n, now);
        weir_refund(r->w, r->limit, key, n, now);
    }
    weir_add_relaxed(&r->calls, 1);
}

/* Before each change of the algorithm the first thread holds a permit or a reservation, on a key of
   its own; the next algorithm does not know it. */
static void change_algorithm(struct run *r, struct test_random *random)
{
    weir_key own = weir_key_u64(r->w, 1000);
    struct weir_permit permit;
    struct weir_reservation held;
    struct weir_policy policy;
    for (unsigned i = 0; i < r->changes; i++) {
        unsigned before = (unsigned)random_u64(random);
        expect(&r->wrong, set(r->w, r->limit, any_policy(before), T0));
        expect(&r->wrong, weir_forget(r->w, r->limit, own) == 0);
        expect(&r->wrong, weir_get_limit(r->w, r->limit, &policy) == 0);
        struct weir_result asked = weir_acquire(r->w, r->limit, own, 2, &permit);
        struct weir_result reserved = weir_reserve(r->w, r->limit, own, 2, T0, 0, &held);
        bool permits = policy.kind == WEIR_CONCURRENCY;
        expect(&r->wrong, (asked.verdict == WEIR_ALLOWED) == permits);
        expect(&r->wrong, reserved.verdict == WEIR_ALLOWED);
        struct weir_policy other = permits ? weir_token_bucket(3, SEC, 9) : weir_concurrency(9);
        expect(&r->wrong, set(r->w, r->limit, other, T0));
        expect(&r->wrong, weir_peek(r->w, r->limit, own, 9, T0).verdict == WEIR_ALLOWED);
        expect(&r->wrong, weir_release(r->w, &permit) == (permits ? -ENOENT : -EINVAL));
        if (i % 2 == 0)
            expect(&r->wrong, set(r->w, r->limit, policy, T0));
        expect(&r->wrong, weir_release(r->w, &permit) == (permits ? -ENOENT : -EINVAL));
        expect(&r->wrong, weir_cancel(r->w, &held, T0) == 0);
        pace(&r->calls, i);
    }
}

static void change_or_use(void *context, unsigned index)
{
    struct run *r = context;
    struct test_random random = {r->seed + index};
    if (index == 0) {
        change_algorithm(r, &random);
        weir_add_relaxed(&r->over, 1);
    }
    while (index != 0 && !is_over(r))
        use_all_calls(r, &random);
}

static void k13_k16_another_algorithm_starts_fresh(void **state)
{
    (void)state;
    struct run r;
    start_run(&r, BUCKET, 1, random_start("other algorithms", 1600).state);
    run_crew(THREADS, change_or_use, &r);
    /* whatever there was, of whichever settings: nothing is left of it */
    assert_true(set(r.w, r.limit, weir_sliding_window(77, SEC), T0));
    assert_true(set(r.w, r.limit, weir_concurrency(7), T0));
    for (unsigned k = 0; k < 64; k++) {
        uint64_t in_use;
        assert_int_equal(weir_in_use(r.w, r.limit, weir_key_u64(r.w, k), &in_use, NULL), 0);
        assert_int_equal(in_use, 0);
    }
    assert_true(set(r.w, r.limit, weir_token_bucket(1, SEC, 7), T0));
    for (unsigned k = 0; k < 64; k++) {
        struct weir_result seen = weir_peek(r.w, r.limit, weir_key_u64(r.w, k), 7, T0);
        assert_int_equal(seen.verdict, WEIR_ALLOWED);
        assert_int_equal(seen.remaining, 7);
        assert_int_equal(seen.reset, 0);
    }
    end_run(&r);
}

/* ---- equal settings ---- */

static const struct weir_settings *settings_of(const struct run *r)
{
    return weir_limit_settings(&r->w->limits[r->limit]);
}

static uint64_t word_of(const struct run *r, unsigned k)
{
    weir_key key = weir_key_u64(r->w, k);
    struct weir_probe probe = weir_table_probe(&r->w->table, key.high, key.low, (unsigned)r->limit);
    struct weir_atomic_u64 *word = weir_table_find(&r->w->table, &probe);
    assert_non_null(word);
    return weir_load_relaxed(word);
}

static void set_equal(void *context, unsigned index)
{
    struct run *r = context;
    struct test_random random = {r->seed + index};
    struct weir_policy same = policy_of(r->kind, MOST, 0);
    for (unsigned i = 0; index < 2 && i < r->changes; i++) {
        expect(&r->wrong, set(r->w, r->limit, same, T0 + i));
        pace(&r->calls, i);
    }
    for (unsigned i = 0; index >= 2 && i < 10 * r->changes; i++)
        take_and_give(r, random_u64(&random));
}

static void k16_equal_settings_change_nothing(void **state)
{
    (void)state;
    uint64_t seed = random_start("equal settings", 1700).state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct run r;
        struct weir_reservation held;
        struct weir_permit permit;
        start_run(&r, kind, 0, seed + kind * THREADS);
        weir_key own = weir_key_u64(r.w, KEYS);
        struct weir_policy same = policy_of(kind, MOST, 0);
        struct weir_result reserved = weir_reserve(r.w, r.limit, own, 7, T0, 0, &held);
        assert_int_equal(reserved.verdict, WEIR_ALLOWED);
        if (kind == PERMITS)
            assert_int_equal(weir_acquire(r.w, r.limit, own, 3, &permit).verdict, WEIR_ALLOWED);
        const struct weir_settings *before = settings_of(&r);
        uint64_t word = word_of(&r, KEYS);
        run_crew(THREADS, set_equal, &r);
        assert_ptr_equal(settings_of(&r), before);
        assert_int_equal(word_of(&r, KEYS), word);
        assert_true(set(r.w, r.limit, same, T0 + WEIR_DAY));
        assert_true(set(r.w, r.limit, same, 0));
        assert_ptr_equal(settings_of(&r), before);
        assert_int_equal(weir_cancel(r.w, &held, T0), 7);
        if (kind == PERMITS)
            assert_int_equal(weir_release(r.w, &permit), 0);
        for (unsigned k = 0; k < KEYS; k++) {
            uint64_t out = weir_load_relaxed(&r.taken[k]) - weir_load_relaxed(&r.given[k]);
            assert_int_equal(weir_peek(r.w, r.limit, weir_key_u64(r.w, k), 1, T0).remaining,
                             START - out);
        }
        end_run(&r);
    }
}

/* ---- beside removals, additions and trims ---- */

/* Every limit that is added anew has its keys never used, whoever changes it at once. */
static void remove_and_add(struct run *r)
{
    for (unsigned i = 0; i < r->changes; i++) {
        struct weir_policy policy = policy_of(r->kind, MOST, i);
        expect(&r->wrong, weir_remove_limit(r->w, r->limit, T0) == 0);
        expect(&r->wrong, weir_add_limit(r->w, "a", &policy) == r->limit);
        weir_key own = weir_key_u64(r->w, 1000);
        uint64_t taken = weir_take(r->w, r->limit, own, MOST / 2, T0);
        while (weir_allow(r->w, r->limit, own, 1, T0))
            taken++;
        expect(&r->wrong, taken == MOST);
        pace(&r->calls, i);
    }
}

static void remove_or_use(void *context, unsigned index)
{
    struct run *r = context;
    struct test_random random = {r->seed + index};
    if (index == 0) {
        remove_and_add(r);
        weir_add_relaxed(&r->over, 1);
    }
    while (index != 0 && !is_over(r)) {
        uint64_t dice = random_u64(&random);
        struct weir_policy policy = policy_of(r->kind, MOST, (unsigned)dice % 12);
        weir_key key = weir_key_u64(r->w, (dice >> 8) % 64);
        int got = 0;
        if (index <= 2) {
            got = weir_set_limit(r->w, r->limit, &policy, T0);
        } else if (index == 3) {
            got = weir_trim(r->w, T0);
            got = got == -ENOMEM ? 0 : got; /* a part was in the middle of something */
        } else {
            struct weir_result result = weir_decide(r->w, r->limit, key, 1, T0);
            expect(&r->wrong, result.verdict != WEIR_NEVER && result.remaining <= MOST);
            weir_add_relaxed(&r->calls, 1);
        }
        expect(&r->wrong, got == 0 || (index <= 2 && got == -ENOENT));
    }
}

static void k16_beside_removals_and_trims(void **state)
{
    (void)state;
    uint64_t seed = random_start("changes and removals", 1800).state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct run r;
        start_run(&r, kind, 1, seed + kind * THREADS);
        r.changes = (unsigned)random_scaled(60);
        run_crew(THREADS, remove_or_use, &r);
        assert_true(weir_load_relaxed(&r.calls) > 0);
        end_run(&r);
    }
}

/* ---- clocks that are behind ---- */

/* For a key that was re-priced at a change, a `now` shortly before it counts as the change. */
static void k01_k16_shortly_before_a_change(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_for(8, weir_token_bucket(1, SEC, 10), &limit);
    weir_key key = weir_key_u64(w, 1);
    weir_key fresh = weir_key_u64(w, 2);
    assert_true(weir_allow(w, limit, key, 10, T0));
    weir_ns changed = T0 + 4 * SEC;
    assert_true(set(w, limit, weir_token_bucket(2, SEC, 8), changed));
    /* 4 had accrued; at the new rate nothing, as nothing has passed since */
    assert_int_equal(weir_peek(w, limit, key, 1, T0 + SEC).remaining, 4);
    assert_int_equal(weir_peek(w, limit, key, 1, changed - WEIR_MINUTE).remaining, 4);
    assert_int_equal(weir_take(w, limit, key, 8, T0 + SEC), 4);
    assert_int_equal(weir_take(w, limit, key, 8, T0 + 2 * SEC), 0);
    assert_int_equal(weir_take(w, limit, key, 8, changed), 0);
    assert_int_equal(weir_take(w, limit, key, 8, changed + SEC), 2);
    /* one that was never used has its burst, once */
    assert_int_equal(weir_take(w, limit, fresh, 10, T0), 8);
    assert_int_equal(weir_take(w, limit, fresh, 10, changed), 0);
    assert_int_equal(weir_take(w, limit, fresh, 10, changed + SEC), 2);
    /* a change before the last one counts as made then: since that time the rate is another, and
       what was taken leaves 2 owed */
    assert_true(set(w, limit, weir_token_bucket(1, SEC, 8), T0));
    assert_int_equal(weir_take(w, limit, key, 8, changed + SEC), 0);
    assert_int_equal(weir_take(w, limit, key, 8, changed + 3 * SEC), 1);
    weir_close(w);
}

/* A change whose clock was wrong by years locks nobody out: calls go on by their own clocks. */
static void k16_k20_long_before_a_change(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < PERMITS; kind++) {
        int limit;
        struct weir *w = open_for(8, policy_of(kind, 10, 0), &limit);
        weir_key key = weir_key_u64(w, 1);
        weir_key other = weir_key_u64(w, 2);
        weir_ns now = T0 + WEIR_MINUTE;
        assert_true(weir_allow(w, limit, key, 10, T0));
        assert_true(set(w, limit, policy_of(kind, 12, 0), T0 + 5 * 365 * WEIR_DAY));
        /* idle by then: never used now */
        assert_int_equal(weir_take(w, limit, key, 20, now), 12);
        assert_int_equal(weir_take(w, limit, other, 20, now), 12);
        struct weir_result seen = weir_peek(w, limit, key, 1, now);
        assert_int_equal(seen.verdict, WEIR_DENIED);
        assert_true(seen.wait <= WEIR_DAY);
        assert_int_equal(weir_take(w, limit, key, 1, now + seen.wait), 1);
        assert_int_equal(weir_take(w, limit, other, 1, now + seen.wait), 1);
        weir_close(w);
    }
}

struct lagging {
    struct run r;
    struct stress_clock clock;
    uint64_t accrued; /* ns times tokens a second, up to the last change */
};

#define LAG (SEC / 4) /* of a thread behind the one before it */

static void change_and_go_on(struct lagging *l, struct test_random *random)
{
    struct run *r = &l->r;
    weir_ns last = T0;
    uint64_t rate = 1;
    for (unsigned i = 0; i < r->changes; i++) {
        weir_ns now = stress_clock_enter(&l->clock, 0, 0);
        l->accrued += (now - last) * rate;
        rate = 1 + i % 3 * 8;
        last = now;
        expect(&r->wrong, set(r->w, r->limit, weir_token_bucket(rate, SEC, 10), now));
        stress_clock_leave(&l->clock, 0);
        stress_clock_advance(&l->clock, random_below(random, SEC / 10));
        pace(&r->calls, i);
    }
    l->accrued += (l->clock.now - last) * rate;
}

static void change_or_lag(void *context, unsigned index)
{
    struct lagging *l = context;
    struct run *r = &l->r;
    struct test_random random = {r->seed + index};
    weir_key key = weir_key_u64(r->w, KEYS);
    if (index == 0) {
        change_and_go_on(l, &random);
        weir_add_relaxed(&r->over, 1);
    }
    while (index != 0 && !is_over(r)) {
        weir_ns now = stress_clock_enter(&l->clock, index, index * LAG);
        if (weir_allow(r->w, r->limit, key, 1, now))
            weir_add_relaxed(&r->taken[0], 1);
        stress_clock_leave(&l->clock, index);
        stress_clock_advance(&l->clock, random_below(&random, SEC / 1000));
        weir_add_relaxed(&r->calls, 1);
    }
}

/*
 * No more is taken than accrues, whichever clock a call has; and the bucket gets full again. A
 * change that is late holds from its own instant on: what was taken since at a higher rate is owed.
 * That is what the highest rate gives while a clock can be behind, here 4 s.
 */
static void k16_clocks_that_lag(void **state)
{
    (void)state;
    static struct lagging l;
    memset(&l, 0, sizeof l);
    start_run(&l.r, BUCKET, 1, random_start("changes and clocks that lag", 1900).state);
    l.r.changes = (unsigned)random_scaled(1000);
    assert_true(set(l.r.w, l.r.limit, weir_token_bucket(1, SEC, 10), T0));
    stress_clock_start(&l.clock, T0, 3 * SEC);
    stress_run(THREADS, change_or_lag, &l);
    uint64_t most = 10 + l.accrued / SEC + 4 * 17;
    uint64_t taken = weir_load_relaxed(&l.r.taken[0]);
    print_message("# %llu s, %llu taken of %llu\n", (ull)((l.clock.now - T0) / SEC), (ull)taken,
                  (ull)most);
    assert_in_range(taken, 10, most);
    weir_key key = weir_key_u64(l.r.w, KEYS);
    weir_ns paid = l.clock.now + (4 * 17 + 10) * SEC;
    assert_int_equal(weir_peek(l.r.w, l.r.limit, key, 10, paid).verdict, WEIR_ALLOWED);
    end_run(&l.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k16_changes_mint_nothing_and_lose_nothing),
        cmocka_unit_test(k11_k16_a_reservation_outlives_a_change),
        cmocka_unit_test(k16_no_more_than_the_newest_capacity),
        cmocka_unit_test(k16_a_decision_uses_one_snapshot),
        cmocka_unit_test(k13_k16_permits_under_a_limit_that_changes),
        cmocka_unit_test(k13_k16_a_lower_limit_waits_for_what_is_in_use),
        cmocka_unit_test(k16_hundreds_of_changes_while_the_table_grows),
        cmocka_unit_test(k13_k16_another_algorithm_starts_fresh),
        cmocka_unit_test(k16_equal_settings_change_nothing),
        cmocka_unit_test(k16_beside_removals_and_trims),
        cmocka_unit_test(k01_k16_shortly_before_a_change),
        cmocka_unit_test(k16_k20_long_before_a_change),
        cmocka_unit_test(k16_clocks_that_lag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
