/* SPDX-License-Identifier: MIT */
/*
 * weir: rate limits, exact, lock-free, per key.
 *
 * Time is an argument: every decision takes `now`, nanoseconds on the caller's monotonic clock.
 * A refusal is a result, not an error. Errors are negative errno values; no function sets errno,
 * prints or aborts. (One abort is not weir's: liburcu ends the process when it has no memory to
 * register a thread, or no thread for the one that frees memory.) Zero and unlimited are different
 * things: a limit of 0 admits the burst once and nothing after it, WEIR_UNLIMITED admits
 * everything.
 *
 * Thread safety: every function may run beside every other on one engine, weir_close excepted.
 * Adding and removing limits takes locks against itself and never stops a decision. A reservation
 * has one owner: one thread at a time per handle, and no copies.
 *
 * Fork: a child may go on with all engines that were open, as copies of its own; nothing is shared.
 * A fork waits for calls under way, and weir_open installs its handlers once: weir_engine(3).
 *
 * Signals: no call may be made from a signal handler, but weir_cell_*, weir_now and weir_policy_*.
 *
 * A decision makes no system call, takes no lock and allocates nothing, except
 *   - in a thread's first call, which registers the thread with liburcu under a lock
 *     (weir_thread_ready does that beforehand) and allocates its counters for the engine;
 *   - in the call that gives a limit an origin for its times (its first one; then once in months at
 *     the fastest rates, or when the clock jumps), which allocates;
 *   - in one call for each second of `now` under windows by unix time, which asks a clock about it;
 *   - in the call of a new key that replaces its part of the table by a larger one, or by one with
 *     no idle keys: it takes memory from the system now and then (and never waits for a lock), and
 *     hands what is replaced to liburcu's thread, which the first such call of the process starts.
 *     Calls that come by meanwhile each move 16 lines.
 *
 * Legal times are 0 to 2^63-1 (a larger `now` counts as 2^63-1), spans 0 to 2^64-1. A clock may
 * jump by any distance: a limit's times reach at least 180 days ahead of its first call (sliding
 * windows: 90, aligned ones of less than 4 ms: 45) and stale_max back, and a call outside of that
 * (a peek excepted) gives it another origin. 30 of these (7, where the id was that of a removed
 * limit) are told apart until the next weir_add_limit or weir_trim; after that, time stands still
 * for that limit at the end of its line. No such jump doubles a debt, nor loses one, except those
 * that the later time has paid: a key that is full by one clock may be forgotten, and is full by
 * all.
 */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Structs and functions share names (struct weir_stats, weir_stats): legal, but -Wshadow objects.
 */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

#if defined(__GNUC__)
#define WEIR_MUST_USE __attribute__((warn_unused_result))
#else
#define WEIR_MUST_USE
#endif

struct sockaddr;

/* ---- time ------------------------------------------------------------------------------- */

typedef uint64_t weir_ns; /* nanoseconds: an instant on a monotonic clock, or a span */

#define WEIR_NANOSECOND  ((weir_ns)1)
#define WEIR_MICROSECOND ((weir_ns)1000)
#define WEIR_MILLISECOND ((weir_ns)1000000)
#define WEIR_SECOND      ((weir_ns)1000000000)
#define WEIR_MINUTE      (60 * WEIR_SECOND)
#define WEIR_HOUR        (60 * WEIR_MINUTE)
#define WEIR_DAY         (24 * WEIR_HOUR)
#define WEIR_FOREVER     UINT64_MAX /* a span that does not end; as a max wait: any */
#define WEIR_UNLIMITED   UINT64_MAX /* as a limit: admit everything */

/* The instant on CLOCK_MONOTONIC, in nanoseconds. Thread-safe; reads the clock. */
weir_ns weir_now(void);

/* ---- version and errors ----------------------------------------------------------------- */

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

/* "MAJOR.MINOR.PATCH" of the library that is linked, a static string. */
const char *weir_version(void);

/* One sentence for 0 or a negative errno as returned here; a static string, never NULL. */
const char *weir_strerror(int error);

/* ---- policies: plain values, copied, never owned ---------------------------------------- */

enum weir_kind {
    WEIR_TOKEN_BUCKET = 1, /* token bucket, pacer (leaky bucket), refill bucket */
    WEIR_FIXED_WINDOW,     /* from a key's first hit, aligned, or on the calendar */
    WEIR_SLIDING_WINDOW,   /* the estimate from two counters */
    WEIR_CONCURRENCY       /* permits in use */
};

/* Which one of its kind. */
enum weir_form {
    WEIR_FORM_PLAIN = 0, /* "10/s burst 20", "600/min window", "100/10s sliding" */
    WEIR_FORM_PACER,     /* "50/s pace slack 10": only the text of a token bucket */
    WEIR_FORM_ALIGNED,   /* "600/min aligned +08:00", a fixed window */
    WEIR_FORM_CALENDAR   /* "5/day zone Asia/Kuala_Lumpur", a fixed window */
};

enum weir_calendar {
    WEIR_CALENDAR_DAY = 1,
    WEIR_CALENDAR_WEEK, /* from Monday on */
    WEIR_CALENDAR_MONTH
};

#define WEIR_ZONE_MAX 47 /* bytes of a zone's name */

