/* SPDX-License-Identifier: MIT */
/*
 * Work in batches that sleeps until the next window, as for a service that allows 600 a minute.
 *
 * The answer to the last one that is allowed says so: nothing remains, and `reset` is when the
 * window ends. Nobody has to run into a refusal to learn it, and until then there may be other work
 * to do: a thread that can only sleep calls weir_wait, as paced_client.c does.
 */
#include <weir/weir.h>

#include <stdio.h>

/* The clock of this program; a real one sleeps, and asks weir_now(). */
static weir_ns now = WEIR_HOUR;
static unsigned sleeps;

static void sleep_for(weir_ns span)
{
    now += span;
    sleeps++;
}

static unsigned send_all(struct weir *w, int limit, weir_key service, unsigned items)
{
    unsigned refused = 0;
    while (items > 0) {
        struct weir_result result = weir_decide(w, limit, service, 1, now);
        if (result.verdict == WEIR_ALLOWED)
            items--; /* one is sent here */
        else
            refused++; /* others use the service too */
        if (items > 0 && weir_quota(result) != WEIR_QUOTA_ALLOWED)
            sleep_for(result.reset);
    }
    return refused;
}

int main(void)
{
    struct weir *w;
    if (weir_open(&w, NULL) != 0)
        return 1;
    struct weir_policy policy = weir_fixed_window(600, WEIR_MINUTE);
    int limit = weir_add_limit(w, "the service", &policy);

    weir_ns begun = now;
    unsigned refused = send_all(w, limit, weir_key_text(w, "us"), 2000);

    printf("2000 in %llu s, %u sleeps, %u refused\n",
           (unsigned long long)((now - begun) / WEIR_SECOND), sleeps, refused);
    weir_close(w);
    return refused == 0 && sleeps == 3 && now - begun >= 3 * WEIR_MINUTE &&
                   now - begun < 3 * WEIR_MINUTE + WEIR_MILLISECOND
               ? 0
               : 1;
}
