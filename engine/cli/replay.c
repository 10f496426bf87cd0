/* SPDX-License-Identifier: MIT */
/*
 * `weir replay`: what limits would have done to the traffic of a log, on the log's own time line.
 *
 * A file is read whole (16 bytes an event, and its distinct keys), put into time order and
 * replayed by one shard or several. A stream is replayed as it comes by one shard, on the running
 * maximum of its times, in constant memory.
 */
#include "cli.h"
#include "events.h"
#include "input.h"
#include "progress.h"
#include "replay_options.h"
#include "replay_secret.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAD_SHOWN      5
#define BATCH          1024 /* events of a stream between two looks at the clock */
#define PROGRESS_LINES 1024
#define FILE_KEYS_MAX  (UINT32_MAX - 1)

struct pending {
    weir_key key;
    uint32_t number;
    struct log_time now;
};

struct replay {
    struct replay_options options;
    struct weir *hasher; /* makes the keys before the table can be sized */
    struct input *input;
    struct log_reader reader;
    struct keymap *keys;
    struct progress progress;
    struct events events; /* of a file */
    struct shard shard;   /* of a stream; of a file the sum of all shards */
    struct pending batch[BATCH];
    size_t pending;
    struct log_time now; /* of a stream: the running maximum */
    uint64_t position;
    weir_ns deciding_ns;
    struct report report;
};

static const char usage[] =
    "usage: weir replay [OPTION]... --limit \"TEXT\" [--limit \"TEXT\"]... FILE|-\n"
    "\n"
    "What these limits would have done to the traffic in a log. FILE is replayed in time order,\n"
    "- reads standard input and replays it as it comes, lines that are out of order as of the\n"
    "latest time seen; both may be gzip.\n"
    "\n"
    "  --limit \"TEXT\"   a policy, such as \"10/s\", \"10/min burst 20\", \"600/min window\",\n"
    "                   \"100/10s sliding\", \"5/day zone UTC\" (see weir check --help)\n"
    "  --key KEY        who is limited: ip (default), ip/24, ip/24,48, user, path, method,\n"
    "                   field:NAME (a JSON member or CSV column)\n"
    "  --format FORMAT  auto (default), combined, common, json, csv\n"
    "  --top N          list the N most denied keys of each limit (default 5)\n"
    "  --json           print one JSON object\n"
    "  --threads N      replay a FILE with N threads (default 1); the numbers are the same\n"
    "  --max-keys N     keys that a stream has room for (default 1048576)\n"
    "  --help           print this\n";

static void note_bad_line(struct replay *r, const struct input_line *line)
{
    if (r->report.skipped_lines++ >= BAD_SHOWN)
        return;
    progress_erase(&r->progress);
    cli_error("%s:%" PRIu64 ": line skipped: %s%s", r->options.path, line->number, r->reader.reason,
              line->cut ? " (in the first 1 MiB)" : "");
}

static void note_span(struct replay *r, const struct log_time *time)
{
    if (r->report.requests == 0 || time->unix_ns < r->report.from.unix_ns)
        r->report.from = *time;
    if (r->report.requests == 0 || time->unix_ns > r->report.to.unix_ns)
        r->report.to = *time;
    r->report.requests++;
}

static bool open_shard(struct replay *r, struct shard *shard, size_t keys_max, int64_t start)
{
    int error = shard_open(shard, r->options.policies, r->options.limits, keys_max, start);
    if (error == -ERANGE)
        cli_error("%zu keys under %zu limits are more than an engine holds", keys_max,
                  r->options.limits);
    else if (error != 0)
        cli_error("cannot open an engine for %zu keys under %zu limits: %s", keys_max,
                  r->options.limits, weir_strerror(error));
    return error == 0;
}

/* ---- a stream ---------------------------------------------------------------------------- */

static void decide_pending(struct replay *r)
{
    weir_ns start = weir_now();
    for (size_t i = 0; i < r->pending; i++) {
        const struct pending *p = &r->batch[i];
        bool known = p->number != KEYMAP_NONE;
        r->report.uncounted += !known;
        shard_decide(&r->shard, p->key, known ? keymap_at(r->keys, p->number) : NULL, &p->now,
                     r->position++);
    }
    r->pending = 0;
    r->deciding_ns += weir_now() - start;
}

