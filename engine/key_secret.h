/* SPDX-License-Identifier: MIT */
/*
 * One secret per name space of keys, out of the one that an engine is opened with.
 */
#ifndef WEIR_KEY_SECRET_H
#define WEIR_KEY_SECRET_H

#include "limiter.h"

void weir_key_secrets(struct weir *w, const uint8_t secret[WEIR_SECRET_SIZE]);

#endif
