/* SPDX-License-Identifier: MIT */
/*
 * Steps of windows as pure functions, with payloads and instants that whole calls seldom lead to:
 * windows of other origins and settings, words that say more than any call would have written, and
 * clocks before the origin.
 */
#include "../support.h"

#include "algorithm/algorithm.h"

#define S ((weir_ns)WEIR_SECOND)

static struct weir_meter meter_of(struct weir_policy policy, weir_ns origin)
{
    struct weir_meter m;
    assert_int_equal(weir_meter_init(&m, &policy, origin), 0);
    return m;
}

/* As cells tell instants: nothing is known of other clocks. */
static struct weir_instant instant_of(const struct weir_meter *m, weir_ns now)
{
    struct weir_instant at = {.recent = true};
    weir_algorithm_instant_clamped(m, now, &at);
    return at;
}

/* ---- fixed windows ---- */

/* K11: a reservation made under another origin gives back what it took, in its window. */
static void k11_a_reservation_of_another_origin(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_aligned_window(10, WEIR_SECOND, 0), 1000 * S);
    assert_int_equal(m.origin, 1000);
    struct weir_instant at = instant_of(&m, 1003 * S);
    struct weir_operation op = {.n = 4,
                                .slot = weir_fixed_payload(&m, 15, true, 4),
                                .before = weir_fixed_payload(&m, 14, false, 2),
                                .origin = 990};
    static const enum weir_verb verbs[] = {WEIR_CANCEL, WEIR_UNDO};
    for (size_t i = 0; i < 2; i++) {
        op.verb = verbs[i];
        /* nobody came since */
        struct weir_step step =
            weir_algorithm_step(&m, weir_fixed_payload(&m, 5, true, 4), &op, &at);
        assert_int_equal(step.payload, weir_fixed_payload(&m, 4, false, 2));
        assert_int_equal(step.count, 4);
        /* two more were reserved */
        step = weir_algorithm_step(&m, weir_fixed_payload(&m, 5, true, 6), &op, &at);
        assert_int_equal(step.payload, weir_fixed_payload(&m, 5, true, 2));
        assert_int_equal(step.count, 4);
        /* a later window has begun */
        step = weir_algorithm_step(&m, weir_fixed_payload(&m, 6, false, 6), &op, &at);
        assert_int_equal(step.count, 0);
        assert_false(step.write);
    }
    /* one that lies before the origin has ended */
    op.slot = weir_fixed_payload(&m, 7, true, 4);
    struct weir_step step = weir_algorithm_step(&m, weir_fixed_payload(&m, 0, true, 4), &op, &at);
    assert_int_equal(step.count, 0);
    assert_false(step.write);
}

/* S2: a window counts as one ahead if it begins after the call, not after the instant that was
   looked ahead to. */
static void s2_a_window_is_ahead_of_the_call(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_aligned_window(10, WEIR_SECOND, 0), 1000 * S);
    struct weir_instant at = instant_of(&m, 1003 * S + 900 * WEIR_MILLISECOND);
    static const struct {
        weir_ns early;
        bool ahead;
    } cases[] = {{0, false},
                 {1, false},
                 {500 * WEIR_MILLISECOND, false},
                 {900 * WEIR_MILLISECOND, false},
                 {900 * WEIR_MILLISECOND + 1, true},
                 {2 * WEIR_SECOND, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_operation op = {.verb = WEIR_ADMIT, .n = 3, .early = cases[i].early};
        struct weir_step step =
            weir_algorithm_step(&m, weir_fixed_payload(&m, 2, false, 9), &op, &at);
        assert_int_equal(step.verdict, WEIR_ALLOWED);
        assert_int_equal(step.payload, weir_fixed_payload(&m, 3, cases[i].ahead, 3));
    }
}

