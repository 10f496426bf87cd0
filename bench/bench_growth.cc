// SPDX-License-Identifier: MIT
//
// What a table costs while it grows, and while all of its keys are new.
//
//   growth  an engine opened for 16 million keys, and one for 10 million; keys 0 to 10 million come
//           one by one and stay in debt. At every 10,000 keys from a million on: bytes for each key
//           that has a place
//             table     as weir_stats tells them
//             resident  what the process has in memory, less what it had before the engine
//             mark      the most it ever had in memory until then, less the same
//   churn   an engine opened for a million keys; every key comes once and is idle a millisecond
//           later, while a microsecond passes from one decision to the next
//
//   bench_growth [--check]  and --benchmark_out=FILE for the figures as JSON
//
// A call's time includes hashing the key and one reading of the clock. What the machine does
// meanwhile (it gives pages, it runs somebody else) counts too, and is most of the worst call.
//
// The exit status is 1 when a decision was not what was due, and with --check also when a figure is
// not what it is stated to be.

#include "histogram.h"
#include "memory.h"
#include "stated.h"
#include "subjects.h"

#include <cinttypes>
#include <cstring>
#include <string>

namespace
{

using namespace weir_bench;

const uint64_t million = 1000000;

bool all_hold = true, all_right = true;

void state(const std::string &what, double figure, bound b)
{
    all_hold = stated(what.c_str(), figure, b) && all_hold;
}

void expect(bool right, const char *what)
{
    if (!right)
        std::printf("WRONG  %s\n", what);
    all_right = all_right && right;
}

struct spread {
    void add(double figure)
    {
        sum += figure;
        count++;
        most = std::max(most, figure);
    }
    double average() const
    {
        return sum / static_cast<double>(count);
    }
    double sum = 0, most = 0;
    uint64_t count = 0;
};

// Spans between readings of the clock, one of which follows each call.
class stopwatch
{
  public:
    explicit stopwatch(histogram &into) : spans(into)
    {
        restart();
    }
    void restart()
    {
        last = weir_now();
    }
    void lap()
    {
        weir_ns now = weir_now();
        spans.add(now - last);
        last = now;
    }

  private:
    histogram &spans;
    weir_ns last;
};

// Memory since before an engine was opened.
class footprint
{
  public:
    footprint() : whole(reset_high_water()), resident_before(resident_bytes())
    {
        mark_before = whole ? resident_before : high_water_bytes();
        if (!whole)
            std::printf("the kernel does not let us set back the high-water mark\n");
    }
    double resident() const
    {
        return static_cast<double>(resident_bytes()) - static_cast<double>(resident_before);
    }
    double mark() const
    {
        return static_cast<double>(high_water_bytes()) - static_cast<double>(mark_before);
    }

