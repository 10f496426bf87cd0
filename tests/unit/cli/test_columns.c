/* SPDX-License-Identifier: MIT */
/* Rows of cells in aligned columns. */
#include "columns.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void tables(void **state)
{
    (void)state;
    static const char *const cells[] = {"name", "count",     "note",  "\xc3\xa9", "7",
                                        "",     "long name", "1,234", "last"};
    struct columns table = {.per_row = 3, .right = {false, true, false}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
        text_print(columns_cell(&table), "%s", cells[i]);
    char *printed;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    columns_print(&table, false, out);
    fclose(out);
    assert_string_equal(printed, "name       count  note\n"
                                 "\xc3\xa9              7\n"
                                 "long name  1,234  last\n");
    free(printed);
    columns_free(&table);
}

static int set_locale(void **state)
{
    (void)state;
    return setlocale(LC_CTYPE, "C.UTF-8") != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
    };
    return cmocka_run_group_tests_name("columns", tests, set_locale, NULL);
}