/* A window without a count has not been used, unless it was reserved and all of that came back. */
static void s2_a_window_without_a_count(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_aligned_window(10, WEIR_SECOND, 0), 1000 * S);
    struct weir_instant at = instant_of(&m, 1003 * S + 900 * WEIR_MILLISECOND);
    static const struct {
        uint64_t position;
        bool ahead;
        uint64_t count, remaining;
        weir_ns reset;
        bool idle;
    } cases[] = {
        {3, false, 4, 6, 100 * WEIR_MILLISECOND, false},
        {3, false, 0, 10, 0, true},
        {3, true, 0, 10, 100 * WEIR_MILLISECOND, false},
        {3, true, 4, 6, 100 * WEIR_MILLISECOND, false},
        {2, false, 4, 10, 0, true},
        {4, true, 4, 0, 1100 * WEIR_MILLISECOND, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_result result;
        uint64_t payload =
            weir_fixed_payload(&m, cases[i].position, cases[i].ahead, cases[i].count);
        weir_algorithm_describe(&m, payload, &at, &result);
        assert_int_equal(result.remaining, cases[i].remaining);
        assert_int_equal(result.reset, cases[i].reset);
        assert_int_equal(weir_algorithm_is_idle(&m, payload, &at), cases[i].idle);
    }
}

/* K29: a calendar window past all times that there are is never written, nor counted in. */
static void k29_a_calendar_window_past_all_times(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_calendar_window(10, WEIR_CALENDAR_DAY, "UTC"), 0);
    uint64_t past = WEIR_WINDOW_CALENDAR_MAX;
    static const enum weir_verb verbs[] = {WEIR_CHARGE, WEIR_TAKE, WEIR_ADMIT};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        struct weir_operation op = {.verb = verbs[i], .n = 2, .max_wait = WEIR_FOREVER};
        struct weir_instant at = instant_of(&m, INT64_MAX);
        uint64_t payload = weir_fixed_payload(&m, past, true, 0);
        struct weir_step step = weir_algorithm_step(&m, payload, &op, &at);
        assert_int_equal(step.count, 0);
        assert_int_equal(step.payload, payload);
        assert_false(step.write);
    }
    /* whatever clocks may have been ahead */
    struct weir_instant at = instant_of(&m, INT64_MAX);
    at.guard = INT64_MAX;
    struct weir_operation set = {.verb = WEIR_SET, .n = 4};
    struct weir_step step =
        weir_algorithm_step(&m, weir_fixed_payload(&m, past, false, 3), &set, &at);
    assert_int_equal(step.payload, weir_fixed_payload(&m, past, false, 3));
    assert_false(step.write);
    step = weir_algorithm_step(&m, weir_fixed_payload(&m, past - 1, false, 3), &set, &at);
    assert_int_equal(step.payload, weir_fixed_payload(&m, past - 1, false, 6));
    assert_true(step.write);
}

/* K16, K29: windows of other settings, also ones that lie where no call has put them. */
static void k16_k29_fixed_windows_of_other_settings(void **state)
{
    (void)state;
    struct weir_meter seconds = meter_of(weir_aligned_window(10, WEIR_SECOND, 0), 0);
    struct weir_meter later = meter_of(weir_aligned_window(20, WEIR_SECOND, 0), 2000 * S);
    struct weir_instant at = instant_of(&seconds, 1500 * S);
    struct weir_instant at_later = instant_of(&later, 1500 * S);
    uint64_t payload = weir_fixed_payload(&seconds, 1500, false, 4);
    /* before the other line */
    assert_int_equal(weir_algorithm_reprice(&seconds, payload, &at, &later, &at_later, false), 0);
    later = meter_of(weir_aligned_window(20, WEIR_SECOND, 0), 1400 * S);
    at_later = instant_of(&later, 1500 * S);
    assert_int_equal(weir_algorithm_reprice(&seconds, payload, &at, &later, &at_later, false),
                     weir_fixed_payload(&later, 100, false, 4));

    /* a count that takes more bits leaves fewer for the number */
    struct weir_meter one = meter_of(weir_aligned_window(1, WEIR_SECOND, 0), 0);
    struct weir_meter many = meter_of(weir_aligned_window((1 << 24) - 1, WEIR_SECOND, 0), 0);
    at = instant_of(&one, 1500 * S);
    payload = weir_fixed_payload(&one, (uint64_t)1 << 40, true, 1);
    assert_int_equal(weir_algorithm_reprice(&one, payload, &at, &many, &at, false),
                     weir_fixed_payload(&many, ((uint64_t)1 << 38) - 1, true, 1));

    /* further ahead than any time */
    struct weir_meter years = meter_of(weir_aligned_window(10, 366 * WEIR_DAY, 0), 0);
    struct weir_meter days = meter_of(weir_aligned_window(10, WEIR_DAY, 0), 0);
    struct weir_meter hour = meter_of(weir_fixed_window(10, WEIR_HOUR), 0);
    at = instant_of(&years, 1500 * S);
    payload = weir_fixed_payload(&years, (uint64_t)1 << 50, true, 3);
    struct weir_instant at_days = instant_of(&days, 1500 * S);
    struct weir_instant at_hour = instant_of(&hour, 1500 * S);
    assert_int_equal(weir_algorithm_reprice(&years, payload, &at, &days, &at_days, false),
                     weir_fixed_payload(&days, (uint64_t)INT64_MAX / WEIR_DAY, true, 3));
    assert_int_equal(weir_algorithm_reprice(&years, payload, &at, &hour, &at_hour, false),
                     weir_fixed_payload(&hour, hour.span >> (hour.count_bits + 1), true, 3));
}

