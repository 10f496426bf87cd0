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

#include <stdbool.h>
#include <stddef.h>

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
#include <urcu/tls-compat.h>
#include <urcu/urcu-bp.h>
#pragma GCC diagnostic pop

#ifdef WEIR_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#define WEIR_GRACE_ANCHOR ((void *)&urcu_bp_synchronize_rcu)
#endif

/* Not NULL: the calling thread is registered. liburcu exports it for its inlined read side. */
struct urcu_bp_reader;
extern DECLARE_URCU_TLS(struct urcu_bp_reader *, urcu_bp_reader);

/* Registers the calling thread, as liburcu does in a first section, but errno stays, and not in the
   middle of a fork: table/reclaim.c. */
void weir_read_register(void);

static inline void weir_read_begin(void)
{
    if (__builtin_expect(URCU_TLS(urcu_bp_reader) == NULL, 0))
        weir_read_register();
    urcu_bp_read_lock();
}

static inline void weir_read_end(void)
{
#ifdef WEIR_THREAD_SANITIZER
    __tsan_release(WEIR_GRACE_ANCHOR);
#endif
    urcu_bp_read_unlock();
}

/*
 * The same pair, where weir_read_is_quick, for threads that are registered and not in a section:
 * true, and *mark is for the end. It is liburcu's own read side, shorter: see quick.c for why that
 * counts. False: no section was entered.
 */
#if defined(WEIR_RCU_OUTSIDE)
typedef int weir_read_mark;
static inline bool weir_read_is_quick(void)
{
    return true;
}

static inline bool weir_read_begin_quickly(weir_read_mark *mark)
{
    *mark = 0;
    weir_read_begin();
    return true;
}

static inline void weir_read_end_quickly(weir_read_mark mark)
{
    (void)mark;
    weir_read_end();
}
#else
typedef struct urcu_bp_reader *weir_read_mark;

/* The kernel has membarrier: liburcu found out before main. */
static inline bool weir_read_is_quick(void)
{
    return urcu_bp_has_sys_membarrier != 0;
}

static inline bool weir_read_begin_quickly(weir_read_mark *mark)
{
    struct urcu_bp_reader *reader = URCU_TLS(urcu_bp_reader);
    if (__builtin_expect(reader == NULL, 0) ||
        __builtin_expect((reader->ctr & URCU_BP_GP_CTR_NEST_MASK) != 0, 0))
        return false;
    _CMM_STORE_SHARED(reader->ctr, CMM_LOAD_SHARED(urcu_bp_gp.ctr));
    cmm_barrier(); /* pairs with the membarrier of a grace period */
    *mark = reader;
    return true;
}

static inline void weir_read_end_quickly(weir_read_mark reader)
{
    cmm_barrier();                     /* the same */
    _CMM_STORE_SHARED(reader->ctr, 0); /* its phase counts inside only */
    cmm_barrier();
}
#endif

/* Says that all sections of the time have ended: after a grace period that liburcu waited for. */
static inline void weir_grace_period_passed(void)
{
#ifdef WEIR_THREAD_SANITIZER
    __tsan_acquire(WEIR_GRACE_ANCHOR);
#endif
}

/* Waits until every section that runs now has ended. Not from inside one. */
static inline void weir_grace_period(void)
{
    urcu_bp_synchronize_rcu();
    weir_grace_period_passed();
}

#endif
