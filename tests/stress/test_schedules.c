/* SPDX-License-Identifier: MIT */
/*
 * The mix of all calls in schedules drawn from seeds: calls are switched at each access to shared
 * memory (schedule.h). What goes wrong here goes wrong again with the same WEIR_TEST_SEED.
 */
#include "mix.h"
#include "schedule.h"

#include "place.h"

/* As weir_trim, but for its waiting: one that is stopped by hand would be waited for for ever. */
static int trim_in_place(struct weir *w, weir_ns now)
{
    for (uint64_t shard = 0; shard < w->table.shards; shard++) {
        schedule_section_begin();
        weir_place_trim(w, shard, now);
        schedule_section_end();
    }
    return 0;
}

static void s1_s3_s5_m1_schedules(void **state)
{
    (void)state;
    struct mix m = {.name = "schedules",
                    .max_keys = 100,
                    .threads = 4,
                    .rounds = 60,
                    .phases = 30,
                    .calls = 60,
                    .residents = 8,
                    .new_every = 10,
                    .new_at_once = 6,
                    .step = 400 * WEIR_MICROSECOND,
                    .leap = 2 * WEIR_SECOND,
                    .leap_every = 60,
                    .lag = 5 * WEIR_SECOND,
                    .run = schedule_run,
                    .wanted = STRESS_EVERYTHING};
    uint64_t seed = random_start("schedules", 1).state;
    schedule_seed(seed);
    mix_run(&m, seed);
}

static void s1_s3_s5_m1_schedules_with_trims(void **state)
{
    (void)state;
    struct mix m = {.name = "schedules with trims",
                    .max_keys = 300,
                    .threads = 5,
                    .rounds = 40,
                    .phases = 30,
                    .calls = 60,
                    .residents = 30,
                    .new_every = 10,
                    .new_at_once = 20,
                    .step = 400 * WEIR_MICROSECOND,
                    .leap = 2 * WEIR_SECOND,
                    .leap_every = 100,
                    .lag = 5 * WEIR_SECOND,
                    .trim = trim_in_place,
                    .run = schedule_run,
                    .wanted = STRESS_EVERYTHING};
    uint64_t seed = random_start("schedules with trims", 2).state;
    schedule_seed(seed);
    mix_run(&m, seed);
}

/* ---- a table that gets full ---- */

#define BURST    3
#define KEYS_MAX 128

/* More keys than there are places, at one instant. */
struct crowd {
    struct weir *w;
    int limit;
    unsigned keys;
    bool gives; /* one gives back what he takes; then there is room again, and moves */
    struct test_random random;
    uint64_t granted[KEYS_MAX];
};

/* Goes through all keys, from a start of its own, and asks each until it is refused; or asks for
   one token and gives it back, where there is no place from the bucket that is shared. */
static void press(void *context, unsigned index)
{
    struct crowd *c = context;
    uint64_t start = random_u64(&c->random);
    for (unsigned i = 0; i < 2 * c->keys; i++) {
        uint64_t k = (start + i) % c->keys;
        weir_key key = weir_key_u64(c->w, k);
        if (index != 0 || !c->gives) {
            while (weir_allow(c->w, c->limit, key, 1, WEIR_HOUR))
                c->granted[k]++;
        } else if (weir_allow(c->w, c->limit, key, 1, WEIR_HOUR)) {
            uint64_t given = weir_refund(c->w, c->limit, key, 1, WEIR_HOUR);
            c->granted[k] += 1 - given;
        }
    }
}

/* Each key that has a place is granted its burst, and all others together one burst: who meets a
   key that has just got the last place, and who is refused one, must not both be right. */
static void crowd_in(struct crowd *c, uint64_t seed, unsigned max_keys, bool gives)
{
    memset(c, 0, sizeof *c);
    c->gives = gives;
    c->random.state = seed;
    c->w = stress_open(max_keys, WEIR_FULL_SHARE, seed);
    c->limit = add_limit(c->w, "a", weir_token_bucket(1, WEIR_HOUR, BURST));
    c->keys = max_keys + 1 + (unsigned)random_below(&c->random, 6);
    /* The first array is there: two that are made at once make closing wait for a grace period. */
    c->granted[0] = weir_allow(c->w, c->limit, weir_key_u64(c->w, 0), 1, WEIR_HOUR);
    schedule_run(4, press, c);
    c->gives = false;
    press(c, 0);
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(c->w, &stats), 0);
    assert_true(stress_table_is_sound(c->w));
    uint64_t granted = 0;
    for (unsigned k = 0; k < c->keys; k++)
        granted += c->granted[k];
    assert_int_equal(granted, BURST * (stats.keys + (stats.overflow != 0)));
    weir_close(c->w);
}

