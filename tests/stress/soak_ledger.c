/* SPDX-License-Identifier: MIT */
/*
 * The soak's ledgers: every kind of limit at one instant, all mutators, while the keys move from
 * array to array; limits that are removed and added again.
 */
#include "soak.h"

#define PERIOD (10 * WEIR_SECOND)
#define T0     (90 * WEIR_MINUTE + 3141592653) /* some way into every window */
#define UNIX   ((weir_ns)20454 * WEIR_DAY)     /* at 0 of the clock */

#include "kinds.h"

#include <errno.h>

#define KEYS     4
#define CAPACITY 100

typedef unsigned long long ull;

static weir_ns wall_clock(void *context, weir_ns now)
{
    (void)context;
    return UNIX + now;
}

static struct weir *open_table(size_t max_keys)
{
    const struct weir_options options = {.max_keys = max_keys,
                                         .max_limits = 4,
                                         .when_full = WEIR_FULL_DENY,
                                         .wall_clock = wall_clock};
    return open_engine(&options);
}

/* A key of a limit that makes the table grow, and whose place is free again with the next move. It
   may get none where readers hold on to too much memory. */
static bool fill(struct weir *w, int filler, _Atomic uint64_t *fillers)
{
    weir_key key = weir_key_u64(w, ((uint64_t)1 << 32) + (*fillers)++);
    (void)SOAK_TIMED(SOAK_ALLOW, weir_allow(w, filler, key, 1, T0));
    return SOAK_TIMED(SOAK_FORGET, weir_forget(w, filler, key)) == 0;
}

/* ---- S7, K11, K13, K15: the ledger ---- */

struct ledger {
    struct weir *w;
    unsigned kind, operations;
    bool deep; /* in debt all the time, so that all clocks may differ */
    int limit, filler;
    uint64_t seed;
    _Atomic uint64_t fillers;
    struct weir_atomic_u64 taken[KEYS], given[KEYS];
    struct weir_atomic_u64 wrong;
};

static void expect(struct ledger *l, bool holds)
{
    if (!holds)
        weir_add_relaxed(&l->wrong, 1);
}

static uint64_t granted(struct ledger *l, struct weir_result result, uint64_t n)
{
    expect(l, result.remaining <= CAPACITY);
    expect(l, result.verdict == WEIR_ALLOWED || result.verdict == WEIR_DENIED);
    return result.verdict == WEIR_ALLOWED ? n : 0;
}

static uint64_t take(struct ledger *l, weir_key key, uint64_t n, weir_ns now, uint64_t dice)
{
    struct weir *w = l->w;
    struct weir_request requests[2] = {{l->limit, key, n}, {l->limit, key, 1}};
    struct weir_result results[2];
    switch (dice % 5) {
    case 0:
        return SOAK_TIMED(SOAK_ALLOW, weir_allow(w, l->limit, key, n, now)) ? n : 0;
    case 1:
        return SOAK_TIMED(SOAK_TAKE, weir_take(w, l->limit, key, n, now));
    case 2:
        return SOAK_TIMED(SOAK_CHARGE, weir_charge(w, l->limit, key, n, now));
    case 3:
        (void)SOAK_TIMED(SOAK_BATCH, (weir_decide_batch(w, requests, results, 2, now), 0));
        return granted(l, results[0], n) + granted(l, results[1], 1);
    default:
        return granted(l, SOAK_TIMED(SOAK_DECIDE, weir_decide(w, l->limit, key, n, now)), n);
    }
}

/* A reservation, and perhaps its end: buckets give back what nobody has queued behind, the others
   all. */
static uint64_t reserve(struct ledger *l, weir_key key, uint64_t n, weir_ns now, uint64_t dice,
                        uint64_t *given)
{
    weir_ns max_wait = l->kind <= REFILL ? WEIR_FOREVER : 0;
    struct weir_reservation r;
    struct weir_result result =
        SOAK_TIMED(SOAK_RESERVE, weir_reserve(l->w, l->limit, key, n, now, max_wait, &r));
    uint64_t taken = granted(l, result, n);
    if (taken != 0 && dice % 4 != 0) {
        if (dice % 16 == 1)
            sched_yield();
        *given = SOAK_TIMED(SOAK_CANCEL, weir_cancel(l->w, &r, now));
        expect(l, weir_cancel(l->w, &r, now) == 0);
    }
    return taken;
}

