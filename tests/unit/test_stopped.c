/* SPDX-License-Identifier: MIT */
/*
 * Calls on one shard that are stopped at every single step while others run to their end: what must
 * hold whoever stops where. One protocol step at a time, and what is expected there: test_move.c.
 *
 * A play is a table, a call that is stopped, what the others do meanwhile, and what must be true in
 * the end. It is run once for each step of the call; in plays of three the second is stopped as
 * well.
 */
#include "table_alone.h"

#define IN_DEBT ((uint64_t)5000) /* later than every clock here */
#define ANSWERS 16

struct play {
    uint64_t max_keys;
    void (*before)(struct play *p);
    void (*first)(struct play *p);
    void (*second)(struct play *p);
    void (*third)(struct play *p); /* NULL: of two */
    void (*after)(struct play *p);
    /* of one run */
    struct weir_table *t;
    uint64_t second_stops; /* at this step */
    enum answer answers[ANSWERS];
};

static void run_third(void *context)
{
    struct play *p = context;
    p->third(p);
}

static void run_second(void *context)
{
    struct play *p = context;
    if (p->third == NULL) {
        p->second(p);
        return;
    }
    stop_at(p->second_stops, run_third, p);
    p->second(p);
    if (!was_stopped()) {
        p->second_stops = 0; /* that was its last step */
        p->third(p);
    }
}

/* As if nothing had happened to the table yet. */
static void clear(struct weir_table *t, uint64_t max_keys)
{
    if (weir_load_acquire(&t->words[0]) != 0)
        weir_retire(t, settle(t, 0));
    weir_store_relaxed(&t->words[0], 0);
    weir_store_relaxed(&t->shares[0].credits, 0);
    weir_store_relaxed(&t->shares[0].wait, 0);
    weir_store_relaxed(&t->unspent, max_keys);
    memset(&t->counts, 0, sizeof t->counts);
}

/* One run; false: the first call ended before its n-th step. */
static bool run_once(struct play *p, uint64_t n)
{
    if (weir_load_relaxed(&p->t->retired_bytes) > 4 << 20)
        alone_pause(p->t);
    clear(p->t, p->max_keys);
    memset(p->answers, -1, sizeof p->answers);
    p->before(p);
    stop_at(n, run_second, p);
    p->first(p);
    bool stopped = was_stopped();
    if (!stopped)
        run_second(p);
    settle(p->t, 0);
    if (!weir_table_is_valid(p->t))
        fail_msg("step %lu, %lu: the table is not valid", (unsigned long)n,
                 (unsigned long)p->second_stops);
    p->after(p);
    assert_true(weir_table_is_valid(p->t));
    return stopped;
}

/* All stops of the second, in a play of three; in large strides, begun elsewhere for each n. */
static bool run_stops_of_second(struct play *p, uint64_t n)
{
    uint64_t stride = 1 + 100000 / (100 + random_scaled(4000));
    uint64_t at = 1 + n % stride;
    bool stopped = false;
    do {
        p->second_stops = at;
        stopped = run_once(p, n) || stopped;
        at += stride;
    } while (p->second_stops != 0);
    return stopped;
}

/* All stops. Returns how many steps the first call had. */
static uint64_t run_play(struct play *p)
{
    uint64_t n = 1;
    p->t = alone_open(p->max_keys);
    while (p->third == NULL ? run_once(p, n) : run_stops_of_second(p, n))
        n++;
    alone_close(p->t);
    return n;
}

/* ---- what is played ---- */

#define NEW ((uint64_t)1000) /* keys that have no place before */

static unsigned count(const struct play *p, enum answer answer)
{
    unsigned n = 0;
    for (unsigned i = 0; i < ANSWERS; i++)
        n += p->answers[i] == answer;
    return n;
}

static void put_keys(struct play *p, uint64_t keys, uint64_t word)
{
    for (uint64_t i = 0; i < keys; i++)
        put_key(p->t, tag_of(i), word);
}

static void assert_put_keys(const struct play *p, uint64_t keys)
{
    for (uint64_t i = 0; i < keys; i++) {
        struct weir_atomic_u64 *word = word_in(root_of(p->t), tag_of(i));
        assert_non_null(word);
        assert_int_equal(weir_load_relaxed(word), IN_DEBT);
    }
}

