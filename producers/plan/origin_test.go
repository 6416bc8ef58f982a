package plan_test

import (
	"testing"
	"time"

	"tributary/producers/plan"
	"tributary/producers/plan/plantest"
	"tributary/schemas"
)

// brings has a file fetched that brings such bytes, and its archive unzipped, and returns
// what is told of its fetch.
func brings(t *testing.T, p *plantest.Plane, name string, look int32, sha string) *schemas.StatusChanged {
	t.Helper()
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, name, look, int64(10+look)))
	return fetches(t, p, sha)
}

// fetches answers the one request that is there.
func fetches(t *testing.T, p *plantest.Plane, sha string) *schemas.StatusChanged {
	t.Helper()
	j := p.Requested()
	if len(j) != 1 || len(j[0].Files) != 1 {
		t.Fatalf("requested: %+v", j)
	}
	done := plantest.FetchedOf(j[0], j[0].Files[0], sha)
	p.Drain()
	p.Read(schemas.DownloadFinishedTopic, done)
	p.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(done, 1))
	var last *schemas.StatusChanged
	for _, m := range p.Drain() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityDownload && e.Accepted != "" {
			last = e
		}
	}
	if last == nil {
		t.Fatal("nothing is told of the fetch")
	}
	return last
}

func origin(e *schemas.StatusChanged) string { return e.Attributes[schemas.Origin] }

// Bytes that another file of the centre and action shows are a duplicate with its origin
// named, where the profile has them passed over: then nothing of the file is loaded. Else
// it is loaded as ever.
func TestTheSameBytesUnderAnotherName(t *testing.T) {
	p := plantest.New(t)
	brings(t, p, "a.zip", 1, "sha-1")
	if e := brings(t, p, "b.zip", 1, "sha-1"); e.Phase != "unzip" || origin(e) != "" {
		t.Errorf("by default it is told: %+v", e)
	}
	p.With(func(d *plan.Deps) { d.SkipKnown = true })
	e := brings(t, p, "c.zip", 1, "sha-1")
	if e.Phase != "zip_md5" || e.Status != "done" || e.Note != "duplicate" || e.Repeats != 0 || origin(e) != "add/a.zip" || e.Message != plan.SameBytes+"add/a.zip" {
		t.Errorf("of the third is told: %+v", e)
	}
	const of = "SELECT a.state, a.result, a.rank_ordinal, f.current_sha256, f.acceptances FROM control.acquisition a JOIN control.file f ON f.id = a.file WHERE f.name = 'c.zip' ORDER BY a.id DESC LIMIT 1"
	if got := p.Text(of); got != `(ended,duplicate,,"",0)` {
		t.Errorf("it is %s", got)
	}
	if e := brings(t, p, "d.zip", 1, "sha-2"); origin(e) != "" {
		t.Errorf("of other bytes is told: %+v", e)
	}
	p.Exec("UPDATE control.acquisition SET state = 'ended', result = 'complete', ended_at = $1 WHERE state = 'extracted'", plantest.Noon)
	// A file that had other bytes before shows a new version, which withdraws them.
	if e := brings(t, p, "d.zip", 2, "sha-1"); e.Phase != "unzip" || origin(e) != "" {
		t.Errorf("of a new version is told: %+v", e)
	}
}

// Nothing is lost when the origin shows other bytes later: who was passed over for its sake
// is fetched again, and loaded.
func TestAnOriginThatIsReplaced(t *testing.T) {
	p := plantest.New(t)
	p.With(func(d *plan.Deps) { d.SkipKnown = true })
	brings(t, p, "a.zip", 1, "sha-1")
	if e := brings(t, p, "b.zip", 1, "sha-1"); origin(e) != "add/a.zip" {
		t.Fatalf("of the second is told: %+v", e)
	}
	p.Exec("UPDATE control.acquisition SET state = 'ended', result = 'complete', ended_at = $1 WHERE state = 'extracted'", plantest.Noon)
	brings(t, p, "a.zip", 2, "sha-2")
	p.Clock = p.Clock.Add(time.Second)
	if err := p.Revisit(t.Context(), p.Clock); err != nil {
		t.Fatal(err)
	}
	if e := fetches(t, p, "sha-1"); e.Phase != "unzip" || e.FileName != "b.zip" || origin(e) != "" {
		t.Errorf("of the second is told then: %+v", e)
	}
}

// Nobody else's bytes make an origin: not those of another centre, who could so keep a
// file from being loaded, nor those of another action, which mean something else; nor
// what failed, or was unloaded by a person.
func TestWhatIsNoOrigin(t *testing.T) {
	for name, change := range map[string]string{
		"another centre's": "UPDATE control.file SET centre = 'Ics' WHERE name = 'a.zip'",
		"of an edit":       "UPDATE control.file SET action = 'edit' WHERE name = 'a.zip'",
		"failed":           "UPDATE control.acquisition SET state = 'ended', result = 'failed', ended_at = now()",
		"unloaded":         "INSERT INTO control.operation (id, what, action, file, archive, requested_by, reason, requested_at) VALUES (gen_random_uuid(), 'unload', 'add', 'a.zip', 'sha-1', 'somebody', '', now())",
	} {
		t.Run(name, func(t *testing.T) {
			p := plantest.New(t)
			p.With(func(d *plan.Deps) { d.SkipKnown = true })
			brings(t, p, "a.zip", 1, "sha-1")
			p.Exec(change)
			if e := brings(t, p, "b.zip", 1, "sha-1"); e.Phase != "unzip" || origin(e) != "" {
				t.Errorf("told: %+v", e)
			}
		})
	}
}
