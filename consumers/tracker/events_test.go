//go:build !race

package tracker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"tributary/schemas"
	trackersql "tributary/sql/tracker"
)

// Events written into a schema that lives within one transaction, in several
// pieces, give the tracker's rows, and leave the tracker alone.
func TestWriteIntoAnotherSchema(t *testing.T) {
	pool := database(t)
	log := rapid.Custom(eventLog).Example(18)
	apply(t, newTracker(t, pool), 0, log...)
	want := dump(t, pool)
	delete(want, "unreadable")

	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	statements, err := trackersql.Statements("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "CREATE SCHEMA elsewhere; "+strings.Join(statements, "\n"), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	events := []Event{{schemas.StatusChanged{Entity: "weather"}, log[0].at}}
	for _, e := range log {
		events = append(events, Event{e.StatusChanged, e.at})
	}
	var odd int
	w := NewWriter("elsewhere")
	for third := range 3 {
		var part []Event
		for i, e := range events {
			if i%3 == third {
				part = append(part, e)
			}
		}
		unplaced, err := w.Write(t.Context(), tx, part)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range unplaced {
			if part[i].Entity != "weather" {
				t.Errorf("an event of a %s cannot be placed", part[i].Entity)
			}
			odd++
		}
	}
	if odd != 1 {
		t.Errorf("%d events cannot be placed, want 1", odd)
	}
	got := map[string][]string{}
	for name := range want {
		rows, err := tx.Query(t.Context(), "SELECT x::text FROM elsewhere."+name+" x ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		if got[name], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
		if len(got[name]) == 0 {
			got[name] = nil
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the rows differ:\n%s", d)
	}
	if len(want["xml_file"]) == 0 {
		t.Error("the log left no document: the test shows nothing")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := dump(t, pool); len(after["xml_file"]) != len(want["xml_file"]) {
		t.Error("the tracker itself was written to")
	}
}
