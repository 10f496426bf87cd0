/* SPDX-License-Identifier: MIT */
/*
 * Keys: canonical and injective (K23), keyed by a secret (K25).
 */
#include "../support.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

static const uint8_t secret[WEIR_SECRET_SIZE] = {1, 2, 3};

static struct weir *open_keyed(void)
{
    struct weir_options options = {0};
    options.secret = secret;
    return open_engine(&options);
}

static bool same(weir_key a, weir_key b)
{
    return a.high == b.high && a.low == b.low;
}

static weir_key v4(const struct weir *w, const char *text, unsigned prefix, unsigned port)
{
    struct sockaddr_in in;
    memset(&in, 0xAA, sizeof in); /* padding must not count */
    in.sin_family = AF_INET;
    in.sin_port = htons((uint16_t)port);
    assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
    return weir_key_address(w, (struct sockaddr *)&in, prefix, 64);
}

static weir_key v6(const struct weir *w, const char *text, unsigned prefix6, unsigned scope)
{
    struct sockaddr_in6 in6;
    memset(&in6, 0, sizeof in6);
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons((uint16_t)scope);
    in6.sin6_flowinfo = scope;
    in6.sin6_scope_id = scope;
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return weir_key_address(w, (struct sockaddr *)&in6, 32, prefix6);
}

static void k23_whole_length_and_NULs_count(void **state)
{
    (void)state;
    struct weir *w = open_keyed();
    static char text[70000];
    memset(text, 'a', sizeof text);
    static const size_t sizes[] = {0,   1,   3,   8,   9,   16,  17,    128,   129,
                                   240, 241, 254, 255, 256, 257, 65535, 65536, 70000};
    size_t count = sizeof sizes / sizeof sizes[0];
    for (size_t i = 0; i < count; i++) {
        weir_key key = weir_key_bytes(w, text, sizes[i]);
        assert_true(same(key, weir_key_bytes(w, text, sizes[i])));
        for (size_t j = 0; j < i; j++)
            assert_false(same(key, weir_key_bytes(w, text, sizes[j])));
        if (sizes[i] > 0) {
            /* the last byte counts */
            text[sizes[i] - 1] = '\0';
            assert_false(same(key, weir_key_bytes(w, text, sizes[i])));
            text[sizes[i] - 1] = 'a';
        }
    }
    assert_true(same(weir_key_bytes(w, NULL, 0), weir_key_bytes(w, "x", 0)));
    assert_true(same(weir_key_text(w, "user"), weir_key_bytes(w, "user", 4)));
    assert_false(same(weir_key_text(w, "user"), weir_key_bytes(w, "user", 5)));
    weir_close(w);
}

static void k23_name_spaces_differ(void **state)
{
    (void)state;
    struct weir *w = open_keyed();
    uint64_t id = 0x3132333435363738;
    assert_false(same(weir_key_u64(w, id), weir_key_bytes(w, &id, sizeof id)));
    assert_false(same(weir_key_text(w, "192.0.2.1"), v4(w, "192.0.2.1", 32, 0)));
    assert_false(same(weir_key_u64(w, 1), weir_key_u64(w, 2)));
    weir_close(w);
}

static void k23_addresses(void **state)
{
    (void)state;
    struct weir *w = open_keyed();
    weir_key key = v4(w, "192.0.2.77", 32, 80);
    assert_true(same(key, v4(w, "192.0.2.77", 32, 443)));
    assert_true(same(key, v4(w, "192.0.2.77", 999, 1)));
    assert_true(same(key, v6(w, "::ffff:192.0.2.77", 64, 3)));
    assert_true(same(key, v6(w, "::ffff:192.0.2.77", 0, 3)));
    assert_false(same(key, v4(w, "192.0.2.78", 32, 80)));
    assert_true(same(v4(w, "192.0.2.77", 24, 1), v4(w, "192.0.2.200", 24, 2)));
    assert_false(same(v4(w, "192.0.2.77", 24, 1), v4(w, "192.0.3.77", 24, 1)));
    assert_true(same(v4(w, "192.0.2.77", 31, 1), v4(w, "192.0.2.76", 31, 1)));
    assert_false(same(v4(w, "192.0.2.77", 31, 1), v4(w, "192.0.2.78", 31, 1)));
    /* a network is not the host that has its number */
    assert_false(same(v4(w, "192.0.2.0", 24, 1), v4(w, "192.0.2.0", 32, 1)));
    assert_true(same(v4(w, "192.0.2.1", 0, 1), v4(w, "203.0.113.9", 0, 1)));

    assert_true(same(v6(w, "2001:db8::1", 64, 0), v6(w, "2001:db8::ffff:2", 64, 9)));
    assert_false(same(v6(w, "2001:db8::1", 64, 0), v6(w, "2001:db8:0:1::1", 64, 0)));
    assert_false(same(v6(w, "2001:db8::1", 128, 0), v6(w, "2001:db8::2", 128, 0)));
    assert_true(same(v6(w, "2001:db8:0:ff00::", 56, 0), v6(w, "2001:db8:0:ffff::", 56, 0)));
    assert_true(same(v6(w, "2001:db8:0:fe00::", 57, 0), v6(w, "2001:db8:0:fe7f::", 57, 0)));
    assert_false(same(v6(w, "2001:db8:0:fe00::", 57, 0), v6(w, "2001:db8:0:fe80::", 57, 0)));
    /* compatible and translated forms are not mapped ones */
    assert_false(same(v6(w, "::192.0.2.77", 128, 0), key));
    assert_false(same(v6(w, "64:ff9b::192.0.2.77", 128, 0), key));
    weir_close(w);
}

