/* SPDX-License-Identifier: MIT */
/* Text that grows, and how numbers, times and keys are written into it. */
#ifndef WEIR_CLI_TEXT_H
#define WEIR_CLI_TEXT_H

#include "log_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as {0}; `data` is NUL-terminated once something was put, and freed by text_free. */
struct text {
    char *data;
    size_t size; /* without the NUL */
    size_t room;
};

void text_put(struct text *t, const char *data, size_t size);
void text_print(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *t); /* keeps the memory */
void text_free(struct text *t);

/* 1234567 as "1,234,567". */
void text_put_count(struct text *t, uint64_t value);

/* "2015-05-17T10:05:03.25+08:00", RFC 3339 with as many decimals as are not 0 and "Z" for UTC. */
void text_put_rfc3339(struct text *t, const struct log_time *time);

/* "2015-05-17 10:05:03", then " +08:00" when `zone`; whole seconds, rounded down. */
void text_put_time(struct text *t, const struct log_time *time, bool zone);

/* Columns that printable text takes on a terminal. */
size_t text_width(const char *data, size_t size);

/*
 * For a terminal: control characters, characters that change the direction of text and bytes
 * that are no UTF-8 become \xHH; without `utf8` every byte outside of ASCII does. What does not
 * fit into width_max columns is cut, and "..." ends it.
 */
void text_put_printable(struct text *t, const char *data, size_t size, bool utf8, size_t width_max);

/*
 * Any bytes as UTF-8, so that different bytes give different text: a byte that is not part of
 * well-formed UTF-8, and each byte of U+FFFD itself, becomes U+FFFD and its two hex digits.
 */
void text_put_utf8(struct text *t, const char *data, size_t size);

/* Does the locale write UTF-8? Valid after setlocale(LC_CTYPE, ""). */
bool text_locale_is_utf8(void);

#endif
