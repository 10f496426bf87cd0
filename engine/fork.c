/* SPDX-License-Identifier: MIT */
/*
 * What a child of fork finds: every engine that was open, as a copy of its own.
 *
 * Of the parent's threads only the one that forks is there. The others have vanished wherever they
 * were, which is what a decision and a move allow of any thread at any time (P1). What is done
 * under locks has no such property, so a fork takes them first, and gives them back in both
 * processes:
 *
 *   engines   the list of open engines
 *   sweeping  of each: no sweep, removal or change is half done, nor waits for a grace period
 *   lock      of each: no limit is half added
 *   liburcu's (table/reclaim.c): no grace period is under way, its thread stands still
 *   arena     of each: no block is half taken. Last, since liburcu's thread has to come by to stop
 *
 * The queues of waiters.c are not among them: who waits is a thread that has vanished, so the child
 * makes them anew, empty; and so is the lock of unix time (wall.c).
 *
 * Guarantees
 *   F1  In the child every call may be made on every engine that was open, by any thread. Nothing
 *       is shared: parent and child each go on from the state at the fork.
 *   F2  Read sections of vanished threads have ended (liburcu forgets them), their counts stay, and
 *       what was retired is freed by the child's own thread of liburcu's, which is started in the
 *       fork if the parent had one, with all signals blocked.
 *   P1  Decisions go on while a fork waits; the fork waits for those that are under way, and for a
 *       sweep or removal. Only a thread's first call waits for the fork.
 *
 * Not guaranteed in the child: the memory that a vanished thread had in hand, until the child ends;
 * the bound on keys, to one key, and a block of them (table.h), for each vanished thread that was
 * placing one. A child that was made without fork handlers (vfork, clone) may only exec.
 *
 * Process-wide state: the list, and that the handlers are installed, once for the process.
 */
#include "fork.h"

#include "table/reclaim.h"

#include <errno.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct weir_atomic_u64 installed; /* 1: said by who installs, or by a handler that runs */

static pthread_mutex_t engines = PTHREAD_MUTEX_INITIALIZER;
static struct weir *first; /* engines */

static void before_fork(void)
{
    int saved = errno;
    pthread_mutex_lock(&engines);
    weir_store_relaxed(&installed, 1);
    for (struct weir *w = first; w != NULL; w = w->next)
        pthread_mutex_lock(&w->sweeping);
    for (struct weir *w = first; w != NULL; w = w->next)
        pthread_mutex_lock(&w->lock);
    weir_retire_before_fork();
    for (struct weir *w = first; w != NULL; w = w->next)
        weir_arena_lock(&w->table.arena);
    errno = saved;
}

static void after_fork(bool child)
{
    int saved = errno; /* what a fork that failed says in it is the caller's */
    for (struct weir *w = first; w != NULL; w = w->next)
        weir_arena_unlock(&w->table.arena);
    weir_retire_after_fork(child);
    for (struct weir *w = first; w != NULL; w = w->next) {
        if (child) {
            w->inherited = true;
            /* Whoever was writing it has vanished. */
            weir_store_relaxed(&w->wall_version, 0);
            weir_counters_after_fork(w->counters);
            weir_waiters_reset_in_child(w->waiters);
        }
        pthread_mutex_unlock(&w->lock);
        pthread_mutex_unlock(&w->sweeping);
    }
    pthread_mutex_unlock(&engines);
    errno = saved;
}

static void after_fork_parent(void)
{
    after_fork(false);
}

static void after_fork_child(void)
{
    after_fork(true);
}

static int install(void)
{
    if (weir_load_relaxed(&installed) == 0 &&
        pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0)
        weir_store_relaxed(&installed, 1);
    return weir_load_relaxed(&installed) != 0 ? 0 : -ENOMEM;
}

/* Without the lock, which the child of a fork that is already under way would find taken. In such a
   child pthread_once does this again, and what is installed is not installed twice. */
static void install_once(void)
{
    install();
}

int weir_fork_watch(struct weir *w)
{
    pthread_once(&once, install_once);
    pthread_mutex_lock(&engines);
    int error = install(); /* again, if there was no memory */
    if (error == 0) {
        w->next = first;
        w->link = &first;
        if (first != NULL)
            first->link = &w->next;
        first = w;
    }
    pthread_mutex_unlock(&engines);
    return error;
}

void weir_fork_unwatch(struct weir *w)
{
    pthread_mutex_lock(&engines);
    *w->link = w->next;
    if (w->next != NULL)
        w->next->link = w->link;
    pthread_mutex_unlock(&engines);
}
