package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tributary/producers/plan/plantest"
	"tributary/schemas"
	"tributary/sql/control"
)

// shadow asks for a shadow run.
func (m *bench) shadow(phase, name string, items ...control.ReplayItem) (*control.ReplayRun, error) {
	m.t.Helper()
	id, err := schemas.NewShadowRun()
	if err != nil {
		m.t.Fatal(err)
	}
	r := &control.ReplayRun{ID: id, Phase: phase, Shadow: name, By: "somebody", Reason: "a test"}
	_, err = m.manager.Request(m.t.Context(), r, func() (i control.ReplayItem, ok bool, err error) {
		if len(items) > 0 {
			i, items, ok = items[0], items[1:], true
		}
		return i, ok, nil
	})
	return r, err
}

func (m *bench) shadowed(phase, name string, items ...control.ReplayItem) *control.ReplayRun {
	m.t.Helper()
	r, err := m.shadow(phase, name, items...)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// live is all that control knows of files, but for numbers given and what
// shadows have.
func (m *bench) live() string {
	m.t.Helper()
	return m.Text("SELECT name, current_sha256, current_attempt, acceptances FROM control.file ORDER BY name") + "\n" +
		m.Text("SELECT a.run, a.file, a.state, a.result, a.attempt, a.batch, a.rank_ordinal, a.retry_at, a.tried FROM control.acquisition a WHERE NOT control.is_shadow(a.run) ORDER BY a.id") + "\n" +
		m.Text("SELECT id, released_at, run FROM control.batch ORDER BY id") + "\n" +
		m.Text("SELECT s.id, s.fetched, s.fetch_failures, r FROM control.source s LEFT JOIN control.reputation r ON r.source = s.id ORDER BY s.id")
}

// A shadow goes the way of every attempt, and changes nothing of what is live:
// not the version that the file shows, its rank, batches, or sources.
func TestAShadowChangesNothingLive(t *testing.T) {
	for _, phase := range []string{schemas.FromUnzip, schemas.FromXSD, schemas.FromUpload} {
		t.Run(phase, func(t *testing.T) {
			m := newBench(t)
			d := m.inserted("f.zip", 1, "an archive")
			before := m.live()
			r := m.shadowed(phase, "try", version("f.zip", d.SHA256))
			out := m.turns()
			again := *d
			again.Run, again.Attempt = r.ID, 2
			switch phase {
			case schemas.FromUnzip:
				m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(&again, 2))
				fallthrough
			case schemas.FromXSD:
				m.verdicts(&again, map[string]string{"a.xml": schemas.FailedEnd, "b.xml": schemas.Valid})
			default:
				if n := len(bodies[schemas.DocumentExtracted](out)) + len(bodies[schemas.DownloadFinished](out)); n != 0 {
					t.Errorf("%d events ask for work", n)
				}
			}
			m.turns()
			if got := m.Text("SELECT a.state, a.result, a.batch, p.state FROM control.acquisition a JOIN control.replay p ON p.id = a.run WHERE p.shadow = 'try'"); got != "(ended,complete,,done)" {
				t.Errorf("the shadow is %s", got)
			}
			if diff := gocmp.Diff(before, m.live()); diff != "" {
				t.Errorf("the shadow has changed what is live:\n%s", diff)
			}
		})
	}
}

// A replay takes neither the bytes nor the verdicts of a shadow as its base.
func TestNothingBeginsWithAShadow(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	r := m.shadowed(schemas.FromXSD, "try", version("f.zip", d.SHA256))
	m.turns()
	again := *d
	again.Run, again.Attempt = r.ID, 2
	m.verdicts(&again, map[string]string{"a.xml": schemas.FailedEnd, "b.xml": schemas.FailedEnd})
	m.turns()
	later := m.ask(schemas.FromUpload, 0, version("f.zip", d.SHA256))
	m.turns()
	if got := m.Text("SELECT entry, result FROM control.document WHERE run = $1 ORDER BY entry", later.ID); got != "(a.xml,valid) (b.xml,failed)" {
		t.Errorf("a replay from upload has the verdicts %s, want those of the live attempt", got)
	}
	if got := m.Text("SELECT current_attempt FROM control.file"); got != "(3)" {
		t.Errorf("the file shows attempt %s", got)
	}
}

// Live work on a file goes on while a shadow has it under way, and the other way
// round.
func TestNobodyWaitsForAShadow(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	r := m.shadowed(schemas.FromUnzip, "try", version("f.zip", d.SHA256))
	m.turns()
	m.Read(schemas.FileDiscoveredTopic, m.Look(plantest.Own, "f.zip", 2, 10))
	if got := m.Text("SELECT state FROM control.acquisition WHERE run = $1 ORDER BY id", schemas.LiveRun); got != "(ended) (wanted)" {
		t.Errorf("beside a shadow's attempt those of the live run are %s", got)
	}
	jobs := m.Requested()
	if len(jobs) != 1 || len(jobs[0].Files) != 1 {
		t.Fatalf("jobs: %+v", jobs)
	}
	// A shadow of a file that is being fetched begins at once.
	m.shadowed(schemas.FromXSD, "another", version("f.zip", d.SHA256))
	m.turns()
	if got := m.Text("SELECT a.state FROM control.acquisition a JOIN control.replay p ON p.id = a.run ORDER BY p.number"); got != "(received) (extracted)" {
		t.Errorf("the shadows' attempts are %s", got)
	}
	// The end of a shadow lets no look go on that waits for a live one.
	m.Read(schemas.FileDiscoveredTopic, m.Look(plantest.Own, "f.zip", 3, 10))
	again := *d
	again.Run, again.Attempt = r.ID, 2
	m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(&again, 2))
	m.verdicts(&again, map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.Valid})
	if got := m.Text("SELECT state FROM control.acquisition WHERE run = $1 ORDER BY id", schemas.LiveRun); got != "(ended) (requested) (queued)" {
		t.Errorf("the live attempts are %s", got)
	}
	fresh := plantest.FetchedOf(jobs[0], jobs[0].Files[0], m.Put("a newer archive"))
	m.Read(schemas.DownloadFinishedTopic, fresh)
	m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(fresh, 2))
	m.verdicts(fresh, map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.Valid})
	if got := m.Text("SELECT state FROM control.acquisition WHERE run = $1 ORDER BY id", schemas.LiveRun); got != "(ended) (ended) (wanted)" {
		t.Errorf("the live attempts are %s: one waits for a shadow", got)
	}
}

