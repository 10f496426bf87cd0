/* SPDX-License-Identifier: MIT */
/*
 * Scenarios: what three threads do to one shard, and what must have come of it.
 *
 * One key gets one token each 10 ns, burst 1; a payload is the instant at which the key is as if
 * never used. So of calls for one key at instants less than 10 ns apart one is allowed at most, and
 * none that comes before the payload.
 *
 * Keys A to F are named by where they are at home: A and E in the first quarter of an array, C in
 * the second, B and F in the third, D in the fourth.
 */
#ifndef WEIR_TESTS_SCENARIOS_H
#define WEIR_TESTS_SCENARIOS_H

#include "outcome.h"

/* The order of the first array: one line with slots. */
#ifndef ROOT
#define ROOT 2
#endif

struct scenario {
    const char *name;
    uint64_t max_keys; /* all of them with the shard in the beginning */
    unsigned block_log2;
    int usable; /* slots of a line */
    bool settings_change, memory_fails;
    void (*before)();
    void (*thread)(unsigned);
    bool (*after)();
    unsigned chunk_lines, probe_lines, slots_free, rounds; /* 0: as usual */
};

/* ---- one key through growth ---- */

/* A in debt, B idle; growth begins beside three calls for A. */
static void debt_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.a, 10);
    world_put(root, key.b, 4);
}

static void debt_thread(unsigned i)
{
    const uint64_t now[] = {10, 5, 11};
    if (i == 0)
        replace_root(now[0], 1, false);
    admit(key.a, now[i]);
}

static bool debt_after()
{
    return is_allowed_once(key.a, 12);
}

/* The first touch of a key, beside growth. */
static void first_before()
{
    world_root(ROOT);
}

static void first_thread(unsigned i)
{
    admit(key.a, i == 2 ? 6 : 5);
    if (i == 2)
        replace_root(6, 1, false);
}

static bool first_after()
{
    return is_allowed_once(key.a, 7);
}

/* The same, but growth is what the key's insertion brings about. */
static void full_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.b, 3);
    fill(root, 0);
}

static void full_thread(unsigned i)
{
    admit(key.a, i == 2 ? 6 : 5);
}

/* A in debt, idle for some clocks only. */
static void clocks_before()
{
    world_put(world_root(ROOT), key.a, 10);
}

static void clocks_thread(unsigned i)
{
    const uint64_t now[] = {12, 5, 9};
    if (i == 2)
        replace_root(9, 1, false);
    admit(key.a, now[i]);
}

static bool clocks_after()
{
    return is_allowed_once(key.a, 13);
}

/* A helper with a fast clock finds A idle; a call with a stale clock meets the new slot. */
static void horizon_thread(unsigned i)
{
    if (i == 0) {
        replace_root(12, 1, false);
        admit(key.b, 12);
    } else {
        admit(key.a, i == 1 ? 5 : 16);
    }
}

static bool horizon_after()
{
    return is_allowed_once(key.a, 17) && is_allowed_once(key.b, 13);
}

/* The same over two growths: the horizon is inherited. */
static void inherited_thread(unsigned i)
{
    if (i == 0) {
        replace_root(12, 0, false);
        replace_root(12, 0, false); /* does nothing: only a root is replaced */
        finish_root(12);
        replace_root(1, 0, false);
        finish_root(1);
    } else {
        admit(key.a, i == 1 ? 5 : 16);
    }
}

static bool inherited_after()
{
    return is_allowed_once(key.a, 17);
}

/* ---- several keys ---- */

/* Growth upon growth: A and B stay in debt, C is new. */
static void root_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.a, 50);
    world_put(root, key.b, 50);
}

static void root_thread(unsigned i)
{
    if (i == 0) {
        replace_root(1, 0, false);
        admit(key.c, 1);
    } else if (i == 1) {
        replace_root(1, 1, true);
        admit(key.a, 1);
    } else {
        admit(key.b, 1);
    }
}

static bool root_after()
{
    return is_allowed_once(key.c, 2) && allowed(key.a) == 0 && allowed(key.b) == 0 &&
           is_denied(key.a, 49) && is_denied(key.b, 49);
}

