// SPDX-License-Identifier: MIT
//
// cds_lfht: liburcu's lock-free hash table, of as many buckets as keys, a node per key; each
// decision is a read-side section.

#include "../../table_cds_lfht.h"
#include "players.h"

namespace weir_bench
{

std::vector<peer> cds_lfht_peers()
{
    return {table_peer<cds_lfht_map>("cds_lfht", WITH_CDS_LFHT)};
}

} // namespace weir_bench
