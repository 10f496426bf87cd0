/* SPDX-License-Identifier: MIT */
/*
 * The public header as the engine includes it: everything is compiled with -fvisibility=hidden,
 * what stands between push and pop is visible to the version script (engine/weir.map).
 *
 * Include this instead of <weir/weir.h>, and first: a declaration seen before is hidden for good.
 */
#ifndef WEIR_EXPORT_H
#define WEIR_EXPORT_H

#pragma GCC visibility push(default)
#include <weir/weir.h> /* IWYU pragma: export */
#pragma GCC visibility pop

#endif
