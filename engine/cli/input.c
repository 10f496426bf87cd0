/* SPDX-License-Identifier: MIT */
/* Lines of a file or of standard input, plain or gzip, in a fixed amount of memory. */
#include "input.h"

#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Large enough that a read costs little a line, small enough to stay in the cache. */
#define BLOCK_SIZE ((size_t)256 << 10)

/* Where RFC 4180 quoting stands between two bytes. */
enum quoting {
    FIELD_START,
    FIELD_PLAIN,
    FIELD_QUOTED,
    QUOTE_IN_QUOTED /* the end of the field, or the first of a pair */
};

struct input {
    gzFile stream;
    uint64_t lines;
    enum quoting quoting;
    bool at_start; /* of the input: a byte order mark may come */
    bool end;
    bool failed;
    char error[160];
    char *block;
    size_t at, filled; /* in block */
    char *line;        /* a line that did not lie in one block */
    size_t line_size, line_room;
    bool line_cut;
};

struct input *input_open(const char *path)
{
    struct input *in = cli_alloc(1, sizeof *in);
    if (strcmp(path, "-") == 0) {
        int fd = dup(STDIN_FILENO);
        in->stream = fd < 0 ? NULL : gzdopen(fd, "rb");
    } else {
        errno = ENOMEM; /* what zlib means when it sets none */
        in->stream = gzopen(path, "rb");
    }
    if (in->stream == NULL) {
        int error = errno;
        free(in);
        errno = error;
        return NULL;
    }
    gzbuffer(in->stream, (unsigned)BLOCK_SIZE);
    in->block = cli_alloc(1, BLOCK_SIZE);
    in->at_start = true;
    return in;
}

void input_close(struct input *in)
{
    gzclose(in->stream);
    free(in->block);
    free(in->line);
    free(in);
}

const char *input_error(const struct input *in)
{
    return in->error;
}

static bool fail(struct input *in)
{
    int code = Z_OK;
    int system = errno;
    const char *text = gzerror(in->stream, &code);
    const char *behind_path = strrchr(text, ':');
    if (code == Z_BUF_ERROR)
        text = "it ends in the middle";
    else if (behind_path != NULL)
        text = behind_path + strspn(behind_path, ": ");
    if (code == Z_ERRNO)
        snprintf(in->error, sizeof in->error, "%s", strerror(system));
    else
        snprintf(in->error, sizeof in->error, "corrupt gzip data: %s", text);
    in->failed = in->end = true;
    return false;
}

static bool fill(struct input *in)
{
    if (in->end)
        return false;
    errno = 0;
    int got = gzread(in->stream, in->block, (unsigned)BLOCK_SIZE);
    if (got < 0)
        return fail(in);
    in->at = 0;
    in->filled = (size_t)got;
    if (got > 0)
        return true;
    in->end = true;
    int code = Z_OK;
    gzerror(in->stream, &code);
    return code == Z_OK || code == Z_STREAM_END ? false : fail(in);
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
    if (in->at_start && in->filled - in->at >= 3 &&
        memcmp(in->block + in->at, "\xef\xbb\xbf", 3) == 0)
        in->at += 3;
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
