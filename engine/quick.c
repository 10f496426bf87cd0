/* SPDX-License-Identifier: MIT */
/*
 * The usual decision, alone and in batches.
 *
 * A limit in use, a `now` on its line, a key that has its slot and was used (payload 0 may have to
 * begin at a change that `now` lies before), a word of the newest generation, and nobody else who
 * changes it just now: then a decision is the few functions below. Anything else starts over in
 * decide.c; nothing has happened yet.
 *
 * What counts here is the length of the path. A processor goes on with later decisions while a
 * line comes from memory, as far as its window reaches: on an AMD EPYC (Zen 5: 448 instructions,
 * some 210 results in registers, 104 stores) that is two to three decisions. So conditions on what
 * comes from memory are conditional moves or branches that are nearly always taken the same way:
 * each misprediction throws that work away.
 *
 * Answers are those of weir_reserve with a max wait of 0. They are counted inside the read section:
 * after it, the limit's id could be that of a later one.
 */
#include "limiter.h"

#include "rcu.h"
#include "result.h"

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

enum attempt { GRANTED, REFUSED, CLOSELY };

/* Asks the bucket at once, or takes nothing. REFUSED: *payload is what there is. */
WEIR_INLINE enum attempt attempt(struct weir_atomic_u64 *word, const struct weir_meter *m,
                                 const struct weir_ask *ask, const struct weir_instant *at,
                                 uint64_t *payload, struct weir_result *result)
{
    uint64_t seen = weir_load_acquire(word); /* slot.h, O1 */
    *payload = seen - m->mark;
    if (__builtin_expect(*payload - 1 >= WEIR_PAYLOAD_MAX, 0)) /* payload 0 too */
        return CLOSELY;
    if (!weir_bucket_grant(m, ask, at, true, payload, result))
        return REFUSED;
    bool granted = weir_cas_acq_rel(word, &seen, m->mark | *payload); /* slot.h, O1, S4 */
    return __builtin_expect(granted, 1) ? GRANTED : CLOSELY;
}

/* The answer to what was refused. Not inlined: it would take registers from what is granted. */
static __attribute__((noinline)) struct weir_result deny(const struct weir_meter *m,
                                                         struct weir_ask ask,
                                                         const struct weir_instant *at,
                                                         uint64_t payload)
{
    struct weir_result result;
    weir_bucket_deny(m, &ask, at, true, payload, &result);
    return result;
}

/* The same, `room` of it and `line` being all that counts; counts it, and ends the call. */
static __attribute__((noinline)) struct weir_result end_denied(const struct weir_meter *m,
                                                               uint64_t room, uint64_t line,
                                                               uint64_t payload,
                                                               struct weir_counter_row *row,
                                                               weir_read_mark mark)
{
    const struct weir_ask ask = {0, room};
    const struct weir_instant at = {line, 0, 0, 0, 0, false, NULL, 0, 0, NULL};
    struct weir_result result;
    weir_bucket_deny(m, &ask, &at, true, payload, &result);
    weir_count(&row->of[WEIR_DENIED], 1, false);
    weir_read_end_quickly(mark);
    return result;
}

/* The end of a decision by any algorithm: its answer, if nobody else changed the word. */
WEIR_INLINE bool publish(struct weir_atomic_u64 *word, const struct weir_meter *m, uint64_t seen,
                         uint64_t payload, const struct weir_result *result)
{
    if (result->verdict != WEIR_ALLOWED)
        return true;
    bool granted = weir_cas_acq_rel(word, &seen, m->mark | payload); /* slot.h, O1, S4 */
    return __builtin_expect(granted, 1);
}

/* Any algorithm, on a key that has its slot. False: it takes a closer look. */
WEIR_INLINE bool attempt_any(struct weir_atomic_u64 *word, const struct weir_meter *m, uint64_t n,
                             const struct weir_instant *at, struct weir_result *result)
{
    uint64_t seen = weir_load_acquire(word); /* slot.h, O1 */
    uint64_t payload = seen - m->mark;
    return __builtin_expect(payload <= WEIR_PAYLOAD_MAX, 1) &&
           __builtin_expect(weir_algorithm_quick(m, &payload, n, at, result), 1) &&
           publish(word, m, seen, payload, result);
}

