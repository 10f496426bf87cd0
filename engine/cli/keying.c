/* SPDX-License-Identifier: MIT */
/* Who a request is counted for: the --key argument, and the key of an event under it. */
#include "keying.h"

#include <stdlib.h>
#include <string.h>

#define SECRET_SIZE 192
#define SECRET_SEED UINT64_C(0x77656972)

/* A number up to `max` at the front. */
static bool take_prefix(const char **text, unsigned max, unsigned *out)
{
    unsigned value = 0;
    const char *at = *text;
    while (*at >= '0' && *at <= '9' && at - *text < 3)
        value = value * 10 + (unsigned)(*at++ - '0');
    if (at == *text || value > max)
        return false;
    *text = at;
    *out = value;
    return true;
}

bool keying_parse(const char *text, struct keying *out)
{
    static const struct {
        const char *name;
        enum log_field field;
    } plain[] = {{"user", LOG_USER}, {"method", LOG_METHOD}, {"path", LOG_PATH}};

    *out = (struct keying){.prefix4 = KEYING_PREFIX4, .prefix6 = KEYING_PREFIX6};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        out->field = plain[i].field;
        if (strcmp(text, plain[i].name) == 0)
            return true;
    }
    if (strncmp(text, "field:", 6) == 0) {
        out->field = LOG_NAMED;
        out->field_name = text + 6;
        return text[6] != '\0';
    }
    if (strncmp(text, "ip", 2) != 0)
        return false;
    out->field = LOG_ADDRESS;
    text += 2;
    if (*text == '/') {
        text++;
        if (!take_prefix(&text, 32, &out->prefix4))
            return false;
        if (*text == ',') {
            text++;
            if (!take_prefix(&text, 128, &out->prefix6))
                return false;
        }
    }
    return *text == '\0';
}

void keying_apply(const struct keying *k, struct slice field, struct keyed *out)
{
    union address address;
    if (k->field == LOG_ADDRESS && address_read(field.data, field.size, &address)) {
        out->key = weir_key_address(k->engine, &address.any, k->prefix4, k->prefix6);
        address_write(&address, k->prefix4, k->prefix6, out->room);
        out->text = (struct slice){out->room, strlen(out->room)};
    } else {
        out->key = weir_key_bytes(k->engine, field.data, field.size);
        out->text = field;
    }
}

const uint8_t *keying_secret(void)
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
