/* SPDX-License-Identifier: MIT */
/*
 * Time zones, found by name and kept, and searched for their windows.
 *
 * zone_file.c reads a zone's stretches of one offset each, and writes a rule at their end out for
 * 400 years: a later instant is looked up whole cycles earlier.
 *
 * "Local time" and "highest local time": zone.h. All is in seconds.
 */
#include "zone.h"

#include "check.h"
#include "zone_calendar.h"
#include "zone_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- windows by number ---------------------------------------------------------------------- */

static int64_t number_of(enum weir_calendar unit, int64_t local)
{
    int64_t day = weir_floor_div(local, WEIR_ZONE_DAY_S);
    if (unit == WEIR_CALENDAR_DAY)
        return day;
    return unit == WEIR_CALENDAR_WEEK ? weir_floor_div(day + 3, 7) : weir_month_of(day);
}

/* The local time at which a number begins. */
static int64_t beginning_of(enum weir_calendar unit, int64_t number)
{
    if (unit == WEIR_CALENDAR_DAY)
        return number * WEIR_ZONE_DAY_S;
    return (unit == WEIR_CALENDAR_WEEK ? number * 7 - 3 : weir_first_day_of(number)) *
           WEIR_ZONE_DAY_S;
}

/* ---- the zones found so far -------------------------------------------------------------------
 */

/* The newest; from it all are reached. Zones are added only. */
static struct weir_zone *newest;

static bool is_same(const struct weir_zone *z, const struct weir_zone_table *t)
{
    return z->count == t->count && z->cycle_end == t->cycle_end &&
           memcmp(z->at, t->at, t->count * sizeof *t->at) == 0 &&
           memcmp(z->offset, t->offset, t->count * sizeof *t->offset) == 0;
}

static struct weir_zone *make_zone(const struct weir_zone_table *t)
{
    size_t bytes = t->count * sizeof *t->at;
    size_t lines = (sizeof(struct weir_zone) + 3 * bytes + 63) / 64;
    struct weir_zone *z = aligned_alloc(64, lines * 64);
    if (z == NULL)
        return NULL;
    *z = (struct weir_zone){.count = t->count, .cycle_end = t->cycle_end};
    int64_t *memory = (int64_t *)(z + 1);
    z->at = memcpy(memory, t->at, bytes);
    z->passed = memcpy(memory + t->count, t->passed, bytes);
    z->offset = memcpy(memory + 2 * t->count, t->offset, bytes);
    return z;
}

static int keep_zone(const struct weir_zone_table *t, const struct weir_zone **out)
{
    struct weir_zone *made = NULL;
    /* Acquire, pairs with the release of the zone's own addition, here and where that failed: else
       its contents could be read before they were written. */
    struct weir_zone *head = weir_pointer_load_acquire(&newest);
    do {
        const struct weir_zone *z = head;
        while (z != NULL && !is_same(z, t))
            z = z->next;
        if (z != NULL) {
            free(made);
            *out = z;
            return 0;
        }
        if (made == NULL)
            made = make_zone(t);
        if (made == NULL)
            return -ENOMEM;
        made->next = head;
        /* Release, publishes the zone to whoever loads `newest` afterwards. */
    } while (!weir_pointer_cas_acq_rel(&newest, &head, made));
    *out = made;
    return 0;
}

/* ---- searching ---------------------------------------------------------------------------------
 */

/* The last of rising values that is at most `value`; the first is. */
static size_t last_at_most(const int64_t *values, size_t count, int64_t value)
{
    size_t low = 0;
    while (count > 1) {
        size_t half = count / 2;
        if (values[low + half] <= value)
            low += half;
        count -= half;
    }
    return low;
}

/* Whole cycles to go back, to a time that the stretches cover. */
static int64_t cycles_after(const struct weir_zone *z, int64_t time)
{
    return time < z->cycle_end
               ? 0
               : ((time - z->cycle_end) / WEIR_ZONE_CYCLE_S + 1) * WEIR_ZONE_CYCLE_S;
}

/* The highest local time reached up to an instant, the instant included. */
static int64_t highest_at(const struct weir_zone *z, int64_t unix_s)
{
    int64_t cycles = cycles_after(z, unix_s);
    int64_t t = unix_s - cycles;
    size_t i = last_at_most(z->at, z->count, t);
    int64_t local = t + z->offset[i];
    return cycles + (local > z->passed[i] ? local : z->passed[i]);
}

/* The first instant at which the highest local time is no less. */
static int64_t first_instant(const struct weir_zone *z, int64_t local)
{
    int64_t cycles = cycles_after(z, local);
    int64_t target = local - cycles;
    size_t i = last_at_most(z->passed, z->count, target - 1);
    int64_t t = target - z->offset[i];
    return cycles + (t > z->at[i] ? t : z->at[i]);
}

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

/* Leaves it if another thread writes just now. */
static void remember(struct weir_zone_recent *recent, const struct weir_zone_window *window)
{
    uint64_t version = weir_load_relaxed(&recent->version);
    /* Acquire, pairs with the release below of the writer before: its fields come before ours. */
    if (version % 2 != 0 || !weir_cas_acq_rel(&recent->version, &version, version + 1))
        return;
    /* Release, each pairs with its acquire in weir_zone_recall: who sees it sees the odd version.
     */
    weir_store_release(&recent->number, (uint64_t)window->number);
    weir_store_release(&recent->start, (uint64_t)window->start);
    weir_store_release(&recent->end, (uint64_t)window->end);
    /* Release, pairs with the first load of weir_zone_recall, publishes the fields. */
    weir_store_release(&recent->version, version + 2);
}

/* ---- the interface ------------------------------------------------------------------------------
 */

int weir_zone_find(const char *name, const struct weir_zone **out)
{
    if (name == NULL || *name == '\0' || *name == '/' || strstr(name, "..") != NULL)
        return -EINVAL;
    int saved = errno;
    struct weir_zone_table t = {0};
    int rc = weir_zone_read(name, &t);
    if (rc == 0)
        rc = keep_zone(&t, out);
    free(t.at);
    errno = saved;
    return rc;
}

void weir_zone_window_search(const struct weir_zone *z, enum weir_calendar unit, int64_t unix_s,
                             struct weir_zone_window *out)
{
    int64_t t = clamp(unix_s, -WEIR_ZONE_INSTANT_MAX, WEIR_ZONE_INSTANT_MAX);
    out->number = number_of(unit, highest_at(z, t));
    out->start = first_instant(z, beginning_of(unit, out->number));
    out->end = first_instant(z, beginning_of(unit, out->number + 1));
    weir_assert(out->start <= t && t < out->end);
    /* The zone is const to its users; the memory is not, and these are atomic. */
    remember((struct weir_zone_recent *)&z->recent[unit - WEIR_CALENDAR_DAY], out);
}

int64_t weir_zone_start_search(const struct weir_zone *z, enum weir_calendar unit, int64_t number)
{
    int64_t least = number_of(unit, -WEIR_ZONE_INSTANT_MAX - 62 * WEIR_ZONE_DAY_S);
    int64_t most = number_of(unit, WEIR_ZONE_INSTANT_MAX + 62 * WEIR_ZONE_DAY_S);
    return first_instant(z, beginning_of(unit, clamp(number, least, most)));
}
