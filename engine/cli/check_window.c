/* SPDX-License-Identifier: MIT */
/*
 * What windows and concurrency limits admit, in words and as JSON. How finely the start of a window
 * is kept is asked of an engine.
 */
#include "check_window.h"

#include "zone.h"

#include "json_put.h"
#include "replay_secret.h"
#include "spans.h"

#include <string.h>
#include <time.h>

#define DAY_S ((int64_t)(WEIR_DAY / WEIR_SECOND))

static const char *const calendar_names[] = {
    [WEIR_CALENDAR_DAY] = "day", [WEIR_CALENDAR_WEEK] = "week", [WEIR_CALENDAR_MONTH] = "month"};

static bool is_fixed(const struct check_window *w, enum weir_form form)
{
    return w->policy.kind == WEIR_FIXED_WINDOW && w->policy.form == (uint32_t)form;
}

/* ---- facts ------------------------------------------------------------------------------- */

/* The start of the window that a new key's first hit opens, or 0 when it cannot be told. */
static weir_ns start_of_new_window(struct weir *w, int limit, weir_key key, weir_ns now)
{
    struct weir_result result = weir_decide(w, limit, key, 1, now);
    struct weir_policy policy;
    if (result.verdict != WEIR_ALLOWED || weir_get_limit(w, limit, &policy) != 0)
        return 0;
    return now + result.reset - policy.period;
}

/* Between the starts of two windows as close as can be, in an engine that is there for this. */
static weir_ns grain_of(const struct weir_policy *policy)
{
    struct weir_options options = {
        .size = sizeof options, .max_keys = 16, .max_limits = 1, .secret = replay_secret()};
    struct weir *w;
    if (weir_open(&w, &options) != 0)
        return 0;
    int limit = weir_add_limit(w, "limit", policy);
    weir_ns first = start_of_new_window(w, limit, weir_key_u64(w, 1), WEIR_HOUR);
    weir_ns second = start_of_new_window(w, limit, weir_key_u64(w, 2), first + 1);
    weir_close(w);
    return first != 0 && second > first ? second - first : 0;
}

/* A whole number of minutes that a time can be shown with, or 0 for UTC. */
static int16_t shown_offset(int64_t seconds)
{
    bool whole = seconds % 60 == 0 && seconds > -DAY_S && seconds < DAY_S;
    return (int16_t)(whole ? seconds / 60 : 0);
}

static void date_aligned(struct check_window *w)
{
    int64_t period = (int64_t)w->policy.period;
    int64_t local =
        w->now.unix_ns % period + w->policy.utc_offset_s * (int64_t)WEIR_SECOND % period + period;
    int64_t since = local % period;
    if (since > w->now.unix_ns || INT64_MAX - w->now.unix_ns < period)
        return;
    w->dated = true;
    w->from.unix_ns = w->now.unix_ns - since;
    w->to.unix_ns = w->from.unix_ns + period;
    w->from.offset_min = w->to.offset_min = shown_offset(w->policy.utc_offset_s);
}

/* The beginning of a day, in the offset that its midnight has there. */
static struct log_time midnight(const struct weir_zone *zone, int64_t second)
{
    struct weir_zone_window day;
    weir_zone_window_at(zone, WEIR_CALENDAR_DAY, second, &day);
    int16_t offset = shown_offset(day.number * DAY_S - day.start);
    return (struct log_time){second * (int64_t)WEIR_SECOND, offset};
}

static void date_calendar(struct check_window *w)
{
    const struct weir_zone *zone;
    struct weir_zone_window window;
    if (weir_zone_find(w->policy.zone, &zone) != 0)
        return;
    weir_zone_window_at(zone, (enum weir_calendar)w->policy.calendar,
                        w->now.unix_ns / (int64_t)WEIR_SECOND, &window);
    w->dated = window.start >= 0 && window.end <= INT64_MAX / (int64_t)WEIR_SECOND;
    if (!w->dated)
        return;
    w->from = midnight(zone, window.start);
    w->to = midnight(zone, window.end);
}

