/* SPDX-License-Identifier: MIT */
/* JSON lines: members, escapes, numbers to the last digit, lines that are cut. */
#include "log_lines.h"

static struct log_reader reader(enum log_field field, const char *name)
{
    struct log_reader r;
    log_reader_init(&r, LOG_JSON, field, name);
    return r;
}

static void times(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t ns;
    } cases[] = {
        {"{\"ip\":\"a\",\"time\":\"2015-05-17T10:05:03.5Z\"}", 1431857103500000000},
        {"{\"ip\":\"a\",\"@timestamp\":\"17/May/2015:10:05:03 +0000\"}", 1431857103000000000},
        {"{\"ip\":\"a\",\"ts\":1431857103.123456789}", 1431857103123456789},
        {"{\"ip\":\"a\",\"msec\":\"1431857103.123\"}", 1431857103123000000},
        {"{\"ip\":\"a\",\"time\":1431857103123456789}", 1431857103123456789},
        {"{\"ip\":\"a\",\"time\":1.4318571031e9 }", 1431857103100000000},
        {"{\"ip\":\"a\",\"ts\":1,\"time\":2,\"msec\":3}", 2000000000},
        {"{\"ip\":\"a\",\"time\":1,\"time\":2}", 2000000000},
        {"{\"ip\":\"a\",\"time\":null,\"ts\":7}", 7000000000},
        {"{\"ip\":\"a\",\"time\":{\"ts\":1},\"ts\":7}", 7000000000},
        {"{\"x\":{\"time\":1},\"ip\":\"a\",\"y\":[{\"time\":2}],\"ts\":7}", 7000000000},
        {"{\"ip\":\"a\",\"t\\u0069me\":7}", 7000000000},
    };
    struct log_reader r = reader(LOG_ADDRESS, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct log_event event = expect_event(&r, cases[i].line);
        if (event.time.unix_ns != cases[i].ns)
            fail_msg("%s: %lld", cases[i].line, (long long)event.time.unix_ns);
    }
    log_reader_free(&r);
}

static void keys(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS, NULL);
    expect_key(&r, "{\"time\":1,\"remote_addr\":\"192.0.2.1\"}", "192.0.2.1");
    expect_key(&r, "{\"time\":1,\"client\":\"a\",\"IP\":\"b\"}", "b");
    expect_key(&r, "{\"time\":1,\"client\":{\"ip\":\"a\"},\"remote_ip\":\"b\"}", "b");
    log_reader_free(&r);

    r = reader(LOG_USER, NULL);
    expect_key(&r, "{\"time\":1,\"user\":\"bob\"}", "bob");
    expect_key(&r, "{\"time\":1,\"user\":42}", "42");
    expect_key(&r, "{\"time\":1,\"user\":null}", "-");
    expect_key(&r, "{\"time\":1,\"user\":\"\"}", "-");
    expect_key(&r, "{\"time\":1}", "-");
    log_reader_free(&r);

    r = reader(LOG_PATH, NULL);
    expect_key(&r, "{\"time\":1,\"request\":\"GET /a?b HTTP/1.1\"}", "/a");
    expect_key(&r, "{\"time\":1,\"request\":\"GET /a HTTP/1.1\",\"url\":\"https://h/b?c\"}", "/b");
    log_reader_free(&r);

    r = reader(LOG_METHOD, NULL);
    expect_key(&r, "{\"time\":1,\"request\":\"GET /a?b HTTP/1.1\"}", "GET");
    log_reader_free(&r);
}

static void named_members(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_NAMED, "tenant");
    expect_key(&r, "{\"time\":1,\"tenant\":\"acme\",\"Tenant\":\"other\"}", "acme");
    expect_key(&r, "{\"time\":1,\"tenant\":18446744073709551616}", "18446744073709551616");
    expect_key(&r, "{\"time\":1,\"tenant\":-0.50}", "-0.50");
    expect_key(&r, "{\"time\":1,\"tenant\":true}", "true");
    expect_key(&r, "{\"time\":1,\"tenant\":null}", "null");
    expect_key(&r, "{\"time\":1,\"tenant\":\"\"}", "");
    expect_key(&r, "{\"time\":1,\"tenant\":[1,{\"a\":\"]}\"}]}", "[1,{\"a\":\"]}\"}]");
    expect_bad(&r, "{\"time\":1,\"tenants\":\"acme\"}", "no member \"tenant\"");
    log_reader_free(&r);
}

