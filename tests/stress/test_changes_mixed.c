/* SPDX-License-Identifier: MIT */
/*
 * K16: limits that change beside everything else: into another algorithm, into what they are, while
 * limits come and go, and under clocks that are behind.
 */
#include "changes.h"

#include <errno.h>

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
        cmocka_unit_test(k13_k16_another_algorithm_starts_fresh),
        cmocka_unit_test(k16_equal_settings_change_nothing),
        cmocka_unit_test(k16_beside_removals_and_trims),
        cmocka_unit_test(k01_k16_shortly_before_a_change),
        cmocka_unit_test(k16_k20_long_before_a_change),
        cmocka_unit_test(k16_clocks_that_lag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
