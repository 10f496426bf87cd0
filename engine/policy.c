/* SPDX-License-Identifier: MIT */
/*
 * Policies: the constructors, and the check that makes one ready for use.
 */
#include "export.h"

#include "policy.h"

#include "algorithm/algorithm.h"

#include <string.h>

/* A policy of these and nothing else; of an unlimited one only the kind matters. */
static struct weir_policy made(enum weir_kind kind, enum weir_form form, uint64_t limit,
                               weir_ns period)
{
    struct weir_policy policy;
    memset(&policy, 0, sizeof policy);
    policy.kind = kind;
    policy.limit = limit;
    if (limit != WEIR_UNLIMITED) {
        policy.form = form;
        policy.period = period;
    }
    return policy;
}

static struct weir_policy bucket(enum weir_form form, uint64_t limit, weir_ns period,
                                 uint64_t burst)
{
    struct weir_policy policy = made(WEIR_TOKEN_BUCKET, form, limit, period);
    if (limit != WEIR_UNLIMITED)
        policy.burst = burst;
    return policy;
}

struct weir_policy weir_token_bucket(uint64_t limit, weir_ns period, uint64_t burst)
{
    return bucket(WEIR_FORM_PLAIN, limit, period, burst);
}

struct weir_policy weir_pacer(uint64_t limit, weir_ns period, uint64_t slack)
{
    return bucket(WEIR_FORM_PACER, limit, period, slack == UINT64_MAX ? slack : slack + 1);
}

struct weir_policy weir_refill_bucket(uint64_t limit, weir_ns period, weir_ns tick)
{
    struct weir_policy policy = bucket(WEIR_FORM_PLAIN, limit, period, limit);
    if (limit != WEIR_UNLIMITED)
        policy.tick = tick;
    return policy;
}

struct weir_policy weir_fixed_window(uint64_t limit, weir_ns period)
{
    return made(WEIR_FIXED_WINDOW, WEIR_FORM_PLAIN, limit, period);
}

struct weir_policy weir_aligned_window(uint64_t limit, weir_ns period, int64_t utc_offset_s)
{
    struct weir_policy policy = made(WEIR_FIXED_WINDOW, WEIR_FORM_ALIGNED, limit, period);
    if (limit != WEIR_UNLIMITED)
        policy.utc_offset_s = utc_offset_s;
    return policy;
}

struct weir_policy weir_calendar_window(uint64_t limit, enum weir_calendar unit, const char *zone)
{
    struct weir_policy policy = made(WEIR_FIXED_WINDOW, WEIR_FORM_CALENDAR, limit, 0);
    if (limit == WEIR_UNLIMITED)
        return policy;
    const char *name = zone != NULL ? zone : "UTC";
    size_t length = strnlen(name, sizeof policy.zone);
    policy.calendar = (uint32_t)unit;
    /* a longer one leaves no NUL, which makes it invalid instead of another name */
    memcpy(policy.zone, name, length);
    return policy;
}

struct weir_policy weir_sliding_window(uint64_t limit, weir_ns period)
{
    return made(WEIR_SLIDING_WINDOW, WEIR_FORM_PLAIN, limit, period);
}

struct weir_policy weir_concurrency(uint64_t limit)
{
    return made(WEIR_CONCURRENCY, WEIR_FORM_PLAIN, limit, 0);
}

/* ---- what has a meaning ------------------------------------------------------------------ */

static bool is_zone_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '+' || byte == '-' ||
           byte == '.' || byte == '/';
}

size_t weir_policy_zone_fault(const char *name, size_t size)
{
    size_t part = 0; /* where the component begins */
    for (size_t i = 0; i < size && i < WEIR_ZONE_MAX; i++) {
        if (!is_zone_byte(name[i]) || (i == 0 && name[i] == '/'))
            return i;
        bool ends = i + 1 == size || name[i + 1] == '/';
        if (ends && i - part == 1 && name[part] == '.' && name[i] == '.')
            return part;
        if (name[i] == '/')
            part = i + 1;
    }
    return size < WEIR_ZONE_MAX ? size : WEIR_ZONE_MAX;
}

