/* SPDX-License-Identifier: MIT */
/*
 * The table's protocol under the model checker Relacy: the text that ships, in all interleavings of
 * three threads with at most so many preemptions, under the memory model of C11. Prints TAP.
 *
 *   protocol [CASE ...] [options]              without cases: all
 *
 * A case is a scenario (scenarios.h) or a cell of the matrix, ROW/STATE/CLOCKS (matrix.h); ROW, or
 * ROW/STATE, means all that begin so.
 *
 *     -b N      preemptions (1)
 *     -d N      delays (1), see atomic.h
 *     -r N      N random executions instead of all
 *     -s T      thread T (0 to 2) stops for ever after any number of accesses
 *     -c        says in how many executions there was growth, a refusal, ...
 *     -t        prints the accesses of an execution that fails
 *     -l        prints the names of the cases
 *     -x        ends with the first case that fails
 *     -p I/N    only each N-th of them, from the I-th on
 */
#include "matrix.h"

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

/* Accesses after which a thread may stop: more than any has. */
enum { STOPS_AT_MOST = 250 };

struct options {
    unsigned preemptions, delays;
    int stopper; /* -1: nobody */
    long long random;
    bool counts, trace, lists, stops;
    unsigned part, parts;
};

static options chosen_options = {1, 1, -1, 0, false, false, false, false, 0, 1};

/* A scenario, or a cell of the matrix. */
struct test_case {
    std::string name;
    scenario s;
    const row *r; /* NULL: a scenario */
    state in;
    int clocks;
};

static const scenario *chosen;

/* ---- what a scenario reached ---- */

struct reach {
    const char *name;
    unsigned long long executions;
};

static reach reached[] = {{"growth", 0},       {"compaction or shrinking", 0},
                          {"chunk redone", 0}, {"claim lost", 0},
                          {"refusal", 0},      {"retirement", 0},
                          {"delay", 0},        {"stop", 0}};
enum { REACHED = sizeof reached / sizeof *reached };

static void count_reached()
{
    const weir_table_counts *c = &host->table.counts;
    bool refused = false;
    for (int i = 0; i < WORLD_THREADS * OUTCOMES; i++)
        refused = refused || outcomes[i / OUTCOMES][i % OUTCOMES].refused;
    const bool now[REACHED] = {c->growths.value != 0,
                               c->compactions.value + c->shrinks.value != 0,
                               c->redone.value != 0,
                               c->races.value != 0,
                               refused,
                               w.retirements != 0,
                               weir_delays_left != chosen_options.delays,
                               w.someone_stopped};
    for (int i = 0; i < REACHED; i++)
        reached[i].executions += now[i];
}

/* ---- one execution ---- */

struct protocol : rl::test_suite<protocol, WORLD_THREADS> {
    void before()
    {
        const scenario *s = chosen;
        weir_chunk_lines = s->chunk_lines != 0 ? s->chunk_lines : 16;
        weir_probe_lines = s->probe_lines != 0 ? s->probe_lines : 64;
        weir_slots_free = s->slots_free != 0 ? s->slots_free : 2;
        weir_rounds_max = s->rounds != 0 ? s->rounds : 4;
        w.usable = chosen->usable;
        w.settings_change = chosen->settings_change;
        w.memory_fails = chosen->memory_fails;
        world_begin(chosen->max_keys, chosen->max_keys, chosen->block_log2);
        outcomes_begin();
        chosen->before();
        weir_delays_left = chosen_options.delays;
    }
    void thread(unsigned i)
    {
        w.running = true;
        if ((int)i == chosen_options.stopper)
            world_self()->left = 1 + rl::rand(STOPS_AT_MOST);
        try {
            chosen->thread(i);
        } catch (const weir_stopped &) {
        }
        world_self()->left = 0;
    }
    void after()
    {
        w.running = false;
        count_reached();
        world_require(world_is_valid(), "the table is valid");
        world_require(chosen->after(), "the outcome is right");
        world_end();
    }
};

/* ---- all executions ---- */

