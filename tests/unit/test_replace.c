/* SPDX-License-Identifier: MIT */
/*
 * When an array is replaced, and by what: starters that stop, the size rule, the horizon, new keys
 * beside a move, and a table without memory. The move itself: test_move.c.
 */
#include "table_alone.h"

#define IN_DEBT ((uint64_t)5000) /* later than every clock here, unless said otherwise */

/* So many keys in debt, in an array of that order or a larger one. */
static struct weir_table *open_keys(unsigned order, uint64_t keys)
{
    struct weir_table *t = alone_open(4096);
    replace(t, order, 0);
    for (uint64_t i = 0; i < keys; i++)
        put_key(t, tag_of(i), IN_DEBT);
    settle(t, 0);
    return t;
}

static void assert_keys(struct weir_table *t, uint64_t keys)
{
    uint64_t error;
    struct weir_array *root = settle(t, 0);
    for (uint64_t i = 0; i < keys; i++) {
        struct weir_atomic_u64 *word = word_in(root, tag_of(i));
        assert_non_null(word);
        assert_int_equal(weir_load_relaxed(word), IN_DEBT);
    }
    assert_int_equal(weir_table_keys(t, &error), keys);
    assert_true(weir_table_is_valid(t));
    assert_int_equal(weir_load_relaxed(&t->arrays), 1);
}

/* ---- starters ---- */

/* P1: one has an array in hand and stops. Who needs it makes a successor of his own, and the first
   one's array is retired when it wakes. */
static void k28_p1_a_starter_stops_before_it_publishes(void **state)
{
    (void)state;
    for (int late = 0; late <= 1; late++) {
        struct weir_table *t = open_keys(order_of(64), 0);
        struct weir_array *root = root_of(t);
        uint64_t keys = weir_shard_limit(t, 0, root->order);
        uint64_t growths = weir_load_relaxed(&t->counts.growths);
        struct weir_effort slow = effort_of(t, 0, 0);
        struct weir_array *to = weir_shard_allocate(&slow, order_of(128));
        for (uint64_t i = 0; i < keys; i++)
            put_key(t, tag_of(i), IN_DEBT);
        assert_null(weir_shard_next(root));
        put_key(t, tag_of(keys), IN_DEBT);
        assert_non_null(weir_shard_next(root));
        assert_ptr_not_equal(weir_shard_next(root), to);
        if (late != 0)
            settle(t, 0);
        weir_shard_replace(&slow, root, to);
        weir_shard_set_moving(&slow, root);
        assert_int_equal(weir_load_relaxed(&t->counts.growths), growths + 1);
        assert_ptr_not_equal(weir_shard_next(root), to);
        assert_int_equal(is_moving(t), late == 0);
        assert_keys(t, keys + 1);
        alone_close(t);
    }
}

/* P1: one has published a successor and stops before the root is closed, or before the shard's word
   says that it moves. Keys that have a place do not notice; who has none goes on. */
static void k28_p1_a_starter_stops_before_the_moving_bit(void **state)
{
    (void)state;
    for (unsigned where = 0; where < 4; where++) {
        struct weir_table *t = open_keys(order_of(64), 100);
        struct weir_array *root = root_of(t);
        bool closed = where % 2 != 0;
        bool late = where >= 2;
        struct weir_effort slow = effort_of(t, 0, 0);
        struct weir_array *to = weir_shard_allocate(&slow, order_of(128));
        weir_shard_replace(&slow, root, to);
        if (closed)
            weir_or_acq_rel(&root->fresh, WEIR_CLOSED);

        for (uint64_t i = 0; i < 100; i++)
            assert_ptr_equal(place(t, tag_of(i), 0, WEIR_CLAIM).array, root);
        assert_false(place(t, tag_of(100), 0, WEIR_LOOK).refused);
        uint64_t arrays = weir_load_relaxed(&t->arrays);
        uint64_t keys = 100;
        for (; !is_moving(t); keys++) /* new ones, too, while it is open */
            put_key(t, tag_of(keys), IN_DEBT);
        assert_int_equal(keys - 1, closed ? 100 : weir_shard_limit(t, 0, root->order));
        assert_int_equal(weir_load_relaxed(&t->arrays), arrays);
        assert_ptr_equal(weir_shard_next(root), to);
        assert_non_null(word_in(to, tag_of(keys - 1)));
        if (late)
            settle(t, 0);
        weir_shard_set_moving(&slow, root);
        assert_ptr_equal(late ? root_of(t) : weir_shard_next(root_of(t)), to);
        assert_int_equal(is_moving(t), !late);
        assert_keys(t, keys);
        alone_close(t);
    }
}

