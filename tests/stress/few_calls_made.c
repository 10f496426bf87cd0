/* SPDX-License-Identifier: MIT */
/* Schedules of few calls: their engines, and calls that are made and recorded. */
#include "few_calls.h"
#include "schedule.h"

#include "place.h"
#include "table/reclaim.h"

/* ---- engines, which are opened once ---- */

#define ENGINES 4
static const size_t max_keys[ENGINES] = {400, 12, 20, 13}; /* the others are for full tables */
#define SHARING 3                                          /* by WEIR_FULL_SHARE */
static struct weir *engines[ENGINES];

static weir_ns unix_time(void *context, weir_ns now)
{
    (void)context;
    return UNIX_2024 + now;
}

static weir_ns no_time(void *context)
{
    (void)context;
    return 0;
}

static int no_sleep(void *context, weir_ns instant)
{
    (void)context;
    (void)instant;
    return 0;
}

static struct weir *open_one(size_t keys, enum weir_when_full when_full)
{
    uint8_t secret[WEIR_SECRET_SIZE];
    struct test_random random = {keys};
    for (unsigned i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)random_u64(&random);
    const struct weir_options options = {.max_keys = keys,
                                         .max_limits = 3,
                                         .when_full = when_full,
                                         .stale_max = JUDGE_STALE_MAX,
                                         .clock = no_time,
                                         .sleep_until = no_sleep,
                                         .wall_clock = unix_time,
                                         .secret = secret};
    return open_engine(&options);
}

int open_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ENGINES; i++)
        engines[i] = open_one(max_keys[i], i == SHARING ? WEIR_FULL_SHARE : WEIR_FULL_DENY);
    return 0;
}

int close_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ENGINES; i++)
        weir_close(engines[i]);
    return 0;
}

void empty(struct weir *w)
{
    struct weir_table *t = &w->table;
    for (unsigned i = 0; i < w->max_limits; i++) {
        if (w->limits[i].used)
            assert_int_equal(weir_remove_limit(w, (int)i, 0), 0);
        w->limits[i].taken = 0;
        weir_store_relaxed(&w->limits[i].origins, 0);
    }
    assert_int_equal(t->shards, 1);
    uint64_t packed = weir_load_acquire(&t->words[0]);
    while (packed != 0) {
        struct weir_array *a = weir_packed_array(packed);
        packed = weir_load_acquire(&a->next);
        weir_retire(t, a);
    }
    weir_retire_wait(t);
    weir_store_relaxed(&t->retirements, 0);
    weir_store_relaxed(&t->words[0], 0);
    memset(t->shares, 0, sizeof *t->shares);
    memset(&t->counts, 0, sizeof t->counts);
    weir_store_relaxed(&t->unspent, t->max_keys);
    weir_store_relaxed(&w->origins, 0);
    weir_store_relaxed(&w->wall_version, 0);
    weir_store_relaxed(&w->wall_offset, 0);
    weir_store_relaxed(&w->wall_told, (uint64_t)INT64_MAX + 2 * WEIR_SECOND);
    weir_store_relaxed(&w->wall_newest, 0);
}

static bool is_empty(const struct weir *w)
{
    return weir_next_limit(w, -1) < 0;
}

struct weir *engine_for(struct run *r)
{
    struct weir *w = engines[has(r, SHARES) ? SHARING : has(r, FULL) ? 1 + dice(r, 2) : 0];
    if (!is_empty(w)) /* a run before it has failed */
        empty(w);
    return w;
}

/* ---- calls ---- */

uint64_t filler_id(const struct run *r, unsigned i)
{
    return r->ids + i;
}

void charge_filler(struct run *r, unsigned i)
{
    weir_key key = weir_key_u64(r->w, filler_id(r, i));
    assert_true(i < FILLERS_MAX);
    r->charged[i] = weir_charge(r->w, r->owed, key, DEBT, r->now) == DEBT;
}

/* As weir_trim, but it returns no memory, which takes system calls. */
void trim(struct run *r, weir_ns now)
{
    if (has(r, CHANGES))
        weir_sweep_wait(r->w, 2);
    schedule_section_begin();
    weir_place_trim(r->w, 0, now);
    schedule_section_end();
}

