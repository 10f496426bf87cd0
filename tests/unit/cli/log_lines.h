/* SPDX-License-Identifier: MIT */
/* What the tests of the log readers share: one line in, one event or one reason out. */
#ifndef WEIR_TESTS_LOG_LINES_H
#define WEIR_TESTS_LOG_LINES_H

#include "log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LOG_SECOND INT64_C(1000000000)

static inline struct log_event expect_event(struct log_reader *r, const char *line)
{
    struct log_event event = {0};
    enum log_status status = log_read(r, line, strlen(line), false, &event);
    if (status != LOG_EVENT)
        fail_msg("%s: %s", line, status == LOG_NOTHING ? "nothing" : r->reason);
    return event;
}

static inline void expect_key(struct log_reader *r, const char *line, const char *key)
{
    struct log_event event = expect_event(r, line);
    if (event.key.size != strlen(key) || memcmp(event.key.data, key, event.key.size) != 0)
        fail_msg("%s: key %.*s, not %s", line, (int)event.key.size, event.key.data, key);
}

static inline void expect_status(struct log_reader *r, const char *line, enum log_status expected,
                                 const char *reason)
{
    struct log_event event;
    r->reason[0] = '\0';
    enum log_status status = log_read(r, line, strlen(line), false, &event);
    if (status != expected || strcmp(r->reason, reason) != 0)
        fail_msg("%s: status %d \"%s\", not %d \"%s\"", line, (int)status, r->reason, (int)expected,
                 reason);
}

static inline void expect_bad(struct log_reader *r, const char *line, const char *reason)
{
    expect_status(r, line, LOG_BAD, reason);
}

#endif
