/* SPDX-License-Identifier: MIT */
/*
 * K31: several limits, all or none. The verdict does not depend on the order, a refusal changes
 * nothing, and between threads no limit is exceeded, nothing is lost, and nobody is refused but for
 * what others have in hand just then.
 *
 * One thread first, against the peeks of each entry and a twin that makes the granted calls one by
 * one. Then threads at one instant, who count what they were granted; and another thread that comes
 * at the worst moments, which the clocks of the options let it find.
 */
#include "stress.h"

#include <sched.h>
#include <stdatomic.h>

#define THREADS 8
#define KEYS    3
#define SEC     WEIR_SECOND
#define T0      ((weir_ns)1000 * WEIR_HOUR + 1414213562) /* some way into every window */
#define PERIOD  (4 * SEC)

typedef unsigned long long ull;

enum kind {
    EXACT,
    ROUNDED,
    PACER,
    REFILL,
    FIRST_HIT,
    ALIGNED,
    CALENDAR,
    SLIDING,
    PERMITS,
    UNLIMITED,
    KINDS
};

static const char *const names[KINDS] = {
    "exact bucket",   "rounded bucket",  "pacer",          "refill bucket", "first hit",
    "aligned window", "calendar window", "sliding window", "permits",       "unlimited"};

static struct weir_policy policy_of(unsigned kind, uint64_t capacity)
{
    struct weir_policy policy;
    switch (kind) {
    case EXACT:
        return weir_token_bucket(2, SEC, capacity);
    case ROUNDED:
        return weir_token_bucket(17, SEC, capacity);
    case PACER:
        return weir_pacer(3, SEC, capacity - 1);
    case REFILL:
        policy = weir_refill_bucket(10, SEC, SEC / 4);
        policy.burst = capacity;
        return policy;
    case FIRST_HIT:
        return weir_fixed_window(capacity, PERIOD);
    case ALIGNED:
        return weir_aligned_window(capacity, PERIOD, 3);
    case CALENDAR:
        return weir_calendar_window(capacity, WEIR_CALENDAR_DAY, "UTC");
    case SLIDING:
        return weir_sliding_window(capacity, PERIOD);
    case PERMITS:
        return weir_concurrency(capacity);
    default:
        return weir_token_bucket(WEIR_UNLIMITED, 1, 0);
    }
}

/* The same in every engine. */
static weir_key key_of(unsigned k)
{
    struct test_random random = {k};
    uint64_t high = random_u64(&random);
    return (weir_key){high, random_u64(&random)};
}

/* An engine with a limit of each kind, whose clock stands still. */
struct world {
    struct weir *w;
    int ids[KINDS];
    weir_ns now;
    void (*on_wall)(struct world *v);  /* somebody asks for unix time */
    void (*on_clock)(struct world *v); /* a roll-back is about to begin */
    void *context;
};

static weir_ns wall_clock(void *context, weir_ns now)
{
    struct world *v = context;
    if (v->on_wall != NULL)
        v->on_wall(v);
    return now;
}

static weir_ns own_clock(void *context)
{
    struct world *v = context;
    if (v->on_clock != NULL)
        v->on_clock(v);
    return v->now;
}

static int no_sleep(void *context, weir_ns instant)
{
    (void)context;
    (void)instant;
    return 0;
}

static void open_world(struct world *v, uint64_t capacity)
{
    const struct weir_options options = {.max_keys = 1024,
                                         .clock = own_clock,
                                         .sleep_until = no_sleep,
                                         .clock_context = v,
                                         .wall_clock = wall_clock,
                                         .wall_context = v};
    *v = (struct world){.now = T0};
    v->w = open_engine(&options);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        v->ids[kind] = add_limit(v->w, names[kind], policy_of(kind, capacity));
        /* times count from here, in every engine */
        assert_true(weir_allow(v->w, v->ids[kind], key_of(99), 0, T0));
    }
}

static int all(struct world *v, const struct weir_request *requests, size_t count, weir_ns max_wait,
               struct weir_result *result)
{
    return weir_decide_all(v->w, requests, count, v->now, max_wait, result);
}

