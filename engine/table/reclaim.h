/* SPDX-License-Identifier: MIT */
/*
 * Retirement: arrays that no new call can reach are freed once no call under way can.
 *
 * By liburcu's call_rcu: its one thread waits for grace periods, clears the memory and gives it
 * back to the arena. The thread is started by the first retirement, with all signals blocked.
 * Retiring never waits for a reader; a reader that never comes forward delays the freeing of memory
 * and nothing else.
 */
#ifndef WEIR_TABLE_RECLAIM_H
#define WEIR_TABLE_RECLAIM_H

#include "table/table.h"

/* The array was unlinked, or never published. Inside a read section or outside. Keeps errno. */
void weir_retire(struct weir_table *t, struct weir_array *a);

/* Waits until all that was retired is freed. Not from inside a read section. Keeps errno. */
void weir_retire_wait(const struct weir_table *t);

/* Whether so much waits for readers that the table must not grow by more. */
bool weir_retire_is_behind(const struct weir_table *t);

/*
 * Around a fork: the first waits for read sections and grace periods under way, and stops the
 * thread; the second lets it go on, or starts another one in the child. Between the two retiring
 * and reading go on; a thread's first section waits.
 */
void weir_retire_before_fork(void);
void weir_retire_after_fork(bool child);

#endif