// An archive that is found damaged in a shadow is its item's end: it is not
// fetched for it, and no source loses its reputation.
func TestAShadowFetchesNothing(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	before := m.live()
	r := m.shadowed(schemas.FromUnzip, "try", version("f.zip", d.SHA256))
	m.turns()
	again := *d
	again.Run, again.Attempt = r.ID, 2
	u := plantest.UnzippedOf(&again, 0)
	u.Result, u.Outcome, u.Exception = schemas.FailedEnd, "zip_truncated", "zip_truncated"
	m.Read(schemas.UnzipFinishedTopic, u)
	m.Clock = m.Clock.Add(24 * time.Hour)
	m.turns()
	if got := m.Text("SELECT state, result, retry_at FROM control.acquisition WHERE run = $1", r.ID); got != "(ended,failed,)" {
		t.Errorf("the shadow's attempt is %s", got)
	}
	if jobs := m.Requested(); len(jobs) > 0 {
		t.Errorf("a shadow has something fetched: %+v", jobs)
	}
	if diff := gocmp.Diff(before, m.live()); diff != "" {
		t.Errorf("the shadow has changed what is live:\n%s", diff)
	}
}

// What cannot be a shadow is refused, and a name is given once.
func TestShadowsThatCannotBe(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	if _, err := m.shadow(schemas.FromDownload, "try", version("f.zip", d.SHA256)); !errors.Is(err, ErrShadowDownload) {
		t.Errorf("from download: %v", err)
	}
	if _, err := m.shadow(schemas.FromData, "try", control.ReplayItem{Domain: "H"}); !errors.Is(err, ErrShadowData) {
		t.Errorf("from data: %v", err)
	}
	if _, err := m.shadow(schemas.FromUnzip, "", version("f.zip", d.SHA256)); err == nil {
		t.Error("a shadow's id without a name is taken")
	}
	m.shadowed(schemas.FromUnzip, "try", version("f.zip", d.SHA256))
	if _, err := m.shadow(schemas.FromUnzip, "try", version("f.zip", d.SHA256)); !errors.Is(err, control.ErrShadowName) {
		t.Errorf("a name twice: %v", err)
	}
	if r, err := control.ReadReplayRun(t.Context(), m.Pool, "try"); err != nil || r.Shadow != "try" || r.Number != 1 {
		t.Errorf("by its name the shadow is %+v (%v)", r, err)
	}
}

// A shadow is promoted once it is done, and once only, also when two ask at the
// same time; it is told who did, and why.
func TestAShadowIsPromotedOnce(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	shadow := m.shadowed(schemas.FromUnzip, "try", version("f.zip", d.SHA256))
	promote := func(phase string) error {
		r := &control.ReplayRun{ID: uuid.NewString(), Phase: phase, Promotes: shadow.ID, By: "another", Reason: "agreed"}
		given := false
		_, err := m.manager.Request(t.Context(), r, func() (control.ReplayItem, bool, error) {
			if given {
				return control.ReplayItem{}, false, nil
			}
			given = true
			return version("f.zip", d.SHA256), true, nil
		})
		return err
	}
	if err := promote(schemas.FromUnzip); !errors.Is(err, ErrShadowUndone) {
		t.Errorf("while it runs: %v", err)
	}
	m.finish(m.turns())
	if err := promote(schemas.FromXSD); err == nil {
		t.Error("it is promoted from another phase")
	}
	m.Drain()
	ends := make(chan error, 2)
	for range cap(ends) {
		go func() { ends <- promote(schemas.FromUnzip) }()
	}
	one, two := <-ends, <-ends
	if (one == nil) == (two == nil) || !errors.Is(errors.Join(one, two), control.ErrPromoted) {
		t.Errorf("two at once end with %v and %v", one, two)
	}
	var told []string
	for _, b := range bodies[schemas.StatusChanged](m.Drain()) {
		told = append(told, strings.Join([]string{b.Note, b.Status, b.Attributes["by"], b.Attributes["reason"], fmt.Sprint(b.Run == shadow.ID), fmt.Sprint(b.Attributes["promotes"] == shadow.ID)}, ","))
	}
	if diff := gocmp.Diff([]string{"promoted,done,another,agreed,true,false", "requested,running,another,agreed,false,true"}, told); diff != "" {
		t.Error(diff)
	}
	m.finish(m.turns())
	if got := m.Text("SELECT p.state, a.result, a.batch IS NOT NULL, f.current_attempt FROM control.replay p JOIN control.acquisition a ON a.run = p.id JOIN control.file f ON f.id = a.file WHERE p.promotes = $1", shadow.ID); got != "(done,complete,t,3)" {
		t.Errorf("the promotion is %s", got)
	}
	by, err := control.Promotion(t.Context(), m.Pool, shadow.ID)
	if err != nil || by == nil || by.Promotes != shadow.ID {
		t.Errorf("promoted by %+v (%v)", by, err)
	}
}
