/* SPDX-License-Identifier: MIT */
/*
 * Redis as a rate limiter, played on a trace: a token bucket in Lua, over a Unix socket.
 *
 *   redis_lua  EVALSHA of one script for all limits, whose numbers are its arguments; a key of the
 *              server for each key of the trace. A batch of 1: a round trip for each decision.
 *              Batches: so many EVALSHA are sent before the first answer is read (pipelined). Each
 *              thread has a connection of its own; the server decides in one thread.
 *
 * Exact, in whole numbers (limiter.h says how); sums that would not be are refused. Given clock: an
 * argument. Own clock: the server's TIME, in whole us, read by each script.
 *
 * Memory is bounded by nothing but what expires. By its own clock a key expires when its bucket is
 * full again, as users have it: PX on each SET, some 40 bytes for a second entry of the key, and
 * the work of finding what expired: 10 to 15 % more processor time in batches of 16. By a given
 * clock nothing expires: a trace's time is not the server's, and a key dropped too early would be
 * admitted anew. Nothing is sized beforehand, as nothing can be: the dictionary grows in the first
 * pass.
 *
 * bytes_per_key is the growth of the server's resident set, used_memory_per_key that of its own
 * account, both over the keys that are played. keys_kept tells how many keys were there then: by
 * its own clock most may have expired, so what a key takes is to be read by the given clock.
 *
 * Only the first 50000 records of a trace are played, since a decision takes some us; what an exact
 * bucket admits of them is counted when they are read. So there are fewer keys than the trace has;
 * what takes the time is the round trip and the script, not the dictionary. cpu_seconds is the
 * processor time of this program and of the server.
 */
#include "crew.h"
#include "limiter.h"
#include "server.h"
#include "stop.h"
#include "trace.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define HIREDIS  TEXT(HIREDIS_MAJOR) "." TEXT(HIREDIS_MINOR) "." TEXT(HIREDIS_PATCH)

enum { THREADS_MAX = 1024, BATCH_MAX = 1024, WARM_UP_REQUESTS = 1000 };

static const char subject[] = "redis_lua";

struct arguments {
    const char *file, *subject, *clock;
    size_t threads, batch;
};

void stop(int status, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)fputs("redis peer: ", stderr);
    (void)vfprintf(stderr, format, values);
    (void)fputc('\n', stderr);
    va_end(values);
    exit(status);
}

/* Asks the command, so that no server has to be started for it. */
static void list(void)
{
    char version[32] = "";
    FILE *from = popen("redis-server --version 2>/dev/null", "re");
    if (from == NULL || fscanf(from, "%*[^=]=%31s", version) != 1)
        stop(CANNOT, "no redis-server in PATH");
    (void)pclose(from);
    printf("%s\tgiven,own\t1-%d\tredis-server %s, hiredis " HIREDIS "\n", subject, BATCH_MAX,
           version);
}

static size_t number(const char *option, const char *text, unsigned most)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 || value < 1 || value > most)
        stop(WRONG, "%s: %s is no number from 1 to %u", option, text, most);
    return value;
}

static void read_arguments(struct arguments *a, int count, char **words)
{
    *a = (struct arguments){.clock = "given", .threads = 1, .batch = 1};
    for (int i = 1; i < count; i += 2) {
        const char *option = words[i], *value = words[i + 1];
        if (value == NULL)
            stop(WRONG, "%s: needs a value, or is no option", option);
        if (strcmp(option, "--trace") == 0)
            a->file = value;
        else if (strcmp(option, "--subject") == 0)
            a->subject = value;
        else if (strcmp(option, "--threads") == 0)
            a->threads = number(option, value, THREADS_MAX);
        else if (strcmp(option, "--clock") == 0)
            a->clock = value;
        else if (strcmp(option, "--batch") == 0)
            a->batch = number(option, value, 1 << 20);
        else
            stop(WRONG, "unknown option %s", option);
    }
    if (a->file == NULL || a->subject == NULL)
        stop(WRONG, "usage: --trace FILE --subject NAME [--threads T] [--clock given|own] "
                    "[--batch B], or --list");
    if (strcmp(a->subject, subject) != 0)
        stop(WRONG, "unknown subject %s", a->subject);
    if (strcmp(a->clock, "given") != 0 && strcmp(a->clock, "own") != 0)
        stop(WRONG, "--clock: %s is neither given nor own", a->clock);
    if (a->batch > BATCH_MAX)
        stop(CANNOT, "batches of %d at most", BATCH_MAX);
}

