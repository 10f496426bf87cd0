/* SPDX-License-Identifier: MIT */
/*
 * Log lines of any bytes through the readers and the writers of keys.
 *
 * The first byte chooses the format and the key, then come the lines. What holds for each line:
 * the instant is legal and, written as RFC 3339, reads back as itself; the key's printable form
 * has no control character; a line that is cut is never read past its end.
 */
#include "key_choice.h"
#include "printable.h"
#include "replay_secret.h"

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
    log_time_put_rfc3339(&t, time);
    const char *why = log_time_read(t.data, t.size, &back);
    require(why == NULL && back.unix_ns == time->unix_ns && back.offset_min == time->offset_min);
    text_free(&t);
}

static void check_key(const struct key_choice *choice, struct slice field)
{
    struct client_key client;
    struct text t = {0};
    key_choice_apply(choice, field, &client);
    printable_put(&t, client.text.data, client.text.size, true, 60);
    for (size_t i = 0; i < t.size; i++)
        require((unsigned char)t.data[i] >= 0x20 && t.data[i] != 0x7f);
    text_clear(&t);
    utf8_put(&t, client.text.data, client.text.size);
    json_t *json = json_stringn(t.data ? t.data : "", t.size);
    require(json != NULL);
    json_decref(json);
    text_free(&t);
}

/* A copy without a byte behind it, so that a read past the end shows. */
static void read_line(struct log_reader *r, const struct key_choice *choice, const uint8_t *data,
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
        check_key(choice, event.key);
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
            .size = sizeof options, .max_keys = 1, .max_limits = 1, .secret = replay_secret()};
        require(weir_open(&engine, &options) == 0);
    }
    if (size == 0)
        return 0;
    struct key_choice choice;
    require(key_choice_parse(keys[data[0] >> 3 & 7], &choice));
    choice.engine = engine;
    struct log_reader reader;
    log_reader_init(&reader, (enum log_format)((data[0] & 7) % (LOG_CSV + 1)), choice.field,
                    choice.field_name);
    bool cut = data[0] >> 6 & 1;
    data++;
    size--;
    for (;;) {
        const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
        size_t length = newline ? (size_t)(newline - data) : size;
        read_line(&reader, &choice, data, length, cut);
        if (newline == NULL)
            break;
        data += length + 1;
        size -= length + 1;
    }
    log_reader_free(&reader);
    return 0;
}
