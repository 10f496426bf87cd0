/* SPDX-License-Identifier: MIT */
/*
 * The main program of every google-benchmark program here: runs it with its repetitions interleaved
 * at random, takes medians, and holds stated ratios against them.
 *
 *   bench_cell [--full] [--check] [google-benchmark's own options]
 *
 * --full takes 15 repetitions of 0.1 s instead of 5 of 0.02 s, and adds what a program only has
 * then (is_full).
 *
 * A ratio compares benchmarks of one run, so that a noisy machine blurs all alike. Repetitions of
 * one part of a program are interleaved; parts run one after the other and each frees what it
 * kept, so that the tables of one size only are in memory at a time.
 *
 * The exit status is 1 when a benchmark failed (it decided otherwise than was due), and with
 * --check also when a ratio is not what it is stated to be.
 */
#ifndef WEIR_BENCH_CHECK_H
#define WEIR_BENCH_CHECK_H

#include "stated.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir_bench
{

/* The cheapest of these benchmarks. NAME/cpu is NAME's processor time divided by its threads, as if
   each had had a processor to itself. */
using best_of = std::vector<std::string>;

/* The product of its quotients. */
struct ratio {
    ratio(std::string text, best_of over, best_of under, bound stated_bound)
        : what(std::move(text)), limits(stated_bound)
    {
        times(std::move(over), std::move(under));
    }

    ratio &times(best_of over, best_of under)
    {
        quotients.emplace_back(std::move(over), std::move(under));
        return *this;
    }

    std::string what;
    std::vector<std::pair<best_of, best_of>> quotients;
    bound limits;
};

/* Benchmarks that run together: `add` registers them, `end` frees what they kept. */
struct part {
    std::function<void()> add;
    std::function<void()> end;
};

/*
 * What failed, and how often. (SkipWithError will not do: google-benchmark 1.7.1 forgets a
 * repetition that failed when others did not, and reads what is not there when it had counters.)
 */
struct failures {
    std::mutex lock;
    std::map<std::string, uint64_t> times;
};

inline failures &all_failures()
{
    static failures the;
    return the;
}

inline void fail(const std::string &what)
{
    std::lock_guard<std::mutex> guard(all_failures().lock);
    all_failures().times[what]++;
}

/*
 * Times by the wall, and so many iterations of each thread in every repetition: google-benchmark's
 * own search for their number ends with the first one where another process has the processor for
 * longer than a repetition is to last. Reports do not show the number in the name.
 */
inline benchmark::internal::Benchmark *by_wall(benchmark::internal::Benchmark *made, uint64_t count)
{
    return made->UseRealTime()->Iterations(static_cast<int64_t>(count));
}

/* Fails a benchmark that decided otherwise than was due. */
inline void expect_decisions(const char *name, uint64_t done, uint64_t due)
{
    if (done == due)
        return;
    std::fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " decisions as due\n", name, done, due);
    fail(std::string(name) + " decided otherwise than was due");
}

/* Prints medians and how much they vary, in the order in which benchmarks were registered, and
   keeps what ratios and the file of --benchmark_out need. */
class median_reporter : public benchmark::BenchmarkReporter
{
  public:
    bool ReportContext(const Context &context) override
    {
        if (!std::exchange(told_context, true))
            PrintBasicContext(&GetErrorStream(), context);
        width = static_cast<int>(context.name_field_width);
        part_begin = kept.size();
        return true;
    }

    void ReportRuns(const std::vector<Run> &runs) override
    {
        for (Run run : runs) {
            run.run_name.iterations.clear();
            part.emplace(std::make_pair(run.family_index, run.per_family_instance_index), run);
        }
    }

    /* The end of a part. */
    void Finalize() override
    {
        for (auto &[index, run] : part)
            kept.push_back(std::move(run));
        part.clear();
        std::printf("\n%-*s %10s %8s\n", width, "median of repetitions", "ns", "varies");
        for (size_t i = part_begin; i < kept.size(); i++)
            print(kept[i]);
        std::fflush(stdout);
    }

    /* What was not measured, because a filter left it out, is worth a line only where it counts. */
    bool holds(const ratio &r, bool check) const
    {
        double value = 1;
        for (const auto &[over, under] : r.quotients)
            value *= cost(over) / cost(under);
        if (!std::isnan(value))
            return stated(r.what.c_str(), value, r.limits);
        if (check && r.limits.sense != sense::shown)
            std::printf("MISSED %s: not measured\n", r.what.c_str());
        return r.limits.sense == sense::shown;
    }

    /* All parts in one file; the library would begin it anew with each. */
    bool write_json(const char *path) const
    {
        std::ofstream file(path);
        benchmark::JSONReporter json;
        json.SetOutputStream(&file);
        json.SetErrorStream(&std::cerr);
        json.ReportContext(Context());
        json.ReportRuns(kept);
        json.Finalize();
        file.close();
        return file.good();
    }

