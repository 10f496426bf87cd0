/* SPDX-License-Identifier: MIT */
/*
 * Forks: what a child finds and may do, whatever the other threads of its parent were doing; and
 * that the parent goes on as if nothing had been.
 *
 * A child says what is wrong by its exit status and a line on the standard error output. One that
 * hangs is ended by its alarm or by its parent, which fails the test.
 */
#include "../support.h"

#include "rcu.h"
#include "table/reclaim.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW           (1000 * WEIR_DAY)
#define ALARM_SECONDS 20

#ifdef WEIR_THREAD_SANITIZER
/* Its runtime starts no threads after a fork unless it is told to. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif

enum { KEYS = 16, BURST = 5, GROWTH = 10000 };

/* In a build that counts branches a child counts its own: what threads of its parent were in the
   middle of would look like ways that nobody took. It writes them down itself, as the end of a
   process does that is no _exit. */
void __llvm_profile_reset_counters(void) __attribute__((weak));
int __llvm_profile_write_file(void) __attribute__((weak));

static void begin_child(void)
{
    if (__llvm_profile_reset_counters != NULL)
        __llvm_profile_reset_counters();
}

static void end_child(int status)
{
    if (__llvm_profile_write_file != NULL)
        (void)__llvm_profile_write_file();
    _exit(status);
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# line %d, in a child: %s\n", __LINE__, #condition);                  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* What a child comes to; one that hangs is killed, also where it blocks the signal of its alarm. */
static int status_of(pid_t child)
{
    int status = -1;
    for (unsigned i = 0; i < 2000 * ALARM_SECONDS; i++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
        usleep(i < 1000 ? 100 : 1000);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return status;
}

/* Forks; the child runs the body and ends well if that returns. The status that it ended with. */
static int fork_for(void (*body)(void *), void *context)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(ALARM_SECONDS);
        body(context);
        end_child(0);
    }
    return child > 0 ? status_of(child) : -1;
}

static void in_a_child(void (*body)(void *), void *context)
{
    assert_int_equal(fork_for(body, context), 0);
}

struct scene {
    struct weir *w;
    int limit;
    uint64_t grown; /* keys beside the first ones */
};

static weir_key key_of(const struct scene *s, uint64_t i)
{
    return weir_key_u64(s->w, i);
}

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->w = open_for_keys(200000, WEIR_FULL_SHARE);
    s->limit = add_limit(s->w, "a", weir_token_bucket(1, WEIR_DAY, BURST));
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(weir_take(s->w, s->limit, key_of(s, i), i % 5, NOW), i % 5);
}

/* GROWTH new keys, each of which has its burst. */
static bool grow(struct scene *s)
{
    for (uint64_t i = 0; i < GROWTH; i++) {
        if (weir_decide(s->w, s->limit, key_of(s, 1000 + s->grown++), 1, NOW).remaining !=
            BURST - 1)
            return false;
    }
    return true;
}

/* The first keys are as open_scene left them, less what each has had taken since. */
static bool holds(struct scene *s, uint64_t taken)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t left = BURST - i % 5 - taken;
        if (weir_peek(s->w, s->limit, key_of(s, i), 1, NOW).remaining != left)
            return false;
    }
    return true;
}

static bool take_from_each(struct scene *s)
{
    bool taken = true;
    for (uint64_t i = 0; i < KEYS; i++)
        taken = weir_take(s->w, s->limit, key_of(s, i), 1, NOW) == 1 && taken;
    return taken;
}

/* All that a process does with an engine; it has to be its own. */
static void use_all(void *context)
{
    struct scene *s = context;
    struct weir_stats before = {0};
    struct weir_stats stats = {0};
    struct weir_policy policy = weir_token_bucket(1, WEIR_DAY, 7);
    EXPECT(weir_stats(s->w, &before) == 0);
    EXPECT(holds(s, 0));
    EXPECT(take_from_each(s) && holds(s, 1));
    EXPECT(grow(s));
    EXPECT(weir_stats(s->w, &stats) == 0);
    EXPECT(stats.keys >= before.keys + GROWTH && stats.growths > before.growths);
    EXPECT(stats.allowed == before.allowed + GROWTH);
    int limit = weir_add_limit(s->w, "of the child", &policy);
    EXPECT(limit >= 0 && weir_allow(s->w, limit, key_of(s, 1), 7, NOW));
    EXPECT(weir_remove_limit(s->w, limit, NOW) == 0);
    EXPECT(weir_trim(s->w, NOW + 100 * WEIR_DAY) == 0);
    EXPECT(weir_stats(s->w, &stats) == 0);
    EXPECT(stats.keys == 0 && stats.shrinks > before.shrinks);
    EXPECT(stats.retired_bytes == 0);
    weir_close(s->w);
}

