/* SPDX-License-Identifier: MIT */
/* The command line of `weir replay`. */
#ifndef WEIR_CLI_REPLAY_OPTIONS_H
#define WEIR_CLI_REPLAY_OPTIONS_H

#include "key_choice.h"

#define REPLAY_TOP      5
#define REPLAY_KEYS_MAX 1048576
#define REPLAY_THREADS  256 /* the most that are taken */

struct replay_options {
    enum log_format format;
    const char *key_text; /* as written */
    struct key_choice key_choice;
    struct weir_policy *policies;
    size_t limits;
    size_t top;
    uint32_t keys_max; /* of a stream */
    unsigned threads;
    bool json;
    bool stream;      /* path is "-" */
    const char *path; /* as written */
};

enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/* OPTIONS_WRONG after a message on stderr. What it fills is freed by replay_options_free. */
enum options_result replay_options_read(struct replay_options *o, int argc, char **argv);
void replay_options_free(struct replay_options *o);

#endif
