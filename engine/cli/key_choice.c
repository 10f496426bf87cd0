/* SPDX-License-Identifier: MIT */
/* Who a request is counted for: the --key argument, and the key of an event under it. */
#include "key_choice.h"

#include <string.h>

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

bool key_choice_parse(const char *text, struct key_choice *out)
{
    static const struct {
        const char *name;
        enum log_field field;
    } plain[] = {{"user", LOG_USER}, {"method", LOG_METHOD}, {"path", LOG_PATH}};

    *out = (struct key_choice){.prefix4 = KEY_CHOICE_PREFIX4, .prefix6 = KEY_CHOICE_PREFIX6};
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

void key_choice_apply(const struct key_choice *k, struct slice field, struct client_key *out)
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
