/* SPDX-License-Identifier: MIT */
/*
 * What a policy's text should have had where it stopped being one: told by what stands before the
 * place, which is the beginning of a policy.
 */
#include "policy_expected.h"

#include <weir/weir.h>

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

/* What a word asks for. */
enum word {
    NO_WORD,
    UNLIMITED,
    CONCURRENCY,
    BURST,
    PACE,
    SLACK,
    REFILL,
    WINDOW,
    SLIDING,
    ALIGNED,
    ZONE,
    WORDS
};

static const char *const words[WORDS] = {[UNLIMITED] = "unlimited", [CONCURRENCY] = "concurrency",
                                         [BURST] = "burst",         [PACE] = "pace",
                                         [SLACK] = "slack",         [REFILL] = "refill",
                                         [WINDOW] = "window",       [SLIDING] = "sliding",
                                         [ALIGNED] = "aligned",     [ZONE] = "zone"};

static enum word word_of(const char *text, size_t size)
{
    enum word word = WORDS - 1;
    while (word != NO_WORD && (strlen(words[word]) != size || memcmp(words[word], text, size) != 0))
        word--;
    return word;
}

/* What stands before the place. */
struct before {
    bool slash;        /* the rate has begun its span */
    enum word word;    /* the last one */
    const char *value; /* what is behind that word or the slash, or at the start, without blanks */
    size_t value_size;
    bool unit;  /* a unit in it */
    bool blank; /* blanks behind it */
};

static struct before look_back(const char *text, size_t at)
{
    struct before b = {.value = text};
    size_t i = 0;
    while (i < at && b.word != ZONE) { /* a zone's name may hold anything */
        size_t start = i;
        while (i < at && is_letter(text[i]))
            i++;
        bool unit = i > start;
        enum word word = word_of(text + start, i - start);
        if (word != NO_WORD) {
            b.word = word;
            b.value = text + i;
            unit = false;
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
    while (b.value_size > 0 && is_blank(b.value[b.value_size - 1])) {
        b.value_size--;
        b.blank = true;
    }
    return b;
}

static bool value_is(const struct before *b, const char *text)
{
    return b->value_size == strlen(text) && memcmp(b->value, text, b->value_size) == 0;
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
    if (b->value_size == 0 && b->word == NO_WORD)
        return "a unit of time: ns us ms s min h day, or week or month before zone NAME";
    return "a unit of time: ns us ms s min h day";
}

static const char *rate_expected(const char *text, size_t at, const struct before *b)
{
    if (value_is(b, "week") || value_is(b, "month"))
        return "zone NAME, as in zone UTC";
    if (value_is(b, "day"))
        return "the end, or burst N, pace, refill SPAN, window, aligned, sliding, zone NAME";
    if (b->unit)
        return "the end, or burst N, pace, refill SPAN, window, aligned, sliding";
    return span_expected(text, at, b);
}

static const char *offset_expected(const char *text, size_t at, const struct before *b)
{
    if (b->value_size == 0 && (text[at] == '+' || text[at] == '-'))
        return "an offset from -24:00 to +24:00";
    if (b->value_size == 0)
        return "the end, or an offset from UTC, as in +08:00";
    bool whole = value_is(b, "Z") || b->value_size == strlen("+08:00") ||
                 b->value_size == strlen("+08:00:00");
    return whole ? "the end" : "an offset of hours and minutes, as in +08:00";
}

static const char *zone_expected(const char *text, size_t at, const struct before *b)
{
    if (b->value_size == 0 && text[at] == '\0')
        return "the name of a zone, as in Europe/Paris, UTC or local";
    if (b->value_size > 0 && b->blank)
        return "the end";
    if (b->value_size == WEIR_ZONE_MAX)
        return "a zone's name of at most 47 bytes";
    return "a zone's name, of letters, digits and _ + - . / (no / in front, no ..)";
}

const char *policy_expected(const char *text, size_t at)
{
    struct before b = look_back(text, at);
    switch (b.word) {
    case NO_WORD:
        if (b.slash)
            return rate_expected(text, at, &b);
        return b.value_size == 0 ? "a whole count, as in 10/min, or concurrency N or unlimited"
                                 : count_expected(text, at, "a slash and a span, as in 10/min");
    case CONCURRENCY:
        return b.value_size == 0 ? "a whole count, or unlimited" : "the end";
    case REFILL:
        return b.unit ? "the end, or burst N" : span_expected(text, at, &b);
    case PACE:
        return "the end, or slack N";
    case ALIGNED:
        return offset_expected(text, at, &b);
    case ZONE:
        return zone_expected(text, at, &b);
    case BURST:
    case SLACK:
        return b.value_size == 0 ? "a whole count" : count_expected(text, at, "the end");
    default:
        return "the end";
    }
}
