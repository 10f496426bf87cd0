/* SPDX-License-Identifier: MIT */
/*
 * K04, K10, K29, K34: what cells do is total. Whatever 64 bits are in a cell, and whatever is asked
 * of it, by any kind of policy: answers are in range and a refusal changes nothing. For the words
 * that the calls themselves write, a wait and a reset are exact to the nanosecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"
#include "window_model.h"

#include <errno.h>
#include <stdio.h>

#define YEAR      (365 * WEIR_DAY)
#define UNIX_2024 ((weir_ns)1704067200 * WEIR_SECOND)
#define KINDS     6

typedef unsigned long long ull;

/* One cell under a policy; what to say when it fails. */
struct bench {
    uint64_t seed;
    struct weir_meter meter;
    struct weir_cell cell;
    uint64_t most; /* tokens: the burst or the limit */
    weir_ns origin, span;
};

static const char *setting_text(const struct bench *b)
{
    static char text[160];
    int length = weir_policy_format(&b->meter.policy, text, sizeof text);

    return length < 0 ? "?" : text;
}

static void require(const struct bench *b, bool holds, const char *what, uint64_t word, uint64_t n,
                    weir_ns now, struct weir_result r)
{
    if (!holds)
        fail_msg("\"%s\", origin %llu, seed %#llx, word %#llx, n %llu, now %llu: verdict %d wait "
                 "%llu remaining %llu reset %llu: %s",
                 setting_text(b), (ull)b->origin, (ull)b->seed, (ull)word, (ull)n, (ull)now,
                 (int)r.verdict, (ull)r.wait, (ull)r.remaining, (ull)r.reset, what);
}

static struct weir_policy any_policy(struct test_random *random)
{
    uint64_t kind = random_below(random, KINDS);
    const struct weir_policy *settings;
    size_t count = twin_settings(&settings);

    if (kind < KINDS - 1)
        return window_any_policy((enum window_algorithm)kind, random);
    return random_below(random, 4) == 0 ? settings[random_below(random, count)]
                                        : twin_random_setting(random);
}

static weir_ns span_of(const struct weir_policy *policy)
{
    if (policy->limit == WEIR_UNLIMITED || policy->kind == WEIR_CONCURRENCY)
        return WEIR_SECOND;
    if (policy->kind == WEIR_TOKEN_BUCKET)
        return twin_token_ns(policy);
    return policy->form == WEIR_FORM_CALENDAR ? WEIR_DAY : policy->period;
}

/* Opens a cell under some policy that is accepted. */
static void bench_open(struct bench *b, uint64_t seed, struct test_random *random)
{
    struct weir_policy policy;
    int rc;

    *b = (struct bench){.seed = seed};
    do {
        policy = any_policy(random);
        b->origin = random_below(random, 2) == 0 ? UNIX_2024 : random_magnitude(random, 61);
        rc = weir_meter_init(&b->meter, &policy, b->origin);
        if (rc != 0 && rc != -ERANGE)
            fail_msg("\"%s\": refused with %d", setting_text(b), rc);
    } while (rc != 0);
    b->span = span_of(&policy);
    b->most = policy.kind == WEIR_TOKEN_BUCKET ? policy.burst : policy.limit;
    if (policy.limit == WEIR_UNLIMITED)
        b->most = UINT64_MAX;
}

/* ---- any word ----------------------------------------------------------------------------- */

/* Bits at random, few of them, nearly none or nearly all, and near what a call would write. */
static uint64_t any_word(const struct bench *b, struct test_random *random)
{
    uint64_t word = random_u64(random);

    switch (random_below(random, 8)) {
    case 0:
        return random_below(random, 4);
    case 1:
        return UINT64_MAX - random_below(random, 4);
    case 2:
        return (uint64_t)1 << random_below(random, 64);
    case 3:
        return ~((uint64_t)1 << random_below(random, 64));
    case 4:
        return b->meter.mark | random_magnitude(random, 63);
    case 5:
        return b->meter.mark | (word & random_u64(random) & (UINT64_MAX >> 1));
    case 6:
        return b->cell.word ^ ((uint64_t)1 << random_below(random, 64));
    default:
        return word;
    }
}

