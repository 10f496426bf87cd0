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

weir_ns weir_wall_ask(struct weir *w, weir_ns now)
{
    weir_ns wall = w->wall_clock != NULL
                       ? w->wall_clock(w->wall_context, now)
                       : now + read_clock(CLOCK_REALTIME) - read_clock(CLOCK_MONOTONIC);
    if (wall > INT64_MAX) /* before 1970, or after 2262 */
        wall = wall > UINT64_MAX - WEIR_DAY * 365 ? 0 : INT64_MAX;
    /* Two threads that ask at a time may mix theirs up: both are answers about this second. */
    weir_store_relaxed(&w->wall_offset, wall - now);
    weir_max_relaxed(&w->wall_newest, now);
    /* Release: pairs with weir_wall. */
    weir_store_release(&w->wall_told, now);
    return wall;
}
