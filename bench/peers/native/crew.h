/* SPDX-License-Identifier: MIT */
/*
 * The threads of a program: each plays its own list, all as many passes, and between runs all wait
 * without using the processor.
 *
 * Time begins when every thread is awake, and is looked at between passes only. A pass that one
 * thread has begun is played by all; none begins once time is up. They do not wait for each other
 * from pass to pass: a thread that the system held up does not hold up the others. Only where all
 * play one key they do, as to a thread that is a pass behind by the trace's clock the key's bucket
 * would be empty.
 */
#ifndef WEIR_BENCH_CREW_H
#define WEIR_BENCH_CREW_H

#include "players.h"
#include "subject.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir_bench
{

class crew
{
  public:
    struct outcome {
        uint64_t passes, admitted;
        double seconds;
    };

    crew(std::vector<record_list> their_lists, bool they_share_a_key)
        : lists(std::move(their_lists)), share_a_key(they_share_a_key)
    {
        for (size_t i = 0; i < lists.size(); i++)
            threads.emplace_back([this, i] { work(i); });
    }
    crew(const crew &) = delete;
    ~crew()
    {
        give_out(nullptr);
        for (std::thread &t : threads)
            t.join();
    }

    void fill(subject &s, weir_ns now)
    {
        do_by_all([&](size_t i) { s.fill(lists[i], now); });
    }

    /* Passes from first_pass on: each at base + its number * span. */
    outcome run(subject &s, weir_ns base, uint64_t span, uint64_t first_pass, double seconds)
    {
        race r(threads.size(), share_a_key, seconds);
        do_by_all([&](size_t i) {
            r.wait_for_all();
            uint64_t admitted = 0;
            for (uint64_t pass = 0; r.begins(pass); pass++) {
                admitted += s.play(lists[i], base + (first_pass + pass) * span);
                r.end_pass();
            }
            r.finish(admitted);
        });
        return r.result();
    }

  private:
    class race
    {
      public:
        race(size_t their_count, bool they_keep_step, double its_seconds)
            : count(their_count), keep_step(they_keep_step), seconds(its_seconds)
        {
        }
        void wait_for_all()
        {
            if (++arrived == count) {
                start = monotonic_now();
                started = true;
            }
            while (!started)
                std::this_thread::yield();
        }
        bool begins(uint64_t pass)
        {
            while (keep_step && ended < pass * count)
                std::this_thread::yield();
            std::lock_guard<std::mutex> guard(lock);
            bool time_is_up = static_cast<double>(monotonic_now() - start) * 1e-9 >= seconds;
            if (pass == passes && (pass == 0 || !time_is_up))
                passes++;
            return pass < passes;
        }
        void end_pass()
        {
            ended++;
        }
        void finish(uint64_t its_admitted)
        {
            weir_ns now = monotonic_now();
            std::lock_guard<std::mutex> guard(lock);
            admitted += its_admitted;
            end = std::max(end, now);
        }
        outcome result() const
        {
            return {passes, admitted, static_cast<double>(end - start) * 1e-9};
        }

      private:
        const size_t count;
        const bool keep_step;
        const double seconds;
        std::atomic<uint64_t> ended{0}; /* passes, of all threads together */
        std::atomic<size_t> arrived{0};
        std::atomic<bool> started{false};
        weir_ns start = 0;
        std::mutex lock; /* of all below */
        uint64_t passes = 0, admitted = 0;
        weir_ns end = 0;
    };

    using job = std::function<void(size_t)>;

    void give_out(const job *next)
    {
        std::lock_guard<std::mutex> guard(lock);
        todo = next;
        busy = threads.size();
        turn++;
        changed.notify_all();
    }
    void do_by_all(const job &next)
    {
        give_out(&next);
        std::unique_lock<std::mutex> guard(lock);
        done.wait(guard, [this] { return busy == 0; });
    }
    void work(size_t i)
    {
        for (uint64_t seen = 0;; seen++) {
            std::unique_lock<std::mutex> guard(lock);
            changed.wait(guard, [&] { return turn > seen; });
            const job *mine = todo;
            if (mine == nullptr)
                return;
            guard.unlock();
            (*mine)(i);
            guard.lock();
            if (--busy == 0)
                done.notify_one();
        }
    }

    const std::vector<record_list> lists;
    const bool share_a_key;
    std::mutex lock; /* of the four below */
    std::condition_variable changed, done;
    const job *todo = nullptr;
    size_t busy = 0;
    uint64_t turn = 0;
    std::vector<std::thread> threads;
};

} // namespace weir_bench

#endif
