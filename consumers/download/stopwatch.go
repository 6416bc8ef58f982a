package download

import (
	"sync"
	"time"
)

// stopwatch measures for how long anybody held it; what several do at once counts once.
// The zero stopwatch stands at nothing.
type stopwatch struct {
	mu      sync.Mutex
	holders int
	since   time.Time // when the first of them began
	before  time.Duration
}

// begin holds it until end is called.
func (s *stopwatch) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders++; s.holders == 1 {
		s.since = time.Now()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.holders--; s.holders == 0 {
			s.before += time.Since(s.since)
		}
	}
}

// elapsed is for how long it was held so far.
func (s *stopwatch) elapsed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders == 0 {
		return s.before
	}
	return s.before + time.Since(s.since)
}
