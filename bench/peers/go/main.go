// SPDX-License-Identifier: MIT

// Plays a trace file against rate limiters of Go, and counts what they admit.
//
//	PROGRAM --trace FILE --subject NAME [--threads T] [--clock given|own] [--batch 1]
//	PROGRAM --list
//
// It prints one line of JSON when the table has all keys of the trace, and one more for each line
// "run SECONDS" on standard input; "quit" ends it. Exit status 2 is wrong usage or a bad trace, 3
// what the subject cannot do. Every decision goes through the library's own call, and its answer is
// counted. No library decides on several keys in one call. A thread is a goroutine locked to a
// thread of the system; the collector is as it is by default.
//
//	subject              clock            exact  memory            sized beforehand
//	x_time_rate          given, time.Now  no*    no key goes away  the maps, not the limiters
//	x_time_rate_syncmap  given, time.Now  no*    no key goes away  no, it cannot be
//	x_time_rate_hot      given, time.Now  no*    one limiter       one limiter
//	uber_ratelimit       time.Now         **     one limiter       one limiter
//
// x/time/rate has no keys. x_time_rate keeps a pointer to a Limiter per uint64 in the maps of 64
// shards, each behind a sync.Mutex that is held for the look-up; x_time_rate_syncmap in a sync.Map,
// whose call takes the key as an interface. A Limiter has its own mutex, held for the arithmetic.
// A given time is the start's time.Now plus a Duration, added in the timed loop: with the monotonic
// reading in it, as its users have it. The own clock is time.Now, which Allow reads, too.
// x_time_rate_hot: one Limiter; plays traces of one key.
// * It counts tokens in float64 and rounds the wait for what is missing down to whole nanoseconds,
// so that a token may be taken a nanosecond early; and a time before the last one sets it back, so
// that threads whose times are out of step get the same time's tokens again.
//
// uber_ratelimit: New(1e9), one leaky bucket without keys, default slack (10); plays traces of one
// key. Its call, Take, answers when, not whether: it sleeps until then. There is nothing to compare
// but what Take costs when it does not wait, so the rate is a call each nanosecond, which is sooner
// than the next one can come, and not the trace's: a clock is read, the time of the next permission
// is set by compare-and-swap, and no call ever sleeps.
// ** Nothing is denied, so all are admitted.
//
// bytes_per_key: growth of the resident set by the table and pass 0, over the keys that occur, what
// the collector found dead given back both times; heap_bytes_per_key: that of live bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

const threadsMost = 1024

type subject struct {
	name     string
	module   string
	with     string
	givenToo bool // takes a given time, and not only its own clock's
	onlyHot  bool
	open     func(*head) (limiter, error)
}

const (
	xTime = "golang.org/x/time"
	uber  = "go.uber.org/ratelimit"
)

var subjects = []subject{
	{"x_time_rate", xTime, "map in 64 shards behind sync.Mutex", true, false, newSharded},
	{"x_time_rate_syncmap", xTime, "sync.Map", true, false, newMapped},
	{"x_time_rate_hot", xTime, "one limiter", true, true, newSingle},
	{"uber_ratelimit", uber, "a rate that never waits", false, true, newLeaky},
}

// version is what the program was built from.
func (s *subject) version() string {
	found := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == s.module {
				found = module.Version
			}
		}
	}
	return fmt.Sprintf("%s %s, %s", s.module, found, s.with)
}

func list() {
	for _, s := range subjects {
		clocks := "own"
		if s.givenToo {
			clocks = "given,own"
		}
		fmt.Printf("%s\t%s\t1\t%s\n", s.name, clocks, s.version())
	}
}

// unable is what a subject cannot do.
type unable struct {
	error
}

type options struct {
	list                  bool
	trace, subject, clock string
	threads, batch        int
}

func parseOptions(arguments []string) (options, error) {
	var o options
	set := flag.NewFlagSet("peers", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.BoolVar(&o.list, "list", false, "")
	set.StringVar(&o.trace, "trace", "", "")
	set.StringVar(&o.subject, "subject", "", "")
	set.StringVar(&o.clock, "clock", "", "")
	set.IntVar(&o.threads, "threads", 1, "")
	set.IntVar(&o.batch, "batch", 1, "")
	err := set.Parse(arguments)
	switch {
	case err != nil:
		return o, err
	case set.NArg() > 0:
		return o, fmt.Errorf("unknown argument %s", set.Arg(0))
	case o.list:
		return o, nil
	case o.trace == "":
		return o, errors.New("-trace is missing")
	case o.subject == "":
		return o, errors.New("-subject is missing")
	case o.clock != "" && o.clock != "given" && o.clock != "own":
		return o, fmt.Errorf("-clock %s: neither given nor own", o.clock)
	case o.threads < 1 || o.threads > threadsMost:
		return o, fmt.Errorf("-threads %d: not 1 to %d", o.threads, threadsMost)
	case o.batch < 1:
		return o, fmt.Errorf("-batch %d: not from 1 on", o.batch)
	}
	return o, nil
}

func find(name string) (*subject, error) {
	for i := range subjects {
		if subjects[i].name == name {
			return &subjects[i], nil
		}
	}
	return nil, fmt.Errorf("unknown subject %s (see --list)", name)
}

func newJob(o options) (*job, error) {
	s, err := find(o.subject)
	switch {
	case err != nil:
		return nil, err
	case o.batch > 1:
		return nil, unable{fmt.Errorf("%s has no call for several decisions", s.name)}
	case o.clock == "given" && !s.givenToo:
		return nil, unable{fmt.Errorf("%s is measured with its own clock only", s.name)}
	}
	t, err := readTrace(o.trace)
	if err != nil {
		return nil, err
	}
	own := o.clock == "own" || !s.givenToo
	if own && t.admitted != t.records {
		return nil, unable{errors.New(
			"own clocks play no trace that denies: no answer would be right")}
	}
	return &job{s, o.threads, own, t}, nil
}

func do(arguments []string) error {
	o, err := parseOptions(arguments)
	if err != nil {
		return err
	}
	if o.list {
		list()
		return nil
	}
	j, err := newJob(o)
	if err != nil {
		return err
	}
	return j.do()
}

func main() {
	err := do(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "go peers: %s\n", strings.TrimSpace(err.Error()))
	if errors.As(err, &unable{}) {
		os.Exit(3)
	}
	os.Exit(2)
}
