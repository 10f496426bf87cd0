/* SPDX-License-Identifier: MIT */
/*
 * Statistics as Prometheus reads them: the very text, the text cut at every size, names of any
 * bytes, and a strict reader of the format that reads back what busy engines say.
 */
#include "exposition.h"

#include "table/shard.h"

#include <errno.h>

#define NOW (1000 * WEIR_SECOND)

/* ---- the text ---- */

/* Two limits, two places of which one is left, and each number another. */
static struct weir *open_marked(void)
{
    struct weir *w = open_for_keys(2, WEIR_FULL_SHARE);
    int limit = add_limit(w, "requests", weir_token_bucket(1, WEIR_HOUR, 3));
    add_limit(w, "log-ins of caf\xc3\xa9", weir_token_bucket(1, WEIR_HOUR, 3));
    for (int i = 0; i < 5; i++)
        assert_int_equal(weir_allow(w, limit, weir_key_u64(w, 1), 1, NOW), i < 3);
    assert_true(weir_allow(w, limit, weir_key_u64(w, 2), 1, NOW));
    assert_true(weir_allow(w, limit, weir_key_u64(w, 3), 1, NOW)); /* has no place */
    assert_int_equal(weir_decide(w, limit, weir_key_u64(w, 3), 4, NOW).verdict, WEIR_NEVER);
    assert_int_equal(weir_trim(w, NOW + WEIR_HOUR), 0); /* key 2 is full again */
    struct weir_table_counts *counts = &w->table.counts;
    weir_store_relaxed(&counts->longest_probe, 11);
    weir_store_relaxed(&counts->longest_call, 12);
    weir_store_relaxed(&counts->growths, 13);
    weir_store_relaxed(&counts->compactions, 14);
    weir_store_relaxed(&counts->shrinks, 15);
    weir_store_relaxed(&counts->failures, 16);
    weir_store_relaxed(&counts->moves, 17);
    weir_store_relaxed(&counts->dropped, 1800000);
    weir_store_relaxed(&counts->helps, UINT64_MAX);
    weir_store_relaxed(&w->limits[limit].origins, 20);
    return w;
}

static const char marked_text[] =
    "# HELP weir_decisions_total Decisions and reservations, by limit and by what came of them.\n"
    "# TYPE weir_decisions_total counter\n"
    "weir_decisions_total{limit=\"requests\",verdict=\"allowed\"} 5\n"
    "weir_decisions_total{limit=\"requests\",verdict=\"denied\"} 2\n"
    "weir_decisions_total{limit=\"requests\",verdict=\"never\"} 1\n"
    "weir_decisions_total{limit=\"log-ins of caf\xc3\xa9\",verdict=\"allowed\"} 0\n"
    "weir_decisions_total{limit=\"log-ins of caf\xc3\xa9\",verdict=\"denied\"} 0\n"
    "weir_decisions_total{limit=\"log-ins of caf\xc3\xa9\",verdict=\"never\"} 0\n"
    "# HELP weir_overflow_total Calls whose key had no place in the table, so that when_full "
    "answered.\n"
    "# TYPE weir_overflow_total counter\n"
    "weir_overflow_total{limit=\"requests\"} 2\n"
    "weir_overflow_total{limit=\"log-ins of caf\xc3\xa9\"} 0\n"
    "# HELP weir_keys Keys that hold a place, idle ones not yet left behind included.\n"
    "# TYPE weir_keys gauge\n"
    "weir_keys 1\n"
    "# HELP weir_keys_error How many of these may be idle ones that are being left behind just "
    "now.\n"
    "# TYPE weir_keys_error gauge\n"
    "weir_keys_error 0\n"
    "# HELP weir_max_keys Keys that can hold a place at most.\n"
    "# TYPE weir_max_keys gauge\n"
    "weir_max_keys 2\n"
    "# HELP weir_bytes Memory of the table, the limits and the counters.\n"
    "# TYPE weir_bytes gauge\n"
    "weir_bytes %llu\n"
    "# HELP weir_retired_bytes Memory of the table that was replaced, and that readers have not "
    "yet let go of.\n"
    "# TYPE weir_retired_bytes gauge\n"
    "weir_retired_bytes 9\n"
    "# HELP weir_arrays Line arrays of the table in use.\n"
    "# TYPE weir_arrays gauge\n"
    "weir_arrays 10\n"
    "# HELP weir_longest_probe_lines Lines that the search of a new key went through at most.\n"
    "# TYPE weir_longest_probe_lines gauge\n"
    "weir_longest_probe_lines 11\n"
    "# HELP weir_longest_call_lines Lines that one call went through at most, helping included.\n"
    "# TYPE weir_longest_call_lines gauge\n"
    "weir_longest_call_lines 12\n"
    "# HELP weir_growths_total Line arrays replaced by larger ones.\n"
    "# TYPE weir_growths_total counter\n"
    "weir_growths_total 13\n"
    "# HELP weir_compactions_total Line arrays replaced by ones of the same size, to leave idle "
    "keys behind.\n"
    "# TYPE weir_compactions_total counter\n"
    "weir_compactions_total 14\n"
    "# HELP weir_shrinks_total Line arrays replaced by smaller ones.\n"
    "# TYPE weir_shrinks_total counter\n"
    "weir_shrinks_total 15\n"
    "# HELP weir_failures_total Line arrays that there was no memory for.\n"
    "# TYPE weir_failures_total counter\n"
    "weir_failures_total 16\n"
    "# HELP weir_moves_total Keys moved from one line array to the next.\n"
    "# TYPE weir_moves_total counter\n"
    "weir_moves_total 17\n"
    "# HELP weir_dropped_total Idle keys left behind.\n"
    "# TYPE weir_dropped_total counter\n"
    "weir_dropped_total 1800000\n"
    "# HELP weir_helps_total Times that a call moved a part of a line array.\n"
    "# TYPE weir_helps_total counter\n"
    "weir_helps_total 18446744073709551615\n"
    "# HELP weir_origins_total Times that a limit was given a new origin of its clock.\n"
    "# TYPE weir_origins_total counter\n"
    "weir_origins_total 20\n";

