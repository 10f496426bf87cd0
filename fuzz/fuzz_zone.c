/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the bytes of a zone's file, or the text of a rule. What is accepted tiles time:
 * start <= t < end, and each window ends where the next one begins; what is not is refused.
 *
 * The first byte chooses:
 *   0  a TZif file of the bytes that follow
 *   1  a rule of that text, as the environment's TZ has it
 *   2  a file that is made of them: its changes and its rule are known, and so is each offset
 *
 * The number of a window is that of the highest local time that was ever reached, found by going
 * through all stretches.
 */
#include "zone.h"
#include "zone_calendar.h"
#include "zone_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DAY         WEIR_ZONE_DAY_S
#define INSTANT_MAX WEIR_ZONE_INSTANT_MAX
#define CHANGES_MAX 48
#define TYPES       6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define check(holds) check_at(holds, __LINE__)
static void check_at(bool holds, int line)
{
    if (holds)
        return;
    fprintf(stderr, "line %d, not so\n", line);
    abort();
}

/* What only checks is no news to the fuzzer. */
#ifdef __clang__
#define UNTRACED __attribute__((no_sanitize("coverage")))
#else
#define UNTRACED
#endif

UNTRACED static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* ---- a calendar that counts --------------------------------------------------------------- */

UNTRACED static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

UNTRACED static int64_t days_of_month(int64_t year, int64_t month)
{
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 1 && is_leap(year) ? 29 : days[month];
}

/* The day with which a year begins: days and weekdays repeat after 400 years. */
UNTRACED static int64_t january_of(int64_t year)
{
    static int64_t days[401];
    int64_t cycle = floor_div(year - 1970, 400);

    for (int64_t y = 0; y < 400 && days[400] == 0; y++)
        days[y + 1] = days[y] + 365 + is_leap(1970 + y);
    return cycle * days[400] + days[year - 1970 - 400 * cycle];
}

UNTRACED static int64_t year_of(int64_t day)
{
    int64_t year = 1970 + floor_div(day, 366);

    while (january_of(year + 1) <= day)
        year++;
    while (january_of(year) > day)
        year--;
    return year;
}

UNTRACED static int64_t number_of(enum weir_calendar unit, int64_t local)
{
    int64_t day = floor_div(local, DAY), year = year_of(day), month = (year - 1970) * 12;

    if (unit == WEIR_CALENDAR_DAY)
        return day;
    if (unit == WEIR_CALENDAR_WEEK) /* 1970 began on a Thursday */
        return floor_div(day + 3, 7);
    day -= january_of(year);
    for (int64_t m = 0; day >= days_of_month(year, m); m++, month++)
        day -= days_of_month(year, m);
    return month;
}

/* ---- files that are made ------------------------------------------------------------------- */

/* Mm.w.d, Jn or n, and a time of that day. */
struct yearly {
    int kind;
    int64_t a, b, c, time;
};

/* What a made file says. */
struct made {
    size_t count;
    int64_t at[CHANGES_MAX];
    size_t type_of[CHANGES_MAX];
    int64_t offset[TYPES];
    bool has_rule, has_summer;
    bool damaged; /* it is no zone */
    int64_t standard, summer;
    struct yearly begins, ends;
    char footer[128];
};

UNTRACED static int64_t yearly_at(const struct yearly *y, int64_t year)
{
    int64_t day = january_of(year), counted = 0, found = 0;

    if (y->kind == 0) { /* n: from 0, leap days counted */
        found = day + y->a;
    } else if (y->kind == 1) { /* Jn: from 1, leap days left out */
        for (int64_t i = 0; counted < y->a; i++)
            if (!(is_leap(year) && i == 59)) {
                counted++;
                found = day + i;
            }
    } else {
        for (int64_t m = 0; m < y->a - 1; m++)
            day += days_of_month(year, m);
        for (int64_t i = 0; i < days_of_month(year, y->a - 1); i++)
            if (floor_div(day + i + 4, 7) * 7 + y->c == day + i + 4 && counted < y->b) {
                counted++; /* week 5 is the last one */
                found = day + i;
            }
    }
    return found * DAY + y->time;
}

/* By the rule alone: the last of its changes, of two at one instant that to summer time. */
UNTRACED static int64_t rule_offset(const struct made *m, int64_t t)
{
    int64_t year = year_of(floor_div(t, DAY)), last = INT64_MIN, offset = m->standard;

    for (int64_t y = year - 2; m->has_summer && y <= year + 2; y++) {
        int64_t ends = yearly_at(&m->ends, y) - m->summer;
        int64_t begins = yearly_at(&m->begins, y) - m->standard;

        if (ends <= t && ends > last) {
            last = ends;
            offset = m->standard;
        }
        if (begins <= t && begins >= last) {
            last = begins;
            offset = m->summer;
        }
    }
    return offset;
}

