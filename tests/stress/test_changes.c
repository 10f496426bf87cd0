/* SPDX-License-Identifier: MIT */
/*
 * K16: limits that change beside decisions. A change mints nothing and loses nothing, each decision
 * uses the settings before or those after it, whole, and keys that nobody touches come through
 * hundreds of changes as those that are touched after each.
 *
 * Changes of the algorithm, beside all other calls, and under clocks that are behind:
 * test_changes_mixed.c.
 */
#include "changes.h"

#include <errno.h>
#include <stdatomic.h>

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
