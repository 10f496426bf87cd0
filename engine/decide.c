/* SPDX-License-Identifier: MIT */
/*
 * Every call on a key: find its slot, apply one operation to its word, say what came of it.
 *
 *   begin    enter a read section, load the limit's settings, tell where `now` is on their line
 *   locate   find the key's slot, or claim one where the operation may write
 *   apply    the slot's loop; again with newer settings where a word is of an unknown generation
 *   answer   describe what came of it, count it, leave the section
 *
 * A key that has no place and gets none (the table is full) follows when_full: the limit's
 * overflow word stands in for its slot, or the operation runs on a word of nobody's, which is
 * thrown away. Operations that cannot write (n = 0, above the burst, peek, refund) claim nothing;
 * for a key without a slot they answer what the same call with a claim would be based on.
 */
#include "limiter.h"

#include "place.h"
#include "rcu.h"
#include "result.h"
#include "slot/slot.h"

#include <errno.h>
#include <string.h>

/* So that the verb is a constant in each caller and the dispatch on it folds away. */
#define WEIR_INLINE static inline __attribute__((always_inline))

#define RESERVED_IN_OVERFLOW 1U /* weir_reservation.flags */

/* One call on its way. */
struct call {
    struct weir *w;
    struct weir_limit *l;
    unsigned limit;
    weir_ns now;
    const struct weir_settings *s;
    struct weir_instant at;
    struct weir_step step;
    bool overflow;               /* the key has no place */
    struct weir_settings *aside; /* where a question may put an origin of its own; else NULL */
};

/* Enters a read section and loads the limit's settings. False: bad limit, no section was entered.
 */
WEIR_INLINE bool enter(struct call *c, struct weir *w, int limit, weir_ns now,
                       struct weir_settings *aside)
{
    c->w = w;
    c->l = weir_limit_at(w, limit);
    if (__builtin_expect(c->l == NULL, 0))
        return false;
    c->limit = (unsigned)limit;
    c->now = now;
    c->overflow = false;
    c->aside = aside;
    weir_read_begin();
    c->s = weir_pointer_load_acquire(&c->l->settings); /* pairs with their publication */
    return true;
}

/* The same, and tells where `now` is. False: no section is left entered. */
WEIR_INLINE bool begin(struct call *c, struct weir *w, int limit, weir_ns now)
{
    if (!enter(c, w, limit, now, NULL))
        return false;
    if (__builtin_expect(weir_algorithm_instant(&c->s->meter, now, &c->at), 1))
        return true;
    c->s = weir_settings_settle(w, c->l, c->s, now, &c->at);
    if (c->s == NULL)
        weir_read_end();
    return c->s != NULL;
}

/* The same for a question: a `now` that is not on the line is told from settings of its own, which
   nobody else sees, so that asking changes nothing. */
static bool begin_aside(struct call *c, struct weir *w, int limit, weir_ns now,
                        struct weir_settings *aside)
{
    if (!enter(c, w, limit, now, aside))
        return false;
    if (!weir_algorithm_instant(&c->s->meter, now, &c->at))
        c->s = weir_settings_aside(w, c->s, now, &c->at, aside);
    return true;
}

/* Looks up a word of an unknown generation: newer settings, or none newer. The word was loaded with
   acquire, so that the settings it was written under, or newer ones, are seen here. */
static __attribute__((noinline)) void reload(struct call *c, struct weir_reader *reader)
{
    const struct weir_settings *next = weir_pointer_load_acquire(&c->l->settings);
    reader->newest = next == c->s || (c->s == c->aside && next == c->s->previous);
    if (reader->newest)
        return;
    if (c->aside == NULL)
        c->s = weir_settings_settle(c->w, c->l, next, c->now, &c->at);
    else if (weir_algorithm_instant(&next->meter, c->now, &c->at))
        c->s = next;
    else
        c->s = weir_settings_aside(c->w, next, c->now, &c->at, c->aside);
    reader->settings = c->s;
}

