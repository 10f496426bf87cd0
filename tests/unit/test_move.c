/* SPDX-License-Identifier: MIT */
/*
 * The move of a shard into its next array: threads that stop in the middle of it and wake later,
 * each interleaving played by hand. All stops of whole calls: test_stopped.c; when an array is
 * replaced, and by what: test_replace.c.
 */
#include "table_alone.h"

#define KEYS    100
#define IN_DEBT ((uint64_t)5000) /* later than every clock here */

/* A shard of KEYS keys in debt in an array of 64 lines, that is, 4 chunks. */
static struct weir_table *open_keys(void)
{
    struct weir_table *t = alone_open(1000);
    replace(t, order_of(64), 0);
    for (uint64_t i = 0; i < KEYS; i++)
        put_key(t, tag_of(i), IN_DEBT + i);
    assert_int_equal(root_of(t)->order, order_of(64));
    assert_false(is_moving(t));
    return t;
}

/* All keys in the array, with the words that they were given. */
static void assert_keys_in(const struct weir_array *a, uint64_t first)
{
    for (uint64_t i = first; i < KEYS; i++) {
        struct weir_atomic_u64 *word = word_in(a, tag_of(i));
        assert_non_null(word);
        assert_int_equal(weir_load_relaxed(word), IN_DEBT + i);
    }
}

/* The slot of the i-th key in the root. */
static struct weir_search search_root(const struct weir_table *t, uint64_t i)
{
    struct weir_search s;
    assert_int_equal(weir_array_search(root_of(t), tag_of(i), &s), WEIR_FOUND);
    return s;
}

/* Its line there. */
static uint64_t line_of(const struct weir_table *t, uint64_t i)
{
    return (uint64_t)(search_root(t, i).line - weir_array_lines(root_of(t)));
}

/* Nothing is under way any more, and the sums are right. */
static void assert_settled(struct weir_table *t, uint64_t keys)
{
    uint64_t error;
    settle(t, 0);
    assert_int_equal(weir_table_keys(t, &error), keys);
    assert_int_equal(error, 0);
    assert_true(weir_table_is_valid(t));
}

/* ---- one call ---- */

/* A call moves the key that it came for, and one chunk. */
static void p1_a_call_moves_its_key_and_one_chunk(void **state)
{
    (void)state;
    struct weir_table *t = open_keys();
    struct weir_array *root = root_of(t);
    struct weir_array *to = begin_move(t, order_of(128), 0);
    uint64_t helps = weir_load_relaxed(&t->counts.helps);
    uint64_t key = 0;
    while (line_of(t, key) < 48)
        key++; /* a key of the last chunk */
    struct weir_place p = place(t, tag_of(key), 0, WEIR_LOOK);
    assert_ptr_equal(p.array, to);
    assert_int_equal(weir_load_relaxed(p.word), IN_DEBT + key);
    assert_int_equal(weir_load_relaxed(&root->done), 1);
    for (uint64_t i = 0; i < KEYS; i++) {
        struct weir_search s = search_root(t, i);
        bool moved = i == key || line_of(t, i) < WEIR_CHUNK_LINES;
        assert_int_equal(weir_load_relaxed(weir_search_word(&s)) >> 63, moved);
        assert_int_equal(word_in(to, tag_of(i)) != NULL, moved);
    }
    assert_int_equal(weir_load_relaxed(&t->counts.helps), helps + 1);
    /* three more calls, whatever they came for, end the move */
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(is_moving(t));
        assert_non_null(place(t, tag_of(key), 0, WEIR_LOOK).word);
    }
    assert_false(is_moving(t));
    assert_ptr_equal(root_of(t), to);
    assert_int_equal(weir_load_relaxed(&t->counts.helps), helps + 4);
    assert_int_equal(weir_load_relaxed(&t->counts.redone), 0);
    assert_int_equal(weir_load_relaxed(&t->counts.growths), 2);
    assert_keys_in(to, 0);
    assert_settled(t, KEYS);
    alone_close(t);
}

