/* SPDX-License-Identifier: MIT */
/*
 * go.uber.org/ratelimit: when a call returns, through the cell and the engine.
 *
 * The original paces with slack, and starts with no slack accrued; a weir pacer starts full. So a
 * key's first call reserves its slack away with its token, slack + 1 in all, at the same instant:
 * its zero instant is then that instant, as in the original. A call returns at t + wait.
 *
 * weir keeps limit/period as written: where a period was truncated to whole nanoseconds the rows
 * are listed below. Negative slack does not exist (and the original's two forms disagree on it).
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

#define BASE     (3600 * WEIR_SECOND)
#define STALE    (60 * WEIR_SECOND)
#define LIMITERS 2
#define TAKERS   8

#define WHOLE_NS "a wait rounds up to the whole nanosecond; truncated periods are not imitated"

static const enum subject_kind kinds[] = {SUBJECT_CELL, SUBJECT_ENGINE};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Rows that differ: the case and its call, or the test and its instant of checking. */
struct difference {
    const char *test;
    uint64_t row;
    const char *reason;
};

static const char rate7[] = "per minute rate7 (perRequest truncated to 8571428571)";
static const struct difference sequence_differences[] = {
    {rate7, 1, WHOLE_NS}, {rate7, 2, WHOLE_NS}, {rate7, 3, WHOLE_NS},
    {rate7, 4, WHOLE_NS}, {rate7, 5, WHOLE_NS}, {rate7, 6, WHOLE_NS},
    {rate7, 7, WHOLE_NS}, {rate7, 8, WHOLE_NS}, {NULL, 0, NULL},
};
static const struct difference count_differences[] = {
    {"TestPer", 60 * WEIR_SECOND, WHOLE_NS},
    {"TestPer", 120 * WEIR_SECOND, WHOLE_NS},
    {NULL, 0, NULL},
};

struct ledger {
    const struct difference *listed;
    bool seen[16];
};

/* Listed and different, or neither. */
static void account(struct ledger *ledger, const char *test, uint64_t row, bool differs)
{
    const struct difference *d = ledger->listed;
    size_t i = 0;

    while (d[i].test != NULL && (strcmp(d[i].test, test) != 0 || d[i].row != row))
        i++;
    if (differs != (d[i].test != NULL))
        fail_msg("%s, %llu: %s", test, (unsigned long long)row,
                 differs ? "differs" : "no longer differs");
    ledger->seen[i] = true;
}

static void assert_all_seen(const struct ledger *ledger, const struct csv *table)
{
    for (size_t i = 0; ledger->listed[i].test != NULL; i++)
        if (!ledger->seen[i] && !table->elsewhere)
            fail_msg("%s is listed, but not in the file", ledger->listed[i].test);
}

/* One limiter of the original, with its model beside it. */
struct pacer {
    char name[16];
    struct subject subject;
    struct model_line line;
    struct model_key key;
    uint64_t slack;
    bool started;
};

static void pacer_open(struct pacer *p, enum subject_kind kind, uint64_t rate, uint64_t per,
                       uint64_t slack)
{
    const struct weir_policy policy = weir_pacer(rate, per, slack);
    struct model_form form;

    *p = (struct pacer){.slack = slack};
    assert_int_equal(subject_open(&p->subject, kind, &policy, 0), 0);
    assert_int_equal(model_form_init(&form, &policy), 0);
    if (kind == SUBJECT_CELL)
        model_line_of_meter(&p->line, &p->subject.meter);
    else
        model_line_init(&p->line, &form, (model_int)(BASE - STALE));
}

/* The instant at which a call made at `now` returns. */
static uint64_t take(struct pacer *p, uint64_t now)
{
    uint64_t n = p->started ? 1 : 1 + p->slack;
    struct weir_result want = model_step(&p->line, &p->key, n, now, WEIR_FOREVER, true, NULL);
    struct weir_result got = subject_reserve(&p->subject, n, now, WEIR_FOREVER, NULL);

    assert_int_equal(got.verdict, WEIR_ALLOWED);
    assert_int_equal(got.wait, want.wait);
    assert_int_equal(got.remaining, want.remaining);
    assert_int_equal(got.reset, want.reset);
    if (!p->started)
        assert_int_equal(got.wait, 0);
    p->started = true;
    return now + got.wait;
}