struct starter {
    struct weir_table *t;
    struct weir_array *root;
    unsigned order;
};

static void start_too(void *context)
{
    struct starter *s = context;
    struct weir_effort e = effort_of(s->t, 0, 0);
    assert_true(weir_shard_start(&e, s->root, s->order));
}

/* Two start at once, one of them stopped at any step: there is one successor, counted once, and the
   loser's array is retired. */
static void k28_two_starters_make_one_successor(void **state)
{
    (void)state;
    unsigned losers = 0;
    bool stopped = true;
    for (uint64_t n = 1; stopped; n++) {
        struct weir_table *t = open_keys(order_of(64), 100);
        uint64_t retired = weir_load_relaxed(&t->retirements);
        uint64_t before = weir_load_relaxed(&t->counts.growths);
        struct starter first = {t, root_of(t), order_of(64)};
        struct starter second = {t, root_of(t), order_of(128)};
        stop_at(n, start_too, &second);
        start_too(&first);
        stopped = was_stopped();
        assert_true(is_moving(t));
        assert_int_equal(weir_load_relaxed(&t->arrays), 2);
        losers += weir_load_relaxed(&t->retirements) > retired;
        assert_true(weir_load_relaxed(&t->retirements) <= retired + 1);
        uint64_t growths = weir_load_relaxed(&t->counts.growths) - before;
        assert_int_equal(growths + weir_load_relaxed(&t->counts.compactions), 1);
        assert_int_equal(growths, weir_shard_next(first.root)->order == order_of(128));
        assert_keys(t, 100);
        alone_close(t);
    }
    assert_true(losers > 0);
}

/* ---- sizes ---- */

/* O5: a successor is never smaller than what its predecessor holds, whatever was asked for. */
static void o5_a_successor_has_room_for_all(void **state)
{
    (void)state;
    static const uint64_t keys[] = {0, 1, 20, 21, 22, 49, 50, 51, 52, 100, 1000, 1900, 1911, 1912};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct weir_table *t = open_keys(WEIR_ORDER_MAX, keys[i]);
        struct weir_array *root = root_of(t);
        struct weir_array *to = begin_move(t, WEIR_ORDER_MIN, 0);
        assert_true(weir_order_full(to->order) >= keys[i]);
        if (weir_order_full(WEIR_ORDER_MIN) >= keys[i])
            assert_int_equal(to->order, WEIR_ORDER_MIN);
        assert_int_equal(weir_load_relaxed(&t->arrays), 2);
        assert_int_equal(weir_load_relaxed(&t->counts.shrinks), to->order < WEIR_ORDER_MAX);
        assert_int_equal(weir_load_relaxed(&root->fresh) & WEIR_PAUSED, 0);
        assert_keys(t, keys[i]);
        alone_close(t);
    }
}

/* O5: a late entry in an array that is full to the last makes no successor of more than 64 chunks,
   whose done flags would not fit their word. */
static void o5_no_successor_is_larger_than_the_largest(void **state)
{
    (void)state;
    struct weir_table *t = open_keys(WEIR_ORDER_MAX, 1);
    put_key(t, tag_of(0), 600);
    begin_move(t, WEIR_ORDER_MAX, 500);
    struct weir_effort slow = helper_of(t, 0, 500);
    struct weir_search s;
    assert_int_equal(weir_array_search(slow.move.from, tag_of(0), &s), WEIR_FOUND);
    weir_or_acq_rel(weir_search_word(&s), WEIR_MOVE_FROZEN); /* and it stops */
    struct weir_array *root = settle(t, 700);
    uint64_t full = weir_order_full(WEIR_ORDER_MAX);
    for (uint64_t i = 1; i <= full; i++)
        put_key(t, tag_of(i), IN_DEBT);
    assert_ptr_equal(root_of(t), root);
    weir_move_slot(&slow.move, s.line, s.slot); /* it wakes */
    weir_shard_pay(&slow);
    assert_int_equal(weir_array_count(root), full + 1);
    struct weir_effort e = effort_of(t, 0, 500);
    if (weir_shard_start(&e, root, WEIR_ORDER_MAX))
        assert_true(weir_shard_next(root)->order <= WEIR_ORDER_MAX);
    alone_close(t);
}

