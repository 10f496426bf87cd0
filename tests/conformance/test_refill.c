/* SPDX-License-Identifier: MIT */
/*
 * Tokens that come in lumps: the limiter of cloudwego/kitex, whose ticker adds a slice of the limit
 * at each tick, and lumps of any setting; through the cell and the engine.
 *
 * A limit of the original is a refill bucket with its tick. It starts full where kitex starts with
 * one slice: that is listed once for each case, and the rest is taken away before its first step.
 * Where weir differs on purpose otherwise the tables below say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bucket_model.h"
#include "differences.h"
#include "tokens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START UINT64_MAX /* as a step: what the case begins with */

#define FULL      "a bucket starts full, not with one slice"
#define CARRIED   "what a lump leaves over is carried, so no rate is rounded down, or to nothing"
#define IDLE      "full at a change is never used under the new limit, and full"
#define UNLIMITED "unlimited records nothing, and is no number"
#define FRESH     "from and to unlimited keys begin anew, and full"
#define ZERO      "0 there means unlimited, here nothing"
#define NEGATIVE  "negative limits do not exist"

/* interval_ns, limit */
static const struct difference once_differences[] = {
    {"1000000000 -100", 0, SETTING, NEGATIVE}, {"20000000 0", 0, SETTING, ZERO},
    {"100000000 1", 0, RATE, CARRIED},         {"100000000 5", 0, RATE, CARRIED},
    {"100000000 9", 0, RATE, CARRIED},         {"100000000 11", 0, RATE, CARRIED},
    {"100000000 15", 0, RATE, CARRIED},        {"100000000 19", 0, RATE, CARRIED},
    {"100000000 99", 0, RATE, CARRIED},        {"100000000 101", 0, RATE, CARRIED},
    {"10000000 1", 0, RATE, CARRIED},          {"10000000 99", 0, RATE, CARRIED},
    {"10000000 150", 0, RATE, CARRIED},        {"20000000 49", 0, RATE, CARRIED},
    {"1000000 999", 0, RATE, CARRIED},         {NULL, 0, 0, NULL},
};

static const char accumulate[] = "start with one slice, accumulate up to limit";
static const char starved[] = "limit below 10 at 100 ms: starved";
static const char last_slice[] = "partial last slice is capped at limit";
static const char down_and_up[] = "update down drops to one slice, update up waits for ticks";
static const char to_zero[] = "update to zero = unlimited, back to finite starts empty";
static const struct difference refill_differences[] = {
    {accumulate, START, BEFORE, FULL},
    {starved, START, BEFORE, FULL},
    {starved, 1, AFTER, CARRIED},
    {starved, 2, BEFORE | RESULT | AFTER, CARRIED},
    {last_slice, START, BEFORE, FULL},
    {down_and_up, START, BEFORE, FULL},
    {down_and_up, 1, AFTER, IDLE},
    {down_and_up, 2, BEFORE | AFTER, IDLE},
    {down_and_up, 3, BEFORE | AFTER, IDLE},
    {down_and_up, 4, BEFORE | AFTER, IDLE},
    {to_zero, START, BEFORE, FULL},
    {to_zero, 0, AFTER, UNLIMITED},
    {to_zero, 1, BEFORE | AFTER, UNLIMITED},
    {to_zero, 2, BEFORE | AFTER, FRESH},
    {to_zero, 3, BEFORE | RESULT | AFTER, FRESH},
    {to_zero, 4, BEFORE | AFTER, FRESH},
    {to_zero, 5, BEFORE | RESULT | AFTER, FRESH},
    {NULL, 0, 0, NULL},
};

static const struct difference qps_differences[] = {
    {"1 initial Status", 0, BEFORE, FULL},
    {"5 UpdateLimit(0)", 0, SETTING, ZERO},
    {NULL, 0, 0, NULL},
};

/* ---- kitex: what a tick adds --------------------------------------------------------------- */

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/*
 * Tokens of `ticks` ticks, all taken as they come. Exactly: a tick adds limit * interval / 1 s, and
 * what that leaves over, and no more than fits.
 */
static uint64_t tokens_of(enum subject_kind kind, uint64_t limit, weir_ns interval, uint64_t ticks)
{
    const struct weir_policy policy = weir_refill_bucket(limit, WEIR_SECOND, interval);
    weir_ns now = first_tick(interval);
    uint64_t total = 0;
    model_uint parts = 0; /* a token has 10^9 */
    struct subject s;

    open_bucket(&s, kind, &policy);
    assert_int_equal(drain(&s, now), limit);
    for (uint64_t i = 0; i < ticks; i++) {
        model_uint full = (model_uint)limit * WEIR_SECOND;
        uint64_t got;

        now += interval;
        assert_int_equal(left_at(&s, now - 1), 0);
        got = drain(&s, now);
        parts += (model_uint)limit * interval;
        parts = parts < full ? parts : full;
        assert_int_equal(got, parts / WEIR_SECOND);
        parts %= WEIR_SECOND;
        total += got;
    }
    subject_close(&s);
    return total;
}

