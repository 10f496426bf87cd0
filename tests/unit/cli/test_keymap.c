/* SPDX-License-Identifier: MIT */
/* The distinct keys of a log, and what they are called. */
#include "keymap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MARK "\xef\xbf\xbd"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_keys),
        cmocka_unit_test(the_key_map),
    };
    return cmocka_run_group_tests_name("key map", tests, NULL, NULL);
}
