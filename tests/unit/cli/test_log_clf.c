/* SPDX-License-Identifier: MIT */
/* Combined and common log lines. */
#include "log_lines.h"

#define FRONT "192.0.2.1 - - [17/May/2015:10:05:03 +0000] "
#define LINE  FRONT "\"GET /a/b?c=d HTTP/1.1\" 200 203023 \"http://x/\" \"Mozilla/5.0\""

static struct log_reader reader(enum log_field field)
{
    struct log_reader r;
    log_reader_init(&r, LOG_COMBINED, field, "status");
    return r;
}

static void a_combined_line(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS);
    struct log_event event = expect_event(&r, LINE);
    assert_true(event.time.unix_ns == 1431857103 * LOG_SECOND);
    assert_int_equal(event.time.offset_min, 0);
    expect_key(&r, LINE, "192.0.2.1");
    expect_key(&r, "client.example - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.0\" 200 5",
               "client.example");
    event = expect_event(&r, "::1 - - [17/May/2015:10:05:03 -0330] \"\" 400 0 \"-\" \"-\"");
    assert_int_equal(event.time.offset_min, -210);
}

static void virtual_hosts(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS), u = reader(LOG_USER);
    expect_key(&r, "www.example:443 " LINE, "192.0.2.1");
    expect_key(&u, "www.example:443 192.0.2.1 - bob [17/May/2015:10:05:03 +0000] \"-\"", "bob");
    expect_key(&r, "unix: - - [17/May/2015:10:05:03 +0000] \"-\"", "unix:");
}

static void users(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_USER);
    expect_key(&r, LINE, "-");
    expect_key(&r, "192.0.2.1 - bob [17/May/2015:10:05:03 +0000] \"-\"", "bob");
    expect_key(&r, "192.0.2.1 - bob smith [17/May/2015:10:05:03 +0000] \"-\"", "bob smith");
    expect_key(&r, "192.0.2.1 - b[o]b [17/May/2015:10:05:03 +0000] \"-\"", "b[o]b");
}

static void requests(void **state)
{
    (void)state;
    struct log_reader m = reader(LOG_METHOD), p = reader(LOG_PATH);
    expect_key(&m, LINE, "GET");
    expect_key(&p, LINE, "/a/b");
    expect_key(&p, FRONT "\"GET /with \\\"quotes\\\"?x HTTP/1.1\" 200 5", "/with \\\"quotes\\\"");
    expect_key(&p, FRONT "\"GET /end\\\\\" 200 5 \"/other\"", "/end\\\\");
    expect_key(&p, FRONT "\"GET /a b c HTTP/2.0\" 200 5", "/a b c");
    expect_key(&p, FRONT "\"GET /no-version\" 200 5", "/no-version");
    expect_key(&p, FRONT "\"GET /a#b?c HTTP/1.1\" 200 5", "/a");
    expect_key(&p, FRONT "\"GET https://h.example/p?q HTTP/1.1\" 200 5", "/p");
    expect_key(&p, FRONT "\"GET https://h.example?q HTTP/1.1\" 200 5", "/");
    expect_key(&p, FRONT "\"GET /x?u=http://h/ HTTP/1.1\" 200 5", "/x");
    expect_key(&m, FRONT "\"CONNECT h.example:443 HTTP/1.1\" 200 5", "CONNECT");
    expect_key(&p, FRONT "\"CONNECT h.example:443 HTTP/1.1\" 200 5", "h.example:443");
    expect_key(&p, FRONT "\"-\" 408 0", "-");
    expect_key(&m, FRONT "\"\\x16\\x03\\x01\" 400 0", "-");
    expect_key(&p, FRONT "\"\" 400 0", "-");
    expect_key(&p, FRONT "\"GET  HTTP/1.1\" 400 0", "-");
}

static void what_is_needed(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS), p = reader(LOG_PATH), n = reader(LOG_NAMED);
    expect_key(&r, FRONT, "192.0.2.1");
    expect_key(&r, FRONT "\"GET /cut", "192.0.2.1");
    expect_bad(&p, FRONT "\"GET /cut", "no request in quotes");
    expect_bad(&p, FRONT "\"GET /cut\\", "no request in quotes");
    expect_bad(&p, FRONT "GET / HTTP/1.1", "no request in quotes");
    expect_status(&n, LINE, LOG_UNUSABLE,
                  "fields of this format have no names, --key field:status needs JSON or CSV");
    expect_bad(&n, "garbage", "no time in brackets");
}

static void bad_lines(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS);
    expect_bad(&r, "garbage", "no time in brackets");
    expect_bad(&r, "192.0.2.1 - - [17/May/2015:10:05:03 +0000", "no time in brackets");
    expect_bad(&r, "192.0.2.1 - - [31/Feb/2015:10:05:03 +0000] \"-\"", "no such date");
    expect_bad(&r, "192.0.2.1 - - [17/May/2015:24:05:03 +0000] \"-\"", "no such time of day");
    expect_bad(&r, "192.0.2.1 - - [17/May/2015:10:05:03] \"-\"", "a time without a zone");
    /* a time that only the client wrote */
    expect_bad(&r, "192.0.2.1 - - - \"GET / [17/May/2015:10:05:03 +0000]\"", "no time in brackets");
    expect_bad(&r, "192.0.2.1 - - [x] \"-\" \"[17/May/2015:10:05:03 +0000]\"", "not a time");
    expect_bad(&r, "[17/May/2015:10:05:03 +0000] \"-\"",
               "no host, identity and user before the time");
    expect_bad(&r, "192.0.2.1 [17/May/2015:10:05:03 +0000] \"-\"",
               "no host, identity and user before the time");
    expect_bad(&r, " - - [17/May/2015:10:05:03 +0000] \"-\"",
               "no host, identity and user before the time");
    expect_bad(&r, "192.0.2.1 - -[17/May/2015:10:05:03 +0000] \"-\"",
               "no host, identity and user before the time");
    expect_status(&r, "", LOG_NOTHING, "");
    expect_status(&r, " \t ", LOG_NOTHING, "");
}

static void nul_bytes(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_PATH);
    struct log_event event;
    static const char line[] = FRONT "\"GET /a\0b HTTP/1.1\" 200 5";
    assert_int_equal(log_read(&r, line, sizeof line - 1, false, &event), LOG_EVENT);
    assert_int_equal(event.key.size, 4);
    assert_memory_equal(event.key.data, "/a\0b", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_combined_line), cmocka_unit_test(virtual_hosts),
        cmocka_unit_test(users),           cmocka_unit_test(requests),
        cmocka_unit_test(what_is_needed),  cmocka_unit_test(bad_lines),
        cmocka_unit_test(nul_bytes),
    };
    return cmocka_run_group_tests_name("combined and common lines", tests, NULL, NULL);
}
