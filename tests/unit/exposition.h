/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of the text format for Prometheus (version 0.0.4), which fails on whatever the
 * format does not allow, and on what weir's text has beyond that: HELP and TYPE before a metric's
 * samples, one group of a metric, no two samples of the same labels, counters that are named as
 * such, whole numbers, UTF-8.
 */
#ifndef WEIR_TESTS_EXPOSITION_H
#define WEIR_TESTS_EXPOSITION_H

#include "../support.h"

#include <errno.h>

#define METRICS_MAX 64

struct sample {
    const char *key; /* name and labels, as they are written */
    size_t key_size;
    uint64_t value;
    bool counter;
};

struct exposition {
    char *text;
    struct sample *samples; /* sorted by key */
    size_t count;
    struct {
        const char *text;
        size_t size;
    } names[METRICS_MAX];
    size_t metrics;
};

static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline size_t take_word(const char **at)
{
    const char *from = *at;
    assert_true(is_letter(**at));
    while (is_letter(**at) || is_digit(**at))
        ++*at;
    return (size_t)(*at - from);
}

static inline void take(const char **at, const char *text)
{
    assert_int_equal(strncmp(*at, text, strlen(text)), 0);
    *at += strlen(text);
}

/* One character of UTF-8, by what it stands for. */
static inline uint32_t take_character(const char **at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)*(*at)++;
    unsigned size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    assert_true(lead < 0x80 || (lead >= 0xc0 && lead < 0xf8));
    uint32_t value = size == 1 ? lead : lead & (0x7fu >> size);
    for (unsigned i = 1; i < size; i++, ++*at) {
        assert_int_equal((unsigned char)**at & 0xc0, 0x80);
        value = value << 6 | ((unsigned char)**at & 0x3f);
    }
    assert_true(value >= least[size] && value <= 0x10ffff);
    assert_false(value >= 0xd800 && value <= 0xdfff);
    return value;
}

static inline void take_label(const char **at)
{
    const char *name = *at;
    assert_true(take_word(at) != 0);
    assert_false(name[0] == '_' && name[1] == '_');
    take(at, "=\"");
    while (**at != '"') {
        uint32_t c = take_character(at);
        assert_true(c != '\0' && c != '\n');
        if (c == '\\') {
            assert_true(**at == '\\' || **at == '"' || **at == 'n');
            ++*at;
        }
    }
    take(at, "\"");
}

static inline void take_sample(const char **at, const char *name, size_t name_size,
                               struct sample *sample)
{
    sample->key = *at;
    assert_int_equal(take_word(at), name_size);
    assert_memory_equal(sample->key, name, name_size);
    if (**at == '{') {
        do {
            ++*at;
            take_label(at);
        } while (**at == ',');
        take(at, "}");
    }
    sample->key_size = (size_t)(*at - sample->key);
    take(at, " ");
    const char *digits = *at;
    while (is_digit(**at))
        ++*at;
    assert_true(*at > digits);
    assert_false(digits[0] == '0' && *at > digits + 1);
    errno = 0;
    sample->value = strtoull(digits, NULL, 10);
    assert_int_equal(errno, 0);
    take(at, "\n");
}

/* Each metric once. */
static inline void add_metric(struct exposition *e, const char *name, size_t size)
{
    for (size_t i = 0; i < e->metrics; i++)
        assert_false(e->names[i].size == size && memcmp(e->names[i].text, name, size) == 0);
    assert_true(e->metrics < METRICS_MAX);
    e->names[e->metrics].text = name;
    e->names[e->metrics++].size = size;
}

static inline void take_metric(const char **at, struct exposition *e)
{
    take(at, "# HELP ");
    const char *name = *at;
    size_t size = take_word(at);
    assert_true(size > 5 && memcmp(name, "weir_", 5) == 0);
    add_metric(e, name, size);
    take(at, " ");
    assert_true(is_letter(**at));
    for (; **at != '\n'; ++*at)
        assert_true(**at >= ' ' && **at <= '~' && **at != '\\');
    take(at, "\n# TYPE ");
    assert_int_equal(strncmp(*at, name, size), 0);
    *at += size;
    bool counter = size > 6 && memcmp(name + size - 6, "_total", 6) == 0;
    take(at, counter ? " counter\n" : " gauge\n");
    while (is_letter(**at)) {
        struct sample *s = &e->samples[e->count++];
        take_sample(at, name, size, s);
        s->counter = counter;
    }
}

static inline int by_key(const void *a, const void *b)
{
    const struct sample *left = a;
    const struct sample *right = b;
    size_t size = left->key_size < right->key_size ? left->key_size : right->key_size;
    int order = memcmp(left->key, right->key, size);
    if (order != 0)
        return order;
    return (left->key_size > right->key_size) - (left->key_size < right->key_size);
}

/* Takes over the text. */
static inline struct exposition read_text(char *text)
{
    struct exposition e = {0};
    size_t lines = 0;
    e.text = text;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    e.samples = calloc(lines + 1, sizeof *e.samples);
    assert_non_null(e.samples);
    for (const char *at = text; *at != '\0';)
        take_metric(&at, &e);
    qsort(e.samples, e.count, sizeof *e.samples, by_key);
    for (size_t i = 1; i < e.count; i++) /* no two of the same labels */
        assert_true(by_key(&e.samples[i - 1], &e.samples[i]) < 0);
    return e;
}

static inline void free_exposition(struct exposition *e)
{
    free(e->samples);
    free(e->text);
}

/* The whole text, as a program that does not know its length gets it. */
static inline char *text_of(const struct weir *w)
{
    int length = weir_stats_prometheus(w, NULL, 0);
    for (;;) {
        assert_true(length > 0);
        size_t size = (size_t)length + 16;
        char *text = malloc(size);
        assert_non_null(text);
        length = weir_stats_prometheus(w, text, size);
        if ((size_t)length < size) {
            assert_int_equal(strlen(text), length);
            return text;
        }
        free(text);
    }
}

static inline uint64_t value_of(const struct exposition *e, const char *key)
{
    struct sample wanted = {key, strlen(key), 0, false};
    const struct sample *s = bsearch(&wanted, e->samples, e->count, sizeof wanted, by_key);
    assert_non_null(s);
    return s->value;
}

#endif