static void assert_same(struct weir_result a, struct weir_result b)
{
    assert_int_equal(a.verdict, b.verdict);
    assert_int_equal(a.wait, b.wait);
    assert_int_equal(a.remaining, b.remaining);
    assert_int_equal(a.reset, b.reset);
}

static void assert_result(struct weir_result got, enum weir_verdict verdict, weir_ns wait,
                          uint64_t remaining, weir_ns reset)
{
    assert_same(got, (struct weir_result){verdict, wait, remaining, reset});
}

/* Every key is the same in both, from an instant on. */
static void assert_same_key(const struct world *a, const struct world *b, unsigned kind, unsigned k,
                            weir_ns at)
{
    for (uint64_t n = 0; n < 4; n++) {
        struct weir_result x = weir_peek(a->w, a->ids[kind], key_of(k), n, at);
        struct weir_result y = weir_peek(b->w, b->ids[kind], key_of(k), n, at);
        if (x.verdict != y.verdict || x.wait != y.wait || x.remaining != y.remaining ||
            x.reset != y.reset)
            fail_msg("%s, key %u, n %llu, %llu ns after: %d, wait %llu, remaining %llu, reset "
                     "%llu; the other %d, %llu, %llu, %llu",
                     names[kind], k, (ull)n, (ull)(at - a->now), (int)x.verdict, (ull)x.wait,
                     (ull)x.remaining, (ull)x.reset, (int)y.verdict, (ull)y.wait, (ull)y.remaining,
                     (ull)y.reset);
    }
}

static void assert_same_keys(const struct world *a, const struct world *b)
{
    const weir_ns later[] = {0, 1, SEC / 3, SEC, PERIOD - 1, 2 * PERIOD, WEIR_DAY};
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (unsigned k = 0; k < KEYS; k++) {
            for (unsigned i = 0; i < sizeof later / sizeof *later; i++)
                assert_same_key(a, b, kind, k, a->now + later[i]);
        }
    }
}

/* ---- one thread: what is told by single calls ---- */

#define MOST 8 /* entries of a random call */

/* What single peeks say that the call answers, and at which wait it is granted. */
struct forecast {
    int index;
    weir_ns wait;
    struct weir_result result; /* of a refusal */
    uint64_t n[MOST];          /* of all entries of the key, for the first of them; else 0 */
    bool first[MOST];
};

static bool is_same_key(const struct weir_request *a, const struct weir_request *b)
{
    return a->limit == b->limit && a->key.low == b->key.low && a->key.high == b->key.high;
}

static void sum_up(struct forecast *f, const struct weir_request *requests, size_t count)
{
    *f = (struct forecast){.index = -1};
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        while (!is_same_key(&requests[first], &requests[i]))
            first++;
        f->first[first] = true;
        f->n[first] += requests[i].n;
    }
}

static void look_ahead(const struct world *v, struct forecast *f,
                       const struct weir_request *requests, size_t count, weir_ns max_wait)
{
    sum_up(f, requests, count);
    for (size_t i = 0; i < count; i++) {
        if (!f->first[i])
            continue;
        struct weir_result r = weir_peek(v->w, requests[i].limit, requests[i].key, f->n[i], v->now);
        if (r.verdict == WEIR_NEVER || r.verdict == WEIR_INVALID) {
            f->index = (int)i;
            f->result = r;
            f->wait = WEIR_FOREVER;
            return;
        }
        weir_ns wait = r.verdict == WEIR_DENIED ? r.wait : 0;
        f->wait = wait > f->wait ? wait : f->wait;
        if (f->index < 0 && (wait > max_wait || wait == WEIR_FOREVER)) {
            f->index = (int)i;
            f->result = r;
        }
    }
    f->result.wait = f->wait;
}

/* The granted call, by single ones at its instant. */
static void make_one_by_one(struct world *twin, const struct forecast *f,
                            const struct weir_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (f->n[i] != 0)
            assert_true(weir_allow(twin->w, requests[i].limit, requests[i].key, f->n[i],
                                   twin->now + f->wait));
    }
}