/* S3: a key that has no slot has its place sealed before it is used in the next array. */
static void k28_an_absent_key_is_sealed_out(void **state)
{
    (void)state;
    struct weir_table *t = open_keys();
    struct weir_array *root = root_of(t);
    struct weir_array *to = begin_move(t, order_of(64), 0);
    struct weir_effort e = helper_of(t, 0, 0);
    struct weir_search s;
    uint64_t absent = tag_of((uint64_t)77 << 40);
    assert_int_equal(weir_array_search(root, absent, &s), WEIR_EMPTY);
    weir_move_key(&e.move, absent);
    assert_int_equal(weir_array_search(root, absent, &s), WEIR_SEALED);
    assert_null(word_in(to, absent));
    /* a claim of one who still knows the root only ends there */
    bool claimed;
    assert_int_equal(weir_array_claim(root, absent, WEIR_PROBE_LINES, &s, &claimed, &e.move.races),
                     WEIR_SEALED);
    assert_false(claimed);
    assert_non_null(place(t, absent, 0, WEIR_CLAIM).word);
    assert_null(word_in(root, absent));
    assert_settled(t, KEYS + 1);
    alone_close(t);
}

struct claimant {
    struct weir_array *a;
    uint64_t tag;
    bool sealed;
};

/* Claims in the root as one who saw it before it moved. */
static void claim_late(void *context)
{
    struct claimant *c = context;
    struct weir_search s;
    bool claimed;
    uint64_t races = 0;
    enum weir_found found = weir_array_claim(c->a, c->tag, WEIR_PROBE_LINES, &s, &claimed, &races);
    if (found == WEIR_FOUND)
        weir_store_relaxed(weir_search_word(&s), IN_DEBT);
    c->sealed = found == WEIR_SEALED;
}

/* S3: where the empty slot is lost to another tag before it is sealed, or to the key itself, the
   move of a key looks further: at every step of it. */
static void k28_a_slot_lost_before_it_is_sealed(void **state)
{
    (void)state;
    unsigned lost = 0;
    for (int same = 0; same <= 1; same++) {
        bool stopped = true;
        for (uint64_t n = 1; stopped; n++) {
            struct weir_table *t = alone_open(1000);
            replace(t, WEIR_ORDER_MIN, 0);
            struct weir_array *root = root_of(t);
            struct weir_array *to = begin_move(t, WEIR_ORDER_MIN, 0);
            struct weir_effort e = helper_of(t, 0, 0);
            struct weir_search s;
            struct claimant other = {root, tag_at(200, same == 0), false};
            weir_add_relaxed(&root->fresh, 1);
            stop_at(n, claim_late, &other);
            weir_move_key(&e.move, tag_at(200, 0));
            stopped = was_stopped();
            enum weir_found found = weir_array_search(root, tag_at(200, 0), &s);
            if (stopped && same != 0 && !other.sealed) {
                assert_int_equal(found, WEIR_FOUND); /* frozen, and copied if it was used in time */
                assert_true(weir_load_relaxed(weir_search_word(&s)) >= WEIR_MOVE_FROZEN);
                assert_non_null(word_in(to, tag_at(200, 0)));
            } else {
                assert_int_equal(found, WEIR_SEALED);
                lost += stopped && !other.sealed;
            }
            weir_shard_finish(&e);
            assert_int_equal(word_in(root_of(t), other.tag) != NULL, stopped && !other.sealed);
            alone_close(t);
        }
    }
    assert_true(lost >= 2);
}

/* What a word may be: never used, of older settings, used up but not idle, idle. */
static void s5_what_is_idle_is_left_behind_and_nothing_else(void **state)
{
    (void)state;
    struct weir_table *t = open_keys();
    put_key(t, tag_of(0), 700);               /* idle at 700 */
    put_key(t, tag_of(1), 701);               /* not yet */
    put_key(t, tag_of(2), 900 | WORD_OLDER);  /* the same under newer settings */
    put_key(t, tag_of(3), 900 | WORD_UNUSED); /* nothing */
    put_key(t, tag_of(4), 0);                 /* claimed, never used */
    struct weir_array *to = begin_move(t, order_of(64), 700);
    settle(t, 700);
    assert_null(word_in(to, tag_of(0)));
    assert_int_equal(weir_load_relaxed(word_in(to, tag_of(1))), 701);
    assert_int_equal(weir_load_relaxed(word_in(to, tag_of(2))), 900);
    assert_null(word_in(to, tag_of(3)));
    assert_null(word_in(to, tag_of(4)));
    assert_keys_in(to, 5);
    assert_int_equal(weir_load_relaxed(&to->horizon), 700);
    assert_settled(t, KEYS - 3);
    alone_close(t);
}

/* ---- threads that stop ---- */

