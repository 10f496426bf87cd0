/* SPDX-License-Identifier: MIT */
/*
 * Points before each access to shared memory, of an engine built with schedule_points.h, at which
 * threads of a soak lose time: what takes a few nanoseconds in the engine that ships is as likely
 * to be interrupted there as anything else. What fibers do in a way of their own, threads do as the
 * engine that ships does.
 */
#include "schedule_points.h"

#include <sched.h>

/* Of 1024 points so many take a while, up to 128 stalls (3 us), and one gives the core away. */
#define SLOW_OF_1024 24
#define STALLS       128

void schedule_point(void)
{
    static struct weir_atomic_u64 threads;
    static _Thread_local uint64_t state;
    if (state == 0)
        state = ((weir_add_relaxed)(&threads, 1) + 1) * 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    uint64_t dice = state % 1024;
    if (dice == 0)
        sched_yield();
    else if (dice <= SLOW_OF_1024)
        for (uint64_t i = state / 1024 % STALLS; i > 0; i--)
            ck_pr_stall();
}

void schedule_pause(void)
{
    schedule_point();
    ck_pr_stall();
}

int schedule_lock(pthread_mutex_t *lock)
{
    return (pthread_mutex_lock)(lock);
}

void schedule_section_begin(void)
{
    (urcu_bp_read_lock)();
}

void schedule_section_end(void)
{
    (urcu_bp_read_unlock)();
}

void schedule_grace_period(void)
{
    (urcu_bp_synchronize_rcu)();
}

void schedule_retire(struct rcu_head *head, void (*free_it)(struct rcu_head *head))
{
    (urcu_bp_call_rcu)(head, free_it);
}

void schedule_retire_wait(void)
{
    (urcu_bp_barrier)();
}
