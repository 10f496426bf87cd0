/* SPDX-License-Identifier: MIT */
/*
 * The shard: when its array is replaced, by what, and who moves what is in it.
 *
 * Guarantees (S, P and M numbered as in the README; O4 and O5 in move.h)
 *   O4  Only what a shard's word leads to is ever closed and given a successor.
 *   O5  A successor has room for all that its predecessor can hold; a smaller one for all that it
 *       holds, while it takes no new keys. It is used only after its predecessor was closed.
 *   P1  A replacement begins with memory in hand; who stops in it holds up nobody: the next one who
 *       has no place makes a successor of his own, or goes on with the one that is there. A failed
 *       allocation is tried again a sixteenth of the array's lines in calls later.
 *   M1  The credits of what was left behind go back with the swing, once: the flags that it sets in
 *       the counts tell whoever changes them later whether he was waited for.
 *
 * Common subset of C11 and C++11.
 */
#ifndef WEIR_TABLE_SHARD_H
#define WEIR_TABLE_SHARD_H

#include "table/credit.h"
#include "table/move.h"
#include "table/reclaim.h"

/* The load limit lies between these, in 1/1024, by the shard's number. A growth to 10 million keys
   takes 30.0 to 31.7 bytes a key on average so, 31.1 to 32.3 with 0.72 to 0.92, and nearer to 1
   searches get long. */
#define WEIR_LOAD_LOWEST 778
#define WEIR_LOAD_SPREAD 180

/* An array is worth compacting when so much of what it holds is idle: for its size, half; for room
   when max_keys are taken, a sixteenth. */
#define WEIR_IDLE_FOR_SIZE 2
#define WEIR_IDLE_FOR_ROOM 16

/* Arrays below this order (32 lines, 2 KiB) grow, however much is idle: replacing a small one again
   and again costs a memory allocation for a few keys each. */
#ifndef WEIR_ORDER_COMPACTED
#define WEIR_ORDER_COMPACTED 5
#endif

/* One call's work on one shard. */
struct weir_effort {
    struct weir_table *t;
    struct weir_share *share;
    uint64_t shard;
    uint64_t tag;
    struct weir_move move; /* the last one that it helped, with sums over all */
    bool helped;           /* with a chunk */
    bool beyond;           /* no larger array can be had: past the load limit, then */
    unsigned rounds;       /* of making room */
};

/* Keys at which a shard gets another array. */
static inline uint64_t weir_shard_limit(const struct weir_table *t, uint64_t shard, uint64_t order)
{
    uint64_t place = (shard * t->stagger + t->stagger / 2) >> 16;
    uint64_t load = WEIR_LOAD_LOWEST + (WEIR_LOAD_SPREAD * place >> 16);
    uint64_t limit = weir_order_slots(order) * load >> 10;
    return limit < weir_order_full(order) ? limit : weir_order_full(order);
}

static inline struct weir_array *weir_shard_next(const struct weir_array *a)
{
    /* Acquire: pairs with its publication; its header and lines are seen. */
    uint64_t next = weir_load_acquire(&a->next);
    return next != 0 ? weir_packed_array(next) : (struct weir_array *)0;
}

/* ---- moving ---- */

static inline void weir_shard_take_up(struct weir_effort *e, struct weir_array *root,
                                      struct weir_array *to)
{
    e->move.from = root;
    e->move.to = to;
    e->move.ended = false;
}

/* Pays what a swing has given back too much because of this call. */
static inline void weir_shard_pay(struct weir_effort *e)
{
    if (e->move.owed != 0)
        weir_credit_pay(e->share, e->move.owed);
    e->move.owed = 0;
}

/* Moves one chunk; false: all are done. */
static inline bool weir_shard_help(struct weir_effort *e)
{
    uint64_t chunk;
    bool again;
    /* Each thread begins elsewhere: stacks lie apart by pages. */
    unsigned start = (unsigned)((uintptr_t)&chunk >> 12);
    if (!weir_move_next_chunk(&e->move, start, &chunk, &again))
        return false;
    weir_move_chunk(&e->move, chunk);
    weir_shard_pay(e);
    weir_add_relaxed(&e->t->counts.helps, 1);
    if (again)
        weir_add_relaxed(&e->t->counts.redone, 1);
    return true;
}