/* The least `remaining` and the longest `reset` of its keys, as they are now. */
static void assert_sums(const struct world *v, const struct weir_request *requests, size_t count,
                        struct weir_result result)
{
    struct weir_result sum = {WEIR_ALLOWED, result.wait, UINT64_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        struct weir_result r = weir_peek(v->w, requests[i].limit, requests[i].key, 0, v->now);
        sum.remaining = r.remaining < sum.remaining ? r.remaining : sum.remaining;
        sum.reset = r.reset > sum.reset ? r.reset : sum.reset;
    }
    assert_same(result, sum);
}

/* Three engines: one that is asked all calls, one that is asked in another order, and the twin. */
struct trial {
    struct world asked, shuffled, twin;
    struct test_random random;
    unsigned granted, later, refused, never;
};

static void shuffle(struct test_random *random, struct weir_request *requests, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(random, i);
        struct weir_request last = requests[i - 1];
        requests[i - 1] = requests[j];
        requests[j] = last;
    }
}

/* Windows from the first hit begin at multiples of it. Who looks at one that was asked for ahead,
   between its instant and its beginning, finds it not yet begun. */
#define GRAIN 4

static void set_now(struct trial *t, weir_ns now)
{
    t->asked.now = t->shuffled.now = t->twin.now = now;
}

static size_t random_call(struct trial *t, struct weir_request requests[MOST])
{
    size_t count = random_below(&t->random, MOST + 1);
    bool faults = random_below(&t->random, 10) == 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t dice = random_u64(&t->random);
        uint64_t n = dice % 5;
        n = (dice >> 8) % 8 == 0 ? 10 + n : n;
        requests[i] = (struct weir_request){t->asked.ids[(dice >> 16) % KINDS],
                                            key_of((unsigned)(dice >> 24) % KEYS), n};
        if (faults && i == 0)
            requests[i].limit = KINDS + 1;
    }
    return count;
}

/* A refused call may come in any order: the verdict and the wait stay. And it can come when it has
   said, or wait so long; not a nanosecond less. */
static void after_refusal(struct trial *t, struct weir_request *requests, size_t count,
                          struct weir_result refused)
{
    struct weir_result result;
    for (unsigned i = 0; i < 4; i++) {
        shuffle(&t->random, requests, count);
        int index = all(&t->asked, requests, count, 0, &result);
        assert_in_range(index, 0, count - 1);
        assert_int_equal(result.wait, refused.wait);
        /* of two entries that can never be granted, the first is told */
        if (refused.verdict == WEIR_DENIED)
            assert_int_equal(result.verdict, WEIR_DENIED);
        else
            assert_true(result.verdict == WEIR_NEVER || result.verdict == WEIR_INVALID);
    }
    if (refused.verdict != WEIR_DENIED || refused.wait == WEIR_FOREVER)
        return;
    struct forecast f;
    weir_ns wait = refused.wait;
    look_ahead(&t->asked, &f, requests, count, wait);
    assert_int_equal(f.wait, wait);
    assert_true(all(&t->asked, requests, count, wait - 1, NULL) >= 0);
    make_one_by_one(&t->twin, &f, requests, count);
    if (random_below(&t->random, 2) == 0) {
        assert_int_equal(all(&t->asked, requests, count, wait, &result), -1);
        assert_int_equal(result.wait, wait);
        assert_int_equal(all(&t->shuffled, requests, count, WEIR_FOREVER, NULL), -1);
        assert_sums(&t->asked, requests, count, result);
        set_now(t, t->asked.now + wait + GRAIN);
    } else {
        set_now(t, t->asked.now + wait - 1);
        assert_true(all(&t->asked, requests, count, 0, NULL) >= 0);
        set_now(t, t->asked.now + 1);
        assert_int_equal(all(&t->asked, requests, count, 0, &result), -1);
        assert_int_equal(result.wait, 0);
        shuffle(&t->random, requests, count);
        assert_int_equal(all(&t->shuffled, requests, count, 0, NULL), -1);
    }
    t->later++;
}