/* A small array grows; a larger one is compacted when half of it is idle; at the load limit both.
 */
static void an_array_past_its_load_limit(void **state)
{
    (void)state;
    for (unsigned order = WEIR_ORDER_MIN; order < WEIR_ORDER_MAX; order++) {
        for (unsigned idle = 0; idle <= 1; idle++) {
            struct weir_table *t = open_keys(order, 0);
            uint64_t limit = weir_shard_limit(t, 0, order);
            uint64_t before = weir_load_relaxed(&t->counts.compactions);
            for (uint64_t i = 0; i < limit; i++) {
                put_key(t, tag_of(i), IN_DEBT);
                assert_null(weir_shard_next(root_of(t)));
            }
            for (uint64_t i = 0; i < limit; i++)
                put_key(t, tag_of(i), idle != 0 && i % 8 != 0 ? 600 : IN_DEBT);
            assert_int_equal(root_of(t)->order, order);
            assert_non_null(place(t, tag_of(limit), 700, WEIR_CLAIM).word);
            bool compacts = idle != 0 && order >= WEIR_ORDER_COMPACTED;
            unsigned after = settle(t, 700)->order;
            assert_true(compacts ? after == order : after > order);
            assert_int_equal(weir_load_relaxed(&t->counts.compactions), before + compacts);
            assert_true(weir_table_is_valid(t));
            alone_close(t);
        }
    }
}

/* Beside a move new keys have room up to the last, but for what is still to come; then the one who
   wants more moves the rest. */
static void o5_new_keys_beside_a_move(void **state)
{
    (void)state;
    static const uint64_t keys[] = {0, 50, 200, 340};
    for (size_t c = 0; c < sizeof keys / sizeof keys[0]; c++) {
        struct weir_table *t = open_keys(order_of(128), keys[c]);
        struct weir_array *root = root_of(t);
        struct weir_array *to = begin_move(t, order_of(128), 0);
        uint64_t room = weir_order_full(order_of(128)) - keys[c];
        for (uint64_t i = 0; i < room; i++) {
            struct weir_effort e = effort_of(t, tag_of(1000 + i), 0);
            e.helped = true; /* nobody moves a chunk */
            struct weir_place p = weir_place_find(&e, WEIR_CLAIM);
            assert_ptr_equal(p.array, to);
            weir_store_relaxed(p.word, IN_DEBT);
        }
        assert_int_equal(weir_load_relaxed(&root->done), 0);
        assert_int_equal(weir_load_relaxed(&to->fresh) & WEIR_COUNT_MASK, room);
        struct weir_effort e = effort_of(t, tag_of(9999), 0);
        e.helped = true;
        struct weir_place p = weir_place_find(&e, WEIR_CLAIM);
        assert_non_null(p.word);
        weir_store_relaxed(p.word, IN_DEBT);
        assert_int_equal(weir_load_relaxed(&root->done), 255); /* all 8 chunks */
        assert_ptr_not_equal(p.array, to);                     /* that one is full by now */
        root = settle(t, 0);
        for (uint64_t i = 0; i < keys[c]; i++)
            assert_non_null(word_in(root, tag_of(i)));
        assert_int_equal(weir_array_count(root), weir_order_full(order_of(128)) + 1);
        assert_true(weir_table_is_valid(t));
        alone_close(t);
    }
}

/* M1: one has counted a new key in the root and stops before its slot is claimed, or before it is
   paid for; the swing gives the credit back, and whoever wakes takes it again. */
