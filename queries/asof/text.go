package asof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"tributary/queries/report"
)

// Said says in one sentence which moment is shown, and how far the history goes
// if that is less.
func (f Filled) Said(moment time.Time) string {
	out := "as of " + said(moment) + ", from the history"
	switch {
	case f.Until.IsZero() && f.Behind == 0:
		out += ", which is empty"
	case f.Until.IsZero():
		out += fmt.Sprintf(", which has not been filled yet: it lacks %d records of the log that the tracker has read", f.Behind)
	case moment.Before(f.Since):
		out += ", which begins at " + said(f.Since) + " only"
	case moment.After(f.Until) && f.Behind > 0:
		out += fmt.Sprintf(", which is filled up to %s only: it lacks %d records of the log that the tracker has read", said(f.Until), f.Behind)
	case moment.After(f.Until):
		out += ", which is filled up to " + said(f.Until)
	}
	if f.Lost > 0 {
		out += fmt.Sprintf("; the log's first %d records are not in it any more, and what they told is missing", f.Lost)
	}
	return out
}

// said is a moment as it can be given again.
func said(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// counts is the first line that -o json writes of a difference.
type counts struct {
	Kind   string     `json:"kind"` // counts
	Since  time.Time  `json:"since"`
	Until  time.Time  `json:"until"`
	Filled *time.Time `json:"filled_until"`
	Behind int64      `json:"behind"`
	Counts []Count    `json:"counts"`
}

// Comparison is what changed between two moments, as it is written down.
type Comparison struct {
	From, To time.Time
	Said     string     // how far the history goes, as Filled.Said has it
	Filled   *time.Time // up to when it is filled; nil: it is not
	Behind   int64
	Counts   []Count
	// Changes calls each with every change, at most limit of them (0: all).
	Changes func(ctx context.Context, limit int, each func(Change) error) error
}

// Comparison is the difference as it is written down, while it can be read.
func (d *Difference) Comparison() Comparison {
	return Comparison{From: d.From, To: d.To, Said: d.Filled.Said(d.To), Filled: d.Filled.Up(), Behind: d.Filled.Behind, Counts: d.Counts, Changes: d.Changes}
}

// Up is up to when the history is filled; nil: it is not.
func (f Filled) Up() *time.Time {
	if f.Until.IsZero() {
		return nil
	}
	return &f.Until
}

// WriteJSON writes one object a line: the counts, then every change, at most
// limit of them (0: all).
func (d Comparison) WriteJSON(ctx context.Context, w io.Writer, limit int) error {
	enc := report.NewEncoder(w)
	c := counts{Kind: "counts", Since: d.From, Until: d.To, Filled: d.Filled, Behind: d.Behind, Counts: d.Counts}
	if c.Counts == nil {
		c.Counts = []Count{}
	}
	if err := enc.Encode(c); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return d.Changes(ctx, limit, func(c Change) error {
		if err := enc.Encode(c); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return nil
	})
}

// WriteText writes the counts and every change, at most limit of them (0: all),
// for people.
func (d Comparison) WriteText(ctx context.Context, w io.Writer, limit int) error {
	if _, err := fmt.Fprintf(w, "what changed after %s, %s\n\n", said(d.From), d.Said); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if len(d.Counts) == 0 {
		_, err := fmt.Fprintln(w, "nothing changed")
		return err
	}
	out, err := report.NewOutput(w, report.Table, "kind", "change", "from", "to", "count")
	if err != nil {
		return err
	}
	for _, c := range d.Counts {
		if err := out.Row(c, c.Kind, c.Change, c.From.text(false), c.To.text(false), strconv.FormatInt(c.Count, 10)); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if out, err = report.NewOutput(w, report.Table, "change", "file", "document", "from", "to"); err != nil {
		return err
	}
	err = d.Changes(ctx, limit, func(c Change) error {
		document := ""
		if c.Document != nil {
			document = *c.Document
		}
		versions := c.Change == Replaced
		return out.Row(c, c.Change, c.Action+"/"+c.File, document, c.From.text(versions), c.To.text(versions))
	})
	return errors.Join(err, out.Close())
}

// text is where something stands, with the beginning of its version if that
// matters.
func (s *Stand) text(version bool) string {
	if s == nil {
		return ""
	}
	out := s.Phase + ", " + s.Status
	if s.Exception != nil {
		out += " (" + *s.Exception + ")"
	}
	if version && s.Version != nil {
		out += ", " + (*s.Version)[:min(len(*s.Version), 12)]
	}
	return out
}
