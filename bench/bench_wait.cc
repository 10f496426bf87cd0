// SPDX-License-Identifier: MIT
//
// weir_wait: what of a rate a paced loop reaches, and how late it acts, beside the same loop that
// sleeps by clock_nanosleep alone.
//
// 10,000 a second, one at a time: a burst of 1 has no way to catch up, so that whoever acts an
// interval late has lost it. `late_us` is the mean.

#include "check.h"

#include <weir/weir.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace
{

constexpr uint64_t RATE = 10000;
constexpr weir_ns INTERVAL = WEIR_SECOND / RATE;

class paced
{
  public:
    paced()
    {
        weir_policy policy = weir_token_bucket(RATE, WEIR_SECOND, 1);
        if (weir_open(&w, nullptr) != 0 || (limit = weir_add_limit(w, "paced", &policy)) < 0)
            std::abort();
        key = weir_key_u64(w, 1);
    }
    paced(const paced &) = delete;
    paced &operator=(const paced &) = delete;
    ~paced()
    {
        weir_close(w);
    }

    // When the next one is due.
    weir_ns due() const
    {
        weir_ns now = weir_now();
        return now + weir_peek(w, limit, key, 1, now).wait;
    }

    weir *w = nullptr;
    int limit = -1;
    weir_key key = {0, 0};
};

template <typename Wait> void act(benchmark::State &state, Wait wait)
{
    paced p;
    uint64_t late = 0;
    uint64_t refused = 0;
    for (auto _ : state) {
        weir_ns due = p.due();
        refused += !wait(p);
        weir_ns now = weir_now();
        late += now > due ? now - due : 0;
    }
    if (refused != 0)
        weir_bench::fail("a wait was refused");
    state.counters["late_us"] =
        static_cast<double>(late) / 1e3 / static_cast<double>(state.iterations());
}

void paced_by_weir_wait(benchmark::State &state)
{
    act(state, [](const paced &p) { return weir_wait(p.w, p.limit, p.key, 1, WEIR_FOREVER) == 0; });
}
BENCHMARK(paced_by_weir_wait)->UseRealTime();

void paced_by_nanosleep(benchmark::State &state)
{
    act(state, [](const paced &p) {
        weir_ns now = weir_now();
        weir_result r = weir_reserve(p.w, p.limit, p.key, 1, now, WEIR_FOREVER, nullptr);
        weir_ns instant = now + r.wait;
        timespec at = {static_cast<time_t>(instant / WEIR_SECOND),
                       static_cast<long>(instant % WEIR_SECOND)};
        while (r.wait != 0 && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {}
        return r.verdict == WEIR_ALLOWED;
    });
}
BENCHMARK(paced_by_nanosleep)->UseRealTime();

// What an act would take if none were late.
void interval(benchmark::State &state)
{
    for (auto _ : state)
        state.SetIterationTime(static_cast<double>(INTERVAL) / WEIR_SECOND);
}
BENCHMARK(interval)->UseManualTime();

} // namespace

int main(int argc, char **argv)
{
    return weir_bench::main_of(argc, argv,
                               {{"of 10,000/s reached by weir_wait",
                                 {"interval/manual_time"},
                                 {"paced_by_weir_wait/real_time"},
                                 weir_bench::at_least(0.99)},
                                {"of 10,000/s reached by clock_nanosleep alone",
                                 {"interval/manual_time"},
                                 {"paced_by_nanosleep/real_time"},
                                 weir_bench::shown()}});
}
