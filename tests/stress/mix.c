/* SPDX-License-Identifier: MIT */
/* A mix of all calls by many threads on a table that grows. */
#include "mix.h"

#include "history.h"

#include <sched.h>

enum { CHAIN, CHAIN_SLOW, SUM, SUM_ROUNDED, LOOSE, LIMITS };

#define BATCH 6

struct run {
    const struct mix *m;
    struct weir *w;
    struct stress_clock clock;
    int limits[LIMITS];
    struct weir_policy policies[LIMITS];
    struct weir_atomic_u64 calls; /* of all threads */
    struct weir_atomic_u64 ended; /* threads, in this phase */
    struct actor *actors;
};

struct actor {
    struct run *r;
    unsigned index;
    struct test_random random;
    weir_ns lag;
    struct history history;
    struct weir_reservation held;
    uint64_t decided, granted; /* as the statistics should have it */
    uint64_t wrong;
    /* the call under way */
    weir_ns now;
    uint64_t id;
    uint64_t dice;
};

static weir_key key_of(const struct actor *a)
{
    return weir_key_u64(a->r->w, a->id);
}

/* An assertion that fails has to do so in the thread that runs the test. */
static void expect(struct actor *a, bool holds)
{
    a->wrong += !holds;
}

/* ---- what was granted ---- */

static void note(struct actor *a, unsigned limit, uint64_t id, uint64_t n, weir_ns full,
                 weir_ns max_wait)
{
    if (limit == LOOSE || n == 0)
        return;
    struct grant g = {id, a->now, 0, full, max_wait, (uint32_t)n, limit};
    g.latest = a->r->clock.now;
    history_add(&a->history, &g);
}

static void note_result(struct actor *a, unsigned limit, uint64_t id, uint64_t n,
                        struct weir_result result, weir_ns max_wait)
{
    a->decided++;
    a->granted += result.verdict == WEIR_ALLOWED;
    if (result.verdict == WEIR_ALLOWED)
        note(a, limit, id, n, a->now + result.reset, max_wait);
}

/* ---- the calls ---- */

static void decide(struct actor *a, unsigned limit, uint64_t n)
{
    struct weir_result result = weir_decide(a->r->w, a->r->limits[limit], key_of(a), n, a->now);
    note_result(a, limit, a->id, n, result, 0);
}

static void reserve(struct actor *a, unsigned limit, uint64_t n, weir_ns max_wait)
{
    struct weir_result result = weir_reserve(a->r->w, a->r->limits[limit], key_of(a), n, a->now,
                                             max_wait, limit == LOOSE ? &a->held : NULL);
    note_result(a, limit, a->id, n, result, max_wait);
}

static void allow(struct actor *a, unsigned limit, uint64_t n)
{
    bool granted = weir_allow(a->r->w, a->r->limits[limit], key_of(a), n, a->now);
    a->decided++;
    a->granted += granted;
    if (granted)
        note(a, limit, a->id, n, 0, 0);
}

static void take(struct actor *a, unsigned limit, uint64_t n)
{
    note(a, limit, a->id, weir_take(a->r->w, a->r->limits[limit], key_of(a), n, a->now), 0, 0);
}

static void peek(struct actor *a, unsigned limit, uint64_t n)
{
    struct weir_result result = weir_peek(a->r->w, a->r->limits[limit], key_of(a), n, a->now);
    expect(a, result.verdict == WEIR_ALLOWED || result.verdict == WEIR_DENIED);
    expect(a, result.remaining <= a->r->policies[limit].burst);
}

/* The key under several limits, and its neighbours. */
static void batch(struct actor *a)
{
    struct weir_request requests[BATCH];
    struct weir_result results[BATCH];
    for (unsigned i = 0; i < BATCH; i++) {
        requests[i].limit = a->r->limits[i % LOOSE];
        requests[i].key = weir_key_u64(a->r->w, a->id + i / LOOSE);
        requests[i].n = 1;
    }
    weir_decide_batch(a->r->w, requests, results, BATCH, a->now);
    for (unsigned i = 0; i < BATCH; i++)
        note_result(a, i % LOOSE, a->id + i / LOOSE, 1, results[i], 0);
}

