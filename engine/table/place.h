/* SPDX-License-Identifier: MIT */
/*
 * The place of a key, where the quick search of table.h does not find it: helps the shard's move,
 * looks in the array that counts, claims a slot, and makes room for one.
 *
 * Guarantees (numbered as in the README)
 *   S3  A slot is used or claimed in the next array only after the key was moved there.
 *   P1  It begins anew only when the shard's word has changed or it changed it itself; so another
 *       call, or this one, has got on. Room is made at most four times a call.
 *   S1  A key that was refused is refused to all until the array is replaced: who refuses it seals
 *       the empty slot where its search ended, before he says so. Without that two threads that
 *       meet a new key when the table gets full could each admit its burst.
 *   M1  A key that finds neither a credit nor enough idle keys in a sample of 16 lines gets no
 *       place; it evicts nobody.
 *
 * Not guaranteed: that a key which was refused, and gets a place when there is room again, has what
 * it took of the overflow bucket counted against it.
 *
 * Common subset of C11 and C++11.
 */
#ifndef WEIR_TABLE_PLACE_H
#define WEIR_TABLE_PLACE_H

#include "table/shard.h"

/* Rounds of making room in one call: what is under way ended, a replacement begun and ended, and
   one for another call that came between. */
#ifndef WEIR_ROUNDS_MAX
#define WEIR_ROUNDS_MAX 4
#endif

/* How one try ended. */
enum weir_try { WEIR_PLACED, WEIR_REFUSED, WEIR_AGAIN };

/* Counts a new key in an array, before its slot is claimed: true. False: *closed, or it is full. */
static inline bool weir_place_reserve(const struct weir_effort *e, struct weir_array *root,
                                      struct weir_array *in, bool *closed)
{
    /* Beside a move there is room up to the last: it is over before the next one begins. */
    uint64_t limit = e->beyond || in != root ? weir_order_full(in->order)
                                             : weir_shard_limit(e->t, e->shard, in->order);
    uint64_t fresh = weir_load_relaxed(&in->fresh);
    do {
        *closed = (fresh & (WEIR_CLOSED | WEIR_PAUSED)) != 0;
        /* O5: beside what is still to be moved there */
        uint64_t others =
            in == root ? weir_load_relaxed(&in->moved) & WEIR_COUNT_MASK : weir_array_count(root);
        if (*closed) {
            /* Acquire: pairs with who closed or paused it, as a root. Who begins anew sees the
               shard's word that said so, or a newer one (P1). */
            weir_load_acquire(&in->fresh);
            return false;
        }
        if ((fresh & WEIR_COUNT_MASK) + others >= limit)
            return false;
    } while (!weir_cas_relaxed(&in->fresh, &fresh, fresh + 1));
    return true;
}

/* Takes that back. If the swing counted it as left behind it gave a credit for it. */
static inline void weir_place_unreserve(struct weir_effort *e, struct weir_array *in)
{
    if ((weir_add_relaxed(&in->fresh, (uint64_t)-1) & WEIR_LEFT) != 0)
        weir_credit_pay(e->share, 1);
}

/* One more round of making room; it ends the move under way, where there is one. WEIR_PLACED: there
   is none, and something else has to be done. */
static inline enum weir_try weir_place_round(struct weir_effort *e, struct weir_array *root,
                                             struct weir_array *in)
{
    if (e->rounds++ >= WEIR_ROUNDS_MAX)
        return WEIR_REFUSED;
    if (in == root)
        return WEIR_PLACED;
    weir_shard_finish(e);
    return WEIR_AGAIN;
}

/* No room in the array: gets on with its replacement. */
static inline enum weir_try weir_place_make_room(struct weir_effort *e, struct weir_array *root,
                                                 struct weir_array *in)
{
    enum weir_try how = weir_place_round(e, root, in);
    if (how != WEIR_PLACED)
        return how;
    if (weir_shard_grow(e, root))
        return WEIR_AGAIN;
    if (e->beyond)
        return WEIR_REFUSED;
    e->beyond = true;
    return WEIR_AGAIN;
}

