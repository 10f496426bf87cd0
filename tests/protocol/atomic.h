/* SPDX-License-Identifier: MIT */
/*
 * The functions of engine/atomic.h under the model checker Relacy: stands in for that file.
 *
 * Vocabulary: a cell is what the checker knows of one 64-bit word of shared memory: an rl::atomic,
 * and what it is for. A struct weir_atomic_u64 holds the address of its cell and is 8 bytes large
 * as in the engine, so that lines, headers and packed pointers are laid out as they are shipped.
 *
 * What is checked at each access, beside what Relacy itself checks (no read of memory that was
 * never written, or whose writing was not published to the reader)
 *
 *   S3  a slot is given a state only when every other slot of its key is frozen or was never used
 *
 *   S4  a tag that is set stays; a word that is frozen stays
 *
 *   R1  an array that was retired is touched only by calls that had begun before
 *
 *   O2  settings are seen filled in by whoever has their address
 *
 * Statistics do not bear on the protocol: they are plain, so that there is less to try.
 *
 * What is tried is bounded: so many preemptions, and so many delays. A delay is a write that one
 * thread does not see though it was made (in the order in which the checker runs the threads); to
 * go on not seeing it is no further delay.
 *
 * Not modelled: compare-and-swaps that fail for no reason (none of weir's does anything but try
 * again), and loads of values older than the last but one (Relacy's tree search knows no more).
 */
#ifndef WEIR_ATOMIC_H
#define WEIR_ATOMIC_H

#include <relacy/relacy.hpp>

#include <stdbool.h>
#include <stdint.h>

#define WEIR_ALIGN_8    alignas(8)
#define WEIR_ALIGN_LINE alignas(64)

struct weir_atomic_u64 {
    WEIR_ALIGN_8 uint64_t value; /* a cell; or, where it has none, the value */
};

/* Sizes of the engine's that a case may take less of: what the macros below are. */
static unsigned weir_chunk_lines = 16;
static unsigned weir_probe_lines = 64;
static unsigned weir_slots_free = 2;
static unsigned weir_rounds_max = 4;

#define WEIR_CHUNK_LINES (uint64_t)weir_chunk_lines
#define WEIR_PROBE_LINES (uint64_t)weir_probe_lines
#define WEIR_SLOTS_FREE  (uint64_t)weir_slots_free
#define WEIR_ROUNDS_MAX  weir_rounds_max

/* Blocks of 4 lines (1 with slots) to 16. */
#define WEIR_ORDER_MIN       2
#define WEIR_ORDER_MAX       4
#define WEIR_HEADER_LINES    3
#define WEIR_ORDER_COMPACTED 3

/* What a cell is for. */
enum weir_cell_kind { WEIR_CELL_TAG, WEIR_CELL_WORD, WEIR_CELL_OTHER };

struct weir_checked {
    rl::atomic<uint64_t> now;
    weir_cell_kind kind;
    int array; /* number of the array it is in, or -1 */
    int slot;  /* of the array, or -1 */
    const char *name;
    uint64_t latest; /* in modification order */
    unsigned writes;
    unsigned missed[3]; /* by thread: `writes` when it last saw an older value */
};

/* Delays that this execution may still have. */
static unsigned weir_delays_left;

/* What no word of shared memory ever is. */
#define WEIR_NEVER_SEEN ((uint64_t)0x5EED5EED5EED5EED)

/* Thrown out of a thread that stops for ever. */
struct weir_stopped {
};

/* world.h; called after each access, with what was there before and is there now. */
static void weir_checked_access(weir_checked *cell, uint64_t before, uint64_t after, bool writes);
static bool weir_is_plain(const weir_atomic_u64 *a); /* it has no cell */
static void weir_checked_stop();                     /* before each access: may end the thread */
static void weir_checked_trace(const weir_checked *cell, const char *what, rl::memory_order order,
                               uint64_t before, uint64_t after, const char *function,
                               unsigned line);

/* Who accesses: the function and line that call. */
#define WEIR_WHO                                                                                   \
    const char *function = __builtin_FUNCTION(), const char *file = __builtin_FILE(),              \
               unsigned line = __builtin_LINE()
#define WEIR_HERE rl::debug_info(function, file, line)

/* Before each access: another thread may go on here. */
static inline weir_checked *weir_cell_of(const weir_atomic_u64 *a)
{
    weir_checked_stop();
    rl::ctx().sched();
    return reinterpret_cast<weir_checked *>(a->value);
}

