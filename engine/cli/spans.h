/* SPDX-License-Identifier: MIT */
/* Lengths of time in words. */
#ifndef WEIR_CLI_SPANS_H
#define WEIR_CLI_SPANS_H

#include "text.h"

/*
 * "6 s", "250 ms", "1.5 s", "1 min 30 s", "3 d 11 h", exact; from two years on "about 580 years".
 */
void span_put(struct text *t, uint64_t ns);

/* numerator / denominator ns: as span_put where that is whole, else "333.333333 ms", cut. */
void span_put_quotient(struct text *t, uint64_t numerator, uint64_t denominator);

/* As span_put, with the two largest units only, for a reader who wants the size of it. */
void span_put_short(struct text *t, uint64_t ns);

#endif
