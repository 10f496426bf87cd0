/* SPDX-License-Identifier: MIT */
/*
 * K31: several limits, all or none. Between threads no limit is exceeded, nothing is lost, and
 * nobody is refused but for what others have in hand just then.
 *
 * Threads at one instant, who count what they were granted; and another thread that comes at the
 * worst moments, which the clocks of the options let it find. One thread by itself:
 * test_all_or_none_alone.c.
 */
#include "all_or_none.h"

#include <sched.h>
#include <stdatomic.h>

/* ---- threads at one instant ---- */

#define CAPACITY 60
#define ENTRIES  6

struct crowd {
    struct world v;
    unsigned calls;
    uint64_t seed;
    weir_ns max_wait;
    _Atomic uint64_t taken[KINDS][KEYS]; /* by calls that were granted; at most what is out */
    _Atomic uint64_t entered, left;
    struct weir_atomic_u64 wrong, granted, refused, alone, crossed;
};

static void expect(struct crowd *c, bool holds)
{
    if (!holds)
        weir_add_relaxed(&c->wrong, 1);
}

/* What a thread asks for, by kind and key. */
struct wish {
    struct weir_request requests[ENTRIES];
    size_t count;
    uint64_t n[KINDS][KEYS];
};

static void make_wish(struct crowd *c, struct test_random *random, struct wish *wish)
{
    *wish = (struct wish){.count = 1 + random_below(random, ENTRIES)};
    for (size_t i = 0; i < wish->count; i++) {
        uint64_t dice = random_u64(random);
        unsigned kind = (unsigned)(dice % KINDS);
        unsigned k = (unsigned)(dice >> 8) % KEYS;
        uint64_t n = (dice >> 16) % 4;
        wish->requests[i] = (struct weir_request){c->v.ids[kind], key_of(k), n};
        wish->n[kind][k] += n;
    }
}

static bool fits(const struct crowd *c, const struct wish *wish)
{
    bool fit = true;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        for (unsigned k = 0; k < KEYS; k++)
            fit = fit && c->taken[kind][k] + wish->n[kind][k] <= CAPACITY;
    }
    return fit;
}

static void book(struct crowd *c, const struct wish *wish)
{
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        for (unsigned k = 0; k < KEYS; k++) {
            uint64_t n = wish->n[kind][k];
            expect(c, atomic_fetch_add(&c->taken[kind][k], n) + n <= CAPACITY);
        }
    }
}

/* Gives all of it back, by single calls. */
static void give_back(struct crowd *c, const struct wish *wish)
{
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        for (unsigned k = 0; k < KEYS; k++) {
            uint64_t n = wish->n[kind][k];
            atomic_fetch_sub(&c->taken[kind][k], n);
            expect(c, weir_refund(c->v.w, c->v.ids[kind], key_of(k), n, T0) == n);
        }
    }
}

/* While no other call is under way, the verdict is what the counts say; else it may be a refusal
   of what fits. */
static void ask_at_once(struct crowd *c, const struct wish *wish, bool gives_back)
{
    uint64_t ticket = atomic_fetch_add(&c->entered, 1);
    bool alone = c->left == ticket;
    bool fitted = fits(c, wish);
    struct weir_result result;
    int index = weir_decide_all(c->v.w, wish->requests, wish->count, T0, 0, &result);
    bool fit = fits(c, wish);
    alone = alone && c->entered == ticket + 1;
    if (index < 0)
        book(c, wish);
    if (alone)
        expect(c, fitted == fit && (index < 0) == fit);
    expect(c, (index < 0) == (result.verdict == WEIR_ALLOWED) && index < (int)wish->count);
    weir_add_relaxed(index < 0 ? &c->granted : &c->refused, 1);
    weir_add_relaxed(&c->alone, alone);
    weir_add_relaxed(&c->crossed, index >= 0 && fitted && fit);
    if (index < 0 && gives_back)
        give_back(c, wish);
    atomic_fetch_add(&c->left, 1);
}

