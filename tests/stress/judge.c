/* SPDX-License-Identifier: MIT */
/* The judge: looks for an order of calls in which the models give the same answers. */
#include "judge.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define STEPS_MAX 200000
#define ALL_TRIES 4 /* engine/all.c */

/* Settings of the limit, and until when a call may have found them. */
struct version {
    struct rules rules;
    unsigned kin;      /* the same: permits stay */
    uint64_t replaced; /* UINT64_MAX: they are in use */
};

/* What the model has come to. */
struct sight {
    struct state state;
    unsigned of;     /* the version that it was written under */
    unsigned newest; /* of the versions */
    bool open;       /* the limit is there */
    struct hold holds[HOLDS_MAX];
    uint64_t permits[HOLDS_MAX];
    unsigned holds_of[HOLDS_MAX]; /* versions */
    uint64_t done;                /* a bit per record */
    uint64_t taken;               /* the same: entries of weir_decide_all that are charged */
    uint8_t tries[RECORDS_MAX];
    struct version versions[VERSIONS_MAX]; /* at the end: the rest is not copied */
};

/* A call on a key, under one version. */
struct look {
    struct sight *s;
    struct rules *rules;
    struct state state;
    unsigned version;
    bool open;
};

static void copy_sight(struct sight *to, const struct sight *from)
{
    memcpy(to, from,
           offsetof(struct sight, versions) + (from->newest + 1) * sizeof *from->versions);
}

const char *judge_name_of(enum call call)
{
    static const char *const names[CALLS_OF_ALL] = {
        "decide", "allow",   "reserve", "cancel", "take",   "charge", "refund", "forget", "set",
        "peek",   "acquire", "release", "all",    "change", "remove", "add",    "trim",   "fill"};
    return names[call];
}

bool judge_is_same(const struct weir_result *a, const struct weir_result *b)
{
    return a->verdict == b->verdict && a->wait == b->wait && a->remaining == b->remaining &&
           a->reset == b->reset;
}

/* ---- calls on a key ---- */

static const struct weir_result invalid = {WEIR_INVALID, WEIR_FOREVER, 0, WEIR_FOREVER};

static bool refuses(const struct weir_result *result)
{
    return result->verdict == WEIR_DENIED && result->wait == WEIR_FOREVER && result->remaining == 0;
}

/* As if never used, from `now` on. */
static bool is_idle(const struct rules *rules, const struct state *state, weir_ns now)
{
    return rules_ask(rules, state, 0, now, 0).reset == 0;
}

/* A key without a place, which nothing is recorded of. */
static bool is_refused(const struct judge *j, const struct sight *s, const struct record *r)
{
    if (!j->may_refuse || !is_idle(&s->versions[s->newest].rules, &s->state, r->now))
        return false;
    switch (r->call) {
    case CALL_DECIDE:
    case CALL_PEEK:
    case CALL_RESERVE:
    case CALL_ACQUIRE:
        return r->n != 0 && refuses(&r->result);
    case CALL_ALLOW:
    case CALL_TAKE:
    case CALL_CHARGE:
        return r->count == 0;
    case CALL_SET_BALANCE:
        return r->count == (uint64_t)-ENOSPC;
    case CALL_ALL:
        return r->result.verdict == WEIR_DENIED;
    default:
        return false;
    }
}

static bool decide(struct look *l, const struct record *r, struct weir_result *want)
{
    *want = invalid;
    if (l->open)
        *want = rules_step(l->rules, &l->state, r->n, r->now, 0, r->call != CALL_PEEK, NULL);
    return judge_is_same(&r->result, want);
}

static bool reserve(struct look *l, const struct record *r)
{
    struct hold *hold = &l->s->holds[r->hold];
    struct weir_result want = invalid;
    memset(hold, 0, sizeof *hold);
    l->s->holds_of[r->hold] = l->version;
    if (l->open)
        want = rules_step(l->rules, &l->state, r->n, r->now, r->max_wait, true, hold);
    return judge_is_same(&r->result, &want);
}

