/* SPDX-License-Identifier: MIT */
/*
 * golang.org/x/time/rate: its tests of calls that wait, through weir_wait on a clock of our own.
 *
 * The original is told by a context when to give up. Here
 *   - a deadline of the context is the deadline;
 *   - a context that is cancelled before the call is a deadline that has passed: weir has no other
 *     way to say so, and a caller who knows need not call;
 *   - a context that is cancelled during the call is a signal that interrupts the sleep.
 * All that is known of an error there is that there is one: which one it is here is in the table
 * `errors`. Every row runs with a sleep that lasts to its end and with one that returns early.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weir/weir.h>

#include "csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE (3600 * WEIR_SECOND)
#define UNIT (100 * WEIR_MILLISECOND) /* of the file's times */

#define UNLIMITED "unlimited records nothing, so all is left"

/* Where weir differs on purpose: what is left afterwards. */
struct difference {
    const char *test;
    uint64_t step;
    const char *reason;
};

static const struct difference differences[] = {
    {"TestWaitInf", 0, UNLIMITED},
};
#define DIFFERENCES (sizeof differences / sizeof differences[0])

static const struct {
    const char *name;
    int error;
} errors[] = {
    {"already-cancelled", -ETIMEDOUT},
    {"exceed-burst-error", -E2BIG},
    {"will-cancel", -EINTR},
    {"w-timeout-err", -ETIMEDOUT},
};
#define ERRORS (sizeof errors / sizeof errors[0])

/* A limiter of the original, and the clock that it sleeps on. */
struct waiter {
    struct weir *engine;
    int limit;
    weir_key key;
    weir_ns now, cancelled; /* the instant at which somebody interrupts a sleep */
    bool early;             /* sleeps return when half of their time is over */
    unsigned sleeps;
};

static weir_ns clock_of(void *context)
{
    const struct waiter *w = context;

    return w->now;
}

static int sleep_of(void *context, weir_ns instant)
{
    struct waiter *w = context;

    w->sleeps++;
    if (w->early)
        instant = w->now + (instant - w->now + 1) / 2;
    if (w->cancelled < instant) {
        w->now = w->cancelled;
        return EINTR;
    }
    w->now = instant;
    return 0;
}

static struct weir_policy policy_of(const char *rate, uint64_t burst)
{
    struct fraction f;

    if (strcmp(rate, "INF") == 0)
        return weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, burst);
    f = fraction_of(rate);
    assert_true(f.q <= UINT64_MAX / WEIR_SECOND);
    return weir_token_bucket(f.p, f.q * WEIR_SECOND, burst);
}

/* "0_then_10" begins with the first of the two. */
static void waiter_open(struct waiter *w, const char *rate, uint64_t burst, bool early)
{
    const struct weir_policy policy = policy_of(strcmp(rate, "0_then_10") == 0 ? "0" : rate, burst);
    const struct weir_options options = {.size = sizeof options,
                                         .max_keys = 64,
                                         .max_limits = 4,
                                         .clock = clock_of,
                                         .sleep_until = sleep_of,
                                         .clock_context = w};

    *w = (struct waiter){.now = BASE, .cancelled = WEIR_FOREVER, .early = early};
    assert_int_equal(weir_open(&w->engine, &options), 0);
    w->limit = weir_add_limit(w->engine, "limit", &policy);
    assert_true(w->limit >= 0);
    w->key = weir_key_text(w->engine, "key");
}

static uint64_t left(const struct waiter *w)
{
    struct weir_result result = weir_peek(w->engine, w->limit, w->key, 0, w->now);

    return result.verdict == WEIR_ALLOWED ? result.remaining : 0;
}

/* The error that a row is to end with. */
static int error_of(const struct csv *table, size_t row)
{
    const char *name = csv_text(table, row, "name");

    if (csv_u64(table, row, "expect_success") == 1)
        return 0;
    for (size_t i = 0; i < ERRORS; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].error;
    fail_msg("%s: no error is known for %s", table->file, name);
    return 0;
}