/* K28, P1: a thread stops after it took a chunk; the others do it again, and it may still wake. */
static void k28_p1_a_thread_stops_with_a_chunk(void **state)
{
    (void)state;
    for (uint64_t stopped_at = 0; stopped_at < 4; stopped_at++) {
        struct weir_table *t = open_keys();
        struct weir_array *root = root_of(t);
        struct weir_array *to = begin_move(t, order_of(128), 0);
        struct weir_effort slow = helper_of(t, 0, 0);
        uint64_t chunk = 99;
        bool again = true;
        for (uint64_t i = 0; i < stopped_at; i++)
            assert_non_null(place(t, tag_of(0), 0, WEIR_LOOK).word);
        assert_true(weir_move_next_chunk(&slow.move, 0, &chunk, &again));
        assert_int_equal(chunk, stopped_at);
        assert_false(again);
        for (uint64_t i = 0; is_moving(t); i++) {
            assert_true(i < 5);
            assert_non_null(place(t, tag_of(0), 0, WEIR_LOOK).word);
        }
        assert_ptr_equal(root_of(t), to);
        assert_int_equal(weir_load_relaxed(&t->counts.redone), 1);
        assert_keys_in(to, 0);
        assert_settled(t, KEYS);
        /* it wakes, and does all of it once more */
        weir_move_chunk(&slow.move, chunk);
        weir_shard_pay(&slow);
        weir_shard_swing(&slow);
        assert_int_equal(slow.move.moved, 0);
        assert_ptr_equal(root_of(t), to);
        assert_int_equal(weir_load_relaxed(&root->done), 15);
        assert_keys_in(to, 0);
        assert_settled(t, KEYS);
        alone_close(t);
    }
}

/* Chunks are looked for from each thread's own start, around the end. */
static void p1_undone_chunks_are_found_from_any_start(void **state)
{
    (void)state;
    struct weir_table *t = open_keys();
    struct weir_array *root = root_of(t);
    begin_move(t, order_of(64), 0);
    struct weir_effort e = helper_of(t, 0, 0);
    uint64_t chunk = 99;
    bool again = true;
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(weir_move_next_chunk(&e.move, 99, &chunk, &again));
        assert_true(chunk == i && !again);
    }
    static const unsigned next[] = {1, 1, 2, 1}; /* of 1 and 2, seen from 0 to 3 */
    weir_or_acq_rel(&root->done, 1 | 8);
    for (unsigned start = 0; start < 200; start++) {
        assert_true(weir_move_next_chunk(&e.move, start, &chunk, &again));
        assert_true(again);
        assert_int_equal(chunk, start % 64 < 4 ? next[start % 64] : 1);
    }
    weir_or_acq_rel(&root->done, 2 | 4);
    assert_false(weir_move_next_chunk(&e.move, 0, &chunk, &again));
    alone_close(t);
}

/* One who moves the first slots of a chunk, by hand. */
static void move_slots(struct weir_move *m, uint64_t slots)
{
    for (uint64_t i = 0; i < slots; i++)
        weir_move_slot(m, &weir_array_lines(m->from)[i / WEIR_LINE_SLOTS],
                       (unsigned)(i % WEIR_LINE_SLOTS));
}

/* O4, K28: a thread stops in the middle of a chunk and wakes when the move has ended, or when the
   next array was itself replaced: `later` moves later. Counts and credits are right in the end. */
static void k28_o4_a_thread_wakes_after_the_swing(void **state)
{
    (void)state;
    for (uint64_t slots = 0; slots <= WEIR_CHUNK_LINES * WEIR_LINE_SLOTS; slots += 4) {
        for (unsigned later = 0; later < 4; later++) {
            struct weir_table *t = open_keys();
            begin_move(t, order_of(64), 0);
            struct weir_effort slow = helper_of(t, 0, 0);
            move_slots(&slow.move, slots);
            uint64_t counted = slow.move.moved;
            settle(t, 0);
            if (later == 1)
                begin_move(t, order_of(128), 0); /* under way */
            for (unsigned i = 1; i < later; i++)
                replace(t, order_of(64) + i % 2, 0);
            /* it wakes */
            move_slots(&slow.move, WEIR_CHUNK_LINES * WEIR_LINE_SLOTS);
            assert_int_equal(slow.move.moved, counted);
            assert_int_equal(slow.move.owed, 0);
            weir_shard_swing(&slow);
            assert_true(weir_table_is_valid(t));
            assert_keys_in(settle(t, 0), 0);
            assert_settled(t, KEYS);
            alone_close(t);
        }
    }
}

/* The same with an entry that the others have left behind as idle: the slow clock puts it into an
   array where nobody waits for it, and it is paid for there. */
