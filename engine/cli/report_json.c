/* SPDX-License-Identifier: MIT */
/* A replay as one JSON object. */
#include "report.h"

#include "json_put.h"
#include "printable.h"

#include <string.h>

#define NS_PER_SECOND 1000000000

/* A number of seconds: whole where it is. */
static json_t *seconds(int64_t ns)
{
    if (ns % NS_PER_SECOND == 0)
        return json_integer(ns / NS_PER_SECOND);
    return json_real((double)ns / NS_PER_SECOND); /* json_print writes 15 digits of it */
}

static json_t *instant(const struct log_time *time)
{
    struct text t = {0};
    log_time_put_rfc3339(&t, time);
    return json_text(&t);
}

static json_t *first_denied(const struct tally *tally)
{
    return tally->first_denied == SHARD_NEVER ? json_null() : instant(&tally->first_denied_at);
}

static json_t *top_of(const struct report_limit *item)
{
    json_t *list = json_array();
    for (size_t i = 0; i < item->top_count; i++) {
        struct text key = {0};
        json_t *entry = json_object();
        key_entry_put_text(item->top[i].entry, &key);
        json_put(entry, "key", json_text(&key));
        json_put(entry, "allowed", json_count(item->top[i].count.allowed));
        json_put(entry, "denied", json_count(item->top[i].count.denied));
        json_put_last(list, entry);
    }
    return list;
}

static json_t *limit_of(const struct report *r, const struct report_limit *item)
{
    const struct tally *tally = item->tally;
    json_t *limit = json_object();
    json_put(limit, "policy", json_stringn(item->policy.data, item->policy.size));
    json_put(limit, "allowed", json_count(tally->allowed));
    json_put(limit, "denied", json_count(tally->denied));
    json_put(limit, "keys", json_count(r->keys));
    json_put(limit, "keys_denied", json_count(tally->keys_denied));
    json_put(limit, "first_denied", first_denied(tally));
    json_put(limit, "overflow", json_count(tally->overflow));
    json_put(limit, "top", top_of(item));
    return limit;
}

void report_json(const struct report *r)
{
    struct text key = {0};
    json_t *object = json_object();
    json_t *limits = json_array();
    utf8_put(&key, r->key_text, strlen(r->key_text));
    for (size_t i = 0; i < r->limits; i++)
        json_put_last(limits, limit_of(r, &r->items[i]));
    json_put(object, "requests", json_count(r->requests));
    json_put(object, "skipped_lines", json_count(r->skipped_lines));
    json_put(object, "key", json_text(&key));
    json_put(object, "from", instant(&r->from));
    json_put(object, "to", instant(&r->to));
    json_put(object, "span_s", seconds(r->to.unix_ns - r->from.unix_ns));
    json_put(object, "uncounted", json_count(r->uncounted));
    json_put(object, "out_of_order", json_count(r->out_of_order));
    json_put(object, "out_of_order_max_s", seconds(r->out_of_order_max_ns));
    json_put(object, "limits", limits);
    json_put(object, "decisions_per_second", json_count((uint64_t)(r->decisions_per_second + 0.5)));
    json_print(object);
}
