/* SPDX-License-Identifier: MIT */
/* How numbers, times, spans and keys are written. */
#include "keymap.h"
#include "spans.h"
#include "table.h"
#include "text.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void take(struct text *t, const char *expected)
{
    assert_string_equal(t->data, expected);
    assert_int_equal(t->size, strlen(expected));
    text_free(t);
}

static void counts(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *text;
    } cases[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {123456, "123,456"},
                 {1234567, "1,234,567"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = {0};
        text_put_count(&t, cases[i].value);
        take(&t, cases[i].text);
    }
}

static void times(void **state)
{
    (void)state;
    static const struct {
        struct log_time time;
        const char *rfc3339, *plain;
    } cases[] = {
        {{0, 0}, "1970-01-01T00:00:00Z", "1970-01-01 00:00:00 +00:00"},
        {{0, -60}, "1969-12-31T23:00:00-01:00", "1969-12-31 23:00:00 -01:00"},
        {{1431857103250000000, 480}, "2015-05-17T18:05:03.25+08:00", "2015-05-17 18:05:03 +08:00"},
        {{1709251199000000001, -210},
         "2024-02-29T20:29:59.000000001-03:30",
         "2024-02-29 20:29:59 -03:30"},
        {{951782400000000000, 0}, "2000-02-29T00:00:00Z", "2000-02-29 00:00:00 +00:00"},
        {{INT64_MAX, 0}, "2262-04-11T23:47:16.854775807Z", "2262-04-11 23:47:16 +00:00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = {0};
        text_put_rfc3339(&t, &cases[i].time);
        struct log_time back = {-1, -1};
        if (cases[i].rfc3339[2] != '6' && cases[i].rfc3339[0] == '2') {
            assert_null(log_time_read(t.data, t.size, &back));
            assert_true(back.unix_ns == cases[i].time.unix_ns);
            assert_int_equal(back.offset_min, cases[i].time.offset_min);
        }
        take(&t, cases[i].rfc3339);
        text_put_time(&t, &cases[i].time, true);
        take(&t, cases[i].plain);
        text_put_time(&t, &cases[i].time, false);
        assert_int_equal(t.size, 19);
        text_free(&t);
    }
}

static void spans(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *exact, *brief;
    } cases[] = {
        {0, "0 ns", "0 ns"},
        {1, "1 ns", "1 ns"},
        {1500, "1.5 us", "1.5 us"},
        {250000000, "250 ms", "250 ms"},
        {6000000000, "6 s", "6 s"},
        {1234567891, "1.234567891 s", "1.234 s"},
        {60000000000, "1 min", "1 min"},
        {90000000000, "1 min 30 s", "1 min 30 s"},
        {60500000000, "1 min 0.5 s", "1 min 0 s"},
        {298859000000000, "3 d 11 h 59 s", "3 d 11 h"},
        {86400000000000, "1 d", "1 d"},
        {31536000000000000, "365 d", "365 d"},
        {UINT64_MAX, "about 585 years", "about 585 years"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = {0};
        span_put(&t, cases[i].ns);
        take(&t, cases[i].exact);
        span_put_short(&t, cases[i].ns);
        take(&t, cases[i].brief);
    }
    struct text t = {0};
    span_put_quotient(&t, 60000000000, 10);
    take(&t, "6 s");
    span_put_quotient(&t, 1000000000, 3);
    take(&t, "333.333333 ms");
    span_put_quotient(&t, 1, 10);
    take(&t, "0.100 ns");
    span_put_quotient(&t, 1000000007, 1000000);
    take(&t, "1 us");
    span_put_quotient(&t, 2000, 3);
    take(&t, "666.666 ns");
}

static void check_printable(const char *data, size_t size, bool utf8, size_t width,
                            const char *expected)
{
    struct text t = {0};
    text_put_printable(&t, data, size, utf8, width);
    take(&t, expected);
}

static void keys_on_a_terminal(void **state)
{
    (void)state;
    check_printable("plain \\ key", 11, true, 60, "plain \\ key");
    check_printable("\033[2J\r\n\177", 7, true, 60, "\\x1b[2J\\x0d\\x0a\\x7f");
    check_printable("a\0b", 3, true, 60, "a\\x00b");
    check_printable("\xff\xc0\x80", 3, true, 60, "\\xff\\xc0\\x80");
    check_printable("caf\xc3\xa9", 5, true, 60, "caf\xc3\xa9");
    check_printable("caf\xc3\xa9", 5, false, 60, "caf\\xc3\\xa9");
    check_printable("\xe2\x80\xae", 3, true, 60, "\\xe2\\x80\\xae"); /* turns text around */
    check_printable("\xc2\x9b", 2, true, 60, "\\xc2\\x9b");          /* a control of 8 bits */
    check_printable("0123456789", 10, true, 10, "0123456789");
    check_printable("0123456789a", 11, true, 10, "0123456...");
    check_printable("012345\033", 7, true, 9, "012345...");
    assert_int_equal(text_width("caf\xc3\xa9", 5), 4);
    assert_int_equal(text_width("\xe6\xb0\xb4", 3), 2);
}

static void check_utf8(const char *data, size_t size, const char *expected)
{
    struct text t = {0};
    text_put_utf8(&t, data, size);
    take(&t, expected);
}

#define MARK "\xef\xbf\xbd"

static void keys_in_json(void **state)
{
    (void)state;
    check_utf8("a\\xff", 5, "a\\xff");
    check_utf8("caf\xc3\xa9 \xf0\x9f\x98\x80", 10, "caf\xc3\xa9 \xf0\x9f\x98\x80");
    check_utf8("\xff", 1, MARK "ff");
    check_utf8(MARK, 3, MARK "ef" MARK "bf" MARK "bd");
    check_utf8(MARK "ff", 5,
               MARK "ef" MARK "bf" MARK "bd"
                    "ff");
    check_utf8("\xc3", 1, MARK "c3");
    check_utf8("\xc0\xaf", 2, MARK "c0" MARK "af");
    check_utf8("\xed\xa0\x80", 3, MARK "ed" MARK "a0" MARK "80");
    check_utf8("\xf4\x90\x80\x80", 4, MARK "f4" MARK "90" MARK "80" MARK "80");
    struct text t = {0};
    text_put_utf8(&t, "a\0b", 3);
    assert_int_equal(t.size, 3);
    assert_memory_equal(t.data, "a\0b", 3);
    text_free(&t);
}

/* Every text of up to two bytes is written differently from every other. */
static void keys_in_json_are_told_apart(void **state)
{
    (void)state;
    static char *written[256 + 65536];
    static size_t sizes[256 + 65536];
    for (size_t i = 0; i < 256 + 65536; i++) {
        char bytes[2] = {(char)(i < 256 ? i : (i - 256) >> 8), (char)(i - 256)};
        struct text t = {0};
        text_put_utf8(&t, bytes, i < 256 ? 1 : 2);
        written[i] = t.data;
        sizes[i] = t.size;
    }
    /* what is written decodes to what was given: then no two are equal */
    for (size_t i = 0; i < 256 + 65536; i++) {
        char decoded[8];
        size_t count = 0;
        for (size_t at = 0; at < sizes[i];) {
            unsigned byte = (unsigned char)written[i][at];
            if (memcmp(written[i] + at, MARK, 3) == 0) {
                assert_int_equal(sscanf(written[i] + at + 3, "%2x", &byte), 1);
                at += 5;
            } else {
                at++;
            }
            decoded[count++] = (char)byte;
        }
        char bytes[2] = {(char)(i < 256 ? i : (i - 256) >> 8), (char)(i - 256)};
        assert_int_equal(count, i < 256 ? 1 : 2);
        assert_memory_equal(decoded, bytes, count);
        free(written[i]);
    }
}

static void long_keys(void **state)
{
    (void)state;
    char bytes[KEYMAP_TEXT_MAX + 10];
    memset(bytes, 'k', sizeof bytes);
    struct keymap *map = keymap_open(2, 1);
    weir_key a = {1, 2}, b = {0x123456789abcdef0, 0xfedcba9876543210};
    assert_int_equal(keymap_intern(map, a, (struct slice){bytes, KEYMAP_TEXT_MAX}), 0);
    assert_int_equal(keymap_intern(map, b, (struct slice){bytes, sizeof bytes}), 1);
    struct text t = {0};
    key_entry_put_text(keymap_at(map, 0), &t);
    assert_int_equal(t.size, KEYMAP_TEXT_MAX);
    assert_memory_equal(t.data, bytes, t.size);
    text_clear(&t);
    key_entry_put_text(keymap_at(map, 1), &t);
    assert_memory_equal(t.data, bytes, KEYMAP_TEXT_MAX);
    assert_string_equal(t.data + KEYMAP_TEXT_MAX, MARK "+10#123456789abcdef0fedcba9876543210");
    text_free(&t);
    keymap_close(map);
}

static void the_key_map(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    struct keymap *map = keymap_open(KEYS, 3);
    for (uint32_t i = 0; i < KEYS; i++) {
        char text[16];
        int size = snprintf(text, sizeof text, "key %u", i);
        weir_key key = {i * UINT64_C(0x9e3779b97f4a7c15), i % 7}; /* many of one hash */
        assert_int_equal(keymap_intern(map, key, (struct slice){text, (size_t)size}), i);
        keymap_at(map, i)->counts[2].denied = i;
    }
    weir_key unknown = {1, 8};
    assert_true(keymap_intern(map, unknown, (struct slice){"x", 1}) == KEYMAP_NONE);
    assert_int_equal(keymap_size(map), KEYS);
    for (uint32_t i = 0; i < KEYS; i++) {
        weir_key key = {i * UINT64_C(0x9e3779b97f4a7c15), i % 7};
        char text[16];
        bool whole;
        int size = snprintf(text, sizeof text, "key %u", i);
        assert_int_equal(keymap_intern(map, key, (struct slice){"other", 5}), i);
        const struct key_entry *entry = keymap_at(map, i);
        struct slice bytes = key_entry_bytes(entry, &whole);
        assert_true(whole);
        assert_int_equal(bytes.size, size);
        assert_memory_equal(bytes.data, text, bytes.size);
        assert_int_equal(entry->counts[0].allowed, 0);
        assert_int_equal(entry->counts[2].denied, i);
        assert_true(entry->first == UINT64_MAX);
    }
    keymap_close(map);
}

static void tables(void **state)
{
    (void)state;
    static const char *const cells[] = {"name", "count",     "note",  "\xc3\xa9", "7",
                                        "",     "long name", "1,234", "last"};
    struct table table = {.columns = 3, .right = {false, true, false}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
        text_print(table_cell(&table), "%s", cells[i]);
    char *printed;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    table_print(&table, ".", false, out);
    fclose(out);
    assert_string_equal(printed, ".name       count  note\n"
                                 ".\xc3\xa9              7\n"
                                 ".long name  1,234  last\n");
    free(printed);
    table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),       cmocka_unit_test(times),
        cmocka_unit_test(spans),        cmocka_unit_test(keys_on_a_terminal),
        cmocka_unit_test(keys_in_json), cmocka_unit_test(keys_in_json_are_told_apart),
        cmocka_unit_test(long_keys),    cmocka_unit_test(the_key_map),
        cmocka_unit_test(tables),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
