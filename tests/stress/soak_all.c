/* SPDX-License-Identifier: MIT */
/* The soak's several limits, all or none: what was granted is gone, what was refused is there. */
#include "all_or_none.h"
#include "soak.h"

#include <errno.h>
#include <stdatomic.h>

#define CAPACITY 12 /* so few that most calls take something in vain */
#define ENTRIES  5

struct crowd {
    struct world v;
    unsigned calls;
    uint64_t seed;
    _Atomic uint64_t taken[KINDS][KEYS]; /* by calls that were granted; at most what is out */
    struct weir_atomic_u64 wrong, granted, refused;
};

/* What a thread asks for. */
struct wish {
    struct weir_request requests[ENTRIES];
    unsigned kinds[ENTRIES], keys[ENTRIES];
    size_t count;
};

/* The line of the first that does not hold is kept. */
#define expect(c, holds) ((holds) ? (void)0 : complain((c), __LINE__))

static void complain(struct crowd *c, unsigned line)
{
    uint64_t none = 0;
    (void)weir_cas_relaxed(&c->wrong, &none, line);
}

static void make_wish(struct crowd *c, struct test_random *random, struct wish *wish)
{
    wish->count = 1 + random_below(random, ENTRIES);
    for (size_t i = 0; i < wish->count; i++) {
        uint64_t dice = random_u64(random);
        unsigned kind = wish->kinds[i] = (unsigned)(dice % UNLIMITED);
        unsigned k = wish->keys[i] = (unsigned)(dice >> 8) % KEYS;
        wish->requests[i] = (struct weir_request){c->v.ids[kind], key_of(k), (dice >> 16) % 5};
    }
}

/* Until it is given back, what was granted counts against the capacity. */
static void ask(struct crowd *c, const struct wish *wish, bool gives_back)
{
    struct weir_result result = {WEIR_INVALID, 0, 0, 0};
    int index =
        SOAK_TIMED(SOAK_ALL, weir_decide_all(c->v.w, wish->requests, wish->count, T0, 0, &result));
    expect(c, (index < 0) == (result.verdict == WEIR_ALLOWED) && index < (int)wish->count);
    weir_add_relaxed(index < 0 ? &c->granted : &c->refused, 1);
    for (size_t i = 0; index < 0 && i < wish->count; i++) {
        uint64_t n = wish->requests[i].n;
        uint64_t taken = atomic_fetch_add(&c->taken[wish->kinds[i]][wish->keys[i]], n);
        expect(c, taken + n <= CAPACITY);
    }
    for (size_t i = 0; index < 0 && gives_back && i < wish->count; i++) {
        const struct weir_request *r = &wish->requests[i];
        c->taken[wish->kinds[i]][wish->keys[i]] -= r->n;
        expect(c, SOAK_TIMED(SOAK_REFUND, weir_refund(c->v.w, r->limit, r->key, r->n, T0)) == r->n);
    }
}

static void ask_all(void *context, unsigned index)
{
    struct crowd *c = context;
    struct test_random random = {c->seed + index};
    for (unsigned i = 0; i < c->calls; i++) {
        struct wish wish;
        make_wish(c, &random, &wish);
        ask(c, &wish, random_below(&random, 1000) < 998);
        if (index == 0 && i % 512 == 511) {
            int trimmed = SOAK_TIMED(SOAK_TRIM, weir_trim(c->v.w, T0));
            expect(c, trimmed == 0 || trimmed == -ENOMEM);
        }
        soak_dither(&random);
    }
}

void soak_all(uint64_t seed)
{
    static struct crowd c;
    struct test_random random = {seed};
    struct world twin;
    unsigned threads = soak_threads(random_u64(&random), THREADS);
    memset(&c, 0, sizeof c);
    c.seed = seed;
    c.calls = (unsigned)(random_scaled(16000) / threads);
    open_world(&c.v, CAPACITY);
    open_world(&twin, CAPACITY);
    soak_run(seed, threads, SOAK_STOPPED_MOSTLY, ask_all, &c);
    if (weir_load_relaxed(&c.wrong) != 0)
        fail_msg("line %llu does not hold", (ull)weir_load_relaxed(&c.wrong));
    /* every key is as if there had been only the calls that were granted */
    for (unsigned kind = 0; kind < UNLIMITED; kind++) {
        for (unsigned k = 0; k < KEYS; k++) {
            uint64_t taken = c.taken[kind][k];
            assert_int_equal(weir_peek(c.v.w, c.v.ids[kind], key_of(k), 1, T0).remaining,
                             CAPACITY - taken);
            assert_int_equal(weir_take(twin.w, twin.ids[kind], key_of(k), taken, T0), taken);
        }
    }
    assert_same_keys(&c.v, &twin);
    assert_true(stress_table_is_sound(c.v.w));
    assert_true(weir_load_relaxed(&c.granted) > 0);
    soak_count(SOAK_REFUSED, weir_load_relaxed(&c.refused));
    soak_note(c.v.w);
    weir_close(twin.w);
    weir_close(c.v.w);
}