static void m1_a_reservation_around_a_swing(void **state)
{
    (void)state;
    for (unsigned where = 0; where < 3; where++) {
        struct weir_table *t = open_keys(order_of(64), 100);
        struct weir_array *root = root_of(t);
        struct weir_effort slow = effort_of(t, tag_of(100), 0);
        struct weir_search s;
        bool closed;
        bool claimed = false;
        assert_true(weir_credit_ready(t, slow.share));
        assert_true(weir_place_reserve(&slow, root, root, &closed));
        if (where == 1)
            weir_array_claim(root, slow.tag, WEIR_PROBE_LINES, &s, &claimed, &slow.move.races);
        if (where == 2)
            begin_move(t, order_of(64), 0);
        else
            replace(t, order_of(64), 0);
        if (claimed) {
            weir_credit_pay(slow.share, 1);
            assert_int_equal(weir_load_relaxed(weir_search_word(&s)), WEIR_MOVE_FROZEN);
        } else {
            struct weir_effort e = helper_of(t, 0, 0);
            if (where == 2)
                weir_move_key(&e.move, slow.tag);
            assert_int_equal(
                weir_array_claim(root, slow.tag, WEIR_PROBE_LINES, &s, &claimed, &slow.move.races),
                WEIR_SEALED);
            assert_false(claimed);
            weir_place_unreserve(&slow, root);
        }
        assert_keys(t, 100);
        alone_close(t);
    }
}

/* ---- the horizon ---- */

/* K27: what was left behind under a fast clock is no gift to a slow one. */
static void k27_a_stale_caller_begins_at_the_horizon(void **state)
{
    (void)state;
    struct weir_table *t = open_keys(order_of(64), 0);
    uint64_t key = tag_of(1);
    assert_int_equal(admit(t, key, 500), ADMITTED);
    assert_int_equal(admit(t, key, 599), DENIED);
    replace(t, order_of(64), 700); /* a fast clock */
    assert_null(word_in(root_of(t), key));
    assert_int_equal(admit(t, key, 550), ADMITTED); /* at 700, that is */
    assert_int_equal(admit(t, key, 600), DENIED);
    assert_int_equal(admit(t, key, 799), DENIED);
    assert_int_equal(admit(t, key, 800), ADMITTED);
    assert_int_equal(admit(t, tag_of(2), 650), ADMITTED); /* a key never seen as well */
    assert_int_equal(admit(t, tag_of(2), 799), DENIED);
    alone_close(t);
}

/* K27: it is handed down from array to array, as long as it is no more than stale_max ahead. */
static void k27_the_horizon_is_inherited(void **state)
{
    (void)state;
    static const struct {
        uint64_t left_at, now, after;
    } cases[] = {
        {700, 0, 700},
        {700, 699, 700},
        {700, 800, 800},
        {1500, 500, 1500},
        {1500, 499, 499}, /* a bogus instant is not handed down */
        {(uint64_t)1 << 62, 5, 5},
        {5000, 4000, 5000},
        {5000, 3999, 3999},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_table *t = open_keys(order_of(64), 0);
        put_key(t, tag_of(1), 1);
        replace(t, order_of(64), cases[i].left_at);
        assert_int_equal(weir_load_relaxed(&root_of(t)->horizon), cases[i].left_at);
        put_key(t, tag_of(1), 1); /* something to leave behind, where the clock says so */
        replace(t, order_of(64), cases[i].now);
        assert_int_equal(weir_load_relaxed(&root_of(t)->horizon), cases[i].after);
        replace(t, order_of(64), cases[i].now);
        assert_int_equal(weir_load_relaxed(&root_of(t)->horizon), cases[i].after);
        alone_close(t);
    }
}

/* K27: a slow helper does not lower it, and what means "never used" at any time does not raise it.
 */
static void k27_the_horizon_only_rises(void **state)
{
    (void)state;
    struct weir_table *t = open_keys(order_of(64), 0);
    for (uint64_t i = 0; i < 4; i++)
        put_key(t, tag_of(i), 100);
    put_key(t, tag_of(4), WORD_UNUSED | 1);
    put_key(t, tag_of(5), 0);
    struct weir_array *to = begin_move(t, order_of(64), 50);
    static const uint64_t clocks[] = {300, 200, 900, 50};
    static const uint64_t horizons[] = {300, 300, 900, 900};
    static const uint64_t stale[] = {0, 1, 0, 0};
    for (uint64_t i = 0; i < 4; i++) {
        struct weir_effort e = helper_of(t, 0, clocks[i]);
        weir_move_key(&e.move, tag_of(i));
        assert_int_equal(weir_load_relaxed(&to->horizon), horizons[i]);
        assert_int_equal(e.move.stale, stale[i]);
        assert_int_equal(e.move.left, clocks[i] >= 100);
    }
    struct weir_effort e = helper_of(t, 0, 2000);
    weir_move_key(&e.move, tag_of(4));
    weir_move_key(&e.move, tag_of(5));
    assert_int_equal(weir_load_relaxed(&to->horizon), 900);
    assert_int_equal(e.move.moved, 0);
    assert_null(word_in(to, tag_of(4)));
    alone_close(t);
}

