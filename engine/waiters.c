/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for permits: their queues, their sleep, and who is woken (waiters.h).
 *
 * A waiter is touched by others only with the lock of its bucket, and leaves its queue with it: its
 * stack is there as long as anybody looks. The kernel is told after the lock was given back, so
 * that who is woken does not run into it. By then the waiter may have left, and its stack be
 * something else: the kernel only compares addresses, and a thread that sleeps on that very address
 * for another reason sees a spurious wake-up, as every user of futexes must expect anyway.
 */
#include "waiters.h"

#include "check.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A host's own clock may stand still, or jump: it is looked at so often, in real time. */
#define SLICE WEIR_MILLISECOND

/* In 292 years, as far as the kernel counts. */
#define NEVER ((weir_ns)INT64_MAX)

/* Of a waiter. WOKEN: it will try, later than whoever said so; what the kernel compares. */
enum { ASLEEP, WOKEN };

/*
 * One thread that waits, on its stack. `state` is the waiter's and, with the lock, everybody's; the
 * links are the lock's. Only the first of a queue has `last`, `other` and `link`:
 *   previous == NULL <=> first of its queue <=> *link == this
 *   next == NULL     <=> last of its queue  <=> the first's `last` == this
 */
struct weir_waiter {
    const struct weir_wanted *wanted;
    struct weir_waiter *next, *previous; /* of the same key, in order of arrival */
    struct weir_waiter *last;
    struct weir_waiter *other, **link; /* firsts of other keys of the bucket */
    struct weir_atomic_u32 state;
};

/* ---- the kernel ---- */

_Static_assert(sizeof(time_t) == sizeof(long), "the system call reads the library's timespec");

/* Sleeps while the state is ASLEEP, until an instant on CLOCK_MONOTONIC, for any reason or none.
   -EINTR: a signal handler ran. The timeout is there even if it never comes: without one the kernel
   would go on with the wait after a handler with SA_RESTART, and with one it never does. */
static int sleep_while_asleep(const struct weir_atomic_u32 *state, weir_ns until)
{
    weir_ns instant = until < NEVER ? until : NEVER;
    const struct timespec timeout = {(time_t)(instant / WEIR_SECOND),
                                     (long)(instant % WEIR_SECOND)};
    long error = syscall(SYS_futex, &state->value, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, ASLEEP,
                         &timeout, NULL, FUTEX_BITSET_MATCH_ANY);
    return error == 0 ? 0 : -errno;
}

