/* SPDX-License-Identifier: MIT */
/*
 * The matrix: every row of operations, on every state of the shard, with every assignment of the
 * threads' clocks. What must have come of it is told by one rule for all.
 *
 * Buckets have a burst of 1 and a token each 10 ns. With m and M the least and the greatest clock,
 * P the instant at which a key is as if never used, and W the longest wait that is asked for:
 *
 *   S1  k grants take P' + 10 (k - 1) <= M + W, where P' = max(P, m). A question at M afterwards
 *       counts as one more grant; what was given back counts as none.
 *
 *   S2  if a call for the key came at P or later, one is granted, or the question is.
 *
 *   S5  the key is in debt until P + 10 for each grant that was not given back, and no longer than
 *       its last grant and as many tokens can have made it.
 *
 * Permits: never more in use than the limit at any moment, and in the end as many as are held.
 */
#ifndef WEIR_TESTS_MATRIX_H
#define WEIR_TESTS_MATRIX_H

#include "scenarios.h"

enum operation {
    NOTHING,
    ADMIT,   /* by weir_reserve */
    QUICKLY, /* by weir_decide */
    RESERVE, /* within WAIT */
    CANCEL,  /* a reservation that it makes first */
    ACQUIRE,
    PASS,    /* acquires, and releases what it got */
    RELEASE, /* what is held from the beginning */
    MOVE,    /* begins growth, and leaves it to the others */
    EXPIRE,  /* a compaction from begin to end */
    NEST,    /* growth upon growth */
    CHANGE,  /* of settings */
    REMOVE   /* of the limit; and another one with its id */
};

enum { WAIT = 10, LAST_TOKEN = 15 /* ns, after a change */ };

struct doing {
    operation what;
    uint64_t tag;
};

struct row {
    const char *name;
    bool permits, changes;
    doing of[WORLD_THREADS][2];
};

static const row rows[] = {
    {"admit", false, false, {{{ADMIT, key.a}}, {{ADMIT, key.a}}, {{QUICKLY, key.a}}}},
    {"insert", false, false, {{{ADMIT, key.c}}, {{ADMIT, key.c}}, {{ADMIT, key.e}}}},
    {"reserve", false, false, {{{RESERVE, key.a}}, {{RESERVE, key.a}}, {{ADMIT, key.a}}}},
    {"cancel", false, false, {{{CANCEL, key.a}}, {{RESERVE, key.a}}, {{ADMIT, key.a}}}},
    {"cancel-move", false, false, {{{CANCEL, key.a}}, {{MOVE}, {ADMIT, key.a}}, {{ADMIT, key.c}}}},
    {"move", false, false, {{{MOVE}, {ADMIT, key.a}}, {{QUICKLY, key.a}}, {{ADMIT, key.c}}}},
    {"expire", false, false, {{{EXPIRE}}, {{ADMIT, key.a}}, {{QUICKLY, key.a}}}},
    {"expire-insert", false, false, {{{EXPIRE}}, {{ADMIT, key.c}}, {{ADMIT, key.a}}}},
    {"nested", false, false, {{{NEST}}, {{MOVE}, {ADMIT, key.a}}, {{ADMIT, key.a}}}},
    {"nested-insert", false, false, {{{NEST}, {ADMIT, key.c}}, {{ADMIT, key.e}}, {{ADMIT, key.a}}}},
    {"change", false, true, {{{CHANGE}}, {{ADMIT, key.a}}, {{QUICKLY, key.a}}}},
    {"change-move", false, true, {{{CHANGE}, {ADMIT, key.a}}, {{MOVE}}, {{ADMIT, key.a}}}},
    {"change-insert", false, true, {{{CHANGE}}, {{ADMIT, key.c}}, {{EXPIRE}, {ADMIT, key.a}}}},
    {"remove", false, true, {{{REMOVE}}, {{ADMIT, key.a}}, {{ADMIT, key.a}}}},
    {"remove-move", false, true, {{{REMOVE}}, {{EXPIRE}}, {{ADMIT, key.a}}}},
    {"acquire", true, false, {{{ACQUIRE, key.a}}, {{ACQUIRE, key.a}}, {{PASS, key.a}}}},
    {"release", true, false, {{{RELEASE, key.a}}, {{ACQUIRE, key.a}}, {{ACQUIRE, key.c}}}},
    {"acquire-move",
     true,
     false,
     {{{MOVE}, {ACQUIRE, key.a}}, {{ACQUIRE, key.a}}, {{RELEASE, key.a}}}},
    {"acquire-nested", true, false, {{{NEST}}, {{PASS, key.a}}, {{ACQUIRE, key.a}}}},
    {"acquire-change", true, true, {{{CHANGE}}, {{ACQUIRE, key.a}}, {{ACQUIRE, key.a}}}},
};

enum { ROWS = sizeof rows / sizeof *rows };

enum state { EMPTY, ONE, IDLE, FULL, GROWING, STATES };

static const char *const state_names[STATES] = {"empty", "one", "idle", "full", "growing"};

/* By thread. A key at 21 is idle one unit later only, one at 12 is in debt for the stale clock. */
enum { CLOCKS = 3, AT = 20 };