/*
 * What a limit admits. Made by the constructors below, which check nothing: a policy is checked
 * where it is put to use (weir_add_limit, weir_set_limit, weir_meter_init). Compare policies field
 * by field. Fields that a kind does not name are 0.
 */
struct weir_policy {
    uint32_t kind;  /* enum weir_kind */
    uint32_t form;  /* enum weir_form */
    uint64_t limit; /* bucket: tokens that accrue in `period`, 0 = none ever. Windows: tokens per
                       window. Concurrency: permits. Or WEIR_UNLIMITED */
    weir_ns period; /* at least 1. Calendar windows and concurrency: 0. Ignored when unlimited */
    uint64_t burst; /* bucket: the most tokens a key can hold, and what it starts with */
    weir_ns tick;   /* bucket: 0 = tokens accrue continuously. Else: in lumps, at multiples of it */
    int64_t utc_offset_s; /* aligned windows: begin at multiples of `period` on unix time plus it */
    uint32_t calendar;    /* calendar windows: enum weir_calendar */
    uint32_t reserved_word;
    char zone[WEIR_ZONE_MAX + 1]; /* calendar windows: IANA name, or "local" */
    uint64_t reserved[4];         /* 0 */
};

/*
 * Token bucket: `limit` tokens accrue per `period`, evenly, up to `burst`; a key starts full.
 * The burst can be used at once. limit WEIR_UNLIMITED is "unlimited", whatever the rest says.
 */
struct weir_policy weir_token_bucket(uint64_t limit, weir_ns period, uint64_t burst);

/*
 * Pacer, or leaky bucket: events at least period/limit apart; after a quiet time up to `slack`
 * of them may catch up. The same as a token bucket with burst slack + 1.
 */
struct weir_policy weir_pacer(uint64_t limit, weir_ns period, uint64_t slack);

/*
 * Refill bucket: a token bucket of capacity `limit` whose tokens arrive in lumps, at multiples of
 * `tick` on the caller's clock. The remainder of a lump is carried: 5 per second with a tick of
 * 100 ms is 5 per second. Set .burst for another capacity; a capacity below what one tick adds
 * wastes the rest. tick 0 is a plain token bucket of burst `limit`.
 */
struct weir_policy weir_refill_bucket(uint64_t limit, weir_ns period, weir_ns tick);

/*
 * Fixed window: at most `limit` tokens from a key's first hit until `period` has passed; the next
 * hit begins the next window. Up to twice the limit can fall in some span of one period. The
 * window's beginning is kept to a grain, rounded up, so that it never ends early: 2^g ns, the
 * finest of which the word can count 180 days and four periods (16 ns for limits of 32 to 63, 4.2
 * ms for 2^24-1). A reservation that does not fit goes into the next window, and closes the one
 * before for its key. Periods 1 ms to 366 days, limits to 2^24-1.
 */
struct weir_policy weir_fixed_window(uint64_t limit, weir_ns period);

/*
 * The same, with windows that begin at multiples of `period` on unix time plus utc_offset_s seconds
 * (east of Greenwich positive; -86400 to 86400). Where unix time is set back by more than one
 * window and 2 s, a key begins anew: none waits longer than for two windows, 2 s, and what had been
 * reserved ahead.
 */
struct weir_policy weir_aligned_window(uint64_t limit, weir_ns period, int64_t utc_offset_s);

/*
 * The same, with the days, weeks (from Monday) or months of a zone: a day on which clocks are
 * changed has 23 or 25 hours. Zone: the name of a zone in the system's database (TZDIR, else
 * /usr/share/zoneinfo), "local" (TZ if set, else /etc/localtime) or NULL (UTC); copied. It is read
 * when the policy is put to use and kept until the process ends. `now` is weir_now() as ever, not
 * unix time, which the engine asks for by itself (weir_meter_init says what cells take).
 */
struct weir_policy weir_calendar_window(uint64_t limit, enum weir_calendar unit, const char *zone);

/*
 * Sliding window: what counts is current + previous * (share of the previous window that lies
 * within one period before now), windows being multiples of `period` on the caller's clock; exact,
 * and falling evenly. The estimate is at most `limit` at each grant; the true count in some span of
 * one period can reach twice the limit. To a `now` before the newest window of a key it never
 * grants more, but may refuse what had been free. Periods 1 ms to 366 days, limits as far as 180
 * days of windows and two counts fit the word (131,071 per second, 1,048,575 per minute).
 */
struct weir_policy weir_sliding_window(uint64_t limit, weir_ns period);

/*
 * Concurrency: at most `limit` permits in use at a time, by weir_acquire and weir_release.
 * WEIR_UNLIMITED counts too, up to 2^58-1. weir_decide and the like take permits without a handle,
 * weir_refund gives them back. Limits to 2^48.
 */
struct weir_policy weir_concurrency(uint64_t limit);

