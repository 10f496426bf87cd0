/* SPDX-License-Identifier: MIT */
/* `weir check`: a policy in words, and how finely it is kept. */
#include "check_window.h"
#include "cli.h"
#include "json_put.h"
#include "policy_arg.h"
#include "spans.h"

#include <stdio.h>
#include <string.h>

/* The debt that every policy is promised room for. */
#define DEBT_DAYS 135

__extension__ typedef unsigned __int128 wide;

static const char usage[] =
    "usage: weir check [--json] [--at TIME] \"TEXT\"\n"
    "\n"
    "What a policy admits, in words. TEXT is\n"
    "\n"
    "  a bucket       \"10/s\", \"10/s burst 20\", \"3/4.5s\", \"50/s pace slack 10\",\n"
    "                 \"1000/s refill 100ms burst 500\", \"unlimited\"\n"
    "  a window       \"600/min window\", \"600/min aligned\", \"5/day aligned +08:00\",\n"
    "                 \"100/10s sliding\"\n"
    "  of a calendar  \"5/day zone Asia/Kuala_Lumpur\", \"5/week zone local\",\n"
    "                 \"5/month zone UTC\"\n"
    "  permits        \"concurrency 64\", \"concurrency unlimited\"\n"
    "\n"
    "with the units ns us ms s min h day.\n"
    "\n"
    "  --at TIME      show the aligned or calendar window of this time instead of now, such as\n"
    "                 2026-03-29T12:00:00+02:00\n"
    "  --json         print one JSON object\n"
    "  --help         print this\n";

/* A policy and what follows from it; a span is rounded up to whole ns. */
struct facts {
    struct weir_policy policy;
    struct check_window window; /* of a policy that is no bucket; then nothing below */
    struct weir_meter meter;
    const char *kind;
    bool bounded;  /* not unlimited */
    bool accrues;  /* the rate is not 0 */
    span_ns full;  /* from empty to full */
    uint64_t debt; /* tokens */
};

static uint64_t saturate(wide value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

static bool is_bucket(const struct facts *f)
{
    return f->policy.kind == WEIR_TOKEN_BUCKET;
}

static bool gather(const char *text, const struct log_time *now, struct facts *f)
{
    *f = (struct facts){0};
    if (!policy_arg_read("", text, &f->policy))
        return false;
    if (!is_bucket(f)) {
        check_window_gather(&f->window, &f->policy, now);
        return true;
    }
    int error = weir_meter_init(&f->meter, &f->policy, 0);
    if (error != 0) {
        cli_error("\"%s\": %s", text, weir_strerror(error));
        return false;
    }
    const struct weir_policy *p = &f->policy;
    f->bounded = p->limit != WEIR_UNLIMITED;
    f->accrues = f->bounded && p->limit != 0;
    f->kind = !f->bounded                  ? "unlimited"
              : p->form == WEIR_FORM_PACER ? "pacer"
              : p->tick != 0               ? "refill bucket"
                                           : "token bucket";
    if (!f->accrues)
        return true;
    f->full = ((wide)p->burst * p->period + p->limit - 1) / p->limit;
    if (p->tick != 0)
        f->full = (f->full + p->tick - 1) / p->tick * p->tick;
    f->debt = saturate((wide)WEIR_DAY * DEBT_DAYS * p->limit / p->period);
    return true;
}

/* ---- in words ---------------------------------------------------------------------------- */

static void put_requests(struct text *t, uint64_t count)
{
    text_put_count(t, count);
    text_print(t, count == 1 ? " request" : " requests");
}

/* "10 per minute", "3 per 4.5 s" */
static void put_rate(struct text *t, const struct weir_policy *p)
{
    static const struct {
        weir_ns ns;
        const char *name;
    } units[] = {
        {WEIR_SECOND, "second"}, {WEIR_MINUTE, "minute"}, {WEIR_HOUR, "hour"}, {WEIR_DAY, "day"}};
    text_put_count(t, p->limit);
    text_print(t, " per ");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (p->period == units[i].ns) {
            text_print(t, "%s", units[i].name);
            return;
        }
    }
    span_put(t, p->period);
}

