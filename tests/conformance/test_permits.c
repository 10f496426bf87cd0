/* SPDX-License-Identifier: MIT */
/*
 * Permits as others hand them out: the limits of zeromicro/go-zero (with and without a timeout, and
 * the one before its HTTP handlers) and the connection limiter of cloudwego/kitex.
 *
 * What the originals count, weir counts with a handle for each permit: to return more than was
 * borrowed is to release a permit again, and what was refused is a permit of nothing. Where weir
 * differs on purpose the tables below say so; an entry that no longer differs fails as well.
 *
 * Timeouts run on a clock that the other thread moves: nothing depends on how fast threads are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "differences.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE    (3600 * WEIR_SECOND)
#define PERMITS 8 /* of a short sequence */
#define THREADS 100

#define ZERO      "0 and less mean unlimited there, 0 means none here"
#define REFUSED   "what was refused is not counted, so there is nothing to release"
#define NO_CREDIT "a release of nothing does nothing, so nobody gets a permit for it"

static const struct difference go_zero_differences[] = {
    {"MaxConnsHandler n<=0", 0, SETTING, ZERO},
    {NULL, 0, 0, NULL},
};

static const struct difference connection_test_differences[] = {
    {"UpdateLimit(0); 100 threads x 10 acquires", 3, SETTING, ZERO},
    {NULL, 0, 0, NULL},
};

/* limit, ops */
static const struct difference connection_differences[] = {
    {"2, A A A", 0, IN_USE, REFUSED},     {"2, A A A R", 0, RESULT, REFUSED},
    {"2, A A A R A", 0, IN_USE, REFUSED}, {"0, A", 0, SETTING, ZERO},
    {"-1, A A", 0, SETTING, ZERO},        {"2, R", 0, RESULT | IN_USE, NO_CREDIT},
    {"2, R A A A", 0, RESULT, NO_CREDIT}, {NULL, 0, 0, NULL},
};

/* ---- permits of one key, on a clock of our own ---------------------------------------------- */

struct pool {
    struct weir *engine;
    int limit;
    weir_key key;
    _Atomic weir_ns now;
    atomic_bool returned; /* by the other thread */
    weir_ns after;        /* the span after which it does */
    struct weir_permit permits[PERMITS];
    size_t borrowed; /* of these; not all of them may have been granted */
};

static weir_ns pool_now(void *context)
{
    struct pool *p = context;

    return p->now;
}

/* Who waits for permits sleeps otherwise. */
static int pool_sleep(void *context, weir_ns instant)
{
    (void)context;
    (void)instant;
    return EINTR;
}

static void pool_open(struct pool *p, uint64_t limit)
{
    const struct weir_policy policy = weir_concurrency(limit);
    const struct weir_options options = {.size = sizeof options,
                                         .max_keys = 64,
                                         .max_limits = 4,
                                         .clock = pool_now,
                                         .sleep_until = pool_sleep,
                                         .clock_context = p};

    memset(p, 0, sizeof *p);
    p->now = BASE;
    assert_int_equal(weir_open(&p->engine, &options), 0);
    p->limit = weir_add_limit(p->engine, "limit", &policy);
    assert_true(p->limit >= 0);
    p->key = weir_key_text(p->engine, "key");
}

static void pool_close(struct pool *p)
{
    weir_close(p->engine);
    p->engine = NULL;
}

static uint64_t in_use(const struct pool *p)
{
    uint64_t count = UINT64_MAX;

    assert_int_equal(weir_in_use(p->engine, p->limit, p->key, &count, NULL), 0);
    return count;
}

static struct weir_permit *next_permit(struct pool *p)
{
    assert_true(p->borrowed < PERMITS);
    return &p->permits[p->borrowed++];
}

static bool try_borrow(struct pool *p)
{
    struct weir_result result = weir_acquire(p->engine, p->limit, p->key, 1, next_permit(p));

    assert_int_equal(result.verdict, result.wait == 0 ? WEIR_ALLOWED : WEIR_DENIED);
    return result.verdict == WEIR_ALLOWED;
}

static int borrow(struct pool *p, weir_ns deadline)
{
    struct weir_permit *permit = next_permit(p);
    int error = weir_acquire_wait(p->engine, p->limit, p->key, 1, deadline, permit);

    assert_int_equal(permit->n, error == 0 ? 1 : 0);
    return error;
}

