/* SPDX-License-Identifier: MIT */
/*
 * Origins: where a limit's time line begins, how it follows jumps of the clock, and the sweep that
 * frees generations. No jump loses or doubles a debt.
 */
#include "../support.h"

static const weir_ns year = 365 * WEIR_DAY;

static const struct weir_settings *settings_of(struct weir *w, int limit)
{
    return weir_pointer_load_acquire(&w->limits[limit].settings);
}

static unsigned generations_of(struct weir *w, int limit)
{
    return (unsigned)__builtin_popcount(settings_of(w, limit)->generations);
}

/* Takes tokens of the key until it is denied; returns how many it got. */
static uint64_t drain(struct weir *w, int limit, weir_key key, weir_ns now)
{
    uint64_t got = 0;
    while (weir_allow(w, limit, key, 1, now))
        got++;
    return got;
}

/* A call that writes nothing, but gives the limit an origin from which `now` can be told. */
static void tell(struct weir *w, int limit, weir_key key, weir_ns now)
{
    assert_true(weir_decide(w, limit, key, 0, now).verdict != WEIR_INVALID);
}

static void first_now_less_stale_max_is_the_origin(void **state)
{
    (void)state;
    static const weir_ns firsts[] = {0, 1, WEIR_SECOND, (weir_ns)1 << 62, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
        int limit = add_limit(w, "a", weir_token_bucket(10, WEIR_SECOND, 3));
        assert_int_equal(settings_of(w, limit)->generation, 0);
        assert_int_equal(drain(w, limit, weir_key_u64(w, 1), firsts[i]), 3);
        weir_ns first = firsts[i] < INT64_MAX ? firsts[i] : INT64_MAX;
        assert_int_equal(settings_of(w, limit)->generation, 1);
        assert_true(settings_of(w, limit)->meter.origin ==
                    (int64_t)first - (int64_t)(60 * WEIR_SECOND));
        weir_close(w);
    }
}

/* The numbers of an origin that a limit gets at its first call, of an engine with this stale_max:
   how far it lies before that, at least and at most. */
static void assert_origin_of(struct weir_policy policy, weir_ns stale_max, weir_ns least,
                             weir_ns most)
{
    const weir_ns now = 1000 * WEIR_DAY;
    const struct weir_options options = {.max_keys = 4, .stale_max = stale_max};
    struct weir *w = open_engine(&options);
    int limit = add_limit(w, "a", policy);
    tell(w, limit, weir_key_u64(w, 1), now);
    const struct weir_meter *m = &settings_of(w, limit)->meter;
    uint64_t grain = m->kind == WEIR_FIXED_WINDOW ? 1 : m->tick;
    weir_ns back = now - (weir_ns)m->origin * grain;
    assert_true(back >= least && back <= most);
    weir_close(w);
}

/* S5: no window that has not ended lies before it, for a clock that is stale_max behind either; and
   no more than half of what a payload reaches lies behind `now`. */
static void s5_an_origin_of_windows_lies_two_periods_further_back(void **state)
{
    (void)state;
    const weir_ns stale_max = 60 * WEIR_SECOND;
    assert_origin_of(weir_fixed_window(10, WEIR_SECOND), stale_max, 62 * WEIR_SECOND,
                     62 * WEIR_SECOND);
    assert_origin_of(weir_sliding_window(10, WEIR_SECOND), stale_max, 62 * WEIR_SECOND,
                     63 * WEIR_SECOND);
    assert_origin_of(weir_fixed_window(10, WEIR_SECOND), 90 * WEIR_DAY,
                     90 * WEIR_DAY + 2 * WEIR_SECOND, 90 * WEIR_DAY + 2 * WEIR_SECOND);
    /* 20 bits a count leave 18 of numbers: a quarter of 2^18 - 1 minutes, 45 days */
    assert_origin_of(weir_sliding_window(1048575, 60 * WEIR_SECOND), 90 * WEIR_DAY,
                     65535 * 60 * WEIR_SECOND, 65536 * 60 * WEIR_SECOND);
}

