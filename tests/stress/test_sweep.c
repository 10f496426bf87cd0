/* SPDX-License-Identifier: MIT */
/*
 * The sweep and readers that do not come forward: it waits for them where it must, and holds up
 * nobody else while it waits.
 *
 * What is asserted is an order of events, never a time: the pauses only give a fault the time to
 * show itself.
 */
#include "../support.h"

#include "rcu.h"

#include <unistd.h>

#define YEAR       (365 * WEIR_DAY)
#define LIMIT_LEAP (300 * WEIR_DAY) /* past the line of 999999937/s */

struct scene {
    struct weir *w;
    int limit;
    weir_key key;
    weir_ns now;
    pthread_t sweeper, reader;
    struct weir_atomic_u64 entered, leave;
};

static void pause_ms(unsigned ms)
{
    usleep(ms * 1000);
}

static const struct weir_settings *settings_of(const struct scene *s)
{
    return weir_pointer_load_acquire(&s->w->limits[s->limit].settings);
}

static uint64_t word_of(const struct scene *s)
{
    struct weir_probe p =
        weir_table_probe(&s->w->table, s->key.high, s->key.low, (unsigned)s->limit);
    return weir_load_acquire(weir_table_find(&s->w->table, &p));
}

/* An engine whose limit has used many generations; the key's word is of the first. */
static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->w = open_for_keys(8, WEIR_FULL_SHARE);
    s->limit = add_limit(s->w, "a", weir_token_bucket(999999937, WEIR_SECOND, 1000));
    s->key = weir_key_u64(s->w, 1);
    s->now = YEAR;
    assert_true(weir_charge(s->w, s->limit, s->key, 1000000, s->now) > 0);
    for (unsigned i = 0; i < 20; i++) {
        s->now += LIMIT_LEAP;
        assert_true(weir_allow(s->w, s->limit, weir_key_u64(s->w, 2), 1, s->now));
    }
    assert_int_equal(weir_word_generation(word_of(s)), 1);
}

static void *sweep(void *scene)
{
    weir_sweep(((struct scene *)scene)->w, WEIR_SWEEP_AT);
    return NULL;
}

/* A thread that stays in a read section until it is told to leave. */
static void *stay(void *scene)
{
    struct scene *s = scene;
    weir_read_begin();
    weir_add_release(&s->entered, 1);
    while (weir_load_acquire(&s->leave) == 0)
        pause_ms(1);
    weir_read_end();
    return NULL;
}

static void await(const struct weir_atomic_u64 *event)
{
    while (weir_load_acquire(event) == 0)
        pause_ms(1);
}

/* Starts a sweep beside a reader that stays: it gets no further than its first grace period. */
static void hold_sweep(struct scene *s)
{
    assert_int_equal(pthread_create(&s->reader, NULL, stay, s), 0);
    await(&s->entered);
    assert_int_equal(pthread_create(&s->sweeper, NULL, sweep, s), 0);
    pause_ms(30);
}

/* Lets the reader leave and the sweep end. */
static void let_go(struct scene *s)
{
    weir_add_release(&s->leave, 1);
    pthread_join(s->reader, NULL);
    pthread_join(s->sweeper, NULL);
}

/* O3, step 1: nothing is re-based while somebody may still write words of older generations. */
static void o3_waits_for_old_writers(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s);
    hold_sweep(&s);
    assert_int_equal(weir_word_generation(word_of(&s)), 1);
    let_go(&s);
    assert_int_equal(weir_word_generation(word_of(&s)), settings_of(&s)->generation);
    assert_int_equal(__builtin_popcount(settings_of(&s)->generations), 1);
    weir_close(s.w);
}

