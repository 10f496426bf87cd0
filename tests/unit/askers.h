/* SPDX-License-Identifier: MIT */
/*
 * What the tests of waiters share: permits, and threads that ask for them and wait.
 *
 * The permits are a number; what a try does beyond taking them is each test's own. Wake-ups are
 * counted by the queues themselves, so a test can tell that nobody was woken without waiting to see
 * that nothing happens.
 */
#ifndef WEIR_TESTS_ASKERS_H
#define WEIR_TESTS_ASKERS_H

#include "../support.h"

#include "rcu.h"
#include "waiters.h"

#include <stdatomic.h>
#include <unistd.h>

#define LIMIT   7U
#define PATIENT (60 * WEIR_SECOND) /* nothing takes so long, and whatever hangs is found */

/* Waits, in the thread of the test, until something is so. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        weir_ns until = weir_now() + PATIENT;                                                      \
        while (!(condition)) {                                                                     \
            if (weir_now() >= until)                                                               \
                fail_msg("never: %s", #condition);                                                 \
            usleep(50);                                                                            \
        }                                                                                          \
    } while (0)

/* ---- permits, as a host would have them ---- */

struct permits {
    struct weir_waiters *waiters;
    unsigned limit;
    weir_key key;
    struct weir_atomic_u64 free;
    struct weir_atomic_u64 removed;
    atomic_uint mistakes; /* questions about another key */
};

static inline struct weir_waiters *open_waiters(void)
{
    struct weir_waiters *w = weir_waiters_open();
    assert_non_null(w);
    assert_true(weir_waiters_is_valid(w));
    return w;
}

static inline struct permits permits_of(struct weir_waiters *w, weir_key key, uint64_t free)
{
    return (struct permits){.waiters = w, .limit = LIMIT, .key = key, .free = {free}};
}

static inline bool take(struct permits *p, uint64_t n)
{
    uint64_t free = weir_load_acquire(&p->free);
    while (free >= n)
        if (weir_cas_acq_rel(&p->free, &free, free - n))
            return true;
    return false;
}

static inline void give(struct permits *p, uint64_t n)
{
    weir_add_acq_rel(&p->free, n);
    weir_waiters_kick(p->waiters, p->limit, p->key);
}

static inline bool fits(void *host, unsigned limit, weir_key key, uint64_t n)
{
    struct permits *p = host;
    if (limit != p->limit || key.low != p->key.low || key.high != p->key.high)
        p->mistakes++;
    return weir_load_acquire(&p->removed) != 0 || weir_load_acquire(&p->free) >= n;
}

static inline uint64_t waiting(struct weir_waiters *w)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < WEIR_WAITER_BUCKETS; i++)
        count += weir_load_acquire(&w->buckets[i].count);
    return count;
}

static inline uint64_t wakes(struct weir_waiters *w)
{
    return weir_load_acquire(&w->wakes);
}

static inline void close_waiters(struct weir_waiters *w)
{
    assert_int_equal(waiting(w), 0);
    assert_true(weir_waiters_is_valid(w));
    weir_waiters_close(w);
}

/* ---- threads that ask ---- */

struct asker {
    struct permits *permits;
    uint64_t n;
    weir_ns deadline;
    weir_ns (*clock)(void *context);
    void *clock_context;
    bool gives_back;
    int (*before)(struct asker *a); /* what a try does first; not 0: that is what it says */
    void *own;                      /* of `before` */
    atomic_uint *grants;            /* counts them, over several askers */
    /* what came of it */
    atomic_uint tries;
    unsigned place; /* among the grants */
    int result;
    atomic_bool left;
    pthread_t thread;
};

static inline int try_to_take(void *context)
{
    struct asker *a = context;
    int said = a->before != NULL ? a->before(a) : 0;
    if (said == 0 && weir_load_acquire(&a->permits->removed) != 0)
        said = -ENOENT;
    if (said == 0)
        said = take(a->permits, a->n);
    a->tries++;
    return said;
}

static inline int ask(struct asker *a)
{
    const struct weir_wanted wanted = {.limit = a->permits->limit,
                                       .key = a->permits->key,
                                       .n = a->n,
                                       .try = try_to_take,
                                       .context = a,
                                       .fits = fits,
                                       .host = a->permits};
    a->result =
        weir_waiters_wait(a->permits->waiters, &wanted, a->clock, a->clock_context, a->deadline);
    if (a->result == 0 && a->grants != NULL)
        a->place = (*a->grants)++;
    if (a->result == 0 && a->gives_back)
        give(a->permits, a->n);
    a->left = true;
    return a->result;
}

static inline void *ask_in_thread(void *asker)
{
    ask(asker);
    return NULL;
}

static inline struct asker asker_for(struct permits *p, uint64_t n)
{
    return (struct asker){.permits = p, .n = n, .deadline = WEIR_FOREVER, .gives_back = true};
}

/* In a thread of its own; returns when it is in the queue, or was. One that found nobody tries
   before that and after it, and then no more until it is woken; the others do not try. */
static inline void start(struct asker *a)
{
    uint64_t before = waiting(a->permits->waiters);
    assert_int_equal(pthread_create(&a->thread, NULL, ask_in_thread, a), 0);
    AWAIT(waiting(a->permits->waiters) == before + 1 || a->left);
    AWAIT(a->tries != 1 || a->left);
}

static inline void join(struct asker *a)
{
    AWAIT(a->left);
    assert_int_equal(pthread_join(a->thread, NULL), 0);
}

/* Whoever may not wait asks with a deadline that has passed. */
static inline int ask_now(struct permits *p, uint64_t n)
{
    struct asker a = asker_for(p, n);
    a.deadline = 0;
    a.gives_back = false;
    return ask(&a);
}

#endif
