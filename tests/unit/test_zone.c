/* SPDX-License-Identifier: MIT */
/*
 * Time zones and their calendar windows: against known days, a walk minute by minute, the C
 * library, and files that are no zones.
 *
 * Tests of known places need the system's database and are skipped without it; the others write
 * their own. Places are looked at in years that are over, or whose rules have long stood.
 */
#include "../support.h"

#include "zone.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY_S ((int64_t)86400)

#define DAY   WEIR_CALENDAR_DAY
#define WEEK  WEIR_CALENDAR_WEEK
#define MONTH WEIR_CALENDAR_MONTH

static const enum weir_calendar units[] = {DAY, WEEK, MONTH};

static char folder[] = "/tmp/weir-zones-XXXXXX"; /* holds the files that the tests write */
static char database[PATH_MAX];                  /* the system's */

static void use_folder(void)
{
    assert_int_equal(setenv("TZDIR", folder, 1), 0);
}

/* Not cmocka's skip(), which its TAP calls "not ok". */
static bool has_database(void)
{
    assert_int_equal(setenv("TZDIR", database, 1), 0);
    const struct weir_zone *z;
    if (weir_zone_find("America/New_York", &z) == 0)
        return true;
    print_message("# skipped: no time zone database here\n");
    return false;
}

static const struct weir_zone *zone(const char *name)
{
    const struct weir_zone *z = NULL;
    int rc = weir_zone_find(name, &z);
    if (rc != 0)
        print_error("%s: %d\n", name, rc);
    assert_int_equal(rc, 0);
    return z;
}

static int find(const char *name)
{
    const struct weir_zone *z;
    return weir_zone_find(name, &z);
}

static int find_local(const char *tz)
{
    assert_int_equal(setenv("TZ", tz, 1), 0);
    int rc = find("local");
    unsetenv("TZ");
    return rc;
}

static const struct weir_zone *local(const char *tz)
{
    assert_int_equal(setenv("TZ", tz, 1), 0);
    const struct weir_zone *z = zone("local");
    unsetenv("TZ");
    return z;
}

/* ---- windows ------------------------------------------------------------------------------ */

static bool is_window(const struct weir_zone_window *w, int64_t number, int64_t start, int64_t end)
{
    return w->number == number && w->start == start && w->end == end;
}

/* By searching and, twice, through the memory of the last window. */
static void check_at(const struct weir_zone *z, enum weir_calendar unit, int64_t t, int64_t number,
                     int64_t start, int64_t end)
{
    struct weir_zone_window w[3];
    weir_zone_window_search(z, unit, t, &w[0]);
    weir_zone_window_at(z, unit, t, &w[1]);
    assert_true(weir_zone_recall(z, unit, &w[2]));
    for (unsigned i = 0; i < 3; i++) {
        if (!is_window(&w[i], number, start, end))
            print_error("at %lld (%u): number %lld from %lld to %lld\n", (long long)t, i,
                        (long long)w[i].number, (long long)w[i].start, (long long)w[i].end);
        assert_true(is_window(&w[i], number, start, end));
    }
}

static void check_window(const struct weir_zone *z, enum weir_calendar unit, int64_t number,
                         int64_t start, int64_t end)
{
    check_at(z, unit, start, number, start, end);
    check_at(z, unit, start + (end - start) / 2, number, start, end);
    check_at(z, unit, end - 1, number, start, end);
    assert_int_equal(weir_zone_start_search(z, unit, number), start);
    assert_int_equal(weir_zone_start_search(z, unit, number + 1), end);
    assert_int_equal(weir_zone_window_start(z, unit, number), start);
    assert_int_equal(weir_zone_window_start(z, unit, number + 1), end);
}

static void windows_of_utc(void **state)
{
    (void)state;
    assert_int_equal(setenv("TZDIR", "/nonexistent", 1), 0);
    const struct weir_zone *utc = zone("UTC");
    check_window(utc, DAY, 0, 0, 86400);
    check_window(utc, DAY, -1, -86400, 0);
    check_window(utc, DAY, 20520, 1772928000, 1773014400);    /* 2026-03-08 */
    check_window(utc, WEEK, 0, -3 * DAY_S, 4 * DAY_S);        /* from 1969-12-29, a Monday */
    check_window(utc, WEEK, 2931, 1772409600, 1773014400);    /* from 2026-03-02 */
    check_window(utc, MONTH, 0, 0, 31 * DAY_S);               /* January 1970 */
    check_window(utc, MONTH, -1, -31 * DAY_S, 0);             /* December 1969 */
    check_window(utc, MONTH, 649, 1706745600, 1709251200);    /* February 2024 */
    check_window(utc, MONTH, 1561, 4105123200, 4107542400);   /* February 2100: 28 days */
    check_window(utc, MONTH, 5161, 13572144000, 13574649600); /* February 2400: 29 */
}

