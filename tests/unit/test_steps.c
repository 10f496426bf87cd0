/* SPDX-License-Identifier: MIT */
/*
 * Steps of buckets and permits as pure functions, with payloads that whole calls seldom lead to: a
 * grant that is undone after others came, slots of other origins and settings, the ends of what a
 * payload holds. Those of windows: test_window_steps.c.
 */
#include "../support.h"

#include "algorithm/algorithm.h"

#define T WEIR_SECOND /* a token of 1/s, in units and in ns */

static struct weir_meter meter_of(struct weir_policy policy, weir_ns origin)
{
    struct weir_meter m;
    assert_int_equal(weir_meter_init(&m, &policy, origin), 0);
    return m;
}

static struct weir_instant instant_of(const struct weir_meter *m, weir_ns now)
{
    struct weir_instant at = {0};
    assert_true(weir_algorithm_instant(m, now, &at));
    return at;
}

/* ---- buckets ---- */

/* K11, K31: what a grant of 3 took comes back; what others took or gave back since stays so, and
   nobody gets more than a full bucket. The line is at 100 T. */
static void k11_k31_a_grant_is_undone_as_others_have_left_it(void **state)
{
    (void)state;
    static const struct {
        weir_ns now;
        uint64_t before, after; /* of the grant */
        uint64_t payload, want;
    } cases[] = {
        {100 * T, 102 * T, 105 * T, 105 * T, 102 * T}, /* nobody came: to the bit */
        {100 * T, 102 * T, 105 * T, 106 * T, 103 * T}, /* one took one */
        {100 * T, 102 * T, 105 * T, 104 * T, 101 * T}, /* one gave one back */
        {100 * T, 102 * T, 105 * T, 108 * T, 105 * T},
        {100 * T, 96 * T, 99 * T, 101 * T, 101 * T}, /* full by now, but for what others took */
        {100 * T, 98 * T, 101 * T, 103 * T, 102 * T},
        {0, 0, 5 * T, 1, 0}, /* others gave back more than there was before */
        {0, 3 * T, 5 * T, 3 * T, T},
    };
    struct weir_meter m = meter_of(weir_token_bucket(1, WEIR_SECOND, 10), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_instant at = instant_of(&m, cases[i].now);
        struct weir_operation op = {
            .verb = WEIR_UNDO, .n = 3, .slot = cases[i].after, .before = cases[i].before};
        struct weir_step step = weir_algorithm_step(&m, cases[i].payload, &op, &at);
        assert_int_equal(step.payload, cases[i].want);
        assert_int_equal(step.write, cases[i].want != cases[i].payload);
        /* of an origin that has moved since nothing is told: what was taken stays taken */
        op.origin = m.origin - 1;
        step = weir_algorithm_step(&m, cases[i].payload, &op, &at);
        assert_int_equal(step.payload, cases[i].payload);
        assert_false(step.write);
    }
}

/* K11: the slot of a reservation of another origin lies where it lay. */
static void k11_a_slot_of_another_origin(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_token_bucket(1, WEIR_SECOND, 10), 1000 * T);
    assert_int_equal(m.origin, 1000 * T);
    assert_int_equal(weir_bucket_rebase_slot(&m, 700 * T, 400 * (int64_t)T), 100 * T);
    assert_int_equal(weir_bucket_rebase_slot(&m, 600 * T, 400 * (int64_t)T), 0);
    assert_int_equal(weir_bucket_rebase_slot(&m, 500 * T, 400 * (int64_t)T), 0); /* before all */
    assert_int_equal(weir_bucket_rebase_slot(&m, 500 * T, 1600 * (int64_t)T), 1100 * T);
    assert_int_equal(weir_bucket_rebase_slot(&m, UINT64_MAX - T, 1001 * (int64_t)T), UINT64_MAX);
    assert_int_equal(weir_bucket_rebase_slot(&m, UINT64_MAX - T + 1, 1001 * (int64_t)T),
                     UINT64_MAX);
    m = meter_of(weir_token_bucket(0, WEIR_SECOND, 5), 0); /* time does not matter */
    assert_int_equal(weir_bucket_rebase_slot(&m, 3, 77), 3);
}

/* K11, K16: under other settings a payload is as many tokens, up to the burst; a slot is where it
   is, below full too. At 100 T. */
static void k11_k16_slots_and_payloads_of_other_settings(void **state)
{
    (void)state;
    static const struct {
        weir_ns now;
        uint64_t payload, as_payload, as_slot;
    } cases[] = {
        {100 * T, 107 * T, 102 * T, 102 * T}, /* 3 of 10 left, and of 5 */
        {100 * T, 115 * T, 110 * T, 110 * T}, /* 5 in debt */
        {100 * T, 103 * T, 0, 98 * T},        /* 7 left: a full bucket */
        {100 * T, 105 * T, 0, 100 * T},
        {100 * T, 105 * T + 1, 100 * T + 1, 100 * T + 1},
        {100 * T, 96 * T, 0, 91 * T}, /* full before, too */
        {0, 3 * T, 0, 0},             /* before the line begins */
    };
    struct weir_meter from = meter_of(weir_token_bucket(1, WEIR_SECOND, 10), 0);
    struct weir_meter to = meter_of(weir_token_bucket(1, WEIR_SECOND, 5), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_instant at = instant_of(&from, cases[i].now);
        uint64_t payload = cases[i].payload;
        assert_int_equal(weir_algorithm_reprice(&from, payload, &at, &to, &at, false),
                         cases[i].as_payload);
        assert_int_equal(weir_algorithm_reprice(&from, payload, &at, &to, &at, true),
                         cases[i].as_slot);
    }
    /* a debt that the other line cannot hold: the most that it can */
    struct weir_meter slow = meter_of(weir_token_bucket(1, WEIR_MINUTE, 5), 0);
    struct weir_instant at = instant_of(&from, 100 * T);
    struct weir_instant at_slow = instant_of(&slow, 100 * T);
    uint64_t held = (slow.span - 100 * T) / 60; /* of debt, as it was */
    assert_int_equal(weir_algorithm_reprice(&from, from.span, &at, &slow, &at_slow, false),
                     slow.span);
    assert_true(weir_algorithm_reprice(&from, held, &at, &slow, &at_slow, false) < slow.span);
}