static const uint64_t clocks[CLOCKS][WORLD_THREADS] = {{20, 20, 20}, {21, 20, 22}, {20, 5, 20}};
static const char *const clock_names[CLOCKS] = {"equal", "apart", "stale"};

/* The cell at hand. */
static struct {
    const row *r;
    state s;
    int c;
} at;

/* What came of it, by key. */
struct ledger {
    uint64_t tag, begins; /* P */
    bool late;            /* a call came at P or later */
    uint64_t grants[2];   /* by the limit with which the threads began, by another of its id */
    uint64_t back;
    int64_t held; /* permits that surely are */
    bool had;     /* some in the beginning */
    bool asked;   /* for one */
};

enum { LEDGERS = 4 };

static ledger ledgers[LEDGERS];
static weir_permit held;     /* from the beginning */
static bool removed, closed; /* wholly; or only for calls */

static ledger *ledger_of(uint64_t tag)
{
    for (int i = 0; i < LEDGERS; i++) {
        if (ledgers[i].tag == tag)
            return &ledgers[i];
    }
    RL_ASSERT(false);
    return NULL;
}

/* ---- what a cell begins with ---- */

static void put(weir_array *root, uint64_t tag, uint64_t payload)
{
    ledger *l = ledger_of(tag);
    if (at.r->permits)
        payload = at.s != IDLE;
    else
        l->begins = payload;
    l->held = at.r->permits ? (int64_t)payload : 0;
    l->had = l->held != 0;
    world_put(root, tag, payload);
    if (payload == 0) { /* used, and free again */
        weir_search s;
        weir_array_search(root, tag, &s);
        weir_store_relaxed(weir_search_word(&s), w.settings[0].meter.mark);
    }
}

static void begin_growing(weir_array *root)
{
    weir_effort e = begin_effort(host, 0, 0, AT);
    weir_shard_start(&e, root, root->order + 1U);
    weir_add_relaxed(&root->chunks, 1); /* somebody has taken it, and has moved D */
    weir_shard_take_up(&e, root, weir_shard_next(root));
    weir_move_key(&e.move, key.d);
}

static void matrix_before()
{
    const uint64_t tags[LEDGERS] = {key.a, key.c, key.e, key.d};
    memset(ledgers, 0, sizeof ledgers);
    memset(&held, 0, sizeof held);
    removed = closed = false;
    for (int i = 0; i < LEDGERS; i++)
        ledgers[i].tag = tags[i];
    if (at.r->permits)
        world_settings(0, world_permits(1), 1, 0);
    if (at.r->permits)
        world_change(1, world_permits(2), AT);
    else
        world_change(1, world_bucket(LAST_TOKEN), AT);
    /* The one that comes after a removal. */
    world_settings(2, world_bucket(WORLD_TOKEN), 2, 0);
    if (at.s == EMPTY)
        return;
    weir_array *root = world_root(ROOT);
    put(root, key.a, at.s == IDLE ? 12 : 21);
    if (at.s == FULL || at.s == GROWING)
        put(root, key.d, 50);
    else if (at.s == IDLE)
        put(root, key.e, 2);
    if (at.r->permits && at.s != IDLE) {
        held.n = 1;
        held.key = key_of(key.a, 0);
        held.serial = w.settings[0].kin;
        held.flags = PERMIT_HELD;
    }
    if (at.s == GROWING)
        begin_growing(root);
}

/* ---- what threads do ---- */

static void came(ledger *l, uint64_t now)
{
    l->late = l->late || now >= l->begins;
}

static void reserve(ledger *l, uint64_t now, uint64_t wait, bool cancels)
{
    weir_reservation r;
    outcome *o = &outcomes[rl::thread_index()][calls[rl::thread_index()]++];
    weir_result result = weir_reserve(host, 0, key_of(l->tag, 0), 1, now, wait, &r);
    const noted *note = &notes[rl::thread_index()];
    o->tag = l->tag;
    if (result.verdict == WEIR_INVALID)
        return;
    came(l, now);
    o->done = true;
    o->refused = note->refused;
    o->held = note->held;
    o->array = note->array;
    l->grants[r.serial == w.settings[2].serial] += result.verdict == WEIR_ALLOWED;
    if (cancels)
        l->back += weir_cancel(host, &r, now);
}

static void acquire(ledger *l, bool releases)
{
    weir_permit permit;
    weir_result result = weir_acquire(host, 0, key_of(l->tag, 0), 1, &permit);
    l->asked = true;
    if (result.verdict != WEIR_ALLOWED)
        return;
    l->held++;
    l->grants[0]++;
    world_require(l->held <= (at.r->changes ? 2 : 1), "S1: more permits than there are");
    if (!releases)
        return;
    l->held--;
    world_require(weir_release(host, &permit) == 0, "S7: a permit comes back");
}

static void release()
{
    if (held.n == 0)
        return;
    ledger_of(key.a)->held--;
    world_require(weir_release(host, &held) == 0, "S7: a permit comes back");
}

