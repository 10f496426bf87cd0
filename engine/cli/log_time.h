/* SPDX-License-Identifier: MIT */
/* Instants as logs write them. */
#ifndef WEIR_CLI_LOG_TIME_H
#define WEIR_CLI_LOG_TIME_H

#include <stddef.h>
#include <stdint.h>

struct log_time {
    int64_t unix_ns;    /* since 1970-01-01T00:00:00Z, never negative */
    int16_t offset_min; /* of the zone it was written in, east of Greenwich */
};

/*
 * Reads one instant, brackets and blanks around it allowed:
 *   17/May/2015:10:05:03 +0000          common log format, a fraction after the seconds allowed
 *   2015-05-17T10:05:03.250+08:00       RFC 3339; also "t", a blank, "z", " UTC", "+0800", "," as
 * point 1431857103.25                       seconds since 1970, or ms, us, ns: told by magnitude,
 *                                       1973 to 2262 in each (seconds from 1970 on)
 * Digits past the nanosecond are cut off. Second 60 is a leap second where one can be.
 * Returns NULL, or why it is no instant between 1970 and 2262 (a static string).
 */
const char *log_time_read(const char *data, size_t size, struct log_time *out);

#endif