/* A caller more than stale_max behind begins at his own `now`: one bogus instant locks nobody out.
 */
static void k20_a_caller_far_behind_begins_at_his_now(void **state)
{
    (void)state;
    struct weir_table *t = open_keys(order_of(64), 0);
    put_key(t, tag_of(1), 1);
    struct weir_array *a = replace(t, order_of(64), 100000);
    assert_int_equal(weir_array_fresh_at(a, 100000 - STALE_MAX, STALE_MAX), 100000);
    assert_int_equal(weir_array_fresh_at(a, 100000 - STALE_MAX - 1, STALE_MAX),
                     100000 - STALE_MAX - 1);
    assert_int_equal(weir_array_fresh_at(a, 100000, STALE_MAX), 100000);
    assert_int_equal(weir_array_fresh_at(a, 100001, STALE_MAX), 100001);
    assert_int_equal(weir_array_fresh_at(a, 0, STALE_MAX), 0);
    assert_int_equal(admit(t, tag_of(1), 600), ADMITTED);
    assert_int_equal(admit(t, tag_of(1), 699), DENIED);
    assert_int_equal(admit(t, tag_of(1), 700), ADMITTED);
    alone_close(t);
}

/* ---- without memory ---- */

/* So many keys, each with a decision as often as `now` goes on; the answers. */
static void decide_all(struct weir_table *t, uint64_t from, uint64_t to, uint64_t now,
                       enum answer *answers)
{
    for (uint64_t i = from; i < to; i++)
        answers[i] = admit(t, tag_of(i), now);
}

#define MAX ((uint64_t)1000)

/* The orders of the arrays that a shard goes through for MAX keys; returns how many. */
static uint64_t orders_for_all(unsigned orders[WEIR_ORDER_MAX + 1])
{
    struct weir_table *t = alone_open(MAX);
    uint64_t arrays = 0;
    for (uint64_t i = 0; i < MAX; i++) {
        assert_int_equal(admit(t, tag_of(i), 100), ADMITTED);
        if (arrays == 0 || settle(t, 100)->order != orders[arrays - 1])
            orders[arrays++] = settle(t, 100)->order;
    }
    assert_true(arrays > 5);
    assert_int_equal(weir_load_relaxed(&t->counts.growths), arrays - 1);
    alone_close(t);
    return arrays;
}

/* K28: whichever allocation fails, and all after it, nothing is lost: every decision is the one
   that it would be with memory, up to the last place of the array; then new keys are refused. With
   memory again they get theirs. */
static void k28_every_allocation_can_fail(void **state)
{
    (void)state;
    static enum answer answers[MAX];
    unsigned orders[WEIR_ORDER_MAX + 1] = {0};
    uint64_t arrays = orders_for_all(orders);
    for (uint64_t n = 1; n <= arrays; n++) {
        struct weir_table *t = alone_open(MAX);
        weir_store_relaxed(&t->arena.allowance, n);
        uint64_t keys = 0;
        while (keys < MAX && admit(t, tag_of(keys), 100) == ADMITTED)
            keys++;
        assert_false(is_moving(t));
        uint64_t full = weir_order_full(orders[n - 1]);
        assert_int_equal(keys, full < MAX ? full : MAX);
        assert_int_equal(root_of(t)->order, orders[n - 1]);
        assert_int_equal(weir_load_relaxed(&t->counts.failures) > 0, n < arrays);
        /* those that have a place are decided as always, the others are refused */
        decide_all(t, 0, MAX, 199, answers);
        for (uint64_t i = 0; i < MAX; i++)
            assert_int_equal(answers[i], i < keys ? DENIED : REFUSED);
        decide_all(t, 0, keys, 200, answers);
        for (uint64_t i = 0; i < keys; i++)
            assert_int_equal(answers[i], ADMITTED);
        assert_true(weir_table_is_valid(t));
        /* memory is there again: tried by and by, see below */
        weir_store_relaxed(&t->arena.allowance, UINT64_MAX);
        uint64_t refused = 0;
        for (uint64_t i = keys; i < MAX; i++)
            refused += admit(t, tag_of(i), 200) == REFUSED;
        assert_true(refused <= (weir_order_lines(WEIR_ORDER_MAX) / WEIR_CHUNK_LINES + 1));
        for (uint64_t i = 0; i < MAX; i++)
            assert_true(admit(t, tag_of(i), 299) != REFUSED);
        for (uint64_t i = 0; i < keys; i++)
            assert_int_equal(admit(t, tag_of(i), 299), DENIED);
        assert_true(weir_table_is_valid(t));
        alone_close(t);
    }
}

