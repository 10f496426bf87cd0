// SPDX-License-Identifier: MIT
//! Plays a trace against a limiter, as it is told to on standard input, and prints what came of it.

use crate::limiter::Limiter;
use crate::machine::{cpu_seconds, resident_bytes, return_freed_memory};
use crate::passes::Passes;
use crate::trace::{Record, Trace};
use std::io::BufRead;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Status 2: wrong usage or bad input. Status 3: what this subject cannot do.
pub struct Failure {
    pub status: u8,
    pub word: String,
}

pub fn wrong(word: String) -> Failure {
    Failure { status: 2, word }
}

pub fn unable(word: String) -> Failure {
    Failure { status: 3, word }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    Given,
    Own,
}

pub struct Job<'a> {
    pub subject: &'a str,
    pub version: &'a str,
    pub threads: usize,
    pub clock: Clock,
    pub trace: Trace,
}

/// What all threads are told: which pass comes first, and how to agree on the last.
struct Run {
    first: u64,
    passes: Passes,
}

/// What one thread did in a run.
struct Played {
    begun: Instant,
    ended: Instant,
    passes: u64,
    admitted: u64,
}

/// One thread's part of a pass that begins `start` ns after the first; the timed loop.
fn pass<L: Limiter>(table: &L, list: &[Record<L::Key>], start: u64) -> u64 {
    let mut admitted = 0;
    for record in list {
        admitted += u64::from(table.allow(&record.key, record.n, start + record.now));
    }
    admitted
}

fn part<L: Limiter>(
    table: &L,
    list: &[Record<L::Key>],
    span: u64,
    thread: usize,
    run: &Run,
) -> Played {
    let begun = run.passes.begin();
    let (mut passes, mut admitted) = (0, 0);
    loop {
        admitted += pass(table, list, (run.first + passes) * span);
        passes += 1;
        if !run.passes.another(thread, passes) {
            return Played {
                begun,
                ended: Instant::now(),
                passes,
                admitted,
            };
        }
    }
}

/// The threads, as seen from who tells them to run.
struct Team {
    orders: Vec<Sender<Arc<Run>>>,
    results: Receiver<Played>,
    /// Passes played so far.
    passes: u64,
}

impl Team {
    fn run(&mut self, seconds: Duration) -> Vec<Played> {
        let run = Arc::new(Run {
            first: self.passes,
            passes: Passes::new(self.orders.len(), seconds),
        });
        for order in &self.orders {
            order.send(Arc::clone(&run)).expect("a thread waits");
        }
        let all: Vec<Played> = self.results.iter().take(self.orders.len()).collect();
        self.passes += all[0].passes;
        all
    }
}

/// The least and the most that may be admitted of `decisions` in `passes`.
fn bounds(trace: &Trace, threads: usize, clock: Clock, passes: u64, decisions: u64) -> (u64, u64) {
    let head = &trace.head;
    match clock {
        Clock::Own => (decisions, decisions),
        Clock::Given if threads > 1 && trace.hot() => {
            let elapsed = u128::from(passes - 1) * u128::from(head.span) + u128::from(trace.last);
            let gained = elapsed * u128::from(head.limit) / u128::from(head.period);
            let most = (gained + u128::from(head.burst)).min(u128::from(decisions));
            (0, most as u64)
        }
        Clock::Given => (passes * head.admitted, passes * head.admitted),
    }
}

fn print_run(job: &Job, seconds: Duration, team: &mut Team) {
    let before = cpu_seconds();
    let all = team.run(seconds);
    let cpu = cpu_seconds() - before;
    let begun = all.iter().map(|one| one.begun).min().expect("threads");
    let ended = all.iter().map(|one| one.ended).max().expect("threads");
    let passes = all[0].passes;
    let each = if job.trace.hot() {
        job.threads as u64
    } else {
        1
    };
    let decisions = passes * job.trace.head.records * each;
    let admitted: u64 = all.iter().map(|one| one.admitted).sum();
    let (least, most) = bounds(&job.trace, job.threads, job.clock, passes, decisions);
    println!(
        "{{\"decisions\": {decisions}, \"seconds\": {:.9}, \"cpu_seconds\": {cpu:.9}, \
         \"admitted\": {admitted}, \"least\": {least}, \"most\": {most}}}",
        (ended - begun).as_secs_f64()
    );
}

