/* SPDX-License-Identifier: MIT */
/* Schedules: fibers that take turns at each access to shared memory. */
#include "schedule.h"

#include "../support.h"

#include <sys/mman.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

void schedule_point(void);

/* A multiple of 64 pages: the engine draws a number from where the stack lies. */
#define STACK_BYTES ((size_t)64 * 4096)

struct fiber {
    ucontext_t context;
    void (*body)(void *context, unsigned index);
    void *argument;
    unsigned index;
    bool used, ended;
    uint64_t points;
    uint64_t stop_after; /* points; where it is stopped for sure */
    uint64_t wakes;      /* the turn from which on it may be chosen */
    void *stack;
    void *sanitizer; /* what the sanitizer has for this fiber */
};

static struct fiber fibers[FIBERS_MAX];
static char *stacks;
static struct test_random order;
static uint64_t switch_one_in; /* points */

/* Of the thread that runs fibers; NULL while none runs, and in all other threads. */
static _Thread_local struct fiber *current;
static ucontext_t conductor;
#if defined(WITH_ASAN) || defined(WITH_TSAN)
static void *conductor_sanitizer;
#endif
#ifdef WITH_ASAN
static const void *conductor_stack;
static size_t conductor_stack_bytes;
#endif

/* ---- switching ---- */

static void leave(struct fiber *f)
{
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(f->ended ? NULL : &f->sanitizer, conductor_stack,
                                   conductor_stack_bytes);
#endif
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(conductor_sanitizer, 0);
#endif
    swapcontext(&f->context, &conductor);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(f->sanitizer, &conductor_stack, &conductor_stack_bytes);
#endif
}

static void enter(struct fiber *f)
{
    current = f;
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&conductor_sanitizer, f->stack, STACK_BYTES);
#endif
#ifdef WITH_TSAN
    conductor_sanitizer = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->sanitizer, 0);
#endif
    swapcontext(&conductor, &f->context);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(conductor_sanitizer, NULL, NULL);
#endif
    current = NULL;
    if (f->ended) {
#ifdef WITH_TSAN
        __tsan_destroy_fiber(f->sanitizer);
#endif
        f->used = false;
    }
}

void schedule_point(void)
{
    struct fiber *f = current;
    if (f == NULL)
        return;
    if (f->points++ == f->stop_after || random_below(&order, switch_one_in) == 0)
        leave(f);
}

static void begin(void)
{
    struct fiber *f = current;
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &conductor_stack, &conductor_stack_bytes);
#endif
    f->body(f->argument, f->index);
    f->ended = true;
    leave(f);
}

/* ---- fibers ---- */

static void make_stacks(void)
{
    size_t bytes = (FIBERS_MAX + 1) * STACK_BYTES;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    stacks = at + (STACK_BYTES - (uintptr_t)at % STACK_BYTES);
}

struct fiber *schedule_make(void (*body)(void *context, unsigned index), void *context,
                            unsigned index)
{
    unsigned i = 0;
    while (i < FIBERS_MAX && fibers[i].used)
        i++;
    assert_true(i < FIBERS_MAX);
    if (stacks == NULL)
        make_stacks();
    struct fiber *f = &fibers[i];
    memset(f, 0, sizeof *f);
    f->body = body;
    f->argument = context;
    f->index = index;
    f->used = true;
    f->stop_after = UINT64_MAX;
    f->stack = stacks + i * STACK_BYTES;
    assert_int_equal(getcontext(&f->context), 0);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, begin, 0);
#ifdef WITH_TSAN
    f->sanitizer = __tsan_create_fiber(0);
#endif
    return f;
}

bool schedule_run_past(struct fiber *f, uint64_t points)
{
    switch_one_in = UINT64_MAX;
    f->stop_after = f->points + points;
    enter(f);
    return !f->ended;
}

void schedule_seed(uint64_t seed)
{
    order.state = seed;
}

/* One of those that are awake; where none is, one of all. NULL: all have ended. */
static struct fiber *choose(struct fiber **all, unsigned count, uint64_t turn)
{
    struct fiber *awake[FIBERS_MAX];
    struct fiber *left[FIBERS_MAX];
    unsigned awake_count = 0;
    unsigned left_count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (all[i]->ended)
            continue;
        left[left_count++] = all[i];
        if (all[i]->wakes <= turn)
            awake[awake_count++] = all[i];
    }
    if (awake_count != 0)
        return awake[random_below(&order, awake_count)];
    return left_count != 0 ? left[random_below(&order, left_count)] : NULL;
}

void schedule_run(unsigned count, void (*body)(void *context, unsigned index), void *context)
{
    struct fiber *all[FIBERS_MAX];
    struct fiber *f;
    assert_true(count <= FIBERS_MAX);
    for (unsigned i = 0; i < count; i++)
        all[i] = schedule_make(body, context, i);
    /* What takes two threads that stop for long is found with few switches, what takes many that
       meet is found with many. */
    switch_one_in = (uint64_t)2 << random_below(&order, 9);
    for (uint64_t turn = 0; (f = choose(all, count, turn)) != NULL; turn++) {
        enter(f);
        /* Some sleep for a few turns, some while the others end what they are at and more. */
        f->wakes = random_below(&order, 4) != 0 ? 0 : turn + random_magnitude(&order, 10);
    }
}
