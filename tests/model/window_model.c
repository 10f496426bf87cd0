/* SPDX-License-Identifier: MIT */
/* Windows and permits in wide integers; see window_model.h for the words. */
#include "window_model.h"

#include <stddef.h>
#include <string.h>

#define DAY_S     86400
#define HOUR_S    3600
#define SECOND_NS ((model_int)1000000000)

static model_int clamp_now(uint64_t now)
{
    return now < MODEL_NOW_MAX ? (model_int)now : (model_int)MODEL_NOW_MAX;
}

static model_int ceil_div(model_int a, model_int b)
{
    return -model_floor_div(-a, b);
}

static uint64_t less_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A limit that was lowered may be below a count. */
static uint64_t left_of(const struct window_limit *l, uint64_t count)
{
    return count < l->limit ? l->limit - count : 0;
}

/* ---- calendars ---------------------------------------------------------------------------- */

static bool leap_year(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 1 && leap_year(year) ? 29 : days[month];
}

/* Months since January 1970 of a day since 1970, and the day with which a month begins. */
static model_int month_of_day(model_int day)
{
    model_int month = 0;
    int year = 1970;

    for (; day >= 365 + leap_year(year); month += 12)
        day -= 365 + leap_year(year++);
    for (int m = 0; day >= days_of_month(year, m); month++)
        day -= days_of_month(year, m++);
    return month;
}

static model_int day_of_month(model_int month)
{
    model_int day = 0;
    int year = 1970;

    for (; month >= 12; month -= 12)
        day += 365 + leap_year(year++);
    for (int m = 0; m < month; m++)
        day += days_of_month(year, m);
    return day;
}

/* The nth Sunday of a month: 1970 began on a Thursday. */
static model_int nth_sunday(model_int month, int nth)
{
    model_int first = day_of_month(month);

    return first + (10 - first % 7) % 7 + (model_int)7 * (nth - 1);
}

/* From 2:00 on the second Sunday in March to 2:00 (summer time) on the first one in November. */
static model_int new_york_offset(model_int unix_s)
{
    model_int year_start = month_of_day(model_floor_div(unix_s, DAY_S)) / 12 * 12;
    model_int spring = nth_sunday(year_start + 2, 2) * DAY_S + (model_int)7 * HOUR_S;
    model_int autumn = nth_sunday(year_start + 10, 1) * DAY_S + (model_int)6 * HOUR_S;

    return (unix_s >= spring && unix_s < autumn ? -4 : -5) * (model_int)HOUR_S;
}

static model_int zone_offset(enum window_zone zone, model_int unix_s)
{
    if (zone == WINDOW_ZONE_NEW_YORK)
        return new_york_offset(unix_s);
    return zone == WINDOW_ZONE_KUALA_LUMPUR ? (model_int)8 * HOUR_S : 0;
}

model_int window_calendar_number(enum window_zone zone, uint32_t calendar, model_int unix_s)
{
    model_int day = model_floor_div(unix_s + zone_offset(zone, unix_s), DAY_S);

    if (calendar == WEIR_CALENDAR_DAY)
        return day;
    return calendar == WEIR_CALENDAR_WEEK ? model_floor_div(day + 3, 7) : month_of_day(day);
}

/* The midnight that is one by its own offset. None of these zones has two, or none. */
model_int window_calendar_start(enum window_zone zone, uint32_t calendar, model_int number)
{
    model_int day = number, midnight;

    if (calendar == WEIR_CALENDAR_WEEK)
        day = number * 7 - 3;
    if (calendar == WEIR_CALENDAR_MONTH)
        day = day_of_month(number);
    for (int hours = -5; hours <= 8; hours++) {
        midnight = day * DAY_S - (model_int)hours * HOUR_S;
        if (zone_offset(zone, midnight) == (model_int)hours * HOUR_S)
            return midnight;
    }
    return 0;
}

/* ---- limits ------------------------------------------------------------------------------- */

