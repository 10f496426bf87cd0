/* SPDX-License-Identifier: MIT */
/*
 * Time zones: TZif files and POSIX rules, read into stretches of one offset each.
 *
 * A file lists instants at which the offset changes, up to some year, and ends in a rule for the
 * years after it. The rule is written out for 400 years more, after which the calendar repeats
 * itself to the day and the weekday.
 *
 * "Local time" and "highest local time": zone.h. All is in seconds.
 */
#include "zone_file.h"

#include "check.h"
#include "zone_calendar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What RFC 9636 lets a reader insist on: above -25 h and below +26 h. */
#define OFFSET_MIN (-89999)
#define OFFSET_MAX 93599

#define FILE_MAX ((size_t)1 << 20) /* the largest of the system's files has 4 KiB */

/* A rule begins in the second year before the table's last change, so that one of its own changes
   comes before that; two years after it all is the rule's doing, and a cycle begins; its changes
   may lie in the years beside theirs. */
#define RULE_YEARS_BEFORE 2
#define RULE_YEARS_CYCLE  (RULE_YEARS_BEFORE + 2 + 400)
#define RULE_YEARS        (RULE_YEARS_CYCLE + 3)

static int64_t january_of(int64_t year)
{
    return weir_first_day_of((year - 1970) * 12);
}

static int64_t year_of(int64_t unix_s)
{
    return 1970 + weir_floor_div(weir_month_of(weir_floor_div(unix_s, WEIR_ZONE_DAY_S)), 12);
}

/* ---- a zone's stretches while they are read ------------------------------------------------ */

/* For so many changes. One stretch is there already, without an end. */
static int table_make(struct weir_zone_table *t, size_t changes)
{
    size_t room = changes + 1;
    int64_t *memory = malloc(3 * room * sizeof *memory);
    if (memory == NULL)
        return -ENOMEM;
    *t = (struct weir_zone_table){
        .count = 1, .room = room, .last = INT64_MIN, .cycle_end = INT64_MAX};
    t->at = memory;
    t->passed = memory + room;
    t->offset = memory + 2 * room;
    t->at[0] = INT64_MIN;
    t->offset[0] = 0;
    return 0;
}

/* From `at` on, which is not before the change before; a later one of the same instant prevails. */
static void table_change(struct weir_zone_table *t, int64_t at, int64_t offset)
{
    if (t->at[t->count - 1] == at && t->count > 1)
        t->count--;
    if (t->offset[t->count - 1] == offset)
        return;
    weir_assert(t->count < t->room && t->at[t->count - 1] < at);
    t->at[t->count] = at;
    t->offset[t->count] = offset;
    t->count++;
}

static void table_finish(struct weir_zone_table *t)
{
    t->passed[0] = INT64_MIN;
    for (size_t i = 1; i < t->count; i++) {
        int64_t reached = t->at[i] - 1 + t->offset[i - 1];
        t->passed[i] = reached > t->passed[i - 1] ? reached : t->passed[i - 1];
    }
}

/* ---- POSIX rules (POSIX.1-2017, 8.3; times of day to 167 h: RFC 9636, 3.3.1) ----------------- */

struct text {
    const char *at, *end;
};

/* One day of each year, and the time on it in the offset that was in force. */
struct yearly {
    char kind; /* 'J' n: day 1 to 365, never 29 February; 'n': day 0 to 365; 'M': by weekday */
    int64_t n, month, week, weekday;
    int64_t time;
};

struct rule {
    int64_t standard, summer;
    bool has_summer;
    struct yearly summer_begins, summer_ends;
};

