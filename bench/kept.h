/* SPDX-License-Identifier: MIT */
/*
 * Tables and traces that outlive a repetition: made by who asks first, once for each type, number
 * of keys and whatever else it is made from, and freed when the next size begins.
 */
#ifndef WEIR_BENCH_KEPT_H
#define WEIR_BENCH_KEPT_H

#include <malloc.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>
#include <vector>

namespace weir_bench
{

struct kept_things {
    std::recursive_mutex lock; /* what is made may ask for something else */
    std::map<std::pair<std::type_index, std::vector<uint64_t>>, std::shared_ptr<void>> things;
};

inline kept_things &all_kept()
{
    static kept_things the;
    return the;
}

/* thing(keys, ...), which also the other threads of a benchmark get. */
template <class thing, class... number> thing &kept(number... of)
{
    kept_things &all = all_kept();
    std::lock_guard<std::recursive_mutex> guard(all.lock);
    std::shared_ptr<void> &place = all.things[{typeid(thing), {uint64_t(of)...}}];
    if (place == nullptr)
        place = std::make_shared<thing>(uint64_t(of)...);
    return *static_cast<thing *>(place.get());
}

inline void free_kept()
{
    all_kept().things.clear();
    malloc_trim(0); /* what malloc would keep counts as in use for the next size */
}

} // namespace weir_bench

#endif
