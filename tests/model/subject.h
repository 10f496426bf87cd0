/* SPDX-License-Identifier: MIT */
/*
 * One key of one limit under test: a cell, or a key of an engine, behind the same calls.
 *
 * The cell has no call for refund, take, charge and forget: subject.kind tells.
 */
#ifndef WEIR_TESTS_SUBJECT_H
#define WEIR_TESTS_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

enum subject_kind { SUBJECT_CELL, SUBJECT_ENGINE };

struct subject {
    enum subject_kind kind;
    struct weir_meter meter;
    struct weir_cell cell;
    struct weir *engine; /* owned */
    int limit;
    weir_key key;
};

/* 0, or what weir_meter_init or weir_add_limit returned. `origin` is for the cell. */
int subject_open(struct subject *s, enum subject_kind kind, const struct weir_policy *policy,
                 weir_ns origin);
void subject_close(struct subject *s);
const char *subject_name(const struct subject *s);

struct weir_result subject_decide(struct subject *s, uint64_t n, weir_ns now);
struct weir_result subject_reserve(struct subject *s, uint64_t n, weir_ns now, weir_ns max_wait,
                                   struct weir_reservation *out);
uint64_t subject_cancel(struct subject *s, struct weir_reservation *r, weir_ns now);

/* Other settings from `now` on: 0, or what weir_set_limit or weir_meter_init returned. */
int subject_change(struct subject *s, const struct weir_policy *policy, weir_ns now);

/* A question that changes nothing: what a decision would answer (a copy of the cell decides). */
struct weir_result subject_peek(const struct subject *s, uint64_t n, weir_ns now);

/* The same with n = 0: what is left, when it is full, and how long it is in debt. */
struct weir_result subject_probe(const struct subject *s, weir_ns now);

#endif