/* 999999937/s: half of a payload's span is 208 days. */
static void a_jump_ahead_gives_a_new_origin_and_the_burst(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(999999937, WEIR_SECOND, 1000));
    weir_key key = weir_key_u64(w, 1);
    weir_ns now = 5 * WEIR_SECOND;
    for (unsigned jumps = 1; jumps <= 20; jumps++) {
        assert_int_equal(drain(w, limit, key, now), 1000);
        assert_int_equal(generations_of(w, limit), jumps);
        int64_t origin = settings_of(w, limit)->meter.origin;
        now += 300 * WEIR_DAY;
        assert_true(weir_peek(w, limit, key, 1000, now).verdict == WEIR_ALLOWED);
        /* S5: by a whole number of grains, so that words move by whole units */
        uint64_t moved = (uint64_t)(settings_of(w, limit)->meter.origin - origin);
        assert_int_equal(moved % settings_of(w, limit)->meter.grains, 0);
    }
    weir_close(w);
}

/* K03, S5: debt is kept over an origin that moves, to the nanosecond. */
static void s5_debt_survives_a_new_origin(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit;
        weir_ns period;
        uint64_t burst;
    } policies[] = {
        {999999937, WEIR_SECOND, 1000}, /* rounded */
        {9, WEIR_NANOSECOND * 10, 50},  /* exact, nine units a nanosecond */
        {17, WEIR_MICROSECOND, 20},     /* rounded */
    };
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
        int limit = add_limit(
            w, "a", weir_token_bucket(policies[i].limit, policies[i].period, policies[i].burst));
        weir_key key = weir_key_u64(w, 1);
        weir_key other = weir_key_u64(w, 2);
        weir_ns now = 1000;
        /* debts of about 100 days, so that they outlast the move */
        weir_ns debt = 100 * WEIR_DAY;
        uint64_t tokens = (uint64_t)((weir_u128)debt * policies[i].limit / policies[i].period);
        assert_int_equal(weir_charge(w, limit, key, tokens, now), tokens);
        now += debt + 10; /* the key is at 0 again, about */
        assert_int_equal(weir_charge(w, limit, key, tokens, now), tokens);
        now += debt - WEIR_SECOND;
        tell(w, limit, key, now);
        weir_ns wait = weir_peek(w, limit, key, 1, now).wait;
        assert_true(wait > WEIR_SECOND / 2 && wait < 2 * WEIR_SECOND);
        unsigned generations = generations_of(w, limit);
        /* another key's call moves the origin; this key's wait stays what it was */
        const struct weir_meter *m = &settings_of(w, limit)->meter;
        weir_ns past = (weir_ns)m->origin + m->elapsed_max + 1;
        assert_true(past > now && weir_allow(w, limit, other, 1, past));
        assert_int_equal(generations_of(w, limit), generations + 1);
        assert_int_equal(weir_peek(w, limit, key, 1, now).wait, wait);
        assert_false(weir_allow(w, limit, key, 1, now + wait - 1));
        assert_true(weir_allow(w, limit, key, 1, now + wait));
        weir_close(w);
    }
}

/* K20, S5: ahead and back again through several origins nothing is lost and nothing minted. */
static void k20_a_clock_that_jumps_ahead_and_back(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_HOUR, 1));
    weir_key key = weir_key_u64(w, 1);
    weir_ns now = 30 * year;
    assert_int_equal(drain(w, limit, key, now), 1);
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(weir_peek(w, limit, key, 1, now + (weir_ns)i * 10 * year).wait, 0);
        tell(w, limit, key, now + (weir_ns)i * 10 * year);
        assert_int_equal(weir_peek(w, limit, key, 1, now).wait, WEIR_HOUR);
        tell(w, limit, key, now);
    }
    assert_true(generations_of(w, limit) > 8);
    assert_false(weir_allow(w, limit, key, 1, now + WEIR_HOUR - 1));
    assert_true(weir_allow(w, limit, key, 1, now + WEIR_HOUR));
    /* further back than a payload reaches: no token until the clock has caught up or refilled */
    assert_false(weir_allow(w, limit, key, 1, now - 20 * year));
    assert_false(weir_allow(w, limit, key, 1, now + WEIR_HOUR));
    assert_true(weir_allow(w, limit, key, 1, now + 2 * WEIR_HOUR));
    weir_close(w);
}

