/* SPDX-License-Identifier: MIT */
/*
 * Retirement of line arrays by call_rcu, and what weir asks of liburcu besides read sections.
 *
 * liburcu has a lock for its threads, one for the registration of readers, and a queue that is not
 * whole while somebody appends to it. A fork has to keep others away from all three, or the child
 * finds them as they were for ever. A call that waited for that inside its read section would never
 * end, since the fork waits for it. So an array is first put aside, with one compare-and-swap, and
 * who gets the lock `retiring` without waiting hands over to liburcu what is there.
 *
 *   array --> aside --(retiring)--> liburcu's queue --(grace period)--> arena
 *
 * Guarantees (numbered as in the README)
 *   P1  Retiring waits for nobody, but in the process's first one for the start of liburcu's
 *       thread. Nothing stays aside: who lets go of the lock looks again.
 *   M1  While more is retired than in use, and more than 16 MiB, no array is replaced. (liburcu
 *       gathers for 10 ms, in which a small table under a flood of new keys can replace itself
 *       several times over: some 40 bytes a key.)
 *
 * Not guaranteed, since it is liburcu's own (0.13.2): memory and a thread when the system has none;
 * liburcu then ends the process. And a child in which readers can register, when another thread of
 * the parent was just ending: liburcu takes a lock of its own there, for some ten nanoseconds, that
 * no fork keeps.
 *
 * Process-wide state: liburcu's, and what is needed to share it.
 */
#include "table/reclaim.h"

#include "rcu.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define BEHIND_AT_LEAST ((uint64_t)16 << 20)

static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t retiring = PTHREAD_MUTEX_INITIALIZER;
static bool started;             /* retiring; liburcu has its thread */
static struct weir_array *aside; /* atomic; linked by retire[0], until liburcu links them */

_Static_assert(sizeof(struct rcu_head) <= sizeof((struct weir_array *)0)->retire,
               "liburcu's link fits the header");

static struct rcu_head *head_of(struct weir_array *a)
{
    return (struct rcu_head *)(void *)a->retire;
}

static void mask_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

void weir_read_register(void)
{
    int saved = errno;
    sigset_t before;
    mask_signals(&before); /* a handler may call the library too */
    pthread_mutex_lock(&registering);
    urcu_bp_register_thread();
    pthread_mutex_unlock(&registering);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
}

/* ---- retiring ---- */

static void free_retired(struct rcu_head *head)
{
    struct weir_array *a =
        (struct weir_array *)(void *)((char *)head - offsetof(struct weir_array, retire));
    struct weir_table *t = a->owner;
    uint64_t bytes = weir_array_bytes(a);
    weir_grace_period_passed();
    weir_table_free_array(t, a);
    weir_add_relaxed(&t->retired_bytes, 0 - bytes);
}

static void put_aside(struct weir_array *a)
{
    struct weir_array *first = weir_pointer_load_acquire(&aside);
    do
        a->retire[0] = first;
    while (!weir_pointer_cas_acq_rel(&aside, &first, a)); /* release: pairs with hand_over */
}

static bool is_any_aside(void)
{
    return weir_pointer_load_acquire(&aside) != NULL;
}

/* retiring; a thread is born with the signal mask of who starts it, and the host's signals are not
   for this one. */
static void start_thread(void)
{
    sigset_t before;
    mask_signals(&before);
    urcu_bp_get_default_call_rcu_data();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    started = true;
}

/* retiring */
static void hand_over(void)
{
    struct weir_array *a = weir_pointer_exchange_acq_rel(&aside, NULL);
    if (a != NULL && !started)
        start_thread();
    while (a != NULL) {
        struct weir_array *next = a->retire[0];
        urcu_bp_call_rcu(head_of(a), free_retired);
        a = next;
    }
}

/* retiring; lets go of it, and looks again for who found it taken meanwhile. */
static void let_go(void)
{
    do {
        hand_over();
        pthread_mutex_unlock(&retiring);
    } while (is_any_aside() && pthread_mutex_trylock(&retiring) == 0);
}

void weir_retire(struct weir_table *t, struct weir_array *a)
{
    int saved = errno; /* the caller's */
    weir_add_relaxed(&t->arrays, (uint64_t)-1);
    weir_add_relaxed(&t->bytes, 0 - weir_array_bytes(a));
    weir_add_relaxed(&t->retired_bytes, weir_array_bytes(a));
    weir_add_relaxed(&t->retirements, 1);
    put_aside(a);
    if (pthread_mutex_trylock(&retiring) == 0)
        let_go();
    errno = saved;
}

void weir_retire_wait(const struct weir_table *t)
{
    if (weir_load_relaxed(&t->retirements) == 0)
        return;
    int saved = errno;
    weir_read_register(); /* or the barrier would, without the lock */
    pthread_mutex_lock(&retiring);
    let_go();
    urcu_bp_barrier();
    errno = saved;
}

bool weir_retire_is_behind(const struct weir_table *t)
{
    uint64_t retired = weir_load_relaxed(&t->retired_bytes);
    return retired > BEHIND_AT_LEAST && retired > weir_load_relaxed(&t->bytes);
}

/* ---- fork ---- */

void weir_retire_before_fork(void)
{
    pthread_mutex_lock(&registering);
    pthread_mutex_lock(&retiring);
    urcu_bp_call_rcu_before_fork(); /* needs grace periods */
    urcu_bp_before_fork();          /* holds them up */
}

/* The child has no thread of liburcu's until it gets a new one here; it takes over what the old one
   had to do. */
static void after_fork_child(void)
{
    sigset_t before;
    urcu_bp_after_fork_child();
    mask_signals(&before);
    urcu_bp_call_rcu_after_fork_child();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void weir_retire_after_fork(bool child)
{
    if (child) {
        after_fork_child();
    } else {
        urcu_bp_after_fork_parent();
        urcu_bp_call_rcu_after_fork_parent();
    }
    let_go();
    pthread_mutex_unlock(&registering);
}