/* The server's Lua and its buffers grow at first, which is no key's memory. */
static void warm_up(const struct limiter *limiter, redisContext *connection)
{
    for (int i = 0; i < WARM_UP_REQUESTS; i++) {
        limiter_ask(limiter, connection, "warm-up", 1, 1);
        (void)limiter_answer(connection);
    }
    freeReplyObject(redisCommand(connection, "DEL warm-up"));
}

static long long keys_kept(redisContext *connection)
{
    redisReply *reply = redisCommand(connection, "DBSIZE");
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER)
        stop(FAILED, "redis-server does not answer DBSIZE");
    long long kept = reply->integer;
    freeReplyObject(reply);
    return kept;
}

static double per_key(uint64_t after, uint64_t before, const struct trace *trace)
{
    return ((double)after - (double)before) / (double)trace->kept_keys;
}

static void tell(const struct trace *trace, const struct arguments *a, const struct outcome *o)
{
    bool given = strcmp(a->clock, "given") == 0;
    uint64_t decisions = o->passes * trace->kept_count * (trace_is_hot(trace) ? a->threads : 1);
    uint64_t least = given ? o->passes * trace->kept_admitted : decisions, most = least;
    if (trace_is_hot(trace) && (!given || a->threads > 1)) {
        uint64_t last = trace->kept[trace->kept_count - 1].now;
        uint64_t elapsed = given ? (o->passes - 1) * trace->span + last : o->ns;
        least = 0;
        most = trace_bound(trace, elapsed, decisions);
    }
    printf("{\"decisions\": %" PRIu64 ", \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
           "\"admitted\": %" PRIu64 ", \"least\": %" PRIu64 ", \"most\": %" PRIu64 "}\n",
           decisions, (double)o->ns / 1e9, (double)o->cpu_ns / 1e9, o->admitted, least, most);
    (void)fflush(stdout);
}

/* The seconds of "run SECONDS"; ends the program if the line is something else. */
static double seconds_of(const char *line)
{
    const char *text = line + 4;
    char *end = NULL;
    double seconds = -1;
    if (strncmp(line, "run ", 4) == 0 && isdigit((unsigned char)text[0]) &&
        text[strspn(text, "0123456789.")] == '\0')
        seconds = strtod(text, &end);
    if (end == NULL || *end != '\0' || seconds > 1e6)
        stop(WRONG, "neither \"run SECONDS\" nor \"quit\": %s", line);
    return seconds;
}

static void obey(const struct trace *trace, const struct arguments *a)
{
    char line[128];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "quit") == 0)
            return;
        struct outcome outcome = crew_run(seconds_of(line));
        tell(trace, a, &outcome);
    }
}

int main(int count, char **words)
{
    struct arguments a;
    static struct trace trace;
    static struct limiter limiter;
    if (count == 2 && strcmp(words[1], "--list") == 0) {
        list();
        return 0;
    }
    read_arguments(&a, count, words);
    trace_read(&trace, a.file);
    bool given = strcmp(a.clock, "given") == 0;
    if (!given && trace.admitted != trace.records)
        stop(CANNOT, "own clock: the trace denies %" PRIu64 " records, real time will not",
             trace.records - trace.admitted);
    redisContext **connections = calloc(a.threads + 1, sizeof *connections);
    if (connections == NULL)
        stop(FAILED, "no memory for %zu connections", a.threads);
    server_start(connections, a.threads + 1);
    redisContext *control = connections[a.threads];
    limiter_make(&limiter, &trace, given, control);
    crew_make(&trace, &limiter, connections, a.threads, a.batch);
    warm_up(&limiter, control);
    struct server_memory before = server_memory(control);
    (void)crew_run(0);
    struct server_memory after = server_memory(control);
    printf("{\"ready\": true, \"subject\": \"%s\", \"version\": \"%s\", \"threads\": %zu, "
           "\"clock\": \"%s\", \"batch\": %zu, \"keys\": %" PRIu64 ", \"records\": %zu, "
           "\"keys_played\": %" PRIu64 ", \"keys_kept\": %lld, \"bytes_per_key\": %.1f, "
           "\"used_memory_per_key\": %.1f, \"note\": \"the first records of the trace\"}\n",
           subject, server_info(control, "redis_version"), a.threads, a.clock, a.batch, trace.keys,
           trace.kept_count, trace.kept_keys, keys_kept(control),
           per_key(after.resident, before.resident, &trace),
           per_key(after.used, before.used, &trace));
    (void)fflush(stdout);
    obey(&trace, &a);
    return 0;
}