/* Does a limit of 0 admit everything, as the original's does? */
static bool zero_admits(enum subject_kind kind, weir_ns interval)
{
    const struct weir_policy zero = weir_refill_bucket(0, WEIR_SECOND, interval);
    struct subject s;
    uint64_t count;

    open_bucket(&s, kind, &zero);
    count = granted(&s, 1000, BASE) + granted(&s, 1000, BASE + WEIR_HOUR);
    subject_close(&s);
    assert_true(count == 0 || count == 2000);
    return count != 0;
}

/* The original takes 0 and less for unlimited. */
static void unlimited_of_row(struct ledger *l, size_t row, const char *test)
{
    weir_ns interval = csv_u64(&l->table, row, "interval_ns");
    const struct weir_policy unlimited = weir_refill_bucket(WEIR_UNLIMITED, WEIR_SECOND, interval);
    bool negative_limit = csv_text(&l->table, row, "limit")[0] == '-';
    struct subject s;

    assert_int_equal(csv_u64(&l->table, row, "expect_once"), 0);
    assert_string_equal(csv_text(&l->table, row, "effective_qps"), "unlimited");
    open_bucket(&s, l->kind, &unlimited);
    assert_int_equal(granted(&s, 1000, BASE), 1000);
    subject_close(&s);
    account(l, test, 0, negative_limit || !zero_admits(l->kind, interval) ? SETTING : 0);
}

static void once_of(enum subject_kind kind)
{
    struct ledger l;

    ledger_open(&l, "kitex_calc_once.csv", kind, once_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        const char *text = csv_text(&l.table, row, "limit");
        weir_ns interval = csv_u64(&l.table, row, "interval_ns");
        uint64_t once = csv_u64(&l.table, row, "expect_once"), limit, ticks;
        double rate = (double)once * (double)WEIR_SECOND / (double)interval;
        char test[64];

        (void)snprintf(test, sizeof test, "%llu %s", (unsigned long long)interval, text);
        if (*text == '-' || strcmp(text, "0") == 0) {
            unlimited_of_row(&l, row, test);
            continue;
        }
        limit = csv_u64(&l.table, row, "limit");
        assert_true(fabs(strtod(csv_text(&l.table, row, "effective_qps"), NULL) - rate) < 1e-9);
        /* so many make whole tokens */
        ticks = WEIR_SECOND / greatest_divisor(limit * interval, WEIR_SECOND);
        account(&l, test, 0, tokens_of(kind, limit, interval, ticks) != once * ticks ? RATE : 0);
    }
    ledger_close(&l, 33);
}

static void what_a_tick_adds(void **state)
{
    (void)state;
    once_of(SUBJECT_CELL);
    once_of(SUBJECT_ENGINE);
}

/* ---- kitex: its bucket, step by step ------------------------------------------------------- */

/* A limit of the original's. */
struct refill {
    struct subject subject;
    weir_ns interval, now;
};

static struct weir_policy policy_of_limit(const struct refill *r, uint64_t limit)
{
    return weir_refill_bucket(limit == 0 ? WEIR_UNLIMITED : limit, WEIR_SECOND, r->interval);
}

/* A new one, with what the first row begins with. */
static void refill_open(struct refill *r, struct ledger *l, size_t row)
{
    uint64_t limit = csv_u64(&l->table, row, "limit");
    uint64_t slice = csv_u64(&l->table, row, "tokens_before");

    r->interval = csv_u64(&l->table, row, "interval_ns");
    r->now = first_tick(r->interval);
    const struct weir_policy policy = policy_of_limit(r, limit);
    open_bucket(&r->subject, l->kind, &policy);
    assert_int_equal(left_at(&r->subject, r->now), limit);
    compare(l, csv_text(&l->table, row, "case"), START, limit != slice ? BEFORE : 0);
    assert_int_equal(subject_decide(&r->subject, limit - slice, r->now).verdict, WEIR_ALLOWED);
}

