/* SPDX-License-Identifier: MIT */
/* A replay as a table that a person reads. */
#include "report.h"

#include "columns.h"
#include "printable.h"
#include "spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_DEFAULT 100
#define WIDTH_MIN     40
#define KEY_WIDTH_MAX 60

static struct style style_of_stdout(void)
{
    struct style style = {.utf8 = utf8_locale(), .width = WIDTH_DEFAULT};
    struct winsize window;
    if (isatty(STDOUT_FILENO) != 1)
        return style;
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    style.colour = (no_colour == NULL || *no_colour == '\0') &&
                   (terminal == NULL || strcmp(terminal, "dumb") != 0);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        style.width = window.ws_col < WIDTH_MIN ? WIDTH_MIN : window.ws_col;
    return style;
}

static void put_noun(struct text *t, uint64_t count, const char *one, const char *many)
{
    text_put_count(t, count);
    text_print(t, " %s", count == 1 ? one : many);
}

static void print_head(const struct report *r, const struct style *style)
{
    const char *dot = style->utf8 ? " \xc2\xb7 " : " | ";
    bool one_zone = r->from.offset_min == r->to.offset_min;
    bool one_day = log_time_same_day(&r->from, &r->to);
    struct text line = {0};
    put_noun(&line, r->requests, "request", "requests");
    text_print(&line, "%s%s", dot, r->uncounted > 0 ? "more than " : "");
    put_noun(&line, r->keys, "key", "keys");
    text_print(&line, " (");
    printable_put(&line, r->key_text, strlen(r->key_text), style->utf8, KEY_WIDTH_MAX);
    text_print(&line, ")%s", dot);
    log_time_put(&line, &r->from, LOG_TIME_DATE | (one_zone ? 0 : LOG_TIME_ZONE));
    text_print(&line, " to ");
    log_time_put(&line, &r->to, LOG_TIME_ZONE | (one_day ? 0 : LOG_TIME_DATE));
    text_print(&line, " (");
    span_put_short(&line, (uint64_t)(r->to.unix_ns - r->from.unix_ns));
    text_print(&line, ")%s", dot);
    put_noun(&line, r->skipped_lines, "line skipped", "lines skipped");
    puts(line.data);
    text_free(&line);
}

/* In hundredths of a percent, rounded to the nearest. */
static void put_percent(struct text *t, uint64_t part, uint64_t whole)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t hundredths = (uint64_t)(((wide)part * 20000 + whole) / ((wide)whole * 2));
    text_print(t, "%" PRIu64 ".%02" PRIu64 " %%", hundredths / 100, hundredths % 100);
}

static void print_limits(const struct report *r, const struct style *style)
{
    static const char *const names[] = {"policy", "allowed",     "denied",      "denied %",
                                        "keys",   "keys denied", "first denied"};
    struct columns table = {.per_row = 7, .right = {false, true, true, true, true, true, false}};
    for (size_t i = 0; i < table.per_row; i++)
        text_print(columns_cell(&table), "%s", names[i]);
    for (size_t i = 0; i < r->limits; i++) {
        const struct report_limit *item = &r->items[i];
        const struct tally *tally = item->tally;
        text_put(columns_cell(&table), item->policy.data, item->policy.size);
        text_put_count(columns_cell(&table), tally->allowed);
        text_put_count(columns_cell(&table), tally->denied);
        put_percent(columns_cell(&table), tally->denied, r->requests);
        text_put_count(columns_cell(&table), r->keys);
        text_put_count(columns_cell(&table), tally->keys_denied);
        if (tally->first_denied == SHARD_NEVER)
            text_print(columns_cell(&table), "never");
        else
            log_time_put(
                columns_cell(&table), &tally->first_denied_at,
                LOG_TIME_DATE |
                    (tally->first_denied_at.offset_min == r->to.offset_min ? 0 : LOG_TIME_ZONE));
    }
    columns_print(&table, style->colour, stdout);
    columns_free(&table);
}

static void put_key(struct text *cell, const struct key_entry *entry, const struct style *style)
{
    bool whole;
    struct slice bytes = key_entry_bytes(entry, &whole);
    text_put(cell, "  ", 2);
    printable_put(cell, bytes.data, bytes.size, style->utf8, KEY_WIDTH_MAX);
}

static void print_top(const struct report *r, const struct style *style)
{
    size_t rows = 0;
    struct columns table = {.per_row = 3, .right = {false, true, true}};
    text_print(columns_cell(&table), "most denied");
    text_print(columns_cell(&table), "allowed");
    text_print(columns_cell(&table), "denied");
    for (size_t i = 0; i < r->limits; i++) {
        const struct report_limit *item = &r->items[i];
        if (item->top_count == 0)
            continue;
        text_print(columns_cell(&table), "under %s", item->policy.data);
        columns_cell(&table);
        columns_cell(&table);
        for (size_t k = 0; k < item->top_count; k++, rows++) {
            put_key(columns_cell(&table), item->top[k].entry, style);
            text_put_count(columns_cell(&table), item->top[k].count.allowed);
            text_put_count(columns_cell(&table), item->top[k].count.denied);
        }
    }
    if (rows > 0) {
        putchar('\n');
        columns_print(&table, style->colour, stdout);
    }
    columns_free(&table);
}

static void put_order(struct text *t, const struct report *r)
{
    if (r->out_of_order == 0)
        return;
    put_noun(t, r->out_of_order, "line", "lines");
    text_print(t, " came out of order, by up to ");
    span_put_short(t, (uint64_t)r->out_of_order_max_ns);
    text_print(t, "; a stream takes %s as of the latest time seen (a FILE would be sorted)\n",
               r->out_of_order == 1 ? "it" : "them");
}

/* What the numbers above do not show. */
static void print_notes(const struct report *r)
{
    struct text line = {0};
    put_order(&line, r);
    for (size_t i = 0; i < r->limits; i++) {
        uint64_t overflow = r->items[i].tally->overflow;
        if (overflow == 0)
            continue;
        put_noun(&line, overflow, "request", "requests");
        text_print(&line,
                   " under %s had no place for their key in the table: such keys share one "
                   "bucket or window, so that more was denied than with one each.%s\n",
                   r->items[i].policy.data, r->stream ? " --max-keys makes room." : "");
    }
    if (r->uncounted > 0) {
        put_noun(&line, r->uncounted, "request", "requests");
        text_print(&line, " came from keys past --max-keys: they are in the totals, but not in "
                          "the counts of keys.\n");
    }
    if (line.size > 0)
        printf("\n%s", line.data);
    text_free(&line);
}

void report_text(const struct report *r)
{
    struct style style = style_of_stdout();
    print_head(r, &style);
    putchar('\n');
    print_limits(r, &style);
    print_top(r, &style);
    putchar('\n');
    report_spark(r, &style);
    print_notes(r);
}
