/* SPDX-License-Identifier: MIT */
/*
 * How a fixed window that lies ahead of `now` is read: as what a clock that is behind still has to
 * keep to, or as what is left of a wall clock that was set back.
 */
#include "../support.h"

#include "algorithm/fixed_window.h"

static struct weir_meter meter_of(struct weir_policy policy)
{
    struct weir_meter m;
    assert_int_equal(weir_meter_init(&m, &policy, 0), 0);
    return m;
}

/* How a window so many after that of `now`, which was taken from when it ran, is read where `now`
   may be behind by the guard. */
static enum weir_fixed_where read_later(const struct weir_meter *m, uint64_t later, weir_ns now,
                                        weir_ns guard)
{
    struct weir_instant at = {0};
    assert_true(weir_fixed_instant(m, now, &at));
    at.guard = guard;
    at.recent = true;
    return weir_fixed_read(m, weir_fixed_payload(m, at.line + later, false, 1), &at).where;
}

/* S1, K20: `now` lies into its window. The next one is within reach of any clock. The one after it
   begins a window's length later, and what is further ahead than that by more than the guard has
   ended; by no more, it runs. */
static void assert_guard(struct weir_policy policy, weir_ns begin, weir_ns length, weir_ns next)
{
    struct weir_meter m = meter_of(policy);
    for (weir_ns into = 0; into < length; into += length / 7) {
        assert_int_equal(read_later(&m, 1, begin + into, 0), WEIR_FIXED_RUNNING);
        assert_int_equal(read_later(&m, 2, begin + into, 0), WEIR_FIXED_ENDED);
        assert_int_equal(read_later(&m, 2, begin + into, next - 1), WEIR_FIXED_ENDED);
        assert_int_equal(read_later(&m, 2, begin + into, next), WEIR_FIXED_RUNNING);
    }
}

static void k20_one_window_ahead_and_the_guard(void **state)
{
    (void)state;
    const weir_ns march = 20513 * WEIR_DAY; /* 1 March 2026 */
    assert_guard(weir_aligned_window(5, WEIR_MINUTE, 0), march, WEIR_MINUTE, WEIR_MINUTE);
    assert_guard(weir_calendar_window(5, WEIR_CALENDAR_DAY, "UTC"), march, WEIR_DAY, WEIR_DAY);
    assert_guard(weir_calendar_window(5, WEIR_CALENDAR_WEEK, "UTC"), march + WEIR_DAY, 7 * WEIR_DAY,
                 7 * WEIR_DAY);
    assert_guard(weir_calendar_window(5, WEIR_CALENDAR_MONTH, "UTC"), march, 31 * WEIR_DAY,
                 30 * WEIR_DAY);
    assert_guard(weir_calendar_window(5, WEIR_CALENDAR_MONTH, "UTC"), march - 28 * WEIR_DAY,
                 28 * WEIR_DAY, 31 * WEIR_DAY);
    /* the day after that has 23 hours */
    assert_guard(weir_calendar_window(5, WEIR_CALENDAR_DAY, "America/New_York"),
                 march + 6 * WEIR_DAY + 5 * WEIR_HOUR, WEIR_DAY, 23 * WEIR_HOUR);
}

/* S5, K27: what an engine may leave behind. A call without a `now` is one at 0: by unix time that
   is long before the window, which is no step of unix time while no clock was seen, or the newest
   one is far from it. */
static void k27_a_window_is_not_idle_to_who_knows_no_clock(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_aligned_window(5, WEIR_DAY, 0));
    static const struct {
        uint64_t newest;
        bool idle;
    } cases[] = {{0, false}, {WEIR_SECOND, true}, {WEIR_MINUTE, true}, {365 * WEIR_DAY, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_atomic_u64 newest = {cases[i].newest};
        struct weir_instant at = {.newest = &newest, .now = 0, .stale_max = WEIR_MINUTE};
        assert_true(weir_fixed_instant(&m, 20513 * WEIR_DAY, &at));
        uint64_t ahead = weir_fixed_payload(&m, at.line + 10, false, 2);
        assert_int_equal(weir_fixed_is_idle(&m, ahead, &at), cases[i].idle);
        assert_false(weir_fixed_is_idle(&m, weir_fixed_payload(&m, at.line, false, 2), &at));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k20_one_window_ahead_and_the_guard),
        cmocka_unit_test(k27_a_window_is_not_idle_to_who_knows_no_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
