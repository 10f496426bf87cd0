/* SPDX-License-Identifier: MIT */
/*
 * How many instructions each call takes, under valgrind's callgrind, which counts them one by one:
 *
 *   valgrind --tool=callgrind --collect-atstart=no --callgrind-out-file=FILE instructions
 *
 * Each operation is called ROUNDS times, once for each of as many keys that have their place and
 * were asked for before. (Some are not in the line where they are looked for first and cost more:
 * figures have fractions.) It is counted between two marks, and a dump (FILE.1, FILE.2, ...) tells
 * its name and how many calls or decisions it was; `nothing` is what the marks themselves take.
 * Setting up arguments is included, the loop is not.
 *
 * All is the same in each run: keys, their secret, times, and the order; nothing grows meanwhile.
 * The answers are checked: 1 is the exit status when one was not as due.
 */
#include <weir/weir.h>

#include <valgrind/callgrind.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 1024
#define KEYS   1024           /* which are asked for */
#define PLACED 12000          /* which are in the table */
#define STEP   ((weir_ns)100) /* between rounds */
#define FIRST  (1000 * WEIR_SECOND)

static int status;
static weir_key keys[KEYS];
static weir_ns now = FIRST;

/* Some noon, far from all edges of days. */
static weir_ns wall_clock(void *context, weir_ns instant)
{
    (void)context;
    return instant + 1767268800 * WEIR_SECOND;
}

static void dump(const char *name, const char *kind, unsigned count)
{
    char text[96];
    snprintf(text, sizeof text, "weir %u %s%s", count, name, kind);
    CALLGRIND_DUMP_STATS_AT(text);
}

static void expect(const char *name, const char *kind, uint64_t right, uint64_t due)
{
    if (right == due)
        return;
    fprintf(stderr, "%s%s: %" PRIu64 " of %" PRIu64 " answers as due\n", name, kind, right, due);
    status = 1;
}

/* MEASURE(name, kind, decisions of one call, before, the call, whether its answer is right) */
#define MEASURE(name, kind, of, before, call, is_right)                                            \
    do {                                                                                           \
        uint64_t right = 0;                                                                        \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                    \
            const weir_key key = keys[i % KEYS];                                                   \
            (void)key;                                                                             \
            now += STEP;                                                                           \
            before;                                                                                \
            CALLGRIND_TOGGLE_COLLECT;                                                              \
            call;                                                                                  \
            CALLGRIND_TOGGLE_COLLECT;                                                              \
            right += (is_right);                                                                   \
        }                                                                                          \
        dump(name, kind, (of) * ROUNDS);                                                           \
        expect(name, kind, right, ROUNDS);                                                         \
    } while (0)

/* An engine with one limit, or two of the same, whose keys have their place. */
static struct weir *open_engine(const struct weir_policy *policy, uint64_t charge)
{
    static uint8_t secret[192];
    struct weir_options options = {
        .wall_clock = wall_clock, .secret = secret, .max_keys = 4 * PLACED};
    struct weir *w;
    for (unsigned i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)(i * 167 + 13);
    if (weir_open(&w, &options) != 0 || weir_add_limit(w, "limit", policy) != 0 ||
        weir_add_limit(w, "other", policy) != 1) {
        fprintf(stderr, "cannot open an engine\n");
        exit(1);
    }
    for (unsigned i = 0; i < PLACED; i++) {
        const weir_key key = weir_key_u64(w, i);
        for (int limit = 0; limit < 2; limit++) {
            weir_charge(w, limit, key, charge, now);
            (void)!weir_allow(w, limit, key, 0, now); /* counts: allocates the counters */
        }
        if (i < KEYS)
            keys[i] = key;
    }
    return w;
}

struct kind {
    const char *name;
    struct weir_policy policy;
};

/* Limits that are not used up, but where a key is charged full. */
static void decide_by_kind(void)
{
    const struct kind kinds[] = {
        {"token bucket", weir_token_bucket(1000000, WEIR_SECOND, 1000000)},
        {"token bucket, rounded", weir_token_bucket(999983, WEIR_SECOND, 1000000)},
        {"pacer", weir_pacer(1000000, WEIR_SECOND, 1000000)},
        {"refill bucket", weir_refill_bucket(1000000, WEIR_SECOND, 100 * WEIR_MILLISECOND)},
        {"fixed window", weir_fixed_window(10000000, WEIR_HOUR)},
        {"aligned window", weir_aligned_window(10000000, WEIR_HOUR, 0)},
        {"calendar window", weir_calendar_window(10000000, WEIR_CALENDAR_DAY, "UTC")},
        {"sliding window", weir_sliding_window(1000000, WEIR_MINUTE)},
        {"concurrency", weir_concurrency((uint64_t)1 << 40)},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct weir_result r;
        struct weir *w = open_engine(&kinds[k].policy, 1);
        MEASURE("weir_decide granted, ", kinds[k].name, 1, , r = weir_decide(w, 0, key, 1, now),
                r.verdict == WEIR_ALLOWED);
        weir_close(w);
        w = open_engine(&kinds[k].policy, (uint64_t)1 << 40);
        MEASURE("weir_decide denied, ", kinds[k].name, 1, , r = weir_decide(w, 0, key, 1, now),
                r.verdict == WEIR_DENIED);
        weir_close(w);
    }
}