/* A root that takes no keys for now: gives it a successor, though it may have room. */
static inline enum weir_try weir_place_reopen(struct weir_effort *e, struct weir_array *root)
{
    if (weir_place_round(e, root, root) == WEIR_REFUSED)
        return WEIR_REFUSED;
    return weir_shard_start(e, root, root->order) ? WEIR_AGAIN : WEIR_REFUSED;
}

/* No credit: moves what is under way to its end, or leaves behind what is idle. */
static inline enum weir_try weir_place_make_credit(struct weir_effort *e, struct weir_array *root,
                                                   struct weir_array *in)
{
    enum weir_try how = weir_place_round(e, root, in);
    if (how != WEIR_PLACED)
        return how;
    if (weir_shard_next(root) == (struct weir_array *)0 &&
        !weir_shard_is_idle(e, root, WEIR_IDLE_FOR_ROOM))
        return WEIR_REFUSED;
    return weir_shard_start(e, root, root->order) ? WEIR_AGAIN : WEIR_REFUSED;
}

/* Room, but a seal in the way: an array of the same size is without, unless a larger one is due. */
static inline enum weir_try weir_place_unseal(struct weir_effort *e, struct weir_array *root,
                                              struct weir_array *in)
{
    if (in != root || weir_array_count(root) >= weir_shard_limit(e->t, e->shard, root->order))
        return weir_place_make_room(e, root, in);
    return weir_place_reopen(e, root);
}

/* Claims a slot in `in` for a key that has none there. */
static inline enum weir_try weir_place_claim(struct weir_effort *e, struct weir_array *root,
                                             struct weir_array *in, struct weir_place *p)
{
    bool closed;
    bool claimed;
    struct weir_search s;
    if (!weir_credit_ready(e->t, e->share))
        return weir_place_make_credit(e, root, in);
    if (!weir_place_reserve(e, root, in, &closed)) {
        if (!closed)
            return weir_place_make_room(e, root, in);
        return in != root ? WEIR_AGAIN : weir_place_reopen(e, root);
    }
    enum weir_found found =
        weir_array_claim(in, e->tag, WEIR_PROBE_LINES, &s, &claimed, &e->move.races);
    e->move.lines += s.lines;
    if (!claimed)
        weir_place_unreserve(e, in);
    if (found == WEIR_SEALED)
        return WEIR_AGAIN;
    if (found == WEIR_NOWHERE) {
        /* 64 full lines in an array that is nearly empty: chosen keys, which no size helps. */
        bool crowded = weir_array_count(in) < weir_order_slots(in->order) / 4;
        return crowded ? WEIR_REFUSED : weir_place_make_room(e, root, in);
    }
    if (claimed) {
        weir_credit_pay(e->share, 1);
        weir_max_relaxed(&e->t->counts.longest_probe, s.lines);
    }
    p->word = weir_search_word(&s);
    p->array = in;
    return WEIR_PLACED;
}

/* Whether weir_place_claim would find a place, as far as can be told without trying. */
static inline bool weir_place_is_left(struct weir_effort *e, struct weir_array *in)
{
    if (in == (struct weir_array *)0)
        return weir_credit_is_there(e->t, e->share);
    bool stuck = weir_array_count(in) >= weir_order_full(in->order) &&
                 (in->order == WEIR_ORDER_MAX || weir_retire_is_behind(e->t) ||
                  weir_load_relaxed(&e->share->wait) != 0);
    bool room = !stuck && weir_credit_is_there(e->t, e->share);
    return room || weir_shard_is_idle(e, in, WEIR_IDLE_FOR_ROOM);
}

/* The array in which the key counts, after it was moved there if the shard is moving; NULL: the
   shard's word has changed. */
static inline struct weir_array *weir_place_array(struct weir_effort *e, uint64_t packed)
{
    struct weir_array *root = weir_packed_array(packed);
    if ((packed & WEIR_ARRAY_MOVING) == 0)
        return root;
    weir_shard_take_up(e, root, weir_shard_next(root));
    weir_move_key(&e->move, e->tag);
    weir_shard_pay(e);
    if (!e->helped)
        weir_shard_help(e);
    e->helped = true;
    if (weir_move_is_done(&e->move)) {
        weir_shard_swing(e);
        return (struct weir_array *)0;
    }
    return e->move.to;
}

