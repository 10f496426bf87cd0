/* SPDX-License-Identifier: MIT */
/* A small deterministic generator, and the sizes that the environment asks for. */
#ifndef WEIR_TESTS_RANDOM_H
#define WEIR_TESTS_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct test_random {
    uint64_t state;
};

/* Splitmix64. */
static inline uint64_t random_u64(struct test_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [0, below), below > 0 (the bias is below 2^-32 for what tests ask). */
static inline uint64_t random_below(struct test_random *random, uint64_t below)
{
    return random_u64(random) % below;
}

/* Any magnitude: a uniform number of bits, then uniform. */
static inline uint64_t random_magnitude(struct test_random *random, unsigned bits_max)
{
    unsigned bits = (unsigned)random_below(random, bits_max + 1);

    return bits == 0 ? 0 : random_u64(random) >> (64 - bits);
}

/* The seed, from WEIR_TEST_SEED or as given; printed so that a failing run can be repeated. */
static inline struct test_random random_start(const char *name, uint64_t seed)
{
    const char *text = getenv("WEIR_TEST_SEED");

    if (text != NULL)
        seed = strtoull(text, NULL, 0);
    printf("# %s: seed %llu\n", name, (unsigned long long)seed);
    return (struct test_random){seed};
}

/* `count` scaled by WEIR_TEST_SCALE (else WEIR_STRESS_SCALE) percent, at least 1. */
static inline uint64_t random_scaled(uint64_t count)
{
    const char *text = getenv("WEIR_TEST_SCALE");
    uint64_t percent;

    if (text == NULL)
        text = getenv("WEIR_STRESS_SCALE");
    percent = text == NULL ? 100 : strtoull(text, NULL, 10);
    count = count * percent / 100;
    return count == 0 ? 1 : count;
}

#endif
