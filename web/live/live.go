// Package live tells open pages that something has changed, by server-sent events.
// It tells that, not what: a page that hears of it fetches itself again, with what
// its reader may see, by the same address. So one question a second to the tracker
// serves any number of readers, and none is asked while there is no reader; and as each
// that hears of a change fetches a page, so many are told in a second and no more: the
// more there are, the less often each.
package live

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"tributary/web/access"
)

const (
	// MaxReaders is how many may listen at once where the configuration says nothing.
	MaxReaders = 1000
	// every is how often the tracker is asked, and so the least time between two
	// events.
	every = time.Second
	// askTime is how long one question may take.
	askTime = 10 * time.Second
	// Heartbeat is after how much silence a comment is sent, so that what lies
	// between keeps the connection, and one that is dead is noticed.
	Heartbeat = 15 * time.Second
	// StreamTime is how long a stream goes on before its reader is told to ask for
	// another one: who they are, and what they may, is looked at when they ask.
	StreamTime = 5 * time.Minute
	// writeTime is how long a reader may take to read what is sent; then it is dropped.
	writeTime = 10 * time.Second
	// told is how many readers are told of changes in a second, and at once. A page takes
	// some milliseconds of the processor, so that readers, however many, leave the rest of
	// it to others.
	told = 40
	// retry is after how many seconds a reader may come again that was refused.
	retry = 30
)

// Config bounds the feed.
type Config struct {
	// Readers is how many may listen at once; 0: MaxReaders.
	Readers int
}

// Deps are what a feed works with.
type Deps struct {
	// Position is where the tracker stands: another text whenever its rows may be
	// others, without line breaks (report.Position).
	Position func(context.Context) (string, error)
	Log      *slog.Logger
}

// Feed asks where the tracker stands and wakes its readers.
type Feed struct {
	cfg  Config
	deps Deps
	done chan struct{} // closed when Run ends
	came chan struct{} // has one element when a reader has come where none was

	asking chan struct{} // held by who asks
	asked  time.Time     // when that was last answered, or failed; guarded by asking

	mu      sync.Mutex
	last    change
	changed chan struct{} // closed at the next change
	readers int
	next    time.Time // when the next reader may be told
}

// change is a position, and when it was seen first.
type change struct {
	position string // empty: not known yet
	at       time.Time
	event    string // that tells of it, the same to all
}

// New makes a feed. Readers wait until Run asks for them.
func New(cfg Config, deps Deps) *Feed {
	if cfg.Readers == 0 {
		cfg.Readers = MaxReaders
	}
	return &Feed{cfg: cfg, deps: deps, done: make(chan struct{}), came: make(chan struct{}, 1), asking: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Run asks while anybody listens, until ctx ends; with it all readers end. It is called
// once.
func (f *Feed) Run(ctx context.Context) error {
	defer close(f.done)
	failing := false
	for {
		var again <-chan time.Time // nil: when somebody comes
		if f.listened() {
			wait, err := f.ask(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				f.deps.Log.Warn("pages are not told of changes until the tracker answers", "error", err)
			}
			failing = err != nil
			again = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.came:
		case <-again:
		}
	}
}

// ask asks, unless somebody has asked less than a second ago, and wakes all readers if
// something has changed. It returns how long that answer is good for.
func (f *Feed) ask(ctx context.Context) (time.Duration, error) {
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
	case <-ctx.Done():
		return every, ctx.Err()
	}
	if since := time.Since(f.asked); since < every {
		return every - since, nil
	}
	limited, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	position, err := f.deps.Position(limited)
	if err == nil || ctx.Err() == nil { // if who asked has left, the next one asks
		f.asked = time.Now()
	}
	if err != nil {
		return every, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if position != f.last.position {
		at := time.Now().UTC()
		f.last = change{position, at, fmt.Sprintf("id: %s\ndata: %s\n\n", position, at.Format(time.RFC3339))}
		close(f.changed)
		f.changed = make(chan struct{})
	}
	return every, nil
}

// Position is where the tracker stood when it was last asked, a second ago at most if it
// answers; empty before. A page that is read from the tracker after this call shows that
// much at least.
func (f *Feed) Position(ctx context.Context) string {
	_, _ = f.ask(ctx) // who reads a page meets the same error
	last, _ := f.latest()
	return last.position
}

func (f *Feed) listened() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readers > 0
}

func (f *Feed) latest() (change, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.changed
}

// enter counts a reader, if there is room.
func (f *Feed) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers >= f.cfg.Readers {
		return false
	}
	if f.readers++; f.readers == 1 {
		select {
		case f.came <- struct{}{}:
		default:
		}
	}
	return true
}

func (f *Feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
}

// turn is after how long a reader may be told of a change. Readers have turns in the order
// in which they ask for them.
func (f *Feed) turn() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.next.Before(now.Add(-time.Second)) { // whoever comes at once after a silence
		f.next = now.Add(-time.Second)
	}
	f.next = f.next.Add(time.Second / told)
	return f.next.Sub(now)
}

// Route is where pages listen.
func (f *Feed) Route() access.Route {
	return access.Route{Pattern: "GET /events", Least: access.Reader, Handler: f.Handler()}
}

// Handler answers with a stream of events: one for each change since the id that
// the reader knows (the header Last-Event-ID, or else the query's after), at most
// one a second, and fewer where many readers listen. Its data is the moment of the change in UTC. After StreamTime the event
// again ends the stream.
func (f *Feed) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.enter() {
			w.Header().Set("Retry-After", strconv.Itoa(retry))
			http.Error(w, fmt.Sprintf("%d readers listen already, which is the most; come again in %d seconds.", f.cfg.Readers, retry), http.StatusServiceUnavailable)
			return
		}
		defer f.leave()
		seen := r.Header.Get("Last-Event-ID")
		if seen == "" {
			seen = r.URL.Query().Get("after")
		}
		if err := f.stream(r.Context(), w, seen); err != nil {
			f.deps.Log.Debug("a reader of events is dropped", "error", err)
		}
	})
}

// stream sends events until the reader, or the server, is gone.
func (f *Feed) stream(ctx context.Context, w http.ResponseWriter, seen string) error {
	s, err := Begin(w, ": changes of the tracker\n\n")
	if err != nil {
		return err
	}
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	over := time.NewTimer(StreamTime)
	defer over.Stop()
	var turn <-chan time.Time // when this reader is told; nil: of nothing
	for {
		last, changed := f.latest()
		news := last.position != seen && last.position != ""
		if news && turn == nil {
			turn = time.After(f.turn())
		}
		if news { // what else changes until then is told with it
			changed = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.done:
			return nil
		case <-over.C:
			return s.Again()
		case <-changed:
		case <-turn:
			turn = nil
			if last, _ = f.latest(); last.position == seen {
				continue
			}
			seen = last.position
			if err := s.Send(last.event); err != nil {
				return err
			}
		case <-beat.C:
			if err := s.Send(":\n\n"); err != nil {
				return err
			}
		}
	}
}
