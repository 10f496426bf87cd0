/* SPDX-License-Identifier: MIT */
/*
 * The soak's mixes of the table: it grows, is compacted and trimmed, gets full, forgets what is
 * idle, and its limits get other origins.
 */
#include "mix.h"
#include "soak.h"

typedef unsigned long long ull;

/* ---- histories (mix.h) ---- */

static uint64_t run_seed;

static void run(unsigned threads, void (*body)(void *, unsigned), void *context)
{
    soak_run(run_seed, threads, SOAK_STOPPED_MOSTLY, body, context);
}

static void note(const struct weir *w, uint64_t grants)
{
    soak_note(w);
    soak_count(SOAK_GRANTS, grants);
}

static void grow(uint64_t seed, int (*trim)(struct weir *w, weir_ns now))
{
    static const size_t sizes[] = {60, 1000, 3000, 6000};
    struct test_random random = {seed};
    size_t size = sizes[random_below(&random, 4)];
    struct mix m = {.name = "mix",
                    .max_keys = size,
                    .threads = soak_threads(random_u64(&random), 8),
                    .rounds = 1,
                    .phases = 2,
                    .residents = (unsigned)(size / 20),
                    .new_every = size > 1000 ? 10 : 50,
                    .new_at_once = size > 60 ? 20 : 2,
                    .step = (4 * WEIR_MICROSECOND) << random_below(&random, 4),
                    .leap = WEIR_SECOND << random_below(&random, 3),
                    .leap_every = 500U << random_below(&random, 4),
                    .lag = (2 * WEIR_SECOND) << random_below(&random, 4),
                    .trim = trim,
                    .run = run,
                    .note = note};
    m.calls = (unsigned)random_scaled(24000) / m.threads;
    m.calls += m.calls == 0;
    run_seed = seed;
    mix_run(&m, seed);
}

static int trim(struct weir *w, weir_ns now)
{
    return SOAK_TIMED(SOAK_TRIM, weir_trim(w, now));
}

void soak_growth(uint64_t seed)
{
    grow(seed, NULL);
}

void soak_trimmed(uint64_t seed)
{
    grow(seed, trim);
}

/* ---- at each instant every key has its burst ---- */

#define BURST 5
#define KEYS  64

/*
 * Threads that take all there is of the same keys, at one instant after the other, between which
 * every key gets full. Some of the keys are new each time; other keys come and go beside them, so
 * that the shards grow and are compacted just then. Every other time the clock leaps so far that
 * the limit gets another origin.
 */
struct instants {
    struct weir *w;
    int limit, filler;
    unsigned steps;
    uint64_t seed;
    struct soak_barrier barrier;
    _Atomic weir_ns now;
    _Atomic uint64_t fillers;
    struct weir_atomic_u64 taken[KEYS];
    struct weir_atomic_u64 wrong, first_wrong, unfilled;
};

/* Where readers hold on to too much memory no array is replaced, and a new key may be refused. */
static void fill(struct instants *s, weir_ns now)
{
    weir_key key = weir_key_u64(s->w, ((uint64_t)1 << 32) + s->fillers++);
    bool placed = SOAK_TIMED(SOAK_ALLOW, weir_allow(s->w, s->filler, key, 1, now));
    weir_add_relaxed(&s->unfilled, !placed);
    if (SOAK_TIMED(SOAK_FORGET, weir_forget(s->w, s->filler, key)) != 0)
        weir_add_relaxed(&s->wrong, 1);
}

static uint64_t take_all(struct instants *s, unsigned index, weir_key key, weir_ns now)
{
    uint64_t taken = 0;
    if (index % 2 == 0)
        taken = SOAK_TIMED(SOAK_TAKE, weir_take(s->w, s->limit, key, 2, now));
    while (SOAK_TIMED(SOAK_DECIDE, weir_decide(s->w, s->limit, key, 1, now)).verdict ==
           WEIR_ALLOWED)
        taken++;
    return taken;
}

static void end_step(struct instants *s, struct test_random *random, unsigned step)
{
    bool short_of_memory = weir_load_relaxed(&s->unfilled) != 0;
    for (unsigned k = 0; k < KEYS; k++) {
        uint64_t taken = weir_load_relaxed(&s->taken[k]);
        bool right = taken == BURST || (taken < BURST && short_of_memory);
        if (!right && weir_add_relaxed(&s->wrong, 1) == 0)
            weir_store_relaxed(&s->first_wrong, taken);
        weir_store_relaxed(&s->taken[k], 0);
    }
    if (!stress_table_is_sound(s->w))
        weir_add_relaxed(&s->wrong, 1);
    if (step % 8 == 7) {
        weir_sweep(s->w, WEIR_SWEEP_AT);
        soak_count(SOAK_SWEEPS, 1);
    }
    s->now += random_below(random, 2) == 0 ? 100 * WEIR_DAY : WEIR_MINUTE;
}

