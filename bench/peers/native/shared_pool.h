/* SPDX-License-Identifier: MIT */
/*
 * States of one size in shared memory, and the standard library's allocator over them.
 */
#ifndef WEIR_BENCH_SHARED_POOL_H
#define WEIR_BENCH_SHARED_POOL_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace weir_bench
{

/* What was given back is taken first. */
class shared_pool
{
  public:
    static const size_t state_size = 128;

    shared_pool(void *memory, size_t states)
        : next(static_cast<char *>(memory)), end(next + states * state_size)
    {
    }
    void *take()
    {
        if (void *block = returned) {
            std::memcpy(&returned, block, sizeof returned);
            return block;
        }
        if (next == end)
            return nullptr;
        return std::exchange(next, next + state_size);
    }
    void give(void *block)
    {
        std::memcpy(block, &returned, sizeof returned);
        returned = block;
    }
    bool is_empty() const
    {
        return returned == nullptr && next == end;
    }

  private:
    void *returned = nullptr;
    char *next, *end;
};

template <class type> struct pool_allocator {
    using value_type = type;

    explicit pool_allocator(shared_pool *its_pool) : pool(its_pool)
    {
    }
    template <class other>
    pool_allocator(const pool_allocator<other> &same) : pool(same.pool) /* of a node, not a value */
    {
    }
    type *allocate(size_t)
    {
        static_assert(sizeof(type) <= shared_pool::state_size, "a state is 128 bytes");
        void *block = pool->take();
        if (block == nullptr)
            throw std::bad_alloc();
        return static_cast<type *>(block);
    }
    void deallocate(type *block, size_t)
    {
        pool->give(block);
    }
    template <class other> bool operator==(const pool_allocator<other> &same) const
    {
        return pool == same.pool;
    }
    template <class other> bool operator!=(const pool_allocator<other> &same) const
    {
        return pool != same.pool;
    }

    shared_pool *pool;
};

} // namespace weir_bench

#endif
