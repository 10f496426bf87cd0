// SPDX-License-Identifier: MIT
//
// Decisions of an engine, one line of settings along each axis around a centre: a million keys,
// uniform, none denied, one thread, one by one, one limit, huge pages. --full crosses the axes.
//
//   keys     1 to 10 million, with --full 100 million, where the memory is there
//   zipf     the exponent of how often which key comes, 0 for uniform
//   denied   the share that is refused, %, about
//   batch    requests in a call of weir_decide_batch; 1 is weir_decide
//   limits   how many limits the same key asks together, all or none: weir_decide_all
//   pages    huge as the engine advises them, or small ones throughout
//   threads  of which each has keys of its own of one table; times are then the wall's, for one
//            decision of all threads together
//
// Keys are hashed beforehand. A microsecond passes from one decision to the next, of all threads
// together. Where none is denied a key gains a token in that time; else the rate is the one at
// which that share is denied: buckets hold 10 tokens, and were emptied one after the other before.
//
// The answer: an exact token bucket for each key (exact.h) goes through the same decisions after
// each run, from the state in which the run before left it, and `admitted` has to be its `target`.

#include "check.h"

#include "exact.h"
#include "kept.h"
#include "pages.h"
#include "processors.h"
#include "subjects.h"

#include <cmath>
#include <map>

namespace
{

using namespace weir_bench;

const uint64_t million = 1000000;
const weir_ns step = WEIR_MICROSECOND;
const int limits_max = 4;

struct setting {
    uint64_t keys = million;
    uint64_t zipf = 0; // exponent * 100
    uint64_t denied = 0;
    uint64_t batch = 1;
    uint64_t limits = 1;
    bool small = false;
    int threads = 0; // 0: one, by its processor time
};

bool full_size = false; // --full

// Beside what the centre has.
const uint64_t exponents[] = {80, 99, 120}, shares[] = {50, 99}, batches[] = {8, 16, 32},
               together[] = {2, limits_max};
// Where axes are crossed.
const uint64_t zipf_or_not[] = {0, 99}, batched_or_not[] = {1, 16};

// The size up to which all combinations are made.
const uint64_t crossed_max = million;

// ---- what is measured ---------------------------------------------------------------------------

// What one of several threads asks for, over and over.
struct key_list {
    key_list(uint64_t keys, uint64_t zipf, uint64_t threads, uint64_t thread)
        : numbers(key_numbers((keys - thread + threads - 1) / threads,
                              static_cast<double>(zipf) / 100, size_for(threads), thread, threads)),
          hashed(hashed_keys(numbers))
    {
    }

    // Together as many as a trace has, by powers of 2, but enough for one.
    static size_t size_for(uint64_t threads)
    {
        size_t size = trace_size;
        for (; threads > 1 && size > 1 << 16; threads = (threads + 1) / 2)
            size /= 2;
        return size;
    }

    std::vector<uint32_t> numbers;
    std::vector<weir_key> hashed;
    size_t at = 0;
};

// The tokens that each key has to gain while the list is gone through once, so that `share` of its
// entries is denied: of a key that comes more often just what it gains is admitted, of others all.
double gain_for(const key_list &list, uint64_t keys, double share)
{
    std::vector<uint32_t> times(keys);
    for (uint32_t number : list.numbers)
        times[number]++;
    std::map<double, double> keys_by_times;
    for (uint32_t of_key : times)
        keys_by_times[of_key]++;
    const double size = static_cast<double>(list.numbers.size());
    double low = 0, high = size;
    for (int i = 0; i < 60; i++) {
        double gain = (low + high) / 2, admitted = 0;
        for (auto [of_key, count] : keys_by_times)
            admitted += count * std::min(of_key, gain);
        (admitted < (1 - share) * size ? low : high) = gain;
    }
    return high;
}

weir_policy policy_for(uint64_t keys, uint64_t zipf, uint64_t denied)
{
    if (denied == 0)
        return weir_token_bucket(million, WEIR_SECOND, million);
    const key_list &list = kept<key_list>(keys, zipf, 1, 0);
    double gain = gain_for(list, keys, static_cast<double>(denied) / 100);
    double pass = static_cast<double>(list.numbers.size()) * static_cast<double>(step);
    return weir_token_bucket(1, static_cast<weir_ns>(std::llround(pass / gain)), 10);
}

// An engine and its model, with a place for every key. A few more than the keys are asked for,
// since of as many as max_keys some would have no place.
class subject
{
  public:
    subject(uint64_t keys, uint64_t zipf, uint64_t denied, uint64_t limits, uint64_t)
        : subject(keys, policy_for(keys, zipf, denied), limits)
    {
    }
    subject(const subject &) = delete;
    ~subject()
    {
        weir_close(w);
    }

