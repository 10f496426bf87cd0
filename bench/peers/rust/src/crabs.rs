// SPDX-License-Identifier: MIT
//! throttlecrab over its stores in memory: as it is for one thread, in 64 shards for several.
//!
//! Its calls change the limiter, so threads need a lock around it. A shard is chosen by a product
//! of the key's number, made with the lists: threads need not hash the text to find their lock.

use crate::limiter::Limiter;
use crate::trace::Head;
use std::cell::UnsafeCell;
use std::process;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};
use throttlecrab::{AdaptiveStore, CellError, PeriodicStore, RateLimitResult, RateLimiter, Store};

const SHARD_BITS: u32 = 6;
const SHARDS: u64 = 1 << SHARD_BITS;

const DIGITS_MAX: usize = 10; /* of keys below 2^32 */

/// A key's decimal digits, in place: to read a key takes no lines of the cache but the list's.
#[derive(Debug)]
pub struct Text {
    length: u8,
    shard: u8,
    digits: [u8; DIGITS_MAX],
}

impl Text {
    fn of(number: u64) -> Text {
        let text = number.to_string();
        let mut digits = [0; DIGITS_MAX];
        digits[..text.len()].copy_from_slice(text.as_bytes());
        let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15); /* 2^64 over the golden ratio */
        Text {
            length: text.len() as u8,
            shard: (spread >> (64 - SHARD_BITS)) as u8,
            digits,
        }
    }

    fn as_str(&self) -> &str {
        // SAFETY: `of` has put as many digits there, and nobody changes them.
        unsafe { std::str::from_utf8_unchecked(&self.digits[..usize::from(self.length)]) }
    }
}

/// A store of the library.
pub trait Room: Store + Send + Sized {
    fn with_room(keys: usize) -> Self;
}

impl Room for AdaptiveStore {
    fn with_room(keys: usize) -> Self {
        AdaptiveStore::with_capacity(keys)
    }
}

impl Room for PeriodicStore {
    fn with_room(keys: usize) -> Self {
        PeriodicStore::with_capacity(keys)
    }
}

/// Room for so many keys on the average. The adaptive store goes through all it has at every write
/// once its map is three quarters full, and shards have more or fewer keys: hence some to spare.
fn room<S: Room>(keys: u64) -> S {
    S::with_room((keys + keys / 8 + 4 * keys.isqrt() + 16) as usize)
}

/// No two of them in one line of the cache.
#[repr(align(64))]
struct Shard<S: Store>(Mutex<RateLimiter<S>>);

enum Table<S: Store> {
    One(UnsafeCell<RateLimiter<S>>),
    Shards(Vec<Shard<S>>),
}

pub struct Throttlecrab<S: Store, const OWN_CLOCK: bool> {
    table: Table<S>,
    burst: i64,
    count: i64,
    period_s: i64,
    start: SystemTime,
}

// SAFETY: `One` is made for one thread, which alone calls `allow`; shards are behind mutexes.
unsafe impl<S: Store + Send, const OWN_CLOCK: bool> Sync for Throttlecrab<S, OWN_CLOCK> {}

/// The rate as a count per whole seconds, in lowest terms.
fn count_and_seconds(head: &Head) -> Result<(i64, i64), String> {
    let (count, seconds) = (
        u128::from(head.limit) * 1_000_000_000,
        u128::from(head.period),
    );
    let (mut divisor, mut rest) = (count, seconds);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let fits = |value: u128| i64::try_from(value / divisor).ok();
    match (fits(count), fits(seconds)) {
        _ if head.limit > head.period => {
            Err("throttlecrab has no rate over a token each nanosecond".into())
        }
        (Some(count), Some(seconds)) => Ok((count, seconds)),
        _ => Err("throttlecrab has no such rate in 64 bits".into()),
    }
}

impl<S: Room, const OWN_CLOCK: bool> Limiter for Throttlecrab<S, OWN_CLOCK> {
    type Key = Text;