static void s1_s2_k26_schedules_of_the_last_places(void **state)
{
    (void)state;
    struct crowd c;
    struct test_random random = random_start("last places", 3);
    for (uint64_t round = random_scaled(2000); round > 0; round--) {
        schedule_seed(random_u64(&random));
        crowd_in(&c, random_u64(&random), 1 + (unsigned)random_below(&random, 10), round % 10 == 0);
    }
}

/* The table gets full in the middle of a move. */
static void s1_s2_k26_schedules_of_growth_to_the_last_place(void **state)
{
    (void)state;
    struct crowd c;
    struct test_random random = random_start("growth to the last place", 4);
    for (uint64_t round = random_scaled(100); round > 0; round--) {
        schedule_seed(random_u64(&random));
        crowd_in(&c, random_u64(&random), 14 + (unsigned)random_below(&random, 100),
                 round % 2 == 0);
    }
}

/* ---- a call that is stopped at each of its steps ---- */

#define DEBTORS 100
#define DEBT    1000

/* Debtors, whose debts are known to the unit, and fillers that come and go. */
struct scene {
    struct weir *w;
    int owed, filler;
    uint64_t debts[DEBTORS];
    uint64_t fillers, keys; /* ids that were used */
    weir_ns begin, now;
    weir_ns action_now; /* of the call that is stopped */
    uint64_t wrong;
};

/* Counted after the call: others count while it is under way. */
static void expect(struct scene *s, bool holds)
{
    s->wrong += !holds;
}

static weir_key debtor(const struct scene *s, uint64_t i)
{
    return weir_key_u64(s->w, i);
}

static weir_key filler(const struct scene *s, uint64_t i)
{
    return weir_key_u64(s->w, ((uint64_t)1 << 32) + i);
}

static void charge(struct scene *s, uint64_t i, weir_ns now)
{
    expect(s, weir_charge(s->w, s->owed, debtor(s, i), 1, now) == 1);
    s->debts[i]++;
}

static uint64_t shard_word(const struct scene *s)
{
    return weir_load_acquire(&s->w->table.words[0]);
}

/* A new key, which is forgotten when the next one has come. */
static void fill(struct scene *s)
{
    expect(s, weir_allow(s->w, s->filler, filler(s, ++s->fillers), 1, s->now));
    expect(s, weir_forget(s->w, s->filler, filler(s, s->fillers - 1)) == 0);
}

static bool moves(const struct scene *s)
{
    return (shard_word(s) & WEIR_ARRAY_MOVING) != 0;
}

/* ---- the calls that are stopped ---- */

static void charge_one(void *scene, unsigned index)
{
    struct scene *s = scene;
    (void)index;
    charge(s, 3, s->action_now);
}

static void refund_one(void *scene, unsigned index)
{
    struct scene *s = scene;
    (void)index;
    expect(s, weir_refund(s->w, s->owed, debtor(s, 4), 1, s->action_now) == 1);
    s->debts[4]--;
}

static void reserve_and_cancel(void *scene, unsigned index)
{
    struct scene *s = scene;
    struct weir_reservation r;
    (void)index;
    s->wrong +=
        weir_reserve(s->w, s->owed, debtor(s, 5), 1, s->action_now, WEIR_FOREVER, &r).verdict !=
        WEIR_ALLOWED;
    /* less what was charged after it */
    uint64_t given = weir_cancel(s->w, &r, s->action_now);
    s->debts[5] += 1 - given;
}

static void deny(void *scene, unsigned index)
{
    struct scene *s = scene;
    (void)index;
    expect(s, !weir_allow(s->w, s->owed, debtor(s, 6), 1, s->action_now));
}

static void add_a_key(void *scene, unsigned index)
{
    struct scene *s = scene;
    weir_key key = weir_key_u64(s->w, ((uint64_t)2 << 32) + ++s->keys);
    (void)index;
    expect(s, weir_allow(s->w, s->filler, key, 1, s->action_now));
}

static void forget_a_key(void *scene, unsigned index)
{
    struct scene *s = scene;
    (void)index;
    expect(s, weir_forget(s->w, s->filler, filler(s, s->fillers)) == 0);
}

static void trim_all(void *scene, unsigned index)
{
    struct scene *s = scene;
    (void)index;
    trim_in_place(s->w, s->action_now);
}

/* ---- what goes on beside them ---- */

