/* SPDX-License-Identifier: MIT */
/*
 * The soak: all mixes by real threads, for as long as is asked for, each for its share of the time.
 *
 *   soak SECONDS [SEED [PATIENCE [MIX]]]
 *
 * The rounds of each mix are numbered from SEED on (without one, from the time of day), and each is
 * played with its number as its seed: `soak 0 N 60 MIX` plays the round N of a mix again, of which
 * MIX is a part of the name. A mix in which a round has failed is not played again. A round that
 * takes more than PATIENCE seconds has failed: a wake-up or a move that got lost shows so. With
 * WEIR_SOAK_FIRST set all ends with the first failure.
 *
 * Prints TAP, a test for each mix; and how long calls took, and what happened, as comments: figures
 * of this run, of which none is asserted.
 */
#include "soak.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long ull;

static const struct {
    const char *name;
    soak_round *round;
} mixes[] = {
    {"s1_k01_k28_histories_while_the_table_grows", soak_growth},
    {"s1_k28_histories_while_the_table_is_trimmed", soak_trimmed},
    {"s1_s2_k14_every_key_has_its_burst_at_each_instant", soak_instants},
    {"m1_k26_full_tables_by_each_when_full", soak_full},
    {"s1_s2_k26_the_last_places_of_a_table", soak_last},
    {"s7_k11_k15_ledgers_while_keys_move", soak_ledger},
    {"s5_k16_settings_that_change", soak_changes},
    {"s1_k27_limits_that_are_removed_and_added_again", soak_removal},
    {"k12_k13_k36_permits_and_who_waits_for_them", soak_permits},
    {"k31_several_limits_all_or_none", soak_all},
    {"s1_s2_s6_s7_every_window_of_calls_has_an_order", soak_windows},
};

#define MIXES (sizeof mixes / sizeof *mixes)

/* ---- figures, of all rounds ---- */

/* Spans by size: 8 steps to a doubling. */
#define STEPS_LOG2 3
#define STEPS      (1U << STEPS_LOG2)
#define SIZES      (65 * STEPS)

struct spans {
    struct weir_atomic_u64 of[SIZES];
    struct weir_atomic_u64 largest;
};

/* Shared with the processes of the rounds. */
static struct figures {
    struct spans spans[SOAK_CALLS];
    struct weir_atomic_u64 counts[SOAK_COUNTS];
} *figures;

static unsigned size_of(weir_ns span)
{
    if (span < STEPS)
        return (unsigned)span;
    unsigned doubling = 63 - (unsigned)__builtin_clzll(span) - STEPS_LOG2;
    return (doubling + 1) * STEPS + (unsigned)(span >> doubling) - STEPS;
}

/* The largest span of a size. */
static weir_ns end_of(unsigned size)
{
    if (size < STEPS)
        return size;
    unsigned doubling = size / STEPS - 1;
    return ((weir_ns)(STEPS + size % STEPS + 1) << doubling) - 1;
}

void soak_took(enum soak_call which, weir_ns span)
{
    weir_add_relaxed(&figures->spans[which].of[size_of(span)], 1);
    weir_max_relaxed(&figures->spans[which].largest, span);
}

void soak_count(unsigned which, uint64_t n)
{
    weir_add_relaxed(&figures->counts[which], n);
}

void soak_note(const struct weir *w)
{
    struct stress_counts counts = {{0}};
    struct weir_stats stats = {0};
    stress_count(&counts, w);
    for (unsigned i = 0; i < STRESS_COUNTS; i++)
        soak_count(i, counts.of[i]);
    assert_int_equal(weir_stats(w, &stats), 0);
    soak_count(SOAK_DROPPED, stats.dropped);
    soak_count(SOAK_SHRINKS, stats.shrinks);
    soak_count(SOAK_ORIGINS, stats.origins);
    soak_count(SOAK_OVERFLOW, stats.overflow);
    soak_count(SOAK_WAKES, weir_load_relaxed(&w->waiters->wakes));
    soak_count(SOAK_DECISIONS, stats.allowed + stats.denied + stats.never);
}

static uint64_t spans_in(const struct spans *s)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SIZES; i++)
        sum += weir_load_relaxed(&s->of[i]);
    return sum;
}

/* The span that all but one in `part` do not exceed. */
static weir_ns quantile(const struct spans *s, uint64_t count, uint64_t part)
{
    uint64_t left = count / part;
    unsigned size = SIZES - 1;
    for (uint64_t above = weir_load_relaxed(&s->of[size]); size > 0 && above <= left;)
        above += weir_load_relaxed(&s->of[--size]);
    weir_ns largest = weir_load_relaxed(&s->largest);
    return end_of(size) < largest ? end_of(size) : largest;
}

static void print_spans(void)
{
    static const char *const names[SOAK_CALLS] = {
        "decide",    "allow",      "reserve",      "cancel",       "peek",
        "take",      "charge",     "refund",       "set",          "forget",
        "batch",     "decide_all", "acquire",      "acquire_wait", "release",
        "set_limit", "add_limit",  "remove_limit", "trim"};
    printf("# ns a call, its clock included: %8s %8s %8s %8s %10s %12s\n", "calls", "1/2", "9/10",
           "99/100", "999/1000", "most");
    for (unsigned i = 0; i < SOAK_CALLS; i++) {
        const struct spans *s = &figures->spans[i];
        uint64_t count = spans_in(s);
        if (count != 0)
            printf("# %-29s %9llu %8llu %8llu %8llu %10llu %12llu\n", names[i], (ull)count,
                   (ull)quantile(s, count, 2), (ull)quantile(s, count, 10),
                   (ull)quantile(s, count, 100), (ull)quantile(s, count, 1000),
                   (ull)weir_load_relaxed(&s->largest));
    }
}

