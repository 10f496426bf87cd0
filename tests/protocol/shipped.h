/* SPDX-License-Identifier: MIT */
/*
 * Calls on keys, as they ship: the text of engine/place.c, call.c, decide.c, quick.c and permit.c,
 * beside that of the headers. g++ takes it for C++ with -fpermissive.
 *
 * Between the files stand two taps, which note where a call found its key, or that it was refused.
 */
#ifndef WEIR_TESTS_SHIPPED_H
#define WEIR_TESTS_SHIPPED_H

#include "world.h"

/* What a call came by last. */
struct noted {
    bool refused, held;
    const weir_array *array; /* where the key has its place, or was refused one; NULL: unknown */
};

static noted notes[WORLD_THREADS];

static weir_atomic_u64 *find_and_note(const weir_table *t, const weir_probe *p)
{
    uint64_t packed = weir_table_word(t, p->shard);
    weir_atomic_u64 *word = weir_packed_find(packed, weir_packed_home(packed, p->tag), p->tag);
    const noted note = {false, true, word != NULL ? weir_packed_array(packed) : NULL};
    notes[rl::thread_index()] = note;
    return word;
}

/* Relacy's cannot be written. */
#undef errno
#define errno (*__errno_location())
#undef errno
static int errno;

#include "place.c"

static weir_place place_and_note(weir *engine, const weir_probe *probe, weir_ns now, weir_look look)
{
    weir_place p = weir_place_of(engine, probe, now, look);
    const noted note = {p.word == NULL && p.refused, p.word != NULL, p.array};
    notes[rl::thread_index()] = note;
    return p;
}

#define weir_table_find find_and_note
#define weir_place_of   place_and_note
#include "call.c"
#define admit decide_admit
#include "decide.c"
#undef admit
#undef weir_place_of
#undef weir_table_find
#define decide quick_decide
#include "quick.c"
#undef decide
#define try try_ /* a word of C++ */
#include "permit.c"
#undef try

/* ---- what no scenario needs: origins that move, unix time, zones ---- */

const weir_settings *weir_settings_settle(weir *, weir_limit *l, const weir_settings *s,
                                          weir_ns now, weir_instant *at)
{
    bool told = weir_limit_instant(host, l, s, now, at);
    weir_limit_instant_clamped(host, l, s, now, at);
    RL_ASSERT(told || s->meter.kind == WEIR_TOKEN_BUCKET);
    return s;
}

static void not_here()
{
    world_require(false, "a part that is not modelled is called");
}

const weir_settings *weir_settings_aside(const weir *, weir_limit *, const weir_settings *s,
                                         weir_ns, weir_instant *, weir_settings *)
{
    not_here();
    return s;
}

void weir_settings_copy(weir_settings *, const weir_settings *)
{
    not_here();
}

weir_ns weir_wall_ask(weir *, weir_ns now, weir_wall_of)
{
    not_here();
    return now;
}

int weir_zone_find(const char *, const weir_zone **)
{
    not_here();
    return -1;
}

void weir_zone_window_search(const weir_zone *, weir_calendar, int64_t, weir_zone_window *)
{
    not_here();
}

int64_t weir_zone_start_search(const weir_zone *, weir_calendar, int64_t)
{
    not_here();
    return 0;
}

/* ---- work on the whole shard ---- */

/* Begins to replace the root by an array of an order so much higher; unless a move is under way
   (`ends`: it is ended first). */
static void replace_root(uint64_t now, int higher, bool ends)
{
    weir_effort e = begin_effort(host, 0, 0, now);
    weir_read_begin();
    uint64_t packed = weir_load_acquire(&w.words[0]);
    weir_array *root = packed != 0 ? weir_packed_array(packed) : NULL;
    if ((packed & WEIR_ARRAY_MOVING) != 0)
#ifdef WITHOUT_ROOT_RULE
        root = weir_shard_next(root);
#else
        root = ends ? settle(&e) : NULL;
#endif
    unsigned order = root != NULL ? (unsigned)(root->order + higher) : 0;
    if (root != NULL)
        weir_shard_start(&e, root, order < WEIR_ORDER_MAX ? order : WEIR_ORDER_MAX);
    weir_read_end();
}

static void trim(uint64_t now)
{
    weir_read_begin();
    weir_place_trim(host, 0, now);
    weir_read_end();
}

/* Ends a move that is under way. */
static void finish_root(uint64_t now)
{
    weir_read_begin();
    weir_place_settle(host, 0, now);
    weir_read_end();
}

#endif
