//go:build !race

package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// What rests, since when and why, and how often it was overrun, stands in the row
// of a source; what is no time and no number is left out, and a source that is
// resumed keeps nothing of it.
func TestASourceThatRests(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	clock := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var at int64
	for _, c := range []struct {
		name       string
		attributes map[string]string
		want       string
	}{
		{"available", map[string]string{"state": "available"}, "available - - -"},
		{"overrun", map[string]string{"state": "available", "overruns": "12"}, "available - - 12"},
		{"suspended", map[string]string{"state": "suspended", "suspended_at": "2026-11-21T09:00:00.25Z", "suspended_why": "3 polls failed", "overruns": "12"}, "suspended 2026-11-21 09:00:00.25 3 polls failed 12"},
		{"nonsense", map[string]string{"state": "suspended", "suspended_at": "yesterday", "overruns": "-1"}, "suspended - - -"},
		{"resumed", map[string]string{"state": "available"}, "available - - -"},
	} {
		apply(t, tr, at, event{clock.Add(time.Duration(at) * time.Second), schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "s"}, Revision: at + 1, Attributes: c.attributes}})
		at++
		var got string
		if err := pool.QueryRow(t.Context(), `SELECT concat_ws(' ', r.short_name, coalesce((s.suspended_at AT TIME ZONE 'UTC')::text, '-'), coalesce(s.suspended_why, '-'), coalesce(s.overruns::text, '-'))
			FROM tracker.file_source s JOIN tracker.resource_state r ON r.id = s.state_id`).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (- want, + got):\n%s", c.name, d)
		}
	}
}

// Every change of a source is a row, whoever made it; what programs told before
// definitions were told is none, and a change that is told again is none either.
func TestASourceAsItWas(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	clock := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tell := func(offset, revision int64, message string, attributes map[string]string) {
		apply(t, tr, offset, event{clock.Add(time.Duration(revision) * time.Second), schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "s"}, Revision: revision, Message: message, Attributes: attributes}})
	}
	tell(0, 1, "", map[string]string{"state": "available"})
	tell(1, 4, "changed by me: why", map[string]string{"state": "available", "declared": "false", "definition": `{"url": "b"}`})
	tell(2, 2, "", map[string]string{"state": "available", "definition": `{"url": "a"}`})
	tell(3, 4, "changed by me: why", map[string]string{"state": "available", "declared": "false", "definition": `{"url": "b"}`})
	apply(t, tr, 4, event{clock, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "s"}, Revision: 5, Note: schemas.NoteOverrun, Attributes: map[string]string{"state": "available", "definition": `{"url": "b"}`}}})
	tell(5, 7, "removed by me", map[string]string{"state": "removed", "declared": "false", "definition": "nonsense \\u0000"})
	var got string
	if err := pool.QueryRow(t.Context(), `SELECT string_agg(concat_ws(' ', r.revision, s.short_name, r.declared, r.definition, coalesce(r.message, '-'), extract(second FROM r.created)::int), E'\n' ORDER BY r.revision)
		FROM tracker.source_revision r JOIN tracker.file_source f ON f.id = r.file_source_id AND f.short_name = 's' JOIN tracker.resource_state s ON s.id = r.state_id`).Scan(&got); err != nil {
		t.Fatal(err)
	}
	want := `2 available t {"url": "a"} - 2
4 available f {"url": "b"} changed by me: why 4
7 removed f nonsense \u0000 removed by me 7`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows differ (- want, + got):\n%s", d)
	}
}