/* Three new keys where there is no room for them: room is made twice. */
static void crowd_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.d, 50);
    fill(root, 0);
}

static void crowd_thread(unsigned i)
{
    const uint64_t tags[] = {key.a, key.e, key.b};
    admit(tags[i], 5);
}

static bool crowd_after()
{
    return is_allowed_once(key.a, 6) && is_allowed_once(key.e, 6) && is_allowed_once(key.b, 6) &&
           is_denied(key.d, 49);
}

/* Compaction, of which A is left behind by one clock and kept by the other, beside a new key. */
static void compact_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.a, 10);
    world_put(root, key.b, 50);
}

static void compact_thread(unsigned i)
{
    if (i == 0) {
        replace_root(12, 0, false);
        admit(key.b, 12);
    } else if (i == 1) {
        admit(key.a, 5);
    } else {
        admit(key.c, 11);
    }
}

static bool compact_after()
{
    /* Before the others' clocks were there, A was in debt; afterwards it may begin at theirs. */
    return allowed(key.a) <= 1 && is_allowed_once(key.c, 12) && allowed(key.b) == 0 &&
           is_denied(key.b, 49);
}

/* A thread that helps late: it has frozen A and finds it in debt, while the others find it idle,
   end the move and go on to the next one. */
static void late_thread(unsigned i)
{
    if (i == 0) {
        admit(key.a, 5);
    } else if (i == 1) {
        replace_root(12, 1, false);
        finish_root(12);
    } else {
        admit(key.a, 16);
    }
}

static bool late_after()
{
    return is_allowed_once(key.a, 17);
}

/* The same with a second move after the first. */
static void later_thread(unsigned i)
{
    if (i == 0) {
        admit(key.a, 5);
    } else if (i == 1) {
        replace_root(12, 0, false);
        finish_root(12);
        replace_root(13, 0, false);
        finish_root(13);
    } else {
        admit(key.a, 16);
    }
}

/* Two chunks (where these are small). */
static void chunks_before()
{
    weir_array *root = world_root(ROOT + 1);
    world_put(root, key.a, 50);
    world_put(root, key.b, 4);
}

static void chunks_thread(unsigned i)
{
    if (i == 0) {
        replace_root(5, 1, false);
        admit(key.a, 5);
    } else {
        admit(i == 1 ? key.a : key.b, 5);
    }
}

static bool chunks_after()
{
    return is_allowed_once(key.b, 6) && allowed(key.a) == 0 && is_denied(key.a, 49);
}

/* D is idle by one clock, and left behind by a thread that stops before it leads the shard on. */
static void handover_before()
{
    weir_array *root = world_root(ROOT + 1);
    world_put(root, key.d, 10);
}

static void handover_thread(unsigned i)
{
    if (i == 0) {
        replace_root(12, 1, false);
        admit(key.b, 12);
    } else {
        admit(i == 1 ? key.c : key.d, i == 1 ? 12 : 5);
    }
}

static bool handover_after()
{
    return allowed(key.d) <= 1 && (allowed(key.d) == 0 || is_denied(key.d, 17)) &&
           is_allowed_once(key.b, 13) && is_allowed_once(key.c, 13);
}

/* Shrinking, while a thread is in the midst of its help and another has a new key. */
static void shrink_before()
{
    weir_array *root = world_root(ROOT + 1);
    world_put(root, key.a, 50);
}

static void shrink_thread(unsigned i)
{
    if (i == 0)
        admit(key.c, 1);
    else if (i == 1)
        trim(1);
    else
        admit(key.b, 1);
}

static bool shrink_after()
{
    return is_allowed_once(key.c, 2) && is_allowed_once(key.b, 2) && allowed(key.a) == 0 &&
           is_denied(key.a, 49);
}

/* Two that shrink. */
static void shrinks_thread(unsigned i)
{
    if (i == 0)
        admit(key.c, 1);
    else
        trim(1);
}

