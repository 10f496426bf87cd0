/* SPDX-License-Identifier: MIT */
/*
 * The limiter inside: an engine's parts, and what its files offer each other.
 *
 *   engine.c    opening and closing           limits.c    adding, finding, removing limits
 *   call.c      one operation on a key        decide.c    decisions, charges, what is given back
 *   quick.c     the usual decision, batches   cell.c      limiters of eight bytes
 *   all.c       all or none                   permit.c    concurrency
 *   wait.c      sleeping until it may act     waiters.c   queues for permits
 *   place.c     a key's place in the table    wall.c      unix time
 *   origin.c    settings with an origin       change.c    settings that change
 *   sweep.c     freeing of generations
 *   trim.c      returning memory              key.c       hashing
 *   counters.c  statistics per thread         stats.c     their sums
 *   fork.c      what a child of fork finds
 */
#ifndef WEIR_LIMITER_H
#define WEIR_LIMITER_H

#include "export.h"

#include "counters.h"
#include "slot/settings.h"
#include "table/table.h"
#include "waiters.h"

#include <pthread.h>

/* So that the verb is a constant in each caller and the dispatch on it folds away. */
#define WEIR_INLINE static inline __attribute__((always_inline))

#define WEIR_NAME_MAX    63
#define WEIR_SECRET_SIZE 192 /* what XXH3 takes at least, and what weir_options promises */

/* The name spaces of keys: each hashes with a secret of its own. */
enum weir_key_space { WEIR_SPACE_BYTES, WEIR_SPACE_U64, WEIR_SPACE_ADDRESS, WEIR_KEY_SPACES };

/*
 * One limit id.
 *
 *              weir_add_limit       weir_remove_limit         two grace periods
 *   free ---------------------> open ---------------> closing ----------------> free
 *   settings   NULL             those in use          NULL                      NULL
 *   closing    NULL             NULL                  the last ones             NULL
 *   used       false            true                  true                      false
 *
 * Calls load `settings` in their read section and are refused when there are none. Who reads words
 * otherwise takes weir_limit_settings. The table may still hold words of a free id, of the
 * generations in `taken`; to moves and to who uses the id later they are "never used".
 */
struct weir_limit {
    struct weir_settings *settings; /* atomic */
    struct weir_settings *closing;  /* atomic */
    struct weir_settings *spare;    /* atomic; for the next origin, so that it need not allocate */
    struct weir_settings *retired;  /* sweeping; replaced by a sweep, freed by the next one */
    struct weir_settings *target;   /* sweeping; what a sweep re-bases older words on, or NULL */
    struct weir_atomic_u64 origins;
    uint32_t taken; /* lock; a bit per generation that a word of the free id may have */
    uint32_t swept; /* sweeping; generations of a free id that a sweep turns into one */
    uint8_t into;   /* sweeping; that one */
    bool used;      /* lock; not free */
    char name[WEIR_NAME_MAX + 1];
    /* not beside what every call reads: it is written by every call whose key has no place */
    WEIR_ALIGN_LINE struct weir_atomic_u64 overflow;
    struct weir_atomic_u64 reach;    /* the longest wait ever granted, of fixed windows */
    struct weir_counter_sums before; /* lock; what had been counted when the limit was added */
};

struct weir {
    /* with the table's beginning all that a usual decision reads here, in one line */
    uint64_t serial;       /* of the counters */
    unsigned quick_limits; /* max_limits; 0 where calls cannot be quick: see rcu.h */
    unsigned max_limits;
    struct weir_table table;
    enum weir_when_full when_full;
    weir_ns stale_max;
    struct weir_counter_set *counters;
    struct weir_waiters *waiters;
    weir_ns (*clock)(void *context);
    int (*sleep_until)(void *context, weir_ns instant);
    void *clock_context;
    weir_ns (*wall_clock)(void *context, weir_ns now);
    void *wall_context;
    pthread_mutex_t sweeping; /* a sweep or a removal, which wait; no decision waits for it */
    pthread_mutex_t lock;     /* limits and statistics; inside sweeping; never held for long */
    void *names;              /* lock; a tree of open limits by name (tsearch) */
    unsigned limits_used;     /* lock; ids from it on were never used */
    unsigned first_free;      /* lock; ids below it are used */
    unsigned closing;         /* lock; limits that are closing */
    struct weir_atomic_u64 origins; /* moved since the last sweep, over all limits */
    struct weir *next, **link;      /* fork.c */
    bool inherited;                 /* this is a child's copy: calls under way have vanished */
    /* Unix time less `now`, and the `now` at which it was told; written once for a second of it.
       Odd while a thread writes the others: wall.c, O5. */
    WEIR_ALIGN_LINE struct weir_atomic_u64 wall_version;
    struct weir_atomic_u64 wall_offset;
    struct weir_atomic_u64 wall_told;
    /* the highest of these, up to stale_max after the last; 0: none yet */
    struct weir_atomic_u64 wall_newest;
    uint8_t secrets[WEIR_KEY_SPACES][WEIR_SECRET_SIZE];
    struct weir_limit limits[]; /* max_limits of them */
};

