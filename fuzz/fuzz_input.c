/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the lines of any input, plain or gzip, with CSV quotes or without.
 *
 * The first byte chooses: whether quotes join lines, whether what follows is packed before it is
 * read, whether it is repeated until it is longer than one line may be. Lines of input that is no
 * gzip by itself equal those of a simple splitter; whatever it is, the reading ends, and ends the
 * same way when it is asked again.
 */
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#define QUOTES   1
#define PACKED   2
#define REPEATED 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct buffer {
    unsigned char *data;
    size_t size;
};

static struct buffer copy_of(const uint8_t *data, size_t size, bool repeated)
{
    size_t times = repeated && size > 0 ? INPUT_LINE_MAX / size + 2 : 1;
    struct buffer b = {malloc(size * times + 1), size * times};
    require(b.data != NULL);
    if (size > 0)
        memcpy(b.data, data, size);
    for (size_t filled = size; filled < b.size;) {
        size_t more = filled < b.size - filled ? filled : b.size - filled;
        memcpy(b.data + filled, b.data, more);
        filled += more;
    }
    return b;
}

static struct buffer packed(const struct buffer *plain)
{
    z_stream z = {0};
    require(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    struct buffer b = {NULL, deflateBound(&z, plain->size)};
    b.data = malloc(b.size);
    require(b.data != NULL);
    z.next_in = plain->data;
    z.avail_in = (unsigned)plain->size;
    z.next_out = b.data;
    z.avail_out = (unsigned)b.size;
    require(deflate(&z, Z_FINISH) == Z_STREAM_END);
    b.size -= z.avail_out;
    deflateEnd(&z);
    return b;
}

static struct input *open_bytes(const struct buffer *b)
{
    char path[64];
    int fd = memfd_create("input", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, b->data, b->size) == (ssize_t)b->size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct input *in = input_open(path);
    require(in != NULL);
    close(fd);
    return in;
}

/* The line at the front of what is left, as input_next should give it. */
static struct input_line split(const struct buffer *b, size_t *at)
{
    const char *start = (const char *)b->data + *at;
    size_t left = b->size - *at;
    const char *newline = memchr(start, '\n', left);
    struct input_line line = {.data = start, .size = newline ? (size_t)(newline - start) : left};
    *at += line.size + (newline != NULL);
    if (start == (const char *)b->data && line.size >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) {
        line.data += 3;
        line.size -= 3;
    }
    while (line.size > 0 && *line.data == '\0') {
        line.data++;
        line.size--;
    }
    if (line.size > INPUT_LINE_MAX) {
        line.size = INPUT_LINE_MAX;
        line.cut = true;
    } else if (line.size > 0 && line.data[line.size - 1] == '\r') {
        line.size--;
    }
    return line;
}

static void check_end(struct input *in, enum input_status status)
{
    struct input_line line;
    require(input_next(in, false, &line) == status);
    require(status != INPUT_ERROR || strlen(input_error(in)) > 0);
}

static void read_any(const struct buffer *written, bool quotes)
{
    struct input *in = open_bytes(written);
    struct input_line line;
    enum input_status status;
    uint64_t number = 1;
    while ((status = input_next(in, quotes, &line)) == INPUT_LINE) {
        require(line.size <= INPUT_LINE_MAX && line.number == number++);
        for (size_t i = 0; i < line.size; i++)
            number += line.data[i] == '\n'; /* it was joined: no line is left out */
        require(quotes || number == line.number + 1);
    }
    check_end(in, status);
    input_close(in);
}

static void read_known(const struct buffer *written, const struct buffer *plain)
{
    struct input *in = open_bytes(written);
    struct input_line line;
    uint64_t number = 0;
    for (size_t at = 0; at < plain->size;) {
        struct input_line expected = split(plain, &at);
        require(input_next(in, false, &line) == INPUT_LINE);
        require(line.number == ++number && line.cut == expected.cut);
        require(line.size == expected.size);
        require(line.size == 0 || memcmp(line.data, expected.data, line.size) == 0);
    }
    check_end(in, INPUT_END);
    check_end(in, INPUT_END);
    input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct buffer plain = copy_of(data + 1, size - 1, data[0] & REPEATED);
    struct buffer written = data[0] & PACKED ? packed(&plain) : plain;
    bool gzip = plain.size >= 2 && plain.data[0] == 0x1f && plain.data[1] == 0x8b;
    read_any(&written, data[0] & QUOTES);
    if (data[0] & PACKED || !gzip)
        read_known(&written, &plain);
    if (written.data != plain.data)
        free(written.data);
    free(plain.data);
    return 0;
}
