//go:build !race

package sequence

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
)

// Who asked for an operation, when and why is told; a check is its replay's.
func TestWhoOrderedAnOperation(t *testing.T) {
	b := newBench(t)
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	b.read(f.verdict("specimen", "2026-02-01", 1, schemas.Valid))
	b.release()
	b.ordered()
	asked := b.now
	_, loaded := control.RequestReference(t.Context(), b.Pool, control.Reference{Name: "parameter", File: "p.csv", Blob: "blob", By: "ann", Reason: "new"}, asked)
	_, unloaded := control.RequestUnload(t.Context(), b.Pool, control.Unload{Action: "add", Name: f.name, By: "ben"}, asked)
	_, checked := control.RequestCheck(t.Context(), b.Pool, schemas.LiveRun, "H", "cat", "again", asked)
	if err := errors.Join(loaded, unloaded, checked); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(time.Hour)
	b.release()
	var got []string
	for _, m := range outboxtest.Drain(t, b.Pool, control.Schema, b.deps.Outbox.Codec) {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity != schemas.EntityBatch {
			got = append(got, strings.Join([]string{m.Subject, e.Entity, e.Note, e.Message, e.Attributes["by"], e.Attributes["reason"], e.Entry, e.Archive, e.File}, "|"))
			if !m.Time.Equal(asked) {
				t.Errorf("%s is of %s, not of %s, when it was asked for", m.Subject, m.Time, asked)
			}
		}
	}
	want := []string{"reference parameter|operation|reference|ordered to be loaded by ann: new|ann|new|parameter|blob|",
		"add/" + f.name + "|operation|unload|ordered to be unloaded by ben|ben|||" + f.sha + "|" + f.id}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("told (- want, + got):\n%s", d)
	}
}

// What people asked for is released in the order in which they asked, each
// followed by the ends of the domains that it concerns.
func TestOperationsAreOrdered(t *testing.T) {
	b := newBench(t)
	s := b.session()
	h, j := b.extracted(s, "H", "add", "2026-02-01", 1, 1), b.extracted(s, "J", "edit", "2026-02-01", 1, 1)
	b.read(h.verdict("specimen", "2026-02-01", 1, schemas.Valid), j.verdict("specimen", "2026-02-01", 1, schemas.Valid))
	b.release()
	b.ordered()

	ctx := t.Context()
	load, err := control.RequestReference(ctx, b.Pool, control.Reference{Name: "parameter", File: "p.csv", Blob: "blob", By: "ann", Reason: "new"}, b.now)
	if err != nil {
		t.Fatal(err)
	}
	unload, err := control.RequestUnload(ctx, b.Pool, control.Unload{Action: "edit", Name: j.name, By: "ann", Reason: "wrong"}, b.now)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := control.Pending(ctx, b.Pool); err != nil || u.Operations != 2 {
		t.Errorf("pending: %v, %v", u, err)
	}
	b.release()
	got := b.says("8 reference parameter of blob", "9 end of H 2 of 0", "10 end of J 2 of 0", "11 unload edit/"+j.name+" of "+j.sha, "12 end of J 3 of 0")
	for i, want := range []string{load.ID, load.ID, load.ID, unload.ID, unload.ID} {
		if got[i].Batch != want {
			t.Errorf("position %d is of batch %s, not %s", got[i].Position, got[i].Batch, want)
		}
	}
	if got[3].Domain != "J" || got[3].File != j.id || got[0].Domain != "" || got[0].FileName != "p.csv" {
		t.Errorf("positions are %+v and %+v", got[0], got[3])
	}
	read, err := control.ReadOperation(ctx, b.Pool, unload.ID)
	if err != nil || read.Position != 11 || read.LastPosition != 12 {
		t.Errorf("operation %+v, %v", read, err)
	}
	if list, err := control.Operations(ctx, b.Pool, 9); err != nil || len(list) != 2 || list[0].ID != unload.ID {
		t.Errorf("operations %+v, %v", list, err)
	}
	if u, err := control.Pending(ctx, b.Pool); err != nil || u.Operations != 0 {
		t.Errorf("pending: %v, %v", u, err)
	}

	// A session's batch takes the next number.
	s = b.session()
	more := b.extracted(s, "J", "add", "2026-02-02", 1, 1)
	b.read(more.verdict("specimen", "2026-02-02", 1, schemas.Valid))
	b.release()
	if end := b.ordered()[2]; end.What != schemas.PositionBatchEnd || end.Number != 4 || end.Position != 15 {
		t.Errorf("the batch's end is %+v", end)
	}
}

func TestWhichVersionIsUnloaded(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	b.exec(`INSERT INTO control.acquisition (run, file, session, domain, batch, source, look, size, state, result, attempt, sha256, documents, rank_own, rank_time, rank_ordinal)
		SELECT run, file, session, domain, batch, source, 2, 1, 'ended', 'complete', 2, 'newer', 0, true, rank_time + interval '1 hour', 2 FROM control.acquisition`)
	request := func(archive string) (control.Operation, error) {
		return control.RequestUnload(ctx, b.Pool, control.Unload{Action: "add", Name: f.name, Archive: archive}, b.now)
	}
	if _, err := request(""); !errors.Is(err, control.ErrUnknownVersion) {
		t.Errorf("before anything is ordered: %v", err)
	}
	b.read(f.verdict("specimen", "2026-02-01", 1, schemas.Valid))
	b.release()
	var got []string
	for _, archive := range []string{"", "newer", "", f.sha[:5]} {
		op, err := request(archive)
		if err != nil {
			t.Fatalf("version %q: %v", archive, err)
		}
		got = append(got, op.Archive+" "+op.ID)
	}
	if got[0] != got[1] || got[2] != got[3] || !strings.HasPrefix(got[0], "newer ") || !strings.HasPrefix(got[2], f.sha+" ") {
		t.Errorf("unloaded are %s", cmp.Diff(nil, got))
	}
	for archive, want := range map[string]string{"": "all its versions are unloaded already", "x": "its versions are newer, " + f.sha} {
		if _, err := request(archive); !errors.Is(err, control.ErrUnknownVersion) || !strings.Contains(err.Error(), want) {
			t.Errorf("version %q: %v", archive, err)
		}
	}
}
