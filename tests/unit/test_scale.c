/* SPDX-License-Identifier: MIT */
/*
 * Multiplication by a fixed ratio against 128-bit division.
 */
#include "../support.h"

#include "algorithm/scale.h"

/* A number of any magnitude, at least 1. */
static uint64_t any_length(struct test_random *random, unsigned bits)
{
    uint64_t value = random_magnitude(random, bits);
    return value != 0 ? value : 1;
}

static uint64_t floor_of(uint64_t x, uint64_t p, uint64_t q)
{
    return (uint64_t)((weir_u128)x * p / q);
}

static void k04_down_equals_division(void **state)
{
    (void)state;
    struct test_random random = random_start("down", 1);
    unsigned checked = 0;
    for (unsigned i = 0; i < 2000000; i++) {
        uint64_t p = any_length(&random, 57);
        uint64_t q = any_length(&random, 63);
        uint64_t x = any_length(&random, 63);
        if ((weir_u128)x * p / q > INT64_MAX)
            continue;
        struct weir_ratio r = weir_scale_ratio(p, q);
        assert_true(r.m >> 63 == 1);
        assert_int_equal(weir_scale_down(x, &r), floor_of(x, p, q));
        checked++;
    }
    assert_true(checked > 500000);
}

/* Just below, at and just above a multiple: where a wrong correction or rounding would show. */
static void k04_down_at_whole_results(void **state)
{
    (void)state;
    struct test_random random = random_start("whole results", 2);
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t q = any_length(&random, 62);
        uint64_t times = any_length(&random, 62) % ((uint64_t)INT64_MAX / q) + 1;
        struct weir_ratio r = weir_scale_ratio(1, q);
        struct weir_ratio divisor = weir_scale_divisor(q);
        for (uint64_t x = times * q - 1; x <= times * q + 1 && x <= INT64_MAX; x++) {
            assert_int_equal(weir_scale_down(x, &r), x / q);
            assert_int_equal(weir_scale_divide(x, &divisor), x / q);
        }
    }
}

static void k04_up_equals_division(void **state)
{
    (void)state;
    struct test_random random = random_start("up", 3);
    unsigned narrow = 0;
    unsigned wide = 0;
    unsigned saturated = 0;
    for (unsigned i = 0; i < 2000000; i++) {
        uint64_t p = any_length(&random, 63);
        uint64_t q = any_length(&random, 57);
        uint64_t x = any_length(&random, 63);
        weir_u128 expected = ((weir_u128)x * p + q - 1) / q;
        struct weir_ratio r = weir_scale_ratio(p, q);
        if (weir_scale_up_fits(x, &r)) {
            assert_int_equal(weir_scale_up(x, &r), (uint64_t)expected);
            narrow++;
        }
        weir_u128 up = weir_scale_up_wide(x, &r);
        if (up == WEIR_SCALE_UP_MAX) {
            assert_true(expected > WEIR_SCALE_UP_MAX - 16);
            saturated++;
        } else {
            assert_true(up == expected);
            wide++;
        }
    }
    assert_true(narrow > 100000 && wide > narrow && saturated > 10000);
}

static void k04_extreme_ratios(void **state)
{
    (void)state;
    static const uint64_t pairs[][2] = {
        {1, 1},
        {1, INT64_MAX},
        {INT64_MAX, 1},
        {(uint64_t)1 << 56, INT64_MAX},
        {INT64_MAX, (uint64_t)1 << 56},
        {((uint64_t)1 << 57) - 1, ((uint64_t)1 << 57) - 3},
        {999999937, 125000000},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        uint64_t p = pairs[i][0];
        uint64_t q = pairs[i][1];
        struct weir_ratio r = weir_scale_ratio(p, q);
        static const uint64_t values[] = {0, 1, 2, 3, 1000000007, (uint64_t)1 << 58, INT64_MAX};
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            uint64_t x = values[v];
            struct weir_ratio divisor = weir_scale_divisor(q);
            assert_int_equal(weir_scale_divide(x, &divisor), x / q);
            if ((weir_u128)x * p / q <= INT64_MAX)
                assert_int_equal(weir_scale_down(x, &r), floor_of(x, p, q));
            weir_u128 up = ((weir_u128)x * p + q - 1) / q;
            if (q <= UINT64_MAX / 5 && up < UINT64_MAX)
                assert_true(weir_scale_up_wide(x, &r) == up);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k04_down_equals_division),
        cmocka_unit_test(k04_down_at_whole_results),
        cmocka_unit_test(k04_up_equals_division),
        cmocka_unit_test(k04_extreme_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
