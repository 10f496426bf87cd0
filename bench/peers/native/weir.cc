// SPDX-License-Identifier: MIT
//
// weir: an engine with one limit, opened for 7 % more keys than the trace has, so that every key
// finds a place; all else as weir does it by itself. Its own clock is weir_now(), read by the
// caller for each call.

#include "players.h"

#include <cstdlib>
#include <memory>

namespace weir_bench
{

namespace
{

class engine
{
  public:
    explicit engine(const setting &s)
    {
        weir_options options = {};
        options.max_keys = s.head.keys + s.head.keys * 7 / 100 + 64;
        const weir_policy policy = s.policy();
        if (weir_open(&w, &options) != 0 || (limit = weir_add_limit(w, "bench", &policy)) < 0)
            throw std::runtime_error("weir cannot hold this limit for so many keys");
    }
    engine(const engine &) = delete;
    ~engine()
    {
        weir_close(w);
    }

    bool allow(uint64_t number, uint64_t n, weir_ns now)
    {
        return weir_decide(w, limit, weir_key_u64(w, number), n, now).verdict == WEIR_ALLOWED;
    }

    uint64_t allow_all(const trace_record *records, size_t count, weir_ns now)
    {
        weir_request requests[batch_max];
        weir_result results[batch_max];
        size_t i = 0;
        do {
            requests[i] = {limit, weir_key_u64(w, records[i].key), records[i].n};
        } while (++i < count);
        weir_decide_batch(w, requests, results, count, now);
        uint64_t admitted = 0;
        for (i = 0; i < count; i++)
            admitted += results[i].verdict == WEIR_ALLOWED;
        return admitted;
    }

  private:
    weir *w = nullptr;
    int limit = -1;
};

} // namespace

std::vector<peer> weir_peers()
{
    auto open = [](const setting &s) { return single_or_batch_subject<engine>(s, s); };
    return {{"weir", weir_version(), true, refuses_nothing, open}};
}

} // namespace weir_bench
