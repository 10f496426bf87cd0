/* SPDX-License-Identifier: MIT */
/*
 * The soak's windows of calls: threads that meet at a few hot keys, each of a limit of another
 * kind, for one to three calls each; then all wait for each other, and meet again later on. What
 * they were answered is explained by an order of the calls, or the round has failed (linear.h).
 *
 * Half of the rounds have one more thread beside them, for which the table is made anew all the
 * time: the hot keys move. There a window has one instant, since what is left behind as idle
 * begins at the latest of these. In the others each call has a clock of its own, which may be
 * behind by some tokens.
 */
#include "soak.h"

#include "linear.h"

#define PERIOD   (10 * WEIR_SECOND)
#define T0       (90 * WEIR_MINUTE + 3141592653) /* some way into every window */
#define UNIX     ((weir_ns)20454 * WEIR_DAY)     /* at 0 of the clock */
#define CAPACITY 4
#define CALLERS  LINEAR_THREADS
#define CALLS    3  /* of a thread in a window, at most */
#define STRETCH  12 /* windows, after which the keys are forgotten */
#define WINDOWS  3000

#include "kinds.h"

/* Calls of one window, of the thread that made them, each of which may be a batch of two; beside
   these, for two keys, those that begin and end it. */
#define LOGGED (2 * CALLS + 4)

struct log {
    struct linear_op ops[LOGGED];
    unsigned kinds[LOGGED];
    unsigned count;
};

struct meeting {
    struct weir *w;
    int ids[KINDS], filler;
    unsigned threads, windows;
    bool moves;
    uint64_t seed;
    struct soak_barrier barrier;
    _Atomic uint64_t sequence;
    _Atomic weir_ns now;
    _Atomic unsigned kinds[2]; /* of this window's keys */
    _Atomic bool over;
    struct log *logs; /* by window and thread */
};

struct caller {
    struct meeting *m;
    unsigned index;
    struct test_random random;
    struct weir_reservation held[KINDS];
    struct weir_permit permits[KINDS];
    struct log *log; /* of the window under way */
};

static weir_ns wall_clock(void *context, weir_ns now)
{
    (void)context;
    return UNIX + now;
}

static weir_key hot(const struct meeting *m, unsigned kind)
{
    return weir_key_u64(m->w, kind);
}

/* ---- calls that are written down ---- */

static struct linear_op *write_down(struct caller *c, unsigned kind, enum linear_call call,
                                    uint64_t n, weir_ns now)
{
    struct linear_op *op = &c->log->ops[c->log->count];
    c->log->kinds[c->log->count++] = kind;
    *op = (struct linear_op){
        .call = call, .thread = c->index, .after = -1, .n = n, .now = now, .max_wait = 0};
    return op;
}

#define WRITTEN(op, to, call)                                                                      \
    ((op)->invoked = c->m->sequence++, (to) = (call), (op)->returned = c->m->sequence++)

static void reserve(struct caller *c, unsigned kind, uint64_t n, weir_ns now, weir_ns max_wait)
{
    struct linear_op *op = write_down(c, kind, LINEAR_RESERVE, n, now);
    struct weir_reservation *held = &c->held[kind];
    op->max_wait = max_wait;
    WRITTEN(op, op->result,
            SOAK_TIMED(SOAK_RESERVE, weir_reserve(c->m->w, c->m->ids[kind], hot(c->m, kind), n, now,
                                                  max_wait, held)));
    op->count = held->n;
    op->instant = held->instant;
}

static void cancel(struct caller *c, unsigned kind, weir_ns now)
{
    struct linear_op *op = write_down(c, kind, LINEAR_CANCEL, c->held[kind].n, now);
    WRITTEN(op, op->count, SOAK_TIMED(SOAK_CANCEL, weir_cancel(c->m->w, &c->held[kind], now)));
}

/* Two decisions, of which others may come in between. */
static void batch(struct caller *c, unsigned kind, uint64_t n, weir_ns now)
{
    weir_key key = hot(c->m, kind);
    struct weir_request requests[2] = {{c->m->ids[kind], key, n}, {c->m->ids[kind], key, 1}};
    struct weir_result results[2] = {{WEIR_INVALID, 0, 0, 0}, {WEIR_INVALID, 0, 0, 0}};
    int first = (int)c->log->count;
    struct linear_op *op = write_down(c, kind, LINEAR_DECIDE, n, now);
    struct linear_op *second = write_down(c, kind, LINEAR_DECIDE, 1, now);
    int none;
    WRITTEN(op, none,
            SOAK_TIMED(SOAK_BATCH, (weir_decide_batch(c->m->w, requests, results, 2, now), 0)));
    (void)none;
    op->result = results[0];
    second->result = results[1];
    second->invoked = op->invoked;
    second->returned = op->returned;
    second->after = first; /* of this thread's log */
}

