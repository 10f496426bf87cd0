/* SPDX-License-Identifier: MIT */
/*
 * A client that paces itself, for a service that takes a call each millisecond and no two at once.
 *
 * Any number of threads share the limit: each sleeps until its turn, in the order in which they
 * came, and nothing is refused.
 */
#include <weir/weir.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define THREADS 4
#define CALLS   10

static struct weir *w;
static int limit;
static weir_ns begun;
static atomic_uint calls, early, errors;

/* The service is annoyed when there were more calls than one at once and one each millisecond. */
static void call_service(void)
{
    unsigned before = atomic_fetch_add(&calls, 1);
    if (weir_now() - begun < before * WEIR_MILLISECOND)
        atomic_fetch_add(&early, 1);
}

static int call_in_turn(weir_key service)
{
    int error = weir_wait(w, limit, service, 1, WEIR_FOREVER); /* or weir_now() + 2 * WEIR_SECOND */
    if (error != 0)
        return error; /* -EINTR: a signal; its turn was given back */
    call_service();
    return 0;
}

static void *client(void *unused)
{
    for (int i = 0; i < CALLS; i++) {
        int error;
        do
            error = call_in_turn(weir_key_text(w, "the service"));
        while (error == -EINTR);
        if (error != 0)
            atomic_fetch_add(&errors, 1);
    }
    return unused;
}

int main(void)
{
    if (weir_open(&w, NULL) != 0)
        return 1;
    struct weir_policy policy = weir_pacer(1000, WEIR_SECOND, 0);
    limit = weir_add_limit(w, "the service", &policy);

    begun = weir_now();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, client, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    /* A deadline is an instant, not a span. One that cannot be met is told at once. */
    int late = weir_wait(w, limit, weir_key_text(w, "the service"), 1, begun);

    printf("%u calls, %u of them early, %u errors; too late: %s\n", calls, early, errors,
           weir_strerror(late));
    weir_close(w);
    return calls == THREADS * CALLS && early == 0 && errors == 0 && late == -ETIMEDOUT ? 0 : 1;
}
