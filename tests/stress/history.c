/* SPDX-License-Identifier: MIT */
/* The history of a run, and whether one exact bucket a key grants it. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

/* More than any sum of a run. */
#define FAR ((wide)1 << 120)

struct history_bucket history_bucket_of(const struct weir_policy *policy)
{
    struct weir_meter m;
    struct history_bucket b = {0, 0, 0, 1};
    if (weir_meter_init(&m, policy, 0) == 0)
        b = (struct history_bucket){m.token, m.burst, m.units, m.grains};
    return b;
}

void history_add(struct history *h, const struct grant *grant)
{
    if (h->count >= h->room) {
        size_t room = h->room != 0 ? 2 * h->room : 4096;
        struct grant *grants = realloc(h->grants, room * sizeof *grants);
        if (grants == NULL) {
            h->count++;
            return;
        }
        h->grants = grants;
        h->room = room;
    }
    h->grants[h->count++] = *grant;
}

void history_move(struct history *h, struct history *from)
{
    for (size_t i = 0; i < from->count && i < from->room; i++)
        history_add(h, &from->grants[i]);
    if (from->count > from->room)
        h->count = h->room + 1;
    history_free(from);
}

void history_free(struct history *h)
{
    free(h->grants);
    memset(h, 0, sizeof *h);
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* ---- sums ---- */

static int by_latest(const void *a, const void *b)
{
    const struct grant *x = a;
    const struct grant *y = b;
    return compare(x->latest, y->latest);
}

/*
 * For all b at once, the sum of what lies in [a, b] less what accrues until b: the largest is at
 * the root. A node holds the largest of its leaves, without what was added to the nodes above it.
 */
struct sums {
    wide *largest, *added;
    size_t leaves; /* a power of two; leaf i is node leaves + i */
};

static void settle(struct sums *s, size_t node)
{
    wide left = s->largest[2 * node];
    wide right = s->largest[2 * node + 1];
    s->largest[node] = (left > right ? left : right) + s->added[node];
}

/* Adds to the leaves from `first` to `last`, of the node's that begin at `begin`. */
static void add(struct sums *s, size_t node, size_t begin, size_t width, size_t first, size_t last,
                wide n)
{
    if (last < begin || begin + width <= first)
        return;
    if (first <= begin && begin + width - 1 <= last) {
        s->largest[node] += n;
        s->added[node] += n;
        return;
    }
    add(s, 2 * node, begin, width / 2, first, last, n);
    add(s, 2 * node + 1, begin + width / 2, width / 2, first, last, n);
    settle(s, node);
}

static bool start_sums(struct sums *s, const struct history_bucket *b, const struct grant *grants,
                       size_t count)
{
    s->leaves = 1;
    while (s->leaves < count)
        s->leaves *= 2;
    s->largest = calloc(2 * s->leaves, sizeof *s->largest);
    s->added = calloc(2 * s->leaves, sizeof *s->added);
    if (s->largest == NULL || s->added == NULL)
        return false;
    for (size_t i = 0; i < s->leaves; i++) {
        /* An instant counts from the first grant on that ends there. */
        s->largest[s->leaves + i] = -FAR;
        if (i < count)
            s->largest[s->leaves + i] -= (wide)grants[i].latest * b->units;
    }
    for (size_t node = s->leaves; node-- > 1;)
        settle(s, node);
    return true;
}

/* Places in `order` the grants by their `now`, the newest first. */
static int by_now_of(const void *a, const void *b, void *grants)
{
    const struct grant *g = grants;
    return compare(g[*(const size_t *)b].now, g[*(const size_t *)a].now);
}

bool history_sums_hold(const struct history_bucket *b, struct grant *grants, size_t count)
{
    struct sums s = {NULL, NULL, 0};
    size_t *order = calloc(count + 1, sizeof *order);
    qsort(grants, count, sizeof *grants, by_latest);
    bool holds = order != NULL && start_sums(&s, b, grants, count);
    for (size_t i = 0; holds && i < count; i++)
        order[i] = i;
    if (holds)
        qsort_r(order, count, sizeof *order, by_now_of, grants);
    /* In grains of a unit. A line that is rounded may give less than one unit more. */
    wide burst = (wide)b->burst * b->token * b->grains + (b->grains - 1);
    for (size_t i = 0; holds && i < count; i++) {
        const struct grant *g = &grants[order[i]];
        wide n = (wide)g->n * b->token * b->grains;
        add(&s, 1, 0, s.leaves, order[i], order[i], FAR);
        add(&s, 1, 0, s.leaves, order[i], s.leaves - 1, n);
        holds = s.largest[1] + (wide)g->now * b->units <= burst;
    }
    free(s.largest);
    free(s.added);
    free(order);
    return holds;
}

/* ---- chains ---- */

static int by_full(const void *a, const void *b)
{
    const struct grant *x = a;
    const struct grant *y = b;
    int order = compare(x->full, y->full);
    return order != 0 ? order : compare(y->n, x->n);
}

static bool link_holds(const struct history_bucket *b, const struct grant *g)
{
    weir_ns length = g->n * b->token;
    if (g->n > b->burst || g->full < length || g->full - length < g->now)
        return false;
    weir_ns begin = g->full - length;
    return g->full - g->now <= b->burst * b->token + g->max_wait || begin <= g->latest;
}

bool history_chain_holds(const struct history_bucket *b, struct grant *grants, size_t count)
{
    qsort(grants, count, sizeof *grants, by_full);
    for (size_t i = 0; i < count; i++) {
        if (!link_holds(b, &grants[i]))
            return false;
        if (i > 0 && grants[i].full - grants[i].n * b->token < grants[i - 1].full)
            return false;
    }
    return true;
}

/* ---- all of it ---- */

static int by_key(const void *a, const void *b)
{
    const struct grant *x = a;
    const struct grant *y = b;
    int order = compare(x->limit, y->limit);
    return order != 0 ? order : compare(x->key, y->key);
}

static void show(const char *what, const struct grant *grants, size_t count)
{
    printf("# key %llu, limit %u: %s; %zu grants\n", (unsigned long long)grants->key, grants->limit,
           what, count);
    for (size_t i = 0; i < count && i < 20; i++) {
        const struct grant *g = &grants[i];
        printf("#   n %u now %llu latest %llu full %llu max wait %llu\n", g->n,
               (unsigned long long)g->now, (unsigned long long)g->latest,
               (unsigned long long)g->full, (unsigned long long)g->max_wait);
    }
}

static const char *fault_of(const struct history_bucket *b, struct grant *grants, size_t count)
{
    bool told = b->units == 1 && b->grains == 1;
    bool waits = false;
    for (size_t i = 0; i < count; i++) {
        told = told && grants[i].full != 0;
        waits = waits || grants[i].max_wait != 0;
    }
    /* What waits is granted before it is there. */
    if (!waits && !history_sums_hold(b, grants, count))
        return "more than burst + rate * time";
    if (told && !history_chain_holds(b, grants, count))
        return "a stretch of time was granted twice";
    return waits && !told ? "cannot be checked" : NULL;
}

size_t history_check(struct history *h, const struct history_bucket *buckets)
{
    size_t wrong = 0;
    size_t end;
    if (h->count > h->room)
        return h->count;
    if (h->count != 0)
        qsort(h->grants, h->count, sizeof *h->grants, by_key);
    for (size_t begin = 0; begin < h->count; begin = end) {
        struct grant *grants = &h->grants[begin];
        end = begin + 1;
        while (end < h->count && by_key(grants, &h->grants[end]) == 0)
            end++;
        const char *fault = fault_of(&buckets[grants->limit], grants, end - begin);
        if (fault != NULL && wrong++ == 0)
            show(fault, grants, end - begin);
    }
    return wrong;
}
