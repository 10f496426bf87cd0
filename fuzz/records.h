/* SPDX-License-Identifier: MIT */
/*
 * The mutator of targets whose input is a head and then records of one size: records are changed,
 * inserted, copied, moved and erased whole, so that those behind keep their meaning.
 *
 * RECORDS_DEFINE(head, size) makes it the program's. Every other time libFuzzer's own mutations are
 * made, which know what the target compares with.
 */
#ifndef WEIR_FUZZ_RECORDS_H
#define WEIR_FUZZ_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* libFuzzer's; not there where a corpus is replayed. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static inline uint32_t records_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline size_t records_insert(uint8_t *data, size_t size, size_t at, const uint8_t *bytes,
                                    size_t count)
{
    memmove(data + at + count, data + at, size - at);
    memcpy(data + at, bytes, count);
    return size + count;
}

static inline size_t records_erase(uint8_t *data, size_t size, size_t at, size_t count)
{
    memmove(data + at, data + at + count, size - at - count);
    return size - count;
}

/* One mutation; `size` is head + n * record. */
static inline size_t records_mutate(uint8_t *data, size_t size, size_t max_size, size_t head,
                                    size_t record, uint32_t *random)
{
    uint8_t bytes[64];
    size_t n = (size - head) / record;
    size_t from = n != 0 ? head + records_random(random) % n * record : head;
    size_t to = head + records_random(random) % (n + 1) * record;
    unsigned what = records_random(random) % 8;

    for (size_t i = 0; i < record; i++)
        bytes[i] = (uint8_t)records_random(random);
    if (n != 0 && what >= 2 && what < 5)
        memcpy(bytes, data + from, record);
    if (what == 3 || what == 4) /* a copy with another byte */
        bytes[records_random(random) % record] = (uint8_t)records_random(random);
    if (what < 5)
        return size + record <= max_size ? records_insert(data, size, to, bytes, record) : size;
    if (n == 0)
        return size;
    if (what == 5)
        return records_erase(data, size, from, record);
    data[records_random(random) % size] = (uint8_t)records_random(random);
    return size;
}

static inline size_t records_custom(uint8_t *data, size_t size, size_t max_size, unsigned seed,
                                    size_t head, size_t record)
{
    uint32_t random = seed;
    unsigned times = 1 + records_random(&random) % 4;

    if (size < head || seed % 2 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    size -= (size - head) % record;
    for (unsigned i = 0; i < times; i++)
        size = records_mutate(data, size, max_size, head, record, &random);
    return size;
}

#define RECORDS_DEFINE(head, record)                                                               \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)     \
    {                                                                                              \
        return records_custom(data, size, max_size, seed, head, record);                           \
    }

#endif