static bool shrinks_after()
{
    return is_allowed_once(key.c, 2) && allowed(key.a) == 0 && is_denied(key.a, 49);
}

/* Keys that are idle by the clock that shrinks, and not by one that helps late: of these there can
   be many. D is in debt by any clock. Two threads. */
static void stale_before()
{
    weir_array *root = world_root(ROOT + 1);
    world_put(root, key.a, 10);
    world_put(root, key.c, 10);
    world_put(root, key.e, 10);
    world_put(root, key.d, 50);
}

static void stale_thread(unsigned i)
{
    if (i == 0)
        admit(key.f, 5);
    else if (i == 1)
        trim(12);
}

static bool stale_after()
{
    return is_allowed_once(key.f, 6) && is_denied(key.d, 49);
}

/* Three new keys beside a move in chunks of one line, into an array that has room for one of them
   (there is one slot a line, and an order of 3 counts as full with five keys). */
static uint64_t key_of_line(unsigned line, unsigned which)
{
    for (uint64_t tag = 4;; tag += 4) {
        if (weir_tag_home(tag, 3) == line && which-- == 0)
            return tag;
    }
}

static void beside_before()
{
    weir_array *root = world_root(ROOT + 1);
    for (unsigned line = 4; line < 8; line++)
        world_put(root, key_of_line(line, 0), 50);
}

static void beside_thread(unsigned i)
{
    if (i == 0)
        replace_root(1, 0, false);
    admit(key_of_line(3, i), 1);
}

static bool beside_after()
{
    for (unsigned line = 4; line < 8; line++) {
        if (!is_denied(key_of_line(line, 0), 49))
            return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (placed(key_of_line(3, i)) > 1)
            return false;
    }
    return refused_is_refused();
}

/* ---- the bound ---- */

/* One credit, two keys, of which one is met twice. */
static void refusal_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.d, 50);
}

static void refusal_thread(unsigned i)
{
    admit(i == 1 ? key.b : key.a, 5);
}

static bool refusal_after()
{
    /* What is refused shares one overflow bucket. */
    unsigned slots = placed(key.a) + placed(key.b);
    unsigned sum = allowed(key.a) + allowed(key.b);
    return refused_is_refused() && placed(key.a) <= 1 && placed(key.b) <= 1 && sum <= slots + 1 &&
           (w.someone_stopped || slots >= 1);
}

/* No credit, and what is left behind gives one back. */
static void room_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.d, 4);
}

static bool room_after()
{
    return refused_is_refused() && placed(key.a) <= 1 && placed(key.b) <= 1 &&
           allowed(key.a) + allowed(key.b) <= placed(key.a) + placed(key.b) + 1;
}

/* A refund to a key that has no place, when the last credit is taken. */
static void settle_thread(unsigned i)
{
    if (i == 0)
        admit(key.a, 5);
    else if (i == 1)
        admit(key.b, 5);
    else
        call(0, key.a, 5, WEIR_REFUND);
}

static bool settle_after()
{
    return refused_is_refused();
}

/* The same beside a move, which gives a credit back. */
static void settled_thread(unsigned i)
{
    if (i == 0)
        admit(key.a, 5);
    else if (i == 1)
        replace_root(5, 0, false);
    else
        call(0, key.a, 5, WEIR_REFUND);
}

/* A block goes back while a new key comes: there is a credit for it all the time. */
static void returned_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.b, 3);
}

static void returned_thread(unsigned i)
{
    if (i == 0) {
        replace_root(5, 1, false);
        finish_root(5);
    } else if (i == 1) {
        admit(key.a, 5);
    }
}

static bool nobody_refused()
{
    for (int i = 0; i < WORLD_THREADS; i++) {
        if (outcomes[i][0].refused)
            return false;
    }
    return true;
}

static bool returned_after()
{
    return nobody_refused() && is_allowed_once(key.a, 6);
}

/* The last block is dealt to two new keys. */
static void dealing_before()
{
    world_root(ROOT);
    weir_store_relaxed(&w.shares[0].credits, 0);
    weir_store_relaxed(&host->table.unspent, host->table.max_keys);
}