static void go_through(void *context, unsigned index)
{
    struct instants *s = context;
    struct test_random random = {s->seed + index};
    for (unsigned step = 0; step < s->steps; step++) {
        weir_ns now = s->now;
        soak_barrier_wait(&s->barrier);
        for (unsigned i = 0; i < KEYS; i++) {
            /* half of them are those of the step before */
            weir_key key = weir_key_u64(s->w, i + (uint64_t)step * (KEYS / 2));
            weir_add_relaxed(&s->taken[i], take_all(s, index, key, now));
            if ((i + index) % 2 == 0)
                fill(s, now);
            soak_dither(&random);
        }
        soak_barrier_wait(&s->barrier);
        if (index == 0)
            end_step(s, &random, step);
        soak_barrier_wait(&s->barrier);
    }
}

void soak_instants(uint64_t seed)
{
    static struct instants s;
    struct test_random random = {seed};
    s = (struct instants){.now = WEIR_DAY, .seed = seed};
    s.w = stress_open(500U << random_below(&random, 4), WEIR_FULL_DENY, seed);
    s.limit = add_limit(s.w, "a", weir_token_bucket(9, 10, BURST));
    s.filler = add_limit(s.w, "b", weir_token_bucket(1, WEIR_SECOND, 1));
    s.steps = (unsigned)random_scaled(60);
    s.barrier.threads = soak_threads(random_u64(&random), 8);
    soak_run(seed, s.barrier.threads, SOAK_STOPPED_MOSTLY, go_through, &s);
    if (weir_load_relaxed(&s.wrong) != 0)
        fail_msg("%llu wrong; one key was granted %llu of %u", (ull)weir_load_relaxed(&s.wrong),
                 (ull)weir_load_relaxed(&s.first_wrong), BURST);
    assert_true(stress_table_is_sound(s.w));
    soak_note(s.w);
    weir_close(s.w);
}

/* ---- full tables ---- */

#define FLOOD_TIMES 6 /* as many keys as there is room for */

struct flood {
    struct weir *w;
    int limit;
    unsigned keys;
    struct weir_atomic_u64 *admitted; /* by key */
    struct weir_atomic_u64 calls;
};

static void ask(struct flood *f, unsigned k, unsigned times)
{
    weir_key key = weir_key_u64(f->w, k);
    weir_add_relaxed(&f->calls, times);
    for (unsigned i = 0; i < times; i++)
        if (SOAK_TIMED(SOAK_ALLOW, weir_allow(f->w, f->limit, key, 1, WEIR_HOUR)))
            weir_add_relaxed(&f->admitted[k], 1);
}

/* Every thread goes through all keys, each from its own start, and asks for more than the burst. */
static void flood(void *context, unsigned index)
{
    struct flood *f = context;
    struct test_random random = {index};
    for (unsigned i = 0; i < f->keys; i++) {
        ask(f, (i + index / 2 * (f->keys / 4)) % f->keys, BURST + 1);
        soak_dither(&random);
    }
}

/* Each placed key its burst; the others what when_full says. */
static void check_flood(struct flood *f, enum weir_when_full when_full)
{
    struct weir_stats stats = {0};
    uint64_t sum = 0;
    /* of the overflow first, perhaps, and of its own after that */
    uint64_t most = when_full == WEIR_FULL_DENY ? BURST : 2 * BURST;
    for (unsigned k = 0; k < f->keys; k++) {
        ask(f, k, 2 * BURST); /* who got a place late has taken all now */
        uint64_t admitted = weir_load_relaxed(&f->admitted[k]);
        assert_true(admitted <= most || when_full == WEIR_FULL_ALLOW);
        sum += admitted;
    }
    assert_int_equal(weir_stats(f->w, &stats), 0);
    assert_true(stats.overflow > 0);
    if (when_full == WEIR_FULL_SHARE)
        assert_int_equal(sum, BURST * (stats.keys + 1));
    else
        assert_int_equal(sum - (when_full == WEIR_FULL_ALLOW ? stats.overflow : 0),
                         BURST * stats.keys);
    assert_int_equal(stats.allowed, sum);
    assert_int_equal(stats.allowed + stats.denied, weir_load_relaxed(&f->calls));
    assert_in_range(stats.keys, stats.max_keys - stats.max_keys / 32 - 1,
                    stats.max_keys + THREADS_MAX);
}

