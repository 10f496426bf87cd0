/* SPDX-License-Identifier: MIT */
/*
 * Batches answer as single decisions do, in their order.
 */
#include "../support.h"

#define MOST 100

static const uint8_t secret[WEIR_SECRET_SIZE] = {5};

/* An engine with three limits, of 64 keys, so that it gets full on the way. */
static struct weir *open_one(enum weir_when_full when_full)
{
    struct weir_options options = {0};
    options.secret = secret;
    options.max_keys = 64;
    options.max_limits = 5;
    options.when_full = when_full;
    struct weir *w = open_engine(&options);
    add_limit(w, "a", weir_token_bucket(10, WEIR_SECOND, 20));
    add_limit(w, "b", weir_token_bucket(WEIR_UNLIMITED, 0, 0));
    add_limit(w, "c", weir_token_bucket(17, WEIR_MINUTE, 3));
    return w;
}

static void compare(struct weir *batched, struct weir *single, const struct weir_request *requests,
                    size_t count, weir_ns now)
{
    struct weir_result results[MOST + 1];
    memset(results, 0x5a, sizeof results);
    struct weir_result untouched = results[count];
    weir_decide_batch(batched, requests, results, count, now);
    for (size_t i = 0; i < count; i++) {
        struct weir_result expected =
            weir_decide(single, requests[i].limit, requests[i].key, requests[i].n, now);
        assert_int_equal(results[i].verdict, expected.verdict);
        assert_int_equal(results[i].wait, expected.wait);
        assert_int_equal(results[i].remaining, expected.remaining);
        assert_int_equal(results[i].reset, expected.reset);
    }
    assert_memory_equal(&results[count], &untouched, sizeof untouched);
}

static void a_batch_is_as_many_decisions(void **state)
{
    (void)state;
    static const int limits[] = {0, 1, 2, 3, 4, 5, -1, 65535, INT32_MAX, INT32_MIN};
    struct test_random random = random_start("batch", 12);
    for (int when_full = WEIR_FULL_SHARE; when_full <= WEIR_FULL_DENY; when_full++) {
        struct weir *batched = open_one((enum weir_when_full)when_full);
        struct weir *single = open_one((enum weir_when_full)when_full);
        weir_ns now = WEIR_HOUR;
        for (unsigned round = 0; round < 2000; round++) {
            struct weir_request requests[MOST];
            size_t count = random_below(&random, MOST + 1);
            for (size_t i = 0; i < count; i++) {
                uint64_t kind = random_below(&random, 14);
                requests[i].limit = kind < 10 ? limits[kind % 3] : limits[kind % 10];
                requests[i].key = weir_key_u64(batched, random_below(&random, 60));
                requests[i].n = random_below(&random, 5) == 0 ? random_below(&random, 40) : 1;
            }
            compare(batched, single, requests, count, now);
            now += random_below(&random, WEIR_SECOND);
        }
        struct weir_stats a = {0};
        struct weir_stats b = {0};
        assert_int_equal(weir_stats(batched, &a), 0);
        assert_int_equal(weir_stats(single, &b), 0);
        assert_int_equal(a.allowed, b.allowed);
        assert_int_equal(a.denied, b.denied);
        assert_int_equal(a.overflow, b.overflow);
        assert_true(a.overflow > 0 && a.denied > 0 && a.never > 0);
        weir_close(batched);
        weir_close(single);
    }
}

/* Each length around how far ahead is looked. */
static void every_length(void **state)
{
    (void)state;
    struct weir *batched = open_one(WEIR_FULL_SHARE);
    struct weir *single = open_one(WEIR_FULL_SHARE);
    struct weir_request requests[MOST];
    for (size_t i = 0; i < MOST; i++)
        requests[i] = (struct weir_request){0, weir_key_u64(batched, i % 50), 1};
    for (size_t count = 0; count <= MOST; count++)
        compare(batched, single, requests, count, WEIR_HOUR + count * WEIR_SECOND);
    weir_close(batched);
    weir_close(single);
}