static bool text_has(struct text *t, char c)
{
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool text_number(struct text *t, int64_t min, int64_t max, int64_t *number)
{
    const char *begin = t->at;
    for (*number = 0; t->at != t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        *number = *number * 10 + (*t->at - '0');
        if (*number > max)
            return false;
    }
    return t->at != begin && *number >= min;
}

/* [+-]h[:m[:s]] */
static bool text_time(struct text *t, int64_t hours_max, int64_t *seconds)
{
    int64_t sign = text_has(t, '-') ? -1 : 1;
    if (sign > 0)
        text_has(t, '+');
    int64_t hours;
    int64_t minutes = 0;
    int64_t rest = 0;
    if (!text_number(t, 0, hours_max, &hours))
        return false;
    if (text_has(t, ':')) {
        if (!text_number(t, 0, 59, &minutes))
            return false;
        if (text_has(t, ':') && !text_number(t, 0, 59, &rest))
            return false;
    }
    *seconds = sign * (hours * 3600 + minutes * 60 + rest);
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Three letters or more, or in <> digits and signs too. */
static bool text_abbreviation(struct text *t)
{
    bool quoted = text_has(t, '<');
    const char *begin = t->at;
    while (t->at != t->end && (is_letter(*t->at) || (quoted && ((*t->at >= '0' && *t->at <= '9') ||
                                                                *t->at == '+' || *t->at == '-'))))
        t->at++;
    return t->at - begin >= 3 && (!quoted || text_has(t, '>'));
}

/* ,Jn or ,n or ,Mm.w.d and then perhaps /time */
static bool text_yearly(struct text *t, struct yearly *y)
{
    *y = (struct yearly){.kind = 'n', .time = 2 * 3600};
    if (!text_has(t, ','))
        return false;
    if (text_has(t, 'M')) {
        y->kind = 'M';
        if (!text_number(t, 1, 12, &y->month) || !text_has(t, '.') ||
            !text_number(t, 1, 5, &y->week) || !text_has(t, '.') ||
            !text_number(t, 0, 6, &y->weekday))
            return false;
    } else if (text_has(t, 'J')) {
        y->kind = 'J';
        if (!text_number(t, 1, 365, &y->n))
            return false;
    } else if (!text_number(t, 0, 365, &y->n)) {
        return false;
    }
    return !text_has(t, '/') || text_time(t, 167, &y->time);
}

static bool text_days(struct text *t, struct rule *r)
{
    return text_yearly(t, &r->summer_begins) && text_yearly(t, &r->summer_ends) && t->at == t->end;
}

/*
 * std offset [dst [offset] ,begin,end]. `days`: begin and end where the text has none, or NULL to
 * refuse that. Offsets are written west of Greenwich.
 */
static bool read_rule(struct text t, const char *days, struct rule *r)
{
    *r = (struct rule){0};
    if (!text_abbreviation(&t) || !text_time(&t, 24, &r->standard))
        return false;
    r->standard = -r->standard;
    if (t.at == t.end)
        return true;
    r->has_summer = true;
    r->summer = r->standard + 3600;
    if (!text_abbreviation(&t))
        return false;
    if (t.at != t.end && *t.at != ',') {
        if (!text_time(&t, 24, &r->summer))
            return false;
        r->summer = -r->summer;
    }
    if (t.at == t.end && days != NULL)
        t = (struct text){days, days + strlen(days)};
    return text_days(&t, r);
}

/* Local time of the change in a year. */
static int64_t yearly_at(const struct yearly *y, int64_t year)
{
    int64_t january = january_of(year);
    if (y->kind == 'n')
        return (january + y->n) * WEIR_ZONE_DAY_S + y->time;
    int64_t month = (year - 1970) * 12;
    if (y->kind == 'J') {
        bool leap = weir_first_day_of(month + 2) - january == 60;
        return (january + y->n - 1 + (leap && y->n >= 60)) * WEIR_ZONE_DAY_S + y->time;
    }
    month += y->month - 1;
    int64_t first = weir_first_day_of(month);
    int64_t weekday =
        first + 4 - 7 * weir_floor_div(first + 4, 7); /* Sunday is 0, 1970 began on 4 */
    int64_t day = first + (y->weekday - weekday + 7) % 7 + (y->week - 1) * 7;
    while (day >= weir_first_day_of(month + 1)) /* week 5 is the last */
        day -= 7;
    return day * WEIR_ZONE_DAY_S + y->time;
}

/* A change by rule; sorted as they are added, nearly in order. */
struct change {
    int64_t at, offset;
};

static void add_change(struct change *changes, size_t count, int64_t at, int64_t offset)
{
    size_t i = count;
    for (; i > 0 && changes[i - 1].at > at; i--)
        changes[i] = changes[i - 1];
    changes[i] = (struct change){at, offset};
}

/*
 * The rule is in force from the table's last change on, that instant included; at all times if
 * there is none (its yearly changes then begin with 1968).
 */
static void table_add_rule(struct weir_zone_table *t, const struct rule *r)
{
    if (t->out_of_reach)
        return;
    bool alone = t->last == INT64_MIN;
    if (alone)
        t->offset[0] = r->standard;
    if (!r->has_summer) {
        if (!alone)
            table_change(t, t->last, r->standard);
        return;
    }
    int64_t first_year = (alone ? 1970 : year_of(t->last)) - RULE_YEARS_BEFORE;
    struct change changes[2 * RULE_YEARS];
    size_t count = 0;
    for (int64_t year = first_year; year < first_year + RULE_YEARS; year++) {
        /* The end first: where the next summer begins at the instant at which one ends, as in
           places that keep summer time all year, summer prevails. */
        add_change(changes, count++, yearly_at(&r->summer_ends, year) - r->summer, r->standard);
        add_change(changes, count++, yearly_at(&r->summer_begins, year) - r->standard, r->summer);
    }
    size_t i = 0;
    int64_t offset = r->standard;
    for (; i < count && changes[i].at <= t->last; i++)
        offset = changes[i].offset;
    if (!alone)
        table_change(t, t->last, offset);
    for (; i < count; i++)
        table_change(t, changes[i].at, changes[i].offset);
    t->cycle_end = january_of(first_year + RULE_YEARS_CYCLE) * WEIR_ZONE_DAY_S;
}

/* ---- TZif files (RFC 9636) ------------------------------------------------------------------ */

struct bytes {
    const uint8_t *at;
    size_t left;
};

struct header {
    uint8_t version;
    uint32_t universals, standards, leaps, times, types, characters;
};

static const uint8_t *take(struct bytes *b, uint64_t size)
{
    if (size > b->left)
        return NULL;
    const uint8_t *taken = b->at;
    b->at += size;
    b->left -= (size_t)size;
    return taken;
}

static uint32_t big_endian_32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Two's complement of four or eight bytes. */
static int64_t big_endian(const uint8_t *p, size_t size)
{
    if (size == 4)
        return (int32_t)big_endian_32(p);
    return (int64_t)((uint64_t)big_endian_32(p) << 32 | big_endian_32(p + 4));
}

static bool read_header(struct bytes *b, struct header *h)
{
    const uint8_t *p = take(b, 44);
    if (p == NULL || memcmp(p, "TZif", 4) != 0)
        return false;
    *h = (struct header){.version = p[4],
                         .universals = big_endian_32(p + 20),
                         .standards = big_endian_32(p + 24),
                         .leaps = big_endian_32(p + 28),
                         .times = big_endian_32(p + 32),
                         .types = big_endian_32(p + 36),
                         .characters = big_endian_32(p + 40)};
    return h->version == 0 || (h->version >= '2' && h->version <= '4');
}

/* Bytes of the block after a header in which a time has `size` bytes: far below 2^64. */
static uint64_t block_size(const struct header *h, uint64_t size)
{
    return h->times * (size + 1) + h->types * (uint64_t)6 + h->characters + h->leaps * (size + 4) +
           h->standards + h->universals;
}

static int read_block(struct bytes *b, const struct header *h, size_t size,
                      struct weir_zone_table *t)
{
    const uint8_t *times = take(b, block_size(h, size));
    if (times == NULL || h->leaps != 0 || h->types == 0 ||
        (h->standards != 0 && h->standards != h->types) ||
        (h->universals != 0 && h->universals != h->types))
        return -EINVAL;
    const uint8_t *type_of = times + h->times * size;
    const uint8_t *types = type_of + h->times;
    for (const uint8_t *type = types; type < types + h->types * (size_t)6; type += 6) {
        int64_t offset = big_endian(type, 4);
        if (offset < OFFSET_MIN || offset > OFFSET_MAX || type[4] > 1 || type[5] >= h->characters)
            return -EINVAL;
    }
    int rc = table_make(t, h->times + 2 * (size_t)RULE_YEARS + 1);
    if (rc != 0)
        return rc;
    t->offset[0] = big_endian(types, 4);
    int64_t before = 0;
    for (size_t i = 0; i < h->times; i++) {
        int64_t at = big_endian(times + i * size, size);
        if (type_of[i] >= h->types || (i > 0 && at <= before))
            return -EINVAL;
        before = at;
        int64_t offset = big_endian(types + type_of[i] * (size_t)6, 4);
        if (at < -WEIR_ZONE_INSTANT_MAX) {
            t->offset[0] = offset;
        } else if (at > WEIR_ZONE_INSTANT_MAX) {
            t->out_of_reach = true;
        } else {
            table_change(t, at, offset);
            t->last = at;
        }
    }
    return 0;
}

/* A line, of nothing where no rule is known. */
static int read_footer(struct bytes *b, struct weir_zone_table *t)
{
    const uint8_t *newline = take(b, 1);
    if (newline == NULL || *newline != '\n')
        return -EINVAL;
    const char *begin = (const char *)b->at;
    const char *end = b->left == 0 ? NULL : memchr(begin, '\n', b->left);
    struct rule rule;
    if (end == NULL)
        return -EINVAL;
    if (begin == end)
        return 0;
    if (!read_rule((struct text){begin, end}, NULL, &rule))
        return -EINVAL;
    table_add_rule(t, &rule);
    return 0;
}

/* `t` has no memory before, and has some or none after, whatever is returned. */
static int read_tzif(struct bytes b, struct weir_zone_table *t)
{
    struct header h;
    if (!read_header(&b, &h))
        return -EINVAL;
    if (h.version == 0)
        return read_block(&b, &h, 4, t);
    /* The same for readers of 32-bit times comes first. */
    if (take(&b, block_size(&h, 4)) == NULL || !read_header(&b, &h) || h.version == 0)
        return -EINVAL;
    int rc = read_block(&b, &h, 8, t);
    return rc != 0 ? rc : read_footer(&b, t);
}

/* ---- finding files --------------------------------------------------------------------------- */

static int open_error(void)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
        return -ENOENT;
    case ENOMEM:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

/* Reads `size` bytes, or up to the end of the file: returns how many, or -EIO. */
static ssize_t read_all(int fd, uint8_t *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, buffer + done, size - done);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            return -EIO;
        if (got > 0)
            done += (size_t)got;
    }
    return (ssize_t)done;
}

