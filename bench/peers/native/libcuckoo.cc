// SPDX-License-Identifier: MIT
//
// libcuckoo: two buckets of 4 to look into, cell inline, locks by stripe.

#include "../../table_libcuckoo.h"
#include "players.h"

namespace weir_bench
{

std::vector<peer> libcuckoo_peers()
{
    return {table_peer<libcuckoo_map>("libcuckoo", WITH_LIBCUCKOO)};
}

} // namespace weir_bench
