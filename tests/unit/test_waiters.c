/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for permits: who is granted, in which order, and who is woken.
 */
#include "askers.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#ifdef WEIR_THREAD_SANITIZER
/* Its runtime starts no threads after a fork unless it is told to. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif

/* ---- without waiting ---- */

static int refuse(struct asker *a)
{
    (void)a;
    return -E2BIG;
}

static void who_finds_nobody_tries_at_once(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    struct permits p = permits_of(w, (weir_key){1, 2}, 3);
    assert_int_equal(ask_now(&p, 2), 0);
    assert_int_equal(ask_now(&p, 2), -ETIMEDOUT);
    assert_int_equal(ask_now(&p, 1), 0);
    assert_int_equal(ask_now(&p, 1), -ETIMEDOUT);
    assert_int_equal(ask_now(&p, 0), 0);
    struct asker a = asker_for(&p, 1);
    a.before = refuse;
    assert_int_equal(ask(&a), -E2BIG);
    assert_int_equal(a.tries, 1);
    p.free.value = 1; /* nobody else is there */
    a.before = NULL;
    assert_int_equal(ask(&a), 0);
    assert_int_equal(a.tries, 2);
    assert_int_equal(wakes(w), 0);
    close_waiters(w);
    weir_waiters_close(NULL);
}

static void errno_stays(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    struct permits p = permits_of(w, (weir_key){1, 2}, 0);
    struct asker a = asker_for(&p, 1), behind = asker_for(&p, 1);
    start(&behind);
    a.deadline = weir_now() + WEIR_MILLISECOND;
    errno = EDOM;
    assert_int_equal(ask(&a), -ETIMEDOUT); /* the system call says so in errno */
    assert_int_equal(errno, EDOM);
    give(&p, 1);
    assert_int_equal(errno, EDOM);
    join(&behind);
    errno = EDOM;
    weir_waiters_kick_limit(w, LIMIT);
    assert_int_equal(errno, EDOM);
    close_waiters(w);
}

/* ---- order ---- */

enum { IN_LINE = 8 };

static void k36_first_come_first_served(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    struct permits p = permits_of(w, (weir_key){3, 4}, 0);
    struct asker askers[IN_LINE];
    atomic_uint grants = 0;
    for (unsigned i = 0; i < IN_LINE; i++) {
        askers[i] = asker_for(&p, 1);
        askers[i].grants = &grants;
        start(&askers[i]);
        assert_true(weir_waiters_is_valid(w));
    }
    give(&p, 1);
    for (unsigned i = 0; i < IN_LINE; i++)
        join(&askers[i]);
    for (unsigned i = 0; i < IN_LINE; i++) {
        assert_int_equal(askers[i].result, 0);
        assert_int_equal(askers[i].place, i);
    }
    assert_int_equal(wakes(w), IN_LINE);
    assert_int_equal(p.free.value, 1);
    assert_int_equal(p.mistakes, 0);
    close_waiters(w);
}

static void k36_a_large_waiter_is_not_starved_by_small_ones(void **state)
{
    (void)state;
    enum { SMALL = 3, ALL = 4 };
    struct weir_waiters *w = open_waiters();
    struct permits p = permits_of(w, (weir_key){5, 6}, 0);
    struct asker large = asker_for(&p, ALL), small[SMALL];
    atomic_uint grants = 0;
    large.grants = &grants;
    large.gives_back = false;
    start(&large);
    for (unsigned i = 0; i < SMALL; i++) {
        small[i] = asker_for(&p, 1);
        small[i].grants = &grants;
        start(&small[i]);
    }
    for (unsigned i = 1; i < ALL; i++) {
        give(&p, 1); /* enough for a small one, but nobody is woken, and who comes is refused */
        assert_int_equal(ask_now(&p, 1), -ETIMEDOUT);
        assert_int_equal(wakes(w), 0);
        assert_int_equal(p.free.value, i);
    }
    give(&p, 1);
    join(&large);
    assert_int_equal(large.result, 0);
    assert_int_equal(large.place, 0);
    assert_int_equal(wakes(w), 1); /* what it left behind fits nobody */
    assert_int_equal(waiting(w), SMALL);
    assert_int_equal(grants, 1);
    give(&p, ALL);
    for (unsigned i = 0; i < SMALL; i++) {
        join(&small[i]);
        assert_int_equal(small[i].result, 0);
    }
    assert_int_equal(wakes(w), 1 + SMALL);
    assert_int_equal(p.free.value, ALL);
    close_waiters(w);
}

/* Takes what was freed from outside, ahead of the first waiter, as often as it says. */
static int be_overtaken(struct asker *a)
{
    uint64_t *times = a->own;
    if (weir_load_acquire(&a->permits->free) > 0 && *times > 0) {
        --*times;
        (void)take(a->permits, 1);
    }
    return 0;
}