static uint64_t keys_of(const struct play *p)
{
    uint64_t error;
    uint64_t keys = weir_table_keys(p->t, &error);
    assert_int_equal(error, 0);
    return keys;
}

static void nothing(struct play *p)
{
    (void)p;
}

/* As many keys as the first array takes before it is replaced. */
static void to_the_load_limit(struct play *p)
{
    put_keys(p, weir_shard_limit(p->t, 0, WEIR_ORDER_MIN), IN_DEBT);
}

static void before_the_move(struct play *p)
{
    put_keys(p, 40, IN_DEBT);
    settle(p->t, 0);
    begin_move(p->t, root_of(p->t)->order, 0);
}

static void first_decides(struct play *p)
{
    p->answers[0] = admit(p->t, tag_of(NEW), 100);
}

static void second_decides(struct play *p)
{
    p->answers[1] = admit(p->t, tag_of(NEW), 100);
}

static void third_decides(struct play *p)
{
    p->answers[ANSWERS - 1] = admit(p->t, tag_of(NEW), 100);
}

/* S1, S3, K14: the token of a new key is admitted once. */
static void admitted_once(struct play *p)
{
    assert_int_equal(count(p, ADMITTED), 1);
    assert_int_equal(count(p, REFUSED), 0);
    assert_int_equal(admit(p->t, tag_of(NEW), 199), DENIED);
    assert_int_equal(admit(p->t, tag_of(NEW), 200), ADMITTED);
}

static void decide_twelve(struct play *p)
{
    for (unsigned i = 0; i < 12; i++)
        p->answers[2 + i] = admit(p->t, tag_of(NEW + 1 + i), 100);
}

static void all_thirteen(struct play *p)
{
    uint64_t keys = weir_shard_limit(p->t, 0, WEIR_ORDER_MIN);
    assert_int_equal(count(p, ADMITTED), 13);
    for (uint64_t i = 0; i < 13; i++)
        assert_int_equal(admit(p->t, tag_of(NEW + i), 199), DENIED);
    assert_put_keys(p, keys);
    assert_int_equal(keys_of(p), keys + 13);
}

/* K28: a new key's call stops anywhere; others place so many that the array is replaced twice. */
static void k28_new_keys_beside_one_that_stops(void **state)
{
    (void)state;
    struct play p = {.max_keys = 1000,
                     .before = to_the_load_limit,
                     .first = first_decides,
                     .second = decide_twelve,
                     .after = all_thirteen};
    assert_true(run_play(&p) > 100);
    p.first = decide_twelve;
    p.second = first_decides;
    assert_true(run_play(&p) > 300);
}

static void k14_one_new_key_at_once(void **state)
{
    (void)state;
    void (*befores[])(struct play *) = {nothing, to_the_load_limit, before_the_move};
    for (size_t i = 0; i < sizeof befores / sizeof befores[0]; i++) {
        struct play p = {.max_keys = 1000,
                         .before = befores[i],
                         .first = first_decides,
                         .second = second_decides,
                         .after = admitted_once};
        assert_true(run_play(&p) > 20);
        p.third = third_decides;
        assert_true(run_play(&p) > 20);
    }
}

static void few_keys_in_a_large_array(struct play *p)
{
    replace(p->t, order_of(32), 0);
    put_keys(p, 10, IN_DEBT);
}

static void few_keys_in_the_largest_array(struct play *p)
{
    replace(p->t, WEIR_ORDER_MAX, 0);
    put_keys(p, 10, IN_DEBT);
}

static void shrink(struct play *p)
{
    struct weir_effort e = effort_of(p->t, 0, 100);
    struct weir_array *root = settle(p->t, 100);
    (void)weir_shard_shrink(&e, root, WEIR_ORDER_MIN);
    settle(p->t, 100);
}

static void twelve_more(struct play *p)
{
    assert_int_equal(count(p, ADMITTED), 12);
    for (uint64_t i = 1; i < 13; i++)
        assert_int_equal(admit(p->t, tag_of(NEW + i), 199), DENIED);
    assert_put_keys(p, 10);
    assert_int_equal(keys_of(p), 22);
    assert_int_equal(weir_load_relaxed(&root_of(p->t)->fresh) & WEIR_PAUSED, 0);
}

