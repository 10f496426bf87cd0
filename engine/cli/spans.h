/* SPDX-License-Identifier: MIT */
/* Lengths of time in words. */
#ifndef WEIR_CLI_SPANS_H
#define WEIR_CLI_SPANS_H

#include "text.h"

/* Two years of 365.2425 days, from where spans are rounded and say "about" themselves. */
#define SPAN_YEARS_FROM UINT64_C(63113904000000000)

/* ns, of more than 585 years too. */
__extension__ typedef unsigned __int128 span_ns;

/*
 * "6 s", "250 ms", "1.5 s", "1 min 30 s", "3 d 11 h", exact; from two years on "about 580 years",
 * "about 1,048,575 years".
 */
void span_put(struct text *t, span_ns ns);

/* numerator / denominator ns: as span_put where that is whole, else "333.333333 ms", cut. */
void span_put_quotient(struct text *t, uint64_t numerator, uint64_t denominator);

/* As span_put, with the two largest units only, for a reader who wants the size of it. */
void span_put_short(struct text *t, uint64_t ns);

#endif
