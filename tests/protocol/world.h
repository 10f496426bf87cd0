/* SPDX-License-Identifier: MIT */
/*
 * What stands around the protocol under the model checker: cells, arrays from a pool, read
 * sections, retirement, one limit with its settings, and what must be true in the end.
 *
 * One world is one execution: world_begin makes it, world_end takes it down. Everything lives in
 * static memory, so that an execution is repeated at the same addresses.
 */
#ifndef WEIR_TESTS_WORLD_H
#define WEIR_TESTS_WORLD_H

#include "atomic.h"
#include "check.h"
#include "counters.h"
#include "rcu.h"
#include "waiters.h"

#include "table/arena.h"

#include "limiter.h"
#include "table/place.h"

#include <new>
#include <stdio.h>
#include <string.h>

enum {
    WORLD_THREADS = 3,
    WORLD_ARRAYS = 10,
    WORLD_LINES = 16, /* of a block, at most */
    WORLD_CELLS = 2000,
    WORLD_SHARDS = 2,
    WORLD_SETTINGS = 3
};

struct world_array {
    weir_array *array;
    int lines;        /* with slots */
    uint64_t retired; /* 0, or which retirement it was */
};

/* One thread: what it is allowed to see, and when it stops. */
struct world_thread {
    bool inside;      /* in a read section */
    uint64_t section; /* retirements that had begun when its read section did */
    unsigned left;    /* accesses until it stops for ever; 0: it never does */
    bool stopped;
};

struct world {
    alignas(64) unsigned char host[sizeof(weir) + sizeof(weir_limit)]; /* with one limit */
    weir_atomic_u64 words[WORLD_SHARDS];
    weir_share shares[WORLD_SHARDS];
    struct {
        alignas(64) weir_line lines[WORLD_LINES];
    } pool[WORLD_ARRAYS];
    world_array arrays[WORLD_ARRAYS];
    int arrays_made;
    int usable; /* slots of a line; the others are marked as no slots */
    unsigned char cells[WORLD_CELLS][sizeof(weir_checked)];
    int cells_made;
    weir_settings settings[WORLD_SETTINGS];
    unsigned char filled[WORLD_SETTINGS][sizeof(rl::var<int>)]; /* by which thread */
    weir_atomic_u64 newest;                                     /* what stands for limit.settings */
    weir_atomic_u64 closing;                                    /* for limit.closing */
    weir_atomic_u64 grace;                                      /* what liburcu orders */
    uint64_t retirements;
    world_thread threads[WORLD_THREADS];
    bool running;         /* threads are; the checks at each access apply */
    bool settings_change; /* in this scenario */
    bool memory_fails;    /* it may, in this scenario */
    bool retire_behind;   /* so much waits for readers that no array is replaced */
    bool someone_stopped;
};

alignas(64) static unsigned char world_bytes[sizeof(world)]; /* no constructor runs */
static world &w = *reinterpret_cast<world *>(world_bytes);
static weir *const host = reinterpret_cast<weir *>(w.host);
static weir_limit *const limit = host->limits;
static const char *world_fault; /* what was not so */

static void world_require(bool holds, const char *what)
{
    if (holds)
        return;
    world_fault = what;
    rl::ctx().fail_test(what, rl::test_result_user_assert_failed, $);
}

/* ---- cells ---- */

static weir_checked *world_cell(weir_atomic_u64 *a, weir_cell_kind kind, int array, int slot,
                                const char *name, uint64_t value)
{
    RL_ASSERT(w.cells_made < WORLD_CELLS);
    weir_checked *cell = new (w.cells[w.cells_made++]) weir_checked();
    cell->kind = kind;
    cell->array = array;
    cell->slot = slot;
    cell->name = name;
    cell->latest = value;
    cell->writes = 1;
    memset(cell->missed, 0, sizeof cell->missed);
    cell->now.store(value, rl::mo_relaxed, $);
    a->value = reinterpret_cast<uint64_t>(cell);
    return cell;
}

/* Without a cell: statistics, words of nobody's, no slots, and what no scenario at hand changes. */
static bool weir_is_plain(const weir_atomic_u64 *a)
{
    return a->value - reinterpret_cast<uint64_t>(w.cells) >= sizeof w.cells;
}

