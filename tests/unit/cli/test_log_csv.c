/* SPDX-License-Identifier: MIT */
/* CSV records: headers, quoting, what a record must have. */
#include "log_lines.h"

static struct log_reader reader(enum log_field field, const char *name, const char *header)
{
    struct log_reader r;
    log_reader_init(&r, LOG_CSV, field, name);
    expect_status(&r, header, LOG_NOTHING, "");
    return r;
}

static void columns_by_their_usual_names(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS, NULL, "id,Remote_Addr,\"time_iso8601\",status");
    struct log_event event = expect_event(&r, "7,192.0.2.1,2015-05-17T10:05:03+08:00,200");
    assert_true(event.time.unix_ns == (1431857103 - 8 * 3600) * LOG_SECOND);
    assert_int_equal(event.time.offset_min, 480);
    expect_key(&r, "7,192.0.2.1,2015-05-17T10:05:03Z,200", "192.0.2.1");
    expect_key(&r, "7, 192.0.2.1 ,2015-05-17T10:05:03Z", "192.0.2.1");
    log_reader_free(&r);

    /* the better name wins, wherever it stands */
    r = reader(LOG_ADDRESS, NULL, "client,ts,ip,time");
    event = expect_event(&r, "a,1,b,2");
    assert_true(event.time.unix_ns == 2 * LOG_SECOND);
    expect_key(&r, "a,1,b,2", "b");
    log_reader_free(&r);
}

static void other_keys(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_USER, NULL, "time,user");
    expect_key(&r, "1,bob", "bob");
    expect_key(&r, "1,", "-");
    log_reader_free(&r);

    r = reader(LOG_PATH, NULL, "time,request");
    expect_key(&r, "1,GET /a?b HTTP/1.1", "/a");
    log_reader_free(&r);

    r = reader(LOG_PATH, NULL, "request,time,uri");
    expect_key(&r, "GET /a HTTP/1.1,1,/b?c", "/b");
    log_reader_free(&r);

    r = reader(LOG_METHOD, NULL, "time,request");
    expect_key(&r, "1,\"PUT /a HTTP/1.1\"", "PUT");
    log_reader_free(&r);

    r = reader(LOG_NAMED, "api key", "time,api key,API KEY");
    expect_key(&r, "1,k1,k2", "k1");
    expect_key(&r, "1,,k2", "");
    log_reader_free(&r);
}

static void quoting(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_NAMED, "who", "\"a \"\"quoted\"\" name\",who,time");
    expect_key(&r, "x,\"plain\",1", "plain");
    expect_key(&r, "x,\"with, comma\",1", "with, comma");
    expect_key(&r, "x,\"with \"\"quotes\"\"\",1", "with \"quotes\"");
    expect_key(&r, "x,\"\"\"\",1", "\"");
    expect_key(&r, "x,\"\",1", "");
    expect_key(&r, "x,\"two\nlines\",1", "two\nlines");
    expect_key(&r, "x,a \"b\" c,1", "a \"b\" c");
    expect_key(&r, "\"x,y\",z,\"1\"", "z");
    expect_bad(&r, "x,\"open,1", "a quote is not closed");
    expect_bad(&r, "x,\"closed\"too early,1", "text behind a closing quote");
    log_reader_free(&r);
}

static void short_records(void **state)
{
    (void)state;
    struct log_reader r = reader(LOG_ADDRESS, NULL, "ip,time,x");
    struct log_event event;
    expect_bad(&r, "192.0.2.1", "1 columns, column 2 is needed");
    expect_bad(&r, "192.0.2.1,yesterday,x", "not a time");
    expect_bad(&r, ",1431857103,x", "no address");
    expect_status(&r, "", LOG_NOTHING, "");
    expect_key(&r, "192.0.2.1,1", "192.0.2.1");
    expect_key(&r, "192.0.2.1,1,\"never closed", "192.0.2.1");
    /* a record that was cut may have lost digits of its last column */
    assert_int_equal(log_read(&r, "192.0.2.1,14318571", 18, true, &event), LOG_BAD);
    assert_int_equal(log_read(&r, "192.0.2.1,1431857103,xx", 23, true, &event), LOG_EVENT);
    log_reader_free(&r);
}

static void unusable_headers(void **state)
{
    (void)state;
    struct log_reader r;
    log_reader_init(&r, LOG_CSV, LOG_ADDRESS, NULL);
    expect_status(&r, "ip,when", LOG_UNUSABLE,
                  "the CSV header has no column for the time (time, timestamp, @timestamp, ts, "
                  "time_local, time_iso8601, msec)");
    log_reader_free(&r);
    log_reader_init(&r, LOG_CSV, LOG_USER, NULL);
    expect_status(&r, "ip,time", LOG_UNUSABLE,
                  "the CSV header has no column for the key (user, remote_user)");
    log_reader_free(&r);
    log_reader_init(&r, LOG_CSV, LOG_NAMED, "who");
    expect_status(&r, "ip,time,Who", LOG_UNUSABLE, "the CSV header has no column \"who\"");
    log_reader_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_by_their_usual_names),
        cmocka_unit_test(other_keys),
        cmocka_unit_test(quoting),
        cmocka_unit_test(short_records),
        cmocka_unit_test(unusable_headers),
    };
    return cmocka_run_group_tests_name("CSV records", tests, NULL, NULL);
}
