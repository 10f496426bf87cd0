/* SPDX-License-Identifier: MIT */
/* Lines of a file or of standard input, plain or gzip. */
#ifndef WEIR_CLI_INPUT_H
#define WEIR_CLI_INPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is kept of one line; the rest of it is read and dropped. */
#define INPUT_LINE_MAX ((size_t)1 << 20)

struct input;

struct input_line {
    const char *data; /* valid until the next call; any bytes, no line end */
    size_t size;
    uint64_t number; /* 1 for the first line of the input */
    bool cut;        /* longer than INPUT_LINE_MAX: this is its beginning */
    bool ended;      /* with a line end, not with the input */
};

enum input_status {
    INPUT_LINE,
    INPUT_END,
    INPUT_ERROR /* said in words by input_error */
};

/* Opens a path, or "-" for standard input. NULL with errno set. */
struct input *input_open(const char *path);
void input_close(struct input *in);

/*
 * The next line without its LF or CRLF; the last line needs none. A byte order mark at the front
 * of the input and NUL bytes at the front of a line (what truncating a log under its writer
 * leaves) are dropped. `quotes`: a line goes on while a CSV quote is open. One that is not closed
 * within INPUT_LINE_MAX or by the end of the input, or with text behind it, joins no lines: each
 * is one of its own.
 */
enum input_status input_next(struct input *in, bool quotes, struct input_line *out);

/* One sentence about the INPUT_ERROR. */
const char *input_error(const struct input *in);

/* The input ends with what has been read of it once *stop is not 0; a signal interrupts the waiting
   for more. */
void input_end_on(struct input *in, const volatile sig_atomic_t *stop);

#endif
