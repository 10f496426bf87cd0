/* SPDX-License-Identifier: MIT */
/*
 * Keys: XXH3 in 128 bits with a secret per engine and name space, so that nobody outside can
 * choose keys that share bits.
 *
 * Bytes, integers and addresses hash with different secrets: equal byte strings of different
 * meaning are different keys without a prefix having to be copied in front of the bytes.
 */
#include "limiter.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

_Static_assert(WEIR_SECRET_SIZE >= XXH3_SECRET_SIZE_MIN, "a secret is as long as XXH3 asks for");

/* What an address is hashed as: equal meanings give equal bytes, different ones different. */
struct address_form {
    uint8_t family; /* 4, 6, or 0 for unknown */
    uint8_t prefix; /* bits */
    uint8_t bytes[16];
};

static weir_key hash(const uint8_t *secret, const void *data, size_t size)
{
    XXH128_hash_t h = XXH3_128bits_withSecret(data, size, secret, WEIR_SECRET_SIZE);
    weir_key key = {h.high64, h.low64};
    return key;
}

void weir_key_secrets(struct weir *w, const uint8_t secret[WEIR_SECRET_SIZE])
{
    for (uint64_t space = 0; space < WEIR_KEY_SPACES; space++) {
        for (uint64_t i = 0; i < WEIR_SECRET_SIZE / sizeof(weir_key); i++) {
            const uint64_t which[2] = {space, i};
            weir_key part = hash(secret, which, sizeof which);
            memcpy(w->secrets[space] + i * sizeof part, &part, sizeof part);
        }
    }
}

weir_key weir_key_bytes(const struct weir *w, const void *data, size_t size)
{
    return hash(w->secrets[WEIR_SPACE_BYTES], data, size);
}

weir_key weir_key_text(const struct weir *w, const char *text)
{
    return weir_key_bytes(w, text, strlen(text));
}

weir_key weir_key_u64(const struct weir *w, uint64_t id)
{
    return hash(w->secrets[WEIR_SPACE_U64], &id, sizeof id);
}

/* Copies the first `prefix` bits of an address, zeros after them. */
static void put_prefix(struct address_form *form, const uint8_t *bytes, unsigned size,
                       unsigned prefix)
{
    if (prefix > size * 8)
        prefix = size * 8;
    form->prefix = (uint8_t)prefix;
    memcpy(form->bytes, bytes, prefix / 8);
    if (prefix % 8 != 0)
        form->bytes[prefix / 8] = (uint8_t)(bytes[prefix / 8] & (0xff00U >> prefix % 8));
}

static void put_v4(struct address_form *form, const uint8_t *bytes, unsigned prefix)
{
    form->family = 4;
    put_prefix(form, bytes, 4, prefix);
}

weir_key weir_key_address(const struct weir *w, const struct sockaddr *address, unsigned prefix4,
                          unsigned prefix6)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct address_form form;
    memset(&form, 0, sizeof form);
    if (address != NULL && address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        put_v4(&form, (const uint8_t *)&in.sin_addr, prefix4);
    } else if (address != NULL && address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        if (memcmp(in6.sin6_addr.s6_addr, mapped, sizeof mapped) == 0) {
            put_v4(&form, in6.sin6_addr.s6_addr + sizeof mapped, prefix4);
        } else {
            form.family = 6;
            put_prefix(&form, in6.sin6_addr.s6_addr, 16, prefix6);
        }
    }
    return hash(w->secrets[WEIR_SPACE_ADDRESS], &form, sizeof form);
}

weir_key weir_key_join(weir_key a, weir_key b)
{
    /* What comes in is secret already; mixing it needs no secret of its own. */
    const weir_key both[2] = {a, b};
    XXH128_hash_t h = XXH3_128bits(both, sizeof both);
    weir_key key = {h.high64, h.low64};
    return key;
}
