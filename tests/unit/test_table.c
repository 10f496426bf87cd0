/* SPDX-License-Identifier: MIT */
/*
 * The table's parts: lines and sizes, the search in one array, and the walk over all that finds
 * what is wrong. Places of keys: test_place.c; how an array is replaced: test_move.c.
 */
#include "table_alone.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "table/arena.h"

/* ---- lines and sizes ---- */

static void a_tag_is_never_one_of_those_that_are_no_keys(void **state)
{
    (void)state;
    for (unsigned bits = 2; bits <= 16; bits++) {
        for (unsigned limit = 0; limit < 1U << bits; limit += bits > 8 ? 97 : 1) {
            uint64_t tag = weir_tag(0, limit, bits);
            assert_true(tag > WEIR_TAG_HEADER);
            assert_int_equal(weir_tag_limit(tag, bits), limit);
            assert_int_equal(weir_tag_limit(weir_tag(UINT64_MAX, limit, bits), bits), limit);
        }
    }
}

/* All four tags are compared, in all 64 bits. */
static void a_line_matches_whole_tags(void **state)
{
    (void)state;
    _Alignas(64) struct weir_line line;
    for (unsigned mask = 0; mask < 16; mask++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            uint64_t tag = 0x123456789abcdef0U;
            for (unsigned i = 0; i < 4; i++) {
                uint64_t other = tag ^ (uint64_t)1 << bit;
                weir_store_relaxed(&line.tag[i], (mask >> i & 1) != 0 ? tag : other);
                weir_store_relaxed(&line.word[i], tag);
            }
            assert_int_equal(weir_line_match(&line, tag), mask);
            const struct weir_atomic_u64 *word = weir_line_word(&line, tag);
            assert_true((word != NULL) == (mask != 0));
            assert_true(word == NULL || (mask >> (word - line.word) & 1) != 0);
            assert_false(weir_line_ends(&line));
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        uint64_t tag = weir_load_relaxed(&line.tag[i]);
        for (uint64_t end = WEIR_TAG_EMPTY; end <= WEIR_TAG_SEALED; end++) {
            weir_store_relaxed(&line.tag[i], end);
            assert_true(weir_line_ends(&line));
        }
        weir_store_relaxed(&line.tag[i], tag);
    }
}

static void sizes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1,    63,   127,    128,     1295,     1296,
                                     3000, 5000, 100000, 1048576, 10000000, (uint64_t)1 << 32};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct weir_table t;
        assert_int_equal(weir_table_init(&t, sizes[i], 8, STALE_MAX), 0);
        /* no shard has more than it should, and the shards are not more than twice as many */
        assert_true(t.shards * WEIR_SHARD_KEYS >= sizes[i]);
        assert_true(t.shards == 1 || t.shards * WEIR_SHARD_KEYS < 2 * sizes[i]);
        /* M1: a block is 1/64 of a share or a little less; what blocks can leave unspent is 1/64 of
           max_keys at most */
        uint64_t block = (uint64_t)1 << t.block_log2;
        uint64_t share = sizes[i] / t.shards;
        assert_true(block == 1 || block * 64 <= share);
        assert_true(block == 64 || block * 128 > share);
        assert_true(t.shards * (block - 1) <= sizes[i] / 64);
        /* every hash has a shard, the lowest the first and the highest the last */
        assert_int_equal(weir_table_probe(&t, 0, 0, 0).shard, 0);
        assert_int_equal(weir_table_probe(&t, UINT64_MAX, 0, 0).shard, t.shards - 1);
        assert_int_equal(weir_load_relaxed(&t.unspent), sizes[i]);
        assert_true(weir_table_bytes(&t) < ((size_t)1 << 20) + t.shards * 64);
        weir_table_free(&t);
    }
}

