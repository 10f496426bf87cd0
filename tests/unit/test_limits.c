/* SPDX-License-Identifier: MIT */
/*
 * Opening engines, adding and finding limits: every return code with its cause.
 */
#include "../support.h"

#include <errno.h>
#include <stdio.h>

static void open_refuses(void **state)
{
    (void)state;
    struct weir *w = (struct weir *)(uintptr_t)8;
    struct weir_options options = {0};
    assert_int_equal(weir_open(NULL, NULL), -EINVAL);
    options.size = sizeof options + 1;
    assert_int_equal(weir_open(&w, &options), -EINVAL);
    options.size = sizeof options;
    options.when_full = (enum weir_when_full)3;
    assert_int_equal(weir_open(&w, &options), -EINVAL);
    options.when_full = (enum weir_when_full) - 1;
    assert_int_equal(weir_open(&w, &options), -EINVAL);
    options.when_full = WEIR_FULL_DENY;
    options.max_keys = ((size_t)1 << 32) + 1;
    assert_int_equal(weir_open(&w, &options), -ERANGE);
    options.max_keys = 1;
    options.max_limits = 65536;
    assert_int_equal(weir_open(&w, &options), -ERANGE);
    options.max_limits = 65535;
    options.stale_max = 90 * WEIR_DAY + 1;
    assert_int_equal(weir_open(&w, &options), -ERANGE);
    assert_ptr_equal(w, (void *)8);
    options.stale_max = 90 * WEIR_DAY;
    assert_int_equal(weir_open(&w, &options), 0);
    weir_close(w);
    weir_close(NULL);
}

static void add_refuses(void **state)
{
    (void)state;
    struct weir_options options = {0};
    options.max_limits = 2;
    struct weir *w = open_engine(&options);
    struct weir_policy good = weir_token_bucket(1, WEIR_SECOND, 1);
    struct weir_policy bad = good;
    char name[65] = "";
    assert_int_equal(weir_add_limit(NULL, "a", &good), -EINVAL);
    assert_int_equal(weir_add_limit(w, NULL, &good), -EINVAL);
    assert_int_equal(weir_add_limit(w, "a", NULL), -EINVAL);
    assert_int_equal(weir_add_limit(w, "", &good), -EINVAL);
    memset(name, 'x', 64);
    assert_int_equal(weir_add_limit(w, name, &good), -ENAMETOOLONG);
    bad.kind = 0;
    assert_int_equal(weir_add_limit(w, "a", &bad), -EINVAL);
    bad.kind = 2;
    assert_int_equal(weir_add_limit(w, "a", &bad), -EINVAL);
    bad = weir_token_bucket(1, 0, 1);
    assert_int_equal(weir_add_limit(w, "a", &bad), -EINVAL);
    bad = good;
    bad.form = 2;
    assert_int_equal(weir_add_limit(w, "a", &bad), -EINVAL);
    bad = good;
    bad.reserved[3] = 1;
    assert_int_equal(weir_add_limit(w, "a", &bad), -EINVAL);
    bad = weir_token_bucket(1, WEIR_SECOND, (uint64_t)1 << 55);
    assert_int_equal(weir_add_limit(w, "a", &bad), -ERANGE);

    /* none of these took a place or a name */
    name[63] = '\0';
    assert_int_equal(weir_add_limit(w, name, &good), 0);
    assert_int_equal(weir_add_limit(w, name, &good), -EEXIST);
    assert_int_equal(weir_add_limit(w, "a", &good), 1);
    assert_int_equal(weir_add_limit(w, "b", &good), -ENOSPC);
    assert_int_equal(weir_add_limit(w, "a", &good), -EEXIST);
    weir_close(w);
}

static void limits_are_found(void **state)
{
    (void)state;
    enum { LIMITS = 3000 };
    struct weir_options options = {0};
    options.max_limits = LIMITS;
    struct weir *w = open_engine(&options);
    char name[32];
    for (int i = 0; i < LIMITS; i++) {
        snprintf(name, sizeof name, "merchant %d", i * 7);
        assert_int_equal(add_limit(w, name, weir_token_bucket((uint64_t)i, WEIR_DAY, 9)), i);
    }
    for (int i = 0; i < LIMITS; i++) {
        struct weir_policy policy;
        snprintf(name, sizeof name, "merchant %d", i * 7);
        assert_int_equal(weir_find_limit(w, name), i);
        assert_string_equal(weir_limit_name(w, i), name);
        assert_int_equal(weir_get_limit(w, i, &policy), 0);
        struct weir_policy expected = weir_token_bucket((uint64_t)i, WEIR_DAY, 9);
        assert_memory_equal(&policy, &expected, sizeof policy);
        assert_int_equal(weir_next_limit(w, i - 1), i);
    }
    assert_int_equal(weir_next_limit(w, LIMITS - 1), -ENOENT);
    assert_int_equal(weir_find_limit(w, "merchant"), -ENOENT);
    assert_int_equal(weir_find_limit(w, ""), -ENOENT);
    weir_close(w);
}

static void getters_refuse(void **state)
{
    (void)state;
    struct weir *w = open_engine(NULL);
    struct weir_policy policy;
    static const int ids[] = {0, -1, 1, 255, 256, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        assert_int_equal(weir_get_limit(w, ids[i], &policy), -ENOENT);
        assert_null(weir_limit_name(w, ids[i]));
    }
    assert_int_equal(weir_next_limit(w, -1), -ENOENT);
    assert_int_equal(weir_next_limit(w, INT32_MIN), -ENOENT);
    assert_int_equal(weir_next_limit(w, INT32_MAX), -ENOENT);
    assert_int_equal(weir_next_limit(NULL, -1), -EINVAL);
    assert_int_equal(weir_get_limit(NULL, 0, &policy), -EINVAL);
    assert_null(weir_limit_name(NULL, 0));
    assert_int_equal(weir_find_limit(NULL, "a"), -EINVAL);
    assert_int_equal(weir_find_limit(w, NULL), -EINVAL);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_SECOND, 1));
    assert_int_equal(weir_get_limit(w, limit, NULL), -EINVAL);
    weir_close(w);
}

static void errors_have_texts(void **state)
{
    (void)state;
    static const int errors[] = {0,       -EINVAL,       -ERANGE, -ENOMEM, -ENOENT,
                                 -EEXIST, -ENAMETOOLONG, -ENOSPC, -EIO};
    size_t count = sizeof errors / sizeof errors[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(weir_strerror(errors[i]), weir_strerror(errors[j]));
        assert_string_not_equal(weir_strerror(errors[i]), weir_strerror(12345));
    }
    assert_string_equal(weir_strerror(12345), "unknown error");
    assert_string_equal(weir_version(), "0.1.0");
}

/* No call sets errno, whatever it returns. */
static void errno_stays(void **state)
{
    (void)state;
    struct weir *w = NULL;
    struct weir_options options = {0};
    errno = 77;
    options.max_keys = (size_t)1 << 32; /* 128 GiB of address space: may or may not be had */
    if (weir_open(&w, &options) == 0)
        weir_close(w);
    assert_int_equal(errno, 77);
    w = open_engine(NULL);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_SECOND, 1));
    assert_false(weir_allow(w, 99, weir_key_text(w, "k"), 1, 0));
    assert_true(weir_allow(w, limit, weir_key_text(w, "k"), 1, weir_now()));
    weir_close(w);
    assert_int_equal(errno, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_refuses),      cmocka_unit_test(add_refuses),
        cmocka_unit_test(limits_are_found),  cmocka_unit_test(getters_refuse),
        cmocka_unit_test(errors_have_texts), cmocka_unit_test(errno_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
