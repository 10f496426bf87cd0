/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for permits, first come first served per key of a limit.
 *
 * What a permit is, and whether one is free, is the host's: it lives in words that this file never
 * sees, and is asked about through callbacks. Here is only who waits, in which order, and who is
 * woken.
 *
 *   wanted   what a thread waits for, and how to take it
 *   waiter   a thread that waits: a node on its own stack
 *   queue    the waiters of one key of a limit, in the order of their arrival
 *   first    the waiter at the head of a queue: the only one that tries, and that is ever woken
 *   free     (verb) whatever may let a try succeed, or fail for good: giving permits back, another
 *            balance or limit, removal; the host then kicks
 *   bucket   the queues whose limit and key mix to the same number, one cache line
 *
 *   bucket: lock | first -> A1 -> A2 -> A3      of one key, by `next`
 *         count 5  other |
 *                        B1 -> B2               of another key
 *
 * How to use it: weir_waiters_wait returns when wanted.try has granted (0), and then the permits
 * are the caller's. Whoever frees does so first and then calls weir_waiters_kick.
 *
 * Guarantees
 *   O1  Who finds others of its key waiting does not try before they have left. The first keeps its
 *       place until it leaves: granted, timed out, interrupted or with an error. A try from outside
 *       may overtake the first, but nobody who waits here.
 *   O2  No wake-up is lost: after a free, and the kick that follows it, either the first waiter
 *       tries later than the free, or fits() said, later than the free, that it would be in vain.
 *       What made that no longer true is another free, with a kick of its own.
 *   O3  Who leaves hands on: if it was the first, the next one is asked for as by a kick.
 *   S1  A waiter that has left is in no queue, and no wake-up is spent on it.
 *   P1  No herd: a kick wakes at most one thread, a leave too. A waiter is woken again only after
 *       it tried in vain: wake-ups <= waiters that left + tries in vain after one.
 *   P2  No call sleeps but weir_waiters_wait, which sleeps without the lock. The lock is held for a
 *       look through the keys of a bucket (not their waiters), one fits() and no system call;
 *       weir_waiters_kick_limit alone wakes with it.
 *
 * Why O2 holds. The words that permits live in are the host's, changed by compare-and-swaps whose
 * orders do not matter here. A kick *adds 0* to the count of its bucket, a waiter adds 1 once it is
 * in its queue. Both are acq_rel, and the count is changed by read-modify-writes alone, of which
 * each reads what the one before it wrote. So, of a kick and a waiter's add,
 *   - if the kick comes later, it reads a count that has the waiter in it. It takes the lock, which
 *     the waiter held when it added, and finds the queue as it was then, or newer.
 *   - if the kick comes earlier, the add reads what it wrote, or what other adds made of that (its
 *     release sequence): its release happens before the add's acquire, hence the free, which is
 *     before the kick, before the try, which is after the add. The try sees the free.
 * A mere load by the kick would not do, seq_cst or not: C11 orders it behind the free, and the try
 * behind the add, only if the words' accesses are seq_cst as well, or with fences between.
 *
 * A kick that finds a first waiter asks fits(), which is after the free. If it fits, the kick
 * exchanges the waiter's state for WOKEN; a waiter that has tried in vain exchanges it for ASLEEP
 * and tries once more. The later exchange reads the earlier one's value:
 *   - the kick's is later: it reads ASLEEP and wakes. A thread that is only about to sleep does
 *     not: the kernel compares the state.
 *   - the waiter's is later: the free happens before its second try.
 *   - the waiter does not try any more, but leaves: that takes the lock after the kick, and so asks
 *     fits() about the next waiter after the free.
 * The same for a waiter that is not the first when it is queued: it does not try, but whoever is
 * before it takes the lock after its add to leave, and fits() is asked then, in place of the try.
 *
 * Not guaranteed: anything about the order between a thread that finds no waiters and one that is
 * queued at that moment. A signal handler that runs before the wait has begun interrupts nothing.
 */
#ifndef WEIR_WAITERS_H
#define WEIR_WAITERS_H

#include "export.h"

#include "atomic.h"

#include <pthread.h>
#include <stddef.h>

#define WEIR_WAITER_BUCKETS_LOG2 6
#define WEIR_WAITER_BUCKETS      (1U << WEIR_WAITER_BUCKETS_LOG2)

