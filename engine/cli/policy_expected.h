/* SPDX-License-Identifier: MIT */
/* What a policy's text should have had where it stopped being one. */
#ifndef WEIR_CLI_POLICY_EXPECTED_H
#define WEIR_CLI_POLICY_EXPECTED_H

#include <stddef.h>

/* "a whole count": of a text that weir_policy_parse refused with -EINVAL at `at`. */
const char *policy_expected(const char *text, size_t at);

#endif
