// Package past lets people who wait for an answer ask what was so at a moment: pages and
// the API, from the same functions that commands use. What it takes is bounded, since
// each answer makes the tracker of that moment from the history.
package past

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"tributary/internal/pg"
	"tributary/queries/asof"
)

const (
	// Timeout is how long an answer may take.
	Timeout = time.Minute
	// MaxEvents is how many events are read for one answer at most: about what is read
	// and written in that time.
	MaxEvents = 200_000
	// maxMemory is how much of the history's memory each statement takes at most, in bytes.
	maxMemory = 512 << 20
	// atOnce is how many answers are made at a time. Each has a connection to Postgres of
	// its own.
	atOnce = 2
	// maxMoment bounds how long a moment is as it is written, in bytes.
	maxMoment = 100
)

// memoryExceeded is ClickHouse's code of an error.
const memoryExceeded = 241

// Problem says why a moment can't be told of. Its name is stable.
type Problem struct {
	Name   string    // the end of a problem's type
	Status int       // of HTTP
	Detail string    // for people
	Where  string    // the parameter that is to be changed; empty: none
	Events int64     // that the answer takes, where these are too many
	Since  time.Time // when the history begins, where that is later than what is asked for
}

func (p *Problem) Error() string { return p.Detail }

// Elsewhere tells whether other questions about the same moment may be answered, or this
// one later.
func (p *Problem) Elsewhere() bool {
	return slices.Contains([]string{tooLarge, "past_too_slow", "past_busy"}, p.Name)
}

// tooLarge is the name of a question that takes more than is read for one answer.
const tooLarge = "past_too_large"

// NoHistory says that this process doesn't reach the history.
func NoHistory() *Problem {
	return &Problem{Name: "no_history", Status: http.StatusServiceUnavailable, Detail: "This server doesn't reach the history (ClickHouse), of which the past is made."}
}

// NoPast says that something has no past.
func NoPast(what string) *Problem {
	return &Problem{Name: "no_past", Status: http.StatusBadRequest, Detail: what + " can't be shown as of a moment: ask without as_of.", Where: "as_of"}
}

// Moment reads the moment that a parameter gives, as commands do. It is a Problem if it
// is none, or one to come.
func Moment(name, text string, now time.Time) (time.Time, error) {
	bad := func(why string) error {
		return &Problem{Name: "bad_moment", Status: http.StatusBadRequest, Detail: name + ": " + why, Where: name}
	}
	if len(text) > maxMoment {
		return time.Time{}, bad("this is too long: use " + asof.Moments)
	}
	at, err := asof.ParseMoment(strings.ToValidUTF8(text, "\ufffd"), now)
	switch {
	case err != nil:
		return at, bad(err.Error())
	case at.After(now):
		return at, bad(Text(at) + " is still to come")
	}
	return at, nil
}