/* P1: while the sweep waits for a stopped thread, everything else goes on. */
static void p1_a_waiting_sweep_holds_up_nobody(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s);
    hold_sweep(&s);
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(s.w, &stats), 0);
    assert_int_equal(weir_find_limit(s.w, "a"), s.limit);
    assert_true(add_limit(s.w, "b", weir_token_bucket(1, WEIR_SECOND, 1)) > 0);
    assert_true(weir_allow(s.w, s.limit, weir_key_u64(s.w, 3), 1, s.now));
    assert_true(weir_allow(s.w, s.limit, weir_key_u64(s.w, 3), 1, s.now + LIMIT_LEAP));
    weir_sweep(s.w, WEIR_SWEEP_AT); /* who comes second goes his way */
    let_go(&s);
    weir_close(s.w);
}

/*
 * A limit whose clock moves on while a sweep waits is swept the next time, though none of its
 * origins move any more; and nothing of what was charged meanwhile is lost.
 */
static void s5_an_origin_that_moves_during_a_sweep(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s);
    while (__builtin_popcount(settings_of(&s)->generations) < WEIR_GENERATIONS - 1) {
        s.now += LIMIT_LEAP;
        assert_true(weir_allow(s.w, s.limit, weir_key_u64(s.w, 2), 1, s.now));
    }
    hold_sweep(&s);
    /* the last generation there is, with a debt of 100 days */
    s.now += LIMIT_LEAP;
    uint64_t debt = (uint64_t)100 * 86400 * 999999937;
    assert_int_equal(weir_charge(s.w, s.limit, s.key, debt, s.now), debt);
    struct weir_result owed = weir_peek(s.w, s.limit, s.key, 1, s.now);
    let_go(&s);
    add_limit(s.w, "b", weir_token_bucket(1, WEIR_SECOND, 1));
    assert_int_equal(__builtin_popcount(settings_of(&s)->generations), 1);
    assert_int_equal(weir_peek(s.w, s.limit, s.key, 1, s.now).wait, owed.wait);
    assert_false(weir_allow(s.w, s.limit, s.key, 1, s.now + owed.wait - 1));
    assert_true(weir_allow(s.w, s.limit, s.key, 1, s.now + owed.wait));
    weir_close(s.w);
}

/* A leap that turned out wrong while the sweep waited is not what words are re-based on. */
static void s5_a_leap_that_is_taken_back_during_a_sweep(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s);
    uint64_t debt = (uint64_t)100 * 86400 * 999999937;
    assert_int_equal(weir_charge(s.w, s.limit, s.key, debt, s.now), debt);
    struct weir_result owed = weir_peek(s.w, s.limit, s.key, 1, s.now);
    /* n = 0 changes no key, but the limit's line */
    assert_int_equal(weir_decide(s.w, s.limit, s.key, 0, s.now + 3 * YEAR).verdict, WEIR_ALLOWED);
    hold_sweep(&s);
    assert_int_equal(weir_decide(s.w, s.limit, s.key, 0, s.now).verdict, WEIR_DENIED);
    let_go(&s);
    weir_sweep(s.w, WEIR_SWEEP_AT);
    assert_int_equal(__builtin_popcount(settings_of(&s)->generations), 1);
    assert_int_equal(weir_peek(s.w, s.limit, s.key, 1, s.now).wait, owed.wait);
    weir_close(s.w);
}

/*
 * O3, step 4: no generation is given out again while somebody may look for it in the old chain.
 * The second reader has to enter after the first grace period has begun and before it ends; when
 * that fails, the sweep waits for both at once and there is nothing to see: another try.
 */
