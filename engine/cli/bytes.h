/* SPDX-License-Identifier: MIT */
/* The bytes of a file or of standard input, unpacked where they are gzip. */
#ifndef WEIR_CLI_BYTES_H
#define WEIR_CLI_BYTES_H

#include <signal.h>
#include <stddef.h>

struct bytes;

/* Opens a path, or "-" for standard input. NULL with errno set. */
struct bytes *bytes_open(const char *path);
void bytes_close(struct bytes *b);

/*
 * As many bytes as are there, at least 1 and at most `size`; the first call waits for `least` of
 * them. 0 at the end, and after an error. gzip may have several members and zeros behind the last;
 * anything else behind it is an error, since it would be lost.
 */
size_t bytes_read(struct bytes *b, char *out, size_t size, size_t least);

/* One sentence about the error, or NULL when there was none. */
const char *bytes_error(const struct bytes *b);

/* The input ends when a signal interrupts the waiting for it and *stop is not 0. */
void bytes_end_on(struct bytes *b, const volatile sig_atomic_t *stop);

#endif
