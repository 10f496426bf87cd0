/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the kinds of faults share for windows and permits: a cell, or a key of an
 * engine in a world that the test sets, and answers compared field by field.
 *
 * `now` is unix time here, from the first of January 2026 on, a Thursday.
 */
#ifndef WEIR_TESTS_WINDOW_SUBJECT_H
#define WEIR_TESTS_WINDOW_SUBJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "subject.h"
#include "window_model.h"

#define T0  ((weir_ns)20454 * WEIR_DAY)
#define SEC WEIR_SECOND

/* What an engine sees of the world: `now` plus `wall` is unix time; sleeping goes on to the instant
   or is interrupted. */
extern struct fake {
    int64_t wall;
    weir_ns now;
    bool interrupts;
    unsigned sleeps;
} fake;

/* Its first call, which takes nothing, comes at `first`. */
void open_at(struct subject *s, enum subject_kind kind, struct weir_policy policy, weir_ns first);

/* Every test that a cell can take is taken by a cell and by an engine's key. */
void on_both(struct weir_policy policy, void (*body)(struct subject *s));

void check_result(int line, struct weir_result got, enum weir_verdict verdict, weir_ns wait,
                  uint64_t remaining, weir_ns reset);
void check_same(int line, struct weir_result a, struct weir_result b);

#define assert_result(...) check_result(__LINE__, __VA_ARGS__)
#define assert_same(a, b)  check_same(__LINE__, a, b)

/* Ten a window of that form, or ten permits. */
struct weir_policy ten_of(enum window_algorithm algorithm);

/* The length of its windows. */
weir_ns span_of(const struct subject *s);

/* A window of 10 of every form, on both. */
void on_each_window(void (*body)(struct subject *s));

/* How many are granted one by one, up to 1000. */
uint64_t drain(struct subject *s, weir_ns now);

#endif
