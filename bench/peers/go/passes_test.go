// SPDX-License-Identifier: MIT

package main

import (
	"sync"
	"testing"
	"time"
)

// passesOf is how many passes each thread plays, a pass being a sleep.
func passesOf(threads int, seconds, sleep time.Duration) []uint64 {
	p := newPasses(threads, seconds)
	all := make([]uint64, threads)
	var group sync.WaitGroup
	for thread := range all {
		group.Go(func() {
			p.begin()
			for {
				time.Sleep(sleep * time.Duration(thread))
				all[thread]++
				if !p.another(thread, all[thread]) {
					return
				}
			}
		})
	}
	group.Wait()
	return all
}

func TestNoTimeIsOnePass(t *testing.T) {
	for thread, passes := range passesOf(3, 0, time.Millisecond) {
		if passes != 1 {
			t.Errorf("thread %d plays %d passes", thread, passes)
		}
	}
}

func TestAllThreadsPlayAsMany(t *testing.T) {
	for range 20 {
		all := passesOf(4, 5*time.Millisecond, 50*time.Microsecond)
		for _, passes := range all {
			if passes != all[0] {
				t.Fatalf("passes: %v", all)
			}
		}
	}
}

func TestWhoHasLittleToPlayWaitsForTheSlowest(t *testing.T) {
	p := newPasses(2, time.Hour)
	p.begun = time.Now()
	if !p.another(0, 1) {
		t.Fatal("time is up at once")
	}
	ahead := make(chan bool)
	go func() { ahead <- p.another(0, 2) }()
	p.lock.Lock()
	p.begun = time.Now().Add(-time.Hour)
	p.lock.Unlock()
	if !p.another(1, 1) {
		t.Error("thread 1 leaves out a pass that thread 0 has begun")
	}
	if <-ahead {
		t.Error("thread 0 goes on when time is up")
	}
	if p.another(1, 2) {
		t.Error("thread 1 goes on when thread 0 has ended")
	}
}

func TestOneThreadEndsWhenTimeIsUp(t *testing.T) {
	p := newPasses(1, time.Hour)
	p.begin()
	for finished := range uint64(100) {
		if !p.another(0, finished+1) {
			t.Fatalf("ends after %d passes", finished+1)
		}
	}
	p.begun = time.Now().Add(-time.Hour)
	if p.another(0, 101) {
		t.Error("goes on when time is up")
	}
}