static bool take_streamed(struct replay *r, const struct log_event *event,
                          const struct client_key *client)
{
    if (r->report.requests == 0) {
        r->now = event->time;
        if (!open_shard(r, &r->shard, r->options.keys_max, r->now.unix_ns))
            return false;
    }
    int64_t behind = r->now.unix_ns - event->time.unix_ns;
    if (behind < 0)
        r->now = event->time;
    r->report.out_of_order += behind > 0;
    if (behind > r->report.out_of_order_max_ns)
        r->report.out_of_order_max_ns = behind;
    r->batch[r->pending++] =
        (struct pending){client->key, keymap_intern(r->keys, client->key, client->text), r->now};
    if (r->pending == BATCH)
        decide_pending(r);
    return true;
}

/* ---- a file ------------------------------------------------------------------------------ */

/* One thread's part: the events of a share of the keys. */
struct part {
    pthread_t thread;
    struct shard shard;
    const struct replay *replay;
    const size_t *order; /* positions of its events, or NULL: it has them all */
    size_t count;
};

static void *replay_part(void *argument)
{
    struct part *part = argument;
    for (size_t i = 0; i < part->count; i++) {
        size_t position = part->order ? part->order[i] : i;
        const struct event *event = &part->replay->events.items[position];
        struct key_entry *entry = keymap_at(part->replay->keys, event->key);
        struct log_time now = {event->unix_ns, event->offset_min};
        shard_decide(&part->shard, entry->key, entry, &now, position);
    }
    shard_finish(&part->shard);
    return NULL;
}

static void run_parts(struct part *parts, unsigned count)
{
    bool started[REPLAY_THREADS] = {false};
    for (unsigned i = 1; i < count; i++)
        started[i] = pthread_create(&parts[i].thread, NULL, replay_part, &parts[i]) == 0;
    for (unsigned i = 0; i < count; i++) {
        if (!started[i])
            replay_part(&parts[i]);
    }
    for (unsigned i = 1; i < count; i++) {
        if (started[i])
            pthread_join(parts[i].thread, NULL);
    }
}

/* Parts with their events, no shards yet; `order` is NULL for one part. */
static struct part *make_parts(const struct replay *r, unsigned count, size_t *order)
{
    struct part *parts = cli_alloc(count, sizeof *parts);
    size_t ends[REPLAY_THREADS] = {r->events.count};
    if (order != NULL)
        events_deal(&r->events, count, order, ends);
    for (unsigned i = 0; i < count; i++) {
        size_t start = i > 0 ? ends[i - 1] : 0;
        parts[i].replay = r;
        parts[i].order = order ? order + start : NULL;
        parts[i].count = ends[i] - start;
    }
    return parts;
}

static bool replay_file(struct replay *r)
{
    unsigned count = r->options.threads;
    uint32_t keys = keymap_size(r->keys);
    int64_t start = r->report.from.unix_ns;
    bool ready = true;
    unsigned opened = 0;
    events_sort(&r->events);
    size_t *order = count > 1 ? cli_alloc(r->events.count, sizeof *order) : NULL;
    struct part *parts = make_parts(r, count, order);
    for (; opened < count && ready; opened += ready) {
        uint32_t share = keys / count + (opened < keys % count);
        ready = open_shard(r, &parts[opened].shard, share, start);
    }
    if (ready) {
        weir_ns before = weir_now();
        run_parts(parts, count);
        r->deciding_ns = weir_now() - before;
        for (unsigned i = 1; i < count; i++)
            shard_add(&parts[0].shard, &parts[i].shard);
        r->shard = parts[0].shard;
    }
    for (unsigned i = ready ? 1 : 0; i < opened; i++)
        shard_close(&parts[i].shard);
    free(parts);
    free(order);
    return ready;
}

/* ---- an interrupt ends a stream, and what came before it is reported ------------------------ */

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number)
{
    interrupted = number;
}

/* The second one ends the command at once. */
static void stop_on_interrupt(struct input *input)
{
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
    input_end_on(input, &interrupted);
}

/* ---- both -------------------------------------------------------------------------------- */

