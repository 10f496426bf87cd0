/* SPDX-License-Identifier: MIT */
/*
 * Assertions: what can only be wrong by a fault of weir's own, in builds without NDEBUG.
 *
 * What a caller can do wrong is never asserted but refused, in every build. A release build of the
 * library thus never aborts its host.
 */
#ifndef WEIR_CHECK_H
#define WEIR_CHECK_H

#include <assert.h>

#define weir_assert(condition) assert(condition)

#endif
