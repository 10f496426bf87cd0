/* SPDX-License-Identifier: MIT */
/*
 * The table: tags, claims, probing around the end of a shard, fullness, the walk.
 */
#include "../support.h"

/* A table by itself. */
static struct weir_table make_table(uint64_t max_keys, unsigned id_bits)
{
    struct weir_table t;
    memset(&t, 0, sizeof t);
    assert_int_equal(weir_table_init(&t, max_keys, id_bits), 0);
    return t;
}

static struct weir_atomic_u64 *claim(struct weir_table *t, uint64_t high, uint64_t low,
                                     unsigned limit)
{
    struct weir_probe p = weir_table_probe(t, high, low, limit);
    return weir_table_claim(t, &p);
}

static struct weir_atomic_u64 *find(struct weir_table *t, uint64_t high, uint64_t low,
                                    unsigned limit)
{
    struct weir_probe p = weir_table_probe(t, high, low, limit);
    return weir_table_find(&p);
}

static void a_tag_is_never_empty_nor_sealed(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits <= 16; bits++) {
        for (unsigned limit = 0; limit < 1U << bits; limit += bits > 8 ? 97 : 1) {
            uint64_t tag = weir_tag(0, limit, bits);
            assert_true(tag > 1);
            assert_int_equal(weir_tag_limit(tag, bits), limit);
            assert_int_equal(weir_tag_limit(weir_tag(UINT64_MAX, limit, bits), bits), limit);
        }
    }
}

static void sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t max_keys;
        unsigned shards_log2, lines_log2;
    } sizes[] = {
        {1, 0, 0},    {2, 0, 0},        {3, 0, 1},         {1024, 0, 9},
        {1025, 1, 9}, {1048576, 10, 9}, {10000000, 14, 9},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct weir_table t = make_table(sizes[i].max_keys, 8);
        assert_int_equal(t.shards_log2, sizes[i].shards_log2);
        assert_int_equal(t.lines_log2, sizes[i].lines_log2);
        assert_int_equal((uintptr_t)t.lines % 64, 0);
        /* load at most 1/2 */
        assert_true(2 * sizes[i].max_keys <= t.bytes / 16);
        weir_table_free(&t);
    }
}

static void k28_each_key_keeps_its_slot(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    struct weir_table t = make_table(KEYS, 8);
    struct weir_atomic_u64 *slots[KEYS];
    struct test_random random = random_start("slots", 4);
    struct test_random again = random;
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t high = random_u64(&random);
        slots[i] = claim(&t, high, random_u64(&random), i % 256);
        assert_non_null(slots[i]);
        weir_store_relaxed(slots[i], i + 1);
    }
    assert_int_equal(weir_load_relaxed(&t.claimed), KEYS);
    random = again;
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t high = random_u64(&random);
        uint64_t low = random_u64(&random);
        assert_ptr_equal(find(&t, high, low, i % 256), slots[i]);
        assert_ptr_equal(claim(&t, high, low, i % 256), slots[i]);
        assert_int_equal(weir_load_relaxed(slots[i]), i + 1);
        /* the same key under another limit is another entry */
        assert_ptr_not_equal(find(&t, high, low, (i + 1) % 256), slots[i]);
    }
    assert_int_equal(weir_load_relaxed(&t.claimed), KEYS);
    weir_table_free(&t);
}

/* K25: with all home lines equal everything is found, probing is bounded, and the rest is refused.
 */
static void k25_all_homes_equal(void **state)
{
    (void)state;
    struct weir_table t = make_table(1024, 8);
    uint64_t lows[1024];
    unsigned found = 0;
    for (uint64_t low = 1; found < 300; low++) {
        struct weir_probe p = weir_table_probe(&t, 0, low << 8, 7);
        /* the last line: probing has to go around the shard's end */
        if (p.home == p.mask)
            lows[found++] = low << 8;
    }
    struct weir_atomic_u64 *slots[300];
    for (unsigned i = 0; i < 256; i++) {
        slots[i] = claim(&t, 0, lows[i], 7);
        assert_non_null(slots[i]);
    }
    assert_int_equal(weir_load_relaxed(&t.longest_probe), WEIR_PROBE_LINES);
    for (unsigned i = 256; i < 300; i++) {
        struct weir_probe p = weir_table_probe(&t, 0, lows[i], 7);
        assert_null(weir_table_claim(&t, &p));
        assert_null(weir_table_find(&p));
        bool place_left = true;
        assert_null(weir_table_settle(&t, &p, true, &place_left));
        assert_false(place_left);
    }
    for (unsigned i = 0; i < 256; i++)
        assert_ptr_equal(find(&t, 0, lows[i], 7), slots[i]);
    weir_table_free(&t);
}

