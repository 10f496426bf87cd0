/* SPDX-License-Identifier: MIT */
/*
 * K12, K13, K36: permits and who waits for them. What is in use is what was acquired less what was
 * released, whoever is refused, interrupted or too late; waiters of a key are served in the order
 * in which they came, and whatever may let one go on wakes it.
 *
 * A wake-up that gets lost shows as a test that does not end.
 */
#include "permits.h"

#include <signal.h>
#include <unistd.h>

static void nothing(int signal)
{
    (void)signal;
}

static void handle_signals(int flags)
{
    struct sigaction handler = {.sa_handler = nothing, .sa_flags = flags};
    assert_int_equal(sigaction(SIGUSR1, &handler, NULL), 0);
}

/* A signal that comes before the sleep interrupts nothing, so there are more of them. */
static void interrupt(struct waiter *a)
{
    while (!has_ended(a)) {
        pthread_kill(a->thread, SIGUSR1);
        usleep(1000);
    }
}

/* ---- order ---- */

static void k36_first_come_first_served(void **state)
{
    (void)state;
    unsigned rounds = (unsigned)random_scaled(50);
    for (unsigned round = 0; round < rounds; round++) {
        struct scene s;
        struct waiter waiters[THREADS];
        struct weir_permit first;
        open_scene(&s, 3);
        acquire(&s, 3, &first);
        for (unsigned i = 0; i < THREADS; i++)
            start(&waiters[i], &s, 2 + i % 2, WEIR_FOREVER); /* no two at a time */
        assert_int_equal(weir_release(s.w, &first), 0);
        for (unsigned i = 0; i < THREADS; i++) {
            assert_got(&waiters[i], 0);
            assert_int_equal(in_use(&s), 2 + i % 2);
            for (unsigned later = i + 1; later < THREADS; later++)
                assert_false(has_ended(&waiters[later]));
            release(&waiters[i]);
        }
        end_scene(&s, 3);
    }
}

/* The line stands behind its first, however little the others want; who does not wait may pass. */
static void k36_smaller_ones_do_not_pass(void **state)
{
    (void)state;
    struct scene s;
    struct waiter big, small, last;
    struct weir_permit held[4], passing;
    open_scene(&s, 4);
    for (unsigned i = 0; i < 4; i++)
        acquire(&s, 1, &held[i]);
    start(&big, &s, 3, WEIR_FOREVER);
    start(&small, &s, 1, WEIR_FOREVER);
    start(&last, &s, 2, WEIR_FOREVER);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(weir_release(s.w, &held[i]), 0);
        assert_int_equal(waiting(&s), 3);
    }
    acquire(&s, 2, &passing);
    assert_int_equal(weir_release(s.w, &held[2]), 0);
    assert_int_equal(waiting(&s), 3);
    assert_int_equal(weir_release(s.w, &passing), 0);
    assert_got(&big, 0); /* three are free */
    assert_false(has_ended(&small));
    assert_int_equal(weir_release(s.w, &held[3]), 0);
    assert_got(&small, 0);
    assert_int_equal(in_use(&s), 4);
    assert_false(has_ended(&last));
    release(&small);
    assert_int_equal(waiting(&s), 1); /* one is free, it wants two */
    release(&big);
    assert_got(&last, 0);
    release(&last);
    end_scene(&s, 4);
}

/* A large one among small ones that come again and again: B206. */
struct crowd {
    struct scene s;
    struct weir_atomic_u64 served;
    struct weir_atomic_u64 small;
    struct weir_atomic_u64 wrong;
    uint64_t wanted;
};

static void one_of_the_crowd(void *context, unsigned index)
{
    struct crowd *c = context;
    struct scene *s = &c->s;
    struct weir_permit permit;
    while (weir_load_relaxed(&c->served) < c->wanted) {
        uint64_t n = index == 0 ? 4 : 1;
        /* as many small ones come meanwhile, whoever runs when */
        while (index == 0 && weir_load_relaxed(&c->small) < 4 * weir_load_relaxed(&c->served))
            sched_yield();
        int got = weir_acquire_wait(s->w, s->limit, s->key, n, WEIR_FOREVER, &permit);
        weir_add_relaxed(&c->wrong, got != 0);
        weir_add_relaxed(index == 0 ? &c->served : &c->small, 1);
        if (index != 0)
            sched_yield(); /* so that permits are never all free */
        weir_add_relaxed(&c->wrong, weir_release(s->w, &permit) != 0);
    }
}

