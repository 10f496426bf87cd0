/* SPDX-License-Identifier: MIT */
/* Vector files: comma-separated text with a header row, quoted fields and comment lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "csv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

#define FIELDS_MAX 32768

static bool path_of(char *path, size_t size, const char *file)
{
    const char *folder = getenv("WEIR_VECTORS"), *root = getenv("WEIR_SOURCE_ROOT");
    bool elsewhere = folder != NULL && folder[0] != '\0';

    if (elsewhere)
        (void)snprintf(path, size, "%s/%s", folder, file);
    else if (root != NULL)
        (void)snprintf(path, size, "%s/tests/conformance/%s", root, file);
    else
        (void)snprintf(path, size, "%s", file);
    return elsewhere;
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;

    if (file == NULL) {
        fail_msg("%s: %s", path, strerror(errno));
        return NULL;
    }
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
        text = malloc((size_t)size + 1);
        rewind(file);
        if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        } else if (text != NULL) {
            text[size] = '\0';
        }
    }
    (void)fclose(file);
    if (text == NULL)
        fail_msg("%s: cannot be read", path);
    return text;
}

/* Cuts one field off at *cursor, unquoted in place. Returns true when the row goes on after it. */
static bool cut_field(char **cursor, char **field)
{
    char *from = *cursor, *to = from;
    bool quoted = *from == '"', goes_on;

    *field = to;
    if (quoted)
        from++;
    while (*from != '\0') {
        if (quoted && from[0] == '"' && from[1] == '"')
            from++;
        else if (quoted && *from == '"') {
            quoted = false;
            from++;
            continue;
        } else if (!quoted && (*from == ',' || *from == '\n' || *from == '\r'))
            break;
        *to++ = *from++;
    }
    goes_on = *from == ',';
    if (*from == '\r')
        from++;
    if (*from != '\0')
        from++;
    *to = '\0';
    *cursor = from;
    return goes_on;
}

static void parse(struct csv *table)
{
    char *cursor = table->text;
    size_t count = 0;

    while (*cursor != '\0') {
        size_t first = count;
        bool goes_on = true;

        if (*cursor == '#' || *cursor == '\n') {
            cursor += strcspn(cursor, "\n");
            cursor += *cursor == '\n';
            continue;
        }
        while (goes_on) {
            assert_true(count < FIELDS_MAX);
            goes_on = cut_field(&cursor, &table->fields[count++]);
        }
        if (first == 0)
            table->columns = count;
        else if (count - first != table->columns)
            fail_msg("%s: a row of %zu fields, not %zu: %s", table->file, count - first,
                     table->columns, table->fields[first]);
    }
    assert_true(table->columns > 0 && count > table->columns);
    table->rows = count / table->columns - 1;
}

void csv_open(struct csv *table, const char *file)
{
    char path[4096];

    *table = (struct csv){.file = file};
    table->elsewhere = path_of(path, sizeof path, file);
    table->text = read_all(path);
    table->fields = calloc(FIELDS_MAX, sizeof *table->fields);
    assert_non_null(table->fields);
    parse(table);
}

void csv_close(struct csv *table)
{
    free(table->fields);
    free(table->text);
    *table = (struct csv){0};
}

const char *csv_text(const struct csv *table, size_t row, const char *column)
{
    assert_true(row < table->rows);
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->fields[i], column) == 0)
            return table->fields[(row + 1) * table->columns + i];
    fail_msg("%s: no column %s", table->file, column);
    return "";
}

uint64_t csv_u64(const struct csv *table, size_t row, const char *column)
{
    const char *text = csv_text(table, row, column);
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-')
        fail_msg("%s: row %zu, %s: \"%s\" is no count", table->file, row + 1, column, text);
    return value;
}

bool csv_continues(const struct csv *table, size_t row, const char *column)
{
    return row > 0 && strcmp(csv_text(table, row, column), csv_text(table, row - 1, column)) == 0;
}

/* Simplest fraction in [ln/ld, hn/hd], by continued fractions. */
static void simplest(wide ln, wide ld, wide hn, wide hd, wide *p, wide *q)
{
    wide whole = ln / ld, rest_p, rest_q;

    if (whole * ld == ln) {
        *p = whole;
        *q = 1;
    } else if ((whole + 1) * hd <= hn) {
        *p = whole + 1;
        *q = 1;
    } else {
        simplest(hd, hn - whole * hd, ld, ln - whole * ld, &rest_p, &rest_q);
        *p = whole * rest_p + rest_q;
        *q = rest_p;
    }
}

struct fraction fraction_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    struct fraction f = {value < 0 ? -1 : 1, 0, 1};
    int exponent;
    wide mantissa, scale, p, q;

    if (end == text || *end != '\0' || !isfinite(value))
        fail_msg("\"%s\" is no number", text);
    if (value == 0)
        return f;
    /* |value| = mantissa * 2^exponent; all within half a step of it prints as it. */
    mantissa = (wide)ldexp(frexp(fabs(value), &exponent), 53);
    exponent -= 53;
    assert_in_range(exponent + 100, 0, 160);
    if (exponent > 0) {
        f.p = (uint64_t)(mantissa << exponent);
        return f;
    }
    scale = (wide)1 << (1 - exponent);
    simplest(2 * mantissa - 1, scale, 2 * mantissa + 1, scale, &p, &q);
    f.p = (uint64_t)p;
    f.q = (uint64_t)q;
    if (f.p != p || f.q != q || (double)f.p / (double)f.q != fabs(value))
        fail_msg("\"%s\" has no simple fraction", text);
    return f;
}
