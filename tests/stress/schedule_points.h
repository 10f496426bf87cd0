/* SPDX-License-Identifier: MIT */
/*
 * Included ahead of every engine source when the engine is built for schedules (schedule.h): each
 * access to memory that threads share is a point at which the caller may be made to wait.
 *
 * The engine's text is what ships. The statistics are left out (counters.h comes before the
 * macros): fibers of one thread share its counters.
 */
#ifndef WEIR_TESTS_SCHEDULE_POINTS_H
#define WEIR_TESTS_SCHEDULE_POINTS_H

#include "atomic.h"
#include "counters.h"

void schedule_point(void);

#define weir_load_relaxed(a)      (schedule_point(), (weir_load_relaxed)(a))
#define weir_store_relaxed(a, n)  (schedule_point(), (weir_store_relaxed)(a, n))
#define weir_add_relaxed(a, n)    (schedule_point(), (weir_add_relaxed)(a, n))
#define weir_and_relaxed(a, n)    (schedule_point(), (weir_and_relaxed)(a, n))
#define weir_max_relaxed(a, n)    (schedule_point(), (weir_max_relaxed)(a, n))
#define weir_cas_relaxed(a, e, n) (schedule_point(), (weir_cas_relaxed)(a, e, n))
#define weir_add_release(a, n)    (schedule_point(), (weir_add_release)(a, n))
#define weir_max_release(a, n)    (schedule_point(), (weir_max_release)(a, n))
#define weir_load_acquire(a)      (schedule_point(), (weir_load_acquire)(a))
#define weir_or_acq_rel(a, n)     (schedule_point(), (weir_or_acq_rel)(a, n))
#define weir_cas_acq_rel(a, e, n) (schedule_point(), (weir_cas_acq_rel)(a, e, n))

#endif
