/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for permits: who is granted, in which order, who is woken, and that whoever
 * leaves without permits leaves nothing behind.
 *
 * The permits are a number; what a try does beyond taking them is each test's own. Wake-ups are
 * counted by the queues themselves, so a test can tell that nobody was woken without waiting to see
 * that nothing happens.
 */
#include "../support.h"

#include "rcu.h"
#include "waiters.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT   7U
#define PATIENT (60 * WEIR_SECOND) /* nothing takes so long, and whatever hangs is found */

#ifdef WEIR_THREAD_SANITIZER
/* Its runtime starts no threads after a fork unless it is told to. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif

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

static struct weir_waiters *open_waiters(void)
{
    struct weir_waiters *w = weir_waiters_open();
    assert_non_null(w);
    assert_true(weir_waiters_is_valid(w));
    return w;
}

static struct permits permits_of(struct weir_waiters *w, weir_key key, uint64_t free)
{
    return (struct permits){.waiters = w, .limit = LIMIT, .key = key, .free = {free}};
}

static bool take(struct permits *p, uint64_t n)
{
    uint64_t free = weir_load_acquire(&p->free);
    while (free >= n)
        if (weir_cas_acq_rel(&p->free, &free, free - n))
            return true;
    return false;
}

static void give(struct permits *p, uint64_t n)
{
    weir_add_acq_rel(&p->free, n);
    weir_waiters_kick(p->waiters, p->limit, p->key);
}

static bool fits(void *host, unsigned limit, weir_key key, uint64_t n)
{
    struct permits *p = host;
    if (limit != p->limit || key.low != p->key.low || key.high != p->key.high)
        p->mistakes++;
    return weir_load_acquire(&p->removed) != 0 || weir_load_acquire(&p->free) >= n;
}

static uint64_t waiting(struct weir_waiters *w)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < WEIR_WAITER_BUCKETS; i++)
        count += weir_load_acquire(&w->buckets[i].count);
    return count;
}

static uint64_t wakes(struct weir_waiters *w)
{
    return weir_load_acquire(&w->wakes);
}

static void close_waiters(struct weir_waiters *w)
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

static int try_to_take(void *context)
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

static int ask(struct asker *a)
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

static void *ask_in_thread(void *asker)
{
    ask(asker);
    return NULL;
}

static struct asker asker_for(struct permits *p, uint64_t n)
{
    return (struct asker){.permits = p, .n = n, .deadline = WEIR_FOREVER, .gives_back = true};
}

/* In a thread of its own; returns when it is in the queue, or was. One that found nobody tries
   before that and after it, and then no more until it is woken; the others do not try. */
static void start(struct asker *a)
{
    uint64_t before = waiting(a->permits->waiters);
    assert_int_equal(pthread_create(&a->thread, NULL, ask_in_thread, a), 0);
    AWAIT(waiting(a->permits->waiters) == before + 1 || a->left);
    AWAIT(a->tries != 1 || a->left);
}

static void join(struct asker *a)
{
    AWAIT(a->left);
    assert_int_equal(pthread_join(a->thread, NULL), 0);
}

/* Whoever may not wait asks with a deadline that has passed. */
static int ask_now(struct permits *p, uint64_t n)
{
    struct asker a = asker_for(p, n);
    a.deadline = 0;
    a.gives_back = false;
    return ask(&a);
}

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

/* ---- leaving without permits ---- */

/* `first` waits for two permits, one is free, and `second` waits for that one behind it. */
struct pair {
    struct weir_waiters *waiters;
    struct permits permits;
    struct asker first, second;
};

/* What the test has set of `first` stays. */
static void start_pair(struct pair *pair)
{
    pair->waiters = open_waiters();
    pair->permits = permits_of(pair->waiters, (weir_key){7, 8}, 1);
    pair->first.permits = &pair->permits;
    pair->first.n = 2;
    pair->second = asker_for(&pair->permits, 1);
    start(&pair->first);
    start(&pair->second);
}

/* The first has left with `result` and has handed on. */
static void end_pair(struct pair *pair, int result)
{
    join(&pair->first);
    join(&pair->second);
    assert_int_equal(pair->first.result, result);
    assert_int_equal(pair->second.result, 0);
    assert_int_equal(pair->second.tries, 1);
    assert_int_equal(pair->permits.free.value, 1);
    assert_int_equal(pair->permits.mistakes, 0);
    close_waiters(pair->waiters);
}

