/* SPDX-License-Identifier: MIT */
/*
 * Schedules of few calls, very many of them: two to four fibers with one to three calls each on a
 * small table, all drawn from a seed (schedule.h); after each run its answers are judged against
 * the sequential models (judge.h), the table is walked, and debts that nobody touched are counted.
 *
 * A run that fails prints how it is made again alone: a run depends on nothing but its own seed.
 *
 *   WEIR_SCHEDULE_RUNS   so many runs, over all mixes
 *   WEIR_TEST_SEED       the first one's seed; those after it follow by one
 */
#include "few_calls.h"
#include "schedule.h"

#define POINTS_MAX    2000000
#define RUNS          20000
#define RUNS_REPEATED 200

typedef unsigned long long ull;

/* After so many a mix has reached what it is named after. */
#define ENOUGH_RUNS 1000

/* Over all runs of a mix. */
struct sums {
    uint64_t runs, points, switches, given_up;
    struct stress_counts counts;
};

/* ---- after them ---- */

static void print_record(const struct record *c)
{
    char text[100] = "";
    if (c->call == CALL_CHANGE || c->call == CALL_ADD)
        (void)weir_policy_format(&c->policy, text, sizeof text);
    printf("#   [%llu, %llu] %s key %d n %llu now %llu wait %llu hold %u %s: %d %llu %llu %llu, "
           "%lld\n",
           (ull)c->begin, (ull)c->end, judge_name_of(c->call), (int)c->key, (ull)c->n, (ull)c->now,
           (ull)c->max_wait, c->hold, text, (int)c->result.verdict, (ull)c->result.wait,
           (ull)c->result.remaining, (ull)c->result.reset, (long long)c->count);
}

static void fail_run(const struct run *r, const char *what)
{
    char text[100] = "";
    (void)weir_policy_format(&r->policy, text, sizeof text);
    printf("# \"%s\", first at %llu\n", text, (ull)r->first);
    for (unsigned i = 0; i < r->count; i++)
        print_record(&r->records[i]);
    fail_msg("%s: %s; again: WEIR_TEST_SEED=%llu WEIR_SCHEDULE_RUNS=1", r->mix->name, what,
             (ull)r->seed);
}

static weir_ns first_now(const struct run *r)
{
    weir_ns first = r->now;
    for (unsigned i = 0; i < r->count; i++) {
        if (r->records[i].begin == 1 && r->records[i].key != NO_KEY)
            first = r->records[i].now;
    }
    return first;
}

static void set_laters(const struct run *r, struct judge *j)
{
    j->later[j->laters++] = r->now; /* of fillers */
    for (unsigned i = 0; i < r->count; i++) {
        unsigned k = 0;
        while (k < j->laters && j->later[k] != r->records[i].now)
            k++;
        if (k == j->laters && k < LATER_MAX)
            j->later[j->laters++] = r->records[i].now;
    }
}

static void judge_run(struct run *r, uint64_t *given_up)
{
    struct judge j;
    memset(&j, 0, sizeof j);
    j.records = r->records;
    j.may_refuse = has(r, FULL);
    rules_of_engine(&j.rules, &r->policy, JUDGE_STALE_MAX);
    j.rules.windows.wall = (model_int)UNIX_2024;
    rules_anchor(&j.rules, first_now(r));
    if (has(r, CLOCKS))
        set_laters(r, &j);
    for (unsigned key = 0; key < KEYS; key++) {
        struct record *c = add_record(r, CALL_PEEK, key, 1);
        c->now = has(r, CLOCKS) ? r->now + AHEAD_MAX : r->now;
        make_call(r, c);
    }
    j.count = r->count;
    for (unsigned key = 0; key < KEYS; key++) {
        if (!judge_acquits(&j, key, given_up))
            fail_run(r, key == 0 ? "the answers of key 0" : "the answers of a key");
    }
}

