package engine

import (
	"context"
	"errors"
	"time"

	"tributary/internal/backoff"
)

const (
	minBackoff = 200 * time.Millisecond
	maxBackoff = 30 * time.Second
	// steady is how long an engine must have run for its next end to count
	// as its first.
	steady = time.Minute
	// logEvery is how often the size of the broker's log is looked at.
	logEvery = time.Hour
)

// server is an engine in a process of its own.
type server interface {
	Start(ctx context.Context) error
	Done() <-chan struct{}
	Err() error
	LastWords() string
}

// Run restarts Postgres and ClickHouse when their processes end, at once the
// first time and then with growing pauses of at most 30 s, until ctx ends or
// the engines are closed. It returns nil then; endpoints do not change.
func (e *Engines) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.closing, cancel)()
	watched := map[string]server{}
	if e.postgres != nil {
		watched["postgres"] = e.postgres
	}
	if e.clickhouse != nil {
		watched["clickhouse"] = e.clickhouse
	}
	// Close waits for what is started here, so nothing may start after it.
	e.mu.Lock()
	if e.closing.Err() != nil {
		e.mu.Unlock()
		return errors.New("the engines are closed")
	}
	for name, s := range watched {
		e.running.Go(func() { e.keep(ctx, name, s) })
	}
	if e.measure != nil {
		e.running.Go(func() { e.watchLog(ctx) })
	}
	e.mu.Unlock()
	<-ctx.Done()
	e.running.Wait()
	return nil
}

// watchLog warns of a broker's log that is too large, again and again, until ctx
// ends.
func (e *Engines) watchLog(ctx context.Context) {
	for {
		e.sayLog()
		if backoff.Sleep(ctx, logEvery) != nil {
			return
		}
	}
}

func (e *Engines) sayLog() {
	l, err := e.measure()
	if err != nil {
		e.log.Error("the embedded broker's log can't be measured", "error", err)
	} else if alarm := l.Alarm(); alarm != "" {
		e.log.Warn(alarm)
	}
}

// keep keeps one engine running.
func (e *Engines) keep(ctx context.Context, name string, s server) {
	pauses, starts := backoff.Exponential{Base: minBackoff, Max: maxBackoff}, 1
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-s.Done():
		}
		e.log.Error("an embedded engine ended unasked; restarting it", "engine", name, "ended", s.Err(), "last_words", s.LastWords())
		if time.Since(began) > steady {
			starts = 1
		}
		for {
			if backoff.Sleep(ctx, pauses.After(starts)) != nil {
				return
			}
			starts++
			err := s.Start(ctx)
			if err == nil {
				e.log.Info("the embedded engine runs again", "engine", name)
				break
			}
			if ctx.Err() != nil {
				return
			}
			e.log.Error("an embedded engine does not start", "engine", name, "error", err, "next_try_in", pauses.After(starts))
		}
	}
}