static uint64_t world_latest(const weir_atomic_u64 *a)
{
    return weir_is_plain(a) ? a->value : reinterpret_cast<weir_checked *>(a->value)->latest;
}

static weir_atomic_u64 *weir_checked_pointer(const void *slot)
{
    if (!w.settings_change)
        return NULL;
    return slot == &limit->settings ? &w.newest : slot == &limit->closing ? &w.closing : NULL;
}

/* Relacy finds out whether the writing of `filled` was published to who reads it. */
static rl::var<int> *world_filled(int settings)
{
    return reinterpret_cast<rl::var<int> *>(w.filled[settings]);
}

static int world_last_seen; /* so that it is read */

static void weir_checked_target(uint64_t address)
{
    uint64_t offset = address - reinterpret_cast<uint64_t>(w.settings);
    if (w.running && offset < sizeof w.settings)
        world_last_seen = (*world_filled((int)(offset / sizeof *w.settings)))($);
}

static world_thread *world_self()
{
    return &w.threads[rl::thread_index()];
}

static void weir_checked_stop()
{
    if (!w.running)
        return;
    world_thread *self = world_self();
    if (self->left == 0 || --self->left != 0)
        return;
    self->stopped = w.someone_stopped = true;
    throw weir_stopped();
}

static void weir_checked_trace(const weir_checked *cell, const char *what, rl::memory_order order,
                               uint64_t before, uint64_t after, const char *function, unsigned line)
{
    if (!rl::ctx().collecting_history())
        return;
    char place[64];
    char values[96];
    if (cell->slot >= 0)
        snprintf(place, sizeof place, "array %d %s[%d]", cell->array, cell->name, cell->slot);
    else if (cell->array >= 0)
        snprintf(place, sizeof place, "array %d %s", cell->array, cell->name);
    else
        snprintf(place, sizeof place, "%s", cell->name);
    if (before == after)
        snprintf(values, sizeof values, "%llx%s", (unsigned long long)after,
                 after != cell->latest ? " (old)" : "");
    else
        snprintf(values, sizeof values, "%llx -> %llx", (unsigned long long)before,
                 (unsigned long long)after);
    printf("  %d  %-22s %-9s %-8s %-44s %s:%u\n", (int)rl::thread_index(), place, what,
           rl::format(order), values, function, line);
}

/* ---- what must be true at each access ---- */

static weir_line *world_line(int array, int slot)
{
    return &weir_array_lines(w.arrays[array].array)[slot / WEIR_LINE_SLOTS];
}

static uint64_t world_tag(int array, int slot)
{
    return world_latest(&world_line(array, slot)->tag[slot % WEIR_LINE_SLOTS]);
}

static uint64_t world_word(int array, int slot)
{
    return world_latest(&world_line(array, slot)->word[slot % WEIR_LINE_SLOTS]);
}

static int world_slots(int array)
{
    return w.arrays[array].lines * WEIR_LINE_SLOTS;
}

/* S3: of all slots of a tag none is older and not frozen, and none is newer, than this one. */
static bool world_is_only(int array, uint64_t tag)
{
    for (int i = 0; i < w.arrays_made; i++) {
        if (i == array || w.arrays[i].array->shard != w.arrays[array].array->shard)
            continue;
        for (int slot = 0; slot < world_slots(i); slot++) {
            if (world_tag(i, slot) == tag &&
                (i > array || (world_word(i, slot) & WEIR_WORD_FROZEN) == 0))
                return false;
        }
    }
    return true;
}

static void weir_checked_access(weir_checked *cell, uint64_t before, uint64_t after, bool writes)
{
    if (writes) {
        cell->latest = after;
        cell->writes++;
    }
    if (!w.running)
        return;
    if (cell->array >= 0) {
        uint64_t retired = w.arrays[cell->array].retired;
        world_require(retired == 0 || retired > world_self()->section,
                      "R1: a retired array is touched");
    }
    if (!writes)
        return;
    if (cell->kind == WEIR_CELL_TAG) {
        world_require(before == WEIR_TAG_EMPTY, "S4: a tag changes");
        world_require(after == WEIR_TAG_SEALED || world_is_only(cell->array, after),
                      "S3: a slot beside a live one");
    }
    if (cell->kind == WEIR_CELL_WORD && (before & WEIR_WORD_FROZEN) != 0)
        world_require(after == before, "S4: a frozen word changes");
    if (cell->kind == WEIR_CELL_WORD && cell->array >= 0 && after != 0 &&
        (after & WEIR_WORD_FROZEN) == 0)
        world_require(world_is_only(cell->array, world_tag(cell->array, cell->slot)),
                      "S3: a state beside a live one");
}

