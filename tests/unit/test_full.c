/* SPDX-License-Identifier: MIT */
/*
 * A full table: the three answers of when_full, the overflow bucket, what goes back to it, and
 * that a key in debt is never evicted (K26).
 */
#include "../support.h"

#define NOW  (1000 * WEIR_SECOND)
#define KEYS 4

static struct weir_limit_stats limit_stats(struct weir *w, int limit)
{
    struct weir_limit_stats stats = {0};
    assert_int_equal(weir_limit_stats(w, limit, &stats), 0);
    return stats;
}

/* An engine of four keys, all taken, each with 2 of 5 tokens used. */
static struct weir *open_full(enum weir_when_full when_full, int *limit)
{
    struct weir *w = open_for_keys(KEYS, when_full);
    *limit = add_limit(w, "a", weir_token_bucket(1, WEIR_SECOND, 5));
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(weir_decide(w, *limit, weir_key_u64(w, i), 2, NOW).remaining, 3);
    assert_int_equal(limit_stats(w, *limit).overflow, 0);
    return w;
}

static void placed_keys_are_untouched(struct weir *w, int limit)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_int_equal(weir_peek(w, limit, weir_key_u64(w, i), 1, NOW).remaining, 3);
        assert_int_equal(weir_peek(w, limit, weir_key_u64(w, i), 5, NOW).wait, 2 * WEIR_SECOND);
    }
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_int_equal(stats.keys, KEYS);
    assert_int_equal(stats.max_keys, KEYS);
}

static void k26_share(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_full(WEIR_FULL_SHARE, &limit);
    assert_int_equal(weir_peek(w, limit, weir_key_u64(w, 100), 1, NOW).remaining, 5);
    assert_int_equal(weir_decide(w, limit, weir_key_u64(w, 100), 3, NOW).verdict, WEIR_ALLOWED);
    assert_int_equal(weir_decide(w, limit, weir_key_u64(w, 101), 2, NOW).remaining, 0);
    struct weir_result denied = weir_decide(w, limit, weir_key_u64(w, 102), 1, NOW);
    assert_int_equal(denied.verdict, WEIR_DENIED);
    assert_int_equal(denied.wait, WEIR_SECOND);
    assert_int_equal(weir_peek(w, limit, weir_key_u64(w, 103), 1, NOW).wait, WEIR_SECOND);
    assert_int_equal(weir_decide(w, limit, weir_key_u64(w, 104), 6, NOW).verdict, WEIR_NEVER);
    struct weir_limit_stats stats = limit_stats(w, limit);
    assert_int_equal(stats.allowed, KEYS + 2);
    assert_int_equal(stats.denied, 1);
    assert_int_equal(stats.never, 1);
    assert_int_equal(stats.overflow, 4);
    placed_keys_are_untouched(w, limit);
    weir_close(w);
}

static void k26_share_is_per_limit(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_full(WEIR_FULL_SHARE, &limit);
    int other = add_limit(w, "b", weir_token_bucket(1, WEIR_MINUTE, 2));
    assert_int_equal(weir_take(w, limit, weir_key_u64(w, 50), 99, NOW), 5);
    assert_int_equal(weir_take(w, other, weir_key_u64(w, 50), 99, NOW), 2);
    assert_int_equal(weir_take(w, limit, weir_key_u64(w, 51), 99, NOW), 0);
    assert_int_equal(limit_stats(w, limit).overflow, 2);
    assert_int_equal(limit_stats(w, other).overflow, 1);
    weir_close(w);
}

static void k26_allow(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_full(WEIR_FULL_ALLOW, &limit);
    weir_key key = weir_key_u64(w, 100);
    for (int i = 0; i < 20; i++) {
        struct weir_result result = weir_decide(w, limit, key, 5, NOW);
        assert_int_equal(result.verdict, WEIR_ALLOWED);
        assert_int_equal(result.wait, 0);
        assert_int_equal(weir_peek(w, limit, key, 5, NOW).verdict, WEIR_ALLOWED);
    }
    assert_int_equal(weir_decide(w, limit, key, 6, NOW).verdict, WEIR_NEVER);
    struct weir_reservation r;
    assert_int_equal(weir_reserve(w, limit, key, 5, NOW, 0, &r).verdict, WEIR_ALLOWED);
    assert_int_equal(r.n, 0);
    assert_int_equal(weir_cancel(w, &r, NOW), 0);
    assert_int_equal(weir_charge(w, limit, key, 7, NOW), 0);
    assert_int_equal(weir_refund(w, limit, key, 7, NOW), 0);
    assert_int_equal(weir_take(w, limit, key, 99, NOW), 5);
    assert_int_equal(limit_stats(w, limit).overflow, 24);
    placed_keys_are_untouched(w, limit);
    weir_close(w);
}