/* A reservation is read as its key is. */
static bool cancel(struct look *l, const struct record *r)
{
    struct sight *s = l->s;
    struct hold *hold = &s->holds[r->hold];
    if (!l->open)
        return r->count == 0;
    if (s->holds_of[r->hold] > l->version)
        return false;
    for (unsigned v = s->holds_of[r->hold]; v < l->version; v++)
        hold_change(&s->versions[v].rules, hold, &s->versions[v + 1].rules, r->now);
    s->holds_of[r->hold] = l->version;
    return r->count == rules_cancel(l->rules, &l->state, hold, r->now);
}

static bool acquire(struct look *l, const struct record *r)
{
    struct weir_result want = invalid;
    if (l->open && rules_is_permits(l->rules))
        want = rules_step(l->rules, &l->state, r->n, 0, 0, true, NULL);
    l->s->permits[r->hold] = want.verdict == WEIR_ALLOWED ? r->n : 0;
    l->s->holds_of[r->hold] = l->version;
    return judge_is_same(&r->result, &want);
}

static bool release(struct look *l, const struct record *r)
{
    const struct sight *s = l->s;
    int want = -ENOENT;
    if (l->open && s->versions[s->holds_of[r->hold]].kin == s->versions[l->version].kin) {
        rules_refund(l->rules, &l->state, s->permits[r->hold], 0);
        want = 0;
    }
    return r->count == (uint64_t)want;
}

static bool set_balance(struct look *l, const struct record *r)
{
    /* No memory for an origin, as seen by one who finds it being removed before it has one. */
    if (!l->open)
        return r->count == (uint64_t)-ENOENT || r->count == (uint64_t)-ENOMEM;
    rules_set_balance(l->rules, &l->state, r->n, r->now);
    return r->count == 0;
}

/* Whether the call gives that answer; the look is what comes after it. */
static bool agrees(struct look *l, const struct record *r)
{
    struct weir_result want;
    switch (r->call) {
    case CALL_DECIDE:
    case CALL_PEEK:
        return decide(l, r, &want);
    case CALL_ALLOW:
        decide(l, r, &want);
        return r->count == (want.verdict == WEIR_ALLOWED);
    case CALL_RESERVE:
        return reserve(l, r);
    case CALL_CANCEL:
        return cancel(l, r);
    case CALL_TAKE:
        return r->count == (l->open ? rules_take(l->rules, &l->state, r->n, r->now) : 0);
    case CALL_CHARGE:
        return r->count == (l->open ? rules_charge(l->rules, &l->state, r->n, r->now) : 0);
    case CALL_REFUND:
        return r->count == (l->open ? rules_refund(l->rules, &l->state, r->n, r->now) : 0);
    case CALL_FORGET:
        memset(&l->state, 0, sizeof l->state);
        return r->count == (uint64_t)(l->open ? 0 : -ENOENT);
    case CALL_SET_BALANCE:
        return set_balance(l, r);
    case CALL_ACQUIRE:
        return acquire(l, r);
    case CALL_RELEASE:
        return release(l, r);
    default:
        return false;
    }
}

/* The same from a later instant on, at which a clock ahead has found the key full; times are told
   from `now`, and not compared. */
static bool agrees_late(struct look *l, const struct record *r, weir_ns instant)
{
    struct record late = *r;
    struct weir_result want;
    late.now = instant;
    switch (r->call) {
    case CALL_DECIDE:
    case CALL_PEEK:
        decide(l, &late, &want);
        return r->result.verdict == want.verdict && r->result.remaining == want.remaining;
    case CALL_ALLOW:
    case CALL_TAKE:
    case CALL_CHARGE:
    case CALL_SET_BALANCE:
        return agrees(l, &late);
    case CALL_REFUND:
        return r->count == 0;
    default:
        return false;
    }
}

/* ---- calls on a limit ---- */

/* Another version after the newest. */
static struct version *add_version(struct sight *s, const struct record *r)
{
    struct version *last = &s->versions[s->newest++];
    struct version *next = &s->versions[s->newest];
    memset(next, 0, sizeof *next);
    last->replaced = r->end;
    next->replaced = UINT64_MAX;
    return next;
}

