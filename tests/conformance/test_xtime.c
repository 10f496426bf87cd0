/* SPDX-License-Identifier: MIT */
/*
 * golang.org/x/time/rate: its test sequences and edge cases, through the cell and the engine.
 *
 * Every row is compared with the vector file and, exactly, with the model. Where weir differs on
 * purpose the table below says so; an entry that no longer differs fails as well.
 *
 * Tokens at an instant are compared by what they mean: whole tokens left, and the time to full or
 * out of debt, to one nanosecond (the files print doubles) and one unit of a rounded setting.
 * A wait above 2^63-1 ns counts as that: the original cannot say more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bucket_model.h"
#include "csv.h"
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE   (3600 * WEIR_SECOND)
#define STALE  (60 * WEIR_SECOND)
#define WHOLE  (-1)
#define IDS    8
#define LENGTH 24

enum {
    BEFORE = 1,
    OK = 2,
    ACT = 4,
    AFTER = 8,
    NOT_BUILT = 16,
    CELL = 32,  /* of cells only */
    ENGINE = 64 /* of engines only */
};

#define BACKWARD  "backward time never mints tokens"
#define ZERO_RATE "rate 0 with unlimited wait is DENIED"
#define NEGATIVE  "negative rates do not exist"
#define WHOLE_NS  "a token comes when it is whole, a wait rounds up to the whole nanosecond"
#define UNLIMITED "unlimited records nothing"
#define REPRICED  "reservations of a cell end when it is re-priced"
#define IN_TOKENS "what was reserved after it is counted in tokens, whatever the rate was then"
#define FRESH     "from and to unlimited keys begin anew"

struct difference {
    const char *test;
    int step; /* or WHOLE */
    unsigned fields;
    const char *reason;
};

static const struct difference allow_differences[] = {
    {"TestLimiterJumpBackwards", 1, BEFORE | AFTER, BACKWARD},
    {"TestLimiterJumpBackwards", 2, BEFORE | OK, BACKWARD},
    {NULL, 0, 0, NULL},
};

static const struct difference reserve_differences[] = {
    {"TestReserveJumpBack", 1, BEFORE | ACT | AFTER, BACKWARD},
    {"TestReserveJumpBack", 2, BEFORE | ACT | AFTER, BACKWARD},
    {"TestReserveJumpBack", 3, BEFORE | AFTER, BACKWARD},
    {"TestReserveJumpBack", 4, BEFORE | ACT | AFTER, BACKWARD},
    {"TestReserveJumpBack", 5, BEFORE | AFTER, BACKWARD},
    {"TestReserveJumpBack", 6, BEFORE | ACT | AFTER, BACKWARD},
    {"TestReserveJumpBackCancel", 3, BEFORE | AFTER, BACKWARD},
    {"TestReserveJumpBackCancel", 4, BEFORE | ACT | AFTER, BACKWARD},
    {"TestReserveSetBurst", 3, BEFORE | ACT | AFTER, BACKWARD},
    {"TestReserveSetLimitCancel", 3, AFTER | CELL, REPRICED},
    {"TestReserveSetLimitCancel", 4, BEFORE | ACT | AFTER | CELL, REPRICED},
    {NULL, 0, 0, NULL},
};

