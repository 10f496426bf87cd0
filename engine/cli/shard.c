/* SPDX-License-Identifier: MIT */
/* A shard replays the events of its keys, in order, on an engine of its own. */
#include "shard.h"

#include "limiter.h"

#include "cli.h"
#include "replay_secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* How far the time line may run before words of old generations are brought up to date: far less
   than the fastest settings can span, and rare enough to cost nothing. */
#define SWEEP_EVERY (90 * WEIR_DAY)

static int add_limits(struct shard *shard, const struct weir_policy *policies)
{
    for (size_t i = 0; i < shard->limits; i++) {
        char name[32];
        snprintf(name, sizeof name, "limit %zu", i + 1);
        shard->ids[i] = weir_add_limit(shard->engine, name, &policies[i]);
        if (shard->ids[i] < 0)
            return shard->ids[i];
        shard->tallies[i].first_denied = SHARD_NEVER;
    }
    return 0;
}

/* Windows of unix time are those of the log's own times. */
static weir_ns log_is_the_clock(void *context, weir_ns now)
{
    (void)context;
    return now;
}

/*
 * Gives every limit the origin that the first instant gives it, whoever comes first here: where a
 * window begins is rounded to grains from it, and must not depend on how keys are dealt to shards.
 */
static void set_origins(struct shard *shard, weir_ns start)
{
    for (size_t i = 0; i < shard->limits; i++)
        (void)!weir_allow(shard->engine, shard->ids[i], (weir_key){1, 1}, 0, start);
}

/* A table refuses new keys when it is 63/64 full, at the earliest. */
static size_t places_for(size_t keys)
{
    return keys + keys / 32 + 64;
}

int shard_open(struct shard *shard, const struct weir_policy *policies, size_t limits,
               size_t keys_max, int64_t start)
{
    *shard = (struct shard){0};
    if (keys_max > SIZE_MAX / limits || limits > UINT16_MAX)
        return -ERANGE;
    struct weir_options options = {
        .size = sizeof options,
        .max_keys = places_for((keys_max ? keys_max : 1) * limits),
        .max_limits = (unsigned)limits,
        .wall_clock = log_is_the_clock,
        .secret = replay_secret(),
    };
    int error = weir_open(&shard->engine, &options);
    if (error != 0)
        return error;
    shard->limits = limits;
    shard->swept_at = (weir_ns)start;
    shard->ids = cli_alloc(limits, sizeof *shard->ids);
    shard->tallies = cli_alloc(limits, sizeof *shard->tallies);
    timeline_init(&shard->timeline, limits);
    timeline_start(&shard->timeline, start);
    error = add_limits(shard, policies);
    if (error == 0)
        set_origins(shard, (weir_ns)start);
    else
        shard_close(shard);
    return error;
}

void shard_close(struct shard *shard)
{
    weir_close(shard->engine);
    free(shard->ids);
    free(shard->tallies);
    timeline_free(&shard->timeline);
    *shard = (struct shard){0};
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

void shard_decide(struct shard *shard, weir_key key, struct key_entry *entry,
                  const struct log_time *now, uint64_t position)
{
    weir_ns instant = (weir_ns)now->unix_ns;
    if (instant - shard->swept_at > SWEEP_EVERY) {
        weir_sweep(shard->engine, WEIR_SWEEP_AT);
        shard->swept_at = instant;
    }
    size_t bucket = timeline_bucket(&shard->timeline, now->unix_ns);
    timeline_offered(&shard->timeline, bucket);
    if (entry != NULL && entry->first > position)
        entry->first = position;
    for (size_t i = 0; i < shard->limits; i++) {
        struct key_count *count = entry ? &entry->counts[i] : NULL;
        if (!weir_allow(shard->engine, shard->ids[i], key, 1, instant)) {
            count_denied(&shard->tallies[i], count, now, position);
            continue;
        }
        shard->tallies[i].allowed++;
        timeline_allowed(&shard->timeline, i, bucket);
        if (count != NULL)
            count->allowed++;
    }
}

void shard_finish(struct shard *shard)
{
    for (size_t i = 0; i < shard->limits; i++) {
        struct weir_limit_stats stats = {.size = sizeof stats};
        if (weir_limit_stats(shard->engine, shard->ids[i], &stats) == 0)
            shard->tallies[i].overflow = stats.overflow;
    }
}

void shard_add(struct shard *sum, const struct shard *shard)
{
    for (size_t i = 0; i < sum->limits; i++) {
        struct tally *to = &sum->tallies[i];
        const struct tally *from = &shard->tallies[i];
        to->allowed += from->allowed;
        to->denied += from->denied;
        to->keys_denied += from->keys_denied;
        to->overflow += from->overflow;
        if (from->first_denied < to->first_denied) {
            to->first_denied = from->first_denied;
            to->first_denied_at = from->first_denied_at;
        }
    }
    timeline_add(&sum->timeline, &shard->timeline);
}
