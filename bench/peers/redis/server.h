/* SPDX-License-Identifier: MIT */
/*
 * A redis-server of the program's own: a Unix socket in a folder of its own, no TCP port, nothing
 * written to disk.
 *
 * It cannot outlive the program: the kernel kills it when the thread that started it ends, however
 * that comes about. The folder is removed as soon as all connections are made, and signals wait
 * until then, so that no end of the program leaves anything behind (SIGKILL within the first
 * moments excepted).
 */
#ifndef WEIR_PEER_REDIS_SERVER_H
#define WEIR_PEER_REDIS_SERVER_H

#include <hiredis/hiredis.h>

#include <stddef.h>
#include <stdint.h>

/* Starts it and connects so many times. */
void server_start(redisContext **connections, size_t count);

/* What it occupies: its own account, and the kernel's. */
struct server_memory {
    uint64_t used, resident;
};

struct server_memory server_memory(redisContext *connection);

/* Processor time since it began, ns. */
uint64_t server_cpu_ns(void);

/* A field of INFO: its value as text, valid until the next call. */
const char *server_info(redisContext *connection, const char *field);

#endif
