/* SPDX-License-Identifier: MIT */
/*
 * Opening engines, adding and finding limits: every return code with its cause.
 */
#include "../support.h"

#include "rcu.h"

#include <dlfcn.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Stands in for libc's in the whole program: fails while `tree_is_full`. */
static bool tree_is_full;

void *tsearch(const void *key, void **root, __compar_fn_t compare)
{
    typedef void *(*function)(const void *, void **, __compar_fn_t);
    function real;
    void *symbol = dlsym(RTLD_NEXT, "tsearch");
    memcpy(&real, &symbol, sizeof real);
    if (tree_is_full) {
        errno = ENOMEM;
        return NULL;
    }
    return real(key, root, compare);
}

/* K28: an addition that fails half way leaves nothing behind, and nobody can have seen it. */
static void k28_an_addition_without_memory_leaves_nothing(void **state)
{
    (void)state;
    struct weir *w = open_engine(NULL);
    struct weir_policy policy = weir_token_bucket(1, WEIR_SECOND, 1);
    errno = 77;
    tree_is_full = true;
    assert_int_equal(weir_add_limit(w, "a", &policy), -ENOMEM);
    tree_is_full = false;
    assert_int_equal(errno, 77);
    assert_int_equal(weir_next_limit(w, -1), -ENOENT);
    assert_null(weir_limit_name(w, 0));
    assert_int_equal(weir_find_limit(w, "a"), -ENOENT);
    assert_false(weir_allow(w, 0, weir_key_text(w, "k"), 1, WEIR_SECOND));
    assert_int_equal(weir_add_limit(w, "a", &policy), 0);
    assert_true(weir_allow(w, 0, weir_key_text(w, "k"), 1, WEIR_SECOND));
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

/* K11, K13: a reservation of one engine is none of another, though it has the same keys. */
static void k11_a_reservation_is_of_one_engine(void **state)
{
    (void)state;
    static const uint8_t secret[WEIR_SECRET_SIZE] = {7};
    struct weir_options options = {0};
    options.secret = secret;
    struct weir *engines[2];
    for (unsigned i = 0; i < 2; i++) {
        engines[i] = open_engine(&options);
        int limit = add_limit(engines[i], "a", weir_token_bucket(1, WEIR_HOUR, 10));
        weir_key key = weir_key_text(engines[i], "k");
        assert_int_equal(weir_take(engines[i], limit, key, 10, WEIR_DAY), 10);
    }
    struct weir_reservation r;
    weir_key key = weir_key_text(engines[0], "k");
    assert_int_equal(weir_reserve(engines[0], 0, key, 4, WEIR_DAY, WEIR_FOREVER, &r).verdict,
                     WEIR_ALLOWED);
    struct weir_reservation elsewhere = r;
    elsewhere.owner = NULL; /* a copy, which builds with assertions would refuse */
    assert_int_equal(weir_cancel(engines[1], &elsewhere, WEIR_DAY), 0);
    assert_int_equal(weir_cancel(engines[0], &r, WEIR_DAY), 4);
    weir_close(engines[0]);
    weir_close(engines[1]);
}

/* What is accepted has a text, and what has a text that cannot be kept is refused for its range. */
static void accepted_policies_have_a_text(void **state)
{
    (void)state;
    struct weir_options options = {0};
    options.max_limits = 65535;
    struct weir *w = open_engine(&options);
    static const uint64_t values[] = {0, 1, 5, UINT64_MAX - 1, UINT64_MAX};
    unsigned added = 0;
    for (unsigned i = 0; i < 5 * 5 * 5 * 3 * 3; i++) {
        struct weir_policy policy = {0};
        char name[32];
        char text[128];
        policy.kind = WEIR_TOKEN_BUCKET;
        policy.limit = values[i % 5];
        policy.period = values[i / 5 % 5];
        policy.burst = values[i / 25 % 5];
        policy.form = i / 125 % 3;
        policy.tick = values[i / 375 % 3];
        snprintf(name, sizeof name, "%u", i);
        int id = weir_add_limit(w, name, &policy);
        int length = weir_policy_format(&policy, text, sizeof text);
        assert_int_equal(id == -EINVAL, length == -EINVAL);
        assert_true(id >= 0 || id == -EINVAL || id == -ERANGE);
        added += id >= 0;
        if (length > 0 && policy.limit != WEIR_UNLIMITED) {
            struct weir_policy again;
            assert_int_equal(weir_policy_parse(&again, text, NULL), 0);
            assert_memory_equal(&again, &policy, sizeof again);
        }
    }
    assert_true(added > 100);
    weir_close(w);
}

/* No call sets errno, whatever it returns. */
static void errno_stays(void **state)
{
    (void)state;
    errno = 77;
    struct weir *w = open_engine(NULL);
    assert_int_equal(errno, 77);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_SECOND, 1));
    assert_false(weir_allow(w, 99, weir_key_text(w, "k"), 1, 0));
    assert_true(weir_allow(w, limit, weir_key_text(w, "k"), 1, weir_now()));
    assert_int_equal(errno, 77);
    /* the table grows, what it leaves is retired, memory goes back */
    for (uint64_t i = 0; i < 50000; i++) {
        assert_true(weir_allow(w, limit, weir_key_u64(w, i), 1, weir_now()));
        assert_int_equal(errno, 77);
    }
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_true(stats.growths > 0);
    assert_int_equal(weir_trim(w, weir_now() + WEIR_DAY), 0);
    assert_int_equal(weir_trim(NULL, 0), -EINVAL);
    weir_close(w);
    assert_int_equal(errno, 77);
}

