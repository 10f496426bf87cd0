/* SPDX-License-Identifier: MIT */
/*
 * Other tables: each holds a cell per key, inline or behind a pointer, and decides by the same
 * exact token bucket, so that what differs is the table.
 *
 *   flat cells  no table at all: the cell at the trace's index, no key, nothing hashed
 *   libcuckoo   cuckoohash_map, cell inline, locks by stripe
 *   oneTBB      concurrent_hash_map, cell in a node, a lock per node
 *   mutexes     std::unordered_map in 64 parts, each behind a mutex
 *   cds_lfht    liburcu's lock-free hash table, a node per key
 *
 * All are made for the keys, so that none grows. Keys are hashed by weir_key_u64. Their memory is
 * malloc's, in pages of whatever size it has.
 */
#ifndef WEIR_BENCH_TABLES_H
#define WEIR_BENCH_TABLES_H

#include "subjects.h"

#include <libcuckoo/cuckoohash_map.hh>
#include <tbb/concurrent_hash_map.h>
#include <urcu/urcu-bp.h>

#include <urcu/rculfhash.h>

#include <mutex>
#include <unordered_map>

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

inline weir_key key_of(uint32_t number)
{
    return weir_key_u64(hasher(), number);
}

inline bool decide(weir_cell &cell, weir_ns now)
{
    static const weir_meter meter = [] {
        weir_meter made;
        if (weir_meter_init(&made, &thousand_a_second, 0) != 0)
            std::abort();
        return made;
    }();
    return weir_cell_decide(&cell, &meter, 1, now).verdict == WEIR_ALLOWED;
}

class flat_cells
{
  public:
    explicit flat_cells(uint64_t keys) : cells(keys)
    {
    }
    bool allow(uint32_t number, weir_ns now)
    {
        return decide(cells[number].cell, now);
    }

  private:
    struct slot { /* as large as a slot of weir's */
        uint64_t unused = 0;
        weir_cell cell = {};
    };
    std::vector<slot> cells;
};

class libcuckoo_map
{
  public:
    explicit libcuckoo_map(uint64_t keys) : map(keys)
    {
    }
    bool allow(uint32_t number, weir_ns now)
    {
        bool allowed = false;
        auto step = [&](weir_cell &cell) { allowed = decide(cell, now); };
        weir_key key = key_of(number);
        if (!map.update_fn(key, step)) {
            map.insert(key, weir_cell{0});
            map.update_fn(key, step);
        }
        return allowed;
    }

  private:
    libcuckoo::cuckoohash_map<weir_key, weir_cell, key_hash, key_equal> map;
};

class onetbb_map
{
  public:
    explicit onetbb_map(uint64_t keys) : map(keys)
    {
    }
    bool allow(uint32_t number, weir_ns now)
    {
        table::accessor found;
        map.insert(found, key_of(number));
        return decide(found->second, now);
    }

  private:
    using table = tbb::concurrent_hash_map<weir_key, weir_cell, key_hash>;
    table map;
};

class mutex_maps
{
  public:
    explicit mutex_maps(uint64_t keys)
    {
        for (part &p : parts)
            p.map.reserve(keys / 64 + 1);
    }
    bool allow(uint32_t number, weir_ns now)
    {
        weir_key key = key_of(number);
        part &p = parts[key.high >> 58];
        std::lock_guard<std::mutex> guard(p.lock);
        return decide(p.map[key], now);
    }

  private:
    struct alignas(64) part {
        std::mutex lock;
        std::unordered_map<weir_key, weir_cell, key_hash, key_equal> map;
    };
    part parts[64];
};

class cds_lfht_map
{
  public:
    explicit cds_lfht_map(uint64_t keys)
    {
        unsigned long buckets = 1;
        while (buckets < keys)
            buckets <<= 1;
        /* It neither resizes nor counts: the quicker for it, and its end has no worker to wait for.
         */
        table = cds_lfht_new_flavor(buckets, 1, 0, 0, &urcu_bp_flavor, nullptr);
        if (table == nullptr)
            std::abort();
    }
    ~cds_lfht_map()
    {
        cds_lfht_iter iter;
        urcu_bp_read_lock();
        cds_lfht_first(table, &iter);
        while (cds_lfht_node *found = cds_lfht_iter_get_node(&iter)) {
            cds_lfht_next(table, &iter);
            cds_lfht_del(table, found);
            delete caa_container_of(found, node, link);
        }
        urcu_bp_read_unlock();
        cds_lfht_destroy(table, nullptr);
    }
    bool allow(uint32_t number, weir_ns now)
    {
        weir_key key = key_of(number);
        cds_lfht_iter iter;
        urcu_bp_read_lock();
        cds_lfht_lookup(table, key.low, match, &key, &iter);
        cds_lfht_node *found = cds_lfht_iter_get_node(&iter);
        if (found == nullptr) {
            node *fresh = new node{{}, key, {0}};
            found = cds_lfht_add_unique(table, key.low, match, &key, &fresh->link);
            if (found != &fresh->link)
                delete fresh;
        }
        bool allowed = decide(caa_container_of(found, node, link)->cell, now);
        urcu_bp_read_unlock();
        return allowed;
    }

  private:
    struct node {
        cds_lfht_node link;
        weir_key key;
        weir_cell cell;
    };
    static int match(cds_lfht_node *link, const void *key)
    {
        return key_hash::equal(caa_container_of(link, node, link)->key,
                               *static_cast<const weir_key *>(key));
    }
    cds_lfht *table;
};

} // namespace weir_bench

#endif
