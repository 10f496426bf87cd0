/* SPDX-License-Identifier: MIT */
/*
 * Calendar windows: the days, weeks and months of a time zone, as spans of unix time.
 *
 * Local time is unix time plus the offset from UTC then in force, in seconds, counted as if every
 * day had 86400 of them. Each unit numbers its windows by local time: days from 1970-01-01 = 0,
 * weeks from the Monday before it = 0, months from January 1970 = 0.
 *
 * Local time jumps ahead and falls back; a count must do neither. So a window belongs to the
 * highest local time that was ever reached, which rises or stands still:
 *
 *     local          /
 *       |       ----/         clocks go back at c: the highest local time waits until local
 *       |      /|  /          time has come back to it, at d
 *       |     / | /
 *       |    /  |/
 *       +-------c----d---- unix time
 *
 * Guarantees
 *   S1  Windows tile time: number N is the window from the first instant at which the highest local
 *       time has reached N to the first at which it has reached N + 1. A date that clocks skip is
 *       an empty window, which no instant falls into; a date that they repeat goes on.
 *   S2  A zone never changes and lives until the process ends. The same rules, under whatever name,
 *       are the same object; a file that was changed meanwhile is another one.
 *   P1  weir_zone_window_at and weir_zone_window_start take no lock, wait for nobody, allocate
 *       nothing and call nothing outside.
 *   T1  In the window of a unit that was found last they are a few loads; else three binary
 *       searches at most.
 *
 * Not guaranteed: T1 in the child of a fork() that another thread's search was under way in: that
 * unit of that zone may stay without its memory of the last window. Answers are the same.
 */
#ifndef WEIR_ZONE_H
#define WEIR_ZONE_H

#include "export.h"

#include "atomic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds of unix time: start <= t < end. */
struct weir_zone_window {
    int64_t number, start, end;
};

/*
 * The window found last, under a sequence lock. `version` is odd while a thread writes the others.
 * A line of its own for each unit, so that days do not disturb months.
 */
struct weir_zone_recent {
    WEIR_ALIGN_LINE struct weir_atomic_u64 version;
    struct weir_atomic_u64 number, start, end; /* int64_t; an empty window at first */
};

struct weir_zone {
    struct weir_zone_recent recent[WEIR_CALENDAR_MONTH]; /* [unit - 1]; all else never changes */
    const struct weir_zone *next;                        /* found before this one */
    size_t count;                                        /* of stretches with one offset */
    int64_t cycle_end;                                   /* from here on as 400 years before */
    const int64_t *at;     /* unix time at which a stretch begins; INT64_MIN, then rising */
    const int64_t *passed; /* highest local time before it; INT64_MIN, then not falling */
    const int64_t *offset; /* local time less unix time in it */
};

/*
 * Finds a zone by its name in the system's database (the folder TZDIR, or /usr/share/zoneinfo), or
 * "UTC" or "Z", which need no database, or "local": the environment's TZ, in any form that the C
 * library takes (a name, an absolute path, either after a colon, or a rule as
 * "CET-1CEST,M3.5.0,M10.5.0/3") and, where TZ is not set or empty, /etc/localtime, and UTC where
 * that does not exist.
 *
 * The file is read anew at each call, by this function alone: the C library's zone is not touched.
 * Any thread may call it, at any time; errno is left as it was. *out is written on success only.
 *   -EINVAL  the name is NULL or empty, begins with "/" or has ".." in it; or the file is no zone:
 *            not a plain file, above 1 MiB, not TZif version 1 to 4 (RFC 9636) or damaged, or one
 *            that counts leap seconds
 *   -ENOENT  there is no such zone
 *   -ENOMEM  memory cannot be had
 *   -EIO     the file cannot be opened or read
 */
int weir_zone_find(const char *name, const struct weir_zone **out);

/* What weir_zone_window_at does for an instant that is not in the window found last. */
void weir_zone_window_search(const struct weir_zone *z, enum weir_calendar unit, int64_t unix_s,
                             struct weir_zone_window *out);

int64_t weir_zone_start_search(const struct weir_zone *z, enum weir_calendar unit, int64_t number);

/* The window found last, if nobody writes it just now. */
static inline bool weir_zone_recall(const struct weir_zone *z, enum weir_calendar unit,
                                    struct weir_zone_window *out)
{
    const struct weir_zone_recent *recent = &z->recent[unit - WEIR_CALENDAR_DAY];

    /* Acquire, pairs with the release that made `version` even: the fields are then at least as new
       as this version. Else fields from before it would pass for it. */
    uint64_t version = weir_load_acquire(&recent->version);
    /* Acquire, pairs with each field's own release: whoever sees a field of a later version sees
       `version` changed below. Else one window's start could come with another's end. */
    out->number = (int64_t)weir_load_acquire(&recent->number);
    out->start = (int64_t)weir_load_acquire(&recent->start);
    out->end = (int64_t)weir_load_acquire(&recent->end);
    return version % 2 == 0 && weir_load_relaxed(&recent->version) == version;
}

/*
 * The window that an instant falls into. Instants more than 10^11 s from 1970 (3168 years) count as
 * 10^11 s from it.
 */
static inline void weir_zone_window_at(const struct weir_zone *z, enum weir_calendar unit,
                                       int64_t unix_s, struct weir_zone_window *out)
{
    if (!weir_zone_recall(z, unit, out) || unix_s < out->start || unix_s >= out->end)
        weir_zone_window_search(z, unit, unix_s, out);
}

/*
 * Where the window of a number starts, or would if it is empty: the end of number - 1 in any case.
 * Numbers are taken into the same 10^11 s.
 */
static inline int64_t weir_zone_window_start(const struct weir_zone *z, enum weir_calendar unit,
                                             int64_t number)
{
    struct weir_zone_window recent;
    if (weir_zone_recall(z, unit, &recent) && recent.start < recent.end) {
        if (number == recent.number)
            return recent.start;
        if (number == recent.number + 1)
            return recent.end;
    }
    return weir_zone_start_search(z, unit, number);
}

#endif
