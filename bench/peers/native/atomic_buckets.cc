// SPDX-License-Identifier: MIT
//
// folly, envoy: un-keyed buckets in one atomic double (../../atomic_buckets.h), for traces of one
// key.

#include "../../atomic_buckets.h"
#include "players.h"

namespace weir_bench
{

namespace
{

template <class bucket> class one_bucket
{
  public:
    explicit one_bucket(const setting &s)
        : b(static_cast<double>(s.head.limit) / seconds_of(s.head.period),
            static_cast<double>(s.head.burst), 0)
    {
    }
    bool allow(uint64_t, uint64_t n, weir_ns now)
    {
        return b.take(n, now);
    }

  private:
    alignas(128) bucket b;
};

std::string hot_only(const setting &s, const trace_file &)
{
    return s.is_hot() ? "" : "it is one bucket without keys, but the trace has several";
}

template <class bucket> peer hot_peer(const char *name)
{
    auto open = [](const setting &s) { return single_subject<one_bucket<bucket>>(s, s); };
    return {name, "stand-in", false, hot_only, open};
}

} // namespace

std::vector<peer> atomic_bucket_peers()
{
    return {hot_peer<folly_bucket>("folly"), hot_peer<envoy_bucket>("envoy")};
}

} // namespace weir_bench
