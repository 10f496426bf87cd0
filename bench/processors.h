/* SPDX-License-Identifier: MIT */
/*
 * On how many threads benchmarks run: 1, 2, 4 and so on, and as many as there are processors for
 * this process.
 */
#ifndef WEIR_BENCH_PROCESSORS_H
#define WEIR_BENCH_PROCESSORS_H

#include <sched.h>

#include <cstdio>
#include <string>
#include <vector>

namespace weir_bench
{

inline int processors()
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Powers of 2 below `most`, and `most`. */
inline std::vector<int> doublings(int most)
{
    std::vector<int> counts;
    for (int count = 1; count < most; count *= 2)
        counts.push_back(count);
    counts.push_back(most);
    return counts;
}

inline std::vector<int> thread_counts()
{
    return doublings(processors());
}

/* One line on standard error, where google-benchmark tells of the machine. */
inline void tell_thread_counts()
{
    std::string text;
    for (int count : thread_counts())
        text += (text.empty() ? "" : ", ") + std::to_string(count);
    std::fprintf(stderr, "Threads: %s (this process may use %d processors)\n", text.c_str(),
                 processors());
}

} // namespace weir_bench

#endif
