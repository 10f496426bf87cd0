/* SPDX-License-Identifier: MIT */
/* One word of an algorithm; see words_bench.h. */
#include "words_bench.h"

#define LEAD_MAX  (100 * 365 * (model_int)WEIR_DAY)
#define UNIX_2180 ((weir_ns)6626880000 * WEIR_SECOND)

/* What a model's numbers of windows are more than a payload's. */
static model_int number_base(const struct bench *b)
{
    const struct weir_meter *m = &b->m;

    if (m->form == WEIR_FORM_CALENDAR)
        return -WEIR_WINDOW_CALENDAR_BIAS;
    if (m->form == WEIR_FORM_ALIGNED)
        return m->origin +
               (b->rules.windows.offset - (model_int)m->shift) / b->rules.windows.period;
    return m->kind == WEIR_SLIDING_WINDOW ? m->origin : 0;
}

uint64_t mask_of(const struct weir_meter *m)
{
    return ((uint64_t)1 << m->count_bits) - 1;
}

struct state state_of(const struct bench *b, uint64_t payload)
{
    const struct weir_meter *m = &b->m;
    struct state state = {0};
    struct window_key *w = &state.window;

    if (payload == 0)
        return state;
    w->used = m->kind != WEIR_TOKEN_BUCKET;
    switch (m->kind) {
    case WEIR_TOKEN_BUCKET:
        state.bucket = (struct model_key){true, (model_int)payload - (model_int)m->capacity};
        break;
    case WEIR_FIXED_WINDOW:
        w->position = (model_int)(payload >> (m->count_bits + 1)) + number_base(b);
        w->ahead = (payload >> m->count_bits & 1) != 0;
        w->count = payload & mask_of(m);
        break;
    case WEIR_SLIDING_WINDOW:
        w->position = (model_int)(payload >> 2 * m->count_bits) + number_base(b);
        w->previous = payload >> m->count_bits & mask_of(m);
        w->count = payload & mask_of(m);
        break;
    default:
        w->count = payload;
    }
    return state;
}

uint64_t payload_of(const struct bench *b, const struct state *state)
{
    const struct weir_meter *m = &b->m;
    const struct window_key *w = &state->window;

    if (m->kind == WEIR_TOKEN_BUCKET)
        return state->bucket.used ? (uint64_t)(state->bucket.zero + (model_int)m->capacity) : 0;
    if (!w->used)
        return 0;
    if (m->kind == WEIR_FIXED_WINDOW)
        return weir_fixed_payload(m, (uint64_t)(w->position - number_base(b)), w->ahead, w->count);
    if (m->kind == WEIR_SLIDING_WINDOW)
        return weir_sliding_payload(m, (uint64_t)(w->position - number_base(b)), w->previous,
                                    w->count);
    return w->count;
}

/* Zones are modelled by the rules of some years. */
static bool is_modelled(const struct bench *b, const struct state *state)
{
    const struct window_limit *l = &b->rules.windows;
    model_int start;

    if (b->m.form != WEIR_FORM_CALENDAR || b->m.kind != WEIR_FIXED_WINDOW)
        return true;
    if (b->now < UNIX_2008 || b->now > UNIX_2180)
        return false;
    if (!state->window.used)
        return true;
    if (state->window.position < 0 || state->window.position > 80000)
        return false;
    if (l->calendar != WEIR_CALENDAR_DAY && state->window.position > 11000)
        return false;
    if (l->calendar == WEIR_CALENDAR_MONTH && state->window.position > 2600)
        return false;
    start = window_start(l, state->window.position);
    return start >= (model_int)UNIX_2008 && start <= (model_int)UNIX_2180;
}

bool occurs(const struct bench *b)
{
    const struct weir_meter *m = &b->m;
    struct state state = state_of(b, b->payload);
    uint64_t position, reach = 4, most;

    if (m->kind == WEIR_TOKEN_BUCKET) /* past the end of its line time stands still */
        return b->told || b->at.line == 0;
    if (m->kind == WEIR_CONCURRENCY)
        return true;
    if (!b->told || b->now > INT64_MAX - b->m.tick || !is_modelled(b, &state) ||
        window_lead(&b->rules.windows, &state.window, b->now) > LEAD_MAX)
        return false;
    if (m->kind == WEIR_FIXED_WINDOW) {
        position = b->payload >> (m->count_bits + 1);
        most = weir_fixed_position_max(m);
        if (weir_window_from_hit(m))
            reach = (m->tick >> m->grain_bits) + 4;
    } else {
        position = b->payload >> 2 * m->count_bits;
        most = weir_sliding_number_max(m);
    }
    return position <= most - reach && b->at.line <= most;
}

static bool instant_of(const struct weir_meter *m, weir_ns now, struct weir_instant *at)
{
    *at = (struct weir_instant){.recent = true};
    if (weir_algorithm_instant(m, now, at))
        return true;
    weir_algorithm_instant_clamped(m, now, at);
    return false;
}

void set_now(struct bench *b, weir_ns now)
{
    b->now = now;
    b->told = instant_of(&b->m, now, &b->at);
}