/* ---- sliding windows ---- */

static void k11_a_sliding_reservation_of_another_origin(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_sliding_window(10, WEIR_DAY), 1000 * WEIR_DAY);
    assert_int_equal(m.origin, 1000);
    struct weir_instant at = instant_of(&m, 1003 * WEIR_DAY);
    static const enum weir_verb verbs[] = {WEIR_CANCEL, WEIR_UNDO};
    for (size_t i = 0; i < 2; i++) {
        struct weir_operation op = {.verb = verbs[i],
                                    .n = 4,
                                    .slot = weir_sliding_payload(&m, 13, 1, 7),
                                    .before = weir_sliding_payload(&m, 13, 1, 3),
                                    .origin = 990};
        struct weir_step step =
            weir_algorithm_step(&m, weir_sliding_payload(&m, 3, 1, 7), &op, &at);
        assert_int_equal(step.payload, weir_sliding_payload(&m, 3, 1, 3));
        assert_int_equal(step.count, 4);
        /* one that lies before the origin has faded */
        op.slot = weir_sliding_payload(&m, 9, 1, 7);
        step = weir_algorithm_step(&m, weir_sliding_payload(&m, 0, 1, 7), &op, &at);
        assert_int_equal(step.count, 0);
        assert_false(step.write);
    }
}

/* K11: of the window before the newest at most what is left of it comes back, of others nothing. */
static void k11_a_sliding_window_gives_back_what_it_has(void **state)
{
    (void)state;
    static const struct {
        uint64_t number, previous, current; /* a reservation of 4 was made in window 3 */
        uint64_t count, previous_after, current_after;
    } cases[] = {
        {3, 2, 9, 4, 2, 5}, {3, 2, 3, 3, 2, 0}, {4, 7, 5, 4, 3, 5}, {4, 4, 5, 4, 0, 5},
        {4, 2, 5, 2, 0, 5}, {4, 0, 5, 0, 0, 5}, {5, 7, 5, 0, 7, 5}, {2, 7, 5, 0, 7, 5},
    };
    struct weir_meter m = meter_of(weir_sliding_window(10, WEIR_DAY), 1000 * WEIR_DAY);
    struct weir_instant at = instant_of(&m, 1003 * WEIR_DAY);
    struct weir_operation op = {.verb = WEIR_CANCEL,
                                .n = 4,
                                .slot = weir_sliding_payload(&m, 3, 1, 7),
                                .before = weir_sliding_payload(&m, 3, 1, 3),
                                .origin = m.origin};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t payload =
            weir_sliding_payload(&m, cases[i].number, cases[i].previous, cases[i].current);
        struct weir_step step = weir_algorithm_step(&m, payload, &op, &at);
        assert_int_equal(step.count, cases[i].count);
        assert_int_equal(step.write, cases[i].count != 0);
        assert_int_equal(step.payload,
                         weir_sliding_payload(&m, cases[i].number, cases[i].previous_after,
                                              cases[i].current_after));
    }
}

