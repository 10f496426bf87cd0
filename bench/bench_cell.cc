// SPDX-License-Identifier: MIT
//
// One cell on one thread, beside the floor: a bare load and compare-and-swap on the same kind of
// word. The caller gives `now`; what reading the clock would cost stands beside it.
//
// Each benchmark also checks what was decided: one that admits too much or too little fails.

#include "check.h"

#include <weir/weir.h>

#include <cstdint>

namespace
{

// A word alone on its cache line, as a server would keep it.
struct alignas(64) alone {
    weir_cell cell;
};

// The floor: what any limiter pays that keeps its state in one word and changes it atomically.
void floor_load_cas(benchmark::State &state)
{
    alone a = {};
    for (auto _ : state) {
        uint64_t seen = __atomic_load_n(&a.cell.word, __ATOMIC_ACQUIRE);
        while (!__atomic_compare_exchange_n(&a.cell.word, &seen, seen + 1, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE)) {}
    }
    benchmark::DoNotOptimize(a.cell.word);
}
BENCHMARK(floor_load_cas);

// One decision every `step` ns; `every` of them is to be admitted.
void decide(benchmark::State &state, const weir_policy &policy, weir_ns step, uint64_t every)
{
    alone a = {};
    weir_meter meter;
    if (weir_meter_init(&meter, &policy, 0) != 0) {
        weir_bench::fail("a policy was refused");
        state.SkipWithError("the policy was refused");
        return;
    }
    // Empty at first, so that from here on the steady state is measured.
    weir_ns now = WEIR_SECOND;
    while (weir_cell_decide(&a.cell, &meter, 1, now).verdict == WEIR_ALLOWED) {}
    uint64_t allowed = 0;
    for (auto _ : state) {
        now += step;
        weir_result result = weir_cell_decide(&a.cell, &meter, 1, now);
        allowed += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
    }
    uint64_t offered = static_cast<uint64_t>(state.iterations());
    weir_bench::expect_decisions(__func__, allowed, every == 0 ? 0 : offered / every);
}

// 1000000/s is 1 token per 1000 ns exactly; 999999937/s needs a reciprocal.
const weir_policy exact = weir_token_bucket(1000000, WEIR_SECOND, 100);
const weir_policy rounded = weir_token_bucket(999999937, WEIR_SECOND, 1000);
const weir_policy lumps = weir_refill_bucket(1000000, WEIR_SECOND, WEIR_MICROSECOND);
const weir_policy never_again = weir_token_bucket(0, WEIR_SECOND, 100);

void cell_admitted(benchmark::State &state)
{
    decide(state, exact, 1000, 1);
}
BENCHMARK(cell_admitted);

void cell_admitted_rounded(benchmark::State &state)
{
    decide(state, rounded, 1000, 1);
}
BENCHMARK(cell_admitted_rounded);

void cell_admitted_refill(benchmark::State &state)
{
    decide(state, lumps, 1000, 1);
}
BENCHMARK(cell_admitted_refill);

void cell_denied(benchmark::State &state)
{
    decide(state, weir_token_bucket(1, WEIR_HOUR, 100), 0, 0);
}
BENCHMARK(cell_denied);

void cell_denied_rounded(benchmark::State &state)
{
    decide(state, rounded, 0, 0);
}
BENCHMARK(cell_denied_rounded);

void cell_denied_rate_0(benchmark::State &state)
{
    decide(state, never_again, 1000, 0);
}
BENCHMARK(cell_denied_rate_0);

void clock_monotonic(benchmark::State &state)
{
    for (auto _ : state)
        benchmark::DoNotOptimize(weir_now());
}
BENCHMARK(clock_monotonic);

} // namespace

int main(int argc, char **argv)
{
    using weir_bench::at_most;
    return weir_bench::main_of(
        argc, argv,
        {{"admitted, exact form : load + compare-and-swap",
          {"cell_admitted"},
          {"floor_load_cas"},
          at_most(2)},
         {"admitted, rounded form : load + compare-and-swap",
          {"cell_admitted_rounded"},
          {"floor_load_cas"},
          at_most(2)},
         {"denied : admitted", {"cell_denied"}, {"cell_admitted"}, at_most(1)},
         {"denied : admitted, rounded form",
          {"cell_denied_rounded"},
          {"cell_admitted_rounded"},
          at_most(1)}});
}