/* Of the clocks that the tests move: not the monotonic one's for a long time. */
#define FAR ((weir_ns)1 << 62)

static weir_ns look_at(void *clock)
{
    atomic_ullong *now = clock;
    return *now;
}

static void k12_who_times_out_hands_on(void **state)
{
    (void)state;
    atomic_ullong now = FAR;
    struct pair pair = {
        .first = {.deadline = FAR + WEIR_DAY, .clock = look_at, .clock_context = &now}};
    start_pair(&pair);
    give(&pair.permits, 0); /* does not fit the first */
    assert_int_equal(wakes(pair.waiters), 0);
    assert_false(pair.first.left);
    now = FAR + WEIR_DAY;
    end_pair(&pair, -ETIMEDOUT);
}

static void k12_who_times_out_by_the_monotonic_clock_hands_on(void **state)
{
    (void)state;
    struct pair pair = {.first = {.deadline = weir_now() + 200 * WEIR_MILLISECOND}};
    start_pair(&pair);
    end_pair(&pair, -ETIMEDOUT);
    assert_true(weir_now() >= pair.first.deadline);
}

static void k12_who_times_out_in_the_middle_leaves_the_order(void **state)
{
    (void)state;
    enum { THREE = 3 };
    struct weir_waiters *w = open_waiters();
    for (unsigned who = 0; who < THREE; who++) {
        struct permits p = permits_of(w, (weir_key){7, 8}, 0);
        struct asker askers[THREE], last = asker_for(&p, 1);
        atomic_uint grants = 0;
        atomic_ullong now = FAR;
        uint64_t before = wakes(w);
        for (unsigned i = 0; i < THREE; i++) {
            askers[i] = asker_for(&p, 1);
            askers[i].grants = &grants;
            askers[i].clock = look_at;
            askers[i].clock_context = &now;
            askers[i].deadline = i == who ? FAR + 1 : WEIR_FOREVER;
            start(&askers[i]);
        }
        now = FAR + 1;
        join(&askers[who]);
        assert_int_equal(askers[who].result, -ETIMEDOUT);
        assert_int_equal(waiting(w), THREE - 1);
        assert_true(weir_waiters_is_valid(w));
        assert_int_equal(wakes(w), before);
        last.grants = &grants;
        start(&last);
        give(&p, 1);
        for (unsigned i = 0, place = 0; i < THREE; i++) {
            if (i == who)
                continue;
            join(&askers[i]);
            assert_int_equal(askers[i].place, place++);
        }
        join(&last);
        assert_int_equal(last.place, THREE - 1);
        assert_int_equal(wakes(w), before + THREE);
        assert_int_equal(p.free.value, 1);
    }
    close_waiters(w);
}

/* Woken, but with what it was woken for gone, and so is the time. */
static int be_late(struct asker *a)
{
    atomic_ullong *now = a->own;
    if (weir_load_acquire(&a->permits->free) < 2)
        return 0;
    *now = FAR + 1;
    (void)take(a->permits, 1);
    return 0;
}

static void k12_who_is_woken_and_times_out_hands_on(void **state)
{
    (void)state;
    atomic_ullong now = FAR;
    struct pair pair = {.first = {.deadline = FAR + 1,
                                  .clock = look_at,
                                  .clock_context = &now,
                                  .before = be_late,
                                  .own = &now}};
    start_pair(&pair);
    give(&pair.permits, 1);
    end_pair(&pair, -ETIMEDOUT);
    assert_int_equal(pair.first.tries, 2 + 2);
}

static int find_it_gone(struct asker *a)
{
    if (weir_load_acquire(&a->permits->free) < 2)
        return 0;
    (void)take(a->permits, 1);
    return -EIO;
}

static void k12_who_is_woken_and_fails_hands_on(void **state)
{
    (void)state;
    struct pair pair = {.first = {.deadline = WEIR_FOREVER, .before = find_it_gone}};
    start_pair(&pair);
    give(&pair.permits, 1);
    end_pair(&pair, -EIO);
    assert_int_equal(pair.first.tries, 2 + 1);
}

static atomic_uint interruptions;

static void interrupt(int signal)
{
    (void)signal;
    interruptions++;
}

