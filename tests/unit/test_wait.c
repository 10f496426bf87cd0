/* SPDX-License-Identifier: MIT */
/*
 * K12, K36: weir_wait takes its tokens, or leaves at once and without a trace; it acts no earlier
 * than its reservation may, whatever its sleep says, and one after the other in the order in which
 * they came.
 *
 * On a clock that stands still but in a sleep, and on the real one with real signals.
 */
#include "../support.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define T0  WEIR_HOUR
#define SEC WEIR_SECOND

/* A clock of the test's own, and how its sleeps end: each takes the next of the script, and after
   that they end at their instant. */
struct nap {
    enum { TO_INSTANT, SHORT_OF_IT, INTERRUPTED, INTERRUPTED_LATE } end;
    weir_ns by; /* so much before, or after */
};

struct fake {
    weir_ns now;
    const struct nap *script;
    unsigned scripted;
    unsigned sleeps;
    weir_ns asked; /* instant of the last sleep */
    bool differs;  /* from the one before */
    void (*meanwhile)(struct fake *f);
    struct weir *w;
    int limit;
    weir_key key;
};

static weir_ns fake_clock(void *context)
{
    return ((const struct fake *)context)->now;
}

static int fake_sleep(void *context, weir_ns instant)
{
    struct fake *f = context;
    static const struct nap whole = {TO_INSTANT, 0};
    const struct nap *nap = f->sleeps < f->scripted ? &f->script[f->sleeps] : &whole;
    f->differs |= f->sleeps != 0 && f->asked != instant;
    f->sleeps++;
    f->asked = instant;
    if (f->meanwhile != NULL)
        f->meanwhile(f);
    errno = EDOM; /* as a sleep may; the caller's stays */
    if (nap->end == INTERRUPTED)
        return EINTR;
    weir_ns until = nap->end == INTERRUPTED_LATE ? instant + nap->by : instant - nap->by;
    f->now = f->now < until ? until : f->now;
    return nap->end == INTERRUPTED_LATE ? EINTR : 0;
}

static weir_ns fake_wall(void *context, weir_ns now)
{
    (void)context;
    return now;
}

static void open_fake(struct fake *f, struct weir_policy policy)
{
    const struct weir_options options = {.max_keys = 64,
                                         .clock = fake_clock,
                                         .sleep_until = fake_sleep,
                                         .clock_context = f,
                                         .wall_clock = fake_wall};
    *f = (struct fake){.now = T0};
    f->w = open_engine(&options);
    f->limit = add_limit(f->w, "a", policy);
    f->key = weir_key_u64(f->w, 1);
}

static int wait_for(struct fake *f, uint64_t n, weir_ns deadline)
{
    f->sleeps = 0;
    f->differs = false;
    return weir_wait(f->w, f->limit, f->key, n, deadline);
}

/* What can be seen of the key, now and later. */
static void look(const struct fake *f, struct weir_result seen[8])
{
    for (unsigned i = 0; i < 8; i++)
        seen[i] = weir_peek(f->w, f->limit, f->key, i % 4, f->now + i / 4 * SEC);
}

static void assert_untouched(const struct fake *f, const struct weir_result before[8])
{
    struct weir_result after[8];
    look(f, after);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(after[i].verdict, before[i].verdict);
        assert_int_equal(after[i].wait, before[i].wait);
        assert_int_equal(after[i].remaining, before[i].remaining);
        assert_int_equal(after[i].reset, before[i].reset);
    }
}

/* It returns this, at once: no sleep, no time, no trace. */
static void assert_refused(struct fake *f, uint64_t n, weir_ns deadline, int error)
{
    struct weir_result before[8];
    weir_ns now = f->now;
    look(f, before);
    assert_int_equal(wait_for(f, n, deadline), error);
    assert_int_equal(f->sleeps, 0);
    assert_int_equal(f->now, now);
    assert_untouched(f, before);
}

/* ---- what needs no sleep ---- */

