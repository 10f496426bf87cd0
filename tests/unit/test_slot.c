/* SPDX-License-Identifier: MIT */
/*
 * The slot's loop on words of other generations, words never used and frozen ones, step by step:
 * each interleaving is played by hand.
 */
#include "../support.h"

#include "slot/slot.h"

#define NOW (1000 * WEIR_SECOND)

/* Settings of a generation for 1/h burst 10, with an origin in seconds. */
static struct weir_settings settings_of(uint32_t generation, weir_ns origin_s,
                                        struct weir_settings *previous)
{
    struct weir_settings *made;
    struct weir_settings *spare;
    struct weir_policy policy = weir_token_bucket(1, WEIR_HOUR, 10);
    assert_int_equal(weir_settings_make(&policy, NULL, 0, &made, &spare), 0);
    struct weir_settings s = *made;
    free(made);
    free(spare);
    weir_algorithm_start(&s.meter, origin_s * WEIR_SECOND, WEIR_BUCKET_LINE_MAX);
    s.meter.mark = weir_word_mark(generation);
    s.generation = generation;
    s.generations = 1U << generation;
    s.previous = previous;
    if (previous != NULL) {
        s.generations |= previous->generations;
        s.steps = (int64_t)(origin_s * WEIR_SECOND) - previous->meter.origin; /* grains = 1 */
    }
    return s;
}

/* A word never used begins at NOW too. */
static enum weir_slot apply(struct weir_atomic_u64 *slot, const struct weir_settings *s,
                            struct weir_reader *reader, struct weir_operation op,
                            struct weir_step *step)
{
    struct weir_instant at;
    assert_true(weir_algorithm_instant(&s->meter, NOW, &at));
    enum weir_slot what = weir_slot_apply(slot, &s->meter, reader, &op, &at, step);
    if (what == WEIR_SLOT_FRESH && weir_slot_first(slot, &s->meter, &op, &at, step))
        return WEIR_SLOT_DONE;
    return what;
}

/* Takes n of 10 under the settings. */
static void take(struct weir_atomic_u64 *slot, const struct weir_settings *s, uint64_t n)
{
    struct weir_reader reader = {s, 0, false, false};
    struct weir_step step;
    assert_int_equal(
        apply(slot, s, &reader, (struct weir_operation){.verb = WEIR_TAKE, .n = n}, &step),
        WEIR_SLOT_DONE);
    assert_int_equal(step.count, n);
}

static const struct weir_operation admit_4 = {.verb = WEIR_ADMIT, .n = 4};

static void s5_an_older_word_is_rebased(void **state)
{
    (void)state;
    struct weir_atomic_u64 slot = {0};
    struct weir_settings old = settings_of(1, 500, NULL);
    struct weir_settings fresh = settings_of(2, 900, &old);
    struct weir_reader reader = {&fresh, 0, false, false};
    struct weir_step step;
    take(&slot, &old, 7);
    assert_int_equal(apply(&slot, &fresh, &reader, admit_4, &step), WEIR_SLOT_DONE);
    assert_int_equal(step.verdict, WEIR_DENIED);
    assert_int_equal(step.wait, WEIR_HOUR);
    assert_int_equal(weir_word_generation(weir_load_relaxed(&slot)), 1);
    take(&slot, &fresh, 3);
    assert_int_equal(weir_word_generation(weir_load_relaxed(&slot)), 2);
}

/* A word of newer settings is looked up, and then it is not taken for an unused one. */
static void s5_a_newer_word_is_looked_up(void **state)
{
    (void)state;
    struct weir_atomic_u64 slot = {0};
    struct weir_settings old = settings_of(1, 500, NULL);
    struct weir_settings fresh = settings_of(2, 900, &old);
    struct weir_reader reader = {&old, 0, false, false};
    struct weir_step step;
    take(&slot, &fresh, 7);
    assert_int_equal(apply(&slot, &old, &reader, admit_4, &step), WEIR_SLOT_UNKNOWN);
    assert_int_equal(reader.unknown, weir_load_relaxed(&slot));
    reader.settings = &fresh;
    assert_int_equal(apply(&slot, &fresh, &reader, admit_4, &step), WEIR_SLOT_DONE);
    assert_int_equal(step.verdict, WEIR_DENIED);
}

