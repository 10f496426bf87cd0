/* SPDX-License-Identifier: MIT */
/* One key of one limit under test: a cell, or a key of an engine. */
#include "subject.h"

#include <stddef.h>

static int open_engine(struct subject *s, const struct weir_policy *policy)
{
    const struct weir_options options = {.size = sizeof options, .max_keys = 64, .max_limits = 4};
    int rc = weir_open(&s->engine, &options);

    if (rc != 0)
        return rc;
    s->limit = weir_add_limit(s->engine, "limit", policy);
    if (s->limit < 0) {
        rc = s->limit;
        weir_close(s->engine);
        s->engine = NULL;
        return rc;
    }
    s->key = weir_key_text(s->engine, "key");
    return 0;
}

int subject_open(struct subject *s, enum subject_kind kind, const struct weir_policy *policy,
                 weir_ns origin)
{
    *s = (struct subject){.kind = kind};
    if (kind == SUBJECT_CELL)
        return weir_meter_init(&s->meter, policy, origin);
    return open_engine(s, policy);
}

void subject_close(struct subject *s)
{
    weir_close(s->engine);
    s->engine = NULL;
}

const char *subject_name(const struct subject *s)
{
    return s->kind == SUBJECT_CELL ? "cell" : "engine";
}

struct weir_result subject_decide(struct subject *s, uint64_t n, weir_ns now)
{
    if (s->kind == SUBJECT_CELL)
        return weir_cell_decide(&s->cell, &s->meter, n, now);
    return weir_decide(s->engine, s->limit, s->key, n, now);
}

struct weir_result subject_reserve(struct subject *s, uint64_t n, weir_ns now, weir_ns max_wait,
                                   struct weir_reservation *out)
{
    if (s->kind == SUBJECT_CELL)
        return weir_cell_reserve(&s->cell, &s->meter, n, now, max_wait, out);
    return weir_reserve(s->engine, s->limit, s->key, n, now, max_wait, out);
}

uint64_t subject_cancel(struct subject *s, struct weir_reservation *r, weir_ns now)
{
    if (s->kind == SUBJECT_CELL)
        return weir_cell_cancel(&s->cell, &s->meter, r, now);
    return weir_cancel(s->engine, r, now);
}

int subject_change(struct subject *s, const struct weir_policy *policy, weir_ns now)
{
    struct weir_meter next;
    int rc;

    if (s->kind == SUBJECT_ENGINE)
        return weir_set_limit(s->engine, s->limit, policy, now);
    rc = weir_meter_init(&next, policy, 0);
    if (rc == 0)
        rc = weir_cell_reprice(&s->cell, &s->meter, &next, now);
    if (rc == 0)
        s->meter = next;
    return rc;
}

struct weir_result subject_peek(const struct subject *s, uint64_t n, weir_ns now)
{
    struct weir_cell copy = s->cell;

    if (s->kind == SUBJECT_CELL)
        return weir_cell_decide(&copy, &s->meter, n, now);
    return weir_peek(s->engine, s->limit, s->key, n, now);
}

struct weir_result subject_probe(const struct subject *s, weir_ns now)
{
    return subject_peek(s, 0, now);
}
