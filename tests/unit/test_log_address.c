/* SPDX-License-Identifier: MIT */
/* Client addresses as logs write them, and the keys they make. */
#include "keying.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *text, unsigned prefix4, unsigned prefix6, const char *expected)
{
    union address address;
    char written[ADDRESS_TEXT_MAX];
    if (!address_read(text, strlen(text), &address))
        fail_msg("%s is no address", text);
    address_write(&address, prefix4, prefix6, written);
    assert_string_equal(written, expected);
}

static void addresses(void **state)
{
    (void)state;
    check("192.0.2.1", 32, 64, "192.0.2.1");
    check("192.0.2.1:443", 32, 64, "192.0.2.1");
    check("::ffff:192.0.2.1", 32, 64, "192.0.2.1");
    check("[::ffff:192.0.2.1]:80", 32, 64, "192.0.2.1");
    check("2001:DB8::1", 32, 128, "2001:db8::1");
    check("2001:db8:0:0:0:0:0:1", 32, 128, "2001:db8::1");
    check("[2001:db8::1]", 32, 128, "2001:db8::1");
    check("[2001:db8::1]:8080", 32, 128, "2001:db8::1");
    check("fe80::1%eth0", 32, 128, "fe80::1");
    check("[fe80::1%eth0]:22", 32, 128, "fe80::1");
}

static void prefixes(void **state)
{
    (void)state;
    check("192.0.2.255", 24, 64, "192.0.2.0/24");
    check("192.0.2.255", 25, 64, "192.0.2.128/25");
    check("192.0.2.255", 31, 64, "192.0.2.254/31");
    check("192.0.2.255", 0, 64, "0.0.0.0/0");
    check("2001:db8:1:2:3:4:5:6", 32, 64, "2001:db8:1:2::/64");
    check("2001:db8:1:2ff:3:4:5:6", 32, 56, "2001:db8:1:200::/56");
    check("2001:db8:1:2:3:4:5:6", 32, 0, "::/0");
    check("2001:db8::ffff", 32, 127, "2001:db8::fffe/127");
}

static void no_addresses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "-",
        "localhost",
        "192.0.2",
        "192.0.2.256",
        "192.0.2.1:",
        "192.0.2.1:x",
        "192.0.2.1 ",
        "192.0.2.1:123456",
        "[192.0.2.1]",
        "[::1",
        "[::1]x",
        "[::1]:",
        "::1%",
        "1:2:3",
        "unix:",
        "192.0.2.1, 192.0.2.2",
        "2001:db8::/32",
        "0x7f.0.0.1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (address_is(texts[i], strlen(texts[i])))
            fail_msg("\"%s\" is an address", texts[i]);
    }
    char many[4096];
    memset(many, '1', sizeof many);
    assert_false(address_is(many, sizeof many));
    assert_false(address_is("192.0.2.1\0", 10));
}

static void key_arguments(void **state)
{
    (void)state;
    struct keying k;
    assert_true(keying_parse("ip", &k));
    assert_int_equal(k.field, LOG_ADDRESS);
    assert_int_equal(k.prefix4, 32);
    assert_int_equal(k.prefix6, 64);
    assert_true(keying_parse("ip/24", &k));
    assert_int_equal(k.prefix4, 24);
    assert_int_equal(k.prefix6, 64);
    assert_true(keying_parse("ip/0,128", &k));
    assert_int_equal(k.prefix4, 0);
    assert_int_equal(k.prefix6, 128);
    assert_true(keying_parse("user", &k));
    assert_int_equal(k.field, LOG_USER);
    assert_true(keying_parse("path", &k));
    assert_int_equal(k.field, LOG_PATH);
    assert_true(keying_parse("method", &k));
    assert_int_equal(k.field, LOG_METHOD);
    assert_true(keying_parse("field:api key", &k));
    assert_int_equal(k.field, LOG_NAMED);
    assert_string_equal(k.field_name, "api key");

    static const char *const wrong[] = {"",       "IP",        "ip/",       "ip/33",   "ip/24,",
                                        "ip/,64", "ip/24,129", "ip/24,64,", "ip/0024", "ips",
                                        "field:", "field",     "users",     "ip/-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (keying_parse(wrong[i], &k))
            fail_msg("\"%s\" is a key", wrong[i]);
    }
}

static weir_key key_of(const struct keying *k, const char *text)
{
    struct keyed keyed;
    struct slice field = {text, strlen(text)};
    keying_apply(k, field, &keyed);
    return keyed.key;
}

static int same(weir_key a, weir_key b)
{
    return a.high == b.high && a.low == b.low;
}

static void who_is_one_client(void **state)
{
    (void)state;
    struct weir_options options = {
        .size = sizeof options, .max_keys = 1, .secret = keying_secret()};
    struct weir *w, *again;
    struct keying k, coarse;
    assert_int_equal(weir_open(&w, &options), 0);
    assert_int_equal(weir_open(&again, &options), 0);
    assert_true(keying_parse("ip", &k));
    assert_true(keying_parse("ip/24,48", &coarse));
    k.engine = coarse.engine = w;
    assert_true(same(key_of(&k, "192.0.2.1"), key_of(&k, "[::ffff:192.0.2.1]:99")));
    assert_true(same(key_of(&k, "2001:db8::1"), key_of(&k, "2001:db8::2")));
    assert_false(same(key_of(&k, "192.0.2.1"), key_of(&k, "192.0.2.2")));
    assert_false(same(key_of(&k, "2001:db8:0:1::1"), key_of(&k, "2001:db8:0:2::1")));
    assert_true(same(key_of(&coarse, "192.0.2.1"), key_of(&coarse, "192.0.2.2")));
    assert_true(same(key_of(&coarse, "2001:db8:0:1::1"), key_of(&coarse, "2001:db8:0:2::1")));
    assert_false(same(key_of(&k, "client.example"), key_of(&k, "other.example")));
    assert_true(same(key_of(&k, "client.example"), weir_key_text(w, "client.example")));

    weir_key before = key_of(&k, "192.0.2.1");
    k.engine = again;
    assert_true(same(before, key_of(&k, "192.0.2.1")));
    weir_close(w);
    weir_close(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),         cmocka_unit_test(prefixes),
        cmocka_unit_test(no_addresses),      cmocka_unit_test(key_arguments),
        cmocka_unit_test(who_is_one_client),
    };
    return cmocka_run_group_tests_name("log addresses", tests, NULL, NULL);
}