static void k24_unknown_addresses_share_one_key(void **state)
{
    (void)state;
    struct weir *w = open_keyed();
    struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/a"};
    weir_key unknown = weir_key_address(w, NULL, 32, 64);
    assert_true(same(unknown, weir_key_address(w, (struct sockaddr *)&un, 32, 64)));
    assert_false(same(unknown, v4(w, "0.0.0.0", 0, 0)));
    assert_false(same(unknown, v6(w, "::", 0, 0)));
    weir_close(w);
}

static void join_keeps_order_and_differs(void **state)
{
    (void)state;
    struct weir *w = open_keyed();
    weir_key a = weir_key_text(w, "a");
    weir_key b = weir_key_text(w, "b");
    weir_key c = weir_key_text(w, "c");
    assert_true(same(weir_key_join(a, b), weir_key_join(a, b)));
    assert_false(same(weir_key_join(a, b), weir_key_join(b, a)));
    assert_false(
        same(weir_key_join(weir_key_join(a, b), c), weir_key_join(a, weir_key_join(b, c))));
    assert_false(same(weir_key_join(a, a), weir_key_join(b, b)));
    weir_close(w);
}

/* K25: chosen collisions need the secret; the same secret gives the same keys. */
static void k25_secrets(void **state)
{
    (void)state;
    struct weir *w = open_keyed();
    struct weir *again = open_keyed();
    struct weir *random = open_engine(NULL);
    struct weir *other = open_engine(NULL);
    assert_true(same(weir_key_text(w, "x"), weir_key_text(again, "x")));
    assert_true(same(weir_key_u64(w, 7), weir_key_u64(again, 7)));
    assert_true(same(v4(w, "192.0.2.1", 32, 0), v4(again, "192.0.2.1", 32, 0)));
    assert_false(same(weir_key_text(random, "x"), weir_key_text(other, "x")));
    assert_false(same(weir_key_u64(random, 7), weir_key_u64(other, 7)));
    assert_false(same(v4(random, "192.0.2.1", 32, 0), v4(other, "192.0.2.1", 32, 0)));
    weir_close(w);
    weir_close(again);
    weir_close(random);
    weir_close(other);
}

/* Each of the 128 bits is set in about half of the keys. */
static void keys_are_uniform_in_all_bits(void **state)
{
    (void)state;
    enum { KEYS = 20000 };
    struct weir *w = open_keyed();
    unsigned set[128] = {0};
    for (uint64_t i = 0; i < KEYS; i++) {
        weir_key key = weir_key_u64(w, i);
        for (unsigned bit = 0; bit < 64; bit++) {
            set[bit] += (unsigned)(key.low >> bit & 1);
            set[64 + bit] += (unsigned)(key.high >> bit & 1);
        }
    }
    for (unsigned bit = 0; bit < 128; bit++) /* six standard deviations */
        assert_in_range(set[bit], KEYS / 2 - 425, KEYS / 2 + 425);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k23_whole_length_and_NULs_count),
        cmocka_unit_test(k23_name_spaces_differ),
        cmocka_unit_test(k23_addresses),
        cmocka_unit_test(k24_unknown_addresses_share_one_key),
        cmocka_unit_test(join_keeps_order_and_differs),
        cmocka_unit_test(k25_secrets),
        cmocka_unit_test(keys_are_uniform_in_all_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