static void k36_who_is_overtaken_keeps_its_place(void **state)
{
    (void)state;
    enum { TIMES = 3 };
    struct weir_waiters *w = open_waiters();
    struct permits p = permits_of(w, (weir_key){5, 6}, 0);
    struct asker first = asker_for(&p, 1), second = asker_for(&p, 1);
    uint64_t times = TIMES;
    first.before = be_overtaken;
    first.own = &times;
    start(&first);
    start(&second);
    assert_int_equal(first.tries, 2);
    for (unsigned i = 1; i <= TIMES; i++) {
        give(&p, 1);
        AWAIT(first.tries == 2 + 2 * i); /* in vain, and once more before it sleeps again */
        assert_int_equal(wakes(w), i);
    }
    assert_int_equal(second.tries, 0);
    give(&p, 1);
    join(&first);
    join(&second);
    assert_int_equal(first.result, 0);
    assert_int_equal(first.tries, 2 + 2 * TIMES + 1);
    assert_int_equal(second.tries, 1);
    assert_int_equal(wakes(w), TIMES + 2);
    close_waiters(w);
}

/* Another key of the same bucket. */
static weir_key beside(struct weir_waiters *w, weir_key key)
{
    weir_key other = key;
    do
        other.low++;
    while (weir_waiters_bucket(w, LIMIT, other) != weir_waiters_bucket(w, LIMIT, key));
    return other;
}

/* ---- limits and keys ---- */

static void a_limit_that_changes_wakes_and_a_removed_one_lets_go(void **state)
{
    (void)state;
    enum { KEYS = 3, EACH = 4 };
    struct weir_waiters *w = open_waiters();
    struct permits p[KEYS], other = permits_of(w, (weir_key){1, 0}, 0);
    struct asker askers[KEYS][EACH], stays = asker_for(&other, 1);
    other.limit = LIMIT + 1;
    start(&stays);
    for (unsigned k = 0; k < KEYS; k++) {
        /* two of them in one bucket */
        weir_key key = k + 1 < KEYS ? (weir_key){1, k} : beside(w, p[0].key);
        p[k] = permits_of(w, key, 0);
        for (unsigned i = 0; i < EACH; i++) {
            askers[k][i] = asker_for(&p[k], 1);
            start(&askers[k][i]);
        }
    }
    weir_waiters_kick_limit(w, LIMIT + 2);
    assert_int_equal(wakes(w), 0);
    weir_waiters_kick_limit(w, LIMIT); /* whatever fits() says: here in vain */
    assert_int_equal(wakes(w), KEYS);
    for (unsigned k = 0; k < KEYS; k++) {
        AWAIT(askers[k][0].tries == 2 + 2);
        for (unsigned i = 1; i < EACH; i++)
            assert_int_equal(askers[k][i].tries, 0);
    }
    for (unsigned k = 0; k < KEYS; k++)
        weir_add_acq_rel(&p[k].removed, 1);
    weir_waiters_kick_limit(w, LIMIT);
    for (unsigned k = 0; k < KEYS; k++)
        for (unsigned i = 0; i < EACH; i++) {
            join(&askers[k][i]);
            assert_int_equal(askers[k][i].result, -ENOENT);
        }
    assert_int_equal(wakes(w), KEYS + KEYS * EACH);
    assert_int_equal(waiting(w), 1);
    give(&other, 1);
    join(&stays);
    assert_int_equal(stays.result, 0);
    close_waiters(w);
}

static void keys_of_a_bucket_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { KEYS = 3 };
    struct weir_waiters *w = open_waiters();
    struct permits p[KEYS];
    struct asker askers[KEYS][2];
    weir_key key = {9, 10};
    for (unsigned k = 0; k < KEYS; k++, key = beside(w, key))
        p[k] = permits_of(w, key, 0);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < KEYS; k++) {
            askers[k][i] = asker_for(&p[k], 1);
            start(&askers[k][i]);
            assert_true(weir_waiters_is_valid(w));
        }
    struct permits free = permits_of(w, key, 1);
    assert_int_equal(ask_now(&free, 1), 0); /* nobody of its key waits */
    assert_int_equal(ask_now(&free, 1), -ETIMEDOUT);
    give(&free, 1);
    assert_int_equal(wakes(w), 0);
    const unsigned order[KEYS] = {1, 0, 2};
    for (unsigned o = 0; o < KEYS; o++) {
        unsigned k = order[o];
        give(&p[k], 1);
        for (unsigned i = 0; i < 2; i++) {
            join(&askers[k][i]);
            assert_int_equal(askers[k][i].result, 0);
        }
        assert_int_equal(wakes(w), 2 * (o + 1));
        assert_int_equal(waiting(w), 2 * (KEYS - o - 1));
        assert_true(weir_waiters_is_valid(w));
        assert_int_equal(p[k].mistakes, 0);
    }
    close_waiters(w);
}

