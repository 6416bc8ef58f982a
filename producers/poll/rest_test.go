//go:build !race

package poll

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/sftp"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
)

// sources are what the events say of the source's state.
func (b *bench) sources() (out []*schemas.StatusChanged) {
	b.t.Helper()
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntitySource {
			out = append(out, e)
		}
	}
	return out
}

// A source whose polls keep failing is suspended, with an event, and due no sooner
// than a probe is; the first poll that shows something makes it available again.
func TestASourceThatKeepsFailingIsSuspended(t *testing.T) {
	b := newBench(t)
	b.cfg.Attempts, b.cfg.SuspendAfter, b.cfg.ProbeInterval = 1, 3, config.Duration(48*time.Hour)
	b.server.dial = errors.New("refused")
	state := func() string { return b.text("SELECT state, failed_polls FROM control.source") }
	for i, want := range []string{"available 1", "available 2", "available 3", "available 4"} {
		b.now = noon.Add(time.Duration(i) * 12 * time.Hour)
		if b.listing(); state() != want || len(b.sources()) != 0 {
			t.Fatalf("after %d failed polls it is %s, and %d events say so", i+1, state(), len(b.sources()))
		}
	}
	b.now = noon.Add(48 * time.Hour) // since its first failure, and no sooner
	if b.listing(); state() != "suspended 5" {
		t.Fatalf("after five failed polls it is %s", state())
	}
	told := b.sources()
	if len(told) != 1 {
		t.Fatalf("%d events tell of the source", len(told))
	}
	if e := told[0]; e.Exception != sourcestate.Suspended || e.Attributes["state"] != "suspended" || e.Attributes["suspended_at"] != b.now.Format(time.RFC3339Nano) ||
		!strings.HasPrefix(e.Attributes["suspended_why"], "5 polls in a row failed, the last of them: ") || !strings.Contains(e.Attributes["suspended_why"], "refused") {
		t.Errorf("the event is %+v", e)
	}
	if got := b.text("SELECT revision FROM control.source"); got != fmt.Sprint(told[0].Revision) || told[0].Revision < 1 {
		t.Errorf("revision %s is stored, %d told", got, told[0].Revision)
	}
	probe := b.now.Add(48 * time.Hour)
	if due := b.text("SELECT next_due FROM control.source"); due != probe.String() {
		t.Errorf("it is due %s, want no sooner than the probe at %s", due, probe)
	}

	b.now = probe
	if b.listing(); state() != "suspended 6" || len(b.sources()) != 0 {
		t.Errorf("after a probe that failed it is %s, and %d events tell of it", state(), len(b.sources()))
	}
	if due := b.text("SELECT next_due FROM control.source"); due != probe.Add(96*time.Hour).String() { // as long as it has failed
		t.Errorf("after a probe that failed it is due %s", due)
	}

	b.server.dial = nil
	b.listing()
	if told = b.sources(); state() != "available 0" || len(told) != 1 || told[0].Attributes["state"] != "available" || told[0].Attributes["suspended_at"] != "" {
		t.Errorf("after a probe that showed something it is %s; events %+v", state(), told)
	}
	if got := b.text("SELECT suspended_at IS NULL, suspended_why FROM control.source"); got != "true " {
		t.Errorf("what was said of it stays: %s", got)
	}
}

// A source whose connector a build lacks is suspended, and why names its scheme; the
// first probe by one that has it makes the source available again.
func TestASourceWhoseConnectorIsMissing(t *testing.T) {
	b := newBench(t)
	b.cfg.Attempts, b.cfg.SuspendAfter, b.cfg.ProbeInterval = 1, 2, config.Duration(time.Hour)
	b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + t.TempDir()})
	b.deps.Dial = sftp.Connectors().Dial
	for i := range 2 {
		b.now = noon.Add(time.Duration(i) * time.Hour)
		b.listing()
		if got := b.text("SELECT state, exception FROM control.poll ORDER BY ended_at DESC LIMIT 1"); got != "failed protocol_unknown" {
			t.Errorf("poll %d is %s", i, got)
		}
	}
	if got := b.text("SELECT state FROM control.source"); got != "suspended" {
		t.Errorf("the source is %s", got)
	}
	if why := b.text("SELECT suspended_why FROM control.source"); !strings.Contains(why, `url scheme "file" is not known here`) {
		t.Errorf("the reason is %q", why)
	}
	b.deps.Dial = connectors.All().Dial
	b.now = b.now.Add(time.Hour)
	b.listing()
	if got := b.text("SELECT state, suspended_why FROM control.source"); got != "available " {
		t.Errorf("with the connector the source is %q", got)
	}
}