/* `now`, or where it is later the horizon of the array, at which a key never used begins. Waits are
   told from `now` all the same. */
static struct weir_instant first_instant(const struct call *c, const struct weir_array *array)
{
    struct weir_instant at = c->at;
    struct weir_instant later;
    weir_ns now = weir_now_clamped(c->now);
    weir_ns begin = array != NULL ? weir_array_fresh_at(array, now, c->w->stale_max) : now;
    if (begin <= now)
        return at;
    weir_add_relaxed(&c->w->table.counts.stale_fresh, 1);
    weir_algorithm_instant_clamped(&c->s->meter, begin, &later);
    if (at.line == 0 && at.elapsed > INT64_MAX) /* before the origin */
        return later;
    if (later.line > at.line)
        at.line = later.line;
    return at;
}

/* Applies the operation to a word. False: a move is copying it, and the key is elsewhere. */
static bool apply_to(struct call *c, struct weir_atomic_u64 *word, const struct weir_array *array,
                     const struct weir_operation *op)
{
    struct weir_reader reader = {c->s, 0, false};
    for (;;) {
        struct weir_instant first;
        switch (weir_slot_apply(word, &c->s->meter, &reader, op, &c->at, &c->step)) {
        case WEIR_SLOT_DONE:
            return true;
        case WEIR_SLOT_FROZEN:
            return false;
        case WEIR_SLOT_UNKNOWN:
            reload(c, &reader);
            break;
        case WEIR_SLOT_FRESH:
            first = first_instant(c, array);
            if (weir_slot_first(word, &c->s->meter, op, &first, &c->step)) {
                c->at = first;
                return true;
            }
            break;
        }
    }
}

/* The operation on a key without a slot: by when_full if it gets none, else as never used. */
static void apply_unplaced(struct call *c, const struct weir_array *array,
                           const struct weir_operation *op)
{
    struct weir_atomic_u64 nobodys = {0};
    bool shares = c->overflow && c->w->when_full == WEIR_FULL_SHARE && op->verb != WEIR_CANCEL;
    apply_to(c, shares ? &c->l->overflow : &nobodys, array, op);
    if (shares)
        return;
    c->step.write = false;
    c->step.payload = 0;
    bool grants = c->step.verdict == WEIR_ALLOWED && op->n != 0;
    if (c->overflow && grants && c->w->when_full == WEIR_FULL_DENY) {
        c->step.verdict = WEIR_DENIED;
        c->step.wait = WEIR_FOREVER;
        c->step.count = 0;
    }
}

/* The operation where the first look found no word, or one that takes more: places the key. */
static __attribute__((noinline)) void apply_closely(struct call *c, const struct weir_probe *probe,
                                                    const struct weir_operation *op, bool claims)
{
    bool asks = op->verb == WEIR_PEEK || op->verb == WEIR_ADMIT || op->verb == WEIR_CANCEL;
    enum weir_look look = claims ? WEIR_CLAIM : asks ? WEIR_LOOK : WEIR_SETTLE;
    for (;;) {
        struct weir_place p = weir_place_of(c->w, probe, c->now, look);
        c->overflow = p.word == NULL && p.refused;
        if (p.word == NULL) {
            apply_unplaced(c, c->overflow ? NULL : p.array, op);
            return;
        }
        if (apply_to(c, p.word, p.array, op))
            return;
    }
}

/* Applies the operation to the key. `claims`: it may write, so the key gets a slot. */
WEIR_INLINE void apply(struct call *c, weir_key key, const struct weir_operation *op, bool claims)
{
    const struct weir_table *t = &c->w->table;
    struct weir_probe probe = weir_table_probe(t, key.high, key.low, c->limit);
    struct weir_atomic_u64 *word = weir_table_find(t, &probe);
    struct weir_reader reader = {c->s, 0, false};
    if (__builtin_expect(word == NULL, 0) ||
        __builtin_expect(weir_slot_apply(word, &c->s->meter, &reader, op, &c->at, &c->step) !=
                             WEIR_SLOT_DONE,
                         0))
        apply_closely(c, &probe, op, claims);
}