static void o3_waits_for_old_readers(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (unsigned try = 1; try <= 20 && seen == 0; try++) {
        struct scene s;
        open_scene(&s);
        pthread_t first;
        pthread_t second;
        struct scene late = s;
        assert_int_equal(pthread_create(&first, NULL, stay, &s), 0);
        await(&s.entered);
        assert_int_equal(pthread_create(&s.sweeper, NULL, sweep, &s), 0);
        pause_ms(5 * try);
        assert_int_equal(pthread_create(&second, NULL, stay, &late), 0);
        await(&late.entered);
        weir_add_release(&s.leave, 1);
        pthread_join(first, NULL);
        for (unsigned i = 0; i < 50 && weir_word_generation(word_of(&s)) == 1; i++)
            pause_ms(1);
        if (weir_word_generation(word_of(&s)) != 1) {
            pause_ms(20);
            /* re-based, and the second reader is still there: the generations are not free yet */
            assert_true(__builtin_popcount(settings_of(&s)->generations) > 1);
            seen++;
            /* an origin that is published now is not overwritten by the sweep */
            s.now += LIMIT_LEAP;
            assert_true(weir_charge(s.w, s.limit, s.key, 5000, s.now) == 5000);
        }
        const struct weir_settings *newest = settings_of(&s);
        weir_add_release(&late.leave, 1);
        pthread_join(second, NULL);
        pthread_join(s.sweeper, NULL);
        if (seen > 0) {
            assert_ptr_equal(settings_of(&s), newest);
            assert_int_equal(weir_refund(s.w, s.limit, s.key, UINT64_MAX, s.now), 5000);
        } else {
            assert_int_equal(__builtin_popcount(settings_of(&s)->generations), 1);
        }
        weir_close(s.w);
    }
    assert_true(seen > 0);
}

struct ends {
    struct weir_atomic_u64 *first, *last;
};

static void note_ends(void *context, uint64_t tag, struct weir_atomic_u64 *word)
{
    struct ends *ends = context;
    (void)tag;
    if (ends->first == NULL)
        ends->first = word;
    ends->last = word;
}

/* S5: a word that a move is copying just then is none that can be re-based; the sweep comes back
   for it. The last of a shard's words tells that it has passed by the first. */
static void s5_a_frozen_word_is_come_back_for(void **state)
{
    (void)state;
    struct scene s = {.w = open_for_keys(100, WEIR_FULL_SHARE), .now = YEAR};
    struct ends ends = {NULL, NULL};
    s.limit = add_limit(s.w, "a", weir_token_bucket(999999937, WEIR_SECOND, 1000));
    for (uint64_t i = 0; i < 50; i++)
        assert_true(weir_charge(s.w, s.limit, weir_key_u64(s.w, i), 1000000, s.now) > 0);
    for (unsigned i = 0; i < 20; i++) { /* n = 0 writes no word */
        s.now += LIMIT_LEAP;
        struct weir_result open = weir_decide(s.w, s.limit, weir_key_u64(s.w, 0), 0, s.now);
        assert_true(open.verdict == WEIR_ALLOWED || open.verdict == WEIR_DENIED);
    }
    uint64_t packed = weir_table_word(&s.w->table, 0);
    assert_true(weir_packed_is_steady(packed));
    weir_array_walk(weir_packed_array(packed), note_ends, &ends);
    assert_true(ends.first != ends.last);
    assert_int_equal(weir_word_generation(weir_load_acquire(ends.last)), 1);
    weir_or_acq_rel(ends.first, WEIR_WORD_FROZEN);
    assert_int_equal(pthread_create(&s.sweeper, NULL, sweep, &s), 0);
    while (weir_word_generation(weir_load_acquire(ends.last)) == 1)
        pause_ms(1);
    pause_ms(20);
    weir_and_relaxed(ends.first, ~WEIR_WORD_FROZEN);
    assert_int_equal(pthread_join(s.sweeper, NULL), 0);
    unsigned generation = settings_of(&s)->generation;
    assert_int_equal(weir_word_generation(weir_load_acquire(ends.first)), generation);
    assert_int_equal(weir_word_generation(weir_load_acquire(ends.last)), generation);
    weir_close(s.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(o3_waits_for_old_writers),
        cmocka_unit_test(p1_a_waiting_sweep_holds_up_nobody),
        cmocka_unit_test(s5_an_origin_that_moves_during_a_sweep),
        cmocka_unit_test(s5_a_leap_that_is_taken_back_during_a_sweep),
        cmocka_unit_test(o3_waits_for_old_readers),
        cmocka_unit_test(s5_a_frozen_word_is_come_back_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
