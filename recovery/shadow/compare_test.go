package shadow

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
)

// fixture is a control database with a shadow run.
type fixture struct {
	*Comparer
	t    *testing.T
	pool *pgxpool.Pool
	run  *control.ReplayRun
	n    int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "control", control.Migrate), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	codec := schemastest.Codec(t)
	id, err := schemas.NewShadowRun()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, pool: pool, Comparer: &Comparer{Control: pool, Codec: codec},
		run: &control.ReplayRun{ID: id, Phase: schemas.FromUnzip, Shadow: "try", Versions: []byte(`{"unzip":"u","xsd":{"specimen":"x"},"upload":{},"data":""}`)}}
	f.exec(`INSERT INTO control.replay (id, number, phase, shadow, requested_by, reason, requested_at, state, changed_by, changed_at, paced_at)
		VALUES ($1, 1, 'unzip', 'try', '', '', now(), 'running', '', now(), now())`, id)
	return f
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	if _, err := f.pool.Exec(f.t.Context(), sql, args...); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

// end is how an attempt of a file ended: with documents, as entry, result and
// number of errors, or failed at unzip.
type end struct {
	failed    string
	documents map[string]schemas.DocumentValidated
}

func valid() schemas.DocumentValidated { return schemas.DocumentValidated{Result: schemas.Valid} }

func refused(errors int32) schemas.DocumentValidated {
	return schemas.DocumentValidated{Result: schemas.FailedEnd, Phase: "xsd", Exception: "xsd_error", ErrorsTotal: errors, XSDVersion: "x"}
}

// file stores a file with its live attempts and, unless state says otherwise,
// that of the shadow.
func (f *fixture) file(state string, shadow end, live ...end) {
	f.t.Helper()
	f.n++
	name := fmt.Sprintf("f%d.zip", f.n)
	id := schemas.FileID("add", name)
	f.exec("INSERT INTO control.file (id, name, action, centre, file_date, file_inc) VALUES ($1, $2, 'add', 'H', '2026-01-02', 1)", id, name)
	for n, e := range live {
		f.attempt(schemas.LiveRun, id, int32(n+1), e)
	}
	var acquisition any
	if state == "requested" {
		acquisition = f.attempt(f.run.ID, id, int32(len(live)+1), shadow)
	}
	f.exec("INSERT INTO control.replay_item (run, ordinal, file, archive, state, acquisition) VALUES ($1, $2, $3, 'sha', $4, $5)", f.run.ID, f.n, id, state, acquisition)
}

func (f *fixture) attempt(run, file string, number int32, e end) (acquisition int64) {
	f.t.Helper()
	result, phase := control.Complete, ""
	if e.failed != "" {
		result, phase = string(schemas.Failed), string(schemas.Unzip)
	}
	if err := f.pool.QueryRow(f.t.Context(), `INSERT INTO control.acquisition (run, file, domain, source, look, size, state, attempt, download, unzip, sha256, documents, result, phase, exception)
		VALUES ($1, $2, 'H', 's', 1, 1, 'ended', $3, 'd', 'u', 'sha', $4, $5, $6, $7) RETURNING id`, run, file, number, len(e.documents), result, phase, e.failed).Scan(&acquisition); err != nil {
		f.t.Fatal(err)
	}
	var docs []control.Document
	for entry, v := range e.documents {
		v.Run, v.File, v.Attempt, v.Entry, v.Document, v.Kind = run, file, number, entry, schemas.DocumentID(file, entry), "specimen"
		rec, err := f.Codec.Encode(schemas.Message{ID: schemas.ID(run, file, entry), Topic: schemas.DocumentValidatedTopic, Key: v.Document, Stage: "test", Body: &v})
		if err != nil {
			f.t.Fatal(err)
		}
		docs = append(docs, control.Document{Run: run, File: file, Attempt: number, Download: "d", Unzip: "u", Document: v.Document, Entry: entry, Kind: v.Kind, Result: v.Result, Body: rec.Value})
	}
	if err := pg.InTx(f.t.Context(), f.pool, func(tx pgx.Tx) error { return control.StoreDocuments(f.t.Context(), tx, docs) }); err != nil {
		f.t.Fatal(err)
	}
	return acquisition
}

// documents makes an end with documents.
func documents(of map[string]schemas.DocumentValidated) end { return end{documents: of} }

type docs = map[string]schemas.DocumentValidated