static void sequences_of(enum subject_kind kind)
{
    struct ledger ledger = {.listed = sequence_differences};
    size_t rows = 0, skipped = 0;
    struct pacer pacer = {0};
    struct csv table;

    csv_open(&table, "uber_sequences_derived.csv");
    for (size_t row = 0; row < table.rows; row++) {
        uint64_t grant, want;

        if (csv_text(&table, row, "slack")[0] == '-') {
            skipped++;
            continue;
        }
        if (!csv_continues(&table, row, "case")) {
            subject_close(&pacer.subject);
            pacer_open(&pacer, kind, csv_u64(&table, row, "rate"), csv_u64(&table, row, "per_ns"),
                       csv_u64(&table, row, "slack"));
        }
        grant = take(&pacer, BASE + csv_u64(&table, row, "t_ns")) - BASE;
        want = csv_u64(&table, row, "grant_ns_int64");
        assert_int_equal(want, csv_u64(&table, row, "grant_ns_mutex"));
        account(&ledger, csv_text(&table, row, "case"), csv_u64(&table, row, "call"),
                grant != want);
        rows++;
    }
    subject_close(&pacer.subject);
    assert_all_seen(&ledger, &table);
    assert_true(rows >= (table.elsewhere ? 1 : 74));
    assert_int_equal(rows + skipped, table.rows);
    printf("# uber_sequences_derived.csv, %s: %zu rows; %zu with negative slack not run\n",
           kind == SUBJECT_CELL ? "cell" : "engine", rows, skipped);
    csv_close(&table);
}

static void sequences(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        sequences_of(kinds[k]);
}

/* "back-to-back": each call at the return of the one before, from call 0 on; where said, that is
   45 ms after a first one. */
static void examples_of(enum subject_kind kind)
{
    struct pacer pacer = {0};
    uint64_t previous = 0;
    struct csv table;

    csv_open(&table, "uber_initial_and_examples.csv");
    for (size_t row = 0; row < table.rows; row++) {
        const char *test = csv_text(&table, row, "test"), *t = csv_text(&table, row, "t_ns");
        uint64_t want = csv_u64(&table, row, "expect_return_delta_ns"), delta, grant;
        bool rounded = strstr(test, "deltas rounded to 2 ms") != NULL;

        if (!csv_continues(&table, row, "test")) {
            subject_close(&pacer.subject);
            pacer_open(&pacer, kind, csv_u64(&table, row, "rate"), WEIR_SECOND,
                       csv_u64(&table, row, "slack"));
            previous = BASE;
            if (rounded)
                previous = take(&pacer, BASE) + 45 * WEIR_MILLISECOND;
            if (csv_u64(&table, row, "call") == 1)
                previous = take(&pacer, previous);
        }
        grant = take(&pacer, *t == 'b' ? previous : BASE + csv_u64(&table, row, "t_ns"));
        delta = grant - previous;
        previous = grant;
        /* Rounding to 2 ms moves a delta by 1 ms at most, and 5 ms is such an edge. */
        assert_in_range(delta, want, want + (rounded ? WEIR_MILLISECOND : 0));
    }
    subject_close(&pacer.subject);
    csv_close(&table);
}

static void initial_and_examples(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        examples_of(kinds[k]);
}

/* Takers that loop over limiters; `next` is the instant of a taker's next call. */
struct taker {
    struct pacer *path[LIMITERS];
    size_t length, at;
    uint64_t next, weight;
    bool once;
};

struct world {
    struct pacer pacers[LIMITERS];
    struct taker takers[TAKERS];
    size_t pacers_count, takers_count;
    uint64_t check, before, up_to; /* grants strictly before the check, and up to it */
};

