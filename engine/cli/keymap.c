/* SPDX-License-Identifier: MIT */
/* The distinct keys of a log and what happened to each: uthash over entries in an arena. */
#include "keymap.h"

#include "cli.h"
#include "printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define uthash_fatal(message) cli_out_of_memory()
#include <uthash.h>

/* Entries and texts are cut from blocks, so that a key costs no allocation of its own. */
#define CHUNK_ENTRIES ((uint32_t)1024)
#define BLOCK_SIZE    ((size_t)64 << 10)

/* The counts of the entry lie behind the node. */
struct node {
    UT_hash_handle hh;
    struct key_entry entry;
};

struct block {
    struct block *next;
    size_t used;
    char bytes[BLOCK_SIZE];
};

struct keymap {
    struct node *head; /* uthash's */
    uint32_t size, keys_max;
    size_t limits, stride;
    char **chunks;
    size_t chunk_count;
    struct block *blocks;
};

struct keymap *keymap_open(uint32_t keys_max, size_t limits)
{
    struct keymap *map = cli_alloc(1, sizeof *map);
    map->keys_max = keys_max;
    map->limits = limits;
    map->stride = sizeof(struct node) + limits * sizeof(struct key_count);
    return map;
}

void keymap_close(struct keymap *map)
{
    HASH_CLEAR(hh, map->head);
    for (size_t i = 0; i < map->chunk_count; i++)
        free(map->chunks[i]);
    free(map->chunks);
    while (map->blocks != NULL) {
        struct block *block = map->blocks;
        map->blocks = block->next;
        free(block);
    }
    free(map);
}

uint32_t keymap_size(const struct keymap *map)
{
    return map->size;
}

static struct node *node_at(const struct keymap *map, uint32_t number)
{
    char *chunk = map->chunks[number / CHUNK_ENTRIES];
    return (struct node *)(void *)(chunk + (number % CHUNK_ENTRIES) * map->stride);
}

struct key_entry *keymap_at(const struct keymap *map, uint32_t number)
{
    return &node_at(map, number)->entry;
}

static const char *store(struct keymap *map, struct slice text)
{
    size_t size = text.size < KEYMAP_TEXT_MAX ? text.size : KEYMAP_TEXT_MAX;
    if (map->blocks == NULL || BLOCK_SIZE - map->blocks->used < size) {
        struct block *block = cli_alloc(1, sizeof *block);
        block->next = map->blocks;
        map->blocks = block;
    }
    char *stored = map->blocks->bytes + map->blocks->used;
    if (size > 0)
        memcpy(stored, text.data, size);
    map->blocks->used += size;
    return stored;
}

static struct node *place(struct keymap *map)
{
    if (map->size == map->chunk_count * CHUNK_ENTRIES) {
        map->chunks = cli_resize(map->chunks, map->chunk_count + 1, sizeof *map->chunks);
        map->chunks[map->chunk_count++] = cli_alloc(CHUNK_ENTRIES, map->stride);
    }
    return node_at(map, map->size);
}

uint32_t keymap_intern(struct keymap *map, weir_key key, struct slice text)
{
    /* The key is a hash already, uniform in all bits. */
    unsigned hash = (unsigned)key.low;
    struct node *node;
    HASH_FIND_BYHASHVALUE(hh, map->head, &key, sizeof key, hash, node);
    if (node != NULL)
        return node->entry.number;
    if (map->size >= map->keys_max)
        return KEYMAP_NONE;
    node = place(map);
    node->entry = (struct key_entry){
        .key = key,
        .first = UINT64_MAX,
        .text = store(map, text),
        .text_size = text.size,
        .number = map->size,
        .counts = (struct key_count *)(void *)(node + 1),
    };
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, map->head, &node->entry.key, sizeof key, hash, node);
    return map->size++;
}

struct slice key_entry_bytes(const struct key_entry *entry, bool *whole)
{
    *whole = entry->text_size <= KEYMAP_TEXT_MAX;
    return (struct slice){entry->text, *whole ? entry->text_size : KEYMAP_TEXT_MAX};
}

void key_entry_put_text(const struct key_entry *entry, struct text *out)
{
    bool whole;
    struct slice bytes = key_entry_bytes(entry, &whole);
    utf8_put(out, bytes.data, bytes.size);
    if (!whole)
        text_print(out, "\xef\xbf\xbd+%zu#%016" PRIx64 "%016" PRIx64,
                   entry->text_size - KEYMAP_TEXT_MAX, entry->key.high, entry->key.low);
}