/* ---- statistics: the thread's own rows ---- */

WEIR_INLINE void count(struct weir *w, unsigned limit, unsigned which, uint64_t n)
{
    bool shared;
    struct weir_counter_row *row = &weir_counters_rows(w->counters, &shared)[limit];
    weir_count(&row->of[which], n, shared);
}

static void count_overflow(const struct call *c)
{
    if (c->overflow)
        count(c->w, c->limit, WEIR_COUNTER_OVERFLOW, 1);
}

static void count_decision(const struct call *c, enum weir_verdict verdict)
{
    count(c->w, c->limit, verdict, 1);
    count_overflow(c);
}

/* ---- decisions ---- */

/* What came of it, for the caller. A denial by when_full has nothing left and nothing to reset. */
WEIR_INLINE struct weir_result result_of(const struct call *c)
{
    struct weir_result result = weir_result_of(&c->step, &c->s->meter, &c->at);
    if (__builtin_expect(c->overflow, 0) && result.verdict == WEIR_DENIED &&
        c->w->when_full == WEIR_FULL_DENY)
        result.remaining = 0;
    return result;
}

/* Decides within begin and end: c->step, counted. n is 0 or above the burst: nothing is claimed. */
static void admit(struct call *c, weir_key key, uint64_t n, weir_ns max_wait)
{
    const struct weir_operation op = {WEIR_ADMIT, n, max_wait, 0, 0};
    apply(c, key, &op, weir_algorithm_can_grant(&c->s->meter, n));
    count_decision(c, c->step.verdict);
}

static void write_reservation(const struct call *c, weir_key key, int limit,
                              struct weir_reservation *out)
{
    weir_result_reservation(&c->step, &c->s->meter, c->now, out);
    out->key = key;
    out->limit = limit;
    out->serial = c->s->serial;
    if (c->overflow)
        out->flags = RESERVED_IN_OVERFLOW;
    if (c->overflow && c->w->when_full != WEIR_FULL_SHARE)
        out->n = 0; /* nothing was recorded */
}

struct weir_result weir_reserve(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now,
                                weir_ns max_wait, struct weir_reservation *out)
{
    struct call c;
    struct weir_result result;
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (!begin(&c, w, limit, now))
        return weir_result_invalid();
    if (__builtin_expect(c.s->meter.unlimited, 0)) {
        count_decision(&c, WEIR_ALLOWED);
        result = weir_result_unlimited(now, out);
    } else {
        admit(&c, key, n, max_wait);
        result = result_of(&c);
        if (out != NULL)
            write_reservation(&c, key, limit, out);
    }
    weir_read_end();
    return result;
}

/* ---- the usual decision ----
 *
 * A limit in use, a `now` on its line, a key that has its slot, a word of the newest generation,
 * and nobody else who changes it just now: then a decision is the few functions below. Anything
 * else starts over in weir_reserve; nothing has happened yet. What counts here is the number of
 * loads: a processor goes on with later decisions while a line comes from memory, as far as its
 * load queue reaches (some 64).
 */

/* What a call asks, in memory: only the ways out look at it again. */
struct question {
    struct weir *w;
    int limit;
    weir_key key;
    uint64_t n;
    weir_ns now;
};

static __attribute__((noinline)) struct weir_result decide_closely(const struct question *q)
{
    return weir_reserve(q->w, q->limit, q->key, q->n, q->now, 0, NULL);
}

/* Where a key's slot should be. */
struct look {
    uint64_t packed; /* its shard's word */
    uint64_t tag;
    struct weir_line *home;
};