/* Each key that has a place is granted its burst, and all others together one burst. */
static void count_crowd(struct run *r)
{
    uint64_t granted = 0;
    uint64_t error;
    for (unsigned i = 0; i < r->count; i++)
        granted += r->records[i].count;
    for (unsigned key = 0; key < KEYS; key++) {
        while (weir_allow(r->w, r->limit, r->keys[key], 1, r->now))
            granted++;
    }
    uint64_t placed = weir_table_keys(&r->w->table, &error) - r->owing;
    if (granted != BURST * (placed + (placed < KEYS)))
        fail_run(r, "what was granted for the last places");
}

/* Who came first after a clock ahead had found others idle began at that clock. */
static void check_debts(const struct run *r)
{
    weir_ns ahead = has(r, CLOCKS) ? AHEAD_MAX : 0;
    for (unsigned i = 0; i < r->owing; i++) {
        weir_key key = weir_key_u64(r->w, filler_id(r, i));
        struct weir_result found = weir_peek(r->w, r->owed, key, 1, r->now);
        bool owes = found.reset >= DEBT * WEIR_DAY && found.reset <= DEBT * WEIR_DAY + ahead;
        if (owes != r->charged[i] || (!owes && !has(r, FULL)))
            fail_run(r, "the debt of a filler");
    }
}

static void play_all(struct run *r)
{
    schedule_seed(random_u64(&r->random));
    if (dice(r, 2) == 0)
        schedule_run(r->fibers, play, r);
    else
        schedule_run_by_priority(r->fibers, play, r, (unsigned)dice(r, SCHEDULE_CHANGES_MAX),
                                 (uint64_t)16 << dice(r, 7));
    if (schedule_is_stuck()) { /* with locks, perhaps: nothing goes on after that */
        fprintf(stderr, "ERROR: %s: a call does not end; again: WEIR_TEST_SEED=%llu %s\n",
                r->mix->name, (ull)r->seed, "WEIR_SCHEDULE_RUNS=1");
        exit(1);
    }
}

static struct schedule_trace make_run(struct run *r, uint64_t seed, struct sums *sums)
{
    uint64_t error;
    begin_run(r, seed);
    play_all(r);
    struct schedule_trace trace = schedule_trace();
    if (has(r, SHARES))
        count_crowd(r);
    else
        judge_run(r, &sums->given_up);
    check_debts(r);
    if (!stress_table_is_sound(r->w))
        fail_run(r, "the table is not sound");
    stress_count(&sums->counts, r->w);
    /* Who was stopped in a move with an older clock has put back what others left behind. */
    trim(r, r->now + AHEAD_MAX);
    check_debts(r);
    /* For each of the others one that claims a place in the moment in which the last is taken, and
       one that has been moved and not yet counted: engine/table/credit.h and move.h. */
    uint64_t keys = weir_table_keys(&r->w->table, &error);
    if (!stress_table_is_sound(r->w) || keys > r->w->table.max_keys + 2 * (r->fibers - 1))
        fail_run(r, "too many keys");
    sums->runs++;
    sums->points += trace.points;
    sums->switches += trace.switches;
    empty(r->w);
    return trace;
}

/* ---- tests ---- */

static uint64_t runs_wanted(void)
{
    const char *text = getenv("WEIR_SCHEDULE_RUNS");
    return text != NULL ? strtoull(text, NULL, 0) : random_scaled(RUNS);
}

/* Those of the seeds that are of a mix. */
static void run_mix(size_t mix)
{
    static struct run r;
    struct sums sums;
    memset(&sums, 0, sizeof sums);
    schedule_bound(POINTS_MAX);
    uint64_t first = random_start(mixes[mix].name, 1).state;
    uint64_t runs = runs_wanted();
    for (uint64_t i = (mix + MIXES - first % MIXES) % MIXES; i < runs; i += MIXES)
        make_run(&r, first + i, &sums);
    printf("# %s: %llu runs, %llu points, %llu switches, %llu given up\n", mixes[mix].name,
           (ull)sums.runs, (ull)sums.points, (ull)sums.switches, (ull)sums.given_up);
    if (sums.runs == 0)
        skip();
    assert_true(sums.given_up <= runs / 1000);
    unsigned wanted = (mixes[mix].has & GROWS) != 0 ? STRESS_GROWTHS | STRESS_MOVES : 0;
    wanted |= (mixes[mix].has & CLOCKS) != 0 ? STRESS_STALE_FRESH : 0;
    bool reached = stress_report(mixes[mix].name, &sums.counts, wanted);
    assert_true(reached || sums.runs < ENOUGH_RUNS);
}