/* Of an id below max_limits. Limits are no part of an engine's value. */
static inline struct weir_limit *weir_limit_of(const struct weir *w, unsigned id)
{
    return (struct weir_limit *)(uintptr_t)&w->limits[id];
}

/* The limit of an id, or NULL: it is not open. The id may be anything. A limit that was found may
   be closing the next moment, and has no settings then. Acquire: pairs with the publication of the
   settings, so that the name is there too. */
static inline struct weir_limit *weir_limit_at(const struct weir *w, int limit)
{
    if (w == NULL || (unsigned)limit >= w->max_limits)
        return NULL;
    struct weir_limit *l = weir_limit_of(w, (unsigned)limit);
    return weir_pointer_load_acquire(&l->settings) != NULL ? l : NULL;
}

/*
 * The newest settings that words of an id are to be read by; NULL: all are "never used". Not NULL
 * to calls that have had settings of the limit in the same read section. Acquire: pairs with their
 * publication; and with the closing, so that who finds none in use finds the last ones.
 */
static inline struct weir_settings *weir_limit_settings(const struct weir_limit *l)
{
    struct weir_settings *s = weir_pointer_load_acquire(&l->settings);
    return s != NULL ? s : weir_pointer_load_acquire(&l->closing);
}

/* ---- wait.c ---- */

/* The clock of the options. */
weir_ns weir_clock_of(const struct weir *w);

/* ---- wall.c ---- */

/* Whether a look at unix time is that of a clock: a call at `now`. Else it is one at another
   instant, or at none, and says nothing of what time it is. */
enum weir_wall_of { WEIR_WALL_OF_CLOCK, WEIR_WALL_OF_INSTANT };

/* Asks for unix time at `now`; of a clock, remembers what it is ahead, and the newest `now`. */
weir_ns weir_wall_ask(struct weir *w, weir_ns now, enum weir_wall_of of);

/* Unix time at `now`, by what was told within a second of it. */
static inline weir_ns weir_wall(const struct weir *w, weir_ns now, enum weir_wall_of of)
{
    now = weir_now_clamped(now);
    uint64_t version = weir_load_acquire(&w->wall_version); /* wall.c, O5 */
    uint64_t told = weir_load_acquire(&w->wall_told);
    weir_ns wall = now + weir_load_acquire(&w->wall_offset);
    bool same = version % 2 == 0 && weir_load_relaxed(&w->wall_version) == version;
    if (__builtin_expect(now - told + WEIR_SECOND >= 2 * WEIR_SECOND, 0) ||
        __builtin_expect(!same || wall > INT64_MAX, 0))
        return weir_wall_ask((struct weir *)(uintptr_t)w, now, of);
    return wall;
}

/* `now` as a meter's line counts it. */
static inline weir_ns weir_limit_now(const struct weir *w, const struct weir_meter *m, weir_ns now,
                                     enum weir_wall_of of)
{
    return __builtin_expect(m->wall, 0) ? weir_wall(w, now, of) : now;
}

/* By which clocks `now` can be told to be behind: the newest of a call, and that of the last
   change. (Set whatever the limit is: a branch costs more.) */
static inline void weir_limit_guard(const struct weir *w, const struct weir_settings *s,
                                    weir_ns now, struct weir_instant *at)
{
    at->newest = &w->wall_newest;
    at->now = now;
    at->stale_max = w->stale_max;
    at->recent = false;
    at->guard = 0;
    if (__builtin_expect(s->meter.wall, 0) && now < s->changed && s->changed - now <= w->stale_max)
        at->guard = s->changed - now;
}

/* Where `now` is on the line of one of the limit's settings; false when it is before the origin or
   past the line's end. */
static inline bool weir_limit_instant_of(const struct weir *w, struct weir_limit *l,
                                         const struct weir_settings *s, weir_ns now,
                                         enum weir_wall_of of, struct weir_instant *at)
{
    weir_ns told = weir_limit_now(w, &s->meter, now, of);
    at->reach = &l->reach;
    weir_limit_guard(w, s, now, at);
    return weir_algorithm_instant(&s->meter, told, at);
}

static inline bool weir_limit_instant(const struct weir *w, struct weir_limit *l,
                                      const struct weir_settings *s, weir_ns now,
                                      struct weir_instant *at)
{
    return weir_limit_instant_of(w, l, s, now, WEIR_WALL_OF_CLOCK, at);
}

/* The same for any `now`. */
static inline void weir_limit_instant_clamped(const struct weir *w, struct weir_limit *l,
                                              const struct weir_settings *s, weir_ns now,
                                              struct weir_instant *at)
{
    weir_ns told = weir_limit_now(w, &s->meter, now, WEIR_WALL_OF_INSTANT);
    at->reach = &l->reach;
    weir_limit_guard(w, s, now, at);
    weir_algorithm_instant_clamped(&s->meter, told, at);
}

