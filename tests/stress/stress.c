/* SPDX-License-Identifier: MIT */
/* Clocks that lag, threads that are stopped anywhere, and a look at the table afterwards. */
#include "stress.h"

#include "slot/word.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

struct weir *stress_open(size_t max_keys, enum weir_when_full when_full, uint64_t seed)
{
    uint8_t secret[WEIR_SECRET_SIZE];
    struct test_random random = {seed};
    for (unsigned i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)random_u64(&random);
    const struct weir_options options = {.max_keys = max_keys,
                                         .when_full = when_full,
                                         .stale_max = STRESS_STALE_MAX,
                                         .secret = secret};
    return open_engine(&options);
}

/* ---- clocks ---- */

void stress_clock_start(struct stress_clock *c, weir_ns now, weir_ns spread)
{
    c->now = now;
    c->spread = spread;
    for (unsigned i = 0; i < THREADS_MAX; i++)
        c->threads[i].in_use = WEIR_FOREVER;
}

/* All accesses are in one order: either the call sees that the instant has moved on, or who moves
   it on sees the call. One may have looked just before. */
weir_ns stress_clock_enter(struct stress_clock *c, unsigned thread, weir_ns lag)
{
    for (;;) {
        weir_ns now = c->now;
        weir_ns mine = now > lag ? now - lag : 0;
        c->threads[thread].in_use = mine;
        if (c->now == now)
            return mine;
    }
}

weir_ns stress_clock_leave(struct stress_clock *c, unsigned thread)
{
    c->threads[thread].in_use = WEIR_FOREVER;
    return c->now;
}

void stress_clock_advance(struct stress_clock *c, weir_ns step)
{
    weir_ns now = c->now;
    weir_ns then = now + step;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        weir_ns in_use = c->threads[i].in_use;
        if (in_use < WEIR_FOREVER - c->spread && in_use + c->spread < then)
            then = in_use + c->spread;
    }
    if (then > now)
        atomic_compare_exchange_strong(&c->now, &now, then);
}

/* ---- threads that are stopped ---- */

/* A thread runs for so long until it is stopped again, in ns. */
#define RUNS_AT_LEAST 20000
#define RUNS_AT_MOST  60000

/* One stop in so many is as long as stress_stop_for has asked for. */
#define LONG_ONE_IN 128

static long longest_stop; /* in ns; set while no thread is stopped */

struct troupe {
    void (*body)(void *context, unsigned index);
    void *context;
};

/* Of the thread; used by its signal handler alone, once it is set. */
static _Thread_local struct {
    timer_t timer;
    struct test_random random;
} stops;

/* By a timer of the thread's own, which comes while the thread runs, wherever that is. */
static void stop_later(void)
{
    uint64_t span = random_below(&stops.random, RUNS_AT_MOST - RUNS_AT_LEAST);
    const struct itimerspec spec = {{0, 0}, {0, RUNS_AT_LEAST + (long)span}};
    timer_settime(stops.timer, 0, &spec, NULL);
}

/* Most pauses are as short as can be, some long enough for the other threads to get far. pselect
   and timer_settime may be called by a signal handler. */
static void stop_a_while(int signal)
{
    int saved = errno;
    (void)signal;
    struct timespec pause = {0, random_below(&stops.random, 4) == 0 ? 200000 : 1};
    if (longest_stop != 0 && random_below(&stops.random, LONG_ONE_IN) == 0)
        pause.tv_nsec = longest_stop;
    pselect(0, NULL, NULL, NULL, &pause, NULL);
    stop_later();
    errno = saved;
}

static void play(void *context, unsigned index)
{
    struct troupe *t = context;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = gettid(); /* sigev_notify_thread_id, which glibc does not name */
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &stops.timer), 0);
    stops.random.state = index;
    stop_later();
    t->body(t->context, index);
    timer_delete(stops.timer);
}

void stress_stop_for(weir_ns longest)
{
    longest_stop = (long)longest;
}

