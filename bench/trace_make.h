/* SPDX-License-Identifier: MIT */
/*
 * Makes a trace: whose turn it is by chance, when by what share is to be denied.
 *
 * Records come in groups with one `now`, as a server finds them waiting at each turn of its loop:
 * a batch is then of one instant, and costs no peer its exactness. All ask for one token.
 *
 * A trace that denies nothing has a limit that no key comes near, neither by these times nor by
 * those of a real clock: 100 million a second, a microsecond from one record to the next. Its burst
 * is that of 10 s: to a `now` that is older than a bucket by as much as it takes to fill it, the
 * bucket is empty, and a thread may be held up between reading its clock and deciding. A trace
 * that denies has 1000 tokens in a period of whole seconds (a token's interval is then a whole
 * number of ns, which every peer can tell), and a time between groups which makes the share
 * come out.
 */
#ifndef WEIR_BENCH_TRACE_MAKE_H
#define WEIR_BENCH_TRACE_MAKE_H

#include "exact.h"
#include "trace_file.h"
#include "zipf.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir_bench
{

struct trace_wish {
    uint64_t keys = 0;
    double skew = 0; /* Zipf's exponent; 0 = uniform */
    unsigned denied_percent = 0;
    uint64_t records = 0; /* 0 = as many as the others ask for */
    uint64_t seed = 1;
};

const uint64_t group_size = 1024;

inline uint64_t admitted_of(const trace_head &head, const std::vector<trace_record> &records)
{
    exact_buckets_of<wide_units> buckets(head.keys, head);
    uint64_t admitted = 0;
    for (const trace_record &r : records)
        admitted += buckets.decide(r.key, r.n, r.now);
    return admitted;
}

/* Of as many records as let each key come several times, and a denied one as often as it takes. */
inline uint64_t usual_records(const trace_wish &wish)
{
    const uint64_t least = 1 << 20, most = 1 << 24;
    uint64_t admitted_percent = 100 - wish.denied_percent;
    return std::min(std::max(wish.keys * 400 / admitted_percent, least), most);
}

/* All at 0. Zipf's ranks are spread over the key numbers, each to a number of its own. */
inline std::vector<trace_record> drawn_keys(const trace_wish &wish)
{
    std::mt19937_64 random(wish.seed);
    zipf by_rank(wish.keys, wish.skew);
    uint64_t factor = 0x9E3779B97F4A7C15;
    while (std::gcd(factor, wish.keys) != 1)
        factor += 2;
    std::vector<trace_record> records(wish.records);
    for (trace_record &r : records) {
        if (wish.skew == 0)
            r.key = random() % wish.keys;
        else
            r.key = static_cast<uint64_t>(static_cast<unsigned __int128>(by_rank(random)) * factor %
                                          wish.keys);
        r.n = 1;
    }
    return records;
}

/* `tick` ns from one group to the next. */
inline void set_times(trace_file &trace, uint64_t tick)
{
    for (size_t i = 0; i < trace.records.size(); i++)
        trace.records[i].now = i / group_size * tick;
    trace.head.span =
        trace.records.back().now + tick + static_cast<uint64_t>(refill_ns(trace.head));
    trace.head.admitted = admitted_of(trace.head, trace.records);
}

/* The tick at which `wanted` are admitted, or nearly: more time admits more. 0 = there is none. */
inline uint64_t tick_for(trace_file &trace, uint64_t wanted)
{
    uint64_t low = 0, high = static_cast<uint64_t>(refill_ns(trace.head));
    auto admits = [&](uint64_t tick) {
        set_times(trace, tick);
        return trace.head.admitted;
    };
    uint64_t at_low = admits(low), at_high = admits(high);
    if (at_low > wanted || at_high < wanted)
        return 0;
    const uint64_t near = trace.head.records / 5000;
    while (high - low > 1 && wanted - at_low > near && at_high - wanted > near) {
        uint64_t middle = low + (high - low) / 2, there = admits(middle);
        (there < wanted ? low : high) = middle;
        (there < wanted ? at_low : at_high) = there;
    }
    return low > 0 && wanted - at_low < at_high - wanted ? low : high;
}

/* The largest burst of those that leave the refill something to admit. */
inline void choose_denying(trace_file &trace, const trace_wish &wish)
{
    const uint64_t second = 1000000000, longest = 1000 * second, ticks_least = 100;
    uint64_t wanted = wish.records * (100 - wish.denied_percent) / 100;
    for (uint64_t burst = 1000; burst > 0; burst /= 10) {
        trace.head.limit = 1000;
        trace.head.burst = burst;
        uint64_t tick = 0;
        for (uint64_t period = second; period <= longest && tick < ticks_least; period *= 10) {
            trace.head.period = period;
            tick = tick_for(trace, wanted);
            if (tick == 0)
                break;
        }
        if (tick == 0)
            continue;
        set_times(trace, tick);
        return;
    }
    throw std::invalid_argument(
        std::to_string(wish.denied_percent) + " % of " + std::to_string(wish.records) +
        " records of " + std::to_string(wish.keys) + " keys cannot be denied: of each key the " +
        "first is admitted; it takes more records, fewer keys or less skew");
}

inline trace_file make_trace(trace_wish wish)
{
    if (wish.records == 0)
        wish.records = usual_records(wish);
    trace_file trace = {};
    std::copy_n(trace_magic, sizeof trace.head.magic, trace.head.magic);
    trace.head.records = wish.records;
    trace.head.keys = wish.keys;
    trace.records = drawn_keys(wish);
    if (wish.denied_percent > 0) {
        choose_denying(trace, wish);
        return trace;
    }
    trace.head.limit = 100000000;
    trace.head.period = 1000000000;
    trace.head.burst = 1000000000;
    set_times(trace, group_size * 1000);
    return trace;
}

} // namespace weir_bench

#endif