/* A permit is a decision with a handle, its release a refund. */
static void acquire_or_release(struct caller *c, unsigned kind, uint64_t n, weir_ns now)
{
    struct weir_permit *permit = &c->permits[kind];
    struct linear_op *op;
    int answer = 0;
    if (permit->n == 0) {
        op = write_down(c, kind, LINEAR_DECIDE, n, now);
        WRITTEN(op, op->result,
                SOAK_TIMED(SOAK_ACQUIRE,
                           weir_acquire(c->m->w, c->m->ids[kind], hot(c->m, kind), n, permit)));
        return;
    }
    uint64_t held = permit->n;
    uint64_t in_use = 0;
    op = write_down(c, kind, LINEAR_REFUND, held, now);
    WRITTEN(op, answer, SOAK_TIMED(SOAK_RELEASE, weir_release(c->m->w, permit)));
    op->count = answer == 0 ? held : in_use; /* nothing is forgotten or set while one is held */
}

static void in_use(struct caller *c, unsigned kind, weir_ns now)
{
    struct linear_op *op = write_down(c, kind, LINEAR_IN_USE, 0, now);
    int answer;
    WRITTEN(op, answer, weir_in_use(c->m->w, c->m->ids[kind], hot(c->m, kind), &op->count, NULL));
    (void)answer;
}

static void peek(struct caller *c, unsigned kind, uint64_t n, weir_ns now)
{
    struct linear_op *op = write_down(c, kind, LINEAR_PEEK, n, now);
    WRITTEN(op, op->result,
            SOAK_TIMED(SOAK_PEEK, weir_peek(c->m->w, c->m->ids[kind], hot(c->m, kind), n, now)));
}

static void forget(struct caller *c, unsigned kind, weir_ns now)
{
    struct linear_op *op = write_down(c, kind, LINEAR_FORGET, 0, now);
    int answer;
    WRITTEN(op, answer,
            SOAK_TIMED(SOAK_FORGET, weir_forget(c->m->w, c->m->ids[kind], hot(c->m, kind))));
    (void)answer;
}

static void set_balance(struct caller *c, unsigned kind, uint64_t n, weir_ns now)
{
    struct linear_op *op = write_down(c, kind, LINEAR_SET, n, now);
    int answer;
    WRITTEN(op, answer,
            SOAK_TIMED(SOAK_SET_BALANCE,
                       weir_set_balance(c->m->w, c->m->ids[kind], hot(c->m, kind), n, now)));
    (void)answer;
}

/* Calls whose answer is one number. */
static void count(struct caller *c, unsigned kind, enum linear_call call, uint64_t n, weir_ns now)
{
    struct weir *w = c->m->w;
    int id = c->m->ids[kind];
    weir_key key = hot(c->m, kind);
    struct linear_op *op = write_down(c, kind, call, n, now);
    if (call == LINEAR_TAKE)
        WRITTEN(op, op->count, SOAK_TIMED(SOAK_TAKE, weir_take(w, id, key, n, now)));
    else if (call == LINEAR_CHARGE)
        WRITTEN(op, op->count, SOAK_TIMED(SOAK_CHARGE, weir_charge(w, id, key, n, now)));
    else
        WRITTEN(op, op->count, SOAK_TIMED(SOAK_REFUND, weir_refund(w, id, key, n, now)));
}

static void decide(struct caller *c, unsigned kind, uint64_t n, weir_ns now)
{
    struct linear_op *op = write_down(c, kind, LINEAR_DECIDE, n, now);
    WRITTEN(
        op, op->result,
        SOAK_TIMED(SOAK_DECIDE, weir_decide(c->m->w, c->m->ids[kind], hot(c->m, kind), n, now)));
}