/* Each stopped by the other. */
static void play_new_keys_and_a_shrink(struct play *p)
{
    p->first = shrink;
    p->second = decide_twelve;
    assert_true(run_play(p) > 100);
    p->first = decide_twelve;
    p->second = shrink;
    assert_true(run_play(p) > 100);
}

/* O5: beside new keys a shard is never given an array that is too small for what it holds. */
static void o5_new_keys_beside_a_shrink(void **state)
{
    (void)state;
    struct play p = {.max_keys = 1000, .before = few_keys_in_a_large_array, .after = twelve_more};
    play_new_keys_and_a_shrink(&p);
    p.third = shrink;
    assert_true(run_play(&p) > 100);
}

/* M1: nor is a new key refused beside one, where there is no larger array to grow into. */
static void m1_new_keys_beside_a_shrink_of_the_largest(void **state)
{
    (void)state;
    struct play p = {
        .max_keys = 1000, .before = few_keys_in_the_largest_array, .after = twelve_more};
    play_new_keys_and_a_shrink(&p);
}

/* ---- decisions beside moves ---- */

static void one_full_key(struct play *p)
{
    put_keys(p, 30, IN_DEBT);
    put_key(p->t, tag_of(NEW), 50); /* idle, and used by all */
    settle(p->t, 0);
}

/* Two moves, one after the other. */
static void replace_twice(struct play *p)
{
    p->answers[1] = admit(p->t, tag_of(NEW), 100);
    replace(p->t, WEIR_ORDER_MIN + 1, 100);
    p->answers[2] = admit(p->t, tag_of(NEW), 100);
    replace(p->t, WEIR_ORDER_MIN + 2, 100);
    p->answers[3] = admit(p->t, tag_of(NEW), 100);
}

/* The same without a decision before the first. */
static void replace_and_decide(struct play *p)
{
    replace(p->t, WEIR_ORDER_MIN + 1, 100);
    replace(p->t, WEIR_ORDER_MIN + 2, 100);
    p->answers[1] = admit(p->t, tag_of(NEW), 100);
}

static void begin_and_decide(struct play *p)
{
    begin_move(p->t, WEIR_ORDER_MIN + 1, 100);
    p->answers[1] = admit(p->t, tag_of(NEW), 100);
}

static void admitted_once_beside_30(struct play *p)
{
    admitted_once(p);
    assert_put_keys(p, 30);
    assert_int_equal(keys_of(p), 31);
}

/* S1, S5: a decision that stops anywhere while its key is moved, or left behind and begun anew. */
static void s5_a_decision_beside_moves(void **state)
{
    (void)state;
    void (*seconds[])(struct play *) = {replace_twice, replace_and_decide, begin_and_decide};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        struct play p = {.max_keys = 1000,
                         .before = one_full_key,
                         .first = first_decides,
                         .second = seconds[i],
                         .after = admitted_once_beside_30};
        assert_true(run_play(&p) > 3);
        p.first = seconds[i];
        p.second = first_decides;
        assert_true(run_play(&p) > 200);
        p.third = third_decides;
        assert_true(run_play(&p) > 200);
    }
}

static void first_decides_early(struct play *p)
{
    p->answers[0] = admit(p->t, tag_of(NEW), 550);
}

static void third_decides_early(struct play *p)
{
    p->answers[ANSWERS - 1] = admit(p->t, tag_of(NEW), 550);
}

static void fast_clock_replaces(struct play *p)
{
    replace(p->t, WEIR_ORDER_MIN + 1, 700);
}

static void fast_clock_replaces_and_decides(struct play *p)
{
    replace(p->t, WEIR_ORDER_MIN + 1, 700);
    p->answers[1] = admit(p->t, tag_of(NEW), 700);
    replace(p->t, WEIR_ORDER_MIN + 1, 550);
}

static void used_until_600(struct play *p)
{
    put_keys(p, 30, IN_DEBT);
    put_key(p->t, tag_of(NEW), 600);
    settle(p->t, 0);
}

/* Each token comes once: that of 600 to one of them. */
static void no_token_twice(struct play *p)
{
    unsigned later = admit(p->t, tag_of(NEW), 699) == ADMITTED;
    assert_int_equal(count(p, ADMITTED) + later, 1);
    assert_int_equal(admit(p->t, tag_of(NEW), 699), DENIED);
    assert_put_keys(p, 30);
}

