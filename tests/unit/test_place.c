/* SPDX-License-Identifier: MIT */
/*
 * The place of a key: from a hash to a word, the bound and its credits, keys that get no place.
 */
#include "table_alone.h"

/* ---- from a hash to a word ---- */

/* The quick search, as a decision begins with it. */
static struct weir_atomic_u64 *find(const struct weir_table *t, const struct weir_probe *p)
{
    uint64_t packed = weir_table_word(t, p->shard);
    return weir_packed_find(packed, weir_packed_home(packed, p->tag), p->tag);
}

/* The closer one. */
static struct weir_place place_of(struct weir_table *t, const struct weir_probe *p,
                                  enum weir_look look)
{
    struct weir_effort e = effort_of(t, p->tag, 0);
    e.share = &t->shares[p->shard];
    e.shard = p->shard;
    return weir_place_find(&e, look);
}

/* Both find the same; the quick search may leave it to the other: where the shard is moving, or the
   key's lines go around the end of the array. */
static void a_probe_leads_to_the_word(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    struct weir_table *t = alone_open(2 * KEYS);
    struct test_random random = random_start("probe", 4);
    struct test_random again = random;
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t high = random_u64(&random);
        struct weir_probe p = weir_table_probe(t, high, random_u64(&random), i % 256);
        assert_int_equal(weir_tag_limit(p.tag, 8), i % 256);
        weir_store_relaxed(place_of(t, &p, WEIR_CLAIM).word, i + 1);
    }
    random = again;
    unsigned quickly = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t high = random_u64(&random);
        uint64_t low = random_u64(&random);
        struct weir_probe p = weir_table_probe(t, high, low, i % 256);
        struct weir_atomic_u64 *word = place_of(t, &p, WEIR_LOOK).word;
        assert_int_equal(weir_load_relaxed(word), i + 1);
        struct weir_atomic_u64 *found = find(t, &p);
        assert_true(found == NULL || found == word);
        quickly += found != NULL;
        /* the same key under another limit is another entry, and so is another key */
        p = weir_table_probe(t, high, low, (i + 1) % 256);
        assert_null(find(t, &p));
        assert_null(place_of(t, &p, WEIR_LOOK).word);
        p = weir_table_probe(t, high, ~low, i % 256);
        assert_null(find(t, &p));
        uint64_t shard = p.shard;
        p = weir_table_probe(t, ~high, low, i % 256);
        assert_true(find(t, &p) == NULL || p.shard == shard);
    }
    assert_true(quickly > KEYS * 9 / 10);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* What is no array, moves, or ends in an empty or sealed slot needs a closer look. */
static void a_quick_search_finds_only_what_is_settled(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(1000);
    struct weir_probe p = weir_table_probe(t, 0, 77 << 8, 0);
    assert_null(find(t, &p));
    put_key(t, p.tag, 1000);
    assert_ptr_equal(find(t, &p), word_in(root_of(t), p.tag));
    begin_move(t, WEIR_ORDER_MIN, 0);
    assert_null(find(t, &p));
    settle(t, 0);
    assert_ptr_equal(find(t, &p), word_in(root_of(t), p.tag));
    /* behind a seal there is nothing */
    struct weir_search s;
    p.tag = tag_at(150, 1);
    assert_int_equal(weir_array_search(root_of(t), p.tag, &s), WEIR_EMPTY);
    weir_store_relaxed(&s.line->tag[s.slot], WEIR_TAG_SEALED);
    weir_store_relaxed(&s.line[1].tag[0], p.tag); /* which nobody does */
    assert_null(find(t, &p));
    assert_int_equal(weir_array_search(root_of(t), p.tag, &s), WEIR_SEALED);
    alone_close(t);
}