/* Counts calls in the thread's own row of a limit: by verdict, or WEIR_COUNTER_OVERFLOW. */
WEIR_INLINE void weir_count_call(struct weir *w, unsigned limit, unsigned which, uint64_t n)
{
    bool shared;
    struct weir_counter_row *row = &weir_counters_rows(w->counters, &shared)[limit];
    weir_count(&row->of[which], n, shared);
}

/* The lock is no part of an engine's value. */
static inline pthread_mutex_t *weir_lock_of(const struct weir *w)
{
    return &((struct weir *)(uintptr_t)w)->lock;
}

/* ---- key.c ---- */

/* One secret per name space of keys, out of the one that an engine is opened with. */
void weir_key_secrets(struct weir *w, const uint8_t secret[WEIR_SECRET_SIZE]);

/* ---- stats.c ---- */

/* lock; what has been counted of a limit, without earlier limits of its id. */
void weir_limit_counts(const struct weir *w, unsigned id, struct weir_counter_sums *sums);

/* ---- limits.c ---- */

/* Of policies, over all engines: a reservation of one is none of another. Rises. */
uint64_t weir_serial_next(void);

/* ---- origin.c ---- */

/* An object, not filled in; NULL: no memory. */
struct weir_settings *weir_settings_allocate(void);

/* The same settings, all but `previous`, which a sweep may be cutting in `from`. */
void weir_settings_copy(struct weir_settings *to, const struct weir_settings *from);

/* Generations and serial fit together, and with those of the predecessor. */
bool weir_settings_is_valid(const struct weir_settings *s);

/* Whether a policy can be kept: 0, or what weir_policy_prepare returns. Reads the file of its zone:
   not with a lock, nor in a read section. */
int weir_settings_check(const struct weir_policy *policy, const void **zone);

/* First settings for a policy with that zone: unanchored, unless time does not matter to it. Words
   of the id may have the generations in `taken`, not all 31, and mean nothing to them.
   `count_bits`: windows can count so far at least, where that fits. 0, or what weir_policy_prepare
   returns. */
int weir_settings_fill(struct weir_settings *s, const struct weir_policy *policy, const void *zone,
                       uint32_t taken, unsigned count_bits);

/* The same in a new object, with a spare. Also -ENOMEM. */
int weir_settings_make(const struct weir_policy *policy, const void *zone, uint32_t taken,
                       struct weir_settings **settings, struct weir_settings **spare);

/* The generation of an object that is not yet published, one that is free. */
void weir_settings_set_generation(struct weir_settings *s, uint32_t generation);

/* The first generation that is not among those taken, after `last`; 0 when all are. */
uint32_t weir_generation_free(uint32_t taken, uint32_t last);

/* Frees an object and its predecessors. */
void weir_settings_free_chain(struct weir_settings *s);

/* Frees `settings` with their predecessors, and what else the limit holds of settings; nobody may
   use any of it. */
void weir_settings_free(struct weir_limit *l, struct weir_settings *settings);

/*
 * Settings under which `now` can be told, and where it is: `s`, newer ones, or ones with a new
 * origin published here. Inside a read section. Where there is no generation or no memory for a
 * new origin, or the limit is being removed, `now` counts as the nearer end of the line. NULL: the
 * limit has no origin yet, and is being removed, or there is no memory for one and the thread that
 * took the spare for it does not come forward.
 */
const struct weir_settings *weir_settings_settle(struct weir *w, struct weir_limit *l,
                                                 const struct weir_settings *s, weir_ns now,
                                                 struct weir_instant *at);

/*
 * The same for a question, which publishes nothing: an origin for `now` is put into *aside, with
 * `s` as its predecessor, or time stands still.
 */
const struct weir_settings *weir_settings_aside(const struct weir *w, struct weir_limit *l,
                                                const struct weir_settings *s, weir_ns now,
                                                struct weir_instant *at,
                                                struct weir_settings *aside);

/* ---- sweep.c ---- */

/* So many of a limit's 31 generations may be used up before adding a limit sweeps it. */
#define WEIR_SWEEP_AT 8

/* So many have to be free for an id to be used again. */
#define WEIR_FREE_TO_REUSE 8

/*
 * Re-bases every word of an older generation on its limit's newest settings, makes those of removed
 * limits words of one generation, and frees the others, without changing an answer to a clock that
 * is less than stale_max behind. Ids that have used fewer generations than that are left alone.
 * Waits for grace periods: not from inside a read section, nor with the lock. All else goes on
 * meanwhile. Returns at once when another thread is sweeping or removing a limit.
 */
void weir_sweep(struct weir *w, unsigned generations);

/* The same, but waits for the other thread and then sweeps. */
void weir_sweep_wait(struct weir *w, unsigned generations);

/* sweeping; the same. */
void weir_sweep_now(struct weir *w, unsigned generations);

#endif
