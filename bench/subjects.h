/* SPDX-License-Identifier: MIT */
/*
 * What is measured everywhere: the floor, and weir.
 *
 *   floor   a flat array of 16-byte slots at 2 MiB, huge pages advised as weir does: one relaxed
 *           load and one compare-and-swap at the trace's index; no search, no arithmetic. What any
 *           table pays that keeps a key's state in one word and changes it atomically
 *   weir    an engine with one limit, all of whose keys have their place before time is measured
 *
 * Both keep their place in the trace and their time from one repetition to the next: a repetition
 * that began anew would find in the cache just what the one before it had touched.
 */
#ifndef WEIR_BENCH_SUBJECTS_H
#define WEIR_BENCH_SUBJECTS_H

#include "trace.h"

#include <sys/mman.h>

#include <cstdio>

namespace weir_bench
{

const unsigned threads_max = 2;

/* Zero, which the compiler does not know: what is masked with it still has to be waited for. */
inline uint64_t hidden_zero()
{
    uint64_t zero = 0;
    asm volatile("" : "+r"(zero));
    return zero;
}

/* Where one thread is in its trace. */
struct alignas(64) place {
    size_t at = 0;
};

class flat_array
{
  public:
    explicit flat_array(uint64_t keys)
    {
        const size_t huge = size_t(2) << 20;
        bytes = keys * sizeof(slot) + huge;
        mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapping == MAP_FAILED)
            std::abort();
        uintptr_t start = (reinterpret_cast<uintptr_t>(mapping) + huge - 1) & ~(huge - 1);
        slots = reinterpret_cast<slot *>(start);
        (void)madvise(slots, keys * sizeof(slot), MADV_HUGEPAGE); /* advice only */
        for (uint64_t key = 0; key < keys; key++)
            slots[key] = {key + 1, 0};
    }
    flat_array(const flat_array &) = delete;
    ~flat_array()
    {
        munmap(mapping, bytes);
    }

    void prefetch(uint64_t index) const
    {
        __builtin_prefetch(&slots[index].word);
    }

    /* Whether the word was changed: 0 or 1, no branch. No two threads change one word. */
    uint64_t step(uint64_t index)
    {
        uint64_t *word = &slots[index].word;
        uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
        return __atomic_compare_exchange_n(word, &seen, seen + 1, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED);
    }

    place places[threads_max];

  private:
    struct slot {
        uint64_t tag, word;
    };
    void *mapping;
    size_t bytes;
    slot *slots;
};

inline weir *open_engine(uint64_t max_keys)
{
    weir_options options = {};
    options.max_keys = max_keys;
    options.secret = secret();
    weir *w = nullptr;
    if (weir_open(&w, &options) != 0)
        std::abort();
    return w;
}

inline struct weir_stats stats_of(const weir *w)
{
    struct weir_stats stats = {};
    if (weir_stats(w, &stats) != 0)
        std::abort();
    return stats;
}

/* A thousand a second: a decision of one token a millisecond is always admitted. */
const weir_policy thousand_a_second = weir_token_bucket(1000, WEIR_SECOND, 1000);

class limited
{
  public:
    limited(uint64_t max_keys, const weir_policy &policy) : w(open_engine(max_keys))
    {
        limit = weir_add_limit(w, "bench", &policy);
        if (limit < 0)
            std::abort();
    }
    limited(const limited &) = delete;
    ~limited()
    {
        weir_close(w);
    }

    /* Every key gets its place; one in 50 may find none where there are as many as max_keys. */
    void fill(uint64_t keys)
    {
        for (uint64_t key = 0; key < keys; key++)
            (void)!weir_allow(w, limit, weir_key_u64(w, key), 1, now);
        if (stats_of(w).overflow * 50 > keys) {
            std::fprintf(stderr, "more than one key in 50 has no place\n");
            std::abort();
        }
    }

    weir *w;
    int limit;
    weir_ns now = WEIR_SECOND;
    place places[threads_max];
};

/* An engine opened for `factor` times as many keys as it is then filled with. */
template <unsigned factor> class filled : public limited
{
  public:
    explicit filled(uint64_t keys) : limited(factor * keys, thousand_a_second)
    {
        fill(keys);
    }
};

/*
 * Operations before time is measured, as many as there are keys: other tables ran in between, and
 * getting a million keys back into the cache would be most of a repetition. No cache holds more.
 */
inline uint64_t warming(uint64_t keys)
{
    return keys <= 1000000 ? keys : 0;
}

/* Where the measured part of the trace begins. */
inline size_t warm(flat_array &array, const place &from, const trace &t, uint64_t keys)
{
    size_t at = from.at;
    for (uint64_t left = warming(keys); left > 0; left--)
        array.step(t.numbers[at++ % trace_size]);
    return at;
}

/* Decisions of no tokens at the places `at` and on of a list of 2^n keys: they read all that a
   decision reads, and change nothing. */
inline size_t warm(weir *w, int limit, const std::vector<weir_key> &hashed, size_t at,
                   uint64_t count, weir_ns now)
{
    const size_t size = 64;
    weir_request requests[size];
    weir_result results[size];
    for (uint64_t done = 0; done < count; done += size) {
        for (weir_request &request : requests)
            request = {limit, hashed[at++ % hashed.size()], 0};
        weir_decide_batch(w, requests, results, size, now);
    }
    return at;
}

inline size_t warm(limited &engine, const place &from, const trace &t, uint64_t keys)
{
    return warm(engine.w, engine.limit, t.hashed, from.at, warming(keys), engine.now);
}

} // namespace weir_bench

#endif
