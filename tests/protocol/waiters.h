/* SPDX-License-Identifier: MIT */
/*
 * Nobody waits for permits under the model checker: stands in for engine/waiters.h.
 */
#ifndef WEIR_WAITERS_H
#define WEIR_WAITERS_H

#include "export.h"

#include "atomic.h"

struct weir_waiters;

struct weir_wanted {
    unsigned limit;
    weir_key key;
    uint64_t n;
    int (*try_)(void *context);
    void *context;
    bool (*fits)(void *host, unsigned limit, weir_key key, uint64_t n);
    void *host;
};

static inline int weir_waiters_wait(weir_waiters *w, const weir_wanted *wanted,
                                    weir_ns (*clock)(void *context), void *clock_context,
                                    weir_ns deadline)
{
    (void)w;
    (void)wanted;
    (void)clock;
    (void)clock_context;
    (void)deadline;
    return 0;
}

static inline void weir_waiters_kick_limit(weir_waiters *w, unsigned limit)
{
    (void)w;
    (void)limit;
}

static inline void weir_waiters_kick(weir_waiters *w, unsigned limit, weir_key key)
{
    (void)w;
    (void)limit;
    (void)key;
}

#endif