static void try_call(struct trial *t)
{
    struct weir_request requests[MOST];
    size_t count = random_call(t, requests);
    const weir_ns waits[] = {0, 0, SEC, 3 * SEC, WEIR_FOREVER};
    weir_ns max_wait = waits[random_below(&t->random, 5)];
    struct weir_result result, other;
    struct forecast f;
    look_ahead(&t->asked, &f, requests, count, max_wait);
    int index = all(&t->asked, requests, count, max_wait, &result);
    assert_int_equal(index, f.index);
    if (index >= 0) {
        assert_same(result, f.result);
        t->refused++;
        t->never += result.verdict == WEIR_NEVER;
        after_refusal(t, requests, count, result);
        return;
    }
    assert_int_equal(result.verdict, WEIR_ALLOWED);
    assert_int_equal(result.wait, f.wait);
    assert_sums(&t->asked, requests, count, result);
    make_one_by_one(&t->twin, &f, requests, count);
    shuffle(&t->random, requests, count);
    assert_int_equal(all(&t->shuffled, requests, count, max_wait, &other), -1);
    assert_same(other, result);
    if (f.wait != 0)
        set_now(t, t->asked.now + f.wait + GRAIN);
    t->granted++;
}

/* Something else on one of the keys. Nothing is given back to windows: one that was asked for ahead
   stays begun when it is empty again, one that was not is as if never used. */
static void disturb(struct trial *t)
{
    struct world *worlds[] = {&t->asked, &t->shuffled, &t->twin};
    uint64_t dice = random_u64(&t->random);
    unsigned kind = (unsigned)(dice % KINDS);
    weir_key key = key_of((unsigned)(dice >> 8) % KEYS);
    uint64_t n = (dice >> 16) % 8;
    for (unsigned i = 0; i < 3; i++) {
        struct world *v = worlds[i];
        if ((dice >> 24 & 1) != 0 && (kind < FIRST_HIT || kind > SLIDING))
            weir_refund(v->w, v->ids[kind], key, n, v->now);
        else if ((dice >> 25 & 1) != 0)
            weir_charge(v->w, v->ids[kind], key, n, v->now);
        else
            weir_forget(v->w, v->ids[kind], key);
    }
    if ((dice >> 32) % 4 == 0)
        set_now(t, t->asked.now + (dice >> 40) % (2 * SEC));
}

static void open_trial(struct trial *t)
{
    open_world(&t->asked, 12);
    open_world(&t->shuffled, 12);
    open_world(&t->twin, 12);
}

static void close_trial(struct trial *t)
{
    weir_close(t->asked.w);
    weir_close(t->shuffled.w);
    weir_close(t->twin.w);
}

static void k31_one_thread(void **state)
{
    (void)state;
    struct trial t = {.random = random_start("all or none", 800)};
    unsigned calls = (unsigned)random_scaled(20000);
    open_trial(&t);
    for (unsigned i = 0; i < calls; i++) {
        if (t.asked.now > T0 + 100 * WEIR_DAY) {
            close_trial(&t);
            open_trial(&t);
        }
        disturb(&t);
        try_call(&t);
        if (i % 8 == 0) {
            assert_same_keys(&t.asked, &t.twin);
            assert_same_keys(&t.asked, &t.shuffled);
        }
    }
    print_message("# %u granted, %u refused (%u never), %u of them later\n", t.granted, t.refused,
                  t.never, t.later);
    assert_true(calls < 1000 || (t.granted > 100 && t.later > 100 && t.never > 10));
    close_trial(&t);
}

/* ---- one thread: by hand ---- */

static void k31_counts_of_entries(void **state)
{
    (void)state;
    struct world v;
    struct weir_request requests[65];
    struct weir_result result;
    open_world(&v, 128);
    for (unsigned i = 0; i < 65; i++)
        requests[i] = (struct weir_request){v.ids[EXACT + i % 2], key_of(i / 32), 1};
    assert_int_equal(all(&v, NULL, 0, 0, &result), -1);
    assert_result(result, WEIR_ALLOWED, 0, UINT64_MAX, 0);
    assert_int_equal(all(&v, requests, 65, 0, &result), 64);
    assert_result(result, WEIR_INVALID, WEIR_FOREVER, 0, WEIR_FOREVER);
    assert_int_equal(all(&v, requests, 65, 0, NULL), 64);
    assert_int_equal(weir_decide_all(NULL, requests, 64, T0, 0, &result), 0);
    assert_result(result, WEIR_INVALID, WEIR_FOREVER, 0, WEIR_FOREVER);
    assert_int_equal(weir_decide_all(NULL, requests, 1, T0, 0, NULL), 0);
    for (unsigned k = 0; k < KEYS; k++)
        assert_int_equal(weir_peek(v.w, v.ids[EXACT], key_of(k), 1, T0).reset, 0);
    assert_int_equal(all(&v, requests, 64, 0, &result), -1);
    assert_result(result, WEIR_ALLOWED, 0, 112, 8 * SEC); /* 16 of a key, at two a second */
    weir_close(v.w);
}

