/* SPDX-License-Identifier: MIT */
/*
 * Origins that move by whole steps: what all algorithms with a time line have in common.
 */
#ifndef WEIR_ALGORITHM_ORIGIN_H
#define WEIR_ALGORITHM_ORIGIN_H

#include "algorithm/scale.h"

/*
 * The origin that is wanted, or, from an older one, the last that is no later and lies a whole
 * number of `grains` away from it, which is added to *steps (else *steps becomes 0). False, and
 * nothing is written: it does not fit.
 */
static inline bool weir_origin_next(const struct weir_meter *m, weir_i128 wanted, bool from_older,
                                    int64_t *steps, int64_t *origin)
{
    weir_i128 total = 0;
    if (from_older) {
        weir_i128 moved = weir_scale_floor(wanted - m->origin, (weir_i128)m->grains);
        wanted = m->origin + moved * (weir_i128)m->grains;
        total = *steps + moved;
    }
    if (wanted <= INT64_MIN || total > INT64_MAX || total < INT64_MIN)
        return false;
    *steps = (int64_t)total;
    *origin = (int64_t)wanted;
    return true;
}

#endif