static void print_counts(void)
{
    static const char *const names[SOAK_COUNTS] = {"growths",
                                                   "compactions",
                                                   "moves",
                                                   "races",
                                                   "helps",
                                                   "redone",
                                                   "stale left",
                                                   "stale fresh",
                                                   "dropped",
                                                   "shrinks",
                                                   "origins",
                                                   "sweeps",
                                                   "without a place",
                                                   "wakes",
                                                   "decisions",
                                                   "grants in histories",
                                                   "windows of calls",
                                                   "with overlaps",
                                                   "lost track of",
                                                   "limits removed",
                                                   "all or none refused"};
    for (unsigned i = 0; i < SOAK_COUNTS; i++)
        printf("# %-20s %12llu\n", names[i], (ull)weir_load_relaxed(&figures->counts[i]));
}

/* ---- a round ---- */

static struct {
    unsigned mix;
    uint64_t seed;
} round_now; /* of this process */

/* A fault in another thread is the end of the process: the test cannot go on from there. */
static void play(void **state)
{
    (void)state;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        signal(faults[i], SIG_DFL);
    assert_true(round_now.mix < MIXES);
    mixes[round_now.mix].round(round_now.seed);
}

static void show(FILE *output)
{
    char line[512];
    rewind(output);
    while (fgets(line, sizeof line, output) != NULL)
        printf("#   %s%s", line, strchr(line, '\n') != NULL ? "" : "\n");
}

/* Plays one round in a process of its own, and shows what it has printed if it fails. */
static bool round_passes(unsigned mix, uint64_t seed, unsigned patience_s)
{
    FILE *output = tmpfile();
    int status = 0;
    if (output == NULL)
        return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(play)};
        dup2(fileno(output), STDOUT_FILENO);
        dup2(fileno(output), STDERR_FILENO);
        alarm(patience_s);
        round_now.mix = mix;
        round_now.seed = seed;
        exit(cmocka_run_group_tests_name(mixes[mix].name, tests, NULL, NULL) != 0);
    }
    bool passes = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    if (!passes) {
        printf("# %s: round %llu failed, %s %d\n", mixes[mix].name, (ull)seed,
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        show(output);
    }
    fclose(output);
    return passes;
}

/* ---- all of them ---- */

struct soak {
    weir_ns begin, span;
    unsigned patience_s;
    const char *part; /* of the names of mixes; "": of all */
    uint64_t first;   /* round of each mix: its seed */
    bool ends;
    bool failed[MIXES];
    uint64_t played[MIXES];
    weir_ns spent[MIXES];
};

/* The mix that has had the least time; MIXES: none is left. */
static unsigned next_mix(const struct soak *s)
{
    unsigned next = MIXES;
    for (unsigned i = 0; i < MIXES; i++) {
        bool plays = !s->failed[i] && strstr(mixes[i].name, s->part) != NULL;
        if (plays && (next == MIXES || s->spent[i] < s->spent[next]))
            next = i;
    }
    return next;
}

static void play_next(struct soak *s, unsigned i)
{
    weir_ns begin = weir_now();
    s->failed[i] = !round_passes(i, s->first + s->played[i], s->patience_s);
    s->spent[i] += weir_now() - begin;
    s->played[i]++;
    if (s->failed[i]) {
        printf("# found after %.1f s\n", (double)(weir_now() - s->begin) / 1e9);
        s->ends = getenv("WEIR_SOAK_FIRST") != NULL;
    }
}

/* Until the time is over, and each mix has been played. */
static void play_all(struct soak *s)
{
    for (unsigned i = next_mix(s); i < MIXES && !s->ends; i = next_mix(s)) {
        if (s->played[i] != 0 && weir_now() - s->begin >= s->span)
            break;
        play_next(s, i);
    }
}

static int report(const struct soak *s)
{
    uint64_t calls = 0;
    int failures = 0;
    double seconds = (double)(weir_now() - s->begin) / 1e9;
    for (unsigned i = 0; i < SOAK_CALLS; i++)
        calls += spans_in(&figures->spans[i]);
    print_spans();
    print_counts();
    printf("# rounds from %llu on, %.1f s, %.0f decisions and %.0f timed calls a second\n",
           (ull)s->first, seconds,
           (double)weir_load_relaxed(&figures->counts[SOAK_DECISIONS]) / seconds,
           (double)calls / seconds);
    for (unsigned i = 0; i < MIXES; i++) {
        failures += s->failed[i];
        printf("# %llu rounds in %.1f s\n", (ull)s->played[i], (double)s->spent[i] / 1e9);
        printf("%s %u - %s%s\n", s->failed[i] ? "not ok" : "ok", i + 1, mixes[i].name,
               s->played[i] == 0 ? " # SKIP" : "");
    }
    return failures != 0;
}

int main(int argc, char **argv)
{
    struct soak s = {.patience_s = 60, .part = argc > 4 ? argv[4] : ""};
    figures =
        mmap(NULL, sizeof *figures, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc < 2 || figures == MAP_FAILED) {
        fprintf(stderr, "usage: %s SECONDS [SEED [PATIENCE [MIX]]]\n", argv[0]);
        return 2;
    }
    s.span = strtoull(argv[1], NULL, 10) * WEIR_SECOND;
    s.first = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 1000;
    if (argc > 3)
        s.patience_s = (unsigned)strtoul(argv[3], NULL, 10);
    if (next_mix(&s) == MIXES) {
        fprintf(stderr, "%s: no mix has %s in its name\n", argv[0], s.part);
        return 2;
    }
    s.begin = weir_now();
    printf("1..%u\n# seed %llu\n", (unsigned)MIXES, (ull)s.first);
    setenv("CMOCKA_MESSAGE_OUTPUT", "TAP", 1);
    play_all(&s);
    return report(&s);
}
