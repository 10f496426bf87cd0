/* SPDX-License-Identifier: MIT */
/*
 * Windows as others count them: the period limits of zeromicro/go-zero, an HTTP client that keeps
 * to three requests in 4.5 s, and requests that straddle a window's edge; through the cell and the
 * engine.
 *
 * Times in the files are unix time. The engine's `now` is BASE ahead of it, so that its windows on
 * unix time cannot be told from `now` alone.
 *
 * go-zero's states are those of weir_quota. It also counts what it refuses, and tells a count above
 * the quota; weir writes nothing then, so of a refusal only that is compared: the quota is used up.
 * Where weir differs on purpose otherwise the tables below say so; an entry that no longer differs
 * fails as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "differences.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BASE      (3600 * WEIR_SECOND)
#define WHOLE     UINT64_MAX /* as a step: the case is not run */
#define IN_WINDOW 3          /* requests of the HTTP client */

#define NEGATIVE  "a negative quota does not exist"
#define NO_PERIOD "a period of 0 is refused where it is set"
#define SECONDS   "the original's clock is cut to whole seconds, a window here ends at its instant"
#define FLOORED   "the original's remainder is negative before 1970, and its window too long"

static const struct difference count_differences[] = {
    {"quota_-3", WHOLE, NOT_RUN, NEGATIVE},
    {NULL, 0, 0, NULL},
};

static const char sub_second[] = "sub-second first call keeps key past the boundary";
static const struct difference sequence_differences[] = {
    {sub_second, 0, END, SECONDS},
    {sub_second, 1, STATE, SECONDS},
    {sub_second, 2, STATE | END, SECONDS},
    {"period 0 unaligned: key deleted at once", WHOLE, NOT_RUN, NO_PERIOD},
    {NULL, 0, 0, NULL},
};

/* unix_s, utc_offset_s, period_s: where their sum is negative and no multiple of the period. */
static const struct difference align_differences[] = {
    {"0 -18000 86400", 0, END, FLOORED},
    {"0 -18000 604800", 0, END, FLOORED},
    {"0 -12600 86400", 0, END, FLOORED},
    {"0 -12600 604800", 0, END, FLOORED},
    {"1 -18000 60", 0, END, FLOORED},
    {"1 -18000 86400", 0, END, FLOORED},
    {"1 -18000 604800", 0, END, FLOORED},
    {"1 -12600 60", 0, END, FLOORED},
    {"1 -12600 86400", 0, END, FLOORED},
    {"1 -12600 604800", 0, END, FLOORED},
    {NULL, 0, 0, NULL},
};

static const struct difference no_differences[] = {{NULL, 0, 0, NULL}};

/* ---- subjects on unix time ---------------------------------------------------------------- */

static weir_ns unix_time_at(void *context, weir_ns now)
{
    (void)context;
    return now - BASE;
}

/* 0, or why there is no such limit. No unix time to come is before `first`. */
static int open_at(struct subject *s, enum subject_kind kind, const struct weir_policy *policy,
                   weir_ns first)
{
    const struct weir_options options = {
        .size = sizeof options, .max_keys = 64, .max_limits = 4, .wall_clock = unix_time_at};

    if (kind == SUBJECT_CELL)
        return subject_open(s, kind, policy, first);
    *s = (struct subject){.kind = kind};
    assert_int_equal(weir_open(&s->engine, &options), 0);
    s->limit = weir_add_limit(s->engine, "limit", policy);
    s->key = weir_key_text(s->engine, "key");
    return s->limit < 0 ? s->limit : 0;
}

static weir_ns now_at(const struct subject *s, weir_ns unix_time)
{
    return s->kind == SUBJECT_CELL ? unix_time : unix_time + BASE;
}

static struct weir_result decide_at(struct subject *s, weir_ns unix_time)
{
    return subject_decide(s, 1, now_at(s, unix_time));
}

/* An answer about nothing that exists. */
static struct weir_result decide_nowhere(struct subject *s, weir_ns unix_time)
{
    if (s->kind == SUBJECT_CELL)
        return weir_cell_decide(&s->cell, NULL, 1, now_at(s, unix_time));
    return weir_decide(s->engine, s->limit + 1, s->key, 1, now_at(s, unix_time));
}

static weir_ns ns_of(const char *seconds)
{
    struct fraction f = fraction_of(seconds);

    assert_true(f.sign > 0 && f.p <= UINT64_MAX / WEIR_SECOND && f.p * WEIR_SECOND % f.q == 0);
    return f.p * WEIR_SECOND / f.q;
}

