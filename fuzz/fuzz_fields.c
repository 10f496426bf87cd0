/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: what single fields are read as. The first byte chooses:
 *
 *   0  an instant (log_time)        written as RFC 3339 it reads back as itself, and is the unix
 *                                   time that the C library makes of the date
 *   1  an address                   what the C library takes is taken, as the same address; cut to
 *                                   its prefix and written it reads back as itself
 *   2  a --key                      its canonical text means the same
 *   3  a policy                     of one that does not parse it is said what was expected
 *   4  keys of a log (keymap)       numbered as they come, each once, texts kept
 *   5  text for a terminal, or as UTF-8: no control character, no more columns than there are, and
 *      different bytes differ
 */
#include "address.h"
#include "key_choice.h"
#include "keymap.h"
#include "log_time.h"
#include "policy_expected.h"
#include "printable.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define check(holds) check_at(holds, __LINE__)
static void check_at(bool holds, int line)
{
    if (holds)
        return;
    fprintf(stderr, "line %d, not so\n", line);
    abort();
}

/* A copy without a byte behind it, so that a read past the end shows. */
static char *copy_of(const uint8_t *data, size_t size)
{
    char *copy = malloc(size != 0 ? size : 1);

    check(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

/* The same with a NUL behind it; up to the first one inside. */
static char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    check(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

/* ---- instants ------------------------------------------------------------------------------ */

/* Unix time of a date in RFC 3339, by the C library. */
static int64_t unix_of(const char *text)
{
    struct tm tm = {0};
    int hours = 0, minutes = 0;
    const char *zone;

    check(sscanf(text, "%d-%d-%dT%d:%d:%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                 &tm.tm_min, &tm.tm_sec) == 6);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    zone = text + strlen(text);
    if (zone[-1] != 'Z') {
        zone -= 6;
        check(sscanf(zone + 1, "%d:%d", &hours, &minutes) == 2);
        minutes += 60 * hours;
        minutes = *zone == '-' ? -minutes : minutes;
    }
    return (int64_t)timegm(&tm) - minutes * 60;
}

static void read_time(const char *data, size_t size)
{
    struct log_time time, back;
    struct text written = {0}, parts = {0};
    const char *why = log_time_read(data, size, &time);

    if (why != NULL) {
        check(*why != '\0' && is_printable(why));
        return;
    }
    check(time.unix_ns >= 0 && time.offset_min > -1440 && time.offset_min < 1440);
    log_time_put_rfc3339(&written, &time);
    check(unix_of(written.data) == time.unix_ns / 1000000000);
    check(log_time_read(written.data, written.size, &back) == NULL);
    check(back.unix_ns == time.unix_ns && back.offset_min == time.offset_min);
    check(log_time_same_day(&time, &back));
    log_time_put(&parts, &time, LOG_TIME_DATE);
    check(parts.size == 19 && memcmp(parts.data, written.data, 10) == 0);
    check(memcmp(parts.data + 11, written.data + 11, 8) == 0);
    if (back.unix_ns < INT64_MAX - 86400 * INT64_C(1000000000)) {
        back.unix_ns += 86400 * INT64_C(1000000000);
        check(!log_time_same_day(&time, &back));
    }
    text_free(&written);
    text_free(&parts);
}

/* ---- addresses ----------------------------------------------------------------------------- */

static void check_plain(const char *data, size_t size, bool is, const union address *address)
{
    char *text = text_of((const uint8_t *)data, size);
    struct in6_addr six;
    struct in_addr four;

    if (strlen(text) == size && size < 100 && inet_pton(AF_INET, text, &four) == 1)
        check(is && address->any.sa_family == AF_INET &&
              memcmp(&address->v4.sin_addr, &four, 4) == 0);
    if (strlen(text) == size && size < 100 && inet_pton(AF_INET6, text, &six) == 1) {
        check(is);
        if (IN6_IS_ADDR_V4MAPPED(&six))
            check(address->any.sa_family == AF_INET &&
                  memcmp(&address->v4.sin_addr, six.s6_addr + 12, 4) == 0);
        else
            check(address->any.sa_family == AF_INET6 &&
                  memcmp(&address->v6.sin6_addr, &six, 16) == 0);
    }
    free(text);
}

static void read_address(const char *data, size_t size, unsigned prefix4, unsigned prefix6)
{
    char written[ADDRESS_TEXT_MAX], again[ADDRESS_TEXT_MAX];
    union address address, back;
    bool is = address_read(data, size, &address);
    char *slash;

    check(address_is(data, size) == is);
    check_plain(data, size, is, &address);
    if (!is)
        return;
    address_write(&address, prefix4, prefix6, written);
    check(strlen(written) < sizeof written);
    slash = strchr(written, '/');
    check((slash != NULL) == (address.any.sa_family == AF_INET ? prefix4 < 32 : prefix6 < 128));
    check(
        address_read(written, slash != NULL ? (size_t)(slash - written) : strlen(written), &back));
    check(back.any.sa_family == address.any.sa_family || address.any.sa_family == AF_INET6);
    if (back.any.sa_family != address.any.sa_family) /* cut to what looks like one mapped */
        return;
    address_write(&back, prefix4, prefix6, again);
    check(strcmp(written, again) == 0);
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void read_key(const char *text)
{
    struct key_choice choice, back;
    char canonical[40];

    if (!key_choice_parse(text, &choice))
        return;
    check(choice.prefix4 <= 32 && choice.prefix6 <= 128);
    if (choice.field == LOG_NAMED) {
        check(choice.field_name == text + 6 && *choice.field_name != '\0');
        return;
    }
    if (choice.field != LOG_ADDRESS)
        return;
    (void)snprintf(canonical, sizeof canonical, "ip/%u,%u", choice.prefix4, choice.prefix6);
    check(key_choice_parse(canonical, &back));
    check(back.field == LOG_ADDRESS && back.prefix4 == choice.prefix4 &&
          back.prefix6 == choice.prefix6);
}

static void read_policy(const char *text)
{
    struct weir_policy policy;
    size_t at = 0;

    if (weir_policy_parse(&policy, text, &at) != -EINVAL)
        return;
    const char *expected = policy_expected(text, at);
    check(expected != NULL && *expected != '\0' && is_printable(expected));
}

/* ---- keys of a log ------------------------------------------------------------------------- */

#define NAMES 256

static void check_entry(const struct keymap *map, uint32_t number, unsigned name, size_t size)
{
    const struct key_entry *entry = keymap_at(map, number);
    struct text text = {0};
    struct slice bytes;
    bool whole;

    check(entry->number == number && entry->key.low == name % 4 && entry->text_size == size);
    bytes = key_entry_bytes(entry, &whole);
    check(whole == (size <= KEYMAP_TEXT_MAX));
    check(bytes.size == (whole ? size : KEYMAP_TEXT_MAX));
    for (size_t i = 0; i < bytes.size; i++)
        check((unsigned char)bytes.data[i] == (unsigned char)name);
    key_entry_put_text(entry, &text);
    json_t *json = json_stringn(text.data != NULL ? text.data : "", text.size);
    check(json != NULL);
    json_decref(json);
    text_free(&text);
}

/* A key a byte, all of few hashes; its text is that byte again and again. */
static void intern(const uint8_t *data, size_t size, uint32_t keys_max)
{
    static char text[4 * NAMES];
    uint32_t numbers[NAMES], count = 0;
    size_t sizes[NAMES];
    struct keymap *map = keymap_open(keys_max, 2);

    memset(numbers, 0xff, sizeof numbers);
    for (size_t i = 0; i + 1 < size; i += 2) {
        unsigned name = data[i];
        weir_key key = {name, name % 4};
        struct slice slice = {text, data[i + 1] * (size_t)4};
        uint32_t number;

        memset(text, (int)name, slice.size);
        number = keymap_intern(map, key, slice);
        if (numbers[name] == KEYMAP_NONE && count < keys_max) {
            numbers[name] = count++;
            sizes[name] = slice.size;
        }
        check(number == numbers[name] && keymap_size(map) == count);
        if (number != KEYMAP_NONE)
            keymap_at(map, number)->counts[number % 2].denied++;
    }
    for (unsigned name = 0; name < NAMES; name++)
        if (numbers[name] != KEYMAP_NONE)
            check_entry(map, numbers[name], name, sizes[name]);
    keymap_close(map);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print(const char *data, size_t size, bool utf8, size_t width)
{
    struct text t = {0}, half = {0}, rest = {0};

    printable_put(&t, data, size, utf8, width);
    check(t.size == 0 || (strlen(t.data) == t.size && is_printable(t.data)));
    check(printable_width(t.data != NULL ? t.data : "", t.size) <= (width < 3 ? 3 : width));
    for (size_t i = 0; i < t.size && !utf8; i++)
        check((unsigned char)t.data[i] < 0x80);
    text_clear(&t);
    utf8_put(&t, data, size);
    json_t *json = json_stringn(t.data != NULL ? t.data : "", t.size);
    check(json != NULL);
    json_decref(json);
    /* other bytes: the second half, and the first */
    utf8_put(&half, data, size / 2);
    utf8_put(&rest, data + size / 2, size - size / 2);
    bool same = size % 2 == 0 && memcmp(data, data + size / 2, size / 2) == 0;
    check((half.size == rest.size &&
           (half.size == 0 || memcmp(half.data, rest.data, half.size) == 0)) == same);
    text_free(&t);
    text_free(&half);
    text_free(&rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy, *text;

    if (size < 3)
        return 0;
    if (setlocale(LC_CTYPE, NULL)[1] == '\0')
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    copy = copy_of(data + 3, size - 3);
    text = text_of(data + 3, size - 3);
    switch (data[0] % 6) {
    case 0:
        read_time(copy, size - 3);
        break;
    case 1:
        read_address(copy, size - 3, data[1] % 33, data[2] % 129);
        break;
    case 2:
        read_key(text);
        break;
    case 3:
        read_policy(text);
        break;
    case 4:
        intern(data + 3, size - 3, data[1]);
        break;
    default:
        print(copy, size - 3, data[1] % 2 == 0, data[2]);
    }
    free(copy);
    free(text);
    return 0;
}
