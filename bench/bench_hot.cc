// SPDX-License-Identifier: MIT
//
// One key that all threads ask for: an engine of a thousand keys, and what keeps one key in one
// atomic word without a table.
//
//   weir       the engine
//   weir_cell  a weir_cell, alone on its cache line
//   floor      a load and a compare-and-swap until it succeeds; denied: a load and a comparison
//   folly, envoy, governor: atomic_buckets.h
//
// Three kinds of load. `now` is given and passes by T microseconds in each decision of a thread, of
// T threads; each thread has a clock of its own, and they begin together.
//
//   admitted  a million tokens a second, a thousand million at first: none is denied, not even to a
//             thread that comes late
//   denied    no token is there and none comes
//   half      half a million a second, a thousand at first. At most what was there may be
//             admitted, and half a million a second until all have ended (`most`); on one thread
//             it is what an exact bucket admits (`target`)
//
// Others' buckets keep doubles and may be off by some (`inexact`, on one thread, under `half`);
// weir fails when it is. Times are the wall's, for one decision of all threads together.

#include "check.h"

#include "atomic_buckets.h"
#include "exact.h"
#include "kept.h"
#include "processors.h"
#include "subjects.h"

#include <atomic>

namespace
{

using namespace weir_bench;

const uint64_t million = 1000000;
const weir_ns start = WEIR_SECOND;

enum load : uint64_t { admitted, denied, half };
const char *const load_names[] = {"admitted", "denied", "half"};

weir_policy policy_of(uint64_t load)
{
    switch (load) {
    case admitted:
        return weir_token_bucket(million, WEIR_SECOND, 1000 * million);
    case denied:
        return weir_token_bucket(1, 100 * WEIR_HOUR, 1);
    default:
        return weir_token_bucket(million / 2, WEIR_SECOND, 1000);
    }
}

// ---- subjects: all have allow(now), and begin full ----------------------------------------------

class weir_key_of_many : public limited
{
  public:
    explicit weir_key_of_many(uint64_t load) : limited(1000, policy_of(load))
    {
        for (uint64_t other = 1; other < 1000; other++)
            (void)!weir_allow(w, limit, weir_key_u64(w, other), 1, start);
        key = weir_key_u64(w, 0);
    }
    bool allow(weir_ns at)
    {
        return weir_decide(w, limit, key, 1, at).verdict == WEIR_ALLOWED;
    }

  private:
    weir_key key;
};

class alignas(64) one_cell
{
  public:
    explicit one_cell(uint64_t load)
    {
        weir_policy policy = policy_of(load);
        if (weir_meter_init(&meter, &policy, 0) != 0)
            std::abort();
    }
    bool allow(weir_ns at)
    {
        return weir_cell_decide(&cell, &meter, 1, at).verdict == WEIR_ALLOWED;
    }

