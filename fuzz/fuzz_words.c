/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the algorithms' pure functions (engine/algorithm/), any operation on any payload of
 * any policy that is accepted, at any instant, beside the sequential models.
 *
 *   head, 20 bytes    two policies of 8, what the payload is made for, the origin, 2 unused
 *   8 bytes a record  an instant, a payload, or an operation on it
 *
 * Of a payload that can occur every field of the answer, and the payload afterwards, equal the
 * model's; of any other one answers are in range and refusals change nothing. The quick form of a
 * decision equals the long one whenever it answers; another origin changes no answer; and other
 * settings leave what the model leaves.
 */
#include "compare.h"
#include "policy.h"
#include "records.h"
#include "words_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD      20
#define RECORD    8
#define STALE_MAX (60 * WEIR_SECOND)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

RECORDS_DEFINE(HEAD, RECORD)

typedef unsigned long long ull;

#define check(holds) check_at(holds, __LINE__)
static void check_at(bool holds, int line)
{
    if (holds)
        return;
    fprintf(stderr, "line %d, not so\n", line);
    abort();
}

/* ---- what bytes stand for ----------------------------------------------------------------- */

/* Any magnitude, often next to a power of two. */
static uint64_t number_of(uint8_t a, uint8_t b)
{
    if (a < 64)
        return ((uint64_t)1 << a) + b - 128;
    if (a < 128)
        return ((uint64_t)1 << (a - 64)) / 128 * b;
    if (a < 192)
        return b;
    return (uint64_t)(a - 191) * b * b;
}

static uint64_t word_of(const uint8_t *data)
{
    uint64_t word = 0;

    for (int i = 0; i < 7; i++)
        word = word << 8 | data[i];
    return word;
}

static weir_ns span_of(uint8_t a, uint8_t b)
{
    static const weir_ns units[] = {1,           7,           WEIR_MICROSECOND, WEIR_MILLISECOND,
                                    WEIR_SECOND, WEIR_MINUTE, WEIR_HOUR,        WEIR_DAY};

    return a < 128 ? units[a % 8] * (1 + b) : number_of((uint8_t)(a - 128), b);
}

/* Where there is no database there is UTC. */
static const char *zone_of(uint8_t byte)
{
    static const char *const names[] = {"UTC", "Asia/Kuala_Lumpur", "America/New_York"};
    const struct weir_zone *zone;

    return weir_zone_find(names[byte % 3], &zone) == 0 ? names[byte % 3] : names[0];
}

static struct weir_policy policy_of(const uint8_t *data)
{
    uint64_t limit = number_of(data[1], data[2]);
    weir_ns period = span_of(data[3], data[4]);
    struct weir_policy policy;

    switch (data[0] % 8) {
    case 0:
        return weir_fixed_window(limit & 0x1ffffff, period);
    case 1:
        return weir_aligned_window(limit & 0x1ffffff, period, (int64_t)data[5] * 675 - 86400);
    case 2:
        return weir_calendar_window(limit & 0x1ffffff, (enum weir_calendar)(1 + data[3] % 3),
                                    zone_of(data[4]));
    case 3:
        return weir_sliding_window(limit & 0x1ffffff, period);
    case 4:
        return weir_concurrency(limit);
    default:
        policy = weir_token_bucket(limit, period, number_of(data[5], data[6]));
        if (data[7] != 0)
            policy.tick = span_of(data[7], data[6]);
        return policy;
    }
}

/* ---- one operation ------------------------------------------------------------------------ */

static uint64_t most_of(const struct bench *b)
{
    return b->m.policy.limit == WEIR_UNLIMITED ? UINT64_MAX : b->m.burst;
}

static struct weir_result result_of(const struct bench *b, const struct weir_step *step)
{
    struct weir_result result = {.verdict = step->verdict, .wait = step->wait};

    weir_algorithm_describe(&b->m, step->payload, &b->at, &result);
    return result;
}