static int64_t csv_i64(const struct csv *table, size_t row, const char *column)
{
    const char *text = csv_text(table, row, column);
    char *end;
    int64_t value = strtoll(text, &end, 10);

    if (end == text || *end != '\0')
        fail_msg("%s: row %zu, %s: \"%s\" is no number", table->file, row + 1, column, text);
    return value;
}

/* Aligned or from the first hit. */
static struct weir_policy policy_of(const struct csv *table, size_t row, int64_t utc_offset_s)
{
    uint64_t quota = csv_u64(table, row, "quota");
    weir_ns period = csv_u64(table, row, "period_s") * WEIR_SECOND;

    return csv_u64(table, row, "align") == 1 ? weir_aligned_window(quota, period, utc_offset_s)
                                             : weir_fixed_window(quota, period);
}

/* ---- go-zero ------------------------------------------------------------------------------ */

static void counts_of_row(struct ledger *l, size_t row)
{
    uint64_t calls = csv_u64(&l->table, row, "calls_in_one_window"), of[4] = {0};
    const char *test = csv_text(&l->table, row, "test");
    bool nowhere = csv_u64(&l->table, row, "expect_error") != 0;
    const struct weir_policy policy = policy_of(&l->table, row, 0);
    const weir_ns first = 1000 * WEIR_SECOND;
    struct subject s;

    assert_int_equal(open_at(&s, l->kind, &policy, first), 0);
    for (uint64_t i = 0; i < calls; i++) {
        weir_ns unix_time = first + i * WEIR_MILLISECOND;
        struct weir_result result =
            nowhere ? decide_nowhere(&s, unix_time) : decide_at(&s, unix_time);

        of[weir_quota(result)]++;
    }
    subject_close(&s);
    assert_int_equal(of[WEIR_QUOTA_ALLOWED], csv_u64(&l->table, row, "expect_allowed"));
    assert_int_equal(of[WEIR_QUOTA_REACHED], csv_u64(&l->table, row, "expect_hit_quota"));
    assert_int_equal(of[WEIR_QUOTA_OVER], csv_u64(&l->table, row, "expect_over_quota"));
    assert_int_equal(of[WEIR_QUOTA_UNKNOWN], csv_u64(&l->table, row, "expect_error"));
    account(l, test, 0, 0);
}

static void period_counts(void **state)
{
    (void)state;
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        struct ledger l;

        ledger_open(&l, "gozero_period_counts.csv", (enum subject_kind)kind, count_differences);
        for (size_t row = 0; row < l.table.rows; row++) {
            if (csv_text(&l.table, row, "quota")[0] == '-')
                account(&l, csv_text(&l.table, row, "test"), WHOLE, NOT_RUN);
            else
                counts_of_row(&l, row);
        }
        ledger_close(&l, 7);
    }
}

/* One call of a sequence; returns the fields that differ from the file. */
static unsigned call_of_row(const struct ledger *l, struct subject *s, size_t row)
{
    static const char *const states[] = {"Unknown", "Allowed", "HitQuota", "OverQuota"};
    uint64_t quota = csv_u64(&l->table, row, "quota");
    uint64_t count = csv_u64(&l->table, row, "count_after");
    const char *end = csv_text(&l->table, row, "expire_s_if_set");
    const char *state = csv_text(&l->table, row, "state");
    struct weir_result result = decide_at(s, ns_of(csv_text(&l->table, row, "t_unix_s")));
    unsigned differ = 0;

    assert_int_equal(count > quota, strcmp(state, "OverQuota") == 0);
    if (strcmp(states[weir_quota(result)], state) != 0)
        differ |= STATE;
    if (quota - result.remaining != (count < quota ? count : quota))
        differ |= COUNT;
    if (*end != '\0' && result.reset != csv_u64(&l->table, row, "expire_s_if_set") * WEIR_SECOND)
        differ |= END;
    return differ;
}

