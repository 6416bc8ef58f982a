package pages

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tributary/internal/pg"
	"tributary/queries/expect"
	"tributary/queries/report"
)

// sharedFor is how long what was read for one reader of the first page is shown to
// others, if nothing has changed since.
const sharedFor = 2 * time.Second

const (
	// rest is how many times as long as it took a reading is shown to others before the
	// next begins, though the tracker has changed: while files come in, readings take a
	// tenth of the time of one connection, however many people look on and however long
	// one takes.
	rest = 9
	// longestRest bounds it.
	longestRest = 10 * time.Second
)

// stood is what the first page shows everybody, when it was read, and where the tracker
// stood before: what changed from there on may be missing.
type stood struct {
	at       time.Time
	position string
	stand    report.Status
	pace     report.Pace
	failing  []report.Failing
	sessions []report.Session
}

// shared has what was read last for each span. It is safe for concurrent use.
type shared struct {
	mu    sync.Mutex
	spans map[string]*sharedSpan
}

type sharedSpan struct {
	begun atomic.Int64 // readings, also the one that goes on

	turn   chan struct{} // held by who reads, or looks whether it was read
	number int64         // of the reading that ended last
	rests  time.Time     // until then its finding is shown, though the tracker has changed
	read   *stood        // what it found; nil: nothing, for err
	err    error
}

// of is what was read last for a span.
func (s *shared) of(span string) *sharedSpan {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spans == nil {
		s.spans = map[string]*sharedSpan{}
	}
	if s.spans[span] == nil {
		s.spans[span] = &sharedSpan{turn: make(chan struct{}, 1)}
	}
	return s.spans[span]
}

// standing is where everything stands: as it was read for another reader, if that began
// after this one asked, or was just now and nothing has changed since, or has taken so long
// that the next one is to wait; else read anew. So of any number of readers who ask while one
// reading goes on, one has it read again for all of them, though the tracker changes
// meanwhile. What is returned is not to be changed.
func (s *Site) standing(ctx context.Context, over report.Span) (*stood, error) {
	if s.Position == nil || s.shared == nil {
		return s.readStanding(ctx, over, "")
	}
	one := s.shared.of(over.Name)
	before := one.begun.Load()
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	position := s.Position(ctx) // before it is read
	switch is := one.read; {
	case position != "" && one.number > before:
		return is, one.err
	case position != "" && is != nil && position == is.position && s.Now().Sub(is.at).Abs() < sharedFor:
		return is, nil
	case position != "" && is != nil && s.Now().Before(one.rests):
		return is, nil
	}
	one.number = one.begun.Add(1)
	// It goes on if who asked leaves: others wait for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	began := s.Now()
	one.read, one.err = s.readStanding(ctx, over, position)
	one.rests = s.Now().Add(min(longestRest, rest*s.Now().Sub(began)))
	return one.read, one.err
}

func (s *Site) readStanding(ctx context.Context, over report.Span, position string) (*stood, error) {
	is := &stood{at: s.Now(), position: position}
	var err error
	if is.stand, err = expect.Stand(ctx, s.Tracker, is.at, oldest); err == nil && s.Beside != nil {
		err = s.Beside(ctx, &is.stand)
	}
	if err != nil {
		return nil, err
	}
	if is.pace, err = report.ReadPace(ctx, s.Tracker, is.at, over); err != nil {
		return nil, err
	}
	err = pg.Together(ctx, s.Tracker,
		pg.Into(&is.failing, func(ctx context.Context) ([]report.Failing, error) { return report.Failures(ctx, s.Tracker, is.at, "") }),
		pg.Into(&is.sessions, func(ctx context.Context) ([]report.Session, error) {
			return report.Sessions(ctx, s.Tracker, time.Time{}, latest)
		}))
	if err != nil {
		return nil, err
	}
	return is, nil
}