/* Keys of one home, more than find a place. Returns how many did. */
static uint64_t fill_one_home(struct weir_table *t, uint64_t keys)
{
    static bool has_place[4096];
    uint64_t placed = 0;
    memset(has_place, 0, sizeof has_place);
    for (uint64_t i = 0; i < keys; i++) {
        struct weir_effort e = effort_of(t, tag_at(255, i), 0);
        struct weir_place p = weir_place_find(&e, WEIR_CLAIM);
        assert_int_equal(p.refused, p.word == NULL);
        assert_true(e.move.lines <= 8 * 1024);
        if (p.word == NULL)
            continue;
        weir_store_relaxed(p.word, 1000);
        has_place[i] = true;
        placed++;
    }
    for (uint64_t i = 0; i < keys; i++) /* whoever has one keeps it */
        assert_int_equal(place(t, tag_at(255, i), 0, WEIR_LOOK).word != NULL, has_place[i]);
    return placed;
}

/* K25: keys of one home fill their 64 lines; those after them are refused, in bounded work, and the
   shard does not grow for them again and again. */
static void k25_chosen_keys_do_not_grow_a_shard_for_ever(void **state)
{
    (void)state;
    enum { PLACES = (WEIR_PROBE_LINES - WEIR_HEADER_LINES) * WEIR_LINE_SLOTS };
    struct weir_table *t = alone_open(WEIR_SHARD_KEYS);
    /* some are moved beyond 64 lines, because others came before them meanwhile */
    uint64_t placed = fill_one_home(t, 2000);
    assert_true(placed >= PLACES && placed <= PLACES + 64);
    assert_true(weir_load_relaxed(&t->counts.growths) <= WEIR_ORDER_MAX - WEIR_ORDER_MIN);
    assert_int_equal(weir_load_relaxed(&t->counts.compactions), 0);
    assert_int_equal(weir_load_relaxed(&t->counts.longest_probe), WEIR_PROBE_LINES);
    struct weir_array *root = settle(t, 0); /* no larger than when it was a quarter full */
    assert_true(weir_array_count(root) * 4 >= weir_order_slots(root->order - 1U));
    assert_true(root->order < WEIR_ORDER_MAX);
    /* others, further away than 64 lines, have their places as always */
    for (uint64_t i = 0; i < 500; i++)
        assert_non_null(place(t, tag_at(100 + (unsigned)i % 90, 3000 + i), 0, WEIR_CLAIM).word);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* K25: and those near by have theirs too: what lies behind the chosen keys is not sealed. */
static void k25_refused_chosen_keys_lock_nobody_out(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(WEIR_SHARD_KEYS);
    fill_one_home(t, 2000);
    for (unsigned at = 3; at < 103; at++) {           /* a few full lines of theirs, not 64 */
        weir_store_relaxed(&settle(t, 0)->reach, 80); /* as if a move had had to go so far */
        struct weir_place chosen = place(t, tag_at(255, 5000 + at), 0, WEIR_CLAIM);
        if (chosen.word != NULL) /* in an array that is replaced just then */
            weir_store_relaxed(chosen.word, 1000);
        assert_int_equal(sealed_slots(settle(t, 0)), 0);
        struct weir_place p = place(t, tag_at(at, 3000), 0, WEIR_CLAIM);
        assert_non_null(p.word);
        weir_store_relaxed(p.word, 1000);
    }
    alone_close(t);
}

/* ---- the bound ---- */

static uint64_t claim_in_any_shard(struct weir_table *t, uint64_t tries, uint64_t seed)
{
    struct test_random random = {seed};
    uint64_t placed = 0;
    for (uint64_t i = 0; i < tries; i++) {
        uint64_t high = random_u64(&random);
        struct weir_probe p = weir_table_probe(t, high, random_u64(&random), 0);
        struct weir_place found = place_of(t, &p, WEIR_CLAIM);
        assert_int_equal(found.refused, found.word == NULL);
        if (found.word == NULL)
            continue;
        weir_store_relaxed(found.word, 1);
        placed++;
    }
    return placed;
}

static void m1_not_more_than_max_keys(void **state)
{
    (void)state;
    static const struct {
        uint64_t max_keys;
        bool exact;
    } sizes[] = {{1, true},   {2, true},    {3, true},     {4, true},     {5, true},
                 {100, true}, {1000, true}, {2000, false}, {5000, false}, {100000, false}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t max = sizes[i].max_keys;
        uint64_t error;
        struct weir_table *t = alone_open(max);
        uint64_t placed = claim_in_any_shard(t, sizes[i].exact ? 4 * max + 4 : 2 * max, i);
        assert_true(placed <= max && placed >= max - max / 64);
        if (sizes[i].exact)
            assert_int_equal(placed, max);
        assert_int_equal(weir_table_keys(t, &error), placed);
        assert_int_equal(error, 0);
        assert_true(weir_table_is_valid(t));
        /* 16 bytes a slot, and arrays are at least 0.41 full */
        assert_true(max < 1000 || weir_load_relaxed(&t->bytes) * 41 <= max * 16 * 100);
        alone_close(t);
    }
}

static void deal_too(void *context)
{
    struct weir_table *t = context;
    assert_true(weir_credit_ready(t, &t->shares[0]));
}

/* There is no moment in which a block is neither with the shard nor unspent. */
static void m1_credits_on_their_way_are_seen(void **state)
{
    (void)state;
    uint64_t n = 1;
    bool stopped = true;
    for (; stopped; n++) {
        struct weir_table *t = alone_open(128); /* blocks of 2 */
        weir_store_relaxed(&t->unspent, 1);
        weir_store_relaxed(&t->shares[0].credits, 127 - 127);
        stop_at(n, deal_too, t);
        assert_true(weir_credit_ready(t, &t->shares[0]));
        stopped = was_stopped();
        /* the rest of a block, once */
        assert_int_equal(weir_load_relaxed(&t->shares[0].credits), 1);
        assert_int_equal(weir_load_relaxed(&t->unspent), 0);
        alone_close(t);
    }
    assert_true(n > 4);
}

/* Nor for who only asks, whenever he looks. */
static void m1_a_question_sees_credits_on_their_way(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 3; n++) {
        struct weir_table *t = alone_open(128);
        weir_store_relaxed(&t->unspent, 1);
        stop_at(n, deal_too, t);
        assert_true(weir_credit_is_there(t, &t->shares[0]));
        assert_int_equal(was_stopped(), n < 3);
        alone_close(t);
    }
}