static inline uint64_t weir_checked_load(const weir_atomic_u64 *a, rl::memory_order order,
                                         const char *function, const char *file, unsigned line)
{
    if (weir_is_plain(a))
        return a->value;
    weir_checked *cell = weir_cell_of(a);
    rl::preemption_disabler alone(rl::ctx());
    unsigned *missed = &cell->missed[rl::thread_index()];
    uint64_t seen = WEIR_NEVER_SEEN;
    if (weir_delays_left != 0 || *missed == cell->writes)
        seen = cell->now.load(order, WEIR_HERE);
    else /* the latest value, and no other */
        cell->now.compare_exchange_strong(seen, seen, order, WEIR_HERE, order, WEIR_HERE);
    if (seen != cell->latest && *missed != cell->writes) {
        *missed = cell->writes;
        weir_delays_left--;
    }
    weir_checked_trace(cell, "load", order, seen, seen, function, line);
    weir_checked_access(cell, seen, seen, false);
    return seen;
}

static inline void weir_checked_store(weir_atomic_u64 *a, uint64_t value, rl::memory_order order,
                                      const char *function, const char *file, unsigned line)
{
    if (weir_is_plain(a)) {
        a->value = value;
        return;
    }
    weir_checked *cell = weir_cell_of(a);
    rl::preemption_disabler alone(rl::ctx());
    cell->now.store(value, order, WEIR_HERE);
    weir_checked_trace(cell, "store", order, cell->latest, value, function, line);
    weir_checked_access(cell, cell->latest, value, true);
}

static inline uint64_t weir_checked_add(weir_atomic_u64 *a, uint64_t value, rl::memory_order order,
                                        const char *function, const char *file, unsigned line)
{
    if (weir_is_plain(a))
        return (a->value += value) - value;
    weir_checked *cell = weir_cell_of(a);
    rl::preemption_disabler alone(rl::ctx());
    uint64_t before = cell->now.fetch_add(value, order, WEIR_HERE);
    weir_checked_trace(cell, "add", order, before, before + value, function, line);
    weir_checked_access(cell, before, before + value, true);
    return before;
}

static inline uint64_t weir_checked_or(weir_atomic_u64 *a, uint64_t bits, rl::memory_order order,
                                       const char *function, const char *file, unsigned line)
{
    if (weir_is_plain(a)) {
        uint64_t before = a->value;
        a->value |= bits;
        return before;
    }
    weir_checked *cell = weir_cell_of(a);
    rl::preemption_disabler alone(rl::ctx());
    uint64_t before = cell->now.fetch_or(bits, order, WEIR_HERE);
    weir_checked_trace(cell, "or", order, before, before | bits, function, line);
    weir_checked_access(cell, before, before | bits, true);
    return before;
}

static inline uint64_t weir_checked_and(weir_atomic_u64 *a, uint64_t bits, rl::memory_order order,
                                        const char *function, const char *file, unsigned line)
{
    weir_checked *cell = weir_cell_of(a);
    rl::preemption_disabler alone(rl::ctx());
    uint64_t before = cell->now.fetch_and(bits, order, WEIR_HERE);
    weir_checked_trace(cell, "and", order, before, before & bits, function, line);
    weir_checked_access(cell, before, before & bits, true);
    return before;
}

static inline bool weir_checked_cas(weir_atomic_u64 *a, uint64_t *expected, uint64_t desired,
                                    rl::memory_order order, rl::memory_order otherwise,
                                    const char *function, const char *file, unsigned line)
{
    if (weir_is_plain(a)) {
        bool same = a->value == *expected;
        if (same)
            a->value = desired;
        else
            *expected = a->value;
        return same;
    }
    weir_checked *cell = weir_cell_of(a);
    rl::preemption_disabler alone(rl::ctx());
    uint64_t before = *expected;
    bool done = cell->now.compare_exchange_strong(*expected, desired, order, WEIR_HERE, otherwise,
                                                  WEIR_HERE);
    if (!done)
        before = *expected;
    weir_checked_trace(cell, done ? "cas" : "cas fails", order, before, done ? desired : before,
                       function, line);
    weir_checked_access(cell, before, done ? desired : before, done);
    return done;
}

static inline uint64_t weir_load_relaxed(const weir_atomic_u64 *a, WEIR_WHO)
{
    return weir_checked_load(a, rl::mo_relaxed, function, file, line);
}

static inline void weir_store_relaxed(weir_atomic_u64 *a, uint64_t value, WEIR_WHO)
{
    weir_checked_store(a, value, rl::mo_relaxed, function, file, line);
}

static inline uint64_t weir_add_relaxed(weir_atomic_u64 *a, uint64_t value, WEIR_WHO)
{
    return weir_checked_add(a, value, rl::mo_relaxed, function, file, line);
}

static inline bool weir_cas_relaxed(weir_atomic_u64 *a, uint64_t *expected, uint64_t desired,
                                    WEIR_WHO)
{
    return weir_checked_cas(a, expected, desired, rl::mo_relaxed, rl::mo_relaxed, function, file,
                            line);
}

static inline uint64_t weir_add_release(weir_atomic_u64 *a, uint64_t value, WEIR_WHO)
{
    return weir_checked_add(a, value, rl::mo_release, function, file, line);
}

