/* SPDX-License-Identifier: MIT */
/* Schedules: fibers that take turns at each access to shared memory. */
#include "schedule.h"

#include "../support.h"

#include <sys/mman.h>

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

/* ucontext makes two system calls a switch, but is known to sanitizers and to all machines. */
#if !defined(__x86_64__) || defined(WITH_ASAN) || defined(WITH_TSAN)
#define WITH_UCONTEXT 1
#include <ucontext.h>
#endif

#include "schedule_points.h"

/* A multiple of 64 pages: the engine draws a number from where the stack lies. */
#define STACK_BYTES ((size_t)64 * 4096)

struct fiber {
#ifdef WITH_UCONTEXT
    ucontext_t context;
#else
    void *stack_pointer;
#endif
    void (*body)(void *context, unsigned index);
    void *argument;
    unsigned index;
    bool used, ended;
    uint64_t points;
    uint64_t stop_after; /* points; where it is stopped for sure */
    uint64_t wakes;      /* the turn from which on it may be chosen */
    int64_t priority;
    unsigned sections; /* one in another */
    uint64_t section;  /* number of the outermost */
    void *stack;
    void *sanitizer; /* what the sanitizer has for this fiber */
};

static struct fiber fibers[FIBERS_MAX];
static char *stacks;
static struct test_random order;

/* Who decides where fibers are switched. */
static enum { BY_HAND, BY_TURNS, BY_PRIORITY } mode;
static uint64_t switch_mask; /* by turns: one point less than the points of a turn */
static uint64_t change_at[SCHEDULE_CHANGES_MAX + 1]; /* by priority: points, from the last one on */
static unsigned changes_left;
static int64_t lowest; /* priority; who waits is below it */
static uint64_t turn;

static uint64_t run_points; /* of the fibers of this run */
static uint64_t points_max; /* 0: any */
static bool stuck;
static struct schedule_trace trace;

/* Of the thread that runs fibers; NULL while none runs, and in all other threads. */
static _Thread_local struct fiber *current;
#if defined(WITH_ASAN) || defined(WITH_TSAN)
static void *conductor_sanitizer;
#endif
#ifdef WITH_ASAN
static const void *conductor_stack;
static size_t conductor_stack_bytes;
#endif

/* cmocka's assertions jump, which no fiber can. */
static void must(bool holds, const char *else_what)
{
    if (holds)
        return;
    fprintf(stderr, "schedule: %s\n", else_what);
    abort();
}

/* ---- switching ---- */

#ifdef WITH_UCONTEXT
static ucontext_t conductor;

static void switch_out(struct fiber *f)
{
    swapcontext(&f->context, &conductor);
}

static void switch_in(struct fiber *f)
{
    swapcontext(&conductor, &f->context);
}
#else
static void *conductor; /* its stack pointer */

/* Goes on on another stack, which is as it was left: the six registers that a function has to keep
   (System V ABI), and where to return to. The stack that is left becomes *from. */
void schedule_switch(void **from, void *to);
__asm__(".text\n"
        ".p2align 4\n"
        ".globl schedule_switch\n"
        ".type schedule_switch, @function\n"
        "schedule_switch:\n"
        "pushq %rbp\n"
        "pushq %rbx\n"
        "pushq %r12\n"
        "pushq %r13\n"
        "pushq %r14\n"
        "pushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\n"
        "popq %r14\n"
        "popq %r13\n"
        "popq %r12\n"
        "popq %rbx\n"
        "popq %rbp\n"
        "ret\n"
        ".size schedule_switch, . - schedule_switch\n");

static void switch_out(struct fiber *f)
{
    schedule_switch(&f->stack_pointer, conductor);
}

static void switch_in(struct fiber *f)
{
    schedule_switch(&conductor, f->stack_pointer);
}
#endif

