package report_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
)

// Revisions come page by page, the newest first, each with how it differs from the one
// before, also from one on the next page; two of the same number are both told.
func TestSourceRevisionPage(t *testing.T) {
	pool := reporttest.Filled(t)
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if _, err := pool.Exec(t.Context(), "DELETE FROM tracker.source_revision"); err != nil {
		t.Fatal(err)
	}
	for i, revision := range []int64{3, 5, 5, 9} {
		if _, err := pool.Exec(t.Context(), `INSERT INTO tracker.source_revision (id, file_source_id, revision, declared, definition, created)
			SELECT gen_random_uuid(), id, $1, false, $2, $3 FROM tracker.file_source WHERE short_name = 'harwell'`,
			revision, fmt.Sprintf(`{"interval": "%dh"}`, i+1), start.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"9 interval: 3h → 4h", "5 interval: 2h → 3h", "5 interval: 1h → 2h", "3 interval: default → 1h"}
	for _, limit := range []int{1, 2, 3, 4, 5000} {
		var got []string
		for after := ""; ; {
			p, err := report.SourceRevisionPage(t.Context(), pool, "harwell", after, limit)
			if err != nil || len(p.Rows) > limit {
				t.Fatalf("%d rows of %d: %v", len(p.Rows), limit, err)
			}
			for _, r := range p.Rows {
				got = append(got, fmt.Sprintf("%d %s", r.Revision, r.Changed))
			}
			if after = p.Next; after == "" {
				break
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("by %d:\n%s", limit, d)
		}
	}
	for _, after := range []string{"x", "1", "1@yesterday", "@2026-11-01T00:00:00Z"} {
		bad := (*report.FilterError)(nil)
		if _, err := report.SourceRevisionPage(t.Context(), pool, "harwell", after, 1); !errors.As(err, &bad) {
			t.Errorf("after %q: %v", after, err)
		}
	}
	unknown := (*report.UnknownError)(nil)
	if _, err := report.SourceRevisionPage(t.Context(), pool, "nowhere", "", 1); !errors.As(err, &unknown) {
		t.Errorf("of no source: %v", err)
	}
}
