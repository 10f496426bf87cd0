/* SPDX-License-Identifier: MIT */
/*
 * Policies inside the library: checked and made ready in one place for cells and limits.
 */
#ifndef WEIR_POLICY_H
#define WEIR_POLICY_H

#include "export.h"

/*
 * Clears the meter and fills all of it but mark, span, origin and elapsed_max. 0, -EINVAL (a field
 * that no policy can have), -ERANGE (cannot be kept exactly).
 */
int weir_policy_prepare(struct weir_meter *m, const struct weir_policy *policy);

#endif
