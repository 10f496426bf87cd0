/* SPDX-License-Identifier: MIT */
/*
 * Spans by size, log-linear: 64 steps to a doubling, so that a quantile is told within 1.6 %. The
 * largest is kept as it was.
 */
#ifndef WEIR_BENCH_HISTOGRAM_H
#define WEIR_BENCH_HISTOGRAM_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir_bench
{

class histogram
{
  public:
    histogram() : counts(65 * steps, 0)
    {
    }

    void add(uint64_t span)
    {
        counts[index_of(span)]++;
        count++;
        sum += span;
        largest = std::max(largest, span);
    }

    void add(const histogram &other)
    {
        for (size_t i = 0; i < counts.size(); i++)
            counts[i] += other.counts[i];
        count += other.count;
        sum += other.sum;
        largest = std::max(largest, other.largest);
    }

    double mean() const
    {
        return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
    }

    uint64_t most() const
    {
        return largest;
    }

    /* The least span that `share` of all do not exceed, rounded up to the end of its step. */
    uint64_t quantile(double share) const
    {
        uint64_t wanted = static_cast<uint64_t>(share * static_cast<double>(count));
        uint64_t below = 0;
        for (size_t i = 0; i < counts.size(); i++) {
            below += counts[i];
            if (below > wanted)
                return std::min(end_of(i), largest);
        }
        return largest;
    }

  private:
    static const size_t steps_log2 = 6, steps = 1 << steps_log2;

    /* Below 64 a step is 1; from 64 on the six bits below the top one tell the step. */
    static size_t index_of(uint64_t span)
    {
        if (span < steps)
            return span;
        size_t doubling = 63 - static_cast<size_t>(__builtin_clzll(span)) - steps_log2;
        return (doubling + 1) * steps + (span >> doubling) - steps;
    }
    static uint64_t end_of(size_t index)
    {
        if (index < steps)
            return index;
        size_t doubling = index / steps - 1;
        uint64_t first = (steps + index % steps) << doubling;
        return first + (uint64_t(1) << doubling) - 1;
    }

    std::vector<uint64_t> counts;
    uint64_t count = 0, sum = 0, largest = 0;
};

} // namespace weir_bench

#endif
