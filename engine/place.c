/* SPDX-License-Identifier: MIT */
/*
 * The table's slower paths, with what only the limiter knows: what a word means.
 *
 * A move judges each word by the settings of the slot's limit, and puts it into the next array as a
 * word of these settings' generation.
 *
 * Guarantees (numbered as in the README)
 *   S5  A word that is left behind is one that every later decision would read as "never used": its
 *       payload is 0, or the bucket was full by `now`, to which the horizon is raised.
 *   O3  A move that began after a sweep's first grace period writes no generation older than the
 *       sweep's target: it loads the limit's settings after it began.
 */
#include "place.h"

#include "table/place.h"

static inline enum weir_judgement weir_table_judge(const void *host, uint64_t tag, uint64_t now,
                                                   uint64_t *word)
{
    const struct weir *w = host;
    struct weir_limit *l = weir_limit_of(w, (unsigned)weir_tag_limit(tag, w->table.id_bits));
    const struct weir_settings *s = weir_limit_settings(l); /* origin.c, O2 */
    uint64_t payload;
    for (;;) {
        if (s == NULL)
            return WEIR_UNUSED;
        payload = *word - s->meter.mark;
        if (s->generation != 0 && payload <= s->meter.span)
            break;
        if (weir_settings_translate(s, *word, &payload))
            break;
        /* Of newer settings, or older than all that are left: slot.h, O1. */
        const struct weir_settings *next = weir_limit_settings(l);
        if (next == s)
            return WEIR_UNUSED;
        s = next;
    }
    if (payload == 0)
        return WEIR_UNUSED;
    struct weir_instant at;
    weir_limit_instant_clamped(w, l, s, now, &at);
    if (weir_algorithm_is_idle(&s->meter, payload, &at))
        return WEIR_IDLE;
    *word = s->meter.mark | payload;
    return WEIR_LIVE;
}

static struct weir_effort begin_effort(struct weir *w, uint64_t shard, uint64_t tag, weir_ns now)
{
    struct weir_effort e = {.t = &w->table,
                            .share = &w->table.shares[shard],
                            .shard = shard,
                            .tag = tag,
                            .move = {.host = w, .now = weir_now_clamped(now)}};
    return e;
}

static void count(struct weir_atomic_u64 *counter, uint64_t n)
{
    if (n != 0)
        weir_add_relaxed(counter, n);
}

static void end_effort(struct weir_effort *e)
{
    struct weir_table_counts *counts = &e->t->counts;
    count(&counts->moves, e->move.moved);
    count(&counts->races, e->move.races);
    count(&counts->dropped, e->move.dropped);
    count(&counts->stale_left, e->move.stale);
    weir_max_relaxed(&counts->longest_call, e->move.lines);
}

struct weir_place weir_place_of(struct weir *w, const struct weir_probe *p, weir_ns now,
                                enum weir_look look)
{
    struct weir_effort e = begin_effort(w, p->shard, p->tag, now);
    struct weir_place place = weir_place_find(&e, look);
    end_effort(&e);
    return place;
}

/* Two layers' names of one bit. NOLINTNEXTLINE(misc-redundant-expression) */
_Static_assert(WEIR_MOVE_FROZEN == WEIR_WORD_FROZEN, "moves and slots freeze alike");

/* ---- maintenance of whole shards ---- */

/* The shard's root once nothing is moving; NULL: it has no array. */
static struct weir_array *settle(struct weir_effort *e)
{
    for (;;) {
        /* Acquire: see weir_table_word. */
        uint64_t packed = weir_load_acquire(&e->t->words[e->shard]);
        if (packed == 0)
            return NULL;
        struct weir_array *root = weir_packed_array(packed);
        if ((packed & WEIR_ARRAY_MOVING) == 0)
            return root;
        weir_shard_take_up(e, root, weir_shard_next(root));
        weir_shard_finish(e);
    }
}

struct weir_array *weir_place_settle(struct weir *w, uint64_t shard, weir_ns now)
{
    struct weir_effort e = begin_effort(w, shard, 0, now);
    struct weir_array *root = settle(&e);
    end_effort(&e);
    return root;
}

/* The least order of an array that its keys would fill to two thirds of the load limit. */
static unsigned fitting_order(const struct weir_effort *e, const struct weir_array *a)
{
    unsigned order = WEIR_ORDER_MIN;
    while (order < a->order &&
           weir_array_count(a) * 3 > weir_shard_limit(e->t, e->shard, order) * 2)
        order++;
    return order;
}

bool weir_place_trim(struct weir *w, uint64_t shard, weir_ns now)
{
    struct weir_effort e = begin_effort(w, shard, 0, now);
    struct weir_array *root = settle(&e);
    bool done = root == NULL;
    if (root != NULL && weir_shard_start(&e, root, root->order)) {
        root = settle(&e);
        unsigned order = fitting_order(&e, root);
        done = order == root->order || weir_shard_shrink(&e, root, order);
        settle(&e);
    }
    end_effort(&e);
    return done;
}
