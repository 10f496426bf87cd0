/* SPDX-License-Identifier: MIT */
/*
 * Writes the bundled sample: six hours of a small web site's combined log, always the same.
 *
 * People read pages with their assets, three crawlers and a probe keep a steady pace, one scanner
 * comes as a burst, a handful of neighbouring addresses try passwords. A line is written when its
 * request has ended but bears the time it began, as servers do, so that slow ones are out of
 * order. A few lines are damaged. Addresses are from the ranges set aside for documentation and
 * benchmarks (RFC 5737, RFC 2544, RFC 3849).
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 40000
#define SECOND     UINT64_C(1000) /* times are in ms */
#define MINUTE     (60 * SECOND)
#define HOUR       (60 * MINUTE)
#define LENGTH     (6 * HOUR)
#define FIRST_HOUR 7 /* 2025-03-04 07:00:00 +0100 */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct event {
    uint64_t began, ended;
    unsigned order; /* of its making, between equal ends */
    int status;
    unsigned bytes;
    const char *agent, *referer, *method;
    char host[40], user[12], target[64];
};

static struct event events[EVENTS_MAX];
static size_t event_count;
static uint64_t random_state = 20250304;

/* splitmix64 */
static uint64_t random_word(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* From least to most, both included. At most one call among the arguments of another: the order in
   which arguments are computed is the compiler's choice, and the sample must not depend on it. */
static uint64_t between(uint64_t least, uint64_t most)
{
    return least + random_word() % (most - least + 1);
}

static bool chance(unsigned percent)
{
    return between(1, 100) <= percent;
}

static const char *const browsers[] = {
    "Mozilla/5.0 (X11; Linux x86_64) Example/12.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Example/11.4",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Example/12.0",
    "Mozilla/5.0 (Linux; Android 14) Example/12.1 Mobile",
};

static const char *const pages[] = {
    "/",        "/articles/",        "/articles/weirs-and-sluices",  "/articles/tide-tables",
    "/about",   "/search?q=weir",    "/search?q=fish+ladder&page=2", "/map",
    "/contact", "/articles/archive", "/articles/spring-flood",       "/gallery?album=7",
};

static const char *const assets[] = {
    "/static/site.css", "/static/site.js",   "/static/logo.svg",  "/static/font.woff2",
    "/img/river.jpg",   "/img/lock-01.jpg",  "/img/lock-02.jpg",  "/img/map-tile-12-33.png",
    "/favicon.ico",     "/img/portrait.jpg", "/static/print.css", "/img/map-tile-12-34.png",
};

static struct event *add(uint64_t began, const char *host, const char *target, const char *agent)
{
    if (event_count == EVENTS_MAX)
        abort();
    struct event *e = &events[event_count];
    memset(e, 0, sizeof *e);
    e->began = began;
    e->ended = began + between(2, 180);
    e->order = (unsigned)event_count++;
    e->status = 200;
    e->bytes = (unsigned)between(300, 30000);
    e->agent = agent;
    e->referer = "-";
    e->method = "GET";
    snprintf(e->host, sizeof e->host, "%s", host);
    snprintf(e->user, sizeof e->user, "-");
    snprintf(e->target, sizeof e->target, "%s", target);
    return e;
}

static void make_host(char *host, size_t size)
{
    if (chance(28)) {
        unsigned interface = (unsigned)between(1, 0xffff);
        unsigned subnet = (unsigned)between(0, 0xff);
        unsigned site = (unsigned)between(1, 0x5f);
        snprintf(host, size, "2001:db8:%x:%x::%x", site, subnet, interface);
    } else if (chance(12)) {
        snprintf(host, size, "203.0.113.%u", (unsigned)between(1, 254));
    } else {
        unsigned last = (unsigned)between(1, 254);
        unsigned third = (unsigned)between(0, 255);
        unsigned second = (unsigned)between(18, 19);
        snprintf(host, size, "198.%u.%u.%u", second, third, last);
    }
}

/* A page and what it draws in; browsers that know the site ask for little. */
static void view_page(uint64_t at, const char *host, const char *user, const char *agent,
                      bool known)
{
    struct event *page = add(at, host, pages[between(0, COUNT(pages) - 1)], agent);
    snprintf(page->user, sizeof page->user, "%s", user);
    if (chance(3))
        page->ended += between(1, 6) * SECOND;
    unsigned wanted = (unsigned)(known ? between(0, 2) : between(5, 11));
    for (unsigned i = 0; i < wanted; i++) {
        const char *target = assets[between(0, COUNT(assets) - 1)];
        struct event *asset = add(at + between(150, 1900), host, target, agent);
        asset->referer = "https://weir.example/";
        asset->status = known && chance(60) ? 304 : 200;
        if (chance(2))
            asset->ended += between(2, 25) * SECOND;
    }
}

static void visit(uint64_t at)
{
    static const char *const members[] = {"alice", "bob", "carol", "dmitri", "eve", "farid"};
    char host[40];
    make_host(host, sizeof host);
    const char *agent = browsers[between(0, COUNT(browsers) - 1)];
    const char *user = chance(9) ? members[between(0, COUNT(members) - 1)] : "-";
    bool known = chance(35);
    for (unsigned views = (unsigned)between(1, chance(20) ? 12 : 4); views > 0; views--) {
        if (at >= LENGTH)
            return;
        view_page(at, host, user, agent, known);
        at += between(3 * SECOND, 95 * SECOND);
        known = true;
    }
}

/* The morning is quiet, then the visits come closer together. */
static void add_people(void)
{
    for (uint64_t at = between(0, MINUTE); at < LENGTH;) {
        visit(at);
        uint64_t mean = at < HOUR ? 34 : at < 2 * HOUR ? 20 : at < 5 * HOUR ? 11 : 16;
        at += between(SECOND, 2 * mean * SECOND);
    }
}

static void add_steady(const char *host, const char *agent, const char *target, uint64_t first,
                       uint64_t every, uint64_t jitter)
{
    for (uint64_t at = first; at < LENGTH; at += every) {
        const char *wanted = target ? target : pages[between(0, COUNT(pages) - 1)];
        struct event *e = add(at + between(0, jitter), host, wanted, agent);
        if (target == NULL && chance(10)) {
            snprintf(e->target, sizeof e->target, "/articles/%u", (unsigned)between(1, 4000));
            e->status = chance(30) ? 404 : 200;
        }
    }
}

static void add_scanner(uint64_t at)
{
    static const char *const probes[] = {
        "/.env",     "/.git/config", "/admin.php",     "/backup.zip",          "/cgi-bin/test.cgi",
        "/wp-login", "/phpinfo",     "/server-status", "/index.php?id=1%27--", "/../../etc/passwd",
    };
    for (unsigned i = 0; i < 640; i++) {
        struct event *e = add(at, "192.0.2.66", probes[i % COUNT(probes)], "-");
        if (i % 7 == 3)
            snprintf(e->target, sizeof e->target, "/%x.php", (unsigned)between(0x1000, 0xffff));
        e->status = chance(90) ? 404 : 400;
        e->bytes = 162;
        at += between(5, 130);
    }
}

/* Too slow to notice by address: six of them in one /24, each under one attempt in 20 s. */
static void add_guessers(uint64_t first)
{
    for (uint64_t at = first; at < first + 40 * MINUTE; at += between(2 * SECOND, 5 * SECOND)) {
        char host[40];
        snprintf(host, sizeof host, "203.0.113.%u", (unsigned)between(201, 206));
        struct event *e = add(at, host, "/login", browsers[0]);
        e->method = "POST";
        e->status = 401;
        e->bytes = 91;
    }
}

static int by_end(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->ended != b->ended)
        return a->ended < b->ended ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void print_event(const struct event *e)
{
    uint64_t s = e->began / SECOND;
    printf("%s - %s [04/Mar/2025:%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " +0100] "
           "\"%s %s HTTP/1.1\" %d %u \"%s\" \"%s\"\n",
           e->host, e->user, FIRST_HOUR + s / 3600, s / 60 % 60, s % 60, e->method, e->target,
           e->status, e->bytes, e->referer, e->agent);
}

