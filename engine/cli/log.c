/* SPDX-License-Identifier: MIT */
/* What the readers of log lines share: the choice of the format, names of fields, requests. */
#include "log.h"

#include "ascii.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a log writes, and what is taken, where a request has no such field. */
static const struct slice nobody = {"-", 1};

static const char request_name[] = "request";

void log_reader_init(struct log_reader *r, enum log_format format, enum log_field field,
                     const char *field_name)
{
    *r = (struct log_reader){.format = format, .field = field, .field_name = field_name};
}

void log_reader_free(struct log_reader *r)
{
    text_free(&r->time_text);
    text_free(&r->key_text);
    json_decref(r->json_time);
    json_decref(r->json_key);
    r->json_time = r->json_key = NULL;
}

bool log_reader_joins_lines(const struct log_reader *r)
{
    return r->format == LOG_CSV;
}

enum log_status log_bad(struct log_reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->reason, sizeof r->reason, format, arguments);
    va_end(arguments);
    return LOG_BAD;
}

const char *const *log_names_of_time(void)
{
    static const char *const names[] = {"time",       "timestamp",    "@timestamp", "ts",
                                        "time_local", "time_iso8601", "msec",       NULL};
    return names;
}

const char *const *log_names_of_field(enum log_field field)
{
    static const char *const address[] = {"ip",        "client_ip", "clientip", "remote_addr",
                                          "remote_ip", "client",    NULL};
    static const char *const user[] = {"user", "remote_user", NULL};
    static const char *const method[] = {"method", "request_method", request_name, NULL};
    static const char *const path[] = {"path", "uri", "request_uri", "url", request_name, NULL};
    static const char *const none[] = {NULL};
    switch (field) {
    case LOG_ADDRESS:
        return address;
    case LOG_USER:
        return user;
    case LOG_METHOD:
        return method;
    case LOG_PATH:
        return path;
    case LOG_NAMED:
        break;
    }
    return none;
}

bool log_is_request_name(const char *name)
{
    return name == request_name;
}

size_t log_name_rank(const char *const *names, struct slice name)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strlen(names[i]) == name.size && ascii_same(names[i], name.data, name.size))
            return i;
    }
    return SIZE_MAX;
}

size_t log_key_rank(const struct log_reader *r, struct slice name)
{
    if (r->field != LOG_NAMED)
        return log_name_rank(log_names_of_field(r->field), name);
    bool same =
        strlen(r->field_name) == name.size && memcmp(r->field_name, name.data, name.size) == 0;
    return same ? 0 : SIZE_MAX;
}

struct slice log_trim(struct slice s)
{
    while (s.size > 0 && (s.data[0] == ' ' || s.data[0] == '\t')) {
        s.data++;
        s.size--;
    }
    while (s.size > 0 && (s.data[s.size - 1] == ' ' || s.data[s.size - 1] == '\t'))
        s.size--;
    return s;
}

/* "https://host/a?b#c" and "/a?b" are both "/a". */
static struct slice path_of(struct slice target)
{
    const char *mark = memchr(target.data, ':', target.size);
    const char *end = target.data + target.size;
    if (target.data[0] != '/' && mark != NULL && end - mark >= 3 && memcmp(mark, "://", 3) == 0) {
        const char *host = mark + 3;
        size_t host_size = 0, rest = (size_t)(end - host);
        while (host_size < rest && strchr("/?#", host[host_size]) == NULL)
            host_size++;
        target = (struct slice){host + host_size, rest - host_size};
        if (target.size == 0 || target.data[0] != '/')
            return (struct slice){"/", 1};
    }
    for (size_t i = 0; i < target.size; i++) {
        if (target.data[i] == '?' || target.data[i] == '#')
            target.size = i;
    }
    return target;
}

enum log_status log_take_field(struct log_reader *r, struct slice value, struct log_event *out)
{
    if (r->field == LOG_ADDRESS || r->field == LOG_METHOD)
        value = log_trim(value);
    if (r->field == LOG_ADDRESS && value.size == 0)
        return log_bad(r, "no address");
    if (r->field == LOG_PATH && value.size > 0)
        value = path_of(value);
    out->key = value.size > 0 || r->field == LOG_NAMED ? value : nobody;
    return LOG_EVENT;
}

enum log_status log_take_request(struct log_reader *r, struct slice request, struct log_event *out)
{
    const char *end = request.data + request.size;
    const char *blank = memchr(request.data, ' ', request.size);
    if (blank == NULL || blank == request.data || blank + 1 == end)
        return log_take_field(r, nobody, out);
    if (r->field == LOG_METHOD) {
        struct slice method = {request.data, (size_t)(blank - request.data)};
        return log_take_field(r, method, out);
    }
    struct slice target = {blank + 1, (size_t)(end - (blank + 1))};
    const char *last = memrchr(target.data, ' ', target.size);
    if (last != NULL && end - last > 5 && memcmp(last, " HTTP/", 6) == 0)
        target.size = (size_t)(last - target.data);
    return log_take_field(r, target, out);
}

/*
 * LOG_AUTO: the first line that reads well settles the format. CSV comes last, since a word of any
 * line between commas could be the name of a column.
 */
static enum log_status settle(struct log_reader *r, struct slice line, bool cut,
                              struct log_event *out)
{
    if (log_trim(line).data[0] == '{') {
        enum log_status status = log_read_json(r, line, cut, out);
        if (status == LOG_EVENT)
            r->format = LOG_JSON;
        return status;
    }
    enum log_status status = log_read_clf(r, line, out);
    if (status == LOG_EVENT)
        r->format = LOG_COMBINED;
    if (status != LOG_BAD)
        return status;
    char why[sizeof r->reason];
    memcpy(why, r->reason, sizeof why);
    switch (log_read_csv_header(r, line)) {
    case LOG_CSV_COMPLETE:
        r->format = LOG_CSV;
        r->reason[0] = '\0';
        return LOG_NOTHING;
    case LOG_CSV_NO_KEY:
        return LOG_BAD;
    case LOG_CSV_NO_TIME:
        break;
    }
    return log_bad(r, "no JSON, no CSV header with a time, and as combined: %.120s", why);
}

enum log_status log_read(struct log_reader *r, const char *data, size_t size, bool cut,
                         struct log_event *out)
{
    struct slice line = {data, size};
    if (log_trim(line).size == 0)
        return LOG_NOTHING;
    switch (r->format) {
    case LOG_AUTO:
        return settle(r, line, cut, out);
    case LOG_COMBINED:
    case LOG_COMMON:
        return log_read_clf(r, line, out);
    case LOG_JSON:
        return log_read_json(r, line, cut, out);
    case LOG_CSV:
        return log_read_csv(r, line, cut, out);
    }
    return log_bad(r, "no such format");
}
