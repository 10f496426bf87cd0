/* SPDX-License-Identifier: MIT */
/*
 * Ends the program with a word for standard error; what was started is stopped at exit.
 */
#ifndef WEIR_PEER_REDIS_STOP_H
#define WEIR_PEER_REDIS_STOP_H

enum {
    FAILED = 1, /* something else than the arguments */
    WRONG = 2,  /* wrong usage, or a trace that is none */
    CANNOT = 3, /* a combination that this peer cannot do, or no redis-server */
};

_Noreturn void stop(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