static void k16_k29_sliding_windows_of_other_settings(void **state)
{
    (void)state;
    struct weir_meter few = meter_of(weir_sliding_window(10, WEIR_DAY), 0);
    struct weir_meter later = meter_of(weir_sliding_window(20, WEIR_DAY), 2000 * WEIR_DAY);
    struct weir_instant at = instant_of(&few, 1500 * WEIR_DAY);
    struct weir_instant at_later = instant_of(&later, 1500 * WEIR_DAY);
    uint64_t payload = weir_sliding_payload(&few, 1500, 3, 4);
    assert_int_equal(weir_algorithm_reprice(&few, payload, &at, &later, &at_later, false), 0);
    later = meter_of(weir_sliding_window(20, WEIR_DAY), 1400 * WEIR_DAY);
    at_later = instant_of(&later, 1500 * WEIR_DAY);
    assert_int_equal(weir_algorithm_reprice(&few, payload, &at, &later, &at_later, false),
                     weir_sliding_payload(&later, 100, 3, 4));
    /* 15 bits are left for the number */
    struct weir_meter many = meter_of(weir_sliding_window((1 << 24) - 1, WEIR_DAY), 0);
    payload = weir_sliding_payload(&few, 100000, 1, 2);
    assert_int_equal(weir_algorithm_reprice(&few, payload, &at, &many, &at, false),
                     weir_sliding_payload(&many, 32767, 1, 2));
}

/* K16: counts that other settings hold are held too, as far as that leaves room for the time. */
static void k16_a_sliding_window_counts_as_far_as_it_can(void **state)
{
    (void)state;
    static const struct {
        weir_ns period;
        unsigned asked, got;
    } cases[] = {{366 * WEIR_DAY, 29, 28}, {366 * WEIR_DAY, 28, 28}, {366 * WEIR_DAY, 27, 27},
                 {WEIR_MINUTE, 29, 20},    {WEIR_MINUTE, 20, 20},    {WEIR_MINUTE, 19, 19}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_settings s;
        struct weir_policy policy = weir_sliding_window(5, cases[i].period);
        assert_int_equal(weir_settings_fill(&s, &policy, NULL, 0, cases[i].asked), 0);
        assert_int_equal(s.meter.count_bits, cases[i].got);
    }
}

static void k07_more_than_the_limit_never_fits(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_sliding_window(10, WEIR_DAY), 0);
    struct weir_sliding s = {5, 0, 0, 0, 0};
    assert_true(weir_sliding_fits(&m, &s, 10));
    assert_false(weir_sliding_fits(&m, &s, 11));
    assert_false(weir_sliding_fits(&m, &s, UINT64_MAX));
}

/* ---- both ---- */

/* K01: before the origin the quick form tells nothing, and changes nothing. */
static void k01_no_quick_answer_before_the_origin(void **state)
{
    (void)state;
    struct weir_meter meters[] = {
        meter_of(weir_aligned_window(10, WEIR_SECOND, 0), 1000 * S),
        meter_of(weir_fixed_window(10, WEIR_SECOND), 1000 * S),
        meter_of(weir_sliding_window(10, WEIR_SECOND), 1000 * S),
    };
    for (size_t i = 0; i < sizeof meters / sizeof meters[0]; i++) {
        const struct weir_meter *m = &meters[i];
        struct weir_instant before = instant_of(m, 999 * S);
        struct weir_instant at = instant_of(m, 1000 * S);
        struct weir_result result = {0};
        assert_int_equal(before.line, at.line);
        uint64_t payload = 3; /* tokens of the first window */
        assert_false(weir_algorithm_quick(m, &payload, 1, &before, &result));
        assert_int_equal(payload, 3);
        assert_true(weir_algorithm_quick(m, &payload, 1, &at, &result));
        assert_int_equal(payload, 4);
        assert_int_equal(result.remaining, 6);
    }
}

static void k04_spans_end_where_numbers_do(void **state)
{
    (void)state;
    assert_int_equal(weir_window_clip(-1), 0);
    assert_int_equal(weir_window_clip(0), 0);
    assert_int_equal(weir_window_clip((weir_i128)UINT64_MAX - 1), UINT64_MAX - 1);
    assert_int_equal(weir_window_clip((weir_i128)UINT64_MAX), WEIR_FOREVER);
    assert_int_equal(weir_window_clip((weir_i128)UINT64_MAX + 1), WEIR_FOREVER);
    /* an origin lies before `now` by stale clocks and two windows, or half of what can be told */
    struct weir_meter m = meter_of(weir_fixed_window(1, WEIR_SECOND), 0);
    assert_true(weir_window_back(&m, 60 * S) == 62 * (weir_i128)S);
    assert_true(weir_window_back(&m, INT64_MAX) == ((weir_i128)1 << 59) - 1);
}

