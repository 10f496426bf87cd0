/* SPDX-License-Identifier: MIT */
/*
 * Limiters of one key in one atomic word, as others have them, written from their descriptions: no
 * table, no key, the caller gives `now`. What they answer is theirs, and so are their limits.
 *
 *   folly_bucket     folly::TokenBucket: the word is the instant, in seconds as a double, at which
 *                    the bucket would have been empty; alone on two cache lines
 *   envoy_bucket     Envoy's AtomicTokenBucketImpl: the same idea, a word among others, and what is
 *                    taken is said by a function of what is there
 *   governor_bucket  governor's direct limiter: the word is the theoretical arrival time of the
 *                    next token (GCRA) in whole ns; a token's interval is cut to whole ns
 *
 * The doubles round: in the second 2^20 (12 days of uptime) one step of the word is 0.2 ns, and
 * each grant may err by so much. None of them counts what it admits, tells how long to wait, or
 * takes a time before the newest for anything but a time without tokens.
 *
 * Every bucket begins full at `start_ns`, and holds at most `burst` tokens.
 */
#ifndef WEIR_BENCH_ATOMIC_BUCKETS_H
#define WEIR_BENCH_ATOMIC_BUCKETS_H

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weir_bench
{

inline double seconds_of(uint64_t ns)
{
    return static_cast<double>(ns) * 1e-9;
}

class alignas(128) folly_bucket
{
  public:
    folly_bucket(double tokens_a_second, double most_tokens, uint64_t start_ns)
        : rate(tokens_a_second), burst(most_tokens),
          empty_at(seconds_of(start_ns) - most_tokens / tokens_a_second)
    {
    }

    bool take(uint64_t n, uint64_t now_ns)
    {
        const double wanted = static_cast<double>(n), now = seconds_of(now_ns);
        double before = empty_at.load(std::memory_order_relaxed), after;
        do {
            double there = std::min((now - before) * rate, burst);
            if (there < wanted)
                return false;
            after = now - (there - wanted) / rate;
        } while (!empty_at.compare_exchange_weak(before, after, std::memory_order_acq_rel,
                                                 std::memory_order_relaxed));
        return true;
    }

  private:
    double rate, burst;
    std::atomic<double> empty_at;
};

class envoy_bucket
{
  public:
    envoy_bucket(double tokens_a_second, double most_tokens, uint64_t start_ns)
        : burst(most_tokens), rate(tokens_a_second),
          empty_at(seconds_of(start_ns) - most_tokens / tokens_a_second)
    {
    }

    bool take(uint64_t n, uint64_t now_ns)
    {
        const double wanted = static_cast<double>(n);
        return consume([wanted](double there) { return there < wanted ? 0 : wanted; }, now_ns) > 0;
    }

    /* Takes chosen(tokens that are there), 0 for nothing. Returns what was taken. */
    template <class choice> double consume(const choice &chosen, uint64_t now_ns)
    {
        const double now = seconds_of(now_ns);
        double before = empty_at.load(std::memory_order_relaxed), after, taken;
        do {
            double there = std::min(burst, (now - before) * rate);
            taken = chosen(there);
            if (taken == 0)
                return 0;
            after = now - (there - taken) / rate;
        } while (!empty_at.compare_exchange_weak(before, after, std::memory_order_relaxed));
        return taken;
    }

  private:
    double burst, rate;
    std::atomic<double> empty_at;
};

class governor_bucket
{
  public:
    /* At most 1e9 tokens a second: a token's interval is at least 1 ns. */
    governor_bucket(uint64_t tokens_a_second, uint64_t most_tokens, uint64_t start_ns)
        : interval(1000000000 / tokens_a_second), tolerance((most_tokens - 1) * interval),
          arrival(start_ns)
    {
    }

    bool take(uint64_t n, uint64_t now_ns)
    {
        const uint64_t more = (n - 1) * interval; /* n at once: as much later a limit */
        if (more > tolerance)
            return false;
        uint64_t before = arrival.load(std::memory_order_acquire), after;
        do {
            uint64_t due = before + more;
            if (due > now_ns && due - now_ns > tolerance)
                return false;
            after = std::max(before, now_ns) + interval + more;
        } while (!arrival.compare_exchange_weak(before, after, std::memory_order_release,
                                                std::memory_order_relaxed));
        return true;
    }

  private:
    uint64_t interval, tolerance;
    std::atomic<uint64_t> arrival;
};

} // namespace weir_bench

#endif
