/* SPDX-License-Identifier: MIT */
/*
 * Events out of log lines: when, and by whom.
 *
 * Formats: combined and common (one reader: what follows the request is not needed), JSON lines,
 * CSV with a header. LOG_AUTO settles on the format of the first line that is readable in one.
 *
 * A line is good if the fields that are needed can be read: the time, and the field that makes
 * the key. Nothing else about it is judged, except that a whole JSON line must be JSON.
 */
#ifndef WEIR_CLI_LOG_H
#define WEIR_CLI_LOG_H

#include "log_time.h"
#include "text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum log_format { LOG_AUTO, LOG_COMBINED, LOG_COMMON, LOG_JSON, LOG_CSV };

enum log_field {
    LOG_ADDRESS,
    LOG_USER,
    LOG_METHOD,
    LOG_PATH, /* without scheme, host, query and fragment */
    LOG_NAMED /* a JSON member or a CSV column by its name */
};

struct slice {
    const char *data;
    size_t size;
};

struct log_event {
    struct log_time time;
    struct slice key; /* the field's bytes; valid until the next line, in it or in the reader */
};

enum log_status {
    LOG_EVENT,
    LOG_NOTHING, /* an empty line, the CSV header */
    LOG_BAD,     /* this line cannot be used: reader->reason */
    LOG_UNUSABLE /* no line can be, since the key is not in this format: reader->reason */
};

struct log_reader {
    enum log_format format; /* LOG_AUTO until it is known */
    enum log_field field;
    const char *field_name; /* of LOG_NAMED */
    char reason[200];       /* printable ASCII but for what the line itself holds */
    /* of the formats */
    bool csv_header_seen;
    bool csv_key_is_request;
    size_t csv_time, csv_key; /* column numbers */
    struct text time_text, key_text;
    json_t *json_time, *json_key;
};

/* field_name stays the caller's. */
void log_reader_init(struct log_reader *r, enum log_format format, enum log_field field,
                     const char *field_name);
void log_reader_free(struct log_reader *r);

/* Reads one line without its end, any bytes. `cut`: its end is missing. */
enum log_status log_read(struct log_reader *r, const char *data, size_t size, bool cut,
                         struct log_event *out);

/* Do records of the format go on over line ends in quotes? */
bool log_reader_joins_lines(const struct log_reader *r);

/* ---- for the readers of the formats ------------------------------------------------------ */

enum log_status log_read_clf(struct log_reader *r, struct slice line, struct log_event *out);
enum log_status log_read_json(struct log_reader *r, struct slice line, bool cut,
                              struct log_event *out);
enum log_status log_read_csv(struct log_reader *r, struct slice line, bool cut,
                             struct log_event *out);

/* Takes the columns out of a header; the reason says what is missing. */
enum log_csv_header { LOG_CSV_COMPLETE, LOG_CSV_NO_KEY, LOG_CSV_NO_TIME };
enum log_csv_header log_read_csv_header(struct log_reader *r, struct slice line);

/* Sets the reason, returns LOG_BAD. */
enum log_status log_bad(struct log_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The usual names of the field, the best first, NULL at the end; `request` comes last where the
 * method or the path can be taken from it.
 */
const char *const *log_names_of_time(void);
const char *const *log_names_of_field(enum log_field field);
bool log_is_request_name(const char *name);

/* Position of `name` among the names, ASCII case does not count, or SIZE_MAX. */
size_t log_name_rank(const char *const *names, struct slice name);

/* The same among the names of the key: the one that was asked for, to the letter, or the usual. */
size_t log_key_rank(const struct log_reader *r, struct slice name);

/* Without the blanks and tabs around it. */
struct slice log_trim(struct slice s);

/* The key of an event from a field's bytes: LOG_BAD where a needed one is empty. */
enum log_status log_take_field(struct log_reader *r, struct slice value, struct log_event *out);

/* The same from a request line, "GET /path HTTP/1.1". */
enum log_status log_take_request(struct log_reader *r, struct slice request, struct log_event *out);

#endif
