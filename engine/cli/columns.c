/* SPDX-License-Identifier: MIT */
/* Rows of cells, printed in aligned columns. */
#include "columns.h"

#include "cli.h"
#include "printable.h"

#include <stdlib.h>

#define GAP 2

struct text *columns_cell(struct columns *t)
{
    if (t->count % t->per_row == 0)
        t->cells = cli_resize(t->cells, t->count + t->per_row, sizeof *t->cells);
    struct text *cell = &t->cells[t->count++];
    *cell = (struct text){0};
    text_put(cell, "", 0);
    return cell;
}

static size_t column_width(const struct columns *t, size_t column)
{
    size_t width = 0;
    for (size_t i = column; i < t->count; i += t->per_row) {
        size_t cell = printable_width(t->cells[i].data, t->cells[i].size);
        width = cell > width ? cell : width;
    }
    return width;
}

static void print_row(const struct columns *t, size_t row, const size_t *widths, FILE *out)
{
    size_t owed = 0; /* blanks before the next text */
    for (size_t column = 0; column < t->per_row; column++) {
        const struct text *cell = &t->cells[row * t->per_row + column];
        size_t pad = widths[column] - printable_width(cell->data, cell->size);
        if (t->right[column])
            owed += pad;
        if (cell->size > 0) {
            fprintf(out, "%*s", (int)owed, "");
            fwrite(cell->data, 1, cell->size, out);
            owed = 0;
        }
        owed += GAP + (t->right[column] ? 0 : pad);
    }
}

void columns_print(const struct columns *t, bool bold, FILE *out)
{
    size_t widths[COLUMNS_MAX];
    size_t rows = t->count / t->per_row;
    for (size_t column = 0; column < t->per_row; column++)
        widths[column] = column_width(t, column);
    for (size_t row = 0; row < rows; row++) {
        bool emphasis = bold && row == 0;
        fputs(emphasis ? "\033[1m" : "", out);
        print_row(t, row, widths, out);
        fputs(emphasis ? "\033[0m\n" : "\n", out);
    }
}

void columns_free(struct columns *t)
{
    for (size_t i = 0; i < t->count; i++)
        text_free(&t->cells[i]);
    free(t->cells);
    *t = (struct columns){0};
}