static const char *about(uint64_t numerator, uint64_t denominator)
{
    bool said = numerator / denominator >= SPAN_YEARS_FROM;
    return said || numerator % denominator == 0 ? "" : "about ";
}

/* The burst; false when nothing follows it. */
static bool put_at_once(struct text *t, const struct facts *f)
{
    text_print(t, "  at most ");
    put_requests(t, f->policy.burst);
    text_print(t, " at once\n");
    if (!f->accrues)
        text_print(t, "  then none at all, since nothing accrues at rate 0 (0/s burst 0 blocks "
                      "every request)\n");
    return f->accrues;
}

static void put_bucket(struct text *t, const struct facts *f)
{
    const struct weir_policy *p = &f->policy;
    if (!put_at_once(t, f))
        return;
    text_print(t, "  then one %severy ", about(p->period, p->limit));
    span_put_quotient(t, p->period, p->limit);
    text_print(t, ", ");
    put_rate(t, p);
    text_print(t, " in the long run\n");
}

static void put_pacer(struct text *t, const struct facts *f)
{
    const struct weir_policy *p = &f->policy;
    if (!f->accrues) {
        put_at_once(t, f);
        return;
    }
    text_print(t, "  requests at least %s", about(p->period, p->limit));
    span_put_quotient(t, p->period, p->limit);
    text_print(t, " apart, ");
    put_rate(t, p);
    text_print(t, "\n  after a quiet time ");
    if (p->burst == 1) {
        text_print(t, "none may catch up: one at once, never two\n");
        return;
    }
    text_print(t, "up to ");
    text_put_count(t, p->burst - 1);
    text_print(t, " may catch up: at most ");
    put_requests(t, p->burst);
    text_print(t, " at once\n");
}

static void put_refill(struct text *t, const struct facts *f)
{
    const struct weir_policy *p = &f->policy;
    if (!put_at_once(t, f))
        return;
    wide lump = (wide)p->limit * p->tick;
    text_print(t, "  then tokens for ");
    put_rate(t, p);
    text_print(t, ", in lumps of ");
    text_put_count(t, saturate(lump / p->period));
    if (lump % p->period != 0) {
        text_print(t, " or ");
        text_put_count(t, saturate(lump / p->period + 1));
    }
    text_print(t, " at every multiple of ");
    span_put(t, p->tick);
    text_print(t, " of the clock\n");
    if (lump > (wide)p->burst * p->period)
        text_print(t, "  a lump is more than the bucket holds: the rest of it is lost\n");
}

/* unit = grains / units of a tick or of 1 ns */
static void put_precision(struct text *t, const struct facts *f)
{
    const struct weir_meter *m = &f->meter;
    wide numerator = (wide)m->grains * (m->tick ? m->tick : 1);
    if (m->grains == 1)
        text_print(t, "  kept exactly");
    else
        text_print(t, "  kept to less than one unit early or late, never adding up");
    text_print(t, ": a unit is %s", about(saturate(numerator), m->units));
    span_put_quotient(t, saturate(numerator), m->units);
    text_print(t, ", a request takes ");
    text_put_count(t, m->token);
    text_print(t, "\n");
}

static void put_any_bucket(struct text *t, const struct facts *f)
{
    if (!f->bounded)
        text_print(t, "  every request, at any rate; nothing is recorded\n");
    else if (f->policy.burst == 0)
        text_print(t, "  no request at all: the bucket holds no token\n");
    else if (f->policy.form == WEIR_FORM_PACER)
        put_pacer(t, f);
    else if (f->policy.tick != 0)
        put_refill(t, f);
    else
        put_bucket(t, f);
    if (!f->accrues || f->policy.burst == 0)
        return;
    text_print(t, "  empty to full in ");
    span_put(t, f->full);
    text_print(t, f->policy.tick ? " at most\n" : "\n");
    put_precision(t, f);
    text_print(t, "  room for a debt of at least %d days", DEBT_DAYS);
    if (f->debt > 0) {
        text_print(t, ", ");
        put_requests(t, f->debt);
    }
    text_print(t, "\n");
}

