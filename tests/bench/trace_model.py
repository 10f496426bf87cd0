# SPDX-License-Identifier: MIT
"""Trace files as their format is documented, and what token buckets admit of them, by themselves.

Head, 64 bytes: "WEIRTRC1", then records, keys, limit, period, burst, span, admitted; records, 24
bytes each: key, n, now. All are little-endian 64-bit words.
"""

import struct

HEAD = struct.Struct("<8s7Q")
RECORD = struct.Struct("<3Q")
MAGIC = b"WEIRTRC1"


class Trace:
    def __init__(self, keys, limit, period, burst, records, span=None, admitted=None):
        self.keys, self.limit, self.period, self.burst = keys, limit, period, burst
        self.records = records  # of (key, n, now)
        self.span = span
        if span is None:
            self.span = records[-1][2] + -(-burst * period // limit)
        self.admitted = self.admits() if admitted is None else admitted

    def admits(self):
        """How many records of a pass token buckets admit, each played alone and in whole numbers:
        a bucket holds up to burst * period units, a token is `period` of them."""
        buckets = {}
        admitted = 0
        full = self.burst * self.period
        for key, n, now in self.records:
            units, then = buckets.get(key, (full, 0))
            units = min(full, units + self.limit * (now - then))
            if n * self.period <= units:
                units -= n * self.period
                admitted += 1
            buckets[key] = units, now
        return admitted

    def denies(self):
        return self.admitted < len(self.records)

    def to_bytes(self):
        head = HEAD.pack(MAGIC, len(self.records), self.keys, self.limit, self.period, self.burst,
                         self.span, self.admitted)
        return head + b"".join(RECORD.pack(*record) for record in self.records)


def read_trace(path):
    with open(path, "rb") as file:
        data = file.read()
    magic, count, keys, limit, period, burst, span, admitted = HEAD.unpack_from(data)
    assert magic == MAGIC, f"{path} begins with {magic!r}"
    assert len(data) == HEAD.size + count * RECORD.size, f"{path} has {len(data)} bytes"
    records = list(RECORD.iter_unpack(data[HEAD.size:]))
    return Trace(keys, limit, period, burst, records, span, admitted)
