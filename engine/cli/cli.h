/* SPDX-License-Identifier: MIT */
/* What the parts of the command share: its subcommands, its messages, its exit statuses. */
#ifndef WEIR_CLI_H
#define WEIR_CLI_H

#include <stddef.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,       /* the answer could not be written */
    CLI_USAGE = 2,        /* wrong usage, or input that cannot be used */
    CLI_INTERRUPTED = 130 /* 128 + SIGINT, as shells have it */
};

/* The subcommands; argv[0] is their name. They return the exit status. */
int cli_check(int argc, char **argv);
int cli_replay(int argc, char **argv);

/* What messages begin with, "weir" until it is set. A string that stays. */
void cli_set_name(const char *name);

/* One line on stderr: the name, a colon, the message, in which what a terminal must not see is
   escaped (printable_put): arguments and lines of logs may hold anything. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flushes stdout. CLI_OK, or CLI_FAILED after a message (none for a closed pipe). */
int cli_finish_output(void);

/* Memory, or a message and exit status 2. */
void *cli_alloc(size_t count, size_t size); /* zeroed */
void *cli_resize(void *old, size_t count, size_t size);
_Noreturn void cli_out_of_memory(void);

#endif