static void dealing_thread(unsigned i)
{
    if (i < 2)
        admit(i == 0 ? key.a : key.b, 5);
}

static bool dealing_after()
{
    return nobody_refused() && is_allowed_once(key.a, 6) && is_allowed_once(key.b, 6);
}

/* Two shards that are dealt credits from the same word, of which one gives some back. */
static void dealt_before()
{
    host->table.shards = 2;
    host->table.stagger = (uint64_t)1 << 31;
    weir_array *root = world_root(ROOT);
    world_put(root, key.b, 3);
    weir_array *other = weir_table_make_array(&host->table, 1, ROOT);
    weir_store_relaxed(&w.words[1], weir_array_pack(other));
}

static void dealt_thread(unsigned i)
{
    if (i == 0)
        admit(key.a, 5);
    else
        admit(i == 1 ? key.a : key.d, 5, 1);
}

static bool dealt_after()
{
    /* Three keys for two credits, once B has been left behind. */
    unsigned sum = 0;
    for (int i = 0; i < WORLD_THREADS; i++)
        sum += outcomes[i][0].allowed && !outcomes[i][0].refused;
    return w.someone_stopped || (sum >= 1 && sum <= 3);
}

/* Keys past the lines in which new ones are placed (here these are few). */
static void reach_before()
{
    weir_array *root = world_root(ROOT + 1);
    world_put(root, key_of_line(6, 0), 50);
    world_put(root, key_of_line(6, 1), 50);
}

static void reach_thread(unsigned i)
{
    if (i == 0) {
        replace_root(1, 0, false);
        finish_root(1);
    } else {
        admit(key_of_line(6, 2 - i), 1);
    }
}

static bool reach_after()
{
    return allowed(key_of_line(6, 0)) == 0 && allowed(key_of_line(6, 1)) == 0 &&
           is_denied(key_of_line(6, 0), 49) && is_denied(key_of_line(6, 1), 49);
}

/* Of many rounds of making room none is left (there may be few): who gives up, and who
   goes on, for the same key. */
static void rounds_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.d, 50);
    world_put(root, key.c, 3);
}

static void rounds_thread(unsigned i)
{
    admit(i == 2 ? key.b : key.a, 5);
}

static bool rounds_after()
{
    return refused_is_refused() && placed(key.a) <= 1 && placed(key.b) <= 1 && is_denied(key.d, 49);
}

/* ---- no array, no memory ---- */

static void founded_before()
{
}

static bool founded_after()
{
    return is_allowed_once(key.a, 7);
}

/* Memory for no array, or one. */
static void memory_before()
{
    full_before();
    host->table.arena.allowance = rl::rand(2);
}

/* A question does not try whether there is memory again, and may be wrong about it. */
static bool memory_after()
{
    return refused_is_refused() && placed(key.a) <= 1 && allowed(key.a) <= placed(key.a) + 1 &&
           (allowed(key.a) != 0 || w.someone_stopped);
}

/* ---- a new generation of settings: words of the older one are re-based, or not known ---- */

static void settings_before()
{
    weir_array *root = world_root(ROOT);
    world_put(root, key.a, 10);
    world_put(root, key.d, 50);
    world_settings(1, world_bucket(WORLD_TOKEN), 2, -5); /* another origin of the same policy */
    w.settings[1].serial = w.settings[1].kin = w.settings[0].serial;
    w.settings[1].previous = &w.settings[0];
}

/* Nobody has touched it, but for a move perhaps. */
static bool d_owes_until_50()
{
    return is_denied(key.d, 49) && !is_denied(key.d, 50);
}

static void settings_thread(unsigned i)
{
    const uint64_t now[] = {10, 11, 12};
    if (i == 0)
        world_publish(1);
    admit(key.a, now[i]);
}

/* The same with a slot that was never used. */
static void anew_before()
{
    settings_before();
    world_put(weir_packed_array(weir_load_relaxed(&w.words[0])), key.b, 0);
}

