/* SPDX-License-Identifier: MIT */
/* Text of any bytes as UTF-8, and as a terminal may see it. */
#ifndef WEIR_CLI_PRINTABLE_H
#define WEIR_CLI_PRINTABLE_H

#include "text.h"

#include <stdbool.h>

/* Columns that printable text takes on a terminal. */
size_t printable_width(const char *data, size_t size);

/*
 * For a terminal: control characters, characters that do not show or change the direction of text
 * and bytes that are no UTF-8 become \xHH; without `utf8` every byte outside of ASCII does. What
 * does not fit into width_max columns is cut, and "..." ends it.
 */
void printable_put(struct text *t, const char *data, size_t size, bool utf8, size_t width_max);

/*
 * Any bytes as UTF-8, so that different bytes give different text: a byte that is not part of
 * well-formed UTF-8, and each byte of U+FFFD itself, becomes U+FFFD and its two hex digits.
 */
void utf8_put(struct text *t, const char *data, size_t size);

/* Does the locale write UTF-8? Valid after setlocale(LC_CTYPE, ""). */
bool utf8_locale(void);

#endif