/* The others go on: everybody's debt, new keys through two replacements, a trim. */
static void go_on(struct scene *s)
{
    unsigned replaced = 0;
    uint64_t before = shard_word(s) & ~WEIR_ARRAY_MOVING;
    s->now += WEIR_MILLISECOND;
    for (uint64_t i = 0; i < DEBTORS; i++)
        charge(s, i, s->now);
    for (unsigned i = 0; i < 2000 && replaced < 2; i++) {
        fill(s);
        uint64_t word = shard_word(s) & ~WEIR_ARRAY_MOVING;
        replaced += word != before;
        before = word;
    }
    expect(s, replaced == 2);
    trim_in_place(s->w, s->now);
}

static void check_debts(struct scene *s, uint64_t but)
{
    for (uint64_t i = 0; i < DEBTORS; i++) {
        weir_ns reset = weir_peek(s->w, s->owed, debtor(s, i), 1, s->now).reset;
        expect(s, i == but || reset == s->debts[i] * WEIR_DAY - (s->now - s->begin));
    }
}

/* The call is stopped after so many steps, for as long as the others need. False: it has fewer. */
static bool stop_after(struct scene *s, void (*call)(void *, unsigned), uint64_t but,
                       uint64_t steps)
{
    for (unsigned i = 0; i < 2000 && !moves(s); i++)
        fill(s);
    s->action_now = s->now;
    struct fiber *f = schedule_make(call, s, 0);
    bool stopped = schedule_run_past(f, steps);
    if (stopped) {
        go_on(s);
        check_debts(s, but);
        schedule_run_past(f, UINT64_MAX / 2);
    }
    check_debts(s, DEBTORS);
    expect(s, stress_table_is_sound(s->w));
    return stopped;
}

static const struct {
    const char *name;
    void (*call)(void *scene, unsigned index);
    uint64_t but; /* the debtor that it is about */
} calls[] = {{"charge", charge_one, 3},
             {"refund", refund_one, 4},
             {"reserve and cancel", reserve_and_cancel, 5},
             {"deny", deny, DEBTORS},
             {"new key", add_a_key, DEBTORS},
             {"forget", forget_a_key, DEBTORS},
             {"trim", trim_all, DEBTORS}};
#define CALLS (sizeof calls / sizeof calls[0])

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->begin = s->now = WEIR_HOUR;
    s->w = stress_open(1000, WEIR_FULL_SHARE, 1);
    s->owed = add_limit(s->w, "owed", weir_token_bucket(1, WEIR_DAY, 1));
    s->filler = add_limit(s->w, "filler", weir_token_bucket(1, WEIR_MILLISECOND, 1));
    for (uint64_t k = 0; k < DEBTORS; k++) {
        s->debts[k] = DEBT;
        assert_int_equal(weir_charge(s->w, s->owed, debtor(s, k), DEBT, s->now), DEBT);
    }
}

static void s5_m1_p1_a_call_that_is_stopped_at_each_step(void **state)
{
    (void)state;
    uint64_t percent = random_scaled(100);
    for (size_t i = 0; i < CALLS; i++) {
        struct scene s;
        uint64_t steps = 0;
        open_scene(&s);
        while (s.wrong == 0 && stop_after(&s, calls[i].call, calls[i].but, steps))
            steps += percent < 100 ? 100 / percent : 1;
        print_message("# %s: %llu steps\n", calls[i].name, (unsigned long long)steps);
        assert_int_equal(s.wrong, 0);
        assert_true(steps > 5);
        weir_close(s.w);
    }
}

/* Several at once, each somewhere, in the middle of what is under way then; they end in any order.
 */
static void stop_several(struct scene *s, struct test_random *random)
{
    struct fiber *stopped[3] = {NULL};
    unsigned count = 2 + (unsigned)random_below(random, 2);
    s->action_now = s->now;
    for (unsigned i = 0; i < count; i++) {
        for (uint64_t new_keys = random_magnitude(random, 8); new_keys > 0; new_keys--)
            fill(s);
        struct fiber *f = schedule_make(calls[random_below(random, CALLS)].call, s, i);
        if (schedule_run_past(f, random_magnitude(random, 9)))
            stopped[i] = f;
        s->now += random_below(random, 2) * WEIR_MILLISECOND;
    }
    if (random_below(random, 4) != 0)
        go_on(s);
    uint64_t first = random_below(random, count);
    for (unsigned i = 0; i < count; i++) {
        struct fiber *f = stopped[(first + i) % count];
        if (f != NULL && schedule_run_past(f, random_magnitude(random, 9))) {
            fill(s);
            schedule_run_past(f, UINT64_MAX / 2);
        }
    }
    check_debts(s, DEBTORS);
    expect(s, stress_table_is_sound(s->w));
}

