package counters

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// WatchPeak begins to watch how much memory a process has resident at most, without what
// it has started. What it returns ends that and tells the bytes, 0 where they can't be
// read; the process may have ended before.
func WatchPeak(pid int) (peak func() int64) {
	end, told := make(chan struct{}), make(chan int64)
	go func() {
		var most int64
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, Peak(pid))
			select {
			case <-end:
				told <- max(most, Peak(pid))
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 { close(end); return <-told }
}

// Peak is how many bytes a process has had resident at most by now; 0 once it has ended.
func Peak(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // it has ended
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}