/* K27: a fast clock leaves a key behind which a slow one still sees in debt, wherever either stops.
 */
static void k27_fast_and_slow_clocks(void **state)
{
    (void)state;
    void (*seconds[])(struct play *) = {fast_clock_replaces, fast_clock_replaces_and_decides};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        struct play p = {.max_keys = 1000,
                         .before = used_until_600,
                         .first = first_decides_early,
                         .second = seconds[i],
                         .after = no_token_twice};
        if (i == 0)
            p.third = third_decides_early;
        run_play(&p);
        p.first = seconds[i];
        p.second = first_decides_early;
        assert_true(run_play(&p) > 200);
    }
}

/* ---- when the table gets full ---- */

static void all_but_one(struct play *p)
{
    put_keys(p, p->max_keys - 1, IN_DEBT);
    settle(p->t, 0);
}

static void another_then_the_same(struct play *p)
{
    p->answers[1] = admit(p->t, tag_of(NEW + 1), 100);
    p->answers[2] = admit(p->t, tag_of(NEW), 100);
}

static void the_same_then_another(struct play *p)
{
    p->answers[1] = admit(p->t, tag_of(NEW), 100);
    p->answers[2] = admit(p->t, tag_of(NEW + 1), 100);
    p->answers[3] = admit(p->t, tag_of(NEW), 100);
}

static void third_places_another(struct play *p)
{
    p->answers[4] = admit(p->t, tag_of(NEW + 2), 100);
}

/* S1: a key is placed for all or refused to all; M1: one more than max_keys a thread at most. */
static void placed_or_refused_to_all(struct play *p)
{
    static const unsigned of_new[] = {0, 2}; /* answers to the contended key */
    bool first = p->second == the_same_then_another || p->first == the_same_then_another;
    unsigned refused = 0;
    unsigned answers = 0;
    for (unsigned i = 0; i < 4; i++) {
        bool contended = i == of_new[0] || (first ? i == 1 || i == 3 : i == of_new[1]);
        answers += contended;
        refused += contended && p->answers[i] == REFUSED;
    }
    assert_true(refused == 0 || refused == answers);
    enum answer now = admit(p->t, tag_of(NEW), 100);
    assert_int_equal(now, refused == 0 ? DENIED : REFUSED);
    assert_true(keys_of(p) >= p->max_keys && keys_of(p) <= p->max_keys + 2);
    assert_put_keys(p, p->max_keys - 1);
}

/* Tables of 1 key, and of one more than what the first arrays take before they are replaced. */
static uint64_t size_of_play(unsigned i)
{
    const struct weir_table one_shard = {.shards = 1, .stagger = (uint64_t)1 << 32};
    return i == 0 ? 1 : weir_shard_limit(&one_shard, 0, WEIR_ORDER_MIN + i - 1U) + 1;
}

/* S1, K26: two meet a new key in the moment when the last place is taken. */
static void s1_k26_the_last_place(void **state)
{
    (void)state;
    void (*seconds[])(struct play *) = {another_then_the_same, the_same_then_another};
    for (unsigned i = 0; i < 4; i++) {
        for (size_t j = 0; j < 2; j++) {
            struct play p = {.max_keys = size_of_play(i),
                             .before = all_but_one,
                             .first = first_decides,
                             .second = seconds[j],
                             .after = placed_or_refused_to_all};
            assert_true(run_play(&p) > 3);
            p.third = third_places_another;
            assert_true(run_play(&p) > 3);
            p.first = seconds[j];
            p.second = first_decides;
            assert_true(run_play(&p) > 3);
        }
    }
}

static void first_settles(struct play *p)
{
    struct weir_place found = place(p->t, tag_of(NEW), 100, WEIR_SETTLE);
    p->answers[0] = found.word != NULL ? DENIED : found.refused ? REFUSED : ADMITTED;
}

