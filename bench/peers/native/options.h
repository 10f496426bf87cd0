/* SPDX-License-Identifier: MIT */
/*
 * The command line: what to measure, on which trace, how.
 */
#ifndef WEIR_BENCH_OPTIONS_H
#define WEIR_BENCH_OPTIONS_H

#include "../../number.h"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weir_bench
{

const char usage[] =
    "usage: native --trace FILE --subject NAME [--threads T] [--clock given|own] [--batch B]\n"
    "       native --list\n"
    "Prints a line when all keys have their place; then for each line \"run SECONDS\" of its\n"
    "standard input what came of it, until \"quit\".\n"
    "Exit status: 0; 1 no memory; 2 wrong usage or input; 3 the subject cannot do that.\n";

struct options {
    bool help = false, list = false;
    std::string trace, subject;
    unsigned threads = 1;
    bool own_clock = false;
    uint64_t batch = 1;
};

inline options options_of(int argc, char **argv)
{
    options o;
    for (int i = 1; i < argc; i++) {
        std::string name = argv[i];
        if (name == "--help" || name == "--list") {
            (name == "--help" ? o.help : o.list) = true;
            continue;
        }
        std::string value = i + 1 < argc ? argv[++i] : "";
        if (name == "--trace") {
            o.trace = value;
        } else if (name == "--subject") {
            o.subject = value;
        } else if (name == "--threads") {
            o.threads = static_cast<unsigned>(whole_number(name, value, 1, 1024));
        } else if (name == "--batch") {
            o.batch = whole_number(name, value, 1, 1 << 20);
        } else if (name == "--clock") {
            if (value != "given" && value != "own")
                throw std::invalid_argument("--clock " + value + ": given or own");
            o.own_clock = value == "own";
        } else {
            throw std::invalid_argument("unknown option " + name);
        }
    }
    if ((o.help || o.list) && argc > 2)
        throw std::invalid_argument(std::string(o.help ? "--help" : "--list") + " stands alone");
    if (!o.help && !o.list && (o.trace.empty() || o.subject.empty()))
        throw std::invalid_argument(o.trace.empty() ? "--trace is needed" : "--subject is needed");
    return o;
}

} // namespace weir_bench

#endif
