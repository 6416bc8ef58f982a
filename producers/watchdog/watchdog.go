// Package watchdog reports what no event tells: that insertion has stopped, that an
// engine can't be reached, that a disk or a log fills. It needs none of them: it looks
// by itself, tells targets by itself, and keeps what it knows in memory. That it has
// ended itself is noticed by whoever watches its heartbeat.
package watchdog

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"tributary/internal/backoff"
	"tributary/internal/notice"
	"tributary/schemas"
)

const (
	// looks is how many looks in a row find a trouble before it is told, or its end.
	looks = 2
	// lookTimeout is for one check of a look.
	lookTimeout = 10 * time.Second
)

// Kinds of what is told.
const (
	Trouble = "trouble"
	Over    = "trouble_over"
)

// Check looks for one trouble.
type Check struct {
	Name string // short, such as kafka
	// Look returns what is wrong, in words, or nothing.
	Look func(ctx context.Context) string
}

// Deps are what a Watchdog works with.
type Deps struct {
	Checks  []Check
	Targets map[string]notice.Target
	Ping    func(context.Context) error // the heartbeat; nil: there is none
	Host    string                      // who says it
	Log     *slog.Logger
	Now     func() time.Time
	Every   time.Duration // between looks
}

// Watchdog looks at every interval.
type Watchdog struct {
	deps  Deps
	known map[string]*state
}

// state is what is known of one trouble.
type state struct {
	words string
	count int       // looks in a row that contradict what was told
	since time.Time // zero: there is none
	// told says, by target, of which trouble it knows: when that began.
	told map[string]time.Time
}

// New makes a Watchdog, which does nothing until Run.
func New(d Deps) *Watchdog {
	w := &Watchdog{deps: d, known: map[string]*state{}}
	for _, c := range d.Checks {
		w.known[c.Name] = &state{told: map[string]time.Time{}}
	}
	return w
}

// Run looks until ctx ends.
func (w *Watchdog) Run(ctx context.Context) error {
	for range backoff.Every(ctx, w.deps.Every) {
		w.Look(ctx)
	}
	return nil
}

// Look looks once, tells what is to be told, and sends the heartbeat. Who can't be told
// is told at the next look, if it is still so.
func (w *Watchdog) Look(ctx context.Context) {
	for _, c := range w.deps.Checks {
		at, cancel := context.WithTimeout(ctx, lookTimeout)
		words := c.Look(at)
		cancel()
		if ctx.Err() != nil {
			return
		}
		w.known[c.Name].seen(words, w.deps.Now())
	}
	for id, target := range w.deps.Targets {
		w.tell(ctx, id, target)
	}
	if w.deps.Ping == nil || ctx.Err() != nil {
		return
	}
	if err := w.deps.Ping(ctx); err != nil && ctx.Err() == nil {
		w.deps.Log.Warn("the heartbeat of the watchdog was not taken", "error", schemas.Clean(err.Error()))
	}
}

// seen takes what a look has found.
func (s *state) seen(words string, now time.Time) {
	if (words != "") == !s.since.IsZero() {
		s.count = 0
		if words != "" {
			s.words = words
		}
		return
	}
	if s.count++; s.count < looks {
		return
	}
	if s.count = 0; words == "" {
		s.since = time.Time{}
		return
	}
	s.words, s.since = words, now
}

// tell tells a target what it doesn't know, until it can't be told.
func (w *Watchdog) tell(ctx context.Context, id string, target notice.Target) {
	for _, c := range w.deps.Checks {
		s := w.known[c.Name]
		began, knows := s.told[id]
		if knows && !began.Equal(s.since) && !w.give(ctx, id, target, w.notice(Over, c.Name, "It is over: "+s.words, began)) {
			return
		}
		if knows && !began.Equal(s.since) {
			delete(s.told, id)
			knows = false
		}
		if s.since.IsZero() || knows {
			continue
		}
		if !w.give(ctx, id, target, w.notice(Trouble, c.Name, s.words, s.since)) {
			return
		}
		s.told[id] = s.since
	}
}

// give tells one thing, and says whether it was taken, or refused for good.
func (w *Watchdog) give(ctx context.Context, id string, target notice.Target, n notice.Notice) bool {
	err := target.Deliver(ctx, n)
	if err != nil && ctx.Err() == nil {
		w.deps.Log.Warn("the watchdog can't tell a target", "target", id, "what", n.Title, "error", schemas.Clean(err.Error()))
	}
	return err == nil || notice.IsRefused(err)
}

func (w *Watchdog) notice(kind, check, words string, since time.Time) notice.Notice {
	return notice.Notice{ID: schemas.ID("watchdog", w.deps.Host, check, kind, since.UTC().Format(time.RFC3339Nano)), Kind: kind, Time: w.deps.Now(), Title: words,
		Data: notice.Data{Message: words + "\n\nSeen by the process on " + w.deps.Host + ", since " + since.UTC().Format(time.RFC3339) + ".", Exception: check}}
}

// Stopped says that insertion has stopped: that positions wait, and none was applied for
// longer than after. positions returns the last that was given and the last that was
// applied; what it can't say is no stop.
func Stopped(positions func(context.Context) (given, applied int64, err error), after time.Duration, now func() time.Time) Check {
	var last int64
	var since time.Time
	return Check{Name: "insertion", Look: func(ctx context.Context) string {
		given, applied, err := positions(ctx)
		if err != nil {
			return ""
		}
		if applied != last || applied >= given || since.IsZero() {
			last, since = applied, now()
		}
		if applied < given && now().Sub(since) >= after {
			return "Insertion has stopped: " + strconv.FormatInt(given-applied, 10) + " positions wait, and none was applied since " + since.UTC().Format(time.RFC3339)
		}
		return ""
	}}
}
