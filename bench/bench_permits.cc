// SPDX-License-Identifier: MIT
//
// Permits: one is acquired and released again, by each thread over and over.
//
//   one_key    all threads ask one key for permits, of which there are as many as threads
//   many_keys  a million keys in random order, as many permits of each
//   scarce     one key with one permit for all: whoever finds none goes on to the next turn, and
//              whoever holds it writes its name and reads it again before it gives it back
//   floor      a counter of permits in use in one word, up to as many as threads: a load and a
//              compare-and-swap, and a subtraction
//
// The answer: where there are permits for all, every acquire is granted, and in the end none is in
// use; one permit is never held by two (`overlaps`), and no more of them are given back than were
// granted. One in 64 holders asks besides how many are in use: between 1 and the limit.
//
// Times are the wall's, for one pair of all threads together; of `scarce`, for one turn.

#include "check.h"

#include "kept.h"
#include "processors.h"
#include "subjects.h"

#include <atomic>

namespace
{

using namespace weir_bench;

const uint64_t million = 1000000;

class permits
{
  public:
    permits(uint64_t keys, uint64_t most_in_use, uint64_t)
        : w(open_engine(keys + keys / 8 + 64)), most(most_in_use)
    {
        weir_policy policy = weir_concurrency(most);
        if (weir_add_limit(w, "permits", &policy) != limit)
            std::abort();
        for (uint32_t number : key_numbers(keys, 0, 1 << 20))
            hashed.push_back(weir_key_u64(w, number));
        // Those of the list have their place, and none is idle while all of them hold one.
        std::vector<weir_permit> held(hashed.size());
        for (size_t i = 0; keys > 1 && i < hashed.size(); i++)
            (void)!weir_acquire(w, limit, hashed[i], 1, &held[i]).verdict;
        for (weir_permit &permit : held)
            (void)weir_release(w, &permit);
    }
    permits(const permits &) = delete;
    ~permits()
    {
        weir_close(w);
    }

    // Whether so many of a key are in use as may be, at least `least`.
    bool in_bounds(const weir_key &key, uint64_t least)
    {
        uint64_t in_use = 0, of = 0;
        return weir_in_use(w, limit, key, &in_use, &of) == 0 && of == most && in_use >= least &&
               in_use <= most;
    }

    bool none_in_use()
    {
        for (const weir_key &key : hashed) {
            uint64_t in_use = 1;
            if (weir_in_use(w, limit, key, &in_use, nullptr) != 0 || in_use != 0)
                return false;
        }
        return true;
    }

    weir *w;
    static const int limit = 0;
    uint64_t most;
    std::vector<weir_key> hashed;
    std::atomic<int> done{0};
    alignas(64) uint64_t holder = 0; // written by who has the only permit
};

struct tally {
    uint64_t granted = 0, wrong = 0, overlaps = 0;
};

void end(benchmark::State &state, permits &p, const std::string &name, const tally &t)
{
    uint64_t turns = static_cast<uint64_t>(state.iterations());
    if (p.most >= static_cast<uint64_t>(state.threads()))
        expect_decisions(name.c_str(), t.granted, turns);
    if (t.wrong != 0)
        fail(name + ": more in use than may be, or a release that failed");
    if (t.overlaps != 0)
        fail(name + ": two held the only permit");
    // The last one finds all given back.
    if (p.done.fetch_add(1) + 1 == state.threads()) {
        p.done = 0;
        if (!p.none_in_use())
            fail(name + ": permits in use when all were given back");
    }
    state.counters["granted"] = static_cast<double>(t.granted);
    state.counters["target"] = static_cast<double>(turns);
    state.counters["overlaps"] = static_cast<double>(t.overlaps);
}

void pairs(benchmark::State &state, uint64_t keys, const std::string &name)
{
    permits &p = kept<permits>(keys, state.threads(), 0);
    const size_t mask = p.hashed.size() - 1;
    size_t at = p.hashed.size() / static_cast<size_t>(state.threads()) *
                static_cast<size_t>(state.thread_index());
    tally t;
    for (auto _ : state) {
        const weir_key &key = p.hashed[at++ & mask];
        weir_permit permit;
        if (weir_acquire(p.w, p.limit, key, 1, &permit).verdict != WEIR_ALLOWED)
            continue;
        t.granted++;
        if (t.granted % 64 == 0)
            t.wrong += !p.in_bounds(key, 1);
        t.wrong += weir_release(p.w, &permit) != 0;
    }
    end(state, p, name, t);
}

void scarce(benchmark::State &state, const std::string &name)
{
    permits &p = kept<permits>(1, 1, state.threads());
    const uint64_t me = static_cast<uint64_t>(state.thread_index()) + 1;
    volatile uint64_t *holder = &p.holder;
    tally t;
    for (auto _ : state) {
        weir_permit permit;
        if (weir_acquire(p.w, p.limit, p.hashed[0], 1, &permit).verdict != WEIR_ALLOWED)
            continue;
        t.granted++;
        t.overlaps += *holder != 0;
        *holder = me;
        if (t.granted % 64 == 0)
            t.wrong += !p.in_bounds(p.hashed[0], 1);
        t.overlaps += *holder != me;
        *holder = 0;
        t.wrong += weir_release(p.w, &permit) != 0;
    }
    end(state, p, name, t);
}

struct floor_permits {
    explicit floor_permits(uint64_t)
    {
    }
    alignas(64) std::atomic<uint64_t> in_use{0};
};

void floor_pairs(benchmark::State &state, const std::string &name)
{
    std::atomic<uint64_t> &in_use = kept<floor_permits>(state.threads()).in_use;
    const uint64_t most = static_cast<uint64_t>(state.threads());
    uint64_t granted = 0;
    for (auto _ : state) {
        uint64_t seen = in_use.load(std::memory_order_relaxed);
        while (seen < most && !in_use.compare_exchange_weak(seen, seen + 1)) {}
        if (seen >= most)
            continue;
        granted++;
        in_use.fetch_sub(1);
    }
    expect_decisions(name.c_str(), granted, static_cast<uint64_t>(state.iterations()));
}

void add(uint64_t count)
{
    using body = std::function<void(benchmark::State &, const std::string &)>;
    const std::pair<std::string, body> all[] = {
        {"permits/floor", floor_pairs},
        {"permits/one_key", [](benchmark::State &s, const std::string &n) { pairs(s, 1, n); }},
        {"permits/many_keys",
         [](benchmark::State &s, const std::string &n) { pairs(s, million, n); }},
        {"permits/scarce", scarce},
    };
    for (const auto &[name, run] : all) {
        auto *made = benchmark::RegisterBenchmark(
            name.c_str(), [run = run, name = name](benchmark::State &state) { run(state, name); });
        by_wall(made, count);
        for (int threads : thread_counts())
            made->Threads(threads);
    }
}

} // namespace

int main(int argc, char **argv)
{
    const uint64_t count = is_full(argc, argv) ? million : million / 10;
    tell_thread_counts();
    return main_of(argc, argv, {{[=] { add(count); }, free_kept}}, {});
}
