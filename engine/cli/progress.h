/* SPDX-License-Identifier: MIT */
/* A line on stderr that shows how far the reading is, where stderr is a terminal. */
#ifndef WEIR_CLI_PROGRESS_H
#define WEIR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool on;    /* stderr is a terminal */
    bool shown; /* the line is there */
    uint64_t started_ns, shown_ns;
};

void progress_start(struct progress *p);

/* Shows a count of lines, at most ten times a second. */
void progress_show(struct progress *p, uint64_t lines);

/* Takes the line away, before anything else is written to stderr. */
void progress_erase(struct progress *p);

#endif
