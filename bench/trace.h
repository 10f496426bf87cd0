/* SPDX-License-Identifier: MIT */
/*
 * Traces: which key comes next, the same for all tables of as many keys.
 *
 * A trace is read in sequence and over and over: as 4-byte numbers where keys are hashed on the
 * way, else as 16-byte keys hashed beforehand, and by the floor as 16 bytes with a number in them,
 * since what streams by takes cache from the table. Its 2^21 entries (8 and 32 MiB) are many enough
 * that a table of 10 million keys finds none of its lines in the cache when the trace comes round.
 */
#ifndef WEIR_BENCH_TRACE_H
#define WEIR_BENCH_TRACE_H

#include <weir/weir.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace weir_bench
{

const size_t trace_size = 1 << 21;

/* All engines here have one secret, so that a key hashed once is good for all of them. */
inline const uint8_t *secret()
{
    static const std::vector<uint8_t> bytes = [] {
        std::vector<uint8_t> made(192);
        std::mt19937 random(192);
        for (uint8_t &byte : made)
            byte = static_cast<uint8_t>(random());
        return made;
    }();
    return bytes.data();
}

/* An engine that hashes keys for tables that cannot. */
inline const weir *hasher()
{
    static const weir *const the = [] {
        weir_options options = {};
        options.max_keys = 1;
        options.secret = secret();
        weir *made = nullptr;
        if (weir_open(&made, &options) != 0)
            std::abort();
        return made;
    }();
    return the;
}

/* Ranks from 0, Zipf with an exponent other than 1, by rejection-inversion (Hoermann, Derflinger,
   "Rejection-inversion to generate variates from monotone discrete distributions", 1996). */
class zipf
{
  public:
    zipf(uint64_t keys, double exponent) : s(exponent), n(static_cast<double>(keys))
    {
        low = integral(1.5) - 1;
        high = integral(n + 0.5);
        cut = 2 - inverse(integral(2.5) - std::pow(2, -s));
    }

    template <class generator> uint64_t operator()(generator &random)
    {
        for (;;) {
            double u = high + std::generate_canonical<double, 53>(random) * (low - high);
            double x = inverse(u);
            double k = std::min(std::max(std::floor(x + 0.5), 1.0), n);
            if (k - x <= cut || u >= integral(k + 0.5) - std::pow(k, -s))
                return static_cast<uint64_t>(k) - 1;
        }
    }

  private:
    double integral(double x) const
    {
        return (std::pow(x, 1 - s) - 1) / (1 - s);
    }
    double inverse(double x) const
    {
        return std::pow(1 + x * (1 - s), 1 / (1 - s));
    }
    double s, n, low, high, cut;
};

struct trace {
    /* Of `keys` key numbers, every step-th from `first` on: uniform, or Zipf with exponent 0.99. */
    trace(uint64_t keys, bool skewed, uint64_t first = 0, uint64_t step = 1)
        : numbers(trace_size), padded(trace_size), hashed(trace_size)
    {
        std::mt19937_64 random(keys + first);
        zipf by_rank(keys, 0.99);
        for (size_t i = 0; i < trace_size; i++) {
            /* Ranks are spread over the key numbers, so that hot keys are no neighbours. */
            uint64_t number =
                skewed ? by_rank(random) * 0x9E3779B97F4A7C15 % keys : random() % keys;
            numbers[i] = static_cast<uint32_t>(first + number * step);
            padded[i].number = numbers[i];
            hashed[i] = weir_key_u64(hasher(), numbers[i]);
        }
    }

    struct alignas(sizeof(weir_key)) padded_number {
        uint32_t number;
    };

    std::vector<uint32_t> numbers;
    std::vector<padded_number> padded;
    std::vector<weir_key> hashed;
};

/* Those of all keys, to be kept. */
struct traces {
    explicit traces(uint64_t keys) : of{{keys, false}, {keys, true}}
    {
    }
    trace of[2]; /* uniform, Zipf */
};

} // namespace weir_bench

#endif
