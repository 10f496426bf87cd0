/* SPDX-License-Identifier: MIT */
/*
 * K31: several limits, all or none, by one thread. The verdict does not depend on the order, a
 * refusal changes nothing: against the peeks of each entry, and a twin that makes the granted calls
 * one by one.
 */
#include "all_or_none.h"

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