/* Without a free generation time stands still, which admits nothing; the sweep sets it going. */
static void generations_run_out_and_the_sweep_frees_them(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(64, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(999999937, WEIR_SECOND, 1000));
    weir_key key = weir_key_u64(w, 1);
    weir_ns now = year;
    for (unsigned i = 0; i < WEIR_GENERATIONS; i++, now += year)
        assert_int_equal(drain(w, limit, key, now), 1000);
    assert_int_equal(generations_of(w, limit), WEIR_GENERATIONS);
    /* the end of the line is past the drained instant: one more burst, then nothing */
    assert_int_equal(drain(w, limit, key, now), 1000);
    assert_int_equal(drain(w, limit, key, now + year), 0);
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_int_equal(stats.origins, WEIR_GENERATIONS);

    for (unsigned round = 0; round < 5; round++) {
        weir_sweep(w, WEIR_SWEEP_AT);
        assert_int_equal(generations_of(w, limit), 1);
        for (unsigned i = 1; i < WEIR_GENERATIONS; i++) {
            now += year;
            assert_int_equal(drain(w, limit, key, now), 1000);
        }
        assert_int_equal(generations_of(w, limit), WEIR_GENERATIONS);
    }
    weir_close(w);
}

/* K09: asking at whatever instant changes nothing, not even the limit's time line. */
static void k09_a_peek_moves_no_origin(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(10, WEIR_SECOND, 10));
    weir_key key = weir_key_u64(w, 1);
    assert_int_equal(weir_peek(w, limit, key, 10, 5 * year).verdict, WEIR_ALLOWED);
    assert_int_equal(generations_of(w, limit), 0);
    weir_ns now = 50 * year;
    assert_int_equal(drain(w, limit, key, now), 10);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(weir_peek(w, limit, key, 10, UINT64_MAX).verdict, WEIR_ALLOWED);
        assert_int_equal(weir_peek(w, limit, key, 10, now + WEIR_SECOND).wait, 0);
        assert_int_equal(weir_peek(w, limit, key, 1, now - 3 * WEIR_HOUR).wait,
                         3 * WEIR_HOUR + WEIR_SECOND / 10);
        assert_int_equal(weir_peek(w, limit, key, 1, now).wait, WEIR_SECOND / 10);
    }
    assert_int_equal(generations_of(w, limit), 1);
    assert_int_equal(drain(w, limit, key, now + WEIR_SECOND), 10);
    weir_close(w);
}

/* A question past what a word can tell is answered as a decision is. */
static void a_peek_after_a_leap_back_is_what_a_decision_says(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(10, WEIR_SECOND, 10));
    weir_key key = weir_key_u64(w, 1);
    assert_int_equal(drain(w, limit, key, 40 * year), 10);
    struct weir_result asked = weir_peek(w, limit, key, 3, 10 * year);
    assert_int_equal(asked.verdict, WEIR_DENIED);
    assert_int_equal(asked.wait, 3 * WEIR_SECOND / 10);
    struct weir_result decided = weir_decide(w, limit, key, 3, 10 * year);
    assert_int_equal(decided.verdict, WEIR_DENIED);
    assert_int_equal(decided.wait, asked.wait);
    assert_int_equal(decided.reset, asked.reset);
    weir_close(w);
}

/* A server that only adds limits gets its generations back, too. */
static void adding_a_limit_sweeps(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(64, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(999999937, WEIR_SECOND, 1000));
    weir_key key = weir_key_u64(w, 1);
    weir_ns now = year;
    for (unsigned i = 0; i < WEIR_GENERATIONS; i++, now += year)
        assert_int_equal(drain(w, limit, key, now), 1000);
    assert_int_equal(generations_of(w, limit), WEIR_GENERATIONS);
    (void)drain(w, limit, key, now);
    assert_int_equal(weir_peek(w, limit, key, 1, now + year).verdict, WEIR_DENIED);
    assert_int_equal(drain(w, limit, key, now + year), 0);
    add_limit(w, "b", weir_token_bucket(1, WEIR_SECOND, 1));
    assert_int_equal(generations_of(w, limit), 1);
    assert_int_equal(drain(w, limit, key, now + year), 1000);
    weir_close(w);
}

/* What does not depend on time needs no origin: every `now` is told from the start. */
static void rate_0_and_unlimited_need_no_origin(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
    int rate_0 = add_limit(w, "a", weir_token_bucket(0, WEIR_SECOND, 3));
    int unlimited = add_limit(w, "b", weir_token_bucket(WEIR_UNLIMITED, 0, 0));
    weir_key key = weir_key_u64(w, 1);
    assert_int_equal(weir_take(w, rate_0, key, 2, INT64_MAX), 2);
    assert_int_equal(weir_take(w, rate_0, key, 2, 0), 1);
    assert_int_equal(weir_take(w, rate_0, key, 2, UINT64_MAX), 0);
    assert_true(weir_allow(w, unlimited, key, UINT64_MAX, UINT64_MAX));
    assert_true(weir_allow(w, unlimited, key, 1, 0));
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_int_equal(stats.origins, 0);
    weir_close(w);
}

