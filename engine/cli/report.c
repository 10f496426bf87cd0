/* SPDX-License-Identifier: MIT */
/* What a replay found, gathered from the counts of the shard and the keys. */
#include "report.h"

#include "cli.h"
#include "policy_arg.h"

#include <stdlib.h>

static int more_denied_first(const void *left, const void *right)
{
    const struct report_top *a = left, *b = right;
    if (a->count.denied != b->count.denied)
        return a->count.denied > b->count.denied ? -1 : 1;
    return a->entry->first < b->entry->first ? -1 : a->entry->first > b->entry->first;
}

static void collect_top(struct report_limit *item, size_t limit, const struct keymap *keys,
                        size_t top)
{
    size_t count = 0;
    struct report_top *all = cli_alloc(item->tally->keys_denied, sizeof *all);
    for (uint32_t i = 0; top > 0 && i < keymap_size(keys); i++) {
        const struct key_entry *entry = keymap_at(keys, i);
        if (entry->counts[limit].denied > 0)
            all[count++] = (struct report_top){entry, entry->counts[limit]};
    }
    qsort(all, count, sizeof *all, more_denied_first);
    item->top_count = count < top ? count : top;
    item->top = cli_resize(all, item->top_count, sizeof *all);
}

void report_collect(struct report *r, const struct weir_policy *policies, const struct shard *shard,
                    const struct keymap *keys, size_t top)
{
    r->limits = shard->limits;
    r->keys = keymap_size(keys);
    r->timeline = &shard->timeline;
    r->items = cli_alloc(r->limits, sizeof *r->items);
    for (size_t i = 0; i < r->limits; i++) {
        struct report_limit *item = &r->items[i];
        item->tally = &shard->tallies[i];
        policy_arg_put(&item->policy, &policies[i]);
        collect_top(item, i, keys, top);
    }
}

void report_free(struct report *r)
{
    for (size_t i = 0; i < r->limits; i++) {
        text_free(&r->items[i].policy);
        free(r->items[i].top);
    }
    free(r->items);
}