/* K15: that one word turned out to be unused says nothing of the next that is found there. */
static void k15_unused_is_said_of_one_word(void **state)
{
    (void)state;
    struct weir_atomic_u64 slot = {0};
    struct weir_settings old = settings_of(1, 500, NULL);
    struct weir_settings fresh = settings_of(2, 900, &old);
    struct weir_settings cut = settings_of(3, 500, NULL);
    struct weir_reader reader = {&old, 0, false, false};
    struct weir_step step;
    take(&slot, &cut, 7);
    assert_int_equal(apply(&slot, &old, &reader, admit_4, &step), WEIR_SLOT_UNKNOWN);
    reader.newest = true; /* the settings were loaded again: the same */
    uint64_t unused = weir_load_relaxed(&slot);
    /* meanwhile a new origin was published and the key used under it */
    weir_store_relaxed(&slot, 0);
    take(&slot, &fresh, 7);
    assert_int_equal(apply(&slot, &old, &reader, admit_4, &step), WEIR_SLOT_UNKNOWN);
    assert_int_equal(reader.unknown, weir_load_relaxed(&slot));
    /* the word that was asked about is unused indeed */
    weir_store_relaxed(&slot, unused);
    reader.unknown = unused;
    assert_int_equal(apply(&slot, &old, &reader, admit_4, &step), WEIR_SLOT_DONE);
    assert_int_equal(step.verdict, WEIR_ALLOWED);
}

/* K11: a cancel that finds newer settings on its way gives back what it would have under them. */
static void k11_a_cancel_that_meets_newer_settings(void **state)
{
    (void)state;
    struct weir_settings old = settings_of(1, 500, NULL);
    static const weir_ns origins_s[] = {900, 100};
    for (size_t i = 0; i < 2; i++) {
        struct weir_atomic_u64 slot = {0};
        struct weir_settings fresh = settings_of(2, origins_s[i], &old);
        struct weir_reader reader = {&old, 0, false, false};
        struct weir_step step;
        take(&slot, &old, 10);
        struct weir_operation reserve = {.verb = WEIR_ADMIT, .n = 5, .max_wait = WEIR_FOREVER};
        assert_int_equal(apply(&slot, &old, &reader, reserve, &step), WEIR_SLOT_DONE);
        struct weir_operation cancel = {
            .verb = WEIR_CANCEL, .n = 5, .slot = step.slot, .origin = old.meter.origin};
        /* another reserves 2 behind it, under newer settings, between the cancel's two looks */
        struct weir_reader other = {&fresh, 0, false, false};
        struct weir_operation behind = {.verb = WEIR_ADMIT, .n = 2, .max_wait = WEIR_FOREVER};
        assert_int_equal(apply(&slot, &fresh, &other, behind, &step), WEIR_SLOT_DONE);
        assert_int_equal(apply(&slot, &old, &reader, cancel, &step), WEIR_SLOT_UNKNOWN);
        reader.settings = &fresh;
        assert_int_equal(apply(&slot, &fresh, &reader, cancel, &step), WEIR_SLOT_DONE);
        assert_int_equal(step.count, 3);
    }
}

/* A word never used is told to the caller, who knows where it begins; who loses the race for it is
   told so, and reads it again. */
static void k14_a_word_never_used_begins_where_the_caller_says(void **state)
{
    (void)state;
    struct weir_settings s = settings_of(1, 500, NULL);
    struct weir_reader reader = {&s, 0, false, false};
    struct weir_atomic_u64 slot = {0};
    struct weir_instant at;
    struct weir_instant later;
    struct weir_step step;
    assert_true(weir_algorithm_instant(&s.meter, NOW, &at));
    assert_true(weir_algorithm_instant(&s.meter, NOW + WEIR_HOUR, &later));
    const struct weir_operation ten = {.verb = WEIR_ADMIT, .n = 10};
    assert_int_equal(weir_slot_apply(&slot, &s.meter, &reader, &ten, &at, &step), WEIR_SLOT_FRESH);
    assert_int_equal(weir_load_relaxed(&slot), 0);
    assert_true(weir_slot_first(&slot, &s.meter, &ten, &later, &step));
    assert_int_equal(step.verdict, WEIR_ALLOWED);
    /* empty as of the later instant: at NOW two hours are missing for a token, not one */
    assert_int_equal(apply(&slot, &s, &reader, admit_4, &step), WEIR_SLOT_DONE);
    assert_int_equal(step.verdict, WEIR_DENIED);
    assert_int_equal(step.wait, 5 * WEIR_HOUR);
    uint64_t word = weir_load_relaxed(&slot);
    assert_false(weir_slot_first(&slot, &s.meter, &ten, &later, &step));
    assert_int_equal(weir_load_relaxed(&slot), word);
    /* what does not write needs no word */
    const struct weir_operation peek = {.verb = WEIR_PEEK, .n = 3};
    assert_true(weir_slot_first(&slot, &s.meter, &peek, &at, &step));
    assert_int_equal(step.verdict, WEIR_ALLOWED);
    assert_int_equal(weir_load_relaxed(&slot), word);
}