static void anew_thread(unsigned i)
{
    const uint64_t now[] = {10, 11, 12};
    if (i == 0)
        world_publish(1);
    admit(key.b, now[i]);
}

static bool anew_after()
{
    return is_allowed_once(key.b, 13) && d_owes_until_50();
}

/* The same beside a move. */
static void rebase_thread(unsigned i)
{
    if (i == 2) {
        replace_root(4, 1, false);
        finish_root(4);
    } else {
        settings_thread(i);
    }
}

static bool settings_after()
{
    return is_allowed_once(key.a, 13) && d_owes_until_50();
}

static const scenario scenarios[] = {
    {"debt", 50, 6, 2, false, false, debt_before, debt_thread, debt_after},
    {"first", 50, 6, 2, false, false, first_before, first_thread, first_after},
    {"full", 50, 6, 2, false, false, full_before, full_thread, first_after},
    {"clocks", 50, 6, 2, false, false, clocks_before, clocks_thread, clocks_after},
    {"horizon", 50, 6, 2, false, false, clocks_before, horizon_thread, horizon_after},
    {"inherited", 50, 6, 2, false, false, clocks_before, inherited_thread, inherited_after},
    {"root", 50, 6, 3, false, false, root_before, root_thread, root_after},
    {"crowd", 50, 6, 2, false, false, crowd_before, crowd_thread, crowd_after},
    {"compact", 50, 6, 3, false, false, compact_before, compact_thread, compact_after},
    {"late", 50, 6, 2, false, false, clocks_before, late_thread, late_after},
    {"later", 50, 6, 2, false, false, clocks_before, later_thread, late_after},
    {"chunks", 50, 6, 1, false, false, chunks_before, chunks_thread, chunks_after, 3},
    {"chunks-debt", 50, 6, 2, false, false, debt_before, debt_thread, debt_after, 3},
    {"handover", 50, 6, 2, false, false, handover_before, handover_thread, handover_after, 3},
    {"chunks-horizon", 50, 6, 2, false, false, clocks_before, horizon_thread, horizon_after, 3},
    {"chunks-root", 50, 6, 3, false, false, root_before, root_thread, root_after, 3},
    {"shrink", 50, 6, 2, false, false, shrink_before, shrink_thread, shrink_after},
    {"shrinks", 50, 6, 2, false, false, shrink_before, shrinks_thread, shrinks_after},
    {"stale", 50, 6, 3, false, false, stale_before, stale_thread, stale_after},
    {"refusal", 2, 0, 3, false, false, refusal_before, refusal_thread, refusal_after},
    {"room", 1, 0, 2, false, false, room_before, refusal_thread, room_after},
    {"settle", 2, 0, 3, false, false, refusal_before, settle_thread, settle_after},
    {"settled", 1, 0, 2, false, false, room_before, settled_thread, settle_after},
    {"returned", 4, 2, 2, false, false, returned_before, returned_thread, returned_after},
    {"dealing", 2, 1, 3, false, false, dealing_before, dealing_thread, dealing_after},
    {"beside", 50, 6, 1, false, false, beside_before, beside_thread, beside_after, 1, 0, 14},
    {"dealt", 2, 0, 2, false, false, dealt_before, dealt_thread, dealt_after},
    {"reach", 50, 6, 1, false, false, reach_before, reach_thread, reach_after, 0, 1},
    {"rounds", 50, 6, 3, false, false, rounds_before, rounds_thread, rounds_after},
    {"rounds-few", 50, 6, 3, false, false, rounds_before, rounds_thread, rounds_after, 0, 0, 0, 1},
    {"founded", 50, 6, 2, false, false, founded_before, full_thread, founded_after},
    {"memory", 50, 6, 2, false, true, memory_before, full_thread, memory_after},
    {"settings", 50, 6, 3, true, false, settings_before, settings_thread, settings_after},
    {"anew", 50, 6, 3, true, false, anew_before, anew_thread, anew_after},
    {"rebase", 50, 6, 3, true, false, settings_before, rebase_thread, settings_after},
};

enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

#endif
