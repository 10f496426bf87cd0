/* SPDX-License-Identifier: MIT */
/*
 * Atomic accesses, each named by its memory order: the only file that speaks of orders.
 *
 * Orders are those of C11 (ISO/IEC 9899:2011, 7.17.3). There are no stand-alone fences: the
 * thread sanitizer does not model them. A wrapper struct keeps plain accesses out; it has the
 * layout of its value, so a uint64_t of the public interface may be seen through it.
 */
#ifndef WEIR_ATOMIC_H
#define WEIR_ATOMIC_H

#include <ck_pr.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__cplusplus)
#define WEIR_ALIGN_8    alignas(8)
#define WEIR_ALIGN_LINE alignas(64)
#else
#define WEIR_ALIGN_8    _Alignas(8)
#define WEIR_ALIGN_LINE _Alignas(64)
#endif

struct weir_atomic_u64 {
    WEIR_ALIGN_8 uint64_t value;
};

/* Orders nothing else: counters that one thread writes, values that carry all they mean. */
static inline uint64_t weir_load_relaxed(const struct weir_atomic_u64 *a)
{
    return __atomic_load_n(&a->value, __ATOMIC_RELAXED);
}

static inline void weir_store_relaxed(struct weir_atomic_u64 *a, uint64_t value)
{
    __atomic_store_n(&a->value, value, __ATOMIC_RELAXED);
}

static inline void weir_store_release(struct weir_atomic_u64 *a, uint64_t value)
{
    __atomic_store_n(&a->value, value, __ATOMIC_RELEASE);
}

static inline uint64_t weir_add_relaxed(struct weir_atomic_u64 *a, uint64_t value)
{
    return __atomic_fetch_add(&a->value, value, __ATOMIC_RELAXED);
}

static inline bool weir_cas_relaxed(struct weir_atomic_u64 *a, uint64_t *expected, uint64_t desired)
{
    return __atomic_compare_exchange_n(&a->value, expected, desired, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

static inline uint64_t weir_add_release(struct weir_atomic_u64 *a, uint64_t value)
{
    return __atomic_fetch_add(&a->value, value, __ATOMIC_RELEASE);
}

static inline uint64_t weir_load_acquire(const struct weir_atomic_u64 *a)
{
    return __atomic_load_n(&a->value, __ATOMIC_ACQUIRE);
}

/* Adding 0 is a look that is also a write: of two calls one sees the other. */
static inline uint64_t weir_add_acq_rel(struct weir_atomic_u64 *a, uint64_t value)
{
    return __atomic_fetch_add(&a->value, value, __ATOMIC_ACQ_REL);
}

/* Returns what was there before. */
static inline uint64_t weir_or_acq_rel(struct weir_atomic_u64 *a, uint64_t bits)
{
    return __atomic_fetch_or(&a->value, bits, __ATOMIC_ACQ_REL);
}

static inline uint64_t weir_and_relaxed(struct weir_atomic_u64 *a, uint64_t bits)
{
    return __atomic_fetch_and(&a->value, bits, __ATOMIC_RELAXED);
}

/* On failure *expected becomes what was there, loaded with acquire. Never fails spuriously. */
static inline bool weir_cas_acq_rel(struct weir_atomic_u64 *a, uint64_t *expected, uint64_t desired)
{
    return __atomic_compare_exchange_n(&a->value, expected, desired, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* Raises a counter to at least `value`. */
static inline void weir_max_relaxed(struct weir_atomic_u64 *a, uint64_t value)
{
    uint64_t seen = weir_load_relaxed(a);
    while (seen < value && !__atomic_compare_exchange_n(&a->value, &seen, value, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

/* The same; who loads the value with acquire sees what came before it was raised. */
static inline void weir_max_release(struct weir_atomic_u64 *a, uint64_t value)
{
    uint64_t seen = weir_load_relaxed(a);
    while (seen < value && !__atomic_compare_exchange_n(&a->value, &seen, value, true,
                                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

/* What the kernel compares before it lets a thread sleep (futex(2)): 32 bits. */
struct weir_atomic_u32 {
    uint32_t value;
};

static inline uint32_t weir_load_acquire_u32(const struct weir_atomic_u32 *a)
{
    return __atomic_load_n(&a->value, __ATOMIC_ACQUIRE);
}

/* Returns what was there before. */
static inline uint32_t weir_exchange_acq_rel_u32(struct weir_atomic_u32 *a, uint32_t value)
{
    return __atomic_exchange_n(&a->value, value, __ATOMIC_ACQ_REL);
}

/* Pointers, of any object type: `slot` is a T ** whose target is only touched through these. */
#define weir_pointer_load_acquire(slot)         __atomic_load_n((slot), __ATOMIC_ACQUIRE)
#define weir_pointer_store_release(slot, value) __atomic_store_n((slot), (value), __ATOMIC_RELEASE)
#define weir_pointer_exchange_acq_rel(slot, value)                                                 \
    __atomic_exchange_n((slot), (value), __ATOMIC_ACQ_REL)
#define weir_pointer_cas_acq_rel(slot, expected, desired)                                          \
    __atomic_compare_exchange_n((slot), (expected), (desired), false, __ATOMIC_ACQ_REL,            \
                                __ATOMIC_ACQUIRE)

/*
 * Between two tries of a compare-and-swap: longer with each loss, up to 64 stalls (about 2 us).
 * ck_backoff_eb doubles up to a million turns of an empty loop; here a lost race is a short one.
 */
static __attribute__((noinline, cold, unused)) void weir_pause(unsigned *losses)
{
    unsigned stalls = 1U << (*losses < 6 ? *losses : 6);
    for (unsigned i = 0; i < stalls; i++)
        ck_pr_stall();
    ++*losses;
}

#endif