fn print_ready(job: &Job, bytes: u64) {
    let clock = match job.clock {
        Clock::Given => "given",
        Clock::Own => "own",
    };
    println!(
        "{{\"ready\": true, \"subject\": \"{}\", \"version\": \"{}\", \"threads\": {}, \
         \"clock\": \"{clock}\", \"batch\": 1, \"keys\": {}, \"bytes_per_key\": {:.1}}}",
        job.subject,
        job.version,
        job.threads,
        job.trace.head.keys,
        bytes as f64 / job.trace.occurring as f64
    );
}

/// "run SECONDS": the seconds; "quit": none.
fn command(line: &str) -> Result<Option<Duration>, Failure> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let run = match words[..] {
        ["quit"] => return Ok(None),
        ["run", seconds] => seconds
            .parse()
            .ok()
            .and_then(|s| Duration::try_from_secs_f64(s).ok()),
        _ => None,
    };
    let understood = "is neither \"run SECONDS\" nor \"quit\"";
    run.map(Some)
        .ok_or_else(|| wrong(format!("standard input: \"{line}\" {understood}")))
}

fn obey(job: &Job, team: &mut Team) -> Result<(), Failure> {
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| wrong(format!("standard input: {error}")))?;
        match command(&line)? {
            Some(seconds) => print_run(job, seconds, team),
            None => break,
        }
    }
    Ok(())
}

/// Makes the threads, then the table, plays pass 0, and does what standard input says.
pub fn play<L: Limiter>(mut job: Job) -> Result<(), Failure> {
    let lists = job.trace.lists(job.threads, L::key);
    job.trace.drop_records();
    let table: OnceLock<L> = OnceLock::new();
    let span = job.trace.head.span;
    thread::scope(|scope| {
        let (done, results) = channel();
        let mut team = Team {
            orders: Vec::new(),
            results,
            passes: 0,
        };
        for (number, list) in lists.iter().enumerate() {
            let (order, orders) = channel::<Arc<Run>>();
            let (done, table) = (done.clone(), &table);
            team.orders.push(order);
            scope.spawn(move || {
                for run in orders {
                    let limiter = table.get().expect("made before the first run");
                    let played = part(limiter, list, span, number, &run);
                    done.send(played).expect("somebody waits for it");
                }
            });
        }
        return_freed_memory();
        let before = resident_bytes();
        let made = L::make(&job.trace.head, job.threads).map_err(unable)?;
        table.get_or_init(|| made);
        team.run(Duration::ZERO);
        print_ready(&job, resident_bytes().saturating_sub(before));
        obey(&job, &mut team)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one key, limit 3 per 2 ns, burst 10: three records, the last at 4 of a span of 20.
    fn hot() -> Trace {
        let words: [u64; 16] = [3, 1, 3, 2, 10, 20, 2, 0, 1, 0, 0, 1, 3, 0, 1, 4];
        let mut bytes = crate::trace::MAGIC.to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        Trace::parse(bytes).unwrap()
    }

    #[test]
    fn what_may_be_admitted() {
        let trace = hot();
        assert_eq!(bounds(&trace, 1, Clock::Given, 5, 15), (10, 10));
        assert_eq!(bounds(&trace, 2, Clock::Own, 5, 30), (30, 30));
        /* 4 passes of 20 ns and 4 ns: 84 ns are 126 tokens, and there were 10 */
        assert_eq!(bounds(&trace, 40, Clock::Given, 5, 600), (0, 136));
        assert_eq!(bounds(&trace, 2, Clock::Given, 5, 30), (0, 30));
    }

    #[test]
    fn commands_are_understood_or_refused() {
        let run = |line| command(line).map_err(|failure| (failure.status, failure.word));
        assert_eq!(run("quit"), Ok(None));
        assert_eq!(run("run 0"), Ok(Some(Duration::ZERO)));
        assert_eq!(run("run 0.25"), Ok(Some(Duration::from_millis(250))));
        for line in ["", "run", "run -1", "run 1 2", "run nan", "run inf", "stop"] {
            let word =
                format!("standard input: \"{line}\" is neither \"run SECONDS\" nor \"quit\"");
            assert_eq!(run(line), Err((2, word)));
        }
    }
}
