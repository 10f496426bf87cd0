/* SPDX-License-Identifier: MIT */
/* Who a request is counted for: the --key argument, and the key of an event under it. */
#ifndef WEIR_CLI_KEY_CHOICE_H
#define WEIR_CLI_KEY_CHOICE_H

#include "address.h"
#include "log.h"

#include <weir/weir.h>

struct key_choice {
    enum log_field field;
    const char *field_name;    /* of LOG_NAMED */
    unsigned prefix4, prefix6; /* of LOG_ADDRESS */
    const struct weir *engine; /* whose secret makes the keys */
};

/* What an unnamed --key means. 64 bits is what one IPv6 customer usually has. */
#define KEY_CHOICE_DEFAULT "ip"
#define KEY_CHOICE_PREFIX4 32
#define KEY_CHOICE_PREFIX6 64

/*
 * "ip", "ip/24", "ip/24,48", "user", "path", "method", "field:NAME" into all but `engine`.
 * False when it is none of them. The text stays the caller's.
 */
bool key_choice_parse(const char *text, struct key_choice *out);

struct client_key {
    weir_key key;
    struct slice text; /* what it is called; in the event or in `room` */
    char room[ADDRESS_TEXT_MAX];
};

/* The key of an event's field. An address that is none (a host name) is keyed as text. */
void key_choice_apply(const struct key_choice *k, struct slice field, struct client_key *out);

#endif