static const struct weir_policy bucket = {
    .kind = WEIR_TOKEN_BUCKET, .limit = 1000000, .period = WEIR_SECOND, .burst = 1000000};

static void other_calls(void)
{
    struct weir *w = open_engine(&bucket, 10000);
    struct weir_result r;
    bool allowed;
    uint64_t n;
    weir_key made;
    MEASURE("nothing", "", 1, , , true);
    MEASURE("weir_key_u64", "", 1, , made = weir_key_u64(w, i % KEYS), made.low == key.low);
    MEASURE("weir_allow", "", 1, , allowed = weir_allow(w, 0, key, 1, now), allowed);
    MEASURE("weir_peek", "", 1, , r = weir_peek(w, 0, key, 1, now), r.verdict == WEIR_ALLOWED);
    MEASURE("weir_take", "", 1, , n = weir_take(w, 0, key, 1, now), n == 1);
    MEASURE("weir_charge", "", 1, , n = weir_charge(w, 0, key, 1, now), n == 1);
    MEASURE("weir_refund", "", 1, , n = weir_refund(w, 0, key, 1, now), n == 1);
    weir_close(w);
}

/* In debt: whoever reserves waits. */
static void reservations(void)
{
    struct weir *w = open_engine(&bucket, 2000000);
    struct weir_reservation reservation;
    struct weir_result r;
    uint64_t n;
    MEASURE("weir_reserve", "", 1, ,
            r = weir_reserve(w, 0, key, 1, now, WEIR_FOREVER, &reservation), r.wait > 0);
    MEASURE("weir_cancel", "", 1,
            (void)!weir_reserve(w, 0, key, 1, now, WEIR_FOREVER, &reservation).verdict,
            n = weir_cancel(w, &reservation, now), n == 1);
    weir_close(w);
}

#define BATCH_MAX 32

static void several(void)
{
    struct weir *w = open_engine(&bucket, 10000);
    struct weir_request requests[BATCH_MAX];
    struct weir_result results[BATCH_MAX];
    int refused;
    static const struct {
        unsigned size;
        const char *text;
    } sizes[] = {{1, "1"}, {8, "8"}, {BATCH_MAX, "32"}};
    for (unsigned i = 0; i < BATCH_MAX; i++)
        requests[i] = (struct weir_request){0, keys[i], 1};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const unsigned size = sizes[s].size;
        MEASURE("weir_decide_batch, a decision of ", sizes[s].text, size, ,
                weir_decide_batch(w, requests, results, size, now),
                results[0].verdict == WEIR_ALLOWED && results[size - 1].verdict == WEIR_ALLOWED);
    }
    MEASURE("weir_decide_all, a call for 2 limits", "", 1,
            requests[0] = ((struct weir_request){0, key, 1});
            requests[1] = ((struct weir_request){1, key, 1}),
            refused = weir_decide_all(w, requests, 2, now, 0, results), refused == -1);
    weir_close(w);
}

static void permits(void)
{
    const struct weir_policy policy = weir_concurrency(100);
    struct weir *w = open_engine(&policy, 1);
    struct weir_permit permit;
    struct weir_result r;
    int error;
    MEASURE("weir_acquire and weir_release", "", 1, , r = weir_acquire(w, 0, key, 1, &permit);
            error = weir_release(w, &permit), r.verdict == WEIR_ALLOWED && error == 0);
    weir_close(w);
}

static void one_cell(void)
{
    struct weir_cell cell = {0};
    struct weir_meter meter;
    struct weir_result r;
    if (weir_meter_init(&meter, &bucket, 0) != 0)
        exit(1);
    MEASURE("weir_cell_decide granted", "", 1, , r = weir_cell_decide(&cell, &meter, 1, now),
            r.verdict == WEIR_ALLOWED);
    (void)!weir_cell_reserve(&cell, &meter, 1000000, now, WEIR_FOREVER, NULL).verdict;
    MEASURE("weir_cell_decide denied", "", 1, , r = weir_cell_decide(&cell, &meter, 100000, now),
            r.verdict == WEIR_DENIED);
}

int main(void)
{
    if (weir_thread_ready() != 0)
        return 1;
    other_calls();
    decide_by_kind();
    several();
    reservations();
    permits();
    one_cell();
    return status;
}
