/* SPDX-License-Identifier: MIT */
/*
 * A flash sale: a hundred items, one for each user, and everybody comes at once.
 *
 * A limit of 0 is a stock: its burst can be used once and does not come back. The stock is the last
 * entry of the request: what is charged last is never taken back, so that no buyer finds it empty
 * for somebody who gets nothing.
 */
#include <weir/weir.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define USERS   1000
#define THREADS 8

static struct weir *w;
static int per_user, stock;
static atomic_uint sold, bought[USERS];

static bool buy(uint64_t user, weir_ns now)
{
    struct weir_request wanted[] = {
        {per_user, weir_key_u64(w, user), 1},
        {stock, weir_key_text(w, "the item"), 1},
    };
    return weir_decide_all(w, wanted, 2, now, 0, NULL) < 0;
}

/* Each thread has all users try, so that a user tries in many places at once. */
static void *crowd(void *first)
{
    for (uint64_t i = 0; i < USERS; i++) {
        uint64_t user = (i + (uintptr_t)first) % USERS;
        if (buy(user, weir_now())) {
            atomic_fetch_add(&sold, 1);
            atomic_fetch_add(&bought[user], 1);
        }
    }
    return NULL;
}

int main(void)
{
    if (weir_open(&w, NULL) != 0)
        return 1;
    struct weir_policy once = weir_token_bucket(0, WEIR_SECOND, 1); /* never comes back */
    struct weir_policy items = weir_token_bucket(0, WEIR_SECOND, 100);
    per_user = weir_add_limit(w, "per user", &once);
    stock = weir_add_limit(w, "stock", &items);

    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, crowd, (void *)(i * USERS / THREADS));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    unsigned most = 0;
    for (int i = 0; i < USERS; i++)
        most = bought[i] > most ? bought[i] : most;
    printf("%u sold, at most %u to a user\n", sold, most);
    weir_close(w);
    return sold == 100 && most == 1 ? 0 : 1;
}
