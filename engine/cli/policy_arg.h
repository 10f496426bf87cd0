/* SPDX-License-Identifier: MIT */
/* A policy given on the command line. */
#ifndef WEIR_CLI_POLICY_ARG_H
#define WEIR_CLI_POLICY_ARG_H

#include "text.h"

#include <weir/weir.h>

/*
 * Reads a policy that an engine takes. False after a message on stderr: a line that says what is
 * wrong or what was expected, and where the text does not parse, the text and a caret under the
 * place. `what` begins
 * the line, as "--limit: ".
 */
bool policy_arg_read(const char *what, const char *text, struct weir_policy *out);

/* The canonical text of a policy that was read. */
void policy_arg_put(struct text *t, const struct weir_policy *policy);

#endif