void soak_full(uint64_t seed)
{
    struct test_random random = {seed};
    enum weir_when_full when_full = (enum weir_when_full)random_below(&random, 3);
    size_t max_keys = 1 + random_scaled(20 + random_below(&random, 400));
    struct flood f = {.keys = (unsigned)max_keys * FLOOD_TIMES};
    f.w = stress_open(max_keys, when_full, seed);
    f.limit = add_limit(f.w, "a", weir_token_bucket(1, WEIR_HOUR, BURST));
    unsigned threads = soak_threads(random_u64(&random), 8);
    f.admitted = calloc(f.keys, sizeof *f.admitted);
    assert_non_null(f.admitted);
    soak_run(seed, threads, SOAK_STOPPED_MOSTLY, flood, &f);
    check_flood(&f, when_full);
    assert_true(stress_table_is_sound(f.w));
    soak_note(f.w);
    free(f.admitted);
    weir_close(f.w);
}

/* ---- the last places ---- */

#define PLACES 6 /* at most */
#define EXTRA  3
#define TABLES 200

/*
 * Tables that are filled up by all threads at once; odd ones have as many places as there are keys,
 * even ones fewer. Nothing is idle and nothing grows, so that who is refused is refused for good,
 * whoever asks.
 */
struct last {
    struct weir *w[TABLES];
    int limit;
    unsigned tables, places;
    uint64_t seed;
    struct soak_barrier barrier;
    struct weir_atomic_u64 admitted[TABLES][PLACES + EXTRA];
};

static unsigned keys_for(const struct last *l, unsigned table)
{
    return l->places + (table % 2 != 0 ? 0 : EXTRA);
}

static enum weir_when_full when_full_of(unsigned table)
{
    return (enum weir_when_full)(table / 2 % 3);
}

static void fill_up(void *context, unsigned index)
{
    struct last *l = context;
    struct test_random random = {l->seed + index};
    for (unsigned t = 0; t < l->tables; t++) {
        unsigned keys = keys_for(l, t);
        unsigned first = (unsigned)random_below(&random, 2) * (unsigned)random_below(&random, keys);
        soak_barrier_wait(&l->barrier);
        for (unsigned i = 0; i < keys; i++) {
            unsigned k = (first + i) % keys;
            weir_key key = weir_key_u64(l->w[t], k);
            for (unsigned n = 0; n <= BURST; n++)
                if (SOAK_TIMED(SOAK_DECIDE, weir_decide(l->w[t], l->limit, key, 1, WEIR_HOUR))
                        .verdict == WEIR_ALLOWED)
                    weir_add_relaxed(&l->admitted[t][k], 1);
            if (i % 2 == 0)
                soak_dither(&random);
        }
    }
}

/* Nobody is refused a place that is there; a key that has one has its burst and no more, also when
   threads met at it just when the last place was taken. */
static void check_last(const struct last *l, unsigned t)
{
    struct weir_stats stats = {0};
    uint64_t sum = 0;
    uint64_t all = (uint64_t)l->barrier.threads * (BURST + 1);
    assert_int_equal(weir_stats(l->w[t], &stats), 0);
    for (unsigned k = 0; k < keys_for(l, t); k++) {
        uint64_t admitted = weir_load_relaxed(&l->admitted[t][k]);
        if (when_full_of(t) == WEIR_FULL_ALLOW)
            assert_true(admitted == BURST || admitted == all);
        else if (when_full_of(t) == WEIR_FULL_DENY)
            assert_true(admitted == BURST || admitted == 0);
        else
            assert_true(admitted <= BURST);
        sum += admitted;
    }
    if (when_full_of(t) == WEIR_FULL_SHARE)
        assert_int_equal(sum, BURST * (stats.keys + (stats.overflow != 0)));
    else
        assert_int_equal(sum - (when_full_of(t) == WEIR_FULL_ALLOW ? stats.overflow : 0),
                         BURST * stats.keys);
    if (t % 2 != 0)
        assert_int_equal(stats.overflow, 0);
    assert_in_range(stats.keys, l->places, l->places + (t % 2 != 0 ? 0 : l->barrier.threads));
    assert_true(stress_table_is_sound(l->w[t]));
    soak_note(l->w[t]);
}

void soak_last(uint64_t seed)
{
    static struct last l;
    struct test_random random = {seed};
    memset(&l, 0, sizeof l);
    l.seed = seed;
    l.tables = (unsigned)random_scaled(TABLES / 3);
    l.tables = l.tables < TABLES ? l.tables : TABLES;
    l.places = 1 + (unsigned)random_below(&random, PLACES);
    /* two that meet at a key, and one that takes the last place from them */
    l.barrier.threads = 3 + (unsigned)random_below(&random, 2);
    for (unsigned t = 0; t < l.tables; t++) {
        l.w[t] = stress_open(l.places, when_full_of(t), seed + t);
        l.limit = add_limit(l.w[t], "a", weir_token_bucket(1, WEIR_HOUR, BURST));
    }
    soak_run(seed, l.barrier.threads, SOAK_STOPPED_MOSTLY, fill_up, &l);
    for (unsigned t = 0; t < l.tables; t++) {
        check_last(&l, t);
        weir_close(l.w[t]);
    }
}