static void k36_a_large_one_is_served_among_small_ones(void **state)
{
    (void)state;
    struct crowd c = {.wanted = random_scaled(3000)};
    open_scene(&c.s, 4);
    run_crew(THREADS, one_of_the_crowd, &c);
    print_message("# %llu large ones, %llu small ones\n",
                  (unsigned long long)weir_load_relaxed(&c.served),
                  (unsigned long long)weir_load_relaxed(&c.small));
    assert_int_equal(weir_load_relaxed(&c.wrong), 0);
    end_scene(&c.s, 4);
}

/* ---- who leaves leaves nothing ---- */

/* The first gives up: the next one, which fits, is served, and what is free stays free. */
static void k12_the_first_leaves(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 3;
         how++) { /* by its deadline, by a signal, by one that restarts */
        struct scene s;
        struct waiter first, second;
        struct weir_permit held;
        open_scene(&s, 3);
        acquire(&s, 2, &held);
        start(&first, &s, 2, how == 0 ? T0 + 1 : WEIR_FOREVER);
        start(&second, &s, 1, WEIR_FOREVER);
        handle_signals(how == 2 ? SA_RESTART : 0);
        if (how == 0)
            s.now = T0 + 1;
        else
            interrupt(&first);
        assert_got(&first, how == 0 ? -ETIMEDOUT : -EINTR);
        assert_got(&second, 0);
        assert_int_equal(in_use(&s), 3);
        release(&second);
        assert_int_equal(weir_release(s.w, &held), 0);
        end_scene(&s, 3);
    }
}

static void k12_one_in_the_middle_and_the_last_leave(void **state)
{
    (void)state;
    struct scene s;
    struct waiter waiters[4];
    struct weir_permit held;
    open_scene(&s, 2);
    acquire(&s, 2, &held);
    for (unsigned i = 0; i < 4; i++)
        start(&waiters[i], &s, 2, i % 2 == 1 ? T0 + i : WEIR_FOREVER);
    s.now = T0 + 1;
    assert_got(&waiters[1], -ETIMEDOUT);
    assert_int_equal(waiting(&s), 3);
    s.now = T0 + 3;
    assert_got(&waiters[3], -ETIMEDOUT);
    assert_int_equal(waiting(&s), 2);
    assert_int_equal(weir_release(s.w, &held), 0);
    assert_got(&waiters[0], 0);
    assert_int_equal(waiting(&s), 1);
    release(&waiters[0]);
    assert_got(&waiters[2], 0);
    release(&waiters[2]);
    end_scene(&s, 2);
}

static void k12_refused_at_once(void **state)
{
    (void)state;
    struct scene s;
    struct weir_permit held, permit;
    struct weir_policy bucket = weir_token_bucket(1, WEIR_SECOND, 5);
    open_scene(&s, 3);
    int other = weir_add_limit(s.w, "b", &bucket);
    acquire(&s, 3, &held);
    const struct {
        struct weir *w;
        int limit;
        uint64_t n;
        weir_ns deadline;
        int error;
    } calls[] = {
        {s.w, s.limit, 4, WEIR_FOREVER, -E2BIG}, {s.w, s.limit, UINT64_MAX, T0, -E2BIG},
        {s.w, s.limit, 1, T0 - 1, -ETIMEDOUT},   {s.w, s.limit, 1, T0, -ETIMEDOUT},
        {s.w, other, 1, WEIR_FOREVER, -EINVAL},  {s.w, other + 1, 1, WEIR_FOREVER, -ENOENT},
        {s.w, -1, 1, WEIR_FOREVER, -ENOENT},     {NULL, s.limit, 1, WEIR_FOREVER, -EINVAL},
    };
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        memset(&permit, 0xff, sizeof permit);
        permit.owner = NULL;
        assert_int_equal(weir_acquire_wait(calls[i].w, calls[i].limit, s.key, calls[i].n,
                                           calls[i].deadline, &permit),
                         calls[i].error);
        if (calls[i].w != NULL) {
            assert_int_equal(permit.n, 0);
            assert_int_equal(weir_release(s.w, &permit), -EINVAL);
        }
        assert_int_equal(in_use(&s), 3);
    }
    assert_int_equal(weir_acquire_wait(s.w, s.limit, s.key, 1, WEIR_FOREVER, NULL), -EINVAL);
    assert_int_equal(weir_release(s.w, &held), 0);
    end_scene(&s, 3);
}

