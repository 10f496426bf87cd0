/* SPDX-License-Identifier: MIT */
/*
 * Policies inside the library: checked and made ready in one place for cells and limits.
 */
#ifndef WEIR_POLICY_H
#define WEIR_POLICY_H

#include "export.h"

#include "algorithm/operation.h"

/*
 * Whether a policy's fields are such that it has a meaning and a text: its kind has its form, a
 * rate or a window has a period (calendar windows a unit and a zone's name instead), a pacer holds
 * at least one token and has no tick, an offset is at most a day, and what the kind and form do not
 * use is 0, reserved words and the bytes behind a zone's name included. Of an unlimited one the
 * kind, the form and the reserved words matter alone; concurrency is as usual.
 */
bool weir_policy_is_valid(const struct weir_policy *policy);

/* Of two valid policies: whether they admit the same by the same rules. Unlimited ones of a kind
   do, whatever else they say. */
bool weir_policy_is_equal(const struct weir_policy *a, const struct weir_policy *b);

/*
 * Where a zone's name of `size` bytes goes wrong, `size` when it does not: the first byte that is
 * none of A-Z a-z 0-9 _ + - . / or that is one too many, a leading "/", a component "..".
 */
size_t weir_policy_zone_fault(const char *name, size_t size);

/*
 * Clears the meter and fills all of it but mark, origin and elapsed_max. 0, -EINVAL (a field that
 * no policy can have, a zone's file that is none), -ERANGE (cannot be kept exactly), -ENOENT
 * (unknown zone), -ENOMEM, -EIO (of the zone).
 */
int weir_policy_prepare(struct weir_meter *m, const struct weir_policy *policy,
                        const struct weir_room *room);

#endif
