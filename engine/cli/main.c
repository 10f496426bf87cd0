/* SPDX-License-Identifier: MIT */
/* The command `weir`: finds the subcommand. */
#include "cli.h"

#include <weir/weir.h>

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: weir COMMAND [ARGUMENT]...\n"
    "\n"
    "  replay   what limits would have done to the traffic in a log\n"
    "  check    what a policy admits, in words\n"
    "\n"
    "  weir COMMAND --help   about one of them\n"
    "  weir --version        the version\n"
    "\n"
    "Exit status: 0, 1 when the output could not be written, 2 for wrong usage or input that\n"
    "cannot be used.\n";

static int print(const char *text)
{
    fputs(text, stdout);
    return cli_finish_output();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *full_name;
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"replay", "weir replay", cli_replay},
        {"check", "weir check", cli_check},
    };

    setlocale(LC_CTYPE, "");
    if (argc < 2) {
        fputs(usage, stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0)
        return print(usage);
    if (strcmp(argv[1], "--version") == 0) {
        printf("weir %s\n", weir_version());
        return cli_finish_output();
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            cli_set_name(commands[i].full_name);
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    cli_error("unknown %s %s (see weir --help)", argv[1][0] == '-' ? "option" : "command", argv[1]);
    return CLI_USAGE;
}