static void the_very_text(void **state)
{
    (void)state;
    struct weir *w = open_marked();
    struct weir_stats stats = {0};
    char expected[sizeof marked_text + 32];
    uint64_t arrays = weir_load_relaxed(&w->table.arrays);
    uint64_t retired = weir_load_relaxed(&w->table.retired_bytes);
    weir_store_relaxed(&w->table.arrays, 10);
    weir_store_relaxed(&w->table.retired_bytes, 9);
    char *text = text_of(w);
    assert_int_equal(weir_stats(w, &stats), 0);
    assert_true(stats.bytes > 1000);
    snprintf(expected, sizeof expected, marked_text, (unsigned long long)stats.bytes);
    assert_string_equal(text, expected);
    struct exposition e = read_text(text);
    assert_int_equal(e.count, 6 + 2 + 16);
    assert_int_equal(e.metrics, 2 + 16);
    assert_int_equal(value_of(&e, "weir_helps_total"), UINT64_MAX);
    free_exposition(&e);
    weir_store_relaxed(&w->table.arrays, arrays);
    weir_store_relaxed(&w->table.retired_bytes, retired);
    weir_close(w);
}

/* An engine without a limit: metrics without samples, which the format allows. */
static void no_limits(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(10, WEIR_FULL_SHARE);
    struct exposition e = read_text(text_of(w));
    assert_int_equal(e.count, 16);
    assert_int_equal(e.metrics, 2 + 16);
    free_exposition(&e);
    weir_close(w);
}

/* A limit that is gone (an id without settings) is in no metric. */
static void gone_limits_are_not_shown(void **state)
{
    (void)state;
    struct weir *w = open_marked();
    struct exposition all = read_text(text_of(w));
    struct weir_settings *settings = w->limits[0].settings;
    w->limits[0].settings = NULL;
    struct exposition rest = read_text(text_of(w));
    w->limits[0].settings = settings;
    assert_non_null(strstr(all.text, "limit=\"requests\""));
    assert_null(strstr(rest.text, "limit=\"requests\""));
    assert_int_equal(rest.count, all.count - 4);
    assert_int_equal(rest.metrics, all.metrics);
    free_exposition(&all);
    free_exposition(&rest);
    weir_close(w);
}