/* Integers in a row, high or low, are keys too, and limits are. */
static void keys_spread_over_the_buckets(void **state)
{
    (void)state;
    enum { LOW, HIGH, TOP, LIMITS, KINDS };
    struct weir_waiters *w = open_waiters();
    for (unsigned kind = 0; kind < KINDS; kind++) {
        unsigned in[WEIR_WAITER_BUCKETS] = {0}, most = 0;
        for (unsigned i = 0; i < 64 * WEIR_WAITER_BUCKETS; i++) {
            const weir_key key = {
                .low = kind == LOW ? i : 0,
                .high = kind == HIGH ? i : (kind == TOP ? (uint64_t)i << 52 : 0),
            };
            unsigned limit = kind == LIMITS ? i : LIMIT;
            unsigned b = (unsigned)(weir_waiters_bucket(w, limit, key) - w->buckets);
            most = ++in[b] > most ? in[b] : most;
        }
        assert_in_range(most, 64, 3 * 64);
    }
    close_waiters(w);
}

/* ---- many threads ---- */

/* Whoever waits is woken once, however many give back at a time: 500 waiters once took 110,685. */
static void k18_a_grant_takes_one_wakeup(void **state)
{
    (void)state;
    enum { CROWD = THREADS_MAX };
    struct weir_waiters *w = open_waiters();
    uint64_t rounds = random_scaled(100);
    for (uint64_t round = 0; round < rounds; round++) {
        struct permits p = permits_of(w, (weir_key){11, round}, 0);
        struct asker askers[CROWD];
        for (unsigned i = 0; i < CROWD; i++)
            askers[i] = asker_for(&p, 1);
        start(&askers[0]);
        for (unsigned i = 1; i < CROWD; i++)
            assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_in_thread, &askers[i]), 0);
        AWAIT(waiting(w) == CROWD);
        give(&p, 1 + round % 4);
        for (unsigned i = 0; i < CROWD; i++) {
            join(&askers[i]);
            assert_int_equal(askers[i].result, 0);
        }
        assert_int_equal(p.free.value, 1 + round % 4);
        assert_int_equal(wakes(w), (round + 1) * CROWD);
    }
    close_waiters(w);
}

enum { LEDGER_KEYS = 3, LEDGER_THREADS = 8 };

struct ledger {
    struct permits permits[LEDGER_KEYS];
    atomic_uint in_use[LEDGER_KEYS];
    atomic_ullong granted, timed_out, mistakes;
    uint64_t rounds;
};

/* Some ask without waiting, some wait for a moment, most until they are granted. */
static void keep_ledger(void *ledger, unsigned thread)
{
    struct ledger *l = ledger;
    struct test_random random = {thread + 1};
    for (uint64_t i = 0; i < l->rounds; i++) {
        unsigned k = (unsigned)random_below(&random, LEDGER_KEYS);
        struct asker a = asker_for(&l->permits[k], 1 + random_below(&random, 1U << k));
        uint64_t patience = random_below(&random, 8);
        a.gives_back = false;
        if (patience == 0)
            a.deadline = 0;
        else if (patience == 1)
            a.deadline = weir_now() + random_below(&random, 50 * WEIR_MICROSECOND);
        else
            a.deadline = weir_now() + PATIENT;
        int result = ask(&a);
        if (result == 0) {
            unsigned before = atomic_fetch_add(&l->in_use[k], (unsigned)a.n);
            l->mistakes += before + a.n > 1U << k;
            if (random_below(&random, 4) == 0)
                sched_yield();
            atomic_fetch_sub(&l->in_use[k], (unsigned)a.n);
            give(&l->permits[k], a.n);
            l->granted++;
        } else {
            l->mistakes += result != -ETIMEDOUT || patience > 1;
            l->timed_out++;
        }
    }
}

static void k13_permits_in_use_are_those_taken_and_not_given_back(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    struct ledger l = {.rounds = random_scaled(20000)};
    weir_key key = {13, 14};
    for (unsigned k = 0; k < LEDGER_KEYS; k++, key = beside(w, key))
        l.permits[k] = permits_of(w, key, 1U << k);
    run_crew(LEDGER_THREADS, keep_ledger, &l);
    assert_int_equal(l.mistakes, 0);
    assert_int_equal(l.granted + l.timed_out, LEDGER_THREADS * l.rounds);
    for (unsigned k = 0; k < LEDGER_KEYS; k++) {
        assert_int_equal(l.in_use[k], 0);
        assert_int_equal(l.permits[k].free.value, 1U << k);
        assert_int_equal(l.permits[k].mistakes, 0);
    }
    printf("# %llu granted, %llu timed out, %llu woken\n", (unsigned long long)l.granted,
           (unsigned long long)l.timed_out, (unsigned long long)wakes(w));
    close_waiters(w);
}