static void call_chain(struct actor *a, unsigned limit, uint64_t n)
{
    switch (a->dice % 8) {
    case 0:
        peek(a, limit, n);
        break;
    case 1:
        reserve(a, limit, n, 0);
        break;
    case 2:
        reserve(a, limit, n, a->r->policies[limit].period * (1 + a->dice / 8 % 2));
        break;
    case 3:
        decide(a, limit, 0);
        break;
    default:
        decide(a, limit, n);
    }
}

static void call_sum(struct actor *a, unsigned limit, uint64_t n)
{
    switch (a->dice % 8) {
    case 0:
        take(a, limit, n);
        break;
    case 1:
        reserve(a, limit, n, 0);
        break;
    case 2:
        decide(a, limit, n);
        break;
    case 3:
        peek(a, limit, n);
        break;
    default:
        allow(a, limit, n);
    }
}

static void call_loose(struct actor *a, uint64_t n)
{
    struct weir *w = a->r->w;
    int limit = a->r->limits[LOOSE];
    weir_key key = key_of(a);
    uint64_t given = 0;
    switch (a->dice % 8) {
    case 0:
        given = weir_refund(w, limit, key, n, a->now);
        expect(a, given <= n);
        break;
    case 1:
        given = weir_charge(w, limit, key, n, a->now);
        expect(a, given == n || given == 0);
        break;
    case 2:
        given = weir_cancel(w, &a->held, a->now);
        expect(a, given <= 3);
        break;
    case 3:
        expect(a, weir_forget(w, limit, key) == 0);
        break;
    case 4:
        take(a, LOOSE, n);
        break;
    case 5:
        allow(a, LOOSE, n);
        break;
    default:
        reserve(a, LOOSE, n, a->r->policies[LOOSE].period);
    }
}

/* ---- threads ---- */

/* A resident, one of the newest keys, or one that was new long ago. */
static uint64_t choose_key(struct actor *a)
{
    const struct mix *m = a->r->m;
    uint64_t newest = weir_load_relaxed(&a->r->calls) / m->new_every;
    uint64_t dice = random_u64(&a->random);
    if (dice % 8 < 3)
        return dice / 8 % m->residents;
    if (dice % 64 == 63)
        return m->residents + dice / 64 % (newest + 1);
    uint64_t back = dice / 64 % m->new_at_once;
    return m->residents + (newest > back ? newest - back : 0);
}

static void act(struct actor *a)
{
    struct run *r = a->r;
    weir_add_relaxed(&r->calls, 1);
    a->dice = random_u64(&a->random);
    a->id = choose_key(a);
    uint64_t n = 1 + a->dice / 16 % 3;
    unsigned limit = (unsigned)(a->id % LIMITS);
    if (a->dice / 64 % r->m->leap_every == 0)
        stress_clock_advance(&r->clock, a->dice / 64 % r->m->leap);
    else
        stress_clock_advance(&r->clock, a->dice / 64 % r->m->step);
    a->now = stress_clock_enter(&r->clock, a->index, a->lag);
    if (a->dice / 1024 % 128 == 0)
        sched_yield(); /* some take the time and come with it much later */
    if (a->dice / 65536 % 16 == 0)
        batch(a);
    else if (limit <= CHAIN_SLOW)
        call_chain(a, limit, n);
    else if (limit <= SUM_ROUNDED)
        call_sum(a, limit, n);
    else
        call_loose(a, n);
    stress_clock_leave(&r->clock, a->index);
}

static void trim(struct actor *a)
{
    struct run *r = a->r;
    while (weir_load_relaxed(&r->ended) < r->m->threads - 1) {
        a->now = stress_clock_enter(&r->clock, a->index, a->lag);
        expect(a, r->m->trim(r->w, a->now) == 0);
        stress_clock_leave(&r->clock, a->index);
    }
}

static void play(void *context, unsigned index)
{
    struct run *r = context;
    struct actor *a = &r->actors[index];
    /* A third has the right time, a third is behind by next to nothing. */
    a->lag = index % 3 == 0 ? 0 : random_below(&a->random, r->m->lag >> (index % 3 == 1 ? 0 : 12));
    if (r->m->trim != NULL && index == r->m->threads - 1) {
        trim(a);
        return;
    }
    unsigned calls = (unsigned)random_scaled(r->m->calls);
    for (unsigned i = 0; i < calls; i++)
        act(a);
    weir_add_relaxed(&r->ended, 1);
}

