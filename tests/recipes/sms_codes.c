/* SPDX-License-Identifier: MIT */
/*
 * Codes by SMS: one a minute and five a day to a number, a thousand a day over all.
 *
 * All three say yes, or none is charged: a number that is refused takes nothing from the others,
 * and a day that is used up costs nobody his minute.
 */
#include <weir/weir.h>

#include <stdio.h>

struct sms {
    struct weir *w;
    int minute, day, total;
};

static bool may_send(struct sms *s, const char *number, weir_ns now, weir_ns *wait)
{
    weir_key phone = weir_key_text(s->w, number), all = weir_key_text(s->w, "all");
    struct weir_request wanted[] = {{s->minute, phone, 1}, {s->day, phone, 1}, {s->total, all, 1}};
    struct weir_result result;
    int refused = weir_decide_all(s->w, wanted, 3, now, 0, &result); /* -1: nobody */
    *wait = result.wait;
    return refused < 0;
}

static int add(struct weir *w, const char *name, const char *text)
{
    struct weir_policy policy;
    return weir_policy_parse(&policy, text, NULL) == 0 ? weir_add_limit(w, name, &policy) : -1;
}

int main(void)
{
    weir_ns now = WEIR_HOUR, wait = 0;
    struct sms s;
    if (weir_open(&s.w, NULL) != 0)
        return 1;
    s.minute = add(s.w, "codes a minute", "1/min"); /* weir_policy_parse and weir_add_limit */
    s.day = add(s.w, "codes a day", "5/day window");
    s.total = add(s.w, "codes over all", "1000/day window");

    int codes = 0, others = 0, in_a_minute = 0;
    for (int i = 0; i < 360; i++) { /* one who asks every 10 seconds for an hour */
        codes += may_send(&s, "+60 12 345 6789", now + (weir_ns)i * 10 * WEIR_SECOND, &wait);
        in_a_minute = i < 6 ? codes : in_a_minute;
    }
    for (int i = 0; i < 2000; i++) {
        char number[32];
        snprintf(number, sizeof number, "+1 555 %04d", i);
        others += may_send(&s, number, now + WEIR_HOUR, &wait);
    }
    printf("%d in a minute, %d in an hour, %d to others, more in %llu h\n", in_a_minute, codes,
           others, (unsigned long long)(wait / WEIR_HOUR));
    weir_close(s.w);
    return in_a_minute == 1 && codes == 5 && others == 995 && wait / WEIR_HOUR == 23 ? 0 : 1;
}
