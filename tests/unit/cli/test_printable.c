/* SPDX-License-Identifier: MIT */
/* Text of any bytes for a terminal and for JSON. */
#include "printable.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MARK "\xef\xbf\xbd"

static void take(struct text *t, const char *expected)
{
    assert_string_equal(t->data, expected);
    assert_int_equal(t->size, strlen(expected));
    text_free(t);
}

static void check_printable(const char *data, size_t size, bool utf8, size_t width,
                            const char *expected)
{
    struct text t = {0};
    printable_put(&t, data, size, utf8, width);
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
    assert_int_equal(printable_width("caf\xc3\xa9", 5), 4);
    assert_int_equal(printable_width("\xe6\xb0\xb4", 3), 2);
}

/* The characters at the ends of each range, and those beside them. */
static void what_does_not_show_is_escaped(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "\xc2\xad",     "\xd8\x9c",     "\xe1\xa0\x8e",     "\xe2\x80\x8b",    "\xe2\x80\x8f",
        "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa0",     "\xe2\x81\xaf",    "\xef\xbf\xb9",
        "\xef\xbf\xbb", "\xef\xbb\xbf", "\xf3\xa0\x80\x80", "\xf3\xa0\x81\xbf"};
    static const char *const shown[] = {"\xc2\xac",     "\xc2\xae",     "\xe1\xa0\x8d",
                                        "\xe2\x80\x8a", "\xe2\x80\x90", "\xe2\x80\xaf",
                                        "\xe2\x81\x9f", "\xef\xbf\xbc"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        struct text expected = {0};
        for (const char *byte = hidden[i]; *byte != '\0'; byte++)
            text_print(&expected, "\\x%02x", (unsigned char)*byte);
        check_printable(hidden[i], strlen(hidden[i]), true, 60, expected.data);
        text_free(&expected);
    }
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        check_printable(shown[i], strlen(shown[i]), true, 60, shown[i]);
}

static void check_utf8(const char *data, size_t size, const char *expected)
{
    struct text t = {0};
    utf8_put(&t, data, size);
    take(&t, expected);
}

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
    utf8_put(&t, "a\0b", 3);
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
        utf8_put(&t, bytes, i < 256 ? 1 : 2);
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

static int set_locale(void **state)
{
    (void)state;
    return setlocale(LC_CTYPE, "C.UTF-8") != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_on_a_terminal),
        cmocka_unit_test(what_does_not_show_is_escaped),
        cmocka_unit_test(keys_in_json),
        cmocka_unit_test(keys_in_json_are_told_apart),
    };
    return cmocka_run_group_tests_name("printable text", tests, set_locale, NULL);
}