/* Step 3 of move.h: leads the shard on when everything is moved. */
static inline void weir_shard_swing(struct weir_effort *e)
{
    struct weir_array *from = e->move.from;
    struct weir_array *to = e->move.to;
    if (!weir_move_is_done(&e->move))
        return;
    /* Before the swing: who finds the shard led on counts all that was put there without this flag;
       see weir_move_put. In one order with the adds to the count; the swing publishes it. */
    weir_or_acq_rel(&to->moved, WEIR_ENDED);
    uint64_t packed = weir_array_pack(from) | WEIR_ARRAY_MOVING;
    /* Release: pairs with weir_table_word; all that was moved is seen. Acquire: see is_done. */
    if (!weir_cas_acq_rel(&e->t->words[e->shard], &packed, weir_array_pack(to)))
        return;
    uint64_t moved = weir_or_acq_rel(&to->moved, WEIR_ROOT) & WEIR_COUNT_MASK;
    uint64_t held = (weir_or_acq_rel(&from->fresh, WEIR_LEFT) & WEIR_COUNT_MASK) +
                    (weir_or_acq_rel(&from->moved, WEIR_LEFT) & WEIR_COUNT_MASK);
    weir_credit_return(e->t, e->share, held - moved);
    weir_retire(e->t, from);
}

/* Moves the rest of the shard and leads it on. */
static inline void weir_shard_finish(struct weir_effort *e)
{
    while (weir_shard_help(e)) {}
    weir_shard_swing(e);
}

/* ---- replacing ---- */

/* How many of the keys in 16 lines are idle; other lines each time. */
static inline void weir_shard_sample(struct weir_effort *e, struct weir_array *a, uint64_t *seen,
                                     uint64_t *idle)
{
    uint64_t lines = weir_order_block(a->order);
    uint64_t at = weir_tag_home(weir_add_relaxed(&a->sample, 1) + 1, a->order);
    *seen = *idle = 0;
    for (uint64_t i = 0; i < WEIR_CHUNK_LINES && i < lines; i++) {
        struct weir_line *line = &weir_array_block(a)[at];
        e->move.lines++;
        for (unsigned slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
            uint64_t tag = weir_load_acquire(&line->tag[slot]);   /* pairs with its claim */
            uint64_t word = weir_load_acquire(&line->word[slot]); /* pairs with who wrote it */
            if (tag <= WEIR_TAG_HEADER)
                break;
            ++*seen;
            word &= ~WEIR_MOVE_FROZEN;
            *idle +=
                word != 0 && weir_table_judge(e->move.host, tag, e->move.now, &word) != WEIR_LIVE;
        }
        at = at + 1 < lines ? at + 1 : 0;
    }
}

/* Whether enough is idle to be worth a compaction: one key in `part`. */
static inline bool weir_shard_is_idle(struct weir_effort *e, struct weir_array *a, uint64_t part)
{
    uint64_t seen;
    uint64_t idle;
    weir_shard_sample(e, a, &seen, &idle);
    return idle != 0 && idle * part >= seen;
}

/* A new array, unless memory is short, was so just now, or readers hold on to too much of it. */
static inline struct weir_array *weir_shard_allocate(struct weir_effort *e, unsigned order)
{
    uint64_t wait = weir_load_relaxed(&e->share->wait);
    if (wait != 0) {
        weir_cas_relaxed(&e->share->wait, &wait, wait - 1);
        return (struct weir_array *)0;
    }
    if (weir_retire_is_behind(e->t))
        return (struct weir_array *)0;
    struct weir_array *a = weir_table_make_array(e->t, e->shard, order);
    if (a == (struct weir_array *)0) {
        weir_add_relaxed(&e->t->counts.failures, 1);
        weir_store_relaxed(&e->share->wait, weir_order_lines(order) / WEIR_CHUNK_LINES + 1);
    }
    return a;
}

