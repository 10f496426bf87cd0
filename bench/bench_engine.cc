// SPDX-License-Identifier: MIT
//
// Decisions of an engine on one thread, keys drawn uniformly, hashing included, beside the floor:
// a flat array of 16-byte slots with one load and one compare-and-swap at the trace's index.
//
// The table of this release has a fixed size, made for the keys at a load of at most 1/2.

#include "check.h"

#include <weir/weir.h>

#include <cstdint>
#include <cstdlib>
#include <random>

namespace
{

const size_t trace_size = 1 << 20;

// Key numbers, the same in every benchmark of as many keys.
std::vector<uint32_t> trace_of(uint64_t keys)
{
    std::mt19937_64 generator(keys);
    std::vector<uint32_t> trace(trace_size);
    for (uint32_t &key : trace)
        key = static_cast<uint32_t>(generator() % keys);
    return trace;
}

struct slot {
    uint64_t tag, word;
};

void floor_flat_array(benchmark::State &state)
{
    uint64_t keys = static_cast<uint64_t>(state.range(0));
    std::vector<uint32_t> trace = trace_of(keys);
    std::vector<slot> slots(keys);
    size_t i = 0;
    for (auto _ : state) {
        uint64_t *word = &slots[trace[i++ % trace_size]].word;
        uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(word, &seen, seen + 1, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED)) {}
    }
}

// An engine with one limit; closed at the end.
struct limited {
    limited(uint64_t keys, const weir_policy &policy)
    {
        weir_options options = {};
        options.max_keys = keys;
        if (weir_open(&w, &options) != 0 || (limit = weir_add_limit(w, "bench", &policy)) < 0)
            std::abort();
    }
    ~limited()
    {
        weir_close(w);
    }

    // Every key has its place before time is measured.
    void fill(uint64_t keys, weir_ns now)
    {
        for (uint64_t key = 0; key < keys; key++)
            benchmark::DoNotOptimize(weir_allow(w, limit, weir_key_u64(w, key), 1, now));
    }

    weir *w = nullptr;
    int limit = -1;
};

const weir_policy thousand_a_second = weir_token_bucket(1000, WEIR_SECOND, 1000);

// All admitted: one token a millisecond is asked of a bucket that gets a thousand a second.
void engine_admitted(benchmark::State &state)
{
    uint64_t keys = static_cast<uint64_t>(state.range(0));
    std::vector<uint32_t> trace = trace_of(keys);
    limited engine(keys, thousand_a_second);
    weir_ns now = WEIR_SECOND;
    engine.fill(keys, now);
    uint64_t allowed = 0;
    size_t i = 0;
    for (auto _ : state) {
        now += WEIR_MILLISECOND;
        weir_key key = weir_key_u64(engine.w, trace[i++ % trace_size]);
        weir_result result = weir_decide(engine.w, engine.limit, key, 1, now);
        allowed += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
    }
    if (allowed != static_cast<uint64_t>(state.iterations()))
        state.SkipWithError("refused what was due");
}

// The same in batches of 64; a figure is of one decision.
void engine_batch(benchmark::State &state)
{
    const size_t size = 64;
    uint64_t keys = static_cast<uint64_t>(state.range(0));
    std::vector<uint32_t> trace = trace_of(keys);
    limited engine(keys, thousand_a_second);
    weir_ns now = WEIR_SECOND;
    engine.fill(keys, now);
    weir_request requests[size];
    weir_result results[size];
    uint64_t allowed = 0;
    size_t i = 0;
    while (state.KeepRunningBatch(size)) {
        now += size * WEIR_MILLISECOND;
        for (weir_request &request : requests)
            request = {engine.limit, weir_key_u64(engine.w, trace[i++ % trace_size]), 1};
        weir_decide_batch(engine.w, requests, results, size, now);
        for (const weir_result &result : results)
            allowed += result.verdict == WEIR_ALLOWED;
    }
    if (allowed != static_cast<uint64_t>(state.iterations()))
        state.SkipWithError("refused what was due");
}

// One hot key that is denied: nothing shared is written.
void engine_denied_hot(benchmark::State &state)
{
    limited engine(1000, weir_token_bucket(1, WEIR_HOUR, 1));
    weir_key key = weir_key_u64(engine.w, 1);
    uint64_t allowed = weir_allow(engine.w, engine.limit, key, 1, WEIR_SECOND);
    for (auto _ : state) {
        weir_result result = weir_decide(engine.w, engine.limit, key, 1, WEIR_SECOND);
        allowed += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
    }
    if (allowed != 1)
        state.SkipWithError("admitted more than was due");
}

void clock_monotonic(benchmark::State &state)
{
    for (auto _ : state)
        benchmark::DoNotOptimize(weir_now());
}

BENCHMARK(floor_flat_array)->Arg(1000)->Arg(1000000);
BENCHMARK(engine_admitted)->Arg(1000)->Arg(1000000);
BENCHMARK(engine_batch)->Arg(1000)->Arg(1000000);
BENCHMARK(engine_denied_hot);
BENCHMARK(clock_monotonic);

} // namespace

int main(int argc, char **argv)
{
    return weir_bench::main_of(argc, argv,
                               {{"in batches : one by one, a million keys", "engine_batch/1000000",
                                 "engine_admitted/1000000", 0.6},
                                {"one denied hot key : admitted, 1000 keys", "engine_denied_hot",
                                 "engine_admitted/1000", 1.0}});
}
