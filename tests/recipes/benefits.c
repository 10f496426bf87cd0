/* SPDX-License-Identifier: MIT */
/*
 * Three benefits a day for each user, on the days of Kuala Lumpur.
 *
 * The day ends at midnight there, wherever the server is and whatever zone it has. A refusal says
 * how long that is away.
 */
#include <weir/weir.h>

#include <errno.h>
#include <stdio.h>

/* 23:59 in Kuala Lumpur, 15:59 in UTC, an hour after the system was started. */
#define UNIX_TIME (1772380740 * WEIR_SECOND)
#define UPTIME    WEIR_HOUR

/*
 * Only so that this program says the same at any time of day. A server has no clock of its own: it
 * leaves wall_clock NULL, and `now` is weir_now().
 */
static weir_ns unix_time(void *context, weir_ns now)
{
    (void)context;
    return UNIX_TIME - UPTIME + now;
}

int main(void)
{
    struct weir_options options = {.wall_clock = unix_time};
    struct weir *w;
    if (weir_open(&w, &options) != 0)
        return 1;

    const weir_ns now = UPTIME; /* weir_now() */
    struct weir_policy policy = weir_calendar_window(3, WEIR_CALENDAR_DAY, "Asia/Kuala_Lumpur");
    int benefits = weir_add_limit(w, "benefits", &policy); /* -ENOENT: no such zone here */
    weir_key user = weir_key_u64(w, 4711);
    bool first = weir_allow(w, benefits, user, 1, now);
    if (benefits == -ENOENT)
        return 77; /* a system without time zones: the test is skipped */

    bool second = weir_allow(w, benefits, user, 1, now);
    bool third = weir_allow(w, benefits, user, 1, now);
    struct weir_result fourth = weir_decide(w, benefits, user, 1, now);
    bool other = weir_allow(w, benefits, weir_key_u64(w, 4712), 1, now);
    bool tomorrow = weir_allow(w, benefits, user, 3, now + fourth.wait);

    printf("%d today, then more in %llu s\n", first + second + third,
           (unsigned long long)(fourth.wait / WEIR_SECOND));
    weir_close(w);
    bool denied = fourth.verdict == WEIR_DENIED && fourth.wait == WEIR_MINUTE;
    return first && second && third && denied && other && tomorrow ? 0 : 1;
}
