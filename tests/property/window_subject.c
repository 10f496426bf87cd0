/* SPDX-License-Identifier: MIT */
/* A world that tests set, the keys in it, and what they are compared with. */
#include "window_subject.h"

typedef unsigned long long ull;

struct fake fake;

static weir_ns fake_wall(void *context, weir_ns now)
{
    return now + (weir_ns)((const struct fake *)context)->wall;
}

static weir_ns fake_now(void *context)
{
    return ((const struct fake *)context)->now;
}

static int fake_sleep(void *context, weir_ns instant)
{
    struct fake *f = context;

    f->sleeps++;
    if (f->interrupts)
        return 1;
    f->now = f->now < instant ? instant : f->now;
    return 0;
}

void open_at(struct subject *s, enum subject_kind kind, struct weir_policy policy, weir_ns first)
{
    const struct weir_options options = {.size = sizeof options,
                                         .max_keys = 65536,
                                         .max_limits = 4,
                                         .wall_clock = fake_wall,
                                         .wall_context = &fake,
                                         .clock = fake_now,
                                         .sleep_until = fake_sleep,
                                         .clock_context = &fake};

    fake = (struct fake){.now = first};
    *s = (struct subject){.kind = kind};
    if (kind == SUBJECT_CELL) {
        assert_int_equal(weir_meter_init(&s->meter, &policy, first - 60 * SEC), 0);
        return;
    }
    assert_int_equal(weir_open(&s->engine, &options), 0);
    s->limit = weir_add_limit(s->engine, "limit", &policy);
    assert_true(s->limit >= 0);
    s->key = weir_key_text(s->engine, "key");
    assert_int_equal(subject_decide(s, 0, first).verdict, WEIR_ALLOWED);
}

void on_both(struct weir_policy policy, void (*body)(struct subject *s))
{
    for (int kind = SUBJECT_CELL; kind <= SUBJECT_ENGINE; kind++) {
        struct subject s;

        open_at(&s, (enum subject_kind)kind, policy, T0);
        body(&s);
        subject_close(&s);
    }
}

void check_result(int line, struct weir_result got, enum weir_verdict verdict, weir_ns wait,
                  uint64_t remaining, weir_ns reset)
{
    if (got.verdict == verdict && got.wait == wait && got.remaining == remaining &&
        got.reset == reset)
        return;
    fail_msg("line %d: verdict %d wait %llu remaining %llu reset %llu, not %d %llu %llu %llu", line,
             (int)got.verdict, (ull)got.wait, (ull)got.remaining, (ull)got.reset, (int)verdict,
             (ull)wait, (ull)remaining, (ull)reset);
}

void check_same(int line, struct weir_result a, struct weir_result b)
{
    check_result(line, a, b.verdict, b.wait, b.remaining, b.reset);
}

struct weir_policy ten_of(enum window_algorithm algorithm)
{
    switch (algorithm) {
    case WINDOW_FIRST_HIT:
        return weir_fixed_window(10, 10 * SEC);
    case WINDOW_ALIGNED:
        return weir_aligned_window(10, 10 * SEC, 0);
    case WINDOW_CALENDAR:
        return weir_calendar_window(10, WEIR_CALENDAR_DAY, NULL);
    case WINDOW_SLIDING:
        return weir_sliding_window(10, 10 * SEC);
    default:
        return weir_concurrency(10);
    }
}

weir_ns span_of(const struct subject *s)
{
    struct weir_policy policy = s->meter.policy;

    if (s->kind == SUBJECT_ENGINE)
        assert_int_equal(weir_get_limit(s->engine, s->limit, &policy), 0);
    return policy.period == 0 ? WEIR_DAY : policy.period;
}

void on_each_window(void (*body)(struct subject *s))
{
    for (int i = WINDOW_FIRST_HIT; i <= WINDOW_SLIDING; i++)
        on_both(ten_of((enum window_algorithm)i), body);
}

uint64_t drain(struct subject *s, weir_ns now)
{
    uint64_t granted = 0;

    while (granted < 1000 && subject_decide(s, 1, now).verdict == WEIR_ALLOWED)
        granted++;
    return granted;
}
