// SPDX-License-Identifier: MIT
//! governor, keyed and direct, with its own clocks and with one that is told the time.

use crate::limiter::Limiter;
use crate::trace::Head;
use governor::clock::{Clock, MonotonicClock, QuantaClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::Duration;

/// governor counts in whole nanoseconds per token: other intervals are rounded down.
fn quota(head: &Head) -> Result<Quota, String> {
    let quota = Quota::with_period(Duration::from_nanos(head.period / head.limit))
        .ok_or("governor has no rate over a token each nanosecond")?;
    let burst = u32::try_from(head.burst).ok().and_then(NonZeroU32::new);
    Ok(quota.allow_burst(burst.ok_or("governor has no burst of 2^32 or more")?))
}

/// A clock of governor, which may have to be told the time.
pub trait Source: Clock + Default + Send + Sync {
    fn tell(now: u64);
}

impl Source for QuantaClock {
    fn tell(_: u64) {}
}

impl Source for MonotonicClock {
    fn tell(_: u64) {}
}

thread_local! {
    static TOLD: Cell<u64> = const { Cell::new(0) };
}

/// A clock that shows what its thread was told last: a store and a load of the thread's own, no
/// atomic that threads would share. It is 0 when the limiter is made.
#[derive(Clone, Default)]
pub struct Told;

impl Clock for Told {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(TOLD.get())
    }
}

impl Source for Told {
    fn tell(now: u64) {
        TOLD.set(now);
    }
}

pub struct Governor<C: Clock>(
    RateLimiter<u64, DashMapStateStore<u64>, C, NoOpMiddleware<C::Instant>>,
);

impl<C: Source> Limiter for Governor<C> {
    type Key = u64;

    fn key(number: u64) -> u64 {
        number
    }

    fn make(head: &Head, _: usize) -> Result<Self, String> {
        let map = DashMapStateStore::with_capacity(head.keys as usize);
        Ok(Governor(RateLimiter::new(quota(head)?, map, C::default())))
    }

    fn allow(&self, key: &u64, n: u32, now: u64) -> bool {
        C::tell(now);
        match NonZeroU32::new(n) {
            Some(n) if n.get() > 1 => matches!(self.0.check_key_n(key, n), Ok(Ok(()))),
            _ => self.0.check_key(key).is_ok(),
        }
    }
}

pub struct GovernorHot<C: Clock>(
    RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>>,
);

impl<C: Source> Limiter for GovernorHot<C> {
    type Key = ();

    fn key(_: u64) {}

    fn make(head: &Head, _: usize) -> Result<Self, String> {
        if head.keys != 1 {
            return Err(format!(
                "an un-keyed limiter plays no trace of {} keys",
                head.keys
            ));
        }
        Ok(GovernorHot(RateLimiter::direct_with_clock(
            quota(head)?,
            C::default(),
        )))
    }

    fn allow(&self, _: &(), n: u32, now: u64) -> bool {
        C::tell(now);
        match NonZeroU32::new(n) {
            Some(n) if n.get() > 1 => matches!(self.0.check_n(n), Ok(Ok(()))),
            _ => self.0.check().is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(limit: u64, period: u64, burst: u64) -> Head {
        Head {
            records: 1,
            keys: 1,
            limit,
            period,
            burst,
            span: 0,
            admitted: 0,
        }
    }

    #[test]
    fn a_told_bucket_answers_by_what_it_is_told() {
        let bucket = GovernorHot::<Told>::make(&head(1, 10, 3), 1).unwrap();
        let asked = [(1, 0), (3, 0), (2, 0), (1, 9), (1, 10), (2, 29), (2, 30)];
        let answers = asked.map(|(n, now)| bucket.allow(&(), n, now));
        assert_eq!(answers, [true, false, true, false, true, false, true]);
    }

    #[test]
    fn what_governor_cannot_do_is_said() {
        let word = |head| GovernorHot::<Told>::make(&head, 1).err().unwrap();
        assert_eq!(
            word(head(11, 10, 1)),
            "governor has no rate over a token each nanosecond"
        );
        assert_eq!(
            word(head(1, 1, 1 << 32)),
            "governor has no burst of 2^32 or more"
        );
        let keys = Head {
            keys: 2,
            ..head(1, 1, 1)
        };
        assert_eq!(word(keys), "an un-keyed limiter plays no trace of 2 keys");
    }
}
