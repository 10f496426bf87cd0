/* SPDX-License-Identifier: MIT */
/*
 * libcuckoo: cuckoohash_map, cell inline, locks by stripe.
 */
#ifndef WEIR_BENCH_TABLE_LIBCUCKOO_H
#define WEIR_BENCH_TABLE_LIBCUCKOO_H

#include "tables.h"

#include <libcuckoo/cuckoohash_map.hh>

namespace weir_bench
{

class libcuckoo_map
{
  public:
    libcuckoo_map(uint64_t keys, const rule &its_rule) : each(its_rule), map(keys)
    {
    }
    bool allow(uint64_t number, uint64_t n, weir_ns now)
    {
        bool allowed = false;
        auto step = [&](weir_cell &cell) { allowed = each.allow(cell, n, now); };
        weir_key key = each.key(number);
        if (!map.update_fn(key, step)) {
            map.insert(key, weir_cell{0});
            map.update_fn(key, step);
        }
        return allowed;
    }

  private:
    rule each;
    libcuckoo::cuckoohash_map<weir_key, weir_cell, key_hash, key_equal> map;
};

} // namespace weir_bench

#endif
