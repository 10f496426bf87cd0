// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// No thread is further ahead of the slowest: it waits, blocked, or else one with little to play
// would agree on passes for all without end.
const aheadMost = 2

// passes is how the threads of a run agree on one number of passes. Time is looked at between
// passes only: a thread that wants to begin a pass which nobody has begun looks; if there is time
// left, that pass is agreed on and all play it; if not, the run ends with those agreed on so far.
type passes struct {
	seconds time.Duration
	arrived atomic.Int64

	lock     sync.Mutex
	changed  *sync.Cond
	begun    time.Time
	finished []uint64
	agreed   uint64
	over     bool
}

// newPasses is for that many threads and at least that long; one pass is agreed on at once.
func newPasses(threads int, seconds time.Duration) *passes {
	p := &passes{seconds: seconds, finished: make([]uint64, threads), agreed: 1}
	p.changed = sync.NewCond(&p.lock)
	return p
}

// begin waits until all threads are here, and says when this one goes on.
func (p *passes) begin() time.Time {
	p.arrived.Add(1)
	for p.arrived.Load() < int64(len(p.finished)) {
		runtime.Gosched()
	}
	now := time.Now()
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.begun.IsZero() {
		p.begun = now
	}
	return now
}

// another tells whether a thread that has played so many passes plays another one.
func (p *passes) another(thread int, finished uint64) bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.finished[thread] = finished
	p.changed.Broadcast() // for who waits for the slowest
	for {
		switch {
		case finished < p.agreed:
			return true
		case p.over:
			return false
		case finished >= slices.Min(p.finished)+aheadMost:
			p.changed.Wait()
		case time.Since(p.begun) < p.seconds:
			p.agreed++
			p.changed.Broadcast()
		default:
			p.over = true
			p.changed.Broadcast()
		}
	}
}