static void options_ask_for_clock_and_sleep(void **state)
{
    (void)state;
    struct weir *w = NULL;
    struct weir_options options = {.max_keys = 1, .clock = fake_clock};
    assert_int_equal(weir_open(&w, &options), -EINVAL);
    assert_null(w);
    options.sleep_until = fake_sleep;
    assert_int_equal(weir_open(&w, &options), 0);
    weir_close(w);
}

static void bad_arguments(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_token_bucket(1, SEC, 5));
    assert_int_equal(weir_wait(NULL, f.limit, f.key, 1, WEIR_FOREVER), -EINVAL);
    assert_int_equal(weir_wait(f.w, -1, f.key, 1, WEIR_FOREVER), -ENOENT);
    assert_int_equal(weir_wait(f.w, f.limit + 1, f.key, 1, WEIR_FOREVER), -ENOENT);
    assert_int_equal(weir_wait(f.w, f.limit + 1, f.key, 1, T0 - 1), -ENOENT);
    assert_int_equal(weir_remove_limit(f.w, f.limit, T0), 0);
    assert_int_equal(weir_wait(f.w, f.limit, f.key, 1, WEIR_FOREVER), -ENOENT);
    assert_int_equal(f.sleeps, 0);
    weir_close(f.w);
}

static void k07_more_than_it_can_hold(void **state)
{
    (void)state;
    const struct weir_policy policies[] = {weir_token_bucket(1, SEC, 5), weir_fixed_window(5, SEC),
                                           weir_sliding_window(5, SEC),
                                           weir_aligned_window(5, SEC, 0), weir_concurrency(5)};
    for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct fake f;
        open_fake(&f, policies[i]);
        assert_refused(&f, 6, WEIR_FOREVER, -E2BIG);
        assert_refused(&f, UINT64_MAX, T0, -E2BIG);
        assert_refused(&f, 6, T0 - 1, -E2BIG); /* also when it is too late already */
        assert_int_equal(wait_for(&f, 5, T0), 0);
        assert_int_equal(weir_peek(f.w, f.limit, f.key, 1, T0).remaining, 0);
        weir_close(f.w);
    }
}

static void what_is_there_is_taken_at_once(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_token_bucket(1, SEC, 5));
    assert_int_equal(wait_for(&f, 2, T0), 0); /* the deadline is now */
    assert_int_equal(wait_for(&f, 3, WEIR_FOREVER), 0);
    assert_int_equal(wait_for(&f, 0, T0), 0);
    assert_int_equal(f.sleeps, 0);
    assert_int_equal(weir_peek(f.w, f.limit, f.key, 1, T0).remaining, 0);
    assert_int_equal(weir_peek(f.w, f.limit, f.key, 1, T0).wait, SEC);
    weir_close(f.w);
}

static void k06_unlimited(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_token_bucket(WEIR_UNLIMITED, 1, 0));
    assert_int_equal(wait_for(&f, UINT64_MAX, T0), 0);
    assert_int_equal(wait_for(&f, 1, WEIR_FOREVER), 0);
    assert_int_equal(f.sleeps, 0);
    weir_close(f.w);
}

static void k06_a_limit_of_0_has_its_burst_once(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_token_bucket(0, SEC, 2));
    assert_int_equal(wait_for(&f, 2, T0), 0);
    assert_refused(&f, 1, WEIR_FOREVER, -ETIMEDOUT);
    assert_refused(&f, 1, WEIR_FOREVER - 1, -ETIMEDOUT);
    assert_refused(&f, 3, WEIR_FOREVER, -E2BIG);
    weir_close(f.w);
}

/* Nothing comes back by waiting, as far as weir_wait knows. */
static void k06_concurrency(void **state)
{
    (void)state;
    struct fake f;
    uint64_t in_use;
    open_fake(&f, weir_concurrency(3));
    assert_int_equal(wait_for(&f, 3, T0), 0);
    assert_refused(&f, 1, WEIR_FOREVER, -ETIMEDOUT);
    assert_refused(&f, 1, T0, -ETIMEDOUT);
    assert_int_equal(weir_refund(f.w, f.limit, f.key, 1, T0), 1);
    assert_int_equal(wait_for(&f, 1, T0), 0);
    assert_int_equal(weir_in_use(f.w, f.limit, f.key, &in_use, NULL), 0);
    assert_int_equal(in_use, 3);
    weir_close(f.w);
}

