/* SPDX-License-Identifier: MIT */
/*
 * Figures with what is stated of them, one line each: "holds", "MISSED", or nothing in front of a
 * figure that is only shown.
 */
#ifndef WEIR_BENCH_STATED_H
#define WEIR_BENCH_STATED_H

#include <cstdio>

namespace weir_bench
{

enum class sense { at_most, at_least, shown };

struct bound {
    enum sense sense;
    double value;
};

inline bound at_most(double value)
{
    return {sense::at_most, value};
}

inline bound at_least(double value)
{
    return {sense::at_least, value};
}

inline bound shown()
{
    return {sense::shown, 0};
}

/* Whether it holds; what is not a number holds nothing. */
inline bool stated(const char *what, double figure, bound b)
{
    if (b.sense == sense::shown) {
        std::printf("       %-66s %8.2f\n", what, figure);
        return true;
    }
    bool most = b.sense == sense::at_most;
    bool holds = most ? figure <= b.value : figure >= b.value;
    std::printf("%-6s %-66s %8.2f (at %s %.2f)\n", holds ? "holds" : "MISSED", what, figure,
                most ? "most" : "least", b.value);
    return holds;
}

} // namespace weir_bench

#endif