/*
 * Policy from text: "10/s", "10/s burst 20", "100/10s", "3/4.5s", "0/s burst 5",
 * "50/s pace slack 10", "1000/s refill 100ms burst 500", "600/min window", "600/min aligned",
 * "5/day aligned +08:00", "5/day zone Asia/Kuala_Lumpur", "5/week zone local", "5/month zone UTC",
 * "100/10s sliding", "concurrency 64", "concurrency unlimited", "unlimited". Units: ns us ms s min
 * h day; a span may have decimals if it is a whole number of nanoseconds. N/PERIOD alone has burst
 * N, at least 1; "pace" alone has slack 0. The text is one line of any length, blanks between
 * words do not matter.
 *
 * Returns 0 and writes *out; or writes the byte offset of the fault to *error_at (unless NULL),
 * leaves *out alone and returns
 *   -EINVAL  text is NULL, out is NULL (offset 0), or the text does not parse
 *   -ERANGE  a number is too large: a limit or slack above 2^64-2, a burst above 2^64-1, a span
 *            above 2^64-1 ns
 */
WEIR_MUST_USE int weir_policy_parse(struct weir_policy *out, const char *text, size_t *error_at);

/*
 * Text from a policy, so that parsing it gives the same policy back (of "unlimited", what
 * weir_token_bucket makes of it). Writes at most size - 1
 * characters and a NUL (nothing when size is 0; buffer may then be NULL).
 * Returns the full length without the NUL, as snprintf does, or
 *   -EINVAL  policy is NULL or not valid (see weir_add_limit), or buffer is NULL
 */
int weir_policy_format(const struct weir_policy *policy, char *buffer, size_t size);

/* ---- the engine ------------------------------------------------------------------------- */

struct weir; /* an engine: limits by id and name, and the state of every key */

/* What a key without a place gets, when max_keys keys (or all near places) are taken. */
enum weir_when_full {
    WEIR_FULL_SHARE = 0, /* all such keys of a limit share one overflow bucket */
    WEIR_FULL_ALLOW,     /* ALLOWED as if never used, nothing recorded (NEVER stays NEVER) */
    WEIR_FULL_DENY       /* DENIED, `wait` WEIR_FOREVER, `remaining` 0 (NEVER stays NEVER) */
};

struct weir_options {
    size_t size;         /* sizeof (struct weir_options), or 0 */
    size_t max_keys;     /* bound on keys held, 1 to 2^32; 0 = 1048576. A key counts per limit */
    unsigned max_limits; /* bound on limits, 1 to 65535; 0 = 256. Costs hash bits: weir_engine(3) */
    weir_ns stale_max;   /* clocks of threads differ by less; 1 ns to 90 days, 0 = 60 s */
    /* What weir_wait and weir_acquire_wait read; NULL = CLOCK_MONOTONIC. */
    weir_ns (*clock)(void *context);
    /* What weir_wait sleeps with: 0, or anything else when it was interrupted. May return early.
       NULL = clock_nanosleep (a clock of one's own needs a sleep of one's own: -EINVAL). */
    int (*sleep_until)(void *context, weir_ns instant);
    void *clock_context;
    enum weir_when_full when_full;
    /* Unix time in ns at the instant `now`, for aligned and calendar windows; asked about once for
       each second of `now`, in the middle of a call: must not wait, nor call weir. NULL = `now` +
       CLOCK_REALTIME - CLOCK_MONOTONIC. */
    weir_ns (*wall_clock)(void *context, weir_ns now);
    void *wall_context;
    const uint8_t *secret; /* 192 random bytes for weir_key_*, copied; NULL = from getrandom() */
};

/*
 * Opens an engine; options NULL = defaults. Allocates some 24 bytes for each 1295 of max_keys, and
 * what the limits take; the table grows as keys come, in chunks of 2 MiB, to about 31 bytes a key:
 * weir_engine(3). Makes system calls. Returns 0 and writes *out (owned by the caller, who ends it
 * with weir_close), or
 *
 *   -EINVAL  out is NULL, options->size or when_full is unknown, clock without sleep_until
 *
 *   -ERANGE  max_keys, max_limits or stale_max is outside of its range
 *
 *   -ENOMEM  memory for the table or the limits cannot be had
 *
 *   -EIO     getrandom() failed
 */
WEIR_MUST_USE int weir_open(struct weir **out, const struct weir_options *options);

/* Frees the engine and all it holds (a thread that lives on frees its own counters when it ends).
   No other call on this engine may run or come. NULL does nothing. */
void weir_close(struct weir *w);

/*
 * Adds a limit. Name: 1 to 63 bytes, copied. The policy is copied. Takes the engine's lock,
 * allocates, and does what housekeeping is due for limits whose clocks have jumped, and about every
 * 20th time that the id of a removed limit is used again (it then reads all of the table and waits
 * for other threads' calls under way). Returns its id, the lowest that is free, 0 to
 * max_limits - 1, or
 *
 *   -EINVAL  w, name or policy is NULL; the name is empty; the policy is not valid: its kind or
 *            form is unknown, a period is 0 where one is needed, a pacer has a tick or no burst, a
 *            field that the kind does not use is not 0; utc_offset_s, calendar or zone is none; the
 *            zone's file is damaged
 *
 *   -ENAMETOOLONG  the name has more than 63 bytes
 *
 *   -EEXIST  a limit of that name exists
 *
 *   -ENOENT  the zone is not in the system's database
 *
 *   -ERANGE  the policy cannot be kept exactly: weir_policy(3)
 *
 *   -ENOSPC  max_limits limits exist
 *
 *   -ENOMEM  memory cannot be had
 *
 *   -EIO     the zone's file cannot be read
 */
