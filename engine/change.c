/* SPDX-License-Identifier: MIT */
/*
 * Settings that change while they are in use.
 *
 * A change publishes one object: the new policy, the next generation, and the settings before it as
 * its predecessor. Words are re-priced one by one, when they are next touched (slot/settings.h); so
 * a change takes the same time however many keys there are.
 *
 * Guarantees (S, O and P numbered as in the README)
 *   S1  A decision uses one object: the settings before or after the change, never a mixture.
 *   S5  Balance, debt, counts and permits are kept; only another algorithm, and unlimited on either
 *       side, begins anew. Settings that are equal to those in use publish nothing.
 *   O2  As in origin.c.
 *   O3  `sweeping` is held: no sweep cuts a chain, and no removal takes the limit away, meanwhile.
 *       What has no successor that leads to it is freed after a grace period.
 *   P1  No decision waits. A lost publication means that a call has moved the origin; the change is
 *       made again after that.
 */
#include "limiter.h"

#include "policy.h"
#include "rcu.h"

#include <errno.h>
#include <stdlib.h>

/* One change on its way. */
struct change {
    struct weir *w;
    struct weir_limit *l;
    const struct weir_policy *policy;
    const void *zone;
    weir_ns now;
    struct weir_settings *fresh;
    struct weir_settings *orphan; /* what nothing leads to any more */
};

/* Whether words under the one mean something under the other. */
static bool follows(const struct weir_meter *from, const struct weir_policy *to)
{
    if (from->kind != to->kind)
        return false;
    return to->kind == WEIR_CONCURRENCY || (!from->unlimited && to->limit != WEIR_UNLIMITED);
}

/* Gives the new settings an origin for the change, and those before it as what they are a change
   of. */
static int lead_on(struct change *c, struct weir_settings *s, uint32_t generation)
{
    struct weir_settings *fresh = c->fresh;
    fresh->generations = s->generations;
    fresh->previous = s;
    if (fresh->generation == 0) { /* it takes an origin */
        weir_ns told = fresh->meter.wall ? fresh->changed_wall : fresh->changed;
        if (!weir_algorithm_move_origin(&fresh->meter, told, c->w->stale_max, false, &fresh->steps,
                                        &fresh->born))
            return -ERANGE;
    }
    weir_settings_set_generation(fresh, generation);
    return 0;
}

/* The new settings, ready to be published after `s`. -EAGAIN: no generation is free. */
static int fill(struct change *c, struct weir_settings *s)
{
    struct weir_settings *fresh = c->fresh;
    uint32_t generation = weir_generation_free(s->generations, s->generation);
    bool leads = follows(&s->meter, c->policy);
    if (generation == 0)
        return -EAGAIN;
    int error = weir_settings_fill(fresh, c->policy, c->zone, s->generations,
                                   leads ? s->meter.count_bits : 0);
    if (error != 0)
        return error;
    fresh->serial = weir_serial_next();
    fresh->kin = leads || s->meter.kind == c->policy->kind ? s->kin : fresh->serial;
    weir_ns now = weir_now_clamped(c->now);
    fresh->changed = now > s->changed ? now : s->changed;
    fresh->changed_wall = weir_wall(c->w, fresh->changed, WEIR_WALL_OF_INSTANT);
    if (leads && s->generation != 0)
        return lead_on(c, s, generation);
    return 0;
}

/* Inside a read section, so that an origin that is moved meanwhile does not take `s` away. */
static int publish(struct change *c)
{
    for (;;) {
        struct weir_instant at;
        struct weir_settings *s = weir_pointer_load_acquire(&c->l->settings); /* origin.c, O2 */
        if (weir_policy_is_equal(&s->meter.policy, c->policy))
            return 0;
        /* Words are re-priced at the change: their line has to tell it. */
        if (s->generation != 0 && follows(&s->meter, c->policy) && !s->meter.unlimited)
            s = (struct weir_settings *)(uintptr_t)weir_settings_settle(
                c->w, c->l, s, c->now > s->changed ? c->now : s->changed, &at);
        int error = fill(c, s);
        if (error != 0)
            return error;
        struct weir_settings *current = s;
        if (!weir_pointer_cas_acq_rel(&c->l->settings, &current, c->fresh)) /* origin.c, O2 */
            continue;
        if (c->fresh->previous != NULL)
            weir_add_relaxed(&c->w->origins, 1);
        else
            c->orphan = s;
        c->fresh = NULL;
        return 0;
    }
}

/* sweeping */
static int change(struct change *c)
{
    int error = -EAGAIN;
    c->fresh = weir_settings_allocate();
    if (c->fresh == NULL)
        return -ENOMEM;
    for (int tries = 0; error == -EAGAIN && tries < 3; tries++) {
        if (tries != 0)
            weir_sweep_now(c->w, 2);
        weir_read_begin();
        error = publish(c);
        weir_read_end();
    }
    if (c->orphan != NULL) {
        weir_grace_period();
        weir_settings_free_chain(c->orphan);
    }
    free(c->fresh);
    return error == -EAGAIN ? -ENOMEM : error;
}

int weir_set_limit(struct weir *w, int limit, const struct weir_policy *policy, weir_ns now)
{
    if (w == NULL || policy == NULL || !weir_policy_is_valid(policy))
        return -EINVAL;
    int saved = errno;
    const void *zone;
    int error = weir_limit_at(w, limit) == NULL ? -ENOENT : weir_settings_check(policy, &zone);
    if (error == 0) {
        pthread_mutex_lock(&w->sweeping);
        struct change c = {w, weir_limit_at(w, limit), policy, zone, now, NULL, NULL};
        error = c.l != NULL ? change(&c) : -ENOENT;
        pthread_mutex_unlock(&w->sweeping);
    }
    if (error == 0)
        weir_waiters_kick_limit(w->waiters, (unsigned)limit);
    errno = saved;
    return error;
}
