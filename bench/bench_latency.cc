// SPDX-License-Identifier: MIT
//
// How long single decisions take: half of them and all but 1 in 100, in 1000 and in 10,000, and the
// longest, in ns (`p50` `p99` `p99.9` `p99.99` `most`), within 1.6 %.
//
//   steady   a thousand and a million keys, uniform, all in their place; 1 thread, and all
//   growing  keys come for the first time, one by one, and stay in debt, while the table grows
//   clock    no decision: the same loop with nothing in it
//
// Quantiles are of all threads of a run, and the median over runs is printed, of `most` too.
//
// Each span reaches from one reading of weir_now() to the next, a decision between them: so each
// contains one reading. Nothing is subtracted. What a reading costs, by the same loop without a
// decision after each run, stands beside it as `clock` (its median). Whatever else the
// machine does in between (an interrupt, another process, a page) counts, and is most of `most`;
// with the clock's own p99.99 one sees how much.
//
// Keys are hashed beforehand (`growing`: on the way) and `now` is given. All decisions are grants,
// and are counted.

#include "check.h"

#include "histogram.h"
#include "kept.h"
#include "processors.h"
#include "subjects.h"

#include <memory>
#include <mutex>

namespace
{

using namespace weir_bench;

const uint64_t million = 1000000;

// A reading of the clock after each of `count` times nothing.
histogram clock_alone(uint64_t count)
{
    histogram made;
    weir_ns last = weir_now();
    for (uint64_t i = 0; i < count; i++) {
        weir_ns now = weir_now();
        made.add(now - last);
        last = now;
    }
    return made;
}

template <class body> histogram timed(benchmark::State &state, body step)
{
    histogram made;
    weir_ns last = weir_now();
    for (auto _ : state) {
        step();
        weir_ns now = weir_now();
        made.add(now - last);
        last = now;
    }
    return made;
}

// What the threads of a run have measured; they end one after the other.
struct run_of_threads {
    explicit run_of_threads(uint64_t)
    {
    }
    std::mutex lock;
    histogram all;
    int ended = 0;
};

// The last thread to end tells for all.
void tell(benchmark::State &state, const histogram &of_thread)
{
    run_of_threads &run = kept<run_of_threads>(0);
    std::lock_guard<std::mutex> guard(run.lock);
    run.all.add(of_thread);
    if (++run.ended < state.threads())
        return;
    const std::pair<const char *, uint64_t> figures[] = {
        {"p50", run.all.quantile(0.5)},     {"p99", run.all.quantile(0.99)},
        {"p99.9", run.all.quantile(0.999)}, {"p99.99", run.all.quantile(0.9999)},
        {"most", run.all.most()},           {"clock", clock_alone(10000).quantile(0.5)},
    };
    for (auto [name, ns] : figures)
        state.counters[name] = static_cast<double>(ns);
    run.all = {};
    run.ended = 0;
}

void expect_granted(benchmark::State &state, const std::string &name, uint64_t granted)
{
    uint64_t offered = static_cast<uint64_t>(state.iterations());
    expect_decisions(name.c_str(), granted, offered);
    state.counters["admitted"] = static_cast<double>(granted);
    state.counters["target"] = static_cast<double>(offered);
}

void clock_only(benchmark::State &state, const std::string &)
{
    tell(state, timed(state, [] {}));
}

struct steady_engine : public limited {
    explicit steady_engine(uint64_t keys)
        : limited(keys + keys / 8 + 64, weir_token_bucket(million, WEIR_SECOND, 1000 * million)),
          hashed(hashed_keys(key_numbers(keys, 0, trace_size)))
    {
        fill(keys);
    }
    std::vector<weir_key> hashed;
};

// Threads share the keys; a microsecond passes for each of them, and a key has a million tokens.
void steady(benchmark::State &state, uint64_t keys, const std::string &name)
{
    steady_engine &engine = kept<steady_engine>(keys);
    const size_t threads = static_cast<size_t>(state.threads()), mask = trace_size - 1;
    size_t at = trace_size / threads * static_cast<size_t>(state.thread_index());
    at = warm(engine.w, engine.limit, engine.hashed, at, warming(keys) / threads, engine.now);
    weir_ns now = engine.now;
    uint64_t granted = 0;
    histogram all = timed(state, [&] {
        now += WEIR_MICROSECOND * threads;
        granted += weir_allow(engine.w, engine.limit, engine.hashed[at++ & mask], 1, now);
    });
    tell(state, all);
    if (state.thread_index() == 0)
        engine.now = now;
    expect_granted(state, name, granted);
}

// As in bench_growth: a token that was taken comes back after six minutes of a run of seconds.
struct growing_engine {
    explicit growing_engine(uint64_t)
    {
    }
    std::unique_ptr<limited> engine;
    uint64_t came = 0;
};

const uint64_t grown = 4 * million;

// From no key to four million, as far as a run gets, and on from there in the next.
void growing(benchmark::State &state, const std::string &name)
{
    growing_engine &g = kept<growing_engine>(grown);
    uint64_t granted = 0;
    histogram all;
    weir_ns last = weir_now();
    for (auto _ : state) {
        if (g.came % grown == 0) {
            state.PauseTiming();
            g.engine = std::make_unique<limited>(2 * grown, weir_token_bucket(10, WEIR_HOUR, 10));
            state.ResumeTiming();
            last = weir_now();
        }
        g.engine->now += WEIR_MICROSECOND;
        weir_key key = weir_key_u64(g.engine->w, g.came++);
        granted += weir_allow(g.engine->w, g.engine->limit, key, 1, g.engine->now);
        weir_ns now = weir_now();
        all.add(now - last);
        last = now;
    }
    tell(state, all);
    expect_granted(state, name, granted);
}

using body = std::function<void(benchmark::State &, const std::string &)>;

void add_all(uint64_t count)
{
    auto add = [=](const std::string &name, const body &run, int threads) {
        auto *made = benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State &state) { run(state, name); });
        by_wall(made, count)->Threads(threads);
    };
    std::vector<int> counts{1};
    if (processors() > 1)
        counts.push_back(processors());
    add("latency/clock", clock_only, 1);
    for (uint64_t keys : {uint64_t(1000), million}) {
        auto run = [=](benchmark::State &s, const std::string &name) { steady(s, keys, name); };
        for (int threads : counts)
            add("latency/steady/keys:" + std::to_string(keys), run, threads);
    }
    add("latency/growing", growing, 1);
}

} // namespace

int main(int argc, char **argv)
{
    // One in 10,000 has to come often.
    const uint64_t count = is_full(argc, argv) ? 2 * million : million / 2;
    tell_thread_counts();
    return main_of(argc, argv, {{[=] { add_all(count); }, free_kept}}, {});
}
