/* SPDX-License-Identifier: MIT */
/*
 * Statistics as text, in the format that Prometheus reads (text exposition format 0.0.4).
 *
 * Vocabulary: a metric is a name with a type, a counter or a gauge; a sample is one line, the value
 * of a metric under one set of labels.
 *
 *   # HELP weir_decisions_total Decisions and reservations, by limit and by what came of them.
 *   # TYPE weir_decisions_total counter
 *   weir_decisions_total{limit="requests",verdict="allowed"} 17
 *   weir_decisions_total{limit="requests",verdict="denied"} 2
 *   ...
 *
 * Guarantees (F are this file's own)
 *   F1  All samples of a metric stand together, behind its HELP and its TYPE, and no two of them
 *       have the same labels.
 *   F2  The limits shown are those that there are while the engine's lock is held: none of them,
 *       and no name, goes away while it is written. A limit's verdicts are of one reading.
 *   F3  The text is UTF-8 whatever bytes a name has, and different names are different labels: a
 *       byte that is not part of UTF-8, and each byte of U+FFFD itself, is written as U+FFFD and
 *       two hexadecimal digits. So a name can be told from what is written for it, and a name in
 *       UTF-8 (without U+FFFD) is written as it is.
 *   F4  Whatever the size, nothing is written behind it, and the length is that of the whole text.
 *
 * Not guaranteed: that numbers of different metrics are of one instant; that the text of a later
 * call is no longer. Two engines' texts are not one text: they have the same metrics.
 */
#include "limiter.h"

#include <errno.h>
#include <string.h>

/* ---- text that may not fit ---- */

struct writer {
    char *buffer;
    size_t size;
    size_t length; /* of the whole text so far */
};

static void put_bytes(struct writer *out, const char *bytes, size_t count)
{
    size_t room = out->size > out->length ? out->size - out->length - 1 : 0; /* but the NUL */
    if (room != 0)
        memcpy(out->buffer + out->length, bytes, count < room ? count : room);
    out->length += count;
}