static unsigned bits_of(uint64_t value)
{
    unsigned bits = 0;

    for (; value > 0; value >>= 1)
        bits++;
    return bits == 0 ? 1 : bits;
}

static void limit_init(struct window_limit *l, const struct weir_policy *policy)
{
    *l = (struct window_limit){
        .kind = policy->kind,
        .form = policy->form,
        .unlimited = policy->limit == WEIR_UNLIMITED,
        .limit = policy->limit,
        .period = (model_int)policy->period,
        .offset = policy->utc_offset_s * SECOND_NS,
        .calendar = policy->calendar,
    };
    if (strcmp(policy->zone, "Asia/Kuala_Lumpur") == 0)
        l->zone = WINDOW_ZONE_KUALA_LUMPUR;
    if (strcmp(policy->zone, "America/New_York") == 0)
        l->zone = WINDOW_ZONE_NEW_YORK;
}

/* Of an engine's word, beside counts of so many bits. */
static unsigned position_bits(const struct weir_policy *policy, unsigned count_bits)
{
    return policy->kind == WEIR_SLIDING_WINDOW ? 58 - 2 * count_bits : 58 - 1 - count_bits;
}

/* Aligned windows need half of their positions for 45 days, sliding ones all of them for 180. */
static bool positions_last(const struct weir_policy *policy, unsigned count_bits)
{
    model_int positions = (model_int)1 << position_bits(policy, count_bits);
    model_int day = (model_int)WEIR_DAY;

    if (policy->kind == WEIR_SLIDING_WINDOW)
        return positions * (model_int)policy->period >= 180 * day;
    return policy->form != WEIR_FORM_ALIGNED ||
           positions / 2 * (model_int)policy->period >= 45 * day;
}

bool window_is_kept(const struct weir_policy *policy)
{
    return policy->kind == WEIR_CONCURRENCY || policy->limit == WEIR_UNLIMITED ||
           positions_last(policy, bits_of(policy->limit));
}

/* `count_bits`: of the limit before, whose counts are to be kept. */
static void limit_of_engine(struct window_limit *l, const struct weir_policy *policy, weir_ns first,
                            weir_ns stale_max, unsigned count_bits)
{
    model_int lasts = (model_int)MODEL_LIFE_MIN_NS + 4 * (model_int)policy->period;

    limit_init(l, policy);
    l->stale_max = (model_int)stale_max;
    l->count_max = ((model_int)1 << 58) - 1;
    if (l->unlimited || (l->kind != WEIR_FIXED_WINDOW && l->kind != WEIR_SLIDING_WINDOW))
        return;
    l->count_bits = bits_of(l->limit);
    for (; count_bits > l->count_bits; count_bits--) /* as many as fit */
        if (positions_last(policy, count_bits))
            l->count_bits = count_bits;
    l->count_max = ((model_int)1 << l->count_bits) - 1;
    l->position_bits = position_bits(policy, l->count_bits);
    if (l->kind != WEIR_FIXED_WINDOW || l->form != WEIR_FORM_PLAIN)
        return;
    l->origin = (model_int)first - (model_int)stale_max - 2 * l->period;
    while (((model_int)1 << (l->position_bits - 1 + l->grain_bits)) < lasts)
        l->grain_bits++;
}

void window_limit_of_engine(struct window_limit *l, const struct weir_policy *policy, weir_ns first,
                            weir_ns stale_max)
{
    limit_of_engine(l, policy, first, stale_max, 0);
}

void window_limit_after(struct window_limit *to, const struct weir_policy *policy,
                        const struct window_limit *from, weir_ns now)
{
    bool same_kind = from->kind == policy->kind && !from->unlimited;

    limit_of_engine(to, policy, now, (weir_ns)from->stale_max, same_kind ? from->count_bits : 0);
    to->wall = from->wall;
    to->longest = from->longest;
    to->asked = from->asked;
    to->told = from->told;
    to->newest = from->newest;
}

