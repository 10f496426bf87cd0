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

/* Of windows, as weir_policy(3) has them. */
#define PERIOD_MIN WEIR_MILLISECOND
#define PERIOD_MAX (366 * WEIR_DAY)
#define COUNT_MAX  ((UINT64_C(1) << 24) - 1)

/* The largest burst that a bucket can hold. */
#define BURST_MAX ((UINT64_C(1) << 55) - 1)

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

/* Why not, of a bucket that cannot be kept for its rate or its burst alone; else NULL. */
static const char *beyond_buckets(const struct weir_policy *policy)
{
    struct weir_policy small = *policy;
    struct weir_meter meter;
    if (policy->kind != WEIR_TOKEN_BUCKET || weir_meter_init(&meter, policy, 0) != -ERANGE)
        return NULL;
    if (policy->burst > BURST_MAX)
        return "cannot be kept exactly: a burst is at most 36,028,797,018,963,967 requests";
    small.burst = 1;
    if (policy->limit / 9 >= policy->period && weir_meter_init(&meter, &small, 0) == -ERANGE)
        return "is more than 9 requests a nanosecond, which cannot be counted";
    return NULL;
}

/* Why a policy cannot be kept, of one that was refused with -ERANGE. */
static const char *out_of_range(const struct weir_policy *policy)
{
    bool fixed = policy->kind == WEIR_FIXED_WINDOW;
    const char *why = beyond_buckets(policy);
    if (why != NULL)
        return why;
    if (policy->kind == WEIR_TOKEN_BUCKET)
        return "cannot be kept exactly: its burst and its time do not fit into one word together. "
               "A smaller burst or a shorter period does";
    if (policy->kind == WEIR_CONCURRENCY)
        return "is more than can be counted: 281,474,976,710,656 permits";
    if (policy->form != WEIR_FORM_CALENDAR &&
        (policy->period < PERIOD_MIN || policy->period > PERIOD_MAX))
        return "cannot be kept: the period of a window is 1 ms to 366 days";
    if (fixed && policy->limit > COUNT_MAX)
        return "is more than a window can count: 16,777,215";
    return "cannot be kept exactly: its counts and 180 days of its windows do not fit into one "
           "word together. A smaller limit or a longer period does";
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
    bool calendar = out->form == WEIR_FORM_CALENDAR && out->kind == WEIR_FIXED_WINDOW;
    if (error == 0)
        return true;
    struct text canonical = {0};
    policy_arg_put(&canonical, out);
    if (error == -ERANGE)
        cli_error("%s\"%s\" %s", what, canonical.data, out_of_range(out));
    else if (calendar && (error == -EINVAL || error == -EIO))
        cli_error("%s\"%s\": the system's file of that name holds no zone", what, canonical.data);
    else if (error == -ENOENT)
        cli_error("%s\"%s\": this system has no zone of that name", what, canonical.data);
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
