/* SPDX-License-Identifier: MIT */
#include "limiter.h"
#include "stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const uint64_t exact_max = UINT64_C(1) << 53;

/* How long a run by the server's own clock can last with ticks that are exact, us. */
static const uint64_t own_us_max = UINT64_C(86400000000);

/* Arguments: n, gain, token, depth, and with a given clock now. Written only if it is allowed. */
static const char common_script[] = "local gain = tonumber(ARGV[2])\n"
                                    "local now = %s * gain\n"
                                    "local full = tonumber(redis.call('GET', KEYS[1]) or 0)\n"
                                    "if full < now then full = now end\n"
                                    "full = full + ARGV[1] * ARGV[3]\n"
                                    "if full - now > tonumber(ARGV[4]) then return 0 end\n"
                                    "%s\n"
                                    "return 1\n";

/* A trace's time is not that of the server: what expired by the latter might not be full again by
   the former, so nothing expires. */
static const char given_now[] = "tonumber(ARGV[5])";
static const char given_write[] = "redis.call('SET', KEYS[1], full)";

/* TIME is seconds and us, counted from shortly before the program began. A bucket that is full
   again is as good as none: it expires then, in whole ms, rounded up. */
static const char own_now[] = "((time[1] - %" PRIu64 ") * 1000000 + time[2])";
static const char own_write[] =
    "if full > now then\n"
    "    redis.call('SET', KEYS[1], full, 'PX', math.ceil((full - now) / (1000 * gain)))\n"
    "end";

static void write_script(char *script, size_t size, bool given)
{
    int length = 0;
    if (given) {
        length = snprintf(script, size, common_script, given_now, given_write);
    } else {
        char now[128];
        (void)snprintf(now, sizeof now, own_now, (uint64_t)time(NULL) - 1);
        length = snprintf(script, size, "local time = redis.call('TIME')\n");
        length += snprintf(script + length, size - (size_t)length, common_script, now, own_write);
    }
    if (length < 0 || (size_t)length >= size)
        stop(FAILED, "the script is too long");
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Refuses what Lua cannot count exactly. */
static void choose_units(struct limiter *limiter, const struct trace *trace)
{
    const uint64_t per_unit = limiter->given ? 1 : 1000; /* ns */
    uint64_t limit, depth, largest, sum, own_ticks;
    if (__builtin_mul_overflow(trace->limit, per_unit, &limit))
        stop(CANNOT, "limit %" PRIu64 " is beyond Lua's exact numbers", trace->limit);
    uint64_t g = common_divisor(limit, trace->period);
    limiter->gain = limit / g;
    limiter->token = trace->period / g;
    if (__builtin_mul_overflow(limiter->token, trace->burst, &depth) ||
        __builtin_mul_overflow(limiter->token, trace->n_max, &largest) ||
        __builtin_add_overflow(depth, largest, &sum) || sum > exact_max ||
        __builtin_mul_overflow(limiter->gain, own_us_max, &own_ticks) ||
        (!limiter->given && own_ticks > exact_max - sum))
        stop(CANNOT,
             "burst * period / g, g the greatest common divisor of limit and period, is beyond "
             "Lua's exact numbers (2^53)");
    limiter->depth = depth;
    limiter->now_max = (exact_max - sum) / limiter->gain;
}

void limiter_make(struct limiter *limiter, const struct trace *trace, bool given,
                  redisContext *connection)
{
    char script[1024];
    limiter->given = given;
    choose_units(limiter, trace);
    (void)snprintf(limiter->gain_text, sizeof limiter->gain_text, "%" PRIu64, limiter->gain);
    (void)snprintf(limiter->token_text, sizeof limiter->token_text, "%" PRIu64, limiter->token);
    (void)snprintf(limiter->depth_text, sizeof limiter->depth_text, "%" PRIu64, limiter->depth);
    write_script(script, sizeof script, given);
    redisReply *reply = redisCommand(connection, "SCRIPT LOAD %s", script);
    if (reply == NULL || reply->type != REDIS_REPLY_STRING || reply->len != sizeof limiter->sha - 1)
        stop(FAILED, "SCRIPT LOAD: %s", reply == NULL ? connection->errstr : reply->str);
    memcpy(limiter->sha, reply->str, sizeof limiter->sha);
    freeReplyObject(reply);
}

void limiter_ask(const struct limiter *limiter, redisContext *connection, const char *key,
                 uint64_t n, uint64_t now)
{
    char n_text[24], now_text[24];
    (void)snprintf(n_text, sizeof n_text, "%" PRIu64, n);
    (void)snprintf(now_text, sizeof now_text, "%" PRIu64, now);
    const char *words[] = {
        "EVALSHA",           limiter->sha,        "1",     key, n_text, limiter->gain_text,
        limiter->token_text, limiter->depth_text, now_text};
    if (redisAppendCommandArgv(connection, limiter->given ? 9 : 8, words, NULL) != REDIS_OK)
        stop(FAILED, "cannot ask redis-server: %s", connection->errstr);
}

bool limiter_answer(redisContext *connection)
{
    void *got = NULL;
    if (redisGetReply(connection, &got) != REDIS_OK)
        stop(FAILED, "no answer from redis-server: %s", connection->errstr);
    redisReply *reply = got;
    if (reply->type != REDIS_REPLY_INTEGER || (reply->integer != 0 && reply->integer != 1))
        stop(FAILED, "redis-server answers: %s", reply->str == NULL ? "no 0 or 1" : reply->str);
    bool allowed = reply->integer == 1;
    freeReplyObject(reply);
    return allowed;
}
