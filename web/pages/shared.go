package pages

import (
	"context"
	"sync"
	"time"

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

// shared has what was read last for each span, so that however many readers hear of a
// change at once, one of them has it read. It is safe for concurrent use.
type shared struct {
	mu    sync.Mutex
	spans map[string]*sharedSpan
}

type sharedSpan struct {
	turn     chan struct{} // held by who reads, or looks whether it was read
	position string        // where the tracker stood before it was read
	read     *stood        // nil: nothing was
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

// standing is where everything stands: as it was read for another reader, if that was
// just now and nothing has changed since, else read anew. What is returned is not to be
// changed.
func (s *Site) standing(ctx context.Context, over report.Span) (*stood, error) {
	if s.Position == nil || s.shared == nil {
		return s.readStanding(ctx, over)
	}
	one := s.shared.of(over.Name)
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	position := s.Position() // before it is read
	if is := one.read; is != nil && position != "" && position == one.position && s.Now().Sub(is.at).Abs() < sharedFor {
		return is, nil
	}
	is, err := s.readStanding(ctx, over)
	if err == nil {
		one.position, one.read = position, is
	}
	return is, err
}

func (s *Site) readStanding(ctx context.Context, over report.Span) (*stood, error) {
	is := &stood{at: s.Now()}
	var err error
	if is.stand, err = report.Stand(ctx, s.Tracker, is.at, oldest); err == nil && s.Beside != nil {
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
	is.sessions, err = report.Sessions(ctx, s.Tracker, time.Time{}, latest)
	return is, err
}