/* Of every size: the same length, the beginning of the same text, a NUL, and not a byte behind. */
static void cut_at_every_size(void **state)
{
    (void)state;
    struct weir *w = open_marked();
    char *text = text_of(w);
    size_t length = strlen(text);
    size_t room = length + 64;
    char *buffer = malloc(room);
    assert_non_null(buffer);
    for (size_t size = 0; size <= length + 8; size++) {
        char *exact = malloc(size != 0 ? size : 1); /* what is behind it, a sanitizer watches */
        assert_non_null(exact);
        assert_int_equal(weir_stats_prometheus(w, exact, size), length);
        free(exact);
        memset(buffer, '~', room);
        assert_int_equal(weir_stats_prometheus(w, buffer, size), length);
        size_t written = size == 0 ? 0 : size <= length ? size - 1 : length;
        assert_memory_equal(buffer, text, written);
        if (size != 0)
            assert_int_equal(buffer[written], '\0');
        for (size_t i = size == 0 ? 0 : written + 1; i < room; i++)
            assert_int_equal(buffer[i], '~');
    }
    free(buffer);
    free(text);
    weir_close(w);
}

static void refuses(void **state)
{
    (void)state;
    struct weir *w = open_marked();
    char buffer[16] = "as it was";
    errno = 77;
    assert_int_equal(weir_stats_prometheus(NULL, buffer, sizeof buffer), -EINVAL);
    assert_int_equal(weir_stats_prometheus(NULL, NULL, 0), -EINVAL);
    assert_int_equal(weir_stats_prometheus(w, NULL, 1), -EINVAL);
    assert_string_equal(buffer, "as it was");
    assert_true(weir_stats_prometheus(w, NULL, 0) > 0);
    assert_int_equal(weir_stats_prometheus(w, buffer, sizeof buffer),
                     weir_stats_prometheus(w, NULL, 0));
    assert_int_equal(errno, 77);
    assert_string_equal(buffer, "# HELP weir_dec");
    weir_close(w);
}

/* ---- names ---- */