/* S3, K28: nothing is decided on a word that a move is copying, whatever it says. */
static void k28_a_frozen_word_stays_as_it_is(void **state)
{
    (void)state;
    static const enum weir_verb verbs[] = {WEIR_ADMIT,  WEIR_PEEK,   WEIR_TAKE, WEIR_CHARGE,
                                           WEIR_REFUND, WEIR_CANCEL, WEIR_UNDO, WEIR_SET};
    struct test_random random = random_start("frozen", 12);
    for (uint32_t generation = 1; generation <= WEIR_GENERATIONS; generation++) {
        struct weir_settings s = settings_of(generation, 500, NULL);
        struct weir_reader reader = {&s, 0, false, false};
        struct weir_step step;
        for (unsigned i = 0; i < 1000; i++) {
            uint64_t words[] = {0, s.meter.mark, s.meter.mark | s.meter.span, random_u64(&random)};
            struct weir_atomic_u64 slot = {words[i % 4] | WEIR_WORD_FROZEN};
            uint64_t word = weir_load_relaxed(&slot);
            struct weir_operation op = {.verb = verbs[i % 8], .n = 1 + i % 12};
            assert_int_equal(apply(&slot, &s, &reader, op, &step), WEIR_SLOT_FROZEN);
            assert_int_equal(weir_load_relaxed(&slot), word);
        }
    }
}

/* K29: any 64 bits in a cell are read as something, and lead to something legal; those that no cell
   has written, without bit 63, as never used. */
static void k29_any_word_in_a_cell(void **state)
{
    (void)state;
    struct test_random random = random_start("words", 11);
    struct weir_policy policy = weir_token_bucket(17, WEIR_SECOND, 1000);
    struct weir_meter m;
    assert_int_equal(weir_meter_init(&m, &policy, 0), 0);
    for (unsigned i = 0; i < 200000; i++) {
        struct weir_cell c = {i < 64 ? (uint64_t)1 << i : random_u64(&random)};
        uint64_t n = 1 + random_below(&random, 1000);
        weir_ns now = random_magnitude(&random, 63);
        bool unused = c.word >> 63 == 0;
        struct weir_result r = weir_cell_decide(&c, &m, n, now);
        assert_true(!unused || (r.verdict == WEIR_ALLOWED && r.remaining == 1000 - n));
        assert_true(r.verdict == WEIR_ALLOWED || r.verdict == WEIR_DENIED);
        assert_true(r.remaining <= 1000);
        if (r.verdict == WEIR_ALLOWED)
            assert_true(c.word >> 63 == 1);
    }
}

/* S2: what just fits into a word is granted, what does not is denied and leaves it. */
static void s2_the_last_unit_of_a_word_is_used(void **state)
{
    (void)state;
    struct weir_settings s = settings_of(1, 500, NULL);
    struct weir_reader reader = {&s, 0, false, false};
    struct weir_step step;
    struct weir_operation one = {.verb = WEIR_ADMIT, .n = 1, .max_wait = WEIR_FOREVER};
    for (uint64_t over = 0; over <= 1; over++) {
        uint64_t payload = s.meter.span - s.meter.token + over;
        struct weir_atomic_u64 slot = {s.meter.mark | payload};
        assert_int_equal(apply(&slot, &s, &reader, one, &step), WEIR_SLOT_DONE);
        assert_int_equal(step.verdict, over ? WEIR_DENIED : WEIR_ALLOWED);
        assert_int_equal(weir_load_relaxed(&slot), s.meter.mark | (over ? payload : s.meter.span));
    }
}

/* P1: the way back to older settings has an end, whatever a chain is like: 33 links. */
static void p1_the_way_back_has_an_end(void **state)
{
    (void)state;
    enum { LINKS = WEIR_GENERATIONS + 2 };
    static struct weir_settings chain[LINKS + 2];
    for (unsigned i = 0; i < LINKS + 2; i++)
        chain[i] = settings_of(i == 0 ? 7 : 1, 500, i == 0 ? NULL : &chain[i - 1]);
    uint64_t word = weir_word_mark(7) | 1234567;
    uint64_t payload = 0;
    assert_true(weir_settings_translate(&chain[0], word, &payload));
    assert_int_equal(payload, 1234567);
    for (unsigned links = 1; links <= LINKS; links++) {
        payload = 0;
        assert_true(weir_settings_translate(&chain[links], word, &payload));
        assert_int_equal(payload, 1234567);
    }
    assert_false(weir_settings_translate(&chain[LINKS + 1], word, &payload));
}