/* NULL: there is nobody to wake. */
static void wake(const struct weir_atomic_u32 *state)
{
    if (state != NULL)
        (void)syscall(SYS_futex, &state->value, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

/* ---- queues; all with the lock ---- */

static bool is_of(const struct weir_waiter *waiter, unsigned limit, weir_key key)
{
    const struct weir_wanted *wanted = waiter->wanted;
    return wanted->limit == limit && wanted->key.low == key.low && wanted->key.high == key.high;
}

/* NULL: nobody waits for this key. */
static struct weir_waiter *first_of(const struct weir_waiter_bucket *b, unsigned limit,
                                    weir_key key)
{
    struct weir_waiter *first = b->first;
    while (first != NULL && !is_of(first, limit, key))
        first = first->other;
    return first;
}

static bool bucket_is_valid(const struct weir_waiter_bucket *b)
{
    uint64_t count = 0;
    struct weir_waiter *const *link = &b->first;
    for (const struct weir_waiter *first = b->first; first != NULL; first = first->other) {
        const struct weir_waiter *last = NULL;
        for (const struct weir_waiter *at = first; at != NULL; last = at, at = at->next, count++)
            if (at->previous != last || !is_of(at, first->wanted->limit, first->wanted->key))
                return false;
        if (first->link != link || first->last != last ||
            first_of(b, first->wanted->limit, first->wanted->key) != first)
            return false;
        link = &first->other;
    }
    return count == weir_load_relaxed(&b->count);
}

/* Makes a waiter the first of its queue, at this place among those of other keys. */
static void put_first(struct weir_waiter *waiter, struct weir_waiter **link,
                      struct weir_waiter *other)
{
    waiter->previous = NULL;
    waiter->other = other;
    waiter->link = link;
    *link = waiter;
    if (other != NULL)
        other->link = &waiter->other;
}

/* Whether it is the first of its queue. */
static bool put_last(struct weir_waiter_bucket *b, struct weir_waiter *waiter)
{
    struct weir_waiter *first = first_of(b, waiter->wanted->limit, waiter->wanted->key);
    if (first == NULL) {
        put_first(waiter, &b->first, b->first);
        waiter->last = waiter;
    } else {
        waiter->previous = first->last;
        first->last->next = waiter;
        first->last = waiter;
    }
    return first == NULL;
}

/* The waiter that is the first of the queue from now on; NULL: none is, or the same as before. */
static struct weir_waiter *take_out(struct weir_waiter_bucket *b, struct weir_waiter *waiter)
{
    struct weir_waiter *next = waiter->next, *previous = waiter->previous;
    if (previous != NULL) {
        previous->next = next;
        if (next != NULL)
            next->previous = previous;
        else
            first_of(b, waiter->wanted->limit, waiter->wanted->key)->last = previous;
        return NULL;
    }
    if (next != NULL) {
        next->last = waiter->last;
        put_first(next, waiter->link, waiter->other);
    } else {
        *waiter->link = waiter->other;
        if (waiter->other != NULL)
            waiter->other->link = waiter->link;
    }
    return next;
}

/* What to wake; NULL: it was woken before, and has not tried in vain since. Acquire and release:
   pairs with the exchange in wait_in_line, see O2. */
static const struct weir_atomic_u32 *rouse(struct weir_waiters *w, struct weir_waiter *first)
{
    if (weir_exchange_acq_rel_u32(&first->state, WOKEN) == WOKEN)
        return NULL;
    weir_add_relaxed(&w->wakes, 1);
    return &first->state;
}

static const struct weir_atomic_u32 *rouse_if_it_fits(struct weir_waiters *w,
                                                      struct weir_waiter *first)
{
    if (first == NULL)
        return NULL;
    const struct weir_wanted *wanted = first->wanted;
    if (!wanted->fits(wanted->host, wanted->limit, wanted->key, wanted->n))
        return NULL;
    return rouse(w, first);
}

/* ---- waiting ---- */

/* Release and acquire: pairs with the look of weir_waiters_kick, see O2. */
static bool arrive(struct weir_waiter_bucket *b, struct weir_waiter *waiter)
{
    pthread_mutex_lock(&b->lock);
    bool first = put_last(b, waiter);
    weir_add_acq_rel(&b->count, 1);
    pthread_mutex_unlock(&b->lock);
    return first;
}

/* Relaxed: a kick that reads the lower count has nothing to find of who has left, and the release
   sequences of O2 go on through every read-modify-write. */
static void leave(struct weir_waiters *w, struct weir_waiter_bucket *b, struct weir_waiter *waiter)
{
    pthread_mutex_lock(&b->lock);
    weir_assert(weir_load_relaxed(&b->count) > 0);
    struct weir_waiter *next = take_out(b, waiter);
    weir_add_relaxed(&b->count, UINT64_MAX);
    const struct weir_atomic_u32 *woken = rouse_if_it_fits(w, next);
    pthread_mutex_unlock(&b->lock);
    wake(woken);
}

struct until {
    weir_ns (*clock)(void *context); /* NULL: CLOCK_MONOTONIC */
    void *context;
    weir_ns deadline;
};

/* How much of the time is left; 0: none. */
static weir_ns left_until(const struct until *until)
{
    if (until->deadline == WEIR_FOREVER)
        return WEIR_FOREVER;
    weir_ns now = until->clock != NULL ? until->clock(until->context) : weir_now();
    return now < until->deadline ? until->deadline - now : 0;
}

/* 0: woken. -ETIMEDOUT, -EINTR. What the kernel says of the time is a hint, the clock decides. */
static int sleep_until_woken(const struct weir_waiter *waiter, const struct until *until)
{
    while (weir_load_acquire_u32(&waiter->state) != WOKEN) {
        weir_ns left = left_until(until), instant = until->deadline;
        if (left == 0)
            return -ETIMEDOUT;
        if (left != WEIR_FOREVER && until->clock != NULL)
            instant = weir_now() + (left < SLICE ? left : SLICE);
        if (sleep_while_asleep(&waiter->state, instant) == -EINTR)
            return -EINTR;
    }
    return 0;
}

/*
 * As a try. While WOKEN, kicks let the waiter alone: it has yet to try. Who tried in vain (it was
 * overtaken from outside) has to try again after it said so.
 */
static int wait_in_line(struct weir_waiters *w, struct weir_waiter_bucket *b,
                        const struct weir_wanted *wanted, const struct until *until)
{
    struct weir_waiter waiter = {.wanted = wanted, .state = {ASLEEP}};
    int got = arrive(b, &waiter) ? wanted->try(wanted->context) : 0;
    while (got == 0) {
        got = sleep_until_woken(&waiter, until);
        if (got != 0)
            break;
        got = wanted->try(wanted->context);
        if (got == 0) {
            weir_exchange_acq_rel_u32(&waiter.state, ASLEEP);
            got = wanted->try(wanted->context);
        }
    }
    leave(w, b, &waiter);
    return got;
}

/* Relaxed: who was queued in a way that the caller can know of is counted. */
static bool somebody_waits(struct weir_waiter_bucket *b, const struct weir_wanted *wanted)
{
    if (weir_load_relaxed(&b->count) == 0)
        return false;
    pthread_mutex_lock(&b->lock);
    bool found = first_of(b, wanted->limit, wanted->key) != NULL;
    pthread_mutex_unlock(&b->lock);
    return found;
}

int weir_waiters_wait(struct weir_waiters *w, const struct weir_wanted *wanted,
                      weir_ns (*clock)(void *context), void *clock_context, weir_ns deadline)
{
    int saved = errno;
    const struct until until = {clock, clock_context, deadline};
    struct weir_waiter_bucket *b = weir_waiters_bucket(w, wanted->limit, wanted->key);
    int got = somebody_waits(b, wanted) ? 0 : wanted->try(wanted->context);
    if (got == 0)
        got = left_until(&until) > 0 ? wait_in_line(w, b, wanted, &until) : -ETIMEDOUT;
    errno = saved;
    return got > 0 ? 0 : got;
}

/* ---- waking ---- */

void weir_waiters_kick_bucket(struct weir_waiters *w, struct weir_waiter_bucket *b, unsigned limit,
                              weir_key key)
{
    int saved = errno;
    pthread_mutex_lock(&b->lock);
    const struct weir_atomic_u32 *woken = rouse_if_it_fits(w, first_of(b, limit, key));
    pthread_mutex_unlock(&b->lock);
    wake(woken);
    errno = saved;
}

/* Told with the lock: there may be any number of them, and room for none. */
void weir_waiters_kick_limit(struct weir_waiters *w, unsigned limit)
{
    int saved = errno;
    for (unsigned i = 0; i < WEIR_WAITER_BUCKETS; i++) {
        struct weir_waiter_bucket *b = &w->buckets[i];
        if (weir_add_acq_rel(&b->count, 0) == 0)
            continue;
        pthread_mutex_lock(&b->lock);
        for (struct weir_waiter *first = b->first; first != NULL; first = first->other)
            if (first->wanted->limit == limit)
                wake(rouse(w, first));
        pthread_mutex_unlock(&b->lock);
    }
    errno = saved;
}

/* ---- all of them ---- */

/* Default mutexes need nothing that could fail. */
static void start(struct weir_waiters *w)
{
    for (unsigned i = 0; i < WEIR_WAITER_BUCKETS; i++) {
        pthread_mutex_init(&w->buckets[i].lock, NULL);
        w->buckets[i].first = NULL;
        weir_store_relaxed(&w->buckets[i].count, 0);
    }
    weir_store_relaxed(&w->wakes, 0);
}

struct weir_waiters *weir_waiters_open(void)
{
    struct weir_waiters *w = aligned_alloc(_Alignof(struct weir_waiters), sizeof *w);
    if (w != NULL)
        start(w);
    return w;
}

void weir_waiters_close(struct weir_waiters *w)
{
    if (w == NULL)
        return;
    for (unsigned i = 0; i < WEIR_WAITER_BUCKETS; i++) {
        weir_assert(w->buckets[i].first == NULL);
        pthread_mutex_destroy(&w->buckets[i].lock);
    }
    free(w);
}

/* A lock that a vanished thread held cannot be given back: it begins anew. */
void weir_waiters_reset_in_child(struct weir_waiters *w)
{
    start(w);
}

bool weir_waiters_is_valid(struct weir_waiters *w)
{
    for (unsigned i = 0; i < WEIR_WAITER_BUCKETS; i++) {
        struct weir_waiter_bucket *b = &w->buckets[i];
        pthread_mutex_lock(&b->lock);
        bool valid = bucket_is_valid(b);
        pthread_mutex_unlock(&b->lock);
        if (!valid)
            return false;
    }
    return true;
}
