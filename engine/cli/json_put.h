/* SPDX-License-Identifier: MIT */
/* Building JSON to print; without memory the command ends. */
#ifndef WEIR_CLI_JSON_PUT_H
#define WEIR_CLI_JSON_PUT_H

#include "text.h"

#include <jansson.h>

/* Both take over `value`. */
void json_put(json_t *object, const char *name, json_t *value);
void json_put_last(json_t *array, json_t *value);

/* A count; above 2^63-1, which JSON readers do not hold exactly anyway, as a real number. */
json_t *json_count(uint64_t value);

/* The text, which is freed. It must be UTF-8. */
json_t *json_text(struct text *t);

/* On stdout; the object is freed. A stdout that fails shows in cli_finish_output. */
void json_print(json_t *object);

#endif
