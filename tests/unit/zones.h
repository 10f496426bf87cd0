/* SPDX-License-Identifier: MIT */
/*
 * What the tests of time zones share: zones by name and of files that the tests write, and their
 * windows, found in every way.
 */
#ifndef WEIR_TESTS_ZONES_H
#define WEIR_TESTS_ZONES_H

#include "../support.h"

#include "zone.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define DAY_S ((int64_t)86400)

#define DAY   WEIR_CALENDAR_DAY
#define WEEK  WEIR_CALENDAR_WEEK
#define MONTH WEIR_CALENDAR_MONTH

static const enum weir_calendar units[] = {DAY, WEEK, MONTH};

static char folder[] = "/tmp/weir-zones-XXXXXX"; /* holds the files that the tests write */
static char database[PATH_MAX];                  /* the system's */

static inline void use_folder(void)
{
    assert_int_equal(setenv("TZDIR", folder, 1), 0);
}

/* Not cmocka's skip(), which its TAP calls "not ok". */
static inline bool has_database(void)
{
    assert_int_equal(setenv("TZDIR", database, 1), 0);
    const struct weir_zone *z;
    if (weir_zone_find("America/New_York", &z) == 0)
        return true;
    print_message("# skipped: no time zone database here\n");
    return false;
}

static inline const struct weir_zone *zone(const char *name)
{
    const struct weir_zone *z = NULL;
    int rc = weir_zone_find(name, &z);
    if (rc != 0)
        print_error("%s: %d\n", name, rc);
    assert_int_equal(rc, 0);
    return z;
}

static inline int find(const char *name)
{
    const struct weir_zone *z;
    return weir_zone_find(name, &z);
}

static inline int find_local(const char *tz)
{
    assert_int_equal(setenv("TZ", tz, 1), 0);
    int rc = find("local");
    unsetenv("TZ");
    return rc;
}

static inline const struct weir_zone *local(const char *tz)
{
    assert_int_equal(setenv("TZ", tz, 1), 0);
    const struct weir_zone *z = zone("local");
    unsetenv("TZ");
    return z;
}

/* ---- windows -------------------------------------------------------------------------------- */

static inline bool is_window(const struct weir_zone_window *w, int64_t number, int64_t start,
                             int64_t end)
{
    return w->number == number && w->start == start && w->end == end;
}

/* By searching and, twice, through the memory of the last window. */
static inline void check_at(const struct weir_zone *z, enum weir_calendar unit, int64_t t,
                            int64_t number, int64_t start, int64_t end)
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

static inline void check_window(const struct weir_zone *z, enum weir_calendar unit, int64_t number,
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

/* A window that is known of a place, or of a rule. */
struct known {
    const char *zone;
    enum weir_calendar unit;
    int64_t number, start, end;
};

/* ---- files of our own ----------------------------------------------------------------------- */

struct file {
    size_t size;
    uint8_t bytes[8192];
};

static inline void put(struct file *f, uint64_t value, unsigned bytes)
{
    assert_true(f->size + bytes <= sizeof f->bytes);
    for (unsigned i = bytes; i-- > 0;)
        f->bytes[f->size++] = (uint8_t)(value >> (8 * i));
}

static inline void put_header(struct file *f, char version, uint32_t times, uint32_t types)
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
static inline void put_block(struct file *f, const struct change *changes, unsigned count,
                             unsigned bytes)
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

static inline struct file make_file(char version, const struct change *changes, unsigned count,
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

static inline void path_of(char path[PATH_MAX], const char *name)
{
    assert_true(snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
}

static inline void save(const char *name, const void *bytes, size_t size)
{
    char path[PATH_MAX];
    path_of(path, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline int find_file(const struct file *f)
{
    save("Test", f->bytes, f->size);
    return find("Test");
}

/* 1972-01-01 00:00 and 2007-11-04 06:00. */
static const struct change sample[] = {{0, -17762}, {63072000, -14400}, {1194156000, -18000}};
#define SAMPLE      3
#define SAMPLE_RULE "EST5EDT,M3.2.0,M11.1.0"

static inline struct file sample_file(char version)
{
    return make_file(version, sample, SAMPLE, SAMPLE_RULE);
}

/* ---- the beginning and the end of a program ------------------------------------------------- */

static inline int begin(void **state)
{
    (void)state;
    const char *set = getenv("TZDIR");
    set = set != NULL && *set != '\0' ? set : "/usr/share/zoneinfo";
    snprintf(database, sizeof database, "%s", set);
    unsetenv("TZ");
    return mkdtemp(folder) == NULL;
}

static inline int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int end(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