static void k31_who_refuses(void **state)
{
    (void)state;
    struct world v;
    struct weir_result result;
    open_world(&v, 10);
    weir_key key = key_of(0);
    struct weir_request r[] = {{v.ids[UNLIMITED], key, UINT64_MAX},
                               {v.ids[EXACT], key, 4},
                               {v.ids[PERMITS], key, 6},
                               {v.ids[EXACT], key, 4},
                               {v.ids[PERMITS], key, 4}};
    assert_int_equal(weir_charge(v.w, v.ids[EXACT], key, 5, T0), 5);
    /* 8 in all: of the two entries the first is named; it waits for 3 */
    assert_int_equal(all(&v, r, 5, SEC, &result), 1);
    assert_result(result, WEIR_DENIED, 3 * SEC / 2, 5, 5 * SEC / 2);
    assert_int_equal(weir_charge(v.w, v.ids[PERMITS], key, 1, T0), 1);
    assert_int_equal(all(&v, r, 5, 0, &result), 1);
    assert_result(result, WEIR_DENIED, WEIR_FOREVER, 5, 5 * SEC / 2);
    assert_int_equal(all(&v, r, 5, WEIR_FOREVER, &result), 2);
    assert_result(result, WEIR_DENIED, WEIR_FOREVER, 9, WEIR_FOREVER);
    r[4].n = 5;
    assert_int_equal(all(&v, r, 5, 0, &result), 2); /* 11: never; no matter what else is denied */
    assert_result(result, WEIR_NEVER, WEIR_FOREVER, 9, WEIR_FOREVER);
    r[3].n = UINT64_MAX; /* sums do not wrap */
    r[4].n = 0;
    assert_int_equal(all(&v, r, 5, 0, &result), 1);
    assert_int_equal(result.verdict, WEIR_NEVER);
    r[3] = (struct weir_request){KINDS, key, 0};
    assert_int_equal(all(&v, r, 5, 0, &result), 3);
    assert_result(result, WEIR_INVALID, WEIR_FOREVER, 0, WEIR_FOREVER);
    assert_int_equal(weir_peek(v.w, v.ids[EXACT], key, 0, T0).remaining, 5);
    assert_int_equal(weir_peek(v.w, v.ids[PERMITS], key, 0, T0).remaining, 9);
    weir_close(v.w);
}

static void k31_statistics(void **state)
{
    (void)state;
    struct world v;
    struct weir_limit_stats stats = {0};
    open_world(&v, 10);
    struct weir_request r[] = {
        {v.ids[EXACT], key_of(0), 4}, {v.ids[EXACT], key_of(1), 4}, {v.ids[PERMITS], key_of(0), 6}};
    assert_int_equal(all(&v, r, 3, 0, NULL), -1);
    assert_int_equal(all(&v, r, 3, 0, NULL), 2);
    r[0].n = 11;
    assert_int_equal(all(&v, r, 3, 0, NULL), 0);
    assert_int_equal(weir_limit_stats(v.w, v.ids[EXACT], &stats), 0);
    assert_int_equal(stats.allowed, 1 + 2); /* one of open_world's */
    assert_int_equal(stats.denied, 0);
    assert_int_equal(stats.never, 1);
    assert_int_equal(weir_limit_stats(v.w, v.ids[PERMITS], &stats), 0);
    assert_int_equal(stats.allowed, 1 + 1);
    assert_int_equal(stats.denied, 1);
    weir_close(v.w);
}

