/* SPDX-License-Identifier: MIT */
/* Letters of names in logs, compared in the same way under every locale. */
#ifndef WEIR_CLI_ASCII_H
#define WEIR_CLI_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Equal but for the case of A to Z? strncasecmp has Turkish, where I is no capital of i. */
static inline bool ascii_same(const char *a, const char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (ascii_lower(a[i]) != ascii_lower(b[i]))
            return false;
    }
    return true;
}

#endif
