/* SPDX-License-Identifier: MIT */
/* A lane replays the events of its keys, in order, on an engine of its own. */
#include "lane.h"

#include "limiter.h"

#include "cli.h"
#include "keying.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* How far the time line may run before words of old generations are brought up to date: far less
   than the fastest settings can span, and rare enough to cost nothing. */
#define SWEEP_EVERY (90 * WEIR_DAY)

static int add_limits(struct lane *lane, const struct weir_policy *policies)
{
    for (size_t i = 0; i < lane->limits; i++) {
        char name[32];
        snprintf(name, sizeof name, "limit %zu", i + 1);
        lane->ids[i] = weir_add_limit(lane->engine, name, &policies[i]);
        if (lane->ids[i] < 0)
            return lane->ids[i];
        lane->tallies[i].first_denied = LANE_NEVER;
    }
    return 0;
}

int lane_open(struct lane *lane, const struct weir_policy *policies, size_t limits, size_t keys_max,
              int64_t start)
{
    if (keys_max > SIZE_MAX / limits || limits > UINT16_MAX)
        return -ERANGE;
    struct weir_options options = {
        .size = sizeof options,
        .max_keys = (keys_max ? keys_max : 1) * limits,
        .max_limits = (unsigned)limits,
        .secret = keying_secret(),
    };
    *lane = (struct lane){.limits = limits, .swept_at = (weir_ns)start};
    int error = weir_open(&lane->engine, &options);
    if (error != 0)
        return error;
    lane->ids = cli_alloc(limits, sizeof *lane->ids);
    lane->tallies = cli_alloc(limits, sizeof *lane->tallies);
    timeline_init(&lane->timeline, limits);
    timeline_start(&lane->timeline, start);
    error = add_limits(lane, policies);
    if (error != 0)
        lane_close(lane);
    return error;
}

void lane_close(struct lane *lane)
{
    weir_close(lane->engine);
    free(lane->ids);
    free(lane->tallies);
    timeline_free(&lane->timeline);
}

static void count_denied(struct tally *tally, struct key_count *count, const struct log_time *now,
                         uint64_t position)
{
    tally->denied++;
    if (position < tally->first_denied) {
        tally->first_denied = position;
        tally->first_denied_at = *now;
    }
    if (count != NULL && count->denied++ == 0)
        tally->keys_denied++;
}

void lane_decide(struct lane *lane, weir_key key, struct key_entry *entry,
                 const struct log_time *now, uint64_t position)
{
    weir_ns instant = (weir_ns)now->unix_ns;
    if (instant - lane->swept_at > SWEEP_EVERY) {
        weir_sweep(lane->engine);
        lane->swept_at = instant;
    }
    size_t bucket = timeline_bucket(&lane->timeline, now->unix_ns);
    timeline_offered(&lane->timeline, bucket);
    if (entry != NULL && entry->first > position)
        entry->first = position;
    for (size_t i = 0; i < lane->limits; i++) {
        struct key_count *count = entry ? &entry->counts[i] : NULL;
        if (!weir_allow(lane->engine, lane->ids[i], key, 1, instant)) {
            count_denied(&lane->tallies[i], count, now, position);
            continue;
        }
        lane->tallies[i].allowed++;
        timeline_allowed(&lane->timeline, i, bucket);
        if (count != NULL)
            count->allowed++;
    }
}

void lane_finish(struct lane *lane)
{
    for (size_t i = 0; i < lane->limits; i++) {
        struct weir_limit_stats stats = {.size = sizeof stats};
        if (weir_limit_stats(lane->engine, lane->ids[i], &stats) == 0)
            lane->tallies[i].overflow = stats.overflow;
    }
}

void lane_add(struct lane *sum, const struct lane *lane)
{
    for (size_t i = 0; i < sum->limits; i++) {
        struct tally *to = &sum->tallies[i];
        const struct tally *from = &lane->tallies[i];
        to->allowed += from->allowed;
        to->denied += from->denied;
        to->keys_denied += from->keys_denied;
        to->overflow += from->overflow;
        if (from->first_denied < to->first_denied) {
            to->first_denied = from->first_denied;
            to->first_denied_at = from->first_denied_at;
        }
    }
    timeline_add(&sum->timeline, &lane->timeline);
}