/* Whether the shard's word is still what it was. Acquire: see weir_table_word. */
static inline bool weir_place_is_current(const struct weir_effort *e, uint64_t packed)
{
    return weir_load_acquire(&e->t->words[e->shard]) == packed;
}

/* Makes sure that a key which is refused gets no place in the root as it stands. WEIR_PLACED: it
   has one, claimed by another thread. */
static inline enum weir_try weir_place_refuse(struct weir_effort *e, uint64_t packed,
                                              struct weir_place *p)
{
    struct weir_array *root = weir_packed_array(packed);
    for (;;) {
        struct weir_search s;
        uint64_t seen;
        enum weir_found found = weir_array_search(root, e->tag, &s);
        e->move.lines += s.lines;
        if (found == WEIR_FOUND) {
            p->word = weir_search_word(&s);
            p->array = root;
            return WEIR_PLACED;
        }
        /* Beyond 64 lines only moves find places. */
        if (found != WEIR_EMPTY || s.lines > WEIR_PROBE_LINES ||
            weir_search_claim(&s, WEIR_TAG_SEALED, &seen))
            return weir_place_is_current(e, packed) ? WEIR_REFUSED : WEIR_AGAIN;
    }
}

/* A key that has no slot in `in`, where its search ended as `found`. */
static inline enum weir_try weir_place_absent(struct weir_effort *e, uint64_t packed,
                                              struct weir_array *in, enum weir_found found,
                                              enum weir_look look, struct weir_place *p)
{
    struct weir_array *root = weir_packed_array(packed);
    enum weir_try how;
    if (found == WEIR_SEALED && !weir_place_is_current(e, packed))
        return WEIR_AGAIN;
    if (look != WEIR_CLAIM) {
        if (weir_place_is_left(e, in))
            return WEIR_PLACED;
        how = WEIR_REFUSED;
    } else if (found != WEIR_SEALED) {
        how = weir_place_claim(e, root, in, p);
    } else { /* refused before: there is room if the array can be replaced */
        how = weir_credit_ready(e->t, e->share) ? weir_place_unseal(e, root, in)
                                                : weir_place_make_credit(e, root, in);
    }
    if (how != WEIR_REFUSED || look == WEIR_LOOK)
        return how;
    if (in == root)
        return weir_place_refuse(e, packed, p);
    /* Only in a root can a key be refused to all: a seal in the next array would be in the way of
       keys that are still to be moved there. */
    weir_shard_finish(e);
    return WEIR_AGAIN;
}

/* A key of a shard that has no array. */
static inline enum weir_try weir_place_first(struct weir_effort *e, enum weir_look look)
{
    if (look != WEIR_CLAIM)
        return weir_place_is_left(e, (struct weir_array *)0) ? WEIR_PLACED : WEIR_REFUSED;
    if (weir_credit_ready(e->t, e->share) && weir_shard_found(e))
        return WEIR_AGAIN;
    return weir_place_is_current(e, 0) ? WEIR_REFUSED : WEIR_AGAIN;
}

/* Finds the place of e->tag. */
static inline struct weir_place weir_place_find(struct weir_effort *e, enum weir_look look)
{
    struct weir_place p = {(struct weir_atomic_u64 *)0, (struct weir_array *)0, false};
    enum weir_try how = WEIR_AGAIN;
    while (how == WEIR_AGAIN) {
        struct weir_search s;
        /* Acquire: see weir_table_word. */
        uint64_t packed = weir_load_acquire(&e->t->words[e->shard]);
        if (packed == 0) {
            how = weir_place_first(e, look);
            continue;
        }
        struct weir_array *in = weir_place_array(e, packed);
        if (in == (struct weir_array *)0)
            continue;
        enum weir_found found = weir_array_search(in, e->tag, &s);
        e->move.lines += s.lines;
        p.array = in;
        if (found == WEIR_FOUND) {
            p.word = weir_search_word(&s);
            return p;
        }
        how = weir_place_absent(e, packed, in, found, look, &p);
    }
    p.refused = how == WEIR_REFUSED;
    return p;
}

#endif