/* With WEIR_FUZZ_TRACE set each operation is printed before it is made. */
static void trace(const struct bench *b, const char *what, const struct weir_operation *op)
{
    char text[200] = "?";

    if (getenv("WEIR_FUZZ_TRACE") == NULL)
        return;
    (void)weir_policy_format(&b->m.policy, text, sizeof text);
    fprintf(
        stderr,
        "\"%s\" %s, origin %lld, payload %#llx, now %llu: %s verb %d n %llu max_wait %llu; line "
        "%llu%s\n",
        text, b->cell ? "cell" : "engine", (long long)b->m.origin, (ull)b->payload, (ull)b->now,
        what, (int)op->verb, (ull)op->n, (ull)op->max_wait, (ull)b->at.line,
        occurs(b) ? "" : ", does not occur");
}

static void check_quick(const struct bench *b, const struct weir_operation *op,
                        const struct weir_step *step)
{
    uint64_t payload = b->payload;
    struct weir_result result;

    if (b->cell || !b->told || !weir_algorithm_quick(&b->m, &payload, op->n, &b->at, &result))
        return;
    compare(result, result_of(b, step));
    check(payload == step->payload);
}

static void check_ranges(const struct bench *b, const struct weir_operation *op,
                         const struct weir_step *step)
{
    struct weir_result r = result_of(b, step);
    bool asks = op->verb == WEIR_ADMIT || op->verb == WEIR_PEEK;

    check(step->payload <= b->m.span);
    check(step->write || step->payload == b->payload);
    check(step->count <= op->n);
    check(r.remaining <= most_of(b));
    if (!asks)
        return;
    check((step->verdict == WEIR_NEVER) == (op->n > b->m.burst));
    check(step->verdict != WEIR_ALLOWED ||
          (step->wait <= op->max_wait && step->wait != WEIR_FOREVER));
    check(step->verdict != WEIR_DENIED || step->wait > 0);
    check(step->verdict != WEIR_NEVER || step->wait == WEIR_FOREVER);
    check(!step->write || (step->verdict == WEIR_ALLOWED && op->n != 0 && op->verb == WEIR_ADMIT));
}

/* By the model: what is left of `state`, and the answer. */
static void model(struct bench *b, const struct weir_operation *op, struct state *state,
                  struct weir_result *result, uint64_t *count)
{
    struct rules *rules = &b->rules;

    *count = 0;
    switch (op->verb) {
    case WEIR_ADMIT:
        *result = rules_step(rules, state, op->n, b->now, op->max_wait, true, &b->hold);
        *count = hold_n(rules, &b->hold);
        return;
    case WEIR_PEEK:
        *result = rules_step(rules, state, op->n, b->now, op->max_wait, false, NULL);
        return;
    case WEIR_TAKE:
        *count = rules_take(rules, state, op->n, b->now);
        return;
    case WEIR_CHARGE:
        *count = rules_charge(rules, state, op->n, b->now);
        return;
    case WEIR_REFUND:
        *count = rules_refund(rules, state, op->n, b->now);
        return;
    case WEIR_CANCEL:
        *count = rules_cancel(rules, state, &b->hold, b->now);
        return;
    default:
        rules_set_balance(rules, state, op->n, b->now);
    }
}

static void check_model(struct bench *b, const struct weir_operation *op,
                        const struct weir_step *step)
{
    bool asks = op->verb == WEIR_ADMIT || op->verb == WEIR_PEEK;
    struct state state = state_of(b, b->payload);
    struct weir_result want = {.verdict = WEIR_INVALID}, got = result_of(b, step);
    uint64_t count;

    /* how many of any number can be taken, or are left, the model does not know */
    if (b->m.kind == WEIR_CONCURRENCY && b->m.policy.limit == WEIR_UNLIMITED &&
        (op->verb == WEIR_SET || op->verb == WEIR_TAKE || op->n > b->m.span))
        return;
    b->rules.windows.count_max =
        b->m.kind == WEIR_CONCURRENCY ? (model_int)b->m.span : b->rules.windows.count_max;
    model(b, op, &state, &want, &count);
    if (asks)
        compare(got, want);
    if (!asks && op->verb != WEIR_SET && step->count != count) {
        fprintf(stderr, "%llu tokens, not %llu\n", (ull)step->count, (ull)count);
        abort();
    }
    if (op->verb != WEIR_PEEK && (step->write || count != 0))
        check(step->payload == payload_of(b, &state));
}

