/* SPDX-License-Identifier: MIT */
/* Messages on stderr, the end of stdout, and memory that is there or ends the command. */
#include "cli.h"
#include "printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of_command = "weir";

void cli_set_name(const char *name)
{
    name_of_command = name;
}

void cli_error(const char *format, ...)
{
    va_list arguments;
    char *message = NULL;
    struct text line = {0};
    va_start(arguments, format);
    int size = vasprintf(&message, format, arguments);
    va_end(arguments);
    if (size < 0)
        cli_out_of_memory();
    printable_put(&line, message, (size_t)size, utf8_locale(), SIZE_MAX);
    fprintf(stderr, "%s: %s\n", name_of_command, line.data ? line.data : "");
    text_free(&line);
    free(message);
}

int cli_finish_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_OK;
    if (errno != EPIPE)
        cli_error("cannot write to standard output: %s", strerror(errno ? errno : EIO));
    return CLI_FAILED;
}

void cli_out_of_memory(void)
{
    fprintf(stderr, "%s: out of memory\n", name_of_command); /* cli_error would need some */
    exit(CLI_USAGE);
}

void *cli_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (memory == NULL)
        cli_out_of_memory();
    return memory;
}

void *cli_resize(void *old, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        cli_out_of_memory();
    size_t bytes = count * size;
    void *memory = realloc(old, bytes ? bytes : 1);
    if (memory == NULL)
        cli_out_of_memory();
    return memory;
}
