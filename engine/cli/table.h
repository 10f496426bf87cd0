/* SPDX-License-Identifier: MIT */
/* Rows of cells, printed in aligned columns. */
#ifndef WEIR_CLI_TABLE_H
#define WEIR_CLI_TABLE_H

#include "text.h"

#include <stdio.h>

#define TABLE_COLUMNS 8

/* Starts as {.columns = N}. */
struct table {
    size_t columns;
    bool right[TABLE_COLUMNS]; /* aligned to the right */
    size_t count;
    struct text *cells; /* row by row */
};

/* The cell to fill next, left to right, row by row. */
struct text *table_cell(struct table *t);

/* Each row after `indent`; the first one bold when `bold`. Blanks end no line. */
void table_print(const struct table *t, const char *indent, bool bold, FILE *out);
void table_free(struct table *t);

#endif