int main(void)
{
    static const struct {
        size_t before;
        const char *text;
    } odd[] = {
        {1200, "192.0.2.19 - - [04/Mar/2025:08:1"},
        {4100,
         "198.51.100.7 - - [04/Mar/2025:09:02:61 +0100] \"GET / HTTP/1.1\" 200 81 \"-\" \"-\""},
        {4101, ""},
        {9000,
         "192.0.2.40 - - [04/Mar/2025:10:09:08 +0100] \"\\x16\\x03\\x01\" 400 226 \"-\" \"-\""},
        {9500, "server restarting, configuration reloaded"},
        {15000,
         "192.0.2.23 - - [31/Feb/2025:11:40:02 +0100] \"GET / HTTP/1.1\" 200 81 \"-\" \"-\""},
        {15001, "192.0.2.23 - - [04/Mar/2025:11:40:03] \"GET / HTTP/1.1\" 200 81 \"-\" \"-\""},
    };
    add_people();
    add_steady("198.51.100.10", "ExampleCrawler/2.3 (+https://crawler.example/)", NULL, 2 * SECOND,
               7 * SECOND, 400);
    add_steady("198.51.100.77", "OtherCrawler/0.9", NULL, 9 * SECOND, 20 * SECOND, 9 * SECOND);
    add_steady("2001:db8:77::25", "FeedReader/5", "/feed.xml", 31 * SECOND, 5 * MINUTE, 2 * SECOND);
    add_steady("192.0.2.8", "probe/1.0", "/health", 0, 30 * SECOND, 5);
    add_scanner(3 * HOUR + 17 * MINUTE);
    add_guessers(4 * HOUR + 5 * MINUTE);
    qsort(events, event_count, sizeof events[0], by_end);

    size_t next_odd = 0;
    for (size_t i = 0; i < event_count; i++) {
        while (next_odd < COUNT(odd) && odd[next_odd].before == i)
            puts(odd[next_odd++].text);
        print_event(&events[i]);
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
