/* SPDX-License-Identifier: MIT */
/*
 * Read sections under the model checker: stands in for engine/rcu.h.
 */
#ifndef WEIR_RCU_H
#define WEIR_RCU_H

#include <stdbool.h>

typedef int weir_read_mark;

/* world.h */
static void weir_read_begin();
static void weir_read_end();

static inline bool weir_read_is_quick()
{
    return true;
}

static inline bool weir_read_begin_quickly(weir_read_mark *mark)
{
    *mark = 0;
    weir_read_begin();
    return true;
}

static inline void weir_read_end_quickly(weir_read_mark mark)
{
    (void)mark;
    weir_read_end();
}

#endif