/* Thirty years and the whole word: what a cell is promised. */
static void a_cell_reaches_thirty_years(void **state)
{
    (void)state;
    static const uint64_t rates[] = {1, 9, 17, 999999937, 1000000000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct weir_policy policy = weir_token_bucket(rates[i], WEIR_SECOND, 1000);
        struct weir_meter m;
        assert_int_equal(weir_meter_init(&m, &policy, WEIR_HOUR), 0);
        assert_int_equal(m.mark, (uint64_t)1 << 63);
        assert_int_equal(m.span, ((uint64_t)1 << 63) - 1);
        struct weir_cell c = {0};
        weir_ns end = WEIR_HOUR + 30 * year;
        assert_int_equal(weir_cell_decide(&c, &m, 1000, end).verdict, WEIR_ALLOWED);
        struct weir_result denied = weir_cell_decide(&c, &m, 1, end);
        assert_int_equal(denied.verdict, WEIR_DENIED);
        assert_int_equal(weir_cell_decide(&c, &m, 1, end + denied.wait).verdict, WEIR_ALLOWED);
    }
}

/* K27: a sweep changes no answer, of any key or the overflow bucket. */
static void k27_a_sweep_changes_no_answer(void **state)
{
    (void)state;
    enum { KEYS = 200 };
    struct weir *w = open_for_keys(KEYS, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(17, WEIR_MICROSECOND, 1000));
    int other = add_limit(w, "b", weir_token_bucket(1, WEIR_SECOND, 5));
    struct test_random random = random_start("debts", 6);
    weir_ns now = year;
    for (unsigned i = 0; i < KEYS + 50; i++) {
        /* the clock leaps ahead and back every 25th key, so that words of many generations lie in
           the table, all of them in debt: the calls that leap find nothing to be moved */
        if (i % 25 == 0) {
            for (unsigned j = 0; j < 8; j++)
                assert_true(weir_peek(w, limit, weir_key_u64(w, j), 1, now).verdict != 0);
            tell(w, limit, weir_key_u64(w, 0), now + 300 * WEIR_DAY);
            tell(w, limit, weir_key_u64(w, 0), now);
        }
        weir_key key = weir_key_u64(w, i % (KEYS / 2));
        assert_true(weir_charge(w, limit, key, 1 + random_below(&random, 2000000000), now) > 0);
        assert_true(weir_charge(w, other, key, 1 + random_below(&random, 100), now) > 0);
    }
    assert_true(generations_of(w, limit) > 15);
    /* no place left: the overflow bucket */
    assert_true(weir_charge(w, limit, weir_key_u64(w, 1000000), 12345, now) > 0);
    weir_key unplaced = weir_key_u64(w, 1000001);
    struct weir_result shared = weir_peek(w, limit, unplaced, 1000, now);
    assert_int_equal(shared.verdict, WEIR_DENIED);
    struct weir_result before[KEYS + 1];
    for (unsigned i = 0; i <= KEYS; i++)
        before[i] = weir_peek(w, i % 2 != 0 ? limit : other, weir_key_u64(w, i / 2), 3, now);
    tell(w, limit, unplaced,
         now + 300 * WEIR_DAY); /* the overflow word is of an older generation */
    tell(w, limit, unplaced, now);
    weir_sweep(w, WEIR_SWEEP_AT);
    assert_int_equal(generations_of(w, limit), 1);
    assert_int_equal(weir_peek(w, limit, unplaced, 1000, now).wait, shared.wait);
    for (unsigned i = 0; i <= KEYS; i++) {
        struct weir_result after =
            weir_peek(w, i % 2 != 0 ? limit : other, weir_key_u64(w, i / 2), 3, now);
        assert_memory_equal(&after.wait, &before[i].wait,
                            sizeof after - offsetof(struct weir_result, wait));
        assert_int_equal(after.verdict, before[i].verdict);
    }
    weir_close(w);
}

