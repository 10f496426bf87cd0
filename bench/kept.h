/* SPDX-License-Identifier: MIT */
/*
 * Tables and traces that outlive a repetition: made by who asks first, once for each type and
 * number of keys, and freed when the next size begins.
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

namespace weir_bench
{

struct kept_things {
    std::recursive_mutex lock; /* what is made may ask for something else */
    std::map<std::pair<std::type_index, uint64_t>, std::shared_ptr<void>> things;
};

inline kept_things &all_kept()
{
    static kept_things the;
    return the;
}

/* thing(keys), which also the other threads of a benchmark get. */
template <class thing> thing &kept(uint64_t keys)
{
    kept_things &all = all_kept();
    std::lock_guard<std::recursive_mutex> guard(all.lock);
    std::shared_ptr<void> &place = all.things[{typeid(thing), keys}];
    if (place == nullptr)
        place = std::make_shared<thing>(keys);
    return *static_cast<thing *>(place.get());
}

inline void free_kept()
{
    all_kept().things.clear();
    malloc_trim(0); /* what malloc would keep counts as in use for the next size */
}

} // namespace weir_bench

#endif
