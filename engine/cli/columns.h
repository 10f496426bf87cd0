/* SPDX-License-Identifier: MIT */
/* Rows of cells, printed in aligned columns. */
#ifndef WEIR_CLI_COLUMNS_H
#define WEIR_CLI_COLUMNS_H

#include "text.h"

#include <stdbool.h>
#include <stdio.h>

#define COLUMNS_MAX 8

/* Starts as {.per_row = N}. */
struct columns {
    size_t per_row;          /* cells, at most COLUMNS_MAX */
    bool right[COLUMNS_MAX]; /* aligned to the right */
    size_t count;            /* cells so far */
    struct text *cells;      /* row by row */
};

/* The cell to fill next, left to right, row by row. */
struct text *columns_cell(struct columns *t);

/* The first row is bold when `bold`. Blanks end no line. */
void columns_print(const struct columns *t, bool bold, FILE *out);
void columns_free(struct columns *t);

#endif
