/* SPDX-License-Identifier: MIT */
/*
 * Lines of the common log format, of which the combined one is a continuation:
 *
 *   host ident user [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 203023 "referer" "agent"
 *
 * with the virtual host that some servers put before the host. Inside of quotes a backslash
 * makes the next byte a plain one.
 */
#include "log.h"

#include "address.h"

#include <string.h>

static size_t distance(const char *from, const char *to)
{
    return (size_t)(to - from);
}

/* The time in brackets before the first quote; the user before it may hold brackets as well. */
static const char *find_time(struct slice line, struct log_time *time, struct slice *front,
                             const char **behind)
{
    const char *end = line.data + line.size;
    const char *quote = memchr(line.data, '"', line.size);
    const char *limit = quote ? quote : end;
    const char *why = "no time in brackets";
    const char *open = line.data;
    while (open < limit && (open = memchr(open, '[', distance(open, limit))) != NULL) {
        const char *close = memchr(open, ']', distance(open, limit));
        if (close == NULL)
            break;
        why = log_time_read(open + 1, distance(open + 1, close), time);
        if (why == NULL) {
            *front = (struct slice){line.data, distance(line.data, open)};
            *behind = close + 1;
            return NULL;
        }
        open++;
    }
    return why;
}

/* The word at the front and the blank behind it; false when there is none. */
static bool take_word(struct slice *rest, struct slice *word)
{
    const char *blank = memchr(rest->data, ' ', rest->size);
    if (blank == NULL || blank == rest->data)
        return false;
    *word = (struct slice){rest->data, distance(rest->data, blank)};
    rest->data = blank + 1;
    rest->size -= word->size + 1;
    return true;
}

/* "host ident user " or "virtual-host host ident user " */
static bool split_front(struct slice front, struct slice *host, struct slice *user)
{
    struct slice words[3], rest = front, past_virtual_host;
    if (!take_word(&rest, &words[0]) || !take_word(&rest, &words[1]))
        return false;
    past_virtual_host = rest;
    *host = words[0];
    if (!address_is(words[0].data, words[0].size) && address_is(words[1].data, words[1].size) &&
        take_word(&past_virtual_host, &words[2]) && past_virtual_host.size > 1) {
        *host = words[1];
        rest = past_virtual_host;
    }
    if (rest.size < 2 || rest.data[rest.size - 1] != ' ')
        return false;
    *user = (struct slice){rest.data, rest.size - 1};
    return true;
}

static bool take_quoted(struct slice rest, struct slice *out)
{
    size_t at = 0;
    while (at < rest.size && rest.data[at] == ' ')
        at++;
    if (at == rest.size || rest.data[at] != '"')
        return false;
    size_t start = ++at;
    while (at < rest.size && rest.data[at] != '"')
        at += rest.data[at] == '\\' ? 2 : 1;
    if (at >= rest.size)
        return false;
    *out = (struct slice){rest.data + start, at - start};
    return true;
}

enum log_status log_read_clf(struct log_reader *r, struct slice line, struct log_event *out)
{
    struct slice front = line, host, user, request;
    const char *behind = line.data;
    const char *why = find_time(line, &out->time, &front, &behind);
    if (why != NULL)
        return log_bad(r, "%s", why);
    if (!split_front(front, &host, &user))
        return log_bad(r, "no host, identity and user before the time");
    if (r->field == LOG_NAMED) {
        log_bad(r, "fields of this format have no names, --key field:%s needs JSON or CSV",
                r->field_name);
        return LOG_UNUSABLE;
    }
    if (r->field == LOG_ADDRESS)
        return log_take_field(r, host, out);
    if (r->field == LOG_USER)
        return log_take_field(r, user, out);
    struct slice rest = {behind, distance(behind, line.data + line.size)};
    if (!take_quoted(rest, &request))
        return log_bad(r, "no request in quotes");
    return log_take_request(r, request, out);
}
