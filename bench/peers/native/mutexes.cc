// SPDX-License-Identifier: MIT
//
// mutexes: std::unordered_map in 64 parts, each behind a mutex.

#include "players.h"

namespace weir_bench
{

std::vector<peer> mutexes_peers()
{
    return {table_peer<mutex_maps>("mutexes", "libstdc++ " + std::to_string(_GLIBCXX_RELEASE))};
}

} // namespace weir_bench