/* K28: one allocation fails, whichever: no decision is another than with memory. */
static void k28_one_allocation_fails(void **state)
{
    (void)state;
    unsigned orders[WEIR_ORDER_MAX + 1] = {0};
    uint64_t arrays = orders_for_all(orders);
    for (uint64_t n = 1; n < arrays; n++) {
        struct weir_table *t = alone_open(MAX);
        weir_store_relaxed(&t->arena.allowance, n);
        for (uint64_t i = 0; i < MAX; i++) {
            assert_int_equal(admit(t, tag_of(i), 100), ADMITTED);
            assert_int_equal(admit(t, tag_of(i / 2), 150), DENIED);
            if (weir_load_relaxed(&t->counts.failures) != 0)
                weir_store_relaxed(&t->arena.allowance, UINT64_MAX);
        }
        assert_int_equal(weir_load_relaxed(&t->counts.failures), 1);
        assert_int_equal(weir_load_relaxed(&t->counts.growths), arrays - 1);
        assert_true(weir_table_is_valid(t));
        alone_close(t);
    }
}

/* A failed allocation is tried again a sixteenth of the array's lines in calls later, not at each.
 */
static void k28_an_allocation_is_tried_again_by_and_by(void **state)
{
    (void)state;
    for (unsigned order = WEIR_ORDER_MIN; order < WEIR_ORDER_MAX; order++) {
        struct weir_table *t = open_keys(order, 0);
        weir_store_relaxed(&t->arena.allowance, 0);
        uint64_t wait = weir_order_lines(order + 1) / WEIR_CHUNK_LINES + 1;
        uint64_t calls = 20 * (wait + 1);
        struct weir_effort e = effort_of(t, 0, 0);
        for (uint64_t i = 0; i < calls; i++)
            assert_null(weir_shard_allocate(&e, order + 1));
        assert_int_equal(weir_load_relaxed(&t->counts.failures), 20);
        weir_store_relaxed(&t->arena.allowance, 1);
        struct weir_array *a = weir_shard_allocate(&e, order + 1);
        assert_non_null(a);
        weir_retire(t, a);
        alone_close(t);
    }
}

/* K28: a shrink that turns out too small: the shard goes on in the array that it has, new keys too.
 */
static void k28_a_shrink_that_does_not_fit(void **state)
{
    (void)state;
    struct weir_table *t = open_keys(order_of(64), 100);
    struct weir_array *root = root_of(t);
    weir_store_relaxed(&t->arena.allowance, 1);
    struct weir_effort e = effort_of(t, 0, 0);
    assert_false(weir_shard_shrink(&e, root, WEIR_ORDER_MIN));
    assert_false(is_moving(t));
    for (uint64_t i = 100; i < 150; i++)
        put_key(t, tag_of(i), IN_DEBT);
    assert_ptr_equal(root_of(t), root);
    weir_store_relaxed(&t->arena.allowance, UINT64_MAX);
    assert_keys(t, 150);
    alone_close(t);
}