static bool run(const test_case &c, int number)
{
    rl::test_params p;
    std::ostream nowhere(NULL);
    chosen = &c.s;
    at.r = c.r;
    at.s = c.in;
    at.c = c.clocks;
    for (int i = 0; i < REACHED; i++)
        reached[i].executions = 0;
    p.search_type = rl::fair_context_bound_scheduler_type;
    p.context_bound = chosen_options.preemptions;
    p.execution_depth_limit = 6000;
    p.output_stream = p.progress_stream = &nowhere;
    if (chosen_options.random != 0) {
        p.search_type = rl::random_scheduler_type;
        p.iteration_count = (rl::iteration_t)chosen_options.random;
    }
    p.output_history = !chosen_options.trace; /* or a failing execution is repeated to be printed */
    auto began = std::chrono::steady_clock::now();
    bool ok = rl::simulate<protocol>(p);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const char *why = "";
    if (!ok)
        why = p.test_result == rl::test_result_user_assert_failed
                  ? world_fault
                  : rl::test_result_str(p.test_result);
    printf("%s %d - %s %s after %llu executions, %.1f s%s%s\n", ok ? "ok" : "not ok", number,
           c.name.c_str(), ok ? "holds" : "fails", (unsigned long long)p.stop_iteration, seconds,
           ok ? "" : ": ", why);
    for (int i = 0; chosen_options.counts && i < REACHED; i++)
        printf("#   %llu with %s\n", reached[i].executions, reached[i].name);
    fflush(stdout);
    return ok;
}

static std::vector<test_case> all_cases()
{
    std::vector<test_case> cases;
    for (int i = 0; i < SCENARIOS; i++) {
        const test_case c = {scenarios[i].name, scenarios[i], NULL, EMPTY, 0};
        cases.push_back(c);
    }
    for (int i = 0; i < ROWS * STATES * CLOCKS; i++) {
        const row *r = &rows[i / (STATES * CLOCKS)];
        state in = (state)(i / CLOCKS % STATES);
        const scenario s = {NULL,          50,          6, 3, r->changes, false, matrix_before,
                            matrix_thread, matrix_after};
        const test_case c = {std::string(r->name) + "/" + state_names[in] + "/" +
                                 clock_names[i % CLOCKS],
                             s, r, in, i % CLOCKS};
        cases.push_back(c);
    }
    return cases;
}

/* Whether a name on the command line means the case. */
static bool is_meant(const test_case &c, const std::string &name)
{
    return c.name == name || (c.r != NULL && c.name.compare(0, name.size() + 1, name + "/") == 0) ||
           name == (c.r != NULL ? "matrix" : "scenarios");
}

/* Takes an option and its value, if it has one; how many words these are. 0: there is no such. */
static int take_option(const char *name, const char *value)
{
    if (strcmp(name, "-c") == 0)
        chosen_options.counts = true;
    else if (strcmp(name, "-t") == 0)
        chosen_options.trace = true;
    else if (strcmp(name, "-x") == 0)
        chosen_options.stops = true;
    else if (strcmp(name, "-l") == 0)
        chosen_options.lists = true;
    else if (value == NULL)
        return 0;
    else if (strcmp(name, "-b") == 0)
        chosen_options.preemptions = (unsigned)atoi(value);
    else if (strcmp(name, "-d") == 0)
        chosen_options.delays = (unsigned)atoi(value);
    else if (strcmp(name, "-s") == 0)
        chosen_options.stopper = atoi(value);
    else if (strcmp(name, "-r") == 0)
        chosen_options.random = atoll(value);
    else if (strcmp(name, "-p") == 0)
        return sscanf(value, "%u/%u", &chosen_options.part, &chosen_options.parts) == 2 ? 2 : 0;
    else
        return 0;
    return strchr("ctlx", name[1]) != NULL ? 1 : 2;
}

int main(int argc, char **argv)
{
    const std::vector<test_case> cases = all_cases();
    std::vector<bool> wanted(cases.size());
    bool all = true;
    for (int i = 1; i < argc;) {
        int words = argv[i][0] == '-' ? take_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL) : 0;
        for (size_t j = 0; argv[i][0] != '-' && j < cases.size(); j++) {
            if (is_meant(cases[j], argv[i])) {
                wanted[j] = true;
                words = 1;
                all = false;
            }
        }
        if (words == 0) {
            fprintf(stderr, "protocol: no such case or option: %s\n", argv[i]);
            return 2;
        }
        i += words;
    }
    int failed = 0;
    int number = 0;
    unsigned place = 0;
    for (size_t i = 0; i < cases.size() && !(chosen_options.stops && failed != 0); i++) {
        if (!all && !wanted[i])
            continue;
        if (place++ % chosen_options.parts != chosen_options.part)
            continue;
        if (chosen_options.lists)
            printf("%s\n", cases[i].name.c_str());
        else
            failed += !run(cases[i], ++number);
    }
    if (!chosen_options.lists)
        printf("1..%d\n", number);
    return failed != 0;
}
