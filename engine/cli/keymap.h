/* SPDX-License-Identifier: MIT */
/*
 * The distinct keys of a log and what happened to each: found by the engine's 128-bit key,
 * numbered from 0 in the order of their coming. Memory per key is bounded: of a long text the
 * beginning is kept.
 */
#ifndef WEIR_CLI_KEYMAP_H
#define WEIR_CLI_KEYMAP_H

#include "log.h"

#include <weir/weir.h>

/* What is kept of a key's text. */
#define KEYMAP_TEXT_MAX 256

#define KEYMAP_NONE UINT32_MAX /* no key: the map is full */

struct key_count {
    uint64_t allowed, denied;
};

struct key_entry {
    weir_key key;
    uint64_t first; /* position of its first event on the replay's time line; UINT64_MAX: none */
    const char *text;
    size_t text_size; /* of the whole text; KEYMAP_TEXT_MAX bytes of it are kept */
    uint32_t number;
    struct key_count *counts; /* one per limit */
};

struct keymap;

/* A map of at most keys_max keys, with a key_count for each of `limits`. */
struct keymap *keymap_open(uint32_t keys_max, size_t limits);
void keymap_close(struct keymap *map);

/* The number of a key, new keys included; KEYMAP_NONE when a new one has no room. */
uint32_t keymap_intern(struct keymap *map, weir_key key, struct slice text);

uint32_t keymap_size(const struct keymap *map);

/* By number below keymap_size. Entries do not move. */
struct key_entry *keymap_at(const struct keymap *map, uint32_t number);

/*
 * The key's text as UTF-8, different for different keys (utf8_put); of a text past
 * KEYMAP_TEXT_MAX the beginning, U+FFFD, "+", the count of bytes left out, "#" and the hash.
 */
void key_entry_put_text(const struct key_entry *entry, struct text *out);

/* The kept bytes as they are; *whole false when there were more. */
struct slice key_entry_bytes(const struct key_entry *entry, bool *whole);

#endif
