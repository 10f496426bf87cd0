/* SPDX-License-Identifier: MIT */
/* The events of a file: 16 bytes each, put into time order before they are replayed. */
#ifndef WEIR_CLI_EVENTS_H
#define WEIR_CLI_EVENTS_H

#include "log_time.h"

#include <stddef.h>
#include <stdint.h>

struct event {
    int64_t unix_ns;
    uint32_t key; /* number in the key map */
    int16_t offset_min;
    uint16_t reserved;
};

_Static_assert(sizeof(struct event) == 16, "an event is what a line costs in memory");

/* Starts as {0}. */
struct events {
    struct event *items;
    size_t count, room;
};

void events_put(struct events *e, const struct log_time *time, uint32_t key);

/* By time; events of one instant stay in the order they came in. */
void events_sort(struct events *e);
void events_free(struct events *e);

/*
 * Deals the events out by key into `parts` hands: positions of the events whose key leaves `i`
 * when divided by `parts`, in order, at order[ends[i - 1]] to order[ends[i] - 1]. `order` has room
 * for all events; hand 0 begins at 0.
 */
void events_deal(const struct events *e, unsigned parts, size_t *order, size_t *ends);

#endif
