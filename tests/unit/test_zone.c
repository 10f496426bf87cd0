/* SPDX-License-Identifier: MIT */
/*
 * Time zones and their calendar windows: against known days, a walk minute by minute, and the C
 * library. The files that they are read from: test_zone_files.c.
 *
 * Tests of known places need the system's database and are skipped without it; the others write
 * their own. Places are looked at in years that are over, or whose rules have long stood.
 */
#include "zones.h"

#include <sys/stat.h>
#include <time.h>

/* ---- windows -------------------------------------------------------------------------------- */

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
static const struct known known[] = {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_utc),
        cmocka_unit_test(windows_of_known_places),
        cmocka_unit_test(a_skipped_day_is_an_empty_window),
        cmocka_unit_test(a_repeated_date_is_no_new_window),
        cmocka_unit_test(k22_calendar_windows_tile_time),
        cmocka_unit_test(k22_windows_equal_a_walk),
        cmocka_unit_test(any_instant_has_a_window),
        cmocka_unit_test(a_zone_is_found_again),
        cmocka_unit_test(threads_find_one_zone),
        cmocka_unit_test(the_last_window_is_remembered),
        cmocka_unit_test(threads_share_the_memory),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