struct game {
    struct permits side[2];
    uint64_t rounds;
    atomic_uint lost;
};

/* Gives the other one its turn and waits for its own: every wait meets a free on its way. */
static void play(void *game, unsigned me)
{
    struct game *g = game;
    struct test_random random = {me};
    for (uint64_t i = 0; i < g->rounds && g->lost == 0; i++) {
        struct asker a = asker_for(&g->side[me], 1);
        a.gives_back = false;
        a.deadline = weir_now() + PATIENT;
        for (uint64_t spins = random_below(&random, 256); spins > 0; spins--)
            ck_pr_stall();
        if (ask(&a) != 0)
            g->lost++;
        give(&g->side[1 - me], 1);
    }
}

static void no_wakeup_is_lost(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    struct game g = {.rounds = random_scaled(200000)};
    g.side[0] = permits_of(w, (weir_key){15, 16}, 1);
    g.side[1] = permits_of(w, beside(w, g.side[0].key), 0);
    run_crew(2, play, &g);
    assert_int_equal(g.lost, 0);
    assert_int_equal(g.side[0].free.value, 1);
    assert_int_equal(g.side[1].free.value, 0);
    assert_true(wakes(w) <= 2 * g.rounds);
    printf("# %llu turns, %llu woken\n", (unsigned long long)(2 * g.rounds),
           (unsigned long long)wakes(w));
    close_waiters(w);
}

/* ---- fork ---- */

struct holder {
    pthread_mutex_t *lock;
    atomic_bool held, over;
};

static void *hold(void *holder)
{
    struct holder *h = holder;
    pthread_mutex_lock(h->lock);
    h->held = true;
    while (!h->over)
        usleep(50);
    pthread_mutex_unlock(h->lock);
    return NULL;
}

/* The line of the expectation that failed; 0: none did. */
static int go_on_in_child(struct permits *p)
{
    struct weir_waiters *w = p->waiters;
    weir_waiters_reset_in_child(w);
    if (waiting(w) != 0 || !weir_waiters_is_valid(w))
        return __LINE__;
    if (ask_now(p, 1) != -ETIMEDOUT)
        return __LINE__;
    struct asker timed = asker_for(p, 1), a = asker_for(p, 1);
    timed.deadline = weir_now() + WEIR_MILLISECOND;
    if (ask(&timed) != -ETIMEDOUT)
        return __LINE__;
    if (pthread_create(&a.thread, NULL, ask_in_thread, &a) != 0)
        return __LINE__;
    while (waiting(w) == 0)
        usleep(50);
    give(p, 1);
    if (pthread_join(a.thread, NULL) != 0 || a.result != 0 || ask_now(p, 1) != 0)
        return __LINE__;
    return waiting(w) == 0 && weir_waiters_is_valid(w) ? 0 : __LINE__;
}

static void a_child_begins_with_empty_queues(void **state)
{
    (void)state;
    enum { PARENTS = 3 };
    struct weir_waiters *w = open_waiters();
    struct permits p = permits_of(w, (weir_key){17, 18}, 0);
    struct asker askers[PARENTS];
    for (unsigned i = 0; i < PARENTS; i++) {
        askers[i] = asker_for(&p, 1);
        start(&askers[i]);
    }
    /* in the middle of something in the same bucket */
    struct holder holder = {.lock = &weir_waiters_bucket(w, p.limit, p.key)->lock};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hold, &holder), 0);
    AWAIT(holder.held);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(30);
        int line = go_on_in_child(&p);
        if (line != 0)
            fprintf(stderr, "# line %d, in a child\n", line);
        _exit(line != 0);
    }
    holder.over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(waiting(w), PARENTS);
    give(&p, 1);
    for (unsigned i = 0; i < PARENTS; i++) {
        join(&askers[i]);
        assert_int_equal(askers[i].result, 0);
    }
    assert_int_equal(p.free.value, 1);
    close_waiters(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_finds_nobody_tries_at_once),
        cmocka_unit_test(errno_stays),
        cmocka_unit_test(k36_first_come_first_served),
        cmocka_unit_test(k36_a_large_waiter_is_not_starved_by_small_ones),
        cmocka_unit_test(k36_who_is_overtaken_keeps_its_place),
        cmocka_unit_test(a_limit_that_changes_wakes_and_a_removed_one_lets_go),
        cmocka_unit_test(keys_of_a_bucket_do_not_disturb_each_other),
        cmocka_unit_test(keys_spread_over_the_buckets),
        cmocka_unit_test(k18_a_grant_takes_one_wakeup),
        cmocka_unit_test(k13_permits_in_use_are_those_taken_and_not_given_back),
        cmocka_unit_test(no_wakeup_is_lost),
        cmocka_unit_test(a_child_begins_with_empty_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
