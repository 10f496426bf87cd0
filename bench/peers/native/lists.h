/* SPDX-License-Identifier: MIT */
/*
 * A trace dealt to threads: thread t of T has the records whose key % T is t. A trace of one key
 * is played whole by each.
 */
#ifndef WEIR_BENCH_LISTS_H
#define WEIR_BENCH_LISTS_H

#include "subject.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace weir_bench
{

class dealt_trace
{
  public:
    dealt_trace(trace_file trace, unsigned threads)
    {
        count_keys(trace);
        if (threads == 1 || trace.head.keys == 1) {
            parts.push_back(std::move(trace.records));
            lists.assign(threads, {parts[0].data(), parts[0].size()});
            return;
        }
        std::vector<size_t> sizes(threads);
        for (const trace_record &r : trace.records)
            sizes[r.key % threads]++;
        parts.resize(threads);
        for (unsigned t = 0; t < threads; t++)
            parts[t].reserve(sizes[t]);
        for (const trace_record &r : trace.records)
            parts[r.key % threads].push_back(r);
        for (const std::vector<trace_record> &part : parts)
            lists.push_back({part.data(), part.size()});
    }

    std::vector<record_list> lists;
    uint64_t distinct_keys = 0;
    uint64_t last_now = 0;

  private:
    void count_keys(const trace_file &trace)
    {
        std::vector<bool> seen(trace.head.keys);
        for (const trace_record &r : trace.records) {
            distinct_keys += !seen[r.key];
            seen[r.key] = true;
        }
        last_now = trace.records.back().now;
    }
    std::vector<std::vector<trace_record>> parts;
};

} // namespace weir_bench

#endif
