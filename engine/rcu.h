/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update as the engine uses it: liburcu's "bulletproof" flavour, which asks nothing of
 * the host's threads.
 *
 * The read side is inlined; it is what liburcu's static header offers to code of any licence
 * (functions of at most ten lines), and this library is compatible with LGPL code anyway. Under
 * sanitizers liburcu's own functions are called instead: its per-thread records are not aligned as
 * their type asks for (0.13.2), which only the undefined behaviour sanitizer minds. Its inline
 * assembly is invisible to the thread sanitizer, so a grace period is annotated: what a reader did
 * before its section ended happens before what follows a grace period.
 */
#ifndef WEIR_RCU_H
#define WEIR_RCU_H

#if defined(__SANITIZE_THREAD__)
#define WEIR_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer) ||             \
    __has_feature(memory_sanitizer)
#define WEIR_RCU_OUTSIDE 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(WEIR_THREAD_SANITIZER)
#define WEIR_RCU_OUTSIDE 1
#endif

#if !defined(WEIR_RCU_OUTSIDE) && !defined(_LGPL_SOURCE)
#define _LGPL_SOURCE /* inlines urcu_bp_read_lock and urcu_bp_read_unlock */
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <urcu/urcu-bp.h>
#pragma GCC diagnostic pop

#ifdef WEIR_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#define WEIR_GRACE_ANCHOR ((void *)&urcu_bp_synchronize_rcu)
#endif

/* Registers the calling thread, as its first section would. */
static inline void weir_read_register(void)
{
    urcu_bp_register_thread();
}

static inline void weir_read_begin(void)
{
    urcu_bp_read_lock();
}

static inline void weir_read_end(void)
{
#ifdef WEIR_THREAD_SANITIZER
    __tsan_release(WEIR_GRACE_ANCHOR);
#endif
    urcu_bp_read_unlock();
}

/* Waits until every section that runs now has ended. Not from inside one. */
static inline void weir_grace_period(void)
{
    urcu_bp_synchronize_rcu();
#ifdef WEIR_THREAD_SANITIZER
    __tsan_acquire(WEIR_GRACE_ANCHOR);
#endif
}

#endif