/* O5: a smaller array is for what is there, counted or not; without memory there is none. */
static void o5_a_shrink_looks_at_what_is_there(void **state)
{
    (void)state;
    uint64_t full = weir_order_full(WEIR_ORDER_MIN);
    for (int uncounted = 0; uncounted <= 1; uncounted++) {
        struct weir_table *t = open_keys(order_of(64), full);
        struct weir_array *root = root_of(t);
        struct weir_effort e = effort_of(t, tag_of(full), 0);
        weir_store_relaxed(&t->arena.allowance, 0);
        assert_false(weir_shard_shrink(&e, root, WEIR_ORDER_MIN));
        assert_int_equal(weir_load_relaxed(&t->counts.failures), 1);
        assert_int_equal(weir_load_relaxed(&root->fresh), full); /* takes new keys */
        weir_store_relaxed(&t->arena.allowance, UINT64_MAX);
        weir_store_relaxed(&t->shares[0].wait, 0);
        if (uncounted) { /* by a thread that has stopped */
            struct weir_search s;
            bool claimed;
            weir_array_claim(root, tag_of(full), WEIR_PROBE_LINES, &s, &claimed, &e.move.races);
            assert_true(claimed);
            weir_store_relaxed(weir_search_word(&s), IN_DEBT);
        }
        assert_int_equal(weir_shard_shrink(&e, root, WEIR_ORDER_MIN), !uncounted);
        assert_int_equal(is_moving(t), !uncounted);
        if (uncounted) { /* and goes on */
            weir_add_relaxed(&root->fresh, 1);
            assert_true(weir_credit_ready(t, e.share));
            weir_credit_pay(e.share, 1);
        }
        assert_keys(t, full + (uint64_t)uncounted);
        alone_close(t);
    }
}

/* M1: while readers hold on to too much, no array is replaced; keys go on up to the last place of
   the one that there is. */
static void m1_no_replacement_while_retirement_is_behind(void **state)
{
    (void)state;
    enum { BEHIND = 1 << 30 };
    struct weir_table *t = open_keys(order_of(64), 100);
    uint64_t growths = weir_load_relaxed(&t->counts.growths);
    uint64_t full = weir_order_full(order_of(64));
    weir_add_relaxed(&t->retired_bytes, BEHIND);
    assert_true(weir_retire_is_behind(t));
    for (uint64_t i = 0; i < 2 * full; i++) {
        struct weir_place asked = place(t, tag_of(i), 0, WEIR_LOOK);
        struct weir_place p = place(t, tag_of(i), 0, WEIR_CLAIM);
        assert_int_equal(p.refused, i >= full);
        assert_int_equal(asked.refused, i >= full);
        if (p.word != NULL)
            weir_store_relaxed(p.word, IN_DEBT);
    }
    assert_int_equal(weir_load_relaxed(&t->counts.growths), growths);
    assert_int_equal(weir_load_relaxed(&t->counts.failures), 0);
    assert_null(weir_shard_next(root_of(t)));
    weir_add_relaxed(&t->retired_bytes, 0 - (uint64_t)BEHIND);
    assert_false(weir_retire_is_behind(t));
    assert_int_equal(weir_array_count(root_of(t)), full);
    assert_false(place(t, tag_of(2 * full), 0, WEIR_LOOK).refused);
    for (uint64_t i = 0; i < 2 * full; i++)
        put_key(t, tag_of(i), IN_DEBT);
    assert_true(weir_load_relaxed(&t->counts.growths) > growths);
    assert_keys(t, 2 * full);
    alone_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k28_p1_a_starter_stops_before_it_publishes),
        cmocka_unit_test(k28_p1_a_starter_stops_before_the_moving_bit),
        cmocka_unit_test(k28_two_starters_make_one_successor),
        cmocka_unit_test(o5_a_successor_has_room_for_all),
        cmocka_unit_test(o5_no_successor_is_larger_than_the_largest),
        cmocka_unit_test(an_array_past_its_load_limit),
        cmocka_unit_test(o5_new_keys_beside_a_move),
        cmocka_unit_test(m1_a_reservation_around_a_swing),
        cmocka_unit_test(k27_a_stale_caller_begins_at_the_horizon),
        cmocka_unit_test(k27_the_horizon_is_inherited),
        cmocka_unit_test(k27_the_horizon_only_rises),
        cmocka_unit_test(k20_a_caller_far_behind_begins_at_his_now),
        cmocka_unit_test(k28_every_allocation_can_fail),
        cmocka_unit_test(k28_one_allocation_fails),
        cmocka_unit_test(k28_an_allocation_is_tried_again_by_and_by),
        cmocka_unit_test(k28_a_shrink_that_does_not_fit),
        cmocka_unit_test(o5_a_shrink_looks_at_what_is_there),
        cmocka_unit_test(m1_no_replacement_while_retirement_is_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
