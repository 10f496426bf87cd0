/* SPDX-License-Identifier: MIT */
/*
 * Keys from numbers, hashed under one secret.
 */
#ifndef WEIR_BENCH_HASHER_H
#define WEIR_BENCH_HASHER_H

#include <weir/weir.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace weir_bench
{

/* All engines here have one secret, so that a key hashed once is good for all of them. */
inline const uint8_t *secret()
{
    static const std::vector<uint8_t> bytes = [] {
        std::vector<uint8_t> made(192);
        std::mt19937 random(192);
        for (uint8_t &byte : made)
            byte = static_cast<uint8_t>(random());
        return made;
    }();
    return bytes.data();
}

/* An engine that hashes keys for tables that cannot. */
inline const weir *hasher()
{
    static const weir *const the = [] {
        weir_options options = {};
        options.max_keys = 1;
        options.secret = secret();
        weir *made = nullptr;
        if (weir_open(&made, &options) != 0)
            std::abort();
        return made;
    }();
    return the;
}

} // namespace weir_bench

#endif