static void mutate(struct ledger *l, uint64_t dice)
{
    unsigned k = (unsigned)(dice % KEYS);
    uint64_t n = 1 + (dice >> 8) % 20;
    weir_key key = weir_key_u64(l->w, k);
    weir_ns now = T0 + (l->deep ? (dice >> 20) % WEIR_HOUR : 0);
    uint64_t taken = 0;
    uint64_t given = 0;
    switch (dice >> 16 & 7) {
    case 0:
    case 1:
    case 2:
        given = SOAK_TIMED(SOAK_REFUND, weir_refund(l->w, l->limit, key, n, now));
        break;
    case 3:
        taken = reserve(l, key, n, now, dice >> 24, &given);
        break;
    case 4:
        expect(l,
               SOAK_TIMED(SOAK_PEEK, weir_peek(l->w, l->limit, key, n, now)).remaining <= CAPACITY);
        break;
    default:
        taken = take(l, key, n, now, dice >> 24);
    }
    expect(l, taken <= n + 1 && given <= n);
    weir_add_relaxed(&l->taken[k], taken);
    weir_add_relaxed(&l->given[k], given);
}

static void keep_ledger(void *context, unsigned index)
{
    struct ledger *l = context;
    struct test_random random = {l->seed + index};
    for (unsigned i = 0; i < l->operations; i++) {
        uint64_t dice = random_u64(&random);
        mutate(l, dice);
        if (dice >> 40 & 1)
            expect(l, fill(l->w, l->filler, &l->fillers));
        if (index == 0 && dice >> 48 == 0) {
            int trimmed = SOAK_TIMED(SOAK_TRIM, weir_trim(l->w, T0));
            expect(l, trimmed == 0 || trimmed == -ENOMEM);
        }
        soak_dither(&random);
    }
}

/* What is out of a key is what was taken less what was given back; the rest is there. */
static void check_key(const struct ledger *l, unsigned k)
{
    weir_key key = weir_key_u64(l->w, k);
    uint64_t out = weir_load_relaxed(&l->taken[k]) - weir_load_relaxed(&l->given[k]);
    struct weir_result now = weir_peek(l->w, l->limit, key, 1, T0);
    assert_true(out <= INT64_MAX);
    if (now.remaining != (out < CAPACITY ? CAPACITY - out : 0))
        fail_msg("%s: %llu out, %llu left", names[l->kind], (ull)out, (ull)now.remaining);
    assert_int_equal(now.verdict == WEIR_ALLOWED, out < CAPACITY);
    /* all that is out can come back, and no more */
    assert_int_equal(weir_refund(l->w, l->limit, key, UINT64_MAX, T0), out);
    assert_int_equal(weir_peek(l->w, l->limit, key, CAPACITY, T0).remaining, CAPACITY);
}

/* Granted - given back + balance = accrued, whatever the clocks of the calls: a key that was never
   full since T0 is full when all that is out of it has accrued from there on. */
#define DEBT 1000000

static void check_debt(const struct ledger *l, unsigned k)
{
    uint64_t out = weir_load_relaxed(&l->taken[k]) - weir_load_relaxed(&l->given[k]);
    uint64_t rate = bucket_rates[l->kind];
    weir_ns accrues = (out * WEIR_SECOND + rate - 1) / rate;
    struct weir_result end = weir_peek(l->w, l->limit, weir_key_u64(l->w, k), 1, T0 + WEIR_HOUR);
    assert_int_equal(end.reset, accrues - WEIR_HOUR);
}

static void owe(struct ledger *l)
{
    for (unsigned k = 0; l->deep && k < KEYS; k++) {
        weir_key key = weir_key_u64(l->w, k);
        assert_int_equal(weir_charge(l->w, l->limit, key, DEBT, T0), DEBT);
        weir_store_relaxed(&l->taken[k], DEBT);
    }
}

void soak_ledger(uint64_t seed)
{
    static struct ledger l;
    struct test_random random = {seed};
    unsigned threads = soak_threads(random_u64(&random), 8);
    l = (struct ledger){.kind = (unsigned)random_below(&random, UNLIMITED), .seed = seed};
    l.w = open_table(random_below(&random, 2) == 0 ? 300 : 3000);
    l.limit = add_limit(l.w, "a", policy_of(l.kind, CAPACITY));
    l.filler = add_limit(l.w, "b", weir_token_bucket(1, WEIR_SECOND, 1));
    l.deep = (l.kind == EXACT || l.kind == PACER) && random_below(&random, 2) == 0;
    l.operations = (unsigned)(random_scaled(60000) / threads);
    owe(&l);
    soak_run(seed, threads, SOAK_STOPPED_MOSTLY, keep_ledger, &l);
    if (weir_load_relaxed(&l.wrong) != 0)
        fail_msg("%s: %llu wrong", names[l.kind], (ull)weir_load_relaxed(&l.wrong));
    assert_true(stress_table_is_sound(l.w));
    for (unsigned k = 0; k < KEYS; k++)
        l.deep ? check_debt(&l, k) : check_key(&l, k);
    soak_note(l.w);
    weir_close(l.w);
}

/* ---- S1, K27: limits that are removed and added again ---- */

#define SMALL 7

/*
 * Epochs: a limit is added, all threads take all there is of its keys, and it is removed while they
 * go on asking. In each epoch each key has its capacity, once; what was held before is void.
 */
