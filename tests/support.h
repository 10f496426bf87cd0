/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the engine's inside share: cmocka, engines, threads that start together.
 */
#ifndef WEIR_TESTS_SUPPORT_H
#define WEIR_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "limiter.h"
#include "random.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 16

static inline struct weir *open_engine(const struct weir_options *options)
{
    struct weir *w = NULL;
    assert_int_equal(weir_open(&w, options), 0);
    return w;
}

static inline struct weir *open_for_keys(size_t max_keys, enum weir_when_full when_full)
{
    struct weir_options options = {0};
    options.max_keys = max_keys;
    options.when_full = when_full;
    return open_engine(&options);
}

static inline int add_limit(struct weir *w, const char *name, struct weir_policy policy)
{
    int id = weir_add_limit(w, name, &policy);
    assert_true(id >= 0);
    return id;
}

/* Runs body(context, 0 to threads - 1) in as many threads, all of which end before it returns. */
struct crew_member {
    pthread_t thread;
    void (*body)(void *context, unsigned index);
    void *context;
    unsigned index;
};

static inline void *crew_start(void *argument)
{
    struct crew_member *member = argument;
    member->body(member->context, member->index);
    return NULL;
}

static inline void run_crew(unsigned threads, void (*body)(void *, unsigned), void *context)
{
    struct crew_member members[THREADS_MAX];
    assert_true(threads <= THREADS_MAX);
    for (unsigned i = 0; i < threads; i++) {
        members[i] = (struct crew_member){0, body, context, i};
        assert_int_equal(pthread_create(&members[i].thread, NULL, crew_start, &members[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++)
        assert_int_equal(pthread_join(members[i].thread, NULL), 0);
}

#endif
