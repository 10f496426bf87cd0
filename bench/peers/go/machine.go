// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// memory is what this process has: pages in memory, and what lives on the heap, in bytes.
type memory struct {
	resident, heap int64
}

// memoryNow collects twice and gives what is free back to the kernel before it looks: without that
// a table could take what the trace has left, and would be counted too small.
func memoryNow() memory {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	text, err := os.ReadFile("/proc/self/statm")
	var size, pages int64
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &pages)
	}
	if err != nil {
		panic(fmt.Sprintf("/proc/self/statm: %v", err))
	}
	return memory{pages * int64(os.Getpagesize()), int64(stats.HeapAlloc)}
}

// cpuTime is the processor time of all threads so far, the collector's too.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Sprintf("getrusage: %v", err))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