static void k28_o4_a_stale_thread_puts_what_was_left_behind(void **state)
{
    (void)state;
    for (unsigned later = 0; later < 4; later++) {
        struct weir_table *t = open_keys();
        put_key(t, tag_of(0), 600);
        struct weir_array *to = begin_move(t, order_of(64), 500);
        struct weir_effort slow = helper_of(t, 0, 500);
        struct weir_search s = search_root(t, 0);
        assert_int_equal(s.slot, 0);
        weir_or_acq_rel(weir_search_word(&s), WEIR_MOVE_FROZEN); /* and it stops */
        settle(t, 700);
        assert_null(word_in(to, tag_of(0)));
        assert_int_equal(weir_table_is_valid(t), true);
        if (later == 1) { /* the slot where it would be is sealed */
            begin_move(t, order_of(128), 700);
            struct weir_effort e = helper_of(t, 0, 700);
            while (weir_shard_help(&e)) {}
        }
        for (unsigned i = 1; i < later; i++)
            replace(t, order_of(64), 700);
        weir_move_slot(&slow.move, s.line, s.slot); /* it wakes */
        weir_shard_pay(&slow);
        assert_int_equal(slow.move.moved, later == 0);
        assert_int_equal(word_in(to, tag_of(0)) != NULL, later == 0);
        settle(t, 0);
        assert_keys_in(root_of(t), 1);
        assert_settled(t, KEYS - (later != 0));
        /* idle as it is, it goes with the next move */
        replace(t, order_of(64), 700);
        assert_settled(t, KEYS - 1);
        alone_close(t);
    }
}

/* After the freeze and before the copy: who copies first counts, and what was decided since stays.
 */
static void s5_k28_the_first_copy_counts(void **state)
{
    (void)state;
    struct weir_table *t = open_keys();
    struct weir_array *to = begin_move(t, order_of(64), 0);
    struct weir_effort slow = helper_of(t, 0, 0);
    struct weir_search s = search_root(t, 0);
    assert_int_equal(weir_or_acq_rel(weir_search_word(&s), WEIR_MOVE_FROZEN), IN_DEBT);
    struct weir_place p = place(t, tag_of(0), 0, WEIR_CLAIM);
    assert_ptr_equal(p.word, word_in(to, tag_of(0)));
    assert_int_equal(weir_load_relaxed(p.word), IN_DEBT);
    weir_store_relaxed(p.word, IN_DEBT + TOKEN); /* a decision */
    weir_move_put(&slow.move, tag_of(0), IN_DEBT);
    assert_int_equal(weir_load_relaxed(p.word), IN_DEBT + TOKEN);
    assert_int_equal(slow.move.moved, 0);
    settle(t, 0);
    weir_move_put(&slow.move, tag_of(0), IN_DEBT);
    assert_int_equal(weir_load_relaxed(p.word), IN_DEBT + TOKEN);
    assert_settled(t, KEYS);
    alone_close(t);
}

/* Between the claim of the tag and the word's compare-and-swap: the others write the word, or use
   the key as of the horizon where they left it behind. */
static void s5_k28_a_thread_stops_with_a_claimed_tag(void **state)
{
    (void)state;
    for (unsigned idle = 0; idle <= 1; idle++) {
        struct weir_table *t = open_keys();
        put_key(t, tag_of(0), 600);
        struct weir_array *to = begin_move(t, order_of(64), 500);
        struct weir_effort slow = helper_of(t, 0, 500);
        struct weir_search s;
        bool claimed;
        weir_array_claim(to, tag_of(0), 64, &s, &claimed, &slow.move.races);
        assert_true(claimed);
        settle(t, idle != 0 ? 700 : 500);
        assert_int_equal(weir_load_relaxed(weir_search_word(&s)), idle != 0 ? 0 : 600);
        if (idle != 0)
            assert_int_equal(weir_array_fresh_at(to, 500, STALE_MAX), 700);
        assert_int_equal(admit(t, tag_of(0), 650), ADMITTED);
        uint64_t word = weir_load_relaxed(weir_search_word(&s));
        assert_int_equal(word, (idle != 0 ? 700 : 650) + TOKEN);
        uint64_t never_used = 0;
        weir_move_count(&slow.move);
        assert_false(weir_cas_acq_rel(weir_search_word(&s), &never_used, 600));
        weir_shard_pay(&slow);
        assert_int_equal(admit(t, tag_of(0), 650), DENIED);
        assert_settled(t, KEYS);
        alone_close(t);
    }
}

