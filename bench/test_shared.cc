// SPDX-License-Identifier: MIT
//
// What benchmarks share and believe: the exact bucket, the histogram, key numbers, thread counts,
// what is kept, and the buckets of others. Prints TAP; needs no google-benchmark.

#include "atomic_buckets.h"
#include "exact.h"
#include "histogram.h"
#include "kept.h"
#include "processors.h"
#include "trace.h"

#include <cinttypes>
#include <cstdio>
#include <map>

namespace
{

using namespace weir_bench;

bool good;

void equal_at(int line, uint64_t got, uint64_t due)
{
    if (got == due)
        return;
    std::printf("# line %d: %" PRIu64 ", due %" PRIu64 "\n", line, got, due);
    good = false;
}
#define EQUAL(got, due) equal_at(__LINE__, uint64_t(got), uint64_t(due))
#define HOLDS(what)     EQUAL(bool(what), true)

void exact_bucket_by_hand()
{
    exact_buckets b(2, weir_token_bucket(2, 10, 3)); // a token in 5 ns
    EQUAL(b.decide(0, 3, 100), 1);
    EQUAL(b.decide(0, 1, 100), 0);
    EQUAL(b.decide(0, 1, 104), 0);
    EQUAL(b.decide(0, 1, 105), 1);
    EQUAL(b.decide(0, 2, 114), 0);
    EQUAL(b.decide(0, 2, 115), 1); // what was there at 114 has been kept
    EQUAL(b.decide(0, 3, 1000), 1);
    EQUAL(b.decide(0, 1, 1000), 0); // never more than the burst
    EQUAL(b.decide(1, 4, 1000), 0);
    EQUAL(b.decide(1, 3, 0), 1); // the other key is its own
}

void exact_bucket_of_two_steps()
{
    exact_buckets b(1, weir_token_bucket(1, 10, 2));
    HOLDS(b.has(0, 2, 5));
    HOLDS(b.has(0, 2, 5)); // asking takes nothing
    b.take(0, 2);
    HOLDS(!b.has(0, 1, 14));
    HOLDS(b.has(0, 1, 15));
}

void exact_bucket_spans_that_overflow_64_bits()
{
    exact_buckets b(1, weir_token_bucket(1000000000, 1000, 4));
    EQUAL(b.decide(0, 4, 0), 1);
    EQUAL(b.decide(0, 4, INT64_MAX), 1);
    EQUAL(b.decide(0, UINT64_MAX, INT64_MAX), 0);
}

// Two that share nothing: weir's cell, and this. With at most 9 tokens in lowest terms weir rounds
// nothing.
void exact_bucket_as_a_cell()
{
    const uint64_t limits[] = {1, 7, 9};
    for (uint64_t limit : limits) {
        weir_policy policy = weir_token_bucket(limit, 1000003, 5);
        weir_meter meter;
        EQUAL(weir_meter_init(&meter, &policy, 0), 0);
        weir_cell cell = {0};
        exact_buckets b(1, policy);
        std::mt19937_64 random(limit);
        weir_ns now = 0;
        uint64_t admitted = 0, same = 0;
        for (int i = 0; i < 100000; i++) {
            now += random() % (2000000 / limit + 2);
            uint64_t n = random() % 7;
            bool exact = b.decide(0, n, now);
            same += exact == (weir_cell_decide(&cell, &meter, n, now).verdict == WEIR_ALLOWED);
            admitted += exact;
        }
        EQUAL(same, 100000);
        HOLDS(admitted > 10000 && admitted < 90000);
    }
}

void histogram_tells_quantiles()
{
    histogram h;
    EQUAL(h.quantile(0.5), 0);
    for (uint64_t span = 1; span <= 60; span++)
        h.add(span); // below 64 each has its own step
    EQUAL(h.quantile(0), 1);
    EQUAL(h.quantile(0.5), 31);
    EQUAL(h.quantile(0.9999), 60);
    EQUAL(h.most(), 60);
    EQUAL(h.mean() * 2, 61);
    for (uint64_t span : {uint64_t(1000), uint64_t(1000000), UINT64_MAX / 2}) {
        histogram one;
        one.add(1);
        one.add(span);
        one.add(2 * span);
        uint64_t told = one.quantile(0.5);
        HOLDS(told >= span && told - span <= span / 64);
        EQUAL(one.quantile(1), 2 * span); // the largest is told as it was
    }
}

void histograms_add_up()
{
    histogram a, b;
    for (int i = 0; i < 99; i++)
        a.add(10);
    b.add(5000);
    a.add(b);
    EQUAL(a.quantile(0.5), 10);
    EQUAL(a.quantile(0.99), 5000);
    EQUAL(a.most(), 5000);
    EQUAL(a.mean() * 100, 99 * 10 + 5000);
}

void key_numbers_of_a_thread()
{
    for (double exponent : {0.0, 0.8, 0.99, 1.2}) {
        std::map<uint32_t, uint64_t> seen;
        for (uint32_t number : key_numbers(100, exponent, 100000, 3, 4))
            seen[number]++;
        uint64_t most = 0;
        for (auto [number, times] : seen) {
            EQUAL(number % 4, 3);
            HOLDS(number < 400);
            most = std::max(most, times);
        }
        // Of 100 keys the hottest has 1/100, and by Zipf 1 / sum(rank^-exponent): 12, 19 and 28 %;
        // ranks that share a number add up.
        double share = static_cast<double>(most) / 1000;
        double least = exponent == 0 ? 0.9 : exponent < 0.9 ? 10 : exponent < 1 ? 17 : 26;
        HOLDS(share > least && share < least + (exponent == 0 ? 0.5 : 12));
    }
    HOLDS(key_numbers(100, 0, 50) == key_numbers(100, 0, 50));
}

void threads_are_doubled()
{
    HOLDS(doublings(1) == std::vector<int>({1}));
    HOLDS(doublings(2) == std::vector<int>({1, 2}));
    HOLDS(doublings(6) == std::vector<int>({1, 2, 4, 6}));
    HOLDS(doublings(8) == std::vector<int>({1, 2, 4, 8}));
    HOLDS(thread_counts().back() == processors());
}

struct counted {
    explicit counted(uint64_t, uint64_t = 0)
    {
        made++;
    }
    static int made;
};
int counted::made = 0;

void kept_is_made_once()
{
    counted *first = &kept<counted>(1);
    HOLDS(&kept<counted>(1) == first);
    HOLDS(&kept<counted>(2) != first);
    HOLDS(&kept<counted>(1, 0) != first);
    EQUAL(counted::made, 3);
    free_kept();
    kept<counted>(1);
    EQUAL(counted::made, 4);
    free_kept();
}

template <class bucket> void as_a_bucket()
{
    const uint64_t start = 1000 * uint64_t(1000000000);
    bucket b(1000, 10, start); // one in a millisecond; half a millisecond is far from rounding
    for (int i = 0; i < 9; i++)
        HOLDS(b.take(1, start + 500000));
    HOLDS(!b.take(3, start + 500000));
    HOLDS(b.take(1, start + 500000));
    HOLDS(!b.take(1, start + 500000));
    HOLDS(!b.take(1, start)); // earlier
    HOLDS(b.take(1, start + 1700000));
    HOLDS(!b.take(1, start + 1800000));
    HOLDS(b.take(4, start + 5700000));
    HOLDS(!b.take(1, start + 5800000));
    HOLDS(!b.take(11, start + 900000000)); // never more than the burst
    HOLDS(b.take(10, start + 900000000));
}

void buckets_of_others()
{
    as_a_bucket<folly_bucket>();
    as_a_bucket<envoy_bucket>();
    as_a_bucket<governor_bucket>();
    envoy_bucket b(1000, 10, 1000000000);
    auto half = [](double there) { return there / 2; };
    HOLDS(b.consume(half, 1000000000) == 5);
    HOLDS(!b.take(6, 1000000000));
}

} // namespace

int main()
{
    const std::pair<const char *, void (*)()> tests[] = {
        {"exact_bucket_by_hand", exact_bucket_by_hand},
        {"exact_bucket_of_two_steps", exact_bucket_of_two_steps},
        {"exact_bucket_spans_that_overflow_64_bits", exact_bucket_spans_that_overflow_64_bits},
        {"exact_bucket_as_a_cell", exact_bucket_as_a_cell},
        {"histogram_tells_quantiles", histogram_tells_quantiles},
        {"histograms_add_up", histograms_add_up},
        {"key_numbers_of_a_thread", key_numbers_of_a_thread},
        {"threads_are_doubled", threads_are_doubled},
        {"kept_is_made_once", kept_is_made_once},
        {"buckets_of_others", buckets_of_others},
    };
    std::printf("1..%zu\n", std::size(tests));
    int number = 0, failed = 0;
    for (auto [name, test] : tests) {
        good = true;
        test();
        failed += !good;
        std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++number, name);
    }
    return failed != 0;
}
