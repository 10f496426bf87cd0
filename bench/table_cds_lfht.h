/* SPDX-License-Identifier: MIT */
/*
 * cds_lfht: liburcu's lock-free hash table, a node per key.
 */
#ifndef WEIR_BENCH_TABLE_CDS_LFHT_H
#define WEIR_BENCH_TABLE_CDS_LFHT_H

#include "tables.h"

#include <urcu/urcu-bp.h>

#include <urcu/rculfhash.h>

namespace weir_bench
{

class cds_lfht_map
{
  public:
    cds_lfht_map(uint64_t keys, const rule &its_rule) : each(its_rule)
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
    bool allow(uint64_t number, uint64_t n, weir_ns now)
    {
        weir_key key = each.key(number);
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
        bool allowed = each.allow(caa_container_of(found, node, link)->cell, n, now);
        urcu_bp_read_unlock();
        return allowed;
    }

  private:
    rule each;
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
