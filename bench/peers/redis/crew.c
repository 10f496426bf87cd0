/* SPDX-License-Identifier: MIT */
#include "crew.h"
#include "server.h"
#include "stop.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The given clock at the start of pass 0, ns: any number that is not 0 will do. */
static const uint64_t start_ns = 1000000000;

struct player {
    pthread_t thread;
    redisContext *connection;
    struct record *list;
    size_t count;
    uint64_t admitted; /* in the present run; others read it after the gate only */
};

/* What follows is written between runs, or by one thread while the others wait at the meeting. */
static const struct trace *trace;
static const struct limiter *limiter;
static struct player *players;
static size_t players_count, batch;
static pthread_barrier_t gate, meeting;
static uint64_t wanted_ns;
static uint64_t pass; /* the one that is played, counted since the beginning */
static bool over;
static struct outcome run;
static uint64_t began_ns, cpu_began_ns;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        stop(FAILED, "no clock");
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Of this process and of the server. */
static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + server_cpu_ns();
}

/* One pass of a thread's list, so many requests to a round trip: how many were admitted. */
static uint64_t play(struct player *player, uint64_t start)
{
    uint64_t admitted = 0;
    for (size_t begin = 0; begin < player->count; begin += batch) {
        size_t left = player->count - begin;
        size_t end = begin + (left < batch ? left : batch);
        for (size_t i = begin; i < end; i++) {
            const struct record *r = &player->list[i];
            char key[24];
            (void)snprintf(key, sizeof key, "k:%" PRIu64, r->key);
            limiter_ask(limiter, player->connection, key, r->n, start + r->now);
        }
        for (size_t i = begin; i < end; i++)
            admitted += limiter_answer(player->connection);
    }
    return admitted;
}

/* After each pass one thread looks at the clock and says whether there is another. */
static void agree(void)
{
    if (pthread_barrier_wait(&meeting) == PTHREAD_BARRIER_SERIAL_THREAD) {
        pass++;
        run.passes++;
        run.ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
        over = run.ns >= wanted_ns;
        if (over)
            run.cpu_ns = cpu_ns() - cpu_began_ns;
        uint64_t start = start_ns + pass * trace->span;
        if (limiter->given && start > limiter->now_max - trace->span)
            stop(CANNOT, "pass %" PRIu64 " would be beyond Lua's exact numbers (2^53)", pass);
    }
    (void)pthread_barrier_wait(&meeting);
}

static void begin(void)
{
    if (pthread_barrier_wait(&meeting) == PTHREAD_BARRIER_SERIAL_THREAD) {
        run = (struct outcome){0};
        over = false;
        cpu_began_ns = cpu_ns();
        began_ns = clock_ns(CLOCK_MONOTONIC);
    }
    (void)pthread_barrier_wait(&meeting);
}

static void *live(void *self)
{
    struct player *player = self;
    for (;;) {
        (void)pthread_barrier_wait(&gate);
        player->admitted = 0;
        begin();
        while (!over) {
            player->admitted += play(player, start_ns + pass * trace->span);
            agree();
        }
        (void)pthread_barrier_wait(&gate);
    }
    return NULL;
}

static bool plays(size_t thread, const struct record *r)
{
    return trace_is_hot(trace) || r->key % players_count == thread;
}

static void make_list(size_t t)
{
    struct player *player = &players[t];
    for (size_t i = 0; i < trace->kept_count; i++)
        player->count += plays(t, &trace->kept[i]);
    player->list = calloc(player->count + 1, sizeof *player->list);
    if (player->list == NULL)
        stop(FAILED, "no memory for %zu records", player->count);
    size_t at = 0;
    for (size_t i = 0; i < trace->kept_count; i++)
        if (plays(t, &trace->kept[i]))
            player->list[at++] = trace->kept[i];
}

void crew_make(const struct trace *of, const struct limiter *by, redisContext **connections,
               size_t threads, size_t requests)
{
    trace = of;
    limiter = by;
    players_count = threads;
    batch = requests;
    if (by->given && by->now_max < start_ns + of->span)
        stop(CANNOT, "not even one pass is within Lua's exact numbers (2^53)");
    players = calloc(threads, sizeof *players);
    if (players == NULL || pthread_barrier_init(&gate, NULL, (unsigned)threads + 1) != 0 ||
        pthread_barrier_init(&meeting, NULL, (unsigned)threads) != 0)
        stop(FAILED, "no memory for %zu threads", threads);
    for (size_t t = 0; t < threads; t++) {
        players[t].connection = connections[t];
        make_list(t);
    }
    for (size_t t = 0; t < threads; t++)
        if (pthread_create(&players[t].thread, NULL, live, &players[t]) != 0)
            stop(FAILED, "cannot start thread %zu", t);
}

struct outcome crew_run(double seconds)
{
    wanted_ns = (uint64_t)(seconds * 1e9);
    (void)pthread_barrier_wait(&gate);
    (void)pthread_barrier_wait(&gate);
    struct outcome outcome = run;
    for (size_t t = 0; t < players_count; t++)
        outcome.admitted += players[t].admitted;
    return outcome;
}
