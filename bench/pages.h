/* SPDX-License-Identifier: MIT */
/*
 * Huge pages for some tables of a process and none for others.
 *
 * The engine advises huge pages for its memory, and the kernel heeds that when a page is first
 * touched. While small_pages() is on, none is given and none is made of small ones, and those that
 * are there stay: so the table with huge pages is made and filled first, then small_pages(true),
 * then the one without, and it is left on until both are gone.
 */
#ifndef WEIR_BENCH_PAGES_H
#define WEIR_BENCH_PAGES_H

#include "memory.h"

#include <sys/prctl.h>

#include <cstdint>

namespace weir_bench
{

/* False where the kernel cannot. */
inline bool small_pages(bool on)
{
    return prctl(PR_SET_THP_DISABLE, on ? 1UL : 0UL, 0UL, 0UL, 0UL) == 0;
}

/* Of the memory of this process, what lies in huge pages. */
inline uint64_t huge_bytes()
{
    return proc_file("/proc/self/smaps_rollup").kilobytes("AnonHugePages:");
}

} // namespace weir_bench

#endif
