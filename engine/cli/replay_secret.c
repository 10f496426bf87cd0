/* SPDX-License-Identifier: MIT */
/* The secret of every engine that the command opens. */
#include "replay_secret.h"

#include <stddef.h>

#define SECRET_SIZE 192
#define SECRET_SEED UINT64_C(0x77656972)

const uint8_t *replay_secret(void)
{
    static uint8_t secret[SECRET_SIZE];
    uint64_t state = SECRET_SEED;
    for (size_t i = 0; i < SECRET_SIZE; i += 8) {
        uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        for (size_t byte = 0; byte < 8; byte++)
            secret[i + byte] = (uint8_t)(z >> (8 * byte));
    }
    return secret;
}
