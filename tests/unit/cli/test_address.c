/* SPDX-License-Identifier: MIT */
/* Client addresses as logs write them. */
#include "address.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(no_addresses),
    };
    return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
