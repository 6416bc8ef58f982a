package report_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
	"tributary/test/scale/plans"
)

// Each list reads a page by index, whatever it is narrowed to, first pages and others. TRIBUTARY_SCALE_FILES is how many files there are.
func TestPagesByIndex(t *testing.T) {
	files := 60_000
	if text := os.Getenv("TRIBUTARY_SCALE_FILES"); text != "" {
		var err error
		if files, err = strconv.Atoi(text); err != nil {
			t.Fatalf("TRIBUTARY_SCALE_FILES: %v", err)
		}
	}
	dsn := enginetest.Postgres(t)
	plain, err := pg.Open(t.Context(), dsn, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	if err := trackersql.Migrate(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	years := reporttest.Fill(t, plain, files)
	at := func(n int) time.Time {
		return years.Begin.Add(time.Duration(n) * years.Each)
	}
	filters := map[string]report.Filter{
		"all": {}, "status": {Status: "failed"}, "phase": {Phase: "xsd"}, "where it stands": {Phase: "unzip", Status: "done"}, "none there": {Phase: "context", Status: "failed"},
		"centre": {Centre: "c7"}, "failures of a centre": {Centre: "c7", Status: "failed"}, "exception": {Exception: "exception_7"}, "source": {Source: "source-7"},
		"session": {Session: schemas.ID("session", "none")}, "session by number": {Session: "17"}, "hash": {SHA256: "012345"}, "since": {Since: at(files - 20)}, "long ago": {Until: at(20)},
		"waiting": {Waiting: true}, "waiting long": {Waiting: true, Until: at(files / 2)}, "name": {Name: "C7.2020-01-01.27.impc.zip"}, "pattern": {Name: "C7.2020-01-01.27*"},
		"part": {Contains: "-01.2"}, "action": {Action: "add"},
	}
	var p plans.Watcher
	watched := p.Pool(t, dsn)
	p.Watch()
	for name, f := range filters {
		for _, f.Sort = range []string{report.ByName, report.Newest, report.Oldest} {
			byName := f.Contains != "" || f.Phase+f.Status+f.Exception+f.Source == "" && !f.Waiting
			if f.Sort != report.ByName && f.Contains != "" || f.Sort == report.ByName && !byName {
				continue // see report.ByName; and parts of names are looked for name by name
			}
			began := time.Now()
			page, err := report.FilePage(t.Context(), watched, f)
			if err != nil {
				t.Errorf("files, %s: %v", name, err)
			}
			t.Logf("files, %s, %s: %d rows, %s", name, f.Sort, len(page.Rows), time.Since(began).Round(time.Millisecond))
			f.After = page.Next
			if _, err := report.FilePage(t.Context(), watched, f); err != nil {
				t.Errorf("files, %s: %v", name, err)
			}
			f.After, f.Errors, began = "", 1, time.Now()
			documents, err := report.DocumentPage(t.Context(), watched, f)
			if err != nil {
				t.Errorf("documents, %s: %v", name, err)
			}
			t.Logf("documents, %s, %s: %d rows, %s", name, f.Sort, len(documents.Rows), time.Since(began).Round(time.Millisecond))
			f.After = documents.Next
			if _, err := report.DocumentPage(t.Context(), watched, f); err != nil {
				t.Errorf("documents, %s: %v", name, err)
			}
			f.After, f.Errors = "", 0
		}
	}
	if _, err := watched.Exec(t.Context(), "SELECT 1"); err != nil { // Postgres tells of a statement when the next one comes
		t.Fatal(err)
	}
	p.Check(t, map[string]plans.Allowance{"SELECT v.": {Reason: "what has not come to a good end is looked through, however much of it passes: one in fifty, at a dozen pages each", Work: files / 500}})
	if !p.Seen(fmt.Sprintf("LIMIT %d", report.DefaultPage+1)) {
		t.Error("no page was read")
	}
}
