/* SPDX-License-Identifier: MIT */
/* Lengths of time in words. */
#include "spans.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define DAY    (24 * 60 * MINUTE)
#define YEAR   (DAY * 146097 / 400)

struct unit {
    uint64_t ns;
    const char *name;
};

/* The largest first, the last takes the rest. */
static const struct unit large[] = {{DAY, "d"}, {60 * MINUTE, "h"}, {MINUTE, "min"}};
static const struct unit small[] = {{SECOND, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};

/* value / unit with as many decimals as it needs, at most `decimals`, cut. */
static void put_decimal(struct text *t, uint64_t value, const struct unit *unit, int decimals)
{
    text_print(t, "%" PRIu64, value / unit->ns);
    uint64_t rest = value % unit->ns;
    if (rest != 0 && decimals > 0) {
        size_t whole = t->size;
        text_put(t, ".", 1);
        for (uint64_t weight = unit->ns / 10; weight > 0 && decimals > 0; weight /= 10) {
            text_print(t, "%" PRIu64, rest / weight);
            rest %= weight;
            decimals--;
        }
        while (t->data[t->size - 1] == '0')
            t->data[--t->size] = '\0';
        if (t->size == whole + 1)
            t->data[--t->size] = '\0';
    }
    text_print(t, " %s", unit->name);
}

static void put_below_minute(struct text *t, uint64_t ns, int decimals)
{
    if (ns == 0) {
        text_print(t, "0 s");
        return;
    }
    size_t i = 0;
    while (i + 1 < sizeof small / sizeof small[0] && ns < small[i].ns)
        i++;
    put_decimal(t, ns, &small[i], decimals);
}

/* Years above 2^64-1, which no policy that is kept exactly comes to, would be cut to that. */
static void put_years(struct text *t, span_ns ns)
{
    span_ns years = (ns + YEAR / 2) / YEAR;
    text_print(t, "about ");
    text_put_count(t, years > UINT64_MAX ? UINT64_MAX : (uint64_t)years);
    text_print(t, " years");
}

static void put(struct text *t, span_ns span, int parts)
{
    if (span >= SPAN_YEARS_FROM) {
        put_years(t, span);
        return;
    }
    uint64_t ns = (uint64_t)span;
    int used = 0;
    for (size_t i = 0; i < sizeof large / sizeof large[0] && used < parts; i++) {
        if (ns < large[i].ns)
            continue;
        text_print(t, "%s%" PRIu64 " %s", used++ ? " " : "", ns / large[i].ns, large[i].name);
        ns %= large[i].ns;
    }
    if (used > 0 && (ns == 0 || used == parts))
        return;
    if (used > 0) {
        text_put(t, " ", 1);
        put_decimal(t, ns, &small[0], parts == INT_MAX ? 9 : 0);
    } else {
        put_below_minute(t, ns, parts == INT_MAX ? 9 : 3);
    }
}

void span_put(struct text *t, span_ns ns)
{
    put(t, ns, INT_MAX);
}

void span_put_short(struct text *t, uint64_t ns)
{
    put(t, ns, 2);
}

void span_put_quotient(struct text *t, uint64_t numerator, uint64_t denominator)
{
    uint64_t ns = numerator / denominator, rest = numerator % denominator;
    if (rest == 0) {
        span_put(t, ns);
        return;
    }
    if (ns >= MINUTE) {
        span_put(t, ns);
    } else if (ns >= 1000) {
        put_below_minute(t, ns, 6);
    } else {
        unsigned thousandths = (unsigned)((span_ns)rest * 1000 / denominator);
        text_print(t, "%" PRIu64 ".%03u ns", ns, thousandths);
    }
}