void window_limit_of_meter(struct window_limit *l, const struct weir_meter *m)
{
    limit_init(l, &m->policy);
    l->count_max = ((model_int)1 << 63) - 1;
    l->origin = m->origin;
    l->grain_bits = m->grain_bits;
    l->count_bits = m->count_bits;
    if (l->kind != WEIR_CONCURRENCY)
        l->count_max = ((model_int)1 << l->count_bits) - 1;
    l->position_bits = 62;
    l->believes = true;
}

bool window_on_wall(const struct window_limit *l)
{
    return l->kind == WEIR_FIXED_WINDOW && l->form != WEIR_FORM_PLAIN;
}

static model_int unix_or_now(const struct window_limit *l, uint64_t now)
{
    return clamp_now(now) + (window_on_wall(l) ? l->wall : 0);
}

void window_ask(struct window_limit *l, uint64_t now)
{
    model_int at = clamp_now(now);

    if (l->asked && at < l->told + SECOND_NS && at >= l->told - SECOND_NS)
        return;
    l->told = at;
    if (!l->asked || at > l->newest || l->newest - at > l->stale_max)
        l->newest = at;
    l->asked = true;
}

/* The same, of a call: an engine asks about unix time a second or more from when it last did, which
   a peek is no reason to remember, and takes a `now` that is behind for one, by up to stale_max. */
static model_int instant_of(const struct window_limit *l, uint64_t now, bool records)
{
    struct window_limit *mine = (struct window_limit *)(uintptr_t)l;
    model_int at = clamp_now(now), behind;

    if (window_on_wall(l) && !l->believes) {
        if (records)
            window_ask(mine, now);
        behind = l->newest > at ? l->newest - at : 0;
        mine->guard = behind <= l->stale_max ? behind + 2 * SECOND_NS : 0;
    }
    return unix_or_now(l, now);
}

/* ---- positions ---------------------------------------------------------------------------- */

static bool from_first_hit(const struct window_limit *l)
{
    return l->kind == WEIR_FIXED_WINDOW && l->form == WEIR_FORM_PLAIN;
}

static bool on_calendar(const struct window_limit *l)
{
    return l->kind == WEIR_FIXED_WINDOW && l->form == WEIR_FORM_CALENDAR;
}

model_int window_at(const struct window_limit *l, model_int t)
{
    if (from_first_hit(l))
        return ceil_div(t - l->origin, (model_int)1 << l->grain_bits);
    if (on_calendar(l))
        return window_calendar_number(l->zone, l->calendar, model_floor_div(t, SECOND_NS));
    return model_floor_div(t + l->offset, l->period);
}

model_int window_start(const struct window_limit *l, model_int position)
{
    if (from_first_hit(l))
        return l->origin + position * ((model_int)1 << l->grain_bits);
    if (on_calendar(l))
        return window_calendar_start(l->zone, l->calendar, position) * SECOND_NS;
    return position * l->period - l->offset;
}

model_int window_end(const struct window_limit *l, model_int position)
{
    if (from_first_hit(l))
        return window_start(l, position) + l->period;
    return window_start(l, position + 1);
}

static model_int window_after(const struct window_limit *l, model_int position)
{
    return from_first_hit(l) ? window_at(l, window_end(l, position)) : position + 1;
}

model_int window_lead(const struct window_limit *l, const struct window_key *key, uint64_t now)
{
    model_int lead;

    if (!key->used || l->unlimited || l->kind == WEIR_CONCURRENCY)
        return 0;
    lead = window_end(l, key->position) - unix_or_now(l, now);
    return lead > 0 ? lead : 0;
}

model_int window_half_line(const struct window_limit *l)
{
    model_int positions = (model_int)1 << (l->position_bits - 1);

    if (from_first_hit(l))
        return positions << l->grain_bits;
    return positions * (on_calendar(l) ? DAY_S * SECOND_NS : l->period);
}