    // As weir_decide_all: whether they were all taken.
    bool exact(uint32_t number, weir_ns at)
    {
        for (exact_buckets &of_limit : model) {
            if (!of_limit.has(number, 1, at))
                return false;
        }
        for (exact_buckets &of_limit : model)
            of_limit.take(number, 1);
        return true;
    }

    weir *w;
    weir_ns now = WEIR_SECOND;
    uint64_t huge = 0;
    bool settled = false;

  private:
    subject(uint64_t keys, const weir_policy &policy, uint64_t limits)
        : w(open_engine(limits * (keys + keys / 8) + 64))
    {
        uint64_t before = huge_bytes();
        for (uint64_t i = 0; i < limits; i++) {
            if (weir_add_limit(w, std::to_string(i).c_str(), &policy) != static_cast<int>(i))
                std::abort();
        }
        // What is denied at all begins without tokens, at as many times as there are keys.
        bool empty = policy.burst == 10;
        fill(keys, limits, empty ? policy.burst : 1, empty ? policy.period : 0);
        huge = huge_bytes() - std::min(before, huge_bytes());
        for (uint64_t i = 0; i < limits; i++)
            model.emplace_back(keys, policy);
        for (exact_buckets &of_limit : model) {
            for (uint64_t key = 0; key < keys; key++)
                of_limit.decide(key, empty ? policy.burst : 1, instant(key));
        }
        now = instant(keys);
    }

    void fill(uint64_t keys, uint64_t limits, uint64_t n, weir_ns span)
    {
        apart = static_cast<double>(span) / static_cast<double>(keys);
        uint64_t taken = 0;
        for (uint64_t key = 0; key < keys; key++) {
            for (uint64_t i = 0; i < limits; i++)
                taken += weir_allow(w, static_cast<int>(i), weir_key_u64(w, key), n, instant(key));
        }
        if (taken != keys * limits || stats_of(w).overflow != 0)
            fail("a key found no place, or no tokens");
    }

    weir_ns instant(uint64_t key) const
    {
        return WEIR_SECOND + static_cast<weir_ns>(apart * static_cast<double>(key));
    }

