// SPDX-License-Identifier: MIT
//! Trace files: who asks when for how much, and what an exact token bucket makes of it.
//!
//! A head of 64 bytes and records of 24, all of it little-endian u64; see `Head` and `Record`.

pub const MAGIC: &[u8; 8] = b"WEIRTRC1";
pub const HEAD_BYTES: usize = 64;
pub const RECORD_BYTES: usize = 24;

/// Times stay far from where 64 bits of nanoseconds end, whatever passes are added to them.
const SPAN_MAX: u64 = 1 << 52;
const KEYS_MAX: u64 = 1 << 32;

#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    pub records: u64,
    pub keys: u64,
    /// Tokens per period, period in ns, tokens at once: of every key's bucket.
    pub limit: u64,
    pub period: u64,
    pub burst: u64,
    /// Nanoseconds from the beginning of one pass to that of the next.
    pub span: u64,
    /// Records of a pass that an exact token bucket admits.
    pub admitted: u64,
}

/// One decision, its key made ready.
pub struct Record<K> {
    pub key: K,
    pub n: u32,
    /// Nanoseconds since the beginning of the pass.
    pub now: u64,
}

#[derive(Debug)]
pub struct Trace {
    pub head: Head,
    /// Distinct keys that occur.
    pub occurring: u64,
    /// When the last record is, in nanoseconds since the beginning of the pass.
    pub last: u64,
    bytes: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl Trace {
    pub fn read(path: &str) -> Result<Trace, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        Trace::parse(bytes).map_err(|what| format!("{path}: {what}"))
    }

    pub fn parse(bytes: Vec<u8>) -> Result<Trace, String> {
        let head = head(&bytes)?;
        let mut numbers = Vec::with_capacity(head.records as usize);
        let mut last = 0;
        for (i, record) in bytes[HEAD_BYTES..].chunks_exact(RECORD_BYTES).enumerate() {
            let (key, n, now) = (word(record, 0), word(record, 8), word(record, 16));
            let wrong = |what: String| Err(format!("record {i}: {what}"));
            if key >= head.keys {
                return wrong(format!("key {key} is not below {} (keys)", head.keys));
            }
            if n == 0 || n > u64::from(u32::MAX) {
                return wrong(format!("n is {n}, not 1 to {}", u32::MAX));
            }
            if i == 0 && now != 0 {
                return wrong(format!("now is {now}, the first is 0"));
            }
            if now < last || now > head.span {
                return wrong(format!("now is {now}, not {last} to {} (span)", head.span));
            }
            last = now;
            numbers.push(key);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Trace {
            head,
            occurring: numbers.len() as u64,
            last,
            bytes,
        })
    }

    /// Whether all threads ask for one key: then each of them plays the whole trace.
    pub fn hot(&self) -> bool {
        self.head.keys == 1
    }

    /// Frees the records, once there are lists of them.
    pub fn drop_records(&mut self) {
        self.bytes = Vec::new();
    }

    /// What each thread plays: the records whose key modulo `threads` is its number.
    pub fn lists<K>(&self, threads: usize, make: impl Fn(u64) -> K) -> Vec<Vec<Record<K>>> {
        let records = || self.bytes[HEAD_BYTES..].chunks_exact(RECORD_BYTES);
        let mine = |thread: usize, record: &[u8]| {
            self.hot() || word(record, 0) % threads as u64 == thread as u64
        };
        let list_of = |thread: usize| {
            let length = records().filter(|record| mine(thread, record)).count();
            let mut list = Vec::with_capacity(length);
            list.extend(
                records()
                    .filter(|record| mine(thread, record))
                    .map(|record| Record {
                        key: make(word(record, 0)),
                        n: word(record, 8) as u32,
                        now: word(record, 16),
                    }),
            );
            list
        };
        (0..threads).map(list_of).collect()
    }
}