static void k26_deny(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_full(WEIR_FULL_DENY, &limit);
    weir_key key = weir_key_u64(w, 100);
    struct weir_result result = weir_decide(w, limit, key, 1, NOW);
    assert_int_equal(result.verdict, WEIR_DENIED);
    assert_int_equal(result.wait, WEIR_FOREVER);
    assert_int_equal(result.remaining, 0);
    assert_int_equal(weir_peek(w, limit, key, 1, NOW).verdict, WEIR_DENIED);
    assert_int_equal(weir_reserve(w, limit, key, 1, NOW, WEIR_FOREVER, NULL).verdict, WEIR_DENIED);
    assert_int_equal(weir_decide(w, limit, key, 6, NOW).verdict, WEIR_NEVER);
    assert_int_equal(weir_decide(w, limit, key, 0, NOW).verdict, WEIR_ALLOWED);
    assert_false(weir_allow(w, limit, key, 1, NOW));
    assert_int_equal(weir_take(w, limit, key, 99, NOW), 0);
    assert_int_equal(weir_charge(w, limit, key, 1, NOW), 0);
    placed_keys_are_untouched(w, limit);
    weir_close(w);
}

/* K11: a reservation out of the overflow bucket goes back to it. */
static void k11_cancel_goes_back_to_the_overflow_bucket(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_full(WEIR_FULL_SHARE, &limit);
    struct weir_reservation r;
    assert_int_equal(weir_take(w, limit, weir_key_u64(w, 100), 5, NOW), 5);
    assert_int_equal(weir_reserve(w, limit, weir_key_u64(w, 101), 4, NOW, WEIR_FOREVER, &r).wait,
                     4 * WEIR_SECOND);
    assert_int_equal(weir_peek(w, limit, weir_key_u64(w, 102), 1, NOW).wait, 5 * WEIR_SECOND);
    assert_int_equal(weir_cancel(w, &r, NOW), 4);
    assert_int_equal(weir_peek(w, limit, weir_key_u64(w, 102), 1, NOW).wait, WEIR_SECOND);
    /* without a handle, by the same rule as the charge */
    assert_int_equal(weir_charge(w, limit, weir_key_u64(w, 103), 2, NOW), 2);
    assert_int_equal(weir_refund(w, limit, weir_key_u64(w, 103), 2, NOW), 2);
    assert_int_equal(weir_peek(w, limit, weir_key_u64(w, 102), 1, NOW).wait, WEIR_SECOND);
    /* forgetting a key that has no place changes nothing for the others */
    assert_int_equal(weir_forget(w, limit, weir_key_u64(w, 103)), 0);
    assert_int_equal(weir_peek(w, limit, weir_key_u64(w, 102), 1, NOW).wait, WEIR_SECOND);
    placed_keys_are_untouched(w, limit);
    weir_close(w);
}

/* K26: ten times max_keys of new keys reset nobody. */
static void k26_a_flood_evicts_nobody(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(1000, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_HOUR, 1));
    weir_key victim = weir_key_text(w, "victim");
    assert_true(weir_allow(w, limit, victim, 1, NOW));
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(weir_allow(w, limit, weir_key_u64(w, i), 1, NOW), i <= 999);
    assert_false(weir_allow(w, limit, victim, 1, NOW + WEIR_HOUR - 1));
    assert_true(weir_allow(w, limit, victim, 1, NOW + WEIR_HOUR));
    assert_int_equal(limit_stats(w, limit).overflow, 9001);
    weir_close(w);
}

/* K26, K27: a full table leaves behind what is full again, at the next call of a new key, and
   nobody else; those that were refused have places then. */