static bool offset_is_known(const struct made *m, int64_t t)
{
    return !m->has_rule ||
           (m->count != 0 ? t < m->at[m->count - 1] || t > -INSTANT_MAX / 10 : t >= 0);
}

static int64_t made_offset(const struct made *m, int64_t t)
{
    size_t i = m->count;

    if (m->has_rule && (m->count == 0 || t >= m->at[m->count - 1]))
        return rule_offset(m, t);
    while (i > 0 && m->at[i - 1] > t)
        i--;
    return m->offset[i == 0 ? 0 : m->type_of[i - 1]];
}

/* ---- bytes --------------------------------------------------------------------------------- */

struct bytes {
    const uint8_t *at;
    size_t left;
};

static unsigned take(struct bytes *b)
{
    if (b->left == 0)
        return 0;
    b->left--;
    return *b->at++;
}

static int64_t take_16(struct bytes *b)
{
    unsigned high = take(b);

    return (int64_t)(high << 8 | take(b));
}

static void make_yearly(struct bytes *b, struct yearly *y)
{
    int64_t any = take_16(b);

    y->kind = (int)(take(b) % 4);
    y->time = take_16(b) % 168 * 3600 + (take(b) % 4 == 0 ? take_16(b) % 3600 : 0);
    if (y->kind == 3) /* weekdays are what rules have */
        y->kind = 2;
    if (take(b) % 8 == 0)
        y->time = -y->time;
    y->a = y->kind == 0 ? any % 366 : y->kind == 1 ? 1 + any % 365 : 1 + any % 12;
    y->b = 1 + any / 12 % 5;
    y->c = any / 60 % 7;
}

static int put_time(char *to, size_t room, int64_t seconds)
{
    int64_t s = seconds < 0 ? -seconds : seconds;

    return snprintf(to, room, "%s%d:%02d:%02d", seconds < 0 ? "-" : "", (int)(s / 3600),
                    (int)(s / 60 % 60), (int)(s % 60));
}

static void put_yearly(char *to, size_t room, const struct yearly *y)
{
    int length;

    if (y->kind == 2)
        length = snprintf(to, room, ",M%d.%d.%d/", (int)y->a, (int)y->b, (int)y->c);
    else
        length = snprintf(to, room, y->kind == 1 ? ",J%d/" : ",%d/", (int)y->a);
    put_time(to + length, room - (size_t)length, y->time);
}

static void make_rule(struct bytes *b, struct made *m)
{
    size_t length;

    m->has_rule = take(b) % 4 != 0;
    m->has_summer = take(b) % 4 != 0;
    m->standard = take_16(b) % 97 * 900 - 43200;
    m->summer = m->standard + (take(b) % 4 == 0 ? (int64_t)take(b) * 60 - 7680 : 3600);
    make_yearly(b, &m->begins);
    make_yearly(b, &m->ends);
    m->footer[0] = '\0';
    if (!m->has_rule)
        return;
    length = (size_t)snprintf(m->footer, sizeof m->footer, "<+ab>");
    length += (size_t)put_time(m->footer + length, sizeof m->footer - length, -m->standard);
    if (!m->has_summer)
        return;
    length += (size_t)snprintf(m->footer + length, sizeof m->footer - length, "SUM");
    length += (size_t)put_time(m->footer + length, sizeof m->footer - length, -m->summer);
    put_yearly(m->footer + length, sizeof m->footer - length, &m->begins);
    length = strlen(m->footer);
    put_yearly(m->footer + length, sizeof m->footer - length, &m->ends);
}

static void make_changes(struct bytes *b, struct made *m, bool narrow)
{
    int64_t at = narrow ? -2000000000 : -4000000000 + take_16(b) * 100000;

    for (size_t i = 0; i < TYPES; i++)
        m->offset[i] = take_16(b) % 184 * 900 - 72000 + (int64_t)take(b) % 4;
    m->count = take(b) % (CHANGES_MAX + 1);
    for (size_t i = 0; i < m->count; i++) {
        at += 1 + take_16(b) * (1 + (int64_t)take(b) * (narrow ? 1 : 50));
        if (narrow && at > INT32_MAX)
            m->count = i;
        else if (m->count > i) {
            m->at[i] = at;
            m->type_of[i] = take(b) % TYPES;
        }
    }
}

