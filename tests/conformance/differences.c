/* SPDX-License-Identifier: MIT */
/* A file's rows against the list of those that differ on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "differences.h"

#include <stdio.h>
#include <string.h>

static const struct {
    unsigned field;
    const char *name;
} names[] = {{BEFORE, " BEFORE"},   {RESULT, " RESULT"},  {AFTER, " AFTER"}, {RATE, " RATE"},
             {SETTING, " SETTING"}, {STATE, " STATE"},    {COUNT, " COUNT"}, {END, " END"},
             {IN_USE, " IN_USE"},   {NOT_RUN, " NOT_RUN"}};

static const char *name_of(enum subject_kind kind)
{
    return kind == SUBJECT_CELL ? "cell" : "engine";
}

void ledger_open(struct ledger *l, const char *file, enum subject_kind kind,
                 const struct difference *listed)
{
    *l = (struct ledger){.kind = kind, .listed = listed};
    csv_open(&l->table, file);
}

/* Is the entry about this kind of subject? */
static bool applies(const struct ledger *l, const struct difference *d)
{
    return (d->fields & (l->kind == SUBJECT_CELL ? ENGINE : CELL)) == 0;
}

/* "BEFORE" and "AFTER" as " BEFORE AFTER". */
static void names_of(char *text, size_t size, unsigned fields)
{
    *text = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((fields & names[i].field) != 0)
            strncat(text, names[i].name, size - strlen(text) - 1);
}

void compare(struct ledger *l, const char *test, uint64_t step, unsigned differ)
{
    const struct difference *d = l->listed;
    unsigned listed;
    char text[96];
    size_t i = 0;

    while (d[i].test != NULL &&
           (strcmp(d[i].test, test) != 0 || d[i].step != step || !applies(l, &d[i])))
        i++;
    assert_in_range(i, 0, sizeof l->seen - 1);
    listed = d[i].fields & ~(unsigned)(CELL | ENGINE);
    names_of(text, sizeof text, differ);
    if (differ != listed)
        fail_msg("%s, %s, step %lld, %s: differs in [%s ], listed [%u] %s", l->table.file, test,
                 (long long)step, name_of(l->kind), text, listed,
                 d[i].test == NULL ? "" : d[i].reason);
    l->seen[i] = true;
}

void account(struct ledger *l, const char *test, uint64_t step, unsigned differ)
{
    compare(l, test, step, differ);
    l->skipped += differ == NOT_RUN;
    l->rows += differ != NOT_RUN;
    l->differing += differ != 0 && differ != NOT_RUN;
}

void ledger_close(struct ledger *l, size_t rows_min)
{
    printf("# %s, %s: %zu rows, %zu of them differ as listed; %zu rows not run\n", l->table.file,
           name_of(l->kind), l->rows, l->differing, l->skipped);
    for (size_t i = 0; l->listed[i].test != NULL; i++)
        if (!l->seen[i] && !l->table.elsewhere && applies(l, &l->listed[i]))
            fail_msg("%s, step %lld is listed, but not in the file", l->listed[i].test,
                     (long long)l->listed[i].step);
    assert_true(l->rows >= (l->table.elsewhere ? 1 : rows_min));
    assert_int_equal(l->rows + l->skipped, l->table.rows);
    csv_close(&l->table);
}
