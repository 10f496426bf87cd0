/* SPDX-License-Identifier: MIT */
/*
 * Five failed log-ins in a quarter of an hour; those that succeed do not count.
 *
 * A try is charged before the password is checked and refunded after it was right. Counting only
 * afterwards would let a hundred tries at once through, all checked before the first is counted.
 */
#include <weir/weir.h>

#include <stdio.h>

static int log_in(struct weir *w, int tries, const char *user, bool password_is_right, weir_ns now)
{
    weir_key key = weir_key_text(w, user);
    if (!weir_allow(w, tries, key, 1, now))
        return 429;
    if (!password_is_right)
        return 401;
    weir_refund(w, tries, key, 1, now);
    return 200;
}

int main(void)
{
    const weir_ns now = WEIR_HOUR;
    struct weir *w;
    if (weir_open(&w, NULL) != 0)
        return 1;
    struct weir_policy policy = weir_fixed_window(5, 15 * WEIR_MINUTE);
    int tries = weir_add_limit(w, "log-ins", &policy);

    int right = 0, wrong = 0;
    for (int i = 0; i < 20; i++)
        right += log_in(w, tries, "ada", true, now) == 200;
    for (int i = 0; i < 20; i++)
        wrong += log_in(w, tries, "ada", false, now + WEIR_SECOND) == 401;
    /* Locked out, the right password too, until the window has ended. */
    int locked = log_in(w, tries, "ada", true, now + 14 * WEIR_MINUTE);
    int open = log_in(w, tries, "ada", true, now + 16 * WEIR_MINUTE);

    printf("%d right, %d wrong, then %d; a quarter of an hour later %d\n", right, wrong, locked,
           open);
    weir_close(w);
    return right == 20 && wrong == 5 && locked == 429 && open == 200 ? 0 : 1;
}