/* S6: a grant that is undone leaves the word as if it had never been, but for what others took or
   gave back since; in tokens, at the line's begin and ten seconds after it. */
static void s6_an_undone_grant_leaves_what_others_did(void **state)
{
    (void)state;
    static const struct {
        uint64_t before, after, now, then;
    } cases[] = {
        {3, 7, 7, 3}, /* nobody did anything */
        {3, 7, 9, 5}, /* two were taken */
        {3, 7, 5, 1}, /* two were given back */
        {1, 5, 2, 0}, /* more were than it had owed before */
        {0, 4, 6, 2}, {0, 4, 3, 0},
    };
    for (unsigned late = 0; late <= 10; late += 10) {
        struct weir_settings s = settings_of(1, NOW / WEIR_SECOND - late, NULL);
        uint64_t line = late * WEIR_SECOND; /* a unit is a nanosecond */
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            uint64_t token = s.meter.token;
            struct weir_reader reader = {&s, 0, false, false};
            struct weir_step step;
            struct weir_operation undo = {.verb = WEIR_UNDO, .n = 4, .origin = s.meter.origin};
            undo.before = cases[i].before * token + line;
            undo.slot = cases[i].after * token + line;
            struct weir_atomic_u64 slot = {s.meter.mark | (cases[i].now * token + line)};
            assert_int_equal(apply(&slot, &s, &reader, undo, &step), WEIR_SLOT_DONE);
            uint64_t payload = weir_load_relaxed(&slot) - s.meter.mark;
            if (cases[i].then == 0)
                assert_true(payload <= line); /* as never used */
            else
                assert_int_equal(payload, cases[i].then * token + line);
        }
    }
}

/* T1: the longest wait is made known before the word is, where somebody wants to know it. */
static void t1_the_longest_wait_is_known(void **state)
{
    (void)state;
    struct weir_policy policy = weir_aligned_window(3, WEIR_SECOND, 0);
    struct weir_meter m;
    assert_int_equal(weir_meter_init(&m, &policy, 0), 0);
    struct weir_reader reader = {NULL, 0, false, false};
    struct weir_atomic_u64 reach = {0};
    static const struct {
        uint64_t n;
        weir_ns early, reach;
    } cases[] = {
        {3, 0, 0},           /* now */
        {2, 0, WEIR_SECOND}, /* in the next window */
        {1, 5 * WEIR_SECOND, 5 * WEIR_SECOND},
        {9, 9 * WEIR_SECOND, 5 * WEIR_SECOND}, /* refused */
    };
    for (int known = 0; known <= 1; known++) {
        struct weir_atomic_u64 slot = {0};
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct weir_instant at = {.recent = true};
            struct weir_step step;
            at.reach = known ? &reach : NULL;
            assert_true(weir_algorithm_instant(&m, NOW, &at));
            struct weir_operation op = {.verb = WEIR_ADMIT,
                                        .n = cases[i].n,
                                        .max_wait = WEIR_SECOND,
                                        .early = cases[i].early};
            assert_int_equal(weir_slot_apply(&slot, &m, &reader, &op, &at, &step), WEIR_SLOT_DONE);
            assert_int_equal(step.verdict, cases[i].n > 3 ? WEIR_NEVER : WEIR_ALLOWED);
            assert_int_equal(weir_load_relaxed(&reach), known ? cases[i].reach : 0);
        }
    }
    /* The first use of a word, as part of a call that acts 7 s later. */
    struct weir_atomic_u64 first = {0};
    struct weir_instant at = {.recent = true};
    struct weir_step step;
    at.reach = &reach;
    assert_true(weir_algorithm_instant(&m, NOW, &at));
    struct weir_operation op = {.verb = WEIR_ADMIT, .n = 1, .early = 7 * WEIR_SECOND};
    assert_true(weir_slot_first(&first, &m, &op, &at, &step));
    assert_int_equal(weir_load_relaxed(&reach), 7 * WEIR_SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s5_an_older_word_is_rebased),
        cmocka_unit_test(s5_a_newer_word_is_looked_up),
        cmocka_unit_test(k15_unused_is_said_of_one_word),
        cmocka_unit_test(k11_a_cancel_that_meets_newer_settings),
        cmocka_unit_test(k14_a_word_never_used_begins_where_the_caller_says),
        cmocka_unit_test(k28_a_frozen_word_stays_as_it_is),
        cmocka_unit_test(k29_any_word_in_a_cell),
        cmocka_unit_test(s2_the_last_unit_of_a_word_is_used),
        cmocka_unit_test(p1_the_way_back_has_an_end),
        cmocka_unit_test(s6_an_undone_grant_leaves_what_others_did),
        cmocka_unit_test(t1_the_longest_wait_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
