package stage

import (
	"sync"
	"time"
)

// watchdog barks when nobody has reported progress for too long. While held,
// because the work waits for Kafka and not for itself, it sleeps.
type watchdog struct {
	limit time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	held    int
	stopped bool
}

func watch(limit time.Duration, bark func()) *watchdog {
	return &watchdog{limit: limit, timer: time.AfterFunc(limit, bark)}
}

// progress starts the time anew.
func (w *watchdog) progress() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped && w.held == 0 {
		w.timer.Reset(w.limit)
	}
}

// hold lets the watchdog sleep until the returned function is called.
func (w *watchdog) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held++
	w.timer.Stop()
	return func() {
		w.mu.Lock()
		w.held--
		w.mu.Unlock()
		w.progress()
	}
}

// stop ends the watch.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}
