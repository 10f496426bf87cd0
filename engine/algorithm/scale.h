/* SPDX-License-Identifier: MIT */
/*
 * Exact multiplication by a fixed ratio, rounded down or up, without a division.
 *
 *   x * p / q  is estimated as  ((x << left) * m) >> 64 >> right
 *   with m = floor(2^(64 + right - left) * p / q), 2^63 <= m < 2^64; left or right is 0
 *
 * The product before the shift by 64 is too small by less than x << left. Where adding that much
 * would not carry out of its low half, the estimate is the floor. That is nearly always so, and a
 * branch says it, so that nothing waits for the check. Else the estimate, which is too small by
 * less than 1 + result * 2^-63, is corrected with the remainder x*p - estimate*q, computed modulo
 * 2^64, where it is exact because it is below 5q. (The correction is Barrett's: "Implementing the
 * Rivest Shamir and Adleman public key encryption algorithm on a standard digital signal
 * processor", CRYPTO 1986.)
 *
 * Common subset of C11 and C++11; needs a 128-bit integer type.
 */
#ifndef WEIR_ALGORITHM_SCALE_H
#define WEIR_ALGORITHM_SCALE_H

#include "export.h"

__extension__ typedef unsigned __int128 weir_u128;
__extension__ typedef __int128 weir_i128;

/*
 * Arithmetic modulo 2^64 where that is meant: instants before an origin, remainders. Sanitizers
 * that look for wraps find all others.
 */
#if defined(__clang__)
#define WEIR_MODULO static inline __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define WEIR_MODULO static inline
#endif

WEIR_MODULO uint64_t weir_modulo_sub(uint64_t a, uint64_t b)
{
    return a - b;
}

WEIR_MODULO uint64_t weir_modulo_mul(uint64_t a, uint64_t b)
{
    return a * b;
}

/* Largest q for which the remainder of weir_scale_down, below 2q, stays below 2^64. */
#define WEIR_SCALE_DIVISOR_MAX ((uint64_t)INT64_MAX)

/* The reciprocal of p/q; p and q at least 1. For the setting of policies: slow. */
static inline struct weir_ratio weir_scale_ratio(uint64_t p, uint64_t q)
{
    struct weir_ratio r = {p, q, 0, 0, 0, {0}};
    /* Long division, bit by bit, from the highest power of two that is not above p/q. */
    weir_u128 rest = p;
    weir_u128 by = q;
    while (rest >= by) {
        by <<= 1;
        r.left++;
    }
    while (rest << 1 < by) {
        rest <<= 1;
        r.right++;
    }
    for (int bit = 0; bit < 64; bit++) {
        rest <<= 1;
        r.m = r.m << 1 | (uint64_t)(rest >= by);
        if (rest >= by)
            rest -= by;
    }
    return r;
}

/* floor(x / q) of whole numbers, q above 0; a real division. */
static inline weir_i128 weir_scale_floor(weir_i128 x, weir_i128 q)
{
    return x >= 0 ? x / q : -((-x + q - 1) / q);
}

/*
 * The lesser one, by a conditional move: where the values come from memory a branch would be
 * mispredicted, and what had been begun after it would be for nothing.
 */
static inline uint64_t weir_scale_lesser(uint64_t a, uint64_t b)
{
    uint64_t lesser = a >= b ? b : a;
    __asm__("" : "+r"(lesser)); /* not two ways of going on */
    return lesser;
}

#define WEIR_SCALE_COLD static __attribute__((noinline, cold, unused))

/* floor(x * p / q) from an estimate that is too small by at most 1. */
WEIR_SCALE_COLD uint64_t weir_scale_correct_down(uint64_t x, const struct weir_ratio *r,
                                                 uint64_t estimate)
{
    uint64_t rest = weir_modulo_sub(weir_modulo_mul(x, r->p), weir_modulo_mul(estimate, r->q));
    return estimate + (rest >= r->q);
}

/* ceil(x * p / q) from an estimate of the floor that is too small by at most 1. */
WEIR_SCALE_COLD uint64_t weir_scale_correct_up(uint64_t x, const struct weir_ratio *r,
                                               uint64_t estimate)
{
    uint64_t rest = weir_modulo_sub(weir_modulo_mul(x, r->p), weir_modulo_mul(estimate, r->q));
    return estimate + (rest > 0) + (rest > r->q);
}