fn head(bytes: &[u8]) -> Result<Head, String> {
    if bytes.len() < HEAD_BYTES {
        return Err(format!(
            "{} bytes are too few for a head of {HEAD_BYTES}",
            bytes.len()
        ));
    }
    if &bytes[..8] != MAGIC {
        return Err("is no trace: it does not begin with WEIRTRC1".into());
    }
    let head = Head {
        records: word(bytes, 8),
        keys: word(bytes, 16),
        limit: word(bytes, 24),
        period: word(bytes, 32),
        burst: word(bytes, 40),
        span: word(bytes, 48),
        admitted: word(bytes, 56),
    };
    let expected = u128::from(head.records) * RECORD_BYTES as u128 + HEAD_BYTES as u128;
    if bytes.len() as u128 != expected {
        let (is, records) = (bytes.len(), head.records);
        return Err(format!(
            "has {is} bytes, not the {expected} of {records} records"
        ));
    }
    let positive = [
        ("records", head.records),
        ("keys", head.keys),
        ("limit", head.limit),
        ("period", head.period),
        ("burst", head.burst),
    ];
    if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
        return Err(format!("head: {name} is 0"));
    }
    for (name, value, most) in [
        ("keys", head.keys, KEYS_MAX),
        ("span", head.span, SPAN_MAX),
        ("admitted", head.admitted, head.records),
    ] {
        if value > most {
            return Err(format!("head: {name} is {value}, over {most}"));
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two keys, 7 tokens per 11 ns, burst 13, span 17, and the records (key, n, now).
    fn bytes_of(records: &[[u64; 3]]) -> Vec<u8> {
        let head = [records.len() as u64, 2, 7, 11, 13, 17, 1];
        let mut bytes = MAGIC.to_vec();
        for value in head.iter().chain(records.iter().flatten()) {
            bytes.extend(value.to_le_bytes());
        }
        bytes
    }

    fn good() -> Vec<u8> {
        bytes_of(&[[1, 2, 0], [0, 3, 5], [1, 4, 5]])
    }

    fn with(at: usize, value: u64) -> Vec<u8> {
        let mut bytes = good();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    }

    fn complaint(bytes: Vec<u8>) -> String {
        Trace::parse(bytes).expect_err("was taken")
    }

    #[test]
    fn a_trace_is_read_whole() {
        let trace = Trace::parse(good()).unwrap();
        let (records, keys, limit, period, burst, span, admitted) = (3, 2, 7, 11, 13, 17, 1);
        assert_eq!(
            trace.head,
            Head {
                records,
                keys,
                limit,
                period,
                burst,
                span,
                admitted
            }
        );
        assert_eq!((trace.occurring, trace.last, trace.hot()), (2, 5, false));
    }

    #[test]
    fn a_thread_plays_its_keys_in_their_order() {
        let trace = Trace::parse(good()).unwrap();
        let of = |list: &[Record<u64>]| -> Vec<(u64, u32, u64)> {
            list.iter()
                .map(|record| (record.key, record.n, record.now))
                .collect()
        };
        let lists = trace.lists(2, |number| number + 100);
        assert_eq!(of(&lists[0]), [(100, 3, 5)]);
        assert_eq!(of(&lists[1]), [(101, 2, 0), (101, 4, 5)]);
    }

    #[test]
    fn all_threads_play_a_hot_key() {
        let mut bytes = bytes_of(&[[0, 1, 0], [0, 1, 2]]);
        bytes[16] = 1;
        let trace = Trace::parse(bytes).unwrap();
        assert!(trace.hot());
        let lengths: Vec<usize> = trace
            .lists(3, |number| number)
            .iter()
            .map(Vec::len)
            .collect();
        assert_eq!(lengths, [2, 2, 2]);
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let mut other = good();
        other[7] = b'2';
        assert_eq!(
            complaint(other),
            "is no trace: it does not begin with WEIRTRC1"
        );
        assert_eq!(
            complaint(MAGIC.to_vec()),
            "8 bytes are too few for a head of 64"
        );
    }

    #[test]
    fn a_trace_of_another_length_is_refused() {
        let mut short = good();
        short.pop();
        assert_eq!(complaint(short), "has 135 bytes, not the 136 of 3 records");
        let mut long = good();
        long.push(0);
        assert_eq!(complaint(long), "has 137 bytes, not the 136 of 3 records");
        let many = format!(
            "has 136 bytes, not the {} of {} records",
            u128::from(u64::MAX) * 24 + 64,
            u64::MAX
        );
        assert_eq!(complaint(with(8, u64::MAX)), many);
    }

    #[test]
    fn a_head_that_makes_no_bucket_is_refused() {
        assert_eq!(complaint(bytes_of(&[])), "head: records is 0");
        for (at, name) in [(16, "keys"), (24, "limit"), (32, "period"), (40, "burst")] {
            assert_eq!(complaint(with(at, 0)), format!("head: {name} is 0"));
        }
        assert_eq!(complaint(with(56, 4)), "head: admitted is 4, over 3");
        assert_eq!(
            complaint(with(48, SPAN_MAX + 1)),
            "head: span is 4503599627370497, over 4503599627370496"
        );
        assert_eq!(
            complaint(with(16, KEYS_MAX + 1)),
            "head: keys is 4294967297, over 4294967296"
        );
    }

    #[test]
    fn a_record_that_cannot_be_is_named() {
        assert_eq!(
            complaint(with(64, 2)),
            "record 0: key 2 is not below 2 (keys)"
        );
        assert_eq!(
            complaint(with(96, 0)),
            "record 1: n is 0, not 1 to 4294967295"
        );
        assert_eq!(
            complaint(with(96, 1 << 32)),
            "record 1: n is 4294967296, not 1 to 4294967295"
        );
        assert_eq!(complaint(with(80, 1)), "record 0: now is 1, the first is 0");
        assert_eq!(
            complaint(with(128, 4)),
            "record 2: now is 4, not 5 to 17 (span)"
        );
        assert_eq!(
            complaint(with(128, 18)),
            "record 2: now is 18, not 5 to 17 (span)"
        );
    }
}