static const struct difference edge_differences[] = {
    {"zero_rate", 5, OK | AFTER, ZERO_RATE},
    {"zero_rate", 6, BEFORE | OK | AFTER, ZERO_RATE},
    {"cancel_under_inf", 2, AFTER, FRESH},
    {"cancel_under_inf", 3, BEFORE | AFTER, FRESH},
    {"cancel_under_inf", 4, BEFORE | AFTER, FRESH},
    {"cancel_under_inf", 5, BEFORE | AFTER, FRESH},
    {"negative_rate", WHOLE, NOT_BUILT, NEGATIVE},
    {"inf_rate_burst5_no_consumption", 0, BEFORE | AFTER, UNLIMITED},
    {"inf_rate_burst5_no_consumption", 1, BEFORE | AFTER, UNLIMITED},
    {"inf_rate_burst5_no_consumption", 2, BEFORE, UNLIMITED},
    {"clock_pingpong_rate10", 1, BEFORE | AFTER, BACKWARD},
    {"clock_pingpong_rate10", 2, BEFORE | AFTER, BACKWARD},
    {"clock_pingpong_rate10", 3, BEFORE | OK | AFTER, BACKWARD},
    {"clock_pingpong_rate10", 4, BEFORE | OK, BACKWARD},
    {"clock_pingpong_rate10", 5, BEFORE | AFTER, BACKWARD},
    {"clock_pingpong_rate10", 7, BEFORE | AFTER, BACKWARD},
    {"clock_pingpong_rate10", 9, BEFORE | AFTER, BACKWARD},
    {"clock_back_n_zero_rewinds", 1, BEFORE | OK | AFTER, BACKWARD},
    {"clock_back_n_zero_rewinds", 2, BEFORE | OK, BACKWARD},
    {"clock_back_n_zero_rewinds", 3, BEFORE | OK | AFTER, BACKWARD},
    {"clock_back_n_zero_rewinds", 4, BEFORE | OK, BACKWARD},
    {"clock_back_refused_keeps_last", 1, BEFORE | AFTER, BACKWARD},
    {"set_rate_mid_debt", 4, AFTER | ENGINE, IN_TOKENS},
    {"tiny_rate_1e-9", 1, ACT, WHOLE_NS},
    {"rounding_rate7_chain", 1, ACT, WHOLE_NS},
    {"rounding_rate7_chain", 2, ACT, WHOLE_NS},
    {"rounding_rate7_chain", 3, ACT, WHOLE_NS},
    {"rounding_rate7_chain", 4, ACT, WHOLE_NS},
    {"rounding_rate7_chain", 5, ACT, WHOLE_NS},
    {"rounding_rate7_chain", 6, ACT, WHOLE_NS},
    {"cancel_reverse_rounding_30", 1, ACT, WHOLE_NS},
    {"cancel_reverse_rounding_30", 2, ACT, WHOLE_NS},
    {NULL, 0, 0, NULL},
};

/* How a file names what a row holds. */
struct columns {
    const char *file, *test, *rate, *burst, *op, *t, *n, *max_wait, *ok, *act, *id, *after;
    uint64_t unit; /* ns of t and max_wait */
    const struct difference *differences;
    size_t rows_min;
};

static const struct columns allow_columns = {
    .file = "xtr_allow_sequences.csv",
    .test = "test",
    .rate = "rate",
    .burst = "burst",
    .t = "t_100ms",
    .n = "n",
    .ok = "expect_ok",
    .after = "model_tokens_after",
    .unit = 100 * WEIR_MILLISECOND,
    .differences = allow_differences,
    .rows_min = 33,
};

static const struct columns reserve_columns = {
    .file = "xtr_reserve_sequences.csv",
    .test = "test",
    .rate = "rate0",
    .burst = "burst0",
    .op = "op",
    .t = "t_100ms",
    .n = "n_or_value",
    .max_wait = "max_wait_100ms",
    .ok = "expect_ok",
    .act = "model_act_ns_after_t0",
    .id = "res_id",
    .after = "model_tokens_after",
    .unit = 100 * WEIR_MILLISECOND,
    .differences = reserve_differences,
    .rows_min = 59,
};

static const struct columns edge_columns = {
    .file = "xtr_edge_derived.csv",
    .test = "case",
    .rate = "rate0",
    .burst = "burst0",
    .op = "op",
    .t = "t_ns",
    .n = "n_or_value",
    .max_wait = "max_wait_ns",
    .ok = "ok",
    .act = "act_ns",
    .id = "res_id",
    .after = "tokens_after",
    .unit = 1,
    .differences = edge_differences,
    .rows_min = 96,
};

/* One limiter of the original: the subject, its model, and the reservations it handed out. */
struct limiter {
    struct subject subject;
    struct weir_policy policy;
    uint64_t burst; /* also of an unlimited one */
    struct model_line line;
    struct model_key key;
    uint64_t unit_ns; /* one unit of a rounded setting, 0 when exact */
    struct {
        char id[LENGTH];
        struct weir_reservation reservation;
        struct model_reservation model;
    } held[IDS];
    size_t held_count;
};

struct run {
    const struct columns *columns;
    const struct csv *table;
    enum subject_kind kind;
    size_t rows, skipped, differing;
    bool seen[64]; /* entries of the table of differences that did differ */
};

