// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A job is what was asked for on the command line.
type job struct {
	subject *subject
	threads int
	own     bool // clock; else the time is given
	trace   *trace
}

// A run is what all threads are told: which pass comes first, and how to agree on the last.
type run struct {
	first uint64
	*passes
}

// played is what one thread did in a run.
type played struct {
	begun, ended time.Time
	passes       uint64
	admitted     uint64
}

// A team is the threads, as seen from who tells them to run.
type team struct {
	orders  []chan *run
	results chan played
	table   limiter
	passes  uint64 // so far
}

// newTeam begins the threads; they wait for their first run.
func newTeam(j *job, lists [][]record) *team {
	t := &team{results: make(chan played, len(lists))}
	for thread, list := range lists {
		orders := make(chan *run)
		t.orders = append(t.orders, orders)
		go func() {
			runtime.LockOSThread()
			for r := range orders {
				t.results <- t.part(j, thread, list, r)
			}
		}()
	}
	return t
}

// part is what one thread does in a run.
func (t *team) part(j *job, thread int, list []record, r *run) played {
	p := played{begun: r.begin()}
	for {
		if j.own {
			p.admitted += t.table.own(list)
		} else {
			p.admitted += t.table.given(list, time.Duration(r.first+p.passes)*j.trace.span)
		}
		p.passes++
		if !r.another(thread, p.passes) {
			p.ended = time.Now()
			return p
		}
	}
}

// run lets all threads play for that long, and says what they did together.
func (t *team) run(seconds time.Duration) played {
	r := &run{t.passes, newPasses(len(t.orders), seconds)}
	for _, orders := range t.orders {
		orders <- r
	}
	all := <-t.results
	for range len(t.orders) - 1 {
		one := <-t.results
		if one.begun.Before(all.begun) {
			all.begun = one.begun
		}
		if one.ended.After(all.ended) {
			all.ended = one.ended
		}
		all.admitted += one.admitted
	}
	t.passes += all.passes
	return all
}

type readyLine struct {
	Ready           bool    `json:"ready"`
	Subject         string  `json:"subject"`
	Version         string  `json:"version"`
	Threads         int     `json:"threads"`
	Clock           string  `json:"clock"`
	Batch           int     `json:"batch"`
	Keys            uint64  `json:"keys"`
	BytesPerKey     float64 `json:"bytes_per_key"`
	HeapBytesPerKey float64 `json:"heap_bytes_per_key"`
}

type runLine struct {
	Decisions  uint64  `json:"decisions"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Admitted   uint64  `json:"admitted"`
	Least      uint64  `json:"least"`
	Most       uint64  `json:"most"`
}

func printLine(line any) error {
	text, err := json.Marshal(line)
	if err == nil {
		_, err = fmt.Printf("%s\n", text)
	}
	return err
}

// bounds is the least and the most that may be admitted of so many decisions.
func (j *job) bounds(passes, decisions uint64) (least, most uint64) {
	t := j.trace
	switch {
	case j.own:
		return decisions, decisions
	case j.threads > 1 && t.isHot():
		elapsed := uint64(t.span)*(passes-1) + uint64(t.last)
		high, low := bits.Mul64(elapsed, t.limit)
		if high >= t.period {
			return 0, decisions
		}
		gained, _ := bits.Div64(high, low, t.period)
		if gained >= decisions {
			return 0, decisions
		}
		return 0, min(gained+t.burst, decisions)
	default:
		return passes * t.admitted, passes * t.admitted
	}
}

func (j *job) play(t *team, seconds time.Duration) runLine {
	before := cpuTime()
	all := t.run(seconds)
	cpu := cpuTime() - before
	decisions := all.passes * j.trace.records
	if j.trace.isHot() {
		decisions *= uint64(j.threads)
	}
	least, most := j.bounds(all.passes, decisions)
	wall := all.ended.Sub(all.begun)
	return runLine{decisions, wall.Seconds(), cpu.Seconds(), all.admitted, least, most}
}

// secondsOf a line "run SECONDS"; over tells that it is "quit".
func secondsOf(line string) (seconds time.Duration, over bool, err error) {
	words := strings.Fields(line)
	if len(words) == 1 && words[0] == "quit" {
		return 0, true, nil
	}
	if len(words) == 2 && words[0] == "run" {
		given, err := strconv.ParseFloat(words[1], 64)
		if err == nil && given >= 0 && given < math.MaxInt64/float64(time.Second) {
			return time.Duration(given * float64(time.Second)), false, nil
		}
	}
	return 0, false, fmt.Errorf(`standard input: %q is neither "run SECONDS" nor "quit"`, line)
}

// obey does what the lines of input say.
func (j *job) obey(t *team, input io.Reader) error {
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		seconds, over, err := secondsOf(lines.Text())
		if over || err != nil {
			return err
		}
		if err := printLine(j.play(t, seconds)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// ready makes the threads, then the table, plays pass 0, and tells what that took.
func (j *job) ready() (*team, readyLine, error) {
	runtime.GOMAXPROCS(max(j.threads, runtime.GOMAXPROCS(0)))
	t := newTeam(j, j.trace.lists(j.threads))
	before := memoryNow()
	table, err := j.subject.open(&j.trace.head)
	if err != nil {
		return nil, readyLine{}, unable{err}
	}
	t.table = table
	t.run(0)
	after := memoryNow()
	perKey := func(bytes int64) float64 {
		return math.Round(10*float64(max(bytes, 0))/float64(j.trace.occurring)) / 10
	}
	clock := "given"
	if j.own {
		clock = "own"
	}
	return t, readyLine{
		Ready:           true,
		Subject:         j.subject.name,
		Version:         j.subject.version(),
		Threads:         j.threads,
		Clock:           clock,
		Batch:           1,
		Keys:            j.trace.keys,
		BytesPerKey:     perKey(after.resident - before.resident),
		HeapBytesPerKey: perKey(after.heap - before.heap),
	}, nil
}

func (j *job) do() error {
	t, line, err := j.ready()
	if err != nil {
		return err
	}
	if err := printLine(line); err != nil {
		return err
	}
	return j.obey(t, os.Stdin)
}
