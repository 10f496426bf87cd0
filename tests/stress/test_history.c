/* SPDX-License-Identifier: MIT */
/*
 * The check of histories finds what it is for: by hand-made runs that grant too much by one token
 * or one nanosecond, and by comparison with the definition, over all pairs of instants.
 */
#include "../support.h"

#include "history.h"

#define TOKEN 100

/* One token in 100 ns, 3 at once. */
static struct history_bucket plain(void)
{
    struct weir_policy policy = weir_token_bucket(1, TOKEN, 3);
    return history_bucket_of(&policy);
}

static struct grant grant_at(weir_ns now, uint32_t n)
{
    struct grant g = {1, now, now, 0, 0, n, 0};
    return g;
}

/* The same by a call that answered when the key is full. */
static struct grant grant_until(weir_ns now, uint32_t n, weir_ns full)
{
    struct grant g = {1, now, now, full, 0, n, 0};
    return g;
}

static bool sums_hold(const struct grant *grants, size_t count)
{
    struct history_bucket b = plain();
    struct grant copy[64];
    memcpy(copy, grants, count * sizeof *grants);
    return history_sums_hold(&b, copy, count);
}

static bool chain_holds(const struct grant *grants, size_t count)
{
    struct history_bucket b = plain();
    struct grant copy[64];
    memcpy(copy, grants, count * sizeof *grants);
    return history_chain_holds(&b, copy, count);
}

static void sums_find_one_token_too_many(void **state)
{
    (void)state;
    struct grant g[8] = {grant_at(1000, 1), grant_at(1000, 2), grant_at(1000, 1)};
    assert_true(sums_hold(g, 2));
    assert_false(sums_hold(g, 3));
    g[2] = grant_at(1000, 0);
    assert_true(sums_hold(g, 3));
    /* by a clock that was behind: nothing had accrued then either */
    g[2] = grant_at(990, 1);
    assert_false(sums_hold(g, 3));
    g[2] = grant_at(900, 1);
    assert_true(sums_hold(g, 3));
}

static void sums_find_one_nanosecond_too_early(void **state)
{
    (void)state;
    struct grant g[40];
    g[0] = grant_at(1000, 3);
    for (unsigned i = 1; i < 40; i++)
        g[i] = grant_at(1000 + TOKEN * i, 1);
    assert_true(sums_hold(g, 40));
    g[39].now--;
    g[39].latest--;
    assert_false(sums_hold(g, 40));
    /* in whatever order it is written down */
    struct grant last = g[39];
    g[39] = g[3];
    g[3] = last;
    assert_false(sums_hold(g, 40));
}

/* What is full does not get any fuller. */
static void sums_cap_what_accrues(void **state)
{
    (void)state;
    const struct grant g[] = {grant_at(1000, 3), grant_at(9000, 3), grant_at(9099, 1)};
    assert_true(sums_hold(g, 2));
    assert_false(sums_hold(g, 3));
}

/* A call that may have begun at a horizon: as long as there is an instant that explains it. */
static void sums_allow_for_a_horizon(void **state)
{
    (void)state;
    struct grant g[] = {grant_at(1000, 3), grant_at(1010, 3)};
    g[1].latest = 1299;
    assert_false(sums_hold(g, 2));
    g[1].latest = 1300;
    assert_true(sums_hold(g, 2));
}

/* A line that is rounded down: less than one unit more, never one whole unit. */
static void sums_allow_for_less_than_a_unit(void **state)
{
    (void)state;
    const struct history_bucket b = {8, 1, 3, 10}; /* a token is 8 units, 3 units in 10 ns */
    struct grant g[] = {grant_at(0, 1), grant_at(24, 1)};
    assert_true(history_sums_hold(&b, g, 2)); /* 7.2 units */
    g[0] = grant_at(0, 1);
    g[1] = grant_at(23, 1);
    assert_false(history_sums_hold(&b, g, 2)); /* 6.9 units */
    struct weir_policy policy = weir_token_bucket(17, WEIR_SECOND, 10);
    const struct history_bucket rounded = history_bucket_of(&policy);
    assert_true(rounded.grains > 1);
    g[0] = grant_at(5, 10);
    g[1] = grant_at(5, 1);
    assert_false(history_sums_hold(&rounded, g, 2));
}

static void chains_find_a_stretch_that_is_granted_twice(void **state)
{
    (void)state;
    struct grant g[4];
    g[0] = grant_until(1000, 2, 1200);
    g[1] = grant_until(1000, 1, 1300);
    assert_true(chain_holds(g, 2));
    /* two that began from the same balance, which the sums cannot tell */
    g[1].full = 1200;
    assert_true(sums_hold(g, 2));
    assert_false(chain_holds(g, 2));
    g[1] = grant_until(1000, 1, 1299);
    assert_false(chain_holds(g, 2));
    /* later, by a clock that is behind: the first one's tokens are spent again */
    g[1] = grant_until(990, 3, 1290);
    assert_false(chain_holds(g, 2));
}