static struct weir_policy policy_of(const char *rate, uint64_t burst)
{
    struct fraction f;

    if (strcmp(rate, "INF") == 0)
        return weir_token_bucket(WEIR_UNLIMITED, WEIR_SECOND, burst);
    f = fraction_of(rate);
    assert_true(f.q <= UINT64_MAX / WEIR_SECOND);
    return weir_token_bucket(f.p, f.q * WEIR_SECOND, burst);
}

static void limiter_open(struct limiter *l, enum subject_kind kind, const char *rate,
                         uint64_t burst)
{
    struct model_form form;

    memset(l, 0, sizeof *l);
    l->policy = policy_of(rate, burst);
    l->burst = burst;
    assert_int_equal(subject_open(&l->subject, kind, &l->policy, 0), 0);
    assert_int_equal(model_form_init(&form, &l->policy), 0);
    if (kind == SUBJECT_CELL)
        model_line_of_meter(&l->line, &l->subject.meter);
    else
        model_line_init(&l->line, &form, (model_int)(BASE - STALE));
    if (!form.unlimited && !form.exact)
        l->unit_ns = (uint64_t)(form.grains / form.units) + 1;
}

/* The n-th reservation of that name; a new one when it is not held. */
static size_t held_index(struct limiter *l, const char *id)
{
    size_t i = 0;

    while (i < l->held_count && strcmp(l->held[i].id, id) != 0)
        i++;
    if (i == l->held_count) {
        assert_true(l->held_count < IDS && strlen(id) < LENGTH);
        (void)strcpy(l->held[l->held_count++].id, id);
    }
    return i;
}

static bool near(uint64_t got, model_uint scaled, model_uint scale, uint64_t slack)
{
    model_uint low = scaled / scale, high = low + (scaled % scale != 0);

    return got + 1 + slack >= low && got <= high + 1 + slack;
}

/* Does `tokens` say what the subject says of this instant? */
static bool tokens_match(const struct limiter *l, uint64_t now, const char *tokens)
{
    const struct weir_policy *policy = &l->policy;
    struct weir_result probe = subject_probe(&l->subject, now);
    struct fraction f = fraction_of(tokens);
    model_uint missing;

    if (l->line.form.unlimited)
        return probe.remaining == f.p && f.q == 1;
    if (f.sign < 0) {
        if (probe.verdict != WEIR_DENIED || probe.remaining != 0)
            return false;
        if (policy->limit == 0)
            return probe.wait == WEIR_FOREVER;
        return near(probe.wait, (model_uint)f.p * policy->period, (model_uint)f.q * policy->limit,
                    l->unit_ns);
    }
    if (probe.verdict != WEIR_ALLOWED || probe.remaining != f.p / f.q)
        return false;
    missing = (model_uint)policy->burst * f.q - f.p;
    if (policy->limit == 0 || missing == 0)
        return probe.reset == (missing == 0 ? 0 : WEIR_FOREVER);
    return near(probe.reset, missing * policy->period, (model_uint)f.q * policy->limit, l->unit_ns);
}

static void assert_same(const struct run *run, const char *where, struct weir_result got,
                        struct weir_result want)
{
    if (got.verdict == want.verdict && got.wait == want.wait && got.remaining == want.remaining &&
        got.reset == want.reset)
        return;
    fail_msg("%s, %s: verdict %d wait %llu remaining %llu reset %llu; the model says "
             "%d %llu %llu %llu",
             where, run->kind == SUBJECT_CELL ? "cell" : "engine", (int)got.verdict,
             (unsigned long long)got.wait, (unsigned long long)got.remaining,
             (unsigned long long)got.reset, (int)want.verdict, (unsigned long long)want.wait,
             (unsigned long long)want.remaining, (unsigned long long)want.reset);
}

static const char *optional(const struct run *run, size_t row, const char *column)
{
    return column == NULL ? "" : csv_text(run->table, row, column);
}

