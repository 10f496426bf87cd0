/* SPDX-License-Identifier: MIT */
/*
 * What an exact token bucket admits, in whole numbers and one decision after the other: what the
 * answers of benchmarks are held against. It shares nothing with the engine.
 *
 * A token is `period` units, and `limit` units accrue in a nanosecond, so that nothing is rounded.
 */
#ifndef WEIR_BENCH_EXACT_H
#define WEIR_BENCH_EXACT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir_bench
{

__extension__ using wide_units = unsigned __int128;

/* One bucket for each of `keys` key numbers; all are full at 0, and times of a key never go back.
   burst * period has to fit `units`. */
template <class units> class exact_buckets_of
{
  public:
    /* limit, period (ns) and burst of `like`: a weir_policy, the head of a trace. */
    template <class bucket_like>
    exact_buckets_of(uint64_t keys, const bucket_like &like)
        : limit(like.limit), token(like.period), full(units(like.burst) * like.period),
          buckets(keys, {full, 0})
    {
    }

    /* Takes n tokens if there are n. */
    bool decide(size_t number, uint64_t n, uint64_t now)
    {
        bool allowed = has(number, n, now);
        if (allowed)
            take(number, n);
        return allowed;
    }

    bool has(size_t number, uint64_t n, uint64_t now)
    {
        bucket &b = buckets[number];
        wide_units gained = wide_units(b.left) + wide_units(now - b.at) * limit;
        b.left = gained < full ? static_cast<units>(gained) : full;
        b.at = now;
        return wide_units(n) * token <= b.left;
    }

    /* After has(): there are n. */
    void take(size_t number, uint64_t n)
    {
        buckets[number].left -= static_cast<units>(n) * token;
    }

  private:
    struct bucket {
        units left;
        uint64_t at;
    };
    uint64_t limit, token;
    units full;
    std::vector<bucket> buckets;
};

/* Of as many keys as there may be, in half the memory. */
using exact_buckets = exact_buckets_of<uint64_t>;

} // namespace weir_bench

#endif