/* K01: up to stale_max behind the origin a clock only mints nothing; it moves no origin. */
static void k01_a_stale_clock_moves_no_origin(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(10, WEIR_SECOND, 10));
    weir_key key = weir_key_u64(w, 1);
    weir_ns now = 1000 * WEIR_SECOND;
    assert_int_equal(drain(w, limit, key, now), 10);
    for (weir_ns back = 1; back <= 120 * WEIR_SECOND; back = back * 3 + 1) {
        assert_int_equal(drain(w, limit, key, now - back), 0);
        assert_int_equal(weir_peek(w, limit, key, 1, now - back).wait, back + WEIR_SECOND / 10);
    }
    assert_int_equal(drain(w, limit, key, now - 120 * WEIR_SECOND), 0);
    assert_int_equal(generations_of(w, limit), 1);
    assert_int_equal(drain(w, limit, key, now - 120 * WEIR_SECOND - 1), 0);
    assert_int_equal(generations_of(w, limit), 2);
    assert_int_equal(weir_peek(w, limit, key, 1, now).wait, WEIR_SECOND / 10);
    weir_close(w);
}

/* K11: a reservation made before the origin moved is cancelled for what it took. */
static void k11_cancel_after_a_new_origin(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(17, WEIR_MICROSECOND, 1000));
    weir_key key = weir_key_u64(w, 1);
    weir_ns now = year;
    uint64_t debt = (uint64_t)17 * 1000000 * 86400 * 150;
    assert_int_equal(weir_charge(w, limit, key, debt, now), debt);
    struct weir_reservation first;
    struct weir_reservation second;
    assert_int_equal(weir_reserve(w, limit, key, 700, now, WEIR_FOREVER, &first).verdict,
                     WEIR_ALLOWED);
    assert_int_equal(weir_reserve(w, limit, key, 200, now, WEIR_FOREVER, &second).verdict,
                     WEIR_ALLOWED);
    /* the origin moves on, to before the reservations' instants */
    assert_true(weir_allow(w, limit, weir_key_u64(w, 2), 1, now + 250 * WEIR_DAY));
    assert_int_equal(generations_of(w, limit), 2);
    now += 100 * WEIR_DAY;
    assert_int_equal(weir_cancel(w, &first, now), 500);
    assert_int_equal(weir_cancel(w, &first, now), 0);
    assert_int_equal(weir_cancel(w, &second, now), 200);
    assert_int_equal(weir_cancel(w, &second, now), 0);
    weir_close(w);
}

/* K20: where the clock goes back by more than a payload's span, a window that was used lies too far
   ahead to be told: it is full in the window that begins then, at every touch, and over after it.
 */
static void k20_a_window_left_far_ahead_is_full_once(void **state)
{
    (void)state;
    const weir_ns late = 1000 * WEIR_DAY, early = late - 500 * WEIR_DAY; /* the span is 417 days */
    struct weir *w = open_for_keys(4, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_fixed_window(16777215, WEIR_SECOND));
    weir_key key = weir_key_u64(w, 1);
    assert_int_equal(weir_decide(w, limit, key, 1, late).verdict, WEIR_ALLOWED);
    for (unsigned i = 0; i < 3; i++) {
        struct weir_result r = weir_decide(w, limit, key, 1, early);
        assert_int_equal(r.verdict, WEIR_DENIED);
        assert_int_equal(r.remaining, 0);
        assert_true(r.wait <= WEIR_SECOND && r.wait > WEIR_SECOND - ((weir_ns)1 << 22));
        assert_int_equal(r.wait, r.reset);
    }
    struct weir_result r = weir_decide(w, limit, key, 1, early + WEIR_SECOND);
    assert_int_equal(r.verdict, WEIR_ALLOWED);
    assert_int_equal(r.remaining, 16777214);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_now_less_stale_max_is_the_origin),
        cmocka_unit_test(s5_an_origin_of_windows_lies_two_periods_further_back),
        cmocka_unit_test(a_jump_ahead_gives_a_new_origin_and_the_burst),
        cmocka_unit_test(s5_debt_survives_a_new_origin),
        cmocka_unit_test(k20_a_clock_that_jumps_ahead_and_back),
        cmocka_unit_test(k20_a_window_left_far_ahead_is_full_once),
        cmocka_unit_test(generations_run_out_and_the_sweep_frees_them),
        cmocka_unit_test(k09_a_peek_moves_no_origin),
        cmocka_unit_test(a_peek_after_a_leap_back_is_what_a_decision_says),
        cmocka_unit_test(adding_a_limit_sweeps),
        cmocka_unit_test(rate_0_and_unlimited_need_no_origin),
        cmocka_unit_test(a_cell_reaches_thirty_years),
        cmocka_unit_test(k27_a_sweep_changes_no_answer),
        cmocka_unit_test(k01_a_stale_clock_moves_no_origin),
        cmocka_unit_test(k11_cancel_after_a_new_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