/* "acquire x12", "tick x3" or "update_limit"; false: its result is another one. */
static bool refill_step(struct refill *r, const struct csv *table, size_t row)
{
    const char *op = csv_text(table, row, "op"), *expect = csv_text(table, row, "expect_result");
    uint64_t value = csv_u64(table, row, "value");
    char result[32] = "";

    if (strncmp(op, "acquire x", 9) == 0) {
        (void)snprintf(result, sizeof result, "granted=%llu",
                       (unsigned long long)granted(&r->subject, value, r->now));
    } else if (strcmp(op, "update_limit") == 0) {
        const struct weir_policy policy = policy_of_limit(r, value);

        assert_int_equal(subject_change(&r->subject, &policy, r->now), 0);
        (void)snprintf(result, sizeof result, "once=%llu",
                       (unsigned long long)(value * r->interval / WEIR_SECOND));
    } else {
        assert_int_equal(strncmp(op, "tick x", 6), 0);
        r->now += value * r->interval;
    }
    return strcmp(result, expect) == 0;
}

static void refills_of(enum subject_kind kind)
{
    struct refill r = {0};
    struct ledger l;

    ledger_open(&l, "kitex_refill_derived.csv", kind, refill_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        uint64_t step = csv_u64(&l.table, row, "step");
        unsigned differ = 0;

        if (step == 0) {
            subject_close(&r.subject);
            refill_open(&r, &l, row);
        }
        if (left_at(&r.subject, r.now) != csv_u64(&l.table, row, "tokens_before"))
            differ |= BEFORE;
        if (!refill_step(&r, &l.table, row))
            differ |= RESULT;
        if (left_at(&r.subject, r.now) != csv_u64(&l.table, row, "tokens_after"))
            differ |= AFTER;
        account(&l, csv_text(&l.table, row, "case"), step, differ);
    }
    subject_close(&r.subject);
    ledger_close(&l, 24);
}

static void refills_step_by_step(void **state)
{
    (void)state;
    refills_of(SUBJECT_CELL);
    refills_of(SUBJECT_ENGINE);
}

/* ---- kitex: grants per second -------------------------------------------------------------- */

/* Callers that ask at every millisecond until they are refused, 100 times at most. */
struct flood {
    uint64_t total, most; /* grants, and those at one instant */
    bool refused;
};

static struct flood flood(struct refill *r, uint64_t callers, uint64_t seconds)
{
    struct flood f = {0};

    for (uint64_t ms = 0; ms < seconds * 1000; ms++) {
        uint64_t count = 0;

        r->now += WEIR_MILLISECOND;
        for (uint64_t i = 0; i < callers; i++) {
            uint64_t calls = 0;

            while (calls < 100 && granted(&r->subject, 1, r->now) == 1)
                calls++;
            f.refused = f.refused || calls < 100;
            count += calls;
        }
        f.total += count;
        f.most = count > f.most ? count : f.most;
    }
    return f;
}

/* The policy as it was set. */
static struct weir_policy policy_set(const struct subject *s)
{
    struct weir_policy policy = s->meter.policy;

    if (s->kind == SUBJECT_ENGINE)
        assert_int_equal(weir_get_limit(s->engine, s->limit, &policy), 0);
    return policy;
}

/* Where the text has NAME, the number after it. */
static bool number_after(const char *text, const char *name, uint64_t *value)
{
    const char *at = strstr(text, name);

    if (at != NULL)
        *value = strtoull(at + strlen(name), NULL, 10);
    return at != NULL;
}

/* The first case's limiter, changed where a case says so. */
static void set_qps(struct refill *r, enum subject_kind kind, uint64_t qps, weir_ns interval)
{
    const struct weir_policy policy =
        weir_refill_bucket(qps == 0 ? WEIR_UNLIMITED : qps, WEIR_SECOND, interval);

    if (r->interval == 0)
        open_bucket(&r->subject, kind, &policy);
    else
        assert_int_equal(subject_change(&r->subject, &policy, r->now), 0);
    r->interval = interval;
}

/* What the original tells of itself; returns how it differs. */
static unsigned status_of_row(const struct refill *r, const char *expect, uint64_t qps)
{
    const struct weir_policy policy = policy_set(&r->subject);
    uint64_t number;

    assert_int_equal(policy.limit, qps == 0 ? WEIR_UNLIMITED : qps);
    if (number_after(expect, "max=", &number))
        assert_int_equal(qps, number);
    if (number_after(expect, "interval=", &number))
        assert_int_equal(policy.tick, number * WEIR_MILLISECOND);
    return number_after(expect, "current=", &number) && left_at(&r->subject, r->now) != number
               ? BEFORE
               : 0;
}