/* ---- read sections and retirement ---- */

/* What liburcu promises: a section that begins after a grace period sees what came before it. */
static void weir_read_begin()
{
    rl::preemption_disabler alone(rl::ctx());
    weir_checked *grace = reinterpret_cast<weir_checked *>(w.grace.value);
    grace->now.fetch_add(0, rl::mo_acquire, $);
    world_self()->section = w.retirements;
    world_self()->inside = true;
}

static void weir_read_end()
{
    rl::preemption_disabler alone(rl::ctx());
    weir_checked *grace = reinterpret_cast<weir_checked *>(w.grace.value);
    grace->now.fetch_add(0, rl::mo_release, $);
    world_self()->inside = false;
}

/* False: somebody is inside a section that it would have to wait for. The executions in which the
   other threads have left by then are those in which it ends. */
static bool world_grace_period()
{
    weir_checked_stop();
    rl::ctx().sched();
    rl::preemption_disabler alone(rl::ctx());
    weir_checked *grace = reinterpret_cast<weir_checked *>(w.grace.value);
    for (int i = 0; i < WORLD_THREADS; i++) {
        if (w.threads[i].inside)
            return false;
    }
    grace->now.fetch_add(0, rl::mo_acq_rel, $);
    return true;
}

void weir_retire(struct weir_table *t, struct weir_array *a)
{
    (void)t;
    rl::preemption_disabler alone(rl::ctx());
    weir_checked *grace = reinterpret_cast<weir_checked *>(w.grace.value);
    for (int i = 0; i < w.arrays_made; i++) {
        if (w.arrays[i].array != a)
            continue;
        world_require(w.arrays[i].retired == 0, "R1: an array is retired twice");
        w.arrays[i].retired = ++w.retirements;
    }
    grace->now.fetch_add(1, rl::mo_release, $);
}

bool weir_retire_is_behind(const struct weir_table *t)
{
    (void)t;
    return w.retire_behind;
}

/* ---- arrays ---- */

/* As the arena does: all zero. Who has not got the array by its publication finds cells that were
   never written. */
struct weir_array *weir_table_make_array(struct weir_table *t, uint64_t shard, unsigned order)
{
    if (t->arena.allowance == 0)
        return NULL;
    t->arena.allowance--;
    rl::preemption_disabler alone(rl::ctx());
    int n = w.arrays_made;
    int lines = (int)weir_order_lines(order);
    RL_ASSERT(n < WORLD_ARRAYS && weir_order_block(order) <= WORLD_LINES && lines > 0);
    weir_array *a = reinterpret_cast<weir_array *>(w.pool[n].lines);
    memset(w.pool[n].lines, 0, sizeof w.pool[n].lines);
    a->owner = t;
    a->shard = (uint32_t)shard;
    a->order = (uint8_t)order;
    weir_array_mark_header(a);
    world_cell(&a->next, WEIR_CELL_OTHER, n, -1, "next", 0);
    world_cell(&a->horizon, WEIR_CELL_OTHER, n, -1, "horizon", 0);
    world_cell(&a->reach, WEIR_CELL_OTHER, n, -1, "reach", WEIR_PROBE_LINES);
    world_cell(&a->chunks, WEIR_CELL_OTHER, n, -1, "chunks", 0);
    world_cell(&a->done, WEIR_CELL_OTHER, n, -1, "done", 0);
    world_cell(&a->fresh, WEIR_CELL_OTHER, n, -1, "fresh", 0);
    world_cell(&a->moved, WEIR_CELL_OTHER, n, -1, "moved", 0);
    for (int i = 0; i < lines; i++) {
        weir_line *line = &weir_array_lines(a)[i];
        for (int slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
            int number = i * WEIR_LINE_SLOTS + slot;
            if (slot >= w.usable) {
                line->tag[slot].value = WEIR_TAG_HEADER;
                continue;
            }
            world_cell(&line->tag[slot], WEIR_CELL_TAG, n, number, "tag", 0);
            world_cell(&line->word[slot], WEIR_CELL_WORD, n, number, "word", 0);
        }
    }
    w.arrays[n].array = a;
    w.arrays[n].lines = lines;
    w.arrays[n].retired = 0;
    w.arrays_made++;
    return a;
}

