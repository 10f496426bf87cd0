/* SPDX-License-Identifier: MIT */
/*
 * Unix time at an instant, for windows that begin by it.
 *
 * What unix time is ahead of `now` is asked about when a `now` comes that is a second or more away
 * from the last one at which it was. So a wall clock that is set is followed within a second of
 * `now`, and a decision costs no look at a clock.
 */
#include "limiter.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec now = {0, 0};
    clock_gettime(id, &now); /* cannot fail for these clocks and a valid pointer */
    return (uint64_t)now.tv_sec * WEIR_SECOND + (uint64_t)now.tv_nsec;
}

/* A `now` more than stale_max before the newest is no stale clock: that one was bogus, or time was
   set back. */
static void note_newest(struct weir *w, weir_ns now)
{
    uint64_t newest = weir_load_relaxed(&w->wall_newest);
    if (now > newest || newest - now > w->stale_max)
        weir_store_relaxed(&w->wall_newest, now);
}

weir_ns weir_wall_ask(struct weir *w, weir_ns now, enum weir_wall_of of)
{
    weir_ns wall = w->wall_clock != NULL
                       ? w->wall_clock(w->wall_context, now)
                       : now + read_clock(CLOCK_REALTIME) - read_clock(CLOCK_MONOTONIC);
    if (wall > INT64_MAX) /* before 1970, or after 2262 */
        wall = wall > UINT64_MAX - WEIR_DAY * 365 ? 0 : INT64_MAX;
    if (of == WEIR_WALL_OF_INSTANT)
        return wall;
    note_newest(w, now);
    /* Two threads that ask at a time may mix theirs up: both are answers about this second. */
    weir_store_relaxed(&w->wall_offset, wall - now);
    /* Release: pairs with weir_wall. */
    weir_store_release(&w->wall_told, now);
    return wall;
}