static void period_sequences_of(enum subject_kind kind)
{
    struct subject s = {0};
    bool built = false;
    struct ledger l;

    ledger_open(&l, "gozero_period_sequence_derived.csv", kind, sequence_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        const char *test = csv_text(&l.table, row, "case");

        if (!csv_continues(&l.table, row, "case")) {
            const struct weir_policy policy =
                policy_of(&l.table, row, csv_i64(&l.table, row, "utc_offset_s"));
            int error;

            subject_close(&s);
            error = open_at(&s, kind, &policy, ns_of(csv_text(&l.table, row, "t_unix_s")));
            built = error == 0;
            assert_int_equal(error, policy.period == 0 ? -EINVAL : 0);
        }
        if (built)
            account(&l, test, csv_u64(&l.table, row, "call"), call_of_row(&l, &s, row));
        else
            account(&l, test, WHOLE, NOT_RUN);
    }
    subject_close(&s);
    ledger_close(&l, 28);
}

static void period_sequences(void **state)
{
    (void)state;
    period_sequences_of(SUBJECT_CELL);
    period_sequences_of(SUBJECT_ENGINE);
}

/* One token: used up until the window ends, to the nanosecond. Returns the window's end. */
static weir_ns end_of_window(enum subject_kind kind, const struct weir_policy *policy,
                             weir_ns unix_time)
{
    struct weir_result result;
    struct subject s;
    weir_ns end;

    assert_int_equal(open_at(&s, kind, policy, unix_time), 0);
    result = decide_at(&s, unix_time);
    assert_int_equal(weir_quota(result), WEIR_QUOTA_REACHED);
    end = unix_time + result.reset;
    result = decide_at(&s, end - 1);
    assert_int_equal(result.verdict, WEIR_DENIED);
    assert_int_equal(result.wait, 1);
    result = decide_at(&s, end);
    assert_int_equal(result.verdict, WEIR_ALLOWED);
    assert_int_equal(result.reset, policy->period);
    subject_close(&s);
    return end;
}

static void align_of(enum subject_kind kind)
{
    struct ledger l;

    ledger_open(&l, "gozero_align_derived.csv", kind, align_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        int64_t unix_s = csv_i64(&l.table, row, "unix_s");
        int64_t offset = csv_i64(&l.table, row, "utc_offset_s");
        int64_t period = csv_i64(&l.table, row, "period_s");
        int64_t want = csv_i64(&l.table, row, "window_end_unix_s"), end;
        int64_t since = ((unix_s + offset) % period + period) % period;
        const struct weir_policy policy =
            weir_aligned_window(1, (weir_ns)period * WEIR_SECOND, offset);
        char test[64];

        assert_int_equal(unix_s + csv_i64(&l.table, row, "expire_s"), want);
        end = (int64_t)end_of_window(kind, &policy, (weir_ns)unix_s * WEIR_SECOND);
        assert_int_equal(end, (unix_s - since + period) * (int64_t)WEIR_SECOND);
        (void)snprintf(test, sizeof test, "%lld %lld %lld", (long long)unix_s, (long long)offset,
                       (long long)period);
        account(&l, test, 0, end != want * (int64_t)WEIR_SECOND ? END : 0);
    }
    ledger_close(&l, 140);
}

static void windows_end_where_clocks_say(void **state)
{
    (void)state;
    align_of(SUBJECT_CELL);
    align_of(SUBJECT_ENGINE);
}

/* ---- the edge of a window ----------------------------------------------------------------- */

static struct weir_policy policy_of_kind(const char *kind, uint64_t limit, weir_ns period)
{
    if (strcmp(kind, "aligned_window") == 0)
        return weir_aligned_window(limit, period, 0);
    if (strcmp(kind, "fixed_window_from_first_hit") == 0)
        return weir_fixed_window(limit, period);
    assert_string_equal(kind, "sliding_window");
    return weir_sliding_window(limit, period);
}

static void edge_of(enum subject_kind kind)
{
    struct ledger l;

    ledger_open(&l, "window_edge.csv", kind, no_differences);
    for (size_t row = 0; row < l.table.rows; row++) {
        const char *test = csv_text(&l.table, row, "kind");
        weir_ns period = csv_u64(&l.table, row, "window_ms") * WEIR_MILLISECOND;
        weir_ns step = csv_u64(&l.table, row, "step_ms") * WEIR_MILLISECOND;
        const struct weir_policy policy =
            policy_of_kind(test, csv_u64(&l.table, row, "limit"), period);
        weir_ns unix_time = 1000 * period + csv_u64(&l.table, row, "first_ms") * WEIR_MILLISECOND;
        uint64_t requests = csv_u64(&l.table, row, "requests"), passed = 0;
        struct subject s;

        assert_int_equal(open_at(&s, kind, &policy, unix_time), 0);
        for (uint64_t i = 0; i < requests; i++, unix_time += step)
            passed += decide_at(&s, unix_time).verdict == WEIR_ALLOWED;
        subject_close(&s);
        assert_int_equal(passed, csv_u64(&l.table, row, "expect_passed"));
        account(&l, test, 0, 0);
    }
    ledger_close(&l, 3);
}

