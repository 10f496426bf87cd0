/* SPDX-License-Identifier: MIT */
/* The choice of a format from the first lines, and names of fields. */
#include "log_lines.h"

#include "ascii.h"

#define FRONT "192.0.2.1 - - [17/May/2015:10:05:03 +0000] "
#define LINE  FRONT "\"GET /a/b?c=d HTTP/1.1\" 200 203023 \"http://x/\" \"Mozilla/5.0\""

static void the_first_good_line_settles_the_format(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum log_format format;
        enum log_status status;
    } cases[] = {
        {LINE, LOG_COMBINED, LOG_EVENT},
        {"{\"time\":1431857103,\"ip\":\"192.0.2.1\"}", LOG_JSON, LOG_EVENT},
        {" {\"time\":1431857103,\"ip\":\"192.0.2.1\"}", LOG_JSON, LOG_EVENT},
        {"time,ip", LOG_CSV, LOG_NOTHING},
        {"\"ip\",\"Timestamp\"", LOG_CSV, LOG_NOTHING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct log_reader r;
        struct log_event event;
        log_reader_init(&r, LOG_AUTO, LOG_ADDRESS, NULL);
        expect_bad(&r, "garbage",
                   "no JSON, no CSV header with a time, and as combined: no time in brackets");
        expect_bad(&r, "{\"time\":1431857103}", "no member for the address");
        assert_int_equal(r.format, LOG_AUTO);
        assert_int_equal(log_read(&r, cases[i].line, strlen(cases[i].line), false, &event),
                         cases[i].status);
        assert_int_equal(r.format, cases[i].format);
        log_reader_free(&r);
    }
}

/* Words of other lines that could be names of columns. */
static void a_stray_line_does_not_make_it_csv(void **state)
{
    (void)state;
    static const char no_key[] = "the CSV header has no column for the key (ip, client_ip, "
                                 "clientip, remote_addr, remote_ip, client)";
    static const char *const strays[] = {"time", "restart,time,x", "\"time\",user"};
    struct log_reader r;
    for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
        log_reader_init(&r, LOG_AUTO, LOG_ADDRESS, NULL);
        expect_bad(&r, strays[i], no_key);
        assert_int_equal(r.format, LOG_AUTO);
        expect_key(&r, LINE, "192.0.2.1");
        assert_int_equal(r.format, LOG_COMBINED);
        log_reader_free(&r);

        log_reader_init(&r, LOG_CSV, LOG_ADDRESS, NULL);
        expect_status(&r, strays[i], LOG_UNUSABLE, no_key);
        log_reader_free(&r);
    }
    log_reader_init(&r, LOG_AUTO, LOG_NAMED, "who");
    expect_bad(&r, "time,ip", "the CSV header has no column \"who\"");
    expect_status(&r, "time,who", LOG_NOTHING, "");
    assert_int_equal(r.format, LOG_CSV);
    log_reader_free(&r);

    log_reader_init(&r, LOG_AUTO, LOG_ADDRESS, NULL);
    expect_key(&r, FRONT "\"GET /a,time,ip,b HTTP/1.1\" 200 5", "192.0.2.1");
    assert_int_equal(r.format, LOG_COMBINED);
    log_reader_free(&r);
}

static void names_differ_by_the_case_of_ascii_alone(void **state)
{
    (void)state;
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            char x = (char)a, y = (char)b;
            bool letters = (a | 32) >= 'a' && (a | 32) <= 'z' && (a | 32) < 128;
            bool same = a == b || (letters && (a ^ b) == 32);
            assert_int_equal(ascii_same(&x, &y, 1), same);
        }
    }
    assert_int_equal(log_name_rank(log_names_of_time(), (struct slice){"TIME_ISO8601", 12}), 5);
    assert_true(log_name_rank(log_names_of_time(), (struct slice){"tim", 3}) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_good_line_settles_the_format),
        cmocka_unit_test(a_stray_line_does_not_make_it_csv),
        cmocka_unit_test(names_differ_by_the_case_of_ascii_alone),
    };
    return cmocka_run_group_tests_name("log formats", tests, NULL, NULL);
}