/* What a place's days, weeks and months are known to have been. */
static const struct known {
    const char *zone;
    enum weir_calendar unit;
    int64_t number, start, end;
} known[] = {
    {"Asia/Kuala_Lumpur", DAY, 20696, 1788105600, 1788192000},   /* 2026-08-31 */
    {"Asia/Kuala_Lumpur", WEEK, 2957, 1788105600, 1788710400},   /* from 2026-08-31 */
    {"Asia/Kuala_Lumpur", MONTH, 679, 1785513600, 1788192000},   /* August 2026 */
    {"Asia/Kuala_Lumpur", DAY, 4382, 378577800, 378662400},      /* 1981-12-31: 23.5 h */
    {"Asia/Kuala_Lumpur", DAY, 4383, 378662400, 378748800},      /* 1982-01-01 */
    {"America/New_York", DAY, 20519, 1772859600, 1772946000},    /* 2026-03-07 */
    {"America/New_York", DAY, 20520, 1772946000, 1773028800},    /* 2026-03-08: 23 h */
    {"America/New_York", DAY, 20758, 1793505600, 1793595600},    /* 2026-11-01: 25 h */
    {"America/New_York", WEEK, 2931, 1772427600, 1773028800},    /* from 2026-03-02: 167 h */
    {"America/New_York", MONTH, 682, 1793505600, 1796101200},    /* November 2026: 721 h */
    {"Europe/London", DAY, 181, 15634800, 15721200},             /* 1970-07-01, UTC+1 all year */
    {"Europe/London", DAY, 20541, 1774742400, 1774825200},       /* 2026-03-29: 23 h */
    {"Europe/London", DAY, 20751, 1792882800, 1792972800},       /* 2026-10-25: 25 h */
    {"Europe/Dublin", DAY, 20177, 1743292800, 1743375600},       /* 2025-03-30: 23 h */
    {"Europe/Dublin", DAY, 20387, 1761433200, 1761523200},       /* 2025-10-26: 25 h */
    {"Europe/Dublin", DAY, 20447, 1766620800, 1766707200},       /* 2025-12-25 */
    {"Australia/Lord_Howe", DAY, 20184, 1743858000, 1743946200}, /* 2025-04-06: 24.5 h */
    {"Australia/Lord_Howe", DAY, 20366, 1759584600, 1759669200}, /* 2025-10-05: 23.5 h */
    {"America/Sao_Paulo", DAY, 17579, 1518832800, 1518922800},   /* 2018-02-17: 25 h */
    {"America/Sao_Paulo", DAY, 17580, 1518922800, 1519009200},   /* 2018-02-18 */
    {"America/Sao_Paulo", DAY, 17838, 1541214000, 1541300400},   /* 2018-11-03 */
    {"America/Sao_Paulo", DAY, 17839, 1541300400, 1541383200},   /* 2018-11-04, from 01:00 */
    {"Asia/Beirut", DAY, 19812, 1711749600, 1711836000},         /* 2024-03-30 */
    {"Asia/Beirut", DAY, 19813, 1711836000, 1711918800},         /* 2024-03-31, from 01:00 */
    {"Asia/Beirut", DAY, 20022, 1729890000, 1729980000},         /* 2024-10-26: 25 h */
    {"Pacific/Apia", DAY, 15337, 1325152800, 1325239200},        /* 2011-12-29 */
    {"Pacific/Apia", DAY, 15339, 1325239200, 1325325600},        /* 2011-12-31, the next day */
    {"Pacific/Apia", WEEK, 2191, 1324893600, 1325412000},        /* from 2011-12-26: 6 days */
    {"Pacific/Apia", MONTH, 503, 1322733600, 1325325600},        /* December 2011: 30 days */
    {"Pacific/Kwajalein", DAY, 8632, 745848000, 745934400},      /* 1993-08-20 */
    {"Pacific/Kwajalein", DAY, 8634, 745934400, 746020800},      /* 1993-08-22, the next day */
    {"Pacific/Kwajalein", WEEK, 1233, 745502400, 746020800},     /* from 1993-08-16: 6 days */
    {"America/Nuuk", DAY, 19812, 1711764000, 1711846800},        /* 2024-03-30, to 23:00 */
    {"America/Nuuk", DAY, 19813, 1711846800, 1711933200},        /* 2024-03-31 */
    {"America/Nuuk", DAY, 20022, 1729904400, 1729994400},        /* 2024-10-26: 25 h */
    {"Africa/Casablanca", DAY, 19792, 1710025200, 1710115200},   /* 2024-03-10: 25 h */
    {"Africa/Casablanca", DAY, 19827, 1713052800, 1713135600},   /* 2024-04-14: 23 h */
    {"Africa/Casablanca", MONTH, 650, 1709247600, 1711929600},   /* March 2024: 745 h */
    {"America/St_Johns", DAY, 13449, 1162002600, 1162089000},    /* 2006-10-28 */
    {"America/St_Johns", DAY, 13450, 1162089000, 1162179000},    /* 2006-10-29: at 00:01 again 28 */
};

static void windows_of_known_places(void **state)
{
    (void)state;
    if (!has_database())
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        check_window(zone(known[i].zone), known[i].unit, known[i].number, known[i].start,
                     known[i].end);
}

static void a_skipped_day_is_an_empty_window(void **state)
{
    (void)state;
    if (!has_database())
        return;
    const struct weir_zone *apia = zone("Pacific/Apia");
    const struct weir_zone *kwajalein = zone("Pacific/Kwajalein");
    for (unsigned i = 0; i < 2; i++) { /* by searching, then with the day before in memory */
        assert_int_equal(weir_zone_window_start(apia, DAY, 15338), 1325239200);
        assert_int_equal(weir_zone_window_start(apia, DAY, 15339), 1325239200);
        assert_int_equal(weir_zone_window_start(kwajalein, DAY, 8633), 745934400);
        assert_int_equal(weir_zone_window_start(kwajalein, DAY, 8634), 745934400);
        check_at(apia, DAY, 1325239199, 15337, 1325152800, 1325239200);
        check_at(kwajalein, DAY, 745934399, 8632, 745848000, 745934400);
    }
}

/* Clocks go back at 00:01 to 23:01: the day that had begun goes on. */
static void a_repeated_date_is_no_new_window(void **state)
{
    (void)state;
    if (!has_database())
        return;
    const struct weir_zone *z = zone("America/St_Johns");
    check_at(z, DAY, 1162088999, 13449, 1162002600, 1162089000);
    for (int64_t t = 1162089000; t < 1162179000; t += 20)
        check_at(z, DAY, t, 13450, 1162089000, 1162179000);
    check_at(z, DAY, 1162179000, 13451, 1162179000, 1162265400);
}

/* ---- every zone of the system --------------------------------------------------------------- */

#define YEARS_END 4133980800 /* 2101 */

static const struct weir_zone *distinct[2000];
static size_t distinct_count, found_count;

static int64_t number_by_libc(enum weir_calendar unit, int64_t t)
{
    time_t instant = (time_t)t;
    struct tm tm;
    assert_non_null(localtime_r(&instant, &tm));
    if (unit == MONTH)
        return (int64_t)(tm.tm_year - 70) * 12 + tm.tm_mon;
    struct tm as_utc = tm;
    int64_t day =
        ((int64_t)timegm(&as_utc) - tm.tm_hour * 3600 - tm.tm_min * 60 - tm.tm_sec) / DAY_S;
    /* From 1969-12-29 on: no negative numbers are divided. */
    return unit == DAY ? day : (day + 3) / 7;
}

