/* SPDX-License-Identifier: MIT */
/*
 * Forks: the engines that are open, so that a child finds its copies of them whole.
 */
#ifndef WEIR_FORK_H
#define WEIR_FORK_H

#include "limiter.h"

/* From now on a fork takes care of the engine. 0, or -ENOMEM. */
int weir_fork_watch(struct weir *w);

/* Not any more. Waits for a fork under way. */
void weir_fork_unwatch(struct weir *w);

#endif
