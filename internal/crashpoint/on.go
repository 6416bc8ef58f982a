//go:build crashpoints

package crashpoint

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The program's environment is the only way in, as labels stand everywhere.
var (
	mu    sync.Mutex
	label string // where to crash; empty: nowhere
	left  int    // occurrences until then
	with  = syscall.SIGKILL
	file  *os.File
	once  sync.Once
)

func arm() {
	if at, n, ok := cut(os.Getenv("TRIBUTARY_CRASH")); ok {
		label, left = at, n
	}
	if at, n, ok := cut(os.Getenv("TRIBUTARY_PAUSE")); ok {
		label, left, with = at, n, syscall.SIGSTOP
	}
	if path := os.Getenv("TRIBUTARY_CRASH_LOG"); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			panic("crashpoint: " + err.Error())
		}
		file = f
	}
}

// cut reads label:n.
func cut(text string) (at string, n int, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(text[i+1:])
	return text[:i], n, err == nil && n > 0
}

// At marks a step. The parts, joined by dots, are its label.
func At(parts ...string) {
	once.Do(arm)
	if label == "" && file == nil {
		return
	}
	at := strings.Join(parts, ".")
	mu.Lock()
	defer mu.Unlock()
	if file != nil {
		if _, err := file.WriteString(at + "\n"); err != nil {
			panic("crashpoint: " + err.Error())
		}
	}
	if at != label {
		return
	}
	if left--; left == 0 {
		// Nothing is flushed, nothing deferred: as kill -9 from outside. The
		// lock is kept, so that no other goroutine passes a label meanwhile.
		_ = syscall.Kill(os.Getpid(), with)
		if with == syscall.SIGKILL {
			select {}
		}
		time.Sleep(50 * time.Millisecond) // a signal that stops may reach another thread first
	}
}

// Caller returns what labels steps of the function that called the function
// that calls it: package and function, such as "sequence.release".
func Caller() string {
	pc, _, _, ok := runtime.Caller(2)
	if !ok {
		return "unknown"
	}
	name := runtime.FuncForPC(pc).Name() // tributary/consumers/sequence.(*Sequencer).release.func1
	name = name[strings.LastIndexByte(name, '/')+1:]
	parts := strings.Split(name, ".")
	out := parts[:1]
	for _, p := range parts[1:] {
		if !strings.HasPrefix(p, "(") && !strings.HasPrefix(p, "func") {
			out = append(out, p)
		}
	}
	return strings.Join(out, ".")
}