static bool zone_is_valid(const char zone[WEIR_ZONE_MAX + 1])
{
    size_t size = strnlen(zone, WEIR_ZONE_MAX + 1);
    for (size_t i = size; i <= WEIR_ZONE_MAX; i++) {
        if (zone[i] != '\0')
            return false;
    }
    return size > 0 && weir_policy_zone_fault(zone, size) == size;
}

/* The fields that only one form of fixed windows has. */
static bool zone_and_offset_are_valid(const struct weir_policy *policy)
{
    bool aligned = policy->kind == WEIR_FIXED_WINDOW && policy->form == WEIR_FORM_ALIGNED;
    bool calendar = policy->kind == WEIR_FIXED_WINDOW && policy->form == WEIR_FORM_CALENDAR;
    const int64_t day_s = (int64_t)(WEIR_DAY / WEIR_SECOND);
    if (aligned ? policy->utc_offset_s < -day_s || policy->utc_offset_s > day_s
                : policy->utc_offset_s != 0)
        return false;
    if (calendar)
        return policy->calendar >= WEIR_CALENDAR_DAY && policy->calendar <= WEIR_CALENDAR_MONTH &&
               zone_is_valid(policy->zone);
    for (size_t i = 0; i < sizeof policy->zone; i++) {
        if (policy->zone[i] != '\0')
            return false;
    }
    return policy->calendar == 0;
}

static bool form_exists(const struct weir_policy *policy)
{
    switch (policy->kind) {
    case WEIR_TOKEN_BUCKET:
        return policy->form == WEIR_FORM_PLAIN || policy->form == WEIR_FORM_PACER;
    case WEIR_FIXED_WINDOW:
        return policy->form == WEIR_FORM_PLAIN || policy->form == WEIR_FORM_ALIGNED ||
               policy->form == WEIR_FORM_CALENDAR;
    case WEIR_SLIDING_WINDOW:
    case WEIR_CONCURRENCY:
        return policy->form == WEIR_FORM_PLAIN;
    default:
        return false;
    }
}

bool weir_policy_is_valid(const struct weir_policy *policy)
{
    if (!form_exists(policy) || policy->reserved_word != 0)
        return false;
    for (size_t i = 0; i < sizeof policy->reserved / sizeof policy->reserved[0]; i++) {
        if (policy->reserved[i] != 0)
            return false;
    }
    bool permits = policy->kind == WEIR_CONCURRENCY;
    if (policy->limit == WEIR_UNLIMITED && !permits)
        return true;
    if (!zone_and_offset_are_valid(policy))
        return false;
    bool paced = policy->form == WEIR_FORM_PACER;
    if (policy->kind == WEIR_TOKEN_BUCKET)
        return policy->period != 0 && !(paced && (policy->burst == 0 || policy->tick != 0));
    bool timeless = permits || policy->form == WEIR_FORM_CALENDAR;
    return policy->burst == 0 && policy->tick == 0 && (policy->period == 0) == timeless;
}

bool weir_policy_is_equal(const struct weir_policy *a, const struct weir_policy *b)
{
    if (a->kind != b->kind || a->limit != b->limit)
        return false;
    if (a->limit == WEIR_UNLIMITED)
        return true;
    return a->form == b->form && a->period == b->period && a->burst == b->burst &&
           a->tick == b->tick && a->utc_offset_s == b->utc_offset_s && a->calendar == b->calendar &&
           memcmp(a->zone, b->zone, sizeof a->zone) == 0;
}

int weir_policy_prepare(struct weir_meter *m, const struct weir_policy *policy,
                        const struct weir_room *room)
{
    if (!weir_policy_is_valid(policy))
        return -EINVAL;
    memset(m, 0, sizeof *m);
    m->policy = *policy;
    m->kind = (uint8_t)policy->kind;
    m->form = (uint8_t)policy->form;
    if (policy->limit == WEIR_UNLIMITED && policy->kind != WEIR_CONCURRENCY) {
        m->unlimited = 1;
        m->form = WEIR_FORM_PLAIN; /* no zone is looked for, and none is looked at */
        m->grains = m->token = 1;
        m->span = ((uint64_t)1 << room->payload_bits) - 1;
        m->elapsed_max = UINT64_MAX;
        return 0;
    }
    return weir_algorithm_prepare(m, room);
}
