package pages

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tributary/queries/expect"
	"tributary/queries/report"
)

// sharedFor is how long what was read for one reader of the first page is shown to
// others, if nothing has changed since.
const sharedFor = 2 * time.Second

// stood is what the first page shows everybody, and when it was read.
type stood struct {
	at       time.Time
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

	turn     chan struct{} // held by who reads, or looks whether it was read
	number   int64         // of the reading that ended last
	position string        // where the tracker stood before it
	read     *stood        // what it found; nil: nothing, for err
	err      error
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
// after this one asked, or was just now and nothing has changed since; else read anew. So
// of any number of readers who ask while one reading goes on, one has it read again for all
// of them, though the tracker changes meanwhile. What is returned is not to be changed.
func (s *Site) standing(ctx context.Context, over report.Span) (*stood, error) {
	if s.Position == nil || s.shared == nil {
		return s.readStanding(ctx, over)
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
	case position != "" && is != nil && position == one.position && s.Now().Sub(is.at).Abs() < sharedFor:
		return is, nil
	}
	one.number = one.begun.Add(1)
	// It goes on if who asked leaves: others wait for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	one.position = position
	one.read, one.err = s.readStanding(ctx, over)
	return one.read, one.err
}

func (s *Site) readStanding(ctx context.Context, over report.Span) (*stood, error) {
	is := &stood{at: s.Now()}
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
	if is.failing, err = report.Failures(ctx, s.Tracker, is.at, ""); err != nil {
		return nil, err
	}
	if is.sessions, err = report.Sessions(ctx, s.Tracker, time.Time{}, latest); err != nil {
		return nil, err
	}
	return is, nil
}
