// SPDX-License-Identifier: MIT
//
// Decisions on one thread, in tables of a thousand, a million and 10 million keys, uniform and
// Zipf 0.99: the floor, weir, and other tables, on the same traces in one run.
//
//   alone  the next key depends on what the last decision said, so that latencies add up
//   free   nothing waits for the last decision but what the processor makes wait
//   batch  memory is asked for ahead: by the floor 16 keys ahead all the time, by weir in calls of
//          weir_decide_batch with 64 or 16 requests
//
// A name without "hashing" means keys that were hashed beforehand: hashing is a call of its own,
// and the floor has none. Other tables are measured free and with hashing. "max4" is an engine
// opened for four times as many keys as it holds.
//
// The caller gives `now`, which advances by a millisecond a decision. All decisions are
// admissions; a benchmark that refuses one fails, and one in which more than 1 in 20 was of a
// key without a place (of as many keys as max_keys up to 1 in 63 has none).

#include "check.h"

#include "kept.h"
#include "memory.h"
#include "subjects.h"
#include "table_cds_lfht.h"
#include "table_libcuckoo.h"
#include "table_onetbb.h"
#include "tables.h"

namespace
{

using namespace weir_bench;

// The key at a place of a trace, changed by what is always zero.
struct hashed {
    weir_key operator()(size_t at, uint64_t zero) const
    {
        weir_key key = t.hashed[at % trace_size];
        return {key.high ^ zero, key.low ^ zero};
    }
    const limited &engine;
    const trace &t;
};

struct hashing {
    weir_key operator()(size_t at, uint64_t zero) const
    {
        return weir_key_u64(engine.w, t.numbers[at % trace_size] ^ zero);
    }
    const limited &engine;
    const trace &t;
};

uint64_t keys_of(const benchmark::State &state)
{
    return static_cast<uint64_t>(state.range(0));
}

template <class thing> thing &of_state(const benchmark::State &state)
{
    return kept<thing>(keys_of(state));
}

const trace &trace_of(const benchmark::State &state)
{
    return of_state<traces>(state).of[state.range(1)];
}

void expect_all(benchmark::State &state, const char *name, uint64_t done)
{
    expect_decisions(name, done, static_cast<uint64_t>(state.iterations()));
}

// ---- the floor --------------------------------------------------------------------------------

void floor_alone(benchmark::State &state)
{
    flat_array &array = of_state<flat_array>(state);
    const trace &t = trace_of(state);
    size_t at = warm(array, array.places[0], t, keys_of(state));
    uint64_t zero = hidden_zero(), last = 0, done = 0;
    for (auto _ : state) {
        last = array.step(t.padded[at++ % trace_size].number ^ (last & zero));
        done += last;
    }
    array.places[0].at = at;
    expect_all(state, __func__, done);
}

void floor_free(benchmark::State &state)
{
    flat_array &array = of_state<flat_array>(state);
    const trace &t = trace_of(state);
    size_t at = warm(array, array.places[0], t, keys_of(state));
    uint64_t done = 0;
    for (auto _ : state)
        done += array.step(t.padded[at++ % trace_size].number);
    array.places[0].at = at;
    expect_all(state, __func__, done);
}

void floor_batch(benchmark::State &state)
{
    const size_t ahead = 16;
    flat_array &array = of_state<flat_array>(state);
    const trace &t = trace_of(state);
    size_t at = warm(array, array.places[0], t, keys_of(state));
    uint64_t done = 0;
    for (auto _ : state) {
        array.prefetch(t.padded[(at + ahead) % trace_size].number);
        done += array.step(t.padded[at++ % trace_size].number);
    }
    array.places[0].at = at;
    expect_all(state, __func__, done);
}

// ---- weir -------------------------------------------------------------------------------------

// Fails a benchmark that was answered from the overflow instead of the table.
class placed
{
  public:
    placed(benchmark::State &its_state, const limited &its_engine)
        : state(its_state), engine(its_engine), before(stats_of(engine.w).overflow)
    {
    }
    ~placed()
    {
        uint64_t without = stats_of(engine.w).overflow - before;
        if (without * 20 > static_cast<uint64_t>(state.iterations()))
            fail("more than one decision in 20 was of a key without a place");
    }

