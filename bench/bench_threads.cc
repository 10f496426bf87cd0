// SPDX-License-Identifier: MIT
//
// One thread and two: how decisions that have nothing in common, and denials of one key that all
// ask for, share the machine.
//
//   dealt       distinct keys of one table: of two threads one has the even key numbers and one
//               the odd ones, so that they meet in lines, of the floor as of weir, as keys of a
//               server's threads do; one thread has all; hashed beforehand, free-running
//   denied_hot  one key without tokens, asked for by all; the floor is a relaxed load of one word
//               that all share, and a comparison
//
// Decisions are admissions as in bench_tables, a thousand times as fast: a microsecond from one to
// the next. Each thread has a clock of its own, and one that does not run for a tenth of a second
// falls behind by a tenth of a second and no more.
//
// Times are the wall's, for one operation of all threads together: at twice the throughput, half
// the time. What is stated is weir's gain from a second thread over the floor's.

#include "check.h"

#include "kept.h"
#include "memory.h"
#include "subjects.h"

namespace
{

using namespace weir_bench;

const weir_policy million_a_second = weir_token_bucket(1000000, WEIR_SECOND, 1000000);

struct shared_engine : public limited {
    explicit shared_engine(uint64_t keys) : limited(keys, million_a_second)
    {
        fill(keys);
    }
};

// All keys for one thread, or a half for each of two.
struct dealt {
    explicit dealt(uint64_t keys)
        : whole{{keys, false}, {keys, true}},
          half{{{keys / 2, false, 0, 2}, {keys / 2, true, 0, 2}},
               {{keys / 2, false, 1, 2}, {keys / 2, true, 1, 2}}}
    {
    }
    trace whole[2];
    trace half[threads_max][2];
};

template <class thing> thing &of_state(const benchmark::State &state)
{
    return kept<thing>(static_cast<uint64_t>(state.range(0)));
}

const trace &trace_of(const benchmark::State &state)
{
    const dealt &d = of_state<dealt>(state);
    const trace *traces = state.threads() == 1 ? d.whole : d.half[state.thread_index()];
    return traces[state.range(1)];
}

uint64_t keys_of_one(const benchmark::State &state)
{
    return static_cast<uint64_t>(state.range(0) / state.threads());
}

void finish(benchmark::State &state, const char *name, uint64_t done, uint64_t due)
{
    expect_decisions(name, done, due);
    state.counters["each"] = benchmark::Counter(static_cast<double>(state.iterations()),
                                                benchmark::Counter::kAvgThreadsRate);
}

void floor_dealt(benchmark::State &state)
{
    flat_array &array = of_state<flat_array>(state);
    const trace &t = trace_of(state);
    place &from = array.places[state.thread_index()];
    size_t at = warm(array, from, t, keys_of_one(state));
    uint64_t done = 0;
    for (auto _ : state)
        done += array.step(t.padded[at++ % trace_size].number);
    from.at = at;
    finish(state, __func__, done, static_cast<uint64_t>(state.iterations()));
}

void weir_dealt(benchmark::State &state)
{
    limited &engine = of_state<shared_engine>(state);
    const trace &t = trace_of(state);
    place &from = engine.places[state.thread_index()];
    // The thread's registration and its counters, too, come before time is measured.
    size_t at = warm(engine, from, t, keys_of_one(state));
    uint64_t allowed = 0;
    weir_ns now = engine.now;
    for (auto _ : state) {
        now += WEIR_MICROSECOND;
        const weir_key &key = t.hashed[at++ % trace_size];
        weir_result result = weir_decide(engine.w, engine.limit, key, 1, now);
        allowed += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
    }
    from.at = at;
    if (state.thread_index() == 0)
        engine.now = now; // all threads have come as far; none reads it before the next repetition
    finish(state, __func__, allowed, static_cast<uint64_t>(state.iterations()));
}

struct hot_word {
    explicit hot_word(uint64_t)
    {
    }
    alignas(64) uint64_t word = 1;
};

void floor_denied_hot(benchmark::State &state)
{
    const uint64_t *word = &kept<hot_word>(1).word;
    uint64_t denied = 0;
    for (auto _ : state)
        denied += __atomic_load_n(word, __ATOMIC_RELAXED) == 1;
    finish(state, __func__, denied, static_cast<uint64_t>(state.iterations()));
}

struct hot_key : public limited {
    explicit hot_key(uint64_t keys) : limited(keys, weir_token_bucket(1, WEIR_HOUR, 1))
    {
        fill(keys); // takes the one token of each
    }
};

void weir_denied_hot(benchmark::State &state)
{
    limited &engine = kept<hot_key>(1000);
    weir_key key = weir_key_u64(engine.w, 1);
    uint64_t denied =
        weir_decide(engine.w, engine.limit, key, 1, engine.now).verdict == WEIR_DENIED;
    for (auto _ : state) {
        weir_result result = weir_decide(engine.w, engine.limit, key, 1, engine.now);
        denied += result.verdict == WEIR_DENIED;
        benchmark::DoNotOptimize(result);
    }
    finish(state, __func__, denied, static_cast<uint64_t>(state.iterations()) + 1);
}

// ---- what runs together, and what is stated -----------------------------------------------------

std::string args_of(uint64_t keys, bool skewed)
{
    return "/keys:" + std::to_string(keys) + "/zipf:" + (skewed ? "1" : "0");
}

void add_dealt(uint64_t keys)
{
    const std::pair<const char *, void (*)(benchmark::State &)> runs[] = {
        {"floor_dealt", floor_dealt}, {"weir_dealt", weir_dealt}};
    for (auto [name, run] : runs) {
        for (int64_t skewed : {0, 1}) {
            benchmark::RegisterBenchmark(name, run)
                ->ArgNames({"keys", "zipf"})
                ->Args({static_cast<int64_t>(keys), skewed})
                ->UseRealTime()
                ->ThreadRange(1, threads_max);
        }
    }
}

void add_hot()
{
    for (auto [name, run] : {std::make_pair("floor_denied_hot", floor_denied_hot),
                             std::make_pair("weir_denied_hot", weir_denied_hot)})
        benchmark::RegisterBenchmark(name, run)->UseRealTime()->ThreadRange(1, threads_max);
}

void add_size(uint64_t keys)
{
    if (keys == 1000)
        add_hot();
    add_dealt(keys);
}

std::string on_threads(const std::string &name, unsigned threads)
{
    return name + "/real_time/threads:" + std::to_string(threads);
}

// Weir's throughput on two threads by that on one, over the same of the floor. The processor's
// time tells the same where both threads run all the time, and more where others run beside them.
void add_gain(std::vector<ratio> &ratios, const std::string &what, const std::string &name,
              bound stated_bound)
{
    for (const char *measure : {"", "/cpu"}) {
        auto cost = [&](const char *of, unsigned threads) {
            return best_of{on_threads(of + name, threads) + measure};
        };
        bool wall = *measure == '\0';
        std::string text = "gain of 2 threads : the floor's gain, " + what;
        ratios.emplace_back(wall ? text : text + ", processor time", cost("weir_", 1),
                            cost("weir_", 2), wall ? stated_bound : shown());
        ratios.back().times(cost("floor_", 2), cost("floor_", 1));
    }
}

struct size {
    const char *text;
    uint64_t keys;
    bool is_stated; // a thousand keys are 250 lines: two threads meet on them by chance
};

const size sizes[] = {
    {"1 thousand", 1000, false}, {"1 million", 1000000, true}, {"10 million", 10000000, true}};

} // namespace

int main(int argc, char **argv)
{
    std::vector<part> parts;
    std::vector<ratio> ratios = {
        {"one denied hot key : admitted, 1 thousand",
         {on_threads("weir_denied_hot", 1)},
         {on_threads("weir_dealt" + args_of(1000, false), 1)},
         at_most(1)},
    };
    add_gain(ratios, "one denied key", "denied_hot", at_least(0.95));
    for (const size &s : sizes) {
        if (s.keys == 10000000 && available_bytes() < uint64_t(2) << 30) {
            std::fprintf(stderr, "10 million keys are left out: less than 2 GiB of memory\n");
            continue;
        }
        parts.push_back({[keys = s.keys] { add_size(keys); }, free_kept});
        for (bool skewed : {false, true}) {
            bound b = s.is_stated && !skewed ? at_least(0.95) : shown();
            add_gain(ratios, s.text + std::string(skewed ? ", Zipf" : ""),
                     "dealt" + args_of(s.keys, skewed), b);
        }
    }
    return main_of(argc, argv, parts, ratios);
}
