/* SPDX-License-Identifier: MIT */
/* What a replay found, and the ways to print it. */
#ifndef WEIR_CLI_REPORT_H
#define WEIR_CLI_REPORT_H

#include "keymap.h"
#include "shard.h"

struct report_top {
    const struct key_entry *entry;
    struct key_count count;
};

struct report_limit {
    struct text policy; /* canonical */
    const struct tally *tally;
    struct report_top *top; /* the most denied first; of equals, the first that came */
    size_t top_count;
};

struct report {
    const char *key_text; /* as --key was written */
    bool stream;          /* not a file: --max-keys is the room for keys */
    uint64_t requests, skipped_lines;
    uint64_t uncounted;          /* requests of a stream whose key is past --max-keys */
    uint64_t out_of_order;       /* requests of a stream with a time before the latest seen */
    int64_t out_of_order_max_ns; /* how far before it at most */
    uint32_t keys;
    struct log_time from, to; /* the earliest and the latest time in the log */
    double decisions_per_second;
    size_t limits;
    struct report_limit *items;
    const struct timeline *timeline;
};

/* Fills `items` from the counts; the rest is the caller's. `shard` and `keys` must stay. */
void report_collect(struct report *r, const struct weir_policy *policies, const struct shard *shard,
                    const struct keymap *keys, size_t top);
void report_free(struct report *r);

/* On stdout. */
void report_json(const struct report *r);
void report_text(const struct report *r);

/* The part of report_text that shows the course of time. */
struct style {
    bool utf8;
    bool colour;
    size_t width; /* columns */
};
void report_spark(const struct report *r, const struct style *style);

#endif