/*
 * The reciprocal for weir_scale_divide by q, 1 to 2^63-1: rounded up, where it is not exact. That
 * makes the quotient too large by at most x / (2^63 * q), which for x below 2^63 is less than the
 * 1/q that a quotient lies below the next whole number at least. (Granlund and Montgomery,
 * "Division by invariant integers using multiplication", PLDI 1994.)
 */
static inline struct weir_ratio weir_scale_divisor(uint64_t q)
{
    struct weir_ratio r = weir_scale_ratio(1, q);
    r.m += (q & (q - 1)) != 0;
    return r;
}

/* floor(x / q) for x below 2^63. */
static inline uint64_t weir_scale_divide(uint64_t x, const struct weir_ratio *divisor)
{
    return (uint64_t)((weir_u128)(x << divisor->left) * divisor->m >> 64) >> divisor->right;
}

/* With it, for q of 2 and more, the same is weir_scale_high(x, divisor.m) >> divisor.right. */
static inline uint64_t weir_scale_high(uint64_t a, uint64_t b)
{
    return (uint64_t)((weir_u128)a * b >> 64);
}

/* floor(a * b / q) where that is below 2^64. A real division, of some 20 cycles: the compiler's own
   of 128 bits would first have to find out that the quotient fits. */
static inline uint64_t weir_scale_quotient(uint64_t a, uint64_t b, uint64_t q)
{
    weir_u128 product = (weir_u128)a * b;
#if defined(__x86_64__)
    uint64_t quotient = (uint64_t)product;
    uint64_t rest = (uint64_t)(product >> 64);
    __asm__("divq %2" : "+a"(quotient), "+d"(rest) : "r"(q) : "cc");
    return quotient;
#else
    return (uint64_t)(product / q);
#endif
}

/* x / q, for x below q, in 2^-64ths: too large or too small by less than 2 of these. */
static inline uint64_t weir_scale_share(uint64_t x, const struct weir_ratio *divisor)
{
    return (uint64_t)((weir_u128)x * divisor->m >> divisor->right);
}

/* floor(x * p / q), where that is below 2^63. */
static inline uint64_t weir_scale_down(uint64_t x, const struct weir_ratio *r)
{
    uint64_t shifted = x << r->left;
    weir_u128 product = (weir_u128)shifted * r->m;
    uint64_t estimate = (uint64_t)(product >> 64) >> r->right;
    if (__builtin_expect((uint64_t)product > ~shifted, 0))
        return weir_scale_correct_down(x, r, estimate);
    return estimate;
}

/* Whether weir_scale_up is for this x: x << left, and with it the result, is below 2^63. */
static inline bool weir_scale_up_fits(uint64_t x, const struct weir_ratio *r)
{
    return x >> (63 - r->left) == 0;
}

/* ceil(x * p / q), where weir_scale_up_fits. */
static inline uint64_t weir_scale_up(uint64_t x, const struct weir_ratio *r)
{
    uint64_t shifted = x << r->left;
    weir_u128 product = (weir_u128)shifted * r->m;
    uint64_t estimate = (uint64_t)(product >> 64) >> r->right;
    /* A low half of 0 may be a whole result; any other that does not carry is a fraction. */
    if (__builtin_expect(weir_modulo_sub((uint64_t)product, 1) >= ~shifted, 0))
        return weir_scale_correct_up(x, r, estimate);
    return estimate + 1;
}

/* What weir_scale_up_wide gives at most: twice what 64 bits hold. */
#define WEIR_SCALE_UP_MAX ((weir_u128)1 << 65)

/* ceil(x * p / q), or WEIR_SCALE_UP_MAX from a little below that on. 5q is below 2^64. */
WEIR_SCALE_COLD weir_u128 weir_scale_up_wide(uint64_t x, const struct weir_ratio *r)
{
    weir_u128 product = (weir_u128)x * r->m;
    weir_u128 estimate = r->left != 0 ? product >> (64 - r->left) : product >> 64 >> r->right;
    if (estimate >= WEIR_SCALE_UP_MAX - 8)
        return WEIR_SCALE_UP_MAX;
    /* Too small by less than 1 + 2^65 * 2^-63. */
    uint64_t rest =
        weir_modulo_sub(weir_modulo_mul(x, r->p), weir_modulo_mul((uint64_t)estimate, r->q));
    for (; rest > r->q; rest -= r->q)
        estimate++;
    return estimate + (rest > 0);
}

#endif