/* Load limits lie where they should, rise with the shard, and leave room in each array. */
static void load_limits_are_staggered(void **state)
{
    (void)state;
    struct weir_table t;
    assert_int_equal(weir_table_init(&t, 10000000, 8, STALE_MAX), 0);
    for (uint64_t order = WEIR_ORDER_MIN; order <= WEIR_ORDER_MAX; order++) {
        uint64_t slots = weir_order_slots(order);
        uint64_t before = 0;
        assert_int_equal(slots, weir_order_lines(order) * 4);
        assert_true(order == WEIR_ORDER_MIN || slots > weir_order_slots(order - 1));
        /* some slots stay empty in any case, so that a search ends */
        assert_true(weir_order_full(order) * 16 <= slots * 15);
        assert_true(weir_order_full(order) * 16 >= slots * 15 - 48);
        for (uint64_t shard = 0; shard < t.shards; shard++) {
            uint64_t limit = weir_shard_limit(&t, shard, order);
            assert_true(limit >= before && limit <= weir_order_full(order));
            assert_true((limit + 1) * 1024 > slots * WEIR_LOAD_LOWEST);
            assert_true(limit * 1024 <= slots * (WEIR_LOAD_LOWEST + WEIR_LOAD_SPREAD));
            before = limit;
        }
        uint64_t spread = before - weir_shard_limit(&t, 0, order);
        assert_true((spread + 2) * 1024 >= slots * (WEIR_LOAD_SPREAD - 5));
    }
    /* a shard's share of a full table is below every load limit of the largest array but one */
    assert_true(weir_shard_limit(&t, 0, WEIR_ORDER_MAX - 1) > WEIR_SHARD_KEYS);
    weir_table_free(&t);
}

static void arrays_are_aligned_and_empty(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(1000);
    uint64_t bytes = 0;
    for (unsigned order = WEIR_ORDER_MIN; order <= WEIR_ORDER_MAX; order++) {
        struct weir_array *a = weir_table_make_array(t, 0, order);
        assert_non_null(a);
        assert_int_equal((uintptr_t)a % 512, 0);
        assert_int_equal(a->order, order);
        uint64_t packed = weir_array_pack(a);
        assert_ptr_equal(weir_packed_array(packed), a);
        assert_ptr_equal(weir_packed_array(packed | WEIR_ARRAY_MOVING), a);
        /* the home line by the word is the one that the tag has */
        for (uint64_t i = 0; i < 256; i++) {
            uint64_t tag = tag_at((unsigned)i, i * i);
            assert_int_equal(home_in(a, tag), i * block_of(order) / 256);
            assert_ptr_equal(weir_packed_home(packed, tag), weir_array_block(a) + home_in(a, tag));
        }
        for (unsigned i = 0; i < WEIR_HEADER_LINES; i++) {
            assert_int_equal(weir_line_match(&weir_array_block(a)[i], WEIR_TAG_HEADER), 15);
            assert_false(weir_line_ends(&weir_array_block(a)[i]));
        }
        for (uint64_t i = 0; i < weir_order_lines(order); i++) {
            assert_int_equal(weir_line_match(&weir_array_lines(a)[i], WEIR_TAG_EMPTY), 15);
            for (unsigned slot = 0; slot < WEIR_LINE_SLOTS; slot++)
                assert_int_equal(weir_load_relaxed(&weir_array_lines(a)[i].word[slot]), 0);
        }
        bytes += 64 * block_of(order);
        assert_int_equal(weir_load_relaxed(&t->bytes), bytes);
        assert_int_equal(weir_load_relaxed(&t->arrays), order - WEIR_ORDER_MIN + 1);
        weir_retire(t, a);
        bytes -= 64 * block_of(order);
        assert_int_equal(weir_load_relaxed(&t->bytes), bytes);
        weir_add_relaxed(&t->arrays, 1); /* counted on, for the next round */
    }
    alone_close(t);
}

/* ---- one array ---- */

static enum weir_found claim(struct weir_array *a, uint64_t tag, struct weir_search *s,
                             bool *claimed)
{
    uint64_t races = 0;
    enum weir_found found = weir_array_claim(a, tag, WEIR_PROBE_LINES, s, claimed, &races);
    assert_int_equal(races, 0);
    return found;
}

static void k28_each_tag_keeps_its_slot(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(1000);
    for (unsigned order = WEIR_ORDER_MIN; order <= WEIR_ORDER_MAX; order++) {
        struct weir_array *a = weir_table_make_array(t, 0, order);
        struct test_random random = random_start("slots", order);
        struct test_random again = random;
        uint64_t tags = weir_order_slots(order) * 4 / 5; /* no load limit is above that */
        struct weir_search s = {NULL, 0, 0};
        bool claimed;
        for (uint64_t i = 0; i < tags; i++) {
            uint64_t tag = random_u64(&random);
            assert_int_equal(weir_array_search(a, tag, &s), WEIR_EMPTY);
            assert_int_equal(claim(a, tag, &s, &claimed), WEIR_FOUND);
            assert_true(claimed);
            weir_store_relaxed(weir_search_word(&s), i + 1);
        }
        for (uint64_t i = 0; i < tags; i++) {
            uint64_t tag = random_u64(&again);
            assert_int_equal(weir_array_search(a, tag, &s), WEIR_FOUND);
            assert_int_equal(weir_load_relaxed(weir_search_word(&s)), i + 1);
            struct weir_atomic_u64 *word = weir_search_word(&s);
            assert_int_equal(claim(a, tag, &s, &claimed), WEIR_FOUND);
            assert_false(claimed);
            assert_ptr_equal(weir_search_word(&s), word);
        }
        weir_retire(t, a);
    }
    alone_close(t);
}