/* A key that is idle is as one never used; of most kinds that is all there is to it. */
static void check_idle(const struct bench *b)
{
    bool idle = weir_algorithm_is_idle(&b->m, b->payload, &b->at);
    struct weir_result r = {WEIR_ALLOWED, 0, 0, 0};

    weir_algorithm_describe(&b->m, b->payload, &b->at, &r);
    if (idle)
        check(r.reset == 0 && r.remaining == most_of(b));
    if (b->told && b->m.kind != WEIR_FIXED_WINDOW)
        check(idle == (r.reset == 0));
}

static void undo(const struct bench *b, const struct weir_step *step)
{
    const struct weir_operation op = {.verb = WEIR_UNDO,
                                      .n = step->count,
                                      .slot = step->payload,
                                      .before = b->payload,
                                      .origin = b->m.origin};
    struct weir_step undone = weir_algorithm_step(&b->m, step->payload, &op, &b->at);

    check(undone.payload == b->payload && undone.count == step->count);
}

static void operate(struct bench *b, const struct weir_operation *op)
{
    trace(b, "", op);
    struct weir_step step = weir_algorithm_step(&b->m, b->payload, op, &b->at);

    check_ranges(b, op, &step);
    check_idle(b);
    if (op->verb == WEIR_ADMIT && op->max_wait == 0)
        check_quick(b, op, &step);
    if (op->verb == WEIR_ADMIT) {
        b->hold = (struct hold){0};
        b->held.n = 0;
    }
    if (occurs(b))
        check_model(b, op, &step);
    else
        b->held.n = 0;
    if (op->verb == WEIR_ADMIT && step.write) {
        undo(b, &step);
        b->held = (struct weir_operation){.verb = WEIR_CANCEL,
                                          .n = occurs(b) ? step.count : 0,
                                          .slot = step.slot,
                                          .before = b->payload,
                                          .origin = b->m.origin};
    }
    if (step.write)
        b->payload = step.payload;
}

/* ---- other origins, other settings -------------------------------------------------------- */

/* The same word under an origin for a later instant gives the same answers from then on. */
static void rebase(const struct bench *b, weir_ns later, uint64_t n)
{
    const struct weir_operation op = {.verb = WEIR_ADMIT, .n = n, .max_wait = WEIR_HOUR};
    struct bench moved = *b, same = *b;
    int64_t steps = 0;
    uint64_t born = 0;
    weir_i128 rebased;
    struct weir_step step, want;

    if (b->cell || weir_algorithm_is_timeless(&b->m) || later < b->now || later > INT64_MAX / 2 ||
        !occurs(b))
        return;
    if (!weir_algorithm_move_origin(&moved.m, later, STALE_MAX, true, &steps, &born))
        return;
    rebased = (weir_i128)b->payload - (weir_i128)steps * (weir_i128)b->m.units;
    if (steps < 0 || rebased > (weir_i128)b->m.span / 2)
        return;
    trace(b, "rebase", &op);
    moved.payload = weir_algorithm_rebase(&moved.m, b->payload, steps, born);
    set_now(&same, later);
    set_now(&moved, later);
    if (!same.told || !moved.told)
        return;
    want = weir_algorithm_step(&same.m, same.payload, &op, &same.at);
    step = weir_algorithm_step(&moved.m, moved.payload, &op, &moved.at);
    compare(result_of(&moved, &step), result_of(&same, &want));
}

/* Would a word of the new settings hold what is owed? */
static bool fits(const struct bench *b, const struct state *state, const struct bench *to)
{
    model_int v;

    if (b->m.kind == WEIR_CONCURRENCY)
        return true;
    if (b->m.kind != WEIR_TOKEN_BUCKET)
        return window_lead(&b->rules.windows, &state->window, b->now) <= (model_int)(40 * WEIR_DAY);
    v = model_v(&b->rules.line, b->now);
    return !state->bucket.used || state->bucket.zero <= v ||
           rules_line_holds(&to->rules.line,
                            (state->bucket.zero - v) / b->rules.line.form.token *
                                to->rules.line.form.token,
                            b->cell);
}