/* As close_limit and free_limit in engine/limits.c; it gives up where these would wait. */
static void remove_limit()
{
    weir_settings *last = weir_pointer_load_acquire(&limit->settings);
    weir_settings *none = NULL;
    do
        weir_pointer_store_release(&limit->closing, last);
    while (!weir_pointer_cas_acq_rel(&limit->settings, &last, none));
    closed = true;
    if (!world_grace_period())
        return;
    weir_pointer_store_release(&limit->closing, none);
    if (!world_grace_period())
        return;
    w.settings[2].generations = w.settings[0].generations | 1U << w.settings[2].generation;
    (*world_filled(2))($) = 2;
    removed = true;
    weir_pointer_store_release(&limit->settings, &w.settings[2]);
    closed = false;
}

static void on_shard(operation what, uint64_t now)
{
    switch (what) {
    case MOVE:
        replace_root(now, 1, false);
        break;
    case EXPIRE:
        replace_root(now, 0, true);
        finish_root(now);
        break;
    case NEST:
        replace_root(now, 1, true);
        replace_root(now, 0, true);
        finish_root(now);
        break;
    case CHANGE:
        world_publish(1);
        break;
    case REMOVE:
        remove_limit();
        break;
    default:
        RL_ASSERT(false);
    }
}

static void on_key(operation what, uint64_t tag, uint64_t now)
{
    ledger *l = ledger_of(tag);
    switch (what) {
    case ADMIT:
    case RESERVE:
    case CANCEL:
        reserve(l, now, what == ADMIT ? 0 : WAIT, what == CANCEL);
        break;
    case QUICKLY:
        came(l, now);
        l->grants[0] += weir_decide(host, 0, key_of(tag, 0), 1, now).verdict == WEIR_ALLOWED;
        break;
    case ACQUIRE:
    case PASS:
        acquire(l, what == PASS);
        break;
    case RELEASE:
        release();
        break;
    default:
        RL_ASSERT(false);
    }
}

static void matrix_thread(unsigned i)
{
    for (int j = 0; j < 2; j++) {
        const doing *d = &at.r->of[i][j];
        if (d->tag != 0)
            on_key(d->what, d->tag, clocks[at.c][i]);
        else if (d->what != NOTHING)
            on_shard(d->what, clocks[at.c][i]);
    }
}

/* ---- what must have come of it ---- */

static uint64_t least_clock()
{
    return at.c == 2 ? 5 : 20;
}

static uint64_t greatest_clock()
{
    return at.c == 1 ? 22 : 20;
}

static uint64_t grants_at_most(uint64_t begins, uint64_t wait)
{
    uint64_t first = begins > least_clock() ? begins : least_clock();
    uint64_t last = greatest_clock() + wait;
    return last < first ? 0 : (last - first) / WORLD_TOKEN + 1;
}

static bool bucket_is_right(const ledger *l)
{
    uint64_t now = greatest_clock();
    uint64_t asked = closed ? 0 : !is_denied(l->tag, now);
    if (removed)
        return l->grants[0] <= grants_at_most(l->begins, 0) &&
               l->grants[1] + asked <= grants_at_most(0, 0) &&
               (w.someone_stopped || l->grants[1] + asked >= 1);
    if (l->back > l->grants[0] && !w.someone_stopped)
        return false;
    uint64_t grants = l->grants[0] > l->back ? l->grants[0] - l->back : 0;
    if (grants + asked > grants_at_most(l->begins, WAIT))
        return false;
    bool waits = false;
    for (int i = 0; i < WORLD_THREADS; i++)
        waits = waits || at.r->of[i][0].what == RESERVE || at.r->of[i][0].what == CANCEL;
    if (!waits && grants + asked > grants_at_most(l->begins, 0))
        return false;
    if (closed)
        return true;
    if (!w.someone_stopped && l->late && grants + asked == 0)
        return false;
    /* A balance in tokens, which take longer after the change. */
    if (l->tag == key.d && l->begins != 0 && at.r->changes && !w.someone_stopped)
        return is_denied(key.d, 64) && !is_denied(key.d, 65);
    uint64_t owed = l->begins + WORLD_TOKEN * grants;
    if (owed > now + 1 && !is_denied(l->tag, owed - 1))
        return false;
    uint64_t most = (l->begins > now ? l->begins : now) + LAST_TOKEN * 4 +
                    (l->begins > now ? l->begins - now : 0);
    return !is_denied(l->tag, most);
}

/* Where nothing was in use, one of those who asked has got it: S2. */
static bool permits_are_right(const ledger *l)
{
    uint64_t in_use = 0;
    uint64_t most = 0;
    if (weir_in_use(host, 0, key_of(l->tag, 0), &in_use, &most) != 0)
        return false;
    if (in_use > most)
        return false;
    return w.someone_stopped ||
           (in_use == (uint64_t)l->held && (l->had || !l->asked || l->grants[0] != 0));
}

static bool matrix_after()
{
    for (int i = 0; i < LEDGERS; i++) {
        const ledger *l = &ledgers[i];
        if (at.r->permits ? !permits_are_right(l) : !bucket_is_right(l))
            return false;
    }
    return refused_is_refused();
}

#endif
