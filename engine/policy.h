/* SPDX-License-Identifier: MIT */
/*
 * Policies inside the library: checked and made ready in one place for cells and limits.
 */
#ifndef WEIR_POLICY_H
#define WEIR_POLICY_H

#include "export.h"

/*
 * Whether a policy's fields are such that it has a meaning and a text: its kind and form exist, a
 * rate has a period, a pacer holds at least one token and has no tick, reserved words are 0.
 */
bool weir_policy_is_valid(const struct weir_policy *policy);

/*
 * Clears the meter and fills all of it but mark, span, origin and elapsed_max. 0, -EINVAL (a field
 * that no policy can have), -ERANGE (cannot be kept exactly).
 */
int weir_policy_prepare(struct weir_meter *m, const struct weir_policy *policy);

#endif
