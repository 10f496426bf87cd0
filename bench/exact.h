/* SPDX-License-Identifier: MIT */
/*
 * What an exact token bucket admits, in whole numbers and one decision after the other: what the
 * answers of benchmarks are held against. It shares nothing with the engine.
 *
 * A token is `period` units, and `limit` units accrue in a nanosecond, so that nothing is rounded.
 */
#ifndef WEIR_BENCH_EXACT_H
#define WEIR_BENCH_EXACT_H

#include <weir/weir.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir_bench
{

/* One bucket for each of `keys` key numbers; all are full at 0, and times of a key never go back.
   burst * period is below 2^64. */
class exact_buckets
{
  public:
    exact_buckets(uint64_t keys, const weir_policy &policy)
        : limit(policy.limit), token(policy.period), full(policy.burst * policy.period),
          buckets(keys, {full, 0})
    {
    }

    /* Takes n tokens if there are n. */
    bool decide(size_t number, uint64_t n, weir_ns now)
    {
        bool allowed = has(number, n, now);
        if (allowed)
            take(number, n);
        return allowed;
    }

    bool has(size_t number, uint64_t n, weir_ns now)
    {
        bucket &b = buckets[number];
        __extension__ using wide = unsigned __int128;
        wide gained = wide(b.units) + wide(now - b.at) * limit;
        b.units = gained < full ? static_cast<uint64_t>(gained) : full;
        b.at = now;
        return wide(n) * token <= b.units;
    }

    /* After has(): there are n. */
    void take(size_t number, uint64_t n)
    {
        buckets[number].units -= n * token;
    }

  private:
    struct bucket {
        uint64_t units;
        weir_ns at;
    };
    uint64_t limit, token, full;
    std::vector<bucket> buckets;
};

} // namespace weir_bench

#endif