/* ---- what wakes ---- */

static void by_release(struct scene *s, struct weir_permit *held)
{
    assert_int_equal(weir_release(s->w, held), 0);
}

static void by_refund(struct scene *s, struct weir_permit *held)
{
    (void)held;
    assert_int_equal(weir_refund(s->w, s->limit, s->key, 1, T0), 1);
}

static void by_set_balance(struct scene *s, struct weir_permit *held)
{
    (void)held;
    assert_int_equal(weir_set_balance(s->w, s->limit, s->key, 2, T0), 0);
}

static void by_forget(struct scene *s, struct weir_permit *held)
{
    (void)held;
    assert_int_equal(weir_forget(s->w, s->limit, s->key), 0);
}

static void by_a_higher_limit(struct scene *s, struct weir_permit *held)
{
    (void)held;
    set_permits(s, 5);
}

static void by_no_limit(struct scene *s, struct weir_permit *held)
{
    (void)held;
    set_permits(s, WEIR_UNLIMITED);
}

static void k12_whatever_frees_permits_wakes(void **state)
{
    (void)state;
    static const struct {
        void (*wake)(struct scene *s, struct weir_permit *held);
        uint64_t before; /* in use when the waiter is served */
    } ways[] = {{by_release, 0}, {by_refund, 2},         {by_set_balance, 1},
                {by_forget, 0},  {by_a_higher_limit, 3}, {by_no_limit, 3}};
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct scene s;
        struct waiter a;
        struct weir_permit held;
        open_scene(&s, 3);
        acquire(&s, 3, &held);
        start(&a, &s, 1, WEIR_FOREVER);
        ways[i].wake(&s, &held);
        assert_got(&a, 0);
        assert_int_equal(in_use(&s), ways[i].before + 1);
        release(&a);
        assert_int_equal(in_use(&s), ways[i].before);
        assert_int_equal(waiting(&s), 0);
        weir_close(s.w);
    }
}

/* A grant of weir_reserve that is cancelled, and one of weir_decide_all that is undone. */
static void k12_a_cancel_wakes(void **state)
{
    (void)state;
    struct scene s;
    struct waiter a;
    struct weir_reservation r;
    open_scene(&s, 2);
    assert_int_equal(weir_reserve(s.w, s.limit, s.key, 2, T0, 0, &r).verdict, WEIR_ALLOWED);
    start(&a, &s, 2, WEIR_FOREVER);
    assert_int_equal(weir_cancel(s.w, &r, T0), 2);
    assert_got(&a, 0);
    release(&a);
    end_scene(&s, 2);
}