/* Is a limit of 0 what the original means by it? It admits nothing, and counts nothing. */
static bool zero_admits(void)
{
    struct weir_result result;
    struct pool p;

    pool_open(&p, 0);
    result = weir_acquire(p.engine, p.limit, p.key, 1, next_permit(&p));
    assert_int_equal(result.verdict, WEIR_NEVER);
    assert_int_equal(in_use(&p), 0);
    pool_close(&p);
    return result.verdict == WEIR_ALLOWED;
}

/* ---- go-zero ------------------------------------------------------------------------------ */

/* The other thread of a TimeoutLimit. */
static void *return_one(void *argument)
{
    struct pool *p = argument;

    p->now += p->after;
    p->returned = true;
    return weir_release(p->engine, &p->permits[0]) == 0 ? p : NULL;
}

/* The same where nobody returns one: time passes. The clock stands still for a while just before
   the deadline, and if somebody gives up then, it is seen. */
static void *pass_time(void *argument)
{
    struct pool *p = argument;

    p->now += p->after - 1;
    (void)usleep(5000);
    p->now += 1;
    return p;
}

/* Waits while the other thread is at work. */
static int borrow_beside(struct pool *p, weir_ns deadline, void *(*other)(void *))
{
    pthread_t thread;
    void *done = NULL;
    int error;

    assert_int_equal(pthread_create(&thread, NULL, other, p), 0);
    error = borrow(p, deadline);
    if (error == -ETIMEDOUT)
        assert_true(p->now >= deadline);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_ptr_equal(done, p);
    return error;
}

/* "..., other thread returns one after 100 ms" */
static uint64_t ms_after(const char *type)
{
    const char *at = strstr(type, " after ");

    assert_non_null(at);
    return strtoull(at + strlen(" after "), NULL, 10);
}

static void borrow_of_row(struct pool *p, const struct csv *table, size_t row)
{
    const char *expect = csv_text(table, row, "expect"), *ms = csv_text(table, row, "arg_ms");
    weir_ns deadline = WEIR_FOREVER;

    if (*ms != '\0')
        deadline = p->now + csv_u64(table, row, "arg_ms") * WEIR_MILLISECOND;
    if (strcmp(expect, "ok") == 0) {
        assert_int_equal(borrow(p, deadline), 0);
    } else if (strcmp(expect, "ok (after the return)") == 0) {
        p->after = ms_after(csv_text(table, row, "type")) * WEIR_MILLISECOND;
        assert_int_equal(borrow_beside(p, deadline, return_one), 0);
        assert_true(p->returned);
    } else {
        assert_string_equal(expect, "ErrTimeout");
        p->after = deadline - p->now;
        assert_int_equal(borrow_beside(p, deadline, pass_time), -ETIMEDOUT);
    }
}

/* One that is held. When all are back, one of them again. */
static void return_of_row(struct pool *p, const char *expect)
{
    struct weir_permit *permit = &p->permits[0];
    uint64_t before = in_use(p);
    int error;

    for (size_t i = 0; i < p->borrowed && permit->n == 0; i++)
        permit = p->permits[i].n != 0 ? &p->permits[i] : permit;
    error = weir_release(p->engine, permit);
    assert_int_equal(error, before == 0 ? -EALREADY : 0);
    assert_string_equal(error == 0 ? "ok" : "ErrLimitReturn", expect);
    assert_int_equal(in_use(p), before == 0 ? 0 : before - 1);
}

/* "MaxConnsHandler n<=0" passes everything through; one at capacity answers. */
static unsigned request_of_row(const struct csv *table, size_t row)
{
    bool limited = strstr(csv_text(table, row, "type"), "n>0") != NULL;
    struct pool p;

    pool_open(&p, limited ? 1 : WEIR_UNLIMITED);
    assert_true(try_borrow(&p));
    assert_string_equal(try_borrow(&p) ? "pass-through" : "status 503",
                        csv_text(table, row, "expect"));
    pool_close(&p);
    return !limited && !zero_admits() ? SETTING : 0;
}

static void limits_of_go_zero(void **state)
{
    struct pool p = {0};
    struct ledger l;

    (void)state;
    ledger_open(&l, "gozero_concurrency.csv", SUBJECT_ENGINE, go_zero_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        const char *type = csv_text(&l.table, row, "type"), *op = csv_text(&l.table, row, "op");
        const char *expect = csv_text(&l.table, row, "expect");
        unsigned differ = 0;

        if (!csv_continues(&l.table, row, "type")) {
            pool_close(&p);
            pool_open(&p, 2);
        }
        if (strcmp(op, "Borrow") == 0)
            borrow_of_row(&p, &l.table, row);
        else if (strcmp(op, "TryBorrow") == 0)
            assert_string_equal(try_borrow(&p) ? "true" : "false", expect);
        else if (strcmp(op, "Return") == 0)
            return_of_row(&p, expect);
        else
            differ = request_of_row(&l.table, row);
        account(&l, type, csv_u64(&l.table, row, "step"), differ);
    }
    pool_close(&p);
    ledger_close(&l, 22);
}

