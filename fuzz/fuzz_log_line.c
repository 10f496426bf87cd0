/* SPDX-License-Identifier: MIT */
/*
 * Log lines of any bytes through the readers and the writers of keys.
 *
 * The first byte chooses the format and the key, then come the lines. What holds for each line:
 * the instant is legal and, written as RFC 3339, reads back as itself; the key's printable form
 * has no control character; a line that is cut is never read past its end.
 */
#include "keying.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_time(const struct log_time *time)
{
    struct log_time back;
    struct text t = {0};
    require(time->unix_ns >= 0 && time->offset_min > -24 * 60 && time->offset_min < 24 * 60);
    text_put_rfc3339(&t, time);
    const char *why = log_time_read(t.data, t.size, &back);
    require(why == NULL && back.unix_ns == time->unix_ns && back.offset_min == time->offset_min);
    text_free(&t);
}

static void check_key(const struct keying *keying, struct slice field)
{
    struct keyed keyed;
    struct text t = {0};
    keying_apply(keying, field, &keyed);
    text_put_printable(&t, keyed.text.data, keyed.text.size, true, 60);
    for (size_t i = 0; i < t.size; i++)
        require((unsigned char)t.data[i] >= 0x20 && t.data[i] != 0x7f);
    text_clear(&t);
    text_put_utf8(&t, keyed.text.data, keyed.text.size);
    json_t *json = json_stringn(t.data ? t.data : "", t.size);
    require(json != NULL);
    json_decref(json);
    text_free(&t);
}

/* A copy without a byte behind it, so that a read past the end shows. */
static void read_line(struct log_reader *r, const struct keying *keying, const uint8_t *data,
                      size_t size, bool cut)
{
    struct log_event event;
    char *line = malloc(size ? size : 1);
    require(line != NULL);
    if (size > 0)
        memcpy(line, data, size);
    switch (log_read(r, line, size, cut, &event)) {
    case LOG_EVENT:
        check_time(&event.time);
        check_key(keying, event.key);
        break;
    case LOG_BAD:
    case LOG_UNUSABLE:
        require(r->reason[0] != '\0' && memchr(r->reason, '\0', sizeof r->reason) != NULL);
        break;
    case LOG_NOTHING:
        break;
    }
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"ip",     "ip/24,48", "user",       "path",
                                       "method", "field:k",  "field:\xff", "ip/0,0"};
    static struct weir *engine;
    if (engine == NULL) {
        struct weir_options options = {
            .size = sizeof options, .max_keys = 1, .max_limits = 1, .secret = keying_secret()};
        require(weir_open(&engine, &options) == 0);
    }
    if (size == 0)
        return 0;
    struct keying keying;
    require(keying_parse(keys[data[0] >> 3 & 7], &keying));
    keying.engine = engine;
    struct log_reader reader;
    log_reader_init(&reader, (enum log_format)((data[0] & 7) % (LOG_CSV + 1)), keying.field,
                    keying.field_name);
    bool cut = data[0] >> 6 & 1;
    data++;
    size--;
    for (;;) {
        const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
        size_t length = newline ? (size_t)(newline - data) : size;
        read_line(&reader, &keying, data, length, cut);
        if (newline == NULL)
            break;
        data += length + 1;
        size -= length + 1;
    }
    log_reader_free(&reader);
    return 0;
}