/* F1: before anything was retired, after it, and from a thread that is not the first. */
static void f1_a_child_goes_on_with_its_copy(void **state)
{
    (void)state;
    for (unsigned grown = 0; grown < 3; grown++) {
        struct scene s;
        open_scene(&s);
        for (unsigned i = 0; i < grown; i++)
            assert_true(grow(&s));
        in_a_child(use_all, &s);
        assert_true(holds(&s, 0));
        assert_true(take_from_each(&s) && holds(&s, 1));
        assert_true(grow(&s));
        assert_int_equal(weir_trim(s.w, NOW), 0);
        weir_close(s.w);
    }
}

static void fork_and_use(void *context)
{
    EXPECT(fork_for(use_all, context) == 0);
    use_all(context);
}

static void f1_a_child_of_a_child(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s);
    assert_true(grow(&s));
    in_a_child(fork_and_use, &s);
    assert_true(holds(&s, 0));
    weir_close(s.w);
}

static void check_each(void *scenes)
{
    for (struct scene *s = scenes; s->w != NULL; s++)
        use_all(s);
}

/* F1: all engines that are open, and none that was closed. errno is the caller's. */
static void f1_several_engines(void **state)
{
    (void)state;
    struct scene scenes[5];
    for (unsigned i = 0; i < 4; i++)
        open_scene(&scenes[i]);
    assert_true(grow(&scenes[1]));
    weir_close(scenes[0].w);
    weir_close(scenes[2].w);
    struct scene open[3] = {scenes[1], scenes[3], {0}};
    errno = 77;
    in_a_child(check_each, open);
    assert_int_equal(errno, 77);
    weir_close(scenes[3].w);
    in_a_child(use_all, &scenes[1]);
    assert_true(holds(&scenes[1], 0));
    weir_close(scenes[1].w);
}

/* A thread in the middle of something that it does under a lock. */
struct holder {
    pthread_mutex_t *lock;
    struct weir_atomic_u64 held;
};

static void *hold(void *holder)
{
    struct holder *h = holder;
    pthread_mutex_lock(h->lock);
    weir_add_release(&h->held, 1);
    usleep(50000);
    pthread_mutex_unlock(h->lock);
    return NULL;
}

/* F1: no lock that another thread holds is held in the child. */
static void f1_locks_of_vanished_threads(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s);
    pthread_mutex_t *const locks[] = {&s.w->lock, &s.w->sweeping, &s.w->table.arena.lock};
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; i++) {
        struct holder holder = {locks[i], {0}};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, hold, &holder), 0);
        while (weir_load_acquire(&holder.held) == 0)
            usleep(1000);
        in_a_child(use_all, &s);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_true(holds(&s, 0));
    weir_close(s.w);
}

/* ---- liburcu's thread ---- */

/* The signals that a thread of this process blocks, as a mask from bit 0. */
static uint64_t blocked_by(const char *thread)
{
    char path[320];
    char line[128];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        (void)(sscanf(line, "SigBlk: %llx", &mask) + 0);
    if (file != NULL)
        fclose(file);
    return mask;
}

/* Signals that any of the other threads would take. *others: how many threads there are. */
static uint64_t taken_by_others(unsigned *others)
{
    uint64_t taken = 0;
    char self[16];
    DIR *threads = opendir("/proc/self/task");
    snprintf(self, sizeof self, "%d", (int)getpid());
    *others = 0;
    for (struct dirent *d = readdir(threads); d != NULL; d = readdir(threads)) {
        if (d->d_name[0] == '.' || strcmp(d->d_name, self) == 0)
            continue;
        ++*others;
        taken |= ~blocked_by(d->d_name);
    }
    closedir(threads);
    return taken;
}

static uint64_t bit_of(int signal)
{
    return (uint64_t)1 << (signal - 1);
}

/* All but what nobody can block, and what libc keeps to itself. */
static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,  SIGALRM,
                              SIGCHLD, SIGPIPE, SIGURG,  SIGIO,   SIGPROF, SIGVTALRM};

static bool others_take_none(void)
{
    unsigned others;
    uint64_t taken = taken_by_others(&others);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if ((taken & bit_of(signals[i])) != 0)
            return false;
    }
    return others > 0;
}

static void look_at_signals(void *context)
{
    struct scene *s = context;
    sigset_t now;
    EXPECT(others_take_none());
    EXPECT(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1) == 0);
    EXPECT(grow(s));
    EXPECT(others_take_none());
    weir_close(s->w);
}

/* The thread that frees takes none of the host's signals, in a child neither; who starts it goes on
   with the signals that he had. In a child, so that it is the first retirement of the process. */