/* ---- kitex, many threads ------------------------------------------------------------------- */

/* Threads that take permits, and release at once what they were refused. */
struct crew {
    struct pool *pool;
    size_t threads, calls; /* calls of each */
    struct weir_permit *permits;
    atomic_size_t index, granted, refused, mistakes;
};

static void *crew_member(void *argument)
{
    struct crew *c = argument;
    const struct pool *p = c->pool;
    struct weir_permit *permits = &c->permits[c->index++ * c->calls];

    for (size_t i = 0; i < c->calls; i++) {
        struct weir_result result = weir_acquire(p->engine, p->limit, p->key, 1, &permits[i]);
        bool granted = result.verdict == WEIR_ALLOWED;
        uint64_t count = 0, limit = 0;

        if (granted)
            c->granted++;
        else
            c->refused++;
        if (!granted && weir_release(p->engine, &permits[i]) != -EINVAL)
            c->mistakes++;
        if (weir_in_use(p->engine, p->limit, p->key, &count, &limit) != 0 || count > limit)
            c->mistakes++;
    }
    return NULL;
}

static void crew_run(struct crew *c, struct pool *pool, size_t threads, size_t calls)
{
    pthread_t ids[THREADS];

    memset(c, 0, sizeof *c);
    assert_true(threads <= THREADS);
    c->pool = pool;
    c->threads = threads;
    c->calls = calls;
    c->permits = calloc(threads * calls, sizeof *c->permits);
    assert_non_null(c->permits);
    for (size_t i = 0; i < threads; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, crew_member, c), 0);
    for (size_t i = 0; i < threads; i++)
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    assert_int_equal(c->mistakes, 0);
    assert_int_equal(c->granted + c->refused, threads * calls);
}

/* Gives all back that was granted. */
static void crew_end(struct crew *c)
{
    size_t released = 0;

    for (size_t i = 0; i < c->threads * c->calls; i++)
        released += weir_release(c->pool->engine, &c->permits[i]) == 0;
    assert_int_equal(released, c->granted);
    free(c->permits);
}

static uint64_t ten_more(const struct pool *p)
{
    uint64_t granted = 0;

    for (int i = 0; i < 10; i++) {
        struct weir_permit permit;
        struct weir_result result = weir_acquire(p->engine, p->limit, p->key, 1, &permit);

        granted += result.verdict == WEIR_ALLOWED;
        assert_int_equal(weir_release(p->engine, &permit),
                         result.verdict == WEIR_ALLOWED ? 0 : -EINVAL);
    }
    return granted;
}

/* Ten of those that are held are released, each of them before another is acquired. */
static uint64_t ten_exchanged(struct crew *c)
{
    const struct pool *p = c->pool;
    uint64_t granted = 0;
    size_t at = 0;

    for (int i = 0; i < 10; i++, at++) {
        while (c->permits[at].n == 0)
            at++;
        assert_int_equal(weir_release(p->engine, &c->permits[at]), 0);
        granted +=
            weir_acquire(p->engine, p->limit, p->key, 1, &c->permits[at]).verdict == WEIR_ALLOWED;
    }
    return granted;
}

/* "granted total = 1000; ...", or "10 granted" */
static uint64_t number_in(const char *expect)
{
    expect += strcspn(expect, "0123456789");
    assert_true(*expect != '\0');
    return strtoull(expect, NULL, 10);
}

