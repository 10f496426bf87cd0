/* SPDX-License-Identifier: MIT */
/*
 * A table by itself, without the limiter, as its tests share it: every step of a call can be
 * stopped at, and somebody else runs there.
 *
 * The limit of these tests admits one token in TOKEN ticks. The word of a key is the instant from
 * which it is idle, so that every test reads its own words.
 *
 * Step: an access to shared memory by the table's headers, as this program compiles them. A thread
 * that is stopped at its n-th step is played by calling somebody else from there: stop_at.
 */
#ifndef WEIR_TESTS_TABLE_ALONE_H
#define WEIR_TESTS_TABLE_ALONE_H

#include "atomic.h"

struct stop {
    uint64_t left;                 /* steps until then; 0: nobody is stopped */
    void (*others)(void *context); /* who runs meanwhile */
    void *context;
};
static struct stop stop;

static inline void step(void)
{
    if (stop.left != 0 && --stop.left == 0)
        stop.others(stop.context);
}

#define weir_load_relaxed(a)      (step(), weir_load_relaxed(a))
#define weir_load_acquire(a)      (step(), weir_load_acquire(a))
#define weir_add_relaxed(a, v)    (step(), weir_add_relaxed(a, v))
#define weir_add_release(a, v)    (step(), weir_add_release(a, v))
#define weir_and_relaxed(a, v)    (step(), weir_and_relaxed(a, v))
#define weir_or_acq_rel(a, v)     (step(), weir_or_acq_rel(a, v))
#define weir_cas_relaxed(a, e, d) (step(), weir_cas_relaxed(a, e, d))
#define weir_cas_acq_rel(a, e, d) (step(), weir_cas_acq_rel(a, e, d))
#define weir_max_release(a, v)    (step(), weir_max_release(a, v))

#include "../support.h"

#include "rcu.h"
#include "table/place.h"

#define TOKEN     ((uint64_t)100)
#define STALE_MAX ((uint64_t)1000)

#define WORD_UNUSED ((uint64_t)1 << 62) /* means "never used" at any time */
#define WORD_OLDER  ((uint64_t)1 << 61) /* of older settings: the same means as without it */

static inline enum weir_judgement weir_table_judge(const void *host, uint64_t tag, uint64_t now,
                                                   uint64_t *word)
{
    assert_non_null(host);
    assert_true(tag > WEIR_TAG_HEADER);
    assert_true(*word != 0 && (*word & WEIR_MOVE_FROZEN) == 0);
    if ((*word & WORD_UNUSED) != 0)
        return WEIR_UNUSED;
    *word &= ~WORD_OLDER;
    return *word <= now ? WEIR_IDLE : WEIR_LIVE;
}

/* Runs others(context) at the n-th step from here, n from 1. */
static inline void stop_at(uint64_t n, void (*others)(void *), void *context)
{
    stop = (struct stop){n, others, context};
}

/* Whether that has happened; nobody is stopped any more. */
static inline bool was_stopped(void)
{
    bool was = stop.left == 0;
    stop.left = 0;
    return was;
}

/* ---- tables ---- */

static bool reading;

/* Opens a table and a read section, in which everything goes on: what is retired stays readable to
   threads that were stopped. */
static inline struct weir_table *alone_open(uint64_t max_keys)
{
    struct weir_table *t = aligned_alloc(64, sizeof *t);
    assert_non_null(t);
    if (reading) /* the test before this one failed */
        weir_read_end();
    assert_int_equal(weir_table_init(t, max_keys, 8, STALE_MAX), 0);
    reading = true;
    weir_read_begin();
    return t;
}

static inline void alone_close(struct weir_table *t)
{
    assert_int_equal(stop.left, 0);
    weir_read_end();
    reading = false;
    weir_retire_wait(t);
    assert_int_equal(weir_load_relaxed(&t->retired_bytes), 0);
    weir_table_free(t);
    free(t);
}

/* Lets go of what was retired, between two rounds. */
static inline void alone_pause(struct weir_table *t)
{
    weir_read_end();
    weir_retire_wait(t);
    weir_read_begin();
}

/* Of a shard that has an array. */
static inline struct weir_array *root_of(const struct weir_table *t)
{
    uint64_t packed = weir_load_acquire(&t->words[0]);
    assert_true(packed != 0);
    return weir_packed_array(packed);
}

static inline bool is_moving(const struct weir_table *t)
{
    return (weir_load_acquire(&t->words[0]) & WEIR_ARRAY_MOVING) != 0;
}

/* What a call of shard 0 begins with. */
static inline struct weir_effort effort_of(struct weir_table *t, uint64_t tag, uint64_t now)
{
    return (struct weir_effort){
        .t = t, .share = &t->shares[0], .tag = tag, .move = {.host = t, .now = now}};
}

/* The same, and it helps the move under way. */
static inline struct weir_effort helper_of(struct weir_table *t, uint64_t tag, uint64_t now)
{
    struct weir_effort e = effort_of(t, tag, now);
    struct weir_array *root = root_of(t);
    weir_shard_take_up(&e, root, weir_shard_next(root));
    return e;
}