/* ---- plans -------------------------------------------------------------------------------- */

struct plan {
    bool possible;   /* after `wait` */
    model_int wait;  /* when it is granted */
    model_int later; /* when it is refused: the least span after which it is granted at once */
    struct window_key next;
};

/* ---- fixed windows */

enum stage { ENDED, ACTIVE, AHEAD };

/* The longest that a window can be: zones change their clocks by two hours at most. */
static model_int longest_window(const struct window_limit *l)
{
    static const int days[] = {0, 1, 7, 31};

    return on_calendar(l) ? (days[l->calendar] * DAY_S + 2 * HOUR_S) * SECOND_NS : l->period;
}

/* A clock of windows on unix time may have been set back: what is too far ahead never was. */
static bool believed(const struct window_limit *l, const struct window_key *key, model_int t)
{
    if (!window_on_wall(l) || (key->ahead && l->believes))
        return true;
    if (!key->ahead)
        return window_start(l, key->position) <= window_end(l, window_at(l, t)) + l->guard;
    return window_start(l, key->position) - t <= l->longest + longest_window(l) + l->guard;
}

static bool emptied(const struct window_key *key)
{
    return key->count == 0 && !key->ahead;
}

/* The stage of a window that is believed. */
static enum stage stage_of(const struct window_limit *l, const struct window_key *key, model_int t)
{
    if (!key->used || emptied(key) || t >= window_end(l, key->position))
        return ENDED;
    return key->ahead && t < window_start(l, key->position) ? AHEAD : ACTIVE;
}

static enum stage stage_at(const struct window_limit *l, const struct window_key *key, model_int t)
{
    return key->used && !believed(l, key, t) ? ENDED : stage_of(l, key, t);
}

/* A window at t; for a key whose window was emptied not before that one. */
static struct window_key fresh_window(const struct window_limit *l, const struct window_key *key,
                                      model_int t, uint64_t count)
{
    struct window_key next = {.used = true, .position = window_at(l, t), .count = count};

    if (key->used && emptied(key) && believed(l, key, t) && key->position > next.position)
        next.position = key->position;
    return next;
}

static void plan_fixed(const struct window_limit *l, const struct window_key *key, uint64_t n,
                       model_int t, struct plan *plan)
{
    enum stage stage = stage_at(l, key, t);

    *plan = (struct plan){.possible = true, .next = *key};
    if (stage == AHEAD)
        plan->wait = plan->later = window_start(l, key->position) - t;
    if (n == 0)
        return;
    if (stage == ENDED) {
        plan->next = fresh_window(l, key, t, n);
        return;
    }
    if ((model_int)key->count + (model_int)n <= (model_int)l->limit) {
        plan->next.count += n;
        plan->next.ahead = stage == AHEAD;
        return;
    }
    plan->next.position = window_after(l, key->position);
    plan->next.ahead = true;
    plan->next.count = n;
    plan->wait = window_start(l, plan->next.position) - t;
    plan->later = window_end(l, key->position) - t;
}

static void describe_fixed(const struct window_limit *l, const struct window_key *key, model_int t,
                           struct weir_result *result)
{
    enum stage stage = stage_at(l, key, t);

    result->remaining = l->limit;
    if (stage != ENDED)
        result->remaining = stage == AHEAD ? 0 : left_of(l, key->count);
    result->reset = stage == ENDED ? 0 : (uint64_t)(window_end(l, key->position) - t);
}

/* ---- sliding windows */

/* A key as it is seen at t: window k with its two counts, `lead` before it begins, or e into it. */
struct view {
    model_int k, previous, current, e, lead;
};

static struct view view_at(const struct window_limit *l, const struct window_key *key, model_int t)
{
    model_int number = window_at(l, t);
    struct view view = {.k = number, .e = t - window_start(l, number)};