static void ask_all(void *context, unsigned index)
{
    struct crowd *c = context;
    struct test_random random = {c->seed + index};
    for (unsigned i = 0; i < c->calls; i++) {
        struct wish wish;
        make_wish(c, &random, &wish);
        ask_at_once(c, &wish, random_below(&random, 100) < 95);
    }
}

/* The balance of every key is what the calls that were granted have left, and the key is as if
   there had been no others. */
static void end_crowd(struct crowd *c)
{
    struct world twin;
    open_world(&twin, CAPACITY);
    assert_int_equal(weir_load_relaxed(&c->wrong), 0);
    assert_int_equal(c->entered, c->left);
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        for (unsigned k = 0; k < KEYS; k++) {
            uint64_t taken = c->taken[kind][k];
            assert_int_equal(weir_peek(c->v.w, c->v.ids[kind], key_of(k), 1, T0).remaining,
                             CAPACITY - taken);
            assert_int_equal(weir_take(twin.w, twin.ids[kind], key_of(k), taken, T0), taken);
        }
    }
    assert_same_keys(&c->v, &twin);
    assert_true(weir_table_is_valid(&c->v.w->table));
    weir_close(twin.w);
    weir_close(c->v.w);
}

static void k31_threads_at_one_instant(void **state)
{
    (void)state;
    uint64_t seed = random_start("all or none by threads", 900).state;
    static const unsigned crews[] = {1, 2, THREADS};
    for (unsigned i = 0; i < 3; i++) {
        static struct crowd c;
        c = (struct crowd){.seed = seed + i * THREADS, .calls = (unsigned)random_scaled(20000)};
        open_world(&c.v, CAPACITY);
        stress_run(crews[i], ask_all, &c);
        uint64_t crossed = weir_load_relaxed(&c.crossed);
        print_message("# %u threads: %llu granted, %llu refused, %llu alone, %llu fitted all the "
                      "while\n",
                      crews[i], (ull)weir_load_relaxed(&c.granted),
                      (ull)weir_load_relaxed(&c.refused), (ull)weir_load_relaxed(&c.alone),
                      (ull)crossed);
        if (crews[i] == 1) {
            assert_int_equal(crossed, 0);
            assert_int_equal(weir_load_relaxed(&c.alone), c.calls);
        }
        end_crowd(&c);
    }
}

/* ---- what others are refused meanwhile ---- */

#define OWN 2 /* of the thread that asks by single calls */

/*
 * All want 3 of one key and the only ones of another, so most of them take the first in vain. Who
 * wants nothing but the first finds at most 3 less for each of them.
 */
#define BETWEEN 40

static void ask_in_vain(struct crowd *c, const struct weir_request *r)
{
    if (weir_decide_all(c->v.w, r, BETWEEN + 2, T0, 0, NULL) >= 0)
        return;
    weir_add_relaxed(&c->granted, 1);
    sched_yield();
    expect(c, weir_refund(c->v.w, r[0].limit, r[0].key, 3, T0) == 3);
    expect(c, weir_refund(c->v.w, r[0].limit, r[BETWEEN + 1].key, CAPACITY, T0) == CAPACITY);
}

static void ask_alone(struct crowd *c, const struct weir_request *r)
{
    struct weir_result result = weir_decide(c->v.w, r->limit, r->key, OWN, T0);
    expect(c, result.verdict == WEIR_ALLOWED);
    /* of the others one at most has been granted */
    weir_add_relaxed(&c->crossed, 3 * (THREADS - 1) - result.remaining > 3);
    expect(c, weir_refund(c->v.w, r->limit, r->key, OWN, T0) == OWN);
}

static void ask_beside(void *context, unsigned index)
{
    struct crowd *c = context;
    struct weir_request r[BETWEEN + 2] = {{c->v.ids[c->seed], key_of(0), 3}};
    for (unsigned i = 1; i <= BETWEEN; i++)
        r[i] = (struct weir_request){c->v.ids[EXACT], key_of(10 + i), 0}; /* takes a while */
    r[BETWEEN + 1] = (struct weir_request){c->v.ids[c->seed], key_of(1), CAPACITY};
    for (unsigned i = 0; i < c->calls && index != 0; i++)
        ask_in_vain(c, r);
    atomic_fetch_add(&c->left, 1);
    while (index == 0 && c->left < THREADS) {
        ask_alone(c, r);
        sched_yield();
    }
}