static void k26_idle_keys_make_room(void **state)
{
    (void)state;
    static const enum weir_when_full answers[] = {WEIR_FULL_SHARE, WEIR_FULL_ALLOW, WEIR_FULL_DENY};
    for (size_t c = 0; c < 3; c++) {
        struct weir *w = open_for_keys(1000, answers[c]);
        int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_SECOND, 10));
        for (uint64_t i = 0; i < 1000; i++) /* every third owes for a minute, the others a second */
            assert_true(weir_charge(w, limit, weir_key_u64(w, i), i % 3 == 0 ? 70 : 1, NOW) > 0);
        weir_ns now = NOW + WEIR_SECOND;
        for (uint64_t i = 1000; i < 2000; i++) {
            weir_key key = weir_key_u64(w, i);
            bool asked = weir_peek(w, limit, key, 1, now - 1).verdict == WEIR_ALLOWED;
            if (answers[c] != WEIR_FULL_SHARE)
                assert_int_equal(asked, answers[c] == WEIR_FULL_ALLOW);
            (void)weir_take(w, limit, key, 1, now - 1);
        }
        assert_int_equal(limit_stats(w, limit).overflow, 1000);
        for (uint64_t i = 1000; i < 1666; i++) {
            weir_key key = weir_key_u64(w, i);
            assert_true(weir_peek(w, limit, key, 10, now).verdict == WEIR_ALLOWED);
            assert_int_equal(weir_decide(w, limit, key, 2, now).remaining, 8);
        }
        assert_int_equal(limit_stats(w, limit).overflow, 1000);
        struct weir_stats stats = {0};
        assert_int_equal(weir_stats(w, &stats), 0);
        assert_int_equal(stats.keys, 1000);
        assert_int_equal(stats.dropped, 666);
        (void)weir_take(w, limit, weir_key_u64(w, 1666), 1, now);
        assert_int_equal(limit_stats(w, limit).overflow, 1001);
        for (uint64_t i = 0; i < 1000; i += 3)
            assert_int_equal(weir_peek(w, limit, weir_key_u64(w, i), 1, now).wait,
                             60 * WEIR_SECOND);
        weir_close(w);
    }
}

static unsigned sealed_in(const struct weir_array *a)
{
    unsigned sealed = 0;
    for (uint64_t i = 0; i < weir_order_lines(a->order); i++)
        sealed +=
            (unsigned)__builtin_popcount(weir_line_match(&weir_array_lines(a)[i], WEIR_TAG_SEALED));
    return sealed;
}

static unsigned sealed_slots(const struct weir *w)
{
    unsigned sealed = 0;
    for (uint64_t i = 0; i < w->table.shards; i++) {
        uint64_t packed = weir_load_acquire(&w->table.words[i]);
        while (packed != 0) {
            const struct weir_array *a = weir_packed_array(packed);
            sealed += sealed_in(a);
            packed = weir_load_acquire(&a->next);
        }
    }
    return sealed;
}

/* K09: a question to a full table writes nothing into it; what is answered by the overflow seals.
 */
static void k09_questions_seal_nothing(void **state)
{
    (void)state;
    int limit;
    struct weir *w = open_full(WEIR_FULL_SHARE, &limit);
    for (uint64_t i = 100; i < 200; i++) {
        weir_key key = weir_key_u64(w, i);
        assert_int_equal(weir_peek(w, limit, key, 1, NOW).verdict, WEIR_ALLOWED);
        assert_int_equal(weir_decide(w, limit, key, 0, NOW).verdict, WEIR_ALLOWED);
        assert_int_equal(weir_decide(w, limit, key, 6, NOW).verdict, WEIR_NEVER);
    }
    assert_int_equal(sealed_slots(w), 0);
    assert_true(weir_allow(w, limit, weir_key_u64(w, 100), 1, NOW));
    assert_int_equal(sealed_slots(w), 1);
    placed_keys_are_untouched(w, limit);
    weir_close(w);
}

/* Calls that write nothing take no place. */
static void peek_refund_and_zero_take_no_place(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(KEYS, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_SECOND, 5));
    int unlimited = add_limit(w, "u", weir_token_bucket(WEIR_UNLIMITED, 0, 0));
    for (uint64_t i = 0; i < 100; i++) {
        weir_key key = weir_key_u64(w, i);
        assert_int_equal(weir_peek(w, limit, key, 1, NOW).verdict, WEIR_ALLOWED);
        assert_int_equal(weir_decide(w, limit, key, 0, NOW).verdict, WEIR_ALLOWED);
        assert_int_equal(weir_decide(w, limit, key, 6, NOW).verdict, WEIR_NEVER);
        assert_int_equal(weir_refund(w, limit, key, 3, NOW), 0);
        assert_int_equal(weir_take(w, limit, key, 0, NOW), 0);
        assert_int_equal(weir_charge(w, limit, key, 0, NOW), 0);
        assert_int_equal(weir_forget(w, limit, key), 0);
        assert_true(weir_allow(w, unlimited, key, 1000, NOW));
        assert_int_equal(weir_charge(w, unlimited, key, 1000, NOW), 1000);
    }
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_int_equal(stats.keys, 0);
    assert_int_equal(stats.overflow, 0);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k26_share),
        cmocka_unit_test(k26_share_is_per_limit),
        cmocka_unit_test(k26_allow),
        cmocka_unit_test(k26_deny),
        cmocka_unit_test(k11_cancel_goes_back_to_the_overflow_bucket),
        cmocka_unit_test(k26_a_flood_evicts_nobody),
        cmocka_unit_test(k26_idle_keys_make_room),
        cmocka_unit_test(k09_questions_seal_nothing),
        cmocka_unit_test(peek_refund_and_zero_take_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
