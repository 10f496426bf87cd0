/* SPDX-License-Identifier: MIT */
/*
 * oneTBB: concurrent_hash_map, cell in a node, a lock per node.
 */
#ifndef WEIR_BENCH_TABLE_ONETBB_H
#define WEIR_BENCH_TABLE_ONETBB_H

#include "tables.h"

#include <tbb/concurrent_hash_map.h>

namespace weir_bench
{

class onetbb_map
{
  public:
    onetbb_map(uint64_t keys, const rule &its_rule) : each(its_rule), map(keys)
    {
    }
    bool allow(uint64_t number, uint64_t n, weir_ns now)
    {
        table::accessor found;
        map.insert(found, each.key(number));
        return each.allow(found->second, n, now);
    }

  private:
    rule each;
    using table = tbb::concurrent_hash_map<weir_key, weir_cell, key_hash>;
    table map;
};

} // namespace weir_bench

#endif