/* ---- the end of a move ---- */

/* A chunk counts as done when its entries are in the next array and the horizon is raised: looked
   at from every step of who moves it. */
struct onlooker {
    struct weir_table *t;
    struct weir_array *to;
};

static void look(void *context)
{
    struct onlooker *o = context;
    struct weir_array *root = root_of(o->t);
    if ((weir_load_acquire(&root->done) & 1) == 0)
        return;
    assert_int_equal(weir_load_acquire(&o->to->horizon), 700);
    for (uint64_t i = 0; i < KEYS; i++) {
        struct weir_search s = search_root(o->t, i);
        if (line_of(o->t, i) >= WEIR_CHUNK_LINES)
            continue;
        assert_true(weir_load_relaxed(weir_search_word(&s)) >= WEIR_MOVE_FROZEN);
        if (i % 3 == 0)
            assert_null(word_in(o->to, tag_of(i)));
        else
            assert_int_equal(weir_load_relaxed(word_in(o->to, tag_of(i))), IN_DEBT + i);
    }
    assert_true(weir_load_relaxed(&o->to->moved) > 0);
}

static void s5_a_chunk_is_done_when_all_of_it_is_seen(void **state)
{
    (void)state;
    struct weir_table *t = open_keys();
    bool stopped = true;
    uint64_t n;
    for (n = 1; stopped; n++) {
        for (uint64_t i = 0; i < KEYS; i++)
            put_key(t, tag_of(i), i % 3 == 0 ? 600 : IN_DEBT + i);
        struct onlooker o = {t, begin_move(t, order_of(64), 0)};
        struct weir_effort e = helper_of(t, 0, 700);
        assert_int_equal(weir_load_relaxed(&o.to->horizon), 0);
        stop_at(n, look, &o);
        weir_move_chunk(&e.move, 0);
        stopped = was_stopped();
        look(&o);
        assert_int_equal(weir_load_relaxed(&root_of(t)->done), 1);
        weir_store_relaxed(&settle(t, 0)->horizon, 0);
    }
    assert_true(n > 200);
    alone_close(t);
}

static void swing_too(void *context)
{
    struct weir_effort *e = context;
    weir_shard_swing(e);
}

/* M1: however many threads lead a shard on, the credits of what was left behind go back once. */
static void m1_a_shard_is_led_on_once(void **state)
{
    (void)state;
    bool stopped = true;
    for (uint64_t n = 1; stopped; n++) {
        struct weir_table *t = open_keys();
        for (uint64_t i = 0; i < 40; i++)
            put_key(t, tag_of(i), 600);
        begin_move(t, order_of(64), 700);
        struct weir_effort first = helper_of(t, 0, 700);
        struct weir_effort second = helper_of(t, 0, 700);
        while (weir_shard_help(&first)) {}
        stop_at(n, swing_too, &second);
        weir_shard_swing(&first);
        stopped = was_stopped();
        weir_shard_swing(&second);
        assert_int_equal(first.move.dropped + second.move.dropped, 40);
        assert_int_equal(weir_load_relaxed(&t->retirements), 2);
        assert_int_equal(weir_load_relaxed(&t->unspent) + weir_load_relaxed(&t->shares[0].credits),
                         1000 - KEYS + 40);
        assert_settled(t, KEYS - 40);
        alone_close(t);
    }
}

/* O5: a thread that has its chunk in hand when the others end the move puts one entry into the
   array in use, by which it finds that out, and not all those that only its older clock finds in
   debt: a smaller array, which was tried for size meanwhile, could not hold them. */
static void s5_who_comes_after_a_move_puts_one_entry(void **state)
{
    (void)state;
    struct weir_table *t = open_keys();
    for (uint64_t i = 0; i < KEYS; i++)
        put_key(t, tag_of(i), 600);
    struct weir_array *to = begin_move(t, order_of(64), 500);
    struct weir_effort late = helper_of(t, 0, 500);
    uint64_t chunk;
    bool again;
    assert_true(weir_move_next_chunk(&late.move, 0, &chunk, &again));
    weir_read_begin();
    settle(t, 700);
    assert_ptr_equal(root_of(t), to);
    assert_int_equal(weir_array_count(to), 0);
    weir_move_chunk(&late.move, chunk);
    assert_int_equal(weir_array_count(to), 1);
    assert_int_equal(late.move.moved, 1);
    weir_shard_pay(&late);
    weir_read_end();
    /* The next move it helps like any other. */
    for (uint64_t i = 0; i < KEYS; i++)
        assert_non_null(place(t, tag_of(i), 700, WEIR_CLAIM).word);
    for (uint64_t i = 0; i < KEYS; i++)
        put_key(t, tag_of(i), IN_DEBT);
    struct weir_array *next = begin_move(t, order_of(64), 700);
    weir_shard_take_up(&late, to, next);
    while (weir_shard_help(&late)) {}
    assert_int_equal(weir_array_count(next), KEYS);
    weir_shard_swing(&late);
    assert_settled(t, KEYS);
    alone_close(t);
}

