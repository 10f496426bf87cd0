/* SPDX-License-Identifier: MIT */
/*
 * The timed loops: from a table to a subject.
 *
 *   class table {
 *       bool allow(uint64_t number, uint64_t n, weir_ns now);
 *       // of a table that takes batches: how many of the records were admitted
 *       uint64_t allow_all(const trace_record *records, size_t count, weir_ns now);
 *   };
 *
 * A loop does what a user's would, and no more: a clock is read where the subject has its own, for
 * each decision or each batch; keys are hashed by the table; every answer is looked at and counted.
 */
#ifndef WEIR_BENCH_PLAYERS_H
#define WEIR_BENCH_PLAYERS_H

#include "../../hasher.h"
#include "../../tables.h"
#include "subject.h"

#include <ctime>

#include <algorithm>
#include <memory>
#include <utility>

namespace weir_bench
{

/* What a user of a table without a clock reads; weir_now() is the same behind a call. */
inline weir_ns monotonic_now()
{
    timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<weir_ns>(t.tv_sec) * WEIR_SECOND + static_cast<weir_ns>(t.tv_nsec);
}

/* Each clock: the instant of a record, and how many of the records from there on are one batch. */
struct given_clock {
    static weir_ns at(weir_ns base, const trace_record &r)
    {
        return base + r.now;
    }
    /* A batch has one `now`: it ends where the trace's goes on. */
    static size_t batch(const trace_record *records, size_t most)
    {
        size_t count = 1;
        while (count < most && records[count].now == records[0].now)
            count++;
        return count;
    }
};

struct own_clock {
    static weir_ns at(weir_ns, const trace_record &)
    {
        return monotonic_now();
    }
    static size_t batch(const trace_record *, size_t most)
    {
        return most;
    }
};

struct stopped_clock {
    static weir_ns at(weir_ns base, const trace_record &)
    {
        return base;
    }
    static size_t batch(const trace_record *, size_t most)
    {
        return most;
    }
};

template <class table, class clock> class single_player : public subject
{
  public:
    template <class... made_of>
    explicit single_player(const setting &, made_of &&...parts) : t(std::forward<made_of>(parts)...)
    {
    }
    void fill(const record_list &records, weir_ns now) override
    {
        (void)play_by<stopped_clock>(records, now);
    }
    uint64_t play(const record_list &records, weir_ns base) override
    {
        return play_by<clock>(records, base);
    }

  private:
    template <class time> uint64_t play_by(const record_list &records, weir_ns base)
    {
        uint64_t admitted = 0;
        for (const trace_record &r : records)
            admitted += t.allow(r.key, r.n, time::at(base, r));
        return admitted;
    }
    table t;
};

template <class table, class clock> class batch_player : public subject
{
  public:
    template <class... made_of>
    explicit batch_player(const setting &s, made_of &&...parts)
        : t(std::forward<made_of>(parts)...), most(s.batch)
    {
    }
    void fill(const record_list &records, weir_ns now) override
    {
        (void)play_by<stopped_clock>(records, now);
    }
    uint64_t play(const record_list &records, weir_ns base) override
    {
        return play_by<clock>(records, base);
    }

  private:
    template <class time> uint64_t play_by(const record_list &records, weir_ns base)
    {
        uint64_t admitted = 0;
        for (const trace_record *r = records.begin(), *end = records.end(); r < end;) {
            size_t count = time::batch(r, std::min(most, static_cast<size_t>(end - r)));
            admitted += t.allow_all(r, count, time::at(base, *r));
            r += count;
        }
        return admitted;
    }
    table t;
    const size_t most;
};

/* The table is made of `parts`. */
template <class table, class... made_of>
std::unique_ptr<subject> single_subject(const setting &s, made_of &&...parts)
{
    if (s.own_clock)
        return std::make_unique<single_player<table, own_clock>>(s,
                                                                 std::forward<made_of>(parts)...);
    return std::make_unique<single_player<table, given_clock>>(s, std::forward<made_of>(parts)...);
}

template <class table, class... made_of>
std::unique_ptr<subject> single_or_batch_subject(const setting &s, made_of &&...parts)
{
    if (s.batch == 1)
        return single_subject<table>(s, std::forward<made_of>(parts)...);
    if (s.own_clock)
        return std::make_unique<batch_player<table, own_clock>>(s, std::forward<made_of>(parts)...);
    return std::make_unique<batch_player<table, given_clock>>(s, std::forward<made_of>(parts)...);
}

/* One of tables.h and its kind, made for the keys of the trace. */
template <class table> peer table_peer(const std::string &name, const std::string &version)
{
    auto open = [](const setting &s) {
        return single_subject<table>(s, s.head.keys, rule(hasher(), s.policy()));
    };
    return {name, version, false, refuses_nothing, open};
}

} // namespace weir_bench

#endif
