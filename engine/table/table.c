/* SPDX-License-Identifier: MIT */
/*
 * The table's parts: making and freeing, the walk over all slots, and what must always be true.
 */
#include "table/table.h"

#include "slot/word.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A block of credits is 1/64 of an even share, at least 1, as a power of two. */
static unsigned block_log2_for(uint64_t share)
{
    unsigned log2 = 0;
    while (log2 < 6 && (uint64_t)128 << log2 <= share)
        log2++;
    return log2;
}

int weir_table_init(struct weir_table *t, uint64_t max_keys, unsigned id_bits, uint64_t stale_max)
{
    memset(t, 0, sizeof *t);
    t->max_keys = max_keys;
    t->id_bits = id_bits < 2 ? 2 : id_bits; /* tags 0 to 2 are no key's */
    t->hash_mask = 0 - ((uint64_t)1 << t->id_bits);
    t->stale_max = stale_max;
    t->shards = (max_keys + WEIR_SHARD_KEYS - 1) / WEIR_SHARD_KEYS;
    t->stagger = ((uint64_t)1 << 32) / t->shards;
    t->block_log2 = block_log2_for(max_keys / t->shards);
    weir_store_relaxed(&t->unspent, max_keys);
    t->words = calloc(t->shards, sizeof *t->words);
    t->shares = calloc(t->shards, sizeof *t->shares);
    if (t->words == NULL || t->shares == NULL) {
        free(t->words);
        free(t->shares);
        return -ENOMEM;
    }
    weir_arena_init(&t->arena);
    return 0;
}

size_t weir_table_bytes(const struct weir_table *t)
{
    return weir_arena_bytes(&t->arena) + t->shards * (sizeof *t->words + sizeof *t->shares);
}

/* ---- arrays ---- */

static unsigned block_order(unsigned order)
{
    return order + 6; /* of a line's 64 bytes */
}

struct weir_array *weir_table_make_array(struct weir_table *t, uint64_t shard, unsigned order)
{
    bool own = false;
    struct weir_array *a = weir_arena_take(&t->arena, block_order(order), &own);
    if (a == NULL)
        return NULL;
    /* The block is zero: no next, no tag, nothing moved. */
    a->owner = t;
    a->shard = (uint32_t)shard;
    a->order = (uint8_t)order;
    a->own_mapping = own;
    weir_array_mark_header(a);
    weir_store_relaxed(&a->reach, WEIR_PROBE_LINES);
    weir_add_relaxed(&t->arrays, 1);
    weir_add_relaxed(&t->bytes, weir_array_bytes(a));
    return a;
}

void weir_table_free_array(struct weir_table *t, struct weir_array *a)
{
    weir_arena_give(&t->arena, a, block_order(a->order), a->own_mapping != 0);
}

/* An array and those after it, which no call uses any more: what is not cut from a chunk. The
   chunks go as wholes. */
static void free_chain(struct weir_table *t, uint64_t packed)
{
    while (packed != 0) {
        struct weir_array *a = weir_packed_array(packed);
        packed = weir_load_acquire(&a->next); /* pairs with its publication */
        if (a->own_mapping)
            weir_table_free_array(t, a);
    }
}

void weir_table_free(struct weir_table *t)
{
    for (uint64_t i = 0; i < t->shards; i++)
        free_chain(t, weir_load_acquire(&t->words[i])); /* pairs with its publication */
    weir_arena_close(&t->arena);
    free(t->words);
    free(t->shares);
}

/* ---- reading all of it ---- */