static void put(struct writer *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

static void put_number(struct writer *out, uint64_t value)
{
    char digits[20]; /* of 2^64 - 1 */
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put_bytes(out, digits + first, sizeof digits - first);
}

static void end(const struct writer *out)
{
    if (out->size != 0)
        out->buffer[out->length < out->size ? out->length : out->size - 1] = '\0';
}

/* ---- names as labels ---- */

/*
 * Bytes of the UTF-8 sequence that a text begins with, or 0 where it is none (RFC 3629: what could
 * be shorter, surrogates, and what is above U+10FFFF are none). The NUL at its end ends any.
 */
static size_t utf8_length(const unsigned char *at)
{
    unsigned lead = at[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < least || at[1] > most)
        return 0;
    size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    for (size_t i = 2; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static void put_odd_byte(struct writer *out, unsigned byte)
{
    static const char digits[] = "0123456789abcdef";
    put(out, REPLACEMENT);
    put_bytes(out, &digits[byte >> 4], 1);
    put_bytes(out, &digits[byte & 15], 1);
}

/* F3, and within that what the format wants escaped. */
static void put_label_value(struct writer *out, const char *name)
{
    while (*name != '\0') {
        const unsigned char *at = (const unsigned char *)name;
        size_t length = utf8_length(at);
        if (length == 3 && memcmp(name, REPLACEMENT, 3) == 0)
            length = 0;
        if (length == 0)
            put_odd_byte(out, *at);
        else if (*name == '\n')
            put(out, "\\n");
        else if (*name == '\\' || *name == '"')
            put(out, *name == '"' ? "\\\"" : "\\\\");
        else
            put_bytes(out, name, length);
        name += length != 0 ? length : 1;
    }
}

/* ---- metrics ---- */

static void put_header(struct writer *out, const char *name, const char *type, const char *help)
{
    put(out, "# HELP ");
    put(out, name);
    put(out, " ");
    put(out, help);
    put(out, "\n# TYPE ");
    put(out, name);
    put(out, " ");
    put(out, type);
    put(out, "\n");
}

static void put_value(struct writer *out, uint64_t value)
{
    put(out, " ");
    put_number(out, value);
    put(out, "\n");
}

#define DECISIONS "weir_decisions_total"
#define OVERFLOW  "weir_overflow_total"

static void put_decisions(struct writer *out, const char *limit,
                          const struct weir_counter_sums *sums)
{
    const struct {
        const char *verdict;
        uint64_t count;
    } samples[] = {{"allowed", sums->of[WEIR_ALLOWED]},
                   {"denied", sums->of[WEIR_DENIED]},
                   {"never", sums->of[WEIR_NEVER]}};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        put(out, DECISIONS "{limit=\"");
        put_label_value(out, limit);
        put(out, "\",verdict=\"");
        put(out, samples[i].verdict);
        put(out, "\"}");
        put_value(out, samples[i].count);
    }
}

static void put_overflow(struct writer *out, const char *limit,
                         const struct weir_counter_sums *sums)
{
    put(out, OVERFLOW "{limit=\"");
    put_label_value(out, limit);
    put(out, "\"}");
    put_value(out, sums->of[WEIR_COUNTER_OVERFLOW]);
}

typedef void put_samples(struct writer *out, const char *limit,
                         const struct weir_counter_sums *sums);

/* One metric's samples of all limits. The lock is held. */
static void put_by_limit(struct writer *out, const struct weir *w, put_samples *put_of_limit)
{
    for (unsigned i = 0; i < w->limits_used; i++) {
        const struct weir_limit *l = weir_limit_at(w, (int)i);
        struct weir_counter_sums sums;
        if (l == NULL)
            continue;
        weir_limit_counts(w, i, &sums);
        put_of_limit(out, l->name, &sums);
    }
}

static void put_limits(struct writer *out, const struct weir *w)
{
    pthread_mutex_lock(weir_lock_of(w));
    put_header(out, DECISIONS, "counter",
               "Decisions and reservations, by limit and by what came of them.");
    put_by_limit(out, w, put_decisions);
    put_header(out, OVERFLOW, "counter",
               "Calls whose key had no place in the table, so that when_full answered.");
    put_by_limit(out, w, put_overflow);
    pthread_mutex_unlock(weir_lock_of(w));
}

/* Of the engine as a whole. */
static const struct {
    const char *name;
    const char *type;
    size_t field; /* of struct weir_stats */
    const char *help;
} metrics[] = {
#define GAUGE(name, field, help)   {name, "gauge", offsetof(struct weir_stats, field), help}
#define COUNTER(name, field, help) {name, "counter", offsetof(struct weir_stats, field), help}
    GAUGE("weir_keys", keys, "Keys that hold a place, idle ones not yet left behind included."),
    GAUGE("weir_keys_error", keys_error,
          "How many of these may be idle ones that are being left behind just now."),
    GAUGE("weir_max_keys", max_keys, "Keys that can hold a place at most."),
    GAUGE("weir_bytes", bytes, "Memory of the table, the limits and the counters."),
    GAUGE("weir_retired_bytes", retired_bytes,
          "Memory of the table that was replaced, and that readers have not yet let go of."),
    GAUGE("weir_arrays", arrays, "Line arrays of the table in use."),
    GAUGE("weir_longest_probe_lines", longest_probe,
          "Lines that the search of a new key went through at most."),
    GAUGE("weir_longest_call_lines", longest_call,
          "Lines that one call went through at most, helping included."),
    COUNTER("weir_growths_total", growths, "Line arrays replaced by larger ones."),
    COUNTER("weir_compactions_total", compactions,
            "Line arrays replaced by ones of the same size, to leave idle keys behind."),
    COUNTER("weir_shrinks_total", shrinks, "Line arrays replaced by smaller ones."),
    COUNTER("weir_failures_total", failures, "Line arrays that there was no memory for."),
    COUNTER("weir_moves_total", moves, "Keys moved from one line array to the next."),
    COUNTER("weir_dropped_total", dropped, "Idle keys left behind."),
    COUNTER("weir_helps_total", helps, "Times that a call moved a part of a line array."),
    COUNTER("weir_origins_total", origins,
            "Times that a limit was given a new origin of its clock."),
#undef GAUGE
#undef COUNTER
};

static void put_table(struct writer *out, const struct weir_stats *stats)
{
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        uint64_t value;
        memcpy(&value, (const char *)stats + metrics[i].field, sizeof value);
        put_header(out, metrics[i].name, metrics[i].type, metrics[i].help);
        put(out, metrics[i].name);
        put_value(out, value);
    }
}

/* The length fits: 65535 limits, 4 samples of each, and less than 400 bytes of a sample, since a
   byte of a name becomes 5 at most. */
int weir_stats_prometheus(const struct weir *w, char *buffer, size_t size)
{
    struct writer out = {buffer, size, 0};
    struct weir_stats stats = {0};
    if (w == NULL || (buffer == NULL && size != 0))
        return -EINVAL;
    int saved = errno; /* the caller's */
    weir_stats(w, &stats);
    put_limits(&out, w);
    put_table(&out, &stats);
    end(&out);
    errno = saved;
    return (int)out.length;
}
