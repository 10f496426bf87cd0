// SPDX-License-Identifier: MIT
//! Plays a trace file against rate limiters of Rust, and counts what they admit.
//!
//!     PROGRAM --trace FILE --subject NAME [--threads T] [--clock given|own] [--batch 1]
//!     PROGRAM --list
//!
//! It prints one line of JSON when the table has all keys of the trace, and one more for each line
//! "run SECONDS" on standard input; "quit" ends it. Exit status 2 is wrong usage or a bad trace, 3
//! what the subject cannot do. Every decision goes through the library's own call, in a loop that
//! is compiled for it, and its answer is counted. No library decides on several keys in one call.
//!
//! subject               clock              exact  memory               sized beforehand
//! governor              told, or quanta    yes*   until retain_recent  yes
//! governor_monotonic    Instant            yes*   until retain_recent  yes
//! governor_hot          told, or quanta    yes*   one word             one word
//! throttlecrab          given, SystemTime  no**   until expiry         yes
//! throttlecrab_periodic given, SystemTime  no**   until expiry         yes
//!
//! governor: RateLimiter over DashMap (shards behind locks that readers share) with the default
//! hasher (SipHash), a key is a u64, the state an atomic word. The library asks a Clock at every
//! decision; a given time is set in a thread-local variable that our Clock reads, which costs a
//! store and a load and shares nothing among threads. Its own clock is the default one, quanta (the
//! processor's time stamp counter, where that is steady); governor_monotonic has the other one. No
//! key is forgotten unless retain_recent is called, which is not done here.
//! governor_hot: RateLimiter::direct, one bucket without keys; plays traces of one key.
//! Threads read the clock before they come to the bucket: one that was stopped in between comes
//! late and may be denied what was there, so own clocks on a hot key may admit a few too few.
//! * An interval per token that is no whole number of nanoseconds is rounded down: too fast by it.
//!
//! throttlecrab: its calls need the limiter for themselves: one thread has it plain, several have
//! 64 shards, each behind a mutex of std. Keys are strings: the decimal digits, written out before
//! time is measured; the library copies them to the heap at every admission. throttlecrab has the
//! adaptive store, throttlecrab_periodic the periodic one. Both go through the whole map to remove
//! what has expired: the first at every 100,000 writes at least, the other each minute of the time
//! that it is told. Both take `now` as an argument; the own clock is SystemTime::now().
//! ** The interval is rounded down too, and a key that was idle gets more than its burst, up to
//! nearly twice: the library lets it fall behind by a whole burst, on top of the one ahead.
//!
//! bytes_per_key: growth of the resident set by the table and pass 0, over the keys that occur.

mod crabs;
mod governors;
mod limiter;
mod machine;
mod passes;
mod play;
mod trace;

use crabs::Throttlecrab;
use governor::clock::{MonotonicClock, QuantaClock};
use governors::{Governor, GovernorHot, Told};
use play::{play, unable, wrong, Clock, Failure, Job};
use std::process::ExitCode;
use throttlecrab::{AdaptiveStore, PeriodicStore};
use trace::Trace;

const THREADS_MAX: usize = 1024;

type Player = fn(Job) -> Result<(), Failure>;

struct Subject {
    name: &'static str,
    version: &'static str,
    given: Option<Player>,
    own: Player,
}

macro_rules! governor {
    ($with:literal) => {
        concat!("governor ", env!("VERSION_GOVERNOR"), ", ", $with)
    };
}

macro_rules! throttlecrab {
    ($with:literal) => {
        concat!("throttlecrab ", env!("VERSION_THROTTLECRAB"), ", ", $with)
    };
}

const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "governor",
        version: governor!("DashMap; own clock: quanta"),
        given: Some(play::<Governor<Told>>),
        own: play::<Governor<QuantaClock>>,
    },
    Subject {
        name: "governor_monotonic",
        version: governor!("DashMap; own clock: Instant"),
        given: None,
        own: play::<Governor<MonotonicClock>>,
    },
    Subject {
        name: "governor_hot",
        version: governor!("one bucket; own clock: quanta"),
        given: Some(play::<GovernorHot<Told>>),
        own: play::<GovernorHot<QuantaClock>>,
    },
    Subject {
        name: "throttlecrab",
        version: throttlecrab!("adaptive store; several threads: 64 mutex shards"),
        given: Some(play::<Throttlecrab<AdaptiveStore, false>>),
        own: play::<Throttlecrab<AdaptiveStore, true>>,
    },
    Subject {
        name: "throttlecrab_periodic",
        version: throttlecrab!("periodic store; several threads: 64 mutex shards"),
        given: Some(play::<Throttlecrab<PeriodicStore, false>>),
        own: play::<Throttlecrab<PeriodicStore, true>>,
    },
];