/* To be called again and again: a handler that runs before the thread sleeps interrupts nothing. */
static bool has_left_after_a_signal(struct asker *a)
{
    assert_int_equal(pthread_kill(a->thread, SIGUSR1), 0);
    usleep(200);
    return a->left;
}

static void k12_who_is_interrupted_hands_on(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct sigaction action = {.sa_handler = interrupt, .sa_flags = i < 2 ? 0 : SA_RESTART};
        struct sigaction before;
        assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
        interruptions = 0;
        struct pair pair = {
            .first = {.deadline = i % 2 == 0 ? WEIR_FOREVER : weir_now() + WEIR_DAY}};
        start_pair(&pair);
        AWAIT(has_left_after_a_signal(&pair.first));
        end_pair(&pair, -EINTR);
        assert_true(interruptions > 0);
        assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    }
}

/* ---- clocks ---- */

static weir_ns count_looks(void *clock)
{
    atomic_uint *looks = clock;
    ++*looks;
    return FAR;
}

static void k21_a_clock_that_stands_still_delays_no_grant(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    for (unsigned i = 0; i < 2; i++) {
        struct permits p = permits_of(w, (weir_key){1, 1}, 0);
        struct asker a = asker_for(&p, 1);
        atomic_uint looks = 0;
        a.clock = count_looks;
        a.clock_context = &looks;
        a.deadline = i == 0 ? FAR + 1 : WEIR_FOREVER;
        start(&a);
        if (i == 0)
            AWAIT(looks > 5); /* its sleep ended again and again, which means nothing */
        assert_false(a.left);
        give(&p, 1);
        join(&a);
        assert_int_equal(a.result, 0);
        if (i == 1)
            assert_int_equal(looks, 0);
    }
    close_waiters(w);
}

/* Farther than 32 bits of milliseconds, or of anything, can say. */
static void k21_far_deadlines_do_not_come_near(void **state)
{
    (void)state;
    weir_ns now = weir_now();
    const weir_ns deadlines[] = {
        now + 25 * WEIR_DAY, now + 50 * WEIR_DAY, now + 290 * 365 * WEIR_DAY,
        INT64_MAX,           /* as far as the kernel counts, */
        WEIR_FOREVER - 1,    /* farther, */
        WEIR_FOREVER - 1000, /* as a sum that ends just before none, */
        WEIR_FOREVER};
    struct weir_waiters *w = open_waiters();
    for (size_t i = 0; i < sizeof deadlines / sizeof deadlines[0]; i++) {
        struct permits p = permits_of(w, (weir_key){1, i}, 0);
        struct asker a = asker_for(&p, 1);
        a.deadline = deadlines[i];
        start(&a);
        usleep(2000);
        assert_false(a.left);
        give(&p, 1);
        join(&a);
        assert_int_equal(a.result, 0);
    }
    close_waiters(w);
}

static void k21_near_deadlines_pass(void **state)
{
    (void)state;
    struct weir_waiters *w = open_waiters();
    struct permits p = permits_of(w, (weir_key){1, 1}, 0);
    for (weir_ns span = 0; span < 2 * WEIR_MILLISECOND; span = span * 3 + 1) {
        struct asker a = asker_for(&p, 1);
        a.deadline = weir_now() + span;
        assert_int_equal(ask(&a), -ETIMEDOUT);
        assert_true(weir_now() >= a.deadline);
    }
    close_waiters(w);
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
        p[k] = permits_of(w, (weir_key){1, k}, 0);
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

/* Another key of the same bucket. */
static weir_key beside(struct weir_waiters *w, weir_key key)
{
    weir_key other = key;
    do
        other.low++;
    while (weir_waiters_bucket(w, LIMIT, other) != weir_waiters_bucket(w, LIMIT, key));
    return other;
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
        cmocka_unit_test(k12_who_times_out_hands_on),
        cmocka_unit_test(k12_who_times_out_by_the_monotonic_clock_hands_on),
        cmocka_unit_test(k12_who_times_out_in_the_middle_leaves_the_order),
        cmocka_unit_test(k12_who_is_woken_and_times_out_hands_on),
        cmocka_unit_test(k12_who_is_woken_and_fails_hands_on),
        cmocka_unit_test(k12_who_is_interrupted_hands_on),
        cmocka_unit_test(k21_a_clock_that_stands_still_delays_no_grant),
        cmocka_unit_test(k21_far_deadlines_do_not_come_near),
        cmocka_unit_test(k21_near_deadlines_pass),
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