/* ---- deadlines ---- */

/* What the next wait for one token costs: it is refused 1 ns before that, and granted at it. */
static void assert_exact(struct fake *f, weir_ns span)
{
    weir_ns then = f->now + span;
    assert_refused(f, 1, then - 1, -ETIMEDOUT);
    assert_refused(f, 1, f->now, -ETIMEDOUT);
    assert_int_equal(wait_for(f, 1, then), 0);
    assert_int_equal(f->sleeps, 1);
    assert_int_equal(f->asked, then);
    assert_int_equal(f->now, then);
}

static void k12_k35_a_deadline_is_met_or_refused_at_once(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_token_bucket(3, SEC, 5));
    assert_int_equal(wait_for(&f, 5, T0), 0);
    assert_exact(&f, 333333334); /* a third of a second, rounded up */
    weir_close(f.w);
    open_fake(&f, weir_pacer(50, SEC, 0));
    assert_int_equal(wait_for(&f, 1, T0), 0);
    assert_exact(&f, 20 * WEIR_MILLISECOND);
    assert_exact(&f, 20 * WEIR_MILLISECOND);
    weir_close(f.w);
    open_fake(&f, weir_refill_bucket(5, SEC, 100 * WEIR_MILLISECOND));
    assert_int_equal(wait_for(&f, 5, T0), 0);
    assert_exact(&f, 200 * WEIR_MILLISECOND);
    weir_close(f.w);
}

static void k12_windows_are_waited_for(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_fixed_window(3, SEC)); /* starts are kept to the nanosecond */
    assert_int_equal(wait_for(&f, 3, T0), 0);
    assert_exact(&f, SEC);
    assert_int_equal(wait_for(&f, 2, T0 + SEC), 0);
    assert_exact(&f, SEC);
    assert_int_equal(weir_peek(f.w, f.limit, f.key, 1, f.now).remaining, 2);
    weir_close(f.w);
    open_fake(&f, weir_aligned_window(3, SEC, 0));
    f.now += SEC / 4;
    assert_int_equal(wait_for(&f, 3, f.now), 0);
    assert_exact(&f, 3 * SEC / 4);
    weir_close(f.w);
    open_fake(&f, weir_calendar_window(3, WEIR_CALENDAR_DAY, "UTC"));
    assert_int_equal(wait_for(&f, 3, T0), 0);
    assert_exact(&f, WEIR_DAY - T0);
    weir_close(f.w);
    open_fake(&f, weir_sliding_window(4, SEC));
    assert_int_equal(wait_for(&f, 4, T0), 0);
    assert_exact(&f, SEC + SEC / 4); /* in the next window, when a fourth of this one has faded */
    weir_close(f.w);
}

static void k35_a_deadline_that_has_passed(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_token_bucket(1, SEC, 5));
    assert_refused(&f, 1, T0 - 1, -ETIMEDOUT); /* though tokens are there */
    assert_refused(&f, 0, 0, -ETIMEDOUT);
    assert_int_equal(wait_for(&f, 1, T0), 0);
    weir_close(f.w);
}

static void no_deadline(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_token_bucket(1, 30 * WEIR_DAY, 1));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(wait_for(&f, 1, WEIR_FOREVER), 0);
    assert_int_equal(f.asked, T0 + 60 * WEIR_DAY);
    assert_int_equal(f.now, T0 + 60 * WEIR_DAY);
    weir_close(f.w);
}

/* ---- sleeps that end otherwise ---- */