/* ---- a round ---- */

/* Over all rounds. */
struct sums {
    struct stress_counts counts;
    uint64_t grants, decided, unplaced;
};

static void open_run(struct run *r, const struct mix *m, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->m = m;
    r->w = stress_open(m->max_keys, WEIR_FULL_DENY, seed);
    r->policies[CHAIN] = weir_token_bucket(1, 20 * WEIR_MILLISECOND, 5);
    r->policies[CHAIN_SLOW] = weir_token_bucket(1, WEIR_SECOND, 3);
    r->policies[SUM] = weir_token_bucket(7, 100 * WEIR_MILLISECOND, 20);
    r->policies[SUM_ROUNDED] = weir_token_bucket(17, WEIR_SECOND, 10);
    r->policies[LOOSE] = weir_token_bucket(1, 50 * WEIR_MILLISECOND, 4);
    for (unsigned i = 0; i < LIMITS; i++) {
        char name[] = {(char)('a' + (char)i), '\0'};
        r->limits[i] = add_limit(r->w, name, r->policies[i]);
    }
    stress_clock_start(&r->clock, WEIR_HOUR, STRESS_STALE_MAX / 2);
    assert_true(m->lag <= STRESS_STALE_MAX / 2 && m->leap < STRESS_STALE_MAX / 2);
    r->actors = calloc(m->threads, sizeof *r->actors);
    assert_non_null(r->actors);
    for (unsigned i = 0; i < m->threads; i++) {
        r->actors[i].r = r;
        r->actors[i].index = i;
        r->actors[i].random.state = seed + i;
    }
}

/* Every grant of the round, and what the statistics say. */
static void check_run(struct run *r, struct sums *sums)
{
    struct history_bucket buckets[LIMITS];
    struct history all = {NULL, 0, 0};
    uint64_t decided = 0;
    uint64_t granted = 0;
    for (unsigned i = 0; i < LIMITS; i++)
        buckets[i] = history_bucket_of(&r->policies[i]);
    for (unsigned i = 0; i < r->m->threads; i++) {
        decided += r->actors[i].decided;
        granted += r->actors[i].granted;
        assert_int_equal(r->actors[i].wrong, 0);
        history_move(&all, &r->actors[i].history);
    }
    assert_true(all.count > 0);
    uint64_t grants = all.count;
    sums->grants += grants;
    assert_int_equal(history_check(&all, buckets), 0);
    history_free(&all);
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(r->w, &stats), 0);
    assert_int_equal(stats.allowed, granted);
    assert_int_equal(stats.allowed + stats.denied + stats.never, decided);
    assert_true(stats.longest_call <= WEIR_LINES_PER_CALL_MAX);
    sums->decided += decided;
    sums->unplaced += stats.overflow;
    stress_count(&sums->counts, r->w);
    if (r->m->note != NULL)
        r->m->note(r->w, grants);
}

void mix_run(const struct mix *m, uint64_t seed)
{
    struct sums sums = {{{0}}, 0, 0, 0};
    unsigned rounds = (unsigned)random_scaled(m->rounds);
    for (unsigned round = 0; round < rounds; round++) {
        struct run r;
        open_run(&r, m, seed + 1000 * round);
        for (unsigned phase = 0; phase < m->phases; phase++) {
            weir_store_relaxed(&r.ended, 0);
            (m->run != NULL ? m->run : stress_run)(m->threads, play, &r);
            assert_true(stress_table_is_sound(r.w));
        }
        check_run(&r, &sums);
        weir_close(r.w);
        free(r.actors);
    }
    print_message("# %s: %u rounds, %llu decisions, %llu grants, %llu without a place\n", m->name,
                  rounds, (unsigned long long)sums.decided, (unsigned long long)sums.grants,
                  (unsigned long long)sums.unplaced);
    assert_true(stress_report(m->name, &sums.counts, m->wanted));
}