/* Who was told that the key has no place can rely on it; that it would get one is no promise. */
static void settled_for_all(struct play *p)
{
    if (p->answers[0] == REFUSED)
        assert_int_equal(p->answers[2], REFUSED);
    if (p->answers[0] == DENIED)
        assert_int_equal(p->answers[2], ADMITTED);
    assert_int_equal(admit(p->t, tag_of(NEW), 100), p->answers[2] == REFUSED ? REFUSED : DENIED);
    assert_put_keys(p, p->max_keys - 1);
}

/* The same with a call that claims nothing, but says whether there is a place. */
static void s1_k26_a_question_about_the_last_place(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct play p = {.max_keys = size_of_play(i),
                         .before = all_but_one,
                         .first = first_settles,
                         .second = another_then_the_same,
                         .after = settled_for_all};
        assert_true(run_play(&p) > 3);
        p.first = another_then_the_same;
        p.second = first_settles;
        assert_true(run_play(&p) > 3);
    }
}

/* More than the first one's help moves. */
static void before_a_long_move(struct play *p)
{
    replace(p->t, order_of(64), 0);
    before_the_move(p);
}

/* The move that the first one's key was helped in ends, and the next begins. */
static void move_on(struct play *p)
{
    settle(p->t, 100);
    begin_move(p->t, root_of(p->t)->order, 100);
}

static void first_is_admitted(struct play *p)
{
    assert_int_equal(p->answers[0], ADMITTED);
    assert_int_equal(admit(p->t, tag_of(NEW), 199), DENIED);
    assert_put_keys(p, 40);
    assert_int_equal(keys_of(p), 41);
}

/* S3, P1: a new key whose array is closed meanwhile, as a next one and then as a root. */
static void k28_a_new_key_between_two_moves(void **state)
{
    (void)state;
    struct play p = {.max_keys = 1000,
                     .before = before_a_long_move,
                     .first = first_decides,
                     .second = move_on,
                     .after = first_is_admitted};
    assert_true(run_play(&p) > 100);
}

/* ---- room again ---- */

static void full_and_half_idle(struct play *p)
{
    put_keys(p, p->max_keys, IN_DEBT);
    for (uint64_t i = 0; i < p->max_keys / 2; i++)
        put_key(p->t, tag_of(p->max_keys / 2 + i), 600);
    settle(p->t, 0);
}

static void first_refused_or_placed(struct play *p)
{
    p->answers[0] = admit(p->t, tag_of(NEW), 599);
}

static void ten_find_room(struct play *p)
{
    for (unsigned i = 0; i < 10; i++)
        p->answers[1 + i] = admit(p->t, tag_of(NEW + i), 600);
}

static void room_for_ten(struct play *p)
{
    for (unsigned i = 1; i < 10; i++)
        assert_int_equal(p->answers[1 + i], ADMITTED);
    assert_true(p->answers[0] == REFUSED || p->answers[0] + p->answers[1] == DENIED + ADMITTED);
    assert_int_equal(admit(p->t, tag_of(NEW), 698), DENIED);
    assert_put_keys(p, p->max_keys / 2);
    /* M1: at most one a thread more than max_keys */
    assert_true(keys_of(p) >= p->max_keys / 2 + 10 && keys_of(p) <= p->max_keys + 2);
}

/* K26, K27: a full table leaves behind what is idle while others are refused, or helped. */
static void k26_k27_a_full_table_makes_room(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {20, 60, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct play p = {.max_keys = sizes[i],
                         .before = full_and_half_idle,
                         .first = first_refused_or_placed,
                         .second = ten_find_room,
                         .after = room_for_ten};
        assert_true(run_play(&p) > 3);
        p.first = ten_find_room;
        p.second = first_refused_or_placed;
        assert_true(run_play(&p) > 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k28_new_keys_beside_one_that_stops),
        cmocka_unit_test(k14_one_new_key_at_once),
        cmocka_unit_test(o5_new_keys_beside_a_shrink),
        cmocka_unit_test(m1_new_keys_beside_a_shrink_of_the_largest),
        cmocka_unit_test(s5_a_decision_beside_moves),
        cmocka_unit_test(k28_a_new_key_between_two_moves),
        cmocka_unit_test(k27_fast_and_slow_clocks),
        cmocka_unit_test(s1_k26_the_last_place),
        cmocka_unit_test(s1_k26_a_question_about_the_last_place),
        cmocka_unit_test(k26_k27_a_full_table_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
