/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: command lines. The first byte chooses:
 *
 *   0, 1  `weir check`, in words and with --json; then arguments, a line each
 *   2     the options of `weir replay`: arguments, a line each
 *   3, 4  `weir replay` in words and with --json: two bytes for --key and --format, a line that is
 *         the --limit, then the log
 *
 * Whatever they are, the command ends with a status it has; wrong usage is said in one message or
 * more, of which a terminal can show every byte. What --json prints is one JSON object, and each
 * request of a log is allowed or denied; a policy that check prints is the one that it was given.
 */
#include "cli.h"
#include "one_thread.h"
#include "replay_options.h"

#include <jansson.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARGUMENTS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define check(holds) check_at(holds, __LINE__)
static void check_at(bool holds, int line)
{
    char text[40];
    int length = snprintf(text, sizeof text, "line %d, not so\n", line);

    if (holds)
        return;
    (void)!write(STDERR_FILENO, text, (size_t)length);
    abort();
}

/* ---- what the command prints -------------------------------------------------------------- */

struct printed {
    char *data[2];
    size_t size[2];
    FILE *real[2];
};

static void capture(struct printed *p)
{
    p->real[0] = stdout;
    p->real[1] = stderr;
    stdout = open_memstream(&p->data[0], &p->size[0]);
    stderr = open_memstream(&p->data[1], &p->size[1]);
    check(stdout != NULL && stderr != NULL);
}

static void restore(struct printed *p)
{
    check(fclose(stdout) == 0 && fclose(stderr) == 0);
    stdout = p->real[0];
    stderr = p->real[1];
}

static void check_messages(const struct printed *p)
{
    const unsigned char *bytes = (const unsigned char *)p->data[1];

    for (size_t i = 0; i < p->size[1]; i++)
        check(bytes[i] == '\n' || (bytes[i] >= 0x20 && bytes[i] != 0x7f));
    check(p->size[1] == 0 || bytes[p->size[1] - 1] == '\n');
}

/* ---- command lines ------------------------------------------------------------------------- */

struct line {
    char *text;
    char *arguments[ARGUMENTS_MAX + 1];
    int count;
};

static void add(struct line *l, char *argument)
{
    if (l->count < ARGUMENTS_MAX)
        l->arguments[l->count++] = argument;
    l->arguments[l->count] = NULL;
}

/* A line each, ended by a line end or a NUL. */
static void read_arguments(struct line *l, const uint8_t *data, size_t size)
{
    char *next;

    l->text = malloc(size + 1);
    check(l->text != NULL);
    if (size > 0)
        memcpy(l->text, data, size);
    l->text[size] = '\0';
    for (char *at = l->text; at != NULL && l->count < ARGUMENTS_MAX; at = next) {
        next = strchr(at, '\n');
        if (next != NULL)
            *next++ = '\0';
        add(l, at);
    }
}

static json_t *json_of(const struct printed *p)
{
    json_error_t error;
    json_t *json = json_loadb(p->data[0], p->size[0], JSON_ALLOW_NUL, &error);

    check(json_is_object(json));
    return json;
}

static bool has(const struct line *l, const char *argument)
{
    for (int i = 1; i < l->count; i++)
        if (strcmp(l->arguments[i], argument) == 0)
            return true;
    return false;
}

/* The policy's text is the first line. */
static void check_words(const struct printed *p)
{
    char *end = memchr(p->data[0], '\n', p->size[0]);
    struct weir_policy policy;

    check(end != NULL);
    *end = '\0';
    check(weir_policy_parse(&policy, p->data[0], NULL) == 0);
}

static void run_check(struct line *l, bool json)
{
    struct printed p;
    int status;

    capture(&p);
    status = cli_check(l->count, l->arguments);
    restore(&p);
    check(status == CLI_OK || status == CLI_USAGE);
    check_messages(&p);
    check((status == CLI_OK) == (p.size[0] != 0) && (status == CLI_OK) == (p.size[1] == 0));
    if (status == CLI_OK && json && !has(l, "--help"))
        json_decref(json_of(&p));
    else if (status == CLI_OK && !has(l, "--help") && !has(l, "--json"))
        check_words(&p);
    free(p.data[0]);
    free(p.data[1]);
}