    if (!key->used || (key->previous == 0 && key->count == 0) || key->position < number - 1)
        return view;
    if (key->position == number - 1) {
        view.previous = (model_int)key->count;
        return view;
    }
    view.previous = (model_int)key->previous;
    view.current = (model_int)key->count;
    if (key->position > number) {
        view.k = key->position;
        view.lead = window_start(l, view.k) - t;
        view.e = 0;
    }
    return view;
}

static struct window_key key_of(model_int k, model_int previous, model_int current)
{
    return (struct window_key){
        .used = true, .position = k, .previous = (uint64_t)previous, .count = (uint64_t)current};
}

/* Least e, at least 0, with previous * (W - e) <= free * W. */
static model_int least_e(model_int period, model_int previous, model_int room)
{
    if (previous <= room)
        return 0;
    return period - model_floor_div(room * period, previous);
}

static void plan_sliding(const struct window_limit *l, const struct window_key *key, uint64_t n,
                         model_int t, struct plan *plan)
{
    struct view v = view_at(l, key, t);
    model_int limit = (model_int)l->limit, tokens = (model_int)n, e;

    *plan = (struct plan){.possible = true, .next = *key};
    if (v.current + tokens <= limit) {
        e = least_e(l->period, v.previous, limit - v.current - tokens);
        if (e < v.e)
            e = v.e;
        plan->wait = v.lead + e - v.e;
        if (n > 0)
            plan->next = e < l->period ? key_of(v.k, v.previous, v.current + tokens)
                                       : key_of(v.k + 1, v.current, tokens);
    } else {
        e = least_e(l->period, v.current, limit - tokens);
        plan->wait = v.lead + l->period - v.e + e;
        plan->next =
            e < l->period ? key_of(v.k + 1, v.current, tokens) : key_of(v.k + 2, 0, tokens);
    }
    plan->later = plan->wait;
}

static void describe_sliding(const struct window_limit *l, const struct window_key *key,
                             model_int t, struct weir_result *result)
{
    struct view v = view_at(l, key, t);
    model_int estimate = v.current + ceil_div(v.previous * (l->period - v.e), l->period);
    model_int reset = 0;

    if (v.current > 0)
        reset = v.lead + l->period - v.e + l->period;
    else if (v.previous > 0)
        reset = v.lead + l->period - v.e;
    result->remaining =
        v.lead == 0 && estimate < (model_int)l->limit ? l->limit - (uint64_t)estimate : 0;
    result->reset = (uint64_t)reset;
}

/* ---- permits */

static void plan_permits(const struct window_limit *l, const struct window_key *key, uint64_t n,
                         struct plan *plan)
{
    model_int most = l->unlimited ? l->count_max : (model_int)l->limit;

    *plan = (struct plan){.next = *key, .later = (model_int)WEIR_FOREVER};
    plan->possible = (model_int)key->count + (model_int)n <= most;
    if (plan->possible && n > 0) {
        plan->next.used = true;
        plan->next.count += n;
    }
}

static uint64_t permits_left(const struct window_limit *l, const struct window_key *key)
{
    return l->unlimited ? UINT64_MAX : left_of(l, key->count);
}

/* ---- any kind */

static void plan_for(const struct window_limit *l, const struct window_key *key, uint64_t n,
                     model_int t, struct plan *plan)
{
    if (l->kind == WEIR_FIXED_WINDOW)
        plan_fixed(l, key, n, t, plan);
    else if (l->kind == WEIR_SLIDING_WINDOW)
        plan_sliding(l, key, n, t, plan);
    else
        plan_permits(l, key, n, plan);
}

static void describe(const struct window_limit *l, const struct window_key *key, model_int t,
                     struct weir_result *result)
{
    if (l->kind == WEIR_FIXED_WINDOW) {
        describe_fixed(l, key, t, result);
    } else if (l->kind == WEIR_SLIDING_WINDOW) {
        describe_sliding(l, key, t, result);
    } else {
        result->remaining = permits_left(l, key);
        result->reset = key->count == 0 ? 0 : WEIR_FOREVER;
    }
}

