/* SPDX-License-Identifier: MIT */
/* Who a request is counted for: the --key argument, and the key of an event under it. */
#ifndef WEIR_CLI_KEYING_H
#define WEIR_CLI_KEYING_H

#include "address.h"
#include "log.h"

#include <weir/weir.h>

struct keying {
    enum log_field field;
    const char *field_name;    /* of LOG_NAMED */
    unsigned prefix4, prefix6; /* of LOG_ADDRESS */
    const struct weir *engine; /* whose secret makes the keys */
};

/* What an unnamed --key means. 64 bits is what one IPv6 customer usually has. */
#define KEYING_DEFAULT "ip"
#define KEYING_PREFIX4 32
#define KEYING_PREFIX6 64

/*
 * "ip", "ip/24", "ip/24,48", "user", "path", "method", "field:NAME" into all but `engine`.
 * False when it is none of them. The text stays the caller's.
 */
bool keying_parse(const char *text, struct keying *out);

struct keyed {
    weir_key key;
    struct slice text; /* what it is called; in the event or in `room` */
    char room[ADDRESS_TEXT_MAX];
};

/* The key of an event's field. An address that is none (a host name) is keyed as text. */
void keying_apply(const struct keying *k, struct slice field, struct keyed *out);

/*
 * The secret of every engine of the command: 192 bytes of splitmix64 from the seed 0x77656972.
 * Fixed, so that a replay can be repeated to the last number.
 */
const uint8_t *keying_secret(void);

#endif
