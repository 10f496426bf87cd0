// SPDX-License-Identifier: MIT

package main

import (
	"testing"
	"time"
)

// What a limiter of one token each 10 us, 3 at once, admits of records in the order given.
func answers(t *testing.T, open func(*head) (limiter, error), list []record) []uint64 {
	t.Helper()
	made, err := open(&head{keys: 1, limit: 1, period: 10_000, burst: 3})
	if err != nil {
		t.Fatal(err)
	}
	var found []uint64
	for i := range list {
		found = append(found, made.given(list[i:i+1], 0))
	}
	return found
}

func TestABucketAnswersByWhatItIsTold(t *testing.T) {
	list := []record{{0, 1, 0}, {0, 3, 0}, {0, 2, 0}, {0, 1, 9990}, {0, 1, 10_000},
		{0, 2, 29_990}, {0, 2, 30_000}}
	want := []uint64{1, 0, 1, 0, 1, 0, 1}
	for name, open := range map[string]func(*head) (limiter, error){
		"sharded": newSharded, "mapped": newMapped, "single": newSingle,
	} {
		for i, answer := range answers(t, open, list) {
			if answer != want[i] {
				t.Errorf("%s: record %d: %d admitted, not %d", name, i, answer, want[i])
			}
		}
	}
}

// A token is due at 10 us, and wanted a nanosecond before.
func TestATokenMayBeTakenANanosecondEarly(t *testing.T) {
	list := []record{{0, 3, 0}, {0, 1, 9998}, {0, 1, 9999}}
	want := []uint64{1, 0, 1}
	for i, answer := range answers(t, newSingle, list) {
		if answer != want[i] {
			t.Errorf("record %d: %d admitted, not %d", i, answer, want[i])
		}
	}
}

func TestKeysHaveBucketsOfTheirOwn(t *testing.T) {
	for name, open := range map[string]func(*head) (limiter, error){
		"sharded": newSharded, "mapped": newMapped,
	} {
		list := []record{{0, 3, 0}, {0, 1, 0}, {64, 3, 0}, {64, 1, 0}, {0, 1, 10_000}}
		made, err := open(&head{keys: 100, limit: 1, period: 10_000, burst: 3})
		if err != nil {
			t.Fatal(err)
		}
		if admitted := made.given(list, time.Second); admitted != 3 {
			t.Errorf("%s: %d admitted, not 3", name, admitted)
		}
	}
}

func TestEveryShardGetsItsShareOfKeys(t *testing.T) {
	var keys [1 << shardBits]int
	for key := range uint64(100 << shardBits) {
		keys[shardOf(key)]++
	}
	for i, count := range keys {
		if count < 98 || count > 102 {
			t.Errorf("shard %d has %d keys of 100", i, count)
		}
	}
}

func TestLimitersWithoutKeysPlayOneKey(t *testing.T) {
	const word = "an un-keyed limiter plays no trace of 2 keys"
	for name, open := range map[string]func(*head) (limiter, error){
		"single": newSingle, "leaky": newLeaky,
	} {
		_, err := open(&head{keys: 2, limit: 1, period: 1, burst: 1})
		if err == nil || err.Error() != word {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryTakeIsCounted(t *testing.T) {
	made, err := newLeaky(&head{keys: 1, limit: 1, period: 1, burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	if admitted := made.own([]record{{0, 1, 0}, {0, 2, 0}, {0, 1, 0}}); admitted != 3 {
		t.Errorf("%d admitted, not 3", admitted)
	}
}
