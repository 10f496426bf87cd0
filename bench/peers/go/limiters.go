// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"sync"
	"time"

	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"
)

// A limiter plays one thread's records, in the timed loop, and counts those that it admits. The
// loops are written out for each, so that no call is made but the library's.
type limiter interface {
	// given tells the limiter the time: that of the record, in a pass which begins at start.
	given(list []record, start time.Duration) uint64
	// own lets the limiter's user read a clock, as the library's documentation does.
	own(list []record) uint64
}

// bucket is a limiter of x/time/rate as the trace wants it, and the beginning of the given time.
type bucket struct {
	limit rate.Limit
	burst int
	begun time.Time
}

func newBucket(h *head) bucket {
	limit := rate.Limit(float64(h.limit) * float64(time.Second) / float64(h.period))
	return bucket{limit, int(h.burst), time.Now()}
}

func (b *bucket) limiter() *rate.Limiter {
	return rate.NewLimiter(b.limit, b.burst)
}

const shardBits = 6

// A shard fills a line of the cache.
type shard struct {
	lock     sync.Mutex
	limiters map[uint64]*rate.Limiter
	_        [48]byte
}

// sharded is a limiter per key in maps behind mutexes.
type sharded struct {
	bucket
	shards [1 << shardBits]shard
}

func newSharded(h *head) (limiter, error) {
	t := &sharded{bucket: newBucket(h)}
	for i := range t.shards {
		t.shards[i].limiters = make(map[uint64]*rate.Limiter, h.keys>>shardBits)
	}
	return t, nil
}

// shardOf spreads keys by 2^64 over the golden ratio.
func shardOf(key uint64) uint64 {
	return key * 0x9E3779B97F4A7C15 >> (64 - shardBits)
}

func (t *sharded) of(key uint64) *rate.Limiter {
	s := &t.shards[shardOf(key)]
	s.lock.Lock()
	l := s.limiters[key]
	if l == nil {
		l = t.limiter()
		s.limiters[key] = l
	}
	s.lock.Unlock()
	return l
}

func (t *sharded) given(list []record, start time.Duration) (admitted uint64) {
	for i := range list {
		r := &list[i]
		if t.of(r.key).AllowN(t.begun.Add(start+r.now), r.n) {
			admitted++
		}
	}
	return admitted
}

func (t *sharded) own(list []record) (admitted uint64) {
	for i := range list {
		r := &list[i]
		if t.of(r.key).AllowN(time.Now(), r.n) { // Allow is this with 1
			admitted++
		}
	}
	return admitted
}

// mapped is a limiter per key in a sync.Map.
type mapped struct {
	bucket
	limiters sync.Map
}

func newMapped(h *head) (limiter, error) {
	return &mapped{bucket: newBucket(h)}, nil
}

func (t *mapped) of(key uint64) *rate.Limiter {
	l, found := t.limiters.Load(key)
	if !found {
		l, _ = t.limiters.LoadOrStore(key, t.limiter())
	}
	return l.(*rate.Limiter)
}

func (t *mapped) given(list []record, start time.Duration) (admitted uint64) {
	for i := range list {
		r := &list[i]
		if t.of(r.key).AllowN(t.begun.Add(start+r.now), r.n) {
			admitted++
		}
	}
	return admitted
}

func (t *mapped) own(list []record) (admitted uint64) {
	for i := range list {
		r := &list[i]
		if t.of(r.key).AllowN(time.Now(), r.n) {
			admitted++
		}
	}
	return admitted
}

func onlyHot(h *head) error {
	if h.keys != 1 {
		return fmt.Errorf("an un-keyed limiter plays no trace of %d keys", h.keys)
	}
	return nil
}

// single is one limiter of x/time/rate.
type single struct {
	bucket
	*rate.Limiter
}

func newSingle(h *head) (limiter, error) {
	b := newBucket(h)
	return &single{b, b.limiter()}, onlyHot(h)
}

func (t *single) given(list []record, start time.Duration) (admitted uint64) {
	for i := range list {
		r := &list[i]
		if t.AllowN(t.begun.Add(start+r.now), r.n) {
			admitted++
		}
	}
	return admitted
}

func (t *single) own(list []record) (admitted uint64) {
	for i := range list {
		if t.AllowN(time.Now(), list[i].n) {
			admitted++
		}
	}
	return admitted
}

// A call of Take is due each nanosecond, and takes longer: it never has to wait.
const takesPerSecond = 1_000_000_000

// leaky is go.uber.org/ratelimit, whose call says when it may be gone on, not whether.
type leaky struct {
	ratelimit.Limiter
}

func newLeaky(h *head) (limiter, error) {
	return &leaky{ratelimit.New(takesPerSecond)}, onlyHot(h)
}

func (t *leaky) given([]record, time.Duration) uint64 {
	panic("is told no time")
}

// own takes each token by itself: no call takes several.
func (t *leaky) own(list []record) (admitted uint64) {
	for i := range list {
		var at time.Time
		for range list[i].n {
			at = t.Take()
		}
		if !at.IsZero() {
			admitted++
		}
	}
	return admitted
}
