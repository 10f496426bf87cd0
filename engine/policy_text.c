/* SPDX-License-Identifier: MIT */
/*
 * The text form of policies: parsed with the position of an error, formatted so that parsing
 * gives the same policy back.
 *
 *   policy   := "unlimited" | permits | COUNT "/" SPAN [ bucket | window ] | COUNT "/" calendar
 *   permits  := "concurrency" ( COUNT | "unlimited" )
 *   bucket   := burst | pace | refill
 *   burst    := "burst" COUNT
 *   pace     := "pace" [ "slack" COUNT ]
 *   refill   := "refill" SPAN [ burst ]
 *   window   := "window" | "sliding" | "aligned" [ OFFSET ]
 *   calendar := ( "day" | "week" | "month" ) "zone" NAME
 *   SPAN     := [ DIGITS [ "." DIGITS ] ] UNIT        a whole number of nanoseconds, at least 1
 *   UNIT     := "ns" | "us" | "ms" | "s" | "min" | "h" | "day"
 *   OFFSET   := "Z" | ( "+" | "-" ) HH ":" MM [ ":" SS ]                          at most 24:00
 *   NAME     := 1 to 47 of A-Z a-z 0-9 _ + - . / after a blank, no leading "/", no component ".."
 */
#include "export.h"

#include "algorithm/scale.h"
#include "policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* More decimals than this cannot make a whole number of ns of any unit (a day has 5^11 * 2^16). */
#define DECIMALS_MAX 16

static const struct unit {
    const char *name;
    weir_ns ns;
} units[] = {
    {"day", WEIR_DAY},        {"h", WEIR_HOUR},         {"min", WEIR_MINUTE},    {"s", WEIR_SECOND},
    {"ms", WEIR_MILLISECOND}, {"us", WEIR_MICROSECOND}, {"ns", WEIR_NANOSECOND},
};

#define UNITS (sizeof units / sizeof units[0])

static const char *const calendar_units[] = {
    [WEIR_CALENDAR_DAY] = "day", [WEIR_CALENDAR_WEEK] = "week", [WEIR_CALENDAR_MONTH] = "month"};

#define MINUTE_S 60
#define HOUR_S   (60 * MINUTE_S)
#define DAY_S    (24 * HOUR_S)

/* Where parsing stands. The first fault stays: its position and its kind. */
struct cursor {
    const char *text;
    size_t at;
    size_t fault_at;
    int error;
};

static bool fail(struct cursor *c, size_t at, int error)
{
    if (c->error == 0) {
        c->error = error;
        c->fault_at = at;
    }
    return false;
}

