// SPDX-License-Identifier: MIT
//
// Every algorithm beside the token bucket: decisions of an engine, over a thousand keys in random
// order, granted and denied. The caller gives `now`.
//
// Twice: in an engine as it is opened, where a thousand keys lie in as many places; and in one for
// a few thousand keys, all of whose memory stays in the nearest cache, so that only instructions
// count. What is stated is stated of the first.
//
// Each benchmark also checks what was decided.

#include "check.h"

#include <weir/weir.h>

#include <cstdint>
#include <string>
#include <vector>

namespace
{

constexpr size_t KEYS = 1024;
constexpr weir_ns STEP = 100; // between decisions
constexpr weir_ns FIRST = 1000 * WEIR_SECOND;

// Unix time of the engine: some noon, far from all edges of days.
weir_ns wall_clock(void *, weir_ns now)
{
    return now + 1767268800 * WEIR_SECOND;
}

struct kind {
    const char *name;
    weir_policy policy;
};

// Limits that a run does not use up, but for `none`, which is charged full.
const std::vector<kind> &kinds()
{
    static const std::vector<kind> all = {
        {"token_bucket", weir_token_bucket(1000000, WEIR_SECOND, 1000000)},
        {"token_bucket_rounded", weir_token_bucket(999983, WEIR_SECOND, 1000000)},
        {"pacer", weir_pacer(1000000, WEIR_SECOND, 1000000)},
        {"refill_bucket", weir_refill_bucket(1000000, WEIR_SECOND, 100 * WEIR_MILLISECOND)},
        {"fixed_window", weir_fixed_window(10000000, WEIR_HOUR)},
        {"aligned_window", weir_aligned_window(10000000, WEIR_HOUR, 0)},
        {"calendar_window", weir_calendar_window(10000000, WEIR_CALENDAR_DAY, "UTC")},
        {"sliding_window", weir_sliding_window(1000000, WEIR_MINUTE)},
        {"concurrency", weir_concurrency(uint64_t{1} << 40)},
    };
    return all;
}

class engine
{
  public:
    engine(const weir_policy &policy, size_t max_keys)
    {
        weir_options options = {};
        options.max_keys = max_keys;
        options.wall_clock = wall_clock;
        if (weir_open(&w, &options) != 0)
            std::abort();
        limit = weir_add_limit(w, "limit", &policy);
        if (limit < 0)
            std::abort();
        for (size_t i = 0; i < KEYS; i++)
            keys.push_back(weir_key_u64(w, i));
    }
    engine(const engine &) = delete;
    engine &operator=(const engine &) = delete;
    ~engine()
    {
        weir_close(w);
    }
    const weir_key &next()
    {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        return keys[seed >> 54];
    }

    weir *w = nullptr;
    int limit = -1;

  private:
    std::vector<weir_key> keys;
    uint64_t seed = 1;
};

void decide(benchmark::State &state, const weir_policy &policy, size_t max_keys, bool full)
{
    engine e(policy, max_keys);
    weir_ns now = FIRST;
    for (size_t i = 0; i < KEYS; i++) {
        weir_key key = weir_key_u64(e.w, i);
        weir_charge(e.w, e.limit, key, full ? uint64_t{1} << 40 : 1, now);
    }
    uint64_t allowed = 0;
    for (auto _ : state) {
        weir_result result = weir_decide(e.w, e.limit, e.next(), 1, now);
        allowed += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
        now += full ? 0 : STEP;
    }
    uint64_t offered = static_cast<uint64_t>(state.iterations());
    weir_bench::expect_decisions(__func__, allowed, full ? 0 : offered);
}

struct size {
    const char *name;
    size_t max_keys;
    weir_bench::bound stated;
};

const size sizes[] = {
    {"default", 0, weir_bench::at_most(1.3)},
    {"nearest cache", 4 * KEYS, weir_bench::shown()},
};

} // namespace

int main(int argc, char **argv)
{
    std::vector<weir_bench::ratio> ratios;
    for (const size &z : sizes) {
        for (const bool full : {false, true}) {
            const std::string what = std::string(full ? "denied" : "granted") + ", " + z.name;
            const size_t max_keys = z.max_keys;
            const std::string bucket = what + "/" + kinds().front().name;
            for (const kind &k : kinds()) {
                const weir_policy &policy = k.policy;
                const std::string name = what + "/" + k.name;
                benchmark::RegisterBenchmark(name.c_str(),
                                             [&policy, max_keys, full](benchmark::State &state) {
                                                 decide(state, policy, max_keys, full);
                                             });
                if (name != bucket)
                    ratios.emplace_back(std::string(k.name) + " : token bucket, " + what,
                                        weir_bench::best_of{name}, weir_bench::best_of{bucket},
                                        z.stated);
            }
        }
    }
    return weir_bench::main_of(argc, argv, ratios);
}