/* Asked for are so many percent about a number; here it is the number, once the bucket is empty. */
static void flood_of_row(struct refill *r, const struct csv *table, size_t row, uint64_t qps)
{
    uint64_t seconds = csv_u64(table, row, "seconds"), number;
    uint64_t callers = csv_u64(table, row, "threads");
    const char *expect = csv_text(table, row, "expect");
    struct flood f;

    if (qps != 0)
        (void)drain(&r->subject, r->now);
    f = flood(r, callers, seconds);
    assert_int_equal(f.refused, strstr(expect, "zero refusals") == NULL);
    if (qps != 0)
        assert_int_equal(f.total, qps * seconds);
    if (number_after(expect, "grants/s - ", &number))
        assert_int_equal(f.total, number * seconds);
    if (number_after(expect, "once=", &number))
        assert_int_equal(qps == 0 ? 0 : f.most, number);
}

static void qps_of(enum subject_kind kind)
{
    struct refill r = {.now = BASE};
    struct ledger l;

    ledger_open(&l, "kitex_qps_test.csv", kind, qps_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        uint64_t qps = csv_u64(&l.table, row, "qps");
        weir_ns interval = csv_u64(&l.table, row, "interval_ms") * WEIR_MILLISECOND;
        unsigned differ;

        set_qps(&r, kind, qps, interval);
        differ = status_of_row(&r, csv_text(&l.table, row, "expect"), qps);
        if (csv_u64(&l.table, row, "seconds") != 0)
            flood_of_row(&r, &l.table, row, qps);
        if (qps == 0 && !zero_admits(kind, interval))
            differ |= SETTING;
        account(&l, csv_text(&l.table, row, "case"), 0, differ);
    }
    subject_close(&r.subject);
    ledger_close(&l, 5);
}

static void grants_per_second_are_exact(void **state)
{
    (void)state;
    qps_of(SUBJECT_CELL);
    qps_of(SUBJECT_ENGINE);
}

/* ---- lumps, whatever they are made of ------------------------------------------------------ */

static void five_per_second_are_not_zero(void **state)
{
    const weir_ns tick = 100 * WEIR_MILLISECOND;
    const struct weir_policy policy = weir_refill_bucket(5, WEIR_SECOND, tick);

    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        struct subject s;

        open_bucket(&s, (enum subject_kind)kind, &policy);
        assert_int_equal(drain(&s, BASE), 5);
        for (uint64_t i = 1; i <= 100; i++) {
            assert_int_equal(left_at(&s, BASE + i * tick - 1), 0);
            assert_int_equal(drain(&s, BASE + i * tick), i % 2 == 0 ? 1 : 0);
        }
        subject_close(&s);
    }
}

static void a_thousand_per_second_in_lumps_of_a_hundred(void **state)
{
    const struct weir_policy policy = weir_refill_bucket(1000, WEIR_SECOND, 100 * WEIR_MILLISECOND);

    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        weir_ns now = BASE + 30 * WEIR_MILLISECOND; /* between two ticks */
        struct subject s;

        open_bucket(&s, (enum subject_kind)kind, &policy);
        assert_int_equal(drain(&s, now), 1000);
        for (uint64_t ms = 31; ms <= 2000; ms++) {
            now = BASE + ms * WEIR_MILLISECOND;
            assert_int_equal(left_at(&s, now - 1), 0);
            assert_int_equal(drain(&s, now), ms % 100 == 0 ? 100 : 0);
        }
        assert_int_equal(left_at(&s, now + WEIR_SECOND - 1), 900);
        assert_int_equal(left_at(&s, now + WEIR_SECOND), 1000);
        assert_int_equal(left_at(&s, now + WEIR_HOUR), 1000);
        subject_close(&s);
    }
}

/* Of a lump that is larger, the rest is lost. */
static void a_burst_caps_what_comes(void **state)
{
    static const uint64_t bursts[] = {1, 60, 100, 500, 1500};

    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        for (size_t i = 0; i < sizeof bursts / sizeof bursts[0]; i++) {
            const struct weir_policy policy = bucket_of(1000, 100 * WEIR_MILLISECOND, bursts[i]);
            uint64_t lump = bursts[i] < 100 ? bursts[i] : 100;
            uint64_t second = bursts[i] < 1000 ? bursts[i] : 1000;
            weir_ns now = BASE;
            struct subject s;

            open_bucket(&s, (enum subject_kind)kind, &policy);
            assert_int_equal(drain(&s, now), bursts[i]);
            for (int tick = 0; tick < 20; tick++) {
                now += 100 * WEIR_MILLISECOND;
                assert_int_equal(drain(&s, now), lump);
            }
            assert_int_equal(left_at(&s, now + WEIR_SECOND), second);
            assert_int_equal(left_at(&s, now + WEIR_HOUR), bursts[i]);
            subject_close(&s);
        }
    }
}