static void print_words(const struct facts *f)
{
    struct text t = {0};
    policy_arg_put(&t, &f->policy);
    text_print(&t, "\n");
    if (is_bucket(f))
        put_any_bucket(&t, f);
    else
        check_window_put_words(&t, &f->window);
    fputs(t.data, stdout);
    text_free(&t);
}

/* ---- as JSON ----------------------------------------------------------------------------- */

/* null where the number is above what JSON readers hold as an integer. */
static json_t *whole_or_null(wide value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_null();
}

/* numerator / denominator, whole where it is. */
static json_t *quotient(wide numerator, uint64_t denominator)
{
    if (numerator % denominator == 0)
        return json_count(saturate(numerator / denominator));
    return json_real((double)numerator / (double)denominator);
}

static void put_bucket_json(json_t *object, const struct facts *f)
{
    const struct weir_policy *p = &f->policy;
    const struct weir_meter *m = &f->meter;
    json_put(object, "kind", json_string(f->kind));
    if (f->bounded) {
        json_put(object, "limit", json_count(p->limit));
        json_put(object, "period_ns", json_count(p->period));
        json_put(object, "burst", json_count(p->burst));
    }
    if (p->tick != 0)
        json_put(object, "tick_ns", json_count(p->tick));
    if (f->accrues) {
        json_put(object, "interval_ns", quotient(p->period, p->limit));
        json_put(object, "empty_to_full_ns", whole_or_null(f->full));
        json_put(object, "exact", json_boolean(m->grains == 1));
        json_put(object, "unit_ns", quotient((wide)m->grains * (m->tick ? m->tick : 1), m->units));
        json_put(object, "units_per_request", json_count(m->token));
        json_put(object, "debt_at_least", json_count(f->debt));
    }
}

static void print_json(const struct facts *f)
{
    struct text canonical = {0};
    json_t *object = json_object();
    policy_arg_put(&canonical, &f->policy);
    json_put(object, "policy", json_text(&canonical));
    if (is_bucket(f))
        put_bucket_json(object, f);
    else
        check_window_put_json(object, &f->window);
    json_print(object);
}

/* The command line. */
struct arguments {
    const char *text;
    bool json, help;
    bool at_given;
    struct log_time at;
};

static bool read_at(struct arguments *a, const char *value)
{
    const char *reason = value ? log_time_read(value, strlen(value), &a->at) : "it needs a value";
    if (reason != NULL)
        cli_error("--at %s: %s", value ? value : "", reason);
    a->at_given = reason == NULL;
    return a->at_given;
}

/* False after a message. */
static bool read_arguments(int argc, char **argv, struct arguments *a)
{
    bool options = true;
    for (int i = 1; i < argc; i++) {
        if (options && strcmp(argv[i], "--json") == 0) {
            a->json = true;
        } else if (options && strcmp(argv[i], "--help") == 0) {
            a->help = true;
            return true;
        } else if (options && strcmp(argv[i], "--at") == 0) {
            i++;
            if (!read_at(a, i < argc ? argv[i] : NULL))
                return false;
        } else if (options && strncmp(argv[i], "--at=", 5) == 0) {
            if (!read_at(a, argv[i] + 5))
                return false;
        } else if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-') {
            cli_error("unknown option %s (see --help)", argv[i]);
            return false;
        } else if (a->text != NULL) {
            cli_error("one policy at a time, \"%s\" is one too many (quote a text with blanks)",
                      argv[i]);
            return false;
        } else {
            a->text = argv[i];
        }
    }
    if (a->text == NULL)
        cli_error("a policy is needed, such as \"10/min burst 20\"");
    return a->text != NULL;
}

int cli_check(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct facts facts;
    if (!read_arguments(argc, argv, &arguments))
        return CLI_USAGE;
    if (arguments.help) {
        fputs(usage, stdout);
        return cli_finish_output();
    }
    if (!gather(arguments.text, arguments.at_given ? &arguments.at : NULL, &facts))
        return CLI_USAGE;
    if (arguments.json)
        print_json(&facts);
    else
        print_words(&facts);
    return cli_finish_output();
}