/* One who claims, and what others claim at one of his steps. */
struct claims {
    struct weir_array *a;
    uint64_t tag;
    struct weir_search s;
    uint64_t races;
    bool claimed;
};

static void claim_too(void *context)
{
    struct claims *c = context;
    assert_int_equal(
        weir_array_claim(c->a, c->tag, WEIR_PROBE_LINES, &c->s, &c->claimed, &c->races),
        WEIR_FOUND);
}

/* S3: whoever is stopped wherever in his claim, two claims of one tag meet at one slot, and claims
   of two tags with one home get two. */
static void k28_claims_that_meet(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(1000);
    uint64_t lost = 0;
    for (int same = 0; same <= 1; same++) {
        for (uint64_t n = 1;; n++) {
            struct weir_array *a = weir_table_make_array(t, 0, WEIR_ORDER_MIN);
            struct claims first = {.a = a, .tag = tag_at(255, 0)};
            struct claims second = {.a = a, .tag = tag_at(255, same == 0)};
            for (uint64_t i = 0; i < 6; i++) /* the home line and half of the next are taken */
                assert_int_equal(claim(a, tag_at(255, 10 + i), &first.s, &first.claimed),
                                 WEIR_FOUND);
            stop_at(n, claim_too, &second);
            claim_too(&first);
            bool stopped = was_stopped();
            if (stopped) {
                bool one = weir_search_word(&first.s) == weir_search_word(&second.s);
                assert_int_equal(one, same);
                assert_int_equal(first.claimed + second.claimed, same != 0 ? 1 : 2);
                lost += first.races;
            }
            weir_retire(t, a);
            if (!stopped)
                break;
        }
        assert_int_equal(lost, same + 1); /* by who was stopped right before his compare-and-swap */
    }
    alone_close(t);
}

/* Lines that a search from a home goes through to the (n + 1)-th with slots. */
static uint64_t lines_to(const struct weir_array *a, unsigned at, uint64_t n)
{
    uint64_t block = block_of(a->order);
    uint64_t line = home_in(a, tag_at(at, 0));
    for (uint64_t lines = 1;; lines++, line = (line + 1) % block) {
        if (line >= WEIR_HEADER_LINES && n-- == 0)
            return lines;
    }
}

/* K25: with all home lines equal everything is found, in 64 lines, around the end of the array. */
static void k25_all_homes_equal(void **state)
{
    (void)state;
    static const unsigned homes[] = {0, 100, 255};
    struct weir_table *t = alone_open(1000);
    for (unsigned h = 0; h < 3; h++) {
        struct weir_array *a = weir_table_make_array(t, 0, WEIR_ORDER_MAX);
        struct weir_search s = {NULL, 0, 0};
        bool claimed;
        uint64_t places = 0;
        for (; lines_to(a, homes[h], places / 4) <= WEIR_PROBE_LINES; places++) {
            assert_int_equal(claim(a, tag_at(homes[h], places), &s, &claimed), WEIR_FOUND);
            assert_true(claimed);
            assert_int_equal(s.lines, lines_to(a, homes[h], places / 4));
            weir_store_relaxed(weir_search_word(&s), places + 1);
        }
        assert_true(places >= 4 * (WEIR_PROBE_LINES - WEIR_HEADER_LINES));
        for (uint64_t i = 0; i < places; i++)
            assert_int_equal(weir_load_relaxed(word_in(a, tag_at(homes[h], i))), i + 1);
        for (uint64_t i = places; i < places + 50; i++) {
            assert_int_equal(claim(a, tag_at(homes[h], i), &s, &claimed), WEIR_NOWHERE);
            assert_false(claimed);
            assert_int_equal(weir_array_search(a, tag_at(homes[h], i), &s), WEIR_NOWHERE);
            assert_int_equal(s.lines, WEIR_PROBE_LINES);
        }
        weir_retire(t, a);
    }
    alone_close(t);
}

