// SPDX-License-Identifier: MIT
//
// The subjects of C and C++: weir, floors below any table, other tables with weir's exact bucket
// in them, and stand-ins. Plays one of them on a trace file, as often as it is asked to.

#include "crew.h"
#include "lists.h"
#include "options.h"

#include "../../memory.h"

#include <malloc.h>

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <new>
#include <string>
#include <vector>

namespace
{

using namespace weir_bench;

std::vector<peer> all_peers()
{
    std::vector<peer> all;
    auto add = [&](std::vector<peer> some) { all.insert(all.end(), some.begin(), some.end()); };
    add(weir_peers());
    add(floor_peers());
#ifdef WITH_LIBCUCKOO
    add(libcuckoo_peers());
#endif
#ifdef WITH_ONETBB
    add(onetbb_peers());
#endif
    add(mutexes_peers());
#ifdef WITH_CDS_LFHT
    add(cds_lfht_peers());
#endif
#ifdef WITH_CK_HT
    add(ck_ht_peers());
#endif
    add(nginx_peers());
    add(atomic_bucket_peers());
    return all;
}

// Exit status 3, and why.
class refused : public std::runtime_error
{
  public:
    refused(const peer &p, const std::string &why) : std::runtime_error(p.name + ": " + why)
    {
    }
};

const peer &chosen_peer(const std::vector<peer> &all, const std::string &name)
{
    for (const peer &p : all) {
        if (p.name == name)
            return p;
    }
    throw std::invalid_argument("--subject " + name + ": --list tells which there are");
}

void list_all()
{
    for (const peer &p : all_peers()) {
        std::string batches = p.batches ? "1-" + std::to_string(batch_max) : "1";
        std::printf("%s\tgiven,own\t%s\t%s\n", p.name.c_str(), batches.c_str(), p.version.c_str());
    }
}

void expect_possible(const peer &p, const setting &s, const trace_file &trace)
{
    if (s.batch > (p.batches ? batch_max : 1))
        throw refused(p, p.batches ? "batches are of 1 to " + std::to_string(batch_max)
                                   : "it has no call for several decisions");
    if (s.own_clock && !s.denies_nothing())
        throw refused(p, "what a trace that denies admits by a real clock cannot be told");
    std::string why = p.refusal(s, trace);
    if (!why.empty())
        throw refused(p, why);
}

double processor_seconds()
{
    timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// A subject under way: what a run prints, and which pass is next.
class session
{
  public:
    session(const peer &p, const setting &its_setting, trace_file trace)
        : s(its_setting), dealt(std::move(trace), s.threads), threads(dealt.lists, s.is_hot())
    {
        malloc_trim(0); // what reading the trace has left must not seem to be the table's
        uint64_t before = resident_bytes();
        table = p.open(s);
        base = monotonic_now();
        threads.fill(*table, base);
        double bytes = static_cast<double>(resident_bytes()) - static_cast<double>(before);
        std::printf("{\"ready\": true, \"subject\": \"%s\", \"version\": \"%s\", \"threads\": %u, "
                    "\"clock\": \"%s\", \"batch\": %zu, \"keys\": %" PRIu64
                    ", \"bytes_per_key\": %.1f}\n",
                    p.name.c_str(), p.version.c_str(), s.threads, s.own_clock ? "own" : "given",
                    s.batch, s.head.keys, bytes / static_cast<double>(dealt.distinct_keys));
        std::fflush(stdout);
    }

    void run(double seconds)
    {
        double processor = processor_seconds();
        crew::outcome o = threads.run(*table, base, s.head.span, next_pass, seconds);
        processor = processor_seconds() - processor;
        next_pass += o.passes;
        uint64_t decisions = 0;
        for (const record_list &l : dealt.lists)
            decisions += o.passes * l.count;
        uint64_t most = most_of(o.passes, decisions);
        std::printf("{\"decisions\": %" PRIu64 ", \"seconds\": %.9f, \"cpu_seconds\": %.9f, "
                    "\"admitted\": %" PRIu64 ", \"least\": %" PRIu64 ", \"most\": %" PRIu64 "}\n",
                    decisions, o.seconds, processor, o.admitted, is_interval() ? 0 : most, most);
        std::fflush(stdout);
    }

  private:
    // Threads on one key, each by its own place in the trace's time.
    bool is_interval() const
    {
        return s.is_hot() && s.threads > 1 && !s.own_clock;
    }

    uint64_t most_of(uint64_t passes, uint64_t decisions) const
    {
        if (s.own_clock)
            return decisions;
        if (!is_interval())
            return passes * s.head.admitted;
        unsigned __int128 elapsed =
            static_cast<unsigned __int128>(passes - 1) * s.head.span + dealt.last_now;
        unsigned __int128 given = s.head.burst + s.head.limit * elapsed / s.head.period;
        return given < decisions ? static_cast<uint64_t>(given) : decisions;
    }

    const setting s;
    dealt_trace dealt;
    crew threads;
    std::unique_ptr<subject> table;
    weir_ns base = 0;
    uint64_t next_pass = 1; // the table was filled at the beginning of pass 0
};

void follow(session &one, std::istream &orders)
{
    for (std::string line; std::getline(orders, line) && line != "quit";) {
        if (line.compare(0, 4, "run ") != 0)
            throw std::invalid_argument("\"" + line + "\": run SECONDS, or quit");
        one.run(decimal("run", line.substr(4), 86400));
    }
}

int measure(const options &o)
{
    const std::vector<peer> all = all_peers();
    const peer &p = chosen_peer(all, o.subject);
    trace_file trace = read_trace(o.trace);
    setting s = {trace.head, o.threads, o.own_clock, o.batch};
    expect_possible(p, s, trace);
    session one(p, s, std::move(trace));
    follow(one, std::cin);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        options o = options_of(argc, argv);
        if (!o.help && !o.list)
            return measure(o);
        if (o.list)
            list_all();
        else
            std::fputs(usage, stdout);
        return 0;
    } catch (const refused &why) {
        std::fprintf(stderr, "native: %s\n", why.what());
        return 3;
    } catch (const std::bad_alloc &) {
        std::fprintf(stderr, "native: there is not enough memory\n");
        return 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "native: %s\n", error.what());
        return 2;
    }
}
