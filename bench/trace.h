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

#include "hasher.h"
#include "zipf.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace weir_bench
{

const size_t trace_size = 1 << 21;

/* Of `keys` key numbers, every step-th from `first` on: uniform, or Zipf with an exponent above 0.
 */
inline std::vector<uint32_t> key_numbers(uint64_t keys, double exponent, size_t size,
                                         uint64_t first = 0, uint64_t step = 1)
{
    std::vector<uint32_t> numbers(size);
    std::mt19937_64 random(keys + first);
    zipf by_rank(keys, exponent);
    for (uint32_t &made : numbers) {
        /* Ranks are spread over the key numbers, so that hot keys are no neighbours. */
        uint64_t number =
            exponent > 0 ? by_rank(random) * 0x9E3779B97F4A7C15 % keys : random() % keys;
        made = static_cast<uint32_t>(first + number * step);
    }
    return numbers;
}

inline std::vector<weir_key> hashed_keys(const std::vector<uint32_t> &numbers)
{
    std::vector<weir_key> hashed;
    hashed.reserve(numbers.size());
    for (uint32_t number : numbers)
        hashed.push_back(weir_key_u64(hasher(), number));
    return hashed;
}

struct trace {
    /* Uniform, or Zipf with exponent 0.99. */
    trace(uint64_t keys, bool skewed, uint64_t first = 0, uint64_t step = 1)
        : numbers(key_numbers(keys, skewed ? 0.99 : 0, trace_size, first, step)),
          padded(trace_size), hashed(hashed_keys(numbers))
    {
        for (size_t i = 0; i < trace_size; i++)
            padded[i].number = numbers[i];
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
