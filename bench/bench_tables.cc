// SPDX-License-Identifier: MIT
//
// Other tables on the same traces as the engine's: each holds a cell per key, inline or behind a
// pointer, and decides by the same exact token bucket, so that what differs is the table.
//
//   flat array       no table at all: the cell at the trace's index; the floor of any
//   engine           weir_decide
//   libcuckoo        cuckoohash_map, cell inline, locks by stripe
//   oneTBB           concurrent_hash_map, cell in a node, a lock per node
//   mutexes          std::unordered_map in 64 parts, each behind a mutex
//   cds_lfht         liburcu's lock-free hash table, made for the keys, a node per key
//
// Keys are hashed by weir_key_u64 in all but the flat array. All decisions are admissions; a
// benchmark that refuses one fails.

#include "check.h"

#include <weir/weir.h>

#include <libcuckoo/cuckoohash_map.hh>
#include <tbb/concurrent_hash_map.h>
#include <urcu/urcu-bp.h>

#include <urcu/rculfhash.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_map>

namespace
{

const size_t trace_size = 1 << 21;

// Key numbers: uniform, or Zipf with exponent 0.99 by rejection-inversion (Hoermann, Derflinger,
// "Rejection-inversion to generate variates from monotone discrete distributions", 1996).
class zipf
{
  public:
    zipf(uint64_t keys, double exponent) : s(exponent), n(static_cast<double>(keys))
    {
        low = integral(1.5) - 1;
        high = integral(n + 0.5);
        cut = 2 - inverse(integral(2.5) - std::pow(2, -s));
    }

    template <class generator> uint64_t operator()(generator &random)
    {
        for (;;) {
            double u = high + std::generate_canonical<double, 53>(random) * (low - high);
            double x = inverse(u);
            double k = std::min(std::max(std::floor(x + 0.5), 1.0), n);
            if (k - x <= cut || u >= integral(k + 0.5) - std::pow(k, -s))
                return static_cast<uint64_t>(k) - 1;
        }
    }

  private:
    double integral(double x) const
    {
        return (std::pow(x, 1 - s) - 1) / (1 - s);
    }
    double inverse(double x) const
    {
        return std::pow(1 + x * (1 - s), 1 / (1 - s));
    }
    double s, n, low, high, cut;
};

// The same trace for all tables; made once for each size and kind.
const std::vector<uint32_t> &trace_of(uint64_t keys, bool skewed)
{
    static std::map<std::pair<uint64_t, bool>, std::vector<uint32_t>> traces;
    std::vector<uint32_t> &trace = traces[{keys, skewed}];
    if (trace.empty()) {
        std::mt19937_64 random(keys);
        zipf by_rank(keys, 0.99);
        trace.resize(trace_size);
        // Ranks are spread over the key numbers, so that hot keys are no neighbours.
        for (uint32_t &key : trace) {
            uint64_t number =
                skewed ? by_rank(random) * 0x9E3779B97F4A7C15 % keys : random() % keys;
            key = static_cast<uint32_t>(number);
        }
    }
    return trace;
}

struct key_hash {
    size_t operator()(const weir_key &key) const
    {
        return key.low;
    }
    // oneTBB's names
    static size_t hash(const weir_key &key)
    {
        return key.low;
    }
    static bool equal(const weir_key &a, const weir_key &b)
    {
        return a.low == b.low && a.high == b.high;
    }
};

struct key_equal {
    bool operator()(const weir_key &a, const weir_key &b) const
    {
        return key_hash::equal(a, b);
    }
};

// What all tables share: the limit, and the engine that hashes keys.
struct common {
    common()
    {
        weir_options options = {};
        options.max_keys = 1;
        const weir_policy policy = weir_token_bucket(1000, WEIR_SECOND, 1000);
        if (weir_open(&hasher, &options) != 0 || weir_meter_init(&meter, &policy, 0) != 0)
            std::abort();
    }
    weir *hasher = nullptr;
    weir_meter meter;
};

const common &shared()
{
    static const common the;
    return the;
}

bool decide(weir_cell &cell, weir_ns now)
{
    return weir_cell_decide(&cell, &shared().meter, 1, now).verdict == WEIR_ALLOWED;
}

class flat_array
{
  public:
    explicit flat_array(uint64_t keys) : cells(keys)
    {
    }
    bool allow(uint32_t number, weir_ns now)
    {
        return decide(cells[number].cell, now);
    }

  private:
    struct slot { // as large as a slot of the engine's
        uint64_t unused = 0;
        weir_cell cell = {};
    };
    std::vector<slot> cells;
};

class engine
{
  public:
    explicit engine(uint64_t keys)
    {
        weir_options options = {};
        options.max_keys = keys;
        const weir_policy policy = shared().meter.policy;
        if (weir_open(&w, &options) != 0 || weir_add_limit(w, "bench", &policy) != 0)
            std::abort();
    }
    ~engine()
    {
        weir_close(w);
    }
    bool allow(uint32_t number, weir_ns now)
    {
        return weir_decide(w, 0, weir_key_u64(w, number), 1, now).verdict == WEIR_ALLOWED;
    }

