/* SPDX-License-Identifier: MIT */
#include "server.h"
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { START_MS_MAX = 20000, START_POLL_MS = 5, NOT_FOUND = 127 };

static pid_t server;
static char folder[PATH_MAX];
static char socket_path[PATH_MAX + 16];
static char log_path[PATH_MAX + 16];

static void remove_folder(void)
{
    if (folder[0] == '\0')
        return;
    (void)unlink(socket_path);
    (void)unlink(log_path);
    (void)rmdir(folder);
    folder[0] = '\0';
}

static void stop_server(void)
{
    if (server > 0) {
        (void)kill(server, SIGKILL);
        (void)waitpid(server, NULL, 0);
        server = 0;
    }
    remove_folder();
}

static void make_folder(void)
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] == '\0')
        parent = "/tmp";
    char made[PATH_MAX];
    int length = snprintf(made, sizeof made, "%s/weir-redis-XXXXXX", parent);
    if (length < 0 ||
        (size_t)length + sizeof "/redis.sock" > sizeof((struct sockaddr_un *)0)->sun_path)
        stop(FAILED, "the path of TMPDIR is too long for a socket: %s", parent);
    if (mkdtemp(made) == NULL)
        stop(FAILED, "cannot make a folder in %s: %s", parent, strerror(errno));
    memcpy(folder, made, sizeof folder);
    (void)snprintf(socket_path, sizeof socket_path, "%s/redis.sock", folder);
    (void)snprintf(log_path, sizeof log_path, "%s/log", folder);
}

/* In the new process, which has nothing of ours open but the log; does not return. */
static void become_server(pid_t parent, const sigset_t *signals)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(FAILED);
    int nothing = open("/dev/null", O_RDONLY);
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (nothing < 0 || log < 0 || dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ||
        chdir(folder) != 0)
        _exit(FAILED);
    (void)sigprocmask(SIG_SETMASK, signals, NULL);
    (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_path,
                 "--unixsocketperm", "700", "--save", "", "--appendonly", "no", "--daemonize", "no",
                 "--loglevel", "warning", (char *)NULL);
    _exit(NOT_FOUND);
}

static void show_log(void)
{
    char line[512];
    FILE *log = fopen(log_path, "re");
    while (log != NULL && fgets(line, sizeof line, log) != NULL)
        (void)fputs(line, stderr);
    if (log != NULL)
        fclose(log);
}

/* NULL as long as nobody listens; the program ends if nobody will. */
static redisContext *try_connection(void)
{
    redisContext *made = redisConnectUnix(socket_path);
    if (made != NULL && made->err == 0)
        return made;
    if (made != NULL)
        redisFree(made);
    int status;
    if (waitpid(server, &status, WNOHANG) == server) {
        server = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
            stop(CANNOT, "no redis-server in PATH");
        show_log();
        stop(FAILED, "redis-server ended at once");
    }
    return NULL;
}

static redisContext *connect_within(int ms)
{
    for (int waited = 0; waited < ms; waited += START_POLL_MS) {
        redisContext *made = try_connection();
        if (made != NULL)
            return made;
        const struct timespec poll = {0, START_POLL_MS * 1000000L};
        (void)nanosleep(&poll, NULL);
    }
    show_log();
    stop(FAILED, "redis-server does not listen after %d ms", ms);
}

void server_start(redisContext **connections, size_t count)
{
    sigset_t ours, before;
    (void)sigemptyset(&ours);
    (void)sigaddset(&ours, SIGINT);
    (void)sigaddset(&ours, SIGTERM);
    (void)sigaddset(&ours, SIGHUP);
    (void)sigaddset(&ours, SIGPIPE);
    (void)sigaddset(&ours, SIGQUIT);
    (void)sigprocmask(SIG_BLOCK, &ours, &before);
    if (atexit(stop_server) != 0)
        stop(FAILED, "cannot arrange for the end");
    make_folder();
    pid_t parent = getpid();
    server = fork();
    if (server < 0)
        stop(FAILED, "cannot start a process: %s", strerror(errno));
    if (server == 0)
        become_server(parent, &before);
    for (size_t i = 0; i < count; i++)
        connections[i] = connect_within(START_MS_MAX);
    /* One answer, so that the server has seen all of them: it accepts in their order. */
    redisReply *reply = redisCommand(connections[count - 1], "PING");
    if (reply == NULL || reply->type != REDIS_REPLY_STATUS)
        stop(FAILED, "redis-server does not answer: %s", connections[count - 1]->errstr);
    freeReplyObject(reply);
    remove_folder();
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

const char *server_info(redisContext *connection, const char *field)
{
    static char value[64];
    redisReply *reply = redisCommand(connection, "INFO");
    if (reply == NULL || reply->type != REDIS_REPLY_STRING)
        stop(FAILED, "redis-server does not answer INFO");
    size_t length = strlen(field);
    value[0] = '\0';
    for (const char *line = reply->str; line != NULL && line[0] != '\0';
         line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, field, length) == 0 && line[length] == ':')
            (void)sscanf(line + length + 1, "%63[^\r\n]", value);
    freeReplyObject(reply);
    if (value[0] == '\0')
        stop(FAILED, "redis-server's INFO has no %s", field);
    return value;
}

struct server_memory server_memory(redisContext *connection)
{
    struct server_memory memory = {0, 0};
    memory.used = strtoull(server_info(connection, "used_memory"), NULL, 10);
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)server);
    FILE *statm = fopen(path, "re");
    unsigned long long pages;
    if (statm == NULL || fscanf(statm, "%*s %llu", &pages) != 1)
        stop(FAILED, "no resident set in %s", path);
    fclose(statm);
    memory.resident = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return memory;
}

uint64_t server_cpu_ns(void)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(server, &clock) != 0 || clock_gettime(clock, &time) != 0)
        stop(FAILED, "redis-server's processor time cannot be read");
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