// Text is a moment as it can be given again.
func Text(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// UpTo is the query of a question about the history, as it is asked at a moment: nothing
// counts that was told after it.
func UpTo(query url.Values, at time.Time) url.Values {
	asked, end := maps.Clone(query), at.Add(time.Microsecond) // until ends before it, and the history counts in these
	given := query.Get("until")
	switch t, err := asof.ParseMoment(given, at); {
	case given == "" || err == nil && t.After(end):
		asked.Set("until", Text(end))
	case err == nil:
		asked.Set("until", Text(t))
	}
	if t, err := asof.ParseMoment(query.Get("since"), at); err == nil {
		asked.Set("since", Text(t))
	}
	return asked
}

// Reader reads the past for some at a time. A nil one has no history.
type Reader struct {
	from asof.Reader
	busy chan struct{} // held while an answer is made
}

// New returns a reader of what from reads. It has the bounds of this package, and a lower
// one that from has on events.
func New(from asof.Reader) *Reader {
	if from.MaxEvents <= 0 || from.MaxEvents > MaxEvents {
		from.MaxEvents = MaxEvents
	}
	from.MaxMemory = maxMemory
	return &Reader{from: from, busy: make(chan struct{}, atOnce)}
}

// At has ask read the tracker of a moment, as far as the scope goes. Where it can't be
// made, the error is a Problem; errors of ask are returned as they are.
func (r *Reader) At(ctx context.Context, at time.Time, s asof.Scope, ask func(q pg.Querier, f asof.Filled) error) error {
	return r.hold(ctx, func() error {
		return r.from.At(ctx, at, s, func(q pg.Querier, f asof.Filled) error {
			if err := began(f, at, "as_of"); err != nil {
				return err
			}
			return ask(q, f)
		})
	})
}

// Filled tells how far the history goes, if it has begun by a moment; else, and where it
// is not to be seen, the error is a Problem.
func (r *Reader) Filled(ctx context.Context, at time.Time) (f asof.Filled, err error) {
	err = r.hold(ctx, func() error {
		if f, err = r.from.Filled(ctx); err != nil {
			return err
		}
		return began(f, at, "as_of")
	})
	return f, err
}

// Latest is asof.Reader.Latest, for some at a time.
func (r *Reader) Latest(ctx context.Context, after time.Time, limit int, where string, args ...any) (out []asof.Told, err error) {
	err = r.hold(ctx, func() error {
		out, err = r.from.Latest(ctx, after, limit, where, args...)
		return err
	})
	return out, err
}

// Diff has tell read what changed after one moment and up to another. Problems are as
// those of At.
func (r *Reader) Diff(ctx context.Context, from, to time.Time, s asof.Scope, tell func(*asof.Difference) error) error {
	if !from.Before(to) {
		return &Problem{Name: "bad_moment", Status: http.StatusBadRequest, Where: "from",
			Detail: fmt.Sprintf("from: %s is not before %s, so that nothing can have changed between them", Text(from), Text(to))}
	}
	return r.hold(ctx, func() error {
		return r.from.Diff(ctx, from, to, s, func(d *asof.Difference) error {
			if err := began(d.Filled, to, "to"); err != nil {
				return err
			}
			return tell(d)
		})
	})
}

// hold waits until an answer can be made, and makes it.
func (r *Reader) hold(ctx context.Context, answer func() error) error {
	if r == nil {
		return NoHistory()
	}
	select {
	case r.busy <- struct{}{}:
		defer func() { <-r.busy }()
	case <-ctx.Done():
		return &Problem{Name: "past_busy", Status: http.StatusServiceUnavailable, Detail: "As many moments of the past are being looked up as may be at once: ask again in a moment."}
	}
	err := answer()
	var large *asof.TooLargeError
	var refused *clickhouse.Exception
	switch {
	case errors.As(err, &large):
		return &Problem{Name: tooLarge, Status: http.StatusUnprocessableEntity, Events: large.Events,
			Detail: fmt.Sprintf("That takes %d events of the history, more than the %d that are read here: ask about one file, centre or source, or ask on the command line, which reads more.", large.Events, large.Max)}
	case errors.As(err, &refused) && refused.Code == memoryExceeded:
		return &Problem{Name: tooLarge, Status: http.StatusUnprocessableEntity, Detail: "That takes more memory of the history than is given here: ask about one file, centre or source, or on the command line."}
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Problem{Name: "past_too_slow", Status: http.StatusServiceUnavailable,
			Detail: "That took longer than " + Timeout.String() + ": ask about one file, centre or source, or ask on the command line, which takes its time."}
	}
	return err
}

// began says so if the history begins after a moment only.
func began(f asof.Filled, at time.Time, where string) error {
	p := &Problem{Name: "before_history", Status: http.StatusNotFound, Where: where, Since: f.Since, Detail: "The history is empty: nothing is known of any moment."}
	switch {
	case f.Since.IsZero():
		return p
	case at.Before(f.Since):
		p.Detail = fmt.Sprintf("%s: the history begins at %s; of %s nothing is known.", where, Text(f.Since), Text(at))
		return p
	}
	return nil
}