/* K25: what is moved finds a place beyond 64 full lines, and is found there from then on. */
static void k25_moved_entries_beyond_64_lines(void **state)
{
    (void)state;
    enum { PLACES = WEIR_PROBE_LINES * WEIR_LINE_SLOTS, BEYOND = 41 };
    struct weir_table *t = alone_open(1000);
    struct weir_array *from = replace(t, WEIR_ORDER_MAX, 0);
    struct weir_array *to = begin_move(t, WEIR_ORDER_MAX, 0);
    struct weir_effort e = helper_of(t, 0, 0);
    struct weir_search s;
    bool claimed;
    for (uint64_t i = 0; i < PLACES; i++)
        assert_int_equal(claim(to, tag_at(100, i), &s, &claimed), WEIR_FOUND);
    for (uint64_t i = PLACES; i < PLACES + BEYOND; i++) {
        weir_move_put(&e.move, tag_at(100, i), 1000 + i);
        /* as far as it has to, and no further */
        assert_int_equal(weir_load_relaxed(&to->reach), (i / 4) + 1);
    }
    assert_int_equal(e.move.moved, BEYOND);
    for (uint64_t i = PLACES; i < PLACES + BEYOND; i++) {
        assert_non_null(word_in(to, tag_at(100, i)));
        assert_int_equal(weir_load_relaxed(word_in(to, tag_at(100, i))), 1000 + i);
    }
    assert_int_equal(weir_array_search(to, tag_at(100, 9999), &s), WEIR_EMPTY);
    assert_int_equal(weir_array_search(from, tag_at(100, 0), &s), WEIR_EMPTY);
    /* a new key does not go there */
    assert_int_equal(claim(to, tag_at(100, 9999), &s, &claimed), WEIR_NOWHERE);
    alone_close(t);
}

/* ---- reading all of it ---- */

struct tally {
    uint64_t tags, words, count;
};

static void add_up(void *context, uint64_t tag, struct weir_atomic_u64 *word)
{
    struct tally *tally = context;
    tally->tags ^= tag;
    tally->words += weir_load_relaxed(word) & ~WEIR_MOVE_FROZEN;
    tally->count++;
}

static void walk_visits_each_slot_once(void **state)
{
    (void)state;
    struct tally expected = {0, 0, 0};
    struct weir_table *t = alone_open(1000);
    for (uint64_t i = 0; i < 700; i++) {
        put_key(t, tag_of(i), 1000 + i);
        expected.tags ^= tag_of(i);
        expected.words += 1000 + i;
    }
    settle(t, 0);
    struct tally seen = {0, 0, 0};
    weir_array_walk(root_of(t), add_up, &seen);
    assert_int_equal(seen.tags, expected.tags);
    assert_int_equal(seen.words, expected.words);
    assert_int_equal(seen.count, 700);
    /* what is being moved is visited in both */
    begin_move(t, root_of(t)->order, 0);
    struct weir_effort e = helper_of(t, 0, 0);
    weir_move_key(&e.move, tag_of(3));
    weir_move_key(&e.move, tag_of(5));
    seen = (struct tally){0, 0, 0};
    weir_array_walk(root_of(t), add_up, &seen);
    weir_array_walk(weir_shard_next(root_of(t)), add_up, &seen);
    assert_int_equal(seen.count, 702);
    assert_int_equal(seen.words, expected.words + 1003 + 1005);
    uint64_t error;
    assert_int_equal(weir_table_keys(t, &error), 700);
    assert_int_equal(error, 698);
    weir_shard_finish(&e);
    assert_int_equal(weir_table_keys(t, &error), 700);
    assert_int_equal(error, 0);
    alone_close(t);
}

/* Beside a move no more is uncertain than what has not been moved; nor when others moved more than
   was counted. */