/* The calls that ask one key, one by one and in a batch, and the general one, on twins. */
static void ask_each(struct weir *const w[4], unsigned key, uint64_t n, weir_ns now)
{
    weir_key k = weir_key_u64(w[0], key);
    const struct weir_request request = {0, k, n};
    struct weir_result peeked = weir_peek(w[0], 0, k, n, now);
    struct weir_result expected = weir_reserve(w[0], 0, k, n, now, 0, NULL);
    assert_int_equal(expected.verdict, peeked.verdict);
    assert_int_equal(expected.wait, peeked.wait);
    uint64_t taken = expected.verdict == WEIR_ALLOWED ? n : 0;
    assert_int_equal(expected.remaining + taken, peeked.remaining);
    assert_true(weir_allow(w[1], 1, k, 1, now)); /* a thread is quick where it was last */
    struct weir_result decided = weir_decide(w[1], 0, k, n, now);
    struct weir_result batched;
    weir_decide_batch(w[2], &request, &batched, 1, now);
    assert_true(weir_allow(w[3], 1, k, 1, now));
    assert_int_equal(weir_allow(w[3], 0, k, n, now), expected.verdict == WEIR_ALLOWED);
    const struct weir_result *results[] = {&decided, &batched};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(results[i]->verdict, expected.verdict);
        assert_int_equal(results[i]->wait, expected.wait);
        assert_int_equal(results[i]->remaining, expected.remaining);
        assert_int_equal(results[i]->reset, expected.reset);
    }
}

/* The quick form knows no more and no less than the general one: any instant, legal or not, any n,
   origins before 0. */
static void k04_k19_quick_answers_at_any_instant(void **state)
{
    (void)state;
    struct test_random random = random_start("quick answers", 7);
    for (uint64_t round = random_scaled(200); round > 0; round--) {
        static const uint64_t ns[] = {1, 1, 1, 2, 0, 20, UINT64_MAX, (uint64_t)1 << 63};
        struct weir *w[4];
        /* units of 1 ns, others, and a rounded form */
        static const uint64_t limits[] = {1, 10, 1000, 7, 999999937};
        struct weir_policy policy = weir_token_bucket(
            limits[random_below(&random, 5)],
            random_below(&random, 2) == 0 ? WEIR_SECOND : WEIR_DAY, 1 + random_below(&random, 20));
        for (unsigned i = 0; i < 4; i++) {
            struct weir_options options = {0};
            options.secret = secret;
            w[i] = open_engine(&options);
            add_limit(w[i], "a", policy);
            add_limit(w[i], "b", weir_token_bucket(WEIR_UNLIMITED, 0, 0));
        }
        weir_ns first = random_below(&random, 2) == 0 ? 0 : random_magnitude(&random, 63);
        const weir_ns starts[] = {first, 0 - 40 * WEIR_SECOND, INT64_MAX, (uint64_t)1 << 63};
        for (unsigned i = 0; i < 300; i++) {
            /* at first near the beginning, then past the last instant too, at last anywhere */
            uint64_t start = random_below(&random, i < 150 ? 1 : i < 200 ? 2 : 4);
            weir_ns now = starts[start] + random_magnitude(&random, i % 36);
            ask_each(w, (unsigned)random_below(&random, 12), ns[random_below(&random, 8)], now);
        }
        for (unsigned i = 0; i < 4; i++)
            weir_close(w[i]);
    }
}

static void k35_without_an_engine_all_are_invalid(void **state)
{
    (void)state;
    struct weir_request requests[3] = {{0}};
    struct weir_result results[3];
    memset(results, 0x5a, sizeof results);
    weir_decide_batch(NULL, requests, results, 3, WEIR_HOUR);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(results[i].verdict, WEIR_INVALID);
        assert_int_equal(results[i].wait, WEIR_FOREVER);
        assert_int_equal(results[i].remaining, 0);
    }
    weir_decide_batch(NULL, NULL, NULL, 0, WEIR_HOUR);
}

/* Keys whose tags differ in a few bits only are told apart. */
static void keys_with_nearly_equal_tags(void **state)
{
    (void)state;
    struct weir_options options = {0};
    options.secret = secret;
    struct weir *w = open_engine(&options);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_HOUR, 2));
    static struct weir_request requests[MOST];
    struct weir_result results[MOST];
    for (unsigned i = 0; i < MOST; i++) {
        requests[i].limit = limit;
        requests[i].key.low = UINT64_C(0x5eed) << 32 | (uint64_t)(i + 1) << 16;
        requests[i].n = 1;
    }
    for (unsigned i = 0; i < MOST; i++)
        assert_int_equal(weir_decide(w, limit, requests[i].key, 1, 1).remaining, 1);
    weir_decide_batch(w, requests, results, MOST, 1);
    for (unsigned i = 0; i < MOST; i++) {
        assert_int_equal(results[i].verdict, WEIR_ALLOWED);
        assert_int_equal(results[i].remaining, 0);
        assert_false(weir_allow(w, limit, requests[i].key, 1, 1));
    }
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_as_many_decisions),
        cmocka_unit_test(every_length),
        cmocka_unit_test(keys_with_nearly_equal_tags),
        cmocka_unit_test(k04_k19_quick_answers_at_any_instant),
        cmocka_unit_test(k35_without_an_engine_all_are_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
