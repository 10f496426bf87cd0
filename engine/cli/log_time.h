/* SPDX-License-Identifier: MIT */
/* Instants: as logs write them, and as we do. */
#ifndef WEIR_CLI_LOG_TIME_H
#define WEIR_CLI_LOG_TIME_H

#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_time {
    int64_t unix_ns;    /* since 1970-01-01T00:00:00Z, never negative */
    int16_t offset_min; /* of the zone it was written in, east of Greenwich */
};

/*
 * Reads one instant, brackets and blanks around it allowed:
 *   17/May/2015:10:05:03 +0000          common log format, a fraction after the seconds allowed
 *   2015-05-17T10:05:03.250+08:00       RFC 3339; also "t", a blank, "z", " UTC", "+0800", "+08",
 * "," as point 1431857103.25                       seconds since 1970, or ms, us, ns: told by
 * magnitude, 1973 to 2262 in each (seconds from 1970 on) Digits past the nanosecond are cut off.
 * Second 60 is a leap second where one can be. Returns NULL, or why it is no instant between 1970
 * and 2262 (a static string).
 */
const char *log_time_read(const char *data, size_t size, struct log_time *out);

/* "2015-05-17T10:05:03.25+08:00", RFC 3339 with as many decimals as are not 0 and "Z" for UTC. */
void log_time_put_rfc3339(struct text *t, const struct log_time *time);

/* What is written around "10:05:03", whole seconds, rounded down. */
enum log_time_part {
    LOG_TIME_DATE = 1, /* "2015-05-17 " before it */
    LOG_TIME_ZONE = 2  /* " +08:00" behind it */
};
void log_time_put(struct text *t, const struct log_time *time, unsigned parts);

/* The same date in the same zone? */
bool log_time_same_day(const struct log_time *a, const struct log_time *b);

#endif
