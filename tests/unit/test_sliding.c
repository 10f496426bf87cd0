/* SPDX-License-Identifier: MIT */
/*
 * The estimate of a sliding window against its definition, where a product by a reciprocal is most
 * easily one off: long periods, large counts, fractions next to a whole number.
 */
#include "../support.h"

#include "algorithm/sliding_window.h"

#define ROUNDS 200000

/* The inverse of a modulo q, or 0. */
static uint64_t inverse(uint64_t a, uint64_t q)
{
    weir_i128 r0 = q, r1 = a % q, s0 = 0, s1 = 1;
    while (r1 != 0) {
        weir_i128 quotient = r0 / r1, r = r0 - quotient * r1, s = s0 - quotient * s1;
        r0 = r1;
        r1 = r;
        s0 = s1;
        s1 = s;
    }
    return r0 == 1 ? (uint64_t)(s0 < 0 ? s0 + (weir_i128)q : s0) : 0;
}

static weir_ns any_period(struct test_random *random)
{
    static const weir_ns usual[] = {WEIR_SECOND, WEIR_HOUR, WEIR_DAY, 365 * WEIR_DAY,
                                    366 * WEIR_DAY};
    if (random_below(random, 2) == 0)
        return usual[random_below(random, sizeof usual / sizeof usual[0])];
    return WEIR_MILLISECOND + random_below(random, 366 * WEIR_DAY - WEIR_MILLISECOND);
}

static void check(const struct weir_meter *m, uint64_t previous, uint64_t rest)
{
    struct weir_sliding s = {0, previous, 0, m->tick - rest, 0};
    weir_u128 fading = (weir_u128)previous * rest;
    uint64_t want = (uint64_t)((fading + m->tick - 1) / m->tick);
    uint64_t got = weir_sliding_faded(m, &s);
    if (got != want)
        fail_msg("period %llu, previous %llu, rest %llu: %llu, not %llu",
                 (unsigned long long)m->tick, (unsigned long long)previous,
                 (unsigned long long)rest, (unsigned long long)got, (unsigned long long)want);
}

/* S1, K04: what has not yet faded of a count is rounded up, to the token. */
static void s1_what_has_not_faded_is_rounded_up(void **state)
{
    (void)state;
    struct test_random random = random_start("sliding", 31);
    for (uint64_t i = 0; i < random_scaled(ROUNDS); i++) {
        struct weir_meter m;
        uint64_t previous = 1 + random_below(&random, WEIR_WINDOW_COUNT_MAX);
        memset(&m, 0, sizeof m);
        m.tick = any_period(&random);
        m.ticks = weir_scale_divisor(m.tick);
        uint64_t next = inverse(previous, m.tick); /* previous * next is one above a whole number */
        uint64_t rests[] = {1, m.tick, 1 + random_below(&random, m.tick), next, m.tick - next};
        for (size_t j = 0; j < sizeof rests / sizeof rests[0]; j++) {
            if (rests[j] != 0 && rests[j] <= m.tick)
                check(&m, previous, rests[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_what_has_not_faded_is_rounded_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