void stress_run(unsigned threads, void (*body)(void *, unsigned), void *context)
{
    struct troupe t = {body, context};
    struct sigaction old;
    struct sigaction stop = {.sa_handler = stop_a_while, .sa_flags = SA_RESTART};
    assert_int_equal(sigaction(SIGUSR1, &stop, &old), 0);
    run_crew(threads, play, &t);
    sigaction(SIGUSR1, &old, NULL);
}

/* ---- the table, when no call is under way ---- */

/* A used slot: of which key, and whether a move has taken its word along. */
struct used {
    uint64_t shard, tag;
    bool frozen;
};

struct census {
    struct used *slots;
    size_t count, room;
    uint64_t shard;
};

static void enlist(void *context, uint64_t tag, struct weir_atomic_u64 *word)
{
    struct census *c = context;
    if (c->count == c->room) {
        c->room = c->room != 0 ? 2 * c->room : 1024;
        c->slots = realloc(c->slots, c->room * sizeof *c->slots);
        assert_non_null(c->slots);
    }
    bool frozen = (weir_load_relaxed(word) & WEIR_WORD_FROZEN) != 0;
    c->slots[c->count++] = (struct used){c->shard, tag, frozen};
}

static int by_tag(const void *a, const void *b)
{
    const struct used *x = a;
    const struct used *y = b;
    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

/* The slots in use of one array; false: not as many as are counted there. */
static bool enlist_array(struct census *c, struct weir_array *a)
{
    size_t before = c->count;
    weir_array_walk(a, enlist, c);
    return c->count - before == weir_array_count(a);
}

bool stress_table_is_sound(const struct weir *w)
{
    const struct weir_table *t = &w->table;
    struct census c = {NULL, 0, 0, 0};
    bool sound = weir_table_is_valid(t);
    for (; c.shard < t->shards; c.shard++) {
        uint64_t packed = weir_load_acquire(&t->words[c.shard]);
        for (; packed != 0; packed = weir_load_acquire(&weir_packed_array(packed)->next))
            sound = enlist_array(&c, weir_packed_array(packed)) && sound;
    }
    if (c.count != 0)
        qsort(c.slots, c.count, sizeof *c.slots, by_tag);
    for (size_t i = 0; i < c.count;) {
        unsigned live = 0;
        unsigned frozen = 0;
        size_t first = i;
        for (; i < c.count && by_tag(&c.slots[first], &c.slots[i]) == 0; i++) {
            live += !c.slots[i].frozen;
            frozen += c.slots[i].frozen;
        }
        /* None is left of a key that was idle when it was moved. */
        sound = sound && live <= 1 && frozen <= 1 && live + frozen >= 1;
    }
    free(c.slots);
    return sound;
}

/* ---- what happened ---- */

void stress_count(struct stress_counts *c, const struct weir *w)
{
    const struct weir_table_counts *counts = &w->table.counts;
    const struct weir_atomic_u64 *of[STRESS_COUNTS] = {
        &counts->growths, &counts->compactions, &counts->moves,      &counts->races,
        &counts->helps,   &counts->redone,      &counts->stale_left, &counts->stale_fresh};
    for (unsigned i = 0; i < STRESS_COUNTS; i++)
        c->of[i] += weir_load_relaxed(of[i]);
}

bool stress_report(const char *name, const struct stress_counts *c, unsigned wanted)
{
    static const char *names[STRESS_COUNTS] = {
        "growths", "compactions", "moves", "races", "helps", "redone", "stale left", "stale fresh"};
    bool all = true;
    print_message("# %s:", name);
    for (unsigned i = 0; i < STRESS_COUNTS; i++) {
        print_message(" %s %llu%s", names[i], (unsigned long long)c->of[i],
                      i + 1 < STRESS_COUNTS ? "," : "\n");
        all = all && (c->of[i] != 0 || (wanted >> i & 1) == 0);
    }
    return all || random_scaled(100) < 100;
}
