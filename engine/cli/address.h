/* SPDX-License-Identifier: MIT */
/* Client addresses as logs write them. */
#ifndef WEIR_CLI_ADDRESS_H
#define WEIR_CLI_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/*
 * "192.0.2.1", "192.0.2.1:443", "2001:db8::1", "fe80::1%eth0", "[2001:db8::1]:443": port and zone
 * id are dropped, ::ffff:192.0.2.1 is 192.0.2.1. False when it is no address.
 */
bool address_read(const char *data, size_t size, union address *out);
bool address_is(const char *data, size_t size);

/* Room for address_write, the NUL included. */
#define ADDRESS_TEXT_MAX (INET6_ADDRSTRLEN + 4)

/* The address cut to its prefix: "192.0.2.1" whole, "192.0.2.0/24" and "2001:db8::/64" cut. */
void address_write(const union address *address, unsigned prefix4, unsigned prefix6,
                   char out[ADDRESS_TEXT_MAX]);

#endif
