/* SPDX-License-Identifier: MIT */
/*
 * Included ahead of every engine source when the engine is built for schedules (schedule.h): each
 * access to memory that threads share is a point at which the caller may be made to wait, and where
 * the engine itself waits, for a lock, a grace period or somebody else's step, others go on.
 *
 * The engine's text is what ships. The statistics are left out (counters.h comes before the
 * macros): fibers of one thread share its counters.
 */
#ifndef WEIR_TESTS_SCHEDULE_POINTS_H
#define WEIR_TESTS_SCHEDULE_POINTS_H

#include "atomic.h"
#include "counters.h"

#include <pthread.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <urcu/urcu-bp.h>
#pragma GCC diagnostic pop

void schedule_point(void);
void schedule_pause(void);
int schedule_lock(pthread_mutex_t *lock);
void schedule_section_begin(void);
void schedule_section_end(void);
void schedule_grace_period(void);
void schedule_retire(struct rcu_head *head, void (*free_it)(struct rcu_head *head));
void schedule_retire_wait(void);

#define weir_load_relaxed(a)      (schedule_point(), (weir_load_relaxed)(a))
#define weir_store_relaxed(a, n)  (schedule_point(), (weir_store_relaxed)(a, n))
#define weir_store_release(a, n)  (schedule_point(), (weir_store_release)(a, n))
#define weir_add_relaxed(a, n)    (schedule_point(), (weir_add_relaxed)(a, n))
#define weir_and_relaxed(a, n)    (schedule_point(), (weir_and_relaxed)(a, n))
#define weir_max_relaxed(a, n)    (schedule_point(), (weir_max_relaxed)(a, n))
#define weir_cas_relaxed(a, e, n) (schedule_point(), (weir_cas_relaxed)(a, e, n))
#define weir_add_release(a, n)    (schedule_point(), (weir_add_release)(a, n))
#define weir_max_release(a, n)    (schedule_point(), (weir_max_release)(a, n))
#define weir_load_acquire(a)      (schedule_point(), (weir_load_acquire)(a))
#define weir_add_acq_rel(a, n)    (schedule_point(), (weir_add_acq_rel)(a, n))
#define weir_or_acq_rel(a, n)     (schedule_point(), (weir_or_acq_rel)(a, n))
#define weir_cas_acq_rel(a, e, n) (schedule_point(), (weir_cas_acq_rel)(a, e, n))
#define weir_pause(losses)        (schedule_pause(), (void)++*(losses))

#undef weir_pointer_load_acquire
#undef weir_pointer_store_release
#undef weir_pointer_exchange_acq_rel
#undef weir_pointer_cas_acq_rel
#define weir_pointer_load_acquire(slot)                                                            \
    (schedule_point(), __atomic_load_n((slot), __ATOMIC_ACQUIRE))
#define weir_pointer_store_release(slot, value)                                                    \
    (schedule_point(), __atomic_store_n((slot), (value), __ATOMIC_RELEASE))
#define weir_pointer_exchange_acq_rel(slot, value)                                                 \
    (schedule_point(), __atomic_exchange_n((slot), (value), __ATOMIC_ACQ_REL))
#define weir_pointer_cas_acq_rel(slot, expected, desired)                                          \
    (schedule_point(), __atomic_compare_exchange_n((slot), (expected), (desired), false,           \
                                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))

#define pthread_mutex_lock(lock)    schedule_lock(lock)
#define pthread_mutex_trylock(lock) (schedule_point(), (pthread_mutex_trylock)(lock))

/* Sections and grace periods of fibers instead of threads. */
#undef urcu_bp_read_lock
#undef urcu_bp_read_unlock
#define urcu_bp_read_lock()                 schedule_section_begin()
#define urcu_bp_read_unlock()               schedule_section_end()
#define urcu_bp_synchronize_rcu()           schedule_grace_period()
#define urcu_bp_call_rcu(head, free_it)     schedule_retire(head, free_it)
#define urcu_bp_barrier()                   schedule_retire_wait()
#define urcu_bp_get_default_call_rcu_data() ((void)0)

#endif
