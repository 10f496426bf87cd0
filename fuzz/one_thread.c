/* SPDX-License-Identifier: MIT */
/* An engine in a process of one thread: see one_thread.h. */
#include "one_thread.h"

#include <stddef.h>
#include <stdlib.h>

#include <urcu/urcu-bp.h>

/* ---- liburcu ------------------------------------------------------------------------------ */

static struct rcu_head *retired;

/* The one thread is in no section when it waits for the end of all. */
void urcu_bp_synchronize_rcu(void)
{
}

void urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
    head->func = func;
    head->next.next = (struct cds_wfcq_node *)retired;
    retired = head;
}

void urcu_bp_barrier(void)
{
    one_thread_reclaim();
}

struct call_rcu_data *urcu_bp_get_default_call_rcu_data(void)
{
    return NULL;
}

void one_thread_reclaim(void)
{
    while (retired != NULL) {
        struct rcu_head *head = retired;

        retired = (struct rcu_head *)head->next.next;
        head->func(head);
    }
}

/* ---- allocations -------------------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static uint64_t left = UINT64_MAX; /* before one fails; UINT64_MAX: none does */

static bool fails(void)
{
    if (left == UINT64_MAX)
        return false;
    if (left > 0) {
        left--;
        return false;
    }
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

void one_thread_fail_from(uint64_t nth)
{
    left = nth;
}

void one_thread_fail_no_more(void)
{
    left = UINT64_MAX;
}
