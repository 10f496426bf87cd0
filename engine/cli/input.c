/* SPDX-License-Identifier: MIT */
/* Lines of a file or of standard input, plain or gzip, in a fixed amount of memory. */
#include "input.h"

#include "bytes.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* Large enough that a read costs little a line, small enough to stay in the cache. */
#define BLOCK_SIZE ((size_t)256 << 10)

static const char byte_order_mark[] = "\xef\xbb\xbf";

/* Where RFC 4180 quoting stands between two bytes. */
enum quoting {
    FIELD_START,
    FIELD_PLAIN,
    FIELD_QUOTED,
    QUOTE_IN_QUOTED /* the end of the field, or the first of a pair */
};

struct input {
    struct bytes *bytes;
    uint64_t lines;
    enum quoting quoting;
    bool at_start; /* of the input: a byte order mark may come */
    bool end;
    bool failed;
    char *block;
    size_t at, filled; /* in block */
    char *line;        /* a line that did not lie in one block */
    size_t line_size, line_room;
    bool line_cut;
};

struct input *input_open(const char *path)
{
    struct bytes *bytes = bytes_open(path);
    if (bytes == NULL)
        return NULL;
    struct input *in = cli_alloc(1, sizeof *in);
    in->bytes = bytes;
    in->block = cli_alloc(1, BLOCK_SIZE);
    in->at_start = true;
    return in;
}

void input_close(struct input *in)
{
    bytes_close(in->bytes);
    free(in->block);
    free(in->line);
    free(in);
}

const char *input_error(const struct input *in)
{
    return bytes_error(in->bytes);
}

void input_end_on(struct input *in, const volatile sig_atomic_t *stop)
{
    bytes_end_on(in->bytes, stop);
}

static bool fill(struct input *in)
{
    if (in->end)
        return false;
    in->at = 0;
    in->filled = bytes_read(in->bytes, in->block, BLOCK_SIZE, sizeof byte_order_mark - 1);
    in->end = in->filled == 0;
    in->failed = in->end && bytes_error(in->bytes) != NULL;
    return !in->end;
}

/* Follows the quoting through a piece of a line; true while a quote is open behind it. */
static bool follow_quotes(struct input *in, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char byte = data[i];
        if (in->quoting == FIELD_QUOTED)
            in->quoting = byte == '"' ? QUOTE_IN_QUOTED : FIELD_QUOTED;
        else if (byte == ',')
            in->quoting = FIELD_START;
        else if (byte == '"' && in->quoting != FIELD_PLAIN)
            in->quoting = FIELD_QUOTED;
        else
            in->quoting = FIELD_PLAIN;
    }
    return in->quoting == FIELD_QUOTED;
}

static void keep(struct input *in, const char *data, size_t size)
{
    if (size > INPUT_LINE_MAX - in->line_size) {
        size = INPUT_LINE_MAX - in->line_size;
        in->line_cut = true;
    }
    if (in->line_room < in->line_size + size) {
        size_t room = 2 * (in->line_size + size);
        in->line_room = room < INPUT_LINE_MAX ? room : INPUT_LINE_MAX;
        in->line = cli_resize(in->line, in->line_room, 1);
    }
    if (size > 0)
        memcpy(in->line + in->line_size, data, size);
    in->line_size += size;
}

/* Bytes at the front that are no part of the line. */
static void skip_front(struct input *in)
{
    const size_t mark = sizeof byte_order_mark - 1;
    if (in->at_start && in->filled - in->at >= mark &&
        memcmp(in->block + in->at, byte_order_mark, mark) == 0)
        in->at += mark;
    in->at_start = false;
    while (in->at < in->filled && in->block[in->at] == '\0')
        in->at++;
}

/*
 * One line into *data, in the block where it lies whole in it, else in in->line. False at the
 * end of the input.
 */
static bool take_line(struct input *in, bool quotes, const char **data, size_t *size)
{
    bool kept = false, any = false;
    in->line_size = 0;
    in->line_cut = false;
    in->quoting = FIELD_START;
    for (;;) {
        if (in->at == in->filled && !fill(in))
            break;
        any = true;
        if (!kept)
            skip_front(in);
        const char *start = in->block + in->at;
        const char *newline = memchr(start, '\n', in->filled - in->at);
        size_t length = newline ? (size_t)(newline - start) : in->filled - in->at;
        in->at += length + (newline != NULL);
        in->lines += newline != NULL;
        bool open = quotes && follow_quotes(in, start, length + (newline != NULL));
        bool whole = newline && (!open || in->line_size + length + 1 >= INPUT_LINE_MAX);
        if (whole && !kept && length <= INPUT_LINE_MAX) {
            *data = start;
            *size = length;
            return true;
        }
        keep(in, start, length + (newline && !whole));
        kept = kept || in->line_size > 0;
        if (whole)
            break;
    }
    in->lines += any && in->end && !in->failed;
    *data = in->line;
    *size = in->line_size;
    return any && !in->failed;
}

enum input_status input_next(struct input *in, bool quotes, struct input_line *out)
{
    uint64_t before = in->lines;
    if (!take_line(in, quotes, &out->data, &out->size))
        return in->failed ? INPUT_ERROR : INPUT_END;
    out->number = before + 1;
    out->cut = in->line_cut;
    if (!out->cut && out->size > 0 && out->data[out->size - 1] == '\r')
        out->size--;
    return INPUT_LINE;
}