static void m1_credits_are_dealt_paid_and_given_back(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(WEIR_SHARD_KEYS);
    struct weir_share *share = &t->shares[0];
    uint64_t block = (uint64_t)1 << t->block_log2;
    uint64_t rest = t->max_keys - block;
    assert_true(block >= 8);
    assert_true(weir_credit_is_there(t, share));
    assert_false(weir_credit_is_left(share));
    assert_true(weir_credit_ready(t, share));
    assert_int_equal(weir_load_relaxed(&share->credits), block);
    assert_int_equal(weir_load_relaxed(&t->unspent), rest);
    assert_true(weir_credit_ready(t, share)); /* of those that it has */
    assert_int_equal(weir_load_relaxed(&share->credits), block);
    weir_credit_pay(share, block + 1);
    assert_false(weir_credit_is_left(share)); /* below 0 */
    weir_credit_return(t, share, block);
    assert_int_equal(weir_load_relaxed(&share->credits), block - 1);
    assert_int_equal(weir_load_relaxed(&t->unspent), rest);
    weir_credit_return(t, share, block + 2); /* two blocks and one */
    assert_int_equal(weir_load_relaxed(&share->credits), 1);
    assert_int_equal(weir_load_relaxed(&t->unspent), rest + 2 * block);
    weir_credit_pay(share, 1);
    while (weir_load_relaxed(&t->unspent) != 0) {
        assert_true(weir_credit_ready(t, share));
        weir_credit_pay(share, weir_load_relaxed(&share->credits));
    }
    assert_false(weir_credit_is_there(t, share));
    assert_false(weir_credit_ready(t, share));
    assert_int_equal(weir_load_relaxed(&share->credits), 0);
    alone_close(t);
}

/* M1: a shard that was dealt too much, because keys that were counted out came back, has to make
   up for it before it may take more. */
