/* SPDX-License-Identifier: MIT */
/*
 * What instrumented headers include: each condition is WEIR_FLIP(id, condition), and the one whose
 * id is in the environment's WEIR_FLIP is the other way round. Those that were asked are noted.
 */
#ifndef WEIR_TESTS_FLIP_H
#define WEIR_TESTS_FLIP_H

#define WEIR_FLIPS_MAX 4096

extern int weir_flip;
extern unsigned char weir_flip_asked[WEIR_FLIPS_MAX];

static inline int weir_flip_if(int id, int condition)
{
    weir_flip_asked[id] = 1;
    return condition ^ (weir_flip == id);
}

#define WEIR_FLIP(id, ...) weir_flip_if(id, (__VA_ARGS__) ? 1 : 0)

#endif