/* ---- operations --------------------------------------------------------------------------- */

static bool records_nothing(const struct window_limit *l)
{
    return l->unlimited && l->kind != WEIR_CONCURRENCY;
}

struct weir_result window_step(struct window_limit *l, struct window_key *key, uint64_t n,
                               uint64_t now, uint64_t max_wait, bool record,
                               struct window_reservation *r)
{
    struct weir_result result = {.verdict = WEIR_NEVER, .wait = WEIR_FOREVER};
    model_int t = instant_of(l, now, record);
    struct plan plan;

    if (r != NULL)
        *r = (struct window_reservation){0};
    if (records_nothing(l))
        return (struct weir_result){.verdict = WEIR_ALLOWED, .remaining = UINT64_MAX};
    describe(l, key, t, &result);
    if (!l->unlimited && n > l->limit)
        return result;
    plan_for(l, key, n, t, &plan);
    if (!plan.possible || plan.wait > (model_int)max_wait) {
        result.verdict = WEIR_DENIED;
        result.wait = (uint64_t)plan.later;
        return result;
    }
    result.verdict = WEIR_ALLOWED;
    result.wait = (uint64_t)plan.wait;
    if (n == 0 || !record)
        return result;
    if (r != NULL)
        *r = (struct window_reservation){.n = n,
                                         .instant = (uint64_t)(clamp_now(now) + plan.wait),
                                         .before = *key,
                                         .after = plan.next};
    if (l->kind == WEIR_FIXED_WINDOW && plan.wait > l->longest)
        l->longest = plan.wait;
    *key = plan.next;
    describe(l, key, t, &result);
    return result;
}

static bool same_state(const struct window_key *a, const struct window_key *b)
{
    return a->used == b->used && a->ahead == b->ahead && a->position == b->position &&
           a->count == b->count && a->previous == b->previous;
}

static uint64_t lower(uint64_t *count, uint64_t n)
{
    uint64_t given = less_of(*count, n);

    *count -= given;
    return given;
}

uint64_t window_cancel(const struct window_limit *l, struct window_key *key,
                       struct window_reservation *r, uint64_t now)
{
    uint64_t n = r->n;

    if (n != 0)
        (void)instant_of(l, now, true); /* the call looks at the clock */
    r->n = 0;
    if (n == 0 || !key->used || clamp_now(now) > (model_int)r->instant)
        return 0;
    if (same_state(key, &r->after)) {
        *key = r->before;
        return n;
    }
    if (!r->after.used)
        return 0;
    if (key->position == r->after.position)
        return lower(&key->count, n);
    if (l->kind == WEIR_SLIDING_WINDOW && key->position == r->after.position + 1)
        return lower(&key->previous, n);
    return 0;
}

uint64_t window_refund(const struct window_limit *l, struct window_key *key, uint64_t n,
                       uint64_t now)
{
    model_int t = instant_of(l, now, true);

    if (records_nothing(l) || !key->used)
        return 0;
    if (l->kind == WEIR_FIXED_WINDOW && stage_at(l, key, t) != ACTIVE)
        return 0;
    if (l->kind == WEIR_SLIDING_WINDOW && key->position != window_at(l, t))
        return 0;
    return lower(&key->count, n);
}

uint64_t window_take(struct window_limit *l, struct window_key *key, uint64_t max, uint64_t now)
{
    struct weir_result result;
    uint64_t n;

    if (records_nothing(l))
        return max;
    describe(l, key, instant_of(l, now, true), &result);
    n = less_of(max, result.remaining);
    if (n > 0)
        (void)window_step(l, key, n, now, 0, true, NULL);
    return n;
}

