/* SPDX-License-Identifier: MIT */
/* Client addresses as logs write them. */
#include "address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* Longer text is no address: INET6_ADDRSTRLEN, brackets, a port and a long zone id. */
#define TEXT_MAX 127

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 5 && text[digits] == '\0';
}

static bool read_v4(const char *text, union address *out)
{
    out->v4 = (struct sockaddr_in){.sin_family = AF_INET};
    return inet_pton(AF_INET, text, &out->v4.sin_addr) == 1;
}

static bool read_v6(char *text, union address *out)
{
    char *zone = strchr(text, '%');
    if (zone != NULL) {
        if (zone[1] == '\0')
            return false;
        *zone = '\0';
    }
    struct in6_addr a;
    if (inet_pton(AF_INET6, text, &a) != 1)
        return false;
    if (IN6_IS_ADDR_V4MAPPED(&a)) {
        out->v4 = (struct sockaddr_in){.sin_family = AF_INET};
        memcpy(&out->v4.sin_addr, &a.s6_addr[12], 4);
    } else {
        out->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = a};
    }
    return true;
}

bool address_read(const char *data, size_t size, union address *out)
{
    char text[TEXT_MAX + 1];
    if (size == 0 || size > TEXT_MAX || memchr(data, '\0', size) != NULL)
        return false;
    memcpy(text, data, size);
    text[size] = '\0';
    if (text[0] == '[') {
        char *close = strchr(text, ']');
        if (close == NULL || (close[1] != '\0' && (close[1] != ':' || !is_port(close + 2))))
            return false;
        *close = '\0';
        return read_v6(text + 1, out);
    }
    char *colon = strchr(text, ':');
    if (colon == NULL)
        return read_v4(text, out);
    if (strchr(colon + 1, ':') != NULL)
        return read_v6(text, out);
    if (!is_port(colon + 1))
        return false;
    *colon = '\0';
    return read_v4(text, out);
}

bool address_is(const char *data, size_t size)
{
    union address ignored;
    return address_read(data, size, &ignored);
}

/* Clears what is behind the first `prefix` bits. */
static void cut_bits(unsigned char *bytes, size_t size, unsigned prefix)
{
    for (size_t i = 0; i < size; i++) {
        unsigned kept = prefix > i * 8 ? prefix - (unsigned)i * 8 : 0;
        if (kept < 8)
            bytes[i] = (unsigned char)(bytes[i] & ~(0xffu >> kept));
    }
}

void address_write(const union address *address, unsigned prefix4, unsigned prefix6,
                   char out[ADDRESS_TEXT_MAX])
{
    bool v4 = address->any.sa_family == AF_INET;
    unsigned prefix = v4 ? prefix4 : prefix6;
    unsigned char bytes[16];
    size_t size = v4 ? 4 : 16;
    if (v4)
        memcpy(bytes, &address->v4.sin_addr, size);
    else
        memcpy(bytes, &address->v6.sin6_addr, size);
    cut_bits(bytes, size, prefix);
    inet_ntop(v4 ? AF_INET : AF_INET6, bytes, out, INET6_ADDRSTRLEN);
    if (prefix < size * 8)
        snprintf(out + strlen(out), 5, "/%u", prefix);
}
