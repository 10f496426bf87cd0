/* SPDX-License-Identifier: MIT */
/*
 * Policies: the constructors, and the check that makes one ready for use.
 */
#include "export.h"

#include "policy.h"

#include "algorithm/algorithm.h"

#include <string.h>

static struct weir_policy bucket(uint64_t limit, weir_ns period, uint64_t burst)
{
    struct weir_policy policy;
    memset(&policy, 0, sizeof policy);
    policy.kind = WEIR_TOKEN_BUCKET;
    policy.limit = limit;
    if (limit != WEIR_UNLIMITED) {
        policy.period = period;
        policy.burst = burst;
    }
    return policy;
}

struct weir_policy weir_token_bucket(uint64_t limit, weir_ns period, uint64_t burst)
{
    return bucket(limit, period, burst);
}

struct weir_policy weir_pacer(uint64_t limit, weir_ns period, uint64_t slack)
{
    struct weir_policy policy = bucket(limit, period, slack == UINT64_MAX ? slack : slack + 1);
    if (limit != WEIR_UNLIMITED)
        policy.form = WEIR_FORM_PACER;
    return policy;
}

struct weir_policy weir_refill_bucket(uint64_t limit, weir_ns period, weir_ns tick)
{
    struct weir_policy policy = bucket(limit, period, limit);
    if (limit != WEIR_UNLIMITED)
        policy.tick = tick;
    return policy;
}

bool weir_policy_is_valid(const struct weir_policy *policy)
{
    if (!weir_algorithm_exists(policy->kind) || policy->form > WEIR_FORM_PACER)
        return false;
    for (size_t i = 0; i < sizeof policy->reserved / sizeof policy->reserved[0]; i++) {
        if (policy->reserved[i] != 0)
            return false;
    }
    if (policy->limit == WEIR_UNLIMITED)
        return true;
    bool paced = policy->form == WEIR_FORM_PACER;
    return policy->period != 0 && !(paced && (policy->burst == 0 || policy->tick != 0));
}

int weir_policy_prepare(struct weir_meter *m, const struct weir_policy *policy)
{
    if (!weir_policy_is_valid(policy))
        return -EINVAL;
    memset(m, 0, sizeof *m);
    m->policy = *policy;
    if (policy->limit == WEIR_UNLIMITED) {
        m->unlimited = 1;
        m->grains = m->token = 1;
        return 0;
    }
    return weir_algorithm_prepare(m);
}
