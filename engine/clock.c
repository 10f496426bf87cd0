/* SPDX-License-Identifier: MIT */
/*
 * The clock: CLOCK_MONOTONIC in nanoseconds.
 */
#include "export.h"

#include <time.h>

weir_ns weir_now(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock and a valid pointer */
    return (weir_ns)now.tv_sec * WEIR_SECOND + (weir_ns)now.tv_nsec;
}