static bool take_line(struct replay *r, const struct input_line *line)
{
    struct log_event event;
    struct client_key client;
    switch (log_read(&r->reader, line->data, line->size, line->cut, &event)) {
    case LOG_NOTHING:
        return true;
    case LOG_BAD:
        note_bad_line(r, line);
        return true;
    case LOG_UNUSABLE:
        progress_erase(&r->progress);
        cli_error("%s:%" PRIu64 ": %s", r->options.path, line->number, r->reader.reason);
        return false;
    case LOG_EVENT:
        break;
    }
    key_choice_apply(&r->options.key_choice, event.key, &client);
    if (r->options.stream) {
        if (!take_streamed(r, &event, &client))
            return false;
    } else {
        uint32_t number = keymap_intern(r->keys, client.key, client.text);
        if (number == KEYMAP_NONE) {
            progress_erase(&r->progress);
            cli_error("%s:%" PRIu64 ": more than %u keys cannot be told apart", r->options.path,
                      line->number, FILE_KEYS_MAX);
            return false;
        }
        events_put(&r->events, &event.time, number);
    }
    note_span(r, &event.time);
    return true;
}

static bool read_all(struct replay *r)
{
    struct input_line line;
    enum input_status status;
    while ((status = input_next(r->input, log_reader_joins_lines(&r->reader), &line)) ==
           INPUT_LINE) {
        if (interrupted && !line.ended) /* it may have been on its way */
            break;
        if (!take_line(r, &line))
            return false;
        if (line.number % PROGRESS_LINES == 0)
            progress_show(&r->progress, line.number);
    }
    progress_erase(&r->progress);
    if (status == INPUT_ERROR) {
        cli_error("%s: %s", r->options.path, input_error(r->input));
        return false;
    }
    if (r->report.skipped_lines > BAD_SHOWN)
        cli_error("%s: %" PRIu64 " more lines skipped", r->options.path,
                  r->report.skipped_lines - BAD_SHOWN);
    if (r->report.requests == 0 && !interrupted) {
        cli_error("%s: no line could be read as a request", r->options.path);
        return false;
    }
    return r->report.requests > 0;
}

static void print_report(struct replay *r)
{
    struct report *report = &r->report;
    double decisions = (double)report->requests * (double)r->options.limits;
    report->key_text = r->options.key_text;
    report->stream = r->options.stream;
    report->decisions_per_second = decisions * 1e9 / (double)(r->deciding_ns ? r->deciding_ns : 1);
    report_collect(report, r->options.policies, &r->shard, r->keys, r->options.top);
    if (r->options.json)
        report_json(report);
    else
        report_text(report);
    report_free(report);
}

static int run(struct replay *r)
{
    bool done = read_all(r);
    if (done && r->options.stream) {
        decide_pending(r);
        shard_finish(&r->shard);
    } else if (done) {
        done = replay_file(r);
    }
    if (done)
        print_report(r);
    shard_close(&r->shard);
    int status = done ? cli_finish_output() : CLI_USAGE;
    return interrupted && status != CLI_FAILED ? CLI_INTERRUPTED : status;
}

static bool open_all(struct replay *r)
{
    struct weir_options hasher = {
        .size = sizeof hasher, .max_keys = 1, .max_limits = 1, .secret = replay_secret()};
    struct replay_options *o = &r->options;
    int error = weir_open(&r->hasher, &hasher);
    if (error != 0) {
        cli_error("cannot open an engine: %s", weir_strerror(error));
        return false;
    }
    o->key_choice.engine = r->hasher;
    r->input = input_open(o->path);
    if (r->input == NULL) {
        cli_error("%s: %s", o->path, strerror(errno));
        return false;
    }
    log_reader_init(&r->reader, o->format, o->key_choice.field, o->key_choice.field_name);
    r->keys = keymap_open(o->stream ? o->keys_max : FILE_KEYS_MAX, o->limits);
    if (o->stream)
        stop_on_interrupt(r->input);
    progress_start(&r->progress);
    return true;
}

static void close_all(struct replay *r)
{
    if (r->keys != NULL) {
        log_reader_free(&r->reader);
        keymap_close(r->keys);
        events_free(&r->events);
    }
    if (r->input != NULL)
        input_close(r->input);
    weir_close(r->hasher);
    replay_options_free(&r->options);
    free(r);
}

int cli_replay(int argc, char **argv)
{
    struct replay *r = cli_alloc(1, sizeof *r);
    int status = CLI_USAGE;
    switch (replay_options_read(&r->options, argc, argv)) {
    case OPTIONS_HELP:
        fputs(usage, stdout);
        status = cli_finish_output();
        break;
    case OPTIONS_RUN:
        if (open_all(r))
            status = run(r);
        break;
    case OPTIONS_WRONG:
        break;
    }
    close_all(r);
    return status;
}
