/* SPDX-License-Identifier: MIT */
/*
 * Read-side sections: the library's own inside those of the host, in a thread that ends, and in one
 * that is made ready. The quick form of a decision enters its section in a way of its own, and not
 * at all inside of another one.
 */
#include "../support.h"

#include "rcu.h"

#include <pthread.h>

#define BURST 20

static struct weir *open_one(void)
{
    struct weir *w = open_engine(NULL);
    assert_int_equal(add_limit(w, "a", weir_token_bucket(1, WEIR_HOUR, BURST)), 0);
    return w;
}

/* Asks twice as often as is granted, each time in another way. */
static uint64_t use_up(struct weir *w, weir_key key)
{
    uint64_t allowed = 0;
    for (unsigned i = 0; i < 2 * BURST; i++) {
        const struct weir_request request = {0, key, 1};
        struct weir_result result;
        if (i % 3 == 0)
            result = weir_decide(w, 0, key, 1, WEIR_HOUR);
        else if (i % 3 == 1)
            weir_decide_batch(w, &request, &result, 1, WEIR_HOUR);
        else
            result.verdict = weir_allow(w, 0, key, 1, WEIR_HOUR) ? WEIR_ALLOWED : WEIR_DENIED;
        allowed += result.verdict == WEIR_ALLOWED;
    }
    return allowed;
}

static void check_counts(struct weir *w, uint64_t allowed, uint64_t denied)
{
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_int_equal(stats.allowed, allowed);
    assert_int_equal(stats.denied, denied);
}

static void decisions_inside_a_section_of_the_host(void **state)
{
    (void)state;
    struct weir *w = open_one();
    assert_int_equal(use_up(w, weir_key_u64(w, 1)), BURST);
    assert_false(urcu_bp_read_ongoing());
    urcu_bp_read_lock();
    assert_int_equal(use_up(w, weir_key_u64(w, 2)), BURST);
    assert_true(urcu_bp_read_ongoing());
    urcu_bp_read_lock();
    assert_int_equal(use_up(w, weir_key_u64(w, 3)), BURST);
    urcu_bp_read_unlock();
    assert_true(urcu_bp_read_ongoing());
    urcu_bp_read_unlock();
    assert_false(urcu_bp_read_ongoing());
    assert_int_equal(use_up(w, weir_key_u64(w, 4)), BURST);
    check_counts(w, 4 * BURST, 4 * BURST);
    weir_close(w);
}

/* ---- a thread that ends ---- */

struct ending {
    struct weir *w;
    uint64_t allowed;
    unsigned left; /* times that the destructor asks to be called again */
    pthread_key_t key;
};

/* liburcu and the counters let go of the thread in destructors too, before this or after. */
static void decide_at_the_end(void *ending)
{
    struct ending *e = ending;
    e->allowed += use_up(e->w, weir_key_u64(e->w, 10 + e->left));
    if (e->left-- > 0)
        (void)pthread_setspecific(e->key, e);
}

static void *decide_and_end(void *ending)
{
    struct ending *e = ending;
    e->allowed += use_up(e->w, weir_key_u64(e->w, 1));
    (void)pthread_setspecific(e->key, e);
    return NULL;
}

static void decisions_while_a_thread_ends(void **state)
{
    (void)state;
    struct ending e = {open_one(), 0, 1, 0};
    pthread_t thread;
    assert_int_equal(pthread_key_create(&e.key, decide_at_the_end), 0);
    assert_int_equal(pthread_create(&thread, NULL, decide_and_end, &e), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_key_delete(e.key), 0);
    assert_int_equal(e.allowed, 3 * BURST);
    assert_int_equal(use_up(e.w, weir_key_u64(e.w, 2)), BURST);
    check_counts(e.w, 4 * BURST, 4 * BURST);
    weir_grace_period(); /* ends: nobody is left in a section */
    weir_close(e.w);
}

/* ---- a thread that is made ready ---- */

static void *make_ready(void *registered)
{
    bool *r = registered;
    r[0] = URCU_TLS(urcu_bp_reader) == NULL;
    r[1] = weir_thread_ready() == 0 && URCU_TLS(urcu_bp_reader) != NULL;
    r[2] = weir_thread_ready() == 0 && !urcu_bp_read_ongoing();
    return NULL;
}

static void a_ready_thread_is_registered(void **state)
{
    (void)state;
    bool registered[3] = {false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_ready, registered), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_true(registered[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_inside_a_section_of_the_host),
        cmocka_unit_test(decisions_while_a_thread_ends),
        cmocka_unit_test(a_ready_thread_is_registered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