uint64_t weir_table_keys(const struct weir_table *t, uint64_t *error)
{
    uint64_t keys = 0;
    *error = 0;
    for (uint64_t i = 0; i < t->shards; i++) {
        uint64_t packed = weir_load_acquire(&t->words[i]); /* pairs with its publication */
        if (packed == 0)
            continue;
        const struct weir_array *root = weir_packed_array(packed);
        uint64_t held = weir_array_count(root);
        uint64_t next = weir_load_acquire(&root->next); /* pairs with its publication */
        keys += held;
        if (next != 0) {
            const struct weir_array *to = weir_packed_array(next);
            uint64_t moved = weir_load_relaxed(&to->moved) & WEIR_COUNT_MASK;
            keys += weir_load_relaxed(&to->fresh) & WEIR_COUNT_MASK;
            *error += held - (moved < held ? moved : held);
        }
    }
    return keys;
}

typedef void visit_slot(void *context, uint64_t tag, struct weir_atomic_u64 *word);

void weir_array_walk(struct weir_array *a, visit_slot *visit, void *context)
{
    struct weir_line *lines = weir_array_lines(a);
    for (uint64_t i = 0; i < weir_order_lines(a->order); i++) {
        for (int slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
            uint64_t tag = weir_load_acquire(&lines[i].tag[slot]); /* pairs with its claim */
            if (tag != WEIR_TAG_EMPTY && tag != WEIR_TAG_SEALED)
                visit(context, tag, &lines[i].word[slot]);
        }
    }
}

/* ---- what must always be true ---- */

struct check {
    const struct weir_array *array;
    const struct weir_array *next; /* NULL: the array is not being moved */
    uint64_t tags;
    bool valid;
};

static bool is_live(const struct weir_array *a, uint64_t tag)
{
    struct weir_search s;
    if (weir_array_search(a, tag, &s) != WEIR_FOUND)
        return false;
    uint64_t word = weir_load_acquire(weir_search_word(&s)); /* pairs with who wrote it */
    return word != 0 && (word & WEIR_WORD_FROZEN) == 0;
}

static void check_slot(void *context, uint64_t tag, struct weir_atomic_u64 *word)
{
    struct check *c = context;
    struct weir_search s;
    c->tags++;
    if (weir_array_search(c->array, tag, &s) != WEIR_FOUND || weir_search_word(&s) != word)
        c->valid = false;
    if (c->next != NULL && is_live(c->array, tag) && is_live(c->next, tag))
        c->valid = false;
}

/* Lines fill from their first slot on. */
static bool lines_are_valid(const struct weir_array *a)
{
    const struct weir_line *lines = weir_array_lines(a);
    for (uint64_t i = 0; i < weir_order_lines(a->order); i++) {
        bool ended = false;
        for (int slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
            uint64_t tag = weir_load_acquire(&lines[i].tag[slot]); /* pairs with its claim */
            if (tag == WEIR_TAG_EMPTY || tag == WEIR_TAG_SEALED)
                ended = true;
            else if (ended)
                return false;
        }
    }
    return true;
}

static bool array_is_valid(struct weir_array *a, struct weir_array *next)
{
    struct check c = {a, next, 0, true};
    weir_array_walk(a, check_slot, &c);
    return c.valid && c.tags == weir_array_count(a) && lines_are_valid(a);
}

bool weir_table_is_valid(const struct weir_table *t)
{
    uint64_t spent = 0;
    for (uint64_t i = 0; i < t->shards; i++) {
        uint64_t packed = weir_load_acquire(&t->words[i]); /* pairs with its publication */
        spent += weir_load_relaxed(&t->shares[i].credits);
        if (packed == 0)
            continue;
        struct weir_array *root = weir_packed_array(packed);
        uint64_t next = weir_load_acquire(&root->next); /* pairs with its publication */
        struct weir_array *to = next != 0 ? weir_packed_array(next) : NULL;
        if (!array_is_valid(root, to) || (to != NULL && !array_is_valid(to, NULL)))
            return false;
        spent += weir_array_count(root);
        if (to != NULL)
            spent += weir_load_relaxed(&to->fresh) & WEIR_COUNT_MASK;
    }
    return spent + weir_load_relaxed(&t->unspent) == t->max_keys;
}
