// SPDX-License-Identifier: MIT
//! What a limiter must be able to do to be measured.

use crate::trace::Head;

pub trait Limiter: Send + Sync + Sized {
    /// What the limiter takes for a key, made before time is measured.
    type Key: Send + Sync;

    fn key(number: u64) -> Self::Key;

    /// For as many threads; or the word why it cannot do what the trace asks.
    fn make(head: &Head, threads: usize) -> Result<Self, String>;

    /// Whether n tokens are taken. Who reads a clock does not look at `now`, ns since the start.
    fn allow(&self, key: &Self::Key, n: u32, now: u64) -> bool;
}