/* What it did goes into the counts. */
static inline void end_effort(struct weir_effort *e)
{
    weir_add_relaxed(&e->t->counts.moves, e->move.moved);
    weir_add_relaxed(&e->t->counts.dropped, e->move.dropped);
}

static inline struct weir_place place(struct weir_table *t, uint64_t tag, uint64_t now,
                                      enum weir_look look)
{
    struct weir_effort e = effort_of(t, tag, now);
    struct weir_place p = weir_place_find(&e, look);
    end_effort(&e);
    return p;
}

/* The word of a tag in an array; NULL: it has none. */
static inline struct weir_atomic_u64 *word_in(const struct weir_array *a, uint64_t tag)
{
    struct weir_search s;
    return weir_array_search(a, tag, &s) == WEIR_FOUND ? weir_search_word(&s) : NULL;
}

/* A key whose word is to be `word`, whatever it was. */
static inline void put_key(struct weir_table *t, uint64_t tag, uint64_t word)
{
    struct weir_place p = place(t, tag, 0, WEIR_CLAIM);
    assert_non_null(p.word);
    weir_store_relaxed(p.word, word);
}

static inline unsigned sealed_slots(const struct weir_array *a)
{
    unsigned sealed = 0;
    for (uint64_t i = 0; i < weir_order_lines(a->order); i++)
        sealed +=
            (unsigned)__builtin_popcount(weir_line_match(&weir_array_lines(a)[i], WEIR_TAG_SEALED));
    return sealed;
}

/* Ends the move under way, if one is. The root; NULL: there is none. */
static inline struct weir_array *settle(struct weir_table *t, uint64_t now)
{
    for (;;) {
        uint64_t packed = weir_load_acquire(&t->words[0]);
        struct weir_array *root = weir_packed_array(packed);
        if ((packed & WEIR_ARRAY_MOVING) == 0)
            return packed == 0 ? NULL : root;
        struct weir_effort e = effort_of(t, 0, now);
        weir_shard_take_up(&e, root, weir_shard_next(root));
        weir_shard_finish(&e);
        end_effort(&e);
    }
}

/* Begins to move shard 0 into an array of that order, or one of its own if it does not fit. Returns
   it. */
static inline struct weir_array *begin_move(struct weir_table *t, unsigned order, uint64_t now)
{
    struct weir_effort e = effort_of(t, 0, now);
    struct weir_array *root = root_of(t);
    if (order >= root->order || !weir_shard_shrink(&e, root, order))
        assert_true(weir_shard_start(&e, root, order > root->order ? order : root->order));
    return weir_shard_next(root);
}

/* Gives shard 0 an array of that order. */
static inline struct weir_array *replace(struct weir_table *t, unsigned order, uint64_t now)
{
    if (weir_load_acquire(&t->words[0]) == 0) {
        struct weir_effort e = effort_of(t, 0, now);
        assert_true(weir_shard_found(&e));
    }
    begin_move(t, order, now);
    return settle(t, now);
}

/* Lines of a block, its header too. */
static inline uint64_t block_of(unsigned order)
{
    return weir_order_lines(order) + WEIR_HEADER_LINES;
}

/* The least order of so many. */
static inline unsigned order_of(uint64_t lines)
{
    unsigned order = WEIR_ORDER_MIN;
    while (block_of(order) < lines)
        order++;
    return order;
}

/* The home line of a tag, counted from the block's begin. */
static inline uint64_t home_in(const struct weir_array *a, uint64_t tag)
{
    return (uint64_t)(weir_packed_home(weir_array_pack(a), tag) - weir_array_block(a));
}

/* ---- keys ---- */

/* The i-th of tags that lie evenly over an array. */
static inline uint64_t tag_of(uint64_t i)
{
    return i + 256;
}

/* The i-th tag, i below 2^40, whose home is the same share of any array: `at` of 256. */
static inline uint64_t tag_at(unsigned at, uint64_t i)
{
    uint64_t inverse =
        WEIR_HOME_MULTIPLIER; /* Newton: each round doubles the bits that are right */
    for (int round = 0; round < 6; round++)
        inverse *= 2 - WEIR_HOME_MULTIPLIER * inverse;
    return ((uint64_t)at << 56 | (i + 2)) * inverse;
}

/* ---- a limit ---- */

enum answer { REFUSED, DENIED, ADMITTED };

/* One decision of the limit, in the words of the engine's: place, then a loop on the word. */
static inline enum answer admit(struct weir_table *t, uint64_t tag, uint64_t now)
{
    for (;;) {
        struct weir_place p = place(t, tag, now, WEIR_CLAIM);
        if (p.word == NULL) {
            assert_true(p.refused);
            return REFUSED;
        }
        uint64_t word = weir_load_acquire(p.word);
        while ((word & WEIR_MOVE_FROZEN) == 0) {
            uint64_t at = word == 0 ? weir_array_fresh_at(p.array, now, STALE_MAX) : now;
            if (word > at)
                return DENIED;
            if (weir_cas_acq_rel(p.word, &word, at + TOKEN))
                return ADMITTED;
        }
    }
}

#endif