static void s1_s2_s4_few_calls(void **state)
{
    (void)state;
    run_mix(0);
}

static void s3_s5_few_calls_and_growth(void **state)
{
    (void)state;
    run_mix(1);
}

static void s1_m1_few_calls_of_a_full_table(void **state)
{
    (void)state;
    run_mix(2);
}

static void s5_k16_few_calls_and_changes(void **state)
{
    (void)state;
    run_mix(3);
}

static void s5_k16_few_calls_and_changes_and_growth(void **state)
{
    (void)state;
    run_mix(4);
}

static void s1_o3_few_calls_and_removal(void **state)
{
    (void)state;
    run_mix(5);
}

static void s1_few_calls_by_other_clocks(void **state)
{
    (void)state;
    run_mix(6);
}

static void s1_s5_few_calls_by_other_clocks_and_growth(void **state)
{
    (void)state;
    run_mix(7);
}

static void s1_s2_s6_few_calls_on_several_keys(void **state)
{
    (void)state;
    run_mix(8);
}

static void s1_s2_s6_few_calls_on_several_keys_and_growth(void **state)
{
    (void)state;
    run_mix(9);
}

static void s1_s2_k26_few_calls_for_the_last_places(void **state)
{
    (void)state;
    run_mix(10);
}

/* What a seed says is all that there is: the same points, switches and answers each time. */
static void a_seed_says_all(void **state)
{
    static struct run once;
    static struct run again;
    struct sums sums;
    (void)state;
    memset(&sums, 0, sizeof sums);
    schedule_bound(POINTS_MAX);
    uint64_t first = random_start("again", 1).state;
    uint64_t runs = runs_wanted() < RUNS_REPEATED ? runs_wanted() : RUNS_REPEATED;
    for (uint64_t i = 0; i < runs; i++) {
        struct schedule_trace a = make_run(&once, first + i, &sums);
        make_run(&again, first + i + 1, &sums); /* something else in between */
        struct schedule_trace b = make_run(&again, first + i, &sums);
        if (a.hash != b.hash || a.points != b.points || a.switches != b.switches)
            fail_run(&once, "another one the second time");
        assert_int_equal(once.count, again.count);
        for (unsigned k = 0; k < once.count; k++) {
            assert_true(judge_is_same(&once.records[k].result, &again.records[k].result));
            assert_int_equal(once.records[k].count, again.records[k].count);
            assert_int_equal(once.records[k].end, again.records[k].end);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_s2_s4_few_calls),
        cmocka_unit_test(s3_s5_few_calls_and_growth),
        cmocka_unit_test(s1_m1_few_calls_of_a_full_table),
        cmocka_unit_test(s5_k16_few_calls_and_changes),
        cmocka_unit_test(s5_k16_few_calls_and_changes_and_growth),
        cmocka_unit_test(s1_o3_few_calls_and_removal),
        cmocka_unit_test(s1_few_calls_by_other_clocks),
        cmocka_unit_test(s1_s5_few_calls_by_other_clocks_and_growth),
        cmocka_unit_test(s1_s2_s6_few_calls_on_several_keys),
        cmocka_unit_test(s1_s2_s6_few_calls_on_several_keys_and_growth),
        cmocka_unit_test(s1_s2_k26_few_calls_for_the_last_places),
        cmocka_unit_test(a_seed_says_all),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