static void names_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *name, *written;
    } cases[] = {
        {"a\\b", "a\\\\b"},
        {"\"quoted\"", "\\\"quoted\\\""},
        {"two\nlines", "two\\nlines"},
        {"two\\nlines", "two\\\\nlines"},
        {"\t\r\001\177", "\t\r\001\177"},
        {"{a=\"b\",c} 1", "{a=\\\"b\\\",c} 1"},
        {"\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf"},
        {"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
         "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
        {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        /* no UTF-8: a byte that begins nothing, too long, a surrogate, too high, cut short */
        {"a\x80z", "a\uFFFD80z"},
        {"\xc0\xaf", "\uFFFDc0\uFFFDaf"},
        {"\xc1\xbf", "\uFFFDc1\uFFFDbf"},
        {"\xe0\x9f\xbf", "\uFFFDe0\uFFFD9f\uFFFDbf"},
        {"\xed\xa0\x80", "\uFFFDed\uFFFDa0\uFFFD80"},
        {"\xf0\x8f\xbf\xbf", "\uFFFDf0\uFFFD8f\uFFFDbf\uFFFDbf"},
        {"\xf4\x90\x80\x80", "\uFFFDf4\uFFFD90\uFFFD80\uFFFD80"},
        {"\xf5\x80\x80\x80", "\uFFFDf5\uFFFD80\uFFFD80\uFFFD80"},
        {"\xff\xfe", "\uFFFDff\uFFFDfe"},
        {"\xe6\xb0", "\uFFFDe6\uFFFDb0"},
        {"\xf0\x9f\x98z", "\uFFFDf0\uFFFD9f\uFFFD98z"},
        {"\xc3", "\uFFFDc3"},
        {"\xc3\"", "\uFFFDc3\\\""},
        /* what another name is written as */
        {"\uFFFDff\uFFFDfe", "\uFFFDef\uFFFDbf\uFFFDbd"
                             "ff\uFFFDef\uFFFDbf\uFFFDbd"
                             "fe"},
        {"\xef\xbf\xbc\xef\xbf\xbe", "\xef\xbf\xbc\xef\xbf\xbe"},
    };
    struct weir *w = open_for_keys(10, WEIR_FULL_SHARE);
    size_t count = sizeof cases / sizeof cases[0];
    for (size_t i = 0; i < count; i++)
        add_limit(w, cases[i].name, weir_token_bucket(1, WEIR_SECOND, 1));
    struct exposition e = read_text(text_of(w));
    assert_int_equal(e.count, 4 * count + 16);
    for (size_t i = 0; i < count; i++) {
        char key[512];
        snprintf(key, sizeof key, "weir_overflow_total{limit=\"%s\"}", cases[i].written);
        assert_int_equal(value_of(&e, key), 0);
    }
    free_exposition(&e);
    weir_close(w);
}

/* The name that a label was made of. Returns what is behind the label. */
static const char *name_back(const char *at, char *name)
{
    while (*at != '"') {
        if (memcmp(at, "\uFFFD", 3) == 0) {
            char digits[3] = {at[3], at[4], '\0'};
            *name++ = (char)strtoul(digits, NULL, 16);
            at += 5;
        } else if (*at == '\\') {
            *name++ = at[1] == 'n' ? '\n' : at[1];
            at += 2;
        } else {
            *name++ = *at++;
        }
    }
    *name = '\0';
    return at;
}

/* 1 to 63 bytes out of those that could be mistaken for each other. */
static void make_name(struct test_random *random, char *name)
{
    static const char *const parts[] = {"\\",     "\"", "\n", "n",    "\xef",     "\xbf", "\xbd",
                                        "\uFFFD", "ef", "f",  "e",    "5c",       "{",    "}",
                                        ",",      "=",  " ",  "\xc3", "\xc3\xa9", "\xff"};
    size_t size = random_below(random, 2) == 0 ? 4 : 63;
    size_t used = 0;
    do {
        const char *part = parts[random_below(random, sizeof parts / sizeof parts[0])];
        size_t length = strlen(part);
        if (used + length > size)
            break;
        memcpy(name + used, part, length);
        used += length;
    } while (random_below(random, size) != 0);
    name[used] = '\0';
}

/* Every name can be told from its label; so no two names share one. */
static void different_names_are_different_labels(void **state)
{
    (void)state;
    enum { NAMES = 4000 };
    struct test_random random = random_start("names", 1);
    struct weir_options options = {0};
    options.max_keys = 10;
    options.max_limits = NAMES;
    struct weir *w = open_engine(&options);
    struct weir_policy policy = weir_token_bucket(1, WEIR_SECOND, 1);
    char name[64];
    for (unsigned added = 0; added < NAMES;) {
        make_name(&random, name);
        int id = weir_add_limit(w, name, &policy);
        assert_true(id == (int)added || id == -EEXIST);
        added += id >= 0;
    }
    struct exposition e = read_text(text_of(w)); /* refuses what is no UTF-8, and equal labels */
    assert_int_equal(e.count, 4 * NAMES + 16);
    const char *at = strstr(e.text, "\nweir_overflow_total{");
    for (int id = 0; id < NAMES; id++) {
        assert_non_null(at);
        take(&at, "\nweir_overflow_total{limit=\"");
        at = name_back(at, name);
        assert_string_equal(name, weir_limit_name(w, id));
        take(&at, "\"} 0");
    }
    free_exposition(&e);
    weir_close(w);
}

/* ---- beside decisions ---- */

#define DECIDERS 3

struct scene {
    struct weir *w;
    uint64_t rounds;
    struct weir_atomic_u64 working;
};

/* Every counter of `before` is in `after`, and has not fallen. */
static void assert_risen(const struct exposition *before, const struct exposition *after)
{
    size_t at = 0;
    for (size_t i = 0; i < before->count; i++) {
        while (at < after->count && by_key(&before->samples[i], &after->samples[at]) > 0)
            at++;
        assert_true(at < after->count);
        assert_int_equal(by_key(&before->samples[i], &after->samples[at]), 0);
        if (before->samples[i].counter)
            assert_true(after->samples[at].value >= before->samples[i].value);
    }
}

static void scrape(struct scene *scene)
{
    struct exposition before = read_text(text_of(scene->w));
    bool working = true;
    while (working) {
        working = weir_load_acquire(&scene->working) != 0; /* and once more when all are done */
        struct exposition after = read_text(text_of(scene->w));
        assert_risen(&before, &after);
        free_exposition(&before);
        before = after;
    }
    free_exposition(&before);
}

static void decide(struct scene *scene, uint64_t index)
{
    uint64_t step = scene->rounds / 20 + 1;
    for (uint64_t i = 0; i < scene->rounds; i++) {
        weir_key key = weir_key_u64(scene->w, index << 32 | i);
        assert_true(weir_allow(scene->w, 0, key, 1, NOW));
        assert_false(weir_allow(scene->w, 0, key, 1, NOW));
        assert_int_equal(weir_decide(scene->w, 0, key, 2, NOW).verdict, WEIR_NEVER);
        if (i % step == 0) {
            char name[32];
            snprintf(name, sizeof name, "%u of %u", (unsigned)i, (unsigned)index);
            add_limit(scene->w, name, weir_token_bucket(1, WEIR_SECOND, 1));
        }
    }
    weir_add_release(&scene->working, (uint64_t)-1);
}

static void scene_member(void *context, unsigned index)
{
    if (index == 0)
        scrape(context);
    else
        decide(context, index);
}

/* K34: read while the table grows and limits are added, counters only rise, and end at what was
   called. */
static void k34_counters_never_decrease(void **state)
{
    (void)state;
    struct scene scene = {NULL, random_scaled(20000), {DECIDERS}};
    scene.w = open_for_keys(2 * DECIDERS * scene.rounds, WEIR_FULL_SHARE); /* room for all */
    add_limit(scene.w, "all", weir_token_bucket(1, WEIR_DAY, 1));
    run_crew(1 + DECIDERS, scene_member, &scene);
    struct exposition e = read_text(text_of(scene.w));
    uint64_t each = DECIDERS * scene.rounds;
    uint64_t step = scene.rounds / 20 + 1;
    uint64_t limits = 1 + DECIDERS * ((scene.rounds + step - 1) / step);
    assert_int_equal(e.count, 4 * limits + 16);
    assert_int_equal(value_of(&e, "weir_decisions_total{limit=\"all\",verdict=\"allowed\"}"), each);
    assert_int_equal(value_of(&e, "weir_decisions_total{limit=\"all\",verdict=\"denied\"}"), each);
    assert_int_equal(value_of(&e, "weir_decisions_total{limit=\"all\",verdict=\"never\"}"), each);
    assert_int_equal(value_of(&e, "weir_decisions_total{limit=\"0 of 1\",verdict=\"never\"}"), 0);
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(scene.w, &stats), 0);
    assert_int_equal(value_of(&e, "weir_keys"), stats.keys);
    assert_int_equal(value_of(&e, "weir_growths_total"), stats.growths);
    assert_int_equal(value_of(&e, "weir_dropped_total"), 0); /* all are in debt */
    free_exposition(&e);
    weir_close(scene.w);
}

