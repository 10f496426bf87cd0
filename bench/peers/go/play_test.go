// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"testing"
	"time"
)

// Of one key, limit 3 per 2 ns, burst 10: three records, the last at 4 of a span of 20.
func hotJob(threads int, own bool) *job {
	h := head{records: 3, keys: 1, limit: 3, period: 2, burst: 10, span: 20, admitted: 2}
	return &job{threads: threads, own: own, trace: &trace{head: h, occurring: 1, last: 4}}
}

func TestWhatMayBeAdmitted(t *testing.T) {
	for _, c := range []struct {
		job                            *job
		passes, decisions, least, most uint64
	}{
		{hotJob(1, false), 5, 15, 10, 10},
		{hotJob(2, true), 5, 30, 30, 30},
		// 4 passes of 20 ns and 4 ns: 84 ns are 126 tokens, and there were 10
		{hotJob(40, false), 5, 600, 0, 136},
		{hotJob(44, false), 5, 130, 0, 130},
		{hotJob(2, false), 5, 30, 0, 30},
	} {
		least, most := c.job.bounds(c.passes, c.decisions)
		if least != c.least || most != c.most {
			t.Errorf("%d to %d of %d, not %d to %d", least, most, c.decisions, c.least, c.most)
		}
	}
}

func TestMoreThan64BitsOfTokensAreAllDecisions(t *testing.T) {
	j := hotJob(2, false)
	j.trace.limit, j.trace.span = 1<<60, 1<<50
	if least, most := j.bounds(3, 18); least != 0 || most != 18 {
		t.Errorf("%d to %d, not 0 to 18", least, most)
	}
}

func TestCommandsAreUnderstoodOrRefused(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"run 0": 0, "run 0.25": 250 * time.Millisecond, " run  2 ": 2 * time.Second,
	} {
		if seconds, over, err := secondsOf(line); seconds != want || over || err != nil {
			t.Errorf("%q: %v, %v, %v", line, seconds, over, err)
		}
	}
	if _, over, err := secondsOf("quit"); !over || err != nil {
		t.Errorf("quit: %v, %v", over, err)
	}
	for _, line := range []string{"", "run", "run -1", "run 1 2", "run nan", "run inf", "stop"} {
		word := fmt.Sprintf(`standard input: %q is neither "run SECONDS" nor "quit"`, line)
		if _, over, err := secondsOf(line); over || err == nil || err.Error() != word {
			t.Errorf("%q: %v, %v", line, over, err)
		}
	}
}

// Of two keys and two threads, which go on where they ended.
func TestEveryPassIsExact(t *testing.T) {
	for _, s := range subjects {
		if !s.givenToo || s.onlyHot {
			continue
		}
		bytes := bytesOf(2, [3]uint64{0, 13, 0}, [3]uint64{1, 13, 0}, [3]uint64{0, 2, 1},
			[3]uint64{1, 13, 16}, [3]uint64{1, 1, 17})
		read, err := parseTrace(bytes)
		if err != nil {
			t.Fatal(err)
		}
		read.span, read.admitted = 60, 3
		j := &job{&s, 2, false, read}
		team, _, err := j.ready()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			line := j.play(team, time.Millisecond)
			passes := line.Decisions / 5
			if line.Decisions%5 != 0 || line.Admitted != 3*passes || line.Most != 3*passes {
				t.Errorf("%s: %+v", s.name, line)
			}
		}
	}
}
