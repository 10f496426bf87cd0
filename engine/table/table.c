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
    return map_lines(t);
}

void weir_table_free(struct weir_table *t)
{
    (void)munmap(t->mapping, t->mapping_bytes); /* cannot fail for what mmap gave */
}

/* How the search for a place ended in a line. */
enum place { ELSEWHERE, FOUND, SEALED };

/*
 * Puts `mark` (the tag itself, or the seal) into the first empty slot of the line, unless the tag
 * is there already: FOUND with its slot. SEALED: no place for the tag here or further on.
 */
static enum place place_in_line(struct weir_line *line, uint64_t tag, uint64_t mark, int *slot,
                                bool *claimed)
{
    for (*slot = 0; *slot < WEIR_LINE_SLOTS; ++*slot) {
        uint64_t seen = weir_load_relaxed(&line->tag[*slot]);
        /* S3: on a lost race `seen` becomes the winner's tag, which may be this one. Relaxed: a tag
           publishes nothing, its word is zero from the start and orders itself. */
        if (seen == WEIR_TAG_EMPTY && weir_cas_relaxed(&line->tag[*slot], &seen, mark)) {
            *claimed = mark == tag;
            seen = mark;
        }
        if (seen == tag)
            return FOUND;
        if (seen == WEIR_TAG_SEALED)
            return SEALED;
    }
    return ELSEWHERE;
}

/* Acquire: pairs with the count of a claim; a search after it sees every tag that is counted. */
static bool is_full(const struct weir_table *t)
{
    return weir_load_acquire(&t->claimed) >= t->max_keys;
}

/* The tag's word, after its slot was claimed or sealed (`mark`) where it had none. */
static struct weir_atomic_u64 *place(struct weir_table *t, const struct weir_probe *p,
                                     uint64_t mark)
{
    for (uint64_t i = 0; i < WEIR_PROBE_LINES && i <= p->mask; i++) {
        struct weir_line *line = &p->shard[(p->home + i) & p->mask];
        int slot;
        bool claimed = false;
        enum place where = place_in_line(line, p->tag, mark, &slot, &claimed);
        if (claimed) {
            /* Release, after the tag: pairs with is_full. Without it who sees the table full could
               miss the tag that filled it, his own key's perhaps. */
            weir_add_release(&t->claimed, 1);
            weir_max_relaxed(&t->longest_probe, i + 1);
        }
        if (where == FOUND)
            return &line->word[slot];
        if (where == SEALED)
            return NULL;
    }
    return NULL;
}

struct weir_atomic_u64 *weir_table_claim(struct weir_table *t, const struct weir_probe *p)
{
    struct weir_atomic_u64 *word = weir_table_find(p);
    if (word != NULL)
        return word;
    return place(t, p, is_full(t) ? WEIR_TAG_SEALED : p->tag);
}

/* Whether the search for a tag that is not there ends at an empty slot. */
static bool ends_empty(const struct weir_probe *p)
{
    for (uint64_t i = 0; i < WEIR_PROBE_LINES && i <= p->mask; i++) {
        const struct weir_line *line = &p->shard[(p->home + i) & p->mask];
        if (weir_line_match(line, WEIR_TAG_SEALED) != 0)
            return false;
        if (weir_line_match(line, WEIR_TAG_EMPTY) != 0)
            return true;
    }
    return false;
}

struct weir_atomic_u64 *weir_table_settle(struct weir_table *t, const struct weir_probe *p,
                                          bool look, bool *place_left)
{
    struct weir_atomic_u64 *word = weir_table_find(p);
    *place_left = word == NULL && !is_full(t) && ends_empty(p);
    if (word != NULL || *place_left)
        return word;
    /* Search again: the claim that filled the table may have been this key's. */
    return look ? weir_table_find(p) : place(t, p, WEIR_TAG_SEALED);
}

void weir_table_walk(struct weir_table *t,
                     void (*visit)(void *context, uint64_t tag, struct weir_atomic_u64 *word),
                     void *context)
{
    uint64_t lines = (uint64_t)1 << (t->shards_log2 + t->lines_log2);
    for (uint64_t i = 0; i < lines; i++) {
        struct weir_line *line = &t->lines[i];
        for (int slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
            uint64_t tag = weir_load_relaxed(&line->tag[slot]);
            if (tag != WEIR_TAG_EMPTY && tag != WEIR_TAG_SEALED)
                visit(context, tag, &line->word[slot]);
        }
    }
}

/* Counts a line's tags. False: one behind an unused slot, or one that is found elsewhere. */
static bool line_is_valid(const struct weir_table *t, uint64_t index, uint64_t *count)
{
    struct weir_line *line = &t->lines[index];
    struct weir_probe p;
    p.mask = ((uint64_t)1 << t->lines_log2) - 1;
    p.shard = t->lines + (index & ~p.mask);
    bool ended = false;
    for (int slot = 0; slot < WEIR_LINE_SLOTS; slot++) {
        p.tag = weir_load_relaxed(&line->tag[slot]);
        if (p.tag == WEIR_TAG_EMPTY || p.tag == WEIR_TAG_SEALED) {
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
