/* SPDX-License-Identifier: MIT */
/* The command line of `weir replay`: options in any order, then checked together. */
#include "replay_options.h"

#include "cli.h"
#include "policy_arg.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum option_code {
    OPTION_FORMAT = 256,
    OPTION_KEY,
    OPTION_LIMIT,
    OPTION_TOP,
    OPTION_JSON,
    OPTION_MAX_KEYS,
    OPTION_THREADS,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"key", required_argument, NULL, OPTION_KEY},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"top", required_argument, NULL, OPTION_TOP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"max-keys", required_argument, NULL, OPTION_MAX_KEYS},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* What stays unset shows in these. */
struct given {
    bool max_keys, threads;
};

static bool read_format(const char *text, enum log_format *out)
{
    static const char *const names[] = {[LOG_AUTO] = "auto",
                                        [LOG_COMBINED] = "combined",
                                        [LOG_COMMON] = "common",
                                        [LOG_JSON] = "json",
                                        [LOG_CSV] = "csv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (enum log_format)i;
            return true;
        }
    }
    cli_error("--format %s: auto, combined, common, json or csv is expected", text);
    return false;
}

static bool read_number(const char *option, const char *text, uint64_t least, uint64_t most,
                        uint64_t *out)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value <= most; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    if (at != text && *at == '\0' && value >= least && value <= most) {
        *out = value;
        return true;
    }
    cli_error("%s %s: a whole number from %llu to %llu is expected", option, text,
              (unsigned long long)least, (unsigned long long)most);
    return false;
}

static bool add_limit(struct replay_options *o, const char *text)
{
    o->policies = cli_resize(o->policies, o->limits + 1, sizeof *o->policies);
    struct weir_policy *policy = &o->policies[o->limits];
    if (!policy_arg_read("--limit: ", text, policy))
        return false;
    if (policy->kind == WEIR_CONCURRENCY) {
        cli_error("--limit: \"%s\" cannot be replayed: a log says when requests came, not when "
                  "they gave their permits back",
                  text);
        return false;
    }
    o->limits++;
    return true;
}

static bool take_option(struct replay_options *o, struct given *given, int code, const char *value)
{
    uint64_t number = 0;
    switch (code) {
    case OPTION_FORMAT:
        return read_format(value, &o->format);
    case OPTION_KEY:
        o->key_text = value;
        if (key_choice_parse(value, &o->key_choice))
            return true;
        cli_error("--key %s: ip, ip/BITS, ip/BITS,BITS, user, path, method or field:NAME is "
                  "expected",
                  value);
        return false;
    case OPTION_LIMIT:
        return add_limit(o, value);
    case OPTION_TOP:
        if (!read_number("--top", value, 0, UINT32_MAX, &number))
            return false;
        o->top = number;
        return true;
    case OPTION_JSON:
        o->json = true;
        return true;
    case OPTION_MAX_KEYS:
        if (!read_number("--max-keys", value, 1, UINT32_MAX - 1, &number))
            return false;
        o->keys_max = (uint32_t)number;
        given->max_keys = true;
        return true;
    default:
        if (!read_number("--threads", value, 1, REPLAY_THREADS, &number))
            return false;
        o->threads = (unsigned)number;
        given->threads = true;
        return true;
    }
}

static bool check_together(struct replay_options *o, const struct given *given, int argc,
                           char **argv)
{
    if (optind == argc) {
        cli_error("a FILE is needed, or - for standard input (see --help)");
        return false;
    }
    if (optind + 1 < argc) {
        cli_error("one FILE at a time, \"%s\" is one too many", argv[optind + 1]);
        return false;
    }
    if (o->limits == 0) {
        cli_error("at least one --limit is needed, such as --limit \"10/min burst 20\"");
        return false;
    }
    o->path = argv[optind];
    o->stream = strcmp(o->path, "-") == 0;
    if (o->stream && given->threads && o->threads > 1) {
        cli_error("--threads needs a FILE: a stream is decided line by line");
        return false;
    }
    if (!o->stream && given->max_keys) {
        cli_error("--max-keys is for a stream: a FILE gets a table made for its keys");
        return false;
    }
    if (o->stream && o->keys_max > (UINT64_C(1) << 32) / o->limits) {
        cli_error("--max-keys %u times %zu limits is more than an engine holds (2^32)", o->keys_max,
                  o->limits);
        return false;
    }
    return true;
}

enum options_result replay_options_read(struct replay_options *o, int argc, char **argv)
{
    struct given given = {0};
    *o = (struct replay_options){.key_text = KEY_CHOICE_DEFAULT,
                                 .top = REPLAY_TOP,
                                 .keys_max = REPLAY_KEYS_MAX,
                                 .threads = 1};
    key_choice_parse(KEY_CHOICE_DEFAULT, &o->key_choice);
    opterr = 0;
    optind = 1;
    for (;;) {
        int at = optind;
        int code = getopt_long(argc, argv, ":", long_options, NULL);
        if (code == -1)
            break;
        if (code == OPTION_HELP)
            return OPTIONS_HELP;
        if (code == ':' || code == '?') {
            const char *text = argv[optind > at ? optind - 1 : at];
            cli_error(code == ':' ? "%s needs a value" : "unknown option %s (see --help)", text);
            return OPTIONS_WRONG;
        }
        if (!take_option(o, &given, code, optarg))
            return OPTIONS_WRONG;
    }
    return check_together(o, &given, argc, argv) ? OPTIONS_RUN : OPTIONS_WRONG;
}

void replay_options_free(struct replay_options *o)
{
    free(o->policies);
    o->policies = NULL;
}
