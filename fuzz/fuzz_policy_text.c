/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any text is one policy or one fault. A policy that is accepted is printed, and read
 * back as the same; a fault lies within the text.
 */
#include <weir/weir.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static bool same_policy(const struct weir_policy *a, const struct weir_policy *b)
{
    return a->kind == b->kind && a->form == b->form && a->limit == b->limit &&
           a->period == b->period && a->burst == b->burst && a->tick == b->tick &&
           a->utc_offset_s == b->utc_offset_s && a->calendar == b->calendar &&
           a->reserved_word == b->reserved_word && memcmp(a->zone, b->zone, sizeof a->zone) == 0 &&
           memcmp(a->reserved, b->reserved, sizeof a->reserved) == 0;
}

static void check_accepted(const struct weir_policy *policy)
{
    char text[256], again[256], cut[8];
    struct weir_policy back;
    struct weir_meter meter;
    int length = weir_policy_format(policy, text, sizeof text), rc;

    check(length > 0 && (size_t)length < sizeof text && strlen(text) == (size_t)length);
    check(weir_policy_parse(&back, text, NULL) == 0);
    check(same_policy(policy, &back));
    check(weir_policy_format(&back, again, sizeof again) == length);
    check(strcmp(text, again) == 0);
    check(weir_policy_format(policy, cut, sizeof cut) == length);
    check(strncmp(text, cut, sizeof cut - 1) == 0 && strlen(cut) < sizeof cut);
    /* What is written can be kept or is out of range, but it is never malformed; the name of a zone
       may be that of nothing, or of a file that is none. */
    rc = weir_meter_init(&meter, policy, 0);
    check(rc == 0 || rc == -ERANGE || policy->form == WEIR_FORM_CALENDAR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_policy policy;
    size_t error_at = SIZE_MAX;
    char *text = malloc(size + 1);
    int rc;

    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    rc = weir_policy_parse(&policy, text, &error_at);
    check(rc == 0 || rc == -EINVAL || rc == -ERANGE);
    if (rc == 0)
        check_accepted(&policy);
    else
        check(error_at <= strlen(text));
    check(weir_policy_parse(&policy, text, NULL) == rc);
    free(text);
    return 0;
}