static weir_key key_of(const struct run *r, const struct record *c)
{
    return r->keys[c->key < KEYS ? c->key : 0];
}

static void call_key(struct run *r, struct record *c)
{
    struct weir *w = r->w;
    weir_key key = key_of(r, c);
    switch (c->call) {
    case CALL_DECIDE:
        c->result = weir_decide(w, r->limit, key, c->n, c->now);
        break;
    case CALL_ALLOW:
        c->count = weir_allow(w, r->limit, key, c->n, c->now);
        break;
    case CALL_RESERVE:
        c->result =
            weir_reserve(w, r->limit, key, c->n, c->now, c->max_wait, &r->reservations[c->hold]);
        break;
    case CALL_CANCEL:
        c->count = weir_cancel(w, &r->reservations[c->hold], c->now);
        break;
    case CALL_TAKE:
        c->count = weir_take(w, r->limit, key, c->n, c->now);
        break;
    case CALL_CHARGE:
        c->count = weir_charge(w, r->limit, key, c->n, c->now);
        break;
    case CALL_REFUND:
        c->count = weir_refund(w, r->limit, key, c->n, c->now);
        break;
    case CALL_FORGET:
        c->count = (uint64_t)weir_forget(w, r->limit, key);
        break;
    case CALL_SET_BALANCE:
        c->count = (uint64_t)weir_set_balance(w, r->limit, key, c->n, c->now);
        break;
    case CALL_PEEK:
        c->result = weir_peek(w, r->limit, key, c->n, c->now);
        break;
    case CALL_ACQUIRE:
        c->result = weir_acquire(w, r->limit, key, c->n, &r->permits[c->hold]);
        break;
    case CALL_RELEASE:
        if (r->permits[c->hold].n == 0) /* of nothing: no call */
            c->key = NO_KEY;
        else
            c->count = (uint64_t)weir_release(w, &r->permits[c->hold]);
        break;
    default:
        break;
    }
}

static void call_limit(struct run *r, struct record *c)
{
    switch (c->call) {
    case CALL_CHANGE:
        c->count = (uint64_t)weir_set_limit(r->w, r->limit, &c->policy, c->now);
        break;
    case CALL_REMOVE:
        c->count = (uint64_t)weir_remove_limit(r->w, r->limit, c->now);
        break;
    case CALL_ADD:
        c->count = (uint64_t)weir_add_limit(r->w, "judged", &c->policy);
        break;
    case CALL_TRIM:
        trim(r, c->now);
        break;
    case CALL_FILL:
        charge_filler(r, (unsigned)c->n);
        break;
    default:
        call_key(r, c);
    }
}

/* Records that are one call. Returns how many. */
static unsigned call_several(struct run *r, struct record *c, unsigned left)
{
    struct weir_request requests[KEYS];
    struct weir_result results[KEYS];
    unsigned count = 0;
    for (; count < left && c[count].of_batch && count < c->max_wait; count++)
        requests[count] = (struct weir_request){r->limit, key_of(r, &c[count]), c[count].n};
    uint64_t begin = ++r->stamp;
    if (c->call == CALL_ALL) {
        int refused = weir_decide_all(r->w, requests, count, c->now, 0, results);
        for (unsigned i = count; i-- > 0;) {
            results[i] = results[0];
            results[i].verdict = refused < 0 ? WEIR_ALLOWED : WEIR_DENIED;
        }
    } else {
        weir_decide_batch(r->w, requests, results, count, c->now);
    }
    uint64_t end = ++r->stamp;
    for (unsigned i = 0; i < count; i++) {
        c[i].begin = begin;
        c[i].end = end;
        c[i].result = results[i];
    }
    return count;
}

void make_call(struct run *r, struct record *c)
{
    c->begin = ++r->stamp;
    call_limit(r, c);
    c->end = ++r->stamp;
}

void play(void *run, unsigned index)
{
    struct run *r = run;
    for (unsigned i = r->scripts[index]; i < r->scripts[index + 1];) {
        if (r->records[i].of_batch)
            i += call_several(r, &r->records[i], r->scripts[index + 1] - i);
        else
            make_call(r, &r->records[i++]);
    }
}
