/* SPDX-License-Identifier: MIT */
/* A line on stderr that shows how far the reading is, where stderr is a terminal. */
#include "progress.h"

#include "text.h"

#include <stdio.h>
#include <unistd.h>
#include <weir/weir.h>

#define SHOW_EVERY (100 * WEIR_MILLISECOND)

void progress_start(struct progress *p)
{
    uint64_t now = weir_now();
    *p = (struct progress){.on = isatty(STDERR_FILENO) == 1, .started_ns = now, .shown_ns = now};
}

void progress_show(struct progress *p, uint64_t lines)
{
    if (!p->on)
        return;
    uint64_t now = weir_now();
    if (now - p->shown_ns < SHOW_EVERY)
        return;
    struct text line = {0};
    text_put_count(&line, lines);
    text_print(&line, " lines, ");
    text_put_count(&line, lines * 1000 / ((now - p->started_ns) / WEIR_MILLISECOND));
    fprintf(stderr, "\r%s a second\033[K", line.data);
    text_free(&line);
    p->shown = true;
    p->shown_ns = now;
}

void progress_erase(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}