static int read_open_file(int fd, struct weir_zone_table *t)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -EIO;
    if (!S_ISREG(status.st_mode) || status.st_size <= 0 || (uint64_t)status.st_size > FILE_MAX)
        return -EINVAL;
    uint8_t *buffer = malloc((size_t)status.st_size);
    if (buffer == NULL)
        return -ENOMEM;
    ssize_t size = read_all(fd, buffer, (size_t)status.st_size);
    int rc = size < 0 ? (int)size : read_tzif((struct bytes){buffer, (size_t)size}, t);
    free(buffer);
    return rc;
}

static int read_file(const char *path, struct weir_zone_table *t)
{
    int fd;
    do { /* without O_NONBLOCK opening a pipe waits for its other end */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return open_error();
    int rc = read_open_file(fd, t);
    close(fd);
    return rc;
}

/* The environment of a program with more rights than its caller is not listened to. */
static const char *environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

static int read_named(const char *name, struct weir_zone_table *t)
{
    if (strcmp(name, "UTC") == 0 || strcmp(name, "Z") == 0) /* as ISO 8601 calls it */
        return table_make(t, 0);
    const char *folder = environment("TZDIR");
    if (folder == NULL)
        folder = "/usr/share/zoneinfo";
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return -ENOENT;
    return read_file(path, t);
}

static int read_local(struct weir_zone_table *t)
{
    const char *tz = environment("TZ");
    if (tz != NULL && *tz == ':')
        tz++;
    if (tz == NULL || *tz == '\0') {
        int rc = read_file("/etc/localtime", t);
        return rc == -ENOENT ? table_make(t, 0) : rc;
    }
    if (*tz == '/')
        return read_file(tz, t);
    int rc = read_named(tz, t);
    /* Days as the C library has them where the rule does not tell. */
    struct rule rule;
    if (rc != -ENOENT || !read_rule((struct text){tz, tz + strlen(tz)}, ",M3.2.0,M11.1.0", &rule))
        return rc;
    rc = table_make(t, 2 * (size_t)RULE_YEARS + 1);
    if (rc == 0)
        table_add_rule(t, &rule);
    return rc;
}

/* ---- the interface -------------------------------------------------------------------------- */

int weir_zone_read(const char *name, struct weir_zone_table *t)
{
    int rc = strcmp(name, "local") == 0 ? read_local(t) : read_named(name, t);
    if (rc == 0)
        table_finish(t);
    return rc;
}