/* Step 1 of move.h, with memory in hand. Nobody has seen `to` before. */
static inline void weir_shard_replace(struct weir_effort *e, struct weir_array *root,
                                      struct weir_array *to)
{
    if (weir_move_publish(root, to, e->move.now, e->t->stale_max))
        weir_add_relaxed(to->order > root->order    ? &e->t->counts.growths
                         : to->order == root->order ? &e->t->counts.compactions
                                                    : &e->t->counts.shrinks,
                         1);
    else
        weir_retire(e->t, to); /* another one was first */
}

/* Closes the root, which has a successor, and says in the shard's word that it moves. Release:
   pairs with weir_table_word; who sees it finds the root closed. */
static inline void weir_shard_set_moving(struct weir_effort *e, struct weir_array *root)
{
    weir_or_acq_rel(&root->fresh, WEIR_CLOSED);
    uint64_t packed = weir_array_pack(root);
    weir_cas_acq_rel(&e->t->words[e->shard], &packed, packed | WEIR_ARRAY_MOVING);
}

/* Begins to move the shard's root into an array of that order, not below its own (O5). False: there
   is no memory for it now. */
static inline bool weir_shard_start(struct weir_effort *e, struct weir_array *root, unsigned order)
{
    if (weir_shard_next(root) == (struct weir_array *)0) {
        struct weir_array *to = weir_shard_allocate(e, order);
        if (to == (struct weir_array *)0)
            return false;
        weir_shard_replace(e, root, to);
    }
    weir_shard_set_moving(e, root);
    return true;
}

/* Slots that are used, counted one by one: those too that a stopped thread has not counted. */
static inline uint64_t weir_shard_tags(const struct weir_array *a)
{
    uint64_t tags = 0;
    for (uint64_t i = 0; i < weir_order_lines(a->order); i++) {
        for (unsigned slot = 0; slot < WEIR_LINE_SLOTS; slot++)
            tags += weir_load_acquire(&weir_array_lines(a)[i].tag[slot]) > WEIR_TAG_HEADER;
    }
    return tags;
}

/* The same into a smaller array, if the root's keys fit. Meanwhile it takes none; a new key that
   comes just then makes a successor of its own. False: as above, or they do not fit. */
static inline bool weir_shard_shrink(struct weir_effort *e, struct weir_array *root, unsigned order)
{
    struct weir_array *to = weir_shard_allocate(e, order);
    if (to == (struct weir_array *)0)
        return false;
    bool alone = (weir_or_acq_rel(&root->fresh, WEIR_PAUSED) & WEIR_PAUSED) == 0;
    bool fits = alone && weir_array_count(root) <= weir_order_full(order) &&
                weir_shard_tags(root) <= weir_order_full(order);
    if (fits) {
        weir_shard_replace(e, root, to);
        weir_shard_set_moving(e, root);
    } else {
        weir_retire(e->t, to);
    }
    if (alone)
        weir_and_relaxed(&root->fresh, ~WEIR_PAUSED);
    return fits;
}

/* Begins to replace an array that is past its load limit. False: it stays as it is for now. */
static inline bool weir_shard_grow(struct weir_effort *e, struct weir_array *root)
{
    unsigned order = root->order;
    uint64_t part = order < WEIR_ORDER_MAX ? WEIR_IDLE_FOR_SIZE : WEIR_IDLE_FOR_ROOM;
    if (weir_shard_next(root) == (struct weir_array *)0 &&
        (order < WEIR_ORDER_COMPACTED || !weir_shard_is_idle(e, root, part))) {
        if (order == WEIR_ORDER_MAX)
            return false;
        order++;
    }
    return weir_shard_start(e, root, order);
}

/* The first array of a shard. False: there is no memory for it now. */
static inline bool weir_shard_found(struct weir_effort *e)
{
    struct weir_array *a = weir_shard_allocate(e, WEIR_ORDER_MIN);
    uint64_t none = 0;
    if (a == (struct weir_array *)0)
        return false;
    /* Release: pairs with weir_table_word; its header and lines are seen. */
    if (!weir_cas_acq_rel(&e->t->words[e->shard], &none, weir_array_pack(a)))
        weir_retire(e->t, a); /* another one was first */
    return true;
}

#endif