  private:
    bool whole;
    uint64_t resident_before, mark_before;
};

// ---- figures for a file -------------------------------------------------------------------------

struct entry {
    std::string name;
    uint64_t calls;
    double ns;
    std::vector<std::pair<std::string, double>> figures;
};

std::vector<entry> entries;

void report_times(entry &e, const histogram &spans)
{
    std::printf("%.1f ns a call, 99.99 %% within %" PRIu64 " ns, the worst %" PRIu64 " ns\n",
                spans.mean(), spans.quantile(0.9999), spans.most());
    e.ns = spans.mean();
    e.figures.emplace_back("p9999_ns", static_cast<double>(spans.quantile(0.9999)));
    e.figures.emplace_back("worst_ns", static_cast<double>(spans.most()));
}

void report_stats(entry &e, const struct weir_stats &s)
{
    const std::pair<const char *, uint64_t> figures[] = {
        {"keys", s.keys},
        {"keys_error", s.keys_error},
        {"bytes", s.bytes},
        {"retired_bytes", s.retired_bytes},
        {"arrays", s.arrays},
        {"growths", s.growths},
        {"compactions", s.compactions},
        {"moves", s.moves},
        {"dropped", s.dropped},
        {"helps", s.helps},
        {"failures", s.failures},
        {"longest_probe", s.longest_probe},
        {"longest_call", s.longest_call},
        {"overflow", s.overflow},
    };
    for (auto [name, figure] : figures) {
        std::printf("  %-14s %12" PRIu64 "\n", name, figure);
        e.figures.emplace_back(name, static_cast<double>(figure));
    }
}

// google-benchmark's form, as far as who reads it needs it.
bool write_json(const char *path)
{
    std::FILE *file = std::fopen(path, "w");
    if (file == nullptr)
        return false;
    std::fprintf(file, "{\n \"context\": {},\n \"benchmarks\": [");
    const char *comma = "";
    for (const entry &e : entries) {
        std::fprintf(file, "%s\n  {\"name\": \"%s\", \"run_name\": \"%s\",", comma, e.name.c_str(),
                     e.name.c_str());
        std::fprintf(file, " \"run_type\": \"iteration\", \"iterations\": %" PRIu64 ",", e.calls);
        std::fprintf(file, " \"real_time\": %.3f, \"cpu_time\": %.3f, \"time_unit\": \"ns\"", e.ns,
                     e.ns);
        for (const auto &[name, figure] : e.figures)
            std::fprintf(file, ",\n   \"%s\": %.17g", name.c_str(), figure);
        std::fprintf(file, "}");
        comma = ",";
    }
    std::fprintf(file, "\n ]\n}\n");
    bool written = std::ferror(file) == 0;
    return std::fclose(file) == 0 && written;
}

// ---- growth -------------------------------------------------------------------------------------

// A token taken comes back after six minutes, of which the run is ten seconds.
const weir_policy slow = weir_token_bucket(10, WEIR_HOUR, 10);

class growth
{
  public:
    explicit growth(uint64_t most_keys) : max_keys(most_keys), engine(most_keys, slow)
    {
    }
    void run();

  private:
    static const uint64_t keys = 10 * million, step = 10000;

    void sample(uint64_t came);
    void recall(uint64_t without);
    void report(const struct weir_stats &s);