/* WaitN under the row's context. */
static int wait_of_row(struct waiter *w, const struct csv *table, size_t row)
{
    const char *context = csv_text(table, row, "context");
    weir_ns deadline = WEIR_FOREVER;
    int error;

    if (strcmp(context, "cancelled") == 0)
        deadline = w->now - 1;
    else if (strcmp(context, "deadline_t0_plus_1") == 0)
        deadline = BASE + UNIT;
    else if (strcmp(context, "cancel_after_1") == 0)
        w->cancelled = w->now + UNIT;
    else
        assert_true(strcmp(context, "none") == 0 || strcmp(context, "cancellable") == 0);
    error = weir_wait(w->engine, w->limit, w->key, csv_u64(table, row, "n"), deadline);
    w->cancelled = WEIR_FOREVER;
    return error;
}

/* One row. Returns whether it differs from the file in what is left. */
static bool step_of_row(struct waiter *w, const struct csv *table, size_t row)
{
    uint64_t delay = csv_u64(table, row, "expect_delay_100ms");
    weir_ns start = w->now;
    unsigned sleeps = w->sleeps;

    assert_int_equal(start, BASE + csv_u64(table, row, "model_start_100ms") * UNIT);
    if (strcmp(csv_text(table, row, "context"), "(AllowN 1)") == 0)
        assert_int_equal(weir_allow(w->engine, w->limit, w->key, csv_u64(table, row, "n"), w->now),
                         csv_u64(table, row, "expect_success"));
    else
        assert_int_equal(wait_of_row(w, table, row), error_of(table, row));
    assert_int_equal(w->now - start, delay * UNIT);
    assert_int_equal(w->sleeps > sleeps, delay > 0);
    return left(w) != csv_u64(table, row, "model_tokens_after");
}

/* Before the last step of "0_then_10": no wait will do; then another rate is set. */
static void set_rate(struct waiter *w, uint64_t burst)
{
    const struct weir_policy policy = policy_of("10", burst);

    assert_int_equal(weir_wait(w->engine, w->limit, w->key, 1, WEIR_FOREVER), -ETIMEDOUT);
    assert_int_equal(w->sleeps, 0);
    assert_int_equal(weir_set_limit(w->engine, w->limit, &policy, w->now), 0);
    assert_int_equal(left(w), 0);
}

/* Listed and different, or neither. */
static void account(const char *test, uint64_t step, bool differs, bool seen[DIFFERENCES])
{
    size_t i = 0;

    while (i < DIFFERENCES &&
           (strcmp(differences[i].test, test) != 0 || differences[i].step != step))
        i++;
    if (differs != (i < DIFFERENCES))
        fail_msg("%s, step %llu: %s%s", test, (unsigned long long)step,
                 differs ? "differs" : "no longer differs: ",
                 i < DIFFERENCES ? differences[i].reason : "");
    if (i < DIFFERENCES)
        seen[i] = true;
}

static void sequences_of(bool early)
{
    bool seen[DIFFERENCES] = {false};
    struct waiter w = {0};
    size_t differing = 0;
    struct csv table;

    csv_open(&table, "xtr_wait_sequences.csv");
    for (size_t row = 0; row < table.rows; row++) {
        const char *test = csv_text(&table, row, "test"), *rate = csv_text(&table, row, "rate");
        const char *name = csv_text(&table, row, "name");
        uint64_t burst = csv_u64(&table, row, "burst");
        bool differs;

        if (!csv_continues(&table, row, "test")) {
            weir_close(w.engine);
            waiter_open(&w, rate, burst, early);
        }
        if (strcmp(name, "wait-after-set-nonzero-after-zero") == 0)
            set_rate(&w, burst);
        differs = step_of_row(&w, &table, row);
        account(test, csv_u64(&table, row, "step"), differs, seen);
        differing += differs;
    }
    weir_close(w.engine);
    printf("# xtr_wait_sequences.csv, sleeps that %s: %zu rows, %zu of them differ as listed\n",
           early ? "return early" : "last", table.rows, differing);
    for (size_t i = 0; i < DIFFERENCES; i++)
        if (!seen[i] && !table.elsewhere)
            fail_msg("%s is listed, but not in the file", differences[i].test);
    assert_true(table.rows >= (table.elsewhere ? 1 : 13));
    csv_close(&table);
}

static void sequences(void **state)
{
    (void)state;
    sequences_of(false);
    sequences_of(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
