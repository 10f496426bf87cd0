/* SPDX-License-Identifier: MIT */
/*
 * The main program of every benchmark here: runs google-benchmark with its repetitions interleaved
 * at random, takes medians, and holds stated ratios against them.
 *
 *   bench_cell [--check] [google-benchmark's own options]
 *
 * A ratio compares two benchmarks of one run, so that a noisy machine blurs both alike. With
 * --check the exit status is 1 when a ratio is above what it is stated to be at most.
 */
#ifndef WEIR_BENCH_CHECK_H
#define WEIR_BENCH_CHECK_H

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace weir_bench
{

struct ratio {
    const char *what;
    const char *numerator; /* names of benchmarks */
    const char *denominator;
    double at_most;
};

/* Prints as usual and keeps the median processor time of each benchmark. */
class median_reporter : public benchmark::ConsoleReporter
{
  public:
    median_reporter() : benchmark::ConsoleReporter(OO_Tabular)
    {
    }

    void ReportRuns(const std::vector<Run> &runs) override
    {
        for (const Run &run : runs) {
            if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median")
                medians[name_of(run)] = run.GetAdjustedCPUTime();
            failed = failed || run.error_occurred;
        }
        benchmark::ConsoleReporter::ReportRuns(runs);
    }

    static std::string name_of(const Run &run)
    {
        const benchmark::BenchmarkName &name = run.run_name;
        return name.args.empty() ? name.function_name : name.function_name + "/" + name.args;
    }

    std::map<std::string, double> medians;
    bool failed = false;
};

inline bool holds(const ratio &r, const std::map<std::string, double> &medians)
{
    auto numerator = medians.find(r.numerator);
    auto denominator = medians.find(r.denominator);
    if (numerator == medians.end() || denominator == medians.end()) {
        std::printf("MISSED %s: not measured\n", r.what);
        return false;
    }
    double value = numerator->second / denominator->second;
    bool ok = value <= r.at_most;
    std::printf("%-6s %-58s %6.2f (at most %.2f)\n", ok ? "holds" : "MISSED", r.what, value,
                r.at_most);
    return ok;
}

inline int main_of(int argc, char **argv, const std::vector<ratio> &ratios)
{
    std::vector<char *> arguments(argv, argv + 1);
    char interleaved[] = "--benchmark_enable_random_interleaving=true";
    char repetitions[] = "--benchmark_repetitions=15";
    char aggregates[] = "--benchmark_report_aggregates_only=true";
    char short_runs[] = "--benchmark_min_time=0.05";
    arguments.insert(arguments.end(), {interleaved, repetitions, aggregates, short_runs});
    bool check = false;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--check") == 0)
            check = true;
        else
            arguments.push_back(argv[i]);
    }
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data()))
        return 2;
    median_reporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    bool ok = !reporter.failed;
    std::printf("\n");
    for (const ratio &r : ratios)
        ok = holds(r, reporter.medians) && ok;
    return check && !ok ? 1 : 0;
}

} // namespace weir_bench

#endif