static void leave(struct fiber *f)
{
    trace.switches++;
    trace.hash = (trace.hash ^ (f->points << 8 | f->index)) * 0x9e3779b97f4a7c15u;
    trace.hash ^= trace.hash >> 29;
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(f->ended ? NULL : &f->sanitizer, conductor_stack,
                                   conductor_stack_bytes);
#endif
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(conductor_sanitizer, 0);
#endif
    switch_out(f);
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
    switch_in(f);
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

/* Whether it is somebody else's turn. */
static bool is_switched(struct fiber *f)
{
    switch (mode) {
    case BY_HAND:
        break;
    case BY_TURNS:
        return (random_u64(&order) & switch_mask) == 0;
    case BY_PRIORITY:
        if (run_points != change_at[changes_left])
            break;
        while (changes_left != 0 && change_at[changes_left] == run_points)
            changes_left--;
        f->priority = --lowest;
        return true;
    }
    return false;
}

void schedule_point(void)
{
    struct fiber *f = current;
    if (f == NULL)
        return;
    run_points++;
    if (f->points++ == f->stop_after || is_switched(f))
        leave(f);
}

void schedule_pause(void)
{
    struct fiber *f = current;
    if (f == NULL || mode == BY_HAND)
        return;
    run_points++;
    f->points++;
    f->priority = --lowest;
    f->wakes = turn + 1 + random_below(&order, 8);
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

static void make_context(struct fiber *f)
{
#ifdef WITH_UCONTEXT
    assert_int_equal(getcontext(&f->context), 0);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, begin, 0);
#else
    /* Six registers, where to return to, and the alignment that a function finds. */
    void **top = (void **)(void *)((char *)f->stack + STACK_BYTES) - 2;
    memset(top - 6, 0, 8 * sizeof *top);
    *top = (void *)(uintptr_t)begin;
    f->stack_pointer = top - 6;
#endif
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
    make_context(f);
#ifdef WITH_TSAN
    f->sanitizer = __tsan_create_fiber(0);
#endif
    return f;
}

bool schedule_run_past(struct fiber *f, uint64_t points)
{
    mode = BY_HAND;
    f->stop_after = f->points + points;
    enter(f);
    return !f->ended;
}

void schedule_seed(uint64_t seed)
{
    order.state = seed;
    trace = (struct schedule_trace){0, 0, 0};
}

struct schedule_trace schedule_trace(void)
{
    return trace;
}

void schedule_bound(uint64_t points)
{
    points_max = points;
}

bool schedule_is_stuck(void)
{
    return stuck;
}

/* ---- runs ---- */

/* One of those that are awake; where none is, one of all. NULL: all have ended. */
static struct fiber *choose_by_turns(struct fiber **all, unsigned count)
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

static struct fiber *choose_by_priority(struct fiber **all, unsigned count)
{
    struct fiber *first = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (!all[i]->ended && (first == NULL || all[i]->priority > first->priority))
            first = all[i];
    }
    return first;
}

static bool is_past_bound(void)
{
    return points_max != 0 && run_points > points_max;
}

static void make_all(struct fiber **all, unsigned count,
                     void (*body)(void *context, unsigned index), void *context)
{
    assert_true(count <= FIBERS_MAX);
    for (unsigned i = 0; i < count; i++)
        all[i] = schedule_make(body, context, i);
    run_points = 0;
    turn = 0;
    stuck = false;
}

/* Those that are left of a run that has not ended vanish. */
static void end_all(struct fiber **all, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        stuck = stuck || !all[i]->ended;
        all[i]->used = false;
    }
    trace.points += run_points;
    trace.hash = (trace.hash ^ run_points) * 0x9e3779b97f4a7c15u;
}

void schedule_run(unsigned count, void (*body)(void *context, unsigned index), void *context)
{
    struct fiber *all[FIBERS_MAX];
    struct fiber *f;
    make_all(all, count, body, context);
    mode = BY_TURNS;
    /* What takes two threads that stop for long is found with few switches, what takes many that
       meet is found with many. */
    switch_mask = ((uint64_t)2 << random_below(&order, 9)) - 1;
    for (; !is_past_bound() && (f = choose_by_turns(all, count)) != NULL; turn++) {
        f->wakes = 0;
        enter(f);
        /* Some sleep for a few turns, some while the others end what they are at and more. */
        if (f->wakes == 0 && random_below(&order, 4) == 0)
            f->wakes = turn + random_magnitude(&order, 10);
    }
    end_all(all, count);
}

/* So many different ones of [1, points], the last one first. */
static void draw_changes(unsigned changes, uint64_t points)
{
    for (unsigned i = 1; i <= changes; i++) {
        uint64_t at = 1 + random_below(&order, points);
        unsigned j = i;
        for (; j > 1 && change_at[j - 1] < at; j--)
            change_at[j] = change_at[j - 1];
        change_at[j] = at;
    }
    change_at[0] = UINT64_MAX;
    changes_left = changes;
}

