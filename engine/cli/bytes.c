/* SPDX-License-Identifier: MIT */
/* The bytes of a file or of standard input, unpacked where they are gzip. */
#include "bytes.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Large enough that a read costs little a line. */
#define PACKED_SIZE ((size_t)64 << 10)

/* What zlib wants to be told: the largest window, and a gzip header around it. */
#define GZIP_WINDOW (15 + 16)

enum form {
    UNKNOWN, /* nothing has been read */
    PLAIN,
    GZIP,
    GZIP_BEHIND /* a member has ended */
};

struct bytes {
    int fd;
    enum form form;
    bool end; /* of the file */
    bool inflating;
    char error[160]; /* empty when there is none */
    z_stream stream; /* next_in and avail_in: what of `packed` is to be unpacked */
    unsigned char packed[PACKED_SIZE];
    const volatile sig_atomic_t *stop;
};

struct bytes *bytes_open(const char *path)
{
    int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct bytes *b = cli_alloc(1, sizeof *b);
    b->fd = fd;
    return b;
}

void bytes_close(struct bytes *b)
{
    if (b->inflating)
        inflateEnd(&b->stream);
    close(b->fd);
    free(b);
}

const char *bytes_error(const struct bytes *b)
{
    return b->error[0] != '\0' ? b->error : NULL;
}

void bytes_end_on(struct bytes *b, const volatile sig_atomic_t *stop)
{
    b->stop = stop;
}

/* From the file as it is; 0 at its end and after an error. */
static size_t read_file(struct bytes *b, void *out, size_t size)
{
    while (!b->end) {
        ssize_t got = read(b->fd, out, size);
        if (got > 0)
            return (size_t)got;
        if (got < 0 && errno == EINTR && (b->stop == NULL || *b->stop == 0))
            continue;
        if (got < 0 && errno != EINTR)
            snprintf(b->error, sizeof b->error, "%s", strerror(errno));
        b->end = true;
    }
    return 0;
}

static bool fill_packed(struct bytes *b)
{
    b->stream.next_in = b->packed;
    b->stream.avail_in = (unsigned)read_file(b, b->packed, PACKED_SIZE);
    return b->stream.avail_in > 0;
}

/* Two bytes tell gzip from a log. */
static void tell_form(struct bytes *b)
{
    size_t filled = 0, got;
    while (filled < 2 && (got = read_file(b, b->packed + filled, PACKED_SIZE - filled)) > 0)
        filled += got;
    b->stream.next_in = b->packed;
    b->stream.avail_in = (unsigned)filled;
    b->form = filled >= 2 && b->packed[0] == 0x1f && b->packed[1] == 0x8b ? GZIP : PLAIN;
    if (b->form == GZIP) {
        if (inflateInit2(&b->stream, GZIP_WINDOW) != Z_OK)
            cli_out_of_memory();
        b->inflating = true;
    }
}

static size_t read_plain(struct bytes *b, char *out, size_t size)
{
    size_t waiting = b->stream.avail_in;
    if (waiting == 0)
        return read_file(b, out, size);
    size_t taken = waiting < size ? waiting : size;
    memcpy(out, b->stream.next_in, taken);
    b->stream.next_in += taken;
    b->stream.avail_in -= (unsigned)taken;
    return taken;
}

static size_t corrupt(struct bytes *b, const char *why)
{
    snprintf(b->error, sizeof b->error, "corrupt gzip data: %s", why);
    b->end = true;
    return 0;
}

/* Behind a member: the next one begins, or nothing but zeros may come (what tapes are padded
   with). True when one begins. */
static bool next_member(struct bytes *b)
{
    while (b->stream.avail_in > 0 || fill_packed(b)) {
        if (*b->stream.next_in == 0x1f) {
            inflateReset(&b->stream);
            b->form = GZIP;
            return true;
        }
        if (*b->stream.next_in != 0) {
            snprintf(b->error, sizeof b->error, "data behind the gzip stream");
            b->end = true;
            b->stream.avail_in = 0;
            return false;
        }
        b->stream.next_in++;
        b->stream.avail_in--;
    }
    return false;
}

static size_t read_gzip(struct bytes *b, char *out, size_t size)
{
    b->stream.next_out = (unsigned char *)out;
    b->stream.avail_out = (unsigned)size;
    while (b->stream.avail_out == size) {
        if (b->form == GZIP_BEHIND && !next_member(b))
            return 0;
        if (b->stream.avail_in == 0 && !fill_packed(b)) {
            bool stopped = b->stop != NULL && *b->stop != 0;
            return stopped || bytes_error(b) != NULL ? 0 : corrupt(b, "it ends in the middle");
        }
        int code = inflate(&b->stream, Z_NO_FLUSH);
        if (code == Z_STREAM_END)
            b->form = GZIP_BEHIND;
        else if (code == Z_MEM_ERROR)
            cli_out_of_memory();
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return corrupt(b, b->stream.msg ? b->stream.msg : "it cannot be unpacked");
    }
    return size - b->stream.avail_out;
}

size_t bytes_read(struct bytes *b, char *out, size_t size, size_t least)
{
    bool first = b->form == UNKNOWN;
    size_t filled = 0, got;
    if (first)
        tell_form(b);
    do {
        got = bytes_error(b) != NULL ? 0
              : b->form == PLAIN     ? read_plain(b, out + filled, size - filled)
                                     : read_gzip(b, out + filled, size - filled);
        filled += got;
    } while (first && got > 0 && filled < least);
    return filled;
}