static void m1_a_shard_below_zero_takes_no_new_key(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(100);
    weir_store_relaxed(&t->shares[0].credits, (uint64_t)-10);
    weir_store_relaxed(&t->unspent, 10);
    assert_false(weir_credit_ready(t, &t->shares[0]));
    weir_add_relaxed(&t->unspent, 1);
    assert_true(weir_credit_ready(t, &t->shares[0]));
    alone_close(t);
}

struct taker {
    struct weir_table *t;
    bool ready;
    uint64_t taken;
};

/* Takes as many new keys as there are credits for. */
static void take_credits(void *context)
{
    struct taker *taker = context;
    struct weir_share *share = &taker->t->shares[0];
    taker->ready = weir_credit_ready(taker->t, share);
    while (weir_credit_ready(taker->t, share)) {
        weir_credit_pay(share, 1);
        taker->taken++;
    }
}

/* M1: nor is there a moment when credits that go back are neither with the shard nor unspent; and
   one who takes them just then takes them once, but for a block. */
static void m1_credits_on_their_way_back(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(WEIR_SHARD_KEYS);
    uint64_t block = (uint64_t)1 << t->block_log2;
    bool stopped = true;
    for (uint64_t n = 2; stopped; n++) { /* from when the shard has them */
        struct taker other = {t, true, 0};
        weir_store_relaxed(&t->unspent, 0);
        weir_store_relaxed(&t->shares[0].credits, 0);
        stop_at(n, take_credits, &other);
        weir_credit_return(t, &t->shares[0], 3 * block);
        stopped = was_stopped();
        assert_true(other.ready);
        assert_true(!stopped || (other.taken >= 3 * block && other.taken <= 4 * block));
        assert_int_equal(weir_load_relaxed(&t->unspent) + weir_load_relaxed(&t->shares[0].credits) +
                             other.taken,
                         3 * block);
    }
    alone_close(t);
}

