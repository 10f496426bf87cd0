/* SPDX-License-Identifier: MIT */
/*
 * Assertions under the model checker: stands in for engine/check.h.
 */
#ifndef WEIR_CHECK_H
#define WEIR_CHECK_H

#include <relacy/relacy.hpp>

#define weir_assert(condition) RL_ASSERT(condition)

#endif
