/* SPDX-License-Identifier: MIT */
/* JSON as it is printed: what a terminal must not get, numbers to their last digit. */
#include "json_put.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void check_printed(json_t *object, const char *expected)
{
    char text[256] = {0};
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    json_print(object);
    fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    rewind(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, expected);
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    json_t *object = json_object();
    json_put(object, "a\177", json_string("\177b\001\177\177 caf\xc3\xa9"));
    check_printed(object, "{\n  \"a\\u007f\": \"\\u007fb\\u0001\\u007f\\u007f caf\xc3\xa9\"\n}\n");
}

static void numbers(void **state)
{
    (void)state;
    json_t *object = json_object(), *list = json_array();
    json_put_last(list, json_count(INT64_MAX));
    json_put_last(list, json_real(0.1));
    json_put(object, "n", list);
    check_printed(object, "{\n  \"n\": [\n    9223372036854775807,\n    0.1\n  ]\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests_name("printing JSON", tests, NULL, NULL);
}
