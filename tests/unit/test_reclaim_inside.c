/* SPDX-License-Identifier: MIT */
/*
 * Retirement from inside: its text is compiled here, so that another thread comes between two of
 * its steps. Nothing that was retired stays aside, whoever was in the way.
 */
#include "../support.h"

#include "table/reclaim.h"

#include <pthread.h>

/* Whoever comes next before a compare-and-swap of the list, or after the lock was let go of. */
static void (*before_swap)(void);
static void (*after_unlock)(void);

static void once(void (**others)(void))
{
    void (*run)(void) = *others;
    *others = NULL;
    if (run != NULL)
        run();
}

static bool test_swap(struct weir_array **list, struct weir_array **expected, struct weir_array *a)
{
    once(&before_swap);
    return weir_pointer_cas_acq_rel(list, expected, a);
}

static int test_unlock(pthread_mutex_t *lock)
{
    int error = pthread_mutex_unlock(lock);
    once(&after_unlock);
    return error;
}

#undef weir_pointer_cas_acq_rel
#define weir_pointer_cas_acq_rel test_swap
#define pthread_mutex_unlock     test_unlock

#include "table/reclaim.c"

#undef pthread_mutex_unlock

static struct weir_table *t;
static struct weir_array *second;

/* A table, and two arrays that nobody has seen. */
static struct weir_array *open_arrays(void)
{
    t = aligned_alloc(64, sizeof *t);
    assert_non_null(t);
    assert_int_equal(weir_table_init(t, 100, 8, 1000), 0);
    struct weir_array *first = weir_table_make_array(t, 0, WEIR_ORDER_MIN);
    second = weir_table_make_array(t, 0, WEIR_ORDER_MIN);
    assert_true(first != NULL && second != NULL);
    assert_int_equal(weir_load_relaxed(&t->arrays), 2);
    return first;
}

static void close_arrays(void)
{
    weir_retire_wait(t);
    assert_false(is_any_aside());
    assert_int_equal(weir_load_relaxed(&t->retired_bytes), 0);
    assert_int_equal(weir_load_relaxed(&t->arrays), 0);
    assert_int_equal(weir_load_relaxed(&t->retirements), 2);
    assert_true(weir_arena_is_valid(&t->arena));
    assert_int_equal(t->arena.chunks, t->arena.chunks_free);
    weir_table_free(t);
    free(t);
}

static void retire_second(void)
{
    weir_retire(t, second);
}

/* P1: two put theirs aside at once, while a third has the lock: both are handed over by it. */
static void p1_two_put_aside_at_once(void **state)
{
    (void)state;
    struct weir_array *first = open_arrays();
    pthread_mutex_lock(&retiring);
    before_swap = retire_second;
    weir_retire(t, first);
    assert_true(before_swap == NULL);
    assert_ptr_equal(aside, first);
    assert_ptr_equal(first->retire[0], second);
    assert_null(second->retire[0]);
    assert_int_equal(weir_load_relaxed(&t->retired_bytes), 2 * weir_array_bytes(first));
    let_go();
    assert_false(is_any_aside());
    close_arrays();
}

static void lock_and_retire_second(void)
{
    pthread_mutex_lock(&retiring);
    weir_retire(t, second);
}

/* P1: who lets go of the lock and finds something aside leaves it to who has the lock now. */
static void p1_another_takes_the_lock_and_what_is_aside(void **state)
{
    (void)state;
    struct weir_array *first = open_arrays();
    after_unlock = lock_and_retire_second;
    weir_retire(t, first);
    assert_true(after_unlock == NULL);
    assert_ptr_equal(aside, second); /* not waited for */
    let_go();
    close_arrays();
}

static void put_second_aside(void)
{
    put_aside(second); /* by one who found the lock taken a moment ago */
}

/* P1: or hands it over himself, if nobody has the lock. */
static void p1_who_lets_go_looks_again(void **state)
{
    (void)state;
    struct weir_array *first = open_arrays();
    weir_add_relaxed(&t->arrays, (uint64_t)-1);
    weir_add_relaxed(&t->bytes, 0 - weir_array_bytes(second));
    weir_add_relaxed(&t->retired_bytes, weir_array_bytes(second));
    weir_add_relaxed(&t->retirements, 1);
    after_unlock = put_second_aside;
    weir_retire(t, first);
    assert_true(after_unlock == NULL);
    assert_false(is_any_aside());
    close_arrays();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p1_two_put_aside_at_once),
        cmocka_unit_test(p1_another_takes_the_lock_and_what_is_aside),
        cmocka_unit_test(p1_who_lets_go_looks_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