  private:
    weir *w = nullptr;
};

weir_key key_of(uint32_t number)
{
    return weir_key_u64(shared().hasher, number);
}

class cuckoo
{
  public:
    explicit cuckoo(uint64_t keys) : map(keys)
    {
    }
    bool allow(uint32_t number, weir_ns now)
    {
        bool allowed = false;
        auto step = [&](weir_cell &cell) { allowed = decide(cell, now); };
        weir_key key = key_of(number);
        if (!map.update_fn(key, step)) {
            map.insert(key, weir_cell{0});
            map.update_fn(key, step);
        }
        return allowed;
    }

  private:
    libcuckoo::cuckoohash_map<weir_key, weir_cell, key_hash, key_equal> map;
};

class onetbb
{
  public:
    explicit onetbb(uint64_t keys) : map(keys)
    {
    }
    bool allow(uint32_t number, weir_ns now)
    {
        table::accessor found;
        map.insert(found, key_of(number));
        return decide(found->second, now);
    }

  private:
    using table = tbb::concurrent_hash_map<weir_key, weir_cell, key_hash>;
    table map;
};

class mutexes
{
  public:
    explicit mutexes(uint64_t keys)
    {
        for (part &p : parts)
            p.map.reserve(keys / 64 + 1);
    }
    bool allow(uint32_t number, weir_ns now)
    {
        weir_key key = key_of(number);
        part &p = parts[key.high >> 58];
        std::lock_guard<std::mutex> guard(p.lock);
        return decide(p.map[key], now);
    }

  private:
    struct alignas(64) part {
        std::mutex lock;
        std::unordered_map<weir_key, weir_cell, key_hash, key_equal> map;
    };
    part parts[64];
};

class lfht
{
  public:
    explicit lfht(uint64_t keys)
    {
        unsigned long buckets = 1;
        while (buckets < keys)
            buckets <<= 1;
        table = cds_lfht_new_flavor(buckets, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING,
                                    &urcu_bp_flavor, nullptr);
        if (table == nullptr)
            std::abort();
    }
    ~lfht()
    {
        cds_lfht_iter iter;
        urcu_bp_read_lock();
        cds_lfht_first(table, &iter);
        while (cds_lfht_node *found = cds_lfht_iter_get_node(&iter)) {
            cds_lfht_next(table, &iter);
            cds_lfht_del(table, found);
            delete caa_container_of(found, node, link);
        }
        urcu_bp_read_unlock();
        cds_lfht_destroy(table, nullptr);
    }
    bool allow(uint32_t number, weir_ns now)
    {
        weir_key key = key_of(number);
        cds_lfht_iter iter;
        urcu_bp_read_lock();
        cds_lfht_lookup(table, key.low, match, &key, &iter);
        cds_lfht_node *found = cds_lfht_iter_get_node(&iter);
        if (found == nullptr) {
            node *fresh = new node{{}, key, {0}};
            found = cds_lfht_add_unique(table, key.low, match, &key, &fresh->link);
            if (found != &fresh->link)
                delete fresh;
        }
        bool allowed = decide(caa_container_of(found, node, link)->cell, now);
        urcu_bp_read_unlock();
        return allowed;
    }

  private:
    struct node {
        cds_lfht_node link;
        weir_key key;
        weir_cell cell;
    };
    static int match(cds_lfht_node *link, const void *key)
    {
        return key_hash::equal(caa_container_of(link, node, link)->key,
                               *static_cast<const weir_key *>(key));
    }
    cds_lfht *table;
};

// Free running: nothing waits for the last decision but what the processor makes wait.
template <class table> void run(benchmark::State &state)
{
    uint64_t keys = static_cast<uint64_t>(state.range(0));
    const std::vector<uint32_t> &trace = trace_of(keys, state.range(1) != 0);
    table t(keys);
    weir_ns now = WEIR_SECOND;
    for (uint64_t key = 0; key < keys; key++)
        benchmark::DoNotOptimize(t.allow(static_cast<uint32_t>(key), now));
    size_t i = 0;
    uint64_t allowed = 0;
    for (auto _ : state) {
        now += WEIR_MILLISECOND;
        allowed += t.allow(trace[i++ % trace_size], now);
    }
    if (allowed != static_cast<uint64_t>(state.iterations()))
        state.SkipWithError("refused what was due");
}

void sizes(benchmark::internal::Benchmark *b)
{
    b->ArgNames({"keys", "zipf"});
    for (int64_t keys : {1000, 1000000})
        for (int64_t skewed : {0, 1})
            b->Args({keys, skewed});
}

BENCHMARK_TEMPLATE(run, flat_array)->Apply(sizes);
BENCHMARK_TEMPLATE(run, engine)->Apply(sizes);
BENCHMARK_TEMPLATE(run, cuckoo)->Apply(sizes);
BENCHMARK_TEMPLATE(run, onetbb)->Apply(sizes);
BENCHMARK_TEMPLATE(run, mutexes)->Apply(sizes);
BENCHMARK_TEMPLATE(run, lfht)->Apply(sizes);

} // namespace

int main(int argc, char **argv)
{
    return weir_bench::main_of(
        argc, argv,
        {{"engine : libcuckoo, a million keys", "run<engine>/keys:1000000/zipf:0",
          "run<cuckoo>/keys:1000000/zipf:0", 1.0}});
}