  private:
    alignas(64) weir_cell cell = {0};
    alignas(64) weir_meter meter;
};

class floor_word
{
  public:
    explicit floor_word(uint64_t its_load) : load(its_load)
    {
    }
    bool allow(weir_ns)
    {
        uint64_t seen = word.load(std::memory_order_relaxed);
        if (load == denied && seen != 0)
            return false;
        while (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {}
        return true;
    }

  private:
    alignas(64) std::atomic<uint64_t> word{0};
    alignas(64) const uint64_t load;
};

template <class bucket> class others
{
  public:
    explicit others(uint64_t load) : others(policy_of(load))
    {
    }
    bool allow(weir_ns at)
    {
        return b.take(1, at);
    }

  private:
    explicit others(const weir_policy &p)
        : b(static_cast<decltype(rate)>(p.limit) / static_cast<decltype(rate)>(p.period) *
                static_cast<decltype(rate)>(WEIR_SECOND),
            static_cast<decltype(rate)>(p.burst), start)
    {
    }
    double rate = 0;
    alignas(128) bucket b;
};

// Whole tokens a second: denied is a token in 2^63 ns.
template <> class others<governor_bucket>
{
  public:
    explicit others(uint64_t load)
        : b(load == denied ? 1 : policy_of(load).limit, policy_of(load).burst,
            load == denied ? uint64_t(1) << 62 : start)
    {
    }
    bool allow(weir_ns at)
    {
        return b.take(1, at);
    }

  private:
    alignas(128) governor_bucket b;
};

// A subject, and what was decided of it so far by one thread or several.
template <class subject> struct running {
    running(uint64_t load, uint64_t) : s(load), exact(1, policy_of(load))
    {
        if (load == denied)
            (void)!s.allow(start); // the only token
    }
    subject s;
    exact_buckets exact;
    weir_ns now = start;
    std::atomic<uint64_t> admitted{0};
};

// ---- runs ---------------------------------------------------------------------------------------

template <class subject> const bool is_weir = false;
template <> const bool is_weir<weir_key_of_many> = true;
template <> const bool is_weir<one_cell> = true;

// On one thread: exactly what was due.
template <class subject>
void compare(benchmark::State &state, running<subject> &r, const std::string &name, uint64_t got)
{
    uint64_t target = 0;
    weir_ns at = r.now;
    for (int64_t i = 0; i < state.iterations(); i++)
        target += r.exact.decide(0, 1, at += WEIR_MICROSECOND);
    state.counters["target"] = static_cast<double>(target);
    if (is_weir<subject>)
        expect_decisions(name.c_str(), got, target);
    else
        state.counters["inexact"] = static_cast<double>(got) - static_cast<double>(target);
}

uint64_t most_of(weir_ns span)
{
    weir_policy policy = policy_of(half);
    return policy.burst + span / (WEIR_SECOND / policy.limit);
}

// Of all threads since the beginning: no more than there was.
template <class subject>
void expect_bound(benchmark::State &state, running<subject> &r, const std::string &name,
                  weir_ns until)
{
    uint64_t most = most_of(until - start);
    uint64_t slack = is_weir<subject> ? 0 : 1 + most / million; // doubles
    if (r.admitted.load() > most + slack)
        fail(name + " admitted more than there was");
    if (state.thread_index() == 0)
        state.counters["most"] = static_cast<double>(most_of(until - r.now));
}

template <class subject> void ask(benchmark::State &state, load what, const std::string &name)
{
    running<subject> &r = kept<running<subject>>(what, state.threads());
    const weir_ns apart = WEIR_MICROSECOND * static_cast<weir_ns>(state.threads());
    weir_ns now = r.now;
    uint64_t got = 0;
    for (auto _ : state) {
        now += apart;
        got += r.s.allow(now);
    }
    uint64_t count = static_cast<uint64_t>(state.iterations());
    r.admitted += got;
    state.counters["admitted"] = static_cast<double>(got);
    if (what != half) {
        uint64_t due = what == admitted ? count : 0;
        expect_decisions(name.c_str(), got, due);
        state.counters["target"] = static_cast<double>(due);
    } else if (!std::is_same_v<subject, floor_word>) {
        if (state.threads() == 1)
            compare(state, r, name, got);
        expect_bound(state, r, name, now);
    }
    if (state.thread_index() == 0)
        r.now = now;
}

template <class subject> void add(const char *name, bool full)
{
    for (load what : {admitted, denied, half}) {
        if (what == half && std::is_same_v<subject, floor_word>)
            continue; // it admits all
        std::string whole = std::string("hot/") + name + "/" + load_names[what];
        auto *made = benchmark::RegisterBenchmark(
            whole.c_str(), [=](benchmark::State &state) { ask<subject>(state, what, whole); });
        by_wall(made, full ? 5 * million : million / 2);
        for (int threads : thread_counts())
            made->Threads(threads);
    }
}

std::string timed(const char *name, const char *load, int threads)
{
    return std::string("hot/") + name + "/" + load +
           "/real_time/threads:" + std::to_string(threads);
}

std::vector<ratio> ratios()
{
    std::vector<ratio> made;
    for (int threads : thread_counts()) {
        for (const char *load : {"admitted", "denied"}) {
            std::string what = std::string(", one key ") + load + ", " + std::to_string(threads) +
                               (threads == 1 ? " thread" : " threads");
            made.emplace_back("weir : floor" + what, best_of{timed("weir", load, threads)},
                              best_of{timed("floor", load, threads)}, shown());
            made.emplace_back("best other bucket : weir" + what,
                              best_of{timed("folly", load, threads), timed("envoy", load, threads),
                                      timed("governor", load, threads)},
                              best_of{timed("weir", load, threads)}, shown());
        }
    }
    return made;
}

} // namespace

int main(int argc, char **argv)
{
    const bool full = is_full(argc, argv);
    tell_thread_counts();
    auto add_all = [=] {
        add<floor_word>("floor", full);
        add<weir_key_of_many>("weir", full);
        add<one_cell>("weir_cell", full);
        add<others<folly_bucket>>("folly", full);
        add<others<envoy_bucket>>("envoy", full);
        add<others<governor_bucket>>("governor", full);
    };
    return main_of(argc, argv, {{add_all, free_kept}}, ratios());
}