static void k31_k36_others_find_no_less_than_that(void **state)
{
    (void)state;
    uint64_t crossed = 0;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        static struct crowd c;
        c = (struct crowd){.seed = kind, .calls = (unsigned)random_scaled(3000)};
        open_world(&c.v, CAPACITY);
        /* all that the wide key has is what they may want at a time */
        assert_int_equal(
            weir_charge(c.v.w, c.v.ids[kind], key_of(0), CAPACITY - 3 * (THREADS - 1) - OWN, T0),
            CAPACITY - 3 * (THREADS - 1) - OWN);
        stress_run(THREADS, ask_beside, &c);
        if (weir_load_relaxed(&c.wrong) != 0)
            fail_msg("%s: %llu wrong", names[kind], (ull)weir_load_relaxed(&c.wrong));
        assert_true(weir_load_relaxed(&c.granted) > 0);
        assert_int_equal(weir_peek(c.v.w, c.v.ids[kind], key_of(0), 1, T0).remaining,
                         3 * (THREADS - 1) + OWN);
        assert_int_equal(weir_peek(c.v.w, c.v.ids[kind], key_of(1), 1, T0).remaining, CAPACITY);
        crossed += weir_load_relaxed(&c.crossed);
        weir_close(c.v.w);
    }
    print_message("# %llu calls found what others had in hand\n", (ull)crossed);
}

/* ---- threads that wait ---- */

struct grant {
    weir_ns instant;
    uint64_t n;
};

struct later {
    struct crowd c;
    struct grant *grants[THREADS][KINDS][KEYS];
    size_t counts[THREADS][KINDS][KEYS];
};

#define LATER_CALLS 200

static void ask_for_later(void *context, unsigned index)
{
    struct later *l = context;
    struct crowd *c = &l->c;
    struct test_random random = {c->seed + index};
    for (unsigned i = 0; i < c->calls; i++) {
        struct weir_result result;
        struct wish wish;
        make_wish(c, &random, &wish);
        weir_ns max_wait = random_below(&random, 20) * SEC;
        if (weir_decide_all(c->v.w, wish.requests, wish.count, T0, max_wait, &result) >= 0)
            continue;
        expect(c, result.wait <= max_wait);
        for (unsigned kind = 0; kind < UNLIMITED; kind++) {
            for (unsigned k = 0; k < KEYS; k++) {
                if (wish.n[kind][k] != 0)
                    l->grants[index][kind][k][l->counts[index][kind][k]++] =
                        (struct grant){T0 + result.wait, wish.n[kind][k]};
            }
        }
    }
}

static int by_instant(const void *a, const void *b)
{
    const struct grant *x = a;
    const struct grant *y = b;
    return (x->instant > y->instant) - (x->instant < y->instant);
}

/* Whether what was granted up to one of the instants is what the limit admits. */
static bool conforms(unsigned kind, uint64_t capacity, const struct grant *grants, size_t count)
{
    static const uint64_t rates[] = {2, 17, 3, 10};
    weir_ns last = grants[count - 1].instant;
    weir_ns shift = kind == ALIGNED ? 3 * SEC : 0;
    weir_ns period = kind == CALENDAR ? WEIR_DAY : PERIOD;
    uint64_t all_of_them = 0, window = 0, previous = 0, recent = 0;
    for (size_t i = 0; i < count; i++) {
        weir_ns instant = grants[i].instant;
        all_of_them += grants[i].n;
        window += (instant + shift) / period == (last + shift) / period ? grants[i].n : 0;
        previous += (instant + shift) / period + 1 == (last + shift) / period ? grants[i].n : 0;
        recent += last - instant < period ? grants[i].n : 0;
    }
    if (kind <= REFILL)
        return all_of_them <=
               capacity + (last - T0 + (kind == REFILL ? SEC / 4 : 0)) * rates[kind] / SEC + 1;
    if (kind == FIRST_HIT)
        return recent <= 2 * capacity; /* of two windows at most */
    if (kind == SLIDING)
        return window <= capacity &&
               previous * (period - last % period) <= (capacity - window) * period;
    return kind == PERMITS ? all_of_them <= capacity : window <= capacity;
}

static void check_later(struct later *l, unsigned kind, unsigned k)
{
    static struct grant grants[THREADS * LATER_CALLS];
    size_t count = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        memcpy(grants + count, l->grants[i][kind][k], l->counts[i][kind][k] * sizeof(struct grant));
        count += l->counts[i][kind][k];
    }
    qsort(grants, count, sizeof *grants, by_instant);
    uint64_t all_of_them = 0;
    for (size_t i = 1; i <= count; i++) {
        all_of_them += grants[i - 1].n;
        if (!conforms(kind, 12, grants, i))
            fail_msg("%s, key %u: too much up to grant %zu", names[kind], k, i);
    }
    struct weir_result end = weir_peek(l->c.v.w, l->c.v.ids[kind], key_of(k), 1, T0 + 3 * WEIR_DAY);
    assert_int_equal(end.remaining, kind == PERMITS ? 12 - all_of_them : 12);
}

static void k31_threads_that_wait(void **state)
{
    (void)state;
    uint64_t seed = random_start("all or none, later", 1000).state;
    unsigned rounds = (unsigned)random_scaled(20);
    struct grant *room = calloc((size_t)THREADS * KINDS * KEYS * LATER_CALLS, sizeof *room);
    assert_non_null(room);
    for (unsigned round = 0; round < rounds; round++) {
        static struct later l;
        l = (struct later){.c = {.calls = LATER_CALLS, .seed = seed + round * THREADS}};
        struct grant *next = room;
        for (unsigned i = 0; i < THREADS; i++) {
            for (unsigned kind = 0; kind < KINDS; kind++) {
                for (unsigned k = 0; k < KEYS; k++, next += LATER_CALLS)
                    l.grants[i][kind][k] = next;
            }
        }
        open_world(&l.c.v, 12);
        stress_run(THREADS, ask_for_later, &l);
        assert_int_equal(weir_load_relaxed(&l.c.wrong), 0);
        for (unsigned kind = 0; kind < UNLIMITED; kind++) {
            for (unsigned k = 0; k < KEYS; k++)
                check_later(&l, kind, k);
        }
        weir_close(l.c.v.w);
    }
    free(room);
}

/* ---- another thread, at the worst moments ---- */

/*
 * A call for three keys: of the kind that is looked at, of a bucket, and of an aligned window. When
 * unix time is asked for, the other thread takes what the second key had; if that is after it was
 * asked about, the first is charged and then given back. Just before that, the other thread comes
 * to the first as well.
 */
struct meeting {
    struct world v;
    unsigned kind;
    bool comes;   /* to the first key */
    uint64_t got; /* there */
    unsigned at;  /* which look at unix time lets the other thread in */
    weir_ns late; /* the engine's clock has gone on so far when it is undone */
    unsigned looks, undone;
};

static void take_the_bucket(void *context, unsigned index)
{
    struct meeting *m = context;
    (void)index;
    weir_charge(m->v.w, m->v.ids[EXACT], key_of(1), 8, T0);
}

static void come_to_the_first(void *context, unsigned index)
{
    struct meeting *m = context;
    (void)index;
    m->got = weir_take(m->v.w, m->v.ids[m->kind], key_of(0), 2, T0 + m->late);
}

static void when_unix_time_is_asked_for(struct world *v)
{
    struct meeting *m = v->context;
    if (m->looks++ == m->at)
        run_crew(1, take_the_bucket, m);
}

static void when_it_is_undone(struct world *v)
{
    struct meeting *m = v->context;
    if (m->undone++ != 0)
        return;
    v->now += m->late;
    if (m->comes)
        run_crew(1, come_to_the_first, m);
}

/* False: the other thread came before the second key was asked about, or too late. */
static bool meet_at(struct meeting *m, weir_ns wait)
{
    m->v.context = m;
    uint64_t out = 2 + wait / SEC * 2; /* so that 8 more have to wait so long */
    weir_charge(m->v.w, m->v.ids[EXACT], key_of(1), out, T0);
    m->v.on_wall = when_unix_time_is_asked_for;
    m->v.on_clock = when_it_is_undone;
    const struct weir_request r[] = {{m->v.ids[m->kind], key_of(0), 3},
                                     {m->v.ids[EXACT], key_of(1), 8},
                                     {m->v.ids[ALIGNED], key_of(2), 1}};
    struct weir_result result;
    int index = all(&m->v, r, 3, wait, &result);
    m->v.on_wall = NULL;
    m->v.on_clock = NULL;
    if (m->undone == 0)
        return false;
    /* asked again, the first may be short too, of what was taken there later */
    assert_true(index == 1 || (index == 0 && m->comes && m->late != 0));
    assert_int_equal(result.verdict, WEIR_DENIED);
    return true;
}

/* Plays it, with and without the all-or-none call; the first key is the same in both. */
static void meet(unsigned kind, weir_ns wait, bool comes, weir_ns late)
{
    for (unsigned at = 0; at < 8; at++) {
        struct meeting m = {.kind = kind, .comes = comes, .at = at, .late = late};
        struct world twin;
        open_world(&m.v, 10);
        open_world(&twin, 10);
        /* the first key has been used before, or not */
        weir_take(m.v.w, m.v.ids[kind], key_of(0), wait / SEC, T0);
        weir_take(twin.w, twin.ids[kind], key_of(0), wait / SEC, T0);
        /* unix time is remembered for a second: here it has to be asked for again */
        weir_ns before = T0 - 2 * SEC;
        assert_true(weir_allow(m.v.w, m.v.ids[ALIGNED], key_of(99), 0, before));
        bool met = meet_at(&m, wait);
        if (met) {
            weir_ns then = T0 + late;
            assert_int_equal(weir_take(twin.w, twin.ids[kind], key_of(0), m.got, then), m.got);
            assert_same_key(&m.v, &twin, kind, 0, then);
            assert_same_key(&m.v, &twin, kind, 0, then + SEC / 3);
        }
        weir_close(m.v.w);
        weir_close(twin.w);
        if (met)
            return;
    }
    fail_msg("%s: the other thread never came in between", names[kind]);
}

static void k31_what_is_undone_never_was(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        meet(kind, 0, false, 0);
        meet(kind, 0, true, 0);
    }
}

static void k31_what_is_undone_never_was_ahead(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++)
        meet(kind, 2 * SEC, false, 0);
}

/* Others find no less than before, once the call has ended. */
static void k31_what_is_undone_ahead_takes_nothing_from_others(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++)
        meet(kind, 2 * SEC, true, 0);
}

/* S6: by then a bucket would have become full; that its tokens were missing meanwhile is no reason
   to give it more than fills it. */
static void k31_what_is_undone_later_fills_no_bucket_twice(void **state)
{
    (void)state;
    for (unsigned kind = EXACT; kind <= REFILL; kind++) {
        meet(kind, 0, false, SEC);
        meet(kind, 0, true, SEC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k31_threads_at_one_instant),
        cmocka_unit_test(k31_k36_others_find_no_less_than_that),
        cmocka_unit_test(k31_threads_that_wait),
        cmocka_unit_test(k31_what_is_undone_never_was),
        cmocka_unit_test(k31_what_is_undone_never_was_ahead),
        cmocka_unit_test(k31_what_is_undone_ahead_takes_nothing_from_others),
        cmocka_unit_test(k31_what_is_undone_later_fills_no_bucket_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