/* ---- the limit ---- */

enum { WORLD_TOKEN = 10 }; /* ns until the next one; the burst is 1 */

static weir_policy world_bucket(uint64_t token)
{
    weir_policy policy;
    memset(&policy, 0, sizeof policy);
    policy.kind = WEIR_TOKEN_BUCKET;
    policy.limit = policy.burst = 1;
    policy.period = token;
    return policy;
}

static weir_policy world_permits(uint64_t permits)
{
    weir_policy policy;
    memset(&policy, 0, sizeof policy);
    policy.kind = WEIR_CONCURRENCY;
    policy.limit = permits;
    return policy;
}

/* As origin.c and change.c fill settings; of a bucket a payload is the instant, from the origin on,
   at which the key is as if never used. */
static void world_settings(int which, const weir_policy &policy, unsigned generation,
                           int64_t origin)
{
    static const weir_room room = {WEIR_PAYLOAD_BITS, 0,   180 * WEIR_DAY, 45 * WEIR_DAY,
                                   180 * WEIR_DAY,    NULL};
    weir_settings *s = &w.settings[which];
    memset(s, 0, sizeof *s);
    s->meter.policy = policy;
    s->meter.kind = (uint8_t)policy.kind;
    int error = weir_algorithm_prepare(&s->meter, &room);
    RL_ASSERT(error == 0);
    weir_algorithm_start(&s->meter, 0, WEIR_BUCKET_LINE_MAX);
    if (policy.kind == WEIR_TOKEN_BUCKET)
        weir_bucket_set_origin(&s->meter, origin, WEIR_BUCKET_LINE_MAX);
    s->meter.mark = weir_word_mark(generation);
    s->steps = origin;
    s->serial = s->kin = (uint64_t)which + 1;
    s->generation = generation;
    s->generations = (1U << (generation + 1)) - 2;
}

/* A change of the policy at an instant: words of the settings before it are re-priced. */
static void world_change(int which, const weir_policy &policy, uint64_t now)
{
    weir_settings *last = &w.settings[which - 1];
    world_settings(which, policy, last->generation + 1, 0);
    w.settings[which].kin = last->kin;
    w.settings[which].changed = now;
    w.settings[which].previous = last;
}

/* Publishes settings; these were filled in by this thread. */
static bool world_publish(int which)
{
    weir_settings *current = &w.settings[which - 1];
    (*world_filled(which))($) = which;
    return weir_pointer_cas_acq_rel(&limit->settings, &current, &w.settings[which]);
}

/* ---- begin and end ---- */

static void world_begin_limit()
{
    for (int i = 0; i < WORLD_SETTINGS; i++) {
        rl::var<int> *filled = new (w.filled[i]) rl::var<int>();
        (*filled)($) = i;
    }
    world_settings(0, world_bucket(WORLD_TOKEN), 1, 0);
    limit->settings = &w.settings[0];
    world_cell(&w.newest, WEIR_CELL_OTHER, -1, -1, "settings",
               reinterpret_cast<uint64_t>(&w.settings[0]));
    world_cell(&w.closing, WEIR_CELL_OTHER, -1, -1, "closing", 0);
    world_cell(&limit->overflow, WEIR_CELL_WORD, -1, -1, "overflow", 0);
}

