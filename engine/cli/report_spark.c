/* SPDX-License-Identifier: MIT */
/* Requests over time as rows of blocks: what was offered, what each limit let pass of it. */
#include "report.h"

#include "spans.h"

#include <stdio.h>

#define COLUMNS_MIN   20
#define LABEL_MAX     40
#define NS_PER_MINUTE UINT64_C(60000000000)

/* How the time line is laid out. */
struct axis {
    size_t per_column; /* buckets of the time line */
    size_t columns;
    uint64_t full; /* requests that make a block of full height */
    size_t label;  /* columns before the blocks */
};

static const char *block(uint64_t value, uint64_t full, bool utf8)
{
    static const char *const blocks[] = {" ",
                                         "\xe2\x96\x81",
                                         "\xe2\x96\x82",
                                         "\xe2\x96\x83",
                                         "\xe2\x96\x84",
                                         "\xe2\x96\x85",
                                         "\xe2\x96\x86",
                                         "\xe2\x96\x87",
                                         "\xe2\x96\x88"};
    static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    __extension__ typedef unsigned __int128 wide;
    size_t level = (size_t)(((wide)value * 8 + full - 1) / full);
    return utf8 ? blocks[level] : plain[level];
}

static uint64_t offered(const struct report *r, const struct axis *axis, size_t column)
{
    return timeline_sum(r->timeline, 0, column * axis->per_column, axis->per_column);
}

static uint64_t allowed(const struct report *r, const struct axis *axis, size_t column,
                        size_t limit)
{
    return timeline_sum(r->timeline, limit + 1, column * axis->per_column, axis->per_column);
}

static struct axis lay_out(const struct report *r, const struct style *style, size_t name_width)
{
    struct axis axis = {.label = name_width + sizeof "  allowed  " - 1};
    size_t room = style->width > axis.label + COLUMNS_MIN ? style->width - axis.label : COLUMNS_MIN;
    axis.per_column = (r->timeline->used + room - 1) / room;
    axis.columns = (r->timeline->used + axis.per_column - 1) / axis.per_column;
    axis.full = 1;
    for (size_t i = 0; i < axis.columns; i++) {
        uint64_t value = offered(r, &axis, i);
        axis.full = value > axis.full ? value : axis.full;
    }
    return axis;
}

static void put_label(struct text *line, const char *name, const char *what,
                      const struct axis *axis)
{
    int name_width = (int)axis->label - (int)(sizeof "  allowed  " - 1);
    text_print(line, "%-*.*s  %-7s  ", name_width, name_width, name, what);
}

/* Trailing blanks are left out. */
static void print_row(struct text *line)
{
    while (line->size > 0 && line->data[line->size - 1] == ' ')
        line->data[--line->size] = '\0';
    puts(line->size > 0 ? line->data : "");
    text_clear(line);
}

static void print_scale(const struct report *r, const struct style *style, const struct axis *axis)
{
    struct text line = {0};
    uint64_t minutes = (uint64_t)axis->per_column << r->timeline->shift;
    text_print(&line, "over time: one column is ");
    span_put(&line, (span_ns)minutes * NS_PER_MINUTE);
    text_print(&line, ", full height ");
    text_put_count(&line, axis->full);
    text_print(&line, " %s, blank is none, the lowest %s any",
               axis->full == 1 ? "request" : "requests", style->utf8 ? "block" : "mark");
    puts(line.data);
    text_free(&line);
}

/* The first minute under the first column, the last one under the last where both fit. */
static void print_ends(const struct report *r, const struct axis *axis)
{
    struct text from = {0}, to = {0};
    size_t width = sizeof "2015-05-17 10:05" - 1;
    /* a stream may hold earlier times than its first: they count as the first */
    struct log_time first = {r->timeline->first_minute * (int64_t)NS_PER_MINUTE,
                             r->from.offset_min};
    log_time_put(&from, &first, LOG_TIME_DATE);
    log_time_put(&to, &r->to, LOG_TIME_DATE);
    printf("%*s%.*s", (int)axis->label, "", (int)width, from.data);
    if (axis->columns >= 2 * width + 2)
        printf("%*.*s", (int)(axis->columns - width), (int)width, to.data);
    putchar('\n');
    text_free(&from);
    text_free(&to);
}

void report_spark(const struct report *r, const struct style *style)
{
    size_t name_width = 0;
    for (size_t i = 0; i < r->limits; i++) {
        size_t width = r->items[i].policy.size;
        width = width > LABEL_MAX ? LABEL_MAX : width;
        name_width = width > name_width ? width : name_width;
    }
    struct axis axis = lay_out(r, style, name_width);
    struct text line = {0};
    print_scale(r, style, &axis);
    put_label(&line, "", "offered", &axis);
    for (size_t i = 0; i < axis.columns; i++)
        text_print(&line, "%s", block(offered(r, &axis, i), axis.full, style->utf8));
    print_row(&line);
    for (size_t limit = 0; limit < r->limits; limit++) {
        put_label(&line, r->items[limit].policy.data, "allowed", &axis);
        for (size_t i = 0; i < axis.columns; i++)
            text_print(&line, "%s", block(allowed(r, &axis, i, limit), axis.full, style->utf8));
        print_row(&line);
        put_label(&line, "", "denied", &axis);
        for (size_t i = 0; i < axis.columns; i++) {
            uint64_t denied = offered(r, &axis, i) - allowed(r, &axis, i, limit);
            text_print(&line, "%s", block(denied, axis.full, style->utf8));
        }
        print_row(&line);
    }
    print_ends(r, &axis);
    text_free(&line);
}
