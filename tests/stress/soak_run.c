/* SPDX-License-Identifier: MIT */
/* How the threads of a soak are run. */
#include "soak.h"

#include <unistd.h>

struct pinned {
    void (*body)(void *, unsigned);
    void *context;
    unsigned cores;
    bool pins;
};

static unsigned cores(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 1 ? (unsigned)count : 1;
}

unsigned soak_threads(uint64_t seed, unsigned most)
{
    const unsigned counts[] = {2, 4, 8, cores() > 2 ? cores() : 2};
    unsigned threads = counts[seed % 4];
    return threads < most ? threads : most;
}

static void play(void *context, unsigned index)
{
    const struct pinned *p = context;
    if (p->pins) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(index % p->cores, &set);
        (void)sched_setaffinity(0, sizeof set, &set); /* refused where only some are ours */
    }
    p->body(p->context, index);
}

void soak_run(uint64_t seed, unsigned threads, unsigned stopped_of_8,
              void (*body)(void *, unsigned), void *context)
{
    struct test_random random = {seed};
    uint64_t dice = random_u64(&random);
    struct pinned p = {body, context, cores(), dice % 4 == 0};
    stress_stop_for(dice / 4 % 4 == 0 ? 30 * WEIR_MILLISECOND : 0);
    if (dice / 16 % 8 >= stopped_of_8)
        run_crew(threads, play, &p);
    else
        stress_run(threads, play, &p);
}

void soak_barrier_wait(struct soak_barrier *b)
{
    unsigned turn = b->turns;
    if (++b->arrived == b->threads) {
        b->arrived = 0;
        b->turns = turn + 1;
        return;
    }
    for (unsigned tries = 0; b->turns == turn; tries++) {
        if (tries > 100)
            sched_yield();
        else
            ck_pr_stall();
    }
}

void soak_dither(struct test_random *random)
{
    uint64_t dice = random_u64(random);
    if (dice % 64 == 0)
        sched_yield();
    else if (dice % 4 == 0)
        for (uint64_t i = dice / 64 % 256; i > 0; i--)
            ck_pr_stall();
}
