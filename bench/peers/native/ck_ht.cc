// SPDX-License-Identifier: MIT
//
// ck_ht: Concurrency Kit's hash table behind a spinlock per shard. Debian 12 has release 0.7.1,
// without what was mended in ck_ht since.

#include "ck_shards.h"
#include "players.h"

#include <new>

namespace weir_bench
{

namespace
{

class ck_map
{
  public:
    ck_map(uint64_t keys, const rule &its_rule) : each(its_rule), shards(ck_shards_open(keys))
    {
        if (shards == nullptr)
            throw std::bad_alloc();
    }
    ck_map(const ck_map &) = delete;
    ~ck_map()
    {
        ck_shards_close(shards);
    }
    bool allow(uint64_t number, uint64_t n, weir_ns now)
    {
        return ck_shards_allow(shards, each.key(number), &each.meter, n, now);
    }

  private:
    rule each;
    ck_shards *shards;
};

} // namespace

std::vector<peer> ck_ht_peers()
{
    return {table_peer<ck_map>("ck_ht", WITH_CK_HT)};
}

} // namespace weir_bench