WEIR_MUST_USE int weir_add_limit(struct weir *w, const char *name,
                                 const struct weir_policy *policy);

/*
 * Changes a limit while it is in use; `now` is the instant of the change, or of the one before if
 * that was later. However many keys there are it takes the same time: a key is re-priced when it is
 * next touched, as it stood at the change. Decisions go on meanwhile; each uses the settings before
 * or those after, whole.
 *
 *   - A key that was idle at the change is never used under the new settings.
 *
 *   - A bucket keeps its balance and its debt in tokens, at most the new burst.
 *
 *   - A window keeps its count, and is the one of the new settings that it falls into.
 *
 *   - Permits stay in use; under a lower limit none is granted until enough have come back.
 *
 *   - Another kind of limit starts fresh: keys are never used, permits and reservations void.
 *
 *   - From or to WEIR_UNLIMITED as well, concurrency excepted: all keys were idle.
 *
 * Equal settings change nothing, to the bit. A reservation made before can be cancelled as before,
 * unless its keys started fresh, or the whole table was read since: by weir_trim, weir_add_limit,
 * or about every 29th change. Then it gives back 0.
 *
 * Takes the engine's lock and allocates. About every 29th change of one limit reads all of the
 * table; that, a change of the kind, from or to unlimited, and one before the limit's first call
 * wait for other threads' calls under way: not from inside a read-side section of liburcu's.
 * Returns 0, or
 *
 *   -EINVAL  w or policy is NULL, or the policy is not valid (weir_add_limit)
 *
 *   -ENOENT  there is no such limit, or the zone is not in the system's database
 *
 *   -ERANGE  the policy cannot be kept exactly: weir_policy(3)
 *
 *   -ENOMEM  memory cannot be had; nothing has changed
 *
 *   -EIO     the zone's file cannot be read
 */
WEIR_MUST_USE int weir_set_limit(struct weir *w, int limit, const struct weir_policy *policy,
                                 weir_ns now);

/*
 * Removes a limit, with all that its keys hold and owe. From then on calls with its id are refused,
 * as with any bad one, until weir_add_limit gives the id to a new limit, which finds its keys never
 * used and counts from zero; the name is free at once. Calls under way end as if it were still
 * there, and are waited for, as is other housekeeping: not from inside a read-side section of
 * liburcu's. No decision waits. What the keys took up in the table counts as idle. A reservation
 * made before gives back 0. `now` is the instant of the removal. Returns 0, or
 *   -EINVAL  w is NULL
 *   -ENOENT  there is no such limit
 */
int weir_remove_limit(struct weir *w, int limit, weir_ns now);

/*
 * Leaves behind the keys that are idle at `now`, whatever room there is, gives every part of the
 * table an array of the size of what is left, does the housekeeping of weir_add_limit, and returns
 * memory that is free then. Nothing needs it; it is for a server that has shrunk. Decisions go on
 * meanwhile. A `now` in the future forgets what is owed until then. Waits for other threads' calls
 * under way: not from inside a read-side section of liburcu's. Returns 0, or
 *   -EINVAL  w is NULL
 *   -ENOMEM  a part stayed as it was: memory for a smaller array could not be had, or new keys came
 *            that would not fit it, or another call was replacing it; what could be done was done
 */
int weir_trim(struct weir *w, weir_ns now);

/* Id of a limit by name, or -ENOENT (no such limit), -EINVAL (w or name is NULL). Takes the lock.
 */
int weir_find_limit(const struct weir *w, const char *name);

/* The policy as it was set, exactly. 0, or -ENOENT (no such limit), -EINVAL (w or out is NULL). */
int weir_get_limit(const struct weir *w, int limit, struct weir_policy *out);

/* A limit's name, valid until the limit is removed; NULL when there is no such limit. */
const char *weir_limit_name(const struct weir *w, int limit);

/* The next id in use above `limit` (-1 gives the first), or -ENOENT; -EINVAL when w is NULL. */
int weir_next_limit(const struct weir *w, int limit);

/*
 * Optional: does now what a thread's first decision would do under a lock (registration with the
 * read-copy-update library), so that the first decision is as quick as the second. Returns 0.
 */
int weir_thread_ready(void);

/* ---- keys: who is being limited --------------------------------------------------------- */

/*
 * 128 hash bits. A key made by the caller must be uniform in all of them. Keys of one engine mean
 * nothing to another, unless both were given the same secret. weir_key_* allocate nothing, take
 * no lock, and never fail: w and (where size > 0) data must not be NULL. Bytes, integers and
 * addresses are three name spaces: a text never equals an address.
 */
typedef struct weir_key {
    uint64_t high, low;
} weir_key;

weir_key weir_key_bytes(const struct weir *w, const void *data, size_t size); /* NULs included */
weir_key weir_key_text(const struct weir *w, const char *text); /* the bytes before its NUL */
weir_key weir_key_u64(const struct weir *w, uint64_t id);

/*
 * Client address: AF_INET cut to prefix4 bits (at most 32), AF_INET6 to prefix6 (at most 128; 64
 * is what one customer usually has). ::ffff:a.b.c.d is a.b.c.d. Port, flow and scope do not
 * count. NULL or any other family: one key, "unknown".
 */
weir_key weir_key_address(const struct weir *w, const struct sockaddr *address, unsigned prefix4,
                          unsigned prefix6);

