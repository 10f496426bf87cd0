// SPDX-License-Identifier: MIT
//
// Writes a trace file for the programs under peers/ (trace_file.h says what is in it).
//
//   write_trace --keys K [--zipf S] [--denied PERCENT] [--records N] [--seed S] FILE
//
// Exit status: 0, 2 when it was called wrongly or no such trace can be made, 1 when it cannot be
// written or there is no memory for it.

#include "number.h"
#include "trace_file.h"
#include "trace_make.h"

#include <cinttypes>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

namespace
{

using namespace weir_bench;

const char usage[] =
    "usage: write_trace --keys K [--zipf S] [--denied PERCENT] [--records N] [--seed S] FILE\n"
    "  --keys K          how many keys there are: 1 to 4294967295\n"
    "  --zipf S          Zipf's exponent, 0 to 10; 0 = all keys as often, the default\n"
    "  --denied PERCENT  the share that is denied, 0 to 99 (0)\n"
    "  --records N       1 to 4294967295; by default as many as the keys and the share ask for\n"
    "  --seed S          what keys are drawn from (1)\n";

struct arguments {
    trace_wish wish;
    std::string file;
};

arguments parsed(int argc, char **argv)
{
    arguments a;
    for (int i = 1; i < argc; i++) {
        std::string name = argv[i];
        if (name.compare(0, 2, "--") != 0) {
            if (!a.file.empty())
                throw std::invalid_argument("one FILE at a time, not " + a.file + " and " + name);
            a.file = name;
            continue;
        }
        std::string value = i + 1 < argc ? argv[++i] : "";
        if (name == "--keys")
            a.wish.keys = whole_number(name, value, 1, UINT32_MAX);
        else if (name == "--zipf")
            a.wish.skew = decimal(name, value, 10);
        else if (name == "--denied")
            a.wish.denied_percent = static_cast<unsigned>(whole_number(name, value, 0, 99));
        else if (name == "--records")
            a.wish.records = whole_number(name, value, 1, UINT32_MAX);
        else if (name == "--seed")
            a.wish.seed = whole_number(name, value, 0, UINT64_MAX);
        else
            throw std::invalid_argument("unknown option " + name);
    }
    if (a.wish.keys == 0 || a.file.empty())
        throw std::invalid_argument(a.file.empty() ? "a FILE is needed" : "--keys is needed");
    return a;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 2 && std::string(argv[1]) == "--help") {
        std::fputs(usage, stdout);
        return 0;
    }
    try {
        arguments a = parsed(argc, argv);
        trace_file trace = make_trace(a.wish);
        write_trace(a.file, trace);
        const trace_head &h = trace.head;
        std::printf("%s: %" PRIu64 " records, %" PRIu64 " keys, %" PRIu64 " per %" PRIu64
                    " ns burst %" PRIu64 ", denies %.2f %%\n",
                    a.file.c_str(), h.records, h.keys, h.limit, h.period, h.burst,
                    100 * (1 - static_cast<double>(h.admitted) / static_cast<double>(h.records)));
        return 0;
    } catch (const std::invalid_argument &error) {
        std::fprintf(stderr, "write_trace: %s (--help says how)\n", error.what());
        return 2;
    } catch (const std::bad_alloc &) {
        std::fprintf(stderr, "write_trace: there is not enough memory\n");
        return 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "write_trace: %s\n", error.what());
        return 1;
    }
}
