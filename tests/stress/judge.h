/* SPDX-License-Identifier: MIT */
/*
 * The judge: whether there is an order of some calls on one key in which the sequential models
 * (model/rules.h) give the answers that were given, field by field.
 *
 * The order has to agree with time: a call that had returned before another one began comes before
 * it. All orders are tried, each as far as the model agrees; the first that goes through to the end
 * acquits. (Herlihy and Wing, "Linearizability", 1990. Keys are judged one by one: an order for
 * each is an order for all.)
 *
 * What is granted beyond that order, because the README does:
 *   late     a key that is full, or was never used, at a later `now` of the run may begin there: a
 *            call by that clock may have left it behind. Then the answer's times are not compared
 *   refused  in a table that is full, a key that was never used may be denied by WEIR_FULL_DENY
 *   all      weir_decide_all may take and give back a few times, before it takes or refuses
 *   changes  a call uses any settings that were in use while it was under way. A key is of the
 *            settings of its last writer, and is read by newer ones as it is after their change
 *   cut      a cancel of a reservation from before a change gives back nothing, where a trim or a
 *            limit that was added may have swept the way there
 *   removed  a balance that is set meanwhile may find no memory, as by who sees no origin yet
 */
#ifndef WEIR_TESTS_JUDGE_H
#define WEIR_TESTS_JUDGE_H

#include "rules.h"

#include <limits.h>

/* stale_max of the engines that are judged. */
#define JUDGE_STALE_MAX (60 * WEIR_SECOND)

#define RECORDS_MAX  48
#define HOLDS_MAX    8
#define LATER_MAX    8
#define VERSIONS_MAX 16

enum call {
    CALL_DECIDE,
    CALL_ALLOW,
    CALL_RESERVE,
    CALL_CANCEL,
    CALL_TAKE,
    CALL_CHARGE,
    CALL_REFUND,
    CALL_FORGET,
    CALL_SET_BALANCE,
    CALL_PEEK,
    CALL_ACQUIRE,
    CALL_RELEASE,
    CALL_ALL, /* one entry of weir_decide_all */
    CALL_CHANGE,
    CALL_REMOVE,
    CALL_ADD,
    CALL_TRIM, /* on no key that is judged */
    CALL_FILL,
    CALLS_OF_ALL
};

/* One call on one key (changes are on all), and what was answered. */
struct record {
    enum call call;
    unsigned key; /* EVERY_KEY: of the limit */
    uint64_t n;
    weir_ns now, max_wait;
    struct weir_policy policy; /* change, add */
    unsigned hold;             /* reserve, acquire; cancel, release: of which */
    bool of_batch;             /* comes after the record before it */
    uint64_t begin, end;       /* all instants of a run differ, but of one batch */
    struct weir_result result;
    uint64_t count; /* what a call that gives no result returned */
};

#define EVERY_KEY UINT_MAX
#define NO_KEY    (UINT_MAX - 1)

struct judge {
    struct rules rules; /* when the first call began */
    const struct record *records;
    unsigned count;
    bool may_refuse;          /* the table can be full */
    weir_ns later[LATER_MAX]; /* instants at which a key may begin */
    unsigned laters;
    unsigned steps; /* of this search */
};

/* Whether the answers of a key are explained. One that takes too many steps is held to be, and
   counted. */
bool judge_acquits(struct judge *j, unsigned key, uint64_t *given_up);

const char *judge_name_of(enum call call);
bool judge_is_same(const struct weir_result *a, const struct weir_result *b);

#endif
