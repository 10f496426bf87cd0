/* SPDX-License-Identifier: MIT */
/*
 * Time zones as they are read: files and rules of all forms, those that are none, and the local
 * zone. All of the files are the tests' own. The windows of zones: test_zone.c.
 */
#include "zones.h"

#include <errno.h>
#include <sys/stat.h>

/* ---- files of our own ----------------------------------------------------------------------- */

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
    assert_ptr_equal(zone("Z"), zone("UTC"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_all_versions),
        cmocka_unit_test(changes_out_of_reach),
        cmocka_unit_test(a_rule_holds_from_the_last_change),
        cmocka_unit_test(a_rule_alone_holds_always),
        cmocka_unit_test(rules),
        cmocka_unit_test(rules_go_on_for_ever),
        cmocka_unit_test(rules_that_are_none),
        cmocka_unit_test(names_that_are_refused),
        cmocka_unit_test(files_that_are_no_files),
        cmocka_unit_test(files_cut_short),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(leap_seconds_are_refused),
        cmocka_unit_test(local_by_the_environment),
        cmocka_unit_test(local_by_the_system),
        cmocka_unit_test(errno_is_left_alone),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