void schedule_run_by_priority(unsigned count, void (*body)(void *context, unsigned index),
                              void *context, unsigned changes, uint64_t points)
{
    struct fiber *all[FIBERS_MAX];
    struct fiber *f;
    assert_true(changes <= SCHEDULE_CHANGES_MAX && points != 0);
    make_all(all, count, body, context);
    mode = BY_PRIORITY;
    lowest = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned j = (unsigned)random_below(&order, i + 1);
        all[i]->priority = all[j]->priority;
        all[j]->priority = i + 1;
    }
    draw_changes(changes, points);
    while (!is_past_bound() && (f = choose_by_priority(all, count)) != NULL)
        enter(f);
    end_all(all, count);
}

/* ---- what the engine waits for ---- */

int schedule_lock(pthread_mutex_t *lock)
{
    if (current == NULL || mode == BY_HAND)
        return (pthread_mutex_lock)(lock);
    schedule_point();
    while ((pthread_mutex_trylock)(lock) != 0)
        schedule_pause();
    return 0;
}

/* ---- sections and grace periods ---- */

static unsigned outside; /* sections of who is no fiber */
static uint64_t sections_ever;

/* Sections that had begun at some time and have not ended. */
struct sections {
    uint64_t of[FIBERS_MAX]; /* numbers; 0: none */
};

/* Retired, and who may still see it. */
struct retired {
    struct rcu_head *head;
    void (*free_it)(struct rcu_head *head);
    struct sections seen_in;
};

/* In the order in which they came: what holds one up holds up all after it. */
#define RETIRED_MAX (1U << 16)
static struct retired retired[RETIRED_MAX];
static uint64_t retired_ever, freed_ever; /* those between are at their number modulo the size */
static uint64_t freeing;                  /* begun to be */

static struct sections sections_now(void)
{
    struct sections s;
    for (unsigned i = 0; i < FIBERS_MAX; i++)
        s.of[i] = fibers[i].used && fibers[i].sections != 0 ? fibers[i].section : 0;
    return s;
}

static bool have_ended(const struct sections *s)
{
    for (unsigned i = 0; i < FIBERS_MAX; i++) {
        const struct fiber *f = &fibers[i];
        if (s->of[i] != 0 && f->used && f->sections != 0 && f->section == s->of[i])
            return false;
    }
    return outside == 0;
}

static bool is_any_used(void)
{
    for (unsigned i = 0; i < FIBERS_MAX; i++) {
        if (fibers[i].used)
            return true;
    }
    return false;
}

/* Frees what nobody can see any more. One that is stopped by hand may have locks. */
static void free_what_ended(void)
{
    if (mode == BY_HAND && is_any_used())
        return;
    while (freeing < retired_ever && have_ended(&retired[freeing % RETIRED_MAX].seen_in)) {
        struct retired r = retired[freeing++ % RETIRED_MAX];
        r.free_it(r.head); /* others may come by */
        freed_ever++;
    }
}

void schedule_section_begin(void)
{
    struct fiber *f = current;
    if (f == NULL) {
        outside++;
        return;
    }
    if (f->sections++ == 0)
        f->section = ++sections_ever;
}

void schedule_section_end(void)
{
    struct fiber *f = current;
    unsigned left = f == NULL ? --outside : --f->sections;
    if (left == 0 && freeing < retired_ever)
        free_what_ended();
}

void schedule_grace_period(void)
{
    struct sections s = sections_now();
    must(current == NULL || current->sections == 0, "a section waits for itself");
    schedule_point();
    while (!have_ended(&s)) {
        must(current != NULL && mode != BY_HAND, "this would wait for ever");
        schedule_pause();
    }
}

void schedule_retire(struct rcu_head *head, void (*free_it)(struct rcu_head *head))
{
    must(retired_ever - freed_ever < RETIRED_MAX, "too much is retired");
    retired[retired_ever++ % RETIRED_MAX] = (struct retired){head, free_it, sections_now()};
}

void schedule_retire_wait(void)
{
    uint64_t wanted = retired_ever;
    free_what_ended();
    while (freed_ever < wanted) {
        must(current != NULL && mode != BY_HAND, "this would wait for ever");
        schedule_pause();
        free_what_ended();
    }
}