static void k20_when_windows_need_an_origin(void **state)
{
    (void)state;
    struct weir_meter hit = meter_of(weir_fixed_window(1, WEIR_SECOND), 1000 * S);
    struct weir_meter aligned = meter_of(weir_aligned_window(1, WEIR_SECOND, 0), 1000 * S);
    struct weir_meter sliding = meter_of(weir_sliding_window(1, WEIR_SECOND), 1000 * S);
    struct weir_meter daily = meter_of(weir_calendar_window(1, WEIR_CALENDAR_DAY, "UTC"), 0);
    const struct {
        const struct weir_meter *m;
        weir_ns now, stale_max;
        bool needs;
    } cases[] = {
        {&hit, 1000 * S, 10 * S, false},    {&hit, 995 * S, 5 * S, false},
        {&hit, 995 * S, 5 * S - 1, true},   {&hit, (weir_ns)1 << 62, 10 * S, true},
        {&sliding, 995 * S, 5 * S, false},  {&sliding, 995 * S, 4 * S, true},
        {&sliding, 1005 * S, 0, false},     {&aligned, 1000 * S, 10 * S, false},
        {&aligned, 999 * S, 10 * S, true},  {&daily, 0, 0, false},
        {&daily, INT64_MAX, 10 * S, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(weir_algorithm_needs_origin(cases[i].m, cases[i].now, cases[i].stale_max),
                         cases[i].needs);
    /* one that cannot be told moves nothing */
    int64_t steps = INT64_MAX;
    uint64_t born = 77;
    assert_false(weir_algorithm_move_origin(&hit, 3000 * S, 10 * S, true, &steps, &born));
    assert_true(steps == INT64_MAX && born == 77 && hit.origin == 1000 * (int64_t)S);
    steps = 0;
    assert_true(weir_algorithm_move_origin(&hit, 3000 * S, 10 * S, true, &steps, &born));
    assert_true(born == 12 * S && hit.origin == 2988 * (int64_t)S);
}

/* S5: words move by whole windows; what lies too far ahead becomes what is said of it. */
static void s5_words_of_another_origin(void **state)
{
    (void)state;
    struct weir_meter m = meter_of(weir_fixed_window(3, WEIR_SECOND), 0);
    uint64_t unit = m.units;
    assert_int_equal(unit, 8);
    assert_int_equal(weir_window_rebase(&m, 10 * unit + 3, 4, 99), 6 * unit + 3);
    assert_int_equal(weir_window_rebase(&m, 10 * unit + 3, -4, 99), 14 * unit + 3);
    assert_int_equal(weir_window_rebase(&m, 10 * unit + 3, 11, 99), 0);
    assert_int_equal(weir_window_rebase(&m, 0, -4, 99), 0);
    assert_int_equal(weir_window_rebase(&m, m.span, 0, 99), m.span);
    assert_int_equal(weir_window_rebase(&m, m.span, -1, 99), 99);
    m = meter_of(weir_fixed_window(WEIR_UNLIMITED, WEIR_SECOND), 0); /* has no windows */
    assert_int_equal(m.units, 0);
    assert_int_equal(weir_window_rebase(&m, 10, 3, 99), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k11_a_reservation_of_another_origin),
        cmocka_unit_test(s2_a_window_is_ahead_of_the_call),
        cmocka_unit_test(s2_a_window_without_a_count),
        cmocka_unit_test(k29_a_calendar_window_past_all_times),
        cmocka_unit_test(k16_k29_fixed_windows_of_other_settings),
        cmocka_unit_test(k11_a_sliding_reservation_of_another_origin),
        cmocka_unit_test(k11_a_sliding_window_gives_back_what_it_has),
        cmocka_unit_test(k16_k29_sliding_windows_of_other_settings),
        cmocka_unit_test(k16_a_sliding_window_counts_as_far_as_it_can),
        cmocka_unit_test(k07_more_than_the_limit_never_fits),
        cmocka_unit_test(k01_no_quick_answer_before_the_origin),
        cmocka_unit_test(k04_spans_end_where_numbers_do),
        cmocka_unit_test(k20_when_windows_need_an_origin),
        cmocka_unit_test(s5_words_of_another_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