static const char *kind_of(const struct weir_policy *policy)
{
    if (policy->kind == WEIR_CONCURRENCY)
        return "concurrency";
    if (policy->kind == WEIR_SLIDING_WINDOW)
        return "sliding window";
    return policy->form == WEIR_FORM_ALIGNED    ? "aligned window"
           : policy->form == WEIR_FORM_CALENDAR ? "calendar window"
                                                : "fixed window";
}

void check_window_gather(struct check_window *w, const struct weir_policy *policy,
                         const struct log_time *now)
{
    *w = (struct check_window){.policy = *policy, .kind = kind_of(policy)};
    if (now != NULL) {
        w->now = *now;
        w->now_given = true;
    } else {
        struct timespec present;
        clock_gettime(CLOCK_REALTIME, &present);
        w->now.unix_ns = present.tv_sec * (int64_t)WEIR_SECOND + present.tv_nsec;
    }
    if (policy->kind == WEIR_CONCURRENCY || policy->limit == 0)
        return;
    w->most = 2 * policy->limit;
    if (is_fixed(w, WEIR_FORM_ALIGNED)) {
        date_aligned(w);
    } else if (is_fixed(w, WEIR_FORM_CALENDAR)) {
        date_calendar(w);
    } else {
        w->most--; /* the first hit is a whole period before; the estimate counts one that was */
        w->grain = is_fixed(w, WEIR_FORM_PLAIN) ? grain_of(policy) : 0;
    }
}

/* ---- in words ---------------------------------------------------------------------------- */

static void put_at_most(struct text *t, uint64_t count, const char *noun)
{
    text_print(t, "  at most ");
    text_put_count(t, count);
    text_print(t, " %s%s", noun, count == 1 ? "" : "s");
}

static void put_permits(struct text *t, const struct weir_policy *p)
{
    if (p->limit == WEIR_UNLIMITED) {
        text_print(t, "  any number of permits in use at a time; they are counted\n");
    } else if (p->limit == 0) {
        text_print(t, "  no permit at all: the limit is 0\n");
    } else {
        put_at_most(t, p->limit, "permit");
        text_print(t,
                   " in use at a time\n  each until it is given back, however long that takes\n");
    }
}

static void put_zone(struct text *t, const struct weir_policy *p)
{
    if (strcmp(p->zone, "local") == 0)
        text_print(t, "the local zone (TZ, else /etc/localtime)");
    else
        text_print(t, "%s", p->zone);
}

static void put_fixed(struct text *t, const struct check_window *w)
{
    const struct weir_policy *p = &w->policy;
    put_at_most(t, p->limit, "request");
    text_print(t, " from a key's first one until ");
    span_put(t, p->period);
    text_print(t, " has passed\n  the next request after that begins the next window\n");
}

static void put_aligned(struct text *t, const struct check_window *w)
{
    const struct weir_policy *p = &w->policy;
    int64_t seconds = p->utc_offset_s < 0 ? -p->utc_offset_s : p->utc_offset_s;
    put_at_most(t, p->limit, "request");
    text_print(t, " in each window of ");
    span_put(t, p->period);
    text_print(t, "\n  windows begin at multiples of ");
    span_put(t, p->period);
    text_print(t, " since 1970 began in UTC");
    if (seconds != 0)
        text_print(t, "%c%02d:%02d", p->utc_offset_s < 0 ? '-' : '+', (int)(seconds / 3600),
                   (int)(seconds / 60 % 60));
    if (seconds % 60 != 0)
        text_print(t, ":%02d", (int)(seconds % 60));
    text_print(t, "\n");
}

static void put_calendar(struct text *t, const struct check_window *w)
{
    static const char *const windows[] = {[WEIR_CALENDAR_DAY] = "on each day",
                                          [WEIR_CALENDAR_WEEK] =
                                              "in each week, which begins on Monday,",
                                          [WEIR_CALENDAR_MONTH] = "in each month"};
    const struct weir_policy *p = &w->policy;
    put_at_most(t, p->limit, "request");
    text_print(t, " %s of ", windows[p->calendar]);
    put_zone(t, p);
    text_print(t, "\n");
    if (strcmp(p->zone, "UTC") != 0)
        text_print(t, "  one in which clocks are changed is longer or shorter by that much\n");
}