/* More than 16 MiB, and more than what is in use. */
static void m1_when_retirement_is_behind(void **state)
{
    (void)state;
    static const struct {
        uint64_t retired, bytes;
        bool behind;
    } cases[] = {
        {0, 0, false},
        {(16 << 20), 0, false},
        {(16 << 20) + 1, 0, true},
        {(16 << 20) + 1, 16 << 20, true},
        {(16 << 20) + 1, (16 << 20) + 1, false},
        {(uint64_t)1 << 40, (uint64_t)1 << 40, false},
        {((uint64_t)1 << 40) + 1, (uint64_t)1 << 40, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_table *t = alone_open(100);
        weir_store_relaxed(&t->retired_bytes, cases[i].retired);
        weir_store_relaxed(&t->bytes, cases[i].bytes);
        assert_int_equal(weir_retire_is_behind(t), cases[i].behind);
        weir_store_relaxed(&t->retired_bytes, 0);
        alone_close(t);
    }
}

/* ---- keys that are refused ---- */

/* A full table of 100 keys, all in debt until 1000. */
static struct weir_table *open_full(void)
{
    struct weir_table *t = alone_open(100);
    for (uint64_t i = 0; i < 100; i++)
        put_key(t, tag_of(i << 32), 1000);
    assert_null(place(t, tag_of(12345), 0, WEIR_LOOK).word);
    settle(t, 0);
    return t;
}

/* S1: who was told that there is no place gets none in this array, though slots are empty still. */
static void s1_k26_a_refused_key_is_sealed_out(void **state)
{
    (void)state;
    struct weir_table *t = open_full();
    struct weir_array *root = root_of(t);
    for (uint64_t i = 0; i < 60; i++) {
        uint64_t tag = tag_of(1000 + i);
        enum weir_look look = i % 3 == 0 ? WEIR_LOOK : i % 3 == 1 ? WEIR_SETTLE : WEIR_CLAIM;
        unsigned before = sealed_slots(root);
        struct weir_search s;
        enum weir_found found = weir_array_search(root, tag, &s);
        struct weir_place p = place(t, tag, 999, look);
        assert_null(p.word);
        assert_true(p.refused);
        /* a mere question leaves the table as it is */
        bool seals = look != WEIR_LOOK && found == WEIR_EMPTY;
        assert_int_equal(sealed_slots(root), before + seals);
        if (look != WEIR_LOOK)
            assert_int_equal(weir_array_search(root, tag, &s), WEIR_SEALED);
        assert_ptr_equal(root_of(t), root);
    }
    assert_true(sealed_slots(root) > 0);
    /* a credit comes back: a question is answered that there is room, and a key that was refused
       gets its place in another array only */
    weir_store_relaxed(&t->unspent, 1);
    struct weir_place p = place(t, tag_of(1002), 999, WEIR_LOOK);
    assert_true(p.word == NULL && !p.refused);
    p = place(t, tag_of(1002), 999, WEIR_CLAIM);
    assert_non_null(p.word);
    assert_ptr_not_equal(p.array, root);
    assert_null(word_in(root, tag_of(1002)));
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(weir_load_relaxed(place(t, tag_of(i << 32), 0, WEIR_LOOK).word), 1000);
    weir_store_relaxed(&t->unspent, 1); /* what was given too much */
    weir_add_relaxed(&t->shares[0].credits, (uint64_t)-1);
    weir_add_relaxed(&t->shares[0].credits, (uint64_t)-1);
    alone_close(t);
}

struct asker {
    struct weir_table *t;
    uint64_t tag;
};

static void be_refused_too(void *context)
{
    struct asker *a = context;
    struct weir_place p = place(a->t, a->tag, 999, WEIR_CLAIM);
    assert_true(p.word == NULL && p.refused);
}

/* S1: two that are refused at once seal one slot, whoever stops where. */
static void s1_k26_two_are_refused_at_once(void **state)
{
    (void)state;
    struct weir_table *t = open_full();
    uint64_t n = 1;
    for (bool stopped = true; stopped; n++) {
        struct weir_array *root = root_of(t);
        struct asker second = {t, tag_of((1000 + n) << 32)};
        struct weir_search s;
        enum weir_found found = weir_array_search(root, second.tag, &s);
        unsigned before = sealed_slots(root);
        stop_at(n, be_refused_too, &second);
        be_refused_too(&second);
        stopped = was_stopped();
        assert_int_equal(sealed_slots(root), before + (found == WEIR_EMPTY));
        assert_int_equal(weir_array_search(root, second.tag, &s), WEIR_SEALED);
        assert_ptr_equal(root_of(t), root);
    }
    assert_true(n > 10);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* S1: beside a move nobody is refused: the move is ended first, so that there is a root in which
   the key is sealed out. Here by a call that may make room no more. */
static void s1_k26_a_key_refused_beside_a_move(void **state)
{
    (void)state;
    struct weir_table *t = open_full();
    struct weir_search s;
    uint64_t tag = tag_of(1000);
    begin_move(t, root_of(t)->order, 0);
    struct weir_effort e = effort_of(t, tag, 0);
    e.helped = true;
    e.rounds = WEIR_ROUNDS_MAX;
    struct weir_place p = weir_place_find(&e, WEIR_CLAIM);
    assert_true(p.word == NULL && p.refused);
    assert_false(is_moving(t));
    assert_int_equal(weir_array_search(root_of(t), tag, &s), WEIR_SEALED);
    assert_int_equal(sealed_slots(root_of(t)), 1);
    alone_close(t);
}

/* K26: when enough is idle, a key that was refused gets a place, and nobody in debt loses his. */
static void k26_a_refused_key_gets_a_place_when_there_is_room(void **state)
{
    (void)state;
    static const unsigned idle[] = {0, 3, 10, 50, 100};
    for (size_t c = 0; c < sizeof idle / sizeof idle[0]; c++) {
        struct weir_table *t = open_full();
        uint64_t growths = weir_load_relaxed(&t->counts.growths);
        for (uint64_t i = 0; i < idle[c]; i++)
            put_key(t, tag_of(i << 32), 500);
        for (uint64_t i = 0; i < 200; i++)
            assert_true(place(t, tag_of(1000 + i), 499, WEIR_CLAIM).refused);
        uint64_t placed = 0;
        for (uint64_t i = 0; i < 200; i++) {
            struct weir_place p = place(t, tag_of(1000 + i), 500, WEIR_CLAIM);
            if (p.word != NULL) {
                weir_store_relaxed(p.word, 2000);
                placed++;
            }
        }
        /* at least 1/16 has to be idle, by a sample of 16 lines */
        assert_true(placed == idle[c] || (placed == 0 && idle[c] < 10));
        assert_int_equal(weir_load_relaxed(&t->counts.dropped), placed);
        assert_int_equal(weir_load_relaxed(&t->counts.growths), growths);
        for (uint64_t i = idle[c]; i < 100; i++)
            assert_int_equal(weir_load_relaxed(place(t, tag_of(i << 32), 0, WEIR_LOOK).word), 1000);
        assert_true(weir_table_is_valid(t));
        alone_close(t);
    }
}

/* K28: without memory a key that was refused stays so; it gets its place with memory again. */
static void k28_a_refused_key_without_memory(void **state)
{
    (void)state;
    struct weir_table *t = open_full();
    struct weir_array *root = root_of(t);
    uint64_t tag = tag_of(1000);
    assert_true(place(t, tag, 0, WEIR_CLAIM).refused);
    weir_store_relaxed(&t->unspent, 1); /* a credit, but a seal in the way */
    weir_store_relaxed(&t->arena.allowance, 0);
    struct weir_place p = place(t, tag, 0, WEIR_CLAIM);
    assert_true(p.word == NULL && p.refused);
    assert_int_equal(weir_load_relaxed(&t->counts.failures), 1);
    assert_ptr_equal(root_of(t), root);
    assert_false(is_moving(t));
    weir_store_relaxed(&t->arena.allowance, UINT64_MAX);
    weir_store_relaxed(&t->shares[0].wait, 0);
    /* nor by a call that may make room no more */
    struct weir_effort e = effort_of(t, tag, 0);
    e.rounds = WEIR_ROUNDS_MAX;
    p = weir_place_find(&e, WEIR_CLAIM);
    assert_true(p.word == NULL && p.refused);
    assert_ptr_equal(root_of(t), root);
    p = place(t, tag, 0, WEIR_CLAIM);
    assert_non_null(p.word);
    assert_ptr_not_equal(p.array, root);
    t->max_keys++; /* that credit */
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* K26, K28: what is idle cannot be left behind without memory, and nobody loses a place. */
static void k26_k28_a_full_table_without_memory(void **state)
{
    (void)state;
    struct weir_table *t = open_full();
    struct weir_array *root = root_of(t);
    for (uint64_t i = 50; i < 100; i++) /* the sample is of these */
        put_key(t, tag_of(i << 32), 500);
    weir_store_relaxed(&t->arena.allowance, 0);
    struct weir_place p = place(t, tag_of(1000), 500, WEIR_CLAIM);
    assert_true(p.word == NULL && p.refused);
    assert_int_equal(weir_load_relaxed(&t->counts.failures), 1);
    assert_int_equal(weir_load_relaxed(&t->counts.dropped), 0);
    assert_ptr_equal(root_of(t), root);
    assert_false(is_moving(t));
    assert_true(weir_table_is_valid(t));
    weir_store_relaxed(&t->arena.allowance, UINT64_MAX);
    weir_store_relaxed(&t->shares[0].wait, 0);
    assert_non_null(place(t, tag_of(1000), 500, WEIR_CLAIM).word);
    settle(t, 500);
    assert_int_equal(weir_load_relaxed(&t->counts.dropped), 50);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* K28: a shard that has no array, and cannot get one. */
static void k28_no_memory_for_the_first_key(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(100);
    weir_store_relaxed(&t->arena.allowance, 0);
    for (unsigned i = 1; i <= 5; i++) { /* tried at every other call */
        struct weir_place p = place(t, tag_of(1), 0, WEIR_CLAIM);
        assert_true(p.word == NULL && p.refused);
        assert_int_equal(weir_load_relaxed(&t->counts.failures), (i + 1) / 2);
        assert_int_equal(weir_load_relaxed(&t->words[0]), 0);
    }
    weir_store_relaxed(&t->arena.allowance, UINT64_MAX);
    assert_true(place(t, tag_of(1), 0, WEIR_CLAIM).refused);
    assert_non_null(place(t, tag_of(1), 0, WEIR_CLAIM).word);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* A question about a new key, and a claim of it, beside an array that holds no more. */
static void assert_no_place_is_left(struct weir_table *t, bool left)
{
    uint64_t tag = tag_of((uint64_t)1 << 50);
    assert_int_equal(place(t, tag, 0, WEIR_LOOK).refused, !left);
    assert_int_equal(place(t, tag, 0, WEIR_SETTLE).refused, !left);
    if (!left)
        assert_true(place(t, tag, 0, WEIR_CLAIM).refused);
}

/* K26: the largest array there is takes no key past its last; a question is told so. */
static void k26_the_largest_array_is_full(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(100 * WEIR_SHARD_KEYS);
    replace(t, WEIR_ORDER_MAX, 0);
    uint64_t full = weir_order_full(WEIR_ORDER_MAX);
    for (uint64_t i = 0; i < full; i++) {
        assert_false(place(t, tag_of(i), 0, WEIR_LOOK).refused);
        put_key(t, tag_of(i), 1000);
    }
    assert_int_equal(root_of(t)->order, WEIR_ORDER_MAX);
    assert_no_place_is_left(t, false);
    assert_int_equal(weir_array_count(root_of(t)), full);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

/* K28: nor does any array while a failed allocation is not tried again yet. */
static void k28_a_full_array_without_memory(void **state)
{
    (void)state;
    struct weir_table *t = alone_open(100);
    weir_store_relaxed(&t->arena.allowance, 1);
    uint64_t full = weir_order_full(WEIR_ORDER_MIN);
    for (uint64_t i = 0; i < full; i++)
        put_key(t, tag_of(i << 32), 1000);
    assert_int_equal(root_of(t)->order, WEIR_ORDER_MIN);
    weir_store_relaxed(&t->shares[0].wait, 9);
    assert_no_place_is_left(t, false);
    weir_store_relaxed(&t->shares[0].wait, 0);
    weir_store_relaxed(&t->arena.allowance, UINT64_MAX);
    assert_int_equal(place(t, tag_of(777), 0, WEIR_LOOK).refused, false);
    assert_true(weir_table_is_valid(t));
    alone_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k25_chosen_keys_do_not_grow_a_shard_for_ever),
        cmocka_unit_test(k25_refused_chosen_keys_lock_nobody_out),
        cmocka_unit_test(a_probe_leads_to_the_word),
        cmocka_unit_test(a_quick_search_finds_only_what_is_settled),
        cmocka_unit_test(m1_not_more_than_max_keys),
        cmocka_unit_test(m1_credits_on_their_way_are_seen),
        cmocka_unit_test(m1_a_question_sees_credits_on_their_way),
        cmocka_unit_test(m1_credits_are_dealt_paid_and_given_back),
        cmocka_unit_test(m1_a_shard_below_zero_takes_no_new_key),
        cmocka_unit_test(m1_credits_on_their_way_back),
        cmocka_unit_test(m1_when_retirement_is_behind),
        cmocka_unit_test(s1_k26_a_refused_key_is_sealed_out),
        cmocka_unit_test(s1_k26_two_are_refused_at_once),
        cmocka_unit_test(s1_k26_a_key_refused_beside_a_move),
        cmocka_unit_test(k26_a_refused_key_gets_a_place_when_there_is_room),
        cmocka_unit_test(k28_a_refused_key_without_memory),
        cmocka_unit_test(k26_k28_a_full_table_without_memory),
        cmocka_unit_test(k28_no_memory_for_the_first_key),
        cmocka_unit_test(k26_the_largest_array_is_full),
        cmocka_unit_test(k28_a_full_array_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