static weir_ns any_now(const struct bench *b, struct test_random *random)
{
    static const weir_ns ends[] = {0, 1, INT64_MAX - 1, INT64_MAX, UINT64_MAX, UINT64_MAX - 1};

    switch (random_below(random, 4)) {
    case 0:
        return ends[random_below(random, sizeof ends / sizeof ends[0])];
    case 1:
        return random_magnitude(random, 64);
    default:
        return b->origin + random_magnitude(random, 60);
    }
}

static uint64_t any_count(const struct bench *b, struct test_random *random)
{
    switch (random_below(random, 6)) {
    case 0:
        return 0;
    case 1:
        return b->most;
    case 2:
        return random_magnitude(random, 64);
    case 3:
        return b->most == UINT64_MAX ? b->most : b->most + random_below(random, 2);
    default:
        return 1 + random_below(random, b->most / 4 + 1);
    }
}

static void check_ranges(const struct bench *b, uint64_t word, uint64_t n, weir_ns now,
                         weir_ns max_wait, struct weir_result r)
{
    bool counted = b->meter.policy.kind == WEIR_CONCURRENCY;

    require(b, r.verdict == WEIR_ALLOWED || r.verdict == WEIR_DENIED || r.verdict == WEIR_NEVER,
            "no such verdict", word, n, now, r);
    require(b, r.remaining <= b->most, "more remains than there can be", word, n, now, r);
    require(b, (r.verdict == WEIR_NEVER) == (n > b->most) || (counted && b->most == UINT64_MAX),
            "NEVER is for what is above the limit", word, n, now, r);
    if (r.verdict == WEIR_ALLOWED)
        require(b, r.wait <= max_wait && r.wait != WEIR_FOREVER, "waits longer than it may", word,
                n, now, r);
    if (r.verdict == WEIR_DENIED)
        require(b, r.wait > 0, "a refusal has nothing to wait for", word, n, now, r);
    if (r.verdict == WEIR_NEVER)
        require(b, r.wait == WEIR_FOREVER, "NEVER ends", word, n, now, r);
    if (r.verdict != WEIR_ALLOWED || n == 0)
        require(b, b->cell.word == word, "a refusal changed the word", word, n, now, r);
}

static void ask_any(struct bench *b, struct test_random *random)
{
    uint64_t n = any_count(b, random), word = b->cell.word, given;
    weir_ns now = any_now(b, random), max_wait = random_magnitude(random, 64);
    struct weir_reservation r;
    struct weir_result result;

    if (random_below(random, 3) == 0) {
        result = weir_cell_decide(&b->cell, &b->meter, n, now);
        check_ranges(b, word, n, now, 0, result);
        return;
    }
    max_wait = random_below(random, 4) == 0 ? WEIR_FOREVER : max_wait;
    result = weir_cell_reserve(&b->cell, &b->meter, n, now, max_wait, &r);
    check_ranges(b, word, n, now, max_wait, result);
    require(b, r.n == 0 || r.n == n, "a reservation of something else", word, n, now, result);
    if (random_below(random, 3) == 0)
        b->cell.word = any_word(b, random);
    word = b->cell.word;
    n = r.n;
    given = weir_cell_cancel(&b->cell, &b->meter, &r, any_now(b, random));
    require(b, given <= n, "gave back more than was taken", word, n, now, result);
    require(b, given > 0 || b->cell.word == word, "gave nothing back and wrote", word, n, now,
            result);
    require(b, weir_cell_cancel(&b->cell, &b->meter, &r, 0) == 0, "cancelled twice", word, n, now,
            result);
}

static void k04_k29_k34_any_word_is_read_as_something(void **state)
{
    struct test_random random = random_start("any word", 29);
    uint64_t rounds = random_scaled(40000);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t seed = random_u64(&random);
        struct test_random own = {seed};
        struct bench b;

        bench_open(&b, seed, &own);
        for (int j = 0; j < 50; j++) {
            if (random_below(&own, 3) != 0)
                b.cell.word = any_word(&b, &own);
            ask_any(&b, &own);
        }
    }
}