static inline void weir_store_release(weir_atomic_u64 *a, uint64_t value, WEIR_WHO)
{
    weir_checked_store(a, value, rl::mo_release, function, file, line);
}

static inline uint64_t weir_add_acq_rel(weir_atomic_u64 *a, uint64_t value, WEIR_WHO)
{
    return weir_checked_add(a, value, rl::mo_acq_rel, function, file, line);
}

static inline uint64_t weir_load_acquire(const weir_atomic_u64 *a, WEIR_WHO)
{
    return weir_checked_load(a, rl::mo_acquire, function, file, line);
}

static inline uint64_t weir_or_acq_rel(weir_atomic_u64 *a, uint64_t bits, WEIR_WHO)
{
    return weir_checked_or(a, bits, rl::mo_acq_rel, function, file, line);
}

static inline uint64_t weir_and_relaxed(weir_atomic_u64 *a, uint64_t bits, WEIR_WHO)
{
    return weir_checked_and(a, bits, rl::mo_relaxed, function, file, line);
}

/* Not of the engine: for removals, which show what its orders are for. */
static inline uint64_t weir_or_relaxed(weir_atomic_u64 *a, uint64_t bits, WEIR_WHO)
{
    return weir_checked_or(a, bits, rl::mo_relaxed, function, file, line);
}

static inline bool weir_cas_acq_rel(weir_atomic_u64 *a, uint64_t *expected, uint64_t desired,
                                    WEIR_WHO)
{
    return weir_checked_cas(a, expected, desired, rl::mo_acq_rel, rl::mo_acquire, function, file,
                            line);
}

static inline void weir_max_relaxed(weir_atomic_u64 *a, uint64_t value, WEIR_WHO)
{
    uint64_t seen = weir_checked_load(a, rl::mo_relaxed, function, file, line);
    while (seen < value && !weir_checked_cas(a, &seen, value, rl::mo_relaxed, rl::mo_relaxed,
                                             function, file, line)) {}
}

static inline void weir_max_release(weir_atomic_u64 *a, uint64_t value, WEIR_WHO)
{
    uint64_t seen = weir_checked_load(a, rl::mo_relaxed, function, file, line);
    while (seen < value && !weir_checked_cas(a, &seen, value, rl::mo_release, rl::mo_relaxed,
                                             function, file, line)) {}
}

/* Pointers: of the ones that change there is one cell each, found by its address. */
static weir_atomic_u64 *weir_checked_pointer(const void *slot); /* world.h; NULL: never changes */
static void weir_checked_target(uint64_t address);              /* whoever got it looks at it */

template <typename T>
static inline T *weir_checked_pointer_load(T *const *slot, rl::memory_order order, WEIR_WHO)
{
    weir_atomic_u64 *a = weir_checked_pointer(slot);
    if (a == NULL)
        return *slot;
    uint64_t value = weir_checked_load(a, order, function, file, line);
    weir_checked_target(value);
    return reinterpret_cast<T *>(value);
}

template <typename T>
static inline void weir_checked_pointer_store(T **slot, T *value, rl::memory_order order, WEIR_WHO)
{
    weir_atomic_u64 *a = weir_checked_pointer(slot);
    if (a == NULL)
        *slot = value;
    else
        weir_checked_store(a, reinterpret_cast<uint64_t>(value), order, function, file, line);
}

template <typename T>
static inline bool weir_checked_pointer_cas(T **slot, T **expected, T *desired,
                                            rl::memory_order order, rl::memory_order otherwise,
                                            WEIR_WHO)
{
    uint64_t value = reinterpret_cast<uint64_t>(*expected);
    bool done =
        weir_checked_cas(weir_checked_pointer(slot), &value, reinterpret_cast<uint64_t>(desired),
                         order, otherwise, function, file, line);
    *expected = reinterpret_cast<T *>(value);
    return done;
}

#define weir_pointer_load_acquire(slot) weir_checked_pointer_load((slot), rl::mo_acquire)
#define weir_pointer_store_release(slot, value)                                                    \
    weir_checked_pointer_store((slot), (value), rl::mo_release)
#define weir_pointer_cas_acq_rel(slot, expected, desired)                                          \
    weir_checked_pointer_cas((slot), (expected), (desired), rl::mo_acq_rel, rl::mo_acquire)

/* Not of the engine, see above. */
#define weir_pointer_load_relaxed(slot) weir_checked_pointer_load((slot), rl::mo_relaxed)
#define weir_pointer_cas_relaxed(slot, expected, desired)                                          \
    weir_checked_pointer_cas((slot), (expected), (desired), rl::mo_relaxed, rl::mo_relaxed)

static inline void weir_pause(unsigned *losses)
{
    ++*losses;
}

#endif
