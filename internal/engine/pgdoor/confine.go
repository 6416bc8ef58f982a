package pgdoor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// maxData is the most memory of its own of a process that serves a reader,
	// in bytes, its stack and what it shares with others not counted. An empty
	// one has some 10 MiB. Postgres answers what needs more with an error.
	maxData = 256 << 20
	// niceness is how far it gives way to others for the processor.
	niceness = 10
)

// confine bounds the memory of one of Postgres' processes, for good, and makes it
// give way. Settings of Postgres' would be the session's own to change. The limit
// is not on the address space: a stack that can't grow ends the process, and with
// it all of Postgres.
func confine(pid int) error {
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxData, Max: maxData}, nil); err != nil {
		return fmt.Errorf("bound the memory of process %d: %w", pid, err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, pid, niceness); err != nil {
		return fmt.Errorf("lower the priority of process %d: %w", pid, err)
	}
	return nil
}
