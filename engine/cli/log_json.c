/* SPDX-License-Identifier: MIT */
/*
 * JSON lines: one object a line.
 *
 * jansson says whether the line is JSON and decodes strings. The members are found by a scan of
 * the text: numbers keep all their digits that way, and of a line that was cut the members
 * before the cut can be used.
 */
#include "log.h"

#include <string.h>

#define DECODE (JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL)

struct scan {
    const char *at, *end;
};

struct member {
    struct slice name;  /* with its quotes, as written */
    struct slice value; /* as written */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && is_blank(*s->at))
        s->at++;
}

static bool skip_byte(struct scan *s, char byte)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != byte)
        return false;
    s->at++;
    return true;
}

static bool skip_string(struct scan *s)
{
    for (s->at++; s->at < s->end; s->at++) {
        if (*s->at == '"') {
            s->at++;
            return true;
        }
        if (*s->at == '\\' && s->end - s->at > 1)
            s->at++;
    }
    return false;
}

/* Past one value; the text is JSON, or ends before the value does (false). */
static bool skip_value(struct scan *s)
{
    size_t depth = 0;
    while (s->at < s->end) {
        char c = *s->at;
        if (c == '"') {
            if (!skip_string(s))
                return false;
            if (depth == 0)
                return true;
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_blank(c)))
            return true;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        s->at++;
        if (depth == 0 && (c == '}' || c == ']'))
            return true;
    }
    return false;
}

static bool next_member(struct scan *s, struct member *out)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != '"')
        return false;
    const char *start = s->at;
    if (!skip_string(s))
        return false;
    out->name = (struct slice){start, (size_t)(s->at - start)};
    if (!skip_byte(s, ':'))
        return false;
    skip_blanks(s);
    start = s->at;
    if (!skip_value(s))
        return false;
    out->value = (struct slice){start, (size_t)(s->at - start)};
    skip_byte(s, ',');
    return true;
}

/* The bytes a JSON string means; decoded ones live in *held. False when it does not decode. */
static bool decode_string(struct slice written, json_t **held, struct slice *out)
{
    struct slice inner = {written.data + 1, written.size - 2};
    if (memchr(inner.data, '\\', inner.size) == NULL) {
        *out = inner;
        return true;
    }
    json_error_t error;
    json_t *value = json_loadb(written.data, written.size, DECODE | JSON_DECODE_ANY, &error);
    json_decref(*held);
    *held = value;
    if (!json_is_string(value))
        return false;
    *out = (struct slice){json_string_value(value), json_string_length(value)};
    return true;
}

static bool is_string(struct slice value)
{
    return value.size >= 2 && value.data[0] == '"';
}

static bool is_number(struct slice value)
{
    static const char begins[] = "-0123456789";
    return value.size > 0 && memchr(begins, value.data[0], sizeof begins - 1) != NULL;
}

static bool is_null(struct slice value)
{
    return value.size == 4 && memcmp(value.data, "null", 4) == 0;
}

/* The best member for the time and for the key, by the order of their usual names. */
struct found {
    struct slice time, key;
    size_t time_rank, key_rank;
};

static void consider(struct log_reader *r, const struct member *m, struct found *found)
{
    struct slice name;
    json_t *held = NULL;
    if (decode_string(m->name, &held, &name)) {
        bool scalar = is_string(m->value) || is_number(m->value);
        size_t rank = log_name_rank(log_names_of_time(), name);
        if (scalar && rank != SIZE_MAX && rank <= found->time_rank) {
            found->time_rank = rank;
            found->time = m->value;
        }
        bool usable = r->field == LOG_NAMED || scalar || is_null(m->value);
        rank = usable ? log_key_rank(r, name) : SIZE_MAX;
        if (rank != SIZE_MAX && rank <= found->key_rank) {
            found->key_rank = rank;
            found->key = m->value;
        }
    }
    json_decref(held);
}

static enum log_status take_key(struct log_reader *r, const struct found *found,
                                struct log_event *out)
{
    struct slice value = found->key;
    if (is_string(found->key) && !decode_string(found->key, &r->json_key, &value))
        return log_bad(r, "a string that does not decode");
    if (is_null(found->key) && r->field != LOG_NAMED)
        value.size = 0;
    const char *const *names = log_names_of_field(r->field);
    bool request = r->field != LOG_NAMED && log_is_request_name(names[found->key_rank]);
    return request ? log_take_request(r, value, out) : log_take_field(r, value, out);
}

/* A line that is whole must be an object, all of it. */
static bool is_object(struct log_reader *r, struct slice line)
{
    json_error_t error;
    json_t *value = json_loadb(line.data, line.size, DECODE, &error);
    bool object = json_is_object(value);
    if (value == NULL)
        log_bad(r, "no JSON: %s", error.text);
    else if (!object)
        log_bad(r, "JSON, but no object");
    json_decref(value);
    return object;
}

enum log_status log_read_json(struct log_reader *r, struct slice line, bool cut,
                              struct log_event *out)
{
    if (!cut && !is_object(r, line))
        return LOG_BAD;
    struct scan scan = {line.data, line.data + line.size};
    struct found found = {.time_rank = SIZE_MAX, .key_rank = SIZE_MAX};
    struct member member;
    if (!skip_byte(&scan, '{'))
        return log_bad(r, "JSON, but no object");
    while (next_member(&scan, &member))
        consider(r, &member, &found);
    struct slice time = found.time;
    if (found.time_rank == SIZE_MAX)
        return log_bad(r, "no member for the time");
    if (is_string(found.time) && !decode_string(found.time, &r->json_time, &time))
        return log_bad(r, "a string that does not decode");
    const char *why = log_time_read(time.data, time.size, &out->time);
    if (why != NULL)
        return log_bad(r, "%s", why);
    if (found.key_rank != SIZE_MAX)
        return take_key(r, &found, out);
    if (r->field == LOG_NAMED)
        return log_bad(r, "no member \"%s\"", r->field_name);
    if (r->field != LOG_USER) /* who logs users leaves out those without a name */
        return log_bad(r, "no member for the %s",
                       r->field == LOG_ADDRESS ? "address"
                       : r->field == LOG_PATH  ? "path"
                                               : "method");
    return log_take_field(r, (struct slice){"", 0}, out);
}
