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

/*
 * What was read and is still needed lies in `window`, which grows from one block to what a line
 * of INPUT_LINE_MAX and the one before it take: at <= filled <= room.
 *
 * A quote that is open at one line end before `open_to` is open at all of them from there on, at
 * `open_to` too. Without that, lines that each open a quote would each be followed to the bound.
 */
struct input {
    struct bytes *bytes;
    const volatile sig_atomic_t *stop;
    uint64_t lines;
    bool at_start; /* of the input: a byte order mark may come */
    bool end;
    bool failed;
    char *window;
    size_t room, at, filled;
    size_t open_to;  /* where a line starts */
    size_t searched; /* from open_to to here there is no line end */
    bool stays_open; /* no line from open_to on closes the quote as it should be */
};

struct input *input_open(const char *path)
{
    struct bytes *bytes = bytes_open(path);
    if (bytes == NULL)
        return NULL;
    struct input *in = cli_alloc(1, sizeof *in);
    in->bytes = bytes;
    in->window = cli_alloc(1, BLOCK_SIZE);
    in->room = BLOCK_SIZE;
    in->at_start = true;
    return in;
}

void input_close(struct input *in)
{
    bytes_close(in->bytes);
    free(in->window);
    free(in);
}

const char *input_error(const struct input *in)
{
    return bytes_error(in->bytes);
}

void input_end_on(struct input *in, const volatile sig_atomic_t *stop)
{
    in->stop = stop;
    bytes_end_on(in->bytes, stop);
}

static size_t less_by(size_t value, size_t by)
{
    return value > by ? value - by : 0;
}

/*
 * Reads more behind what is there. What is left is moved to the front when that is no more than
 * what has been used up before it, so that moving costs little a byte.
 */
static bool fill(struct input *in)
{
    size_t left = in->filled - in->at;
    in->end = in->end || (in->stop != NULL && *in->stop != 0);
    if (in->end)
        return false;
    if (left <= in->at) {
        memmove(in->window, in->window + in->at, left);
        in->open_to = less_by(in->open_to, in->at);
        in->searched = less_by(in->searched, in->at);
        in->at = 0;
        in->filled = left;
    }
    if (in->filled == in->room) {
        in->room *= 2;
        in->window = cli_resize(in->window, in->room, 1);
    }
    size_t space = in->room - in->filled;
    size_t got = bytes_read(in->bytes, in->window + in->filled,
                            space < BLOCK_SIZE ? space : BLOCK_SIZE, sizeof byte_order_mark - 1);
    in->filled += got;
    in->end = got == 0;
    in->failed = in->end && bytes_error(in->bytes) != NULL;
    return !in->end;
}

/* Goes past bytes at the front that are no part of the line; false when the input has ended. */
static bool find_front(struct input *in)
{
    const size_t mark = sizeof byte_order_mark - 1;
    if (in->at == in->filled && !fill(in))
        return false;
    if (in->at_start && in->filled - in->at >= mark &&
        memcmp(in->window + in->at, byte_order_mark, mark) == 0)
        in->at += mark;
    in->at_start = false;
    do {
        while (in->at < in->filled && in->window[in->at] == '\0')
            in->at++;
    } while (in->at == in->filled && fill(in));
    return true;
}

/* How far behind `at` the line ends, with LF or with the input. Of what is past INPUT_LINE_MAX
   only so much is kept that it shows. */
static size_t find_line_end(struct input *in)
{
    size_t searched = 0;
    for (;;) {
        const char *start = in->window + in->at;
        size_t left = in->filled - in->at;
        const char *newline = memchr(start + searched, '\n', left - searched);
        if (newline != NULL)
            return (size_t)(newline - start);
        if (left > INPUT_LINE_MAX + 1)
            left = INPUT_LINE_MAX + 1;
        in->filled = in->at + left;
        searched = left;
        if (!fill(in))
            return left;
    }
}

/* Follows the quoting through a line and its end; true while a quote is open behind it. */
static bool leaves_open(enum quoting quoting, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char byte = data[i];
        if (quoting == FIELD_QUOTED)
            quoting = byte == '"' ? QUOTE_IN_QUOTED : FIELD_QUOTED;
        else if (byte == ',')
            quoting = FIELD_START;
        else if (byte == '"' && quoting != FIELD_PLAIN)
            quoting = FIELD_QUOTED;
        else
            quoting = FIELD_PLAIN;
    }
    return quoting == FIELD_QUOTED;
}

/* Does text follow where a line closes the quote that was open before it? Then that quote was
   meant to open another field, and the one before was never closed. */
static bool closes_badly(const char *data, size_t size)
{
    const char *end = data + size, *quote;
    while ((quote = memchr(data, '"', (size_t)(end - data))) != NULL) {
        data = quote + 1;
        if (data == end || *data != '"')
            return data < end && *data != ',' && *data != '\r' && *data != '\n';
        data++;
    }
    return false;
}

/*
 * The end of the record whose first line ends at `first` with a quote open: the line end where
 * none is, or `first` when there is no such within the bound.
 */
static size_t find_record_end(struct input *in, size_t first)
{
    size_t done = first + 1, searched = done;
    in->stays_open = in->stays_open && in->open_to >= in->at + done;
    if (in->open_to >= in->at + done) {
        done = in->open_to - in->at;
        searched = in->searched - in->at;
    }
    while (!in->stays_open) {
        const char *start = in->window + in->at;
        size_t left = in->filled - in->at;
        size_t bound = left < INPUT_LINE_MAX + 1 ? left : INPUT_LINE_MAX + 1;
        const char *newline = memchr(start + searched, '\n', bound - searched);
        searched = bound;
        if (newline == NULL && bound > INPUT_LINE_MAX)
            break;
        if (newline == NULL && fill(in))
            continue;
        /* a line, or what the input ends with */
        size_t end = newline != NULL ? (size_t)(newline - start) : left;
        size_t size = end + (newline != NULL) - done;
        in->stays_open = (newline == NULL && in->failed) || closes_badly(start + done, size);
        if (!in->stays_open && !leaves_open(FIELD_QUOTED, start + done, size))
            return end;
        in->stays_open = in->stays_open || newline == NULL;
        if (!in->stays_open)
            searched = done = end + 1;
    }
    in->open_to = in->at + done;
    in->searched = in->at + searched;
    return first;
}

static uint64_t count_line_ends(const char *data, size_t size)
{
    uint64_t count = 0;
    const char *end = data + size, *newline;
    for (; (newline = memchr(data, '\n', (size_t)(end - data))) != NULL; data = newline + 1)
        count++;
    return count;
}

enum input_status input_next(struct input *in, bool quotes, struct input_line *out)
{
    if (!find_front(in))
        return in->failed ? INPUT_ERROR : INPUT_END;
    size_t size = find_line_end(in);
    bool ended = in->at + size < in->filled;
    uint64_t joined = 0;
    if (!ended && in->failed)
        return INPUT_ERROR;
    if (quotes && ended && size <= INPUT_LINE_MAX &&
        leaves_open(FIELD_START, in->window + in->at, size + 1)) {
        size = find_record_end(in, size);
        ended = in->at + size < in->filled;
        joined = count_line_ends(in->window + in->at, size);
    }
    out->data = in->window + in->at;
    out->cut = size > INPUT_LINE_MAX;
    out->size = out->cut ? INPUT_LINE_MAX : size;
    out->ended = ended;
    out->number = in->lines + 1;
    in->lines += 1 + joined;
    in->at += size + ended;
    if (!out->cut && size > 0 && out->data[size - 1] == '\r')
        out->size--;
    return INPUT_LINE;
}