static void put_sliding(struct text *t, const struct check_window *w)
{
    const struct weir_policy *p = &w->policy;
    put_at_most(t, p->limit, "request");
    text_print(t, " within ");
    span_put(t, p->period);
    text_print(t, " by an estimate: those in this window of ");
    span_put(t, p->period);
    text_print(t, ", and of those in the one\n  before as large a share as lies within the last ");
    span_put(t, p->period);
    text_print(t, "\n  windows begin at multiples of ");
    span_put(t, p->period);
    text_print(t, " of the clock\n");
}

/* What passes at worst within the length of one window. */
static void put_most(struct text *t, const struct check_window *w)
{
    const struct weir_policy *p = &w->policy;
    if (w->most == p->limit)
        return;
    text_print(t, "  up to ");
    text_put_count(t, w->most);
    text_print(t, " requests within ");
    if (p->form == WEIR_FORM_CALENDAR)
        text_print(t, "less than a %s", calendar_names[p->calendar]);
    else
        span_put(t, p->period);
    text_print(t, p->kind == WEIR_SLIDING_WINDOW ? ", if many of them came late in their window\n"
                                                 : ", around the end of a window\n");
}

static void put_dates(struct text *t, const struct check_window *w)
{
    if (!w->dated)
        return;
    text_print(t, "  the window of ");
    if (w->now_given)
        log_time_put_rfc3339(t, &w->now);
    else
        text_print(t, "now");
    text_print(t, ": ");
    log_time_put_rfc3339(t, &w->from);
    text_print(t, " to ");
    log_time_put_rfc3339(t, &w->to);
    text_print(t, ", ");
    span_put(t, (uint64_t)(w->to.unix_ns - w->from.unix_ns));
    text_print(t, "\n");
}

static void put_precision(struct text *t, const struct check_window *w)
{
    if (w->grain <= 1) {
        text_print(t, "  kept exactly\n");
        return;
    }
    text_print(t, "  a window's beginning is rounded up by less than ");
    span_put(t, w->grain);
    text_print(t, ", so that it never ends early\n");
}

void check_window_put_words(struct text *t, const struct check_window *w)
{
    if (w->policy.kind == WEIR_CONCURRENCY) {
        put_permits(t, &w->policy);
        return;
    }
    if (w->policy.limit == 0) {
        text_print(t, "  no request at all: the limit is 0\n");
        return;
    }
    if (w->policy.kind == WEIR_SLIDING_WINDOW)
        put_sliding(t, w);
    else if (is_fixed(w, WEIR_FORM_ALIGNED))
        put_aligned(t, w);
    else if (is_fixed(w, WEIR_FORM_CALENDAR))
        put_calendar(t, w);
    else
        put_fixed(t, w);
    put_most(t, w);
    put_dates(t, w);
    put_precision(t, w);
}

/* ---- as JSON ----------------------------------------------------------------------------- */

static json_t *instant(const struct log_time *time)
{
    struct text t = {0};
    log_time_put_rfc3339(&t, time);
    return json_text(&t);
}

void check_window_put_json(json_t *object, const struct check_window *w)
{
    const struct weir_policy *p = &w->policy;
    json_put(object, "kind", json_string(w->kind));
    if (p->limit != WEIR_UNLIMITED)
        json_put(object, "limit", json_count(p->limit));
    if (p->period != 0)
        json_put(object, "period_ns", json_count(p->period));
    if (is_fixed(w, WEIR_FORM_ALIGNED))
        json_put(object, "utc_offset_s", json_integer(p->utc_offset_s));
    if (is_fixed(w, WEIR_FORM_CALENDAR)) {
        json_put(object, "calendar", json_string(calendar_names[p->calendar]));
        json_put(object, "zone", json_string(p->zone));
    }
    if (p->kind == WEIR_CONCURRENCY)
        return;
    json_put(object, "most_in_one_period", json_count(w->most));
    if (w->grain != 0)
        json_put(object, "grain_ns", json_count(w->grain));
    if (w->dated) {
        json_put(object, "window_from", instant(&w->from));
        json_put(object, "window_to", instant(&w->to));
    }
}