weir_key weir_key_join(weir_key a, weir_key b); /* both together; order matters */

/* ---- decisions -------------------------------------------------------------------------- */

enum weir_verdict {
    WEIR_INVALID = 0, /* bad limit id or argument; nothing was recorded */
    WEIR_ALLOWED,
    WEIR_DENIED,
    WEIR_NEVER /* n is above what this limit can ever hold */
};

struct weir_result {
    enum weir_verdict verdict;
    weir_ns wait;       /* ALLOWED: span until it may act, 0 = now. DENIED: least span after which
                           the same n would be granted at once if nothing else came in between,
                           WEIR_FOREVER = none below 2^64 ns. Else WEIR_FOREVER */
    uint64_t remaining; /* whole tokens left right after this call; 0 in debt */
    weir_ns reset;      /* span until the key is as if never used; WEIR_FOREVER = it never is, or
                           not within the 584 years that a span can tell */
};

enum weir_quota {
    WEIR_QUOTA_UNKNOWN = 0, /* the verdict was INVALID */
    WEIR_QUOTA_ALLOWED,
    WEIR_QUOTA_REACHED, /* allowed, and now used up */
    WEIR_QUOTA_OVER     /* denied, or never */
};
enum weir_quota weir_quota(struct weir_result result);

/*
 * Takes n tokens of a key, now or not at all.
 *   ALLOWED  the tokens are taken (n = 0: the key is not in debt; nothing is written)
 *   DENIED   not enough tokens, nothing is written; or no place for the key and WEIR_FULL_DENY
 *   NEVER    n is above the burst, nothing is written
 *   INVALID  w is NULL, there is no such limit, or it has no origin yet and there is no memory for
 *            one (the calls below that return a count return 0 then)
 * A `now` older than what the key has seen mints nothing and is no error.
 */
WEIR_MUST_USE struct weir_result weir_decide(struct weir *w, int limit, weir_key key, uint64_t n,
                                             weir_ns now);

/* The same, as a yes or no. */
WEIR_MUST_USE bool weir_allow(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now);

/* What weir_decide would answer; writes nothing. `remaining` and `reset` are those before it. */
WEIR_MUST_USE struct weir_result weir_peek(struct weir *w, int limit, weir_key key, uint64_t n,
                                           weir_ns now);

/* One decision of a batch. */
struct weir_request {
    int limit;
    weir_key key;
    uint64_t n;
};

/*
 * As many independent decisions, in their order, at one `now`: results[i] is what weir_decide would
 * have answered for requests[i]. The memory that a decision needs is asked for while earlier ones
 * are made, so that in a table larger than the cache a batch of 16 and more costs a fraction of as
 * many calls. Keys and limits may repeat. w NULL: all are INVALID. requests and results hold
 * `count`, the caller's; they may not overlap. count 0 does nothing.
 *
 * (Where clocks go back, the table may be re-made a little earlier or later than by single calls; a
 * key that a clock ahead had found full is then known to be full at that time, or not yet.)
 */
void weir_decide_batch(struct weir *w, const struct weir_request *requests,
                       struct weir_result *results, size_t count, weir_ns now);

/*
 * All of them or none: every entry's tokens are taken, or nothing of any. Limits of all kinds, keys
 * and repeated entries (which are summed) in any order. All may act at one instant, `wait` after
 * `now` and at most max_wait, and are charged at that instant. Returns
 *
 *   -1          all were granted. *result: `wait`; the least `remaining` and the longest `reset`
 *
 *   0..count-1  the entry that refused. *result is its answer, but `wait` is the least span after
 *               which all would be granted if nothing else came in between. NEVER and INVALID as
 *               weir_decide
 *
 *   64          count is above 64 (WEIR_ALL_MAX); *result is INVALID, nothing was read
 *
 * result may be NULL; w NULL: 0 and INVALID; count 0: -1. Counted, for each key, as one decision
 * allowed, or, for the entry that refused, denied.
 *
 * Between threads: no limit is ever exceeded. What was charged before another thread took the last
 * token of a later entry is given back at once, to the bit if nobody else touched the key
 * meanwhile; until then, which is no longer than this call takes, others find so much less.
 */
#define WEIR_ALL_MAX 64
int weir_decide_all(struct weir *w, const struct weir_request *requests, size_t count, weir_ns now,
                    weir_ns max_wait, struct weir_result *result);

/* A grant that can be cancelled. A plain value, nothing to free; use it where it was written. */
struct weir_reservation {
    uint64_t n;      /* tokens that a cancel could still give back at most; 0 = none */
    weir_ns instant; /* when it may act, on the caller's clock */
    /* the rest is weir's own */
    uint64_t slot;
    int64_t origin;
    weir_key key;
    uint64_t serial;
    int32_t limit;
    uint32_t flags;
    const void *owner;
    uint64_t before;
    uint64_t reserved[2];
};

/*
 * Takes n tokens now, to be used after `wait` (at most max_wait): the key goes into debt, later
 * reservations queue behind. max_wait 0 is weir_decide, WEIR_FOREVER takes any wait.
 * `out` (may be NULL) is written always: the grant, or a reservation of nothing.
 *   ALLOWED  it may act after `wait` (n = 0: after the debt of others; nothing is written)
 *   DENIED   it would have to wait longer than max_wait, or past what can be represented
 *            (at least 135 days of debt); nothing is written
 *   NEVER, INVALID as weir_decide
 */
