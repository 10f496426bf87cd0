/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for nginx's limit_req, written after what its documentation says and what is known of
 * its data structures: https://nginx.org/en/docs/http/ngx_http_limit_req_module.html
 *
 *   zone    one mapping that processes share, for as many states of 128 bytes as it has room for
 *   tree    red-black (libstdc++'s), by CRC-32 of the key and then by its bytes
 *   queue   states by last use; each request moves its own to the front
 *   mutex   one, which processes share, held from the search to the end of the decision
 *   excess  of a key, in thousandths of a request: each adds 1000, each ms takes away what the rate
 *           gives, a request above the burst is refused at once ("nodelay") and adds nothing. The
 *           first request of a key is free, so that nginx's burst is a token bucket's less one
 *
 * A new key first drops up to two of the states at the end of the queue that were not used for a
 * minute and have no excess; when there is no room, it drops the last one, whatever it owes.
 *
 * Not exact: time is whole ms, the rate whole thousandths of a request per second.
 */
#ifndef WEIR_BENCH_NGINX_ZONE_H
#define WEIR_BENCH_NGINX_ZONE_H

#include "shared_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>

namespace weir_bench
{

/* CRC-32 as in zlib and Ethernet, a byte at a time. */
inline uint32_t crc32_of(const void *data, size_t size)
{
    static const std::array<uint32_t, 256> table = [] {
        std::array<uint32_t, 256> made = {};
        for (uint32_t byte = 0; byte < 256; byte++) {
            made[byte] = byte;
            for (int bit = 0; bit < 8; bit++)
                made[byte] = (made[byte] >> 1) ^ (made[byte] & 1 ? 0xEDB88320 : 0);
        }
        return made;
    }();
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ static_cast<const uint8_t *>(data)[i]) & 0xFF] ^ (crc >> 8);
    return ~crc;
}

class nginx_zone
{
  public:
    /* rate: thousandths of a request per second, at least 1. burst: requests. */
    nginx_zone(uint64_t states, uint64_t its_rate, uint64_t its_burst)
        : rate(its_rate), burst(its_burst * 1000), drain_ms((burst + 1000) * 1000 / rate + 1)
    {
        size = sizeof(segment) + states * shared_pool::state_size;
        void *memory =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        shared = new (memory) segment(static_cast<char *>(memory) + sizeof(segment), states);
    }
    nginx_zone(const nginx_zone &) = delete;
    ~nginx_zone()
    {
        pthread_mutex_destroy(&shared->lock);
        munmap(shared, size); /* nothing in it holds anything outside */
    }

    bool allow(const void *key, size_t key_size, uint64_t now_ms)
    {
        state_key wanted = {crc32_of(key, key_size), static_cast<uint8_t>(key_size), {}};
        std::memcpy(wanted.bytes, key, key_size);
        pthread_mutex_lock(&shared->lock);
        bool allowed = decide(wanted, now_ms);
        pthread_mutex_unlock(&shared->lock);
        return allowed;
    }

    static const size_t key_size_max = 16;

  private:
    struct state_key {
        uint32_t crc;
        uint8_t size;
        uint8_t bytes[key_size_max];

        bool operator<(const state_key &other) const
        {
            if (crc != other.crc)
                return crc < other.crc;
            int order = std::memcmp(bytes, other.bytes, std::min(size, other.size));
            return order != 0 ? order < 0 : size < other.size;
        }
    };
    struct link {
        link *newer, *older;
    };
    struct state : link {
        explicit state(uint64_t now_ms) : link(), last_ms(now_ms)
        {
        }
        uint64_t last_ms, excess = 0;
        const state_key *key = nullptr;
    };
    using tree = std::map<state_key, state, std::less<state_key>,
                          pool_allocator<std::pair<const state_key, state>>>;
    /* What lies at the beginning of the zone. */
    struct segment {
        segment(void *memory, uint64_t states)
            : pool(memory, states), keys(tree::allocator_type(&pool)), queue{&queue, &queue}
        {
            pthread_mutexattr_t of_processes;
            pthread_mutexattr_init(&of_processes);
            pthread_mutexattr_setpshared(&of_processes, PTHREAD_PROCESS_SHARED);
            pthread_mutex_init(&lock, &of_processes);
            pthread_mutexattr_destroy(&of_processes);
        }
        alignas(128) pthread_mutex_t lock;
        shared_pool pool;
        tree keys;
        link queue; /* older: the newest of all; newer: the oldest */
    };

    bool decide(const state_key &key, uint64_t now_ms)
    {
        auto found = shared->keys.find(key);
        if (found == shared->keys.end()) {
            add(key, now_ms);
            return true;
        }
        state &s = found->second;
        unlink(s);
        link_newest(s);
        uint64_t excess = excess_with(s, 1000, now_ms);
        if (excess > burst)
            return false;
        s.excess = excess;
        s.last_ms = std::max(s.last_ms, now_ms);
        return true;
    }

    /* What there would be with so much more, less what the rate has given since. */
    uint64_t excess_with(const state &s, uint64_t more, uint64_t now_ms) const
    {
        uint64_t elapsed_ms = now_ms > s.last_ms ? now_ms - s.last_ms : 0;
        uint64_t given = elapsed_ms < drain_ms ? rate * elapsed_ms / 1000 : UINT64_MAX;
        uint64_t excess = s.excess + more;
        return excess > given ? excess - given : 0;
    }

    void add(const state_key &key, uint64_t now_ms)
    {
        const uint64_t minute_ms = 60000;
        for (int i = 0; i < 2 && shared->queue.newer != &shared->queue; i++) {
            const state &oldest = static_cast<state &>(*shared->queue.newer);
            if (oldest.last_ms + minute_ms > now_ms || excess_with(oldest, 0, now_ms) > 0)
                break;
            drop_oldest();
        }
        if (shared->pool.is_empty())
            drop_oldest();
        auto added = shared->keys.emplace(key, now_ms).first;
        added->second.key = &added->first;
        link_newest(added->second);
    }

    void drop_oldest()
    {
        state &oldest = static_cast<state &>(*shared->queue.newer);
        unlink(oldest);
        shared->keys.erase(shared->keys.find(*oldest.key));
    }

    static void unlink(state &s)
    {
        s.newer->older = s.older;
        s.older->newer = s.newer;
    }
    void link_newest(state &s)
    {
        s.newer = &shared->queue;
        s.older = shared->queue.older;
        s.older->newer = &s;
        shared->queue.older = &s;
    }

    const uint64_t rate, burst, drain_ms;
    size_t size;
    segment *shared;
};

} // namespace weir_bench

#endif
