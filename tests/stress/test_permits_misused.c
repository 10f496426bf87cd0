/* SPDX-License-Identifier: MIT */
/*
 * K13, K26: permits that are given back twice, elsewhere or too late, and permits of keys for which
 * the table has no place.
 */
#include "permits.h"

/* ---- permits that are misused ---- */

static void k13_a_permit_is_released_once(void **state)
{
    (void)state;
    struct scene s;
    struct weir_permit a, b, none = {0};
    open_scene(&s, 5);
    acquire(&s, 2, &a);
    acquire(&s, 3, &b);
    assert_int_equal(weir_release(s.w, &a), 0);
    assert_int_equal(a.n, 0);
    assert_int_equal(weir_release(s.w, &a), -EALREADY);
    assert_int_equal(in_use(&s), 3);
    assert_int_equal(weir_release(s.w, &none), -EINVAL);
    assert_int_equal(weir_release(s.w, NULL), -EINVAL);
    assert_int_equal(weir_release(NULL, &b), -EINVAL);
    assert_int_equal(weir_acquire(s.w, s.limit, s.key, 3, &a).verdict, WEIR_DENIED);
    assert_int_equal(weir_release(s.w, &a), -EINVAL); /* of nothing */
    assert_int_equal(weir_acquire(s.w, s.limit, s.key, 6, &a).verdict, WEIR_NEVER);
    assert_int_equal(weir_release(s.w, &a), -EINVAL);
    acquire(&s, 0, &a);
    assert_int_equal(weir_release(s.w, &a), 0);
    assert_int_equal(weir_release(s.w, &a), -EALREADY);
    assert_int_equal(in_use(&s), 3);
#ifndef NDEBUG
    struct weir_permit copy = b;
    assert_int_equal(weir_release(s.w, &copy), -EINVAL);
    assert_int_equal(in_use(&s), 3);
#endif
    assert_int_equal(weir_release(s.w, &b), 0);
    end_scene(&s, 5);
}

static void k13_a_permit_of_another_engine(void **state)
{
    (void)state;
    struct scene s, other;
    struct weir_permit mine, theirs;
    open_scene(&s, 2);
    open_scene(&other, 2);
    assert_int_equal(s.limit, other.limit);
    other.key = s.key;
    acquire(&s, 1, &mine);
    acquire(&other, 2, &theirs);
    assert_int_equal(weir_release(s.w, &theirs), -ENOENT);
    assert_int_equal(weir_release(other.w, &mine), -ENOENT);
    assert_int_equal(in_use(&s), 1);
    assert_int_equal(in_use(&other), 2);
    assert_int_equal(weir_release(s.w, &mine), 0);
    assert_int_equal(weir_release(other.w, &theirs), 0);
    assert_int_equal(weir_release(s.w, &theirs), -EALREADY);
    end_scene(&s, 2);
    end_scene(&other, 2);
}

static void k13_a_permit_of_a_limit_that_was_there_before(void **state)
{
    (void)state;
    struct scene s;
    struct weir_permit old, current;
    open_scene(&s, 2);
    acquire(&s, 1, &old);
    set_permits(&s, 7); /* the same limit */
    assert_int_equal(weir_release(s.w, &old), 0);
    acquire(&s, 2, &old);
    assert_int_equal(weir_remove_limit(s.w, s.limit, T0), 0);
    assert_int_equal(add_limit(s.w, "a", weir_concurrency(2)), s.limit);
    acquire(&s, 1, &current);
    assert_int_equal(weir_release(s.w, &old), -ENOENT);
    assert_int_equal(in_use(&s), 1);
    assert_int_equal(weir_release(s.w, &current), 0);
    end_scene(&s, 2);
}

/* ---- keys without a place ---- */

/* The only place is taken by another key, for as long as its permit is in use. */
static void open_full(struct scene *s, enum weir_when_full when_full, struct weir_permit *placed)
{
    *s = (struct scene){.w = open_for_keys(1, when_full)};
    s->limit = add_limit(s->w, "a", weir_concurrency(3));
    s->key = weir_key_u64(s->w, 1);
    acquire(s, 1, placed);
    s->key = weir_key_u64(s->w, 2);
}

static void k26_shared(void **state)
{
    (void)state;
    struct scene s;
    struct weir_permit placed, a, b;
    open_full(&s, WEIR_FULL_SHARE, &placed);
    acquire(&s, 2, &a);
    assert_int_equal(in_use(&s), 2);
    s.key = weir_key_u64(s.w, 3);
    assert_int_equal(in_use(&s), 2); /* the same bucket */
    assert_int_equal(weir_acquire(s.w, s.limit, s.key, 2, &b).verdict, WEIR_DENIED);
    acquire(&s, 1, &b);
    assert_int_equal(weir_release(s.w, &a), 0);
    assert_int_equal(weir_release(s.w, &a), -EALREADY);
    assert_int_equal(in_use(&s), 1);
    s.key = weir_key_u64(s.w, 1);
    assert_int_equal(in_use(&s), 1);
    assert_int_equal(weir_release(s.w, &placed), 0);
    assert_int_equal(in_use(&s), 0);
    assert_int_equal(weir_release(s.w, &b), 0);
    s.key = weir_key_u64(s.w, 3);
    end_scene(&s, 3);
}

