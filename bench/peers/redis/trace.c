/* SPDX-License-Identifier: MIT */
#include "trace.h"
#include "stop.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

enum { HEAD_BYTES = 64, RECORD_BYTES = 24 };

static const char magic[] = "WEIRTRC1";

struct reader {
    const char *name;
    FILE *file;
};

static void read_words(struct reader *from, uint64_t *words, size_t count, const char *what)
{
    if (fread(words, sizeof *words, count, from->file) != count)
        stop(WRONG, "%s: ends within %s", from->name, what);
    for (size_t i = 0; i < count; i++)
        words[i] = le64toh(words[i]);
}

static void within(struct reader *from, const char *what, uint64_t value, uint64_t least,
                   uint64_t most)
{
    if (value < least || value > most)
        stop(WRONG, "%s: %s is %" PRIu64 ", must be %" PRIu64 " to %" PRIu64, from->name, what,
             value, least, most);
}

static void read_head(struct trace *trace, struct reader *from)
{
    const uint64_t any = INT64_MAX;
    char begins[sizeof magic - 1];
    uint64_t words[7];
    if (fread(begins, sizeof begins, 1, from->file) != 1)
        stop(WRONG, "%s: ends within the head", from->name);
    if (memcmp(begins, magic, sizeof begins) != 0)
        stop(WRONG, "%s: begins with other bytes than \"%s\"", from->name, magic);
    read_words(from, words, 7, "the head");
    within(from, "records", trace->records = words[0], 1, any / RECORD_BYTES - 3);
    within(from, "keys", trace->keys = words[1], 1, any);
    within(from, "limit", trace->limit = words[2], 1, any);
    within(from, "period", trace->period = words[3], 1, any);
    within(from, "burst", trace->burst = words[4], 1, any);
    within(from, "span", trace->span = words[5], 1, any);
    within(from, "admitted", trace->admitted = words[6], 0, trace->records);
}

static void check_record(const struct trace *trace, const struct reader *from, uint64_t index,
                         const struct record *r, uint64_t last)
{
    if (r->key >= trace->keys)
        stop(WRONG, "%s: record %" PRIu64 ": key %" PRIu64 ", but there are %" PRIu64 " keys",
             from->name, index, r->key, trace->keys);
    if (r->n > INT64_MAX)
        stop(WRONG, "%s: record %" PRIu64 ": n of more than 63 bits", from->name, index);
    if (index == 0 ? r->now != 0 : r->now < last)
        stop(WRONG, "%s: record %" PRIu64 ": now is %" PRIu64 " after %" PRIu64, from->name, index,
             r->now, last);
    if (r->now >= trace->span)
        stop(WRONG, "%s: record %" PRIu64 ": now is %" PRIu64 ", but a pass spans %" PRIu64,
             from->name, index, r->now, trace->span);
}

static void read_records(struct trace *trace, struct reader *from)
{
    uint64_t last = 0;
    trace->kept_count = trace->records < TRACE_KEPT_MAX ? trace->records : TRACE_KEPT_MAX;
    trace->kept = calloc(trace->kept_count, sizeof *trace->kept);
    if (trace->kept == NULL)
        stop(FAILED, "no memory for %zu records", trace->kept_count);
    for (uint64_t i = 0; i < trace->records; i++) {
        uint64_t words[RECORD_BYTES / 8];
        read_words(from, words, RECORD_BYTES / 8, "its records");
        struct record r = {words[0], words[1], words[2]};
        check_record(trace, from, i, &r, last);
        last = r.now;
        if (i < trace->kept_count)
            trace->kept[i] = r;
    }
    if (fgetc(from->file) != EOF)
        stop(WRONG, "%s: is longer than its %" PRIu64 " records", from->name, trace->records);
}

/* By key, and the records of a key as they were. */
static int by_key(const void *a, const void *b)
{
    const struct record *x = *(const struct record *const *)a;
    const struct record *y = *(const struct record *const *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* What is admitted of one key's records: tokens are counted in units of 1 / period. */
static uint64_t exact(const struct trace *trace, struct record *const *of_key, size_t count)
{
    const u128 full = (u128)trace->burst * trace->period;
    u128 there = full;
    uint64_t at = 0, admitted = 0;
    for (size_t i = 0; i < count; i++) {
        const struct record *r = of_key[i];
        u128 come = (u128)trace->limit * (r->now - at);
        there = full - there < come ? full : there + come;
        at = r->now;
        if ((u128)r->n * trace->period <= there) {
            there -= (u128)r->n * trace->period;
            admitted++;
        }
    }
    return admitted;
}

static void count_kept(struct trace *trace)
{
    size_t count = trace->kept_count, begin = 0;
    struct record **sorted = calloc(count, sizeof(struct record *));
    if (sorted == NULL)
        stop(FAILED, "no memory for %zu records", count);
    trace->n_min = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        struct record *r = sorted[i] = &trace->kept[i];
        trace->n_min = r->n < trace->n_min ? r->n : trace->n_min;
        trace->n_max = r->n > trace->n_max ? r->n : trace->n_max;
    }
    qsort(sorted, count, sizeof(struct record *), by_key);
    for (size_t i = 1; i <= count; i++)
        if (i == count || sorted[i]->key != sorted[begin]->key) {
            trace->kept_admitted += exact(trace, &sorted[begin], i - begin);
            trace->kept_keys++;
            begin = i;
        }
    free(sorted);
}

void trace_read(struct trace *trace, const char *file)
{
    struct reader from = {file, fopen(file, "rbe")};
    if (from.file == NULL)
        stop(WRONG, "%s: cannot be read: %s", file, strerror(errno));
    memset(trace, 0, sizeof *trace);
    read_head(trace, &from);
    read_records(trace, &from);
    fclose(from.file);
    count_kept(trace);
    if (trace->kept_count == trace->records && trace->kept_admitted != trace->admitted)
        stop(WRONG, "%s: says that %" PRIu64 " are admitted, an exact bucket admits %" PRIu64, file,
             trace->admitted, trace->kept_admitted);
}

bool trace_is_hot(const struct trace *trace)
{
    return trace->keys == 1;
}

uint64_t trace_bound(const struct trace *trace, uint64_t elapsed_ns, uint64_t decisions)
{
    u128 tokens = trace->burst + (u128)trace->limit * elapsed_ns / trace->period;
    u128 requests = trace->n_min == 0 ? decisions : tokens / trace->n_min;
    return requests < decisions ? (uint64_t)requests : decisions;
}