struct file {
    size_t size;
    uint8_t bytes[4096];
};

static void put(struct file *f, uint64_t value, unsigned bytes)
{
    for (unsigned i = bytes; i-- > 0;)
        f->bytes[f->size++] = (uint8_t)(value >> (8 * i));
}

static void put_block(struct file *f, const struct made *m, unsigned version, size_t count,
                      unsigned bytes)
{
    put(f, 0x545a6966, 4); /* TZif */
    put(f, version, 1);
    for (unsigned i = 0; i < 3; i++)
        put(f, 0, 5);
    put(f, 0, 8); /* isutcnt, isstdcnt */
    put(f, 0, 4); /* leapcnt */
    put(f, count, 4);
    put(f, TYPES, 4);
    put(f, 4, 4); /* charcnt */
    for (size_t i = 0; i < count; i++)
        put(f, (uint64_t)m->at[i], bytes);
    for (size_t i = 0; i < count; i++)
        put(f, m->type_of[i], 1);
    for (size_t i = 0; i < TYPES; i++) {
        put(f, (uint64_t)m->offset[i], 4);
        put(f, 0, 2);
    }
    put(f, 0x41424300, 4); /* ABC */
}

/* Two changes at one instant, a type or an offset that there is not, a rule and more. */
static bool damage(struct bytes *b, struct made *m, unsigned version)
{
    switch (take(b) % 32) {
    case 1:
        if (m->count < 2)
            return false;
        m->at[1] = m->at[0];
        return true;
    case 2:
        if (m->count < 1)
            return false;
        m->type_of[0] = TYPES;
        return true;
    case 3:
        m->offset[TYPES - 1] = 93600;
        return true;
    case 4:
        if (version == 0 || !m->has_rule)
            return false;
        m->footer[strlen(m->footer) - 1] = '/';
        return true;
    default:
        return false;
    }
}

static void make(struct bytes *b, struct made *m, struct file *f)
{
    static const unsigned versions[] = {'2', '3', '4', 0};
    unsigned version = versions[take(b) % 4];

    make_rule(b, m);
    make_changes(b, m, version == 0);
    m->damaged = damage(b, m, version);
    f->size = 0;
    put_block(f, m, version, version == 0 ? m->count : 0, 4);
    if (version == 0) {
        m->has_rule = false;
        return;
    }
    put_block(f, m, version, m->count, 8);
    put(f, '\n', 1);
    for (const char *c = m->footer; *c != '\0'; c++)
        put(f, (uint8_t)*c, 1);
    put(f, '\n', 1);
}

/* ---- zones --------------------------------------------------------------------------------- */

static char tz[256] = "TZ="; /* in the environment */
static int fd = -1;

static void set_up(void)
{
    static char folder[] = "TZDIR=/nonexistent";

    if (fd >= 0)
        return;
    fd = memfd_create("zone", MFD_CLOEXEC);
    check(fd >= 0 && putenv(tz) == 0 && putenv(folder) == 0);
}

