/* SPDX-License-Identifier: MIT */
/*
 * The token limits of zeromicro/go-zero, whose clock knows whole seconds only; through the cell and
 * the engine.
 *
 * A limit of the original is a refill bucket with a tick of a second, and without its store a token
 * bucket. Where weir differs on purpose the tables below say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "differences.h"
#include "tokens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE UINT64_MAX /* as a step: the case is not run */

#define BACKWARD  "backward time never mints tokens"
#define CLAMPED   "what is given back ends at full"
#define NO_REFUND "a cell has no refund"
#define NO_STORE  "no store that keys expire in, so none that refuses to let one expire at once"
#define NO_CANCEL "a decision does not wait, so it cannot be cancelled"
#define EXACT     "an interval there is cut to whole nanoseconds, a rate here is kept as written"

static const struct difference count_differences[] = {
    {"TestTokenLimit_WithCtx", WHOLE, NOT_RUN, NO_CANCEL},
    {NULL, 0, 0, NULL},
};

static const char stale[] = "issue_4072 out-of-order timestamp re-mints tokens";
static const char negative[] = "negative n adds tokens (then capped)";
static const struct difference second_differences[] = {
    {stale, 9, BEFORE | RESULT, BACKWARD},          {stale, 10, BEFORE | AFTER, BACKWARD},
    {stale, 11, BEFORE | RESULT | AFTER, BACKWARD}, {stale, 12, BEFORE | RESULT | AFTER, BACKWARD},
    {stale, 13, BEFORE | RESULT | AFTER, BACKWARD}, {stale, 14, BEFORE | RESULT, BACKWARD},
    {negative, WHOLE, NOT_RUN | CELL, NO_REFUND},   {negative, 4, AFTER | ENGINE, CLAMPED},
    {"burst*2 < rate: ttl 0", 0, RESULT, NO_STORE}, {NULL, 0, 0, NULL},
};

/* rate */
static const struct difference rescue_differences[] = {
    {"3", 0, RATE, EXACT},       {"7", 0, RATE, EXACT},         {"60", 0, RATE, EXACT},
    {"3000000", 0, RATE, EXACT}, {"999999999", 0, RATE, EXACT}, {"1000000001", 0, RATE, EXACT},
    {NULL, 0, 0, NULL},
};

/* With or without the original's store. A second begins in the midst of the calls. */
static void token_count_of_row(struct ledger *l, size_t row)
{
    uint64_t rate = csv_u64(&l->table, row, "rate"), burst = csv_u64(&l->table, row, "burst");
    uint64_t calls = csv_u64(&l->table, row, "calls"), count = 0;
    weir_ns pause = csv_u64(&l->table, row, "spacing_ms") * WEIR_MILLISECOND;
    const struct weir_policy policy = bucket_of(rate, WEIR_SECOND, burst);
    weir_ns now = BASE + WEIR_SECOND / 2;
    struct subject s;

    open_bucket(&s, l->kind, &policy);
    for (uint64_t i = 0; i < calls; i++) {
        now += pause;
        count += granted(&s, 1, now);
    }
    subject_close(&s);
    assert_int_equal(count, burst + (now / WEIR_SECOND - BASE / WEIR_SECOND) * rate);
    assert_true(count >= csv_u64(&l->table, row, "expect_min_allowed"));
    account(l, csv_text(&l->table, row, "test"), 0, 0);
}

static void token_counts_of(enum subject_kind kind)
{
    struct ledger l;

    ledger_open(&l, "gozero_token_counts.csv", kind, count_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        const char *test = csv_text(&l.table, row, "test");

        if (strcmp(test, "TestTokenLimit_WithCtx") == 0)
            account(&l, test, WHOLE, NOT_RUN);
        else
            token_count_of_row(&l, row);
    }
    ledger_close(&l, 3);
}

static void token_counts(void **state)
{
    (void)state;
    token_counts_of(SUBJECT_CELL);
    token_counts_of(SUBJECT_ENGINE);
}

