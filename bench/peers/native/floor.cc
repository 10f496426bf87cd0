// SPDX-License-Identifier: MIT
//
// What no keyed limiter can be below, as nothing is searched for: an array with a slot at each
// key's number.
//
//   floor        one load and one compare-and-swap of the slot's word (subjects.h); no bucket, all
//                is admitted. A clock of its own is read and not used
//   flat_bucket  the same exact token bucket as the tables, in a slot as large
//
// A batch asks for the memory of all its slots first.

#include "../../subjects.h"
#include "players.h"

#include <memory>

namespace weir_bench
{

namespace
{

class floor_array
{
  public:
    explicit floor_array(uint64_t keys) : array(keys)
    {
    }
    bool allow(uint64_t number, uint64_t, weir_ns now)
    {
        asm volatile("" : : "r"(now));  /* a clock that nobody looks at would not be read */
        while (array.step(number) == 0) /* another thread was quicker: on a hot key only */
            continue;
        return true;
    }
    uint64_t allow_all(const trace_record *records, size_t count, weir_ns now)
    {
        for (size_t i = 0; i < count; i++)
            array.prefetch(records[i].key);
        uint64_t admitted = 0;
        for (size_t i = 0; i < count; i++)
            admitted += allow(records[i].key, records[i].n, now);
        return admitted;
    }

  private:
    flat_array array;
};

class flat_buckets : public flat_cells
{
  public:
    using flat_cells::flat_cells;
    uint64_t allow_all(const trace_record *records, size_t count, weir_ns now)
    {
        for (size_t i = 0; i < count; i++)
            prefetch(records[i].key);
        uint64_t admitted = 0;
        for (size_t i = 0; i < count; i++)
            admitted += allow(records[i].key, records[i].n, now);
        return admitted;
    }
};

std::string floor_refusal(const setting &s, const trace_file &)
{
    return s.denies_nothing() ? "" : "it has no bucket and denies nothing, but the trace does";
}

} // namespace

std::vector<peer> floor_peers()
{
    auto open_floor = [](const setting &s) {
        return single_or_batch_subject<floor_array>(s, s.head.keys);
    };
    auto open_buckets = [](const setting &s) {
        return single_or_batch_subject<flat_buckets>(s, s.head.keys, rule(hasher(), s.policy()));
    };
    return {{"floor", "an array, no bucket", true, floor_refusal, open_floor},
            {"flat_bucket", std::string("an array of cells of weir ") + weir_version(), true,
             refuses_nothing, open_buckets}};
}

} // namespace weir_bench