struct two_swings {
    struct weir_table *t;
    struct weir_effort *late;
    bool counts;
};

/* The next move, from its beginning to its swing. */
static void move_on(void *context)
{
    struct two_swings *x = context;
    begin_move(x->t, order_of(64), 0);
    settle(x->t, 0);
    if (x->counts)
        weir_move_count(&x->late->move);
}

/* M1: an entry that a stopped thread counts late: before the swing that leads to its array has
   looked at the count, though the one that leads on has, or after both. No credit is lost or
   minted. */
static void m1_an_entry_counted_between_two_swings(void **state)
{
    (void)state;
    for (int when = 0; when <= 1; when++) {
        struct weir_table *t = open_keys();
        struct weir_array *to = begin_move(t, order_of(64), 0);
        struct weir_effort late = helper_of(t, 0, 0);
        struct weir_effort first = helper_of(t, 0, 0);
        struct two_swings others = {t, &late, when == 0};
        struct weir_search s;
        bool claimed;
        weir_array_claim(to, tag_of(3), 64, &s, &claimed, &late.move.races);
        assert_true(claimed);
        while (weir_shard_help(&first)) {}
        assert_int_equal(weir_load_relaxed(&to->moved), KEYS - 1);
        stop_at(4, move_on, &others); /* after the shard's word was changed */
        weir_shard_swing(&first);
        assert_true(was_stopped());
        if (when == 1)
            weir_move_count(&late.move);
        assert_true(late.move.owed == (when == 0 ? (uint64_t)-1 : 0));
        weir_shard_pay(&late);
        assert_int_equal(late.move.owed, 0);
        assert_int_equal(weir_load_relaxed(&t->unspent) + weir_load_relaxed(&t->shares[0].credits),
                         1000 - KEYS);
        assert_keys_in(root_of(t), 0);
        assert_settled(t, KEYS);
        alone_close(t);
    }
}

/* A move whose chunks are not all done leads nowhere. */
static void k28_no_swing_before_all_is_moved(void **state)
{
    (void)state;
    struct weir_table *t = open_keys();
    struct weir_array *root = root_of(t);
    begin_move(t, order_of(64), 0);
    struct weir_effort e = helper_of(t, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        weir_shard_swing(&e);
        assert_ptr_equal(root_of(t), root);
        assert_true(is_moving(t));
        assert_true(weir_shard_help(&e));
    }
    assert_false(weir_shard_help(&e));
    weir_shard_swing(&e);
    assert_ptr_equal(root_of(t), e.move.to);
    assert_false(is_moving(t));
    alone_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p1_a_call_moves_its_key_and_one_chunk),
        cmocka_unit_test(k28_an_absent_key_is_sealed_out),
        cmocka_unit_test(k28_a_slot_lost_before_it_is_sealed),
        cmocka_unit_test(s5_what_is_idle_is_left_behind_and_nothing_else),
        cmocka_unit_test(k28_p1_a_thread_stops_with_a_chunk),
        cmocka_unit_test(p1_undone_chunks_are_found_from_any_start),
        cmocka_unit_test(k28_o4_a_thread_wakes_after_the_swing),
        cmocka_unit_test(k28_o4_a_stale_thread_puts_what_was_left_behind),
        cmocka_unit_test(s5_k28_the_first_copy_counts),
        cmocka_unit_test(s5_k28_a_thread_stops_with_a_claimed_tag),
        cmocka_unit_test(s5_a_chunk_is_done_when_all_of_it_is_seen),
        cmocka_unit_test(m1_a_shard_is_led_on_once),
        cmocka_unit_test(s5_who_comes_after_a_move_puts_one_entry),
        cmocka_unit_test(m1_an_entry_counted_between_two_swings),
        cmocka_unit_test(k28_no_swing_before_all_is_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
