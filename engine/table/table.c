/* SPDX-License-Identifier: MIT */
/*
 * The table's memory, the claiming of slots, and the walk over them; table.h has the contract.
 */
#include "table/table.h"

#include <errno.h>
#include <sys/mman.h>

/* Lines of a shard where there are several: with 2 Ki slots, filled by half, the keys of one shard
   differ from the mean by 3 % (Poisson), and a shard count of 2^14 comes with 10 million keys. */
#define SHARD_LINES_LOG2 9

#define HUGE_PAGE ((size_t)2 << 20)

/* Lines for max_keys at a load of at most 1/2, as a power of two. */
static unsigned lines_log2_for(uint64_t max_keys)
{
    unsigned log2 = 0;
    while (((uint64_t)WEIR_LINE_SLOTS << log2) < 2 * max_keys)
        log2++;
    return log2;
}

/* Zeroed memory whose lines start at a huge page where they fill one. */
static int map_lines(struct weir_table *t)
{
    size_t align = t->bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
    t->mapping_bytes = t->bytes + align;
    t->mapping = mmap(NULL, t->mapping_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t->mapping == MAP_FAILED)
        return -ENOMEM;
    uintptr_t start = (uintptr_t)t->mapping;
    if (align != 0) {
        start = (start + align - 1) & ~(uintptr_t)(align - 1);
        /* Advice only: without huge pages everything works, with more misses of the TLB. */
        (void)madvise((void *)start, t->bytes, MADV_HUGEPAGE);
    }
    t->lines = (struct weir_line *)start;
    return 0;
}

int weir_table_init(struct weir_table *t, uint64_t max_keys, unsigned id_bits)
{
    unsigned log2 = lines_log2_for(max_keys);
    t->max_keys = max_keys;
    t->id_bits = (uint8_t)id_bits;
    t->lines_log2 = (uint8_t)(log2 < SHARD_LINES_LOG2 ? log2 : SHARD_LINES_LOG2);
    t->shards_log2 = (uint8_t)(log2 - t->lines_log2);
    t->home_shift = (uint8_t)(63 - t->lines_log2);
    t->bytes = sizeof(struct weir_line) << log2;
    weir_store_relaxed(&t->claimed, 0);
    weir_store_relaxed(&t->longest_probe, 0);
    int saved = errno;
    int error = map_lines(t);
    errno = saved;
    return error;
}

void weir_table_free(struct weir_table *t)
{
    int saved = errno;
    munmap(t->mapping, t->mapping_bytes);
    errno = saved;
}

/* The slot of the line that has the tag now, or was claimed for it just now; -1: all are others'.
 */
static int claim_in_line(struct weir_table *t, struct weir_line *line, uint64_t tag)
{
    for (int i = 0; i < WEIR_LINE_SLOTS; i++) {
        uint64_t seen = weir_load_acquire(&line->tag[i]);
        /* S3: on a lost race `seen` becomes the winner's tag, which may be this one. */
        if (seen == WEIR_TAG_EMPTY && weir_cas_acq_rel(&line->tag[i], &seen, tag)) {
            /* Release, after the tag: who sees the table full, sees its tags. */
            weir_add_acq_rel(&t->claimed, 1);
            return i;
        }
        if (seen == tag)
            return i;
    }
    return -1;
}

static bool is_full(const struct weir_table *t)
{
    return weir_load_acquire(&t->claimed) >= t->max_keys;
}

struct weir_atomic_u64 *weir_table_claim(struct weir_table *t, const struct weir_probe *p)
{
    struct weir_atomic_u64 *word = weir_table_find(p);
    if (word != NULL)
        return word;
    if (is_full(t)) {
        /* The claim that filled the table may have been this key's: search once more. */
        return weir_table_find(p);
    }
    for (uint64_t i = 0; i < WEIR_PROBE_LINES && i <= p->mask; i++) {
        struct weir_line *line = &p->shard[(p->home + i) & p->mask];
        int slot = claim_in_line(t, line, p->tag);
        if (slot >= 0) {
            weir_max_relaxed(&t->longest_probe, i + 1);
            return &line->word[slot];
        }
    }
    return NULL;
}

bool weir_table_has_place(const struct weir_table *t, const struct weir_probe *p)
{
    if (is_full(t))
        return false;
    for (uint64_t i = 0; i < WEIR_PROBE_LINES && i <= p->mask; i++) {
        if (weir_line_match(&p->shard[(p->home + i) & p->mask], WEIR_TAG_EMPTY) != 0)
            return true;
    }
    return false;
}

void weir_table_walk(struct weir_table *t,
                     void (*visit)(void *context, uint64_t tag, struct weir_atomic_u64 *word),
                     void *context)
{
    uint64_t lines = (uint64_t)1 << (t->shards_log2 + t->lines_log2);
    for (uint64_t i = 0; i < lines; i++) {
        struct weir_line *line = &t->lines[i];
        for (int slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
            uint64_t tag = weir_load_acquire(&line->tag[slot]);
            if (tag != WEIR_TAG_EMPTY)
                visit(context, tag, &line->word[slot]);
        }
    }
}

/* Counts a line's tags. False: an empty slot before a used one, or a tag that is found elsewhere.
 */
static bool line_is_valid(const struct weir_table *t, uint64_t index, uint64_t *count)
{
    struct weir_line *line = &t->lines[index];
    struct weir_probe p;
    p.mask = ((uint64_t)1 << t->lines_log2) - 1;
    p.shard = t->lines + (index & ~p.mask);
    bool ended = false;
    for (int slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
        p.tag = weir_load_acquire(&line->tag[slot]);
        if (p.tag == WEIR_TAG_EMPTY) {
            ended = true;
            continue;
        }
        p.home = weir_tag_home(p.tag, t->home_shift);
        if (ended || weir_table_find(&p) != &line->word[slot])
            return false;
        ++*count;
    }
    return true;
}

bool weir_table_is_valid(const struct weir_table *t)
{
    uint64_t count = 0;
    uint64_t lines = (uint64_t)1 << (t->shards_log2 + t->lines_log2);
    for (uint64_t i = 0; i < lines; i++) {
        if (!line_is_valid(t, i, &count))
            return false;
    }
    return count == weir_load_acquire(&t->claimed);
}