static void allow(struct caller *c, unsigned kind, uint64_t n, weir_ns now)
{
    struct linear_op *op = write_down(c, kind, LINEAR_ALLOW, n, now);
    bool granted;
    WRITTEN(op, granted,
            SOAK_TIMED(SOAK_ALLOW, weir_allow(c->m->w, c->m->ids[kind], hot(c->m, kind), n, now)));
    op->result.verdict = granted ? WEIR_ALLOWED : WEIR_DENIED;
}

/* ---- what is called ---- */

/* Of permits that are held nothing is forgotten, set, or given back otherwise. */
static void call_permits(struct caller *c, unsigned kind, uint64_t n, weir_ns now, uint64_t dice)
{
    if (dice % 4 == 0)
        in_use(c, kind, now);
    else if (dice % 4 == 1)
        peek(c, kind, n, now);
    else
        acquire_or_release(c, kind, n, now);
}

static void call_any(struct caller *c, unsigned kind, uint64_t n, weir_ns now, uint64_t dice)
{
    static const weir_ns waits[] = {0, WEIR_SECOND, PERIOD, WEIR_FOREVER};
    switch (dice % 16) {
    case 0:
    case 1:
        reserve(c, kind, n, now, waits[dice / 16 % 4]);
        break;
    case 2:
    case 3:
        cancel(c, kind, now);
        break;
    case 4:
        peek(c, kind, n, now);
        break;
    case 5:
        count(c, kind, LINEAR_TAKE, n, now);
        break;
    case 6:
        count(c, kind, LINEAR_CHARGE, n, now);
        break;
    case 7:
    case 8:
        count(c, kind, LINEAR_REFUND, n, now);
        break;
    case 9:
        set_balance(c, kind, n, now);
        break;
    case 10:
        allow(c, kind, n, now);
        break;
    case 11:
        batch(c, kind, n, now);
        break;
    default:
        decide(c, kind, n, now);
    }
}

/* Windows on unix time ask about it by the clocks of their calls: these do not lag. */
static weir_ns clock_of(struct caller *c, unsigned kind)
{
    weir_ns lag = random_below(&c->random, 4) * random_below(&c->random, WEIR_SECOND);
    bool lags = !c->m->moves && kind != ALIGNED && kind != CALENDAR;
    return c->m->now - (lags ? lag : 0);
}

static void call(struct caller *c)
{
    uint64_t dice = random_u64(&c->random);
    unsigned kind = c->m->kinds[dice % 2];
    uint64_t n = dice / 2 % 16 == 0 ? 0 : 1 + dice / 32 % (CAPACITY + 1);
    if (n > 2 && dice >> 63 != 0)
        n = 1;
    if (kind == PERMITS)
        call_permits(c, kind, n, clock_of(c, kind), dice >> 32);
    else
        call_any(c, kind, n, clock_of(c, kind), dice >> 32);
}

/* ---- windows ---- */

/* The first thread, while the others wait. */
static void begin_window(struct caller *c, unsigned window)
{
    struct meeting *m = c->m;
    if (window % STRETCH == 0) {
        m->kinds[0] = (unsigned)random_below(&c->random, UNLIMITED);
        m->kinds[1] = (unsigned)random_below(&c->random, UNLIMITED);
        for (unsigned i = 0; i < 2; i++)
            if (m->kinds[i] != PERMITS && (i == 0 || m->kinds[0] != m->kinds[1]))
                forget(c, m->kinds[i], m->now);
    }
    switch (random_below(&c->random, 8)) {
    case 0:
        m->now += random_below(&c->random, 3 * PERIOD);
        break;
    case 1:
    case 2:
    case 3:
        m->now += random_below(&c->random, WEIR_SECOND);
        break;
    default:
        break;
    }
}

/* What the keys are now. */
static void end_window(struct caller *c)
{
    peek(c, c->m->kinds[0], 1, c->m->now);
    if (c->m->kinds[0] != c->m->kinds[1])
        peek(c, c->m->kinds[1], 1, c->m->now);
}

/* A key that comes and goes, in the only shard there is. */
static void fill(struct meeting *m, uint64_t number)
{
    weir_ns now = m->now;
    weir_key key = weir_key_u64(m->w, ((uint64_t)1 << 32) + number);
    (void)SOAK_TIMED(SOAK_ALLOW, weir_allow(m->w, m->filler, key, 1, now));
    (void)SOAK_TIMED(SOAK_FORGET, weir_forget(m->w, m->filler, key));
}

