/* SPDX-License-Identifier: MIT */
/*
 * An engine in a process of one thread, for fuzz targets: grace periods end at once, what is
 * retired is freed when the target says so, and allocations fail when it says so.
 *
 * liburcu's calls that wait or start a thread are replaced by those of one_thread.c, which the
 * program's own definitions are found before; the allocations of the library by --wrap.
 */
#ifndef WEIR_FUZZ_ONE_THREAD_H
#define WEIR_FUZZ_ONE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Outside of all calls: frees what was retired before. */
void one_thread_reclaim(void);

/* The `nth` allocation from now on fails, 0 the next one, and each after it. */
void one_thread_fail_from(uint64_t nth);

void one_thread_fail_no_more(void);

#endif
