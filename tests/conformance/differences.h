/* SPDX-License-Identifier: MIT */
/*
 * Where weir differs on purpose from the limiters whose values the vector files hold: each test has
 * a list, and a file's rows are compared with it one by one. A row that differs otherwise fails,
 * and so does an entry that no longer differs.
 */
#ifndef WEIR_TESTS_DIFFERENCES_H
#define WEIR_TESTS_DIFFERENCES_H

#include "csv.h"
#include "subject.h"

/* What of a row differs. */
enum {
    BEFORE = 1,
    RESULT = 2,
    AFTER = 4,
    RATE = 8,
    SETTING = 16,
    STATE = 32,
    COUNT = 64,
    END = 128,
    IN_USE = 256,
    NOT_RUN = 512,
    CELL = 1024,  /* of cells only */
    ENGINE = 2048 /* of engines only */
};

struct difference {
    const char *test; /* NULL ends a list */
    uint64_t step;
    unsigned fields;
    const char *reason;
};

/* What became of a file's rows under one kind of subject. */
struct ledger {
    struct csv table;
    enum subject_kind kind;
    const struct difference *listed;
    bool seen[32];
    size_t rows, differing, skipped;
};

void ledger_open(struct ledger *l, const char *file, enum subject_kind kind,
                 const struct difference *listed);
void ledger_close(struct ledger *l, size_t rows_min);

/* Listed with just these fields, or not at all when nothing differs. */
void compare(struct ledger *l, const char *test, uint64_t step, unsigned differ);

/* The same for a row. */
void account(struct ledger *l, const char *test, uint64_t step, unsigned differ);

#endif
