/* SPDX-License-Identifier: MIT */
/*
 * What a policy's text should have had where it stopped being one: told by what stands before the
 * place, which is the beginning of a policy.
 */
#include "policy_expected.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* What stands before the place. */
struct before {
    bool slash;        /* the rate has begun its span */
    const char *word;  /* the last word that is no unit, or NULL */
    const char *value; /* what is behind that word or the slash, or at the start, without blanks */
    size_t value_size;
    bool unit; /* a unit in it */
};

static struct before look_back(const char *text, size_t at)
{
    static const char *const words[] = {"unlimited", "burst", "pace", "slack", "refill"};
    struct before b = {.value = text};
    size_t i = 0;
    while (i < at) {
        size_t start = i;
        while (i < at && is_letter(text[i]))
            i++;
        bool unit = i > start;
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            if (strlen(words[w]) == i - start && memcmp(words[w], text + start, i - start) == 0) {
                b.word = words[w];
                b.value = text + i;
                unit = false;
            }
        }
        if (i == start && text[i++] == '/') {
            b.slash = true;
            b.value = text + i;
        }
        /* of an earlier value it does not count */
        b.unit = unit || (b.unit && b.value <= text + start);
    }
    while (b.value < text + at && is_blank(*b.value))
        b.value++;
    b.value_size = (size_t)(text + at - b.value);
    while (b.value_size > 0 && is_blank(b.value[b.value_size - 1]))
        b.value_size--;
    return b;
}

static const char *count_expected(const char *text, size_t at, const char *otherwise)
{
    bool decimals = text[at] == '.' && at > 0 && is_digit(text[at - 1]);
    return decimals ? "a whole count, as in 1/2s for 0.5/s" : otherwise;
}

static const char *span_expected(const char *text, size_t at, const struct before *b)
{
    bool digit = is_digit(text[at]);
    if (b->value_size > 0 && b->value[b->value_size - 1] == '.')
        return digit ? "no more than 16 decimals" : "decimals, as in 0.5s";
    if (b->value_size == 0 && digit)
        return "a span of whole nanoseconds, at least 1";
    if (b->value_size == 0 && text[at] == '.')
        return "a digit before the point, as in 0.5s";
    return "a unit of time: ns us ms s min h day";
}

const char *policy_expected(const char *text, size_t at)
{
    struct before b = look_back(text, at);
    if (b.word == NULL && !b.slash)
        return b.value_size == 0 ? "a whole count, as in 10/min, or unlimited"
                                 : count_expected(text, at, "a slash and a span, as in 10/min");
    if (b.word == NULL)
        return b.unit ? "the end, or burst N, pace, refill SPAN" : span_expected(text, at, &b);
    switch (b.word[0]) {
    case 'r':
        return b.unit ? "the end, or burst N" : span_expected(text, at, &b);
    case 'p':
        return "the end, or slack N";
    case 'u':
        return "the end";
    default:
        return b.value_size == 0 ? "a whole count" : count_expected(text, at, "the end");
    }
}