  private:
    benchmark::State &state;
    const limited &engine;
    uint64_t before;
};

template <class engine_type, class source> void weir_alone(benchmark::State &state)
{
    limited &engine = of_state<engine_type>(state);
    source key{engine, trace_of(state)};
    size_t at = warm(engine, engine.places[0], key.t, keys_of(state));
    placed check(state, engine);
    uint64_t zero = hidden_zero(), last = 0, allowed = 0;
    weir_ns now = engine.now;
    for (auto _ : state) {
        now += WEIR_MILLISECOND;
        weir_result result = weir_decide(engine.w, engine.limit, key(at++, last & zero), 1, now);
        // The balance, not the verdict: a branch may tell that one before the word has come.
        last = result.remaining;
        allowed += result.verdict == WEIR_ALLOWED;
    }
    engine.places[0].at = at;
    engine.now = now;
    expect_all(state, __func__, allowed);
}

template <class engine_type, class source> void weir_free(benchmark::State &state)
{
    limited &engine = of_state<engine_type>(state);
    source key{engine, trace_of(state)};
    size_t at = warm(engine, engine.places[0], key.t, keys_of(state));
    placed check(state, engine);
    uint64_t allowed = 0;
    weir_ns now = engine.now;
    for (auto _ : state) {
        now += WEIR_MILLISECOND;
        weir_result result = weir_decide(engine.w, engine.limit, key(at++, 0), 1, now);
        allowed += result.verdict == WEIR_ALLOWED;
        benchmark::DoNotOptimize(result);
    }
    engine.places[0].at = at;
    engine.now = now;
    expect_all(state, __func__, allowed);
}

// A figure is of one decision; building the requests and reading the answers is included.
template <class engine_type, class source, size_t size> void weir_batch(benchmark::State &state)
{
    limited &engine = of_state<engine_type>(state);
    source key{engine, trace_of(state)};
    size_t at = warm(engine, engine.places[0], key.t, keys_of(state));
    placed check(state, engine);
    uint64_t allowed = 0;
    weir_request requests[size];
    weir_result results[size];
    while (state.KeepRunningBatch(size)) {
        engine.now += size * WEIR_MILLISECOND;
        for (weir_request &request : requests)
            request = {engine.limit, key(at++, 0), 1};
        weir_decide_batch(engine.w, requests, results, size, engine.now);
        for (const weir_result &result : results)
            allowed += result.verdict == WEIR_ALLOWED;
    }
    engine.places[0].at = at;
    expect_all(state, __func__, allowed);
}

// ---- other tables -----------------------------------------------------------------------------

template <class table> struct running {
    explicit running(uint64_t keys) : t(keys, rule(hasher(), thousand_a_second))
    {
        for (uint64_t key = 0; key < keys; key++)
            t.allow(key, 1, now);
    }
    table t;
    weir_ns now = WEIR_SECOND;
    size_t at = 0;
};

template <class table> void other(benchmark::State &state)
{
    running<table> &r = of_state<running<table>>(state);
    const trace &t = trace_of(state);
    size_t at = r.at;
    weir_ns now = r.now, until = weir_now() + WEIR_SECOND / 10;
    auto next = [&] {
        now += WEIR_MILLISECOND;
        return r.t.allow(t.numbers[at++ % trace_size], 1, now);
    };
    // Warmed as the others are, but for a tenth of a second at most.
    for (uint64_t left = warming(keys_of(state)); left > 0 && weir_now() < until; left--)
        next();
    uint64_t allowed = 0;
    for (auto _ : state)
        allowed += next();
    r.at = at;
    r.now = now;
    expect_all(state, __func__, allowed);
}

// ---- what runs together -----------------------------------------------------------------------

std::string name_of(const std::string &what, uint64_t keys, bool skewed)
{
    return what + "/keys:" + std::to_string(keys) + "/zipf:" + (skewed ? "1" : "0");
}

void add(const std::string &what, uint64_t keys, void (*run)(benchmark::State &))
{
    benchmark::internal::Benchmark *b = benchmark::RegisterBenchmark(what.c_str(), run);
    b->ArgNames({"keys", "zipf"});
    for (int64_t skewed : {0, 1})
        b->Args({static_cast<int64_t>(keys), skewed});
}

template <class engine> void add_engine(const std::string &suffix, uint64_t keys)
{
    add("weir_alone" + suffix, keys, weir_alone<engine, hashed>);
    add("weir_free" + suffix, keys, weir_free<engine, hashed>);
    add("weir_batch64" + suffix, keys, weir_batch<engine, hashed, 64>);
    add("weir_batch16" + suffix, keys, weir_batch<engine, hashed, 16>);
}

const uint64_t thousand = 1000, million = 1000 * thousand, ten_million = 10 * million;

void add_size(uint64_t keys)
{
    add("floor_alone", keys, floor_alone);
    add("floor_free", keys, floor_free);
    add("floor_batch", keys, floor_batch);
    add_engine<filled<1>>("", keys);
    add("weir_alone_hashing", keys, weir_alone<filled<1>, hashing>);
    add("weir_free_hashing", keys, weir_free<filled<1>, hashing>);
    add("weir_batch64_hashing", keys, weir_batch<filled<1>, hashing, 64>);
    if (keys == million)
        add_engine<filled<4>>("_max4", keys);
    add("flat_cells", keys, other<flat_cells>);
    add("libcuckoo", keys, other<libcuckoo_map>);
    add("onetbb", keys, other<onetbb_map>);
    add("mutexes", keys, other<mutex_maps>);
    add("cds_lfht", keys, other<cds_lfht_map>);
}

// ---- what is stated ---------------------------------------------------------------------------

struct size {
    const char *text;
    uint64_t keys;
    double alone, free, batch; // of the floor at most, uniform keys
};

const size sizes[] = {{"1 thousand", thousand, 3, 3, 3},
                      {"1 million", million, 1.5, 4.5, 2.2},
                      {"10 million", ten_million, 1.35, 3.5, 2.2}};

void against_floor(std::vector<ratio> &ratios, const size &s, bool skewed)
{
    auto name = [&](const char *what) { return name_of(what, s.keys, skewed); };
    auto add_form = [&](const char *form, const char *batch, double most) {
        std::string weir = std::string("weir_") + form + batch,
                    floor = std::string("floor_") + form;
        std::string text = std::string(form) + " : floor, " + s.text + (skewed ? ", Zipf" : "");
        ratios.emplace_back(text, best_of{name(weir.c_str())}, best_of{name(floor.c_str())},
                            skewed ? shown() : at_most(most));
        ratios.emplace_back(text + ", with hashing", best_of{name((weir + "_hashing").c_str())},
                            best_of{name(floor.c_str())}, shown());
    };
    add_form("alone", "", s.alone);
    add_form("free", "", s.free);
    add_form("batch", "64", s.batch);
}

void against_others(std::vector<ratio> &ratios, const size &s, bool skewed)
{
    auto name = [&](const char *what) { return name_of(what, s.keys, skewed); };
    best_of others{name("libcuckoo"), name("onetbb"), name("mutexes"), name("cds_lfht")};
    std::string rest = std::string(", ") + s.text + (skewed ? ", Zipf" : "");
    bool is_stated = s.keys == million && !skewed;
    ratios.emplace_back("best other table : weir free" + rest, others,
                        best_of{name("weir_free_hashing")}, is_stated ? at_least(1.6) : shown());
    ratios.emplace_back("best other table : weir batch" + rest, others,
                        best_of{name("weir_batch64_hashing")}, is_stated ? at_least(3) : shown());
}

std::vector<ratio> ratios_of(const size &s)
{
    std::vector<ratio> ratios;
    for (bool skewed : {false, true})
        against_floor(ratios, s, skewed);
    for (bool skewed : {false, true})
        against_others(ratios, s, skewed);
    ratios.emplace_back(
        std::string("batch : free, ") + s.text, best_of{name_of("weir_batch64", s.keys, false)},
        best_of{name_of("weir_free", s.keys, false)}, s.keys == million ? at_most(0.6) : shown());
    return ratios;
}

} // namespace

int main(int argc, char **argv)
{
    const uint64_t needed = uint64_t(4) << 30; // all tables of 10 million keys are there at once
    std::vector<part> parts;
    std::vector<ratio> ratios;
    for (const size &s : sizes) {
        if (s.keys == ten_million && available_bytes() < needed) {
            std::fprintf(stderr, "10 million keys are left out: less than 4 GiB of memory\n");
            continue;
        }
        parts.push_back({[keys = s.keys] { add_size(keys); }, free_kept});
        for (ratio &r : ratios_of(s))
            ratios.push_back(std::move(r));
    }
    return main_of(argc, argv, parts, ratios);
}