/* What a waiter wants. Lives as long as the wait. */
struct weir_wanted {
    unsigned limit;
    weir_key key;
    uint64_t n;
    /* Takes it, if it can be had. Called by the waiter itself, without a lock: > 0 granted, 0 not
       now, < 0 a negative errno to leave with. */
    int (*try)(void *context);
    void *context;
    /* Whether a try would come to something: be granted, or fail for good. Called by any thread,
       beside a try too, with the lock of a bucket: cheap, and calls nothing of this file. May enter
       a read section. */
    bool (*fits)(void *host, unsigned limit, weir_key key, uint64_t n);
    void *host;
};

struct weir_waiter;

/* count == waiters in all queues of the bucket, when the lock is free. Written by every kick: not
   beside anything that other calls read. */
struct weir_waiter_bucket {
    WEIR_ALIGN_LINE pthread_mutex_t lock;
    struct weir_waiter *first; /* lock; of one key; the others follow by `other` */
    struct weir_atomic_u64 count;
};
_Static_assert(sizeof(struct weir_waiter_bucket) == 64, "a bucket is one cache line");

struct weir_waiters {
    struct weir_waiter_bucket buckets[WEIR_WAITER_BUCKETS];
    struct weir_atomic_u64 wakes; /* threads woken so far, by any call */
};

/* NULL: no memory. */
struct weir_waiters *weir_waiters_open(void);

/* Nobody waits, and no other call runs or comes. NULL does nothing. */
void weir_waiters_close(struct weir_waiters *w);

/*
 * Waits until wanted->try grants. Without others of its key in a queue it tries at once, whatever
 * the deadline. Deadline: an instant on `clock`, NULL = CLOCK_MONOTONIC; WEIR_FOREVER = none. With
 * a clock of the host's own the thread looks at it once in a millisecond, of real time, or more
 * often. Not from inside a read section, nor with a lock that try, fits or a kick may wait for.
 * errno stays. Returns
 *   0           granted
 *   -ETIMEDOUT  the deadline has passed
 *   -EINTR      a signal handler ran while it slept, one with SA_RESTART too
 *   or what try returned below 0
 */
WEIR_MUST_USE int weir_waiters_wait(struct weir_waiters *w, const struct weir_wanted *wanted,
                                    weir_ns (*clock)(void *context), void *clock_context,
                                    weir_ns deadline);

/* Every key of a limit: wakes the first of each queue, whether or not it fits. For limits that were
   changed or removed. */
void weir_waiters_kick_limit(struct weir_waiters *w, unsigned limit);

/* In the child of a fork: the threads that waited do not exist. Whatever the buckets were in the
   middle of is forgotten. */
void weir_waiters_reset_in_child(struct weir_waiters *w);

/* Whether all queues are linked and counted as they should be. Takes the locks. */
bool weir_waiters_is_valid(struct weir_waiters *w);

/* ---- of a kick, inline: mostly nobody waits ---- */

/* Keys are hash bits, but those that a caller makes may not be as good: the product's high bits
   depend on all lower ones. */
static inline struct weir_waiter_bucket *weir_waiters_bucket(struct weir_waiters *w, unsigned limit,
                                                             weir_key key)
{
    uint64_t mixed = (key.low + limit) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = ((mixed >> 32) ^ mixed ^ key.high) * UINT64_C(0xd6e8feb86659fd93);
    return &w->buckets[mixed >> (64 - WEIR_WAITER_BUCKETS_LOG2)];
}

/* Somebody waits in this bucket. */
void weir_waiters_kick_bucket(struct weir_waiters *w, struct weir_waiter_bucket *b, unsigned limit,
                              weir_key key);

/* After a free: wakes the first waiter of this key if it fits. No lock is held that fits may wait
   for; errno stays. Acquire and release: see O2. */
static inline void weir_waiters_kick(struct weir_waiters *w, unsigned limit, weir_key key)
{
    struct weir_waiter_bucket *b = weir_waiters_bucket(w, limit, key);
    if (__builtin_expect(weir_add_acq_rel(&b->count, 0) != 0, 0))
        weir_waiters_kick_bucket(w, b, limit, key);
}

#endif