/* K04: an origin that cannot be told moves nothing. */
static void k04_origins_end_where_numbers_do(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_token_bucket(1, WEIR_SECOND, 10), 0);
    static const struct {
        weir_i128 wanted;
        bool from_older;
        int64_t steps; /* before; 7 grains each */
        bool fits;
        int64_t origin, after;
    } cases[] = {
        {INT64_MIN, false, 5, false, 0, 0},
        {(weir_i128)INT64_MIN - 1, false, 5, false, 0, 0},
        {(weir_i128)INT64_MIN + 1, false, 5, true, INT64_MIN + 1, 0},
        {20, false, 5, true, 20, 0},
        {20, true, 5, true, 14, 7},
        {-1, true, 5, true, -7, 4},
        {20, true, INT64_MAX - 2, true, 14, INT64_MAX},
        {20, true, INT64_MAX - 1, false, 0, 0},
        {-8, true, INT64_MIN + 2, true, -14, INT64_MIN},
        {-8, true, INT64_MIN + 1, false, 0, 0},
    };
    m.grains = 7;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t steps = cases[i].steps;
        int64_t origin = 99;
        assert_int_equal(
            weir_origin_next(&m, cases[i].wanted, cases[i].from_older, &steps, &origin),
            cases[i].fits);
        assert_true(origin == (cases[i].fits ? cases[i].origin : 99));
        assert_true(steps == (cases[i].fits ? cases[i].after : cases[i].steps));
    }
    m = meter_of(weir_token_bucket(1, WEIR_SECOND, 10), 0);
    int64_t steps = INT64_MAX;
    uint64_t born = 77;
    assert_false(weir_algorithm_move_origin(&m, 100 * T, 10 * T, true, &steps, &born));
    assert_true(steps == INT64_MAX && born == 77 && m.origin == 0);
    steps = 0;
    assert_true(weir_algorithm_move_origin(&m, 100 * T, 10 * T, true, &steps, &born));
    assert_true(steps == 90 * (int64_t)T && born == 10 * T && m.origin == 90 * (int64_t)T);
}

/* ---- permits ---- */

static struct weir_step permits(const struct weir_meter *m, uint64_t payload, enum weir_verb verb,
                                uint64_t n)
{
    struct weir_instant at = instant_of(m, 1000);
    struct weir_operation op = {.verb = verb, .n = n};
    return weir_algorithm_step(m, payload, &op, &at);
}

/* K04, K13: as many are in use as a payload can say, whatever is charged. */
static void k04_k13_permits_end_where_payloads_do(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_concurrency(10), 0);
    struct weir_step step = permits(&m, m.span - 3, WEIR_CHARGE, 5);
    assert_int_equal(step.count, 3);
    assert_int_equal(step.payload, m.span);
    step = permits(&m, m.span, WEIR_CHARGE, 1);
    assert_int_equal(step.count, 0);
    assert_false(step.write);
    step = permits(&m, 7, WEIR_UNDO, 4);
    assert_int_equal(step.payload, 3);
    assert_int_equal(step.count, 4);
    step = permits(&m, 3, WEIR_UNDO, 4);
    assert_int_equal(step.payload, 0);
    assert_int_equal(step.count, 3);
    struct weir_instant at = instant_of(&m, 0);
    assert_int_equal(weir_algorithm_reprice(&m, 5, &at, &m, &at, false), 5);
    assert_int_equal(weir_algorithm_reprice(&m, m.span, &at, &m, &at, false), m.span);
}

/* Time is nothing to them. */
static void permits_need_no_origin(void **state)
{
    (void)state;
    static const weir_ns nows[] = {0, 1000, INT64_MAX, UINT64_MAX};
    struct weir_meter m = meter_of(weir_concurrency(10), 500);
    for (size_t i = 0; i < sizeof nows / sizeof nows[0]; i++) {
        struct weir_meter moved = m;
        int64_t steps = 3;
        uint64_t born = 77;
        assert_false(weir_algorithm_needs_origin(&m, nows[i], WEIR_MINUTE));
        assert_true(weir_algorithm_move_origin(&moved, nows[i], WEIR_MINUTE, true, &steps, &born));
        assert_memory_equal(&moved, &m, sizeof m);
        assert_true(steps == 3 && born == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k11_k31_a_grant_is_undone_as_others_have_left_it),
        cmocka_unit_test(k11_a_slot_of_another_origin),
        cmocka_unit_test(k11_k16_slots_and_payloads_of_other_settings),
        cmocka_unit_test(k04_origins_end_where_numbers_do),
        cmocka_unit_test(k04_k13_permits_end_where_payloads_do),
        cmocka_unit_test(permits_need_no_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