/* A debt has to fit in a word: 3,300 tokens of a day do. */
#define ROUNDS_OF_A_SCENE 700

static void s5_m1_several_calls_that_are_stopped(void **state)
{
    (void)state;
    struct test_random random = random_start("several calls", 5);
    uint64_t rounds = random_scaled(10000);
    for (uint64_t round = 0; round < rounds;) {
        struct scene s;
        open_scene(&s);
        for (unsigned i = 0; i < ROUNDS_OF_A_SCENE && round < rounds && s.wrong == 0; i++, round++)
            stop_several(&s, &random);
        if (s.wrong != 0)
            fail_msg("wrong in round %llu", (unsigned long long)round);
        weir_close(s.w);
    }
}

/* Unix time is ahead by the instant itself. */
static weir_ns twice(void *context, weir_ns now)
{
    (void)context;
    return 2 * now;
}

struct two_clocks {
    struct weir *w;
    int limit;
    uint64_t calls, wrong;
};

/* By one of two clocks, each of which has what is ahead of it told anew when the other was asked
   last: windows of ten seconds end when they do by its own unix time. */
static void call_by_own_clock(void *context, unsigned index)
{
    struct two_clocks *t = context;
    const weir_ns now = (index % 2 == 0 ? 1001 : 1024) * WEIR_SECOND;
    const weir_ns left = 10 * WEIR_SECOND - 2 * now % (10 * WEIR_SECOND);
    const weir_key key = {1, index + 1};
    for (uint64_t i = 0; i < t->calls; i++)
        t->wrong += weir_decide(t->w, t->limit, key, 1, now).reset != left;
}

static void o5_unix_time_is_that_of_the_call(void **state)
{
    (void)state;
    const struct weir_options options = {.max_keys = 100, .wall_clock = twice};
    struct two_clocks t = {.w = open_engine(&options), .calls = random_scaled(20000)};
    t.limit = add_limit(t.w, "a", weir_aligned_window(1000000, 10 * WEIR_SECOND, 0));
    schedule_seed(random_start("two clocks", 7).state);
    schedule_run(4, call_by_own_clock, &t);
    assert_int_equal(t.wrong, 0);
    weir_close(t.w);
}

/* ---- a call that is stopped across a change ---- */

struct turn {
    struct weir *w;
    int limit;
    weir_ns now;
    bool granted;
};

static void ask_for_all(void *context, unsigned index)
{
    struct turn *t = context;
    (void)index;
    t->granted = weir_reserve(t->w, t->limit, weir_key_u64(t->w, 1), 4, t->now, 0, NULL).verdict ==
                 WEIR_ALLOWED;
}

/* Of 4 tokens 3 are taken. A change to 1 leaves the key full, and a trim leaves it behind. A call
   that still has the settings from before it finds no key, and is granted nothing by them. */
static void s1_s5_a_call_that_is_stopped_while_its_key_becomes_idle_by_a_change(void **state)
{
    (void)state;
    bool stopped = true;
    for (uint64_t steps = 0; stopped; steps++) {
        struct turn t = {stress_open(100, WEIR_FULL_SHARE, 1), 0, WEIR_HOUR, false};
        struct weir_policy less = weir_token_bucket(1, WEIR_DAY, 1);
        t.limit = add_limit(t.w, "a", weir_token_bucket(1, WEIR_DAY, 4));
        assert_int_equal(weir_charge(t.w, t.limit, weir_key_u64(t.w, 1), 3, t.now), 3);
        struct fiber *f = schedule_make(ask_for_all, &t, 0);
        stopped = schedule_run_past(f, steps);
        assert_int_equal(weir_set_limit(t.w, t.limit, &less, t.now), 0);
        trim_in_place(t.w, t.now);
        if (stopped)
            schedule_run_past(f, UINT64_MAX / 2);
        assert_false(t.granted);
        weir_close(t.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_s3_s5_m1_schedules),
        cmocka_unit_test(s1_s3_s5_m1_schedules_with_trims),
        cmocka_unit_test(s1_s2_k26_schedules_of_the_last_places),
        cmocka_unit_test(s1_s2_k26_schedules_of_growth_to_the_last_place),
        cmocka_unit_test(s5_m1_p1_a_call_that_is_stopped_at_each_step),
        cmocka_unit_test(s5_m1_several_calls_that_are_stopped),
        cmocka_unit_test(o5_unix_time_is_that_of_the_call),
        cmocka_unit_test(s1_s5_a_call_that_is_stopped_while_its_key_becomes_idle_by_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
