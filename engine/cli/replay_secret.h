/* SPDX-License-Identifier: MIT */
/* The secret of every engine that the command opens. */
#ifndef WEIR_CLI_REPLAY_SECRET_H
#define WEIR_CLI_REPLAY_SECRET_H

#include <stdint.h>

/*
 * 192 bytes of splitmix64 from the seed 0x77656972. Fixed, so that a replay can be repeated to the
 * last number; what that gives away is in weir(1), CAVEATS.
 */
const uint8_t *replay_secret(void);

#endif