WEIR_INLINE struct weir_atomic_u64 *find_word(const struct look *look)
{
    return weir_packed_find(look->packed, look->home, look->tag);
}

/* For any limit id; asks for the line, before all that comes out of the cache is looked at. For
   reading: with write intent it was no faster, and denials of a shared line would take it away from
   the other threads. */
WEIR_INLINE struct look look_for(const struct weir_table *t, weir_key key, int limit)
{
    struct weir_probe probe = weir_table_probe(t, key.high, key.low, (unsigned)limit);
    struct look look = {weir_table_word(t, probe.shard), probe.tag, NULL};
    look.home = weir_packed_home(look.packed, look.tag);
    __builtin_prefetch(look.home, 0);
    return look;
}

enum attempt { GRANTED, DECLINED, CLOSELY };

/* n tokens of the word at once, or nothing. DECLINED: *payload is what there is. */
WEIR_INLINE enum attempt attempt(struct weir_atomic_u64 *word, const struct weir_meter *m,
                                 uint64_t n, const struct weir_instant *at, bool plain,
                                 uint64_t *payload, struct weir_result *result)
{
    if (__builtin_expect(word == NULL, 0))
        return CLOSELY;
    uint64_t seen = weir_load_acquire(word); /* slot.h, O1 */
    *payload = seen - m->mark;
    if (__builtin_expect(*payload > WEIR_PAYLOAD_MAX, 0))
        return CLOSELY;
    if (!weir_algorithm_grant(m, n, at, plain, payload, result))
        return DECLINED;
    bool granted = weir_cas_acq_rel(word, &seen, m->mark | *payload); /* slot.h, O1, S4 */
    return __builtin_expect(granted, 1) ? GRANTED : CLOSELY;
}

/* The answer to what is not granted at once. */
static struct weir_result decline(const struct weir_meter *m, uint64_t n, uint64_t payload,
                                  const struct weir_instant *at)
{
    const struct weir_operation op = {WEIR_PEEK, n, 0, 0, 0};
    const struct weir_step step = weir_algorithm_step(m, payload, &op, at);
    return weir_result_of(&step, m, at);
}

/* The same, and ends the call. */
static __attribute__((noinline)) struct weir_result end_declined(const struct question *q,
                                                                 const struct weir_settings *s,
                                                                 uint64_t payload,
                                                                 weir_read_mark mark)
{
    struct weir_instant at;
    weir_algorithm_instant(&s->meter, q->now, &at); /* as before: on the line */
    struct weir_result result = decline(&s->meter, q->n, payload, &at);
    weir_read_end_quickly(mark);
    count(q->w, (unsigned)q->limit, result.verdict, 1);
    return result;
}

/* Under settings on whose line `now` is; ends the call. */
WEIR_INLINE struct weir_result decide_at(const struct question *q, struct weir_atomic_u64 *word,
                                         const struct weir_settings *s,
                                         const struct weir_instant *at, bool plain,
                                         weir_read_mark mark)
{
    uint64_t payload;
    struct weir_result result;
    enum attempt how = attempt(word, &s->meter, q->n, at, plain, &payload, &result);
    if (how == DECLINED)
        return end_declined(q, s, payload, mark);
    weir_read_end_quickly(mark);
    if (__builtin_expect(how == CLOSELY, 0))
        return decide_closely(q);
    count(q->w, (unsigned)q->limit, WEIR_ALLOWED, 1);
    return result;
}

/* For settings whose units are not nanoseconds, and for keys that are not in their home line. */
static __attribute__((noinline)) struct weir_result decide_further(const struct question *q,
                                                                   const struct weir_settings *s,
                                                                   weir_read_mark mark)
{
    struct weir_instant at;
    struct look look = look_for(&q->w->table, q->key, q->limit);
    if (s != NULL && !s->meter.unlimited && weir_algorithm_instant(&s->meter, q->now, &at))
        return decide_at(q, find_word(&look), s, &at, false, mark);
    weir_read_end_quickly(mark);
    return decide_closely(q);
}