/* For keys that are not in their home line, and calls that cannot be quick. */
static __attribute__((noinline)) struct weir_result decide_further(const struct question *q)
{
    struct weir_instant at;
    struct weir_result result = {WEIR_INVALID, 0, 0, 0};
    bool done = false;
    weir_read_begin();
    struct look look = look_for(&q->w->table, q->key, q->limit);
    struct weir_atomic_u64 *word = find_word(&look);
    struct weir_limit *l = &q->w->limits[(unsigned)q->limit];
    /* Acquire: pairs with their publication. */
    const struct weir_settings *s = weir_pointer_load_acquire(&l->settings);
    if (word != NULL && s != NULL && !s->meter.unlimited &&
        weir_limit_instant(q->w, l, s, q->now, &at))
        done = attempt_any(word, &s->meter, q->n, &at, &result);
    if (done)
        weir_count_call(q->w, (unsigned)q->limit, result.verdict, 1);
    weir_read_end();
    return done ? result : decide_closely(q);
}

static __attribute__((noinline)) struct weir_result end_further(const struct question *q,
                                                                weir_read_mark mark)
{
    weir_read_end_quickly(mark);
    return decide_further(q);
}

/*
 * All but plain buckets: ends the call. For each algorithm a function of its own, which has all
 * registers; what it needs first comes in them. In one function for all a decision took 2 ns more.
 */