static void skip_blanks(struct cursor *c)
{
    c->at += strspn(c->text + c->at, " \t");
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t word_length(const char *text)
{
    size_t length = 0;
    while ((text[length] >= 'a' && text[length] <= 'z') ||
           (text[length] >= 'A' && text[length] <= 'Z'))
        length++;
    return length;
}

static bool at_word(const struct cursor *c, const char *word)
{
    size_t length = word_length(c->text + c->at);
    return length == strlen(word) && memcmp(c->text + c->at, word, length) == 0;
}

/* Takes the word if it is next. */
static bool take_word(struct cursor *c, const char *word)
{
    skip_blanks(c);
    if (!at_word(c, word))
        return false;
    c->at += strlen(word);
    return true;
}

/* Digits, at least one; -ERANGE at their start when they are above `most`. */
static bool digits(struct cursor *c, uint64_t most, uint64_t *value)
{
    size_t start = c->at;
    if (!is_digit(c->text[start]))
        return fail(c, start, -EINVAL);
    *value = 0;
    for (; is_digit(c->text[c->at]); c->at++) {
        uint64_t digit = (uint64_t)(c->text[c->at] - '0');
        if (*value > (most - digit) / 10)
            return fail(c, start, -ERANGE);
        *value = *value * 10 + digit;
    }
    return true;
}

static bool count(struct cursor *c, uint64_t most, uint64_t *value)
{
    skip_blanks(c);
    return digits(c, most, value);
}

/* The digits after a point, without trailing zeros: value and how many. */
static bool decimals(struct cursor *c, uint64_t *value, unsigned *places)
{
    *value = 0;
    *places = 0;
    if (c->text[c->at] != '.')
        return true;
    size_t start = ++c->at;
    c->at += strspn(c->text + start, "0123456789");
    if (c->at == start)
        return fail(c, start, -EINVAL);
    size_t end = c->at;
    while (end > start && c->text[end - 1] == '0')
        end--;
    if (end - start > DECIMALS_MAX)
        return fail(c, start, -EINVAL);
    for (size_t i = start; i < end; i++)
        *value = *value * 10 + (uint64_t)(c->text[i] - '0');
    *places = (unsigned)(end - start);
    return true;
}

static const struct unit *take_unit(struct cursor *c)
{
    for (size_t i = 0; i < UNITS; i++) {
        if (take_word(c, units[i].name))
            return &units[i];
    }
    return NULL;
}

static bool span(struct cursor *c, weir_ns *value)
{
    uint64_t whole = 1;
    uint64_t part = 0;
    unsigned places = 0;
    skip_blanks(c);
    size_t start = c->at;
    if (is_digit(c->text[start])) {
        if (!digits(c, UINT64_MAX, &whole) || !decimals(c, &part, &places))
            return false;
    }
    const struct unit *unit = take_unit(c);
    if (unit == NULL)
        return fail(c, c->at, -EINVAL);

    weir_u128 scale = 1;
    for (unsigned i = 0; i < places; i++)
        scale *= 10;
    weir_u128 rest = (weir_u128)part * unit->ns;
    if (rest % scale != 0)
        return fail(c, start, -EINVAL);
    weir_u128 ns = (weir_u128)whole * unit->ns + rest / scale;
    if (ns > UINT64_MAX)
        return fail(c, start, -ERANGE);
    *value = (weir_ns)ns;
    return ns != 0 || fail(c, start, -EINVAL);
}

/* ---- windows and permits ---- */

/* Two digits below `below`. */
static bool two_digits(struct cursor *c, int below, int *value)
{
    *value = 0;
    for (int i = 0; i < 2; i++, c->at++) {
        if (!is_digit(c->text[c->at]))
            return fail(c, c->at, -EINVAL);
        *value = *value * 10 + (c->text[c->at] - '0');
    }
    return *value < below || fail(c, c->at - 2, -EINVAL);
}

/* An offset, if there is one; else 0. */
static bool offset(struct cursor *c, int64_t *seconds)
{
    int part[3] = {0}; /* hours, minutes, seconds */
    *seconds = 0;
    if (take_word(c, "Z"))
        return true;
    size_t start = c->at;
    if (c->text[start] != '+' && c->text[start] != '-')
        return true;
    c->at++;
    for (size_t i = 0; i < 3; i++) {
        if (i > 0 && c->text[c->at] != ':') {
            if (i == 1)
                return fail(c, c->at, -EINVAL);
            break;
        }
        c->at += i > 0;
        if (!two_digits(c, i == 0 ? 100 : 60, &part[i]))
            return false;
    }
    int64_t sum = part[0] * HOUR_S + part[1] * MINUTE_S + part[2];
    *seconds = c->text[start] == '-' ? -sum : sum;
    return sum <= DAY_S || fail(c, start, -EINVAL);
}

/* The unit of a calendar that is next, or 0; takes nothing. */
static uint32_t calendar_unit(struct cursor *c)
{
    skip_blanks(c);
    for (uint32_t i = WEIR_CALENDAR_DAY; i <= WEIR_CALENDAR_MONTH; i++) {
        if (at_word(c, calendar_units[i]))
            return i;
    }
    return 0;
}

/* What follows "zone". */
static bool calendar(struct cursor *c, uint32_t unit, struct weir_policy *policy)
{
    char name[WEIR_ZONE_MAX + 1] = {0};
    size_t behind = c->at;
    skip_blanks(c);
    size_t size = strcspn(c->text + c->at, " \t");
    if (c->at == behind || size == 0)
        return fail(c, c->at, -EINVAL);
    size_t fault = weir_policy_zone_fault(c->text + c->at, size);
    if (fault != size)
        return fail(c, c->at + fault, -EINVAL);
    memcpy(name, c->text + c->at, size);
    c->at += size;
    *policy = weir_calendar_window(policy->limit, (enum weir_calendar)unit, name);
    return true;
}

/* The windows that may follow COUNT "/" SPAN; *is_one false when none does. */
static bool window(struct cursor *c, struct weir_policy *policy, bool *is_one)
{
    int64_t east_s = 0;
    *is_one = true;
    if (take_word(c, "window")) {
        *policy = weir_fixed_window(policy->limit, policy->period);
    } else if (take_word(c, "sliding")) {
        *policy = weir_sliding_window(policy->limit, policy->period);
    } else if (take_word(c, "aligned")) {
        if (!offset(c, &east_s))
            return false;
        *policy = weir_aligned_window(policy->limit, policy->period, east_s);
    } else {
        *is_one = false;
    }
    return true;
}

static bool permits(struct cursor *c, struct weir_policy *policy)
{
    uint64_t limit = WEIR_UNLIMITED;
    if (!take_word(c, "unlimited") && !count(c, WEIR_UNLIMITED - 1, &limit))
        return false;
    *policy = weir_concurrency(limit);
    return true;
}

/* ---- a whole policy ---- */

/* What may follow COUNT "/" SPAN of a bucket. */
static bool bucket(struct cursor *c, struct weir_policy *policy)
{
    uint64_t slack = 0;
    policy->burst = policy->limit > 0 ? policy->limit : 1;
    if (take_word(c, "pace")) {
        if (take_word(c, "slack") && !count(c, UINT64_MAX - 1, &slack))
            return false;
        *policy = weir_pacer(policy->limit, policy->period, slack);
        return true;
    }
    if (take_word(c, "refill") && !span(c, &policy->tick))
        return false;
    return !take_word(c, "burst") || count(c, UINT64_MAX, &policy->burst);
}

/* A count per something. */
static bool rate(struct cursor *c, struct weir_policy *policy)
{
    uint64_t limit = 0;
    weir_ns period = 0;
    bool is_window;
    if (!count(c, WEIR_UNLIMITED - 1, &limit))
        return false;
    skip_blanks(c);
    if (c->text[c->at] != '/')
        return fail(c, c->at, -EINVAL);
    c->at++;
    *policy = weir_token_bucket(limit, 0, 0);
    uint32_t unit = calendar_unit(c);
    if (unit != 0) {
        size_t start = c->at;
        c->at += strlen(calendar_units[unit]);
        if (take_word(c, "zone"))
            return calendar(c, unit, policy);
        if (unit != WEIR_CALENDAR_DAY)
            return fail(c, c->at, -EINVAL);
        c->at = start; /* a span of 24 h */
    }
    if (!span(c, &period))
        return false;
    *policy = weir_token_bucket(limit, period, 0);
    return window(c, policy, &is_window) && (is_window || bucket(c, policy));
}

static bool policy_text(struct cursor *c, struct weir_policy *policy)
{
    if (take_word(c, "unlimited")) {
        *policy = weir_token_bucket(WEIR_UNLIMITED, 0, 0);
    } else if (take_word(c, "concurrency")) {
        if (!permits(c, policy))
            return false;
    } else if (!rate(c, policy)) {
        return false;
    }
    skip_blanks(c);
    return c->text[c->at] == '\0' || fail(c, c->at, -EINVAL);
}

int weir_policy_parse(struct weir_policy *out, const char *text, size_t *error_at)
{
    struct cursor c = {text, 0, 0, 0};
    struct weir_policy policy;
    if (out == NULL || text == NULL)
        c.error = -EINVAL;
    else if (policy_text(&c, &policy))
        *out = policy;
    if (c.error != 0 && error_at != NULL)
        *error_at = c.fault_at;
    return c.error;
}

/* ---- format ---- */

struct writer {
    char *buffer;
    size_t size;
    size_t length;
};

static void put(struct writer *w, const char *text)
{
    for (; *text != '\0'; text++, w->length++) {
        if (w->length + 1 < w->size)
            w->buffer[w->length] = *text;
    }
}

static void put_number(struct writer *w, uint64_t value)
{
    char digits_of[24];
    (void)snprintf(digits_of, sizeof digits_of, "%" PRIu64, value);
    put(w, digits_of);
}

static void put_span(struct writer *w, weir_ns ns)
{
    size_t i = 0;
    while (ns % units[i].ns != 0)
        i++;
    if (ns != units[i].ns)
        put_number(w, ns / units[i].ns);
    put(w, units[i].name);
}

static void put_bucket(struct writer *w, const struct weir_policy *policy)
{
    if (policy->form == WEIR_FORM_PACER) {
        put(w, " pace slack ");
        put_number(w, policy->burst - 1);
        return;
    }
    if (policy->tick != 0) {
        put(w, " refill ");
        put_span(w, policy->tick);
    }
    if (policy->burst != (policy->limit > 0 ? policy->limit : 1)) {
        put(w, " burst ");
        put_number(w, policy->burst);
    }
}

/* Nothing for UTC, else "+HH:MM" or "+HH:MM:SS". */
static void put_offset(struct writer *w, int64_t seconds)
{
    char text[16];
    int size = (int)(seconds < 0 ? -seconds : seconds);
    if (size == 0)
        return;
    (void)snprintf(text, sizeof text, " %c%02d:%02d", seconds < 0 ? '-' : '+', size / HOUR_S,
                   size / MINUTE_S % 60);
    put(w, text);
    if (size % MINUTE_S != 0) {
        (void)snprintf(text, sizeof text, ":%02d", size % MINUTE_S);
        put(w, text);
    }
}

static void put_window(struct writer *w, const struct weir_policy *policy)
{
    if (policy->kind == WEIR_SLIDING_WINDOW) {
        put(w, " sliding");
    } else if (policy->form == WEIR_FORM_ALIGNED) {
        put(w, " aligned");
        put_offset(w, policy->utc_offset_s);
    } else {
        put(w, " window");
    }
}

static void put_policy(struct writer *w, const struct weir_policy *policy)
{
    if (policy->kind == WEIR_CONCURRENCY)
        put(w, "concurrency ");
    if (policy->limit == WEIR_UNLIMITED) {
        put(w, "unlimited");
        return;
    }
    put_number(w, policy->limit);
    if (policy->kind == WEIR_CONCURRENCY)
        return;
    put(w, "/");
    if (policy->form == WEIR_FORM_CALENDAR) {
        put(w, calendar_units[policy->calendar]);
        put(w, " zone ");
        put(w, policy->zone);
        return;
    }
    put_span(w, policy->period);
    if (policy->kind == WEIR_TOKEN_BUCKET)
        put_bucket(w, policy);
    else
        put_window(w, policy);
}

int weir_policy_format(const struct weir_policy *policy, char *buffer, size_t size)
{
    struct writer w = {buffer, size, 0};
    if (policy == NULL || !weir_policy_is_valid(policy) || (buffer == NULL && size != 0))
        return -EINVAL;
    put_policy(&w, policy);
    if (size != 0)
        buffer[w.length < size ? w.length : size - 1] = '\0';
    return (int)w.length;
}
