/* SPDX-License-Identifier: MIT */
/*
 * Unix time at an instant, for windows that begin by it.
 *
 * What unix time is ahead of `now` is asked about when a `now` comes that is a second or more away
 * from the last one at which it was. So a wall clock that is set is followed within a second of
 * `now`, and a decision costs no look at a clock.
 *
 * Guarantees (O numbered as in the README)
 *   O5  What is ahead, and the `now` at which it was told, are written under a sequence lock: the
 *       version is odd meanwhile. Who reads loads it, the others, and it again, all but the last
 *       with acquire; these pair with the writer's releases: whoever sees one of the two of a later
 *       version sees the version changed. Who finds it taken does not write: somebody else is.
 */
#include "limiter.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(id, &now); /* cannot fail for these clocks and a valid pointer */
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
    uint64_t version = weir_load_relaxed(&w->wall_version);
    if (version % 2 == 0 && weir_cas_acq_rel(&w->wall_version, &version, version + 1)) { /* O5 */
        weir_store_release(&w->wall_offset, wall - now);
        weir_store_release(&w->wall_told, now);
        weir_store_release(&w->wall_version, version + 2);
    }
    return wall;
}