static void k12_an_early_wake_sleeps_again(void **state)
{
    (void)state;
    static const struct nap early[] = {
        {SHORT_OF_IT, SEC / 2}, {SHORT_OF_IT, SEC / 2}, {SHORT_OF_IT, 20}, {SHORT_OF_IT, 1}};
    struct fake f;
    open_fake(&f, weir_token_bucket(1, SEC, 1));
    f.script = early;
    f.scripted = 4;
    assert_int_equal(wait_for(&f, 1, T0), 0);
    assert_int_equal(wait_for(&f, 1, T0 + SEC), 0);
    assert_int_equal(f.sleeps, 5);
    assert_int_equal(f.asked, T0 + SEC);
    assert_false(f.differs);
    assert_int_equal(f.now, T0 + SEC);
    weir_close(f.w);
}

static void errno_stays(void **state)
{
    (void)state;
    static const struct nap interrupted = {INTERRUPTED, 0};
    struct fake f;
    open_fake(&f, weir_token_bucket(1, SEC, 1));
    assert_int_equal(wait_for(&f, 1, T0), 0);
    errno = ENOTTY;
    assert_int_equal(wait_for(&f, 1, T0 + SEC), 0);
    assert_int_equal(errno, ENOTTY);
    f.script = &interrupted;
    f.scripted = 1;
    assert_int_equal(wait_for(&f, 1, WEIR_FOREVER), -EINTR);
    assert_int_equal(errno, ENOTTY);
    weir_close(f.w);
}

static void k11_k12_an_interrupted_sleep_gives_back(void **state)
{
    (void)state;
    static const struct nap interrupted[] = {{SHORT_OF_IT, 1}, {INTERRUPTED, 0}};
    const struct weir_policy policies[] = {
        weir_token_bucket(1, SEC, 3),         weir_token_bucket(17, WEIR_MINUTE, 3),
        weir_refill_bucket(3, SEC, SEC / 10), weir_fixed_window(3, SEC),
        weir_aligned_window(3, SEC, 0),       weir_calendar_window(3, WEIR_CALENDAR_DAY, "UTC"),
        weir_sliding_window(3, SEC)};
    for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct fake f;
        struct weir_result before[8];
        open_fake(&f, policies[i]);
        assert_int_equal(wait_for(&f, 2, T0), 0);
        look(&f, before);
        f.script = interrupted + 1;
        f.scripted = 1;
        assert_int_equal(wait_for(&f, 3, WEIR_FOREVER), -EINTR);
        assert_int_equal(f.sleeps, 1);
        assert_untouched(&f, before);
        weir_close(f.w);
    }
}

/* As by weir_cancel: less what was reserved after it meanwhile. */
static void reserve_one(struct fake *f)
{
    struct weir_result result = weir_reserve(f->w, f->limit, f->key, 1, f->now, WEIR_FOREVER, NULL);
    assert_int_equal(result.verdict, WEIR_ALLOWED);
}

static void k11_what_an_interrupted_sleep_gives_back(void **state)
{
    (void)state;
    static const struct nap interrupted = {INTERRUPTED, 0};
    struct fake f;
    open_fake(&f, weir_token_bucket(1, SEC, 5));
    assert_int_equal(wait_for(&f, 5, T0), 0);
    f.script = &interrupted;
    f.scripted = 1;
    f.meanwhile = reserve_one;
    assert_int_equal(wait_for(&f, 3, WEIR_FOREVER), -EINTR);
    /* 3 and 1 were owed; 2 came back */
    assert_int_equal(weir_peek(f.w, f.limit, f.key, 1, T0).wait, 3 * SEC);
    weir_close(f.w);
}

/* Once its instant has come it acts, whatever has woken it. */
static void k12_a_signal_that_comes_too_late(void **state)
{
    (void)state;
    for (weir_ns by = 0; by < 2; by++) {
        const struct nap late = {INTERRUPTED_LATE, by};
        struct fake f;
        open_fake(&f, weir_token_bucket(1, SEC, 1));
        assert_int_equal(wait_for(&f, 1, T0), 0);
        f.script = &late;
        f.scripted = 1;
        assert_int_equal(wait_for(&f, 1, WEIR_FOREVER), 0);
        assert_int_equal(f.now, T0 + SEC + by);
        assert_int_equal(weir_peek(f.w, f.limit, f.key, 1, f.now).wait, SEC - by);
        weir_close(f.w);
    }
}

