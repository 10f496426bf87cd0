/* SPDX-License-Identifier: MIT */
/*
 * Thousands of merchants, some with a rate of their own, which changes while it is in use.
 *
 * Those with the same rate are keys of one limit: any number of them, made by asking. A rate of
 * one's own is a limit: it has a name, settings and statistics, and stays until it is removed.
 * max_limits has to allow for them, and no more than needed: it is paid for in bits of the hash.
 */
#include <weir/weir.h>

#include <stdio.h>

#define MERCHANTS 5000

struct merchant {
    char name[24];
    int limit; /* the standard one, or his own */
};

static int standard;

static int set_rate(struct weir *w, struct merchant *m, uint64_t per_second, weir_ns now)
{
    struct weir_policy policy = weir_token_bucket(per_second, WEIR_SECOND, per_second);
    if (m->limit != standard)
        return weir_set_limit(w, m->limit, &policy, now);
    int own = weir_add_limit(w, m->name, &policy);
    if (own >= 0)
        m->limit = own;
    return own < 0 ? own : 0;
}

static unsigned payments(struct weir *w, const struct merchant *m, weir_ns now)
{
    unsigned count = 0;
    while (weir_allow(w, m->limit, weir_key_text(w, m->name), 1, now))
        count++;
    return count;
}

int main(void)
{
    static struct merchant merchants[MERCHANTS];
    const weir_ns now = WEIR_HOUR;
    struct weir *w;
    struct weir_options options = {.max_limits = 10000};
    struct weir_policy policy = weir_token_bucket(10, WEIR_SECOND, 10);
    if (weir_open(&w, &options) != 0)
        return 1;
    standard = weir_add_limit(w, "standard", &policy);

    int error = 0;
    for (unsigned i = 0; i < MERCHANTS; i++) {
        snprintf(merchants[i].name, sizeof merchants[i].name, "merchant %u", i);
        merchants[i].limit = standard;
        if (i % 2 == 1)
            error |= set_rate(w, &merchants[i], i, now);
    }
    unsigned small = payments(w, &merchants[1234], now);
    unsigned big = payments(w, &merchants[4321], now);
    error |= set_rate(w, &merchants[4321], 9000, now); /* what was spent stays spent */
    unsigned spent = payments(w, &merchants[4321], now);
    unsigned raised = payments(w, &merchants[4321], now + WEIR_SECOND);

    printf("%u; %u, then %u; a second later %u\n", small, big, spent, raised);
    weir_close(w);
    return error == 0 && small == 10 && big == 4321 && spent == 0 && raised == 9000 ? 0 : 1;
}
