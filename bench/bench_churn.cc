// SPDX-License-Identifier: MIT
//
// Every key is new: it comes once, and is idle a millisecond later, while a microsecond passes from
// one decision to the next. So a thousand keys are not idle at a time, and the rest of the table is
// left behind over and over.
//
// The key is hashed on the way. All are granted, and none is without a place (`admitted`,
// `target`). `MiB` is what the engine holds in the end, which does not depend on how many keys came
// by.
//
// bench_growth tells of the same engine's memory and of its slowest call.

#include "check.h"

#include "kept.h"
#include "subjects.h"

namespace
{

using namespace weir_bench;

struct churning : public limited {
    explicit churning(uint64_t max_keys) : limited(max_keys, thousand_a_second)
    {
    }
    uint64_t next = 0; // key; it goes on from run to run
};

void decide(benchmark::State &state, uint64_t max_keys, const std::string &name)
{
    churning &engine = kept<churning>(max_keys);
    uint64_t overflow = stats_of(engine.w).overflow, allowed = 0;
    for (auto _ : state) {
        weir_key key = weir_key_u64(engine.w, engine.next++);
        engine.now += WEIR_MICROSECOND;
        weir_result result = weir_decide(engine.w, engine.limit, key, 1, engine.now);
        allowed += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
    }
    struct weir_stats stats = stats_of(engine.w);
    if (stats.overflow != overflow)
        fail(name + ": a key found no place");
    uint64_t offered = static_cast<uint64_t>(state.iterations());
    expect_decisions(name.c_str(), allowed, offered);
    state.counters["admitted"] = static_cast<double>(allowed);
    state.counters["target"] = static_cast<double>(offered);
    state.counters["MiB"] = static_cast<double>(stats.bytes) / 0x100000;
}

const uint64_t sizes[] = {10000, 1000000, 100000000};

void add()
{
    for (uint64_t max_keys : sizes) {
        std::string name = "churn/max_keys:" + std::to_string(max_keys);
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State &state) { decide(state, max_keys, name); });
    }
}

} // namespace

int main(int argc, char **argv)
{
    return main_of(argc, argv, {{add, free_kept}}, {});
}