WEIR_INLINE struct weir_result decide(struct weir *w, int limit, weir_key key, uint64_t n,
                                      weir_ns now)
{
    const struct question q = {w, limit, key, n, now};
    struct weir_instant at = {0, 0, 0};
    weir_read_mark mark;
    if (__builtin_expect(w == NULL || (unsigned)limit >= w->max_limits, 0) ||
        __builtin_expect(!weir_read_begin_quickly(&mark), 0))
        return decide_closely(&q);
    struct look look = look_for(&w->table, key, limit);
    /* Acquire: pairs with their publication. */
    const struct weir_settings *s = weir_pointer_load_acquire(&w->limits[(unsigned)limit].settings);
    if (__builtin_expect(s == NULL || s->meter.plain == 0, 0) ||
        __builtin_expect(!weir_algorithm_plain_instant(&s->meter, now, &at), 0) ||
        __builtin_expect(!weir_packed_is_steady(look.packed), 0))
        return decide_further(&q, s, mark);
    uint64_t match = weir_line_hint(look.home, look.tag);
    if (__builtin_expect(match == 0, 0))
        return decide_further(&q, s, mark);
    return decide_at(&q, weir_line_word(look.home, match), s, &at, true, mark);
}

struct weir_result weir_decide(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    return decide(w, limit, key, n, now);
}

bool weir_allow(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    return decide(w, limit, key, n, now).verdict == WEIR_ALLOWED;
}

/* ---- batches ----
 *
 *   request     i + 16: hashed already; its home line is asked for
 *               i +  8: the home line is there; the slot is found, or the line after it asked for
 *               i     : decided
 */

/*
 * How many decisions ahead lines are asked for. At 1 and 4 million keys (2-core AMD EPYC): 8 ahead
 * 24 and 31 ns a decision, 16 ahead 21 and 26, 32 ahead 21 and 25; one by one 56 to 67 and 90.
 */
#define BATCH_AHEAD 32
#define BATCH_NEAR  8

/* Decisions in one read section: what readers hold on to is let go of in between. */
#define BATCH_SECTION 512

/* What the decisions of a batch have in common, as long as they are under one limit. */
struct batch {
    struct weir *w;
    weir_ns now;
    const struct weir_settings *s; /* NULL: they take a closer look */
    int limit;
    bool plain;
    struct weir_instant at;
    uint64_t allowed; /* not yet counted */
    const struct weir_request *requests;
    struct weir_result *results;
    size_t count;
    /* of requests, by their number modulo its size */
    struct look ahead[BATCH_AHEAD];
    struct weir_atomic_u64 *found[BATCH_AHEAD];
};

static void batch_count(struct batch *b)
{
    if (b->allowed != 0)
        count(b->w, (unsigned)b->limit, WEIR_ALLOWED, b->allowed);
    b->allowed = 0;
}

/* Goes on under another limit. */
static __attribute__((noinline)) void batch_turn(struct batch *b, int limit)
{
    batch_count(b);
    b->limit = limit;
    b->s = NULL;
    if ((unsigned)limit >= b->w->max_limits)
        return;
    /* Acquire: pairs with their publication. */
    b->s = weir_pointer_load_acquire(&b->w->limits[(unsigned)limit].settings);
    if (b->s == NULL || b->s->meter.unlimited ||
        !weir_algorithm_instant(&b->s->meter, b->now, &b->at))
        b->s = NULL;
    else
        b->plain = b->s->meter.plain;
}

WEIR_INLINE void batch_look(struct batch *b, size_t i)
{
    if (i < b->count)
        b->ahead[i % BATCH_AHEAD] =
            look_for(&b->w->table, b->requests[i].key, b->requests[i].limit);
}