static void m1_not_more_than_max_keys(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 100, 2000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct weir_table t = make_table(sizes[i], 1);
        struct test_random random = {i};
        uint64_t placed = 0;
        for (uint64_t k = 0; k < 4 * sizes[i] + 4; k++) {
            uint64_t high = random_u64(&random);
            if (claim(&t, high, random_u64(&random), 0) != NULL)
                placed++;
        }
        assert_int_equal(placed, sizes[i]);
        assert_int_equal(weir_load_relaxed(&t.claimed), sizes[i]);
        weir_table_free(&t);
    }
}

struct tally {
    uint64_t tags, words;
};

static void add_up(void *context, uint64_t tag, struct weir_atomic_u64 *word)
{
    struct tally *tally = context;
    tally->tags ^= tag;
    tally->words += weir_load_relaxed(word);
}

/* S1: who was told that there is no place never gets one, though others' slots are empty still. */
static void s1_k26_no_place_is_for_ever(void **state)
{
    (void)state;
    struct weir_table t = make_table(100, 8);
    struct test_random random = random_start("no place", 9);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t high = random_u64(&random);
        assert_non_null(claim(&t, high, random_u64(&random), 0));
    }
    for (unsigned i = 0; i < 300; i++) {
        uint64_t high = random_u64(&random);
        uint64_t low = random_u64(&random);
        struct weir_probe p = weir_table_probe(&t, high, low, 0);
        bool place_left = true;
        if (i % 3 == 0) { /* a mere question leaves the table as it is */
            assert_null(weir_table_settle(&t, &p, true, &place_left));
        } else if (i % 3 == 1) {
            assert_null(weir_table_settle(&t, &p, false, &place_left));
        } else {
            assert_null(weir_table_claim(&t, &p));
            place_left = false;
        }
        assert_false(place_left);
        /* as if a claim under way had seen room: the count no longer stands in its way */
        weir_store_relaxed(&t.claimed, 99);
        if (i == 0)
            assert_non_null(weir_table_claim(&t, &p));
        if (i % 3 != 0)
            assert_null(weir_table_claim(&t, &p));
        weir_store_relaxed(&t.claimed, 100);
    }
    weir_table_free(&t);
}

/* The walker finds what would break S3: a tag twice, a gap before a tag, a wrong count. */
static void the_walker_finds_what_is_wrong(void **state)
{
    (void)state;
    struct weir_table t = make_table(2000, 8);
    assert_true(weir_table_is_valid(&t));
    struct test_random random = random_start("walker", 8);
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t high = random_u64(&random);
        assert_non_null(claim(&t, high, random_u64(&random), 0));
    }
    assert_true(weir_table_is_valid(&t));
    weir_store_relaxed(&t.claimed, 1999);
    assert_false(weir_table_is_valid(&t));
    weir_store_relaxed(&t.claimed, 2000);

    struct weir_line *line = t.lines;
    while (weir_load_relaxed(&line->tag[0]) == 0 || weir_load_relaxed(&line->tag[1]) != 0)
        line++;
    uint64_t tag = weir_load_relaxed(&line->tag[0]);
    weir_store_relaxed(&line->tag[1], tag); /* twice */
    weir_store_relaxed(&t.claimed, 2001);
    assert_false(weir_table_is_valid(&t));
    weir_store_relaxed(&t.claimed, 2000);
    weir_store_relaxed(&line->tag[0], 0); /* once, behind a gap */
    assert_false(weir_table_is_valid(&t));
    weir_store_relaxed(&line->tag[0], tag);
    weir_store_relaxed(&line->tag[1], 0);
    assert_true(weir_table_is_valid(&t));
    weir_table_free(&t);
}

static void walk_visits_each_slot_once(void **state)
{
    (void)state;
    struct weir_table t = make_table(3000, 8);
    struct tally expected = {0, 0};
    struct test_random random = random_start("walk", 5);
    for (uint64_t i = 1; i <= 3000; i++) {
        uint64_t high = random_u64(&random);
        uint64_t low = random_u64(&random);
        weir_store_relaxed(claim(&t, high, low, 3), i);
        expected.tags ^= weir_tag(low, 3, 8);
        expected.words += i;
    }
    struct tally seen = {0, 0};
    weir_table_walk(&t, add_up, &seen);
    assert_int_equal(seen.tags, expected.tags);
    assert_int_equal(seen.words, expected.words);
    weir_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_is_never_empty_nor_sealed),
        cmocka_unit_test(sizes),
        cmocka_unit_test(k28_each_key_keeps_its_slot),
        cmocka_unit_test(k25_all_homes_equal),
        cmocka_unit_test(m1_not_more_than_max_keys),
        cmocka_unit_test(s1_k26_no_place_is_for_ever),
        cmocka_unit_test(the_walker_finds_what_is_wrong),
        cmocka_unit_test(walk_visits_each_slot_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