/* ---- words that were written -------------------------------------------------------------- */

static struct weir_result ask_a_copy(const struct bench *b, uint64_t n, weir_ns now)
{
    struct weir_cell copy = b->cell;

    return weir_cell_decide(&copy, &b->meter, n, now);
}

/* The same n is granted after `wait`, and not a nanosecond before. */
static void check_wait(const struct bench *b, uint64_t n, weir_ns now)
{
    struct weir_result r = ask_a_copy(b, n, now), then;

    if (r.verdict != WEIR_DENIED || r.wait > YEAR * 12)
        return;
    then = ask_a_copy(b, n, now + r.wait);
    require(b, then.verdict == WEIR_ALLOWED && then.wait == 0, "the wait was too short",
            b->cell.word, n, now, r);
    then = ask_a_copy(b, n, now + r.wait - 1);
    require(b, then.verdict == WEIR_DENIED && then.wait == 1, "the wait was too long", b->cell.word,
            n, now, r);
}

/* It is as if never used after `reset`, and not before; what remains can be had. */
static void check_reset(const struct bench *b, weir_ns now)
{
    struct weir_result r = ask_a_copy(b, 0, now), then;

    if (r.remaining > 0 && r.remaining < UINT64_MAX)
        require(b, ask_a_copy(b, r.remaining, now).verdict == WEIR_ALLOWED, "it was not there",
                b->cell.word, r.remaining, now, r);
    if (r.remaining < b->most)
        require(b, ask_a_copy(b, r.remaining + 1, now).verdict == WEIR_DENIED, "there was more",
                b->cell.word, r.remaining + 1, now, r);
    if (r.reset > YEAR * 12)
        return;
    then = ask_a_copy(b, 0, now + r.reset);
    require(b, then.verdict == WEIR_ALLOWED && then.remaining == b->most && then.reset == 0,
            "not reset by then", b->cell.word, 0, now, r);
    if (r.reset > 0)
        require(b, ask_a_copy(b, 0, now + r.reset - 1).reset == 1, "reset before", b->cell.word, 0,
                now, r);
}

static weir_ns step(const struct bench *b, struct test_random *random)
{
    switch (random_below(random, 4)) {
    case 0:
        return 0;
    case 1:
        return random_magnitude(random, 50) % (2 * b->span);
    default:
        return random_below(random, b->span / 4 + 2);
    }
}

static void use(struct bench *b, struct test_random *random)
{
    weir_ns now = b->origin + random_below(random, 5 * YEAR), latest = now + 5 * YEAR;
    struct weir_reservation r = {0};

    for (int i = 0; i < 40; i++) {
        weir_ns back = random_below(random, 6) == 0 ? random_below(random, b->span) : 0;
        weir_ns at = now, max_wait;
        uint64_t n = b->most == UINT64_MAX ? random_below(random, 9) : any_count(b, random);

        if (at - b->origin >= back)
            at -= back;
        check_wait(b, n, at);
        check_reset(b, at);
        max_wait = random_below(random, 2) == 0 ? 0 : 2 * b->span;
        if (random_below(random, 4) == 0) {
            (void)weir_cell_cancel(&b->cell, &b->meter, &r, at);
        } else {
            struct weir_result result = weir_cell_reserve(&b->cell, &b->meter, n, at, max_wait, &r);

            require(b, result.verdict != WEIR_ALLOWED || result.wait <= max_wait,
                    "waits longer than it may", b->cell.word, n, at, result);
        }
        if (now < latest)
            now += step(b, random);
    }
}

static void k10_waits_and_resets_are_exact(void **state)
{
    struct test_random random = random_start("written words", 10);
    uint64_t rounds = random_scaled(20000);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t seed = random_u64(&random);
        struct test_random own = {seed};
        struct bench b;

        bench_open(&b, seed, &own);
        use(&b, &own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k04_k29_k34_any_word_is_read_as_something),
        cmocka_unit_test(k10_waits_and_resets_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