static void kitex_beside_each_other(void **state)
{
    static const char *const actions[] = {
        "limit 1000; 10 threads x 1000 acquires; on refusal release at once",
        "10 more acquires (release on refusal)",
        "10 x (release one, acquire one)",
        "UpdateLimit(0); 100 threads x 10 acquires",
    };
    const struct weir_policy unlimited = weir_concurrency(WEIR_UNLIMITED);
    struct crew first, second;
    struct pool p;
    struct ledger l;

    (void)state;
    ledger_open(&l, "kitex_connection_test.csv", SUBJECT_ENGINE, connection_test_differences);
    assert_int_equal(l.table.rows, sizeof actions / sizeof actions[0]);
    for (size_t row = 0; row < l.table.rows; row++)
        assert_string_equal(csv_text(&l.table, row, "action"), actions[row]);

    pool_open(&p, 1000);
    crew_run(&first, &p, 10, 1000);
    assert_int_equal(first.granted, number_in(csv_text(&l.table, 0, "expect")));
    assert_int_equal(in_use(&p), 1000);
    account(&l, actions[0], 0, 0);
    assert_int_equal(ten_more(&p), number_in(csv_text(&l.table, 1, "expect")));
    account(&l, actions[1], 1, 0);
    assert_int_equal(ten_exchanged(&first), number_in(csv_text(&l.table, 2, "expect")));
    assert_int_equal(in_use(&p), 1000);
    account(&l, actions[2], 2, 0);
    assert_int_equal(weir_set_limit(p.engine, p.limit, &unlimited, p.now), 0);
    crew_run(&second, &p, THREADS, 10);
    assert_int_equal(second.refused, number_in(csv_text(&l.table, 3, "expect")));
    assert_int_equal(in_use(&p), 2000);
    account(&l, actions[3], 3, zero_admits() ? 0 : SETTING);

    crew_end(&first);
    crew_end(&second);
    assert_int_equal(in_use(&p), 0);
    pool_close(&p);
    ledger_close(&l, 4);
}

/* ---- kitex, call by call ------------------------------------------------------------------- */

/* The last one that was acquired, granted or not; when there is none, a permit of nothing. */
static const char *release_last(struct pool *p)
{
    struct weir_permit nothing = {0};
    struct weir_permit *permit = p->borrowed == 0 ? &nothing : &p->permits[--p->borrowed];
    bool granted = permit->n != 0;
    int error = weir_release(p->engine, permit);

    assert_int_equal(error, granted ? 0 : -EINVAL);
    return error == 0 ? "(released)" : "(nothing to release)";
}

static void kitex_call_by_call(void **state)
{
    struct ledger l;

    (void)state;
    ledger_open(&l, "kitex_connection_derived.csv", SUBJECT_ENGINE, connection_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        const char *limit = csv_text(&l.table, row, "limit");
        const char *ops = csv_text(&l.table, row, "ops"), *result = "";
        bool limited = strtoll(limit, NULL, 10) > 0;
        unsigned differ = !limited && !zero_admits() ? SETTING : 0;
        char test[64], count[32];
        struct pool p;

        pool_open(&p, limited ? csv_u64(&l.table, row, "limit") : WEIR_UNLIMITED);
        for (const char *op = ops; *op != '\0'; op++) {
            if (*op == 'A')
                result = try_borrow(&p) ? "true" : "false";
            else if (*op == 'R')
                result = release_last(&p);
        }
        if (strcmp(result, csv_text(&l.table, row, "expect_last_result")) != 0)
            differ |= RESULT;
        (void)snprintf(count, sizeof count, "%llu", (unsigned long long)in_use(&p));
        if (strcmp(count, csv_text(&l.table, row, "expect_status_occupied")) != 0)
            differ |= IN_USE;
        pool_close(&p);
        (void)snprintf(test, sizeof test, "%s, %s", limit, ops);
        account(&l, test, 0, differ);
    }
    ledger_close(&l, 9);
}

/* ---- on the system's clock ----------------------------------------------------------------- */

static void nobody_gives_up_before_the_deadline(void **state)
{
    const struct weir_policy policy = weir_concurrency(1);
    struct weir_permit held, wanted;
    struct weir *w = NULL;
    weir_ns deadline;
    weir_key key;
    int limit;

    (void)state;
    assert_int_equal(weir_open(&w, NULL), 0);
    limit = weir_add_limit(w, "limit", &policy);
    key = weir_key_text(w, "key");
    assert_int_equal(weir_acquire_wait(w, limit, key, 1, WEIR_FOREVER, &held), 0);
    deadline = weir_now() + 20 * WEIR_MILLISECOND;
    assert_int_equal(weir_acquire_wait(w, limit, key, 1, deadline, &wanted), -ETIMEDOUT);
    assert_true(weir_now() >= deadline);
    assert_int_equal(weir_release(w, &wanted), -EINVAL);
    assert_int_equal(weir_release(w, &held), 0);
    assert_int_equal(weir_acquire_wait(w, limit, key, 1, WEIR_FOREVER, &wanted), 0);
    assert_int_equal(weir_release(w, &wanted), 0);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_go_zero),
        cmocka_unit_test(kitex_beside_each_other),
        cmocka_unit_test(kitex_call_by_call),
        cmocka_unit_test(nobody_gives_up_before_the_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