// Verdicts are compared document by document, with those of the newest live
// attempt that was complete; an archive that failed as a whole counts for all
// its documents.
func TestVerdictsAreCompared(t *testing.T) {
	f := newFixture(t)
	f.file("requested", documents(docs{"a": refused(2), "b": refused(3), "c": refused(4)}), documents(docs{"a": valid(), "b": refused(3), "c": refused(3)}))
	f.file("requested", end{failed: "zip_encrypted"}, documents(docs{"a": valid(), "b": refused(1)}))
	f.file("requested", end{failed: "zip_encrypted"}, end{failed: "zip_encrypted"})
	f.file("requested", documents(docs{"a": refused(1)}), end{failed: "zip_encrypted"})
	f.file("requested", documents(docs{"a": refused(1), "new": refused(1)}), documents(docs{"a": refused(1), "gone": valid()}))
	f.file("requested", documents(docs{"a": refused(1)}), documents(docs{"a": valid()}), documents(docs{"a": refused(1)}), end{failed: "zip_encrypted"})
	f.file("waiting", end{}, documents(docs{"a": valid()}))
	f.file("refused", end{}, documents(docs{"a": valid()}))

	var got []string
	counter := NewCounter()
	skipped, err := f.Compare(t.Context(), f.run, func(d *Document) error {
		got = append(got, fmt.Sprintf("%s/%s %s: %s%s > %s%s", d.FileName, d.Entry, d.Change, d.Live.Result, d.Live.Exception, d.Shadow.Result, d.Shadow.Exception))
		counter.Add(d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"f1.zip/a newly refused: valid > failedxsd_error",
		"f1.zip/b unchanged: failedxsd_error > failedxsd_error",
		"f1.zip/c refused otherwise: failedxsd_error > failedxsd_error",
		"f2.zip/a newly refused: valid > failedzip_encrypted",
		"f2.zip/b refused otherwise: failedxsd_error > failedzip_encrypted",
		"f3.zip/ unchanged: failedzip_encrypted > failedzip_encrypted",
		"f4.zip/a refused otherwise: failedzip_encrypted > failedxsd_error",
		"f5.zip/a unchanged: failedxsd_error > failedxsd_error",
		"f5.zip/gone newly refused: valid > ",
		"f5.zip/new refused otherwise:  > failedxsd_error",
		"f6.zip/a unchanged: failedxsd_error > failedxsd_error",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Skipped{Unfinished: 1, Refused: 1}, skipped); diff != "" {
		t.Error(diff)
	}
	groups := counter.Groups(ByException)
	wantGroups := []Group{
		{By: Total, Counts: Counts{Documents: 11, Unchanged: 4, NewlyRefused: 3, RefusedOtherwise: 4}},
		{By: ByException, Group: "", Counts: Counts{Documents: 1, NewlyRefused: 1}},
		{By: ByException, Group: "xsd_error", Counts: Counts{Documents: 7, Unchanged: 3, NewlyRefused: 1, RefusedOtherwise: 3}},
		{By: ByException, Group: "zip_encrypted", Counts: Counts{Documents: 3, Unchanged: 1, NewlyRefused: 1, RefusedOtherwise: 1}},
	}
	if diff := cmp.Diff(wantGroups, groups); diff != "" {
		t.Error(diff)
	}
}

// A shadow tells of the profile that it was asked for with, and documents that a
// member has judged by another one are counted.
func TestVersionsOfAShadow(t *testing.T) {
	f := newFixture(t)
	other := refused(1)
	other.XSDVersion = "y"
	f.file("requested", documents(docs{"a": refused(1), "b": other}), documents(docs{"a": refused(1), "b": refused(1)}))
	skipped, err := f.Compare(context.Background(), f.run, func(*Document) error { return nil })
	if skipped.Mixed != 1 || err != nil {
		t.Errorf("%d documents were judged by others (%v), want 1", skipped.Mixed, err)
	}
	now := profile.Versions{Unzip: "u", XSD: map[string]string{"specimen": "x"}, Upload: map[string]string{}}
	if equal, err := Equal(f.run, now); !equal || err != nil {
		t.Errorf("the same versions are others (%v)", err)
	}
	now.XSD["specimen"] = "y"
	if equal, _ := Equal(f.run, now); equal {
		t.Error("another version of a schema is the same")
	}
	if equal, _ := Equal(&control.ReplayRun{}, now); equal {
		t.Error("unknown versions are the same")
	}
}

// Claims have the same digest in any order, and another one if anything of them
// differs.
func TestDigestOfClaims(t *testing.T) {
	a, b := [16]byte{1}, [16]byte{2}
	var x, y sum
	x.add(1, 7, a, b)
	x.add(2, 7, b, a)
	y.add(2, 7, b, a)
	y.add(1, 7, a, b)
	if x != y {
		t.Error("the order of claims counts")
	}
	for _, other := range []func(*sum){
		func(s *sum) { s.add(2, 7, b, b) }, func(s *sum) { s.add(2, 7, a, a) }, func(s *sum) { s.add(3, 7, b, a) }, func(s *sum) { s.add(2, 8, b, a) }, func(*sum) {},
	} {
		var z sum
		z.add(1, 7, a, b)
		if other(&z); x == z {
			t.Error("claims that differ have the same digest")
		}
	}
}
