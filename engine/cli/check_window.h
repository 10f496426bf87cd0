/* SPDX-License-Identifier: MIT */
/* For `weir check`: what windows and concurrency limits admit, in words and as JSON. */
#ifndef WEIR_CLI_CHECK_WINDOW_H
#define WEIR_CLI_CHECK_WINDOW_H

#include "log_time.h"

#include <jansson.h>
#include <weir/weir.h>

/* A policy that is no bucket, and what follows from it. */
struct check_window {
    struct weir_policy policy;
    const char *kind;
    uint64_t most;  /* requests that may fall within the length of one window */
    weir_ns grain;  /* windows from the first hit: their start is rounded up to it */
    bool now_given; /* `now` is not the present */
    bool dated;     /* from and to are known: aligned and calendar windows */
    struct log_time now, from, to;
};

/* `now` is the present when NULL. An engine takes the policy. */
void check_window_gather(struct check_window *w, const struct weir_policy *policy,
                         const struct log_time *now);

/* Lines of two blanks and a sentence. */
void check_window_put_words(struct text *t, const struct check_window *w);

/* All members behind `policy`. */
void check_window_put_json(json_t *object, const struct check_window *w);

#endif
