/* SPDX-License-Identifier: MIT */
/*
 * Doing something only sometimes: the first times, every so often, and after a while.
 *
 * A call is numbered, from 0 on, and told to if
 *   number == 0  or  number < first  or  number is a multiple of `every`       (by its number)
 *   or `interval` has passed since it was last done, for whichever reason      (by the time)
 *
 * One thread gets exactly that. With several
 *   O1  What is told by number is exact: each number is given out once, whoever it falls to.
 *   O2  Of those told by the time, each one's instant is at least an interval after that of the
 *       one before it, and of every one by number that had returned: they change `last` from what
 *       they have seen. N calls at one instant, with an interval alone, are told once.
 *   P1  Lock-free: a compare-and-swap that fails has seen a later instant, and most often ends with
 *       that. A thread that stops holds up nobody.
 * Not guaranteed: that a call told by number while others decide is seen by these. It counts as
 * done when it has set `last`; what they were told may be less than an interval away from it.
 *
 * Call 0 may still be on its way to `last` when others find it unset. They are not told, and set it
 * for that call, to their own instant: should its thread stop there, the time goes on all the same.
 *
 * Relaxed orders: a number means all it says, and so does an instant. What is done sometimes orders
 * its own accesses. After 2^64 calls the numbers begin again, with what that means.
 */
#include "export.h"

#include "atomic.h"

/* The public words are 8 bytes of the same layout. */
static inline struct weir_atomic_u64 *atomic_of(uint64_t *word)
{
    return (struct weir_atomic_u64 *)(void *)word;
}

static bool is_due_by_number(const struct weir_sometimes *s, uint64_t number)
{
    return number == 0 || number < s->first || (s->every > 0 && number % s->every == 0);
}

/* Whether this call, and no other, is the next one after an interval. `stamp`: now + 1. */
static bool is_due_by_time(struct weir_atomic_u64 *last, weir_ns interval, uint64_t stamp)
{
    uint64_t seen = weir_load_relaxed(last);
    while (seen == 0 || (stamp > seen && stamp - seen >= interval))
        if (weir_cas_relaxed(last, &seen, stamp))
            return seen != 0;
    return false;
}

bool weir_sometimes(struct weir_sometimes *s, weir_ns now)
{
    if (s == NULL)
        return false;
    uint64_t stamp = (now < INT64_MAX ? now : INT64_MAX) + 1;
    uint64_t number = weir_add_relaxed(atomic_of(&s->count), 1);
    bool due = is_due_by_number(s, number);
    if (s->interval == 0)
        return due;
    struct weir_atomic_u64 *last = atomic_of(&s->last);
    if (due)
        weir_max_relaxed(last, stamp);
    else
        due = is_due_by_time(last, s->interval, stamp);
    return due;
}
