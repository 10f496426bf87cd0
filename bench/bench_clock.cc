// SPDX-License-Identifier: MIT
//
// Clocks alone, and a decision with the time from each of them: of a thousand keys in random order,
// hashed beforehand, of which each has a million tokens a second and a thousand million at
// first, so that all are granted.
//
//   given      the caller's own, a microsecond later each time; nothing is read
//   weir_now   CLOCK_MONOTONIC as nanoseconds
//   monotonic  clock_gettime(CLOCK_MONOTONIC), a timespec
//   coarse     CLOCK_MONOTONIC_COARSE, which stands still for a tick of the kernel's (1 to 10 ms)
//
// `step_ns` beside a clock alone is how far it moved when it last moved. No processor's counter is
// read: weir has none to offer, and is told the time in nanoseconds of a clock that all threads
// share.

#include "check.h"

#include "kept.h"
#include "subjects.h"

#include <ctime>

namespace
{

using namespace weir_bench;

const uint64_t million = 1000000, keys = 1000;

weir_ns read(clockid_t clock)
{
    timespec t = {};
    (void)clock_gettime(clock, &t);
    return static_cast<weir_ns>(t.tv_sec) * WEIR_SECOND + static_cast<weir_ns>(t.tv_nsec);
}

struct given {
    weir_ns operator()()
    {
        return now += WEIR_MICROSECOND;
    }
    weir_ns now = weir_now();
};

struct by_weir_now {
    weir_ns operator()()
    {
        return weir_now();
    }
};

template <clockid_t clock> struct by {
    weir_ns operator()()
    {
        return read(clock);
    }
};

template <class clock> void alone(benchmark::State &state)
{
    clock tell;
    for (auto _ : state)
        benchmark::DoNotOptimize(tell());
    weir_ns first = tell(), next = first;
    while (next == first)
        next = tell();
    first = next;
    while (next == first)
        next = tell();
    state.counters["step_ns"] = static_cast<double>(next - first);
}

struct keyed : public limited {
    explicit keyed(uint64_t)
        : limited(2 * keys, weir_token_bucket(million, WEIR_SECOND, 1000 * million))
    {
        now = weir_now();
        fill(keys);
    }
    std::vector<weir_key> hashed = hashed_keys(key_numbers(keys, 0, 1 << 16));
};

template <class clock> void decide(benchmark::State &state)
{
    keyed &engine = kept<keyed>(sizeof(clock)); // one that is given the time of its own
    const size_t mask = engine.hashed.size() - 1;
    clock tell;
    size_t at = 0;
    uint64_t allowed = 0;
    for (auto _ : state) {
        weir_result result =
            weir_decide(engine.w, engine.limit, engine.hashed[at++ & mask], 1, tell());
        allowed += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
    }
    uint64_t offered = static_cast<uint64_t>(state.iterations());
    expect_decisions("clock/decide", allowed, offered);
    state.counters["admitted"] = static_cast<double>(allowed);
    state.counters["target"] = static_cast<double>(offered);
}

template <class clock> void add(const std::string &name)
{
    benchmark::RegisterBenchmark(("clock/alone/" + name).c_str(), alone<clock>);
    benchmark::RegisterBenchmark(("clock/decide/" + name).c_str(), decide<clock>);
}

void add_all()
{
    benchmark::RegisterBenchmark("clock/decide/given", decide<given>);
    add<by_weir_now>("weir_now");
    add<by<CLOCK_MONOTONIC>>("monotonic");
    add<by<CLOCK_MONOTONIC_COARSE>>("coarse");
}

} // namespace

int main(int argc, char **argv)
{
    return main_of(argc, argv, {{add_all, free_kept}},
                   {{"decision with weir_now : with a given time",
                     {"clock/decide/weir_now"},
                     {"clock/decide/given"},
                     shown()},
                    {"decision with the coarse clock : with a given time",
                     {"clock/decide/coarse"},
                     {"clock/decide/given"},
                     shown()}});
}