fn list() {
    for subject in &SUBJECTS {
        let clocks = if subject.given.is_some() {
            "given,own"
        } else {
            "own"
        };
        println!("{}\t{clocks}\t1\t{}", subject.name, subject.version);
    }
}

/// What stands behind the program's name.
#[derive(Debug, Default, PartialEq)]
struct Options {
    list: bool,
    trace: String,
    subject: String,
    threads: usize,
    clock: Option<Clock>,
    batch: usize,
}

fn options(arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut found = Options {
        threads: 1,
        batch: 1,
        ..Options::default()
    };
    let mut arguments = arguments;
    while let Some(name) = arguments.next() {
        if name == "--list" {
            found.list = true;
            continue;
        }
        if !["--trace", "--subject", "--threads", "--clock", "--batch"].contains(&name.as_str()) {
            return Err(format!("unknown argument {name}"));
        }
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        let number = || match value.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("{name} {value}: not a number from 1 on")),
        };
        match name.as_str() {
            "--trace" => found.trace = value,
            "--subject" => found.subject = value,
            "--threads" => found.threads = number()?,
            "--batch" => found.batch = number()?,
            _ => {
                found.clock = Some(match value.as_str() {
                    "given" => Clock::Given,
                    "own" => Clock::Own,
                    _ => return Err(format!("--clock {value}: neither given nor own")),
                })
            }
        }
    }
    let lacks = |name| Err(format!("{name} is missing"));
    match &found {
        Options { list: true, .. } => Ok(found),
        Options { trace, .. } if trace.is_empty() => lacks("--trace"),
        Options { subject, .. } if subject.is_empty() => lacks("--subject"),
        Options { threads, .. } if *threads > THREADS_MAX => {
            Err(format!("--threads {threads}: more than {THREADS_MAX}"))
        }
        _ => Ok(found),
    }
}

fn run(arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    let options = options(arguments).map_err(wrong)?;
    if options.list {
        list();
        return Ok(());
    }
    let subject = SUBJECTS
        .iter()
        .find(|subject| subject.name == options.subject)
        .ok_or_else(|| wrong(format!("unknown subject {} (see --list)", options.subject)))?;
    if options.batch > 1 {
        return Err(unable(format!(
            "{} has no call for several decisions",
            subject.name
        )));
    }
    let (clock, player) = match (options.clock, subject.given) {
        (None | Some(Clock::Given), Some(player)) => (Clock::Given, player),
        (Some(Clock::Given), None) => {
            return Err(unable(format!(
                "{} is measured with its own clock only",
                subject.name
            )));
        }
        _ => (Clock::Own, subject.own),
    };
    let trace = Trace::read(&options.trace).map_err(wrong)?;
    if clock == Clock::Own && trace.head.admitted != trace.head.records {
        return Err(unable(
            "own clocks play no trace that denies: no answer would be right".into(),
        ));
    }
    let (subject, version) = (subject.name, subject.version);
    player(Job {
        subject,
        version,
        threads: options.threads,
        clock,
        trace,
    })
}

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { status, word }) => {
            eprintln!("rust peers: {word}");
            ExitCode::from(status)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Options, String> {
        options(line.split_whitespace().map(String::from))
    }

    #[test]
    fn arguments_are_understood() {
        let all = of("--trace t --subject s --threads 3 --clock own --batch 4").unwrap();
        let (trace, subject) = ("t".to_string(), "s".to_string());
        let clock = Some(Clock::Own);
        assert_eq!(
            all,
            Options {
                list: false,
                trace,
                subject,
                threads: 3,
                clock,
                batch: 4
            }
        );
        assert!(of("--list").unwrap().list);
    }

    #[test]
    fn wrong_usage_is_named() {
        for (line, word) in [
            ("--subject s", "--trace is missing"),
            ("--trace t", "--subject is missing"),
            ("--trace t --subject", "--subject needs a value"),
            (
                "--trace t --subject s --threads 0",
                "--threads 0: not a number from 1 on",
            ),
            (
                "--trace t --subject s --batch many",
                "--batch many: not a number from 1 on",
            ),
            (
                "--trace t --subject s --threads 1025",
                "--threads 1025: more than 1024",
            ),
            (
                "--trace t --subject s --clock mine",
                "--clock mine: neither given nor own",
            ),
            ("--keys 4", "unknown argument --keys"),
        ] {
            assert_eq!(of(line), Err(word.to_string()));
        }
    }
}
