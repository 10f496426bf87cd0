/* SPDX-License-Identifier: MIT */
/* A policy given on the command line: parsed, tried on an engine, refused in words. */
#include "policy_arg.h"

#include "cli.h"
#include "policy_expected.h"
#include "printable.h"
#include "replay_secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show_fault(const char *text, size_t at)
{
    bool utf8 = utf8_locale();
    struct text line = {0};
    printable_put(&line, text, at, utf8, SIZE_MAX);
    size_t column = printable_width(line.data ? line.data : "", line.size);
    printable_put(&line, text + at, strlen(text + at), utf8, SIZE_MAX);
    fprintf(stderr, "  %s\n  %*s^\n", line.data ? line.data : "", (int)column, "");
    text_free(&line);
}

/* What weir_add_limit says of it, on an engine that is there for nothing else. */
static int try_policy(const struct weir_policy *policy)
{
    struct weir_options options = {
        .size = sizeof options, .max_keys = 1, .max_limits = 1, .secret = replay_secret()};
    struct weir *w;
    int error = weir_open(&w, &options);
    if (error != 0)
        return error;
    int id = weir_add_limit(w, "limit", policy);
    weir_close(w);
    return id < 0 ? id : 0;
}

bool policy_arg_read(const char *what, const char *text, struct weir_policy *out)
{
    size_t at = 0;
    int error = weir_policy_parse(out, text, &at);
    if (error != 0) {
        if (error == -ERANGE)
            cli_error("%sa number is too large here", what);
        else
            cli_error("%sthis is not a policy; expected at the caret: %s", what,
                      policy_expected(text, at));
        show_fault(text, at);
        return false;
    }
    error = try_policy(out);
    if (error == 0)
        return true;
    struct text canonical = {0};
    policy_arg_put(&canonical, out);
    if (error == -ERANGE)
        cli_error("%s\"%s\" cannot be kept exactly: its burst and its time do not fit into one "
                  "word together. A smaller burst or a shorter period does",
                  what, canonical.data);
    else
        cli_error("%s\"%s\": %s", what, canonical.data, weir_strerror(error));
    text_free(&canonical);
    return false;
}

void policy_arg_put(struct text *t, const struct weir_policy *policy)
{
    int size = weir_policy_format(policy, NULL, 0);
    if (size < 0)
        return;
    char *buffer = cli_alloc((size_t)size + 1, 1);
    weir_policy_format(policy, buffer, (size_t)size + 1);
    text_put(t, buffer, (size_t)size);
    free(buffer);
}