static void run_options(struct line *l)
{
    struct replay_options o;
    struct printed p;
    enum options_result result;

    capture(&p);
    result = replay_options_read(&o, l->count, l->arguments);
    restore(&p);
    check_messages(&p);
    check(p.size[0] == 0 && (result == OPTIONS_WRONG) == (p.size[1] != 0));
    if (result == OPTIONS_RUN) {
        check(o.limits > 0 && o.path != NULL && o.threads >= 1 && o.threads <= REPLAY_THREADS);
        check(o.keys_max >= 1 && o.key_choice.prefix4 <= 32 && o.key_choice.prefix6 <= 128);
        for (size_t i = 0; i < o.limits; i++)
            check(weir_policy_format(&o.policies[i], NULL, 0) > 0 &&
                  o.policies[i].kind != WEIR_CONCURRENCY);
    }
    replay_options_free(&o);
    free(p.data[0]);
    free(p.data[1]);
}

static json_int_t member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    check(json_is_integer(value) && json_integer_value(value) >= 0);
    return json_integer_value(value);
}

static void check_report(const struct printed *p)
{
    json_t *report = json_of(p);
    const json_t *limits = json_object_get(report, "limits");
    json_int_t requests = member(report, "requests");

    check(requests > 0 && json_array_size(limits) == 1);
    for (size_t i = 0; i < json_array_size(limits); i++) {
        const json_t *limit = json_array_get(limits, i);

        check(member(limit, "allowed") + member(limit, "denied") == requests);
        check(member(limit, "keys") >= 1 && member(limit, "keys") <= requests);
        check(member(limit, "keys_denied") <= member(limit, "keys"));
        check(member(limit, "overflow") == 0); /* a file gets a table that holds all */
    }
    json_decref(report);
}

static void run_replay(struct line *l, bool json)
{
    struct printed p;
    int status;

    capture(&p);
    status = cli_replay(l->count, l->arguments);
    restore(&p);
    check(status == CLI_OK || status == CLI_USAGE);
    check(status != CLI_USAGE || p.size[1] != 0);
    check((status == CLI_OK) == (p.size[0] != 0));
    if (status == CLI_OK && json)
        check_report(&p);
    free(p.data[0]);
    free(p.data[1]);
}

static void replay(const uint8_t *data, size_t size, bool json)
{
    static char *const keys[] = {"ip", "ip/24,48", "user", "path", "method", "field:k", "ip/0"};
    static char *const formats[] = {"auto", "combined", "common", "json", "csv"};
    static int fd = -1;
    const uint8_t *newline = size > 2 ? memchr(data + 2, '\n', size - 2) : NULL;
    size_t limit_size, log_size;
    struct line l = {.count = 0};
    char path[40], *limit;

    if (newline == NULL)
        return;
    limit_size = (size_t)(newline - data) - 2;
    log_size = size - limit_size - 3;
    limit = malloc(limit_size + 1);
    if (fd < 0)
        fd = memfd_create("log", MFD_CLOEXEC);
    check(fd >= 0 && limit != NULL && ftruncate(fd, 0) == 0);
    memcpy(limit, data + 2, limit_size);
    limit[limit_size] = '\0';
    check(pwrite(fd, newline + 1, log_size, 0) == (ssize_t)log_size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    add(&l, "replay");
    add(&l, "--key");
    add(&l, keys[data[0] % 7]);
    add(&l, "--format");
    add(&l, formats[data[1] % 5]);
    add(&l, "--limit");
    add(&l, limit);
    add(&l, json ? "--json" : "--top=3");
    add(&l, "--");
    add(&l, path);
    run_replay(&l, json);
    free(limit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct line l = {.count = 0};
    unsigned what;

    if (size == 0)
        return 0;
    if (setlocale(LC_CTYPE, NULL)[1] == '\0')
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    what = data[0] % 5;
    if (what >= 3) {
        replay(data + 1, size - 1, what == 4);
        one_thread_reclaim();
        return 0;
    }
    add(&l, what == 2 ? "replay" : "check");
    if (what == 1)
        add(&l, "--json");
    read_arguments(&l, data + 1, size - 1);
    if (what == 2)
        run_options(&l);
    else
        run_check(&l, what == 1);
    free(l.text);
    one_thread_reclaim();
    return 0;
}
