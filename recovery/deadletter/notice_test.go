//go:build !race

package deadletter

import (
	"strings"
	"testing"

	"tributary/schemas"
	"tributary/sql/control"
)

// A notice is ordered to be told again once, until it is known how that ended; a trial
// orders nothing, and what is no notice is left to others.
func TestNoticesAreOrderedOnce(t *testing.T) {
	m := newMorgue(t)
	d := &Ledger{Control: m.Pool}
	l := &Letter{ID: "notify:0:1", Key: schemas.ID("letter"), Stage: control.NoticeStage, Class: "failed", Error: "HTTP status 422", FileName: "a.zip", Action: "add"}
	ask := func(o RetryOptions, want string) {
		t.Helper()
		o.By = "me"
		all, err := d.join(t.Context(), []*Letter{l, {Stage: "validate", Key: schemas.ID("other")}})
		if err != nil {
			t.Fatal(err)
		}
		others, done, err := d.tellAgain(t.Context(), all, o, m.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(others) != 1 || len(done) != 1 || want == "" && done[0].Refused != "" || !strings.Contains(done[0].Refused, want) {
			t.Errorf("%d are left, and it is refused because %q, want %q", len(others), done[0].Refused, want)
		}
	}
	ended := func(failed string) {
		t.Helper()
		if err := control.EndNotice(t.Context(), m.Pool, l.Key, failed, m.Now()); err != nil {
			t.Fatal(err)
		}
	}
	ask(RetryOptions{DryRun: true}, "")
	ask(RetryOptions{}, "")
	ask(RetryOptions{Force: true}, "is being told")
	ended("no")
	ask(RetryOptions{}, "no; --force tries once more")
	ask(RetryOptions{Force: true}, "")
	ended("")
	ask(RetryOptions{}, "was told; --force")
}
