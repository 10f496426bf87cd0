/* SPDX-License-Identifier: MIT */
/* CSV records under a header, quoted as RFC 4180 says. */
#include "log.h"

#include <string.h>

struct fields {
    const char *at, *end;
    bool more;
    const char *fault; /* why the record is broken, or NULL */
};

struct field {
    struct slice bytes; /* between the quotes, where there are */
    bool doubled;       /* a quote in it is written twice */
};

static struct fields fields_of(struct slice record)
{
    return (struct fields){.at = record.data, .end = record.data + record.size, .more = true};
}

static bool next_quoted(struct fields *f, struct field *out)
{
    const char *start = ++f->at;
    out->doubled = false;
    for (;;) {
        const char *quote = memchr(f->at, '"', (size_t)(f->end - f->at));
        if (quote == NULL) {
            f->fault = "a quote is not closed";
            f->more = false;
            return false;
        }
        f->at = quote + 1;
        if (f->at == f->end || *f->at != '"') {
            out->bytes = (struct slice){start, (size_t)(quote - start)};
            break;
        }
        out->doubled = true;
        f->at++;
    }
    f->more = f->at < f->end && *f->at == ',';
    if (f->at < f->end && !f->more) {
        f->fault = "text behind a closing quote";
        return false;
    }
    f->at += f->more;
    return true;
}

static bool next_field(struct fields *f, struct field *out)
{
    if (!f->more)
        return false;
    if (f->at < f->end && *f->at == '"')
        return next_quoted(f, out);
    const char *comma = memchr(f->at, ',', (size_t)(f->end - f->at));
    const char *end = comma ? comma : f->end;
    *out = (struct field){.bytes = {f->at, (size_t)(end - f->at)}};
    f->more = comma != NULL;
    f->at = comma ? comma + 1 : f->end;
    return true;
}

/* The bytes meant; in `scratch` where they differ from those written. */
static struct slice value_of(const struct field *field, struct text *scratch)
{
    if (!field->doubled)
        return field->bytes;
    const char *at = field->bytes.data, *end = at + field->bytes.size;
    text_clear(scratch);
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        const char *stop = quote ? quote + 1 : end;
        text_put(scratch, at, (size_t)(stop - at));
        at = quote ? stop + 1 : end;
    }
    return (struct slice){scratch->data, scratch->size};
}

/* "time, timestamp, @timestamp" */
static void list_names(struct text *t, const char *const *names)
{
    text_clear(t);
    for (size_t i = 0; names[i] != NULL; i++)
        text_print(t, "%s%s", i ? ", " : "", names[i]);
}

static void no_column(struct log_reader *r, const char *what, const char *const *names)
{
    list_names(&r->key_text, names);
    log_bad(r, "the CSV header has no column for the %s (%s)", what, r->key_text.data);
}

enum log_csv_header log_read_csv_header(struct log_reader *r, struct slice line)
{
    const char *const *time_names = log_names_of_time();
    const char *const *key_names = log_names_of_field(r->field);
    size_t time_rank = SIZE_MAX, key_rank = SIZE_MAX;
    struct fields fields = fields_of(line);
    struct field field;
    for (size_t column = 0; next_field(&fields, &field); column++) {
        struct slice name = log_trim(field.bytes);
        size_t rank = log_name_rank(time_names, name);
        if (rank < time_rank) {
            time_rank = rank;
            r->csv_time = column;
        }
        rank = log_key_rank(r, name);
        if (rank < key_rank) {
            key_rank = rank;
            r->csv_key = column;
        }
    }
    if (time_rank == SIZE_MAX || fields.fault != NULL) {
        no_column(r, "time", time_names);
        return LOG_CSV_NO_TIME;
    }
    if (key_rank == SIZE_MAX) {
        if (r->field == LOG_NAMED)
            log_bad(r, "the CSV header has no column \"%s\"", r->field_name);
        else
            no_column(r, "key", key_names);
        return LOG_CSV_NO_KEY;
    }
    r->csv_key_is_request = r->field != LOG_NAMED && log_is_request_name(key_names[key_rank]);
    r->csv_header_seen = true;
    return LOG_CSV_COMPLETE;
}

enum log_status log_read_csv(struct log_reader *r, struct slice line, bool cut,
                             struct log_event *out)
{
    if (!r->csv_header_seen)
        return log_read_csv_header(r, line) == LOG_CSV_COMPLETE ? LOG_NOTHING : LOG_UNUSABLE;
    struct fields fields = fields_of(line);
    struct field field, time = {0}, key = {0};
    size_t needed = r->csv_time > r->csv_key ? r->csv_time : r->csv_key;
    size_t column = 0;
    for (; column <= needed && next_field(&fields, &field); column++) {
        if (column == r->csv_time)
            time = field;
        if (column == r->csv_key)
            key = field;
    }
    if (fields.fault != NULL)
        return log_bad(r, "%s", fields.fault);
    if (column <= needed || (cut && !fields.more))
        return log_bad(r, "%zu columns, column %zu is needed", column, needed + 1);
    struct slice time_value = value_of(&time, &r->time_text);
    const char *why = log_time_read(time_value.data, time_value.size, &out->time);
    if (why != NULL)
        return log_bad(r, "%s", why);
    struct slice value = value_of(&key, &r->key_text);
    return r->csv_key_is_request ? log_take_request(r, value, out) : log_take_field(r, value, out);
}
