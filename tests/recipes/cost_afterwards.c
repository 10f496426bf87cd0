/* SPDX-License-Identifier: MIT */
/*
 * A cost that is known only when the answer is there: words of a language model, rows of a query.
 *
 * A request is let in while its user is not in debt (0 tokens ask for that, and take none); what it
 * has cost is charged afterwards, into debt if need be. The next one then waits until that is paid.
 */
#include <weir/weir.h>

#include <stdio.h>

static bool begin(struct weir *w, int words, weir_key user, weir_ns now)
{
    return weir_allow(w, words, user, 0, now); /* at the beginning */
}

static void end(struct weir *w, int words, weir_key user, uint64_t cost, weir_ns now)
{
    weir_charge(w, words, user, cost, now); /* at the end */
}

int main(void)
{
    struct weir *w;
    if (weir_open(&w, NULL) != 0)
        return 1;
    struct weir_policy policy = weir_token_bucket(10000, WEIR_MINUTE, 10000);
    int words = weir_add_limit(w, "words", &policy);
    weir_key user = weir_key_u64(w, 4711);
    const weir_ns now = WEIR_HOUR;

    bool first = begin(w, words, user, now);
    end(w, words, user, 25000, now); /* 15,000 more than there were */
    bool second = begin(w, words, user, now);
    weir_ns wait = weir_peek(w, words, user, 0, now).wait;
    bool third = begin(w, words, user, now + wait);

    printf("%s, %s, and %s after %llu s\n", first ? "yes" : "no", second ? "yes" : "no",
           third ? "yes" : "no", (unsigned long long)(wait / WEIR_SECOND));
    weir_close(w);
    return first && !second && third && wait == 90 * WEIR_SECOND ? 0 : 1;
}
