// SPDX-License-Identifier: MIT
//
// Decisions while another thread changes the limit's settings: never, every millisecond, and every
// 10 microseconds (as often as weir_set_limit lets it, where that takes longer).
//
//   granted  a thousand keys, a million tokens a second or two, more than are ever used: all are
//            granted whatever the settings
//   halves   0.4 tokens or 0.6 for each decision: at least so many are granted as under the lower
//            rate, at most as under the higher one and the burst of each key besides
//
// A microsecond passes from one decision to the next, and the other thread changes settings at the
// `now` of the last decision. `changes` is how many it made in a run. Times are the decisions' own:
// processor time of their thread.

#include "check.h"

#include "kept.h"
#include "subjects.h"

#include <atomic>
#include <thread>

namespace
{

using namespace weir_bench;

const uint64_t million = 1000000, keys = 1000, burst = 10;

// n tokens come for each key in 10 of its turns.
weir_policy tenths(uint64_t n)
{
    return weir_token_bucket(n, 10 * keys * WEIR_MICROSECOND, burst);
}

struct load {
    const char *name;
    weir_policy settings[2];
    double least, most; // of all decisions; and the burst of each key
};

const load loads[] = {
    {"granted",
     {weir_token_bucket(million, WEIR_SECOND, million),
      weir_token_bucket(2 * million, WEIR_SECOND, million)},
     1,
     1},
    {"halves", {tenths(4), tenths(6)}, 0.4, 0.6},
};

// Changes the settings until it goes out of scope.
class changer
{
  public:
    changer(limited &engine, const load &what, weir_ns interval, const std::atomic<weir_ns> &now)
    {
        if (interval != 0)
            thread = std::thread([=, &engine, &what, &now] { run(engine, what, interval, now); });
    }
    changer(const changer &) = delete;
    ~changer()
    {
        stop = true;
        if (thread.joinable())
            thread.join();
    }

    std::atomic<uint64_t> changes{0};

  private:
    void run(limited &engine, const load &what, weir_ns interval, const std::atomic<weir_ns> &now)
    {
        weir_ns next = weir_now();
        for (uint64_t i = 1; !stop; i++) {
            if (weir_set_limit(engine.w, engine.limit, &what.settings[i % 2], now) != 0)
                fail("settings were refused");
            changes++;
            next = std::max(next + interval, weir_now());
            pause_until(next, interval);
        }
    }
    // Nobody wakes up within 10 us.
    static void pause_until(weir_ns instant, weir_ns interval)
    {
        timespec at = {static_cast<time_t>(instant / WEIR_SECOND),
                       static_cast<long>(instant % WEIR_SECOND)};
        if (interval >= WEIR_MILLISECOND)
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
        while (weir_now() < instant) {}
    }

    std::atomic<bool> stop{false};
    std::thread thread;
};

void expect_bounds(const load &what, const std::string &name, uint64_t got, uint64_t count)
{
    double n = static_cast<double>(count);
    double least = what.least * n, most = what.most * n + static_cast<double>(burst * keys);
    // A key that holds its burst takes no more; it has room again after its next turn.
    if (what.least < 1)
        least -= static_cast<double>(keys);
    if (static_cast<double>(got) < least || static_cast<double>(got) > most) {
        std::fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " granted\n", name.c_str(), got, count);
        fail(name + ": granted more or less than either setting would");
    }
}

void decide(benchmark::State &state, const load &what, weir_ns interval, const std::string &name)
{
    limited engine(2 * keys, what.settings[0]);
    std::vector<weir_key> hashed;
    for (uint64_t key = 0; key < keys; key++)
        hashed.push_back(weir_key_u64(engine.w, key));
    engine.fill(keys);
    for (uint64_t i = keys; what.least < 1 && i < burst * keys; i++)
        (void)!weir_allow(engine.w, engine.limit, hashed[i % keys], 1, engine.now);
    weir_ns now = engine.now;
    uint64_t got = 0;
    size_t at = 0;
    alignas(64) std::atomic<weir_ns> published{now};
    {
        changer other(engine, what, interval, published);
        for (auto _ : state) {
            now += WEIR_MICROSECOND;
            published.store(now, std::memory_order_relaxed);
            got += weir_allow(engine.w, engine.limit, hashed[at], 1, now);
            at = at + 1 == keys ? 0 : at + 1;
        }
        state.counters["changes"] = static_cast<double>(other.changes);
    }
    uint64_t count = static_cast<uint64_t>(state.iterations());
    expect_bounds(what, name, got, count);
    state.counters["granted"] = static_cast<double>(got);
    state.counters["least"] = what.least * static_cast<double>(count);
    state.counters["most"] = what.most * static_cast<double>(count);
}

void add()
{
    const std::pair<const char *, weir_ns> intervals[] = {
        {"never", 0}, {"1ms", WEIR_MILLISECOND}, {"10us", 10 * WEIR_MICROSECOND}};
    for (const load &what : loads) {
        for (auto [often, interval] : intervals) {
            std::string name = std::string("changes/") + what.name + "/every:" + often;
            benchmark::RegisterBenchmark(
                name.c_str(), [&what, interval = interval, name](benchmark::State &state) {
                    decide(state, what, interval, name);
                });
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    return main_of(argc, argv, {{add, free_kept}}, {});
}
