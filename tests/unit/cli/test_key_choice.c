/* SPDX-License-Identifier: MIT */
/* Who a request is counted for. */
#include "key_choice.h"
#include "replay_secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void key_arguments(void **state)
{
    (void)state;
    struct key_choice k;
    assert_true(key_choice_parse("ip", &k));
    assert_int_equal(k.field, LOG_ADDRESS);
    assert_int_equal(k.prefix4, 32);
    assert_int_equal(k.prefix6, 64);
    assert_true(key_choice_parse("ip/24", &k));
    assert_int_equal(k.prefix4, 24);
    assert_int_equal(k.prefix6, 64);
    assert_true(key_choice_parse("ip/0,128", &k));
    assert_int_equal(k.prefix4, 0);
    assert_int_equal(k.prefix6, 128);
    assert_true(key_choice_parse("user", &k));
    assert_int_equal(k.field, LOG_USER);
    assert_true(key_choice_parse("path", &k));
    assert_int_equal(k.field, LOG_PATH);
    assert_true(key_choice_parse("method", &k));
    assert_int_equal(k.field, LOG_METHOD);
    assert_true(key_choice_parse("field:api key", &k));
    assert_int_equal(k.field, LOG_NAMED);
    assert_string_equal(k.field_name, "api key");

    static const char *const wrong[] = {"",       "IP",        "ip/",       "ip/33",   "ip/24,",
                                        "ip/,64", "ip/24,129", "ip/24,64,", "ip/0024", "ips",
                                        "field:", "field",     "users",     "ip/-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (key_choice_parse(wrong[i], &k))
            fail_msg("\"%s\" is a key", wrong[i]);
    }
}

static weir_key key_of(const struct key_choice *k, const char *text)
{
    struct client_key client;
    struct slice field = {text, strlen(text)};
    key_choice_apply(k, field, &client);
    return client.key;
}

static int same(weir_key a, weir_key b)
{
    return a.high == b.high && a.low == b.low;
}

static void who_is_one_client(void **state)
{
    (void)state;
    struct weir_options options = {
        .size = sizeof options, .max_keys = 1, .secret = replay_secret()};
    struct weir *w, *again;
    struct key_choice k, coarse;
    assert_int_equal(weir_open(&w, &options), 0);
    assert_int_equal(weir_open(&again, &options), 0);
    assert_true(key_choice_parse("ip", &k));
    assert_true(key_choice_parse("ip/24,48", &coarse));
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
        cmocka_unit_test(key_arguments),
        cmocka_unit_test(who_is_one_client),
    };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
