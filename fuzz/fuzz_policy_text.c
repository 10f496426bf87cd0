/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any text is one policy or one fault. A policy that is accepted is printed, and read
 * back as the same; a fault lies within the text.
 *
 * Behind a byte 0xff come the fields of a policy of any kind: those of a valid one are printed and
 * read back as the same, those of any other have no text.
 */
#include "policy.h"

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

static uint64_t number_of(const uint8_t *data)
{
    uint64_t number = 0;

    for (int i = 1; i < 8; i++)
        number = number << 8 | data[i];
    return data[0] % 4 == 3 ? WEIR_UNLIMITED - number % 3 : number >> data[0] / 4;
}

/* 40 bytes, and a zone's name. */
static struct weir_policy policy_of(const uint8_t *data, size_t size)
{
    struct weir_policy policy = {.kind = data[0] % 6,
                                 .form = data[1] % 5,
                                 .limit = number_of(data + 8),
                                 .period = number_of(data + 16),
                                 .burst = number_of(data + 24),
                                 .tick = number_of(data + 32),
                                 .utc_offset_s = (int64_t)data[2] * 1350 - 172800 + data[3] % 61,
                                 .calendar = data[4] % 5,
                                 .reserved_word = data[5] == 255};

    /* fields that a kind has not, mostly */
    if (policy.kind != WEIR_TOKEN_BUCKET && data[6] % 16 != 0)
        policy.burst = policy.tick = 0;
    if ((policy.kind != WEIR_FIXED_WINDOW || policy.form != WEIR_FORM_ALIGNED) && data[6] % 16 != 1)
        policy.utc_offset_s = 0;
    if (policy.form != WEIR_FORM_CALENDAR && data[6] % 16 != 2)
        policy.calendar = 0;
    else if (size > 40)
        memcpy(policy.zone, data + 40, size - 40 < WEIR_ZONE_MAX ? size - 40 : WEIR_ZONE_MAX);
    if ((policy.kind == WEIR_CONCURRENCY || policy.form == WEIR_FORM_CALENDAR) && data[6] % 16 != 3)
        policy.period = 0;
    if (policy.kind == WEIR_TOKEN_BUCKET && data[7] % 2 == 0)
        policy.tick = 0;
    return policy;
}

static void check_fields(const uint8_t *data, size_t size)
{
    struct weir_policy policy = policy_of(data, size), back;
    bool buckets = policy.kind == WEIR_TOKEN_BUCKET || policy.kind == WEIR_CONCURRENCY;
    char text[256];
    int length = weir_policy_format(&policy, text, sizeof text);

    check(weir_policy_is_valid(&policy) == (length > 0));
    check(length > 0 || length == -EINVAL);
    if (length < 0)
        return;
    check(weir_policy_parse(&back, text, NULL) == 0);
    if (policy.limit == WEIR_UNLIMITED && !buckets) /* of them there is one text */
        check(back.kind == WEIR_TOKEN_BUCKET && back.limit == WEIR_UNLIMITED);
    else if (policy.limit == WEIR_UNLIMITED)
        check(back.kind == policy.kind && back.limit == WEIR_UNLIMITED);
    else
        check(same_policy(&policy, &back));
    check_accepted(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_policy policy;
    size_t error_at = SIZE_MAX;
    char *text = malloc(size + 1);
    int rc;

    if (text == NULL)
        return 0;
    if (size > 41 && data[0] == 0xff)
        check_fields(data + 1, size - 1);
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