    double apart = 0; // ns between keys, where they are emptied one after the other
    std::vector<exact_buckets> model;
};

// ---- runs ---------------------------------------------------------------------------------------

uint64_t decide_single(benchmark::State &state, weir *w, const key_list &list, size_t at,
                       weir_ns now, weir_ns apart)
{
    uint64_t admitted = 0;
    const size_t mask = list.hashed.size() - 1;
    for (auto _ : state) {
        now += apart;
        weir_result result = weir_decide(w, 0, list.hashed[at++ & mask], 1, now);
        admitted += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
    }
    return admitted;
}

template <size_t size>
uint64_t decide_batch(benchmark::State &state, weir *w, const key_list &list, size_t at,
                      weir_ns now, weir_ns apart)
{
    uint64_t admitted = 0;
    const size_t mask = list.hashed.size() - 1;
    weir_request requests[size];
    weir_result results[size];
    while (state.KeepRunningBatch(size)) {
        now += apart * size;
        for (weir_request &request : requests)
            request = {0, list.hashed[at++ & mask], 1};
        weir_decide_batch(w, requests, results, size, now);
        for (const weir_result &result : results)
            admitted += result.verdict == WEIR_ALLOWED;
    }
    return admitted;
}

template <size_t limits>
uint64_t decide_all(benchmark::State &state, weir *w, const key_list &list, size_t at, weir_ns now,
                    weir_ns apart)
{
    uint64_t admitted = 0;
    const size_t mask = list.hashed.size() - 1;
    weir_request requests[limits];
    for (auto _ : state) {
        now += apart;
        const weir_key &key = list.hashed[at++ & mask];
        for (size_t i = 0; i < limits; i++)
            requests[i] = {static_cast<int>(i), key, 1};
        weir_result result;
        admitted += weir_decide_all(w, requests, limits, now, 0, &result) == -1;
        benchmark::DoNotOptimize(result);
    }
    return admitted;
}

using run = uint64_t (*)(benchmark::State &, weir *, const key_list &, size_t, weir_ns, weir_ns);

run run_of(const setting &s)
{
    if (s.limits > 1)
        return s.limits == 2 ? decide_all<2> : decide_all<limits_max>;
    switch (s.batch) {
    case 8:
        return decide_batch<8>;
    case 16:
        return decide_batch<16>;
    case 32:
        return decide_batch<32>;
    default:
        return decide_single;
    }
}

subject &subject_of(const setting &s)
{
    // Engines share one where the exponent does not tell the rate.
    auto of = [&](bool small) -> subject & {
        return kept<subject>(s.keys, s.denied == 0 ? 0 : s.zipf, s.denied, s.limits, small);
    };
    subject &huge = of(false);
    if (!s.small)
        return huge;
    if (!small_pages(true))
        fail("the kernel cannot do without huge pages");
    return of(true);
}

// Until as many keys have a token as will have one from then on.
void settle(subject &engine, const setting &s, key_list &list)
{
    uint64_t admitted = 0, target = 0;
    for (uint64_t i = 0; i < 4 * s.keys; i++) {
        size_t at = list.at++ % list.numbers.size();
        engine.now += step;
        admitted += weir_allow(engine.w, 0, list.hashed[at], 1, engine.now);
        target += engine.exact(list.numbers[at], engine.now);
    }
    engine.settled = true;
    expect_decisions("engine, before what is measured", admitted, target);
}

void measure(benchmark::State &state, const setting &s, const std::string &name)
{
    subject &engine = subject_of(s);
    uint64_t threads = static_cast<uint64_t>(state.threads());
    key_list &list = kept<key_list>(s.keys, s.zipf, threads, state.thread_index());
    if (s.denied != 0 && !engine.settled)
        settle(engine, s, list);
    const weir_ns apart = step * threads, begin = engine.now;
    size_t from = list.at;
    for (uint64_t i = 0; i < s.limits; i++)
        list.at = warm(engine.w, static_cast<int>(i), list.hashed, from, warming(s.keys) / threads,
                       begin);
    from = list.at;
    uint64_t admitted = run_of(s)(state, engine.w, list, from, begin, apart);

    // The model: what is decided at once is decided at the time of the last.
    uint64_t count = static_cast<uint64_t>(state.iterations()), target = 0;
    for (uint64_t i = 0; i < count; i++) {
        weir_ns now = begin + (i / s.batch + 1) * s.batch * apart;
        target += engine.exact(list.numbers[(from + i) % list.numbers.size()], now);
    }
    list.at = from + count;
    if (state.thread_index() == 0)
        engine.now = begin + count * apart; // nobody reads it before the next run
    expect_decisions(name.c_str(), admitted, target);
    state.counters["admitted"] = static_cast<double>(admitted);
    state.counters["target"] = static_cast<double>(target);
    if (s.denied != 0)
        state.counters["denied_%"] =
            100 * (1 - static_cast<double>(admitted) / static_cast<double>(count));
    if (s.small && engine.huge != 0)
        fail("huge pages where there should be none");
    if (state.thread_index() == 0 && name.find("/pages:") != std::string::npos)
        state.counters["huge_MiB"] = static_cast<double>(engine.huge >> 20);
}

// ---- which settings -----------------------------------------------------------------------------

std::string name_of(const setting &s, bool tells_pages)
{
    char exponent[16];
    std::snprintf(exponent, sizeof exponent, "%.4g", static_cast<double>(s.zipf) / 100);
    std::string name = "engine/keys:" + std::to_string(s.keys) + "/zipf:" + exponent +
                       "/denied:" + std::to_string(s.denied) + "/batch:" + std::to_string(s.batch) +
                       "/limits:" + std::to_string(s.limits);
    return tells_pages ? name + (s.small ? "/pages:small" : "/pages:huge") : name;
}

void add(const setting &s, bool tells_pages = false)
{
    std::string name = name_of(s, tells_pages);
    auto *made = benchmark::RegisterBenchmark(
        name.c_str(), [s, name](benchmark::State &state) { measure(state, s, name); });
    if (s.threads != 0)
        by_wall(made, full_size ? 16 * 64000 : 16 * 16000)->Threads(s.threads);
}

// The centre with one thing changed.
template <class changed, class value> setting with(uint64_t keys, changed setting::*what, value is)
{
    setting s;
    s.keys = keys;
    s.*what = static_cast<changed>(is);
    return s;
}

void add_axes(uint64_t keys)
{
    for (uint64_t zipf : exponents)
        add(with(keys, &setting::zipf, zipf));
    for (uint64_t denied : shares)
        add(with(keys, &setting::denied, denied));
    for (uint64_t batch : batches)
        add(with(keys, &setting::batch, batch));
    for (uint64_t limits : together)
        add(with(keys, &setting::limits, limits));
}

void add_threads(uint64_t keys, uint64_t zipf, uint64_t batch)
{
    for (int threads : thread_counts()) {
        setting s = with(keys, &setting::threads, threads);
        s.zipf = zipf;
        s.batch = batch;
        if (keys >= static_cast<uint64_t>(threads))
            add(s);
    }
}

void add_crossed(uint64_t keys)
{
    for (uint64_t zipf : exponents) {
        for (uint64_t denied : shares) {
            setting s = with(keys, &setting::zipf, zipf);
            s.denied = denied;
            add(s);
        }
    }
    for (uint64_t zipf : zipf_or_not) {
        for (uint64_t batch : batched_or_not) {
            if (zipf != 0 || batch != 1)
                add_threads(keys, zipf, batch);
            setting s = with(keys, &setting::batch, batch);
            s.denied = 50;
            s.zipf = zipf;
            if (batch != 1)
                add(s);
        }
    }
}

void add_size(uint64_t keys, bool full)
{
    add(with(keys, &setting::batch, 1));
    if (keys > 10 * million || (keys != million && !full)) {
        add(with(keys, &setting::batch, 16));
        return;
    }
    add_axes(keys);
    add_threads(keys, 0, 1);
    if (full && keys <= crossed_max)
        add_crossed(keys);
}

void add_pages(uint64_t keys)
{
    for (bool small : {false, true})
        add(with(keys, &setting::small, small), true);
}

void free_pages()
{
    free_kept();
    small_pages(false);
}

} // namespace

int main(int argc, char **argv)
{
    const bool full = full_size = is_full(argc, argv);
    tell_thread_counts();
    std::vector<part> parts;
    for (uint64_t keys :
         {uint64_t(1), uint64_t(1000), million / 10, million, 10 * million, 100 * million}) {
        // With all axes there is an engine for each share of denials and number of limits.
        uint64_t engines = keys == million || (full && keys <= 10 * million) ? 9 : 1;
        if (keys > 10 * million && !full)
            continue;
        if (available_bytes() < keys * engines * 72) {
            std::fprintf(stderr,
                         "%" PRIu64 " keys are left out: less than %" PRIu64 " MiB of memory\n",
                         keys, keys * engines * 72 >> 20);
            continue;
        }
        parts.push_back({[=] { add_size(keys, full); }, free_kept});
        if (keys == million || (full && keys == 10 * million))
            parts.push_back({[=] { add_pages(keys); }, free_pages});
    }
    return main_of(argc, argv, parts, {});
}