#define EACH(which, prefix)                                                                        \
    static __attribute__((noinline)) struct weir_result prefix##_decide(                           \
        const struct question *q, const struct weir_meter *m, struct weir_atomic_u64 *word,        \
        uint64_t n, weir_ns now, struct weir_counter_row *row, weir_read_mark mark)                \
    {                                                                                              \
        struct weir_instant at;                                                                    \
        struct weir_result result;                                                                 \
        at.left = 0; /* told on the calendar only */                                               \
        now = weir_limit_now(q->w, m, now, WEIR_WALL_OF_CLOCK);                                    \
        uint64_t seen = weir_load_acquire(word); /* slot.h, O1 */                                  \
        uint64_t payload = seen - m->mark;                                                         \
        if (__builtin_expect(payload > WEIR_PAYLOAD_MAX, 0) ||                                     \
            __builtin_expect(!prefix##_instant(m, now, &at), 0) ||                                 \
            __builtin_expect(!prefix##_quick(m, &payload, n, &at, &result), 0) ||                  \
            __builtin_expect(!publish(word, m, seen, payload, &result), 0))                        \
            return end_further(q, mark);                                                           \
        weir_count(&row->of[result.verdict], 1, false);                                            \
        weir_read_end_quickly(mark);                                                               \
        return result;                                                                             \
    }
WEIR_ALGORITHMS(EACH)
#undef EACH

WEIR_INLINE struct weir_result decide_by_kind(const struct question *q,
                                              const struct weir_settings *s,
                                              const struct look *look, uint64_t n, weir_ns now,
                                              struct weir_counter_row *row, weir_read_mark mark)
{
    struct weir_atomic_u64 *word = NULL;
    if (s != NULL && weir_packed_is_steady(look->packed))
        word = weir_line_word(look->home, look->tag);
    if (__builtin_expect(word == NULL, 0) || __builtin_expect(s->meter.unlimited, 0))
        return end_further(q, mark);
#define EACH(which, prefix)                                                                        \
    case which:                                                                                    \
        return prefix##_decide(q, &s->meter, word, n, now, row, mark);
    WEIR_BY_KIND(&s->meter, EACH)
#undef EACH
}

WEIR_INLINE struct weir_result decide(struct weir *w, int limit, weir_key key, uint64_t n,
                                      weir_ns now)
{
    const struct question q = {w, limit, key, n, now};
    struct weir_instant at = {0, 0, 0, 0, 0, false, NULL, 0, 0, NULL};
    struct weir_result result;
    struct weir_ask ask;
    uint64_t payload;
    weir_read_mark mark;
    if (__builtin_expect(w == NULL || (unsigned)limit >= w->quick_limits, 0))
        return decide_closely(&q);
    struct weir_counter_row *row;
    if (__builtin_expect(!weir_counters_last(w->serial, &row), 0) ||
        __builtin_expect(!weir_read_begin_quickly(&mark), 0))
        return decide_further(&q);
    row += (unsigned)limit;
    struct look look = look_for(&w->table, key, limit);
    /* One key in 13 is not in its home line, and is then waited for twice: 5 % of a decision at a
       million keys. (A batch has no memory bandwidth to spare for it.) */
    __builtin_prefetch(look.home + 1, 0);
    /* Acquire: pairs with their publication. */
    const struct weir_settings *s = weir_pointer_load_acquire(&w->limits[(unsigned)limit].settings);
    if (__builtin_expect(s == NULL, 0) ||
        __builtin_expect(!weir_bucket_plain_instant(&s->meter, now, &at), 0) ||
        __builtin_expect(!weir_bucket_ask(&s->meter, n, &ask), 0))
        return decide_by_kind(&q, s, &look, n, now, row, mark);
    if (__builtin_expect(!weir_packed_is_steady(look.packed), 0))
        return end_further(&q, mark);
    struct weir_atomic_u64 *word = weir_line_word(look.home, look.tag);
    if (__builtin_expect(word == NULL, 0))
        return end_further(&q, mark);
    enum attempt how = attempt(word, &s->meter, &ask, &at, &payload, &result);
    if (how == REFUSED)
        return end_denied(&s->meter, ask.room, at.line, payload, row, mark);
    if (__builtin_expect(how == CLOSELY, 0))
        return end_further(&q, mark);
    weir_count(&row->of[WEIR_ALLOWED], 1, false);
    weir_read_end_quickly(mark);
    return result;
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
 *   request     i + 32: its home line is asked for
 *               i +  8: the home line is there; the slot is found, or the lines after it asked for
 *               i     : decided
 */

/*
 * How many decisions ahead. At 10 million keys (2-core AMD EPYC) with 16 and 4: 28 ns a decision,
 * 24 and 8: 27, 32 and 8: 24, 32 and 12: 24; without the second look 30.
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
        weir_count_call(b->w, (unsigned)b->limit, WEIR_ALLOWED, b->allowed);
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
    struct weir_limit *l = &b->w->limits[(unsigned)limit];
    /* Acquire: pairs with their publication. */
    b->s = weir_pointer_load_acquire(&l->settings);
    if (b->s == NULL || b->s->meter.unlimited || !weir_limit_instant(b->w, l, b->s, b->now, &b->at))
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
    struct weir_atomic_u64 *word = weir_line_word(look->home, look->tag);
    b->found[i % BATCH_AHEAD] = word;
    if (__builtin_expect(word == NULL, 0))
        weir_line_ask_next(look->home);
}

/* What is not a plain bucket's grant. */
static __attribute__((noinline)) void batch_decide_any(struct batch *b,
                                                       const struct weir_request *request,
                                                       struct weir_atomic_u64 *word,
                                                       struct weir_result *result)
{
    if (word != NULL && b->s != NULL && attempt_any(word, &b->s->meter, request->n, &b->at, result))
        weir_count_call(b->w, (unsigned)b->limit, result->verdict, 1);
    else
        *result = weir_reserve(b->w, request->limit, request->key, request->n, b->now, 0, NULL);
}

WEIR_INLINE void batch_decide(struct batch *b, size_t i)
{
    const struct weir_request *request = &b->requests[i];
    struct weir_atomic_u64 *word = b->found[i % BATCH_AHEAD];
    struct weir_result *result = &b->results[i];
    struct weir_ask ask;
    uint64_t payload = 0;
    enum attempt how = CLOSELY;
    if (__builtin_expect(request->limit != b->limit, 0))
        batch_turn(b, request->limit);
    if (__builtin_expect(word == NULL, 0))
        word = find_word(&b->ahead[i % BATCH_AHEAD]);
    if (__builtin_expect(word != NULL && b->s != NULL && b->plain, 1) &&
        __builtin_expect(weir_bucket_ask(&b->s->meter, request->n, &ask), 1))
        how = attempt(word, &b->s->meter, &ask, &b->at, &payload, result);
    if (__builtin_expect(how == GRANTED, 1)) {
        b->allowed++;
    } else if (how == REFUSED) {
        *result = deny(&b->s->meter, ask, &b->at, payload);
        weir_count_call(b->w, (unsigned)b->limit, WEIR_DENIED, 1);
    } else {
        batch_decide_any(b, request, word, result);
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
