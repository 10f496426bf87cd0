/* SPDX-License-Identifier: MIT */
/*
 * Numbers of a command line. What is none, or too small or too large, is an invalid_argument that
 * says so.
 */
#ifndef WEIR_BENCH_NUMBER_H
#define WEIR_BENCH_NUMBER_H

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace weir_bench
{

inline uint64_t whole_number(const std::string &name, const std::string &text, uint64_t least,
                             uint64_t most)
{
    bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    errno = 0;
    uint64_t value = digits ? std::strtoull(text.c_str(), nullptr, 10) : 0;
    if (!digits || errno != 0 || value < least || value > most)
        throw std::invalid_argument(name + " " + text + ": a whole number from " +
                                    std::to_string(least) + " to " + std::to_string(most));
    return value;
}

/* From 0 to `most`, as 0.25: no sign, no exponent. */
inline double decimal(const std::string &name, const std::string &text, double most)
{
    bool digits = text.find_first_of("0123456789") != std::string::npos &&
                  text.find_first_not_of("0123456789.") == std::string::npos &&
                  text.find('.') == text.rfind('.');
    double value = digits ? std::strtod(text.c_str(), nullptr) : 0;
    if (!digits || value > most)
        throw std::invalid_argument(name + " " + text + ": a decimal number from 0 to " +
                                    std::to_string(static_cast<uint64_t>(most)));
    return value;
}

} // namespace weir_bench

#endif
