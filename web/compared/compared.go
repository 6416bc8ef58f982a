// Package compared compares shadows with what is live, for pages and the API: a part at a
// time, so that no answer takes longer than people wait, however large a shadow is.
package compared

import (
	"context"
	"errors"
	"time"

	"tributary/internal/pg"
	"tributary/recovery/shadow"
	"tributary/sql/control"
)

const (
	// partTime is after which time a part ends with what was compared by then.
	partTime = 8 * time.Second
	// Timeout is how long a part may take that holds many documents.
	Timeout = time.Minute
)

// ErrBusy says that as many shadows are being compared as may be at once.
var ErrBusy = errors.New("other shadows are being compared: try again in a minute")

// Reader compares.
type Reader struct {
	control pg.Querier
	open    Open
	reading chan struct{} // held while something is compared
}

// Open makes what compares by the profile by which all that is live is judged, or by that
// of shadows, and the function that closes it.
type Open func(ctx context.Context, live bool) (*shadow.Comparer, func(), error)

// New makes a reader, which lets so many compare at once.
func New(controls pg.Querier, open Open, atOnce int) *Reader {
	return &Reader{control: controls, open: open, reading: make(chan struct{}, atOnce)}
}

// Part is what comparing some of a shadow's files has found.
type Part struct {
	Replay int64  `json:"replay" doc:"its number"`
	Shadow string `json:"shadow" doc:"its name"`
	State  string `json:"state" doc:"how it stands: running, stopped or done"`
	// SameProfile is so if rows are compared by the profile that the shadow was asked for with.
	SameProfile bool `json:"same_profile" doc:"rows are compared by the profile that the shadow was asked for with"`
	shadow.Part
	Notes []string `json:"notes" doc:"what the comparison is without, or with which care it is to be read"`
}

// Read compares the files of a shadow, named by its name, its number or its run's id,
// that follow one (shadow.Part).
func (r *Reader) Read(ctx context.Context, name string, after int64, most int) (p Part, err error) {
	err = r.With(ctx, false, func(c *shadow.Comparer) error {
		run, err := shadow.Find(ctx, r.control, name)
		if err != nil {
			return err
		}
		part, err := c.Part(ctx, &run, after, most, time.Now().Add(partTime))
		if err == nil {
			p, err = withNotes(c, &run, part)
		}
		return err
	})
	return p, err
}

// withNotes is a part with what has to be said about it.
func withNotes(c *shadow.Comparer, run *control.ReplayRun, part shadow.Part) (Part, error) {
	equal, err := shadow.Equal(run, c.Versions)
	p := Part{Replay: run.Number, Shadow: run.Shadow, State: run.State, SameProfile: equal, Part: part, Notes: []string{}}
	p.Notes = append(p.Notes, p.NotesOf(part.Skipped)...)
	return p, err
}

// NotesOf are the notes of several parts of the same comparison, by what all of them have
// left out.
func (p *Part) NotesOf(s shadow.Skipped) []string {
	return shadow.Notes(p.Replay, p.State, p.SameProfile, s)
}

// Documents are documents that a shadow would change, of some of its files.
type Documents struct {
	Replay      int64             `json:"replay" doc:"its number"`
	State       string            `json:"state" doc:"how it stands: running, stopped or done"`
	SameProfile bool              `json:"same_profile" doc:"rows are compared by the profile that the shadow was asked for with"`
	Rows        []shadow.Document `json:"rows" doc:"all that would change of the files that were compared"`
	Skipped     shadow.Skipped    `json:"skipped" doc:"what was left out"`
	Next        int64             `json:"next,omitempty" doc:"the after of the next part; absent: this is the last"`
}

// NotesOf is Part.NotesOf.
func (d *Documents) NotesOf(s shadow.Skipped) []string {
	return shadow.Notes(d.Replay, d.State, d.SameProfile, s)
}

// enoughDocuments is after how many documents a part of them ends, with the file at hand.
const enoughDocuments = 500

// ReadDocuments lists the documents that a shadow would change, of some of its files that
// follow one (shadow.Comparer.DocumentPart).
func (r *Reader) ReadDocuments(ctx context.Context, name string, after int64) (d Documents, err error) {
	err = r.With(ctx, false, func(c *shadow.Comparer) error {
		run, err := shadow.Find(ctx, r.control, name)
		if err != nil {
			return err
		}
		d = Documents{Replay: run.Number, State: run.State}
		if d.SameProfile, err = shadow.Equal(&run, c.Versions); err == nil {
			d.Rows, d.Skipped, d.Next, err = c.DocumentPart(ctx, &run, after, enoughDocuments, time.Now().Add(partTime))
		}
		if d.Rows == nil {
			d.Rows = []shadow.Document{}
		}
		return err
	})
	return d, err
}

// ReadFirst is Read of the first part, which counts on: what it tells but for the files
// is of all that could be compared in the time, and of everything if it says so.
func (r *Reader) ReadFirst(ctx context.Context, name string, most int) (p Part, whole bool, err error) {
	err = r.With(ctx, false, func(c *shadow.Comparer) error {
		run, err := shadow.Find(ctx, r.control, name)
		if err != nil {
			return err
		}
		over := time.Now().Add(partTime)
		part, err := c.Part(ctx, &run, 0, most, over)
		if err != nil {
			return err
		}
		counter, next := shadow.NewCounter(), part.Next
		counter.AddGroups(part.Groups)
		for next != 0 && time.Now().Before(over) {
			rest, err := c.Part(ctx, &run, next, 0, over)
			if err != nil {
				return err
			}
			next, part.Compared = rest.Next, part.Compared+rest.Compared
			part.Skipped.Add(rest.Skipped)
			counter.AddGroups(rest.Groups)
		}
		whole, part.Groups = next == 0, counter.Groups("")
		p, err = withNotes(c, &run, part)
		return err
	})
	return p, whole, err
}

// With lends what compares, by the profile that is live or by that of shadows. Where as
// many compare as may at once, it is an ErrBusy.
func (r *Reader) With(ctx context.Context, live bool, fn func(*shadow.Comparer) error) error {
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	default:
		return ErrBusy
	}
	c, done, err := r.open(ctx, live)
	if err != nil {
		return err
	}
	defer done()
	return fn(c)
}

// Absent tells whether an error says that there is no such shadow, or that nothing is left
// of it.
func Absent(err error) bool {
	return errors.Is(err, control.ErrNoReplay) || errors.Is(err, shadow.ErrNoShadow) || errors.Is(err, shadow.ErrLost)
}
