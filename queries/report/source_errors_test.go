package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
)

// TestSourceErrors holds that errors are counted by class, of polls and fetches
// alike, and only those since the source became available the last time.
func TestSourceErrors(t *testing.T) {
	var log []schemas.StatusChanged
	source := func(revision int64, state string) {
		log = append(log, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"}, Revision: revision,
			Attributes: map[string]string{"protocol": "sftp", "hostname": "h:22", "state": state, "definition": `{"id":"harwell"}`}})
	}
	poll := func(session, exception string) {
		at := reporttest.Start().Add(time.Duration(len(log)) * time.Second)
		e := schemas.StatusChanged{Entity: schemas.EntityTask, Scope: schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", session), Centre: "H", Source: "harwell"},
			Phase: "zip_name", Status: "failed", Exception: exception, FinishedAt: &at}
		if exception == "" {
			e.Status = "done"
		}
		log = append(log, schemas.StatusChanged{Entity: schemas.EntitySession, Scope: schemas.Scope{Run: schemas.LiveRun, Session: e.Session}, Number: int64(len(log)), StartedAt: &at}, e)
	}
	source(1, "available")
	poll("1", "login_failed")
	source(2, "suspended")
	poll("2", "login_failed")
	source(3, "available")
	poll("3", "timed_out")
	poll("4", "connection_failed")
	source(4, "available") // defined otherwise: that begins nothing anew
	poll("5", "timed_out")
	poll("6", "poll_timed_out")
	poll("7", "")
	poll("8", "source_unavailable")
	for _, e := range reporttest.Story()[4:] {
		if e.Exception == "truncated" {
			e.Exception = "transfer_truncated"
		}
		log = append(log, e)
	}
	pool := reporttest.Told(t, log)
	var got []string
	err := report.SourceErrorList(t.Context(), pool, "", func(e report.SourceErrors) error {
		if !e.First.Before(e.Last) && e.Errors > 1 {
			t.Errorf("%s: the first is of %s, the last of %s", e.Class, e.First, e.Last)
		}
		cells := e.Cells()
		got = append(got, strings.Join(append(cells[:4:4], cells[6]), " "))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"harwell timeout 1 3 poll_timed_out 1, timed_out 2", "harwell content 3 1 transfer_truncated 1", "harwell connection 5 1 connection_failed 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("errors (- want, + got):\n%s", d)
	}
	var unknown *report.UnknownError
	if err := report.SourceErrorList(t.Context(), pool, "nosuch", func(report.SourceErrors) error { return nil }); !errors.As(err, &unknown) {
		t.Errorf("of an unknown source: %v", err)
	}
}