static void requests_at_the_edge_of_a_window(void **state)
{
    (void)state;
    edge_of(SUBJECT_CELL);
    edge_of(SUBJECT_ENGINE);
}

/* ---- an HTTP client ----------------------------------------------------------------------- */

/* "2022-09-09T09:00:04.006523686Z", with up to nine decimals. */
static weir_ns unix_time_of(const char *text)
{
    weir_ns digit = WEIR_SECOND / 10, ns = 0;
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    assert_true(rest != NULL && *rest == '.');
    while (*++rest >= '0' && *rest <= '9') {
        ns += (weir_ns)(*rest - '0') * digit;
        digit /= 10;
    }
    assert_string_equal(rest, "Z");
    return (weir_ns)timegm(&tm) * WEIR_SECOND + ns;
}

/* When a request goes out that the client is ready to send at `ready`. */
static weir_ns sent_at(struct subject *s, weir_ns ready)
{
    struct weir_result result = subject_reserve(s, 1, now_at(s, ready), WEIR_FOREVER, NULL);

    assert_int_equal(result.verdict, WEIR_ALLOWED);
    return ready + result.wait;
}

struct transport {
    struct subject observed, client, quick;
    weir_ns period, first, sent; /* `sent` is the quick one's last request */
};

/*
 * A request seen at `received`, three ways. As observed: it may go out just then. From a client
 * that sends one after the other: it goes out as soon as the one before was received, or at the
 * instant at which the next window begins, and not after it was seen. From one that is answered at
 * once: three go out at the beginning of each window.
 */
static void request(struct transport *t, uint64_t i, weir_ns received, weir_ns before,
                    uint64_t window)
{
    uint64_t first_window = t->first / t->period;
    weir_ns sent = sent_at(&t->client, before);

    assert_int_equal(decide_at(&t->observed, received).verdict, WEIR_ALLOWED);
    assert_int_equal(received / t->period - first_window, window);
    assert_int_equal(sent / t->period - first_window, window);
    assert_true(sent <= received);
    if (sent != before)
        assert_int_equal(sent % t->period, 0);
    t->sent = sent_at(&t->quick, t->sent);
    assert_int_equal(t->sent / t->period - first_window, i / IN_WINDOW);
    assert_int_equal(t->sent,
                     i < IN_WINDOW ? t->first : (first_window + i / IN_WINDOW) * t->period);
}

static void transport_of(enum subject_kind kind)
{
    struct transport t = {0};
    struct weir_policy policy;
    weir_ns before;
    struct ledger l;

    ledger_open(&l, "roundtripper_window.csv", kind, no_differences);
    assert_int_equal(weir_policy_parse(&policy, "3/4.5s aligned", NULL), 0);
    t.period = policy.period;
    t.first = t.sent = before = unix_time_of(csv_text(&l.table, 0, "received_at"));
    assert_int_equal(open_at(&t.observed, kind, &policy, t.first), 0);
    assert_int_equal(open_at(&t.client, kind, &policy, t.first), 0);
    assert_int_equal(open_at(&t.quick, kind, &policy, t.first), 0);
    for (size_t row = 0; row < l.table.rows; row++) {
        weir_ns received = unix_time_of(csv_text(&l.table, row, "received_at"));

        assert_int_equal(csv_u64(&l.table, row, "request"), row);
        request(&t, row, received, before, csv_u64(&l.table, row, "window"));
        account(&l, "request", row, 0);
        before = received;
    }
    assert_int_equal(t.sent / t.period - t.first / t.period, (l.table.rows - 1) / IN_WINDOW);
    subject_close(&t.observed);
    subject_close(&t.client);
    subject_close(&t.quick);
    ledger_close(&l, 20);
}

static void three_requests_in_four_and_a_half_seconds(void **state)
{
    (void)state;
    transport_of(SUBJECT_CELL);
    transport_of(SUBJECT_ENGINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(period_counts),
        cmocka_unit_test(period_sequences),
        cmocka_unit_test(windows_end_where_clocks_say),
        cmocka_unit_test(requests_at_the_edge_of_a_window),
        cmocka_unit_test(three_requests_in_four_and_a_half_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
