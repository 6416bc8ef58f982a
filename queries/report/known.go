package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// maxKnown bounds how many names an UnknownError lists.
const maxKnown = 30

// UnknownError says that what was asked for by name is not known, so that an
// answer with nothing in it would mislead.
type UnknownError struct {
	What  string   // centre or source
	Name  string   // as it was given
	Known []string // the names that there are
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no %s %q: none is known yet", e.What, e.Name)
	}
	text := strings.Join(e.Known[:min(len(e.Known), maxKnown)], ", ")
	if more := len(e.Known) - maxKnown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("there is no %s %q: known are %s", e.What, e.Name, text)
}

// check returns an UnknownError for a name that is not among the known. Case
// matters for sources only.
func check(what, name string, known []string) error {
	for _, k := range known {
		if k == name || what == "centre" && strings.EqualFold(k, name) {
			return nil
		}
	}
	slices.Sort(known)
	return &UnknownError{What: what, Name: name, Known: known}
}

// Known returns an UnknownError if the tracker has never heard of a centre or of
// a source; empty names are none.
func Known(ctx context.Context, q pg.Querier, centre, source string) error {
	for _, of := range []struct{ what, name, table string }{{"centre", centre, "tracker.centre"}, {"source", source, "tracker.file_source"}} {
		if of.name == "" {
			continue
		}
		known, err := pg.List(ctx, q, "ask for the names of each "+of.what, pgx.RowTo[string], "SELECT short_name FROM "+of.table)
		if err != nil {
			return err
		}
		if err := check(of.what, of.name, known); err != nil {
			return err
		}
	}
	return nil
}

// Known is like the function Known, of the history.
func (c ClickHouse) Known(ctx context.Context, centre, source string) error {
	c.Parameters = nil
	for _, of := range []struct{ what, name string }{{"centre", centre}, {"source", source}} {
		if of.name == "" {
			continue
		}
		var known []string
		err := c.query(ctx, fmt.Sprintf("SELECT DISTINCT %[1]s FROM event WHERE %[1]s != ''", of.what), func([]arrow.Field) error { return nil }, func(cells []cell) error {
			known = append(known, cells[0].text)
			return nil
		})
		if err != nil {
			return err
		}
		if err := check(of.what, of.name, known); err != nil {
			return err
		}
	}
	return nil
}

// orKnown gives rows to each, and if there are none asks whether the filter names
// what there is.
func orKnown[T any](ctx context.Context, q pg.Querier, f Filter, each func(T) error, list func(func(T) error) error) error {
	some := false
	err := list(func(v T) error {
		some = true
		return each(v)
	})
	if err != nil || some {
		return err
	}
	return Known(ctx, q, f.Centre, f.Source)
}