/* n = 0 asks whether a key is in debt, and waits until it is not. */
static void k08_k31_entries_of_0(void **state)
{
    (void)state;
    struct world v;
    struct weir_result result;
    open_world(&v, 10);
    struct weir_request r[] = {{v.ids[EXACT], key_of(0), 0}, {v.ids[PERMITS], key_of(0), 2}};
    assert_int_equal(all(&v, r, 2, 0, &result), -1);
    assert_result(result, WEIR_ALLOWED, 0, 8, WEIR_FOREVER);
    assert_int_equal(weir_charge(v.w, v.ids[EXACT], key_of(0), 14, T0), 14);
    assert_int_equal(all(&v, r, 2, 2 * SEC - 1, &result), 0);
    assert_result(result, WEIR_DENIED, 2 * SEC, 0, 7 * SEC);
    assert_int_equal(all(&v, r, 2, 2 * SEC, &result), -1);
    assert_result(result, WEIR_ALLOWED, 2 * SEC, 0, WEIR_FOREVER);
    assert_int_equal(weir_peek(v.w, v.ids[EXACT], key_of(0), 1, T0).wait, 5 * SEC / 2);
    assert_int_equal(weir_peek(v.w, v.ids[PERMITS], key_of(0), 1, T0).remaining, 6);
    weir_close(v.w);
}

/*
 * The bucket needs 3 s, the windows end before that: all are charged at that instant, in the window
 * that it lies in. Those before it are closed for the key.
 */
static void k31_all_are_charged_at_one_instant(void **state)
{
    (void)state;
    struct world v;
    struct weir_result result;
    open_world(&v, 10);
    weir_key key = key_of(0);
    v.now = T0 - T0 % (12 * SEC) + 3 * SEC; /* sliding windows end in a second, aligned ones in 2 */
    weir_ns now = v.now;
    assert_int_equal(weir_charge(v.w, v.ids[EXACT], key, 12, now), 12);
    assert_int_equal(weir_charge(v.w, v.ids[ALIGNED], key, 3, now), 3);
    assert_int_equal(weir_charge(v.w, v.ids[SLIDING], key, 8, now), 8);
    assert_int_equal(weir_charge(v.w, v.ids[FIRST_HIT], key, 9, now - 3 * SEC), 9);
    const struct weir_request r[] = {{v.ids[ALIGNED], key, 4},
                                     {v.ids[EXACT], key, 4},
                                     {v.ids[FIRST_HIT], key, 1},
                                     {v.ids[SLIDING], key, 3},
                                     {v.ids[PERMITS], key, 5}};
    assert_int_equal(all(&v, r, 5, 3 * SEC - 1, &result), 1);
    assert_result(result, WEIR_DENIED, 3 * SEC, 0, 6 * SEC);
    assert_int_equal(all(&v, r, 5, 3 * SEC, &result), -1);
    assert_int_equal(result.wait, 3 * SEC);
    assert_int_equal(result.remaining, 0);
    weir_ns then = now + 3 * SEC;
    assert_int_equal(weir_peek(v.w, v.ids[EXACT], key, 1, then - 1).wait, SEC / 2 + 1);
    assert_int_equal(weir_peek(v.w, v.ids[EXACT], key, 0, then).verdict, WEIR_ALLOWED);
    assert_int_equal(weir_peek(v.w, v.ids[EXACT], key, 1, then + 1).wait, SEC / 2 - 1);
    /* in the aligned window that begins in 2 s */
    assert_result(weir_peek(v.w, v.ids[ALIGNED], key, 1, now), WEIR_DENIED, 2 * SEC, 0, 6 * SEC);
    assert_result(weir_peek(v.w, v.ids[ALIGNED], key, 1, now + 2 * SEC - 1), WEIR_DENIED, 1, 0,
                  4 * SEC + 1);
    assert_result(weir_peek(v.w, v.ids[ALIGNED], key, 1, now + 2 * SEC), WEIR_ALLOWED, 0, 6,
                  4 * SEC);
    for (weir_ns t = then - 1; t <= then + 1; t++) {
        assert_result(weir_peek(v.w, v.ids[ALIGNED], key, 1, t), WEIR_ALLOWED, 0, 6,
                      now + 6 * SEC - t);
        /* 3, and half of 8 that fade */
        assert_int_equal(weir_peek(v.w, v.ids[SLIDING], key, 1, t).remaining, t < then ? 2 : 3);
    }
    /* the window of the first hit has ended: another begins at that instant, kept to 4 ns */
    assert_int_equal(weir_peek(v.w, v.ids[FIRST_HIT], key, 1, then - 4).verdict, WEIR_DENIED);
    assert_int_equal(weir_peek(v.w, v.ids[FIRST_HIT], key, 1, then + 4).remaining, 9);
    assert_in_range(weir_peek(v.w, v.ids[FIRST_HIT], key, 1, then + 4).reset, PERIOD - 4, PERIOD);
    assert_int_equal(weir_peek(v.w, v.ids[PERMITS], key, 1, now).remaining, 5);
    weir_close(v.w);
}

