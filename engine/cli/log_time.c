/* SPDX-License-Identifier: MIT */
/* Instants: common log format, RFC 3339 and counts since 1970, exact to 1 ns. */
#include "log_time.h"

#include "ascii.h"

#include <string.h>

#define SECONDS_PER_DAY 86400
#define NS_PER_SECOND   1000000000

static const char no_time[] = "not a time";
static const char no_date[] = "no such date";
static const char no_clock[] = "no such time of day";
static const char no_zone[] = "a time without a zone";
static const char too_early[] = "a time before 1970";
static const char too_late[] = "a time after 2262";

struct cursor {
    const char *at, *end;
};

/* As written, before it is checked. */
struct written {
    int year, month, day, hour, minute, second;
    int ns;
    int offset_min;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exactly `count` digits. */
static bool take_number(struct cursor *c, int count, int *out)
{
    int value = 0;
    if (c->end - c->at < count)
        return false;
    for (int i = 0; i < count; i++) {
        if (!is_digit(c->at[i]))
            return false;
        value = value * 10 + (c->at[i] - '0');
    }
    c->at += count;
    *out = value;
    return true;
}

static bool take_any(struct cursor *c, const char *bytes)
{
    if (c->at == c->end || *c->at == '\0' || strchr(bytes, *c->at) == NULL)
        return false;
    c->at++;
    return true;
}

static bool take_month_name(struct cursor *c, int *out)
{
    static const char names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    if (c->end - c->at < 3)
        return false;
    for (int i = 0; i < 12; i++) {
        if (ascii_same(c->at, names[i], 3)) {
            c->at += 3;
            *out = i + 1;
            return true;
        }
    }
    return false;
}

/* "10:05:03" with any fraction. */
static bool take_clock(struct cursor *c, struct written *w)
{
    if (!take_number(c, 2, &w->hour) || !take_any(c, ":") || !take_number(c, 2, &w->minute) ||
        !take_any(c, ":") || !take_number(c, 2, &w->second))
        return false;
    if (!take_any(c, ".,"))
        return true;
    if (c->at == c->end || !is_digit(*c->at))
        return false;
    for (int weight = NS_PER_SECOND / 10; c->at < c->end && is_digit(*c->at); c->at++) {
        w->ns += (*c->at - '0') * weight;
        weight /= 10;
    }
    return true;
}

/* The zone, which must be the end. */
static const char *take_zone(struct cursor *c, struct written *w)
{
    while (take_any(c, " "))
        ;
    if (c->at == c->end)
        return no_zone;
    if (take_any(c, "Zz"))
        return c->at == c->end ? NULL : no_time;
    if (c->end - c->at == 3 && (memcmp(c->at, "UTC", 3) == 0 || memcmp(c->at, "GMT", 3) == 0))
        return NULL;
    bool west = *c->at == '-';
    int hours, minutes;
    if (!take_any(c, "+-") || !take_number(c, 2, &hours))
        return no_zone;
    minutes = 0;
    if (c->at != c->end) {
        take_any(c, ":");
        if (!take_number(c, 2, &minutes) || c->at != c->end)
            return no_zone;
    }
    if (hours > 23 || minutes > 59)
        return "no such zone";
    w->offset_min = (west ? -1 : 1) * (hours * 60 + minutes);
    return NULL;
}

static int days_of_month(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

/* Days from 1970-01-01, proleptic Gregorian. A year begins in March, so that leap days end it. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

static const char *resolve(const struct written *w, struct log_time *out)
{
    if (w->month < 1 || w->month > 12 || w->day < 1 || w->day > days_of_month(w->year, w->month))
        return no_date;
    if (w->hour > 23 || w->minute > 59 || w->second > 60)
        return no_clock;
    int64_t seconds = days_since_1970(w->year, w->month, w->day) * SECONDS_PER_DAY +
                      (int64_t)w->hour * 3600 + (int64_t)(w->minute - w->offset_min) * 60 +
                      w->second;
    if (w->second == 60 && seconds % SECONDS_PER_DAY != 0)
        return no_clock;
    if (seconds < 0)
        return too_early;
    if (seconds > (INT64_MAX - w->ns) / NS_PER_SECOND)
        return too_late;
    out->unix_ns = seconds * NS_PER_SECOND + w->ns;
    out->offset_min = (int16_t)w->offset_min;
    return NULL;
}

static const char *read_clf(struct cursor c, struct log_time *out)
{
    struct written w = {0};
    if (!take_number(&c, 2, &w.day) || !take_any(&c, "/") || !take_month_name(&c, &w.month) ||
        !take_any(&c, "/") || !take_number(&c, 4, &w.year) || !take_any(&c, ":") ||
        !take_clock(&c, &w))
        return no_time;
    const char *why = take_zone(&c, &w);
    return why ? why : resolve(&w, out);
}

static const char *read_rfc3339(struct cursor c, struct log_time *out)
{
    struct written w = {0};
    if (!take_number(&c, 4, &w.year) || !take_any(&c, "-") || !take_number(&c, 2, &w.month) ||
        !take_any(&c, "-") || !take_number(&c, 2, &w.day))
        return no_time;
    if (c.at == c.end)
        return "a date without a time of day";
    if (!take_any(&c, "Tt ") || !take_clock(&c, &w))
        return no_time;
    const char *why = take_zone(&c, &w);
    return why ? why : resolve(&w, out);
}

/* Significant digits of a decimal number, its point after `point` of them. */
struct decimal {
    char digits[40]; /* more cannot matter: 19 before the point, 9 behind */
    int count;
    int point;
    bool negative;
};

static bool take_exponent(struct cursor *c, int *out)
{
    bool minus = c->at < c->end && *c->at == '-';
    take_any(c, "+-");
    if (c->at == c->end)
        return false;
    int value = 0;
    for (; c->at < c->end && is_digit(*c->at); c->at++) {
        if (value < 1000)
            value = value * 10 + (*c->at - '0');
    }
    *out = minus ? -value : value;
    return true;
}

static bool take_decimal(struct cursor *c, struct decimal *d)
{
    bool any = false, behind_point = false;
    int exponent = 0;
    d->negative = take_any(c, "-");
    for (; c->at < c->end; c->at++) {
        if (*c->at == '.' && !behind_point) {
            behind_point = true;
            continue;
        }
        if (!is_digit(*c->at))
            break;
        any = true;
        bool leading_zero = d->count == 0 && *c->at == '0';
        if (!leading_zero && d->count < (int)sizeof d->digits)
            d->digits[d->count++] = *c->at;
        if (!behind_point && !leading_zero && d->point < 1000)
            d->point++;
        if (behind_point && leading_zero && d->point > -1000)
            d->point--;
    }
    if (any && take_any(c, "eE") && !take_exponent(c, &exponent))
        return false;
    d->point += exponent;
    return any && c->at == c->end;
}

/* Seconds to 11 digits before the point, then ms to 14, us to 17, ns to 19. */
static const char *read_count(struct cursor c, struct log_time *out)
{
    struct decimal d = {.count = 0};
    if (!take_decimal(&c, &d))
        return no_time;
    if (d.negative && d.count > 0)
        return too_early;
    int scale = d.point <= 11 ? 9 : d.point <= 14 ? 6 : d.point <= 17 ? 3 : 0;
    if (d.count > 0 && d.point > 19)
        return too_late;
    uint64_t ns = 0;
    for (int i = 0; d.count > 0 && i < d.point + scale; i++) {
        unsigned digit = i < d.count ? (unsigned)(d.digits[i] - '0') : 0;
        if (ns > ((uint64_t)INT64_MAX - digit) / 10)
            return too_late;
        ns = ns * 10 + digit;
    }
    out->unix_ns = (int64_t)ns;
    out->offset_min = 0;
    return NULL;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

const char *log_time_read(const char *data, size_t size, struct log_time *out)
{
    struct cursor c = {data, data + size};
    while (c.at < c.end && (is_blank(*c.at) || *c.at == '['))
        c.at++;
    while (c.end > c.at && (is_blank(c.end[-1]) || c.end[-1] == ']'))
        c.end--;
    if (c.end - c.at > 2 && c.at[2] == '/')
        return read_clf(c, out);
    if (c.end - c.at > 4 && c.at[4] == '-')
        return read_rfc3339(c, out);
    return read_count(c, out);
}

/* ---- writing ----------------------------------------------------------------------------- */

struct calendar {
    int year, month, day, hour, minute, second, ns;
};

/* The civil date of an instant in its own zone; a year begins in March, as above. */
static struct calendar calendar_of(const struct log_time *time)
{
    int64_t seconds = time->unix_ns / NS_PER_SECOND + (int64_t)time->offset_min * 60;
    int64_t second_of_day = ((seconds % 86400) + 86400) % 86400;
    int64_t days = (seconds - second_of_day) / 86400 + 719468;
    int64_t era = days / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct calendar c = {
        .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .hour = (int)(second_of_day / 3600),
        .minute = (int)(second_of_day / 60 % 60),
        .second = (int)(second_of_day % 60),
        .ns = (int)(time->unix_ns % NS_PER_SECOND),
    };
    c.year = (int)(era * 400 + year_of_era + (c.month <= 2));
    return c;
}

static void put_offset(struct text *t, int offset_min)
{
    int size = offset_min < 0 ? -offset_min : offset_min;
    text_print(t, "%c%02d:%02d", offset_min < 0 ? '-' : '+', size / 60, size % 60);
}

static void put_date(struct text *t, const struct calendar *c)
{
    text_print(t, "%04d-%02d-%02d", c->year, c->month, c->day);
}

static void put_clock(struct text *t, const struct calendar *c)
{
    text_print(t, "%02d:%02d:%02d", c->hour, c->minute, c->second);
}

void log_time_put_rfc3339(struct text *t, const struct log_time *time)
{
    struct calendar c = calendar_of(time);
    put_date(t, &c);
    text_put(t, "T", 1);
    put_clock(t, &c);
    if (c.ns != 0) {
        text_print(t, ".%09d", c.ns);
        while (t->data[t->size - 1] == '0')
            t->data[--t->size] = '\0';
    }
    if (time->offset_min == 0)
        text_put(t, "Z", 1);
    else
        put_offset(t, time->offset_min);
}

void log_time_put(struct text *t, const struct log_time *time, unsigned parts)
{
    struct calendar c = calendar_of(time);
    if (parts & LOG_TIME_DATE) {
        put_date(t, &c);
        text_put(t, " ", 1);
    }
    put_clock(t, &c);
    if (parts & LOG_TIME_ZONE) {
        text_put(t, " ", 1);
        put_offset(t, time->offset_min);
    }
}

bool log_time_same_day(const struct log_time *a, const struct log_time *b)
{
    struct calendar of_a = calendar_of(a), of_b = calendar_of(b);
    return a->offset_min == b->offset_min && of_a.year == of_b.year && of_a.month == of_b.month &&
           of_a.day == of_b.day;
}