static bool change(struct sight *s, const struct record *r)
{
    const struct version *last = &s->versions[s->newest];
    if (!s->open)
        return r->count == (uint64_t)-ENOENT;
    if (r->count != 0)
        return false;
    if (rules_same_policy(&r->policy, &last->rules.policy))
        return true;
    struct version *next = add_version(s, r);
    rules_after(&next->rules, &r->policy, &last->rules, r->now);
    rules_anchor(&next->rules, r->now);
    next->kin = last->kin + (last->rules.policy.kind != r->policy.kind);
    return true;
}

static bool remove_limit(struct sight *s, const struct record *r)
{
    bool was = s->open;
    if (was)
        s->versions[s->newest].replaced = r->end;
    s->open = false;
    return r->count == (uint64_t)(was ? 0 : -ENOENT);
}

static bool add(struct sight *s, const struct record *r)
{
    const struct version *last = &s->versions[s->newest];
    uint64_t removed = last->replaced;
    if (s->open) /* by its name */
        return r->count == (uint64_t)-EEXIST;
    if (r->count != 0) /* its id */
        return false;
    struct version *next = add_version(s, r);
    s->versions[s->newest - 1].replaced = removed;
    rules_of_engine(&next->rules, &r->policy, JUDGE_STALE_MAX);
    next->rules.windows.wall = last->rules.windows.wall;
    rules_anchor(&next->rules, r->now);
    next->kin = last->kin + 1;
    memset(&s->state, 0, sizeof s->state);
    memset(s->holds, 0, sizeof s->holds);
    s->of = s->newest;
    s->open = true;
    return true;
}

static bool agrees_on_limit(struct sight *s, const struct record *r)
{
    switch (r->call) {
    case CALL_CHANGE:
        return change(s, r);
    case CALL_REMOVE:
        return remove_limit(s, r);
    case CALL_ADD:
        return add(s, r);
    default:
        return false;
    }
}

/* ---- the search ---- */

static bool search(struct judge *j, unsigned key, const struct sight *s);

static bool is_of(const struct record *r, unsigned key)
{
    return r->key == key || r->key == EVERY_KEY;
}

/* Nothing that has to come before it is left. */
static bool may_come(const struct judge *j, const struct sight *s, unsigned i, unsigned key)
{
    const struct record *r = &j->records[i];
    for (unsigned k = 0; k < j->count; k++) {
        const struct record *other = &j->records[k];
        if (k == i || (s->done >> k & 1) != 0 || !is_of(other, key))
            continue;
        if (other->end < r->begin || (other->end == r->end && other->of_batch && k < i))
            return false;
    }
    return true;
}

/* The key as a call under a version finds it. */
static struct look look_at(struct sight *s, unsigned version, weir_ns now)
{
    struct look l = {s, &s->versions[version].rules, s->state, version, true};
    for (unsigned v = s->of; v < version; v++)
        state_change(&s->versions[v].rules, &l.state, &s->versions[v + 1].rules, now);
    return l;
}

/* What was written is of the version of its writer. */
static void put_back(const struct look *l, const struct state *before)
{
    if (memcmp(&l->state, before, sizeof *before) == 0)
        return;
    static const struct state unused;
    l->s->state = l->state;
    l->s->of = memcmp(&l->state, &unused, sizeof unused) == 0 ? 0 : l->version; /* of none */
}

/* All or none: takes and gives back, and comes to its end. */
static bool search_all(struct judge *j, unsigned key, const struct sight *s, unsigned i)
{
    const struct record *r = &j->records[i];
    bool granted = r->result.verdict == WEIR_ALLOWED;
    bool taken = (s->taken >> i & 1) != 0;
    struct rules *rules;
    struct sight next;
    copy_sight(&next, s);
    if (taken == granted) {
        next.done |= (uint64_t)1 << i;
        if (search(j, key, &next))
            return true;
    }
    copy_sight(&next, s);
    rules = &next.versions[next.newest].rules;
    next.taken ^= (uint64_t)1 << i;
    if (taken) {
        rules_refund(rules, &next.state, r->n, r->now);
        return search(j, key, &next);
    }
    if (next.tries[i]++ >= ALL_TRIES)
        return false;
    return rules_step(rules, &next.state, r->n, r->now, 0, true, NULL).verdict == WEIR_ALLOWED &&
           search(j, key, &next);
}

