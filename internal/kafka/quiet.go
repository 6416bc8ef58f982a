package kafka

import (
	"sync"
	"time"
)

const (
	quietFor   = 30 * time.Second // how long a repeated complaint stays silent
	quietNames = 1000             // names remembered, beyond which all are forgotten
)

// Quiet keeps a fault that lasts from filling the log: a broker that is down
// for an hour fails thousands of times in the same words.
type Quiet struct {
	now func() time.Time

	mu     sync.Mutex
	until  map[string]time.Time
	missed map[string]int
}

// NewQuiet makes a Quiet by the given clock.
func NewQuiet(now func() time.Time) *Quiet {
	return &Quiet{now: now, until: map[string]time.Time{}, missed: map[string]int{}}
}

// Due says whether the complaint of this name may be logged, which is once in
// 30 s, and how often it was held back since it last was.
func (q *Quiet) Due(name string) (missed int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	if until, known := q.until[name]; known && now.Before(until) {
		q.missed[name]++
		return 0, false
	}
	if len(q.until) >= quietNames {
		clear(q.until)
		clear(q.missed)
	}
	missed = q.missed[name]
	q.until[name] = now.Add(quietFor)
	delete(q.missed, name)
	return missed, true
}