struct epochs {
    struct weir *w;
    int filler;
    unsigned epochs;
    uint64_t seed;
    struct soak_barrier barrier;
    _Atomic int limit;
    _Atomic bool removed;
    _Atomic uint64_t fillers;
    struct weir_atomic_u64 taken[KEYS];
    struct weir_atomic_u64 wrong;
};

/* Holds on to a reservation and, where the limit is of that kind, a permit. */
struct held {
    struct weir_reservation reservation;
    struct weir_permit permit;
    bool reserved, permitted;
};

static void take_all(struct epochs *e, struct held *held, struct test_random *random)
{
    int limit = e->limit;
    unsigned first = (unsigned)random_below(random, KEYS);
    for (unsigned i = 0; i < KEYS; i++) {
        unsigned k = (first + i) % KEYS;
        weir_key key = weir_key_u64(e->w, k);
        uint64_t taken = 0;
        if (i == 0) {
            struct weir_result reserved = SOAK_TIMED(
                SOAK_RESERVE, weir_reserve(e->w, limit, key, 1, T0, 0, &held->reservation));
            held->reserved = reserved.verdict == WEIR_ALLOWED;
            struct weir_result permitted =
                SOAK_TIMED(SOAK_ACQUIRE, weir_acquire(e->w, limit, key, 1, &held->permit));
            held->permitted = permitted.verdict == WEIR_ALLOWED;
            taken += (uint64_t)held->reserved + held->permitted;
        }
        while (SOAK_TIMED(SOAK_DECIDE, weir_decide(e->w, limit, key, 1, T0)).verdict ==
               WEIR_ALLOWED)
            taken++;
        weir_add_relaxed(&e->taken[k], taken);
        if (!fill(e->w, e->filler, &e->fillers))
            weir_add_relaxed(&e->wrong, 1);
        soak_dither(random);
    }
}

/* Nothing is left, and then there is no such limit. */
static void ask_on(struct epochs *e, struct test_random *random)
{
    bool removed;
    do {
        removed = e->removed;
        weir_key key = weir_key_u64(e->w, random_below(random, KEYS));
        enum weir_verdict verdict = weir_decide(e->w, e->limit, key, 1, T0).verdict;
        bool right = verdict == WEIR_INVALID || (!removed && verdict == WEIR_DENIED);
        if (!right || !fill(e->w, e->filler, &e->fillers))
            weir_add_relaxed(&e->wrong, 1);
    } while (!removed);
}

static void begin_epoch(struct epochs *e, unsigned epoch)
{
    struct weir_policy policy = policy_of((unsigned)(e->seed + epoch) % UNLIMITED, SMALL);
    e->removed = false;
    e->limit = SOAK_TIMED(SOAK_ADD_LIMIT, weir_add_limit(e->w, "a", &policy));
}

static void end_epoch(struct epochs *e)
{
    for (unsigned k = 0; k < KEYS; k++) {
        if (weir_load_relaxed(&e->taken[k]) != SMALL)
            weir_add_relaxed(&e->wrong, 1);
        weir_store_relaxed(&e->taken[k], 0);
    }
}

static void play_epochs(void *context, unsigned index)
{
    struct epochs *e = context;
    struct test_random random = {e->seed + index};
    struct held held = {.reserved = false};
    for (unsigned epoch = 0; epoch < e->epochs; epoch++) {
        if (index == 0)
            begin_epoch(e, epoch);
        soak_barrier_wait(&e->barrier);
        /* of an earlier limit of the same id */
        bool void_now = weir_cancel(e->w, &held.reservation, T0) == 0 &&
                        (!held.permitted || weir_release(e->w, &held.permit) == -ENOENT);
        if (e->limit < 0 || !void_now)
            weir_add_relaxed(&e->wrong, 1);
        take_all(e, &held, &random);
        soak_barrier_wait(&e->barrier);
        if (index == 0)
            end_epoch(e);
        if (index != 0) {
            ask_on(e, &random);
        } else {
            if (SOAK_TIMED(SOAK_REMOVE_LIMIT, weir_remove_limit(e->w, e->limit, T0)) != 0)
                weir_add_relaxed(&e->wrong, 1);
            e->removed = true;
        }
        soak_barrier_wait(&e->barrier);
    }
}

void soak_removal(uint64_t seed)
{
    static struct epochs e;
    struct test_random random = {seed};
    e = (struct epochs){.seed = seed, .epochs = (unsigned)random_scaled(60)};
    e.w = open_table(500);
    e.filler = add_limit(e.w, "b", weir_token_bucket(1, WEIR_SECOND, 1));
    e.barrier.threads = soak_threads(random_u64(&random), 8);
    soak_run(seed, e.barrier.threads, SOAK_STOPPED_MOSTLY, play_epochs, &e);
    assert_int_equal(weir_load_relaxed(&e.wrong), 0);
    assert_true(stress_table_is_sound(e.w));
    soak_count(SOAK_EPOCHS, e.epochs);
    soak_note(e.w);
    weir_close(e.w);
}
