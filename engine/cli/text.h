/* SPDX-License-Identifier: MIT */
/* Text that grows. */
#ifndef WEIR_CLI_TEXT_H
#define WEIR_CLI_TEXT_H

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

#endif
