/* SPDX-License-Identifier: MIT */
/*
 * Other tables: each holds a cell per key, inline or behind a pointer, and decides by the same
 * exact token bucket, so that what differs is the table. Here are those that need no library:
 *
 *   flat cells  no table at all: the cell at the key's number, no key, nothing hashed
 *   mutexes     std::unordered_map in 64 parts, each behind a mutex
 *
 * and in table_NAME.h each one that is a library's. All are made for the keys, so that none grows.
 * Keys are hashed by weir_key_u64. Their memory is malloc's, in pages of whatever size it has.
 */
#ifndef WEIR_BENCH_TABLES_H
#define WEIR_BENCH_TABLES_H

#include <weir/weir.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace weir_bench
{

struct key_hash {
    size_t operator()(const weir_key &key) const
    {
        return key.low;
    }
    /* oneTBB's names */
    static size_t hash(const weir_key &key)
    {
        return key.low;
    }
    static bool equal(const weir_key &a, const weir_key &b)
    {
        return a.low == b.low && a.high == b.high;
    }
};

struct key_equal {
    bool operator()(const weir_key &a, const weir_key &b) const
    {
        return key_hash::equal(a, b);
    }
};

/* How a number becomes a key, and what each key may do. */
struct rule {
    rule(const weir *its_hasher, const weir_policy &policy) : hasher(its_hasher)
    {
        if (weir_meter_init(&meter, &policy, 0) != 0)
            std::abort();
    }
    weir_key key(uint64_t number) const
    {
        return weir_key_u64(hasher, number);
    }
    bool allow(weir_cell &cell, uint64_t n, weir_ns now) const
    {
        return weir_cell_decide(&cell, &meter, n, now).verdict == WEIR_ALLOWED;
    }
    const weir *hasher;
    alignas(64) weir_meter meter; /* what a usual decision reads is one line */
};

class flat_cells
{
  public:
    flat_cells(uint64_t keys, const rule &its_rule) : each(its_rule), cells(keys)
    {
    }
    bool allow(uint64_t number, uint64_t n, weir_ns now)
    {
        return each.allow(cells[number].cell, n, now);
    }
    void prefetch(uint64_t number) const
    {
        __builtin_prefetch(&cells[number].cell);
    }

  private:
    rule each;
    struct slot { /* as large as a slot of weir's */
        uint64_t unused = 0;
        weir_cell cell = {};
    };
    std::vector<slot> cells;
};

class mutex_maps
{
  public:
    mutex_maps(uint64_t keys, const rule &its_rule) : each(its_rule)
    {
        for (part &p : parts)
            p.map.reserve(keys / 64 + 1);
    }
    bool allow(uint64_t number, uint64_t n, weir_ns now)
    {
        weir_key key = each.key(number);
        part &p = parts[key.high >> 58];
        std::lock_guard<std::mutex> guard(p.lock);
        return each.allow(p.map[key], n, now);
    }

  private:
    rule each;
    struct alignas(64) part {
        std::mutex lock;
        std::unordered_map<weir_key, weir_cell, key_hash, key_equal> map;
    };
    part parts[64];
};

} // namespace weir_bench

#endif
