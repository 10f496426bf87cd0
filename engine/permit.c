/* SPDX-License-Identifier: MIT */
/*
 * Permits: concurrency with handles, and waiting for them.
 *
 * A permit is a count in the key's word and a handle that says how many of it are whose. The handle
 * names the limit by its kin: the limit's, as long as it is of this kind; settings may change. A
 * permit of a key without a place counts in the limit's overflow word, and comes back there.
 *
 * Nothing here knows what time it is: calls judge no other key idle.
 */
#include "call.h"

#include <errno.h>
#include <string.h>

#define PERMIT_HELD     1U /* weir_permit.flags */
#define PERMIT_RELEASED 2U
#define PERMIT_OVERFLOW 4U /* counted in the overflow word */
#define PERMIT_NOWHERE  8U /* not counted: WEIR_FULL_ALLOW */

/* Enters a call on a limit of this kind; 0 or a negative errno, then no section is entered. */
static int begin(struct weir_call *c, struct weir *w, int limit)
{
    if (!weir_call_enter(c, w, limit, 0, NULL))
        return -ENOENT;
    if (c->s->meter.kind != WEIR_CONCURRENCY) {
        weir_read_end();
        return -EINVAL;
    }
    c->kin = c->s->kin;
    weir_call_settle(c); /* time plays no part: it never fails */
    return 0;
}

/* Inside a call: takes n permits, or nothing. */
static struct weir_result take(struct weir_call *c, weir_key key, uint64_t n,
                               struct weir_permit *out)
{
    const struct weir_operation op = {.verb = WEIR_ADMIT, .n = n};
    weir_call_apply(c, key, &op, weir_algorithm_can_grant(&c->s->meter, n));
    if (c->changed)
        return weir_result_invalid();
    struct weir_result result = weir_call_result(c);
    if (result.verdict != WEIR_ALLOWED)
        return result;
    out->n = n;
    out->key = key;
    out->serial = c->s->kin;
    out->limit = (int32_t)c->limit;
    out->flags = PERMIT_HELD;
    if (c->overflow)
        out->flags |= c->w->when_full == WEIR_FULL_SHARE ? PERMIT_OVERFLOW : PERMIT_NOWHERE;
#ifndef NDEBUG
    out->owner = out;
#endif
    return result;
}

struct weir_result weir_acquire(struct weir *w, int limit, weir_key key, uint64_t n,
                                struct weir_permit *out)
{
    struct weir_call c;
    if (out == NULL)
        return weir_result_invalid();
    memset(out, 0, sizeof *out);
    if (w == NULL || begin(&c, w, limit) != 0)
        return weir_result_invalid();
    struct weir_result result = take(&c, key, n, out);
    if (!c.changed)
        weir_call_count(&c, result.verdict);
    weir_read_end();
    return result;
}

int weir_release(struct weir *w, struct weir_permit *permit)
{
    struct weir_call c;
    if (w == NULL || permit == NULL || (permit->owner != NULL && permit->owner != permit))
        return -EINVAL;
    if ((permit->flags & PERMIT_RELEASED) != 0)
        return -EALREADY;
    if ((permit->flags & PERMIT_HELD) == 0)
        return -EINVAL;
    if (begin(&c, w, permit->limit) != 0)
        return -ENOENT;
    bool own = c.s->kin == permit->serial;
    if (own && permit->n != 0 && (permit->flags & PERMIT_NOWHERE) == 0) {
        const struct weir_operation op = {.verb = WEIR_REFUND, .n = permit->n};
        c.overflow = (permit->flags & PERMIT_OVERFLOW) != 0;
        if (c.overflow)
            weir_call_apply_to_overflow(&c, &op);
        else
            weir_call_apply(&c, permit->key, &op, false);
        own = !c.changed;
    }
    weir_read_end();
    if (!own)
        return -ENOENT;
    permit->flags |= PERMIT_RELEASED;
    permit->n = 0;
    weir_call_kick(&c, permit->key);
    return 0;
}

int weir_in_use(struct weir *w, int limit, weir_key key, uint64_t *in_use, uint64_t *limit_out)
{
    struct weir_call c;
    int error = w == NULL ? -EINVAL : begin(&c, w, limit);
    if (error != 0)
        return error;
    const struct weir_operation op = {.verb = WEIR_PEEK};
    weir_call_apply(&c, key, &op, false);
    if (c.changed) {
        weir_read_end();
        return -EINVAL;
    }
    if (in_use != NULL)
        *in_use = c.step.payload;
    if (limit_out != NULL)
        *limit_out = c.s->meter.policy.limit;
    weir_read_end();
    return 0;
}

/* ---- waiting ---- */

/* One that waits. */
struct waiting {
    struct weir *w;
    int limit;
    weir_key key;
    uint64_t n;
    uint64_t kin;
    struct weir_permit *out;
};

static int try_take(void *context)
{
    struct waiting *waiting = context;
    struct weir_call c;
    int answer = begin(&c, waiting->w, waiting->limit);
    if (answer != 0)
        return answer;
    answer = -ENOENT;
    if (c.s->kin == waiting->kin) {
        struct weir_result result = take(&c, waiting->key, waiting->n, waiting->out);
        answer = result.verdict == WEIR_ALLOWED   ? 1
                 : result.verdict == WEIR_NEVER   ? -E2BIG
                 : result.verdict == WEIR_INVALID ? -EINVAL
                                                  : 0;
        if (answer == 0 && c.overflow && c.w->when_full == WEIR_FULL_DENY)
            answer = -ENOSPC;
        if (answer > 0)
            weir_call_count_overflow(&c);
    }
    weir_read_end();
    return answer;
}

/* Whether a try would come to something, an error too. */
static bool fits(void *host, unsigned limit, weir_key key, uint64_t n)
{
    const struct waiting *waiting = host;
    struct weir_call c;
    if (begin(&c, waiting->w, (int)limit) != 0)
        return true;
    const struct weir_operation op = {.verb = WEIR_PEEK, .n = n};
    weir_call_apply(&c, key, &op, false);
    bool fit = c.changed || c.step.verdict != WEIR_DENIED || c.s->kin != waiting->kin;
    weir_read_end();
    return fit;
}

static int wait_for(struct waiting *waiting, weir_ns deadline)
{
    struct weir *w = waiting->w;
    struct weir_call c;
    int error = begin(&c, w, waiting->limit);
    if (error != 0)
        return error;
    waiting->kin = c.s->kin;
    weir_read_end();
    const struct weir_wanted wanted = {
        .limit = (unsigned)waiting->limit,
        .key = waiting->key,
        .n = waiting->n,
        .try = try_take,
        .context = waiting,
        .fits = fits,
        .host = waiting,
    };
    error = weir_waiters_wait(w->waiters, &wanted, w->clock, w->clock_context, deadline);
    enum weir_verdict verdict = error == 0        ? WEIR_ALLOWED
                                : error == -E2BIG ? WEIR_NEVER
                                                  : WEIR_DENIED;
    if (error != -ENOENT && begin(&c, w, waiting->limit) == 0) {
        weir_count_call(w, c.limit, verdict, 1);
        weir_read_end();
    }
    return error;
}

int weir_acquire_wait(struct weir *w, int limit, weir_key key, uint64_t n, weir_ns deadline,
                      struct weir_permit *out)
{
    if (w == NULL || out == NULL)
        return -EINVAL;
    memset(out, 0, sizeof *out);
    struct waiting waiting = {w, limit, key, n, 0, out};
    int saved = errno;
    int error = wait_for(&waiting, deadline);
    errno = saved;
    return error;
}