/* The home line has come: finds the slot, or asks for the next line. */
WEIR_INLINE void batch_find(struct batch *b, size_t i)
{
    struct look *look = &b->ahead[i % BATCH_AHEAD];
    b->found[i % BATCH_AHEAD] = NULL;
    if (i >= b->count || !weir_packed_is_steady(look->packed))
        return;
    uint64_t match = weir_line_hint(look->home, look->tag);
    if (__builtin_expect(match != 0, 1))
        b->found[i % BATCH_AHEAD] = weir_line_word(look->home, match);
    else
        weir_line_ask_next(look->home);
}

WEIR_INLINE void batch_decide(struct batch *b, size_t i)
{
    const struct weir_request *request = &b->requests[i];
    struct weir_atomic_u64 *word = b->found[i % BATCH_AHEAD];
    struct weir_result *result = &b->results[i];
    uint64_t payload = 0;
    enum attempt how = CLOSELY;
    if (__builtin_expect(request->limit != b->limit, 0))
        batch_turn(b, request->limit);
    if (__builtin_expect(word == NULL, 0))
        word = find_word(&b->ahead[i % BATCH_AHEAD]);
    if (__builtin_expect(b->s != NULL, 1) && b->plain)
        how = attempt(word, &b->s->meter, request->n, &b->at, true, &payload, result);
    else if (b->s != NULL)
        how = attempt(word, &b->s->meter, request->n, &b->at, false, &payload, result);
    if (__builtin_expect(how == GRANTED, 1)) {
        b->allowed++;
    } else if (how == DECLINED) {
        *result = decline(&b->s->meter, request->n, payload, &b->at);
        count(b->w, (unsigned)b->limit, result->verdict, 1);
    } else {
        *result = weir_reserve(b->w, request->limit, request->key, request->n, b->now, 0, NULL);
    }
}

/* At most BATCH_SECTION decisions. */
static void batch_section(struct batch *b)
{
    weir_read_begin();
    batch_turn(b, -1);
    for (size_t i = 0; i < BATCH_AHEAD; i++)
        batch_look(b, i);
    for (size_t i = 0; i < BATCH_NEAR; i++)
        batch_find(b, i);
    for (size_t i = 0; i < b->count; i++) {
        batch_find(b, i + BATCH_NEAR);
        batch_decide(b, i);
        batch_look(b, i + BATCH_AHEAD);
    }
    batch_count(b);
    weir_read_end();
}

void weir_decide_batch(struct weir *w, const struct weir_request *requests,
                       struct weir_result *results, size_t count, weir_ns now)
{
    struct batch b;
    b.w = w;
    b.now = now;
    b.allowed = 0;
    for (size_t i = 0; w == NULL && i < count; i++)
        results[i] = weir_result_invalid();
    for (size_t i = 0; w != NULL && i < count; i += BATCH_SECTION) {
        b.requests = requests + i;
        b.results = results + i;
        b.count = count - i < BATCH_SECTION ? count - i : BATCH_SECTION;
        batch_section(&b);
    }
}

struct weir_result weir_peek(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    struct call c;
    struct weir_settings aside;
    struct weir_result result;
    if (!begin_aside(&c, w, limit, now, &aside))
        return weir_result_invalid();
    if (c.s->meter.unlimited) {
        result = weir_result_unlimited(now, NULL);
    } else {
        const struct weir_operation op = {WEIR_PEEK, n, 0, 0, 0};
        apply(&c, key, &op, false);
        result = result_of(&c);
    }
    weir_read_end();
    return result;
}

enum weir_quota weir_quota(struct weir_result result)
{
    switch (result.verdict) {
    case WEIR_ALLOWED:
        return result.remaining == 0 ? WEIR_QUOTA_REACHED : WEIR_QUOTA_ALLOWED;
    case WEIR_DENIED:
    case WEIR_NEVER:
        return WEIR_QUOTA_OVER;
    case WEIR_INVALID:
        break;
    }
    return WEIR_QUOTA_UNKNOWN;
}

