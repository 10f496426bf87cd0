/* SPDX-License-Identifier: MIT */
/*
 * For the memory sanitizer, which takes memory as uninitialised that code without it has written:
 * marks what the C library's trees and liburcu hand over. Included on the compiler's command line,
 * before each source: see sanitize_memory in .ci/sanitizers.sh.
 */
#ifndef WEIR_TESTS_OUTSIDE_H
#define WEIR_TESTS_OUTSIDE_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <urcu/urcu-bp.h>
#pragma GCC diagnostic pop

#include <ftw.h>
#include <sanitizer/msan_interface.h>

/* As <search.h> has it, whose other names would be in the way. */
extern void *tfind(const void *key, void *const *root, int (*compare)(const void *, const void *));

/* A node's first word is the key; tdelete moves keys between nodes. */
static inline void *outside_tfind(const void *key, void *const *root,
                                  int (*compare)(const void *, const void *))
{
    void *node = tfind(key, root, compare);
    if (node != NULL)
        __msan_unpoison(node, sizeof(void *));
    return node;
}

/* liburcu saves the signal mask on a stack of its own. */
static inline void outside_before_fork(void)
{
    __msan_scoped_disable_interceptor_checks();
    urcu_bp_before_fork();
    __msan_scoped_enable_interceptor_checks();
}

static inline void outside_after_fork_parent(void)
{
    __msan_scoped_disable_interceptor_checks();
    urcu_bp_after_fork_parent();
    __msan_scoped_enable_interceptor_checks();
}

static inline void outside_after_fork_child(void)
{
    __msan_scoped_disable_interceptor_checks();
    urcu_bp_after_fork_child();
    __msan_scoped_enable_interceptor_checks();
}

/* Paths of a walk through folders: one walk at a time. */
static __nftw_func_t outside_visit;

static inline int outside_visit_path(const char *path, const struct stat *status, int flag,
                                     struct FTW *place)
{
    __msan_unpoison_string(path);
    __msan_unpoison(place, sizeof *place);
    return outside_visit(path, status, flag, place);
}

static inline int outside_nftw(const char *folder, __nftw_func_t visit, int descriptors, int flags)
{
    outside_visit = visit;
    return nftw(folder, outside_visit_path, descriptors, flags);
}

#define tfind                     outside_tfind
#define urcu_bp_before_fork       outside_before_fork
#define urcu_bp_after_fork_parent outside_after_fork_parent
#define urcu_bp_after_fork_child  outside_after_fork_child
#define nftw                      outside_nftw

#endif