/* The same word under other settings is what the model makes of it. */
static void reprice(const struct bench *b, struct bench *to)
{
    struct state state = state_of(b, b->payload);
    struct weir_instant from = b->at;
    struct weir_result got = {WEIR_ALLOWED, 0, 0, 0}, want;
    uint64_t payload;

    if (b->m.kind != to->m.kind || !b->told || b->payload == 0 || !occurs(b))
        return;
    set_now(to, b->now);
    to->payload = 0;
    if (!to->told || !occurs(to) || !fits(b, &state, to))
        return;
    /* a window that began before an origin lasts longer */
    if (weir_window_from_hit(&to->m) && state.window.used &&
        window_start(&b->rules.windows, state.window.position) < to->m.origin)
        return;
    from.guard = INT64_MAX;
    trace(b, "reprice from", &b->held);
    trace(to, "to", &b->held);
    payload = weir_algorithm_reprice(&b->m, b->payload, &from, &to->m, &to->at, false);
    check(payload <= to->m.span);
    to->payload = payload;
    if (!occurs(to))
        return;
    state_change(&b->rules, &state, &to->rules, b->now);
    weir_algorithm_describe(&to->m, payload, &to->at, &got);
    want = rules_ask(&to->rules, &state, 0, b->now, 0);
    want.verdict = got.verdict;
    want.wait = got.wait;
    compare(got, want);
}

/* ---- inputs ------------------------------------------------------------------------------- */

/* What the model says of the policy: 0, an error, or 1 where it has no opinion. */
static int expected(const struct weir_policy *policy, bool cell)
{
    if (policy->kind == WEIR_TOKEN_BUCKET)
        return rules_error(policy);
    if (!weir_policy_is_valid(policy))
        return -EINVAL;
    if (policy->kind == WEIR_CONCURRENCY)
        return policy->limit == WEIR_UNLIMITED || policy->limit <= WEIR_CONCURRENCY_MAX ? 0
                                                                                        : -ERANGE;
    if (policy->limit > WEIR_WINDOW_COUNT_MAX)
        return -ERANGE;
    if (policy->form != WEIR_FORM_CALENDAR &&
        (policy->period < WEIR_MILLISECOND || policy->period > 366 * WEIR_DAY))
        return -ERANGE;
    return cell ? 1 : rules_error(policy);
}

static bool bench_open(struct bench *b, const uint8_t *data, bool cell, weir_ns origin)
{
    struct weir_policy policy = policy_of(data);
    struct weir_settings *s, *spare;
    int want = expected(&policy, cell), got;

    *b = (struct bench){.cell = cell};
    if (cell) {
        got = weir_meter_init(&b->m, &policy, origin);
    } else {
        got = weir_settings_make(&policy, NULL, 0, &s, &spare);
        if (got == 0) {
            b->m = s->meter;
            free(s);
            free(spare);
        }
    }
    if (got != want && want != 1) {
        char text[200] = "?";

        (void)weir_policy_format(&policy, text, sizeof text);
        fprintf(stderr, "\"%s\": %d, not %d\n", text, got, want);
        abort();
    }
    if (got != 0 || b->m.unlimited)
        return false;
    if (!cell && !weir_algorithm_is_timeless(&b->m)) {
        int64_t steps = 0;
        uint64_t born;

        if (!weir_algorithm_move_origin(&b->m, origin, STALE_MAX, false, &steps, &born))
            return false;
    }
    rules_of_meter(&b->rules, &b->m);
    set_now(b, origin);
    return true;
}

