/* SPDX-License-Identifier: MIT */
/* Lengths of time in words. */
#include "spans.h"

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

static void spans(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *exact, *brief;
    } cases[] = {
        {0, "0 s", "0 s"},
        {1, "1 ns", "1 ns"},
        {1500, "1.5 us", "1.5 us"},
        {250000000, "250 ms", "250 ms"},
        {6000000000, "6 s", "6 s"},
        {1234567891, "1.234567891 s", "1.234 s"},
        {60000000000, "1 min", "1 min"},
        {90000000000, "1 min 30 s", "1 min 30 s"},
        {60500000000, "1 min 0.5 s", "1 min 0 s"},
        {298859000000000, "3 d 11 h 59 s", "3 d 11 h"},
        {86400000000000, "1 d", "1 d"},
        {31536000000000000, "365 d", "365 d"},
        {UINT64_MAX, "about 585 years", "about 585 years"},
    };
    static const span_ns year = UINT64_C(31556952) * 1000000000;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = {0};
        span_put(&t, cases[i].ns);
        take(&t, cases[i].exact);
        span_put_short(&t, cases[i].ns);
        take(&t, cases[i].brief);
    }
    struct text t = {0};
    span_put(&t, year * 1000 - year / 2);
    take(&t, "about 1,000 years");
    span_put(&t, year * 1000 - year / 2 - 1);
    take(&t, "about 999 years");
    span_put(&t, year * 1141676600);
    take(&t, "about 1,141,676,600 years");
    span_put_quotient(&t, 60000000000, 10);
    take(&t, "6 s");
    span_put_quotient(&t, 1000000000, 3);
    take(&t, "333.333333 ms");
    span_put_quotient(&t, 1, 10);
    take(&t, "0.100 ns");
    span_put_quotient(&t, 1000000007, 1000000);
    take(&t, "1 us");
    span_put_quotient(&t, 2000, 3);
    take(&t, "666.666 ns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans),
    };
    return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