/* "a:rate=100 per_ns=1000000000 slack=0;b:..." */
static void make_pacers(struct world *world, enum subject_kind kind, const char *text)
{
    while (*text != '\0') {
        unsigned long long rate, per, slack;
        char name[16];
        int used = 0;

        assert_int_equal(sscanf(text, "%15[^:]:rate=%llu per_ns=%llu slack=%llu%n", name, &rate,
                                &per, &slack, &used),
                         4);
        assert_true(world->pacers_count < LIMITERS);
        pacer_open(&world->pacers[world->pacers_count], kind, rate, per, slack);
        (void)strcpy(world->pacers[world->pacers_count++].name, name);
        text += used;
        text += *text == ';';
    }
}

static void add_path(struct world *world, struct taker *taker, const char *name, size_t length)
{
    size_t i = 0;

    while (i < world->pacers_count && (strlen(world->pacers[i].name) != length ||
                                       strncmp(world->pacers[i].name, name, length) != 0))
        i++;
    assert_true(i < world->pacers_count && taker->length < LIMITERS);
    taker->path[taker->length++] = &world->pacers[i];
}

/* "1@0:slow+fast;1@2000000000:fast", or "single calls at 1 2000000001 ..." */
static void make_takers(struct world *world, const char *text)
{
    static const char single[] = "single calls at ";
    bool once = strncmp(text, single, strlen(single)) == 0;

    text += once ? strlen(single) : 0;
    while (*text != '\0') {
        struct taker *taker = &world->takers[world->takers_count++];
        char *end;

        assert_true(world->takers_count <= TAKERS);
        *taker = (struct taker){.once = once, .weight = 1};
        if (once) {
            taker->next = BASE + strtoull(text, &end, 10);
            taker->path[taker->length++] = &world->pacers[0];
        } else {
            taker->weight = strtoull(text, &end, 10);
            assert_int_equal(*end, '@');
            taker->next = BASE + strtoull(end + 1, &end, 10);
            assert_int_equal(*end, ':');
            do {
                size_t length = strcspn(++end, "+;");

                add_path(world, taker, end, length);
                end += length;
            } while (*end == '+');
        }
        text = end + (*end != '\0');
    }
}

/* The earliest call at or before the check; NULL when there is none. */
static struct taker *earliest(struct world *world)
{
    struct taker *first = NULL;

    for (size_t i = 0; i < world->takers_count; i++) {
        struct taker *taker = &world->takers[i];

        if (taker->next <= world->check && (first == NULL || taker->next < first->next))
            first = taker;
    }
    return first;
}

static void simulate(struct world *world)
{
    struct taker *taker;

    while ((taker = earliest(world)) != NULL) {
        taker->next = take(taker->path[taker->at], taker->next);
        if (++taker->at < taker->length)
            continue;
        world->before += taker->next < world->check ? taker->weight : 0;
        world->up_to += taker->next <= world->check ? taker->weight : 0;
        taker->at = 0;
        if (taker->once)
            taker->next = UINT64_MAX;
    }
}

static void counts_of(enum subject_kind kind)
{
    struct ledger ledger = {.listed = count_differences};
    struct csv table;

    csv_open(&table, "uber_counts.csv");
    for (size_t row = 0; row < table.rows; row++) {
        uint64_t check = csv_u64(&table, row, "check_ns");
        uint64_t before = csv_u64(&table, row, "model_count_lt");
        uint64_t up_to = csv_u64(&table, row, "model_count_le");
        struct world world = {.check = BASE + check};

        make_pacers(&world, kind, csv_text(&table, row, "limiters"));
        make_takers(&world, csv_text(&table, row, "takers"));
        simulate(&world);
        assert_int_equal(before, csv_u64(&table, row, "expect_count_before_check"));
        account(&ledger, csv_text(&table, row, "test"), check,
                world.before != before || world.up_to != up_to);
        for (size_t i = 0; i < world.pacers_count; i++)
            subject_close(&world.pacers[i].subject);
    }
    assert_all_seen(&ledger, &table);
    csv_close(&table);
}

static void counts(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        counts_of(kinds[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences),
        cmocka_unit_test(initial_and_examples),
        cmocka_unit_test(counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