    fn key(number: u64) -> Text {
        Text::of(number)
    }

    fn make(head: &Head, threads: usize) -> Result<Self, String> {
        if head.burst > u64::from(u32::MAX) {
            return Err("throttlecrab has no burst of 2^32 or more".into());
        }
        let (count, period_s) = count_and_seconds(head)?;
        let start = SystemTime::now();
        let shard = |_| Shard(Mutex::new(RateLimiter::new(room(head.keys / SHARDS))));
        let table = match threads {
            1 => Table::One(UnsafeCell::new(RateLimiter::new(room(head.keys)))),
            _ => Table::Shards((0..SHARDS).map(shard).collect()),
        };
        Ok(Throttlecrab {
            table,
            burst: head.burst as i64,
            count,
            period_s,
            start,
        })
    }

    fn allow(&self, key: &Text, n: u32, now: u64) -> bool {
        let at = match OWN_CLOCK {
            true => SystemTime::now(),
            false => self.start + Duration::from_nanos(now),
        };
        let ask = |limiter: &mut RateLimiter<S>| {
            let n = i64::from(n);
            allowed(limiter.rate_limit(key.as_str(), self.burst, self.count, self.period_s, n, at))
        };
        match &self.table {
            // SAFETY: the one thread that plays is in no other call.
            Table::One(limiter) => ask(unsafe { &mut *limiter.get() }),
            Table::Shards(shards) => {
                ask(&mut shards[usize::from(key.shard)].0.lock().expect("no panics"))
            }
        }
    }
}

fn allowed(answer: Result<(bool, RateLimitResult), CellError>) -> bool {
    match answer {
        Ok((allowed, _)) => allowed,
        Err(error) => {
            eprintln!("throttlecrab: {error}");
            process::exit(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(limit: u64, period: u64) -> Head {
        Head {
            records: 1,
            keys: 1,
            limit,
            period,
            burst: 3,
            span: 0,
            admitted: 0,
        }
    }

    #[test]
    fn a_key_is_its_decimal_digits() {
        assert_eq!(Text::of(0).as_str(), "0");
        assert_eq!(Text::of(4_294_967_295).as_str(), "4294967295");
    }

    #[test]
    fn every_shard_gets_its_share_of_keys() {
        let mut keys = [0; SHARDS as usize];
        (0..6400).for_each(|number| keys[usize::from(Text::of(number).shard)] += 1);
        assert!(
            keys.iter().all(|&count| (98..=102).contains(&count)),
            "{keys:?}"
        );
    }

    #[test]
    fn rates_are_a_count_per_seconds() {
        assert_eq!(count_and_seconds(&head(1000, 1_000_000_000)), Ok((1000, 1)));
        assert_eq!(count_and_seconds(&head(3, 4_500_000_000)), Ok((2, 3)));
        assert_eq!(count_and_seconds(&head(1, 3)), Ok((1_000_000_000, 3)));
        let word = |limit, period| count_and_seconds(&head(limit, period)).unwrap_err();
        assert_eq!(
            word(4, 3),
            "throttlecrab has no rate over a token each nanosecond"
        );
        assert_eq!(
            word(1, u64::MAX - 2),
            "throttlecrab has no such rate in 64 bits"
        );
    }

    /// Three at once and one each second, in both forms of the table.
    #[test]
    fn a_told_bucket_answers_by_what_it_is_told() {
        for threads in [1, 2] {
            let make = Throttlecrab::<AdaptiveStore, false>::make;
            let table = make(&head(1, 1_000_000_000), threads).unwrap();
            let key = Text::of(5);
            let asked = [0, 0, 0, 0, 999_999_999, 1_000_000_000, 1_000_000_000];
            let answers = asked.map(|now| table.allow(&key, 1, now));
            assert_eq!(answers, [true, true, true, false, false, true, false]);
            assert!(table.allow(&Text::of(6), 1, 0));
        }
    }
}