static void start_and_look(void *context)
{
    struct scene *s = context;
    sigset_t before;
    sigset_t after;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    EXPECT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    open_scene(s);
    EXPECT(grow(s));
    EXPECT(pthread_sigmask(SIG_BLOCK, NULL, &after) == 0);
    EXPECT(sigismember(&after, SIGUSR2) == 1 && sigismember(&after, SIGUSR1) == 0);
    EXPECT(others_take_none());
    EXPECT(fork_for(look_at_signals, s) == 0);
    EXPECT(others_take_none());
    weir_close(s->w);
}

static void the_thread_takes_no_signals(void **state)
{
    (void)state;
    struct scene s;
    in_a_child(start_and_look, &s);
}

static void *prepare_fork(void *forking)
{
    struct weir_atomic_u64 *f = forking;
    weir_retire_before_fork();
    weir_add_release(&f[0], 1);
    while (weir_load_acquire(&f[1]) == 0)
        usleep(1000);
    weir_retire_after_fork(false);
    return NULL;
}

static void retire_beside_a_fork(void *context)
{
    struct scene *s = context;
    struct weir_atomic_u64 forking[2] = {{0}, {0}};
    struct weir_stats stats = {0};
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, prepare_fork, forking) == 0);
    while (weir_load_acquire(&forking[0]) == 0)
        usleep(1000);
    EXPECT(grow(s));
    EXPECT(weir_stats(s->w, &stats) == 0 && stats.growths > 0 && stats.retired_bytes > 0);
    weir_add_release(&forking[1], 1);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(weir_trim(s->w, NOW) == 0);
    EXPECT(weir_stats(s->w, &stats) == 0 && stats.retired_bytes == 0);
    weir_close(s->w);
}

/* P1: a decision that replaces an array while another thread is forking waits for nothing, also
   where it is the first retirement; and the array is freed in the end. */
static void p1_a_retirement_beside_a_fork(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s);
    in_a_child(retire_beside_a_fork, &s);
    assert_true(grow(&s));
    in_a_child(retire_beside_a_fork, &s);
    weir_close(s.w);
}

/* ---- beside busy threads ---- */

enum { BUSY = 5, SHARED_KEYS = 64 };

#define SHARED_BURST ((uint64_t)1 << 40) /* never used up */
#define SHARED_SUM   (SHARED_KEYS * SHARED_BURST)

struct crowd {
    struct scene s; /* s.limit: of the shared keys */
    int flood;      /* a limit of the keys that come and come */
    struct weir_atomic_u64 admitted, stop;
};

/* Each key draws from the shared ones at one instant, so that what is taken adds up. */
static void decide_on(struct crowd *c, struct test_random *random, uint64_t *admitted)
{
    for (unsigned i = 0; i < 100; i++)
        *admitted += weir_allow(c->s.w, c->s.limit,
                                key_of(&c->s, random_below(random, SHARED_KEYS)), 1, NOW);
}

/* Keys that are idle a minute later: the table grows, and is compacted again and again. */
static void flood(struct crowd *c, uint64_t *next)
{
    for (unsigned i = 0; i < 100; i++, ++*next)
        (void)!weir_allow(c->s.w, c->flood, key_of(&c->s, 1000 + *next), 1,
                          NOW + *next * WEIR_MILLISECOND);
}

static void change_limits(struct crowd *c)
{
    int limit = add_limit(c->s.w, "comes and goes", weir_token_bucket(1, WEIR_DAY, 1));
    (void)!weir_allow(c->s.w, limit, key_of(&c->s, 1), 1, NOW);
    assert_int_equal(weir_remove_limit(c->s.w, limit, NOW), 0);
}

/* An engine that is there for a moment, with arrays that are being retired when it is closed. */
static void open_and_close(void)
{
    struct scene s;
    open_scene(&s);
    assert_true(grow(&s));
    weir_close(s.w);
}

static void be_busy(void *context, unsigned index)
{
    struct crowd *c = context;
    struct test_random random = {index};
    uint64_t next = 0;
    uint64_t admitted = 0;
    while (weir_load_acquire(&c->stop) == 0) {
        if (index <= 1)
            decide_on(c, &random, &admitted);
        else if (index == 2)
            flood(c, &next);
        else if (index == 3)
            change_limits(c);
        else
            open_and_close();
        if (index == 3) /* -ENOMEM: readers hold on to too much of it just now */
            (void)weir_trim(c->s.w, NOW);
        if (index > 1)
            usleep(500);
    }
    weir_add_relaxed(&c->admitted, admitted);
}

static void *run_busy(void *crowd)
{
    run_crew(BUSY, be_busy, crowd);
    return NULL;
}