/* ---- taking and giving back ---- */

/* Takes or charges n tokens; returns how many. */
WEIR_INLINE uint64_t spend(struct weir *w, int limit, weir_key key, enum weir_verb verb, uint64_t n,
                           weir_ns now)
{
    struct call c;
    uint64_t count = n;
    if (!begin(&c, w, limit, now))
        return 0;
    if (!c.s->meter.unlimited && n != 0) {
        const struct weir_operation op = {verb, n, 0, 0, 0};
        apply(&c, key, &op, verb == WEIR_CHARGE || weir_algorithm_can_grant(&c.s->meter, 1));
        count_overflow(&c);
        count = c.step.count;
        /* A debt of nobody's is no charge. */
        if (verb == WEIR_CHARGE && c.overflow && w->when_full != WEIR_FULL_SHARE)
            count = 0;
    }
    weir_read_end();
    return count;
}

uint64_t weir_take(struct weir *w, int limit, weir_key key, uint64_t max, weir_ns now)
{
    return spend(w, limit, key, WEIR_TAKE, max, now);
}

uint64_t weir_charge(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    return spend(w, limit, key, WEIR_CHARGE, n, now);
}

uint64_t weir_refund(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now)
{
    struct call c;
    uint64_t given = 0;
    if (!begin(&c, w, limit, now))
        return 0;
    if (!c.s->meter.unlimited && n != 0) {
        const struct weir_operation op = {WEIR_REFUND, n, 0, 0, 0};
        apply(&c, key, &op, false);
        given = c.step.count;
    }
    weir_read_end();
    return given;
}

uint64_t weir_cancel(struct weir *w, struct weir_reservation *r, weir_ns now)
{
    struct call c;
    /* A reservation of nothing, as a denial leaves it, is no reason to look at `now`. */
    if (r == NULL || r->n == 0 || !begin(&c, w, r->limit, now))
        return 0;
    c.step.count = 0;
    uint64_t n = weir_result_end(r, now);
    if (n != 0 && c.s->serial == r->serial) {
        const struct weir_operation op = {WEIR_CANCEL, n, 0, r->slot, r->origin};
        if ((r->flags & RESERVED_IN_OVERFLOW) != 0)
            apply_to(&c, &c.l->overflow, NULL, &op);
        else
            apply(&c, r->key, &op, false);
    }
    weir_read_end();
    return c.step.count;
}

/* Makes a used word one of payload 0 under a mark of the caller's settings. Whatever it meant, and
   whichever generation it was of: payload 0 is "never used" in every one. False: a move is copying
   it, and the key is elsewhere. */
static bool forget_word(struct weir_atomic_u64 *slot, uint64_t mark)
{
    unsigned losses = 0;
    uint64_t word = weir_load_acquire(slot); /* slot.h, O1 */
    while ((word & WEIR_WORD_FROZEN) == 0 && (word & WEIR_PAYLOAD_MAX) != 0) {
        if (weir_cas_acq_rel(slot, &word, mark))
            return true;
        weir_pause(&losses);
    }
    return (word & WEIR_WORD_FROZEN) == 0;
}

int weir_forget(struct weir *w, int limit, weir_key key)
{
    if (w == NULL)
        return -EINVAL;
    struct weir_limit *l = weir_limit_at(w, limit);
    if (l == NULL)
        return -ENOENT;
    weir_read_begin();
    const struct weir_settings *s = weir_pointer_load_acquire(&l->settings); /* their publication */
    struct weir_probe probe = weir_table_probe(&w->table, key.high, key.low, (unsigned)limit);
    struct weir_place p;
    do {
        /* At 0, before all instants: nothing that is owed now is idle. */
        p = weir_place_of(w, &probe, 0, WEIR_LOOK);
    } while (p.word != NULL && s->generation != 0 && !forget_word(p.word, s->meter.mark));
    weir_read_end();
    return 0;
}