/* The instant of the grant is one for which the bucket needs another origin: as for any call then.
 */
static void k31_a_wait_past_the_end_of_a_line(void **state)
{
    (void)state;
    struct world v;
    struct weir_result result;
    open_world(&v, 12);
    weir_key key = key_of(0);
    assert_true(weir_allow(v.w, v.ids[ROUNDED], key, 1, T0));
    const struct weir_settings *s = weir_limit_settings(&v.w->limits[v.ids[ROUNDED]]);
    v.now = (uint64_t)s->meter.origin + s->meter.elapsed_max - WEIR_MINUTE;
    assert_int_equal(weir_take(v.w, v.ids[ALIGNED], key, 12, v.now), 12);
    assert_int_equal(weir_take(v.w, v.ids[CALENDAR], key, 12, v.now), 12);
    const struct weir_request r[] = {
        {v.ids[ROUNDED], key, 4}, {v.ids[ALIGNED], key, 12}, {v.ids[CALENDAR], key, 12}};
    assert_int_equal(all(&v, r, 2, WEIR_FOREVER, &result), -1);
    assert_int_equal(all(&v, r, 3, WEIR_FOREVER, &result), -1);
    assert_int_equal(result.wait, WEIR_DAY - v.now % WEIR_DAY);
    weir_ns then = v.now + result.wait;
    assert_int_equal(weir_peek(v.w, v.ids[ROUNDED], key, 1, then).remaining, 8);
    assert_int_equal(weir_peek(v.w, v.ids[CALENDAR], key, 1, then).remaining, 0);
    weir_close(v.w);
}

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
    m->got = weir_take(m->v.w, m->v.ids[m->kind], key_of(0), 2, T0);
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
    if (m->undone++ == 0 && m->comes)
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
    assert_int_equal(index, 1);
    assert_int_equal(result.verdict, WEIR_DENIED);
    return true;
}

/* Plays it, with and without the all-or-none call; the first key is the same in both. */
static void meet(unsigned kind, weir_ns wait, bool comes)
{
    for (unsigned at = 0; at < 8; at++) {
        struct meeting m = {.kind = kind, .comes = comes, .at = at};
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
            assert_int_equal(weir_take(twin.w, twin.ids[kind], key_of(0), m.got, T0), m.got);
            assert_same_key(&m.v, &twin, kind, 0, T0);
            assert_same_key(&m.v, &twin, kind, 0, T0 + SEC / 3);
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
        meet(kind, 0, false);
        meet(kind, 0, true);
    }
}

static void k31_what_is_undone_never_was_ahead(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++)
        meet(kind, 2 * SEC, false);
}

/* Others find no less than before, once the call has ended. */
static void k31_what_is_undone_ahead_takes_nothing_from_others(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < UNLIMITED; kind++)
        meet(kind, 2 * SEC, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k31_one_thread),
        cmocka_unit_test(k31_counts_of_entries),
        cmocka_unit_test(k31_who_refuses),
        cmocka_unit_test(k31_statistics),
        cmocka_unit_test(k08_k31_entries_of_0),
        cmocka_unit_test(k31_all_are_charged_at_one_instant),
        cmocka_unit_test(k31_a_wait_past_the_end_of_a_line),
        cmocka_unit_test(k31_threads_at_one_instant),
        cmocka_unit_test(k31_k36_others_find_no_less_than_that),
        cmocka_unit_test(k31_threads_that_wait),
        cmocka_unit_test(k31_what_is_undone_never_was),
        cmocka_unit_test(k31_what_is_undone_never_was_ahead),
        cmocka_unit_test(k31_what_is_undone_ahead_takes_nothing_from_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