static void meet(void *context, unsigned index)
{
    struct meeting *m = context;
    struct caller c = {.m = m, .index = index, .random = {m->seed + index}};
    for (uint64_t i = 0; index == m->threads && !m->over; i++)
        fill(m, i);
    for (unsigned window = 0; index < m->threads && window < m->windows; window++) {
        c.log = &m->logs[window * CALLERS + index];
        if (index == 0)
            begin_window(&c, window);
        soak_barrier_wait(&m->barrier);
        unsigned calls = 1 + (unsigned)random_below(&c.random, m->threads == 2 ? CALLS : 2);
        for (unsigned i = 0; i < calls; i++) {
            soak_dither(&c.random);
            call(&c);
        }
        soak_barrier_wait(&m->barrier);
        if (index == 0)
            end_window(&c);
    }
    if (index == 0)
        m->over = true;
}

/* ---- all windows, once they are over ---- */

static struct rules limits[KINDS];
static struct linear_states states[KINDS];
static uint64_t windows_seen, windows_skipped; /* of a round, which has a process of its own */

/* The calls of a window on one key, of all threads. */
static size_t gather(const struct meeting *m, unsigned window, unsigned kind,
                     struct linear_op ops[LINEAR_CALLS])
{
    size_t count = 0;
    for (unsigned thread = 0; thread < m->threads; thread++) {
        const struct log *log = &m->logs[window * CALLERS + thread];
        for (unsigned i = 0; i < log->count; i++) {
            if (log->kinds[i] != kind)
                continue;
            assert_true(count < LINEAR_CALLS);
            ops[count] = log->ops[i];
            if (ops[count].after >= 0) /* the one before it: of the same key and thread */
                ops[count].after = (int)count - 1;
            count++;
        }
    }
    return count;
}

static void check_window(const struct meeting *m, unsigned window, unsigned kind)
{
    struct linear_op ops[LINEAR_CALLS];
    size_t count = gather(m, window, kind, ops);
    if (count == 0)
        return;
    windows_skipped += states[kind].many;
    if (states[kind].many)
        return;
    linear_go_on(&limits[kind], &states[kind], ops, count);
    soak_count(SOAK_WINDOWS, 1);
    soak_count(SOAK_OVERLAPS, linear_overlaps(ops, count));
    soak_count(SOAK_LOST, states[kind].many);
    windows_seen++;
    if (states[kind].count == 0) {
        linear_show(ops, count);
        fail_msg("%s: no order explains window %u", names[kind], window);
    }
}

static void open_meeting(struct meeting *m, uint64_t seed)
{
    const struct weir_options options = {
        .max_keys = 1000, .when_full = WEIR_FULL_DENY, .wall_clock = wall_clock};
    struct test_random random = {seed};
    *m = (struct meeting){.seed = seed, .now = T0, .moves = random_below(&random, 2) == 0};
    m->threads = 2 + (unsigned)random_below(&random, CALLERS - 1);
    m->windows = (unsigned)random_scaled(WINDOWS) / m->threads + 1;
    m->barrier.threads = m->threads;
    m->logs = calloc((size_t)m->windows * CALLERS, sizeof *m->logs);
    assert_non_null(m->logs);
    m->w = open_engine(&options);
    m->filler = add_limit(m->w, "filler", weir_token_bucket(1, WEIR_SECOND, 1));
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        struct weir_policy policy = policy_of(kind, CAPACITY);
        m->ids[kind] = add_limit(m->w, names[kind], policy);
        assert_true(
            weir_allow(m->w, m->ids[kind], hot(m, kind), 0, T0)); /* times count from here */
        linear_start(&limits[kind], &states[kind], &policy, T0, m->w->stale_max, UNIX);
    }
}

void soak_windows(uint64_t seed)
{
    static struct meeting m;
    struct weir_stats stats = {0};
    open_meeting(&m, seed);
    soak_run(seed, m.threads + m.moves, SOAK_STOPPED_MOSTLY, meet, &m);
    for (unsigned window = 0; window < m.windows; window++)
        for (unsigned kind = 0; kind < UNLIMITED; kind++)
            check_window(&m, window, kind);
    assert_true(windows_skipped <= windows_seen / 20); /* of keys that were lost track of */
    assert_int_equal(weir_stats(m.w, &stats), 0);
    assert_true(stress_table_is_sound(m.w));
    soak_note(m.w);
    free(m.logs);
    weir_close(m.w);
}
