// SPDX-License-Identifier: MIT
//
// onetbb: concurrent_hash_map, cell in a node, a lock per node.

#include "../../table_onetbb.h"
#include "players.h"

namespace weir_bench
{

std::vector<peer> onetbb_peers()
{
    return {table_peer<onetbb_map>("onetbb", WITH_ONETBB)};
}

} // namespace weir_bench