uint64_t window_charge(const struct window_limit *l, struct window_key *key, uint64_t n,
                       uint64_t now)
{
    model_int t = instant_of(l, now, true);
    struct window_key next = *key;
    uint64_t room, charged;

    if (records_nothing(l))
        return n;
    if (l->kind == WEIR_CONCURRENCY) {
        next.used = true;
        room = (uint64_t)l->count_max - next.count;
    } else if (l->kind == WEIR_SLIDING_WINDOW) {
        struct view v = view_at(l, key, t);

        next = key_of(v.k, v.previous, v.current);
        room = left_of(l, next.count);
    } else {
        if (stage_at(l, key, t) == ENDED)
            next = fresh_window(l, key, t, 0);
        next.ahead = stage_at(l, key, t) == AHEAD;
        room = left_of(l, next.count);
    }
    charged = less_of(n, room);
    next.count += charged;
    if (charged > 0)
        *key = next;
    return charged;
}

void window_set_balance(const struct window_limit *l, struct window_key *key, uint64_t tokens,
                        uint64_t now)
{
    model_int t = instant_of(l, now, true);
    uint64_t count = l->limit - less_of(tokens, l->limit);

    if (records_nothing(l))
        return;
    if (l->kind == WEIR_CONCURRENCY) {
        /* Of any number of permits none are in use when all are left. */
        *key = (struct window_key){.used = true, .count = l->unlimited ? 0 : count};
    } else if (l->kind == WEIR_SLIDING_WINDOW) {
        *key = key_of(window_at(l, t), 0, (model_int)count);
    } else if (stage_at(l, key, t) == ACTIVE) {
        key->ahead = false;
        key->count = count;
    } else {
        *key = fresh_window(l, key, t, count);
    }
}

void window_forget(struct window_key *key)
{
    *key = (struct window_key){0};
}

/* ---- settings that change ----------------------------------------------------------------- */

/* Whether both have the same windows. */
static bool same_windows(const struct window_limit *a, const struct window_limit *b)
{
    if (a->form != b->form || from_first_hit(a))
        return false;
    if (on_calendar(a))
        return a->zone == b->zone && a->calendar == b->calendar;
    return a->period == b->period && (a->offset - b->offset) % a->period == 0;
}

/* An instant of windows of one form as those of another tell it. */
static model_int retold(const struct window_limit *from, model_int t, const struct window_limit *to)
{
    return t - (window_on_wall(from) ? from->wall : 0) + (window_on_wall(to) ? to->wall : 0);
}

static void change_fixed(const struct window_limit *from, struct window_key *key,
                         const struct window_limit *to, uint64_t now)
{
    model_int t = unix_or_now(from, now), start;
    enum stage stage = stage_of(from, key, t);

    if (stage == ENDED) {
        window_forget(key);
        return;
    }
    key->count = less_of(key->count, (uint64_t)to->count_max);
    key->ahead = stage == AHEAD;
    t = unix_or_now(to, now);
    start = retold(from, window_start(from, key->position), to);
    if (same_windows(from, to)) {
        key->position = window_at(to, start);
        return;
    }
    key->position = window_at(to, stage == AHEAD || from_first_hit(to) ? start : t);
    if (!from_first_hit(to) && key->position <= window_at(to, t))
        key->ahead = false; /* it has begun */
    if (from_first_hit(to) && start + to->period <= t)
        window_forget(key);
}

static void change_sliding(const struct window_limit *from, struct window_key *key,
                           const struct window_limit *to, uint64_t now)
{
    model_int t = clamp_now(now), estimate;
    struct view v = view_at(from, key, t);

    estimate = v.current + ceil_div(v.previous * (from->period - v.e), from->period);
    if (estimate == 0)
        window_forget(key);
    else if (from->period == to->period)
        *key = key_of(v.k, v.previous, v.current);
    else
        *key = key_of(window_at(to, t), 0, estimate);
    key->count = less_of(key->count, (uint64_t)to->count_max);
    key->previous = less_of(key->previous, (uint64_t)to->count_max);
}

