/* SPDX-License-Identifier: MIT */
/* Text that grows, and numbers in it. */
#include "text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void take(struct text *t, const char *expected)
{
    assert_string_equal(t->data, expected);
    assert_int_equal(t->size, strlen(expected));
    text_free(t);
}

static void counts(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *text;
    } cases[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {123456, "123,456"},
                 {1234567, "1,234,567"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = {0};
        text_put_count(&t, cases[i].value);
        take(&t, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