    uint64_t max_keys;
    footprint memory; // before the engine
    limited engine;
    histogram spans;
    spread table, resident, mark;
    uint64_t live_before = 0;
};

// The mark may have been reached right after the last sample, with the keys of then.
void growth::sample(uint64_t came)
{
    struct weir_stats s = stats_of(engine.w);
    uint64_t live = came - s.overflow;
    double n = static_cast<double>(live);
    double by_table = static_cast<double>(s.bytes) / n, by_resident = memory.resident() / n;
    double by_mark = memory.mark() / static_cast<double>(live_before);
    live_before = live;
    if (came < million)
        return;
    table.add(by_table);
    resident.add(by_resident);
    mark.add(by_mark);
    if (came % million == 0)
        std::printf("%9" PRIu64 " %7.1f %9.1f %7.1f %7" PRIu64 " %8" PRIu64 " %11" PRIu64
                    " %8" PRIu64 " %11" PRIu64 "\n",
                    live, by_table, by_resident, by_mark, s.arrays, s.growths, s.moves, s.helps,
                    s.retired_bytes);
}

void growth::run()
{
    std::printf("\ngrowth, max_keys %" PRIu64 "\n%9s %7s %9s %7s %7s %8s %11s %8s %11s\n", max_keys,
                "keys", "table", "resident", "mark", "arrays", "growths", "moves", "helps",
                "retired");
    uint64_t allowed = 0;
    stopwatch watch(spans);
    for (uint64_t key = 0; key < keys; key++) {
        engine.now += WEIR_MICROSECOND;
        allowed += weir_allow(engine.w, engine.limit, weir_key_u64(engine.w, key), 1, engine.now);
        watch.lap();
        if ((key + 1) % step == 0) {
            sample(key + 1);
            watch.restart();
        }
    }
    struct weir_stats s = stats_of(engine.w);
    expect(allowed + s.overflow >= keys, "a key that is new was refused");
    recall(s.overflow);
    report(s);
}

// One key in 97 still owes its token; keys without a place share a bucket that owes more. Twice
// their share, and some, leaves room for chance.
void growth::recall(uint64_t without)
{
    uint64_t asked = 0, others = 0;
    for (uint64_t key = 0; key < keys; key += 97) {
        weir_key k = weir_key_u64(engine.w, key);
        asked++;
        others += weir_peek(engine.w, engine.limit, k, 1, engine.now).remaining != 9;
    }
    uint64_t room = without == 0 ? 0 : 10 + 2 * without * asked / keys;
    expect(others <= room, "a key lost what it owed");
}

void growth::report(const struct weir_stats &s)
{
    entry e = {"growth/max_keys:" + std::to_string(max_keys), keys, 0, {}};
    report_times(e, spans);
    report_stats(e, s);
    uint64_t live = keys - s.overflow;
    expect(s.keys + s.keys_error >= live && s.keys <= live + s.keys_error,
           "the number of keys is outside of its error");
    const std::pair<const char *, const spread *> measures[] = {
        {"table", &table}, {"resident", &resident}, {"mark", &mark}};
    for (auto [name, measure] : measures) {
        std::string what = std::string("bytes a key, ") + name;
        bool is_mark = measure == &mark;
        state(what + ", average", measure->average(), is_mark ? shown() : at_most(32));
        state(what + ", most", measure->most, is_mark ? at_most(48) : shown());
        e.figures.emplace_back(std::string(name) + "_average", measure->average());
        e.figures.emplace_back(std::string(name) + "_most", measure->most);
    }
    state("lines touched by one call", static_cast<double>(s.longest_call),
          at_most(static_cast<double>(WEIR_LINES_PER_CALL_MAX)));
    // The bound on keys holds within 2 %.
    double without = static_cast<double>(s.overflow) / static_cast<double>(keys);
    state("keys without a place, %", 100 * without, at_most(max_keys > keys ? 0 : 2));
    entries.push_back(e);
}

// ---- churn --------------------------------------------------------------------------------------

void churn(uint64_t max_keys, uint64_t decisions)
{
    std::printf("\nchurn, max_keys %" PRIu64 ", %" PRIu64 " keys used once\n", max_keys, decisions);
    footprint memory;
    limited engine(max_keys, thousand_a_second);
    histogram spans;
    uint64_t allowed = 0, bytes_most = 0;
    stopwatch watch(spans);
    for (uint64_t key = 0; key < decisions; key++) {
        engine.now += WEIR_MICROSECOND;
        allowed += weir_allow(engine.w, engine.limit, weir_key_u64(engine.w, key), 1, engine.now);
        watch.lap();
        if (key % 10000 == 0) {
            bytes_most = std::max(bytes_most, stats_of(engine.w).bytes);
            watch.restart();
        }
    }
    entry e = {"churn/max_keys:" + std::to_string(max_keys), decisions, 0, {}};
    report_times(e, spans);
    struct weir_stats s = stats_of(engine.w);
    report_stats(e, s);
    double mark = memory.mark();
    state("MiB held at most, as weir_stats tells them", static_cast<double>(bytes_most) / 0x100000,
          shown());
    state("MiB held at most, by the high-water mark", mark / 0x100000, shown());
    state("decisions without a place, %",
          100 * static_cast<double>(s.overflow) / static_cast<double>(decisions), at_most(0));
    e.figures.emplace_back("bytes_most", static_cast<double>(bytes_most));
    e.figures.emplace_back("mark", mark);
    expect(allowed + s.overflow >= decisions, "a key that is new was refused");
    entries.push_back(e);
}

} // namespace

int main(int argc, char **argv)
{
    bool check = false;
    const char *json = nullptr;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--check") == 0) {
            check = true;
        } else if (std::strncmp(argv[i], "--benchmark_out=", 16) == 0) {
            json = argv[i] + 16;
        } else if (std::strncmp(argv[i], "--benchmark_", 12) != 0 &&
                   std::strcmp(argv[i], "--full") != 0) {
            bool asked = std::strcmp(argv[i], "--help") == 0;
            std::fprintf(asked ? stdout : stderr,
                         "bench_growth [--check] [--benchmark_out=FILE]\n"
                         "--full and other options that begin with --benchmark_ change nothing.\n");
            return asked ? 0 : 2;
        }
    }
    growth(16 * million).run();
    growth(10 * million).run();
    churn(million, 20 * million);
    if (json != nullptr && !write_json(json)) {
        std::fprintf(stderr, "cannot write %s\n", json);
        return 1;
    }
    return !all_right || (check && !all_hold) ? 1 : 0;
}
