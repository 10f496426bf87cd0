/* SPDX-License-Identifier: MIT */
/*
 * Vector files: comma-separated text with a header row, quoted fields and comment lines.
 *
 * A file that cannot be read, a row of the wrong width, an unknown column and a field that is not
 * the number asked for fail the test that asks.
 */
#ifndef WEIR_TESTS_CSV_H
#define WEIR_TESTS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csv {
    const char *file;
    bool elsewhere; /* read from WEIR_VECTORS: it may lack cases that are listed here */
    char *text;
    char **fields; /* rows * columns, after `columns` names */
    size_t rows, columns;
};

/* Reads FILE from the folder WEIR_VECTORS, else from this folder of the source tree. */
void csv_open(struct csv *table, const char *file);
void csv_close(struct csv *table);

const char *csv_text(const struct csv *table, size_t row, const char *column);
uint64_t csv_u64(const struct csv *table, size_t row, const char *column);

/* Is `row` of the same group (equal in `column`) as the row before it? */
bool csv_continues(const struct csv *table, size_t row, const char *column);

/* A decimal text as the simplest fraction that prints as the same double: sign * p / q. */
struct fraction {
    int sign;
    uint64_t p, q;
};
struct fraction fraction_of(const char *text);

#endif