/* ---- the order of waiters ---- */

#define LINE 5

/* A clock that threads sleep on, each until it has been moved there. */
struct line {
    struct weir *w;
    int limit;
    weir_key key;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    weir_ns now;         /* lock */
    unsigned asleep;     /* lock; sleeps begun */
    weir_ns asked[LINE]; /* lock */
    unsigned ended;      /* lock */
    unsigned order[LINE];
    int got[LINE];
};

struct place {
    struct line *line;
    unsigned index;
};

static weir_ns line_clock(void *context)
{
    struct line *l = context;
    pthread_mutex_lock(&l->lock);
    weir_ns now = l->now;
    pthread_mutex_unlock(&l->lock);
    return now;
}

static int line_sleep(void *context, weir_ns instant)
{
    struct line *l = context;
    pthread_mutex_lock(&l->lock);
    if (l->asleep < LINE)
        l->asked[l->asleep] = instant;
    l->asleep++;
    pthread_cond_broadcast(&l->moved);
    while (l->now < instant)
        pthread_cond_wait(&l->moved, &l->lock);
    pthread_mutex_unlock(&l->lock);
    return 0;
}

static void *stand_in_line(void *context)
{
    const struct place *p = context;
    struct line *l = p->line;
    int got = weir_wait(l->w, l->limit, l->key, 1 + p->index % 2, WEIR_FOREVER);
    pthread_mutex_lock(&l->lock);
    l->got[p->index] = got;
    if (l->ended < LINE)
        l->order[l->ended] = p->index;
    l->ended++;
    pthread_cond_broadcast(&l->moved);
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* lock; until so many sleep, or have ended. */
static void await(struct line *l, const unsigned *what, unsigned count)
{
    while (*what < count)
        pthread_cond_wait(&l->moved, &l->lock);
}

static void k36_waiters_act_in_the_order_they_came(void **state)
{
    (void)state;
    static const unsigned owed[LINE] = {1, 3, 4, 6, 7}; /* they want 1 or 2 tokens each */
    struct line l = {.now = T0};
    const struct weir_options options = {
        .max_keys = 8, .clock = line_clock, .sleep_until = line_sleep, .clock_context = &l};
    pthread_t threads[LINE];
    struct place places[LINE];
    pthread_mutex_init(&l.lock, NULL);
    pthread_cond_init(&l.moved, NULL);
    l.w = open_engine(&options);
    l.limit = add_limit(l.w, "a", weir_token_bucket(1, SEC, 2));
    l.key = weir_key_u64(l.w, 1);
    assert_true(weir_allow(l.w, l.limit, l.key, 2, T0));
    for (unsigned i = 0; i < LINE; i++) {
        places[i] = (struct place){&l, i};
        assert_int_equal(pthread_create(&threads[i], NULL, stand_in_line, &places[i]), 0);
        pthread_mutex_lock(&l.lock);
        await(&l, &l.asleep, i + 1);
        assert_int_equal(l.asked[i], T0 + owed[i] * SEC);
        pthread_mutex_unlock(&l.lock);
    }
    for (unsigned i = 0; i < LINE; i++) {
        pthread_mutex_lock(&l.lock);
        assert_int_equal(l.ended, i);
        l.now = T0 + owed[i] * SEC;
        pthread_cond_broadcast(&l.moved);
        await(&l, &l.ended, i + 1);
        assert_int_equal(l.order[i], i);
        assert_int_equal(l.got[i], 0);
        pthread_mutex_unlock(&l.lock);
    }
    for (unsigned i = 0; i < LINE; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(weir_peek(l.w, l.limit, l.key, 1, l.now).remaining, 0);
    pthread_cond_destroy(&l.moved);
    pthread_mutex_destroy(&l.lock);
    weir_close(l.w);
}

/* ---- the real clock ---- */

static void the_real_clock_is_not_early(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(8, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(200, SEC, 1));
    weir_key key = weir_key_u64(w, 1);
    weir_ns begin = weir_now();
    for (weir_ns i = 0; i < 5; i++) {
        assert_int_equal(weir_wait(w, limit, key, 1, WEIR_FOREVER), 0);
        assert_true(weir_now() >= begin + i * 5 * WEIR_MILLISECOND);
    }
    assert_int_equal(weir_wait(w, limit, key, 1, begin), -ETIMEDOUT);
    weir_close(w);
}

struct sleeper {
    struct weir *w;
    int limit;
    weir_key key;
    struct weir_atomic_u64 ended;
    int got;
};

static void *sleep_long(void *context)
{
    struct sleeper *s = context;
    s->got = weir_wait(s->w, s->limit, s->key, 1, WEIR_FOREVER);
    weir_store_release(&s->ended, 1);
    return NULL;
}

static void nothing(int signal)
{
    (void)signal;
}

/* Whatever the handler's flags. A signal that comes before the sleep interrupts nothing, so there
   are more of them. */
static void k12_a_signal_ends_the_wait(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        struct sleeper s = {.w = open_for_keys(8, WEIR_FULL_SHARE)};
        struct sigaction old;
        struct sigaction handler = {.sa_handler = nothing, .sa_flags = round ? SA_RESTART : 0};
        pthread_t thread;
        s.limit = add_limit(s.w, "a", weir_token_bucket(1, WEIR_DAY, 1));
        s.key = weir_key_u64(s.w, 1);
        weir_ns now = weir_now();
        assert_true(weir_allow(s.w, s.limit, s.key, 1, now));
        assert_int_equal(sigaction(SIGUSR1, &handler, &old), 0);
        assert_int_equal(pthread_create(&thread, NULL, sleep_long, &s), 0);
        while (weir_load_acquire(&s.ended) == 0) {
            pthread_kill(thread, SIGUSR1);
            usleep(1000);
        }
        pthread_join(thread, NULL);
        sigaction(SIGUSR1, &old, NULL);
        assert_int_equal(s.got, -EINTR);
        assert_int_equal(weir_peek(s.w, s.limit, s.key, 1, now).wait, WEIR_DAY);
        weir_close(s.w);
    }
}

/* K04: an instant past 2^64 is none that has passed. */
static void k04_a_wait_past_all_instants_sleeps(void **state)
{
    (void)state;
    struct fake f;
    open_fake(&f, weir_token_bucket(1, ((weir_ns)1 << 62) - 1, 4));
    assert_int_equal(wait_for(&f, 4, WEIR_FOREVER), 0);
    f.now = (weir_ns)1 << 62;
    f.sleeps = 0;
    assert_int_equal(wait_for(&f, 4, WEIR_FOREVER), 0);
    assert_int_equal(f.sleeps, 1);
    assert_true(f.asked > (weir_ns)INT64_MAX);
    weir_close(f.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k04_a_wait_past_all_instants_sleeps),
        cmocka_unit_test(options_ask_for_clock_and_sleep),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(k07_more_than_it_can_hold),
        cmocka_unit_test(what_is_there_is_taken_at_once),
        cmocka_unit_test(k06_unlimited),
        cmocka_unit_test(k06_a_limit_of_0_has_its_burst_once),
        cmocka_unit_test(k06_concurrency),
        cmocka_unit_test(k12_k35_a_deadline_is_met_or_refused_at_once),
        cmocka_unit_test(k12_windows_are_waited_for),
        cmocka_unit_test(k35_a_deadline_that_has_passed),
        cmocka_unit_test(no_deadline),
        cmocka_unit_test(k12_an_early_wake_sleeps_again),
        cmocka_unit_test(errno_stays),
        cmocka_unit_test(k11_k12_an_interrupted_sleep_gives_back),
        cmocka_unit_test(k11_what_an_interrupted_sleep_gives_back),
        cmocka_unit_test(k12_a_signal_that_comes_too_late),
        cmocka_unit_test(k36_waiters_act_in_the_order_they_came),
        cmocka_unit_test(the_real_clock_is_not_early),
        cmocka_unit_test(k12_a_signal_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
