/* SPDX-License-Identifier: MIT */
/* A program of a user: C11, built against the installed library. */
#include <weir/weir.h>

#include <stdio.h>

static int fail(const char *what)
{
    printf("C11: %s\n", what);
    return 1;
}

int main(void)
{
    struct weir *w = NULL;
    struct weir_policy policy;

    if (weir_policy_parse(&policy, "1/s burst 2", NULL) != 0 || weir_open(&w, NULL) != 0)
        return fail("no engine");
    int limit = weir_add_limit(w, "requests", &policy);
    weir_key key = weir_key_text(w, "somebody");
    const weir_ns now = 5 * WEIR_SECOND;

    if (limit != 0 || !weir_allow(w, limit, key, 2, now))
        return fail("the burst is refused");
    struct weir_result third = weir_decide(w, limit, key, 1, now);
    if (third.verdict != WEIR_DENIED || third.wait != WEIR_SECOND)
        return fail("more than the burst is admitted");
    if (!weir_allow(w, limit, key, 1, now + third.wait))
        return fail("the token does not come");
    weir_close(w);
    printf("C11: %s\n", weir_version());
    return 0;
}