/* allow or reserve; returns the fields that differ from the file. */
static unsigned grant(const struct run *run, struct limiter *l, size_t row, uint64_t now,
                      const char *where, bool reserve)
{
    const struct columns *c = run->columns;
    const char *id = optional(run, row, c->id), *act = optional(run, row, c->act);
    const char *max = reserve ? csv_text(run->table, row, c->max_wait) : "0";
    uint64_t n = csv_u64(run->table, row, c->n), wait;
    uint64_t max_wait = strcmp(max, "inf") == 0 ? WEIR_FOREVER : strtoull(max, NULL, 10) * c->unit;
    size_t i = held_index(l, id);
    struct weir_result got, want;
    unsigned differ = 0;
    bool ok;

    want = model_step(&l->line, &l->key, n, now, max_wait, true, &l->held[i].model);
    got = reserve ? subject_reserve(&l->subject, n, now, max_wait, &l->held[i].reservation)
                  : subject_decide(&l->subject, n, now);
    assert_same(run, where, got, want);
    ok = got.verdict == WEIR_ALLOWED;
    if (ok != (csv_u64(run->table, row, c->ok) == 1))
        differ |= OK;
    wait = got.wait < MODEL_NOW_MAX ? got.wait : MODEL_NOW_MAX;
    if (ok && (differ & OK) == 0 && *act != '\0' &&
        now - BASE + wait != csv_u64(run->table, row, c->act))
        differ |= ACT;
    return differ;
}

static void cancel(const struct run *run, struct limiter *l, size_t row, uint64_t now,
                   const char *where)
{
    size_t i = held_index(l, csv_text(run->table, row, run->columns->id));
    uint64_t want = model_cancel(&l->line, &l->key, &l->held[i].model, now);
    uint64_t got = subject_cancel(&l->subject, &l->held[i].reservation, now);

    if (got != want)
        fail_msg("%s: gave back %llu; the model says %llu", where, (unsigned long long)got,
                 (unsigned long long)want);
    assert_int_equal(subject_cancel(&l->subject, &l->held[i].reservation, now), 0);
}

/* set_limit, set_rate, set_burst: the policy of the original's limiter afterwards. */
static void change(const struct run *run, struct limiter *l, size_t row, uint64_t now,
                   const char *op)
{
    const char *value = csv_text(run->table, row, run->columns->n);
    struct weir_policy next = l->policy;
    struct model_line line;
    struct model_form form;
    size_t i;

    if (strcmp(op, "set_burst") == 0)
        next.burst = strtoull(value, NULL, 10);
    else
        next = policy_of(value, l->burst);
    if (strcmp(op, "set_burst") == 0)
        l->burst = next.burst;
    assert_int_equal(subject_change(&l->subject, &next, now), 0);
    assert_int_equal(model_form_init(&form, &next), 0);
    if (run->kind == SUBJECT_CELL)
        model_line_of_meter(&line, &l->subject.meter);
    else
        model_line_init(&line, &form, (model_int)now - STALE);
    model_change(&l->line, &l->key, &line, now);
    for (i = 0; i < l->held_count; i++) {
        if (run->kind == SUBJECT_CELL)
            l->held[i].model.n = 0;
        else
            model_change_reservation(&l->line, &l->held[i].model, &line, now);
    }
    if (run->kind == SUBJECT_CELL) {
        for (i = 0; i < l->held_count; i++)
            l->held[i].reservation.n = 0;
    }
    l->policy = next;
    l->line = line;
    l->unit_ns = form.unlimited || form.exact ? 0 : (uint64_t)(form.grains / form.units) + 1;
}

/* Compares one row; returns the fields that differ from the file. */
static unsigned step(const struct run *run, struct limiter *l, size_t row, const char *where)
{
    const struct columns *c = run->columns;
    const char *op = c->op == NULL ? "allow" : csv_text(run->table, row, c->op);
    uint64_t now = BASE + csv_u64(run->table, row, c->t) * c->unit;
    unsigned differ = 0;

    if (!tokens_match(l, now, csv_text(run->table, row, "tokens_before")))
        differ |= BEFORE;
    if (strcmp(op, "allow") == 0 || strcmp(op, "reserve") == 0)
        differ |= grant(run, l, row, now, where, *op == 'r');
    else if (strcmp(op, "cancel") == 0)
        cancel(run, l, row, now, where);
    else if (strncmp(op, "set_", 4) == 0)
        change(run, l, row, now, op);
    else
        assert_string_equal(op, "tokens");
    assert_same(run, where, subject_probe(&l->subject, now),
                model_step(&l->line, &l->key, 0, now, 0, false, NULL));
    if (!tokens_match(l, now, csv_text(run->table, row, c->after)))
        differ |= AFTER;
    return differ;
}

