// SPDX-License-Identifier: MIT

package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"testing"
)

// Of so many keys, 7 tokens per 11 ns, burst 13, span 17; a record is key, n, now.
func bytesOf(keys uint64, records ...[3]uint64) []byte {
	bytes := []byte(magic)
	for _, value := range []uint64{uint64(len(records)), keys, 7, 11, 13, 17, 1} {
		bytes = binary.LittleEndian.AppendUint64(bytes, value)
	}
	for _, record := range records {
		for _, value := range record {
			bytes = binary.LittleEndian.AppendUint64(bytes, value)
		}
	}
	return bytes
}

func good() []byte {
	return bytesOf(2, [3]uint64{1, 2, 0}, [3]uint64{0, 3, 5}, [3]uint64{1, 4, 5})
}

func with(at int, value uint64) []byte {
	bytes := good()
	binary.LittleEndian.PutUint64(bytes[at:], value)
	return bytes
}

func TestATraceIsReadWhole(t *testing.T) {
	read, err := parseTrace(good())
	if err != nil {
		t.Fatal(err)
	}
	if want := (head{3, 2, 7, 11, 13, 17, 1}); read.head != want {
		t.Errorf("head %v, not %v", read.head, want)
	}
	if read.occurring != 2 || read.last != 5 || read.isHot() {
		t.Errorf("occurring %d, last %d, hot %v", read.occurring, read.last, read.isHot())
	}
	want := [][]record{{{0, 3, 5}}, {{1, 2, 0}, {1, 4, 5}}}
	if lists := read.lists(2); !reflect.DeepEqual(lists, want) {
		t.Errorf("lists %v, not %v", lists, want)
	}
}

func TestAllThreadsPlayAHotKey(t *testing.T) {
	read, err := parseTrace(bytesOf(1, [3]uint64{0, 1, 0}, [3]uint64{0, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	one := []record{{0, 1, 0}, {0, 2, 3}}
	if lists := read.lists(2); !read.isHot() || !reflect.DeepEqual(lists, [][]record{one, one}) {
		t.Errorf("hot %v, lists %v", read.isHot(), lists)
	}
}

func TestWhatIsNoTraceIsRefused(t *testing.T) {
	other := good()
	other[7] = '2'
	for _, c := range []struct {
		bytes []byte
		word  string
	}{
		{[]byte(magic), "8 bytes are too few for a head of 64"},
		{other, "is no trace: it does not begin with WEIRTRC1"},
		{good()[:135], "135 bytes are not those of 3 records"},
		{append(good(), 0), "137 bytes are not those of 3 records"},
		{good()[:112], "112 bytes are not those of 3 records"},
		{with(8, math.MaxUint64), "136 bytes are not those of 18446744073709551615 records"},
		{bytesOf(2), fmt.Sprintf("head: records is 0, not 1 to %d", uint64(math.MaxUint64))},
		{with(16, 0), "head: keys is 0, not 1 to 4294967296"},
		{with(16, keysMost+1), "head: keys is 4294967297, not 1 to 4294967296"},
		{with(24, 0), "head: limit is 0, not 1 to 18446744073709551615"},
		{with(32, 0), "head: period is 0, not 1 to 18446744073709551615"},
		{with(40, 0), "head: burst is 0, not 1 to 9223372036854775807"},
		{with(48, spanMost+1), "head: span is 4503599627370497, not 0 to 4503599627370496"},
		{with(56, 4), "head: admitted is 4, not 0 to 3"},
		{with(64, 2), "record 0: key 2 is not below 2 (keys)"},
		{with(96, 0), "record 1: n is 0, not 1 to 4294967295"},
		{with(96, 1<<32), "record 1: n is 4294967296, not 1 to 4294967295"},
		{with(80, 1), "record 0: now is 1, the first is 0"},
		{with(128, 4), "record 2: now is 4, not 5 to 17 (span)"},
		{with(128, 18), "record 2: now is 18, not 5 to 17 (span)"},
	} {
		_, err := parseTrace(c.bytes)
		if err == nil || err.Error() != c.word {
			t.Errorf("%v, not: %s", err, c.word)
		}
	}
}