void window_change(const struct window_limit *from, struct window_key *key,
                   const struct window_limit *to, uint64_t now)
{
    if (from->kind != to->kind || records_nothing(from) || records_nothing(to))
        window_forget(key);
    else if (!key->used || from->kind == WEIR_CONCURRENCY)
        return;
    else if (from->kind == WEIR_SLIDING_WINDOW)
        change_sliding(from, key, to, now);
    else
        change_fixed(from, key, to, now);
}

void window_change_reservation(const struct window_limit *from, struct window_reservation *r,
                               const struct window_limit *to, uint64_t now)
{
    if (from->kind != to->kind || records_nothing(from) || records_nothing(to))
        r->n = 0;
    window_change(from, &r->before, to, now);
    window_change(from, &r->after, to, now);
}

/* ---- settings ----------------------------------------------------------------------------- */

#define COUNT_MAX  (((uint64_t)1 << 24) - 1)
#define PERIOD_MAX (366 * WEIR_DAY)

static uint64_t any_limit(struct test_random *random)
{
    static const uint64_t usual[] = {0, 1, 2, 3, 5, 10, 100, 127, 128, 1000, COUNT_MAX};

    if (random_below(random, 2) == 0)
        return usual[random_below(random, sizeof usual / sizeof usual[0])];
    return random_below(random, 64) == 0 ? WEIR_UNLIMITED : random_magnitude(random, 24);
}

static weir_ns any_period(struct test_random *random)
{
    static const weir_ns usual[] = {WEIR_MILLISECOND, WEIR_MILLISECOND + 1, WEIR_SECOND,
                                    10 * WEIR_SECOND, WEIR_MINUTE,          WEIR_HOUR,
                                    WEIR_DAY,         7 * WEIR_DAY,         PERIOD_MAX,
                                    WEIR_SECOND - 1};
    weir_ns period;

    if (random_below(random, 2) == 0)
        return usual[random_below(random, sizeof usual / sizeof usual[0])];
    period = WEIR_MILLISECOND + random_magnitude(random, 55);
    return period > PERIOD_MAX ? PERIOD_MAX : period;
}

static struct weir_policy any_aligned(struct test_random *random)
{
    static const int64_t usual[] = {0, 28800, -86400, 86400, 19800, -1};
    int64_t offset = usual[random_below(random, sizeof usual / sizeof usual[0])];

    if (random_below(random, 2) == 0)
        offset = (int64_t)random_below(random, 172801) - 86400;
    return weir_aligned_window(any_limit(random), any_period(random), offset);
}

static struct weir_policy any_calendar(struct test_random *random)
{
    static const char *const zones[] = {NULL, "UTC", "Asia/Kuala_Lumpur", "America/New_York"};

    return weir_calendar_window(any_limit(random),
                                (enum weir_calendar)(1 + random_below(random, 3)),
                                zones[random_below(random, 4)]);
}

static struct weir_policy any_permits(struct test_random *random)
{
    uint64_t most = (uint64_t)1 << 48, limit = random_magnitude(random, 49);

    if (random_below(random, 8) == 0)
        return weir_concurrency(WEIR_UNLIMITED);
    if (random_below(random, 2) == 0)
        limit = random_below(random, 20);
    return weir_concurrency(limit > most ? most : limit);
}

struct weir_policy window_any_policy(enum window_algorithm algorithm, struct test_random *random)
{
    if (algorithm == WINDOW_FIRST_HIT)
        return weir_fixed_window(any_limit(random), any_period(random));
    if (algorithm == WINDOW_ALIGNED)
        return any_aligned(random);
    if (algorithm == WINDOW_CALENDAR)
        return any_calendar(random);
    if (algorithm == WINDOW_PERMITS)
        return any_permits(random);
    if (random_below(random, 4) == 0)
        return random_below(random, 2) == 0 ? weir_sliding_window(131071, WEIR_SECOND)
                                            : weir_sliding_window(1048575, WEIR_MINUTE);
    return weir_sliding_window(any_limit(random), any_period(random));
}