/* The table must list this row with these fields, or not at all when nothing differs. */
static void account(struct run *run, const char *test, int number, unsigned differ)
{
    const struct difference *d = run->columns->differences;
    size_t i = 0;

    while (d[i].test != NULL && (strcmp(d[i].test, test) != 0 || d[i].step != number))
        i++;
    assert_in_range(i, 0, sizeof run->seen - 1);
    unsigned listed = d[i].test == NULL ? 0 : d[i].fields;
    if ((listed & (run->kind == SUBJECT_CELL ? ENGINE : CELL)) != 0)
        listed = 0;
    listed &= ~(unsigned)(CELL | ENGINE);
    if (differ != listed)
        fail_msg("%s, %s, step %d, %s: differs in [%s%s%s%s%s ], listed [%u] %s",
                 run->columns->file, test, number, run->kind == SUBJECT_CELL ? "cell" : "engine",
                 differ & BEFORE ? " BEFORE" : "", differ & OK ? " OK" : "",
                 differ & ACT ? " ACT" : "", differ & AFTER ? " AFTER" : "",
                 differ & NOT_BUILT ? " NOT_BUILT" : "", listed,
                 d[i].test == NULL ? "" : d[i].reason);
    if (differ != 0) {
        run->seen[i] = true;
        run->differing++;
    }
}

/* Runs the case that starts at `row`; returns the row after it. */
static size_t run_case(struct run *run, size_t row)
{
    static struct limiter limiter;
    const struct columns *c = run->columns;
    const char *test = csv_text(run->table, row, c->test),
               *rate = csv_text(run->table, row, c->rate);
    bool built = rate[0] != '-';

    if (built)
        limiter_open(&limiter, run->kind, rate, csv_u64(run->table, row, c->burst));
    else
        account(run, test, WHOLE, NOT_BUILT);
    do {
        char where[160];
        int number = (int)csv_u64(run->table, row, "step");

        (void)snprintf(where, sizeof where, "%s, %s, step %d", c->file, test, number);
        if (!built) {
            run->skipped++;
        } else {
            account(run, test, number, step(run, &limiter, row, where));
            run->rows++;
        }
        row++;
    } while (row < run->table->rows && csv_continues(run->table, row, c->test));
    if (built)
        subject_close(&limiter.subject);
    return row;
}

static void run_file(const struct columns *columns, enum subject_kind kind)
{
    struct csv table;
    struct run run = {.columns = columns, .table = &table, .kind = kind};
    const struct difference *d = columns->differences;

    csv_open(&table, columns->file);
    for (size_t row = 0; row < table.rows;)
        row = run_case(&run, row);
    printf("# %s, %s: %zu rows, %zu of them differ as listed; %zu rows not run\n", columns->file,
           kind == SUBJECT_CELL ? "cell" : "engine", run.rows, run.differing, run.skipped);
    for (size_t i = 0; d[i].test != NULL; i++)
        if (!run.seen[i] && !table.elsewhere &&
            (d[i].fields & (kind == SUBJECT_CELL ? ENGINE : CELL)) == 0)
            fail_msg("%s, %s, step %d no longer differs (%s)", columns->file, d[i].test, d[i].step,
                     d[i].reason);
    assert_true(run.rows >= (table.elsewhere ? 1 : columns->rows_min));
    assert_int_equal(run.rows + run.skipped, table.rows);
    csv_close(&table);
}

static void allow_sequences(void **state)
{
    (void)state;
    run_file(&allow_columns, SUBJECT_CELL);
    run_file(&allow_columns, SUBJECT_ENGINE);
}

static void reserve_sequences(void **state)
{
    (void)state;
    run_file(&reserve_columns, SUBJECT_CELL);
    run_file(&reserve_columns, SUBJECT_ENGINE);
}

static void edge_cases(void **state)
{
    (void)state;
    run_file(&edge_columns, SUBJECT_CELL);
    run_file(&edge_columns, SUBJECT_ENGINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allow_sequences),
        cmocka_unit_test(reserve_sequences),
        cmocka_unit_test(edge_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
