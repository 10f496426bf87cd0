/* SPDX-License-Identifier: MIT */
/*
 * Unix time at an instant: who is asked for it, and how often. Here unix time runs twice as fast:
 * it is ahead by the instant itself. (Threads: stress/test_schedules.c.)
 */
#include "../support.h"

static struct weir_atomic_u64 asked;

static weir_ns twice(void *context, weir_ns now)
{
    (void)context;
    weir_add_relaxed(&asked, 1);
    return 2 * now;
}

static struct weir *open_with_clock(void)
{
    const struct weir_options options = {.max_keys = 4, .wall_clock = twice};
    weir_store_relaxed(&asked, 0);
    return open_engine(&options);
}

static weir_ns wall(struct weir *w, weir_ns now)
{
    return weir_wall(w, now, WEIR_WALL_OF_CLOCK);
}

/* A second away from what was told last, and not before, it is asked again. */
static void it_is_asked_once_a_second(void **state)
{
    (void)state;
    const weir_ns now = 1000 * WEIR_SECOND;
    struct weir *w = open_with_clock();
    assert_int_equal(wall(w, now), 2 * now);
    uint64_t before = weir_load_relaxed(&asked);
    assert_int_equal(wall(w, now + WEIR_SECOND - 1), 2 * now + WEIR_SECOND - 1);
    assert_int_equal(wall(w, now - WEIR_SECOND), 2 * now - WEIR_SECOND);
    assert_int_equal(weir_load_relaxed(&asked), before);
    assert_int_equal(wall(w, now + WEIR_SECOND), 2 * (now + WEIR_SECOND));
    assert_int_equal(wall(w, now), 2 * (now + WEIR_SECOND) - WEIR_SECOND);
    assert_int_equal(weir_load_relaxed(&asked), before + 1);
    weir_close(w);
}

/* O5: while one writes, the others ask for themselves, and leave what he writes alone. */
static void o5_who_finds_it_taken_asks(void **state)
{
    (void)state;
    const weir_ns now = 1000 * WEIR_SECOND;
    struct weir *w = open_with_clock();
    assert_int_equal(wall(w, now), 2 * now);
    uint64_t before = weir_load_relaxed(&asked);
    uint64_t version = weir_add_relaxed(&w->wall_version, 1);
    for (weir_ns i = 0; i < 3; i++)
        assert_int_equal(wall(w, now + i), 2 * (now + i));
    assert_int_equal(weir_load_relaxed(&asked), before + 3);
    assert_int_equal(weir_load_relaxed(&w->wall_version), version + 1);
    assert_int_equal(weir_load_relaxed(&w->wall_told), now);
    weir_add_relaxed(&w->wall_version, 1);
    assert_int_equal(wall(w, now + 5), 2 * now + 5);
    assert_int_equal(weir_load_relaxed(&asked), before + 3);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_asked_once_a_second),
        cmocka_unit_test(o5_who_finds_it_taken_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