/* A permit that another key of the overflow bucket gives back is one for who waits there. */
static void k12_k26_shared_permits_wake_the_others(void **state)
{
    (void)state;
    struct scene s;
    struct waiter a;
    struct weir_permit placed, held;
    open_full(&s, WEIR_FULL_SHARE, &placed);
    acquire(&s, 3, &held);
    s.key = weir_key_u64(s.w, 3);
    start(&a, &s, 2, weir_now() + 5 * WEIR_SECOND); /* so that it ends, whatever happens */
    assert_int_equal(weir_release(s.w, &held), 0);
    assert_got(&a, 0);
    release(&a);
    end_scene(&s, 3);
}

static void k26_allowed(void **state)
{
    (void)state;
    struct scene s;
    struct weir_permit placed, a;
    open_full(&s, WEIR_FULL_ALLOW, &placed);
    for (unsigned i = 0; i < 3; i++) {
        acquire(&s, 3, &a); /* nothing is recorded */
        assert_int_equal(in_use(&s), 0);
        assert_int_equal(weir_release(s.w, &a), 0);
        assert_int_equal(weir_release(s.w, &a), -EALREADY);
    }
    assert_int_equal(weir_acquire(s.w, s.limit, s.key, 4, &a).verdict, WEIR_NEVER);
    assert_int_equal(weir_acquire_wait(s.w, s.limit, s.key, 3, WEIR_FOREVER, &a), 0);
    assert_int_equal(weir_release(s.w, &a), 0);
    assert_int_equal(weir_acquire_wait(s.w, s.limit, s.key, 4, WEIR_FOREVER, &a), -E2BIG);
    s.key = weir_key_u64(s.w, 1);
    assert_int_equal(in_use(&s), 1);
    assert_int_equal(weir_release(s.w, &placed), 0);
    end_scene(&s, 3);
}

/* What was recorded nowhere is given back nowhere, also when its key has a place by then. */
static void k13_k26_a_permit_of_nobody_gives_back_none(void **state)
{
    (void)state;
    struct scene s;
    struct weir_permit placed, nobodys, a;
    open_full(&s, WEIR_FULL_ALLOW, &placed);
    acquire(&s, 2, &nobodys);
    assert_int_equal(in_use(&s), 0);
    assert_int_equal(weir_release(s.w, &placed), 0);
    assert_int_equal(weir_trim(s.w, T0), 0);
    acquire(&s, 1, &a);
    assert_int_equal(in_use(&s), 1);
    assert_int_equal(weir_release(s.w, &nobodys), 0);
    assert_int_equal(in_use(&s), 1);
    assert_int_equal(weir_release(s.w, &a), 0);
    end_scene(&s, 3);
}

static void k26_denied(void **state)
{
    (void)state;
    struct scene s;
    struct weir_permit placed, a;
    open_full(&s, WEIR_FULL_DENY, &placed);
    struct weir_result result = weir_acquire(s.w, s.limit, s.key, 1, &a);
    assert_int_equal(result.verdict, WEIR_DENIED);
    assert_int_equal(result.wait, WEIR_FOREVER);
    assert_int_equal(result.remaining, 0);
    assert_int_equal(weir_release(s.w, &a), -EINVAL);
    assert_int_equal(weir_acquire(s.w, s.limit, s.key, 4, &a).verdict, WEIR_NEVER);
    assert_int_equal(weir_acquire_wait(s.w, s.limit, s.key, 1, WEIR_FOREVER, &a), -ENOSPC);
    assert_int_equal(weir_acquire_wait(s.w, s.limit, s.key, 4, WEIR_FOREVER, &a), -E2BIG);
    assert_int_equal(in_use(&s), 0);
    s.key = weir_key_u64(s.w, 1);
    assert_int_equal(in_use(&s), 1);
    assert_int_equal(weir_release(s.w, &placed), 0);
    end_scene(&s, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k13_a_permit_is_released_once),
        cmocka_unit_test(k13_a_permit_of_another_engine),
        cmocka_unit_test(k13_a_permit_of_a_limit_that_was_there_before),
        cmocka_unit_test(k26_shared),
        cmocka_unit_test(k12_k26_shared_permits_wake_the_others),
        cmocka_unit_test(k26_allowed),
        cmocka_unit_test(k13_k26_a_permit_of_nobody_gives_back_none),
        cmocka_unit_test(k26_denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
