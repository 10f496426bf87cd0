/* SPDX-License-Identifier: MIT */
/*
 * What is measured: a subject is a table that was made for a trace; a peer is how to make one.
 */
#ifndef WEIR_BENCH_SUBJECT_H
#define WEIR_BENCH_SUBJECT_H

#include "../../trace_file.h"

#include <weir/weir.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir_bench
{

/* Records in a row: those of one thread. */
struct record_list {
    const trace_record *begin() const
    {
        return first;
    }
    const trace_record *end() const
    {
        return first + count;
    }
    const trace_record *first;
    size_t count;
};

/* Both calls come from all threads at once, each with a list of its own. */
class subject
{
  public:
    virtual ~subject() = default;
    /* Every key that occurs gets its place. Time stands still at `now`, so that none is idle again
       before the last has come. */
    virtual void fill(const record_list &records, weir_ns now) = 0;
    /* Plays the list once, at base + now of each or by the subject's own clock; how many records
       were admitted. */
    virtual uint64_t play(const record_list &records, weir_ns base) = 0;
};

/* What a subject is made for. */
struct setting {
    trace_head head;
    unsigned threads;
    bool own_clock;
    size_t batch;

    weir_policy policy() const
    {
        return weir_token_bucket(head.limit, head.period, head.burst);
    }
    bool is_hot() const
    {
        return head.keys == 1;
    }
    bool denies_nothing() const
    {
        return head.admitted == head.records;
    }
};

const size_t batch_max = 64;

struct peer {
    std::string name;
    std::string version;
    bool batches;
    /* Empty, or why it cannot do that, beyond what is so for every peer. */
    std::function<std::string(const setting &, const trace_file &)> refusal;
    std::function<std::unique_ptr<subject>(const setting &)> open;
};

/* One for each source; a peer whose library is not there has no source in the program. */
std::vector<peer> weir_peers();
std::vector<peer> floor_peers();
std::vector<peer> mutexes_peers();
std::vector<peer> libcuckoo_peers();
std::vector<peer> onetbb_peers();
std::vector<peer> cds_lfht_peers();
std::vector<peer> ck_ht_peers();
std::vector<peer> nginx_peers();
std::vector<peer> atomic_bucket_peers();

inline std::string refuses_nothing(const setting &, const trace_file &)
{
    return "";
}

} // namespace weir_bench

#endif