WEIR_MUST_USE struct weir_result weir_reserve(struct weir *w, int limit, weir_key key, uint64_t n,
                                              weir_ns now, weir_ns max_wait,
                                              struct weir_reservation *out);

/*
 * Cancels a reservation up to and including its instant: gives back what it took less what was
 * reserved after it while it was pending (rounded up to whole tokens), so that no two act in one
 * slot. Returns the tokens given back: 0 after its instant, when w or r is NULL, and whenever it
 * is cancelled again, since the first cancel ends it, a late one too. A build with assertions also
 * refuses (0) a reservation that is not where weir_reserve wrote it, that is, a copy.
 */
uint64_t weir_cancel(struct weir *w, struct weir_reservation *r, weir_ns now);

/*
 * Gives back n tokens without a handle ("do not count successful log-ins"). The bucket ends at
 * most full. Returns the tokens given back: n, or fewer when the bucket is full with fewer (a
 * token of which a part had accrued anew counts as given back). 0 for a key never used, a full
 * bucket, a bad argument. For a key without a place the tokens go where its charges went: to the
 * overflow bucket with WEIR_FULL_SHARE, else nowhere.
 */
uint64_t weir_refund(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now);

/* Takes as many whole tokens as are there, at most max. Returns how many; 0 writes nothing. */
uint64_t weir_take(struct weir *w, int limit, weir_key key, uint64_t max, weir_ns now);

/*
 * Charges a cost known only afterwards: always taken, above the burst and into debt if need be (of
 * a window: up to its limit, since a count says no more). Returns what was charged: n, or the part
 * of it that can be represented (at least 135 days of debt); 0 when w or the limit is bad, or the
 * key had no place and when_full is not SHARE.
 */
uint64_t weir_charge(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns now);

/*
 * Follows what somebody else says is left: from now on the key has so many tokens, at most the
 * burst (windows: the limit; concurrency: limit - tokens permits are in use). What it owed is
 * forgotten, and reserved windows too. Returns 0, or
 *
 *   -EINVAL  w is NULL
 *
 *   -ENOENT  there is no such limit
 *
 *   -ENOSPC  the key has no place, and when_full is not WEIR_FULL_SHARE; nothing was recorded
 *
 *   -ENOMEM  the limit has no origin yet and there is no memory for one
 */
int weir_set_balance(struct weir *w, int limit, weir_key key, uint64_t tokens, weir_ns now);

/*
 * Takes n tokens and sleeps until it may act. Waiters of a key act in the order in which they came.
 * Reads the clock of the options; deadline: an instant on it, WEIR_FOREVER = none. Returns 0, or
 *
 *   -ETIMEDOUT  it could not act by the deadline: at once, and without a trace. Also where no wait
 *               will do, as with a limit of 0
 *
 *   -E2BIG      n is above what the limit can ever hold
 *
 *   -EINTR      the sleep was interrupted by a signal handler; what had been taken was given back,
 *               as by weir_cancel
 *
 *   -EINVAL     w is NULL
 *
 *   -ENOENT     there is no such limit
 *
 *   -ENOMEM     the limit has no origin yet and there is no memory for one
 *
 * Sleeps on CLOCK_MONOTONIC until shortly before (the thread's timer slack, 50 us by default, and
 * 20 us; at most 200 us), and watches the clock for the rest: weir_wait(3).
 */
WEIR_MUST_USE int weir_wait(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns deadline);

/*
 * Makes a key as if never used; one without a place keeps sharing the overflow bucket as it is.
 * 0 (also for a key that was never used), -EINVAL (w is NULL), -ENOENT (no such limit). A
 * reservation made before can give back at most what was taken since.
 */
int weir_forget(struct weir *w, int limit, weir_key key);

/* ---- concurrency ------------------------------------------------------------------------ */

/* Permits in use, to be given back. A plain value; use it where it was written. */
struct weir_permit {
    uint64_t n; /* permits held; 0 when released */
    /* the rest is weir's own */
    weir_key key;
    uint64_t serial;
    int32_t limit;
    uint32_t flags;
    const void *owner;
    uint64_t reserved[2];
};

/*
 * Takes n permits of a key, now or not at all. `out` is written always: the grant, or a permit of
 * nothing. Does not look at who waits in weir_acquire_wait, and may overtake them.
 *
 *   ALLOWED  they are in use until weir_release
 *
 *   DENIED   too many are in use (n = 0: more than the limit), or no place for the key and
 *            WEIR_FULL_DENY; `wait` is WEIR_FOREVER
 *
 *   NEVER    n is above the limit
 *
 *   INVALID  w or out is NULL, there is no such limit, or it is not a concurrency limit
 *
 * `remaining`: permits left. `reset`: 0 when none is in use, else WEIR_FOREVER.
 */
WEIR_MUST_USE struct weir_result weir_acquire(struct weir *w, int limit, weir_key key, uint64_t n,
                                              struct weir_permit *out);