/* What a move here takes words for. */
static inline enum weir_judgement weir_table_judge(const void *host, uint64_t tag, uint64_t now,
                                                   uint64_t *word)
{
    (void)host, (void)tag, (void)now, (void)word;
    return WEIR_LIVE;
}

static struct weir_array *root_of(const struct weir *w)
{
    return weir_packed_array(weir_load_acquire(&w->table.words[0]));
}

static uint64_t dropped(const struct weir *w)
{
    struct weir_stats stats = {0};
    assert_int_equal(weir_stats(w, &stats), 0);
    return stats.dropped;
}

/* K34: a key that was moved was not dropped, also when the thread that moved it stopped before it
   had counted it, and goes on after others have ended the move. */
static void k34_what_was_moved_is_not_dropped(void **state)
{
    (void)state;
    struct weir *w = open_for_keys(1000, WEIR_FULL_SHARE);
    int limit = add_limit(w, "a", weir_token_bucket(1, WEIR_DAY, 1));
    uint64_t keys = 0;
    do {
        assert_true(weir_allow(w, limit, weir_key_u64(w, keys++), 1, NOW));
    } while (root_of(w)->order < 7 || weir_shard_next(root_of(w)) == NULL);
    struct weir_array *from = root_of(w);
    struct weir_move stopped = {.from = from, .to = weir_shard_next(from)};
    for (uint64_t i = weir_order_lines(from->order); stopped.moved == 0; i--)
        weir_move_slot(&stopped, &weir_array_lines(from)[i - 1], 0);
    while (root_of(w) == from)
        assert_false(weir_allow(w, limit, weir_key_u64(w, 0), 1, NOW));
    assert_int_equal(dropped(w), 0);
    weir_credit_pay(&w->table.shares[0], stopped.owed);
    assert_int_equal(dropped(w), 0);
    for (uint64_t i = 0; i < keys; i++)
        assert_false(weir_allow(w, limit, weir_key_u64(w, i), 1, NOW));
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_very_text),
        cmocka_unit_test(no_limits),
        cmocka_unit_test(gone_limits_are_not_shown),
        cmocka_unit_test(cut_at_every_size),
        cmocka_unit_test(refuses),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(different_names_are_different_labels),
        cmocka_unit_test(k34_counters_never_decrease),
        cmocka_unit_test(k34_what_was_moved_is_not_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