/* Under one version; late: at an instant of j->later, none when it is laters. */
static bool search_under(struct judge *j, unsigned key, const struct sight *s, unsigned i,
                         unsigned version, unsigned late)
{
    const struct record *r = &j->records[i];
    struct sight next;
    copy_sight(&next, s);
    next.done |= (uint64_t)1 << i;
    struct look l = look_at(&next, version, r->now);
    /* One that only looks leaves it as it was: who carries the word of a key that others have left
       behind may still put it where it was going to. */
    if (late < j->laters && !is_idle(l.rules, &l.state, j->later[late]))
        return false;
    if (late < j->laters)
        memset(&l.state, 0, sizeof l.state);
    struct state before = l.state;
    if (late < j->laters ? !agrees_late(&l, r, j->later[late]) : !agrees(&l, r))
        return false;
    put_back(&l, &before);
    return search(j, key, &next);
}

/* The limit is not there. */
static bool search_closed(struct judge *j, unsigned key, const struct sight *s, unsigned i)
{
    struct sight next;
    copy_sight(&next, s);
    next.done |= (uint64_t)1 << i;
    struct look l = {&next, &next.versions[next.newest].rules, next.state, next.newest, false};
    return agrees(&l, &j->records[i]) && search(j, key, &next);
}

static bool search_on_limit(struct judge *j, unsigned key, const struct sight *s, unsigned i)
{
    struct sight next;
    copy_sight(&next, s);
    next.done |= (uint64_t)1 << i;
    return agrees_on_limit(&next, &j->records[i]) && search(j, key, &next);
}

/* It changes nothing. */
static bool search_skipped(struct judge *j, unsigned key, const struct sight *s, unsigned i)
{
    struct sight next;
    copy_sight(&next, s);
    next.done |= (uint64_t)1 << i;
    return search(j, key, &next);
}

/* A reservation from before a change, whose way to the settings of now a sweep has cut. */
static bool is_cut(const struct judge *j, const struct sight *s, const struct record *r)
{
    if (r->call != CALL_CANCEL || r->count != 0 || s->holds_of[r->hold] == s->newest)
        return false;
    for (unsigned i = 0; i < j->count; i++) {
        const struct record *other = &j->records[i];
        if ((other->call == CALL_TRIM || other->call == CALL_ADD) && other->begin < r->end)
            return true;
    }
    return false;
}

static bool search_with(struct judge *j, unsigned key, const struct sight *s, unsigned i)
{
    const struct record *r = &j->records[i];
    if (r->key == EVERY_KEY)
        return search_on_limit(j, key, s, i);
    if (r->call == CALL_ALL)
        return search_all(j, key, s, i) || (is_refused(j, s, r) && search_skipped(j, key, s, i));
    if (!s->open && search_closed(j, key, s, i))
        return true;
    for (unsigned v = s->newest + 1; v-- > s->of && s->versions[v].replaced > r->begin;) {
        if (search_under(j, key, s, i, v, j->laters))
            return true;
    }
    for (unsigned late = 0; late < j->laters; late++) {
        if (j->later[late] > r->now && search_under(j, key, s, i, s->newest, late))
            return true;
    }
    return (is_refused(j, s, r) || is_cut(j, s, r)) && search_skipped(j, key, s, i);
}

static bool search(struct judge *j, unsigned key, const struct sight *s)
{
    bool over = true;
    if (j->steps++ >= STEPS_MAX)
        return true;
    for (unsigned i = 0; i < j->count; i++) {
        if (!is_of(&j->records[i], key) || (s->done >> i & 1) != 0)
            continue;
        over = false;
        if (may_come(j, s, i, key) && search_with(j, key, s, i))
            return true;
    }
    return over;
}

bool judge_acquits(struct judge *j, unsigned key, uint64_t *given_up)
{
    struct sight begin;
    memset(&begin, 0, offsetof(struct sight, versions[1]));
    begin.versions[0].rules = j->rules;
    begin.versions[0].replaced = UINT64_MAX;
    begin.open = true;
    j->steps = 0;
    bool acquits = search(j, key, &begin);
    *given_up += j->steps > STEPS_MAX;
    return acquits;
}
