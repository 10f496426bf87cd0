/* SPDX-License-Identifier: MIT */
/* The table for people: what it says when keys had no room, and of lines out of order. */
#include "report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What report_text prints of one limit under which 3 of 5 requests overflowed, and so many came
   out of order. */
static char *printed(bool stream, uint64_t out_of_order)
{
    static char policy[] = "1/s";
    struct tally tally = {.allowed = 5, .overflow = 3, .first_denied = SHARD_NEVER};
    struct report_limit item = {.policy = {policy, 3, 0}, .tally = &tally};
    struct timeline timeline;
    timeline_init(&timeline, 1);
    timeline_offered(&timeline, timeline_bucket(&timeline, 0));
    struct report report = {.key_text = "ip",
                            .stream = stream,
                            .requests = 5,
                            .out_of_order = out_of_order,
                            .out_of_order_max_ns = out_of_order ? 59000000000 : 0,
                            .keys = 2,
                            .limits = 1,
                            .items = &item,
                            .timeline = &timeline};
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    report_text(&report);
    fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    timeline_free(&timeline);
    char *text = calloc(1, 4096);
    assert_non_null(text);
    rewind(file);
    assert_true(fread(text, 1, 4095, file) > 0);
    fclose(file);
    return text;
}

static void only_a_stream_can_be_given_more_room(void **state)
{
    (void)state;
    for (int stream = 0; stream <= 1; stream++) {
        char *text = printed(stream, 0);
        assert_non_null(strstr(text, "\n3 requests under 1/s had no place for their key in the "
                                     "table"));
        assert_int_equal(strstr(text, "--max-keys makes room") != NULL, stream);
        free(text);
    }
}

static void lines_out_of_order_are_told(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        const char *text;
    } cases[] = {
        {9448, "\n\n9,448 lines came out of order, by up to 59 s; a stream takes them as of the "
               "latest time seen (a FILE would be sorted)\n"},
        {1, "\n\n1 line came out of order, by up to 59 s; a stream takes it as of the latest time "
            "seen (a FILE would be sorted)\n"},
    };
    for (size_t i = 0; i < 2; i++) {
        char *text = printed(true, cases[i].count);
        assert_non_null(strstr(text, cases[i].text));
        free(text);
    }
    char *text = printed(true, 0);
    assert_null(strstr(text, "out of order"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_stream_can_be_given_more_room),
        cmocka_unit_test(lines_out_of_order_are_told),
    };
    return cmocka_run_group_tests_name("report in words", tests, NULL, NULL);
}
