/* SPDX-License-Identifier: MIT */
/* What a target asserts of answers: a difference is printed, and ends the process. */
#ifndef WEIR_FUZZ_COMPARE_H
#define WEIR_FUZZ_COMPARE_H

#include <weir/weir.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(bool holds)
{
    if (!holds)
        abort();
}

static inline void compare(struct weir_result got, struct weir_result want)
{
    typedef unsigned long long ull;

    if (got.verdict == want.verdict && got.wait == want.wait && got.remaining == want.remaining &&
        got.reset == want.reset)
        return;
    fprintf(stderr, "verdict %d wait %llu remaining %llu reset %llu, not %d %llu %llu %llu\n",
            (int)got.verdict, (ull)got.wait, (ull)got.remaining, (ull)got.reset, (int)want.verdict,
            (ull)want.wait, (ull)want.remaining, (ull)want.reset);
    abort();
}

static inline void compare_count(uint64_t got, uint64_t want)
{
    if (got == want)
        return;
    fprintf(stderr, "%llu, not %llu\n", (unsigned long long)got, (unsigned long long)want);
    abort();
}

#endif