/* A balance outlives a change: what kitex sets to one slice, or leaves without ticks. */
static void a_change_keeps_the_balance(void **state)
{
    const weir_ns tick = 100 * WEIR_MILLISECOND;
    const struct weir_policy hundred = weir_refill_bucket(100, WEIR_SECOND, tick);
    const struct weir_policy fifty = weir_refill_bucket(50, WEIR_SECOND, tick);
    const struct weir_policy thousand = weir_refill_bucket(1000, WEIR_SECOND, tick);

    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        struct subject s;

        open_bucket(&s, (enum subject_kind)kind, &hundred);
        assert_int_equal(granted(&s, 70, BASE), 70);
        assert_int_equal(subject_change(&s, &thousand, BASE), 0);
        assert_int_equal(left_at(&s, BASE), 30);
        assert_int_equal(left_at(&s, BASE + tick), 130);
        assert_int_equal(subject_change(&s, &fifty, BASE + tick), 0);
        assert_int_equal(left_at(&s, BASE + tick), 50); /* all that it holds */
        assert_int_equal(granted(&s, 45, BASE + tick), 45);
        assert_int_equal(subject_change(&s, &hundred, BASE + tick), 0);
        assert_int_equal(left_at(&s, BASE + tick), 5);
        assert_int_equal(left_at(&s, BASE + 2 * tick), 15);
        subject_close(&s);
    }
}

/*
 * Of a long run the tokens are as many as have accrued, however often it is asked: not at two ticks
 * of five. Where a setting is not kept to the nanosecond, a token that lacks less than one unit of
 * itself may be there already.
 */
static void average_of(enum subject_kind kind, uint64_t limit, weir_ns period, weir_ns tick)
{
    struct weir_policy policy = weir_refill_bucket(limit, period, tick);
    weir_ns first = first_tick(tick);
    struct model_form form;
    uint64_t total = 0;
    struct subject s;

    policy.burst = limit + (uint64_t)((model_uint)limit * tick * 8 / period) + 1;
    assert_int_equal(model_form_init(&form, &policy), 0);
    open_bucket(&s, kind, &policy);
    assert_int_equal(drain(&s, first), policy.burst);
    for (uint64_t i = 1; i <= 300; i++) {
        model_uint accrued =
            (model_uint)limit * tick * i; /* in parts of a token, which has `period` */
        model_uint lacking = period - accrued % period;
        uint64_t whole = (uint64_t)(accrued / period);

        if (i % 5 == 1 || i % 5 == 2)
            continue;
        total += drain(&s, first + i * tick);
        if (total == whole + 1 && !form.exact && lacking * (model_uint)form.token < period)
            continue;
        if (total != whole)
            fail_msg("%llu in %llu ns, in lumps every %llu ns, %s: %llu in %llu ticks, not %llu",
                     (unsigned long long)limit, (unsigned long long)period,
                     (unsigned long long)tick, subject_name(&s), (unsigned long long)total,
                     (unsigned long long)i, (unsigned long long)whole);
    }
    subject_close(&s);
}

static void averages_are_exact_to_the_token(void **state)
{
    static const uint64_t limits[] = {1, 3, 5, 7, 10, 15, 99, 100, 101, 1009, 65536, 1000003};
    static const weir_ns periods[] = {WEIR_SECOND, 4500 * WEIR_MILLISECOND, WEIR_MINUTE, WEIR_HOUR,
                                      WEIR_DAY};
    static const weir_ns ticks[] = {WEIR_MILLISECOND, 7 * WEIR_MILLISECOND, 100 * WEIR_MILLISECOND,
                                    333333333,        WEIR_SECOND,          WEIR_MINUTE};

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        for (size_t j = 0; j < sizeof periods / sizeof periods[0]; j++)
            for (size_t k = 0; k < sizeof ticks / sizeof ticks[0]; k++) {
                average_of(SUBJECT_CELL, limits[i], periods[j], ticks[k]);
                average_of(SUBJECT_ENGINE, limits[i], periods[j], ticks[k]);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_tick_adds),
        cmocka_unit_test(refills_step_by_step),
        cmocka_unit_test(grants_per_second_are_exact),
        cmocka_unit_test(five_per_second_are_not_zero),
        cmocka_unit_test(a_thousand_per_second_in_lumps_of_a_hundred),
        cmocka_unit_test(a_burst_caps_what_comes),
        cmocka_unit_test(a_change_keeps_the_balance),
        cmocka_unit_test(averages_are_exact_to_the_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
