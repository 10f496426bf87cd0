/* SPDX-License-Identifier: MIT */
/* Text that grows. */
#include "text.h"

#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_put(struct text *t, const char *data, size_t size)
{
    if (t->room - t->size <= size) {
        size_t room = t->room * 2 > t->size + size + 1 ? t->room * 2 : t->size + size + 64;
        t->data = cli_resize(t->data, room, 1);
        t->room = room;
    }
    if (size > 0)
        memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = '\0';
}

void text_print(struct text *t, const char *format, ...)
{
    va_list arguments;
    char *line = NULL;
    va_start(arguments, format);
    int size = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (size < 0)
        return;
    text_put(t, line, (size_t)size);
    free(line);
}

void text_clear(struct text *t)
{
    t->size = 0;
    if (t->data != NULL)
        t->data[0] = '\0';
}

void text_free(struct text *t)
{
    free(t->data);
    *t = (struct text){0};
}

void text_put_count(struct text *t, uint64_t value)
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, value);
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            text_put(t, ",", 1);
        text_put(t, &digits[i], 1);
    }
}