static void escapes(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_NAMED, "k");
    expect_key(&r, "{\"time\":1,\"k\":\"a\\\"b\\\\\"}", "a\"b\\");
    expect_key(&r, "{\"time\":1,\"k\":\"\\u00e9\\ud83d\\ude00\"}", "\xc3\xa9\xf0\x9f\x98\x80");
    expect_key(&r, "{\"time\":1,\"k\":\"\xc3\xa9\"}", "\xc3\xa9");
    expect_key(&r, "{\"x\":\"}\\\"\",\"time\":1,\"k\":\"{\"}", "{");
    struct log_event event = expect_event(&r, "{\"time\":1,\"k\":\"a\\u0000b\"}");
    assert_int_equal(event.key.size, 3);
    assert_memory_equal(event.key.data, "a\0b", 3);
    log_reader_free(&r);
}

static void not_json(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS, NULL);
    struct log_event event;
    static const char *const lines[] = {
        "garbage",
        "{\"time\":1,\"ip\":\"a\"",
        "{\"time\":1,\"ip\":\"a\"} x",
        "{\"time\":1,\"ip\":\"a\",}",
        "{\"time\":1,\"ip\":\"\xff\"}",
        "{\"time\":1,\"ip\":\"\\ud800\"}",
        "{\"time\":01,\"ip\":\"a\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(log_read(&r, lines[i], strlen(lines[i]), false, &event), LOG_BAD);
        assert_memory_equal(r.reason, "no JSON: ", 9);
    }
    static const char nul[] = "{\"time\":1,\"ip\":\"a\0b\"}";
    assert_int_equal(log_read(&r, nul, sizeof nul - 1, false, &event), LOG_BAD);
    expect_bad(&r, "[{\"time\":1,\"ip\":\"a\"}]", "JSON, but no object");
    expect_bad(&r, "{\"ip\":\"a\"}", "no member for the time");
    expect_bad(&r, "{\"time\":1}", "no member for the address");
    expect_bad(&r, "{\"time\":1,\"ip\":null}", "no address");
    expect_bad(&r, "{\"time\":\"now\",\"ip\":\"a\"}", "not a time");
    log_reader_free(&r);

    r = reader(LOG_PATH, NULL);
    expect_bad(&r, "{\"time\":1,\"ip\":\"a\"}", "no member for the path");
    log_reader_free(&r);
    r = reader(LOG_METHOD, NULL);
    expect_bad(&r, "{\"time\":1,\"ip\":\"a\"}", "no member for the method");
    log_reader_free(&r);
}

static void a_cut_line_gives_what_lies_before_the_cut(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS, NULL);
    struct log_event event;
    static const char line[] = "{\"time\":1431857103,\"ip\":\"192.0.2.1\",\"body\":\"xxxxxx";
    const size_t needed = strlen("{\"time\":1431857103,\"ip\":\"192.0.2.1\"");
    for (size_t size = 0; size < sizeof line; size++) {
        enum log_status expected = size == 0 ? LOG_NOTHING : size < needed ? LOG_BAD : LOG_EVENT;
        if (log_read(&r, line, size, true, &event) != expected)
            fail_msg("%.*s", (int)size, line);
    }
    assert_int_equal(event.key.size, 9);
    log_reader_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times),
        cmocka_unit_test(keys),
        cmocka_unit_test(named_members),
        cmocka_unit_test(escapes),
        cmocka_unit_test(not_json),
        cmocka_unit_test(a_cut_line_gives_what_lies_before_the_cut),
    };
    return cmocka_run_group_tests_name("JSON lines", tests, NULL, NULL);
}
