/* SPDX-License-Identifier: MIT */
/* Text that grows, and how numbers, times and keys are written into it. */
#include "text.h"

#include "cli.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define NS_PER_SECOND 1000000000

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

struct calendar {
    int year, month, day, hour, minute, second, ns;
};

/* The civil date of an instant in its own zone; a year begins in March, as in log_time.c. */
static struct calendar calendar_of(const struct log_time *time)
{
    int64_t seconds = time->unix_ns / NS_PER_SECOND + time->offset_min * 60;
    int64_t second_of_day = ((seconds % 86400) + 86400) % 86400;
    int64_t days = (seconds - second_of_day) / 86400 + 719468;
    int64_t era = days / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct calendar c = {
        .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .hour = (int)(second_of_day / 3600),
        .minute = (int)(second_of_day / 60 % 60),
        .second = (int)(second_of_day % 60),
        .ns = (int)(time->unix_ns % NS_PER_SECOND),
    };
    c.year = (int)(era * 400 + year_of_era + (c.month <= 2));
    return c;
}

static void put_offset(struct text *t, int offset_min)
{
    int size = offset_min < 0 ? -offset_min : offset_min;
    text_print(t, "%c%02d:%02d", offset_min < 0 ? '-' : '+', size / 60, size % 60);
}

void text_put_rfc3339(struct text *t, const struct log_time *time)
{
    struct calendar c = calendar_of(time);
    text_print(t, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute,
               c.second);
    if (c.ns != 0) {
        text_print(t, ".%09d", c.ns);
        while (t->data[t->size - 1] == '0')
            t->data[--t->size] = '\0';
    }
    if (time->offset_min == 0)
        text_put(t, "Z", 1);
    else
        put_offset(t, time->offset_min);
}

void text_put_time(struct text *t, const struct log_time *time, bool zone)
{
    struct calendar c = calendar_of(time);
    text_print(t, "%04d-%02d-%02d %02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute,
               c.second);
    if (zone) {
        text_put(t, " ", 1);
        put_offset(t, time->offset_min);
    }
}

/* Length of the well-formed UTF-8 sequence at the front and its character, or 0. */
static size_t utf8_take(const char *data, size_t size, uint32_t *character)
{
    const unsigned char *p = (const unsigned char *)data;
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (length == 0 || length > size || p[0] > 0xf4)
        return 0;
    uint32_t value = length == 1 ? p[0] : p[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (p[i] & 0x3f);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *character = value;
    return length;
}

/* Marks that reorder or hide text without taking a column. */
static bool is_deceptive(uint32_t c)
{
    return c == 0x61c || c == 0xfeff || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f);
}

/* Length of the printable character at the front and its columns, or 0. */
static size_t printable_take(const char *data, size_t size, bool utf8, size_t *width)
{
    uint32_t character;
    size_t length = utf8_take(data, size, &character);
    *width = 1;
    if (length == 1)
        return character >= 0x20 && character != 0x7f ? 1 : 0;
    if (length == 0 || !utf8 || is_deceptive(character))
        return 0;
    int columns = wcwidth((wchar_t)character);
    if (columns < 0)
        return 0;
    *width = (size_t)columns;
    return length;
}

size_t text_width(const char *data, size_t size)
{
    size_t sum = 0;
    while (size > 0) {
        uint32_t character;
        size_t length = utf8_take(data, size, &character);
        int columns = length > 1 ? wcwidth((wchar_t)character) : 1;
        sum += columns > 0 ? (size_t)columns : 0;
        length += length == 0;
        data += length;
        size -= length;
    }
    return sum;
}

void text_put_printable(struct text *t, const char *data, size_t size, bool utf8, size_t width_max)
{
    size_t used = 0, fits_at = t->size;
    while (size > 0) {
        size_t width, length = printable_take(data, size, utf8, &width);
        if (length == 0)
            width = 4;
        if (used + width > width_max) {
            t->size = fits_at;
            text_put(t, "...", 3);
            return;
        }
        if (length == 0)
            text_print(t, "\\x%02x", (unsigned char)*data);
        else
            text_put(t, data, length);
        used += width;
        if (used + 3 <= width_max)
            fits_at = t->size;
        length += length == 0;
        data += length;
        size -= length;
    }
}

void text_put_utf8(struct text *t, const char *data, size_t size)
{
    while (size > 0) {
        uint32_t character = 0;
        size_t length = utf8_take(data, size, &character);
        if (length == 0 || character == 0xfffd) {
            text_print(t, "\xef\xbf\xbd%02x", (unsigned char)*data);
            length = 1;
        } else {
            text_put(t, data, length);
        }
        data += length;
        size -= length;
    }
}

bool text_locale_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
