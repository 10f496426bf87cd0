// SPDX-License-Identifier: MIT

package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// Trace files: who asks when for how much, and what an exact token bucket makes of it. A head of 64
// bytes and records of 24, all of it little-endian uint64.
const (
	magic       = "WEIRTRC1"
	headBytes   = 64
	recordBytes = 24

	spanMost = 1 << 52 // ns; times stay far from where 63 bits of them end
	keysMost = 1 << 32
)

type head struct {
	records, keys        uint64
	limit, period, burst uint64        // tokens per period (ns), tokens at once: of every key
	span                 time.Duration // from the beginning of one pass to that of the next
	admitted             uint64        // records of a pass that an exact token bucket admits
}

// A record is one decision; now is the time since the beginning of the pass.
type record struct {
	key uint64
	n   int
	now time.Duration
}

type trace struct {
	head
	occurring uint64        // distinct keys that occur
	last      time.Duration // when the last record is
	bytes     []byte
}

func word(bytes []byte, at int) uint64 {
	return binary.LittleEndian.Uint64(bytes[at:])
}

func readTrace(path string) (*trace, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := parseTrace(bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func parseHead(bytes []byte) (head, error) {
	var h head
	if len(bytes) < headBytes {
		return h, fmt.Errorf("%d bytes are too few for a head of %d", len(bytes), headBytes)
	}
	if string(bytes[:len(magic)]) != magic {
		return h, fmt.Errorf("is no trace: it does not begin with %s", magic)
	}
	span := word(bytes, 48)
	h = head{word(bytes, 8), word(bytes, 16), word(bytes, 24), word(bytes, 32), word(bytes, 40),
		time.Duration(span), word(bytes, 56)}
	records := uint64(len(bytes)-headBytes) / recordBytes
	if h.records != records || len(bytes) != headBytes+int(records)*recordBytes {
		return h, fmt.Errorf("%d bytes are not those of %d records", len(bytes), h.records)
	}
	for _, field := range []struct {
		name              string
		value, from, most uint64
	}{
		{"records", h.records, 1, math.MaxUint64},
		{"keys", h.keys, 1, keysMost},
		{"limit", h.limit, 1, math.MaxUint64},
		{"period", h.period, 1, math.MaxUint64},
		{"burst", h.burst, 1, math.MaxInt64},
		{"span", span, 0, spanMost},
		{"admitted", h.admitted, 0, h.records},
	} {
		if field.value < field.from || field.value > field.most {
			return h, fmt.Errorf("head: %s is %d, not %d to %d",
				field.name, field.value, field.from, field.most)
		}
	}
	return h, nil
}

func parseTrace(bytes []byte) (*trace, error) {
	h, err := parseHead(bytes)
	if err != nil {
		return nil, err
	}
	keys := make([]uint64, 0, h.records)
	last := uint64(0)
	for i := range h.records {
		at := headBytes + int(i)*recordBytes
		key, n, now := word(bytes, at), word(bytes, at+8), word(bytes, at+16)
		switch {
		case key >= h.keys:
			return nil, fmt.Errorf("record %d: key %d is not below %d (keys)", i, key, h.keys)
		case n == 0 || n > math.MaxUint32:
			return nil, fmt.Errorf("record %d: n is %d, not 1 to %d", i, n, math.MaxUint32)
		case i == 0 && now != 0:
			return nil, fmt.Errorf("record 0: now is %d, the first is 0", now)
		case now < last || now > uint64(h.span):
			return nil, fmt.Errorf("record %d: now is %d, not %d to %d (span)", i, now, last,
				uint64(h.span))
		}
		last = now
		keys = append(keys, key)
	}
	slices.Sort(keys)
	occurring := uint64(len(slices.Compact(keys)))
	return &trace{h, occurring, time.Duration(last), bytes}, nil
}

// isHot tells whether all ask for one key: then each thread plays the whole trace.
func (t *trace) isHot() bool {
	return t.keys == 1
}

func (t *trace) isMine(key uint64, thread, threads int) bool {
	return t.isHot() || key%uint64(threads) == uint64(thread)
}

// list is what one thread plays: the records whose key modulo threads is its number.
func (t *trace) list(thread, threads int) []record {
	length := 0
	for at := headBytes; at < len(t.bytes); at += recordBytes {
		if t.isMine(word(t.bytes, at), thread, threads) {
			length++
		}
	}
	list := make([]record, 0, length)
	for at := headBytes; at < len(t.bytes); at += recordBytes {
		key, n, now := word(t.bytes, at), word(t.bytes, at+8), word(t.bytes, at+16)
		if t.isMine(key, thread, threads) {
			list = append(list, record{key, int(n), time.Duration(now)})
		}
	}
	return list
}

// lists makes those of all threads, and lets go of the records.
func (t *trace) lists(threads int) [][]record {
	all := make([][]record, threads)
	for thread := range all {
		all[thread] = t.list(thread, threads)
	}
	t.bytes = nil
	return all
}
