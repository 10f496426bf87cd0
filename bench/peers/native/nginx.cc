// SPDX-License-Identifier: MIT
//
// nginx: a stand-in for its limit_req, see nginx_zone.h. The zone has room for the keys of the
// trace, with the 8 bytes of a number as the key, so that no state is dropped. It counts requests,
// not tokens: a record asks for one.
//
// nginx itself reads no clock in a decision but what its event loop read last; with a clock of its
// own the stand-in reads one for each.

#include "nginx_zone.h"
#include "players.h"

#include <algorithm>

namespace weir_bench
{

namespace
{

/* Thousandths of a request per second, rounded down. */
uint64_t rate_of(const trace_head &head)
{
    unsigned __int128 rate = static_cast<unsigned __int128>(head.limit) * 1000 * WEIR_SECOND;
    return static_cast<uint64_t>(rate / head.period);
}

class limit_req
{
  public:
    explicit limit_req(const setting &s) : zone(s.head.keys + 1, rate_of(s.head), s.head.burst - 1)
    {
    }
    bool allow(uint64_t number, uint64_t, weir_ns now)
    {
        return zone.allow(&number, sizeof number, now / WEIR_MILLISECOND);
    }

  private:
    nginx_zone zone;
};

std::string nginx_refusal(const setting &s, const trace_file &trace)
{
    bool single = std::all_of(trace.records.begin(), trace.records.end(),
                              [](const trace_record &r) { return r.n == 1; });
    if (!single)
        return "it counts requests, but the trace has records of other than one token";
    if (s.head.burst == 0 || s.head.burst > uint64_t(1) << 40)
        return "its burst is from 1 to 2^40";
    if (rate_of(s.head) == 0 || rate_of(s.head) > uint64_t(1) << 50)
        return "its rate is from a thousandth of a request to 2^40 requests a second";
    return "";
}

} // namespace

std::vector<peer> nginx_peers()
{
    auto open = [](const setting &s) { return single_subject<limit_req>(s, s); };
    return {{"nginx", "stand-in", false, nginx_refusal, open}};
}

} // namespace weir_bench