/*
 * The same, but waits, first come first served per key, until the permits can be had. deadline: an
 * instant on the clock of the options, WEIR_FOREVER = none. Returns 0, or, with a permit of
 * nothing,
 *
 *   -ETIMEDOUT  the deadline has passed
 *
 *   -E2BIG      n is above the limit, or the limit was lowered below n
 *
 *   -EINTR      a signal handler interrupted it
 *
 *   -EINVAL     w or out is NULL, or it is not a concurrency limit (any more)
 *
 *   -ENOENT     there is no such limit, or it was removed meanwhile
 *
 *   -ENOSPC     the key has no place, and when_full is WEIR_FULL_DENY
 *
 * Whoever leaves without permits leaves nothing behind. A key without a place waits for permits of
 * the overflow, also when a place for it becomes free meanwhile. Not from inside a read-side
 * section of liburcu's.
 */
WEIR_MUST_USE int weir_acquire_wait(struct weir *w, int limit, weir_key key, uint64_t n,
                                    weir_ns deadline, struct weir_permit *out);

/*
 * Gives permits back, and wakes who waits for them. Returns 0, or, without any effect,
 *
 *   -EALREADY  this permit was released before
 *
 *   -EINVAL    w or permit is NULL, the permit is one of nothing (never granted), or, in a build
 *              with assertions, it is a copy
 *
 *   -ENOENT    the permit is of another engine, or its limit was removed or is of another kind now
 */
int weir_release(struct weir *w, struct weir_permit *permit);

/*
 * Permits of a key in use, and the limit (WEIR_UNLIMITED if it has none). Either may be NULL.
 * Returns 0, or -EINVAL (w is NULL, or it is not a concurrency limit), -ENOENT (no such limit).
 */
int weir_in_use(struct weir *w, int limit, weir_key key, uint64_t *in_use, uint64_t *limit_out);

/* ---- a single limiter in 8 bytes of your own, no table, no allocation -------------------- */

struct weir_cell {
    uint64_t word; /* 8-byte aligned, touched only by these calls; 0 = never used */
};

/* p/q with its reciprocal: multiply, shift, correct. */
struct weir_ratio {
    uint64_t p, q, m;
    uint8_t left, right;
    uint8_t reserved[6];
};

/* A policy made ready. Read-only after weir_meter_init, any number of cells and threads may share
   it; nothing to free. Its fields are weir's own. */
struct weir_meter {
    /* what a usual decision reads */
    uint64_t mark;      /* or-ed to a payload makes a word */
    int64_t origin;     /* grains, see `tick`; windows from the first hit: ns */
    uint64_t plain_end; /* plain: elapsed_max + 1; else 0 */
    uint64_t capacity;  /* units of a full bucket: burst * token */
    uint64_t token;     /* units */
    uint64_t burst;     /* tokens, permits; 0 also when unlimited */
    uint64_t span;      /* largest payload */
    uint8_t kind;       /* enum weir_kind */
    uint8_t form;       /* enum weir_form */
    uint8_t unlimited;  /* nothing is recorded */
    uint8_t plain;      /* a bucket: a unit is 1 ns, a token 2 and more */
    uint8_t wall;       /* `now` is unix time */
    uint8_t count_bits; /* windows: of a count */
    uint8_t grain_bits; /* windows from the first hit: a start is a multiple of 2^this ns */
    uint8_t reserved_byte;
    uint64_t elapsed_max; /* past the origin that can be told apart, as `origin` counts */
    uint64_t units;       /* units / grains = units per grain, in lowest terms; 0 = rate 0 */
    uint64_t grains;      /* 1 = the exact form */
    uint64_t tick;        /* ns per grain: of a refill bucket, or a window's period; 0 = 1 ns */
    uint64_t shift;       /* aligned windows: ns that unix time is ahead of a multiple of `tick` */
    const void *zone;     /* calendar windows */
    struct weir_ratio line;    /* units of the line per grain */
    struct weir_ratio length;  /* grains per unit */
    struct weir_ratio tokens;  /* tokens per unit */
    struct weir_ratio ticks;   /* ticks per ns */
    struct weir_policy policy; /* as it was set */
    uint64_t serial;           /* whose reservations are whose */
    uint64_t reserved[3];
};

/*
 * Makes a policy ready for cells. `origin` is an instant not later than any `now` to come (0 will
 * do on CLOCK_MONOTONIC); at least 30 years from there are served, after that time stands still.
 * Aligned and calendar windows take every `now` as unix time. Returns 0, or
 *
 *   -EINVAL  m or policy is NULL, or the policy is not valid (weir_add_limit)
 *
 *   -ERANGE  the policy cannot be kept exactly, or origin is above 2^63-1
 *
 *   -ENOENT  the zone is not in the system's database
 *
 *   -ENOMEM  memory for the zone cannot be had
 *
 *   -EIO     the zone's file cannot be read
 */
WEIR_MUST_USE int weir_meter_init(struct weir_meter *m, const struct weir_policy *policy,
                                  weir_ns origin);

/* As weir_decide, weir_reserve and weir_cancel, on a cell. INVALID and 0 when c or m is NULL. A
   reservation is cancelled on its own cell, through its own meter. */
WEIR_MUST_USE struct weir_result weir_cell_decide(struct weir_cell *c, const struct weir_meter *m,
                                                  uint64_t n, weir_ns now);