static uint64_t left_of(struct crowd *c)
{
    uint64_t left = 0;
    for (uint64_t i = 0; i < SHARED_KEYS; i++)
        left += weir_peek(c->s.w, c->s.limit, key_of(&c->s, i), 1, NOW).remaining;
    return left;
}

/* New threads in a child take up the counters of those that are not there. */
static void decide_once(void *context, unsigned index)
{
    struct crowd *c = context;
    EXPECT(weir_allow(c->s.w, c->s.limit, key_of(&c->s, index), 1, NOW));
}

/*
 * In a child, of threads that were anywhere: what was taken is what was counted, but for calls that
 * were under way, one a thread; everything goes on.
 */
static void use_inherited(void *context)
{
    struct crowd *c = context;
    struct weir_limit_stats counted = {0};
    struct weir_stats before = {0};
    struct weir_stats stats = {0};
    EXPECT(weir_limit_stats(c->s.w, c->s.limit, &counted) == 0 && weir_stats(c->s.w, &before) == 0);
    uint64_t taken = SHARED_SUM - left_of(c);
    EXPECT(taken >= counted.allowed && taken <= counted.allowed + BUSY);
    run_crew(BUSY, decide_once, c);
    EXPECT(left_of(c) + taken + BUSY == SHARED_SUM);
    EXPECT(weir_limit_stats(c->s.w, c->s.limit, &counted) == 0);
    EXPECT(weir_stats(c->s.w, &stats) == 0 && stats.allowed == before.allowed + BUSY);

    c->s.grown = 1000000000; /* keys that no other thread has come to */
    EXPECT(weir_trim(c->s.w, NOW + WEIR_DAY) == 0);
    uint64_t allowed = 0;
    for (uint64_t i = 0; i < GROWTH; i++)
        allowed += weir_allow(c->s.w, c->flood, key_of(&c->s, c->s.grown + i), 1, NOW);
    EXPECT(allowed == GROWTH);
    int limit = add_limit(c->s.w, "of the child", weir_token_bucket(1, WEIR_DAY, 7));
    EXPECT(weir_allow(c->s.w, limit, key_of(&c->s, 1), 7, NOW));
    EXPECT(weir_remove_limit(c->s.w, limit, NOW) == 0);
    EXPECT(weir_trim(c->s.w, NOW + 100 * WEIR_DAY) == 0);
    EXPECT(weir_stats(c->s.w, &stats) == 0 && stats.keys <= SHARED_KEYS);
    weir_close(c->s.w);
}

/* F1, F2: 200 times, while other threads decide, grow the table, compact it, change limits, open
   and close engines. */
static void f1_a_child_of_busy_threads(void **state)
{
    (void)state;
    struct crowd c = {.s = {.w = open_for_keys(20000, WEIR_FULL_SHARE)}};
    c.s.limit = add_limit(c.s.w, "shared", weir_token_bucket(0, WEIR_SECOND, SHARED_BURST));
    c.flood = add_limit(c.s.w, "flood", weir_token_bucket(1, WEIR_MINUTE, 1));
    /* their places, before the flood has taken them all */
    for (uint64_t i = 0; i < SHARED_KEYS; i++)
        assert_true(weir_allow(c.s.w, c.s.limit, key_of(&c.s, i), 1, NOW));
    pthread_t busy;
    assert_int_equal(pthread_create(&busy, NULL, run_busy, &c), 0);
    for (uint64_t forks = random_scaled(200); forks > 0; forks--)
        in_a_child(use_inherited, &c);
    weir_add_release(&c.stop, 1);
    pthread_join(busy, NULL);
    uint64_t admitted = SHARED_KEYS + weir_load_relaxed(&c.admitted);
    struct weir_limit_stats counted = {0};
    assert_int_equal(weir_limit_stats(c.s.w, c.s.limit, &counted), 0);
    assert_int_equal(counted.allowed, admitted);
    assert_int_equal(left_of(&c) + admitted, SHARED_SUM);
    assert_int_equal(weir_trim(c.s.w, NOW + 100 * WEIR_DAY), 0);
    weir_close(c.s.w);
}

int main(void)
{
    pthread_atfork(NULL, NULL, begin_child); /* before what the library does in a child */
    const struct CMUnitTest tests[] = {
        /* first those that want a process in which nothing was retired */
        cmocka_unit_test(the_thread_takes_no_signals),
        cmocka_unit_test(p1_a_retirement_beside_a_fork),
        cmocka_unit_test(f1_a_child_goes_on_with_its_copy),
        cmocka_unit_test(f1_a_child_of_a_child),
        cmocka_unit_test(f1_several_engines),
        cmocka_unit_test(f1_locks_of_vanished_threads),
        cmocka_unit_test(f1_a_child_of_busy_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