#ifndef WEIR_RCU_OUTSIDE /* no sanitizer, which needs memory of its own */

/* In a child, since a bound on its address space cannot be taken back safely. */
static int open_without_memory(void)
{
    struct rlimit none = {16 << 20, 16 << 20};
    struct weir_options options = {0};
    struct weir *w = NULL;
    if (setrlimit(RLIMIT_AS, &none) != 0)
        return 1;
    errno = 77;
    options.max_keys = (size_t)1 << 32; /* many shards, without keys yet */
    if (weir_open(&w, &options) != -ENOMEM || w != NULL)
        return 2;
    if (errno != 77)
        return 3;
    /* the table is small, the limits are many */
    void *volatile taken;
    do /* what the process has already */
        taken = malloc(1 << 16);
    while (taken != NULL);
    errno = 77;
    options.max_keys = 16;
    options.max_limits = 65535;
    if (weir_open(&w, &options) != -ENOMEM || errno != 77)
        return 4;
    return 0;
}

/* K28: the table cannot grow any more. */
static int grow_without_memory(void)
{
    struct weir_policy policy = weir_token_bucket(1, WEIR_DAY, 1);
    struct weir_options options = {.max_keys = 1000000, .when_full = WEIR_FULL_DENY};
    struct rlimit none = {16 << 20, 16 << 20};
    struct weir_stats stats = {0};
    struct weir *w;
    uint64_t keys = 0;
    errno = 77;
    if (weir_open(&w, &options) != 0 || weir_add_limit(w, "a", &policy) != 0)
        return 5;
    while (keys < 10000 && weir_allow(w, 0, weir_key_u64(w, keys), 1, WEIR_DAY))
        keys++;
    if (keys < 10000 || setrlimit(RLIMIT_AS, &none) != 0)
        return 6;
    while (keys < 1000000 && weir_allow(w, 0, weir_key_u64(w, keys), 1, WEIR_DAY))
        keys++;
    if (weir_stats(w, &stats) != 0 || stats.failures == 0 || keys < 20000 || keys == 1000000)
        return 7;
    for (uint64_t i = 0; i < keys; i++) { /* all is there, and nobody gets more */
        if (weir_allow(w, 0, weir_key_u64(w, i), 1, 2 * WEIR_DAY - 1))
            return 8;
    }
    if (errno != 77)
        return 9;
    return 0;
}

static int in_a_child(int (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void errno_stays_without_memory(void **state)
{
    (void)state;
    assert_int_equal(in_a_child(open_without_memory), 0);
    assert_int_equal(in_a_child(grow_without_memory), 0);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_refuses),
        cmocka_unit_test(add_refuses),
        cmocka_unit_test(k28_an_addition_without_memory_leaves_nothing),
        cmocka_unit_test(limits_are_found),
        cmocka_unit_test(getters_refuse),
        cmocka_unit_test(errors_have_texts),
        cmocka_unit_test(k11_a_reservation_is_of_one_engine),
        cmocka_unit_test(accepted_policies_have_a_text),
        cmocka_unit_test(errno_stays),
#ifndef WEIR_RCU_OUTSIDE /* no sanitizer, which needs memory of its own */
        cmocka_unit_test(errno_stays_without_memory),
#endif

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
