/* SPDX-License-Identifier: MIT */
/*
 * Sleeping until a reservation may act.
 *
 * The order of waiters is that of their reservations; each sleeps until its own instant, and wakes
 * nobody. A reservation that would be too late is not made.
 *
 * A thread that asks the kernel to be woken at an instant is woken up to its timer slack later
 * (prctl(2), PR_SET_TIMERSLACK: 50 us, but for real-time threads), and then has to be scheduled. So
 * it asks for an earlier instant, and watches the clock for the rest: at most WATCH_MAX.
 */
#include "limiter.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#define WAKE_NS   (20 * WEIR_MICROSECOND) /* from the timer to the thread, on an idle processor */
#define WATCH_MAX (200 * WEIR_MICROSECOND)

weir_ns weir_clock_of(const struct weir *w)
{
    return w->clock != NULL ? w->clock(w->clock_context) : weir_now();
}

/* How long before an instant to ask to be woken. */
static weir_ns watch_span(void)
{
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    weir_ns span = WAKE_NS + (slack > 0 ? (weir_ns)slack : 0);
    return span < WATCH_MAX ? span : WATCH_MAX;
}

/* False: interrupted. */
static bool sleep_by_kernel(weir_ns instant)
{
    weir_ns watch = 0;
    for (weir_ns now = weir_now(); now < instant; now = weir_now()) {
        if (watch == 0)
            watch = watch_span();
        if (instant - now <= watch) {
            ck_pr_stall();
            continue;
        }
        weir_ns wake = instant - watch;
        struct timespec at = {(time_t)(wake / WEIR_SECOND), (long)(wake % WEIR_SECOND)};
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
            return false;
    }
    return true;
}

static bool sleep_until(const struct weir *w, weir_ns instant)
{
    if (w->sleep_until == NULL)
        return sleep_by_kernel(instant);
    while (weir_clock_of(w) < instant) {
        if (w->sleep_until(w->clock_context, instant) != 0)
            return false;
    }
    return true;
}

/* What weir_wait returns for an answer that is no grant. */
static int refusal(const struct weir *w, int limit, enum weir_verdict verdict)
{
    if (verdict == WEIR_NEVER)
        return -E2BIG;
    if (verdict == WEIR_INVALID)
        return weir_limit_at(w, limit) == NULL ? -ENOENT : -ENOMEM;
    return -ETIMEDOUT;
}

int weir_wait(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns deadline)
{
    if (w == NULL)
        return -EINVAL;
    int saved = errno;
    weir_ns now = weir_clock_of(w);
    if (now > deadline)
        return refusal(w, limit, weir_peek(w, limit, key, n, now).verdict);
    struct weir_reservation r;
    weir_ns most = deadline == WEIR_FOREVER ? WEIR_FOREVER : deadline - now;
    struct weir_result result = weir_reserve(w, limit, key, n, now, most, &r);
    int error = 0;
    if (result.verdict != WEIR_ALLOWED) {
        error = refusal(w, limit, result.verdict);
    } else if (result.wait != 0 && !sleep_until(w, r.instant)) {
        now = weir_clock_of(w);
        if (now < r.instant) { /* else it may act: there is nothing to give back any more */
            weir_cancel(w, &r, now);
            error = -EINTR;
        }
    }
    errno = saved;
    return error;
}
