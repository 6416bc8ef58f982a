package main

import (
	"os"
	"runtime/debug"
)

const (
	// gcPercent lets the heap grow to three times what is live before it is
	// collected: the roles hold little and allocate much.
	gcPercent = 200
	// memoryLimit is where the collector works harder instead, so that a
	// process stays below 300 MB.
	memoryLimit = 210 << 20
)

// tuneMemory sets the collector for long-running commands, unless the
// environment does (GOGC, GOMEMLIMIT).
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
