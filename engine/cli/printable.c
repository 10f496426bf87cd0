/* SPDX-License-Identifier: MIT */
/* Text of any bytes as UTF-8, and as a terminal may see it. */
#include "printable.h"

#include <langinfo.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

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

/* Characters that reorder text, or that are in it and do not show. */
static bool is_deceptive(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e},
                  {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                  {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    }
    return false;
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

size_t printable_width(const char *data, size_t size)
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

void printable_put(struct text *t, const char *data, size_t size, bool utf8, size_t width_max)
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

void utf8_put(struct text *t, const char *data, size_t size)
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

bool utf8_locale(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