WEIR_MUST_USE struct weir_result weir_cell_reserve(struct weir_cell *c, const struct weir_meter *m,
                                                   uint64_t n, weir_ns now, weir_ns max_wait,
                                                   struct weir_reservation *out);
uint64_t weir_cell_cancel(struct weir_cell *c, const struct weir_meter *m,
                          struct weir_reservation *r, weir_ns now);

/*
 * Re-prices a cell, as weir_set_limit does a key, for decisions by another meter. No other call on
 * this cell meanwhile; reservations made before give back 0 through the other meter. Returns 0, or
 * -EINVAL (c, from or to is NULL).
 */
int weir_cell_reprice(struct weir_cell *c, const struct weir_meter *from,
                      const struct weir_meter *to, weir_ns now);

/* ---- doing something only sometimes ----------------------------------------------------- */

/*
 * A filter for what need not be done every time, as logging: the first `first` times, every
 * `every`-th time counted from the first, and when `interval` has passed since it was last done for
 * any reason. 0: that rule is not used; without rules, the first time only. Set these three, zero
 * the rest; nothing to free.
 */
struct weir_sometimes {
    uint64_t first;
    uint64_t every;
    weir_ns interval;
    /* weir's own: 8-byte aligned, touched only by weir_sometimes */
    uint64_t count;
    uint64_t last; /* the instant it was last done, + 1 */
};

/* Whether to do it this time. Any number of threads may share s: of those that the interval alone
   would tell to, one is. s NULL: false. A `now` before the last instant counts as that instant. */
bool weir_sometimes(struct weir_sometimes *s, weir_ns now);

/* ---- what is going on inside ------------------------------------------------------------ */

struct weir_stats {
    size_t size;            /* set before the call: sizeof (struct weir_stats), or 0 */
    uint64_t keys;          /* keys that hold a place, idle ones not yet left behind included */
    uint64_t keys_error;    /* of these, so many at most are idle ones being left behind just now */
    uint64_t max_keys;      /* as bounded by the options */
    uint64_t bytes;         /* of the table, in whole chunks, the limits and the counters */
    uint64_t retired_bytes; /* of these, replaced, and not yet let go of by readers */
    uint64_t arrays;        /* line arrays in use; a shard of the table has none, one or two */
    uint64_t growths;       /* arrays replaced by larger ones */
    uint64_t compactions;   /* by ones of the same size, to leave idle keys behind */
    uint64_t shrinks;       /* by smaller ones (weir_trim) */
    uint64_t failures;      /* arrays that there was no memory for; tried again later */
    uint64_t moves;         /* keys moved from one array to the next */
    uint64_t dropped;       /* idle keys left behind */
    uint64_t helps;         /* times that a call moved a part of an array, 16 lines */
    uint64_t longest_probe; /* lines that the search of a new key went through at most */
    uint64_t longest_call;  /* lines that one call went through at most, helping included */
    uint64_t allowed;       /* decisions, as in weir_limit_stats, over all limits */
    uint64_t denied;
    uint64_t never;
    uint64_t overflow;
    uint64_t origins; /* times that a limit was given a new origin */
    uint64_t reserved[4];
};

/* What `longest_call` does not exceed as long as nobody chooses keys by their hashes: a whole part
   of the table with its largest array, moved by the call of a new key that no room is left for. A
   line takes some 10 ns; calls for keys that have their place go through some 100 lines at most. */
#define WEIR_LINES_PER_CALL_MAX 16384

/*
 * Sums up the counters of all threads and parts of the table; each is exact, the sum is of no
 * single instant. Counters only rise; keys, bytes, arrays and their like do
 * not. Removed limits are counted too. Returns 0, or -EINVAL (w or
 * out is NULL, out->size is unknown). Takes the engine's lock.
 */
int weir_stats(const struct weir *w, struct weir_stats *out);

struct weir_limit_stats {
    size_t size;      /* set before the call: sizeof (struct weir_limit_stats), or 0 */
    uint64_t allowed; /* decisions and reservations granted, n = 0 included; not peeks */
    uint64_t denied;
    uint64_t never;
    uint64_t overflow; /* calls whose key had no place: when_full answered. Decisions and
                          reservations of these are in the others too */
};

/* The same for one limit; also -ENOENT (no such limit). */
int weir_limit_stats(const struct weir *w, int limit, struct weir_limit_stats *out);

/*
 * The statistics of the engine and of each limit as text that Prometheus reads: exposition format
 * 0.0.4, of type "text/plain; version=0.0.4; charset=utf-8". weir_stats(3) lists the metrics; a
 * limit's name stands in the label `limit`. The text is UTF-8: a byte of a name that is not, and
 * each byte of U+FFFD itself, is written as U+FFFD and two hexadecimal digits, so that different
 * names stay different.
 *
 * Writes at most size - 1 characters and a NUL (nothing when size is 0; buffer may then be NULL).
 * Returns the full length without the NUL, as snprintf does, or
 *   -EINVAL  w is NULL, or buffer is NULL and size is not 0
 * A text that did not fit is cut anywhere. Numbers grow between a call that asks for the length and
 * one that writes: leave room, or ask again. Takes the engine's lock; allocates nothing (but in a
 * thread's first call, as a decision).
 */
int weir_stats_prometheus(const struct weir *w, char *buffer, size_t size);

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif
