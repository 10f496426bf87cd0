/* SPDX-License-Identifier: MIT */
/*
 * S1, S7, K11, K13, K14, K15 for every kind of limit: threads that take and give back by all calls,
 * and sums that must be equal.
 *
 * Most of it at one frozen instant, where nothing accrues and no window ends: granted - given back
 * + remaining == capacity. Clocks that advance do so in steps, each of which has the sum that one
 * thread alone would have, or freely, with what a kind admits at most.
 */
#include "stress.h"

#include <sched.h>

#define THREADS 8
#define KEYS    4
#define PERIOD  (10 * WEIR_SECOND)
#define T0      (90 * WEIR_MINUTE + 3141592653) /* some way into every window */
#define UNIX    ((weir_ns)20454 * WEIR_DAY)     /* at 0 of the clock */

#include "kinds.h"

static bool is_bucket(unsigned kind)
{
    return kind <= REFILL;
}

static weir_ns wall_clock(void *context, weir_ns now)
{
    (void)context;
    return UNIX + now;
}

static struct weir *open_kind(unsigned kind, uint64_t capacity, size_t max_keys, int *limit)
{
    const struct weir_options options = {.max_keys = max_keys, .wall_clock = wall_clock};
    struct weir *w = open_engine(&options);
    *limit = add_limit(w, "a", policy_of(kind, capacity));
    return w;
}

/* ---- S7, K11, K15: the ledger at one instant ---- */

#define CAPACITY 100

struct ledger {
    unsigned kind;
    struct weir *w;
    int limit;
    unsigned operations, rounds;
    uint64_t seed;
    pthread_barrier_t barrier;
    uint64_t out[KEYS]; /* before the round */
    struct weir_atomic_u64 taken[KEYS];
    struct weir_atomic_u64 given[KEYS];
    struct weir_atomic_u64 wrong;
};

static void expect(struct weir_atomic_u64 *wrong, bool holds)
{
    if (!holds)
        weir_add_relaxed(wrong, 1);
}

static bool granted(struct ledger *l, struct weir_result result)
{
    expect(&l->wrong, result.remaining <= CAPACITY && result.verdict != WEIR_INVALID);
    return result.verdict == WEIR_ALLOWED;
}

/* One call that takes, or gives back, and counts it. */
static void mutate(struct ledger *l, uint64_t dice)
{
    unsigned k = (unsigned)(dice % KEYS);
    uint64_t n = 1 + (dice >> 8) % 20;
    weir_key key = weir_key_u64(l->w, k);
    /* in a window that has not begun there is nothing to give back: not here */
    weir_ns max_wait = is_bucket(l->kind) ? WEIR_HOUR : 0;
    struct weir_reservation r;
    uint64_t taken = 0;
    uint64_t given = 0;
    switch (dice >> 16 & 7) {
    case 0:
    case 1:
        if (granted(l, weir_decide(l->w, l->limit, key, n, T0)))
            taken = n;
        break;
    case 2:
        taken = weir_take(l->w, l->limit, key, n, T0);
        break;
    case 3:
        taken = weir_charge(l->w, l->limit, key, n, T0);
        break;
    case 4:
    case 5:
        given = weir_refund(l->w, l->limit, key, n, T0);
        break;
    default:
        if (granted(l, weir_reserve(l->w, l->limit, key, n, T0, max_wait, &r))) {
            taken = n;
            if ((dice >> 24 & 1) != 0)
                given = weir_cancel(l->w, &r, T0);
        }
    }
    expect(&l->wrong, taken <= n && given <= n);
    weir_add_relaxed(&l->taken[k], taken);
    weir_add_relaxed(&l->given[k], given);
}

/* What is out of a key is what was taken less what was given back, and the rest is there. */
static void check_key(struct ledger *l, unsigned k)
{
    weir_key key = weir_key_u64(l->w, k);
    uint64_t out = l->out[k] + weir_load_relaxed(&l->taken[k]) - weir_load_relaxed(&l->given[k]);
    struct weir_result now = weir_peek(l->w, l->limit, key, 1, T0);
    uint64_t in_use = out;
    expect(&l->wrong, out <= INT64_MAX);
    expect(&l->wrong, now.remaining == (out < CAPACITY ? CAPACITY - out : 0));
    expect(&l->wrong, (now.verdict == WEIR_ALLOWED) == (out < CAPACITY));
    if (l->kind >= FIRST_HIT && l->kind <= SLIDING)
        expect(&l->wrong, out <= CAPACITY);
    if (l->kind == PERMITS)
        expect(&l->wrong, weir_in_use(l->w, l->limit, key, &in_use, NULL) == 0 && in_use == out);
    /* all that is out can come back, and no more */
    expect(&l->wrong, weir_refund(l->w, l->limit, key, UINT64_MAX, T0) == out);
    now = weir_peek(l->w, l->limit, key, CAPACITY, T0);
    expect(&l->wrong, now.verdict == WEIR_ALLOWED && now.remaining == CAPACITY);
}

static void keep_ledger(void *context, unsigned index)
{
    struct ledger *l = context;
    struct test_random random = {l->seed + index};
    for (unsigned i = 0; i < l->operations; i++)
        mutate(l, random_u64(&random));
}

static void s7_k11_k13_k15_ledger(void **state)
{
    (void)state;
    uint64_t seed = random_start("ledger of all kinds", 200).state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        struct ledger l = {.kind = kind, .seed = seed + kind * THREADS};
        l.w = open_kind(kind, CAPACITY, KEYS, &l.limit);
        l.operations = (unsigned)random_scaled(50000);
        run_crew(THREADS, keep_ledger, &l);
        for (unsigned k = 0; k < KEYS; k++) {
            assert_true(weir_load_relaxed(&l.taken[k]) > 0);
            assert_true(weir_load_relaxed(&l.given[k]) > 0);
            check_key(&l, k);
        }
        if (weir_load_relaxed(&l.wrong) != 0)
            fail_msg("%s: %llu wrong", names[kind],
                     (unsigned long long)weir_load_relaxed(&l.wrong));
        assert_true(weir_table_is_valid(&l.w->table));
        weir_close(l.w);
    }
}

/* Rounds in which balances are set and keys forgotten at random; what was set last is where the
   next ledger begins. */
static void disturb(struct ledger *l, uint64_t dice)
{
    weir_key key = weir_key_u64(l->w, dice % KEYS);
    switch (dice >> 8 & 7) {
    case 0:
        expect(&l->wrong, weir_forget(l->w, l->limit, key) == 0);
        break;
    case 1:
        expect(&l->wrong, weir_set_balance(l->w, l->limit, key, (dice >> 16) % 200, T0) == 0);
        break;
    default:
        mutate(l, dice >> 16);
    }
}

static void begin_ledger(struct ledger *l, unsigned round)
{
    for (unsigned k = 0; k < KEYS; k++) {
        weir_key key = weir_key_u64(l->w, k);
        uint64_t left = (round * 7 + k * 31) % (CAPACITY + 1);
        struct weir_result now = weir_peek(l->w, l->limit, key, 1, T0);
        expect(&l->wrong, now.remaining <= CAPACITY);
        if (left == CAPACITY)
            expect(&l->wrong, weir_forget(l->w, l->limit, key) == 0);
        else
            expect(&l->wrong, weir_set_balance(l->w, l->limit, key, left, T0) == 0);
        l->out[k] = CAPACITY - left;
        weir_store_relaxed(&l->taken[k], 0);
        weir_store_relaxed(&l->given[k], 0);
    }
}

static void keep_ledgers(void *context, unsigned index)
{
    struct ledger *l = context;
    struct test_random random = {l->seed + index};
    for (unsigned round = 0; round < l->rounds; round++) {
        for (unsigned i = 0; i < 100; i++)
            disturb(l, random_u64(&random));
        if (pthread_barrier_wait(&l->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            begin_ledger(l, round);
        pthread_barrier_wait(&l->barrier);
        for (unsigned i = 0; i < 100; i++)
            mutate(l, random_u64(&random));
        if (pthread_barrier_wait(&l->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            for (unsigned k = 0; k < KEYS; k++)
                check_key(l, k);
        }
        pthread_barrier_wait(&l->barrier);
    }
}

static void s7_a_ledger_begins_where_a_balance_was_set(void **state)
{
    (void)state;
    uint64_t seed = random_start("ledgers after balances were set", 300).state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        struct ledger l = {.kind = kind, .seed = seed + kind * THREADS};
        l.w = open_kind(kind, CAPACITY, KEYS, &l.limit);
        l.rounds = (unsigned)random_scaled(60);
        pthread_barrier_init(&l.barrier, NULL, THREADS);
        run_crew(THREADS, keep_ledgers, &l);
        pthread_barrier_destroy(&l.barrier);
        if (weir_load_relaxed(&l.wrong) != 0)
            fail_msg("%s: %llu wrong", names[kind],
                     (unsigned long long)weir_load_relaxed(&l.wrong));
        weir_close(l.w);
    }
}

/* ---- K15: balances that are set while others take ---- */

struct epochs {
    struct weir *w;
    int limit;
    unsigned epochs;
    uint64_t supplied; /* by the first thread */
    struct weir_atomic_u64 taken;
    struct weir_atomic_u64 over;
};

/* The first thread sets a balance, or forgets the key, whenever nothing is left; the others take
   all there is. Each time exactly that much is taken, whichever calls meet. */
static void supply_or_take(void *context, unsigned index)
{
    struct epochs *e = context;
    weir_key key = weir_key_u64(e->w, 1);
    for (unsigned epoch = 0; index == 0 && epoch < e->epochs; epoch++) {
        while (weir_peek(e->w, e->limit, key, 1, T0).remaining != 0)
            sched_yield();
        uint64_t n = epoch % 2 != 0 ? CAPACITY : 1 + epoch % CAPACITY;
        if (epoch % 2 != 0 ? weir_forget(e->w, e->limit, key) == 0
                           : weir_set_balance(e->w, e->limit, key, n, T0) == 0)
            e->supplied += n;
    }
    if (index == 0)
        weir_store_release(&e->over, 1);
    bool last;
    do {
        last = weir_load_acquire(&e->over) != 0;
        uint64_t taken = index % 2 != 0 ? weir_take(e->w, e->limit, key, index, T0) : 0;
        taken += weir_decide(e->w, e->limit, key, 1, T0).verdict == WEIR_ALLOWED;
        if (taken == 0)
            sched_yield();
        last = last && taken == 0;
        weir_add_relaxed(&e->taken, taken);
    } while (!last);
}

static void k15_what_was_set_is_taken_once(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        struct epochs e = {.epochs = (unsigned)random_scaled(1000), .supplied = CAPACITY};
        e.w = open_kind(kind, CAPACITY, KEYS, &e.limit);
        run_crew(THREADS, supply_or_take, &e);
        if (weir_load_relaxed(&e.taken) != e.supplied)
            fail_msg("%s: %llu taken of %llu", names[kind],
                     (unsigned long long)weir_load_relaxed(&e.taken),
                     (unsigned long long)e.supplied);
        weir_close(e.w);
    }
}

/* ---- S1, K14: as many winners as there are tokens ---- */

struct contest {
    unsigned kind;
    struct weir *w;
    int limit;
    unsigned rounds;
    uint64_t capacity;
    pthread_barrier_t barrier;
    struct weir_atomic_u64 taken[THREADS]; /* in the round under way */
    struct weir_atomic_u64 wrong;
};

/* Returns what was not given back: a bucket's token may have been followed by another in the queue;
   of a window, and of permits, all comes back. */
static uint64_t reserve_and_cancel(struct contest *c, weir_key key, uint64_t n)
{
    struct weir_reservation r;
    uint64_t out = 0;
    for (unsigned i = 0; i < 4; i++) {
        if (weir_reserve(c->w, c->limit, key, n, T0, 0, &r).verdict == WEIR_ALLOWED) {
            uint64_t given = weir_cancel(c->w, &r, T0);
            expect(&c->wrong, given == n || (is_bucket(c->kind) && given < n));
            out += n - given;
        }
    }
    return out;
}

/* Once each, where every thread wants one; or until there is nothing left, with costs that differ.
 */
static uint64_t contend(struct contest *c, unsigned index, unsigned round)
{
    weir_key key = weir_key_u64(c->w, round);
    if (c->capacity < THREADS)
        return weir_allow(c->w, c->limit, key, 1, T0);
    uint64_t n = 1 + index % 3;
    uint64_t taken = reserve_and_cancel(c, key, n);
    pthread_barrier_wait(&c->barrier);
    while (weir_decide(c->w, c->limit, key, n, T0).verdict == WEIR_ALLOWED)
        taken += n;
    while (weir_reserve(c->w, c->limit, key, 1, T0, 0, NULL).verdict == WEIR_ALLOWED)
        taken++;
    return taken;
}

static void take_part(void *context, unsigned index)
{
    struct contest *c = context;
    for (unsigned round = 0; round < c->rounds; round++) {
        pthread_barrier_wait(&c->barrier);
        weir_store_relaxed(&c->taken[index], contend(c, index, round));
        if (pthread_barrier_wait(&c->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            uint64_t sum = 0;
            for (unsigned i = 0; i < THREADS; i++)
                sum += weir_load_relaxed(&c->taken[i]);
            expect(&c->wrong, sum == c->capacity);
        }
    }
}

static void s1_k11_k14_exactly_as_many_as_there_are(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        for (unsigned many = 0; many < 2; many++) {
            struct contest c = {.kind = kind, .capacity = many ? 13 : 5};
            c.rounds = (unsigned)random_scaled(500);
            c.w = open_kind(kind, c.capacity, 4 * c.rounds, &c.limit);
            pthread_barrier_init(&c.barrier, NULL, THREADS);
            run_crew(THREADS, take_part, &c);
            pthread_barrier_destroy(&c.barrier);
            if (weir_load_relaxed(&c.wrong) != 0)
                fail_msg("%s, capacity %llu: %llu of %u rounds with another sum", names[kind],
                         (unsigned long long)c.capacity,
                         (unsigned long long)weir_load_relaxed(&c.wrong), c.rounds);
            weir_close(c.w);
        }
    }
}

/* ---- K14, K15: what is reserved ahead ---- */

#define EACH 60 /* reservations of a thread */

struct grant {
    weir_ns instant;
    uint64_t n;
};

struct queue {
    unsigned kind;
    struct weir *w;
    int limit;
    uint64_t n, seed;
    bool cancels;
    struct grant grants[THREADS * EACH]; /* each thread its own part */
};

static int by_instant(const void *a, const void *b)
{
    const struct grant *x = a;
    const struct grant *y = b;
    return (x->instant > y->instant) - (x->instant < y->instant);
}

static void reserve_ahead(void *context, unsigned index)
{
    struct queue *q = context;
    struct test_random random = {q->seed + index};
    weir_key key = weir_key_u64(q->w, 1);
    for (unsigned i = 0; i < EACH; i++) {
        struct weir_reservation r;
        uint64_t n = q->cancels ? 1 + random_below(&random, 3) : q->n;
        struct weir_result result = weir_reserve(q->w, q->limit, key, n, T0, WEIR_FOREVER, &r);
        struct grant *g = &q->grants[index * EACH + i];
        *g = (struct grant){0, 0};
        if (result.verdict != WEIR_ALLOWED)
            continue;
        *g = (struct grant){r.instant, n};
        if (q->cancels && random_below(&random, 2) != 0)
            g->n -= weir_cancel(q->w, &r, T0);
    }
}

/* Equal calls get together what one thread would get, one after the other. */
static void k14_equal_calls_are_a_sequence(void **state)
{
    (void)state;
    unsigned rounds = (unsigned)random_scaled(10);
    for (unsigned i = 0; i < rounds * PERMITS; i++) { /* permits cannot be waited for */
        static struct queue q;
        int limit;
        q = (struct queue){.kind = i % PERMITS, .n = 1 + i % 3};
        struct weir *twin = open_kind(q.kind, 7, KEYS, &limit);
        weir_key key = weir_key_u64(twin, 1);
        q.w = open_kind(q.kind, 7, KEYS, &q.limit);
        run_crew(THREADS, reserve_ahead, &q);
        qsort(q.grants, THREADS * EACH, sizeof *q.grants, by_instant);
        for (unsigned g = 0; g < THREADS * EACH; g++) {
            struct weir_result result = weir_reserve(twin, limit, key, q.n, T0, WEIR_FOREVER, NULL);
            assert_int_equal(result.verdict, WEIR_ALLOWED);
            assert_int_equal(q.grants[g].n, q.n);
            assert_int_equal(q.grants[g].instant, T0 + result.wait);
        }
        weir_close(q.w);
        weir_close(twin);
    }
}

/* Tokens that a bucket has at an instant at most, all since T0. */
static uint64_t accrued_at_most(unsigned kind, uint64_t capacity, weir_ns span)
{
    weir_ns lump = kind == REFILL ? WEIR_SECOND / 4 : 0;
    unsigned __int128 product = (unsigned __int128)(span + lump) * bucket_rates[kind];
    return capacity + (uint64_t)((product + WEIR_SECOND - 1) / WEIR_SECOND);
}

/* Whether the tokens up to the last of so many grants, in the order of their instants, could be
   taken then. */
static bool conforms(unsigned kind, uint64_t capacity, const struct grant *grants, size_t count)
{
    weir_ns last = grants[count - 1].instant;
    uint64_t all = 0, same = 0, window = 0, previous = 0;
    for (size_t i = 0; i < count; i++) {
        all += grants[i].n;
        same += grants[i].instant == last ? grants[i].n : 0;
        window += grants[i].instant / PERIOD == last / PERIOD ? grants[i].n : 0;
        previous += grants[i].instant / PERIOD + 1 == last / PERIOD ? grants[i].n : 0;
    }
    if (is_bucket(kind))
        return all <= accrued_at_most(kind, capacity, last - T0);
    if (kind != SLIDING)
        return same <= capacity; /* ahead they act when their window begins */
    return window <= capacity && (unsigned __int128)previous * (PERIOD - last % PERIOD) <=
                                     (unsigned __int128)(capacity - window) * PERIOD;
}

/* With cancels between them, what was kept is still what the limit admits. */
static void k11_what_is_kept_conforms(void **state)
{
    (void)state;
    uint64_t seed = random_start("reserved ahead", 400).state;
    unsigned rounds = (unsigned)random_scaled(20);
    for (unsigned i = 0; i < rounds * PERMITS; i++) {
        static struct queue q;
        q = (struct queue){.kind = i % PERMITS, .seed = seed + i * THREADS, .cancels = true};
        q.w = open_kind(q.kind, 7, KEYS, &q.limit);
        run_crew(THREADS, reserve_ahead, &q);
        qsort(q.grants, THREADS * EACH, sizeof *q.grants, by_instant);
        for (size_t count = 1; count <= THREADS * EACH; count++) {
            if (!conforms(q.kind, 7, q.grants, count))
                fail_msg("%s, seed %llu: too much up to grant %zu", names[q.kind],
                         (unsigned long long)q.seed, count);
        }
        weir_close(q.w);
    }
}

/* ---- S1: a clock that advances in steps ---- */

struct steps {
    unsigned kind;
    struct weir *w, *twin;
    int limit, twin_limit;
    unsigned count;
    uint64_t seed;
    weir_ns now;
    pthread_barrier_t barrier;
    struct weir_atomic_u64 taken, given, wrong;
};

/* To the edges of what the twin sees coming, and to either side; or anywhere. */
static weir_ns step_of(struct steps *s, struct test_random *random)
{
    weir_key key = weir_key_u64(s->twin, 1);
    struct weir_result seen = weir_peek(s->twin, s->twin_limit, key, 1, s->now);
    uint64_t dice = random_u64(random);
    weir_ns edge = (dice & 1) != 0 ? seen.reset : seen.wait;
    if (edge == 0 || edge > WEIR_DAY || (dice >> 8 & 3) == 0)
        return (dice >> 32) % (dice % 5 == 0 ? 3 * PERIOD : 100);
    return edge - 1 + (dice >> 16) % 3;
}

/* All threads at one instant take what is there; then some of it is given back. */
static void take_step(struct steps *s, unsigned index, struct test_random *random)
{
    weir_key key = weir_key_u64(s->w, 1);
    uint64_t n = 1 + index % 3;
    uint64_t taken = 0;
    while (weir_decide(s->w, s->limit, key, n, s->now).verdict == WEIR_ALLOWED)
        taken += n;
    for (uint64_t more = 1; more != 0; taken += more)
        more = weir_take(s->w, s->limit, key, index, s->now);
    weir_add_relaxed(&s->taken, taken);
    pthread_barrier_wait(&s->barrier);
    if (taken != 0) {
        uint64_t back = random_below(random, taken + 1);
        uint64_t given = weir_refund(s->w, s->limit, key, back, s->now);
        expect(&s->wrong, given == back);
        weir_add_relaxed(&s->given, given);
    }
}

static void check_step(struct steps *s, struct test_random *random)
{
    weir_key key = weir_key_u64(s->twin, 1);
    uint64_t taken = weir_take(s->twin, s->twin_limit, key, UINT64_MAX, s->now);
    uint64_t given = weir_load_relaxed(&s->given);
    expect(&s->wrong, taken == weir_load_relaxed(&s->taken));
    expect(&s->wrong, weir_refund(s->twin, s->twin_limit, key, given, s->now) == given);
    weir_store_relaxed(&s->taken, 0);
    weir_store_relaxed(&s->given, 0);
    s->now += step_of(s, random);
}

static void go_on(void *context, unsigned index)
{
    struct steps *s = context;
    struct test_random random = {s->seed + index};
    for (unsigned i = 0; i < s->count; i++) {
        take_step(s, index, &random);
        if (pthread_barrier_wait(&s->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            check_step(s, &random);
        pthread_barrier_wait(&s->barrier);
    }
}

static void s1_k14_a_clock_that_advances_in_steps(void **state)
{
    (void)state;
    uint64_t seed = random_start("a clock in steps", 500).state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        struct steps s = {.kind = kind, .seed = seed + kind * THREADS, .now = T0};
        s.w = open_kind(kind, 50, KEYS, &s.limit);
        s.twin = open_kind(kind, 50, KEYS, &s.twin_limit);
        s.count = (unsigned)random_scaled(400);
        pthread_barrier_init(&s.barrier, NULL, THREADS);
        run_crew(THREADS, go_on, &s);
        pthread_barrier_destroy(&s.barrier);
        if (weir_load_relaxed(&s.wrong) != 0)
            fail_msg("%s: %llu wrong", names[kind],
                     (unsigned long long)weir_load_relaxed(&s.wrong));
        weir_close(s.w);
        weir_close(s.twin);
    }
}

/* ---- S1, K13: clocks that advance freely and lag ---- */

struct river {
    unsigned kind;
    struct weir *w;
    int limit;
    unsigned operations;
    uint64_t seed;
    struct stress_clock clock;
    struct weir_atomic_u64 taken;
    struct weir_atomic_u64 held; /* permits, at most those in use */
    struct weir_atomic_u64 wrong;
};

static void use_permits(struct river *r, uint64_t n)
{
    weir_key key = weir_key_u64(r->w, 1);
    struct weir_permit permit;
    if (weir_acquire(r->w, r->limit, key, n, &permit).verdict != WEIR_ALLOWED)
        return;
    expect(&r->wrong, weir_add_relaxed(&r->held, n) + n <= CAPACITY / 8);
    weir_add_relaxed(&r->taken, n);
    weir_add_relaxed(&r->held, -n);
    expect(&r->wrong, weir_release(r->w, &permit) == 0);
}

static void flow(void *context, unsigned index)
{
    struct river *r = context;
    struct test_random random = {r->seed + index};
    weir_key key = weir_key_u64(r->w, 1);
    weir_ns step = r->kind == CALENDAR ? WEIR_MINUTE : 10 * WEIR_MILLISECOND;
    for (unsigned i = 0; i < r->operations; i++) {
        uint64_t n = 1 + random_below(&random, 3);
        weir_ns now = stress_clock_enter(&r->clock, index, index * WEIR_SECOND / 4);
        if (r->kind == PERMITS)
            use_permits(r, n);
        else if (weir_allow(r->w, r->limit, key, n, now))
            weir_add_relaxed(&r->taken, n);
        stress_clock_leave(&r->clock, index);
        stress_clock_advance(&r->clock, random_below(&random, step));
    }
}

/* What is admitted at most from T0 less the lag until `last`. */
static uint64_t admitted_at_most(unsigned kind, uint64_t capacity, weir_ns last)
{
    weir_ns first = T0 - 2 * WEIR_SECOND;
    switch (kind) {
    case FIRST_HIT:
        return capacity * (1 + (last - first) / PERIOD);
    case ALIGNED:
        return capacity *
               (1 + (last + 3 * WEIR_SECOND) / PERIOD - (first + 3 * WEIR_SECOND) / PERIOD);
    case CALENDAR:
        return capacity * (1 + last / WEIR_DAY - first / WEIR_DAY);
    case SLIDING:
        return capacity * (1 + last / PERIOD - first / PERIOD);
    case PERMITS:
        return UINT64_MAX;
    default:
        return accrued_at_most(kind, capacity, last - first);
    }
}

static void s1_k13_clocks_that_lag(void **state)
{
    (void)state;
    uint64_t seed = random_start("clocks that lag", 600).state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        struct river r = {.kind = kind, .seed = seed + kind * THREADS};
        uint64_t in_use;
        r.w = open_kind(kind, CAPACITY / 8, KEYS, &r.limit);
        r.operations = (unsigned)random_scaled(20000);
        stress_clock_start(&r.clock, T0, 3 * WEIR_SECOND);
        stress_run(THREADS, flow, &r);
        uint64_t taken = weir_load_relaxed(&r.taken);
        uint64_t most = admitted_at_most(kind, CAPACITY / 8, r.clock.now);
        print_message("# %s: %llu s, %llu taken of %llu\n", names[kind],
                      (unsigned long long)((r.clock.now - T0) / WEIR_SECOND),
                      (unsigned long long)taken, (unsigned long long)most);
        assert_int_equal(weir_load_relaxed(&r.wrong), 0);
        assert_in_range(taken, CAPACITY / 8, most);
        if (kind == PERMITS) {
            assert_int_equal(weir_in_use(r.w, r.limit, weir_key_u64(r.w, 1), &in_use, NULL), 0);
            assert_int_equal(in_use, 0);
        }
        weir_close(r.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s7_k11_k13_k15_ledger),
        cmocka_unit_test(s7_a_ledger_begins_where_a_balance_was_set),
        cmocka_unit_test(k15_what_was_set_is_taken_once),
        cmocka_unit_test(s1_k11_k14_exactly_as_many_as_there_are),
        cmocka_unit_test(k14_equal_calls_are_a_sequence),
        cmocka_unit_test(k11_what_is_kept_conforms),
        cmocka_unit_test(s1_k14_a_clock_that_advances_in_steps),
        cmocka_unit_test(s1_k13_clocks_that_lag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
