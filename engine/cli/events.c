/* SPDX-License-Identifier: MIT */
/* The events of a file, and a stable sort that is quick where a log is nearly in order. */
#include "events.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

void events_put(struct events *e, const struct log_time *time, uint32_t key)
{
    if (e->count == e->room) {
        e->room = e->room ? e->room + e->room / 2 : 4096;
        e->items = cli_resize(e->items, e->room, sizeof *e->items);
    }
    e->items[e->count++] =
        (struct event){.unix_ns = time->unix_ns, .key = key, .offset_min = time->offset_min};
}

/* Merges two sorted neighbours; the left one is copied out of the way into `spare`. */
static void merge(struct event *left, size_t left_count, size_t right_count, struct event *spare)
{
    struct event *out = left;
    const struct event *right = left + left_count;
    const struct event *right_end = right + right_count;
    memcpy(spare, left, left_count * sizeof *spare);
    const struct event *spare_end = spare + left_count;
    while (spare < spare_end && right < right_end)
        *out++ = right->unix_ns < spare->unix_ns ? *right++ : *spare++;
    memcpy(out, spare, (size_t)(spare_end - spare) * sizeof *spare);
}

static void sort_by_insertion(struct event *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct event moving = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].unix_ns > moving.unix_ns; at--)
            items[at] = items[at - 1];
        items[at] = moving;
    }
}

/* Merge sort, as deep as log2 of the count; what is in order already is looked at once a level and
   not moved. NOLINTNEXTLINE(misc-no-recursion) */
static void sort(struct event *items, size_t count, struct event *spare)
{
    if (count <= 16) {
        sort_by_insertion(items, count);
        return;
    }
    size_t half = count / 2;
    sort(items, half, spare);
    sort(items + half, count - half, spare);
    if (items[half - 1].unix_ns > items[half].unix_ns)
        merge(items, half, count - half, spare);
}

void events_sort(struct events *e)
{
    struct event *spare = cli_alloc(e->count / 2 + 1, sizeof *spare);
    sort(e->items, e->count, spare);
    free(spare);
}

void events_deal(const struct events *e, unsigned parts, size_t *order, size_t *ends)
{
    memset(ends, 0, parts * sizeof *ends);
    for (size_t i = 0; i < e->count; i++)
        ends[e->items[i].key % parts]++;
    size_t sum = 0;
    for (unsigned part = 0; part < parts; part++) {
        size_t size = ends[part];
        ends[part] = sum; /* where it starts; filling moves it to its end */
        sum += size;
    }
    for (size_t i = 0; i < e->count; i++)
        order[ends[e->items[i].key % parts]++] = i;
}

void events_free(struct events *e)
{
    free(e->items);
    *e = (struct events){0};
}