static void chains_find_what_is_not_there_yet(void **state)
{
    (void)state;
    struct grant g[4] = {grant_until(1000, 3, 1300), grant_until(1099, 1, 1400)};
    assert_true(chain_holds(g, 1));
    assert_false(chain_holds(g, 2)); /* a nanosecond early */
    g[1] = grant_until(1100, 1, 1400);
    assert_true(chain_holds(g, 2));
    g[1] = grant_until(1099, 1, 1400); /* may wait for it */
    g[1].max_wait = 1;
    assert_true(chain_holds(g, 2));
    g[1] = grant_until(1500, 1, 1599); /* begins before its instant: what was full got fuller */
    assert_false(chain_holds(g, 2));
    g[1] = grant_until(1050, 1, 1800); /* begins at 1700, which no clock had reached */
    assert_false(chain_holds(g, 2));
    g[1].latest = 1700;
    assert_true(chain_holds(g, 2));
    g[0] = grant_until(1000, 4, 1400); /* more than the burst */
    assert_false(chain_holds(g, 1));
}

/* ---- against the definition ---- */

static bool by_definition(const struct grant *g, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            weir_ns a = g[i].now;
            weir_ns b = g[j].latest;
            uint64_t sum = 0;
            for (size_t k = 0; k < count; k++)
                sum += g[k].now >= a && g[k].latest <= b ? g[k].n : 0;
            if (a <= b && sum * TOKEN > 3 * TOKEN + (b - a))
                return false;
        }
    }
    return true;
}

/* The exact bucket, handed the grants by their instants. */
static bool bucket_grants(const struct grant *g, size_t count)
{
    struct grant sorted[64];
    memcpy(sorted, g, count * sizeof *g);
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j > 0 && sorted[j].now < sorted[j - 1].now; j--) {
            struct grant swapped = sorted[j];
            sorted[j] = sorted[j - 1];
            sorted[j - 1] = swapped;
        }
    }
    weir_ns full = 0;
    for (size_t i = 0; i < count; i++) {
        full = (full > sorted[i].now ? full : sorted[i].now) + sorted[i].n * TOKEN;
        if (full > sorted[i].now + 3 * TOKEN)
            return false;
    }
    return true;
}

static void sums_are_as_by_definition(void **state)
{
    (void)state;
    struct test_random random = random_start("histories", 5);
    unsigned held = 0;
    unsigned rounds = (unsigned)random_scaled(100000);
    for (unsigned round = 0; round < rounds; round++) {
        struct grant g[12];
        size_t count = 1 + random_below(&random, 12);
        bool instants = random_below(&random, 2) == 0;
        for (size_t i = 0; i < count; i++) {
            g[i] = grant_at(1000 + random_below(&random, 1500), 1);
            g[i].n += (uint32_t)random_below(&random, 2);
            g[i].latest += instants ? 0 : random_below(&random, 100);
        }
        bool holds = by_definition(g, count);
        held += holds;
        if (instants)
            assert_int_equal(bucket_grants(g, count), holds);
        assert_int_equal(sums_hold(g, count), holds);
    }
    assert_in_range(held, rounds / 20, rounds - rounds / 20);
}

/* ---- many keys ---- */

static void a_history_is_checked_key_by_key(void **state)
{
    (void)state;
    struct history_bucket buckets[2] = {plain(), plain()};
    struct history h = {NULL, 0, 0};
    struct history more = {NULL, 0, 0};
    for (uint64_t i = 0; i < 30000; i++) {
        struct grant g = grant_until(1000 + i % 3 * 7, 1, 0);
        g.key = i / 6;
        g.limit = (uint32_t)(i % 2); /* three grants a key and limit */
        history_add(i % 5 == 0 ? &more : &h, &g);
    }
    history_move(&h, &more);
    assert_int_equal(h.count, 30000);
    assert_int_equal(more.count, 0);
    assert_int_equal(history_check(&h, buckets), 0);
    struct grant one = grant_at(1000, 1);
    one.key = 4999;
    history_add(&h, &one);
    one.key = 17;
    one.limit = 1;
    history_add(&h, &one);
    assert_int_equal(history_check(&h, buckets), 2);
    history_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_find_one_token_too_many),
        cmocka_unit_test(sums_find_one_nanosecond_too_early),
        cmocka_unit_test(sums_cap_what_accrues),
        cmocka_unit_test(sums_allow_for_a_horizon),
        cmocka_unit_test(sums_allow_for_less_than_a_unit),
        cmocka_unit_test(chains_find_a_stretch_that_is_granted_twice),
        cmocka_unit_test(chains_find_what_is_not_there_yet),
        cmocka_unit_test(sums_are_as_by_definition),
        cmocka_unit_test(a_history_is_checked_key_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
