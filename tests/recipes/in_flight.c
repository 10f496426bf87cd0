/* SPDX-License-Identifier: MIT */
/*
 * At most 64 requests in flight to a backend; the others wait for their turn, but not for ever.
 *
 * A permit is held while the request runs, however long that is, and given back when it has ended.
 * Who waits is served in the order of arrival.
 */
#include <weir/weir.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>

#define THREADS  96
#define REQUESTS 5

static struct weir *w;
static int limit;
static atomic_int running, most, done;

/* The backend counts how many are with it, and lets nobody go before it has seen 64 at a time. */
static void call_backend(void)
{
    int here = atomic_fetch_add(&running, 1) + 1;
    int seen = atomic_load(&most);
    while (here > seen && !atomic_compare_exchange_weak(&most, &seen, here))
        ;
    while (atomic_load(&most) < 64)
        thrd_sleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    atomic_fetch_sub(&running, 1);
    atomic_fetch_add(&done, 1);
}

static int serve(weir_key backend)
{
    struct weir_permit permit;
    weir_ns deadline = weir_now() + 30 * WEIR_SECOND;
    int error = weir_acquire_wait(w, limit, backend, 1, deadline, &permit);
    if (error != 0)
        return error; /* -ETIMEDOUT: too busy */
    call_backend();
    return weir_release(w, &permit);
}

static void *client(void *unused)
{
    for (int i = 0; i < REQUESTS; i++)
        serve(weir_key_text(w, "backend"));
    return unused;
}

int main(void)
{
    if (weir_open(&w, NULL) != 0)
        return 1;
    struct weir_policy policy = weir_concurrency(64);
    limit = weir_add_limit(w, "in flight", &policy);

    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, client, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    uint64_t in_use = 1;
    weir_in_use(w, limit, weir_key_text(w, "backend"), &in_use, NULL);
    printf("%d served, %d at most at a time, %d left\n", done, most, (int)in_use);
    weir_close(w);
    return done == THREADS * REQUESTS && most == 64 && in_use == 0 ? 0 : 1;
}
