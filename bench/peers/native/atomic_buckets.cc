// SPDX-License-Identifier: MIT
//
// Un-keyed buckets in one atomic double, written after the descriptions of two that are in use;
// for traces of one key.
//
//   folly  like TokenBucket of folly: the time at which the bucket would have been empty. What is
//          in it is the time since then by the rate, at most the burst
//   envoy  like AtomicTokenBucketImpl of Envoy: the same, but what is taken is up to a function of
//          the caller's that is asked again whenever another thread was quicker
//
// Time is in seconds: a double tells instants after a month of uptime to half a nanosecond, and
// rounds each sum, so that a bucket may be off by a token at its edges: they are not exact.

#include "players.h"

#include <algorithm>
#include <atomic>

namespace weir_bench
{

namespace
{

double seconds_of(weir_ns span)
{
    return static_cast<double>(span) * 1e-9;
}

struct rate_and_burst {
    explicit rate_and_burst(const setting &s)
        : rate(static_cast<double>(s.head.limit) / seconds_of(s.head.period)),
          burst(static_cast<double>(s.head.burst))
    {
    }
    double rate, burst;
};

class folly_like
{
  public:
    explicit folly_like(const setting &s) : settings(s)
    {
    }
    bool allow(uint64_t, uint64_t n, weir_ns now_ns)
    {
        double now = seconds_of(now_ns), wanted = static_cast<double>(n);
        double seen = empty_at.load();
        double next;
        do {
            double tokens = std::min((now - seen) * settings.rate, settings.burst);
            if (tokens < wanted)
                return false;
            next = now - (tokens - wanted) / settings.rate;
        } while (!empty_at.compare_exchange_weak(seen, next));
        return true;
    }

  private:
    const rate_and_burst settings;
    alignas(128) std::atomic<double> empty_at{0};
};

class envoy_like
{
  public:
    explicit envoy_like(const setting &s) : settings(s)
    {
    }
    bool allow(uint64_t, uint64_t n, weir_ns now)
    {
        double wanted = static_cast<double>(n);
        return consume(seconds_of(now),
                       [wanted](double tokens) { return tokens >= wanted ? wanted : 0.0; }) > 0;
    }

  private:
    /* How many tokens were taken, of which `share` is told how many there are. */
    template <class function> double consume(double now, function share)
    {
        double seen = empty_at.load(std::memory_order_relaxed), next, taken;
        do {
            double tokens = std::min((now - seen) * settings.rate, settings.burst);
            taken = share(tokens);
            if (taken == 0)
                return 0;
            next = now - (tokens - taken) / settings.rate;
        } while (!empty_at.compare_exchange_weak(seen, next, std::memory_order_relaxed));
        return taken;
    }
    const rate_and_burst settings;
    alignas(128) std::atomic<double> empty_at{0};
};

std::string hot_only(const setting &s, const trace_file &)
{
    return s.is_hot() ? "" : "it is one bucket without keys, but the trace has several";
}

} // namespace

std::vector<peer> atomic_bucket_peers()
{
    auto open_folly = [](const setting &s) { return single_subject<folly_like>(s, s); };
    auto open_envoy = [](const setting &s) { return single_subject<envoy_like>(s, s); };
    return {{"folly", "stand-in", false, hot_only, open_folly},
            {"envoy", "stand-in", false, hot_only, open_envoy}};
}

} // namespace weir_bench
