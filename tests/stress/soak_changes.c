/* SPDX-License-Identifier: MIT */
/* The soak's limits that change beside decisions: nothing is minted or lost. */
#include "changes.h"
#include "soak.h"

#include <errno.h>

static struct soak_barrier started;
static int filler;
static _Atomic uint64_t fillers;

/* A key of another limit, which makes the table grow, and is left behind by the next move. */
static void fill(struct run *r)
{
    weir_key key = weir_key_u64(r->w, ((uint64_t)1 << 32) + fillers++);
    (void)SOAK_TIMED(SOAK_ALLOW, weir_allow(r->w, filler, key, 1, T0));
    expect(&r->wrong, SOAK_TIMED(SOAK_FORGET, weir_forget(r->w, filler, key)) == 0);
}

/* The first threads change the limit, which sweeps the table now and then, the others take and give
   back, while the keys move. */
static void change_or_take(void *context, unsigned index)
{
    struct run *r = context;
    struct test_random random = {r->seed + index};
    soak_barrier_wait(&started);
    for (unsigned i = 0; index < r->setters && i < r->changes; i++) {
        uint64_t capacity = LEAST + random_below(&random, MOST - LEAST + 1);
        struct weir_policy policy =
            policy_of(r->kind, capacity, (unsigned)random_below(&random, 12));
        expect(&r->wrong,
               SOAK_TIMED(SOAK_SET_LIMIT, weir_set_limit(r->w, r->limit, &policy, T0)) == 0);
        if (i % 4 == 3) {
            weir_sweep(r->w, 2);
            soak_count(SOAK_SWEEPS, 1);
        }
        if (i % 32 == 31) {
            int trimmed = SOAK_TIMED(SOAK_TRIM, weir_trim(r->w, T0));
            expect(&r->wrong, trimmed == 0 || trimmed == -ENOMEM);
        }
        pace(&r->calls, i);
    }
    if (index < r->setters)
        weir_add_relaxed(&r->over, 1);
    while (index >= r->setters && !is_over(r)) {
        take_and_give(r, random_u64(&random));
        fill(r);
        soak_dither(&random);
    }
}

void soak_changes(uint64_t seed)
{
    struct test_random random = {seed};
    struct run r;
    struct weir_policy last;
    unsigned threads = soak_threads(random_u64(&random), THREADS);
    start_run(&r, (unsigned)random_below(&random, KINDS), threads > 2 && seed % 2 == 0 ? 2U : 1U,
              seed);
    r.changes = (unsigned)random_scaled(150);
    filler = add_limit(r.w, "b", weir_token_bucket(1, SEC, 1));
    started = (struct soak_barrier){.threads = threads};
    soak_run(seed, threads, SOAK_STOPPED_MOSTLY, change_or_take, &r);
    assert_int_equal(weir_get_limit(r.w, r.limit, &last), 0);
    uint64_t capacity = r.kind <= REFILL ? last.burst : last.limit;
    for (unsigned k = 0; k < KEYS; k++) {
        weir_key key = weir_key_u64(r.w, k);
        uint64_t out = weir_load_relaxed(&r.taken[k]) - weir_load_relaxed(&r.given[k]);
        uint64_t left = weir_peek(r.w, r.limit, key, 1, T0).remaining;
        uint64_t used = MOST - START + out;
        uint64_t want = r.kind <= REFILL ? START - out : used < capacity ? capacity - used : 0;
        if (left != want)
            fail_msg("%s: %llu left, not %llu", names[r.kind], (ull)left, (ull)want);
    }
    soak_note(r.w);
    end_run(&r);
}