static void world_begin(uint64_t max_keys, uint64_t credits, unsigned block_log2)
{
    weir_table *t = &host->table;
    w.running = w.retire_behind = w.someone_stopped = false;
    w.arrays_made = w.cells_made = 0;
    w.retirements = 0;
    memset(w.threads, 0, sizeof w.threads);
    memset(w.host, 0, sizeof w.host);
    host->serial = 1;
    host->quick_limits = host->max_limits = 1;
    host->stale_max = t->stale_max = 1000;
    t->words = w.words;
    t->shares = w.shares;
    t->shards = 1;
    t->stagger = (uint64_t)1 << 32;
    t->id_bits = 2;
    t->hash_mask = ~(uint64_t)3;
    t->max_keys = max_keys;
    t->block_log2 = block_log2;
    t->arena.allowance = WORLD_ARRAYS;
    for (int i = 0; i < WORLD_SHARDS; i++) {
        world_cell(&w.words[i], WEIR_CELL_OTHER, -1, -1, i == 0 ? "shard" : "shard 1", 0);
        world_cell(&w.shares[i].credits, WEIR_CELL_OTHER, -1, -1, i == 0 ? "credits" : "credits 1",
                   i == 0 ? credits : 0);
        w.shares[i].wait.value = 0;
        if (w.memory_fails)
            world_cell(&w.shares[i].wait, WEIR_CELL_OTHER, -1, -1, "wait", 0);
    }
    world_cell(&t->unspent, WEIR_CELL_OTHER, -1, -1, "unspent", max_keys - credits);
    world_cell(&w.grace, WEIR_CELL_OTHER, -1, -1, "grace", 0);
    world_begin_limit();
}

static void world_end()
{
    w.running = false;
    for (int i = 0; i < w.cells_made; i++)
        reinterpret_cast<weir_checked *>(w.cells[i])->~weir_checked();
    w.cells_made = 0;
    for (int i = 0; i < WORLD_SETTINGS; i++)
        world_filled(i)->~var();
}

/* The first array of a shard, before the threads begin. */
static weir_array *world_root(unsigned order)
{
    weir_array *a = weir_table_make_array(&host->table, 0, order);
    weir_store_relaxed(&w.words[0], weir_array_pack(a));
    return a;
}

/* A key in the root, with this payload; 0: it has a slot that was never used. */
static void world_put(weir_array *root, uint64_t tag, uint64_t payload)
{
    weir_search s;
    bool claimed;
    uint64_t races = 0;
    weir_array_claim(root, tag, 2 * WORLD_LINES, &s, &claimed, &races);
    RL_ASSERT(claimed);
    weir_add_relaxed(&root->fresh, 1);
    weir_add_relaxed(&w.shares[0].credits, (uint64_t)-1);
    if (payload != 0)
        weir_store_relaxed(weir_search_word(&s), w.settings[0].meter.mark | payload);
}

/* ---- what must be true in the end: weir_table_is_valid, on the checker's cells ---- */

static bool world_array_is_valid(const weir_array *a)
{
    uint64_t tags = 0;
    for (uint64_t i = 0; i < weir_order_lines(a->order); i++) {
        bool ended = false;
        weir_line *line = &weir_array_lines(a)[i];
        for (int slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
            weir_search s;
            uint64_t tag = weir_load_acquire(&line->tag[slot]);
            if (tag == WEIR_TAG_HEADER)
                continue;
            if (tag == WEIR_TAG_EMPTY || tag == WEIR_TAG_SEALED) {
                ended = true;
                continue;
            }
            tags++;
            if (ended || weir_array_search(a, tag, &s) != WEIR_FOUND ||
                weir_search_word(&s) != &line->word[slot])
                return false;
        }
    }
    return w.someone_stopped || tags == weir_array_count(a);
}

static bool world_is_valid()
{
    uint64_t spent = 0;
    for (uint64_t i = 0; i < host->table.shards; i++) {
        uint64_t packed = weir_load_acquire(&w.words[i]);
        spent += weir_load_relaxed(&w.shares[i].credits);
        if (packed == 0)
            continue;
        weir_array *root = weir_packed_array(packed);
        uint64_t next = weir_load_acquire(&root->next);
        if (!world_array_is_valid(root) ||
            (next != 0 && !world_array_is_valid(weir_packed_array(next))))
            return false;
        spent += weir_array_count(root);
        if (next != 0)
            spent += weir_load_relaxed(&weir_packed_array(next)->fresh) & WEIR_COUNT_MASK;
    }
    return w.someone_stopped ||
           spent + weir_load_relaxed(&host->table.unspent) == host->table.max_keys;
}

#endif