static void use_file(const uint8_t *bytes, size_t size)
{
    check(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
    (void)snprintf(tz, sizeof tz, "TZ=/proc/self/fd/%d", fd);
}

UNTRACED static int64_t table_offset(const struct weir_zone_table *t, int64_t at)
{
    size_t i = t->count - 1;

    while (at >= t->cycle_end)
        at -= WEIR_ZONE_CYCLE_S;
    while (t->at[i] > at)
        i--;
    return t->offset[i];
}

UNTRACED static int64_t highest_local(const struct weir_zone_table *t, int64_t at)
{
    int64_t highest = INT64_MIN;

    for (size_t i = 0; i < t->count && t->at[i] <= at; i++) {
        int64_t last = i + 1 < t->count && t->at[i + 1] <= at ? t->at[i + 1] - 1 : at;

        if (last + t->offset[i] > highest)
            highest = last + t->offset[i];
    }
    return highest;
}

static void check_table(const struct weir_zone_table *t)
{
    check(t->count > 0 && t->count <= t->room && t->at[0] == INT64_MIN);
    for (size_t i = 0; i < t->count; i++) {
        check(t->offset[i] >= -89999 && t->offset[i] <= 93599);
        check(i == 0 || (t->at[i] > t->at[i - 1] && t->offset[i] != t->offset[i - 1]));
        check(i == 0 || t->passed[i] >= t->passed[i - 1]);
    }
}

static bool is_within(int64_t t)
{
    return t > -INSTANT_MAX && t < INSTANT_MAX;
}

static void check_instant(const struct weir_zone *z, const struct weir_zone_table *t,
                          const struct made *m, int64_t at)
{
    int64_t highest;

    if (!is_within(at))
        return;
    highest = at < t->cycle_end ? highest_local(t, at) : 0;
    if (m != NULL && offset_is_known(m, at))
        check(table_offset(t, at) == made_offset(m, at));
    for (int unit = WEIR_CALENDAR_DAY; unit <= WEIR_CALENDAR_MONTH; unit++) {
        enum weir_calendar u = (enum weir_calendar)unit;
        struct weir_zone_window w, again, next;

        weir_zone_window_search(z, u, at, &w);
        check(w.start <= at && at < w.end);
        if (at < t->cycle_end)
            check(w.number == number_of(u, highest));
        weir_zone_window_at(z, u, at, &again);
        check(w.number == again.number && w.start == again.start && w.end == again.end);
        check(weir_zone_window_start(z, u, w.number) == w.start);
        check(weir_zone_window_start(z, u, w.number + 1) == w.end);
        check(weir_zone_start_search(z, u, w.number) == w.start);
        if (is_within(w.end)) {
            weir_zone_window_at(z, u, w.end, &next);
            check(next.start == w.end && next.number > w.number);
            check(weir_zone_start_search(z, u, next.number) == w.end);
        }
        if (is_within(w.start)) {
            weir_zone_window_at(z, u, w.start, &again);
            check(again.number == w.number && again.start == w.start);
            weir_zone_window_at(z, u, w.start - 1, &again);
            check(again.end == w.start && again.number < w.number);
        }
    }
}

static void check_windows(const struct weir_zone_table *t, const struct made *m, struct bytes *b)
{
    static struct weir_zone z;
    size_t step = t->count / 8 + 1;

    memset(&z, 0, sizeof z);
    z.count = t->count;
    z.cycle_end = t->cycle_end;
    z.at = t->at;
    z.passed = t->passed;
    z.offset = t->offset;
    for (size_t i = 1; i < t->count; i += step)
        for (int64_t d = -1; d <= 1; d++)
            check_instant(&z, t, m, t->at[i] + d);
    for (int64_t d = -1; d <= 1 && t->cycle_end != INT64_MAX; d++)
        check_instant(&z, t, m, t->cycle_end + d);
    for (unsigned i = 0; i < 8; i++) {
        int64_t near = t->at[(size_t)take_16(b) % t->count];

        check_instant(&z, t, m, take_16(b) * 1500000 - INSTANT_MAX / 2);
        if (is_within(near))
            check_instant(&z, t, m, near + take_16(b) * 4 - 131072);
    }
    check_instant(&z, t, m, INSTANT_MAX - 1);
    check_instant(&z, t, m, 1 - INSTANT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_zone_table t = {0}, again = {0};
    struct bytes b = {data + 1, size - 1};
    struct made made;
    struct file file;
    int rc;

    if (size == 0)
        return 0;
    set_up();
    if (data[0] % 3 == 2) {
        make(&b, &made, &file);
        use_file(file.bytes, file.size);
    } else if (data[0] % 3 == 1) {
        size_t length = size - 1 < sizeof tz - 4 ? size - 1 : sizeof tz - 4;

        memcpy(tz + 3, data + 1, length);
        tz[3 + length] = '\0';
        if (tz[3] == '/' || (tz[3] == ':' && tz[4] == '/'))
            return 0; /* a file of this system */
    } else {
        use_file(data + 1, size - 1);
    }
    rc = weir_zone_read("local", &t);
    check(rc == 0 || rc == -EINVAL || (rc == -ENOENT && data[0] % 3 == 1) ||
          (rc == 0 && tz[3] == '\0'));
    check(data[0] % 3 != 2 || rc == (made.damaged ? -EINVAL : 0));
    check(weir_zone_read("local", &again) == rc);
    if (rc == 0) {
        check(again.count == t.count && again.cycle_end == t.cycle_end);
        check(memcmp(t.at, again.at, t.count * sizeof *t.at) == 0);
        check(memcmp(t.offset, again.offset, t.count * sizeof *t.offset) == 0);
        check_table(&t);
        check_windows(&t, data[0] % 3 == 2 ? &made : NULL, &b);
    }
    free(t.at);
    free(again.at);
    return 0;
}
