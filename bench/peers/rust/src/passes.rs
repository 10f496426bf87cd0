// SPDX-License-Identifier: MIT
//! How the threads of a run agree on one number of passes.
//!
//! Time is looked at between passes only. A thread that wants to begin a pass which nobody has
//! begun looks: if there is time left, that pass is agreed on and all play it; if not, the run ends
//! with the passes agreed on so far. No thread is more than two passes ahead of the slowest: it
//! waits there, blocked, or else one with little to play would agree on passes for all without end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const AHEAD_MAX: u64 = 2;

pub struct Passes {
    threads: usize,
    seconds: Duration,
    arrived: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    begun: Option<Instant>,
    finished: Vec<u64>,
    agreed: u64,
    over: bool,
}

impl Passes {
    /// For that many threads and at least that long; one pass is agreed on from the beginning.
    pub fn new(threads: usize, seconds: Duration) -> Passes {
        Passes {
            threads,
            seconds,
            arrived: AtomicUsize::new(0),
            state: Mutex::new(State {
                begun: None,
                finished: vec![0; threads],
                agreed: 1,
                over: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits until all threads are here, and says when this one goes on.
    pub fn begin(&self) -> Instant {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        while self.arrived.load(Ordering::Acquire) < self.threads {
            thread::yield_now();
        }
        let now = Instant::now();
        self.state
            .lock()
            .expect("no thread panics")
            .begun
            .get_or_insert(now);
        now
    }

    /// Whether `thread`, which has played `finished` passes, plays another one.
    pub fn another(&self, thread: usize, finished: u64) -> bool {
        let mut state = self.state.lock().expect("no thread panics");
        state.finished[thread] = finished;
        self.changed.notify_all(); /* for who waits for the slowest */
        loop {
            if finished < state.agreed {
                return true;
            }
            if state.over {
                return false;
            }
            let slowest = *state.finished.iter().min().expect("there are threads");
            if finished < slowest + AHEAD_MAX {
                let begun = state.begun.expect("has begun");
                if begun.elapsed() < self.seconds {
                    state.agreed += 1;
                } else {
                    state.over = true;
                }
                self.changed.notify_all();
            } else {
                state = self.changed.wait(state).expect("no thread panics");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// The passes that each thread plays; a pass of thread t sleeps t times that long.
    fn played(threads: usize, seconds: Duration, sleep: Duration) -> Vec<u64> {
        let passes = Passes::new(threads, seconds);
        thread::scope(|scope| {
            let play = |number: usize| {
                let passes = &passes;
                scope.spawn(move || {
                    passes.begin();
                    let mut finished = 0;
                    loop {
                        thread::sleep(sleep * number as u32);
                        finished += 1;
                        if !passes.another(number, finished) {
                            return finished;
                        }
                    }
                })
            };
            let all: Vec<_> = (0..threads).map(play).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    #[test]
    fn no_time_is_one_pass() {
        assert_eq!(
            played(3, Duration::ZERO, Duration::from_millis(1)),
            [1, 1, 1]
        );
    }

    #[test]
    fn all_threads_play_as_many() {
        for _ in 0..20 {
            let all = played(4, Duration::from_millis(5), Duration::from_micros(50));
            assert!(all.iter().all(|&one| one == all[0]), "{all:?}");
        }
    }

    #[test]
    fn who_has_little_to_play_waits_for_the_slowest() {
        let passes = Passes::new(2, HOUR);
        passes.state.lock().unwrap().begun = Some(Instant::now());
        assert!(passes.another(0, 1));
        thread::scope(|scope| {
            let ahead = scope.spawn(|| passes.another(0, 2));
            passes.state.lock().unwrap().begun = Instant::now().checked_sub(HOUR);
            assert!(passes.another(1, 1)); /* begun by thread 0 */
            assert!(!ahead.join().unwrap());
            assert!(!passes.another(1, 2));
        });
    }

    #[test]
    fn one_thread_ends_when_time_is_up() {
        let passes = Passes::new(1, HOUR);
        passes.begin();
        assert!((1..100).all(|finished| passes.another(0, finished)));
        passes.state.lock().unwrap().begun = Instant::now().checked_sub(HOUR);
        assert!(!passes.another(0, 100));
    }
}
