/* SPDX-License-Identifier: MIT */
/*
 * No arena: under the model checker arrays come from a pool (world.h). Stands in for
 * engine/table/arena.h.
 */
#ifndef WEIR_TABLE_ARENA_H
#define WEIR_TABLE_ARENA_H

#include "atomic.h"

struct weir_arena {
    unsigned allowance; /* arrays that can still be made */
};

#endif