// What failed since its source was not available is tried again as soon as it is;
// what failed otherwise, or lies elsewhere, has its own time.
func TestWhatWaitsForASourceIsTriedAgain(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.listing()
	later := noon.Add(time.Hour)
	for i, c := range []struct{ hosting, exception string }{{"present", "source_unavailable"}, {"present", "gone"}, {"gone", "source_unavailable"}} {
		b.exec("UPDATE control.hosting SET state = $1", c.hosting)
		b.exec("DELETE FROM control.acquisition")
		b.exec(`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, not_before, result, exception, retry_at)
			SELECT $1, id, 'H', 'other', 1, 1, 'ended', now(), 'failed', $2, $3 FROM control.file`, schemas.LiveRun, c.exception, later)
		b.exec("UPDATE control.source SET state = 'maintenance'")
		err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
			_, err := sourcestate.Resume(t.Context(), tx, b.deps.Outbox, []string{"src"}, sourcestate.Cause{}, noon)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := b.text("SELECT retry_at = $1 FROM control.acquisition", noon), fmt.Sprint(i == 0); got != want {
			t.Errorf("%+v: tried again at once: %s, want %s", c, got, want)
		}
	}
}

// Only what the source does counts, and only in a row.
func TestWhatSuspendsNoSource(t *testing.T) {
	for name, c := range map[string]struct{ before, fail func(b *bench) }{
		"a poll that broke off has shown something": {fail: func(b *bench) { b.server.show(good, 1); b.server.fail = errors.New("lost") }},
		"a member that does not have the secret": {fail: func(b *bench) {
			b.define(config.Source{ID: "src", Centre: "H", URL: "ftp://u@h/", Password: "env:TRIBUTARY_NO_SUCH_SECRET"})
		}},
		"failures with a listing between them": {
			before: func(b *bench) { b.server.dial = nil; b.listing() },
			fail:   func(b *bench) { b.server.dial = errors.New("refused") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Attempts, b.cfg.SuspendAfter, b.cfg.ProbeInterval = 1, 2, config.Duration(time.Nanosecond)
			for range 4 {
				b.now = b.now.Add(time.Hour)
				if c.before != nil {
					c.before(b)
				}
				c.fail(b)
				if got := b.listing(); got == "complete" {
					t.Fatal("the poll did not fail")
				}
			}
			if got := b.text("SELECT state FROM control.source"); got != "available" {
				t.Errorf("the source is %s", got)
			}
		})
	}
}

// A person resumes what is suspended: it is due at once, and its failures are
// forgotten. What is not suspended stays as it is.
func TestAPersonResumesASource(t *testing.T) {
	b := newBench(t)
	resume := func(ids ...string) (got []sourcestate.Outcome) {
		t.Helper()
		err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) (err error) {
			got, err = sourcestate.Resume(t.Context(), tx, b.deps.Outbox, ids, sourcestate.Cause{Done: "resumed", Decision: control.Decision{By: "me", Reason: "mended"}}, b.now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := resume(); len(got) != 0 || len(b.sources()) != 0 {
		t.Errorf("resumed, though nothing is suspended: %v", got)
	}
	b.exec("UPDATE control.source SET state = 'suspended', failed_polls = 9, suspended_at = now(), suspended_why = 'why', next_due = $1", noon.Add(time.Hour))
	if d := cmp.Diff([]sourcestate.Outcome{{Source: "src", Done: true, Detail: "it is available, and due at once"}}, resume()); d != "" {
		t.Errorf("resumed (- want, + got):\n%s", d)
	}
	if got, want := b.text("SELECT state, failed_polls, suspended_at IS NULL, suspended_why, next_due FROM control.source"), "available 0 true  "+noon.String(); got != want {
		t.Errorf("it stands as %s, want %s", got, want)
	}
	if told := b.sources(); len(told) != 1 || told[0].Attributes["state"] != "available" || told[0].Message != "resumed by me: mended" {
		t.Errorf("events: %+v", told)
	}
}
