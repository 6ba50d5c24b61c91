package main

import (
	"runtime"
	"sync"
	"syscall"
	"time"
)

// shareWait is how long free processors are looked for.
const shareWait = 500 * time.Millisecond

// freeShare is the share of the machine's processors that a program gets which wants
// them all, in percent. Figures of a machine that does other things are not worth
// keeping, and this says so.
func freeShare() result {
	var spinning sync.WaitGroup
	began, before := time.Now(), processorTime()
	for range runtime.NumCPU() {
		spinning.Go(func() {
			for time.Since(began) < shareWait {
				runtime.Gosched() // the clock is asked again: that is work, too
			}
		})
	}
	spinning.Wait()
	wanted := time.Since(began) * time.Duration(runtime.NumCPU())
	return result{
		ID: "machine", Name: "processors that were free when the run began", Unit: "%",
		Value: 100 * float64(processorTime()-before) / float64(wanted),
	}
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0 // it fails for an address that is none
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