/* n below 0 gives back. */
static bool ask(struct subject *s, const char *n, weir_ns now)
{
    if (*n == '-')
        return weir_refund(s->engine, s->limit, s->key, strtoull(n + 1, NULL, 10), now) > 0;
    return subject_decide(s, strtoull(n, NULL, 10), now).verdict == WEIR_ALLOWED;
}

/* Is the number that should be here another one? Nothing is no number. */
static bool is_another(const char *want, uint64_t got)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)got);
    return *want != '\0' && strcmp(want, text) != 0;
}

static unsigned second_of_row(struct subject *s, const struct csv *table, size_t row)
{
    weir_ns now = csv_u64(table, row, "now_unix_s") * WEIR_SECOND;
    unsigned differ = 0;

    if (is_another(csv_text(table, row, "filled_before"), left_at(s, now)))
        differ |= BEFORE;
    if (is_another(csv_text(table, row, "expect_allowed"), ask(s, csv_text(table, row, "n"), now)))
        differ |= RESULT;
    if (is_another(csv_text(table, row, "tokens_after"), left_at(s, now)))
        differ |= AFTER;
    return differ;
}

static void seconds_of(enum subject_kind kind)
{
    struct subject s = {0};
    struct ledger l;

    ledger_open(&l, "gozero_token_sequence_derived.csv", kind, second_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        const char *test = csv_text(&l.table, row, "case");

        if (kind == SUBJECT_CELL && strcmp(test, negative) == 0) {
            account(&l, test, WHOLE, NOT_RUN);
            continue;
        }
        if (!csv_continues(&l.table, row, "case")) {
            const struct weir_policy policy = bucket_of(csv_u64(&l.table, row, "rate"), WEIR_SECOND,
                                                        csv_u64(&l.table, row, "burst"));

            subject_close(&s);
            open_bucket(&s, kind, &policy);
        }
        account(&l, test, csv_u64(&l.table, row, "step"), second_of_row(&s, &l.table, row));
    }
    subject_close(&s);
    ledger_close(&l, kind == SUBJECT_CELL ? 44 : 51);
}

static void whole_seconds(void **state)
{
    (void)state;
    seconds_of(SUBJECT_CELL);
    seconds_of(SUBJECT_ENGINE);
}

/*
 * Without its store the original paces with the whole nanoseconds of an interval: a second's tokens
 * are there after rate * interval. Here after a second, and no nanosecond earlier.
 */
static void rescue_of(enum subject_kind kind)
{
    struct ledger l;

    ledger_open(&l, "gozero_rescue_rate_derived.csv", kind, rescue_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        uint64_t rate = csv_u64(&l.table, row, "rate");
        weir_ns interval = csv_u64(&l.table, row, "interval_ns");
        const char *effective = csv_text(&l.table, row, "effective_rate_per_s");
        const struct weir_policy policy = weir_token_bucket(rate, WEIR_SECOND, rate);
        double got = interval == 0 ? 0 : strtod(effective, NULL);
        struct subject s;
        bool differs;

        assert_int_equal(interval, WEIR_SECOND / rate);
        if (interval == 0)
            assert_string_equal(effective, "INF");
        else
            assert_true(fabs(got * (double)interval / (double)WEIR_SECOND - 1) < 1e-12);
        open_bucket(&s, kind, &policy);
        assert_int_equal(drain(&s, BASE), rate);
        differs = left_at(&s, BASE + rate * interval) != rate;
        assert_true(left_at(&s, BASE + WEIR_SECOND - 1) < rate);
        assert_int_equal(left_at(&s, BASE + WEIR_SECOND), rate);
        subject_close(&s);
        account(&l, csv_text(&l.table, row, "rate"), 0, differs ? RATE : 0);
    }
    ledger_close(&l, 11);
}

static void rates_without_a_store(void **state)
{
    (void)state;
    rescue_of(SUBJECT_CELL);
    rescue_of(SUBJECT_ENGINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_counts),
        cmocka_unit_test(whole_seconds),
        cmocka_unit_test(rates_without_a_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
