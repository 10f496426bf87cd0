/* SPDX-License-Identifier: MIT */
/* Building JSON to print; without memory the command ends. */
#include "json_put.h"

#include "cli.h"

#include <stdio.h>

void json_put(json_t *object, const char *name, json_t *value)
{
    if (value == NULL || json_object_set_new(object, name, value) != 0)
        cli_out_of_memory();
}

void json_put_last(json_t *array, json_t *value)
{
    if (value == NULL || json_array_append_new(array, value) != 0)
        cli_out_of_memory();
}

json_t *json_count(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

json_t *json_text(struct text *t)
{
    json_t *value = json_stringn(t->data ? t->data : "", t->size);
    text_free(t);
    return value;
}

/* DEL, which JSON allows as it is and a terminal does not show, stands in strings only. */
static int write_piece(const char *data, size_t size, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\177')
            fputs("\\u007f", stdout);
        else
            fputc(data[i], stdout);
    }
    return ferror(stdout) ? -1 : 0;
}

void json_print(json_t *object)
{
    /* All the digits that a double always has: 0.1 is not written as 0.10000000000000001. */
    if (json_dump_callback(object, write_piece, NULL, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) !=
            0 &&
        !ferror(stdout))
        cli_out_of_memory();
    fputc('\n', stdout);
    json_decref(object);
}