/* A window starts with its own number, and the second before has a lower one. */
static bool libc_agrees(enum weir_calendar unit, const struct weir_zone_window *w)
{
    return number_by_libc(unit, w->start) == w->number &&
           number_by_libc(unit, w->start - 1) < w->number;
}

static void check_tiling(const char *name, const struct weir_zone *z, enum weir_calendar unit)
{
    struct weir_zone_window w, next, again;
    weir_zone_window_search(z, unit, 0, &w);
    for (uint64_t i = 0; w.start < YEARS_END; i++, w = next) {
        weir_zone_window_at(z, unit, w.end, &next);
        weir_zone_window_search(z, unit, w.end - 1, &again);
        bool good = w.start < w.end && next.start == w.end && next.number > w.number &&
                    is_window(&again, w.number, w.start, w.end) &&
                    weir_zone_start_search(z, unit, w.number + 1) == next.start &&
                    weir_zone_start_search(z, unit, next.number) == next.start;
        /* The C library is slow: every month and week, and every fourth day. */
        if (good && w.start > 0 && (unit != DAY || i % 4 == 0))
            good = libc_agrees(unit, &w);
        if (!good)
            print_error("%s: unit %u, number %lld from %lld to %lld\n", name, (unsigned)unit,
                        (long long)w.number, (long long)w.start, (long long)w.end);
        assert_true(good);
    }
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)ftw;
    const char *name = path + strlen(database) + 1;
    const struct weir_zone *z;
    /* Files that are no zones, and those that count leap seconds, are refused. */
    if (type != FTW_F || weir_zone_find(name, &z) != 0)
        return 0;
    found_count++;
    for (size_t i = 0; i < distinct_count; i++) {
        if (distinct[i] == z)
            return 0;
    }
    assert_true(distinct_count < sizeof distinct / sizeof distinct[0]);
    distinct[distinct_count++] = z;
    /* Fewer where tests are scaled down. */
    if (random_scaled(100) < 100 && distinct_count % (100 / random_scaled(100)) != 0)
        return 0;
    assert_int_equal(setenv("TZ", name, 1), 0);
    tzset();
    for (size_t u = 0; u < 3; u++)
        check_tiling(name, z, units[u]);
    return 0;
}

static void k22_calendar_windows_tile_time(void **state)
{
    (void)state;
    if (!has_database())
        return;
    assert_int_equal(nftw(database, visit, 16, FTW_PHYS), 0);
    unsetenv("TZ");
    tzset();
    print_message("# %zu zones, %zu of them distinct\n", found_count, distinct_count);
    assert_true(distinct_count >= 10 && distinct_count <= found_count);
}

/* ---- files of our own ------------------------------------------------------------------------ */

struct file {
    size_t size;
    uint8_t bytes[8192];
};

static void put(struct file *f, uint64_t value, unsigned bytes)
{
    assert_true(f->size + bytes <= sizeof f->bytes);
    for (unsigned i = bytes; i-- > 0;)
        f->bytes[f->size++] = (uint8_t)(value >> (8 * i));
}

static void put_header(struct file *f, char version, uint32_t times, uint32_t types)
{
    put(f, 0x545a6966, 4); /* TZif */
    put(f, (uint8_t)version, 1);
    for (unsigned i = 0; i < 5; i++)
        put(f, 0, 3);
    put(f, 0, 4); /* isutcnt */
    put(f, 0, 4); /* isstdcnt */
    put(f, 0, 4); /* leapcnt */
    put(f, times, 4);
    put(f, types, 4);
    put(f, 4, 4); /* charcnt */
}

struct change {
    int64_t at;
    int32_t offset;
};

/* changes[0] says the offset before the first change. */
static void put_block(struct file *f, const struct change *changes, unsigned count, unsigned bytes)
{
    for (unsigned i = 1; i < count; i++)
        put(f, (uint64_t)changes[i].at, bytes);
    for (unsigned i = 1; i < count; i++)
        put(f, i, 1);
    for (unsigned i = 0; i < count; i++) {
        put(f, (uint32_t)changes[i].offset, 4);
        put(f, 0, 2);
    }
    put(f, 0x41424300, 4); /* ABC */
}

static struct file make_file(char version, const struct change *changes, unsigned count,
                             const char *footer)
{
    struct file f = {0};
    if (version == 0) {
        put_header(&f, 0, count - 1, count);
        put_block(&f, changes, count, 4);
        return f;
    }
    put_header(&f, version, 0, 1);
    put_block(&f, changes, 1, 4);
    put_header(&f, version, count - 1, count);
    put_block(&f, changes, count, 8);
    put(&f, '\n', 1);
    for (; *footer != '\0'; footer++)
        put(&f, (uint8_t)*footer, 1);
    put(&f, '\n', 1);
    return f;
}