  private:
    void print(const Run &run)
    {
        std::string name = run.run_name.str();
        if (run.error_occurred) {
            std::printf("%-*s FAILED: %s\n", width, name.c_str(), run.error_message.c_str());
            return;
        }
        bool single = run.run_type == Run::RT_Iteration;
        if (single && run.repetitions > 1)
            return;
        if (single || run.aggregate_name == "median") {
            keep_costs(name, run);
            std::printf("%-*s %10.2f", width, name.c_str(), cost_of(run));
            for (const auto &[what, counter] : run.counters)
                print(what, counter);
        }
        if (run.aggregate_name == "cv")
            std::printf(" %6.1f %%", 100 * (is_wall(run) ? run.real_accumulated_time
                                                         : run.cpu_accumulated_time));
        if (single || run.aggregate_name == "cv")
            std::printf("\n");
    }

    static void print(const std::string &what, const benchmark::Counter &counter)
    {
        if ((counter.flags & benchmark::Counter::kIsRate) != 0)
            std::printf("  %s %9.3g/s", what.c_str(), counter.value);
        else
            std::printf("  %s %.*f", what.c_str(),
                        counter.value == std::floor(counter.value) ? 0 : 2, counter.value);
    }

    void keep_costs(const std::string &name, const Run &run)
    {
        double cpu = run.GetAdjustedCPUTime() / static_cast<double>(run.threads);
        costs[name] = cost_of(run);
        costs[name + "/cpu"] = cpu;
    }

    /* Of several threads it is the time on the wall that tells what they did together. */
    static bool is_wall(const Run &run)
    {
        return !run.run_name.time_type.empty();
    }

    static double cost_of(const Run &run)
    {
        return is_wall(run) ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime();
    }

    /* nan when one of several was not measured. */
    double cost(const best_of &names) const
    {
        double least = std::numeric_limits<double>::infinity();
        for (const std::string &name : names) {
            auto found = costs.find(name);
            if (found == costs.end())
                return std::numeric_limits<double>::quiet_NaN();
            least = std::min(least, found->second);
        }
        return least;
    }

    std::map<std::string, double> costs;
    std::vector<Run> kept;
    size_t part_begin = 0;
    /* of the part under way, in the order of registration; equal ones in that of their coming */
    std::multimap<std::pair<int64_t, int64_t>, Run> part;
    int width = 0;
    bool told_context = false;
};

inline void print_help()
{
    std::printf("       [--full]   take longer, and measure more\n"
                "       [--check]  exit with 1 when a stated ratio is missed\n"
                "--benchmark_out_format is json.\n\n");
    benchmark::PrintDefaultHelp();
}

/* Whether --full is among the arguments, for programs whose benchmarks depend on it. */
inline bool is_full(int argc, char **argv)
{
    return std::any_of(argv + 1, argv + argc,
                       [](const char *option) { return std::strcmp(option, "--full") == 0; });
}

/* What is ours among the arguments; the rest is google-benchmark's. */
struct options {
    options(int argc, char **argv) : rest(argv, argv + 1)
    {
        static char interleaved[] = "--benchmark_enable_random_interleaving=true";
        static char sizes[2][2][32] = {{"--benchmark_repetitions=5", "--benchmark_min_time=0.02"},
                                       {"--benchmark_repetitions=15", "--benchmark_min_time=0.1"}};
        rest.push_back(interleaved);
        for (char *option : sizes[is_full(argc, argv)])
            rest.push_back(option);
        for (int i = 1; i < argc; i++) {
            if (std::strcmp(argv[i], "--full") == 0)
                continue;
            if (std::strcmp(argv[i], "--check") == 0)
                check = true;
            else if (std::strncmp(argv[i], "--benchmark_out=", 16) == 0)
                json = argv[i] + 16;
            else if (std::strcmp(argv[i], "--benchmark_out_format=json") != 0)
                rest.push_back(argv[i]);
        }
        count = static_cast<int>(rest.size());
        rest.push_back(nullptr);
    }

    bool check = false;
    const char *json = nullptr;
    std::vector<char *> rest;
    int count;
};

inline int main_of(int argc, char **argv, const std::vector<part> &parts,
                   const std::vector<ratio> &ratios)
{
    options o(argc, argv);
    benchmark::Initialize(&o.count, o.rest.data(), print_help);
    if (benchmark::ReportUnrecognizedArguments(o.count, o.rest.data()))
        return 2;
    median_reporter reporter;
    for (const part &p : parts) {
        p.add();
        benchmark::RunSpecifiedBenchmarks(&reporter);
        p.end();
        benchmark::ClearRegisteredBenchmarks();
    }
    bool ok = true;
    std::printf("\n");
    for (const ratio &r : ratios)
        ok = reporter.holds(r, o.check) && ok;
    for (const auto &[what, times] : all_failures().times)
        std::printf("FAILED %s, %" PRIu64 " times\n", what.c_str(), times);
    if (o.json != nullptr && !reporter.write_json(o.json)) {
        std::fprintf(stderr, "cannot write %s\n", o.json);
        return 1;
    }
    return !all_failures().times.empty() || (o.check && !ok) ? 1 : 0;
}

/* One part, of benchmarks that the macro BENCHMARK registered. */
inline int main_of(int argc, char **argv, const std::vector<ratio> &ratios)
{
    auto nothing = [] {};
    return main_of(argc, argv, {{nothing, nothing}}, ratios);
}

} // namespace weir_bench

#endif