static void k12_a_removed_limit_lets_all_go(void **state)
{
    (void)state;
    struct scene s;
    struct waiter waiters[THREADS];
    struct weir_permit held;
    open_scene(&s, 2);
    acquire(&s, 2, &held);
    for (unsigned i = 0; i < THREADS; i++)
        start(&waiters[i], &s, 1 + i % 2, WEIR_FOREVER);
    assert_int_equal(weir_remove_limit(s.w, s.limit, T0), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_got(&waiters[i], -ENOENT);
    assert_int_equal(weir_release(s.w, &held), -ENOENT);
    assert_int_equal(add_limit(s.w, "a", weir_concurrency(2)), s.limit);
    assert_int_equal(weir_release(s.w, &held), -ENOENT);
    end_scene(&s, 2);
}

/* Another kind of limit starts fresh; who waits is told that it is no concurrency limit any more.
 */
static void k12_another_kind_lets_all_go(void **state)
{
    (void)state;
    struct scene s;
    struct waiter waiters[3];
    struct weir_permit held;
    struct weir_policy other = weir_token_bucket(1, WEIR_SECOND, 2);
    open_scene(&s, 2);
    acquire(&s, 2, &held);
    for (unsigned i = 0; i < 3; i++)
        start(&waiters[i], &s, 1, WEIR_FOREVER);
    assert_int_equal(weir_set_limit(s.w, s.limit, &other, T0), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_got(&waiters[i], -EINVAL);
    assert_int_equal(weir_release(s.w, &held), -ENOENT);
    set_permits(&s, 2);
    assert_int_equal(weir_release(s.w, &held), -ENOENT);
    end_scene(&s, 2);
}

/* Below what the first wants: it cannot be served any more. The others wait on, under the new
   limit, until enough has come back. */
static void k12_k16_a_lower_limit(void **state)
{
    (void)state;
    struct scene s;
    struct waiter big, small;
    struct weir_permit held[4];
    open_scene(&s, 4);
    for (unsigned i = 0; i < 4; i++)
        acquire(&s, 1, &held[i]);
    start(&big, &s, 3, WEIR_FOREVER);
    start(&small, &s, 1, WEIR_FOREVER);
    set_permits(&s, 2);
    assert_got(&big, -E2BIG);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(waiting(&s), 1);
        assert_int_equal(in_use(&s), 4 - i);
        assert_int_equal(weir_release(s.w, &held[i]), 0);
    }
    assert_got(&small, 0);
    assert_int_equal(in_use(&s), 2);
    release(&small);
    assert_int_equal(weir_release(s.w, &held[3]), 0);
    end_scene(&s, 2);
}

/* ---- all of it at once ---- */

#define MIX_KEYS   3
#define LIMIT_LOW  2
#define LIMIT_HIGH 5

struct mix {
    struct weir *w;
    int limit;
    unsigned rounds;
    uint64_t seed;
    pthread_t threads[THREADS];
    struct weir_atomic_u64 begun;
    struct weir_atomic_u64 over;
    struct weir_atomic_u64 held[MIX_KEYS]; /* never more than are in use */
    struct weir_atomic_u64 counts[4];      /* granted, denied, too late, interrupted */
    struct weir_atomic_u64 wrong;
};

static void count(struct mix *m, int got)
{
    unsigned what = got == 0            ? 0
                    : got == -EAGAIN    ? 1
                    : got == -ETIMEDOUT ? 2
                    : got == -EINTR     ? 3
                                        : 4;
    if (what == 4)
        weir_add_relaxed(&m->wrong, 1);
    else
        weir_add_relaxed(&m->counts[what], 1);
}

static void use_permits(struct mix *m, struct test_random *random)
{
    uint64_t dice = random_u64(random);
    unsigned k = (unsigned)(dice % MIX_KEYS);
    uint64_t n = 1 + (dice >> 8) % LIMIT_LOW;
    weir_key key = weir_key_u64(m->w, k);
    struct weir_permit permit;
    int got;
    if ((dice >> 16 & 7) < 2) {
        got = weir_acquire(m->w, m->limit, key, n, &permit).verdict == WEIR_ALLOWED ? 0 : -EAGAIN;
    } else {
        weir_ns span = (dice >> 32) % (200 * WEIR_MICROSECOND);
        bool forever = (dice >> 16 & 7) < 5;
        weir_ns deadline = forever ? WEIR_FOREVER : weir_now() + span;
        got = weir_acquire_wait(m->w, m->limit, key, n, deadline, &permit);
    }
    count(m, got);
    if (got == 0) {
        if (weir_add_relaxed(&m->held[k], n) + n > LIMIT_HIGH)
            weir_add_relaxed(&m->wrong, 1);
        if ((dice >> 24 & 3) == 0)
            sched_yield();
        weir_add_relaxed(&m->held[k], -n);
        weir_add_relaxed(&m->wrong, weir_release(m->w, &permit) != 0);
        weir_add_relaxed(&m->wrong, weir_release(m->w, &permit) != -EALREADY);
    } else {
        weir_add_relaxed(&m->wrong, weir_release(m->w, &permit) != -EINVAL);
    }
}

/* The first changes the limit, the second sends signals, the others use permits. */
static void mix_all(void *context, unsigned index)
{
    struct mix *m = context;
    struct test_random random = {m->seed + index};
    m->threads[index] = pthread_self();
    weir_add_release(&m->begun, 1);
    while (weir_load_acquire(&m->begun) < THREADS)
        sched_yield();
    if (index >= 2) {
        for (unsigned i = 0; i < m->rounds; i++)
            use_permits(m, &random);
        weir_add_relaxed(&m->over, 1);
        /* no signal comes for a thread that is gone */
        while (weir_load_relaxed(&m->over) < THREADS)
            sched_yield();
        return;
    }
    while (weir_load_relaxed(&m->over) < THREADS - 2) {
        uint64_t dice = random_u64(&random);
        struct weir_policy policy =
            weir_concurrency(LIMIT_LOW + dice % (LIMIT_HIGH - LIMIT_LOW + 1));
        if (index == 0)
            weir_add_relaxed(&m->wrong, weir_set_limit(m->w, m->limit, &policy, T0) != 0);
        else
            pthread_kill(m->threads[2 + dice % (THREADS - 2)], SIGUSR1);
        usleep(100);
    }
    weir_add_relaxed(&m->over, 1);
}

static void k12_k13_after_all_nothing_is_left(void **state)
{
    (void)state;
    struct mix m = {.w = open_for_keys(16, WEIR_FULL_SHARE),
                    .rounds = (unsigned)random_scaled(20000)};
    m.limit = add_limit(m.w, "a", weir_concurrency(LIMIT_HIGH));
    m.seed = random_start("permits", 700).state;
    handle_signals(SA_RESTART);
    run_crew(THREADS, mix_all, &m);
    print_message("# granted %llu, denied %llu, too late %llu, interrupted %llu\n",
                  (unsigned long long)weir_load_relaxed(&m.counts[0]),
                  (unsigned long long)weir_load_relaxed(&m.counts[1]),
                  (unsigned long long)weir_load_relaxed(&m.counts[2]),
                  (unsigned long long)weir_load_relaxed(&m.counts[3]));
    assert_int_equal(weir_load_relaxed(&m.wrong), 0);
    assert_true(weir_waiters_is_valid(m.w->waiters));
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(m.w, &stats), 0);
    assert_int_equal(stats.allowed, weir_load_relaxed(&m.counts[0]));
    struct scene s = {.w = m.w, .limit = m.limit};
    set_permits(&s, LIMIT_HIGH);
    for (unsigned k = 0; k < MIX_KEYS; k++) {
        struct weir_permit all;
        s.key = weir_key_u64(m.w, k);
        assert_int_equal(waiting(&s), 0);
        assert_int_equal(in_use(&s), 0);
        acquire(&s, LIMIT_HIGH, &all);
        assert_int_equal(weir_release(m.w, &all), 0);
    }
    weir_close(m.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k36_first_come_first_served),
        cmocka_unit_test(k36_smaller_ones_do_not_pass),
        cmocka_unit_test(k36_a_large_one_is_served_among_small_ones),
        cmocka_unit_test(k12_the_first_leaves),
        cmocka_unit_test(k12_one_in_the_middle_and_the_last_leave),
        cmocka_unit_test(k12_refused_at_once),
        cmocka_unit_test(k12_whatever_frees_permits_wakes),
        cmocka_unit_test(k12_a_cancel_wakes),
        cmocka_unit_test(k12_a_removed_limit_lets_all_go),
        cmocka_unit_test(k12_another_kind_lets_all_go),
        cmocka_unit_test(k12_k16_a_lower_limit),
        cmocka_unit_test(k12_k13_after_all_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