static void path_of(char path[PATH_MAX], const char *name)
{
    assert_true(snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
}

static void save(const char *name, const void *bytes, size_t size)
{
    char path[PATH_MAX];
    path_of(path, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int find_file(const struct file *f)
{
    save("Test", f->bytes, f->size);
    return find("Test");
}

/* 1972-01-01 00:00 and 2007-11-04 06:00. */
static const struct change sample[] = {{0, -17762}, {63072000, -14400}, {1194156000, -18000}};
#define SAMPLE      3
#define SAMPLE_RULE "EST5EDT,M3.2.0,M11.1.0"

static struct file sample_file(char version)
{
    return make_file(version, sample, SAMPLE, SAMPLE_RULE);
}

static void files_of_all_versions(void **state)
{
    (void)state;
    use_folder();
    for (const char *version = "234"; *version != '\0'; version++) {
        struct file f = sample_file(*version);
        save("Test", f.bytes, f.size);
        const struct weir_zone *z = zone("Test");
        check_window(z, DAY, 0, 17762, 86400 + 17762); /* type 0 before the first change */
        check_window(z, DAY, 729, 62985600 + 17762, 63072000 + 14400); /* 1971-12-31 */
        check_window(z, DAY, 13821, 1194148800, 1194238800); /* 2007-11-04: 25 h, by the table */
        check_window(z, DAY, 20520, 1772946000, 1773028800); /* 2026-03-08: 23 h, by the rule */
        check_window(z, DAY, 84073, 7263925200, 7264008000); /* 2200-03-09: 23 h */
        check_window(z, DAY, 84311, 7284484800, 7284574800); /* 2200-11-02: 25 h */
    }
    /* The last offset goes on without a rule. */
    struct file f = sample_file(0);
    save("Test", f.bytes, f.size);
    const struct weir_zone *without = zone("Test");
    check_window(without, DAY, 13821, 1194148800, 1194238800);
    check_window(without, DAY, 20520, 1772946000, 1773032400);
    f = make_file('2', sample, SAMPLE, "");
    save("Test", f.bytes, f.size);
    assert_ptr_equal(zone("Test"), without);
}

/* Some files begin with a change at a time that no clock shows. */
static void changes_out_of_reach(void **state)
{
    (void)state;
    use_folder();
    static const struct change far[] = {
        {0, 1800}, {-((int64_t)1 << 59), 3600}, {0, 7200}, {INT64_MAX, 0}};
    struct file f = make_file('2', far, 4, "<+07>-7");
    save("Test", f.bytes, f.size);
    const struct weir_zone *z = zone("Test");
    check_window(z, DAY, -1, -86400 - 3600, -3600);
    check_window(z, DAY, 0, -3600, 86400 - 7200);
    check_window(z, DAY, 1000000, 86400000000 - 7200, 86400086400 - 7200);
}

/* The table says otherwise from 2007-11-04 06:00 on, which is the rule's instant too. */
static void a_rule_holds_from_the_last_change(void **state)
{
    (void)state;
    use_folder();
    struct change changes[] = {{0, -14400}, {1194156000, -10800}};
    struct file f = make_file('2', changes, 2, SAMPLE_RULE);
    save("Test", f.bytes, f.size);
    check_window(zone("Test"), DAY, 13821, 1194148800, 1194238800);
    changes[1].at += 3600;
    f = make_file('2', changes, 2, SAMPLE_RULE);
    save("Test", f.bytes, f.size);
    check_window(zone("Test"), DAY, 13821, 1194148800, 1194238800);
}

static void a_rule_alone_holds_always(void **state)
{
    (void)state;
    use_folder();
    struct file f = make_file('2', sample, 1, "CET-1CEST,M3.5.0,M10.5.0/3");
    save("Test", f.bytes, f.size);
    const struct weir_zone *z = zone("Test");
    check_window(z, DAY, 0, -3600, 82800);
    check_window(z, DAY, 87, 7513200, 7596000); /* 1970-03-29: 23 h */
    assert_ptr_equal(local("CET-1CEST,M3.5.0,M10.5.0/3"), z);
}

/* ---- rules ------------------------------------------------------------------------------------
 */

static void rules(void **state)
{
    (void)state;
    use_folder();
    static const struct known expected[] = {
        /* Southern summers go on over the new year: 2200 and the month of 25 hours. */
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", MONTH, 2760, 7258078800, 7260757200},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", MONTH, 2763, 7265854800, 7268450400},
        /* Summer all year, two ways (RFC 9636, 3.3.1). */
        {"EST5EDT,0/0,J365/25", DAY, 21915, 1893456000 + 14400, 1893542400 + 14400},
        {"EST5EDT,0/0,J365/25", DAY, 22279, 1924905600 + 14400, 1924992000 + 14400},
        {"QQQ-2<+01>-1,0/0,J365/23", DAY, 22279, 1924905600 - 3600, 1924992000 - 3600},
        {"QQQ-2<+01>-1,0/0,J365/23", DAY, 22280, 1924992000 - 3600, 1925078400 - 3600},
        /* Summer is behind standard time. */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", DAY, 20541, 1774742400, 1774825200},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", DAY, 20751, 1792882800, 1792972800},
        /* The day before, and up to a week before and after: 2030-03-24 01:00, 2030-11-02 23:00. */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", DAY, 19812, 1711764000, 1711846800},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", DAY, 20022, 1729904400, 1729994400},
        {"AAA0BBB,M3.5.0/-167,M10.5.0/167", DAY, 21997, 1900540800, 1900623600},
        {"AAA0BBB,M3.5.0/-167,M10.5.0/167", DAY, 22220, 1919804400, 1919894400},
        /* 1 March in all years, 28 February in all years; the 60th day, 29 February in 2028. */
        {"AAA0BBB,J60,J300", DAY, 20878, 1803859200, 1803942000},
        {"AAA0BBB,J60,J300", DAY, 21244, 1835481600, 1835564400},
        {"AAA0BBB,J59,J300", DAY, 21242, 1835308800, 1835391600},
        {"AAA0BBB,59,300", DAY, 20878, 1803859200, 1803942000},
        {"AAA0BBB,59,300", DAY, 21243, 1835395200, 1835478000},
        /* Half hours, seconds, and hours in full. */
        {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", DAY, 20184, 1743858000, 1743946200},
        {"<+0545>-5:45", DAY, 20000, 1728000000 - 20700, 1728086400 - 20700},
        {"ABC+00:00:20", DAY, 20000, 1728000020, 1728086420},
        {"ABC24", DAY, 20000, 1728086400, 1728172800},
        {"ABC-24", DAY, 20000, 1727913600, 1728000000},
        /* The days of the C library where none are told. */
        {"XST5XDT", DAY, 20520, 1772946000, 1773028800},
        {":XST5XDT4", DAY, 20758, 1793505600, 1793595600},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct known *e = &expected[i];
        check_window(local(e->zone), e->unit, e->number, e->start, e->end);
        if (strstr(e->zone, "XST") != NULL)
            continue;
        struct file f = make_file('3', sample, SAMPLE, e->zone);
        save("Test", f.bytes, f.size);
        check_window(zone("Test"), e->unit, e->number, e->start, e->end);
    }
}

/* The calendar repeats itself after 400 years; so do the rules, in any of them. */
static void rules_go_on_for_ever(void **state)
{
    (void)state;
    const int64_t days = 146097; /* in 400 years; whole weeks */
    const struct weir_zone *z = local(SAMPLE_RULE);
    for (int64_t cycles = 0; cycles <= 7; cycles++) {
        int64_t later = cycles * days * DAY_S;
        check_window(z, DAY, 20519 + cycles * days, 1772859600 + later, 1772946000 + later);
        check_window(z, DAY, 20520 + cycles * days, 1772946000 + later, 1773028800 + later);
        check_window(z, DAY, 20758 + cycles * days, 1793505600 + later, 1793595600 + later);
        check_window(z, WEEK, 2931 + cycles * days / 7, 1772427600 + later, 1773028800 + later);
        check_window(z, MONTH, 682 + cycles * 4800, 1793505600 + later, 1796101200 + later);
    }
    /* Where the rules written out end. */
    struct weir_zone_window w, next;
    weir_zone_window_at(z, DAY, z->cycle_end - 400 * DAY_S, &w);
    for (; w.start < z->cycle_end + 400 * DAY_S; w = next) {
        weir_zone_window_search(z, DAY, w.start - days * DAY_S, &next);
        assert_true(
            is_window(&next, w.number - days, w.start - days * DAY_S, w.end - days * DAY_S));
        weir_zone_window_at(z, DAY, w.end, &next);
        assert_true(next.start == w.end && next.number == w.number + 1);
    }
}

static void rules_that_are_none(void **state)
{
    (void)state;
    use_folder();
    static const char *const bad[] = {"EST",
                                      "ES5",
                                      "5EST",
                                      "<+8>-8",
                                      "<+08-8",
                                      "<+08>",
                                      "E+T5",
                                      "EST25",
                                      "EST5:60",
                                      "EST5:",
                                      "EST5:00:60",
                                      "EST5 ",
                                      "EST--5",
                                      "EST99999999999999999999",
                                      "EST5EDT,",
                                      "EST5EDT,M3.2.0",
                                      "EST5EDT,M3.2.0,",
                                      "EST5EDT,M3.2.0,M11.1.0,",
                                      "EST5EDT,M3.2.0,M11.1.0x",
                                      "EST5EDT,M0.2.0,M11.1.0",
                                      "EST5EDT,M13.2.0,M11.1.0",
                                      "EST5EDT,M3.0.0,M11.1.0",
                                      "EST5EDT,M3.6.0,M11.1.0",
                                      "EST5EDT,M3.2.7,M11.1.0",
                                      "EST5EDT,M3.2,M11.1.0",
                                      "EST5EDT,M3.2.0/,M11.1.0",
                                      "EST5EDT,M3.2.0/168,M11.1.0",
                                      "EST5EDT,M3.2.0/-168,M11.1.0",
                                      "EST5EDT,J0,J300",
                                      "EST5EDT,J366,J300",
                                      "EST5EDT,J,J300",
                                      "EST5EDT,366,300",
                                      "EST5ED,M3.2.0,M11.1.0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct file f = make_file('3', sample, SAMPLE, bad[i]);
        if (find_file(&f) != -EINVAL || find_local(bad[i]) != -ENOENT)
            fail_msg("%s was taken", bad[i]);
    }
    /* Without days only where the C library's are meant. */
    struct file f = make_file('3', sample, SAMPLE, "EST5EDT");
    assert_int_equal(find_file(&f), -EINVAL);
    f = sample_file('2');
    f.bytes[f.size - 3] = 0; /* inside the rule */
    assert_int_equal(find_file(&f), -EINVAL);
}

/* ---- a walk through time --------------------------------------------------------------------- */

#define WALK_CHANGES 12
#define WALK_DAYS    90
#define WALK_BEGIN   ((int64_t)1000000020) /* whole minutes; a week and a month end in it */

/* Changes of a zone that no government has thought of: by whole minutes, days apart or minutes. */
static void invent(struct test_random *random, struct change *changes)
{
    int64_t at = WALK_BEGIN;
    for (unsigned i = 0; i < WALK_CHANGES; i++) {
        at += 60 * (1 + (int64_t)random_magnitude(random, 14));
        int32_t wide = random_below(random, 2) != 0 ? 25 * 60 : 90;
        int32_t minutes = (int32_t)random_below(random, (uint64_t)(2 * wide + 1)) - wide;
        changes[i] = (struct change){at, 60 * minutes};
    }
}

static int64_t number_by_hand(enum weir_calendar unit, int64_t local)
{
    int64_t day = local / DAY_S;
    if (unit == DAY)
        return day;
    if (unit == WEEK)
        return (day + 3) / 7;
    time_t instant = (time_t)local;
    struct tm tm;
    assert_non_null(gmtime_r(&instant, &tm));
    return (int64_t)(tm.tm_year - 70) * 12 + tm.tm_mon;
}

/* Each minute: the highest number so far, since when, and until when. */
static void walk(const struct weir_zone *z, const struct change *changes, enum weir_calendar unit)
{
    int64_t t = WALK_BEGIN - 40 * DAY_S;
    int64_t highest = number_by_hand(unit, t + changes[0].offset);
    struct weir_zone_window w;
    weir_zone_window_at(z, unit, t, &w);
    assert_int_equal(w.number, highest);
    unsigned now = 0;
    for (; t < WALK_BEGIN + WALK_DAYS * DAY_S; t += 60) {
        while (now + 1 < WALK_CHANGES && changes[now + 1].at <= t)
            now++;
        int64_t number = number_by_hand(unit, t + changes[now].offset);
        if (number > highest) {
            assert_int_equal(w.end, t);
            for (int64_t n = highest + 1; n <= number; n++)
                assert_int_equal(weir_zone_start_search(z, unit, n), t);
            highest = number;
            weir_zone_window_search(z, unit, t, &w);
            assert_int_equal(w.start, t);
        }
        struct weir_zone_window again;
        weir_zone_window_search(z, unit, t, &again);
        assert_true(is_window(&again, highest, w.start, w.end));
    }
    assert_true(w.end >= t);
}

static void k22_windows_equal_a_walk(void **state)
{
    (void)state;
    use_folder();
    struct test_random random = random_start("a walk", 5);
    uint64_t zones = random_scaled(40);
    for (uint64_t i = 0; i < zones; i++) {
        struct change changes[WALK_CHANGES];
        invent(&random, changes);
        struct file f = make_file('2', changes, WALK_CHANGES, "");
        save("Test", f.bytes, f.size);
        const struct weir_zone *z = zone("Test");
        for (size_t u = 0; u < 3; u++)
            walk(z, changes, units[u]);
    }
}

static void any_instant_has_a_window(void **state)
{
    (void)state;
    struct test_random random = random_start("any instant", 6);
    const struct weir_zone *zones[] = {zone("UTC"), local(SAMPLE_RULE), local("ABC-24")};
    const int64_t far = 100000000000;
    for (unsigned i = 0; i < 200000; i++) {
        const struct weir_zone *z = zones[random_below(&random, 3)];
        enum weir_calendar unit = units[random_below(&random, 3)];
        int64_t t = (int64_t)random_magnitude(&random, 63);
        t = random_below(&random, 2) != 0 ? t : -t;
        if (i < 12)
            t = (int64_t[]){INT64_MIN, INT64_MAX, far, -far}[i % 4];
        int64_t near = t < -far ? -far : t > far ? far : t;
        struct weir_zone_window w;
        weir_zone_window_at(z, unit, t, &w);
        assert_true(w.start <= near && near < w.end);
        assert_int_equal(weir_zone_start_search(z, unit, w.number), w.start);
        assert_int_equal(weir_zone_start_search(z, unit, w.number + 1), w.end);
        weir_zone_window_start(z, unit, t); /* of a number: any will do */
    }
}

/* ---- what is refused ----------------------------------------------------------------------------
 */

static void names_that_are_refused(void **state)
{
    (void)state;
    use_folder();
    struct file f = sample_file('2');
    save("Good", f.bytes, f.size);
    char path[PATH_MAX];
    path_of(path, "Good");
    assert_int_equal(find("Good"), 0);
    assert_int_equal(find(NULL), -EINVAL);
    assert_int_equal(find(""), -EINVAL);
    assert_int_equal(find(path), -EINVAL);
    assert_int_equal(find("/etc/localtime"), -EINVAL);
    assert_int_equal(find(".."), -EINVAL);
    assert_int_equal(find("../Good"), -EINVAL);
    assert_int_equal(find("Sub/../Good"), -EINVAL);
    assert_int_equal(find("Nowhere"), -ENOENT);
    assert_int_equal(find("Nowhere/Else"), -ENOENT);
    assert_int_equal(find("Good/Else"), -ENOENT);
    assert_int_equal(find("CET-1CEST,M3.5.0,M10.5.0/3"), -ENOENT);
    assert_int_equal(find(":Good"), -ENOENT);
    char name[2 * PATH_MAX];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(find(name), -ENOENT);
    name[300] = '\0';
    assert_int_equal(find(name), -ENOENT);
}

static void files_that_are_no_files(void **state)
{
    (void)state;
    use_folder();
    char path[PATH_MAX];
    path_of(path, "Folder");
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    assert_int_equal(find("Folder"), -EINVAL);
    path_of(path, "Pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(find("Pipe"), -EINVAL); /* and does not wait for a writer */
    path_of(path, "Circle");
    assert_int_equal(symlink("Circle", path), 0);
    assert_int_equal(find("Circle"), -EIO);
    path_of(path, "Nothing");
    assert_int_equal(symlink("Nowhere", path), 0);
    assert_int_equal(find("Nothing"), -ENOENT);
    save("Empty", "", 0);
    assert_int_equal(find("Empty"), -EINVAL);
    save("Text", "# a text, and no zone, of more than forty-four bytes\n", 53);
    assert_int_equal(find("Text"), -EINVAL);

    static uint8_t large[(1 << 20) + 1];
    struct file f = sample_file('2');
    memcpy(large, f.bytes, f.size);
    save("Large", large, sizeof large - 1);
    assert_int_equal(find("Large"), 0);
    save("Large", large, sizeof large);
    assert_int_equal(find("Large"), -EINVAL);
}

static void files_cut_short(void **state)
{
    (void)state;
    use_folder();
    for (const char *version = "02"; *version != '\0'; version++) {
        struct file f = sample_file(*version == '0' ? 0 : *version);
        assert_int_equal(find_file(&f), 0);
        while (f.size-- > 0)
            assert_int_equal(find_file(&f), -EINVAL);
    }
}

/* Offsets into the sample's file of version 2. */
enum {
    HEADER = 44,
    SECOND = HEADER + 6 + 4, /* after the first block: one type, four characters */
    TIMES = SECOND + HEADER,
    TYPE_OF = TIMES + 2 * 8,
    TYPES = TYPE_OF + 2,
    NEWLINE = TYPES + 3 * 6 + 4
};

static void expect_damage(size_t at, const void *bytes, size_t size)
{
    struct file f = sample_file('2');
    assert_true(at + size <= f.size);
    memcpy(f.bytes + at, bytes, size);
    if (find_file(&f) != -EINVAL)
        fail_msg("%zu bytes changed at %zu were taken", size, at);
}

static void damaged_files(void **state)
{
    (void)state;
    use_folder();
    for (size_t i = 0; i < 4; i++) {
        expect_damage(i, "x", 1);
        expect_damage(SECOND + i, "x", 1);
    }
    for (unsigned i = 0; i < 4; i++) {
        expect_damage(4,
                      &"1\x05\xff"
                       "5"[i],
                      1);
        expect_damage(SECOND + 4,
                      &"1\x05\xff"
                       "5"[i],
                      1);
    }
    expect_damage(SECOND + 4, "", 1); /* 32-bit times after a header of version 2 */
    /* Counts: of what there is too little for, or none. */
    for (size_t field = 20; field < 44; field += 4) {
        expect_damage(field, "\xff\xff\xff\xff", 4);
        expect_damage(field, "\0\0\1\0", 4);
        expect_damage(SECOND + field, "\xff\xff\xff\xff", 4);
        expect_damage(SECOND + field, "\x7f\xff\xff\xff", 4);
        expect_damage(SECOND + field, "\0\0\1\0", 4);
        expect_damage(SECOND + field, "\0\0\0\1", 4);
    }
    expect_damage(SECOND + 36, "\0\0\0\0", 4);
    expect_damage(SECOND + 40, "\0\0\0\0", 4);
    /* Times that are equal or fall, types that are not there, flags and offsets out of range. */
    expect_damage(TIMES + 8, "\0\0\0\0\x03\xc2\x67\x00", 8);
    expect_damage(TIMES + 8, "\0\0\0\0\x03\xc2\x66\xff", 8);
    expect_damage(TIMES + 8, "\xff", 1);
    expect_damage(TYPE_OF, "\3", 1);
    expect_damage(TYPE_OF + 1, "\xff", 1);
    expect_damage(TYPES + 4, "\2", 1);
    expect_damage(TYPES + 5, "\4", 1);
    expect_damage(TYPES, "\x80\0\0\0", 4);
    expect_damage(TYPES + 6, "\0\1\x6d\xa0", 4);     /* 93600 */
    expect_damage(TYPES + 6, "\xff\xfe\xa0\x70", 4); /* -90000 */
    expect_damage(NEWLINE, "x", 1);
}

static void leap_seconds_are_refused(void **state)
{
    (void)state;
    use_folder();
    struct file f = {0};
    put_header(&f, 0, 0, 1);
    f.bytes[31] = 1; /* leapcnt */
    put_block(&f, sample, 1, 4);
    put(&f, 78796800, 4);
    put(&f, 1, 4);
    assert_int_equal(find_file(&f), -EINVAL);
    f.bytes[31] = 0; /* what follows is not looked at then */
    assert_int_equal(find_file(&f), 0);
}

/* ---- local time, the environment ------------------------------------------------------------- */

static void local_by_the_environment(void **state)
{
    (void)state;
    use_folder();
    struct file f = sample_file('2');
    save("Good", f.bytes, f.size);
    const struct weir_zone *good = zone("Good");
    char path[PATH_MAX];
    char tz[PATH_MAX + 1];
    path_of(path, "Folder");
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    path_of(path, "Good");
    assert_ptr_equal(local("Good"), good);
    assert_ptr_equal(local(":Good"), good);
    assert_ptr_equal(local("./Folder/../Good"), good); /* the environment may say ".." */
    assert_ptr_equal(local(path), good);
    snprintf(tz, sizeof tz, ":%s", path);
    assert_ptr_equal(local(tz), good);
    assert_ptr_equal(local(":UTC"), zone("UTC"));
    assert_ptr_equal(local("UTC0"), zone("UTC"));
    assert_ptr_equal(local(":<-00>+0"), zone("UTC"));
    assert_int_equal(find_local("Nowhere"), -ENOENT);
    assert_int_equal(find_local("local"), -ENOENT);
    assert_int_equal(find_local("/nonexistent/zone"), -ENOENT);
    assert_int_equal(find_local(folder), -EINVAL);
    /* A file's name comes before a rule. */
    save("XST5", f.bytes, f.size);
    assert_ptr_equal(local("XST5"), good);
}

/* TZ empty, or not there: the system's own, which may not be there either. */
static void local_by_the_system(void **state)
{
    (void)state;
    use_folder();
    bool there = access("/etc/localtime", F_OK) == 0;
    int rc = there ? find_local("/etc/localtime") : 0;
    assert_int_equal(find("local"), rc);
    assert_int_equal(find_local(""), rc);
    assert_int_equal(find_local(":"), rc);
    if (rc != 0)
        return;
    const struct weir_zone *expected = there ? local("/etc/localtime") : zone("UTC");
    assert_ptr_equal(zone("local"), expected);
    assert_ptr_equal(local(""), expected);
    assert_ptr_equal(local(":"), expected);
}

static void errno_is_left_alone(void **state)
{
    (void)state;
    use_folder();
    struct file f = sample_file('2');
    save("Good", f.bytes, f.size);
    static const char *const names[] = {"Good", "Nowhere", "UTC", "local", "", "Folder"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        errno = 77;
        find(names[i]);
        assert_int_equal(errno, 77);
    }
}

/* ---- one object for one zone --------------------------------------------------------------------
 */

static void a_zone_is_found_again(void **state)
{
    (void)state;
    use_folder();
    struct file f = sample_file('2');
    save("Good", f.bytes, f.size);
    const struct weir_zone *good = zone("Good");
    assert_ptr_equal(zone("Good"), good);
    save("Same", f.bytes, f.size);
    assert_ptr_equal(zone("Same"), good);

    /* Another abbreviation is no other zone, nor a change to the same; another offset is. */
    struct file renamed = make_file('2', sample, SAMPLE, "XST5XDT,M3.2.0,M11.1.0");
    save("Good", renamed.bytes, renamed.size);
    assert_ptr_equal(zone("Good"), good);
    struct change idle[SAMPLE + 1] = {sample[0], sample[1], {63072001, -14400}, sample[2]};
    struct file longer = make_file('3', idle, SAMPLE + 1, SAMPLE_RULE);
    save("Good", longer.bytes, longer.size);
    assert_ptr_equal(zone("Good"), good);
    struct file changed = make_file('2', sample, SAMPLE, "EST5EDT,M3.2.0,M11.2.0");
    save("Good", changed.bytes, changed.size);
    const struct weir_zone *other = zone("Good");
    assert_ptr_not_equal(other, good);
    check_window(good, DAY, 20758, 1793505600, 1793595600);
    check_window(other, DAY, 20758, 1793505600, 1793592000);
    save("Good", f.bytes, f.size);
    assert_ptr_equal(zone("Good"), good);
}

static const struct weir_zone *found_by[4];

static void find_it(void *context, unsigned index)
{
    const struct weir_zone *z = NULL;
    found_by[index] = weir_zone_find(context, &z) == 0 ? z : NULL;
}

static void threads_find_one_zone(void **state)
{
    (void)state;
    use_folder();
    for (int32_t i = 0; i < 50; i++) {
        struct change once[] = {{0, 100 + i}, {1234567890, 200 + i}};
        struct file f = make_file('2', once, 2, "");
        save("Test", f.bytes, f.size);
        run_crew(4, find_it, "Test");
        for (unsigned j = 0; j < 4; j++)
            assert_ptr_equal(found_by[j], found_by[0]);
        assert_ptr_equal(zone("Test"), found_by[0]);
    }
}

/* ---- the memory of the last window ----------------------------------------------------------- */

static void the_last_window_is_remembered(void **state)
{
    (void)state;
    use_folder();
    struct change once[] = {{0, 4321}};
    struct file f = make_file('2', once, 1, "");
    save("Test", f.bytes, f.size);
    struct weir_zone *z = (struct weir_zone *)zone("Test");
    struct weir_zone_window w;
    assert_true(weir_zone_recall(z, DAY, &w) && is_window(&w, 0, 0, 0));
    weir_zone_window_at(z, DAY, 86400, &w);
    assert_true(weir_zone_recall(z, DAY, &w) && is_window(&w, 1, 82079, 168479));
    assert_true(weir_zone_recall(z, WEEK, &w) && is_window(&w, 0, 0, 0));

    /* With a wrong one there, and so seen to be asked. */
    weir_store_relaxed(&z->recent[0].start, 82078);
    weir_zone_window_at(z, DAY, 82078, &w);
    assert_true(is_window(&w, 1, 82078, 168479));
    assert_int_equal(weir_zone_window_start(z, DAY, 1), 82078);
    assert_int_equal(weir_zone_window_start(z, DAY, 2), 168479);
    assert_int_equal(weir_zone_window_start(z, DAY, 0), -4321);

    /* A writer that was stopped: it is left alone, and nobody waits. */
    weir_add_release(&z->recent[0].version, 1);
    for (unsigned i = 0; i < 2; i++) {
        weir_zone_window_at(z, DAY, 82078, &w);
        assert_true(is_window(&w, 0, -4321, 82079));
        assert_int_equal(weir_zone_window_start(z, DAY, 1), 82079);
        assert_false(weir_zone_recall(z, DAY, &w));
        assert_int_equal(weir_load_relaxed(&z->recent[0].start), 82078);
    }
}

#define CROWD_WINDOWS 8

struct crowd {
    const struct weir_zone *z;
    struct weir_zone_window windows[3][CROWD_WINDOWS];
    struct weir_atomic_u64 wrong, right;
};

static void ask(void *context, unsigned index)
{
    struct crowd *c = context;
    struct test_random random = {index};
    uint64_t wrong = 0;
    uint64_t questions = random_scaled(400000);
    for (uint64_t i = 0; i < questions; i++) {
        uint64_t unit = random_below(&random, 3);
        const struct weir_zone_window *w = &c->windows[unit][random_below(&random, CROWD_WINDOWS)];
        /* Some in a row, so that what is remembered is also found. */
        for (unsigned again = 0; again < 3; again++) {
            int64_t t = w->start + (int64_t)random_below(&random, (uint64_t)(w->end - w->start));
            struct weir_zone_window got;
            weir_zone_window_at(c->z, units[unit], t, &got);
            wrong += !is_window(&got, w->number, w->start, w->end);
            wrong += weir_zone_window_start(c->z, units[unit], w->number) != w->start;
            wrong += weir_zone_window_start(c->z, units[unit], w->number + 1) != w->end;
        }
    }
    weir_add_relaxed(&c->wrong, wrong);
    weir_add_relaxed(&c->right, questions * 9 - wrong);
}

static void threads_share_the_memory(void **state)
{
    (void)state;
    static struct crowd c;
    c.z = local(SAMPLE_RULE);
    for (size_t unit = 0; unit < 3; unit++) {
        int64_t t = 1772600000; /* March 2026, with a day of 23 hours */
        for (unsigned i = 0; i < CROWD_WINDOWS; i++) {
            struct weir_zone_window *w = &c.windows[unit][i];
            weir_zone_window_search(c.z, units[unit], t, w);
            t = w->end;
        }
    }
    run_crew(4, ask, &c);
    assert_int_equal(weir_load_relaxed(&c.wrong), 0);
    assert_int_equal(weir_load_relaxed(&c.right), 4 * 9 * random_scaled(400000));
}

static int begin(void **state)
{
    (void)state;
    const char *set = getenv("TZDIR");
    set = set != NULL && *set != '\0' ? set : "/usr/share/zoneinfo";
    snprintf(database, sizeof database, "%s", set);
    unsetenv("TZ");
    return mkdtemp(folder) == NULL;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_utc),
        cmocka_unit_test(windows_of_known_places),
        cmocka_unit_test(a_skipped_day_is_an_empty_window),
        cmocka_unit_test(a_repeated_date_is_no_new_window),
        cmocka_unit_test(k22_calendar_windows_tile_time),
        cmocka_unit_test(files_of_all_versions),
        cmocka_unit_test(changes_out_of_reach),
        cmocka_unit_test(a_rule_holds_from_the_last_change),
        cmocka_unit_test(a_rule_alone_holds_always),
        cmocka_unit_test(rules),
        cmocka_unit_test(rules_go_on_for_ever),
        cmocka_unit_test(rules_that_are_none),
        cmocka_unit_test(k22_windows_equal_a_walk),
        cmocka_unit_test(any_instant_has_a_window),
        cmocka_unit_test(names_that_are_refused),
        cmocka_unit_test(files_that_are_no_files),
        cmocka_unit_test(files_cut_short),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(leap_seconds_are_refused),
        cmocka_unit_test(local_by_the_environment),
        cmocka_unit_test(local_by_the_system),
        cmocka_unit_test(errno_is_left_alone),
        cmocka_unit_test(a_zone_is_found_again),
        cmocka_unit_test(threads_find_one_zone),
        cmocka_unit_test(the_last_window_is_remembered),
        cmocka_unit_test(threads_share_the_memory),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
