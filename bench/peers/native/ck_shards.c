/* SPDX-License-Identifier: MIT */
/*
 * 64 tables of ck_ht, each behind a spinlock, with a node per key: the key's 16 bytes, which the
 * table compares, and its cell.
 */
#include "ck_shards.h"

#include <ck_ht.h>
#include <ck_spinlock.h>

#include <stdlib.h>
#include <string.h>

#define SHARDS 64

struct node {
    weir_key key;
    struct weir_cell cell;
};

struct shard {
    ck_spinlock_t lock;
    ck_ht_t table;
} __attribute__((aligned(64)));

struct ck_shards {
    struct shard shards[SHARDS];
};

static void *take_memory(size_t size)
{
    return malloc(size);
}

static void give_memory(void *block, size_t size, bool later)
{
    (void)size;
    (void)later; /* nobody reads without the lock */
    free(block);
}

static struct ck_malloc memory = {.malloc = take_memory, .free = give_memory};

/* Keys are uniform already. */
static void hash_of_key(ck_ht_hash_t *hash, const void *key, size_t size, uint64_t seed)
{
    (void)size;
    (void)seed;
    weir_key k;
    memcpy(&k, key, sizeof k);
    hash->value = k.low;
}

struct ck_shards *ck_shards_open(uint64_t keys)
{
    struct ck_shards *shards = aligned_alloc(64, sizeof *shards);
    if (shards == NULL)
        return NULL;
    memset(shards, 0, sizeof *shards);
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *s = &shards->shards[i];
        ck_spinlock_init(&s->lock);
        if (!ck_ht_init(&s->table, CK_HT_MODE_BYTESTRING, hash_of_key, &memory,
                        2 * (keys / SHARDS + 1), 0)) {
            ck_shards_close(shards);
            return NULL;
        }
    }
    return shards;
}

void ck_shards_close(struct ck_shards *shards)
{
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *s = &shards->shards[i];
        if (s->table.map == NULL)
            continue;
        ck_ht_iterator_t at = CK_HT_ITERATOR_INITIALIZER;
        ck_ht_entry_t *entry;
        while (ck_ht_next(&s->table, &at, &entry))
            free(ck_ht_entry_value(entry));
        ck_ht_destroy(&s->table);
    }
    free(shards);
}

static struct node *add_node(ck_ht_t *table, ck_ht_hash_t hash, weir_key key)
{
    struct node *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        abort();
    *fresh = (struct node){.key = key};
    ck_ht_entry_t entry;
    ck_ht_entry_set(&entry, hash, &fresh->key, sizeof fresh->key, fresh);
    if (!ck_ht_put_spmc(table, hash, &entry))
        abort();
    return fresh;
}

bool ck_shards_allow(struct ck_shards *shards, weir_key key, const struct weir_meter *meter,
                     uint64_t n, weir_ns now)
{
    struct shard *s = &shards->shards[key.high >> 58];
    ck_ht_hash_t hash = {.value = key.low};
    ck_ht_entry_t entry;
    ck_ht_entry_key_set(&entry, &key, sizeof key);
    ck_spinlock_lock(&s->lock);
    struct node *found = ck_ht_get_spmc(&s->table, hash, &entry)
                             ? (struct node *)ck_ht_entry_value(&entry)
                             : add_node(&s->table, hash, key);
    bool allowed = weir_cell_decide(&found->cell, meter, n, now).verdict == WEIR_ALLOWED;
    ck_spinlock_unlock(&s->lock);
    return allowed;
}