static void keys_are_counted_beside_a_move(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(300);
    for (uint64_t i = 0; i < 100; i++)
        put_key(t, tag_of(i << 40), 1000);
    settle(t, 0);
    uint64_t error;
    struct weir_array *to = begin_move(t, root_of(t)->order, 0);
    struct weir_effort e = helper_of(t, 0, 0);
    while (weir_shard_help(&e)) {}
    assert_true(is_moving(t));
    assert_int_equal(weir_table_keys(t, &error), 100);
    assert_int_equal(error, 0);
    weir_add_relaxed(&to->moved, 1);
    assert_int_equal(weir_table_keys(t, &error), 100);
    assert_int_equal(error, 0);
    weir_add_relaxed(&to->moved, (uint64_t)-2);
    assert_int_equal(weir_table_keys(t, &error), 100);
    assert_int_equal(error, 1);
    weir_add_relaxed(&to->moved, 1);
    settle(t, 0);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* K28: an array in which there is neither the tag nor an end: a search goes through it once. */
static void k28_a_search_ends_in_an_array_without_a_gap(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(300);
    struct weir_array *a = weir_table_make_array(t, 0, WEIR_ORDER_MIN);
    struct weir_search s;
    bool claimed;
    uint64_t races = 0;
    uint64_t slots = weir_order_slots(WEIR_ORDER_MIN);
    for (uint64_t i = 0; i < slots; i++) {
        assert_int_equal(weir_array_claim(a, tag_of(i << 40), 64, &s, &claimed, &races),
                         WEIR_FOUND);
        assert_true(claimed);
    }
    assert_int_equal(weir_array_search(a, tag_of(slots << 40), &s), WEIR_NOWHERE);
    assert_int_equal(s.lines, block_of(WEIR_ORDER_MIN));
    assert_int_equal(weir_array_claim(a, tag_of(slots << 40), 64, &s, &claimed, &races),
                     WEIR_NOWHERE);
    assert_false(claimed);
    for (uint64_t i = 0; i < slots; i++)
        assert_int_equal(weir_array_search(a, tag_of(i << 40), &s), WEIR_FOUND);
    weir_retire(t, a);
    alone_close(t);
}

/* An array that had to be a mapping of its own goes back when the table does. */
static void an_own_mapping_ends_with_the_table(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(300);
    weir_arena_lock(&t->arena); /* as of somebody else who has stopped */
    put_key(t, tag_of(1), 1000);
    weir_arena_unlock(&t->arena);
    assert_int_equal(root_of(t)->own_mapping, 1);
    assert_int_equal(weir_load_relaxed(&t->arena.own), 1);
    assert_int_equal(t->arena.chunks, 0);
    weir_read_end();
    weir_table_free(t);
    assert_int_equal(weir_load_relaxed(&t->arena.own), 0);
    assert_int_equal(weir_arena_bytes(&t->arena), 0);
    reading = false;
    free(t);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(WEIR_RCU_OUTSIDE)
static size_t address_space(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    char text[64] = "";
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    assert_int_equal(fclose(f), 0);
    return strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* K28: more shards than there is memory for, or for what is kept beside their words. (Sanitizers
   end the process instead.) */
static void k28_a_table_without_memory(void **state)
{
    (void)state;
    struct weir_table *t = aligned_alloc(64, sizeof *t);
    struct rlimit before;
    assert_non_null(t);
    assert_int_equal(weir_table_init(t, (uint64_t)1 << 60, 8, STALE_MAX), -ENOMEM);
    uint64_t shards = (uint64_t)1 << 24;
    size_t words = shards * sizeof *t->words;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    (void)address_space(); /* may allocate, the first time */
    size_t used = address_space();
    struct rlimit tight = {used + words + words / 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    int error = weir_table_init(t, shards * WEIR_SHARD_KEYS, 8, STALE_MAX);
    size_t after = address_space();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(error, -ENOMEM);
    assert_true(after < used + words / 2); /* the words were given back */
    free(t);
}
#endif

static struct weir_line *line_with(const struct weir_array *a, unsigned tags)
{
    struct weir_line *line = weir_array_lines(a);
    for (uint64_t i = 0; i < weir_order_lines(a->order); i++, line++) {
        if (weir_line_match(line, WEIR_TAG_EMPTY) == (15U << tags & 15U))
            return line;
    }
    fail();
    return NULL;
}

/* The walker finds what would break S3: a tag twice, a gap before a tag, a tag where no search for
   it ends, a wrong count. */
static void the_walker_finds_wrong_tags_and_counts(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(300);
    assert_true(weir_table_is_valid(t));
    for (uint64_t i = 0; i < 200; i++)
        put_key(t, tag_of(i << 40), 1000);
    struct weir_array *root = settle(t, 0);
    assert_true(weir_table_is_valid(t));
    weir_add_relaxed(&root->fresh, 1);
    assert_false(weir_table_is_valid(t));
    weir_add_relaxed(&root->fresh, (uint64_t)-1);

    struct weir_line *line = line_with(root, 2);
    uint64_t tag = weir_load_relaxed(&line->tag[0]);
    uint64_t other = weir_load_relaxed(&line->tag[1]);
    weir_store_relaxed(&line->tag[1], tag); /* twice, and the other is gone */
    assert_false(weir_table_is_valid(t));
    weir_store_relaxed(&line->tag[1], other);
    assert_true(weir_table_is_valid(t));
    weir_store_relaxed(&line->tag[2], other); /* behind a gap */
    weir_store_relaxed(&line->tag[1], WEIR_TAG_EMPTY);
    assert_false(weir_table_is_valid(t));
    weir_store_relaxed(&line->tag[1], WEIR_TAG_SEALED);
    assert_false(weir_table_is_valid(t));
    weir_store_relaxed(&line->tag[2], WEIR_TAG_EMPTY);
    uint64_t home = (uint64_t)(line - weir_array_block(root)) * 256 / block_of(root->order);
    weir_store_relaxed(&line->tag[1], tag_at((unsigned)(home + 128) % 256, 7)); /* far from it */
    assert_false(weir_table_is_valid(t));
    weir_store_relaxed(&line->tag[1], other);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* And it finds wrong credits, and a key that is live in an array and in the next. */
static void the_walker_finds_wrong_credits_and_twins(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(300);
    for (uint64_t i = 0; i < 100; i++)
        put_key(t, tag_of(i << 40), 1000);
    struct weir_array *root = settle(t, 0);
    weir_add_relaxed(&t->unspent, 1);
    assert_false(weir_table_is_valid(t));
    weir_add_relaxed(&t->shares[0].credits, (uint64_t)-1);
    assert_true(weir_table_is_valid(t));

    struct weir_array *to = begin_move(t, root->order, 0);
    struct weir_effort e = helper_of(t, 0, 0);
    weir_move_key(&e.move, tag_of((uint64_t)7 << 40));
    assert_true(weir_table_is_valid(t));
    struct weir_atomic_u64 *old = word_in(root, tag_of((uint64_t)7 << 40));
    assert_int_equal(weir_load_relaxed(old), 1000 | WEIR_MOVE_FROZEN);
    weir_store_relaxed(old, 1000); /* live in both */
    assert_false(weir_table_is_valid(t));
    weir_store_relaxed(old, 1000 | WEIR_MOVE_FROZEN);
    weir_store_relaxed(word_in(to, tag_of((uint64_t)7 << 40)), 0); /* not live in any */
    assert_true(weir_table_is_valid(t));
    weir_store_relaxed(old, 1000); /* live in one */
    assert_true(weir_table_is_valid(t));
    weir_store_relaxed(old, 1000 | WEIR_MOVE_FROZEN);
    weir_add_relaxed(&to->moved, 1);
    assert_false(weir_table_is_valid(t));
    weir_add_relaxed(&to->moved, (uint64_t)-1);
    assert_true(weir_table_is_valid(t));
    settle(t, 0);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_is_never_one_of_those_that_are_no_keys),
        cmocka_unit_test(a_line_matches_whole_tags),
        cmocka_unit_test(sizes),
        cmocka_unit_test(load_limits_are_staggered),
        cmocka_unit_test(arrays_are_aligned_and_empty),
        cmocka_unit_test(k28_each_tag_keeps_its_slot),
        cmocka_unit_test(k28_claims_that_meet),
        cmocka_unit_test(k25_all_homes_equal),
        cmocka_unit_test(k25_moved_entries_beyond_64_lines),
        cmocka_unit_test(walk_visits_each_slot_once),
        cmocka_unit_test(keys_are_counted_beside_a_move),
        cmocka_unit_test(k28_a_search_ends_in_an_array_without_a_gap),
        cmocka_unit_test(an_own_mapping_ends_with_the_table),
#if !defined(__SANITIZE_ADDRESS__) && !defined(WEIR_RCU_OUTSIDE)
        cmocka_unit_test(k28_a_table_without_memory),
#endif
        cmocka_unit_test(the_walker_finds_wrong_tags_and_counts),
        cmocka_unit_test(the_walker_finds_wrong_credits_and_twins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