static void near_payload(struct bench *b, const uint8_t *data)
{
    const struct weir_meter *m = &b->m;
    uint64_t count = number_of(data[1] % 128, data[2]) & mask_of(m);
    uint64_t position = b->at.line + data[3] % 8 - 4, previous = data[4] * data[5];

    if (m->kind == WEIR_FIXED_WINDOW && weir_window_from_hit(m))
        position =
            (b->at.line >> m->grain_bits) + data[3] - (m->tick >> m->grain_bits) / 128 * data[4];
    if (m->burst < mask_of(m) && data[6] % 4 != 0) {
        count %= m->burst + 2;
        previous %= m->burst + 2;
    }
    if (m->kind == WEIR_FIXED_WINDOW)
        b->payload = weir_fixed_payload(m, position, data[7] % 4 == 0, count);
    else if (m->kind == WEIR_SLIDING_WINDOW)
        b->payload = weir_sliding_payload(m, position, previous & mask_of(m), count);
    else if (m->kind == WEIR_CONCURRENCY)
        b->payload = m->burst + data[1] - 128;
    else
        b->payload = b->at.line + m->capacity / 64 * data[1] + data[2] - 128;
    b->payload &= m->span;
}

static void edge(struct bench *b, const uint8_t *data, uint64_t n)
{
    const struct weir_operation op = {.verb = WEIR_PEEK, .n = n};
    struct weir_step step = weir_algorithm_step(&b->m, b->payload, &op, &b->at);
    struct weir_result r = result_of(b, &step);
    weir_ns span = data[5] % 2 == 0 ? r.wait : r.reset;

    if (span != 0 && span < INT64_MAX / 4 && b->now < INT64_MAX / 4)
        set_now(b, b->now + span + data[6] % 3 - 1);
}

static void record(struct bench *b, struct bench *other, const uint8_t *data)
{
    static const enum weir_verb verbs[] = {WEIR_ADMIT,  WEIR_ADMIT,  WEIR_ADMIT,
                                           WEIR_PEEK,   WEIR_TAKE,   WEIR_CHARGE,
                                           WEIR_REFUND, WEIR_CANCEL, WEIR_SET};
    uint64_t n = data[1] % 4 == 0   ? number_of(data[2], data[3])
                 : data[1] % 4 == 1 ? b->m.burst + data[2] % 3 - 1
                                    : data[2] % (b->m.burst < 255 ? b->m.burst + 1 : 256);
    struct weir_operation op = {.verb = verbs[data[0] % 9], .n = n};

    switch (data[0] / 16) {
    case 0:
        b->payload = word_of(data + 1) & b->m.span;
        return;
    case 1:
        near_payload(b, data);
        return;
    case 2:
        set_now(b, number_of(data[1], data[2]) + number_of(data[3], data[4]));
        return;
    case 3:
        set_now(b, b->now + span_of(data[1], data[2]) * (data[3] % 4 == 0 ? (weir_ns)-1 : 1));
        return;
    case 4:
        edge(b, data, n);
        return;
    case 5:
        rebase(b, b->now + span_of(data[4], data[5]) + data[6] * WEIR_DAY, n);
        return;
    case 6:
        if (other->m.kind != 0)
            reprice(b, other);
        return;
    default:
        break;
    }
    op.max_wait = data[4] % 4 == 0   ? WEIR_FOREVER
                  : data[4] % 4 == 1 ? span_of(data[5], data[6])
                                     : 0;
    if (op.verb == WEIR_CANCEL) {
        op = b->held;
        b->held.n = 0;
        if (op.n == 0 || weir_now_clamped(b->now) > hold_instant(&b->rules, &b->hold))
            return;
    }
    operate(b, &op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bench b, other;
    weir_ns origin;

    if (size < HEAD)
        return 0;
    origin = data[17] % 4 == 0 ? number_of(data[18], data[19]) & INT64_MAX
                               : 2 * UNIX_2008 / 2 + data[18] * 10 * WEIR_DAY + data[19];
    if (!bench_open(&b, data, data[16] % 2 == 0, origin))
        return 0;
    if (!bench_open(&other, data + 8, data[16] % 2 == 0, origin))
        other.m.kind = 0;
    for (size_t at = HEAD; at + RECORD <= size; at += RECORD)
        record(&b, &other, data + at);
    return 0;
}
