/* SPDX-License-Identifier: MIT */
/*
 * What the tests of permits share: a limit with a key that is waited for, and threads that wait for
 * it.
 *
 * A wake-up that gets lost shows as a test that does not end.
 */
#ifndef WEIR_TESTS_PERMITS_H
#define WEIR_TESTS_PERMITS_H

#include "../support.h"

#include <errno.h>
#include <sched.h>

#define THREADS 8
#define T0      WEIR_HOUR

/* One limit, and the key that is waited for. */
struct scene {
    struct weir *w;
    int limit;
    weir_key key;
    _Atomic weir_ns now; /* of a clock that stands still; 0: the real one */
};

static inline weir_ns still_clock(void *context)
{
    return ((struct scene *)context)->now;
}

static inline int no_sleep(void *context, weir_ns instant)
{
    (void)context;
    (void)instant;
    return 0;
}

static inline void open_scene(struct scene *s, uint64_t permits)
{
    const struct weir_options options = {
        .max_keys = 64, .clock = still_clock, .sleep_until = no_sleep, .clock_context = s};
    s->now = T0;
    s->w = open_engine(&options);
    s->limit = add_limit(s->w, "a", weir_concurrency(permits));
    s->key = weir_key_u64(s->w, 1);
}

static inline uint64_t in_use(const struct scene *s)
{
    uint64_t n = UINT64_MAX;
    assert_int_equal(weir_in_use(s->w, s->limit, s->key, &n, NULL), 0);
    return n;
}

/* Threads that wait for the key, or one that hashes alike. */
static inline uint64_t waiting(const struct scene *s)
{
    return weir_load_acquire(
        &weir_waiters_bucket(s->w->waiters, (unsigned)s->limit, s->key)->count);
}

static inline void acquire(struct scene *s, uint64_t n, struct weir_permit *out)
{
    assert_int_equal(weir_acquire(s->w, s->limit, s->key, n, out).verdict, WEIR_ALLOWED);
    assert_int_equal(out->n, n);
}

static inline void set_permits(struct scene *s, uint64_t permits)
{
    struct weir_policy policy = weir_concurrency(permits);
    assert_int_equal(weir_set_limit(s->w, s->limit, &policy, T0), 0);
}

/* Nobody waits, nothing is in use, and all that there is can be had. */
static inline void end_scene(struct scene *s, uint64_t permits)
{
    struct weir_permit all;
    assert_int_equal(waiting(s), 0);
    assert_int_equal(in_use(s), 0);
    acquire(s, permits, &all);
    assert_int_equal(weir_release(s->w, &all), 0);
    weir_close(s->w);
}

/* ---- a thread that waits ---- */

struct waiter {
    struct scene *s;
    uint64_t n;
    weir_ns deadline;
    pthread_t thread;
    struct weir_permit permit;
    int got;
    struct weir_atomic_u64 ended;
};

static inline void *wait_in_thread(void *context)
{
    struct waiter *a = context;
    struct scene *s = a->s;
    a->got = weir_acquire_wait(s->w, s->limit, s->key, a->n, a->deadline, &a->permit);
    weir_store_release(&a->ended, 1);
    return NULL;
}

/* Returns when it stands in line. */
static inline void start(struct waiter *a, struct scene *s, uint64_t n, weir_ns deadline)
{
    uint64_t before = waiting(s);
    *a = (struct waiter){.s = s, .n = n, .deadline = deadline};
    assert_int_equal(pthread_create(&a->thread, NULL, wait_in_thread, a), 0);
    while (waiting(s) != before + 1)
        sched_yield();
}

static inline bool has_ended(const struct waiter *a)
{
    return weir_load_acquire(&a->ended) != 0;
}

/* Joins it, and looks at what it has come to. */
static inline void assert_got(struct waiter *a, int got)
{
    assert_int_equal(pthread_join(a->thread, NULL), 0);
    assert_int_equal(a->got, got);
    assert_int_equal(a->permit.n, got == 0 ? a->n : 0);
    assert_int_equal(weir_release(a->s->w, got == 0 ? NULL : &a->permit), -EINVAL);
}

static inline void release(struct waiter *a)
{
    assert_int_equal(weir_release(a->s->w, &a->permit), 0);
}

#endif
